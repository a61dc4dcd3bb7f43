//! Texts that are integers: a block of text is stored as one of int64 where every text is the integer's decimal form.
//!
//! That form has no plus sign, no leading zero and no `-0`, so each text comes back as it was.  An empty text is the
//! lowest int64, which has no text of its own.

use crate::isa::{Isa, Kernel, dispatch};
use crate::short_texts::ShortTexts;

const EMPTY: i64 = i64::MIN;
/// Bytes of the longest number: a sign and 19 digits.
const MOST_BYTES: usize = 20;
/// 10^8, 10^16: numbers are written by eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;
const SIXTEEN_DIGITS: u64 = EIGHT_DIGITS * EIGHT_DIGITS;
/// What makes each of sixteen digits a character.
const ZEROS: u128 = u128::from_le_bytes([b'0'; 16]);

/// Read texts as integers, little-endian; `None` where any is none. `data` holds the bytes of `lengths`.
pub fn integers_of(lengths: &[u32], data: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(8 * lengths.len());
    let mut rest = data;
    for length in lengths {
        let (text, tail) = rest.split_at_checked(*length as usize)?;
        out.extend_from_slice(&integer_of(text)?.to_le_bytes());
        rest = tail;
    }
    Some(out)
}

/// Read one text.
fn integer_of(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [] => return Some(EMPTY),
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] if !is_negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() < MOST_BYTES => {}
        _ => return None,
    }
    let mut number = 0_u64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    let number = i64::try_from(number).ok()?;
    Some(if is_negative { -number } else { number })
}

/// Append the texts of integers: each one's end within `data` to `ends`, its bytes to `data`.
pub fn append(integers: &[i64], ends: &mut Vec<i64>, data: &mut Vec<u8>) {
    let mut texts = ShortTexts::new(integers.len(), ends, data);
    dispatch(Print { integers, texts: &mut texts });
    texts.flush();
}

/// Writes integers one after the other.
struct Print<'v, 't, 'o> {
    integers: &'v [i64],
    texts: &'t mut ShortTexts<'o>,
}

impl Kernel for Print<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for integer in self.integers {
            if *integer != EMPTY {
                put_integer(*integer, self.texts);
            }
            self.texts.end();
        }
    }
}

#[inline(always)]
fn put_integer(integer: i64, texts: &mut ShortTexts<'_>) {
    if integer < 0 {
        texts.put(ZEROS.to_le_bytes().map(|_| b'-'), 1);
    }
    let number = integer.unsigned_abs();
    if number < SIXTEEN_DIGITS {
        put_without_zeros(sixteen_digits(number), texts);
    } else {
        put_without_zeros(sixteen_digits(number / SIXTEEN_DIGITS), texts);
        texts.put((sixteen_digits(number % SIXTEEN_DIGITS) | ZEROS).to_le_bytes(), 16);
    }
}

/// Put digits from the first that isn't 0 on, at least the last.
#[inline(always)]
fn put_without_zeros(digits: u128, texts: &mut ShortTexts<'_>) {
    let leading = (digits.trailing_zeros() / 8).min(15);
    texts.put(((digits | ZEROS) >> (8 * leading)).to_le_bytes(), 16 - leading as usize);
}

/// Give the digits of a number below 10^16, a byte each, the first one lowest.
///
/// Both halves are always written: a guess whether the upper one is 0, or that of the number before, goes wrong
/// too often where identifiers of several venues take turns.
#[inline(always)]
fn sixteen_digits(number: u64) -> u128 {
    let upper = eight_digits(number / EIGHT_DIGITS);
    let lower = eight_digits(number % EIGHT_DIGITS);
    u128::from(upper) | (u128::from(lower) << 64)
}

/// Give the digits of a number below 10^8, a byte each, the first one lowest.
///
/// Halves, then quarters, then single digits are divided side by side; the factors are 1/100 and 1/10 rounded up,
/// exact for numbers below 10^4 and 10^2.
#[inline(always)]
fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let pairs = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((pairs - 10 * tens) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(texts: &[&str]) -> Option<Vec<String>> {
        let lengths: Vec<u32> = texts.iter().map(|text| text.len() as u32).collect();
        let bytes = integers_of(&lengths, texts.concat().as_bytes())?;
        let integers: Vec<i64> = bytes.as_chunks().0.iter().map(|value| i64::from_le_bytes(*value)).collect();
        let (mut ends, mut data) = (Vec::new(), Vec::new());
        append(&integers, &mut ends, &mut data);
        let mut start = 0;
        Some(
            ends.into_iter()
                .map(|end| {
                    let text = data.get(start..end as usize).unwrap_or_default();
                    start = end as usize;
                    String::from_utf8_lossy(text).into_owned()
                })
                .collect(),
        )
    }

    #[test]
    fn canonical_integers_come_back() {
        let texts = [
            "",
            "0",
            "7",
            "-7",
            "10",
            "99",
            "100",
            "-100",
            "52983525027888",
            "9223372036854775807",
            "-9223372036854775807",
            "1000000000000000000",
            "-1000000000000000000",
        ];
        assert_eq!(back(&texts), Some(texts.map(str::to_owned).to_vec()));
    }

    #[test]
    fn every_small_integer_comes_back() {
        let texts: Vec<String> = (-12_000..12_000).map(|number: i64| number.to_string()).collect();
        let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(back(&borrowed), Some(texts));
    }

    #[test]
    fn eight_digits_are_those_of_every_four() {
        for number in 0..10_000_u64 {
            let both = number * 10_000 + (9_999 - number);
            let expected: Vec<u8> = format!("{both:08}").bytes().map(|digit| digit - b'0').collect();
            assert_eq!(eight_digits(both).to_le_bytes().to_vec(), expected);
        }
    }

    #[test]
    fn what_would_print_otherwise_is_no_integer() {
        let texts = [
            "00",
            "007",
            "-0",
            "-",
            "+1",
            " 1",
            "1 ",
            "1.0",
            "1e5",
            "0x1",
            "A",
            "é",
            "٣",
            "9223372036854775808",
            "-9223372036854775808",
            "18446744073709551616",
            "99999999999999999999",
            "-99999999999999999999",
        ];
        for text in texts {
            assert_eq!(back(&[text]), None, "{text}");
        }
    }
}

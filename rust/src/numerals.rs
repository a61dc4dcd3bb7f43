//! Texts that are integers: a block of text is stored as one of int64 where every text is the integer's decimal form.
//!
//! That form has no plus sign, no leading zero and no `-0`, so each text comes back as it was.  An empty text is the
//! lowest int64, which has no text of its own.

const EMPTY: i64 = i64::MIN;
/// Bytes of the longest number: a sign and 19 digits.
pub const MOST_BYTES: usize = 20;
const PAIRS: [[u8; 2]; 100] = pairs();

/// The two digits of each number below 100.
const fn pairs() -> [[u8; 2]; 100] {
    let mut pairs = [[b'0'; 2]; 100];
    let mut rest: &mut [[u8; 2]] = &mut pairs;
    let mut number = 0;
    while let Some((pair, tail)) = rest.split_first_mut() {
        *pair = [b'0' + number / 10, b'0' + number % 10];
        number += 1;
        rest = tail;
    }
    pairs
}

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
    ends.reserve(integers.len());
    for integer in integers {
        if *integer != EMPTY {
            append_one(*integer, data);
        }
        ends.push(data.len() as i64);
    }
}

#[inline(always)]
fn append_one(integer: i64, data: &mut Vec<u8>) {
    let mut text = [b'0'; MOST_BYTES];
    let mut start = MOST_BYTES;
    let mut number = integer.unsigned_abs();
    let (pairs, _) = text.as_chunks_mut::<2>();
    for place in pairs.iter_mut().rev() {
        *place = PAIRS.get((number % 100) as usize).copied().unwrap_or_default();
        number /= 100;
        start -= 2;
        if number == 0 {
            break;
        }
    }
    if text.get(start) == Some(&b'0') && start + 1 < MOST_BYTES {
        start += 1;
    }
    if integer < 0 {
        start = start.saturating_sub(1);
        if let Some(sign) = text.get_mut(start) {
            *sign = b'-';
        }
    }
    data.extend_from_slice(text.get(start..).unwrap_or_default());
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

//! The encoding `dict`: each distinct value of a block once, and a code for each row.
//!
//! ```text
//! 0  count    u32  distinct values
//! 4  bits     u8   of a code, 0 to 32
//! 5  zero     3
//! 8  values   count values, little-endian; for text a plain block of the count texts
//!    codes    one for each row, see `codes`
//! ```
//!
//! Values come in the order in which they are met first.  Values are equal where their bytes are.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::bytes;
use crate::codes::{self, Codes};
use crate::column::{Element, VECTOR_ROWS};
use crate::error::{KernelError, Result};
use crate::isa::{Isa, Kernel, dispatch};
use crate::short_texts::ShortTexts;
use crate::strings::{self, Texts, Window};

const HEADER_BYTES: usize = 8;
/// Bytes of text that a block stands for, at most: a few bytes of codes could else stand for any number of long texts.
const MOST_TEXT_BYTES: usize = 64 << 20;

/// Codes of distinct keys, by a table of open addresses.
struct Numbering {
    /// One more than the code; 0 for a free place.
    slots: Vec<u32>,
    count: usize,
}

impl Numbering {
    /// Make a table for at most so many rows.
    fn new(rows: usize) -> Self {
        Self { slots: vec![0; (2 * rows).next_power_of_two()], count: 0 }
    }

    /// Find the code of a key by its hash, or give it the next; and tell which it was.
    fn code(&mut self, hash: u64, is_same: impl Fn(usize) -> bool) -> (u32, bool) {
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            match self.slots.get_mut(place) {
                Some(slot) if *slot == 0 => {
                    *slot = self.count as u32 + 1;
                    self.count += 1;
                    return (*slot - 1, true);
                }
                Some(slot) if is_same(*slot as usize - 1) => return (*slot - 1, false),
                _ => place = (place + 1) & mask,
            }
        }
    }
}

/// Encode plain values; `None` where the block would not be smaller than they are.
///
/// `for_codec` says that a codec follows: codes then take whole bytes.
pub fn encode(values: &[u8], element: Element, for_codec: bool) -> Option<Vec<u8>> {
    match element.width() {
        1 => encode_values::<1>(values, for_codec),
        2 => encode_values::<2>(values, for_codec),
        4 => encode_values::<4>(values, for_codec),
        8 => encode_values::<8>(values, for_codec),
        16 => encode_values::<16>(values, for_codec),
        _ => None,
    }
}

fn encode_values<const N: usize>(values: &[u8], for_codec: bool) -> Option<Vec<u8>> {
    let rows = values.as_chunks::<N>().0;
    let most = (values.len() - values.len() / 8) / N;
    let mut numbering = Numbering::new(rows.len());
    let mut distinct: Vec<[u8; N]> = Vec::new();
    let mut found = Vec::with_capacity(rows.len());
    for value in rows {
        let hash = hash_of(value);
        let (code, is_new) = numbering.code(hash, |code| distinct.get(code) == Some(value));
        if is_new {
            if distinct.len() >= most {
                return None;
            }
            distinct.push(*value);
        }
        found.push(code);
    }
    let bits = codes::bits_for(distinct.len(), for_codec);
    let length = HEADER_BYTES + distinct.len() * N + codes::encoded_bytes(bits, found.len());
    if length >= values.len() {
        return None;
    }
    let mut out = Vec::with_capacity(length);
    put_header(distinct.len(), bits, &mut out);
    out.extend(distinct.as_flattened());
    codes::encode(bits, &found, &mut out);
    Some(out)
}

#[inline(always)]
fn hash_of<const N: usize>(value: &[u8; N]) -> u64 {
    // Values of one or two bytes are their own places: few of them share one.
    if let [byte] = value.as_slice() {
        return u64::from(*byte);
    }
    if let [low, high] = value.as_slice() {
        return u64::from(u16::from_le_bytes([*low, *high]));
    }
    let mut hash = 0_u64;
    for part in value.chunks(8) {
        let mut word = [0; 8];
        word.iter_mut().zip(part).for_each(|(byte, found)| *byte = *found);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 32;
    }
    hash
}

fn put_header(count: usize, bits: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(count as u32).to_le_bytes());
    out.extend_from_slice(&[bits as u8, 0, 0, 0]);
}

/// Encode texts; `None` where the block would not be smaller than a plain one.
pub fn encode_texts(lengths: &[u32], data: &[u8], for_codec: bool) -> Result<Option<Vec<u8>>> {
    if data.len() > MOST_TEXT_BYTES {
        return Ok(None);
    }
    let plain_bytes = strings::encoded_bytes(lengths.len(), data.len());
    let mut numbering = Numbering::new(lengths.len());
    let mut distinct: Vec<&[u8]> = Vec::new();
    let mut distinct_bytes = 0;
    let mut found = Vec::with_capacity(lengths.len());
    let mut rest = data;
    for length in lengths {
        let text = bytes::slice(rest, 0, *length as usize, "text")?;
        rest = rest.get(text.len()..).unwrap_or_default();
        let (code, is_new) = numbering.code(xxh3_64(text), |code| distinct.get(code) == Some(&text));
        if is_new {
            distinct.push(text);
            distinct_bytes += 4 + text.len();
            if distinct_bytes >= plain_bytes {
                return Ok(None);
            }
        }
        found.push(code);
    }
    let bits = codes::bits_for(distinct.len(), for_codec);
    let length = HEADER_BYTES + 4 + distinct_bytes + codes::encoded_bytes(bits, found.len());
    if length >= plain_bytes {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(length);
    put_header(distinct.len(), bits, &mut out);
    let distinct_lengths: Vec<u32> = distinct.iter().map(|text| text.len() as u32).collect();
    out.extend(strings::encode(&distinct_lengths, &distinct.concat())?);
    codes::encode(bits, &found, &mut out);
    Ok(Some(out))
}

/// Read count and bits of a block.
fn header(block: &[u8]) -> Result<(usize, usize)> {
    let what = "block of a dictionary";
    let count = bytes::u32_at(block, 0, what)? as usize;
    match bytes::array(block, 4, what)? {
        [bits, 0, 0, 0] => Ok((count, usize::from(bits))),
        _ => Err(KernelError::Corrupt(format!("{what} has bytes that must be 0"))),
    }
}

/// Fill `out` with the values of a block.
pub fn decode(block: &[u8], element: Element, out: &mut [u8]) -> Result<()> {
    match element.width() {
        1 => fill::<1>(block, out),
        2 => fill::<2>(block, out),
        4 => fill::<4>(block, out),
        8 => fill::<8>(block, out),
        16 => fill::<16>(block, out),
        _ => Err(KernelError::Corrupt("text is decoded row by row".to_owned())),
    }
}

/// Fill `out` with the value of one row, without the others.
pub fn decode_one(block: &[u8], element: Element, rows: usize, row: usize, out: &mut [u8]) -> Result<()> {
    let width = element.width();
    let (count, bits) = header(block)?;
    let values = bytes::slice(block, HEADER_BYTES, count.saturating_mul(width), "dictionary")?;
    let rest = block.get(HEADER_BYTES + values.len()..).unwrap_or_default();
    let code = Codes::new(bits, rows, rest)?.get(row) as usize;
    if code >= count || out.len() != width {
        return Err(outside(count));
    }
    out.copy_from_slice(bytes::slice(values, code * width, width, "dictionary")?);
    Ok(())
}

fn fill<const N: usize>(block: &[u8], out: &mut [u8]) -> Result<()> {
    let (count, bits) = header(block)?;
    let values = bytes::slice(block, HEADER_BYTES, count.saturating_mul(N), "dictionary")?;
    let rest = block.get(HEADER_BYTES + values.len()..).unwrap_or_default();
    let codes = Codes::new(bits, out.len() / N, rest)?;
    let values = values.as_chunks::<N>().0;
    let mut group = [0; VECTOR_ROWS];
    for (number, out) in out.as_chunks_mut::<N>().0.chunks_mut(VECTOR_ROWS).enumerate() {
        codes.group(number, &mut group);
        if dispatch(Gather { values, codes: &group, out }) {
            return Err(outside(count));
        }
    }
    Ok(())
}

/// Looks codes up; tells whether any has no value.
struct Gather<'v, const N: usize> {
    values: &'v [[u8; N]],
    codes: &'v [u32; VECTOR_ROWS],
    out: &'v mut [[u8; N]],
}

impl<const N: usize> Kernel for Gather<'_, N> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let mut is_outside = false;
        for (out, code) in self.out.iter_mut().zip(self.codes) {
            match self.values.get(*code as usize) {
                Some(value) => *out = *value,
                None => is_outside = true,
            }
        }
        is_outside
    }
}

fn outside(count: usize) -> KernelError {
    KernelError::Corrupt(format!("a code isn't below {count}, the number of distinct values"))
}

/// Where the pieces of a text block lie; its dictionary is checked.
#[derive(Debug, Clone, Copy)]
pub struct TextLayout {
    count: usize,
    bits: usize,
    rows: usize,
    codes_at: usize,
}

impl TextLayout {
    /// Take the bytes of a block apart, and check the texts of its dictionary.
    pub fn parse(block: &[u8], rows: usize) -> Result<Self> {
        let (count, bits) = header(block)?;
        let texts = Texts::new(block.get(HEADER_BYTES..).unwrap_or_default(), count)?;
        let codes_at = HEADER_BYTES + 4 * (count + 1) + texts.check(count)?;
        Codes::new(bits, rows, block.get(codes_at..).unwrap_or_default())?;
        Ok(Self { count, bits, rows, codes_at })
    }

    /// Append the texts of rows: each one's end within `data` to `ends`, its bytes to `data`.
    pub fn append(
        &self,
        block: &[u8],
        rows: Range<usize>,
        ends: &mut Vec<i64>,
        data: &mut Vec<u8>,
    ) -> Result<()> {
        let texts = Texts::new(block.get(HEADER_BYTES..).unwrap_or_default(), self.count)?;
        let codes = Codes::new(self.bits, self.rows, block.get(self.codes_at..).unwrap_or_default())?;
        let most = data.len() + MOST_TEXT_BYTES;
        let mut out = ShortTexts::new(rows.len(), ends, data);
        let mut put = |code: u32| {
            let window = texts.window(code as usize).ok_or_else(|| outside(self.count))?;
            match window {
                Window::Short { bytes, length } => out.put(bytes, length),
                Window::Long(text) => out.put_long(text),
            }
            out.end();
            if out.len() <= most {
                Ok(())
            } else {
                let limit = format!("a dictionary stands for more than {MOST_TEXT_BYTES} B of text");
                Err(KernelError::Corrupt(limit))
            }
        };
        let mut row = rows.start;
        let mut group = [0; VECTOR_ROWS];
        while row < rows.end {
            let start = row % VECTOR_ROWS;
            let count = (rows.end - row).min(VECTOR_ROWS - start);
            if count == 1 {
                put(codes.get(row))?;
            } else {
                codes.group(row / VECTOR_ROWS, &mut group);
                group.iter().skip(start).take(count).try_for_each(|code| put(*code))?;
            }
            row += count;
        }
        out.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(rows: usize) -> Vec<u8> {
        [100_i32, 200, 100, 500, -1].iter().cycle().take(rows).flat_map(|size| size.to_le_bytes()).collect()
    }

    fn texts(rows: usize) -> (Vec<u32>, Vec<u8>) {
        let texts: Vec<&str> = ["@ F", "", "Zürich", "@ F", "龙"].into_iter().cycle().take(rows).collect();
        (texts.iter().map(|text| text.len() as u32).collect(), texts.concat().into_bytes())
    }

    fn decoded_texts(block: &[u8], rows: usize, wanted: Range<usize>) -> Result<(Vec<i64>, Vec<u8>)> {
        let (mut ends, mut data) = (Vec::new(), Vec::new());
        TextLayout::parse(block, rows)?.append(block, wanted, &mut ends, &mut data)?;
        Ok((ends, data))
    }

    #[test]
    fn values_come_back() {
        for rows in [40, 256, 1023, 1024, 1025, 3000] {
            for for_codec in [false, true] {
                let block = encode(&sizes(rows), Element::I32, for_codec).unwrap_or_default();
                let mut out = vec![0; 4 * rows];
                assert_eq!(decode(&block, Element::I32, &mut out), Ok(()));
                assert_eq!(out, sizes(rows), "{rows}");
                for (row, value) in out.chunks_mut(4).enumerate() {
                    assert_eq!(decode_one(&block, Element::I32, rows, row, value), Ok(()));
                }
                assert_eq!(out, sizes(rows), "{rows}");
            }
        }
    }

    #[test]
    fn layout_is_the_documented_one() {
        let block = encode(&[7, 0, 0, 0, 0, 0, 0, 0].repeat(3), Element::I64, false);
        assert_eq!(block, Some(vec![1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]));
        let codes = encode(&sizes(5).repeat(2), Element::I32, true).unwrap_or_default();
        assert!(codes.starts_with(&[4, 0, 0, 0, 8, 0, 0, 0, 100, 0, 0, 0, 200, 0, 0, 0, 244, 1, 0, 0]));
        assert!(codes.ends_with(&[0, 1, 0, 2, 3, 0, 1, 0, 2, 3]));
    }

    #[test]
    fn distinct_values_are_not_encoded() {
        let values: Vec<u8> = (0..1000_i64).flat_map(i64::to_le_bytes).collect();
        assert_eq!(encode(&values, Element::I64, false), None);
        assert_eq!(encode(&[], Element::I64, false), None);
    }

    #[test]
    fn any_range_of_texts_comes_back() {
        let (lengths, data) = texts(3000);
        for for_codec in [false, true] {
            let block = encode_texts(&lengths, &data, for_codec).ok().flatten().unwrap_or_default();
            for rows in [0..3000, 0..0, 5..6, 1023..1025, 2999..3000] {
                let start = lengths.iter().take(rows.start).sum::<u32>() as usize;
                let ends: Vec<i64> = lengths
                    .iter()
                    .skip(rows.start)
                    .take(rows.len())
                    .scan(0, |end, length| {
                        *end += i64::from(*length);
                        Some(*end)
                    })
                    .collect();
                let stop = start + ends.last().copied().unwrap_or(0) as usize;
                let expected = data.get(start..stop).unwrap_or_default().to_vec();
                assert_eq!(decoded_texts(&block, 3000, rows), Ok((ends, expected)));
            }
        }
    }

    #[test]
    fn block_cut_at_every_byte_is_an_error() {
        let block = encode(&sizes(300), Element::I32, false).unwrap_or_default();
        for cut in 0..block.len() {
            let result = decode(block.get(..cut).unwrap_or_default(), Element::I32, &mut [0; 1200]);
            assert!(result.is_err(), "cut at {cut}");
        }
        let (lengths, data) = texts(300);
        let block = encode_texts(&lengths, &data, true).ok().flatten().unwrap_or_default();
        for cut in 0..block.len() {
            assert!(
                decoded_texts(block.get(..cut).unwrap_or_default(), 300, 0..300).is_err(),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn codes_without_a_value_are_errors() {
        let block = [1, 0, 0, 0, 8, 0, 0, 0, 42, 0, 1];
        assert!(decode(&block, Element::U8, &mut [0; 2]).is_err());
        assert!(decode_one(&block, Element::U8, 2, 1, &mut [0]).is_err());
        let block = [1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'x', 0, 1];
        assert!(decoded_texts(&block, 2, 0..2).is_err());
    }

    #[test]
    fn few_bytes_can_not_stand_for_much_text() {
        let text = vec![b'x'; 1 << 20];
        let head = [1_u32, 0, 0, 1 << 20].map(u32::to_le_bytes).concat();
        let block = [head, text].concat();
        assert!(decoded_texts(&block, 64, 0..64).is_ok());
        assert!(decoded_texts(&block, 65, 0..65).is_err());
    }
}

//! Codes of a dictionary: unsigned numbers of 0 to 32 bits, one for each row of a block.
//!
//! Codes of 8, 16 and 32 bits lie one after the other, little-endian, which is what a codec finds most in.  Those of
//! other widths are packed as `bitpack` packs numbers: 32 times the width bytes for each 256 rows, the last padded.

use crate::bitpack::{extract, pack_sub_block, unpack_32};
use crate::column::VECTOR_ROWS;
use crate::error::{KernelError, Result};
use crate::isa::{Isa, Kernel, dispatch};

/// Codes that are packed together.
const SUB_BLOCK: usize = 256;
const MOST_BITS: usize = 32;

/// Give the bits of codes below `count`; whole bytes where a codec is to follow.
pub fn bits_for(count: usize, for_codec: bool) -> usize {
    let bits = (usize::BITS - count.saturating_sub(1).leading_zeros()) as usize;
    match bits {
        1..=8 if for_codec => 8,
        9..=16 if for_codec => 16,
        17.. if for_codec => 32,
        _ => bits,
    }
}

/// Give the bytes that codes take.
pub fn encoded_bytes(bits: usize, rows: usize) -> usize {
    if is_plain(bits) { rows * (bits / 8) } else { rows.div_ceil(SUB_BLOCK) * 32 * bits }
}

fn is_plain(bits: usize) -> bool {
    matches!(bits, 8 | 16 | 32)
}

/// Append codes, each below 2^bits.
pub fn encode(bits: usize, codes: &[u32], out: &mut Vec<u8>) {
    if is_plain(bits) {
        out.extend(codes.iter().flat_map(|code| code.to_le_bytes().into_iter().take(bits / 8)));
        return;
    }
    for codes in codes.chunks(SUB_BLOCK) {
        let mut numbers = [0; SUB_BLOCK];
        numbers.iter_mut().zip(codes).for_each(|(number, code)| *number = u64::from(*code));
        pack_sub_block(bits, &numbers, out);
    }
}

/// The codes of a block.
#[derive(Debug, Clone, Copy)]
pub struct Codes<'a> {
    bits: usize,
    rows: usize,
    bytes: &'a [u8],
}

impl<'a> Codes<'a> {
    /// Take bytes as the codes of so many rows.
    pub fn new(bits: usize, rows: usize, bytes: &'a [u8]) -> Result<Self> {
        if bits > MOST_BITS {
            return Err(KernelError::Corrupt(format!("codes can't have {bits} bits: at most {MOST_BITS}")));
        }
        let expected = encoded_bytes(bits, rows);
        if bytes.len() == expected {
            Ok(Self { bits, rows, bytes })
        } else {
            let found = bytes.len();
            Err(KernelError::Truncated(format!("{rows} codes have {found} bytes, expected {expected}")))
        }
    }

    /// Decode the 1,024 codes of a group; gives how many of them are rows.
    pub fn group(&self, group: usize, out: &mut [u32; VECTOR_ROWS]) -> usize {
        let start = encoded_bytes(self.bits, group * VECTOR_ROWS);
        let bytes = self.bytes.get(start..).unwrap_or_default();
        let bytes = bytes.get(..encoded_bytes(self.bits, VECTOR_ROWS)).unwrap_or(bytes);
        match self.bits {
            0 => out.fill(0),
            8 => dispatch(Widen::<1> { bytes, out }),
            16 => dispatch(Widen::<2> { bytes, out }),
            32 => dispatch(Widen::<4> { bytes, out }),
            bits => unpack_32(bits, bytes, out),
        }
        self.rows.saturating_sub(group * VECTOR_ROWS).min(VECTOR_ROWS)
    }

    /// Decode the code of one row.
    pub fn get(&self, row: usize) -> u32 {
        let plain = |width: usize| self.bytes.get(row * width..).unwrap_or_default();
        match self.bits {
            0 => 0,
            8 => plain(1).first().copied().map_or(0, u32::from),
            16 => plain(2).first_chunk().map_or(0, |code| u32::from(u16::from_le_bytes(*code))),
            32 => plain(4).first_chunk().map_or(0, |code| u32::from_le_bytes(*code)),
            bits => extract(bits, self.bytes, row) as u32,
        }
    }
}

/// Reads codes of `N` bytes.
struct Widen<'v, const N: usize> {
    bytes: &'v [u8],
    out: &'v mut [u32; VECTOR_ROWS],
}

impl<const N: usize> Kernel for Widen<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (code, bytes) in self.out.iter_mut().zip(self.bytes.as_chunks::<N>().0) {
            let mut word = [0; 4];
            word.iter_mut().zip(bytes).for_each(|(byte, found)| *byte = *found);
            *code = u32::from_le_bytes(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_every_width_come_back() {
        for bits in 0..=MOST_BITS {
            let mask = u32::MAX.checked_shr((MOST_BITS - bits) as u32).unwrap_or(0);
            let wanted: Vec<u32> = (0..2_500_u32).map(|row| row.wrapping_mul(2_654_435_761) & mask).collect();
            let mut bytes = Vec::new();
            encode(bits, &wanted, &mut bytes);
            assert_eq!(bytes.len(), encoded_bytes(bits, wanted.len()));
            let codes =
                Codes::new(bits, wanted.len(), &bytes).unwrap_or(Codes { bits: 0, rows: 0, bytes: &[] });
            let mut out = [0; VECTOR_ROWS];
            let mut found = Vec::new();
            for group in 0..3 {
                let count = codes.group(group, &mut out);
                found.extend_from_slice(out.get(..count).unwrap_or_default());
            }
            assert_eq!(found, wanted, "{bits} bits");
            assert!((0..wanted.len()).all(|row| wanted.get(row) == Some(&codes.get(row))), "{bits} bits");
        }
    }

    #[test]
    fn bits_are_those_of_the_largest_code() {
        let found =
            [0, 1, 2, 3, 256, 257, 65_537].map(|count| (bits_for(count, false), bits_for(count, true)));
        assert_eq!(found, [(0, 0), (0, 0), (1, 8), (2, 8), (8, 8), (9, 16), (17, 32)]);
    }

    #[test]
    fn another_number_of_bytes_is_an_error() {
        for length in [0, 31, 33, 64] {
            assert!(Codes::new(1, 256, &vec![0; length]).is_err());
        }
        assert!(Codes::new(33, 0, &[]).is_err());
    }
}

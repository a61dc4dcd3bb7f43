//! Packed sub-blocks to numbers: one loop a width, which the compiler turns into vector instructions.
//!
//! Rows are unrolled by hand and lanes are the inner loop, so every shift is a constant and one row of lanes is
//! one vector.

#![expect(
    clippy::indexing_slicing,
    reason = "indices are constants and lanes below the array's fixed length"
)]

use super::layout::SUB_BLOCK;
use crate::column::VECTOR_ROWS;
use crate::isa::{Isa, Kernel, dispatch};

const LANES_32: usize = 8;
const LANES_64: usize = 4;

/// Unpacks sub-blocks of 32-bit numbers of `W` bits.
struct Unpack32<'v, const W: usize> {
    packed: &'v [u8],
    out: &'v mut [u32; VECTOR_ROWS],
}

impl<const W: usize> Kernel for Unpack32<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (sub_blocks, _) = self.out.as_chunks_mut::<SUB_BLOCK>();
        for (out, packed) in sub_blocks.iter_mut().zip(self.packed.chunks_exact(32 * W)) {
            let mut words = [[0_u32; LANES_32]; 33];
            for (row, bytes) in words.iter_mut().zip(packed.as_chunks::<32>().0) {
                *row = bytemuck::cast(*bytes);
            }
            sub_block_32::<W>(&words, out);
        }
    }
}

#[inline(always)]
fn sub_block_32<const W: usize>(words: &[[u32; LANES_32]; 33], out: &mut [u32; SUB_BLOCK]) {
    let mask = if W == 32 { u32::MAX } else { (1 << W) - 1 };
    for lane in 0..LANES_32 {
        macro_rules! rows {
            ($($row:literal)+) => {$(
                let (word, shift) = (const { $row * W / 32 }, const { ($row * W % 32) as u32 });
                let low = words[word][lane].to_le() >> shift;
                let value = if shift as usize + W > 32 {
                    low | words[word + 1][lane].to_le() << ((32 - shift) % 32)
                } else {
                    low
                };
                out[$row * LANES_32 + lane] = value & mask;
            )+};
        }
        rows!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    }
}

/// Unpacks sub-blocks of 64-bit numbers of `W` bits, 33 to 64.
struct Unpack64<'v, const W: usize> {
    packed: &'v [u8],
    out: &'v mut [u64; VECTOR_ROWS],
}

impl<const W: usize> Kernel for Unpack64<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (sub_blocks, _) = self.out.as_chunks_mut::<SUB_BLOCK>();
        for (out, packed) in sub_blocks.iter_mut().zip(self.packed.chunks_exact(32 * W)) {
            let mut words = [[0_u64; LANES_64]; 65];
            for (row, bytes) in words.iter_mut().zip(packed.as_chunks::<32>().0) {
                *row = bytemuck::cast(*bytes);
            }
            sub_block_64::<W>(&words, out);
        }
    }
}

#[inline(always)]
fn sub_block_64<const W: usize>(words: &[[u64; LANES_64]; 65], out: &mut [u64; SUB_BLOCK]) {
    let mask = if W == 64 { u64::MAX } else { (1 << W) - 1 };
    for lane in 0..LANES_64 {
        macro_rules! rows {
            ($($row:literal)+) => {$(
                let (word, shift) = (const { $row * W / 64 }, const { ($row * W % 64) as u32 });
                let low = words[word][lane].to_le() >> shift;
                let value = if shift as usize + W > 64 {
                    low | words[word + 1][lane].to_le() << ((64 - shift) % 64)
                } else {
                    low
                };
                out[$row * LANES_64 + lane] = value & mask;
            )+};
        }
        rows!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
              32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63);
    }
}

/// Unpack whole sub-blocks of numbers of 1 to 32 bits.
pub fn unpack_32(width: usize, packed: &[u8], out: &mut [u32; VECTOR_ROWS]) {
    macro_rules! widths {
        ($($width:literal)+) => {
            match width {
                $($width => dispatch(Unpack32::<$width> { packed, out }),)+
                _ => out.fill(0),
            }
        };
    }
    widths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}

/// Unpack whole sub-blocks of numbers of 33 to 64 bits.
pub fn unpack_64(width: usize, packed: &[u8], out: &mut [u64; VECTOR_ROWS]) {
    macro_rules! widths {
        ($($width:literal)+) => {
            match width {
                $($width => dispatch(Unpack64::<$width> { packed, out }),)+
                _ => out.fill(0),
            }
        };
    }
    widths!(33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64);
}

/// Read one packed number without the others.
pub fn extract(width: usize, packed: &[u8], place: usize) -> u64 {
    let (lanes, bits) = if width > 32 { (LANES_64, 64) } else { (LANES_32, 32) };
    let (sub_block, place) = (place / SUB_BLOCK, place % SUB_BLOCK);
    let (row, lane) = (place / lanes, place % lanes);
    let word = |number: usize| {
        let at = sub_block * 32 * width + (number * lanes + lane) * (bits / 8);
        let mut bytes = [0; 8];
        if let Some(found) = packed.get(at..at + bits / 8) {
            for (byte, value) in bytes.iter_mut().zip(found) {
                *byte = *value;
            }
        }
        u128::from(u64::from_le_bytes(bytes))
    };
    let (number, shift) = (row * width / bits, row * width % bits);
    let both = word(number) | if shift + width > bits { word(number + 1) << bits } else { 0 };
    (both >> shift) as u64 & u64::MAX.checked_shr(64 - width as u32).unwrap_or(0)
}

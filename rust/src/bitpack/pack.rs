//! Numbers to packed sub-blocks.
//!
//! Value i of a sub-block of 256 lies in lane i % 8 and row i / 8 of 32-bit words, or for widths above 32 in lane
//! i % 4 and row i / 4 of 64-bit words.  In a lane, rows follow each other bit by bit, lowest bits first, across
//! word borders; word n of lane l is word n * lanes + l of the bytes.  256 values of w bits take 32 w bytes.

use super::layout::SUB_BLOCK;

/// Append up to 256 numbers of `width` bits, padded with zeros to a whole sub-block.
pub fn pack_sub_block(width: usize, values: &[u64], out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let mut padded = [0_u64; SUB_BLOCK];
    for (place, value) in padded.iter_mut().zip(values) {
        *place = *value;
    }
    if width <= 32 {
        pack_lanes::<8>(width, 32, &padded, |word| out.extend_from_slice(&(word as u32).to_le_bytes()));
    } else {
        pack_lanes::<4>(width, 64, &padded, |word| out.extend_from_slice(&word.to_le_bytes()));
    }
}

fn pack_lanes<const LANES: usize>(
    width: usize,
    bits: usize,
    values: &[u64; SUB_BLOCK],
    mut write: impl FnMut(u64),
) {
    let mut open = [0_u64; LANES];
    let mut filled = 0;
    for row in values.as_chunks::<LANES>().0 {
        for (word, value) in open.iter_mut().zip(row) {
            *word |= value << filled;
        }
        filled += width;
        if filled >= bits {
            open.iter().for_each(|word| write(*word));
            filled -= bits;
            for (word, value) in open.iter_mut().zip(row) {
                *word = value.checked_shr((width - filled) as u32).unwrap_or(0);
            }
        }
    }
}

//! Numbers to packed sub-blocks.
//!
//! Value i of a sub-block of 256 lies in lane i % 8 and row i / 8 of 32-bit words, or for widths above 32 in lane
//! i % 4 and row i / 4 of 64-bit words.  In a lane, rows follow each other bit by bit, lowest bits first, across
//! word borders; word n of lane l is word n * lanes + l of the bytes.  256 values of w bits take 32 w bytes.

use super::layout::SUB_BLOCK;

/// Bytes of a row of words: eight of 32 bits or four of 64.
const ROW_BYTES: usize = 32;

/// Append up to 256 numbers of `width` bits, padded with zeros to a whole sub-block.
pub fn pack_sub_block(width: usize, values: &[u64], out: &mut Vec<u8>) {
    if width > 32 {
        let mut padded = [0; SUB_BLOCK];
        padded.iter_mut().zip(values).for_each(|(place, value)| *place = *value);
        pack_64(width as u32, &padded, out);
    } else if width > 0 {
        let mut padded = [0; SUB_BLOCK];
        padded.iter_mut().zip(values).for_each(|(place, value)| *place = *value as u32);
        pack_32(width as u32, &padded, out);
    }
}

macro_rules! pack {
    ($name:ident, $word:ty, $lanes:literal) => {
        /// Append whole sub-blocks of numbers of at most `width` bits, at least 1.
        #[inline(always)]
        pub fn $name(width: u32, numbers: &[$word], out: &mut Vec<u8>) {
            let start = out.len();
            let (sub_blocks, _) = numbers.as_chunks::<SUB_BLOCK>();
            out.resize(start + sub_blocks.len() * ROW_BYTES * width as usize, 0);
            let mut words =
                out.get_mut(start..).unwrap_or_default().as_chunks_mut::<ROW_BYTES>().0.iter_mut();
            for numbers in sub_blocks {
                let mut open = [0; $lanes];
                let mut filled = 0;
                for row in numbers.as_chunks::<$lanes>().0 {
                    for (word, number) in open.iter_mut().zip(row) {
                        *word |= number.wrapping_shl(filled);
                    }
                    filled += width;
                    if filled >= <$word>::BITS {
                        filled -= <$word>::BITS;
                        if let Some(words) = words.next() {
                            *words = bytemuck::cast(open.map(<$word>::to_le));
                        }
                        // What did not fit; nothing where the row ends with the word.
                        let mask = if filled == 0 { 0 } else { <$word>::MAX };
                        for (word, number) in open.iter_mut().zip(row) {
                            *word = number.wrapping_shr(width - filled) & mask;
                        }
                    }
                }
            }
        }
    };
}

pack!(pack_32, u32, 8);
pack!(pack_64, u64, 4);

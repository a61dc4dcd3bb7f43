//! Ranks to the bytes that have them.

#![expect(clippy::indexing_slicing, reason = "indices are below the array's fixed length, by constants")]

use super::layout::MAX_RANKS;
use crate::isa::{Isa, Kernel, dispatch};

/// Write the byte of each rank; `count` says how many of `ranks` there are.
pub fn write_bytes(ranks: &[u8; MAX_RANKS], count: usize, codes: &[u8], out: &mut [u8]) {
    match count {
        ..=4 => dispatch(Select::<2> { ranks, codes, out }),
        5..=16 => dispatch(Select::<4> { ranks, codes, out }),
        _ => dispatch(LookUp { ranks, codes, out }),
    }
}

/// Picks among 2^BITS bytes, one bit of the code after the other, for as many codes at a time as a vector has bytes.
struct Select<'v, const BITS: usize> {
    ranks: &'v [u8; MAX_RANKS],
    codes: &'v [u8],
    out: &'v mut [u8],
}

impl<const BITS: usize> Kernel for Select<'_, BITS> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut all = [0; 16];
        all.copy_from_slice(&self.ranks[..16]);
        for (byte, code) in self.out.iter_mut().zip(self.codes) {
            let mut found = all;
            let mut count = 1 << BITS;
            for bit in 0..BITS {
                let mask = 0_u8.wrapping_sub(code >> bit & 1);
                count /= 2;
                for place in 0..count {
                    let (clear, set) = (found[2 * place], found[2 * place + 1]);
                    found[place] = clear ^ ((clear ^ set) & mask);
                }
            }
            *byte = found[0];
        }
    }
}

/// Reads each byte from a table.
struct LookUp<'v> {
    ranks: &'v [u8; MAX_RANKS],
    codes: &'v [u8],
    out: &'v mut [u8],
}

impl Kernel for LookUp<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { ranks, codes, out } = self;
        for (byte, code) in out.iter_mut().zip(codes) {
            *byte = ranks[usize::from(*code)];
        }
    }
}

//! The encoding `bytes`: values split into byte planes, for a codec to follow.
//!
//! ```text
//! 0 mode      u8   0 values, 1 deltas
//! 1 zero      u8
//! 2 constant  u16  bit p: all bytes of plane p are equal, and it is one byte
//! 4 planes    from the lowest byte of the values on: a byte for each row, or one
//! ```
//!
//! With deltas, the first value is taken from 0 and each further one from the value before it, modulo the width; the
//! difference d is stored as 2 d where it isn't negative, else as -2 d - 1.  Floats count as integers of their bits.

use crate::bytes;
use crate::column::Element;
use crate::error::{KernelError, Result};
use crate::isa::{Isa, Kernel, dispatch};

/// Bytes before the planes: by so much an encoded block may exceed its values.
pub const HEADER_BYTES: usize = 4;
const WORD_BYTES: usize = 8;
/// Values that are put together at a time, in registers of 64 bits.
const TILE: usize = 256;

/// What the planes hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// The values as they are.
    Values = 0,
    /// Differences to the value before.
    Deltas = 1,
}

/// Encode plain values; `None` for text, and for deltas of values of more than 8 bytes.
pub fn encode(values: &[u8], element: Element, mode: Mode) -> Option<Vec<u8>> {
    match element.width() {
        1 => split::<1>(values, mode),
        2 => split::<2>(values, mode),
        4 => split::<4>(values, mode),
        8 => split::<8>(values, mode),
        16 => split::<16>(values, mode),
        _ => None,
    }
}

fn split<const N: usize>(values: &[u8], mode: Mode) -> Option<Vec<u8>> {
    let values = values.as_chunks::<N>().0;
    let deltas = match mode {
        Mode::Values => None,
        Mode::Deltas if N > WORD_BYTES => return None,
        Mode::Deltas => Some(deltas_of(values)),
    };
    let values = deltas.as_deref().unwrap_or(values);
    let mut out = Vec::with_capacity(HEADER_BYTES + values.as_flattened().len());
    out.extend_from_slice(&[mode as u8, 0, 0, 0]);
    let mut constant = 0_u16;
    for number in 0..N {
        let start = out.len();
        dispatch(Split { values, number, out: &mut out });
        let found = out.get(start..).unwrap_or_default();
        if let Some((first, rest)) = found.split_first()
            && rest.iter().all(|byte| byte == first)
        {
            constant |= 1 << number;
            out.truncate(start + 1);
        }
    }
    for (byte, value) in out.iter_mut().skip(2).zip(constant.to_le_bytes()) {
        *byte = value;
    }
    Some(out)
}

/// Appends one plane of values.
struct Split<'v, const N: usize> {
    values: &'v [[u8; N]],
    number: usize,
    out: &'v mut Vec<u8>,
}

impl<const N: usize> Kernel for Split<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let byte = |value: &[u8; N]| value.get(self.number).copied().unwrap_or(0);
        self.out.extend(self.values.iter().map(byte));
    }
}

/// Fill `out` with the values of a block.
pub fn decode(block: &[u8], element: Element, out: &mut [u8]) -> Result<()> {
    match element.width() {
        1 => join::<1>(block, out),
        2 => join::<2>(block, out),
        4 => join::<4>(block, out),
        8 => join::<8>(block, out),
        16 => join::<16>(block, out),
        _ => Err(KernelError::Corrupt("text has no byte planes".to_owned())),
    }
}

/// A value of at most 8 bytes as a number.
#[inline(always)]
fn word_of<const N: usize>(value: [u8; N]) -> u64 {
    let mut word = [0; WORD_BYTES];
    word.iter_mut().zip(value).for_each(|(byte, found)| *byte = found);
    u64::from_le_bytes(word)
}

fn deltas_of<const N: usize>(values: &[[u8; N]]) -> Vec<[u8; N]> {
    let shift = 64_u32.saturating_sub(8 * N as u32);
    let mut before = 0_u64;
    let delta_of = |value: &[u8; N]| {
        let word = word_of(*value);
        let delta = word.wrapping_sub(before).wrapping_shl(shift) as i64 >> shift;
        before = word;
        let mut out = [0; N];
        out.iter_mut()
            .zip(((delta << 1) ^ (delta >> 63)).to_le_bytes())
            .for_each(|(byte, found)| *byte = found);
        out
    };
    values.iter().map(delta_of).collect()
}

/// One plane of a block.
#[derive(Clone, Copy)]
enum Plane<'a> {
    Equal(u8),
    Bytes(&'a [u8]),
}

fn join<const N: usize>(block: &[u8], out: &mut [u8]) -> Result<()> {
    let [mode, zero, low, high] = bytes::array(block, 0, "block of byte planes")?;
    let constant = u16::from_le_bytes([low, high]);
    let is_deltas = match (mode, zero) {
        (0, 0) => false,
        (1, 0) if N <= WORD_BYTES => true,
        _ => return Err(KernelError::Corrupt(format!("block of byte planes has mode {mode}, {zero}"))),
    };
    if constant.checked_shr(N as u32).unwrap_or(0) != 0 {
        return Err(KernelError::Corrupt(format!("planes {constant:#x} of {N} are constant")));
    }
    let rows = out.len() / N;
    let mut rest = block.get(HEADER_BYTES..).unwrap_or_default();
    let mut planes = [Plane::Equal(0); N];
    for (number, plane) in planes.iter_mut().enumerate() {
        let is_equal = constant >> number & 1 == 1;
        let found = bytes::slice(rest, 0, if is_equal { 1 } else { rows }, "byte plane")?;
        rest = rest.get(found.len()..).unwrap_or_default();
        *plane = match found {
            [byte] if is_equal => Plane::Equal(*byte),
            _ => Plane::Bytes(found),
        };
    }
    if !rest.is_empty() {
        return Err(KernelError::Corrupt(format!("{} bytes follow the byte planes", rest.len())));
    }
    dispatch(Join { planes: &planes, is_deltas, out });
    Ok(())
}

/// Puts values together from their planes.
struct Join<'v, const N: usize> {
    planes: &'v [Plane<'v>; N],
    is_deltas: bool,
    out: &'v mut [u8],
}

impl<const N: usize> Kernel for Join<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut words = [0_u64; TILE];
        let mut before = 0_u64;
        for (number, tile) in self.out.as_chunks_mut::<N>().0.chunks_mut(TILE).enumerate() {
            for (part, planes) in self.planes.chunks(WORD_BYTES).enumerate() {
                words.fill(0);
                for (place, plane) in planes.iter().enumerate() {
                    add_plane(&mut words, *plane, number * TILE, 8 * place);
                }
                if self.is_deltas {
                    before = undo_deltas(&mut words, before);
                }
                for (value, word) in tile.iter_mut().zip(&words) {
                    let bytes = value.iter_mut().skip(part * WORD_BYTES);
                    bytes.zip(word.to_le_bytes()).for_each(|(byte, found)| *byte = found);
                }
            }
        }
    }
}

#[inline(always)]
fn add_plane(words: &mut [u64; TILE], plane: Plane<'_>, first_row: usize, shift: usize) {
    match plane {
        Plane::Equal(byte) => words.iter_mut().for_each(|word| *word |= u64::from(byte) << shift),
        Plane::Bytes(bytes) => {
            for (word, byte) in words.iter_mut().zip(bytes.get(first_row..).unwrap_or_default()) {
                *word |= u64::from(*byte) << shift;
            }
        }
    }
}

/// Make values of deltas; the bytes above the width hold anything.
#[inline(always)]
fn undo_deltas(words: &mut [u64; TILE], mut before: u64) -> u64 {
    for word in words {
        before = before.wrapping_add(*word >> 1 ^ (*word & 1).wrapping_neg());
        *word = before;
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [Mode; 2] = [Mode::Values, Mode::Deltas];

    fn values(element: Element, rows: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut value = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 54).wrapping_neg().to_le_bytes()
        };
        (0..rows).flat_map(|_| value().into_iter().take(element.width()).collect::<Vec<u8>>()).collect()
    }

    fn each(check: impl Fn(Element, Mode, &[u8])) {
        for element in [Element::U8, Element::I16, Element::F32, Element::I64] {
            for mode in MODES {
                for rows in [1, 255, 256, 257, 1000] {
                    check(element, mode, &values(element, rows));
                }
            }
        }
    }

    #[test]
    fn values_come_back() {
        each(|element, mode, values| {
            let block = encode(values, element, mode).unwrap_or_default();
            let mut out = vec![7; values.len()];
            assert_eq!(decode(&block, element, &mut out), Ok(()));
            assert_eq!(out, values, "{element:?} {mode:?} {}", values.len());
        });
    }

    #[test]
    fn layout_is_the_documented_one() {
        let values: Vec<u8> =
            [0x0102_i16, 0x0105, 0x0103].iter().flat_map(|value| value.to_le_bytes()).collect();
        let planes = encode(&values, Element::I16, Mode::Values);
        assert_eq!(planes, Some(vec![0, 0, 0b10, 0, 2, 5, 3, 1]));
        let deltas = encode(&values, Element::I16, Mode::Deltas);
        assert_eq!(deltas, Some(vec![1, 0, 0, 0, 4, 6, 3, 2, 0, 0]));
    }

    #[test]
    fn block_cut_at_every_byte_and_longer_ones_are_errors() {
        each(|element, mode, values| {
            let mut block = encode(values, element, mode).unwrap_or_default();
            let mut out = vec![0; values.len()];
            for cut in 0..block.len() {
                assert!(
                    decode(block.get(..cut).unwrap_or_default(), element, &mut out).is_err(),
                    "cut at {cut}"
                );
            }
            block.push(0);
            assert!(decode(&block, element, &mut out).is_err());
        });
    }

    #[test]
    fn unknown_modes_and_planes_are_errors() {
        for head in [[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0b100, 0], [0, 0, 0, 1]] {
            let block = [head.as_slice(), &[1, 2, 3, 4]].concat();
            assert!(decode(&block, Element::I16, &mut [0; 4]).is_err(), "{head:?}");
        }
    }
}

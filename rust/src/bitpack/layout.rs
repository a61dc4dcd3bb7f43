//! The parts of a bit-packed block: header, group table, packed groups, exceptions.
//!
//! A reader trusts a [`Layout`] after `parse`: every offset in it lies inside the block.  Group entries and
//! exception positions are checked as they are read.

use crate::bytes;
use crate::column::{Element, VECTOR_ROWS};
use crate::decimal::MAX_EXPONENT;
use crate::error::{KernelError, Result};

/// Bytes of the block header.
pub const HEADER_BYTES: usize = 16;
/// Bytes of a group's entry in a block without deltas: base, offset, width.
pub const FRAME_ENTRY_BYTES: usize = 16;
/// Bytes of a group's entry in a block with deltas: the same and the first value.
pub const DELTA_ENTRY_BYTES: usize = 24;
/// Values of a sub-block: the unit that packed groups are cut at.
pub const SUB_BLOCK: usize = 256;

/// What the packed integers stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The values themselves.
    Integers = 0,
    /// Floats k / 10^exponent, given as k; values that are no such float are exceptions.
    Decimals = 1,
}

/// How the packed integers follow from the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// value - base.
    Frame = 0,
    /// value - previous value - base; 0 for the first of a group.
    Delta = 1,
}

impl Mode {
    /// Bytes of a group's entry.
    pub const fn entry_bytes(self) -> usize {
        match self {
            Self::Frame => FRAME_ENTRY_BYTES,
            Self::Delta => DELTA_ENTRY_BYTES,
        }
    }
}

/// The checked header of a block: what is where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// What the packed integers stand for.
    pub kind: Kind,
    /// How they follow from the values.
    pub mode: Mode,
    /// Decimal places of decimals; 0 for integers.
    pub exponent: u8,
    /// Values in the block.
    pub rows: usize,
    /// Number of exceptions.
    pub exceptions: usize,
    /// First packed byte.
    packed: usize,
    /// Byte after the last packed one, where the bits of the exceptions start.
    packed_end: usize,
}

/// One group as it lies in the block.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// Added to each packed value.
    pub base: i64,
    /// The first value; only in blocks with deltas.
    pub first: i64,
    /// Bits of a packed value.
    pub width: usize,
    /// Values in the group, 1 to 1,024.
    pub count: usize,
    /// Packed bytes: 32 * width for each sub-block of 256 values, the last one whole.
    pub packed: &'a [u8],
}

impl Layout {
    /// Read and check a block's header; `rows` is what the index says.
    pub fn parse(block: &[u8], element: Element, rows: usize) -> Result<Self> {
        let [kind, mode, exponent, reserved] = bytes::array(block, 0, "bit-packed block")?;
        let found_rows = bytes::u32_at(block, 4, "bit-packed block")? as usize;
        let exceptions = bytes::u32_at(block, 8, "bit-packed block")? as usize;
        let packed_bytes = bytes::u32_at(block, 12, "bit-packed block")? as usize;
        let is_float = matches!(element, Element::F32 | Element::F64);
        let kind = match kind {
            0 if !is_float => Kind::Integers,
            1 if is_float => Kind::Decimals,
            _ => {
                return Err(KernelError::Corrupt(format!(
                    "bit-packed block of kind {kind} for {element:?} values"
                )));
            }
        };
        let mode = match mode {
            0 => Mode::Frame,
            1 => Mode::Delta,
            _ => return Err(KernelError::Corrupt(format!("unknown mode {mode} of a bit-packed block"))),
        };
        if reserved != 0 || usize::from(exponent) > MAX_EXPONENT || (exponent > 0 && !is_float) {
            return Err(KernelError::Corrupt(format!("bit-packed block with exponent {exponent}")));
        }
        if found_rows != rows || exceptions > rows || (exceptions > 0 && !is_float) {
            return Err(KernelError::Corrupt(format!(
                "bit-packed block of {found_rows} values with {exceptions} exceptions, expected {rows} values"
            )));
        }
        let packed = HEADER_BYTES + rows.div_ceil(VECTOR_ROWS) * mode.entry_bytes();
        let packed_end = packed + packed_bytes;
        let expected = packed_end + exceptions * (element.width() + 4);
        if block.len() != expected {
            let reason = format!("bit-packed block has {} bytes, expected {expected}", block.len());
            return Err(if block.len() < expected {
                KernelError::Truncated(reason)
            } else {
                KernelError::Corrupt(reason)
            });
        }
        Ok(Self { kind, mode, exponent, rows, exceptions, packed, packed_end })
    }

    /// Read and check the entry of a group.
    pub fn group<'a>(&self, block: &'a [u8], element: Element, group: usize) -> Result<Group<'a>> {
        let what = "group table";
        let at = HEADER_BYTES + group * self.mode.entry_bytes();
        let base = bytes::i64_at(block, at, what)?;
        let offset = bytes::u32_at(block, at + 8, what)? as usize;
        let [width, pad @ ..]: [u8; 4] = bytes::array(block, at + 12, what)?;
        let first = if self.mode == Mode::Delta { bytes::i64_at(block, at + 16, what)? } else { 0 };
        let width = usize::from(width);
        let count = self.rows.saturating_sub(group * VECTOR_ROWS).min(VECTOR_ROWS);
        let widest = if is_narrow(element) { 32 } else { 64 };
        if width > widest || pad != [0; 3] || count == 0 {
            return Err(KernelError::Corrupt(format!("group {group} has {count} values of {width} bits")));
        }
        let packed = block.get(self.packed..self.packed_end).unwrap_or_default();
        let packed = bytes::slice(packed, offset, count.div_ceil(SUB_BLOCK) * 32 * width, "packed group")?;
        Ok(Group { base, first, width, count, packed })
    }

    /// The raw bits of the exceptions in a group, each with its place in the group.
    pub fn exceptions<'a>(
        &self,
        block: &'a [u8],
        element: Element,
        group: usize,
    ) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let width = element.width();
        let tail = block.get(self.packed_end..).unwrap_or_default();
        let (bits, positions) = tail.split_at_checked(self.exceptions * width).unwrap_or_default();
        let positions = positions.as_chunks::<4>().0;
        let first_row = group * VECTOR_ROWS;
        let from = positions.partition_point(|position| (u32::from_le_bytes(*position) as usize) < first_row);
        let bits = bits.chunks_exact(width.max(1)).skip(from);
        let places = positions
            .iter()
            .skip(from)
            .map(move |position| (u32::from_le_bytes(*position) as usize).wrapping_sub(first_row));
        places.zip(bits).take_while(|(place, _)| *place < VECTOR_ROWS)
    }
}

/// Whether values of this element are packed and summed as 32-bit numbers.
pub const fn is_narrow(element: Element) -> bool {
    element.width() < 8 && !matches!(element, Element::F32)
}

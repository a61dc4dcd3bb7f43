//! The parts of a bit-packed block: header, group table, packed groups, exceptions.
//!
//! A reader trusts a [`Layout`] after `parse`: every offset in it lies inside the block.  Group entries and
//! exception positions are checked as they are read.

use crate::bytes;
use crate::column::{Element, VECTOR_ROWS};
use crate::decimal::MAX_EXPONENT;
use crate::error::{KernelError, Result};

/// Bytes of the header of layout 0.
pub const OLD_HEADER_BYTES: usize = 16;
/// Bytes of the header of layout 1, before the ranks.
pub const HEADER_BYTES: usize = 32;
/// Bytes of a group's entry in layout 1, before its base.
pub const ENTRY_BYTES: usize = 8;
/// Values of a sub-block: the unit that packed groups are cut at.
pub const SUB_BLOCK: usize = 256;
/// Most ranks of a block: one for each byte.
pub const MAX_RANKS: usize = 256;

/// Flag of a group: packed as differences.
pub const FLAG_DELTA: u8 = 1;
/// Flag of a group: the block's common value is left out.
pub const FLAG_SPARSE: u8 = 2;
/// Flag of a group: packed numbers are multiples of the block's divisor.
pub const FLAG_SCALED: u8 = 4;
/// The upper half of the flags: bytes of a patch.
pub const PATCH_SHIFT: u32 = 4;

const WHAT: &str = "bit-packed block";

/// What the packed integers stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The values themselves.
    Integers = 0,
    /// Floats k / 10^exponent, given as k; values that are no such float are exceptions.
    Decimals = 1,
    /// Bytes, given as their ranks by frequency in the block.
    Ranks = 2,
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

/// How groups are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Groups {
    /// Layout 0: one mode for all groups, entries of 16 or 24 bytes.
    Uniform(Mode),
    /// Layout 1: each group has its own mode, patches and common value.
    Own { divisor: u64, common: i64 },
}

/// The checked header of a block: what is where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// What the packed integers stand for.
    pub kind: Kind,
    /// Decimal places of decimals; 0 for integers.
    pub exponent: u8,
    /// Values in the block.
    pub rows: usize,
    /// Number of exceptions.
    pub exceptions: usize,
    groups: Groups,
    /// First byte of the group table; ranks end there.
    table: usize,
    /// First packed byte.
    packed: usize,
    /// Byte after the last packed one, where the bits of the exceptions start.
    packed_end: usize,
}

/// One group as it lies in the block.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// How numbers follow from values.
    pub mode: Mode,
    /// Added to each packed value.
    pub base: i64,
    /// The first value; only with deltas.
    pub first: i64,
    /// Multiplies each packed value; 1 or more.
    pub divisor: u64,
    /// Bits of a packed value.
    pub width: usize,
    /// Values in the group, 1 to 1,024.
    pub count: usize,
    /// Packed values: `count`, or fewer where the common value is left out.
    pub packed_count: usize,
    /// Packed bytes: 32 * width for each sub-block of 256 values, the last one whole.
    pub packed: &'a [u8],
    /// Bits above `width` of the values that have some.
    pub patches: Patches<'a>,
    /// The value that is left out.
    pub common: i64,
    /// One bit a value, least significant first, 1 where it is packed; `None` where all are.
    pub present: Option<&'a [u8]>,
}

/// High bits of numbers that are wider than their group.
#[derive(Debug, Clone, Copy)]
pub struct Patches<'a> {
    /// Bytes of one patch's bits.
    pub bytes: usize,
    /// Their bits, `bytes` each.
    pub bits: &'a [u8],
    /// Their places among the packed values, two bytes each.
    pub places: &'a [[u8; 2]],
}

impl Layout {
    /// Read and check a block's header; `rows` is what the index says.
    pub fn parse(block: &[u8], element: Element, rows: usize) -> Result<Self> {
        let [kind, mode, exponent, layout] = bytes::array(block, 0, WHAT)?;
        let found_rows = bytes::u32_at(block, 4, WHAT)? as usize;
        let exceptions = bytes::u32_at(block, 8, WHAT)? as usize;
        let packed_bytes = bytes::u32_at(block, 12, WHAT)? as usize;
        let is_float = matches!(element, Element::F32 | Element::F64);
        let kind = match (kind, layout) {
            _ if !matches!(element.width(), 1 | 2 | 4 | 8) => {
                return Err(KernelError::Corrupt(format!("bit-packed block of {element:?} values")));
            }
            (0, _) if !is_float => Kind::Integers,
            (1, _) if is_float => Kind::Decimals,
            (2, 1) if element.width() == 1 => Kind::Ranks,
            _ => {
                return Err(KernelError::Corrupt(format!(
                    "bit-packed block of kind {kind} for {element:?} values"
                )));
            }
        };
        if usize::from(exponent) > MAX_EXPONENT || (exponent > 0 && !is_float) {
            return Err(KernelError::Corrupt(format!("bit-packed block with exponent {exponent}")));
        }
        if found_rows != rows || exceptions > rows || (exceptions > 0 && !is_float) {
            return Err(KernelError::Corrupt(format!(
                "bit-packed block of {found_rows} values with {exceptions} exceptions, expected {rows} values"
            )));
        }
        let (groups, table) = match (layout, mode) {
            (0, 0) => (Groups::Uniform(Mode::Frame), OLD_HEADER_BYTES),
            (0, 1) => (Groups::Uniform(Mode::Delta), OLD_HEADER_BYTES),
            (1, 0) => Self::own_groups(block, kind)?,
            _ => {
                return Err(KernelError::Corrupt(format!(
                    "unknown layout {layout} or mode {mode} of a bit-packed block"
                )));
            }
        };
        let packed = table + rows.div_ceil(VECTOR_ROWS) * groups.entry_bytes(element);
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
        Ok(Self { kind, exponent, rows, exceptions, groups, table, packed, packed_end })
    }

    /// Read what layout 1 adds to the header; gives also where the group table starts.
    fn own_groups(block: &[u8], kind: Kind) -> Result<(Groups, usize)> {
        let divisor = u64::from_le_bytes(bytes::array(block, 16, WHAT)?);
        let common = bytes::i64_at(block, 24, WHAT)?;
        if kind == Kind::Ranks {
            let ranks = usize::try_from(divisor).unwrap_or(usize::MAX);
            return if (1..=MAX_RANKS).contains(&ranks) {
                Ok((Groups::Own { divisor: 1, common }, HEADER_BYTES + ranks))
            } else {
                Err(KernelError::Corrupt(format!("bit-packed block with {ranks} ranks")))
            };
        }
        if divisor == 0 {
            return Err(KernelError::Corrupt("bit-packed block with divisor 0".to_owned()));
        }
        Ok((Groups::Own { divisor, common }, HEADER_BYTES))
    }

    /// How many ranks the block has.
    pub fn rank_count(&self) -> usize {
        self.table.saturating_sub(HEADER_BYTES)
    }

    /// The byte of each rank; ranks that the block does not have give 0.
    pub fn ranks(&self, block: &[u8]) -> [u8; MAX_RANKS] {
        let mut ranks = [0; MAX_RANKS];
        if self.kind == Kind::Ranks {
            let stored = block.get(HEADER_BYTES..self.table).unwrap_or_default();
            ranks.iter_mut().zip(stored).for_each(|(rank, byte)| *rank = *byte);
        }
        ranks
    }

    /// Read and check the entry of a group.
    pub fn group<'a>(&self, block: &'a [u8], element: Element, group: usize) -> Result<Group<'a>> {
        let count = self.rows.saturating_sub(group * VECTOR_ROWS).min(VECTOR_ROWS);
        let at = self.table + group * self.groups.entry_bytes(element);
        let packed = block.get(self.packed..self.packed_end).unwrap_or_default();
        let found = match self.groups {
            Groups::Uniform(mode) => uniform_group(block, at, mode, packed, count)?,
            Groups::Own { divisor, common } => {
                own_group(block, at, element, packed, count)?.with(divisor, common)
            }
        };
        let widest = if is_narrow(element) { 32 } else { 64 };
        if found.width > widest || count == 0 {
            return Err(KernelError::Corrupt(format!(
                "group {group} has {count} values of {} bits",
                found.width
            )));
        }
        Ok(found)
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

impl Groups {
    /// Bytes of a group's entry.
    const fn entry_bytes(self, element: Element) -> usize {
        match self {
            Self::Uniform(Mode::Frame) => 16,
            Self::Uniform(Mode::Delta) => 24,
            Self::Own { .. } => ENTRY_BYTES + base_bytes(element),
        }
    }
}

impl Group<'_> {
    /// Take divisor and common value from the block where the group's flags ask for them.
    fn with(self, divisor: u64, common: i64) -> Self {
        Self { divisor: if self.divisor == 0 { divisor } else { 1 }, common, ..self }
    }
}

/// Read an entry of layout 0: base, offset, width, and with deltas the first value.
fn uniform_group<'a>(
    block: &[u8],
    at: usize,
    mode: Mode,
    packed: &'a [u8],
    count: usize,
) -> Result<Group<'a>> {
    let what = "group table";
    let base = bytes::i64_at(block, at, what)?;
    let offset = bytes::u32_at(block, at + 8, what)? as usize;
    let [width, pad @ ..]: [u8; 4] = bytes::array(block, at + 12, what)?;
    let first = if mode == Mode::Delta { bytes::i64_at(block, at + 16, what)? } else { 0 };
    let width = usize::from(width);
    if width > 64 || pad != [0; 3] {
        return Err(KernelError::Corrupt(format!("{count} values of {width} bits")));
    }
    Ok(Group {
        mode,
        base,
        first,
        divisor: 1,
        width,
        count,
        packed_count: count,
        packed: bytes::slice(packed, offset, count.div_ceil(SUB_BLOCK) * 32 * width, "packed group")?,
        patches: Patches { bytes: 0, bits: &[], places: &[] },
        common: 0,
        present: None,
    })
}

/// Read an entry of layout 1, and what lies before the packed values; a divisor of 0 stands for the block's.
fn own_group<'a>(
    block: &[u8],
    at: usize,
    element: Element,
    packed: &'a [u8],
    count: usize,
) -> Result<Group<'a>> {
    let what = "group table";
    let offset = bytes::u32_at(block, at, what)? as usize;
    let [patches_low, patches_high, width, flags] = bytes::array(block, at + 4, what)?;
    let base = bytes::slice(block, at + ENTRY_BYTES, base_bytes(element), what)?;
    let patches = usize::from(u16::from_le_bytes([patches_low, patches_high]));
    let patch_bytes = usize::from(flags >> PATCH_SHIFT);
    let width = usize::from(width);
    if width > 64 || patch_bytes > 8 || flags & 8 != 0 || (patches > 0) != (patch_bytes > 0) {
        return Err(KernelError::Corrupt(format!(
            "{count} values of {width} bits, {patches} of them with {patch_bytes} bytes more"
        )));
    }
    let mut rest = packed.get(offset..).unwrap_or_default();
    let mut take = |length: usize| -> Result<&'a [u8]> {
        let (taken, left) = rest
            .split_at_checked(length)
            .ok_or_else(|| KernelError::Truncated(format!("packed group at {offset} is cut short")))?;
        rest = left;
        Ok(taken)
    };
    let mode = if flags & FLAG_DELTA != 0 { Mode::Delta } else { Mode::Frame };
    let first = if mode == Mode::Delta { signed(take(base_bytes(element))?) } else { 0 };
    let present = if flags & FLAG_SPARSE != 0 { Some(take(count.div_ceil(8))?) } else { None };
    let bits = take(patches * patch_bytes)?;
    let places = take(patches * 2)?.as_chunks::<2>().0;
    let packed_count = present.map_or(count, |present| ones(present).min(count));
    Ok(Group {
        mode,
        base: signed(base),
        first,
        divisor: if flags & FLAG_SCALED != 0 { 0 } else { 1 },
        width,
        count,
        packed_count,
        packed: take(packed_count.div_ceil(SUB_BLOCK) * 32 * width)?,
        patches: Patches { bytes: patch_bytes, bits, places },
        common: 0,
        present,
    })
}

/// Bits that are 1.
fn ones(bytes: &[u8]) -> usize {
    bytes.iter().map(|byte| byte.count_ones() as usize).sum()
}

/// A signed number of 1, 2, 4 or 8 bytes.
fn signed(bytes: &[u8]) -> i64 {
    match *bytes {
        [a] => i64::from(a as i8),
        [a, b] => i64::from(i16::from_le_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// Bytes of a base in layout 1: that of a value, for decimals 8.
pub const fn base_bytes(element: Element) -> usize {
    if is_narrow(element) { element.width() } else { 8 }
}

/// Whether values of this element are packed and summed as 32-bit numbers.
pub const fn is_narrow(element: Element) -> bool {
    element.width() < 8 && !matches!(element, Element::F32)
}

//! Binary search in sorted rows: blocks by their zone maps first, so that few of them are decoded.

use crate::block_index::HAS_ZONE_MAP;
use crate::column::{Column, Element};
use crate::error::{KernelError, Result};
use crate::reader::Reader;

/// Which row among equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first row that is not below the value.
    Left,
    /// The first row above it.
    Right,
}

/// Words of a piece: part, start, stop.
pub const PIECE_WORDS: usize = 3;

/// Find in each piece the first row whose value is at least (left) or above (right) `value`; `stop` where none is.
///
/// The rows of a piece must ascend and have no nulls.
pub fn search_sorted(
    columns: &[Column<'_>],
    pieces: &[[i64; PIECE_WORDS]],
    value: i64,
    side: Side,
    out: &mut [i64],
) -> Result<()> {
    if out.len() != pieces.len() {
        return Err(KernelError::InvalidArgument(format!(
            "got room for {} rows, expected {}",
            out.len(),
            pieces.len()
        )));
    }
    let mut open: Option<(usize, Sorted<'_>)> = None;
    for (out, [part, start, stop]) in out.iter_mut().zip(pieces) {
        let wrong = || {
            KernelError::InvalidArgument(format!(
                "piece of part {part}, rows {start} to {stop}, is out of range"
            ))
        };
        let unsigned = |word: i64| usize::try_from(word).map_err(|_| wrong());
        let (part, start, stop) = (unsigned(*part)?, unsigned(*start)?, unsigned(*stop)?);
        let sorted = match &mut open {
            Some((number, sorted)) if *number == part => sorted,
            _ => &mut open.insert((part, Sorted::new(*columns.get(part).ok_or_else(wrong)?)?)).1,
        };
        if start > stop || stop > sorted.reader.column().rows {
            return Err(wrong());
        }
        *out = sorted.search(start, stop, value, side)? as i64;
    }
    Ok(())
}

/// A column to search in.
pub struct Sorted<'a> {
    reader: Reader<'a>,
}

impl<'a> Sorted<'a> {
    /// Take a column of integers.
    pub fn new(column: Column<'a>) -> Result<Self> {
        Ok(Self { reader: Reader::new(column)? })
    }

    /// Find a row in `start..stop`.
    pub fn search(&mut self, start: usize, stop: usize, value: i64, side: Side) -> Result<usize> {
        if self.reader.column().element != Element::U64 {
            return self.search_ordered(start, stop, value, side);
        }
        if value < 0 { Ok(start) } else { self.search_ordered(start, stop, value ^ i64::MIN, side) }
    }

    /// Find a row by a value in the order of i64: of uint64 the value with its top bit flipped.
    pub fn search_ordered(&mut self, start: usize, stop: usize, value: i64, side: Side) -> Result<usize> {
        let flip = if self.reader.column().element == Element::U64 { i64::MIN } else { 0 };
        let is_before = |found: i64| match side {
            Side::Left => found ^ flip < value,
            Side::Right => found ^ flip <= value,
        };
        let (mut low, mut high) = (start, stop);
        while low < high {
            let middle = low + (high - low) / 2;
            let block_rows = self.reader.column().block_rows;
            let block_start = middle - middle % block_rows;
            let block_stop = block_start.saturating_add(block_rows);
            if block_start >= start && block_stop <= stop && (block_start > low || block_stop < high) {
                let entry = self.reader.column().index.entry(middle / block_rows)?;
                if entry.flags & HAS_ZONE_MAP != 0 {
                    if is_before(i64::from_le_bytes(entry.max)) {
                        low = block_stop;
                        continue;
                    }
                    if !is_before(i64::from_le_bytes(entry.min)) {
                        high = block_start;
                        continue;
                    }
                }
            }
            let mut found = [0];
            self.reader.integers(middle, &mut found)?;
            let [found] = found;
            if is_before(found) { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }
}

//! The parts of a pco block: header, page ends, description, pages, exceptions.
//!
//! A reader trusts a [`Layout`] after `parse`: every offset in it lies inside the block.  Page ends and exception
//! positions are checked as they are read.

use std::ops::Range;

use crate::bytes;
use crate::column::Element;
use crate::decimal::MAX_EXPONENT;
use crate::error::{KernelError, Result};

/// Values of a page: the smallest piece that is decoded alone.
pub const PAGE_ROWS: usize = 4096;
/// Bytes of the block header.
pub const HEADER_BYTES: usize = 32;
/// Bytes of a page's end.
const END_BYTES: usize = 4;
const WHAT: &str = "pco block";

/// What the numbers stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Integers, as base + divisor * number.
    Integers = 0,
    /// Floats k / 10^exponent, with k as base + divisor * number; values that are no such float are exceptions.
    Decimals = 1,
    /// Floats as they are.
    Floats = 2,
}

/// The checked header of a block: what is where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// What the numbers stand for.
    pub kind: Kind,
    /// Bits of a number: 16, 32 or 64.
    pub bits: u8,
    /// Decimal places of decimals, else 0.
    pub exponent: u8,
    /// Values in the block.
    pub rows: usize,
    /// Number of exceptions.
    pub exceptions: usize,
    /// Added to each number.
    pub base: i64,
    /// Each number is multiplied by it.
    pub divisor: u64,
    /// First byte of the description.
    description: usize,
    /// First byte of the pages, where the description ends.
    pages: usize,
    /// Byte after the last page, where the bits of the exceptions start.
    pages_end: usize,
}

impl Layout {
    /// Read and check a block's header; `rows` is what the index says.
    pub fn parse(block: &[u8], element: Element, rows: usize) -> Result<Self> {
        let [kind, bits, exponent, reserved] = bytes::array(block, 0, WHAT)?;
        let [found_rows, exceptions, description_bytes] = [
            bytes::u32_at(block, 4, WHAT)? as usize,
            bytes::u32_at(block, 8, WHAT)? as usize,
            bytes::u32_at(block, 12, WHAT)? as usize,
        ];
        let base = bytes::i64_at(block, 16, WHAT)?;
        let divisor = u64::from_le_bytes(bytes::array(block, 24, WHAT)?);
        let is_float = matches!(element, Element::F32 | Element::F64);
        let kind = match kind {
            0 if !is_float && element.width() > 0 => Kind::Integers,
            1 if is_float => Kind::Decimals,
            2 if is_float && usize::from(bits) == 8 * element.width() && base == 0 && divisor == 1 => {
                Kind::Floats
            }
            _ => {
                return Err(KernelError::Corrupt(format!("pco block of kind {kind} for {element:?} values")));
            }
        };
        let is_number = matches!(bits, 16 | 32 | 64) && divisor > 0;
        let is_exponent = usize::from(exponent) <= MAX_EXPONENT && (exponent == 0 || kind == Kind::Decimals);
        if !is_number || !is_exponent || reserved != 0 {
            return Err(KernelError::Corrupt(format!(
                "pco block of {bits}-bit numbers with divisor {divisor} and exponent {exponent}"
            )));
        }
        if found_rows != rows || rows == 0 || exceptions > rows || (exceptions > 0 && kind != Kind::Decimals)
        {
            return Err(KernelError::Corrupt(format!(
                "pco block of {found_rows} values with {exceptions} exceptions, expected {rows} values"
            )));
        }
        let description = HEADER_BYTES + rows.div_ceil(PAGE_ROWS) * END_BYTES;
        let pages = description + description_bytes;
        let last_end = bytes::u32_at(block, description - END_BYTES, WHAT)? as usize;
        let pages_end = pages + last_end;
        let expected = pages_end + exceptions * (element.width() + 4);
        if block.len() != expected {
            let reason = format!("pco block has {} bytes, expected {expected}", block.len());
            return Err(if block.len() < expected {
                KernelError::Truncated(reason)
            } else {
                KernelError::Corrupt(reason)
            });
        }
        Ok(Self { kind, bits, exponent, rows, exceptions, base, divisor, description, pages, pages_end })
    }

    /// The bytes that describe how the numbers are compressed.
    pub fn description<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        block.get(self.description..self.pages).unwrap_or_default()
    }

    /// The block from a page on, and how many bytes of it are the page's.
    ///
    /// pcodec reads ahead, and copies what is shorter than it wants to read.
    pub fn page<'a>(&self, block: &'a [u8], page: usize) -> Result<(&'a [u8], usize)> {
        let end_at = |page: usize| bytes::u32_at(block, HEADER_BYTES + page * END_BYTES, WHAT);
        let start = if page == 0 { 0 } else { end_at(page - 1)? as usize };
        let end = end_at(page)? as usize;
        if page >= self.rows.div_ceil(PAGE_ROWS) || start > end || end > self.pages_end - self.pages {
            return Err(KernelError::Corrupt(format!("page {page} has bytes {start} to {end}")));
        }
        Ok((block.get(self.pages + start..).unwrap_or_default(), end - start))
    }

    /// Rows of the block that lie in a page.
    pub fn page_rows(&self, page: usize) -> Range<usize> {
        let start = page * PAGE_ROWS;
        start..self.rows.min(start + PAGE_ROWS)
    }

    /// The raw bits of the exceptions in a page, each with its place in the page.
    pub fn exceptions<'a>(
        &self,
        block: &'a [u8],
        element: Element,
        page: usize,
    ) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let width = element.width();
        let tail = block.get(self.pages_end..).unwrap_or_default();
        let (bits, positions) = tail.split_at_checked(self.exceptions * width).unwrap_or_default();
        let positions = positions.as_chunks::<4>().0;
        let rows = self.page_rows(page);
        let from =
            positions.partition_point(|position| (u32::from_le_bytes(*position) as usize) < rows.start);
        let places = positions
            .iter()
            .skip(from)
            .map(move |position| (u32::from_le_bytes(*position) as usize).wrapping_sub(rows.start));
        places.zip(bits.chunks_exact(width.max(1)).skip(from)).take_while(|(place, _)| *place < PAGE_ROWS)
    }
}

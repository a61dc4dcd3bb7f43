//! Plain blocks of text.
//!
//! ```text
//! 0             u32[rows + 1]  offsets into the bytes that follow: 0 first, ascending, the last is their count
//! 4 (rows + 1)  bytes          the texts one after the other, UTF-8
//! ```

use crate::bytes;
use crate::error::{KernelError, Result};
use crate::short_texts::WINDOW;

/// The texts of a block.
#[derive(Debug, Clone, Copy)]
pub struct Texts<'a> {
    offsets: &'a [[u8; 4]],
    data: &'a [u8],
}

/// One text.
pub enum Window<'a> {
    /// A short one, with the bytes that follow it.
    Short {
        /// The text and what follows.
        bytes: [u8; WINDOW],
        /// Bytes of the text.
        length: usize,
    },
    /// One that is longer, or the last.
    Long(&'a [u8]),
}

impl<'a> Texts<'a> {
    /// Take the bytes of a block apart; checks nothing of the single offsets.
    pub fn new(block: &'a [u8], rows: usize) -> Result<Self> {
        let head = bytes::slice(block, 0, rows.saturating_add(1).saturating_mul(4), "block of text")?;
        let data = block.get(head.len()..).unwrap_or_default();
        Ok(Self { offsets: head.as_chunks().0, data })
    }

    /// Check all texts, of which there are `count`; gives the bytes of all of them.
    pub fn check(&self, count: usize) -> Result<usize> {
        let (mut ends, mut data) = (Vec::new(), Vec::new());
        self.append(0, count, true, &mut ends, &mut data)?;
        match self.offsets.first() {
            Some([0, 0, 0, 0]) => Ok(data.len()),
            _ => Err(wrong(0, 0)),
        }
    }

    /// Give one text of those that were checked.
    #[inline(always)]
    pub fn window(&self, row: usize) -> Option<Window<'a>> {
        let [start, end] = self.offsets.get(row..)?.first_chunk()?;
        let rest = self.data.get(u32::from_le_bytes(*start) as usize..)?;
        let length = u32::from_le_bytes(*end).wrapping_sub(u32::from_le_bytes(*start)) as usize;
        match rest.first_chunk() {
            Some(bytes) if length <= WINDOW => Some(Window::Short { bytes: *bytes, length }),
            _ => rest.get(..length).map(Window::Long),
        }
    }

    /// Append rows: each one's end within `data` to `ends`, its bytes to `data`; refuses text that isn't UTF-8.
    pub fn append(
        &self,
        start: usize,
        count: usize,
        is_utf8: bool,
        ends: &mut Vec<i64>,
        data: &mut Vec<u8>,
    ) -> Result<()> {
        let offsets = self.offsets.get(start..=start + count).ok_or_else(|| wrong(0, 0))?;
        let Some((first, ends_within)) = offsets.split_first() else { return Ok(()) };
        let first = u32::from_le_bytes(*first);
        let last = ends_within.last().map_or(first, |end| u32::from_le_bytes(*end));
        let bytes = self.data.get(first as usize..last as usize).ok_or_else(|| wrong(last, first))?;
        let text = if is_utf8 { std::str::from_utf8(bytes).map_err(not_utf8)? } else { "" };
        let shift = data.len() as i64 - i64::from(first);
        let mut previous = first;
        ends.reserve(ends_within.len());
        for end in ends_within {
            let end = u32::from_le_bytes(*end);
            if end < previous || (is_utf8 && !text.is_char_boundary((end - first) as usize)) {
                return Err(wrong(end, previous));
            }
            ends.push(i64::from(end) + shift);
            previous = end;
        }
        data.extend_from_slice(bytes);
        Ok(())
    }
}

fn not_utf8(error: std::str::Utf8Error) -> KernelError {
    KernelError::Corrupt(format!("text isn't UTF-8: {error}"))
}

fn wrong(end: u32, start: u32) -> KernelError {
    KernelError::Corrupt(format!("text can't end at byte {end} and start at {start} of its block"))
}

/// Give the bytes of a plain block of so many texts.
pub fn encoded_bytes(rows: usize, text_bytes: usize) -> usize {
    4 * (rows + 1) + text_bytes
}

/// Write texts as a plain block; `data` holds exactly the bytes that the lengths add up to.
pub fn encode(lengths: &[u32], data: &[u8]) -> Result<Vec<u8>> {
    let length = encoded_bytes(lengths.len(), data.len());
    bytes::length_u32(length, "block of text")?;
    let mut block = Vec::with_capacity(length);
    let mut end = 0_u32;
    block.extend_from_slice(&end.to_le_bytes());
    for length in lengths {
        end = end.wrapping_add(*length);
        block.extend_from_slice(&end.to_le_bytes());
    }
    block.extend_from_slice(data);
    Ok(block)
}

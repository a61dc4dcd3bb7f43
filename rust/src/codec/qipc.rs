//! The compression of the q wire protocol: one compressed message a block, as kdb+ files hold it.
//!
//! ```text
//!  0 kind           4 bytes  01 00 01 00
//!  4 stored bytes   u32      of the whole message
//!  8 unpacked bytes u32      8 more than the message's content
//! 12 stream
//! ```
//!
//! The stream is a control byte, then up to eight items, one for each of its bits from the lowest on. Bit 0: one
//! byte as it is. Bit 1: two bytes h and n, a copy of 2 + n bytes from the place that a table of 256 has for h.
//! After each item the table gets, under the exclusive or of two neighbouring bytes, the place of the first of
//! them; within a copied run only its first pair is entered. Places count from 8, so 0 means none.
//!
//! It is here to read and to compare with what kdb+ writes, and never chosen by itself.

use crate::bytes;
use crate::error::{KernelError, Result};

const HEADER_BYTES: usize = 12;
const KIND: [u8; 4] = [1, 0, 1, 0];
/// Bytes that the unpacked count has beside the content: an uncompressed message's header.
const MESSAGE_HEADER_BYTES: usize = 8;
/// Further bytes of a copy, after its first two.
const MOST_FURTHER_BYTES: usize = 255;

/// A control byte and eight copies.
const MOST_GROUP_BYTES: usize = 17;

/// Where each pair of neighbouring bytes was seen last, by the exclusive or of the two.
struct Places {
    /// One more than the place; 0 for none.
    table: [u32; 256],
    /// The next place to enter.
    next: usize,
}

impl Places {
    fn new() -> Self {
        Self { table: [0; 256], next: 0 }
    }

    /// Enter the places of all pairs that lie before `end`.
    #[inline(always)]
    fn enter(&mut self, out: &[u8], end: usize) {
        while self.next + 1 < end {
            if let Some([first, second]) = out.get(self.next..).and_then(<[u8]>::first_chunk)
                && let Some(slot) = self.table.get_mut(usize::from(first ^ second))
            {
                *slot = self.next as u32 + 1;
            }
            self.next += 1;
        }
    }

    #[inline(always)]
    fn find(&self, key: u8) -> Option<usize> {
        self.table.get(usize::from(key)).and_then(|place| (*place as usize).checked_sub(1))
    }
}

/// Compress bytes; as kdb+ does, only where that about halves them, else they are given back.
pub fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    let unpacked = bytes::length_u32(bytes.len() + MESSAGE_HEADER_BYTES, "block")?;
    let mut out = Vec::with_capacity(bytes.len() / 2 + HEADER_BYTES);
    out.extend_from_slice(&KIND);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&unpacked.to_le_bytes());
    let most = (bytes.len() + MESSAGE_HEADER_BYTES) / 2;
    let mut places = Places::new();
    let mut position = 0;
    while position < bytes.len() {
        let control_at = out.len();
        if control_at + MOST_GROUP_BYTES > most {
            return Ok(bytes.to_vec());
        }
        out.push(0);
        let mut control = 0_u8;
        for bit in 0..8 {
            let Some(length) = put_item(bytes, position, &places, &mut out) else { break };
            if length > 1 {
                control |= 1 << bit;
            }
            places.enter(bytes, position + length.min(2));
            position += length;
            if length > 1 {
                places.next = position;
            }
        }
        if let Some(byte) = out.get_mut(control_at) {
            *byte = control;
        }
    }
    let stored = bytes::length_u32(out.len(), "block")?;
    for (byte, value) in out.iter_mut().skip(KIND.len()).zip(stored.to_le_bytes()) {
        *byte = value;
    }
    Ok(out)
}

/// Write the item of the bytes from `position` on; gives their number, none at the end.
///
/// As kdb+ does, the last two bytes are never a copy.
#[inline(always)]
fn put_item(bytes: &[u8], position: usize, places: &Places, out: &mut Vec<u8>) -> Option<usize> {
    let here = bytes.get(position..)?;
    if let [first, second, _, ..] = here
        && let Some(place) = places.find(first ^ second)
        && let Some(earlier) = bytes.get(place..)
        && earlier.first() == Some(first)
    {
        let further = here.iter().zip(earlier).skip(2).take(MOST_FURTHER_BYTES);
        let count = further.take_while(|(byte, before)| byte == before).count();
        out.extend_from_slice(&[first ^ second, count as u8]);
        return Some(2 + count);
    }
    out.push(*here.first()?);
    Some(1)
}

/// Decompress into `out`; gives the number of bytes written.
pub fn decompress(stored: &[u8], out: &mut [u8]) -> Result<usize> {
    const WHAT: &str = "qipc block";
    if bytes::array::<4>(stored, 0, WHAT)? != KIND {
        return Err(corrupt("doesn't begin with 01 00 01 00"));
    }
    let length = bytes::u32_at(stored, 4, WHAT)? as usize;
    let unpacked = bytes::u32_at(stored, 8, WHAT)? as usize;
    if length != stored.len() || unpacked != out.len() + MESSAGE_HEADER_BYTES {
        return Err(corrupt("states other lengths than it has"));
    }
    let mut items = stored.get(HEADER_BYTES..).unwrap_or_default().iter().copied();
    let mut next = || items.next().ok_or_else(|| KernelError::Truncated(format!("{WHAT} is cut")));
    let mut places = Places::new();
    let mut position = 0;
    while position < out.len() {
        let control = next()?;
        for bit in 0..8 {
            if position == out.len() {
                break;
            }
            if control >> bit & 1 == 0 {
                let byte = next()?;
                if let Some(target) = out.get_mut(position) {
                    *target = byte;
                }
                position += 1;
                places.enter(out, position);
            } else {
                let source = places.find(next()?).ok_or_else(|| corrupt("copies from nowhere"))?;
                let count = 2 + usize::from(next()?);
                copy_within(out, source, position, count)?;
                places.enter(out, position + 2);
                position += count;
                places.next = position;
            }
        }
    }
    if items.next().is_some() {
        return Err(corrupt("has bytes after its end"));
    }
    Ok(position)
}

/// Copy `count` bytes to where writing goes on; a source that reaches there repeats itself.
#[inline(always)]
fn copy_within(out: &mut [u8], source: usize, position: usize, count: usize) -> Result<()> {
    if source >= position || position + count > out.len() {
        return Err(corrupt("copies past its end"));
    }
    if source + count <= position {
        out.copy_within(source..source + count, position);
        return Ok(());
    }
    let distance = position - source;
    if let Some(run) = out.get_mut(source..position + count) {
        for index in distance..run.len() {
            if let Some(byte) = run.get(index - distance).copied()
                && let Some(target) = run.get_mut(index)
            {
                *target = byte;
            }
        }
    }
    Ok(())
}

fn corrupt(reason: &str) -> KernelError {
    KernelError::Corrupt(format!("qipc block {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the description: c c, then a copy of the pair with 10 further bytes.
    const RUN: [u8; 17] = [1, 0, 1, 0, 17, 0, 0, 0, 22, 0, 0, 0, 0b100, b'c', b'c', 0, 10];

    #[test]
    fn message_that_is_written_by_hand_is_read() {
        let mut out = [0; 14];
        assert_eq!(decompress(&RUN, &mut out), Ok(14));
        assert_eq!(&out, b"cccccccccccccc");
    }

    #[test]
    fn run_of_equal_bytes_is_compressed_as_by_hand() {
        let expected =
            [[1, 0, 1, 0, 17, 0, 0, 0, 108, 0, 0, 0].as_slice(), &[0b100, b'c', b'c', 0, 96]].concat();
        assert_eq!(compress(&[b'c'; 100]), Ok(expected));
    }

    #[test]
    fn what_is_not_halved_is_given_back() {
        let bytes = b"abcdefghijklmnopqrstuvwxyz".repeat(2);
        assert_eq!(compress(&bytes), Ok(bytes));
    }

    #[test]
    fn copy_from_a_place_that_is_not_there_is_an_error() {
        let mut message = RUN;
        message[15] = 7;
        assert!(decompress(&message, &mut [0; 14]).is_err());
    }

    #[test]
    fn bytes_after_the_stream_are_an_error() {
        let [start @ .., _, _, _, _, _] = RUN;
        let message = [start.as_slice(), &[0b100, b'c', b'c', 0, 10, 0]].concat();
        let longer: Vec<u8> = message.iter().enumerate().map(|(at, byte)| byte + u8::from(at == 4)).collect();
        assert!(decompress(&longer, &mut [0; 14]).is_err());
    }
}

//! Gathers short texts: each is a copy of a window of fixed size, of which only its length counts.
//!
//! A copy of unknown length is a call, and takes several times as long as a text of a few bytes needs.

/// Bytes of a window.
pub const WINDOW: usize = 16;
const BUFFER: usize = 8 << 10;

/// Texts on their way to the end of `data`.
pub struct ShortTexts<'o> {
    ends: &'o mut Vec<i64>,
    data: &'o mut Vec<u8>,
    buffer: [u8; BUFFER],
    used: usize,
}

impl<'o> ShortTexts<'o> {
    /// Make one for about so many rows; each one's end within `data` goes to `ends`, its bytes to `data`.
    pub fn new(rows: usize, ends: &'o mut Vec<i64>, data: &'o mut Vec<u8>) -> Self {
        ends.reserve(rows);
        Self { ends, data, buffer: [0; BUFFER], used: 0 }
    }

    /// Bytes of text so far.
    pub fn len(&self) -> usize {
        self.data.len() + self.used
    }

    /// Add the first bytes of a window to the current text.
    #[inline(always)]
    pub fn put(&mut self, window: [u8; WINDOW], length: usize) {
        if self.used > BUFFER - WINDOW {
            self.flush();
        }
        if let Some(place) = self.buffer.get_mut(self.used..).and_then(<[u8]>::first_chunk_mut) {
            *place = window;
        }
        self.used += length.min(WINDOW);
    }

    /// Add bytes of any number to the current text.
    pub fn put_long(&mut self, text: &[u8]) {
        if text.len() <= WINDOW {
            let mut window = [0; WINDOW];
            window.iter_mut().zip(text).for_each(|(byte, found)| *byte = *found);
            self.put(window, text.len());
        } else {
            self.flush();
            self.data.extend_from_slice(text);
        }
    }

    /// End the current text.
    #[inline(always)]
    pub fn end(&mut self) {
        self.ends.push((self.data.len() + self.used) as i64);
    }

    /// Hand on what is gathered; the last call.
    pub fn flush(&mut self) {
        self.data.extend_from_slice(self.buffer.get(..self.used).unwrap_or_default());
        self.used = 0;
    }
}

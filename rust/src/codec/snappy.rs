//! Snappy blocks, without the framing of streams.

use snap::raw;

use crate::error::{KernelError, Result};

/// Compresses; keeps its table of 64 KiB.
pub struct Encoder(raw::Encoder);

impl Encoder {
    /// Make an encoder.
    pub fn new() -> Self {
        Self(raw::Encoder::new())
    }

    /// Compress bytes.
    pub fn compress(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        self.0
            .compress_vec(bytes)
            .map_err(|error| KernelError::InvalidArgument(format!("snappy can't compress: {error}")))
    }
}

/// Decompress into `out`; gives the number of bytes written.
pub fn decompress(stored: &[u8], out: &mut [u8]) -> Result<usize> {
    raw::Decoder::new()
        .decompress(stored, out)
        .map_err(|error| KernelError::Corrupt(format!("snappy block can't be decompressed: {error}")))
}

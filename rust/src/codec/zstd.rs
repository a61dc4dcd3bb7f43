//! Zstandard frames.

use zstd::bulk;

use crate::error::{KernelError, Result};

/// Compresses at one level.
pub struct Encoder(bulk::Compressor<'static>);

impl Encoder {
    /// Make an encoder.
    pub fn new(level: i32) -> Result<Self> {
        bulk::Compressor::new(level).map(Self).map_err(refused)
    }

    /// Compress bytes.
    pub fn compress(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        self.0.compress(bytes).map_err(refused)
    }
}

/// Decompresses; a context of some 100 KiB that is worth keeping.
pub struct Decoder(bulk::Decompressor<'static>);

impl Decoder {
    /// Make a decoder.
    pub fn new() -> Result<Self> {
        bulk::Decompressor::new().map(Self).map_err(refused)
    }

    /// Decompress into `out`; gives the number of bytes written.
    pub fn decompress(&mut self, stored: &[u8], out: &mut [u8]) -> Result<usize> {
        self.0
            .decompress_to_buffer(stored, out)
            .map_err(|error| KernelError::Corrupt(format!("zstd block can't be decompressed: {error}")))
    }
}

fn refused(error: std::io::Error) -> KernelError {
    KernelError::InvalidArgument(format!("zstd can't compress: {error}"))
}

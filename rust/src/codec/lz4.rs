//! LZ4 blocks. Levels 1 and 2 are the fast compressor, 3 to 12 the high-compression one; higher ones act as 12.

use lz4::block::{CompressionMode, compress_bound, compress_to_buffer, decompress_to_buffer};

use crate::error::{KernelError, Result};

const FIRST_HIGH_LEVEL: i32 = 3;
const HIGHEST_LEVEL: i32 = 12;

/// Compress bytes.
pub fn compress(bytes: &[u8], level: i32) -> Result<Vec<u8>> {
    let mode = match level {
        ..FIRST_HIGH_LEVEL => CompressionMode::DEFAULT,
        _ => CompressionMode::HIGHCOMPRESSION(level.min(HIGHEST_LEVEL)),
    };
    let refused =
        |error: std::io::Error| KernelError::InvalidArgument(format!("lz4 can't compress: {error}"));
    let mut out = vec![0; compress_bound(bytes.len()).map_err(refused)?];
    let count = compress_to_buffer(bytes, Some(mode), false, &mut out).map_err(refused)?;
    out.truncate(count);
    Ok(out)
}

/// Decompress into `out`; gives the number of bytes written.
pub fn decompress(stored: &[u8], out: &mut [u8]) -> Result<usize> {
    let size = i32::try_from(out.len())
        .map_err(|_| KernelError::Corrupt(format!("lz4 block of {} bytes is too large", out.len())))?;
    decompress_to_buffer(stored, Some(size), out)
        .map_err(|error| KernelError::Corrupt(format!("lz4 block can't be decompressed: {error}")))
}

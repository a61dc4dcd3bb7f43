//! Byte compressors over what an encoding left of a block.

mod lz4;
mod zstd;

use crate::error::{KernelError, Result};

/// A match of LZ4 grows by at most 255 bytes with each further byte.
const LZ4_LARGEST_RATIO: usize = 255;
/// A Zstandard block of 128 KiB takes at least a header of three bytes.
const ZSTD_LARGEST_RATIO: usize = (128 << 10) / 3;

/// A byte compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Codec {
    /// Bytes as they are.
    None = 0,
    /// LZ4 block format, without a size in front: the index has it.
    Lz4 = 1,
    /// One Zstandard frame with its content size and without a checksum.
    Zstd = 2,
}

impl Codec {
    /// Read a codec from its id.
    pub fn from_id(id: u8) -> Result<Self> {
        match id {
            0 => Ok(Self::None),
            1 => Ok(Self::Lz4),
            2 => Ok(Self::Zstd),
            _ => Err(KernelError::Corrupt(format!("unknown codec id {id}: expected 0 to 2"))),
        }
    }

    /// The most bytes that this many stored ones can decompress to.
    pub fn most_bytes(self, stored: usize) -> usize {
        match self {
            Self::None => stored,
            Self::Lz4 => stored.saturating_mul(LZ4_LARGEST_RATIO),
            Self::Zstd => stored.saturating_mul(ZSTD_LARGEST_RATIO),
        }
    }

    /// Find a codec by the name that users write.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "none" => Ok(Self::None),
            "lz4" => Ok(Self::Lz4),
            "zstd" => Ok(Self::Zstd),
            _ => Err(KernelError::InvalidArgument(format!(
                "unknown codec '{name}'; there are 'none', 'lz4', 'zstd'"
            ))),
        }
    }
}

/// Compresses blocks with one codec and level; keeps its work memory between blocks.
pub struct Compressor {
    codec: Codec,
    level: i32,
    zstd: Option<zstd::Encoder>,
}

impl Compressor {
    /// Make a compressor.
    pub fn new(codec: Codec, level: i32) -> Result<Self> {
        let zstd = if codec == Codec::Zstd { Some(zstd::Encoder::new(level)?) } else { None };
        Ok(Self { codec, level, zstd })
    }

    /// Compress bytes; `None` where the result would not be smaller.
    pub fn compress(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let compressed = match (self.codec, &mut self.zstd) {
            (Codec::Lz4, _) => lz4::compress(bytes, self.level)?,
            (Codec::Zstd, Some(encoder)) => encoder.compress(bytes)?,
            _ => return Ok(None),
        };
        Ok(Some(compressed).filter(|compressed| compressed.len() < bytes.len()))
    }

    /// The codec.
    pub fn codec(&self) -> Codec {
        self.codec
    }
}

/// Undoes codecs; keeps its work memory between blocks.
#[derive(Default)]
pub struct Decompressor {
    zstd: Option<zstd::Decoder>,
}

impl Decompressor {
    /// Fill `out` exactly with the bytes that `stored` decompresses to.
    pub fn decompress(&mut self, codec: Codec, stored: &[u8], out: &mut [u8]) -> Result<()> {
        let count = match codec {
            Codec::None => {
                if stored.len() == out.len() {
                    out.copy_from_slice(stored);
                }
                stored.len()
            }
            Codec::Lz4 => lz4::decompress(stored, out)?,
            Codec::Zstd => {
                let decoder = match &mut self.zstd {
                    Some(decoder) => decoder,
                    None => self.zstd.insert(zstd::Decoder::new()?),
                };
                decoder.decompress(stored, out)?
            }
        };
        if count == out.len() {
            Ok(())
        } else {
            Err(KernelError::Corrupt(format!("block decompresses to {count} bytes, expected {}", out.len())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every codec must do; a new one adds its line to `each_codec`.
    fn each_codec(check: impl Fn(Codec, i32)) {
        for (codec, levels) in [(Codec::Lz4, [1, 3, 12]), (Codec::Zstd, [-7, 3, 22])] {
            for level in levels {
                check(codec, level);
            }
        }
    }

    fn text() -> Vec<u8> {
        b"AAPL MSFT AAPL IBM ".repeat(40)
    }

    fn compressed(codec: Codec, level: i32) -> Vec<u8> {
        Compressor::new(codec, level)
            .and_then(|mut compressor| compressor.compress(&text()))
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    #[test]
    fn bytes_come_back() {
        each_codec(|codec, level| {
            let mut out = vec![0; text().len()];
            let result = Decompressor::default().decompress(codec, &compressed(codec, level), &mut out);
            assert_eq!(result, Ok(()));
            assert_eq!(out, text());
        });
    }

    #[test]
    fn what_grows_is_not_compressed() {
        each_codec(|codec, level| {
            let result = Compressor::new(codec, level).and_then(|mut compressor| compressor.compress(b"q"));
            assert_eq!(result, Ok(None));
        });
    }

    #[test]
    fn block_cut_at_every_byte_is_an_error() {
        each_codec(|codec, level| {
            let stored = compressed(codec, level);
            for cut in 0..stored.len() {
                let mut out = vec![0; text().len()];
                let result = Decompressor::default().decompress(
                    codec,
                    stored.get(..cut).unwrap_or_default(),
                    &mut out,
                );
                assert!(result.is_err(), "{codec:?} cut at {cut}");
            }
        });
    }

    #[test]
    fn another_length_is_an_error() {
        each_codec(|codec, level| {
            for length in [text().len() - 1, text().len() + 1] {
                let mut out = vec![0; length];
                let result = Decompressor::default().decompress(codec, &compressed(codec, level), &mut out);
                assert!(result.is_err(), "{codec:?} into {length}");
            }
        });
    }
}

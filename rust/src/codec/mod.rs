//! Byte compressors over what an encoding left of a block.

mod gzip;
mod lz4;
mod qipc;
mod snappy;
mod zstd;

use crate::error::{KernelError, Result};

/// A match of LZ4 grows by at most 255 bytes with each further byte.
const LZ4_LARGEST_RATIO: usize = 255;
/// A Zstandard block of 128 KiB takes at least a header of three bytes.
const ZSTD_LARGEST_RATIO: usize = (128 << 10) / 3;
/// A copy of at most 64 bytes takes three.
const SNAPPY_LARGEST_RATIO: usize = 22;
/// A copy of at most 258 bytes takes at least two bits.
const GZIP_LARGEST_RATIO: usize = 1032;
/// A copy of at most 257 bytes takes two.
const QIPC_LARGEST_RATIO: usize = 129;

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
    /// One Snappy block, without framing.
    Snappy = 3,
    /// One zlib stream.
    Gzip = 4,
    /// One compressed message of the q wire protocol.
    Qipc = 5,
}

impl Codec {
    /// Every codec, by its id.
    pub const ALL: [Self; 6] = [Self::None, Self::Lz4, Self::Zstd, Self::Snappy, Self::Gzip, Self::Qipc];

    /// Read a codec from its id.
    pub fn from_id(id: u8) -> Result<Self> {
        Self::ALL.get(usize::from(id)).copied().ok_or_else(|| {
            KernelError::Corrupt(format!("unknown codec id {id}: expected 0 to {}", Self::ALL.len() - 1))
        })
    }

    /// Find a codec by the name that users write.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|codec| codec.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(|codec| format!("'{}'", codec.name())).join(", ");
            KernelError::InvalidArgument(format!("unknown codec '{name}'; there are {known}"))
        })
    }

    /// The name that users write.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Snappy => "snappy",
            Self::Gzip => "gzip",
            Self::Qipc => "qipc",
        }
    }

    /// The most bytes that this many stored ones can decompress to.
    pub fn most_bytes(self, stored: usize) -> usize {
        stored.saturating_mul(match self {
            Self::None => 1,
            Self::Lz4 => LZ4_LARGEST_RATIO,
            Self::Zstd => ZSTD_LARGEST_RATIO,
            Self::Snappy => SNAPPY_LARGEST_RATIO,
            Self::Gzip => GZIP_LARGEST_RATIO,
            Self::Qipc => QIPC_LARGEST_RATIO,
        })
    }
}

/// Compresses blocks with one codec and level; keeps its work memory between blocks.
pub struct Compressor {
    codec: Codec,
    work: Work,
}

/// What a codec keeps between blocks.
enum Work {
    None,
    Lz4 { level: i32 },
    Zstd(Box<zstd::Encoder>),
    Snappy(Box<snappy::Encoder>),
    Gzip(gzip::Encoder),
    Qipc,
}

impl Compressor {
    /// Make a compressor.
    pub fn new(codec: Codec, level: i32) -> Result<Self> {
        let work = match codec {
            Codec::None => Work::None,
            Codec::Lz4 => Work::Lz4 { level },
            Codec::Zstd => Work::Zstd(Box::new(zstd::Encoder::new(level)?)),
            Codec::Snappy => Work::Snappy(Box::new(snappy::Encoder::new())),
            Codec::Gzip => Work::Gzip(gzip::Encoder::new(level)),
            Codec::Qipc => Work::Qipc,
        };
        Ok(Self { codec, work })
    }

    /// Compress bytes; `None` where the result would not be smaller.
    pub fn compress(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let compressed = match &mut self.work {
            Work::None => return Ok(None),
            Work::Lz4 { level } => lz4::compress(bytes, *level)?,
            Work::Zstd(encoder) => encoder.compress(bytes)?,
            Work::Snappy(encoder) => encoder.compress(bytes)?,
            Work::Gzip(encoder) => encoder.compress(bytes)?,
            Work::Qipc => qipc::compress(bytes)?,
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
    gzip: Option<gzip::Decoder>,
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
            Codec::Snappy => snappy::decompress(stored, out)?,
            Codec::Gzip => self.gzip.get_or_insert_with(gzip::Decoder::new).decompress(stored, out)?,
            Codec::Qipc => qipc::decompress(stored, out)?,
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
        check(Codec::Snappy, 0);
        check(Codec::Qipc, 0);
        for (codec, levels) in
            [(Codec::Lz4, [1, 3, 16]), (Codec::Zstd, [-7, 3, 22]), (Codec::Gzip, [1, 6, 9])]
        {
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

    #[test]
    fn level_0_of_gzip_saves_nothing() {
        let result = Compressor::new(Codec::Gzip, 0).and_then(|mut compressor| compressor.compress(&text()));
        assert_eq!(result, Ok(None));
    }

    #[test]
    fn bytes_after_the_end_of_a_block_are_an_error() {
        each_codec(|codec, level| {
            let mut stored = compressed(codec, level);
            stored.push(0);
            let result = Decompressor::default().decompress(codec, &stored, &mut vec![0; text().len()]);
            assert!(result.is_err(), "{codec:?}");
        });
    }

    #[test]
    fn ids_and_names_find_their_codec() {
        for (id, codec) in Codec::ALL.into_iter().enumerate() {
            assert_eq!(codec as usize, id);
            assert_eq!(Codec::from_name(codec.name()), Ok(codec));
        }
    }

    #[test]
    fn no_block_of_equal_bytes_exceeds_the_largest_ratio() {
        let zeros = vec![0; 1 << 20];
        each_codec(|codec, level| {
            let stored = Compressor::new(codec, level).and_then(|mut compressor| compressor.compress(&zeros));
            let length = stored.ok().flatten().unwrap_or_default().len();
            assert!(codec.most_bytes(length) >= zeros.len(), "{codec:?} {length}");
        });
    }
}

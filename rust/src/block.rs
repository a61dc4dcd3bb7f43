//! Values to stored blocks with their index entries, and back.

use crate::bitpack;
use crate::block_index::BlockEntry;
use crate::bytes;
use crate::checksum;
use crate::codec::{Codec, Compressor};
use crate::column::{Column, Element};
use crate::encoding::Encoding;
use crate::error::{KernelError, Result};
use crate::reader::{MAX_BLOCK_BYTES, Reader};
use crate::runs;
use crate::strings;
use crate::zone_map::{self, Nulls, ZoneMap};

/// Stored blocks and their index entries.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks, one after the other.
    pub stored: Vec<u8>,
    /// 48 bytes a block.
    pub index: Vec<u8>,
}

/// How and where blocks are written.
pub struct BlockWriter {
    encoding: Encoding,
    compressor: Compressor,
    block_rows: usize,
    offset: u64,
    blocks: Blocks,
}

impl BlockWriter {
    /// Make a writer; `offset` counts the bytes of the stretch that are there already.
    pub fn new(encoding: Encoding, codec: Codec, level: i32, block_rows: usize, offset: u64) -> Result<Self> {
        if !block_rows.is_power_of_two() {
            return Err(KernelError::InvalidArgument(format!(
                "{block_rows} rows a block isn't a power of two"
            )));
        }
        let compressor = Compressor::new(codec, level)?;
        Ok(Self { encoding, compressor, block_rows, offset, blocks: Blocks::default() })
    }

    /// Encode fixed-width values, little-endian.
    pub fn encode_values(mut self, values: &[u8], element: Element, nulls: Nulls<'_>) -> Result<Blocks> {
        let width = element.width();
        if width == 0 || self.block_rows * width > MAX_BLOCK_BYTES {
            return Err(KernelError::InvalidArgument(format!(
                "blocks of {} values of {width} bytes can't be: at most {MAX_BLOCK_BYTES} bytes",
                self.block_rows
            )));
        }
        check_validity(nulls.validity, values.len() / width)?;
        for (number, block) in values.chunks(self.block_rows * width).enumerate() {
            let zone_map = zone_map::of_values(block, element, nulls, number * self.block_rows);
            match encode_block(self.encoding, block, element)? {
                Some((encoding, encoded)) => self.push(encoding, &encoded, block.len() / width, zone_map)?,
                None => self.push(Encoding::Plain, block, block.len() / width, zone_map)?,
            }
        }
        Ok(self.blocks)
    }

    /// Encode texts.
    pub fn encode_texts(mut self, lengths: &[u32], data: &[u8], nulls: Nulls<'_>) -> Result<Blocks> {
        check_validity(nulls.validity, lengths.len())?;
        let mut rest = data;
        for (number, lengths) in lengths.chunks(self.block_rows).enumerate() {
            let count: usize = lengths.iter().map(|length| *length as usize).sum();
            let texts = bytes::slice(rest, 0, count, "text")?;
            rest = rest.get(count..).unwrap_or_default();
            let zone_map = zone_map::of_text(lengths.len(), nulls, number * self.block_rows);
            self.push(Encoding::Plain, &strings::encode(lengths, texts)?, lengths.len(), zone_map)?;
        }
        if rest.is_empty() {
            Ok(self.blocks)
        } else {
            Err(KernelError::InvalidArgument(format!("{} bytes of text are left over", rest.len())))
        }
    }

    /// Compress an encoded block where that makes it smaller, and append it with its entry.
    fn push(&mut self, encoding: Encoding, encoded: &[u8], rows: usize, zone_map: ZoneMap) -> Result<()> {
        let compressed = self.compressor.compress(encoded)?;
        let codec = if compressed.is_some() { self.compressor.codec() } else { Codec::None };
        let stored = compressed.as_deref().unwrap_or(encoded);
        let entry = BlockEntry {
            offset: self.offset,
            stored_bytes: bytes::length_u32(stored.len(), "block")?,
            rows: bytes::length_u32(rows, "block")?,
            crc32c: checksum::crc32c(stored),
            null_count: zone_map.null_count,
            encoding: encoding as u8,
            codec: codec as u8,
            flags: zone_map.flags,
            encoded_bytes: bytes::length_u32(encoded.len(), "block")?,
            min: zone_map.min,
            max: zone_map.max,
        };
        self.offset += stored.len() as u64;
        self.blocks.stored.extend_from_slice(stored);
        self.blocks.index.extend_from_slice(&entry.to_bytes());
        Ok(())
    }
}

/// Encode the values of a block as asked for, or in another way that is smaller; `None` where plain is the smallest.
fn encode_block(wanted: Encoding, values: &[u8], element: Element) -> Result<Option<(Encoding, Vec<u8>)>> {
    let encoded = match wanted {
        Encoding::Plain => None,
        Encoding::Bitpack => bitpack::encode(values, element)?,
        Encoding::Runs => runs::encode(values, element),
    };
    Ok(encoded.map(|encoded| (wanted, encoded)))
}

fn check_validity(validity: Option<&[u8]>, rows: usize) -> Result<()> {
    match validity {
        Some(bitmap) if bitmap.len() < rows.div_ceil(8) => Err(KernelError::InvalidArgument(format!(
            "validity bitmap is too short: got {} bytes, expected at least {}",
            bitmap.len(),
            rows.div_ceil(8)
        ))),
        _ => Ok(()),
    }
}

/// Compare the stored bytes of blocks with their checksums.
pub fn verify(column: &Column<'_>, first_block: usize, last_block: usize) -> Result<()> {
    for block in first_block..last_block {
        let entry = column.index.entry(block)?;
        let found = checksum::crc32c(entry.stored(column.stored)?);
        if found != entry.crc32c {
            return Err(KernelError::Checksum(format!(
                "checksum of block {block} is {found:#010x}, expected {:#010x}",
                entry.crc32c
            )));
        }
    }
    Ok(())
}

/// Gather rows by number into `out`, plain values; a negative number leaves its value as it is.
pub fn take_rows(column: Column<'_>, rows: &[i64], out: &mut [u8]) -> Result<()> {
    let width = column.element.width();
    if width == 0 || out.len() != rows.len() * width {
        return Err(KernelError::InvalidArgument(format!(
            "got room for {} bytes, expected {} values of {width}",
            out.len(),
            rows.len()
        )));
    }
    let mut reader = Reader::new(column)?;
    for (row, value) in rows.iter().zip(out.chunks_exact_mut(width)) {
        if let Ok(row) = usize::try_from(*row) {
            reader.values(row, value)?;
        }
    }
    Ok(())
}

//! Values to stored blocks with their index entries, and back.

use crate::bitpack;
use crate::block_index::BlockEntry;
use crate::bytes;
use crate::checksum;
use crate::codec::{Codec, Compressor};
use crate::column::{Column, Element};
use crate::dict;
use crate::encoding::Encoding;
use crate::error::{KernelError, Result};
use crate::numerals;
use crate::pco;
use crate::planes::{self, Mode};
use crate::reader::{MAX_BLOCK_BYTES, Reader};
use crate::runs;
use crate::strings;
use crate::zone_map::{self, Nulls, ZoneMap};

/// Bytes of values from which a way of encoding is chosen.
const LEAST_SAMPLE: usize = 16 << 10;

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
    level: i32,
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
        Ok(Self { encoding, level, compressor, block_rows, offset, blocks: Blocks::default() })
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
            let encoded = self.encode_block(block, element)?;
            self.push_smaller(encoded, block, block.len() / width, zone_map)?;
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
            match self.encode_text_block(lengths, texts)? {
                Some(encoded) => self.push(self.encoding, &encoded, lengths.len(), zone_map)?,
                None => {
                    self.push(Encoding::Plain, &strings::encode(lengths, texts)?, lengths.len(), zone_map)?;
                }
            }
        }
        if rest.is_empty() {
            Ok(self.blocks)
        } else {
            Err(KernelError::InvalidArgument(format!("{} bytes of text are left over", rest.len())))
        }
    }

    /// Encode the values of a block as asked for, or in another way that is smaller; `None` for plain.
    fn encode_block(&mut self, values: &[u8], element: Element) -> Result<Option<(Encoding, Vec<u8>)>> {
        let encoded = match self.encoding {
            _ if !element.is_number() => None,
            Encoding::Plain => None,
            Encoding::Bitpack => return pack_or_run(values, element),
            Encoding::Pco => pco::encode(values, element, self.level)?,
            Encoding::Bytes => self.encode_planes(values, element)?,
            Encoding::Dict => dict::encode(values, element, self.has_codec()),
            Encoding::Runs => runs::encode(values, element),
        };
        Ok(encoded.map(|encoded| (self.encoding, encoded)))
    }

    /// Encode the texts of a block as asked for; `None` where that doesn't fit them or is no smaller than plain.
    fn encode_text_block(&self, lengths: &[u32], texts: &[u8]) -> Result<Option<Vec<u8>>> {
        let encoded = match self.encoding {
            Encoding::Bitpack => match numerals::integers_of(lengths, texts) {
                Some(integers) => bitpack::encode(&integers, Element::I64)?,
                None => None,
            },
            Encoding::Pco => match numerals::integers_of(lengths, texts) {
                Some(integers) => pco::encode(&integers, Element::I64, self.level)?,
                None => None,
            },
            Encoding::Dict => dict::encode_texts(lengths, texts, self.has_codec())?,
            Encoding::Plain | Encoding::Bytes | Encoding::Runs => None,
        };
        let plain_bytes = strings::encoded_bytes(lengths.len(), texts.len());
        Ok(encoded.filter(|encoded| encoded.len() < plain_bytes))
    }

    /// Split values into byte planes, in the mode that compresses a sample best; `None` where none beats plain.
    fn encode_planes(&mut self, values: &[u8], element: Element) -> Result<Option<Vec<u8>>> {
        let width = element.width().max(1);
        let sample = if self.has_codec() { middle(values, width) } else { values };
        let mut best = (self.compressed_bytes(sample)?, None);
        for mode in [Mode::Values, Mode::Deltas] {
            if let Some(planes) = planes::encode(sample, element, mode) {
                let size = self.compressed_bytes(&planes)?;
                if size < best.0 {
                    best = (size, Some(mode));
                }
            }
        }
        Ok(best.1.and_then(|mode| planes::encode(values, element, mode)))
    }

    /// Give the bytes that the codec leaves of these.
    fn compressed_bytes(&mut self, bytes: &[u8]) -> Result<usize> {
        Ok(self.compressor.compress(bytes)?.map_or(bytes.len(), |compressed| compressed.len()))
    }

    fn has_codec(&self) -> bool {
        self.compressor.codec() != Codec::None
    }

    /// Append a block of values as encoded, or plain where there is nothing else or it takes as much.
    fn push_smaller(
        &mut self,
        encoded: Option<(Encoding, Vec<u8>)>,
        plain: &[u8],
        rows: usize,
        zone_map: ZoneMap,
    ) -> Result<()> {
        if let Some((encoding, encoded)) = encoded {
            let compressed = self.compressor.compress(&encoded)?;
            // Byte planes may be a few bytes longer than the values.
            if compressed.as_ref().unwrap_or(&encoded).len() < plain.len() {
                return self.append(encoding, &encoded, compressed.as_deref(), rows, zone_map);
            }
        }
        self.push(Encoding::Plain, plain, rows, zone_map)
    }

    /// Compress an encoded block where that makes it smaller, and append it.
    fn push(&mut self, encoding: Encoding, encoded: &[u8], rows: usize, zone_map: ZoneMap) -> Result<()> {
        let compressed = self.compressor.compress(encoded)?;
        self.append(encoding, encoded, compressed.as_deref(), rows, zone_map)
    }

    /// Append a block with its entry.
    fn append(
        &mut self,
        encoding: Encoding,
        encoded: &[u8],
        compressed: Option<&[u8]>,
        rows: usize,
        zone_map: ZoneMap,
    ) -> Result<()> {
        let codec = if compressed.is_some() { self.compressor.codec() } else { Codec::None };
        let stored = compressed.unwrap_or(encoded);
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

/// Give an eighth of the values from their middle, at least 16 KiB.
fn middle(values: &[u8], width: usize) -> &[u8] {
    let length = (values.len() / 8).max(LEAST_SAMPLE).min(values.len()) / width * width;
    let start = (values.len() - length) / 2 / width * width;
    values.get(start..start + length).unwrap_or(values)
}

/// Pack values, or give their runs where those are smaller by more than what is quick to read at any row is worth.
fn pack_or_run(values: &[u8], element: Element) -> Result<Option<(Encoding, Vec<u8>)>> {
    let runs_bytes = runs::encoded_bytes(values, element);
    // Packed bytes take a hundredth even where all are equal.
    let packed = if element.width() == 1 && runs_bytes <= values.len() / 128 {
        None
    } else {
        bitpack::encode(values, element)?
    };
    let packed_bytes = packed.as_ref().map_or(values.len(), Vec::len);
    if runs_bytes + values.len() / 256 < packed_bytes {
        return Ok(runs::encode(values, element).map(|encoded| (Encoding::Runs, encoded)));
    }
    Ok(packed.map(|encoded| (Encoding::Bitpack, encoded)))
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
    let mut take = |place: usize, row: i64| match (usize::try_from(row), out.get_mut(place * width..)) {
        (Ok(row), Some(rest)) => reader.values(row, rest.get_mut(..width).unwrap_or_default()),
        _ => Ok(()),
    };
    if rows.is_sorted() {
        return rows.iter().enumerate().try_for_each(|(place, row)| take(place, *row));
    }
    // In ascending order each block is undone once.
    let mut ordered: Vec<(i64, usize)> = rows.iter().copied().zip(0..).collect();
    ordered.sort_unstable();
    ordered.into_iter().try_for_each(|(row, place)| take(place, row))
}

/// Gather texts by ascending row number: each one's end within `data` to `ends`, its bytes to `data`.
pub fn take_texts(column: Column<'_>, rows: &[i64], ends: &mut Vec<i64>, data: &mut Vec<u8>) -> Result<()> {
    let mut reader = Reader::new(column)?;
    for span in rows.chunk_by(|row, next| row.checked_add(1) == Some(*next)) {
        let start = span
            .first()
            .and_then(|row| usize::try_from(*row).ok())
            .ok_or_else(|| KernelError::InvalidArgument("a row number is negative".to_owned()))?;
        reader.texts(start, start + span.len(), ends, data)?;
    }
    Ok(())
}

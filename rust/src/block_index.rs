//! The block index of a column: 48 bytes a block, mapped and read in place.
//!
//! ```text
//!  0 offset         u64  first stored byte, counted from the start of the values stretch
//!  8 stored_bytes   u32  bytes in the file
//! 12 rows           u32
//! 16 crc32c         u32  of the stored bytes
//! 20 null_count     u32
//! 24 encoding       u8   see `encoding`
//! 25 codec          u8   see `codec`
//! 26 flags          u16  1 has NaN, 2 has a minimum and a maximum
//! 28 encoded_bytes  u32  bytes after the codec is undone
//! 32 min            8    i64, u64 or f64 by class of the element; nulls and NaN left out; 0 without flag 2
//! 40 max            8
//! ```

use crate::codec::Codec;
use crate::column::{Element, ElementClass};
use crate::encoding::Encoding;
use crate::error::{KernelError, Result};
use crate::planes;

/// Bytes of one entry.
pub const ENTRY_BYTES: usize = 48;
/// Flag: at least one value is NaN.
pub const HAS_NAN: u16 = 1;
/// Flag: minimum and maximum are set.
pub const HAS_ZONE_MAP: u16 = 2;

/// One entry of a block index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEntry {
    /// First stored byte, from the start of the values stretch.
    pub offset: u64,
    /// Bytes in the file.
    pub stored_bytes: u32,
    /// Rows in the block.
    pub rows: u32,
    /// Checksum of the stored bytes.
    pub crc32c: u32,
    /// Rows without a value.
    pub null_count: u32,
    /// Id of the encoding.
    pub encoding: u8,
    /// Id of the codec.
    pub codec: u8,
    /// [`HAS_NAN`], [`HAS_ZONE_MAP`].
    pub flags: u16,
    /// Bytes after the codec is undone.
    pub encoded_bytes: u32,
    /// Smallest value, by class of the element.
    pub min: [u8; 8],
    /// Largest value, by class of the element.
    pub max: [u8; 8],
}

impl BlockEntry {
    /// Write the entry as 48 bytes.
    pub fn to_bytes(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        let fields: [&[u8]; 11] = [
            &self.offset.to_le_bytes(),
            &self.stored_bytes.to_le_bytes(),
            &self.rows.to_le_bytes(),
            &self.crc32c.to_le_bytes(),
            &self.null_count.to_le_bytes(),
            &[self.encoding],
            &[self.codec],
            &self.flags.to_le_bytes(),
            &self.encoded_bytes.to_le_bytes(),
            &self.min,
            &self.max,
        ];
        for (byte, value) in bytes.iter_mut().zip(fields.into_iter().flatten()) {
            *byte = *value;
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let mut rest = bytes.as_slice();
        Self {
            offset: u64::from_le_bytes(take(&mut rest)),
            stored_bytes: u32::from_le_bytes(take(&mut rest)),
            rows: u32::from_le_bytes(take(&mut rest)),
            crc32c: u32::from_le_bytes(take(&mut rest)),
            null_count: u32::from_le_bytes(take(&mut rest)),
            encoding: u8::from_le_bytes(take(&mut rest)),
            codec: u8::from_le_bytes(take(&mut rest)),
            flags: u16::from_le_bytes(take(&mut rest)),
            encoded_bytes: u32::from_le_bytes(take(&mut rest)),
            min: take(&mut rest),
            max: take(&mut rest),
        }
    }

    /// The stored bytes of this block.
    pub fn stored<'a>(&self, stretch: &'a [u8]) -> Result<&'a [u8]> {
        usize::try_from(self.offset)
            .ok()
            .and_then(|start| stretch.get(start..start.checked_add(self.stored_bytes as usize)?))
            .ok_or_else(|| {
                KernelError::Truncated(format!(
                    "block lies outside the values: bytes {} to {} of {}",
                    self.offset,
                    self.offset.saturating_add(u64::from(self.stored_bytes)),
                    stretch.len()
                ))
            })
    }
}

/// The next `N` bytes; the entry's size is fixed, so they are there.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    match rest.split_first_chunk() {
        Some((value, tail)) => {
            *rest = tail;
            *value
        }
        None => [0; N],
    }
}

/// The entries of a column, read in place.
#[derive(Debug, Clone, Copy)]
pub struct BlockIndex<'a> {
    entries: &'a [[u8; ENTRY_BYTES]],
}

impl<'a> BlockIndex<'a> {
    /// Take bytes as entries; they must be a whole number of them.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        let (entries, rest) = bytes.as_chunks();
        if rest.is_empty() {
            Ok(Self { entries })
        } else {
            Err(KernelError::Truncated(format!(
                "block index is cut: {} bytes aren't a whole number of {ENTRY_BYTES}-byte entries",
                bytes.len()
            )))
        }
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of a block.
    pub fn entry(&self, block: usize) -> Result<BlockEntry> {
        self.entries
            .get(block)
            .map(BlockEntry::from_bytes)
            .ok_or_else(|| KernelError::Corrupt(format!("no block {block}: the index has {}", self.len())))
    }
}

/// Check that an index can be: afterwards every block lies in the stretch and has the rows it must have.
pub fn validate(
    index: BlockIndex<'_>,
    stored_bytes: u64,
    rows: usize,
    block_rows: usize,
    element: Element,
) -> Result<()> {
    if !block_rows.is_power_of_two() {
        return Err(KernelError::Corrupt(format!("{block_rows} rows a block isn't a power of two")));
    }
    let blocks = rows.div_ceil(block_rows);
    if index.len() != blocks {
        return Err(KernelError::Corrupt(format!(
            "block index has {} entries, expected {blocks} for {rows} rows",
            index.len()
        )));
    }
    let mut previous_end = 0;
    for block in 0..blocks {
        let entry = index.entry(block)?;
        let expected_rows = (rows - block * block_rows).min(block_rows);
        previous_end = validate_entry(&entry, element, expected_rows, previous_end)
            .map_err(|reason| KernelError::Corrupt(format!("block {block}: {reason}")))?;
        if previous_end > stored_bytes {
            return Err(KernelError::Truncated(format!(
                "block {block} ends at byte {previous_end}, but there are {stored_bytes}"
            )));
        }
    }
    Ok(())
}

/// Check one entry; gives the byte after its block.
fn validate_entry(
    entry: &BlockEntry,
    element: Element,
    expected_rows: usize,
    previous_end: u64,
) -> std::result::Result<u64, String> {
    if entry.rows as usize != expected_rows {
        return Err(format!("got {} rows, expected {expected_rows}", entry.rows));
    }
    if entry.null_count > entry.rows {
        return Err(format!("{} nulls in {} rows", entry.null_count, entry.rows));
    }
    if entry.flags & !(HAS_NAN | HAS_ZONE_MAP) != 0 {
        return Err(format!("unknown flags {:#x}", entry.flags));
    }
    let encoding = Encoding::from_id(entry.encoding).map_err(|failure| failure.to_string())?;
    let codec = Codec::from_id(entry.codec).map_err(|failure| failure.to_string())?;
    check_encoded_bytes(encoding, element, entry.rows as usize, entry.encoded_bytes as usize)?;
    if codec == Codec::None && entry.stored_bytes != entry.encoded_bytes {
        return Err(format!(
            "{} stored bytes without a codec, expected {}",
            entry.stored_bytes, entry.encoded_bytes
        ));
    }
    if entry.flags & HAS_ZONE_MAP != 0 && !is_ascending(entry, element) {
        return Err("minimum is above the maximum".to_owned());
    }
    if entry.offset < previous_end {
        return Err(format!("starts at byte {} inside the block before it", entry.offset));
    }
    entry
        .offset
        .checked_add(u64::from(entry.stored_bytes))
        .ok_or_else(|| format!("offset {} is out of range", entry.offset))
}

/// Refuse an encoding that values of this type can't have, and lengths that it can't give.
pub fn check_encoded_bytes(
    encoding: Encoding,
    element: Element,
    rows: usize,
    encoded: usize,
) -> std::result::Result<(), String> {
    if encoding != Encoding::Plain && matches!(element, Element::Bytes16 | Element::Binary) {
        return Err(format!("{element:?} values can't have the encoding {}", encoding.name()));
    }
    if element.width() > 0 {
        let plain_bytes = rows.saturating_mul(element.width());
        let most = if encoding == Encoding::Bytes { plain_bytes + planes::HEADER_BYTES } else { plain_bytes };
        return match encoding {
            Encoding::Plain if encoded != plain_bytes => {
                Err(format!("got {encoded} bytes, expected {plain_bytes}"))
            }
            _ if encoded > most => Err(format!("{encoded} bytes are more than plain's {plain_bytes}")),
            _ => Ok(()),
        };
    }
    match encoding {
        Encoding::Plain if encoded < rows.saturating_add(1).saturating_mul(4) => {
            Err(format!("{encoded} bytes can't hold the offsets of {rows} texts"))
        }
        Encoding::Bitpack | Encoding::Pco if encoded > rows.saturating_mul(8) => {
            Err(format!("{encoded} bytes are more than those of {rows} integers"))
        }
        Encoding::Plain | Encoding::Bitpack | Encoding::Pco | Encoding::Dict => Ok(()),
        Encoding::Bytes | Encoding::Runs => Err(format!("text can't have the encoding {}", encoding.name())),
    }
}

fn is_ascending(entry: &BlockEntry, element: Element) -> bool {
    match element.class() {
        ElementClass::Signed => i64::from_le_bytes(entry.min) <= i64::from_le_bytes(entry.max),
        ElementClass::Unsigned => u64::from_le_bytes(entry.min) <= u64::from_le_bytes(entry.max),
        ElementClass::Float => f64::from_le_bytes(entry.min) <= f64::from_le_bytes(entry.max),
        ElementClass::Bytes => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> BlockEntry {
        BlockEntry {
            offset: 0,
            stored_bytes: 80,
            rows: 10,
            crc32c: 0x0102_0304,
            null_count: 1,
            encoding: 0,
            codec: 0,
            flags: HAS_ZONE_MAP,
            encoded_bytes: 80,
            min: (-5_i64).to_le_bytes(),
            max: 7_i64.to_le_bytes(),
        }
    }

    fn check(entry: &BlockEntry) -> Result<()> {
        validate(BlockIndex::new(&entry.to_bytes())?, 80, 10, 16, Element::I64)
    }

    #[test]
    fn entry_keeps_its_size_because_files_hold_it() {
        assert_eq!(entry().to_bytes().len(), 48);
    }

    #[test]
    fn entry_comes_back_as_it_was_written() {
        let bytes = entry().to_bytes();
        assert_eq!(BlockIndex::new(&bytes).and_then(|index| index.entry(0)), Ok(entry()));
    }

    #[test]
    fn validate_takes_what_was_written() {
        assert_eq!(check(&entry()), Ok(()));
    }

    #[test]
    fn validate_refuses_each_wrong_field() {
        let wrong = [
            BlockEntry { offset: 1, ..entry() },
            BlockEntry { offset: u64::MAX, ..entry() },
            BlockEntry { stored_bytes: 81, ..entry() },
            BlockEntry { rows: 9, ..entry() },
            BlockEntry { null_count: 11, ..entry() },
            BlockEntry { encoding: 99, ..entry() },
            BlockEntry { codec: 99, ..entry() },
            BlockEntry { flags: 4, ..entry() },
            BlockEntry { encoded_bytes: 79, ..entry() },
            BlockEntry { min: 8_i64.to_le_bytes(), ..entry() },
        ];
        for entry in wrong {
            assert!(check(&entry).is_err(), "{entry:?}");
        }
    }

    #[test]
    fn validate_refuses_another_number_of_blocks() {
        let bytes = entry().to_bytes();
        let index = BlockIndex { entries: bytes.as_chunks().0 };
        assert!(validate(index, 80, 17, 16, Element::I64).is_err());
    }
}

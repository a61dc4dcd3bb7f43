//! A column as kernels see it: stored bytes, block index, element type, null rule.

use crate::block_index::BlockIndex;
use crate::error::{KernelError, Result};

/// Rows that kernels step through at a time, and values of a bit-packed group.
pub const VECTOR_ROWS: usize = 1024;

/// The type of one stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Element {
    /// Unsigned 8 bits: uint8, bool, char.
    U8 = 0,
    /// Signed 8 bits.
    I8 = 1,
    /// Unsigned 16 bits.
    U16 = 2,
    /// Signed 16 bits.
    I16 = 3,
    /// Unsigned 32 bits: uint32, symbol codes.
    U32 = 4,
    /// Signed 32 bits: int32, dates.
    I32 = 5,
    /// Unsigned 64 bits.
    U64 = 6,
    /// Signed 64 bits: int64, points and spans of time.
    I64 = 7,
    /// Float of 32 bits.
    F32 = 8,
    /// Float of 64 bits.
    F64 = 9,
    /// Text of any length, UTF-8.
    Utf8 = 10,
    /// 16 bytes without an order: guid.
    Bytes16 = 11,
    /// Bytes of any length: the items of a list.
    Binary = 12,
}

/// How the 8-byte minimum and maximum of a zone map are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementClass {
    /// Two's complement, `i64`.
    Signed,
    /// `u64`.
    Unsigned,
    /// The bits of an `f64`.
    Float,
    /// Bytes without an order that queries ask for; there is no zone map.
    Bytes,
}

impl Element {
    /// Read an element from its id.
    pub fn from_id(id: u8) -> Result<Self> {
        Ok(match id {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::U16,
            3 => Self::I16,
            4 => Self::U32,
            5 => Self::I32,
            6 => Self::U64,
            7 => Self::I64,
            8 => Self::F32,
            9 => Self::F64,
            10 => Self::Utf8,
            11 => Self::Bytes16,
            12 => Self::Binary,
            _ => {
                return Err(KernelError::InvalidArgument(format!(
                    "element id {id} is out of range: expected 0 to 12"
                )));
            }
        })
    }

    /// Bytes of one value; those of any length give 0.
    pub const fn width(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
            Self::Bytes16 => 16,
            Self::Utf8 | Self::Binary => 0,
        }
    }

    /// How minimum and maximum of a zone map are read.
    pub const fn class(self) -> ElementClass {
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => ElementClass::Unsigned,
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => ElementClass::Signed,
            Self::F32 | Self::F64 => ElementClass::Float,
            Self::Utf8 | Self::Bytes16 | Self::Binary => ElementClass::Bytes,
        }
    }

    /// Whether values are integers or floats, which kernels compute with.
    pub const fn is_number(self) -> bool {
        !matches!(self.class(), ElementClass::Bytes)
    }
}

/// One column of one part, as it lies in memory or in a mapped file.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// The values stretch: the bytes that offsets of the index count from.
    pub stored: &'a [u8],
    /// One entry a block.
    pub index: BlockIndex<'a>,
    /// Type of one value.
    pub element: Element,
    /// Rows of all blocks.
    pub rows: usize,
    /// Rows of every block but the last, a power of two.
    pub block_rows: usize,
    /// One bit a row, least significant first, 1 where there is a value; `None` where every row has one.
    pub validity: Option<&'a [u8]>,
    /// The code that means null, for columns that have one instead of a bitmap.
    pub null_code: Option<u32>,
}

impl<'a> Column<'a> {
    /// Refuse a column whose parts do not fit each other; nothing of the blocks is read.
    pub fn validate(&self) -> Result<()> {
        if !self.block_rows.is_power_of_two() {
            return Err(KernelError::InvalidArgument(format!(
                "{} rows a block isn't a power of two",
                self.block_rows
            )));
        }
        let blocks = self.rows.div_ceil(self.block_rows);
        if self.index.len() != blocks {
            return Err(KernelError::Corrupt(format!(
                "block index has {} entries, expected {blocks} for {} rows",
                self.index.len(),
                self.rows
            )));
        }
        match self.validity {
            Some(bitmap) if bitmap.len() < self.rows.div_ceil(8) => Err(KernelError::Truncated(format!(
                "validity bitmap is too short: got {} bytes, expected at least {}",
                bitmap.len(),
                self.rows.div_ceil(8)
            ))),
            _ => Ok(()),
        }
    }

    /// Refuse rows that the column does not have.
    pub fn check_rows(&self, first_row: usize, count: usize) -> Result<()> {
        match first_row.checked_add(count) {
            Some(stop) if stop <= self.rows => Ok(()),
            _ => Err(KernelError::InvalidArgument(format!(
                "rows {first_row} to {first_row} + {count} are out of range: the column has {} rows",
                self.rows
            ))),
        }
    }

    /// Whether the validity bitmap has a value at this row; true where there is no bitmap.
    pub fn is_valid(&self, row: usize) -> bool {
        match self.validity {
            None => true,
            Some(bitmap) => bitmap.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1),
        }
    }

    /// The bytes of the validity bitmap from this row on; `first_row` is a multiple of 8.
    pub fn validity_from(&self, first_row: usize) -> Option<&'a [u8]> {
        self.validity.and_then(|bitmap| bitmap.get(first_row / 8..))
    }
}

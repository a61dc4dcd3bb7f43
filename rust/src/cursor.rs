//! The next vector of a column, whatever its encoding, codec and block size, and which of its rows are null.

use crate::column::{Column, Element};
use crate::error::{KernelError, Result};
use crate::isa::{Isa, Kernel, dispatch};
use crate::reader::Reader;

/// The top bit, which turns the order of u64 into the order of i64.
const TOP: i64 = i64::MIN;

/// Steps through a column by vectors.
pub struct Cursor<'a> {
    reader: Reader<'a>,
}

impl<'a> Cursor<'a> {
    /// Make a cursor; refuses a column whose parts do not fit each other.
    pub fn new(column: Column<'a>) -> Result<Self> {
        Ok(Self { reader: Reader::new(column)? })
    }

    /// Rows of the column.
    pub fn rows(&self) -> usize {
        self.reader.column().rows
    }

    /// Give the integers of the rows from `first_row` on: as they lie, or else in `out`.
    ///
    /// With `ordered`, uint64 values have the top bit flipped; without, values above 2^63-1 are refused.
    pub fn integers(
        &mut self,
        first_row: usize,
        ordered: bool,
        out: &mut [i64],
    ) -> Result<Option<&'a [i64]>> {
        let element = self.reader.column().element;
        if element == Element::I64
            && let Some(stored) = self.reader.stored_plain(first_row, out.len())?
        {
            return Ok(Some(stored));
        }
        self.reader.integers(first_row, out)?;
        if element == Element::U64 {
            if ordered {
                out.iter_mut().for_each(|value| *value ^= TOP);
            } else if out.iter().any(|value| *value < 0) {
                return Err(KernelError::Unsupported(
                    "a uint64 value is above 2^63-1, which sums, keys and arithmetic don't reach; \
                     cast the column, or use scan()"
                        .to_owned(),
                ));
            }
        }
        Ok(None)
    }

    /// Give the floats of the rows from `first_row` on: as they lie, or else in `out`.
    pub fn floats(&mut self, first_row: usize, out: &mut [f64]) -> Result<Option<&'a [f64]>> {
        if self.reader.column().element == Element::F64
            && let Some(stored) = self.reader.stored_plain(first_row, out.len())?
        {
            return Ok(Some(stored));
        }
        self.reader.floats(first_row, out)?;
        Ok(None)
    }

    /// Fill `out` with 1 for a value and 0 for null; false, with `out` undefined, where no row is null.
    ///
    /// `codes` are the integers of these rows; only columns with a null code look at them.
    pub fn validity(&self, first_row: usize, codes: &[i64], out: &mut [u8]) -> bool {
        let column = self.reader.column();
        if let Some(code) = column.null_code {
            return dispatch(DiffersFrom { values: codes, code: i64::from(code), out });
        }
        match column.validity_from(first_row) {
            None => false,
            Some(bytes) => dispatch(Unpack { bytes, skip: first_row % 8, out }),
        }
    }
}

/// Compare codes with the null code; whether any is equal.
struct DiffersFrom<'v> {
    values: &'v [i64],
    code: i64,
    out: &'v mut [u8],
}

impl Kernel for DiffersFrom<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let mut all = 1;
        for (valid, value) in self.out.iter_mut().zip(self.values) {
            *valid = u8::from(*value != self.code);
            all &= *valid;
        }
        all == 0
    }
}

/// Spread bits to bytes; whether any bit is 0.
struct Unpack<'v> {
    bytes: &'v [u8],
    skip: usize,
    out: &'v mut [u8],
}

impl Kernel for Unpack<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let bits = self.bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
        let mut all = 1;
        for (valid, bit) in self.out.iter_mut().zip(bits.skip(self.skip)) {
            *valid = bit;
            all &= bit;
        }
        all == 0
    }
}

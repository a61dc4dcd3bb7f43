//! Minimum, maximum, null count and has-NaN of the values of a block.

use crate::block_index::{HAS_NAN, HAS_ZONE_MAP};
use crate::column::Element;
use crate::isa::{Isa, Kernel, dispatch};

const LANES: usize = 8;

/// What the index says of a block's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ZoneMap {
    /// Rows without a value.
    pub null_count: u32,
    /// [`HAS_NAN`], [`HAS_ZONE_MAP`].
    pub flags: u16,
    /// Smallest value, by class of the element.
    pub min: [u8; 8],
    /// Largest value, by class of the element.
    pub max: [u8; 8],
}

/// Which rows of the column are null.
#[derive(Debug, Clone, Copy)]
pub struct Nulls<'a> {
    /// One bit a row, least significant first, 1 where there is a value.
    pub validity: Option<&'a [u8]>,
    /// The code that means null.
    pub null_code: Option<u32>,
}

impl Nulls<'_> {
    fn is_valid(&self, row: usize) -> bool {
        match self.validity {
            None => true,
            Some(bitmap) => bitmap.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1),
        }
    }
}

/// Look at the values of a block that starts at `first_row`; `values` are little-endian.
pub fn of_values(values: &[u8], element: Element, nulls: Nulls<'_>, first_row: usize) -> ZoneMap {
    match element {
        Element::U8 => found(values, nulls, first_row, |bytes| u64::from(u8::from_le_bytes(bytes))),
        Element::U16 => found(values, nulls, first_row, |bytes| u64::from(u16::from_le_bytes(bytes))),
        Element::U32 => found(values, nulls, first_row, |bytes| u64::from(u32::from_le_bytes(bytes))),
        Element::U64 => found(values, nulls, first_row, u64::from_le_bytes),
        Element::I8 => found(values, nulls, first_row, |bytes| i64::from(i8::from_le_bytes(bytes))),
        Element::I16 => found(values, nulls, first_row, |bytes| i64::from(i16::from_le_bytes(bytes))),
        Element::I32 => found(values, nulls, first_row, |bytes| i64::from(i32::from_le_bytes(bytes))),
        Element::I64 => found(values, nulls, first_row, i64::from_le_bytes),
        Element::F32 => found(values, nulls, first_row, |bytes| f64::from(f32::from_le_bytes(bytes))),
        Element::F64 => found(values, nulls, first_row, f64::from_le_bytes),
        Element::Utf8 | Element::Binary => ZoneMap::default(),
        Element::Bytes16 => of_text(values.len() / element.width(), nulls, first_row),
    }
}

/// Count the nulls of rows that have no zone map.
pub fn of_text(rows: usize, nulls: Nulls<'_>, first_row: usize) -> ZoneMap {
    let null_count = (first_row..first_row + rows).filter(|&row| !nulls.is_valid(row)).count();
    ZoneMap { null_count: null_count as u32, ..ZoneMap::default() }
}

/// A value as the index holds it.
trait Number: Copy + PartialOrd {
    /// No value is above this one.
    const HIGHEST: Self;
    /// No value is below this one.
    const LOWEST: Self;

    /// Whether the value is a null code.
    fn is_code(self, code: Option<u32>) -> bool;

    fn to_bytes(self) -> [u8; 8];
}

impl Number for u64 {
    const HIGHEST: Self = Self::MAX;
    const LOWEST: Self = 0;

    fn is_code(self, code: Option<u32>) -> bool {
        code.map(Self::from) == Some(self)
    }

    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }
}

impl Number for i64 {
    const HIGHEST: Self = Self::MAX;
    const LOWEST: Self = Self::MIN;

    fn is_code(self, _: Option<u32>) -> bool {
        false
    }

    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }
}

impl Number for f64 {
    const HIGHEST: Self = Self::INFINITY;
    const LOWEST: Self = Self::NEG_INFINITY;

    fn is_code(self, _: Option<u32>) -> bool {
        false
    }

    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }
}

/// The smallest and the largest of some values; comparisons leave NaN out.
#[derive(Clone, Copy)]
struct Range<T> {
    low: T,
    high: T,
    has_nan: bool,
}

impl<T: Number> Range<T> {
    const EMPTY: Self = Self { low: T::HIGHEST, high: T::LOWEST, has_nan: false };

    #[inline(always)]
    fn add(&mut self, value: T) {
        self.low = if value < self.low { value } else { self.low };
        self.high = if value > self.high { value } else { self.high };
        self.has_nan |= value.partial_cmp(&value).is_none();
    }

    fn merge(self, other: Self) -> Self {
        Self {
            low: if other.low < self.low { other.low } else { self.low },
            high: if other.high > self.high { other.high } else { self.high },
            has_nan: self.has_nan | other.has_nan,
        }
    }
}

/// Ranges over values without nulls, in independent lanes.
struct Lanes<'v, F, const N: usize> {
    values: &'v [[u8; N]],
    read: F,
}

impl<T: Number, F: Fn([u8; N]) -> T, const N: usize> Kernel for Lanes<'_, F, N> {
    type Output = Range<T>;

    #[inline(always)]
    fn run<I: Isa>(self) -> Range<T> {
        let mut low = [T::HIGHEST; LANES];
        let mut high = [T::LOWEST; LANES];
        let mut has_nan = false;
        let (rows, rest) = self.values.as_chunks::<LANES>();
        for row in rows {
            for ((low, high), bytes) in low.iter_mut().zip(&mut high).zip(row) {
                let value = (self.read)(*bytes);
                *low = if value < *low { value } else { *low };
                *high = if value > *high { value } else { *high };
                has_nan |= value.partial_cmp(&value).is_none();
            }
        }
        let lanes = low.into_iter().zip(high).map(|(low, high)| Range { low, high, has_nan });
        let mut range = lanes.fold(Range::EMPTY, Range::merge);
        rest.iter().for_each(|bytes| range.add((self.read)(*bytes)));
        range
    }
}

fn found<const N: usize, T: Number>(
    values: &[u8],
    nulls: Nulls<'_>,
    first_row: usize,
    read: impl Fn([u8; N]) -> T,
) -> ZoneMap {
    let values = values.as_chunks::<N>().0;
    if nulls.validity.is_none() && nulls.null_code.is_none() {
        return of_range(dispatch(Lanes { values, read }), 0);
    }
    let mut range = Range::EMPTY;
    let mut null_count = 0;
    for (row, bytes) in values.iter().enumerate() {
        let value = read(*bytes);
        if value.is_code(nulls.null_code) || !nulls.is_valid(first_row + row) {
            null_count += 1;
        } else {
            range.add(value);
        }
    }
    of_range(range, null_count)
}

fn of_range<T: Number>(range: Range<T>, null_count: u32) -> ZoneMap {
    let flags = if range.has_nan { HAS_NAN } else { 0 };
    if range.low <= range.high {
        let (min, max) = (range.low.to_bytes(), range.high.to_bytes());
        ZoneMap { null_count, flags: flags | HAS_ZONE_MAP, min, max }
    } else {
        ZoneMap { null_count, flags, ..ZoneMap::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_NULLS: Nulls<'_> = Nulls { validity: None, null_code: None };

    fn bytes_of(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn nan_is_flagged_and_left_out_of_the_range() {
        let map = of_values(&bytes_of(&[f64::NAN, 2.0, -1.0]), Element::F64, NO_NULLS, 0);
        let expected =
            ZoneMap { null_count: 0, flags: 3, min: (-1.0_f64).to_le_bytes(), max: 2.0_f64.to_le_bytes() };
        assert_eq!(map, expected);
    }

    #[test]
    fn only_nan_has_no_range() {
        let map = of_values(&bytes_of(&[f64::NAN]), Element::F64, NO_NULLS, 0);
        assert_eq!(map, ZoneMap { flags: HAS_NAN, ..ZoneMap::default() });
    }

    #[test]
    fn null_code_is_counted_and_left_out() {
        let values: Vec<u8> = [3_u32, u32::MAX, 9].iter().flat_map(|value| value.to_le_bytes()).collect();
        let map = of_values(&values, Element::U32, Nulls { validity: None, null_code: Some(u32::MAX) }, 0);
        assert_eq!(
            map,
            ZoneMap { null_count: 1, flags: 2, min: 3_u64.to_le_bytes(), max: 9_u64.to_le_bytes() }
        );
    }

    #[test]
    fn rows_outside_the_bitmap_count_from_the_first_row_of_the_block() {
        let values: Vec<u8> = [5_i64, -7, 1].iter().flat_map(|value| value.to_le_bytes()).collect();
        let map =
            of_values(&values, Element::I64, Nulls { validity: Some(&[0xff, 0b101]), null_code: None }, 8);
        assert_eq!(
            map,
            ZoneMap { null_count: 1, flags: 2, min: 1_i64.to_le_bytes(), max: 5_i64.to_le_bytes() }
        );
    }
}

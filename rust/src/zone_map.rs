//! Minimum, maximum, null count and has-NaN of the values of a block.

use crate::block_index::{HAS_NAN, HAS_ZONE_MAP};
use crate::column::Element;

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
        Element::U8 => unsigned(values, nulls, first_row, |bytes| u64::from(u8::from_le_bytes(bytes))),
        Element::U16 => unsigned(values, nulls, first_row, |bytes| u64::from(u16::from_le_bytes(bytes))),
        Element::U32 => unsigned(values, nulls, first_row, |bytes| u64::from(u32::from_le_bytes(bytes))),
        Element::U64 => unsigned(values, nulls, first_row, u64::from_le_bytes),
        Element::I8 => signed(values, nulls, first_row, |bytes| i64::from(i8::from_le_bytes(bytes))),
        Element::I16 => signed(values, nulls, first_row, |bytes| i64::from(i16::from_le_bytes(bytes))),
        Element::I32 => signed(values, nulls, first_row, |bytes| i64::from(i32::from_le_bytes(bytes))),
        Element::I64 => signed(values, nulls, first_row, i64::from_le_bytes),
        Element::F32 => float(values, nulls, first_row, |bytes| f64::from(f32::from_le_bytes(bytes))),
        Element::F64 => float(values, nulls, first_row, f64::from_le_bytes),
        Element::Utf8 => ZoneMap::default(),
    }
}

/// Count the nulls of rows that have no zone map.
pub fn of_text(rows: usize, nulls: Nulls<'_>, first_row: usize) -> ZoneMap {
    let null_count = (first_row..first_row + rows).filter(|&row| !nulls.is_valid(row)).count();
    ZoneMap { null_count: null_count as u32, ..ZoneMap::default() }
}

/// Fold the values that are not null; gives the fold and the number of nulls.
fn fold<const N: usize, T: Copy, S>(
    values: &[u8],
    nulls: Nulls<'_>,
    first_row: usize,
    read: impl Fn([u8; N]) -> T,
    is_null: impl Fn(T) -> bool,
    start: S,
    step: impl Fn(S, T) -> S,
) -> (S, u32) {
    let mut state = start;
    let mut null_count = 0;
    for (row, bytes) in values.as_chunks().0.iter().enumerate() {
        let value = read(*bytes);
        if is_null(value) || !nulls.is_valid(first_row + row) {
            null_count += 1;
        } else {
            state = step(state, value);
        }
    }
    (state, null_count)
}

fn unsigned<const N: usize>(
    values: &[u8],
    nulls: Nulls<'_>,
    first_row: usize,
    read: impl Fn([u8; N]) -> u64,
) -> ZoneMap {
    let code = nulls.null_code.map(u64::from);
    let is_null = |value| Some(value) == code;
    let step = |(low, high): (u64, u64), value: u64| (low.min(value), high.max(value));
    let ((low, high), null_count) = fold(values, nulls, first_row, read, is_null, (u64::MAX, 0), step);
    of_range(low <= high, low.to_le_bytes(), high.to_le_bytes(), null_count, false)
}

fn signed<const N: usize>(
    values: &[u8],
    nulls: Nulls<'_>,
    first_row: usize,
    read: impl Fn([u8; N]) -> i64,
) -> ZoneMap {
    let step = |(low, high): (i64, i64), value: i64| (low.min(value), high.max(value));
    let ((low, high), null_count) =
        fold(values, nulls, first_row, read, |_| false, (i64::MAX, i64::MIN), step);
    of_range(low <= high, low.to_le_bytes(), high.to_le_bytes(), null_count, false)
}

fn float<const N: usize>(
    values: &[u8],
    nulls: Nulls<'_>,
    first_row: usize,
    read: impl Fn([u8; N]) -> f64,
) -> ZoneMap {
    let step = |(low, high, has_nan): (f64, f64, bool), value: f64| {
        (low.min(value), high.max(value), has_nan | value.is_nan()) // min and max leave NaN out
    };
    let start = (f64::INFINITY, f64::NEG_INFINITY, false);
    let ((low, high, has_nan), null_count) = fold(values, nulls, first_row, read, |_| false, start, step);
    of_range(low <= high, low.to_le_bytes(), high.to_le_bytes(), null_count, has_nan)
}

fn of_range(is_known: bool, low: [u8; 8], high: [u8; 8], null_count: u32, has_nan: bool) -> ZoneMap {
    let flags = if has_nan { HAS_NAN } else { 0 };
    if is_known {
        ZoneMap { null_count, flags: flags | HAS_ZONE_MAP, min: low, max: high }
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

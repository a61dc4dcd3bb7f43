//! Round trips at every width, and hostile blocks.

use super::*;
use crate::column::Element;

/// Plain values of a type as bytes.
fn plain<const N: usize, T: Copy>(values: &[T], write: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|value| write(*value)).collect()
}

fn decoded(block: &[u8], element: Element, rows: usize) -> crate::error::Result<Vec<u8>> {
    let layout = Layout::parse(block, element, rows)?;
    let mut out = vec![0; rows * element.width()];
    GroupReader::default().values(&layout, block, element, Span { block: 0, start: 0 }, &mut out)?;
    Ok(out)
}

fn encoded(values: &[u8], element: Element) -> Vec<u8> {
    encode(values, element).ok().flatten().unwrap_or_default()
}

/// Numbers below 2^width, among them 0 and the largest, from a linear congruence.
fn numbers(width: u32, count: usize) -> Vec<u64> {
    let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
    let mut state = 1_u64;
    let mut numbers: Vec<u64> = (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.rotate_right(17) & mask
        })
        .collect();
    numbers.extend([0, mask]);
    numbers
}

#[test]
fn integers_of_every_width_come_back() {
    for width in 0..64 {
        for base in [0, i64::MIN, -77] {
            let values: Vec<i64> =
                numbers(width, 1500).iter().map(|value| base.wrapping_add(*value as i64)).collect();
            let bytes = plain(&values, i64::to_le_bytes);
            let block = encoded(&bytes, Element::I64);
            if !block.is_empty() {
                assert_eq!(
                    decoded(&block, Element::I64, values.len()),
                    Ok(bytes),
                    "width {width} base {base}"
                );
            }
            assert!(width > 55 || !block.is_empty(), "width {width} isn't smaller");
        }
    }
}

#[test]
fn packed_numbers_of_every_width_come_back() {
    for width in 0..=64 {
        let values = numbers(width as u32, 1022);
        let mut packed = Vec::new();
        for sub_block in values.chunks(256) {
            pack::pack_sub_block(width, sub_block, &mut packed);
        }
        assert_eq!(packed.len(), 4 * 32 * width);
        let (mut words_32, mut words_64) = ([0; 1024], [0; 1024]);
        if width > 32 {
            unpack::unpack_64(width, &packed, &mut words_64);
        } else {
            unpack::unpack_32(width, &packed, &mut words_32);
            words_64 = words_32.map(u64::from);
        }
        assert_eq!(words_64.as_slice(), values, "width {width}");
    }
}

#[test]
fn rising_numbers_are_packed_as_deltas() {
    let values: Vec<i64> =
        (0..3000).map(|row| 1_700_000_000_000_000_000 + row * 1_000_003 + row % 7).collect();
    let bytes = plain(&values, i64::to_le_bytes);
    let block = encoded(&bytes, Element::I64);
    let group = Layout::parse(&block, Element::I64, 3000)
        .and_then(|layout| layout.group(&block, Element::I64, 1).map(|group| group.mode));
    assert_eq!(group, Ok(layout::Mode::Delta));
    assert!(block.len() < 3000 / 2 + 200, "{}", block.len());
    assert!(decoded(&block, Element::I64, 3000) == Ok(bytes));
}

#[test]
fn narrow_extremes_come_back_through_wrapped_deltas() {
    let values: Vec<i32> =
        (0..4096).map(|row| if row < 2048 { i32::MIN + row } else { i32::MAX - 4096 + row }).collect();
    let bytes = plain(&values, i32::to_le_bytes);
    let block = encoded(&bytes, Element::I32);
    assert!(decoded(&block, Element::I32, values.len()) == Ok(bytes));
}

#[test]
fn codes_with_the_null_code_stay_narrow() {
    let codes: Vec<u32> = (0..2048).map(|row| if row % 5 == 0 { u32::MAX } else { row % 15 }).collect();
    let bytes = plain(&codes, u32::to_le_bytes);
    let block = encoded(&bytes, Element::U32);
    assert!(block.len() < 2048 * 5 / 8, "{}", block.len());
    assert!(decoded(&block, Element::U32, codes.len()) == Ok(bytes));
}

#[test]
fn prices_are_packed_as_cents_and_oddities_come_back_bit_for_bit() {
    let odd = [
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::from_bits(0x7ff0_dead_beef_0001),
        5e-324,
        1e300,
        0.1 + 0.2,
    ];
    let mut values: Vec<f64> = (0..2000).map(|row| f64::from(18_700 + row % 90) / 100.0).collect();
    values.extend(odd);
    let bytes = plain(&values, f64::to_le_bytes);
    let block = encoded(&bytes, Element::F64);
    let layout = Layout::parse(&block, Element::F64, values.len());
    assert_eq!(layout.map(|layout| (layout.exponent, layout.exceptions)), Ok((2, odd.len())));
    assert!(decoded(&block, Element::F64, values.len()) == Ok(bytes));
}

#[test]
fn narrow_floats_keep_signalling_nan() {
    let mut values: Vec<f32> = (0..2000_u16).map(|row| f32::from(row) / 8.0).collect();
    values.push(f32::from_bits(0x7f80_0001));
    let bytes = plain(&values, f32::to_le_bytes);
    let block = encoded(&bytes, Element::F32);
    assert!(decoded(&block, Element::F32, values.len()) == Ok(bytes));
}

#[test]
fn floats_that_are_no_decimals_stay_plain() {
    let values: Vec<f64> = (1..2000).map(|row| f64::from(row).sqrt()).collect();
    assert_eq!(encode(&plain(&values, f64::to_le_bytes), Element::F64), Ok(None));
}

#[test]
fn part_of_a_group_is_the_same_as_the_whole() {
    let values: Vec<i64> = (0..2500).map(|row| row * row).collect();
    let block = encoded(&plain(&values, i64::to_le_bytes), Element::I64);
    let layout = Layout::parse(&block, Element::I64, 2500);
    assert!(layout.is_ok());
    if let Ok(layout) = layout {
        let mut reader = GroupReader::default();
        for (start, count) in [(0, 1), (1023, 2), (1000, 1500), (2499, 1), (5, 1020)] {
            let mut out = vec![0; count];
            let done = reader.integers(&layout, &block, Element::I64, Span { block: 0, start }, &mut out);
            assert_eq!(done, Ok(()));
            assert_eq!(out.as_slice(), values.get(start..start + count).unwrap_or_default());
        }
    }
}

#[test]
fn one_value_is_the_same_as_in_its_group() {
    for (block, element) in small_blocks() {
        let rows = rows_of(&block);
        let all = decoded(&block, element, rows).unwrap_or_default();
        let layout = Layout::parse(&block, element, rows);
        for (row, expected) in all.chunks(element.width()).enumerate() {
            let mut out = vec![0; element.width()];
            let done = layout.clone().and_then(|layout| {
                GroupReader::default().values(
                    &layout,
                    &block,
                    element,
                    Span { block: 0, start: row },
                    &mut out,
                )
            });
            assert_eq!(done, Ok(()));
            assert_eq!(out, expected, "{element:?} row {row}");
        }
    }
}

#[test]
fn far_values_do_not_widen_their_group() {
    for far in [i64::MAX, i64::MIN, -1 << 40] {
        let values: Vec<i64> =
            (0..2048).map(|row| if row % 400 == 7 { far } else { 5000 + row % 60 }).collect();
        let bytes = plain(&values, i64::to_le_bytes);
        let block = encoded(&bytes, Element::I64);
        assert!(block.len() < 2048 * 7 / 8, "{} with {far}", block.len());
        assert!(decoded(&block, Element::I64, values.len()) == Ok(bytes), "{far}");
    }
}

#[test]
fn far_deltas_do_not_widen_their_group() {
    let mut time = 0_i64;
    let values: Vec<i64> = numbers(8, 2046)
        .iter()
        .enumerate()
        .map(|(row, gap)| {
            time += if row % 300 == 0 { 1 << 45 } else { *gap as i64 };
            time
        })
        .collect();
    let bytes = plain(&values, i64::to_le_bytes);
    let block = encoded(&bytes, Element::I64);
    assert!(block.len() < 2048 * 9 / 8 + 200, "{}", block.len());
    assert!(decoded(&block, Element::I64, values.len()) == Ok(bytes));
}

#[test]
fn a_common_divisor_is_taken_out() {
    for divisor in [1000, 12, 1 << 20, 999_999_937 * 4096] {
        for offset in [0, -7, i64::MIN + 5] {
            let values: Vec<i64> =
                numbers(8, 2046).iter().map(|number| offset.wrapping_add(*number as i64 * divisor)).collect();
            let bytes = plain(&values, i64::to_le_bytes);
            let block = encoded(&bytes, Element::I64);
            assert!(block.len() < 2048 * 8 / 8 + 100, "{} with {divisor}", block.len());
            assert!(decoded(&block, Element::I64, values.len()) == Ok(bytes), "{divisor} {offset}");
        }
    }
}

#[test]
fn sizes_in_lots_take_the_bits_of_their_lots() {
    let values: Vec<i32> = numbers(5, 2046).iter().map(|lots| *lots as i32 * 100).collect();
    let bytes = plain(&values, i32::to_le_bytes);
    let block = encoded(&bytes, Element::I32);
    assert!(block.len() < 2048 * 5 / 8 + 100, "{}", block.len());
    assert!(decoded(&block, Element::I32, values.len()) == Ok(bytes));
}

#[test]
fn a_group_with_a_value_that_is_no_multiple_comes_back() {
    let values: Vec<i64> = (0..4096).map(|row| if row == 2500 { 77 } else { row % 50 * 1_000_000 }).collect();
    let bytes = plain(&values, i64::to_le_bytes);
    assert!(decoded(&encoded(&bytes, Element::I64), Element::I64, values.len()) == Ok(bytes));
}

#[test]
fn a_value_that_stands_for_nothing_takes_a_bit() {
    for nothing in [0, i64::MIN, i64::MAX] {
        let values: Vec<i64> = numbers(10, 2046)
            .iter()
            .enumerate()
            .map(
                |(row, number)| {
                    if row % 3 == 0 { 34_200_000_000_000 + *number as i64 * 1000 } else { nothing }
                },
            )
            .collect();
        let bytes = plain(&values, i64::to_le_bytes);
        let block = encoded(&bytes, Element::I64);
        assert!(block.len() < 2048 / 8 + 4 * 256 * 10 / 8 + 100, "{} with {nothing}", block.len());
        assert!(decoded(&block, Element::I64, values.len()) == Ok(bytes), "{nothing}");
    }
}

#[test]
fn prices_between_zeros_come_back() {
    let values: Vec<f64> =
        (0..3000).map(|row| if row % 2 == 0 { 0.0 } else { f64::from(18_700 + row % 90) / 100.0 }).collect();
    let bytes = plain(&values, f64::to_le_bytes);
    let block = encoded(&bytes, Element::F64);
    assert!(block.len() < 3000 * 5 / 8 + 200, "{}", block.len());
    assert!(decoded(&block, Element::F64, values.len()) == Ok(bytes));
}

#[test]
fn frequent_bytes_take_few_bits() {
    let values: Vec<u8> = numbers(8, 4094)
        .iter()
        .map(|number| match number {
            0..=200 => b'N',
            201..=240 => b' ',
            241..=250 => 0xff,
            _ => b'A' + *number as u8 % 5,
        })
        .collect();
    for element in [Element::U8, Element::I8] {
        let block = encoded(&values, element);
        assert!(block.len() < 4096 * 3 / 8, "{}", block.len());
        assert!(decoded(&block, element, values.len()) == Ok(values.clone()));
    }
}

#[test]
fn all_bytes_come_back() {
    for step in [1, 3] {
        let values: Vec<u8> = (0..3000_u32).map(|row| (row / 8 * step) as u8).collect();
        let block = encoded(&values, Element::U8);
        assert!(block.is_empty() || decoded(&block, Element::U8, values.len()) == Ok(values));
    }
}

#[test]
fn registers_are_the_plain_values() {
    for (block, element) in small_blocks() {
        let rows = rows_of(&block);
        let bytes = decoded(&block, element, rows).unwrap_or_default();
        let layout = Layout::parse(&block, element, rows);
        assert!(layout.is_ok());
        let Ok(layout) = layout else { continue };
        let (mut reader, span) = (GroupReader::default(), Span { block: 0, start: 0 });
        if matches!(element, Element::F32 | Element::F64) {
            let (mut found, mut expected) = (vec![0.0; rows], vec![0.0; rows]);
            assert_eq!(reader.floats(&layout, &block, element, span, &mut found), Ok(()));
            crate::plain::floats(element, &bytes, &mut expected);
            assert_eq!(found.map_bits(), expected.map_bits(), "{element:?}");
        } else {
            let (mut found, mut expected) = (vec![0; rows], vec![0; rows]);
            assert_eq!(reader.integers(&layout, &block, element, span, &mut found), Ok(()));
            crate::plain::integers(element, &bytes, &mut expected);
            assert_eq!(found, expected, "{element:?}");
        }
    }
}

/// Floats compared by their bits, as NaN is equal to none.
trait MapBits {
    fn map_bits(&self) -> Vec<u64>;
}

impl MapBits for Vec<f64> {
    fn map_bits(&self) -> Vec<u64> {
        self.iter().map(|value| value.to_bits()).collect()
    }
}

/// A block of layout 0, as format 1 has them: numbers of 8 bits from a base of 1000.
fn old_block(mode: u8, numbers: &[u64]) -> Vec<u8> {
    let mut block = vec![0, mode, 0, 0];
    let mut packed = Vec::new();
    numbers.chunks(256).for_each(|sub_block| pack::pack_sub_block(8, sub_block, &mut packed));
    for count in [numbers.len(), 0, packed.len()] {
        block.extend_from_slice(&(count as u32).to_le_bytes());
    }
    for group in 0..numbers.len().div_ceil(1024) {
        block.extend_from_slice(&1000_i64.to_le_bytes());
        block.extend_from_slice(&(group as u32 * 1024).to_le_bytes());
        block.extend_from_slice(&[8, 0, 0, 0]);
        if mode == 1 {
            block.extend_from_slice(&(-5_i64).to_le_bytes());
        }
    }
    block.extend_from_slice(&packed);
    block
}

#[test]
fn blocks_of_layout_0_stay_readable() {
    let mut offsets = numbers(8, 1998);
    let frames: Vec<i64> = offsets.iter().map(|offset| 1000 + *offset as i64).collect();
    let block = old_block(0, &offsets);
    assert_eq!(decoded(&block, Element::I64, 2000), Ok(plain(&frames, i64::to_le_bytes)));
    for group in offsets.chunks_mut(1024) {
        group.iter_mut().take(1).for_each(|first| *first = 0);
    }
    let mut deltas = Vec::new();
    for group in offsets.chunks(1024) {
        let mut last = -5 - 1000;
        deltas.extend(group.iter().map(|offset| {
            last += 1000 + *offset as i64;
            last
        }));
    }
    let block = old_block(1, &offsets);
    assert_eq!(decoded(&block, Element::I64, 2000), Ok(plain(&deltas, i64::to_le_bytes)));
}

/// A small block of each kind and mode.
fn small_blocks() -> Vec<(Vec<u8>, Element)> {
    let sparse: Vec<i64> =
        (0..300).map(|row| if row % 3 == 0 { 0 } else { 34_200_000_000_000 + row * row * 1000 }).collect();
    let far: Vec<i32> = (0..300).map(|row| if row % 70 == 9 { -1 << 30 } else { row % 7 }).collect();
    let letters: Vec<u8> =
        (0..600_u32).map(|row| if row % 25 == 3 { b'A' + (row / 25) as u8 % 12 } else { b'N' }).collect();
    let narrow: Vec<f32> = (0..300_u16).map(|row| f32::from(row % 40) / 8.0).collect();
    let rising: Vec<i64> = (0..90).map(|row| row * 1_000_003).collect();
    let mixed: Vec<i32> = (0..300).map(|row| row % 7).collect();
    let mut prices: Vec<f64> = (0..300).map(|row| f64::from(row) / 100.0).collect();
    prices.extend([f64::NAN, -0.0]);
    let blocks = vec![
        (encoded(&plain(&rising, i64::to_le_bytes), Element::I64), Element::I64),
        (encoded(&plain(&mixed, i32::to_le_bytes), Element::I32), Element::I32),
        (encoded(&plain(&prices, f64::to_le_bytes), Element::F64), Element::F64),
        (encoded(&plain(&sparse, i64::to_le_bytes), Element::I64), Element::I64),
        (encoded(&plain(&far, i32::to_le_bytes), Element::I32), Element::I32),
        (encoded(&letters, Element::U8), Element::U8),
        (encoded(&plain(&narrow, f32::to_le_bytes), Element::F32), Element::F32),
        (old_block(1, &[0, 3, 200, 7]), Element::I64),
    ];
    let empty = blocks.iter().find(|(block, _)| block.is_empty());
    assert_eq!(empty.map(|(_, element)| element), None);
    blocks
}

fn rows_of(block: &[u8]) -> usize {
    crate::bytes::u32_at(block, 4, "block").unwrap_or(0) as usize
}

#[test]
fn block_cut_at_every_byte_is_refused() {
    for (block, element) in small_blocks() {
        for cut in 0..block.len() {
            let result = decoded(block.get(..cut).unwrap_or_default(), element, rows_of(&block));
            assert!(result.is_err(), "{element:?} cut at {cut}");
        }
    }
}

#[test]
fn block_with_any_bit_flipped_gives_values_or_an_error() {
    for (block, element) in small_blocks() {
        let rows = rows_of(&block);
        for bit in 0..block.len() * 8 {
            let mut flipped = block.clone();
            if let Some(byte) = flipped.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
            assert!(
                decoded(&flipped, element, rows)
                    .map_or(true, |values| values.len() == rows * element.width())
            );
        }
    }
}

#[test]
fn one_number_is_read_without_the_others() {
    for width in 0..=64 {
        let values = numbers(width as u32, 1022);
        let mut packed = Vec::new();
        values.chunks(256).for_each(|sub_block| pack::pack_sub_block(width, sub_block, &mut packed));
        for (place, value) in values.iter().enumerate() {
            assert_eq!(unpack::extract(width, &packed, place), *value, "width {width} place {place}");
        }
    }
}

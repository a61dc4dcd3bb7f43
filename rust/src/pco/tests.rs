use super::layout::PAGE_ROWS;
use super::*;
use crate::column::Element;
use crate::error::Result;

const LEVEL: i32 = 8;

fn bytes_of<const N: usize, T: Copy>(values: &[T], to_bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|value| to_bytes(*value)).collect()
}

fn floats(values: &[f64]) -> Vec<u8> {
    bytes_of(values, f64::to_le_bytes)
}

fn integers(values: &[i64]) -> Vec<u8> {
    bytes_of(values, i64::to_le_bytes)
}

/// A block of these values; empty where plain is the smallest.
fn encoded(values: &[u8], element: Element) -> Vec<u8> {
    encode(values, element, LEVEL).ok().flatten().unwrap_or_default()
}

fn decoded(block: &[u8], element: Element, rows: usize) -> Result<Vec<u8>> {
    let layout = Layout::parse(block, element, rows)?;
    let mut reader = PageReader::default();
    reader.open(&layout, block)?;
    let mut out = vec![0; rows * element.width()];
    reader.values(&layout, block, element, 0, &mut out).map(|()| out)
}

/// Encode and decode; gives the bytes of the block.
#[track_caller]
fn check(values: &[u8], element: Element) -> usize {
    let block = encoded(values, element);
    assert!(!block.is_empty(), "not encoded");
    let rows = values.len() / element.width();
    assert!(decoded(&block, element, rows).as_deref() == Ok(values), "other values came back");
    block.len()
}

/// Numbers that look random and are the same each time.
fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    })
}

fn prices(count: usize) -> Vec<f64> {
    let mut ticks = 18_741;
    noise(7)
        .take(count)
        .map(|step| {
            ticks += (step % 5) as i64 - 2;
            ticks as f64 / 100.0
        })
        .collect()
}

/// A block of decimals with an exception on each of its two pages.
fn small_block() -> (Vec<u8>, Vec<u8>) {
    let mut values = prices(PAGE_ROWS + 400);
    for (row, odd) in [(3, 0.123_456_789_123), (PAGE_ROWS + 1, f64::NAN)] {
        if let Some(value) = values.get_mut(row) {
            *value = odd;
        }
    }
    (encoded(&floats(&values), Element::F64), floats(&values))
}

#[test]
fn integers_of_every_width_come_back() {
    let numbers: Vec<u64> = noise(1).take(9_001).map(|number| number % 90).collect();
    check(&bytes_of(&numbers, |number| (number as u8).to_le_bytes()), Element::U8);
    check(&bytes_of(&numbers, |number| (number as i8 - 45).to_le_bytes()), Element::I8);
    check(&bytes_of(&numbers, |number| (number as u16).to_le_bytes()), Element::U16);
    check(&bytes_of(&numbers, |number| (number as i16 - 45).to_le_bytes()), Element::I16);
    check(&bytes_of(&numbers, |number| (number as u32).to_le_bytes()), Element::U32);
    check(&bytes_of(&numbers, |number| (number as i32 - 45).to_le_bytes()), Element::I32);
    check(&bytes_of(&numbers, u64::to_le_bytes), Element::U64);
    check(&bytes_of(&numbers, |number| (number as i64 - 45).to_le_bytes()), Element::I64);
}

#[test]
fn the_ends_of_the_range_come_back() {
    check(&integers(&[i64::MIN, i64::MAX, 0, -1].repeat(3_000)), Element::I64);
    check(&bytes_of(&[u64::MAX, 0, 1 << 63].repeat(3_000), u64::to_le_bytes), Element::U64);
    check(&bytes_of(&[u32::MAX, 0, 1].repeat(3_000), u32::to_le_bytes), Element::U32);
}

#[test]
fn numbers_of_each_width_come_back() {
    for largest in [1_u64 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 40] {
        let values: Vec<i64> = noise(3).take(5_000).map(|n| (n * n % largest) as i64 - 77).collect();
        check(&integers(&values), Element::I64);
    }
}

#[test]
fn equal_values_take_a_few_bytes() {
    assert!(check(&integers(&[1_700_000_000_000_000_000; 20_000]), Element::I64) < 200);
}

#[test]
fn null_codes_beside_small_codes_cost_little() {
    let codes: Vec<u32> = noise(5).take(8_192).map(|n| if n % 9 == 0 { u32::MAX } else { 0 }).collect();
    assert!(check(&bytes_of(&codes, u32::to_le_bytes), Element::U32) < 8_192 / 8);
}

#[test]
fn a_common_divisor_is_taken_out() {
    let wide: Vec<i64> = noise(2).take(20_000).map(|n| (n % 1_000) as i64 * 1_000_003 + 5).collect();
    let narrow: Vec<i64> = noise(2).take(20_000).map(|n| (n % 1_000) as i64).collect();
    assert_eq!(check(&integers(&wide), Element::I64), check(&integers(&narrow), Element::I64));
}

#[test]
fn decimals_take_little_more_than_their_integers() {
    let prices = prices(60_000);
    let ticks: Vec<i64> = prices.iter().map(|price| (price * 100.0).round() as i64).collect();
    assert_eq!(check(&floats(&prices), Element::F64), check(&integers(&ticks), Element::I64));
    let singles: Vec<f32> = prices.iter().map(|price| *price as f32).collect();
    check(&bytes_of(&singles, f32::to_le_bytes), Element::F32);
}

#[test]
fn floats_that_are_no_decimals_come_back_bit_for_bit() {
    let odd = [
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        5e-324,
        f64::MAX,
        f64::from_bits(0x7ff0_dead_beef_0001),
    ];
    let (block, values) = small_block();
    assert_eq!(decoded(&block, Element::F64, PAGE_ROWS + 400), Ok(values));
    check(&floats(&odd.repeat(1_000)), Element::F64);
    let eighths: Vec<f64> =
        noise(9).take(9_000).map(|n| (n % 64) as f64 / 64.0 * std::f64::consts::PI).collect();
    check(&floats(&eighths), Element::F64);
    let singles: Vec<f32> = eighths.iter().map(|value| *value as f32).collect();
    check(&bytes_of(&singles, f32::to_le_bytes), Element::F32);
}

#[test]
fn every_level_gives_the_values_back() {
    let values = floats(&prices(10_000));
    for level in 0..=12 {
        let block = encode(&values, Element::F64, level).ok().flatten().unwrap_or_default();
        assert_eq!(decoded(&block, Element::F64, 10_000).as_ref(), Ok(&values), "level {level}");
    }
    assert!(encode(&values, Element::F64, 13).is_err());
    assert!(encode(&values, Element::F64, -1).is_err());
}

#[test]
fn what_grows_is_not_encoded() {
    let random: Vec<i64> =
        noise(4).zip(noise(6)).take(3_000).map(|(a, b)| (a << 33 ^ b << 4) as i64).collect();
    assert_eq!(encode(&integers(random.get(..3).unwrap_or_default()), Element::I64, LEVEL), Ok(None));
    assert_eq!(encode(&[], Element::I64, LEVEL), Ok(None));
}

#[test]
fn any_rows_of_a_block_can_be_read() {
    let (block, values) = small_block();
    let layout = Layout::parse(&block, Element::F64, PAGE_ROWS + 400);
    let Ok(layout) = layout else { unreachable!("{layout:?}") };
    let mut reader = PageReader::default();
    assert_eq!(reader.open(&layout, &block), Ok(()));
    for (start, count) in [(4_496, 0), (0, 1), (3, 1), (4_090, 20), (4_096, 400), (1_000, 3_496), (0, 4_496)]
    {
        let expected = values.get(8 * start..8 * (start + count)).unwrap_or_default();
        let mut out = vec![0; 8 * count];
        assert_eq!(reader.values(&layout, &block, Element::F64, start, &mut out), Ok(()));
        assert!(out == expected, "{start} {count}");
        let mut registers = vec![0.0; count];
        assert_eq!(reader.floats(&layout, &block, Element::F64, start, &mut registers), Ok(()));
        assert!(floats(&registers) == expected, "{start} {count}");
    }
}

#[test]
fn block_cut_at_every_byte_is_an_error() {
    let (block, values) = small_block();
    for cut in 0..block.len() {
        let cut_block = block.get(..cut).unwrap_or_default();
        assert!(decoded(cut_block, Element::F64, values.len() / 8).is_err(), "cut at {cut}");
    }
}

/// Values of each way in which pcodec treats numbers: differences, two parts, copies from further back, multiples and
/// narrow floats.
fn values_of_each_mode() -> [(Element, Vec<u8>); 5] {
    let steps = noise(21).zip(noise(22)).take(6_000);
    let clocks: Vec<i64> =
        steps.map(|(a, b)| ((a % 5_000) * 1_000 + (b % 7 / 6) * (b % 999)) as i64).collect();
    let repeated: Vec<i64> = noise(23).take(100).map(|number| number as i64).collect::<Vec<_>>().repeat(60);
    let multiples: Vec<f64> =
        noise(24).take(6_000).map(|n| (n % 900) as f64 * std::f64::consts::PI).collect();
    let narrow: Vec<f64> = noise(25).take(6_000).map(|n| f64::from((n as f32).ln())).collect();
    [
        (Element::F64, small_block().1),
        (Element::I64, integers(&clocks)),
        (Element::I64, integers(&repeated)),
        (Element::F64, floats(&multiples)),
        (Element::F64, floats(&narrow)),
    ]
}

#[test]
fn values_of_each_mode_come_back() {
    for (element, values) in values_of_each_mode() {
        check(&values, element);
    }
}

#[test]
fn flipped_bits_give_values_or_an_error() {
    for (element, values) in values_of_each_mode() {
        let block = encoded(&values, element);
        for (position, bit) in noise(8).zip(noise(12)).take(1_000) {
            let mut damaged = block.clone();
            let at = position as usize % block.len();
            // The header and the description decide what happens, so most of the flips go there.
            let at = if bit % 4 == 0 { at } else { at % 300 };
            if let Some(byte) = damaged.get_mut(at) {
                *byte ^= 1 << (bit % 8);
            }
            let _any = decoded(&damaged, element, values.len() / 8);
        }
    }
}

#[test]
fn any_bytes_behind_a_good_header_give_values_or_an_error() {
    let (block, values) = small_block();
    let header = block.get(..40).unwrap_or_default();
    for seed in 0..2_000 {
        let rest = noise(seed).take(block.len() - header.len()).map(|byte| byte as u8);
        let damaged: Vec<u8> = header.iter().copied().chain(rest).collect();
        let _any = decoded(&damaged, Element::F64, values.len() / 8);
    }
}

#[test]
fn headers_that_cannot_be_are_errors() {
    let (block, values) = small_block();
    let rows = values.len() / 8;
    for (at, byte) in [(0, 0), (0, 2), (0, 3), (1, 8), (1, 0), (2, 19), (3, 1), (4, 0), (8, 9), (12, 0)] {
        let mut damaged = block.clone();
        if let Some(place) = damaged.get_mut(at) {
            *place = byte;
        }
        assert!(decoded(&damaged, Element::F64, rows).is_err(), "byte {at} as {byte}");
    }
    assert!(decoded(&block, Element::I64, rows).is_err());
    assert!(decoded(&block, Element::F64, rows - 1).is_err());
    let mut without_divisor = block.clone();
    without_divisor.splice(24..32, [0; 8]);
    assert!(decoded(&without_divisor, Element::F64, rows).is_err());
}

#[test]
fn dictionaries_and_far_lookbacks_are_refused_before_memory_is_taken() {
    let (block, values) = small_block();
    let description = HEADER_AND_ENDS + 2;
    // pcodec's mode in the low four bits: 4 brings a dictionary of up to 2^25 values.
    let mut dictionary = block.clone();
    // Mode 0, delta 2: looks back by 2^(1 + 31) values.
    let mut lookback = block;
    if let (Some(first), Some([mode, window])) = (
        dictionary.get_mut(description),
        lookback.get_mut(description..description + 2).and_then(|at| at.first_chunk_mut()),
    ) {
        *first = *first & 0xf0 | 4;
        *mode = 2 << 4;
        *window = 0x1f;
    }
    for damaged in [dictionary, lookback] {
        assert!(matches!(decoded(&damaged, Element::F64, values.len() / 8), Err(KernelError::Corrupt(_))));
    }
}

/// Bytes in front of the description of a block of two pages.
const HEADER_AND_ENDS: usize = 40;

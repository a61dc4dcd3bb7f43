//! Decode speed of bit-packed blocks from cache into registers, one line a width: `cargo bench`.
//!
//! MB/s of decoded 8-byte registers on one thread, best of 200; 16 groups of 1,024 values.

use std::hint::black_box;
use std::time::Instant;

use colonnade_kernels::bitpack::{GroupReader, Layout, Span, encode};
use colonnade_kernels::column::{Element, VECTOR_ROWS};
use colonnade_kernels::error::Result;
use colonnade_kernels::isa;

const ROWS: usize = 16 * VECTOR_ROWS;

fn main() -> Result<()> {
    for name in ["v3", "baseline"] {
        if isa::choose(name).is_err() {
            println!("this machine has no {name}");
            continue;
        }
        println!("{name}: MB/s");
        println!("width    frame    delta  decimal    int32");
        for width in [0, 1, 4, 8, 12, 16, 20, 24, 31, 33, 40, 48, 56] {
            println!("{}", line(width)?);
        }
    }
    Ok(())
}

/// Speeds at one width; a dash where the values are stored in another way.
fn line(width: u32) -> Result<String> {
    let values = numbers(width);
    let rising: Vec<i64> = values
        .iter()
        .scan(0_i64, |sum, value| {
            *sum = sum.wrapping_add(*value);
            Some(*sum)
        })
        .collect();
    let bytes = |values: &[i64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let prices = values.iter().flat_map(|value| (*value as f64 / 100.0).to_le_bytes()).collect::<Vec<u8>>();
    let narrow = values.iter().flat_map(|value| (*value as i32).to_le_bytes()).collect::<Vec<u8>>();
    let speeds = [
        speed(&bytes(&values), Element::I64)?,
        speed(&bytes(&rising), Element::I64)?,
        speed(&prices, Element::F64)?,
        speed(&narrow, Element::I32)?,
    ];
    let cells = speeds.map(|speed| speed.map_or_else(|| "-".to_owned(), |speed| format!("{speed:.0}")));
    Ok(cells.iter().fold(format!("{width:5}"), |line, cell| format!("{line}{cell:>9}")))
}

/// Numbers below 2^width from a linear congruence.
fn numbers(width: u32) -> Vec<i64> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.checked_shr(64 - width).unwrap_or(0) as i64
    };
    (0..ROWS).map(|_| next()).collect()
}

fn speed(values: &[u8], element: Element) -> Result<Option<f64>> {
    let Some(block) = encode(values, element)? else { return Ok(None) };
    let layout = Layout::parse(&block, element, ROWS)?;
    let mut reader = GroupReader::default();
    let (mut integers, mut floats) = (vec![0; VECTOR_ROWS], vec![0.0; VECTOR_ROWS]);
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        let start_time = Instant::now();
        for start in (0..ROWS).step_by(VECTOR_ROWS) {
            let span = Span { block: 0, start };
            if element == Element::F64 {
                reader.floats(&layout, &block, element, span, &mut floats)?;
            } else {
                reader.integers(&layout, &block, element, span, &mut integers)?;
            }
        }
        black_box((&integers, &floats));
        best = best.min(start_time.elapsed().as_secs_f64());
    }
    Ok(Some(ROWS as f64 * 8.0 / best / 1e6))
}

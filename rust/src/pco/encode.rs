//! Plain values to a pco block.

use ::pco::data_types::Number;
use ::pco::wrapped::FileCompressor;
use ::pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec};

use super::failure;
use super::layout::{Kind, PAGE_ROWS};
use crate::bytes;
use crate::column::Element;
use crate::decimals::{Decimals, range};
use crate::error::{KernelError, Result};
use crate::plain;

/// Floats of which more than this part are no decimals are compressed as they are.
const MOST_EXCEPTIONS: usize = 16;
/// Up to this level only what decodes fast is used.
const LAST_FAST_LEVEL: usize = 7;
/// Differences of differences are the most that is tried at a fast level.
const MOST_DIFFERENCES: usize = 2;
/// Stretches of values from which the order of differences is chosen at a fast level, spread over the block.
const SAMPLE_STRETCHES: usize = 4;
/// Values of such a stretch.
const STRETCH_ROWS: usize = PAGE_ROWS / 2;

/// Encode plain values with a level from 0 to 12; `None` where the block would not be smaller than they are.
pub fn encode(values: &[u8], element: Element, level: i32) -> Result<Option<Vec<u8>>> {
    let level = usize::try_from(level)
        .ok()
        .filter(|level| *level <= 12)
        .ok_or_else(|| KernelError::InvalidArgument(format!("pco has no level {level}: expected 0 to 12")))?;
    let width = element.width();
    if !matches!(width, 1 | 2 | 4 | 8) || values.is_empty() {
        return Ok(None);
    }
    let block = match element {
        Element::F32 | Element::F64 => match Decimals::of_values(values, element) {
            Some(found) if found.exceptions.len() <= values.len() / width / MOST_EXCEPTIONS => {
                let head = Head { kind: Kind::Decimals, exponent: found.exponent };
                of_wholes(head, found.wholes, level)?.with_exceptions(&found.exceptions, values, width)?
            }
            _ => of_floats(values, element, level)?,
        },
        _ => {
            let mut wholes = vec![0; values.len() / width];
            plain::integers(plain::signed_twin(element), values, &mut wholes);
            of_wholes(Head { kind: Kind::Integers, exponent: 0 }, wholes, level)?
        }
    };
    let encoded = block.to_bytes()?;
    Ok(Some(encoded).filter(|encoded| encoded.len() < values.len()))
}

/// What a header says beside counts and numbers.
#[derive(Clone, Copy)]
struct Head {
    kind: Kind,
    exponent: u8,
}

/// The parts of a block.
struct Block {
    head: Head,
    bits: u32,
    rows: usize,
    base: i64,
    divisor: u64,
    description: Vec<u8>,
    ends: Vec<u32>,
    pages: Vec<u8>,
    exceptions: usize,
    exception_bytes: Vec<u8>,
}

impl Block {
    /// Bits first, then positions.
    fn with_exceptions(mut self, rows: &[u32], values: &[u8], width: usize) -> Result<Self> {
        self.exceptions = rows.len();
        for row in rows {
            let bits = bytes::slice(values, *row as usize * width, width, "values")?;
            self.exception_bytes.extend_from_slice(bits);
        }
        self.exception_bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
        Ok(self)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut block = vec![self.head.kind as u8, self.bits as u8, self.head.exponent, 0];
        for count in [self.rows, self.exceptions, self.description.len()] {
            block.extend_from_slice(&bytes::length_u32(count, "pco block")?.to_le_bytes());
        }
        block.extend_from_slice(&self.base.to_le_bytes());
        block.extend_from_slice(&self.divisor.to_le_bytes());
        block.extend(self.ends.iter().flat_map(|end| end.to_le_bytes()));
        for part in [&self.description, &self.pages, &self.exception_bytes] {
            block.extend_from_slice(part);
        }
        Ok(block)
    }
}

/// Compress whole numbers as offsets from the smallest, over their common divisor.
fn of_wholes(head: Head, wholes: Vec<i64>, level: usize) -> Result<Block> {
    let (low, high) = range(wholes.iter().copied());
    let divisor = common_divisor(&wholes, low).max(1);
    let largest = high.wrapping_sub(low) as u64 / divisor;
    let offset = |k: &i64| k.wrapping_sub(low) as u64;
    let numbers: Vec<u64> = if divisor == 1 {
        wholes.iter().map(offset).collect()
    } else {
        wholes.iter().map(|k| offset(k) / divisor).collect()
    };
    let block = if largest <= u64::from(u16::MAX) {
        compress(head, &numbers.iter().map(|number| *number as u16).collect::<Vec<_>>(), level)
    } else if largest <= u64::from(u32::MAX) {
        compress(head, &numbers.iter().map(|number| *number as u32).collect::<Vec<_>>(), level)
    } else {
        compress(head, &numbers, level)
    }?;
    Ok(Block { base: low, divisor, ..block })
}

/// Compress floats as they are.
fn of_floats(values: &[u8], element: Element, level: usize) -> Result<Block> {
    let head = Head { kind: Kind::Floats, exponent: 0 };
    if element == Element::F32 {
        let floats: Vec<f32> = values.as_chunks().0.iter().map(|bits| f32::from_le_bytes(*bits)).collect();
        compress(head, &floats, level)
    } else {
        let floats: Vec<f64> = values.as_chunks().0.iter().map(|bits| f64::from_le_bytes(*bits)).collect();
        compress(head, &floats, level)
    }
}

fn compress<T: Number>(head: Head, numbers: &[T], level: usize) -> Result<Block> {
    let page_sizes = numbers.chunks(PAGE_ROWS).map(<[T]>::len).collect();
    let config = config_for(numbers, level)?.with_paging_spec(PagingSpec::Exact(page_sizes));
    let file = FileCompressor::default();
    let mut chunk = file.chunk_compressor(numbers, &config).map_err(failure)?;
    let description = file.write_header(Vec::new()).map_err(failure)?;
    let description = chunk.write_meta(description).map_err(failure)?;
    let (mut pages, mut ends) = (Vec::new(), Vec::new());
    for page in 0..numbers.len().div_ceil(PAGE_ROWS) {
        pages = chunk.write_page(page, pages).map_err(failure)?;
        ends.push(bytes::length_u32(pages.len(), "pco block")?);
    }
    Ok(Block {
        head,
        bits: 8 * size_of::<T>() as u32,
        rows: numbers.len(),
        base: 0,
        divisor: 1,
        description,
        ends,
        pages,
        exceptions: 0,
        exception_bytes: Vec::new(),
    })
}

/// Leave the choice of what to do to pcodec, or at a fast level take the differences that suit a sample: numbers split
/// in two and copies from further back make blocks smaller, and take twice as long to decode.
fn config_for<T: Number>(numbers: &[T], level: usize) -> Result<ChunkConfig> {
    let config = ChunkConfig::default().with_compression_level(level);
    if level > LAST_FAST_LEVEL {
        return Ok(config);
    }
    let config = config.with_mode_spec(ModeSpec::Classic);
    let distance = numbers.len().div_ceil(SAMPLE_STRETCHES).max(STRETCH_ROWS);
    let stretches = numbers.chunks(distance).flat_map(|stretch| stretch.iter().take(STRETCH_ROWS));
    let sample: Vec<T> = stretches.copied().collect();
    let mut best = None;
    for order in 0..=MOST_DIFFERENCES {
        let config = config.clone().with_delta_spec(DeltaSpec::TryConsecutive(order));
        let chunk = FileCompressor::default().chunk_compressor(&sample, &config).map_err(failure)?;
        let size = chunk.meta_size_hint() + chunk.page_size_hint(0);
        match best {
            Some((smallest, _)) if smallest <= size => break,
            _ => best = Some((size, config)),
        }
    }
    Ok(best.map_or(config, |(_, config)| config))
}

/// The largest number that divides the distances of all values from `low`; 0 where all are equal.
fn common_divisor(values: &[i64], low: i64) -> u64 {
    let mut divisor = 0_u64;
    for value in values {
        let mut rest = value.wrapping_sub(low) as u64;
        if divisor > 0 {
            rest %= divisor;
        }
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        if divisor == 1 {
            break;
        }
    }
    divisor
}

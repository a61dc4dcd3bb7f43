//! Plain values to a bit-packed block.

use super::layout::{HEADER_BYTES, Kind, Mode, SUB_BLOCK, is_narrow};
use super::pack::pack_sub_block;
use crate::bytes;
use crate::column::{Element, VECTOR_ROWS};
use crate::decimal::{MAX_EXPONENT, Scale};
use crate::error::Result;
use crate::isa::{Isa, Kernel, dispatch};
use crate::plain;

/// Runs of values that the exponent of a block is chosen from, spread over the block; runs, because single
/// values at equal distances may all have fewer places than their neighbours.
const SAMPLE_RUNS: usize = 16;
/// Values of such a run.
const SAMPLE_RUN: usize = 16;

/// Encode plain values; `None` where the block would not be smaller than they are.
pub fn encode(values: &[u8], element: Element) -> Result<Option<Vec<u8>>> {
    let encoded = match element {
        Element::Utf8 => return Ok(None),
        Element::F32 | Element::F64 => match Decimals::of_values(values, element) {
            Some(decimals) => write(element, Kind::Decimals, &decimals, values)?,
            None => return Ok(None),
        },
        _ => {
            let mut wholes = vec![0; values.len() / element.width()];
            plain::integers(signed_twin(element), values, &mut wholes);
            write(element, Kind::Integers, &Decimals { wholes, ..Decimals::default() }, values)?
        }
    };
    Ok(encoded)
}

/// The signed element of the same width: codes are packed as signed numbers, so that the null code
/// 0xffffffff lies next to code 0 and a group with nulls stays narrow.
const fn signed_twin(element: Element) -> Element {
    match element {
        Element::U8 => Element::I8,
        Element::U16 => Element::I16,
        Element::U32 => Element::I32,
        other => other,
    }
}

/// Whole numbers to pack, and where floats are none.
#[derive(Default)]
struct Decimals {
    exponent: u8,
    wholes: Vec<i64>,
    exceptions: Vec<u32>,
}

impl Decimals {
    /// Find the exponent that a sample of the values takes the fewest bits with, then convert all of them;
    /// `None` where a sample shows no decimals.
    fn of_values(values: &[u8], element: Element) -> Option<Self> {
        let count = values.len() / element.width();
        let stride = count.div_ceil(SAMPLE_RUNS).max(SAMPLE_RUN) * element.width();
        let sample: Vec<u8> = values
            .chunks(stride)
            .flat_map(|piece| piece.iter().take(SAMPLE_RUN * element.width()))
            .copied()
            .collect();
        let bits = 8 * element.width();
        let (_, exponent) = (0..=MAX_EXPONENT as u8)
            .map(|exponent| (Self::with_exponent(&sample, element, exponent).cost(bits), exponent))
            .min()?;
        let found = Self::with_exponent(values, element, exponent);
        (found.exceptions.len() < count / 2).then_some(found)
    }

    fn with_exponent(values: &[u8], element: Element, exponent: u8) -> Self {
        let scale = Scale::of_exponent(exponent);
        let mut found =
            Self { exponent, wholes: vec![0; values.len() / element.width()], exceptions: Vec::new() };
        let (wholes, exceptions) = (&mut found.wholes, &mut found.exceptions);
        if element == Element::F32 {
            dispatch(Convert {
                values,
                wholes,
                exceptions,
                whole_of: |bits| scale.whole_of_f32(f32::from_le_bytes(bits)),
            });
        } else {
            dispatch(Convert {
                values,
                wholes,
                exceptions,
                whole_of: |bits| scale.whole_of(f64::from_le_bytes(bits)),
            });
        }
        found
    }

    /// About the bits that these values take: exceptions in full with their positions, the others as wide as
    /// their range.
    fn cost(&self, bits: usize) -> usize {
        let (low, high) = range(self.wholes.iter().copied());
        let packed = self.wholes.len() * width_of(high.wrapping_sub(low) as u64);
        packed + self.exceptions.len() * (bits + 32)
    }
}

/// Converts floats to whole numbers; an exception takes the number before it, which costs no width.
struct Convert<'v, F, const N: usize> {
    values: &'v [u8],
    wholes: &'v mut [i64],
    exceptions: &'v mut Vec<u32>,
    whole_of: F,
}

impl<F: Fn([u8; N]) -> Option<i64>, const N: usize> Kernel for Convert<'_, F, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let values = self.values.as_chunks::<N>().0;
        let mut last = values.iter().find_map(|bits| (self.whole_of)(*bits)).unwrap_or(0);
        for (row, (whole, bits)) in self.wholes.iter_mut().zip(values).enumerate() {
            match (self.whole_of)(*bits) {
                Some(found) => last = found,
                None => self.exceptions.push(row as u32),
            }
            *whole = last;
        }
    }
}

/// How a group is packed.
#[derive(Debug, Clone, Copy)]
struct Plan {
    base: i64,
    first: i64,
    width: usize,
    count: usize,
}

impl Plan {
    fn of_group(mode: Mode, wholes: &[i64], narrow: bool) -> Self {
        let first = wholes.first().copied().unwrap_or(0);
        let (low, high) = match mode {
            Mode::Frame => range(wholes.iter().copied()),
            Mode::Delta => range(deltas(wholes, narrow).skip(1)),
        };
        let width = width_of(high.wrapping_sub(low) as u64);
        Self { base: low, first, width, count: wholes.len() }
    }

    fn packed_bytes(&self) -> usize {
        self.count.div_ceil(SUB_BLOCK) * 32 * self.width
    }
}

/// The differences between neighbours, 0 first, wrapped to 32 bits for narrow elements.
fn deltas(wholes: &[i64], narrow: bool) -> impl Iterator<Item = i64> {
    let previous = wholes.first().into_iter().chain(wholes);
    wholes.iter().zip(previous).map(move |(value, previous)| {
        let delta = value.wrapping_sub(*previous);
        if narrow { i64::from(delta as i32) } else { delta }
    })
}

/// Minimum and maximum; both 0 where there are no values.
fn range(values: impl Iterator<Item = i64>) -> (i64, i64) {
    let (low, high) =
        values.fold((i64::MAX, i64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    if low <= high { (low, high) } else { (0, 0) }
}

/// Bits that numbers from 0 to `largest` take.
fn width_of(largest: u64) -> usize {
    64 - largest.leading_zeros() as usize
}

fn plans(mode: Mode, wholes: &[i64], narrow: bool) -> Vec<Plan> {
    wholes.chunks(VECTOR_ROWS).map(|group| Plan::of_group(mode, group, narrow)).collect()
}

fn total_bytes(mode: Mode, plans: &[Plan]) -> usize {
    plans.len() * mode.entry_bytes() + plans.iter().map(Plan::packed_bytes).sum::<usize>()
}

/// Write the block in the mode that takes fewer bytes, frames where both take the same.
fn write(element: Element, kind: Kind, decimals: &Decimals, values: &[u8]) -> Result<Option<Vec<u8>>> {
    let narrow = is_narrow(element);
    let wholes = &decimals.wholes;
    let (frames, deltas) = (plans(Mode::Frame, wholes, narrow), plans(Mode::Delta, wholes, narrow));
    let (mode, plans) = if total_bytes(Mode::Delta, &deltas) < total_bytes(Mode::Frame, &frames) {
        (Mode::Delta, deltas)
    } else {
        (Mode::Frame, frames)
    };
    let exception_bytes = decimals.exceptions.len() * (element.width() + 4);
    let size = HEADER_BYTES + total_bytes(mode, &plans) + exception_bytes;
    if size >= values.len() {
        return Ok(None);
    }
    let mut block = Vec::with_capacity(size);
    let packed_bytes: usize = plans.iter().map(Plan::packed_bytes).sum();
    block.extend_from_slice(&[kind as u8, mode as u8, decimals.exponent, 0]);
    for count in [wholes.len(), decimals.exceptions.len(), packed_bytes] {
        block.extend_from_slice(&bytes::length_u32(count, "bit-packed block")?.to_le_bytes());
    }
    write_table(mode, &plans, &mut block)?;
    for (plan, group) in plans.iter().zip(wholes.chunks(VECTOR_ROWS)) {
        pack_group(mode, plan, group, narrow, &mut block);
    }
    write_exceptions(&decimals.exceptions, element, values, &mut block);
    Ok(Some(block))
}

fn write_table(mode: Mode, plans: &[Plan], block: &mut Vec<u8>) -> Result<()> {
    let mut offset = 0;
    for plan in plans {
        block.extend_from_slice(&plan.base.to_le_bytes());
        block.extend_from_slice(&bytes::length_u32(offset, "bit-packed block")?.to_le_bytes());
        block.extend_from_slice(&[plan.width as u8, 0, 0, 0]);
        if mode == Mode::Delta {
            block.extend_from_slice(&plan.first.to_le_bytes());
        }
        offset += plan.packed_bytes();
    }
    Ok(())
}

fn pack_group(mode: Mode, plan: &Plan, group: &[i64], narrow: bool, block: &mut Vec<u8>) {
    let mask = if narrow { u64::from(u32::MAX) } else { u64::MAX };
    let offset = |value: i64| value.wrapping_sub(plan.base) as u64 & mask;
    let mut packed = [0_u64; VECTOR_ROWS];
    match mode {
        Mode::Frame => packed.iter_mut().zip(group).for_each(|(packed, value)| *packed = offset(*value)),
        Mode::Delta => {
            for (packed, delta) in packed.iter_mut().zip(deltas(group, narrow)).skip(1) {
                *packed = offset(delta);
            }
        }
    }
    for sub_block in packed.chunks(SUB_BLOCK).take(group.len().div_ceil(SUB_BLOCK)) {
        pack_sub_block(plan.width, sub_block, block);
    }
}

/// Bits first, then positions, so that both can be viewed in place.
fn write_exceptions(exceptions: &[u32], element: Element, values: &[u8], block: &mut Vec<u8>) {
    for row in exceptions {
        let at = *row as usize * element.width();
        block.extend_from_slice(values.get(at..at + element.width()).unwrap_or_default());
    }
    for row in exceptions {
        block.extend_from_slice(&row.to_le_bytes());
    }
}

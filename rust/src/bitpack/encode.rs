//! Plain values to a bit-packed block.

use super::layout::{HEADER_BYTES, Kind, Mode, SUB_BLOCK, is_narrow};
use super::pack::pack_sub_block;
use crate::bytes;
use crate::column::{Element, VECTOR_ROWS};
use crate::decimals::{Decimals, range, width_of};
use crate::error::Result;
use crate::plain;

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
            plain::integers(plain::signed_twin(element), values, &mut wholes);
            write(element, Kind::Integers, &Decimals { wholes, ..Decimals::default() }, values)?
        }
    };
    Ok(encoded)
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

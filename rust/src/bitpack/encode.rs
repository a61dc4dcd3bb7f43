//! Plain values to a bit-packed block.
//!
//! A sample of the block gives what its groups share: decimal places, a divisor, a common value, ranks.  Each group
//! is then packed by itself in the smallest of a few ways.

use super::layout::{
    ENTRY_BYTES, FLAG_DELTA, FLAG_SCALED, FLAG_SPARSE, HEADER_BYTES, Kind, MAX_RANKS, Mode, PATCH_SHIFT,
    SUB_BLOCK, base_bytes,
};
use super::pack::{pack_32, pack_64};
use super::plan::{Numbers, Plan};
use super::whole::Whole;
use crate::bytes;
use crate::column::{Element, VECTOR_ROWS};
use crate::decimals::{Decimals, range, width_of};
use crate::error::Result;
use crate::isa::{Isa, Kernel, dispatch};

/// Values that divisor and common value of a block are found from.
const SAMPLE: usize = 64;
/// A value is left out of groups where it takes at least one in so many rows.
const COMMON_SHARE: usize = 16;
/// Bits that leaving it out must save in the sample.
const COMMON_GAIN: usize = 4;
/// Most different bytes that are packed by rank without a look at their plain order.
const FEW_RANKS: usize = 64;

/// Encode plain values; `None` where the block would not be smaller than they are.
pub fn encode(values: &[u8], element: Element) -> Result<Option<Vec<u8>>> {
    match element {
        Element::F32 | Element::F64 => match Decimals::of_values(values, element) {
            Some(decimals) => encode_decimals(values, element, &decimals),
            None => Ok(None),
        },
        Element::U8 | Element::I8 => encode_bytes(values, element),
        // Unsigned values are packed as the signed numbers of their bits, so that the null code 0xffffffff lies
        // next to code 0.
        _ => match element.width() {
            2 => integers::<i32, 2>(values, element, |bits| i32::from(i16::from_le_bytes(bits))),
            4 => integers::<i32, 4>(values, element, i32::from_le_bytes),
            8 => integers::<i64, 8>(values, element, i64::from_le_bytes),
            _ => Ok(None),
        },
    }
}

fn integers<W: Whole, const N: usize>(
    values: &[u8],
    element: Element,
    read: impl Fn([u8; N]) -> W,
) -> Result<Option<Vec<u8>>> {
    let rows = values.as_chunks::<N>().0;
    let mut block = Block::<W>::new(Shared::of_sample(rows, &read), element, values.len());
    block.push_groups(rows, read);
    block.finish(values, &[])
}

fn encode_decimals(values: &[u8], element: Element, decimals: &Decimals) -> Result<Option<Vec<u8>>> {
    let rows = bytemuck::cast_slice::<i64, [u8; 8]>(&decimals.wholes);
    let shared = Shared {
        kind: Kind::Decimals,
        exponent: decimals.exponent,
        ..Shared::of_sample(rows, i64::from_ne_bytes)
    };
    let mut block = Block::<i64>::new(shared, element, values.len());
    block.push_groups(rows, i64::from_ne_bytes);
    block.finish(values, &decimals.exceptions)
}

/// Pack bytes by rank, or where there are many as they are, if that is smaller.
fn encode_bytes(values: &[u8], element: Element) -> Result<Option<Vec<u8>>> {
    let rows = values.as_chunks::<1>().0;
    let ranks = by_frequency(values);
    let mut codes = [0; MAX_RANKS];
    for (rank, byte) in ranks.iter().enumerate() {
        if let Some(code) = codes.get_mut(usize::from(*byte)) {
            *code = rank as i32;
        }
    }
    let shared = Shared { kind: Kind::Ranks, ranks, ..Shared::default() };
    let few = shared.ranks.len() <= FEW_RANKS;
    let mut ranked = Block::<i32>::new(shared, element, values.len());
    ranked.push_groups(rows, |[byte]| codes.get(usize::from(byte)).copied().unwrap_or(0));
    let ranked = ranked.finish(values, &[])?;
    if few {
        return Ok(ranked);
    }
    let plain = integers::<i32, 1>(values, element, |[byte]| i32::from(byte as i8))?;
    Ok(match (ranked, plain) {
        (Some(ranked), Some(plain)) => Some(if plain.len() < ranked.len() { plain } else { ranked }),
        (ranked, plain) => ranked.or(plain),
    })
}

/// The different bytes, the most frequent first; among equals the smaller one.
fn by_frequency(values: &[u8]) -> Vec<u8> {
    // Four counts a byte, as equal neighbours would wait for each other.
    let mut counts = [[0_u32; MAX_RANKS]; 4];
    for bytes in values.chunks(4) {
        for (counts, byte) in counts.iter_mut().zip(bytes) {
            if let Some(count) = counts.get_mut(usize::from(*byte)) {
                *count += 1;
            }
        }
    }
    let [a, b, c, d] = counts;
    let total = a.iter().zip(&b).zip(&c).zip(&d).map(|(((a, b), c), d)| a + b + c + d);
    let mut found: Vec<(u32, u8)> = total.zip(0..=u8::MAX).filter(|(count, _)| *count > 0).collect();
    found.sort_unstable_by_key(|(count, byte)| (u32::MAX - count, *byte));
    found.into_iter().map(|(_, byte)| byte).collect()
}

/// What the groups of a block share.
struct Shared {
    kind: Kind,
    exponent: u8,
    divisor: u64,
    common: Option<i64>,
    ranks: Vec<u8>,
}

impl Default for Shared {
    fn default() -> Self {
        Self { kind: Kind::Integers, exponent: 0, divisor: 1, common: None, ranks: Vec::new() }
    }
}

impl Shared {
    /// Find a divisor and a common value in a sample.
    fn of_sample<W: Whole, const N: usize>(rows: &[[u8; N]], read: impl Fn([u8; N]) -> W) -> Self {
        let step = rows.len().div_ceil(SAMPLE).max(1);
        let mut sample: Vec<i64> = rows.iter().step_by(step).map(|bits| read(*bits).signed()).collect();
        sample.sort_unstable();
        let common = common_end(&sample);
        sample.retain(|value| Some(*value) != common);
        let divisor = divisor(&sample);
        let divisor = if divisor > W::MAX.raw() { 1 } else { divisor };
        Self { divisor, common, ..Self::default() }
    }
}

/// The smallest or largest value of an ordered sample, where it is frequent and far from the others.
fn common_end(sample: &[i64]) -> Option<i64> {
    let (low, high) = (sample.first()?, sample.last()?);
    let bits = |values: &[i64]| {
        let (low, high) = range(values.iter().copied());
        width_of(high.wrapping_sub(low) as u64)
    };
    let above = sample.get(sample.partition_point(|value| value <= low)..)?;
    let below = sample.get(..sample.partition_point(|value| value < high))?;
    let is_common = |others: &[i64]| {
        let count = sample.len() - others.len();
        count * COMMON_SHARE >= sample.len()
            && !others.is_empty()
            && bits(others) + COMMON_GAIN <= bits(sample)
    };
    if is_common(above) {
        Some(*low)
    } else if is_common(below) {
        Some(*high)
    } else {
        None
    }
}

/// The greatest common divisor of the distances between ordered values; 1 where there is none above.
fn divisor(sample: &[i64]) -> u64 {
    let mut found = 0_u64;
    for (value, next) in sample.iter().zip(sample.iter().skip(1)) {
        let (mut a, mut b) = (found, next.wrapping_sub(*value) as u64);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        found = a;
        if found == 1 {
            break;
        }
    }
    found.max(1)
}

/// One way to pack a group.
#[derive(Clone, Copy)]
struct Choice<W> {
    mode: Mode,
    is_scaled: bool,
    plan: Plan<W>,
    /// All bytes but those of the entry.
    bytes: usize,
}

/// Numbers of a group in the ways that it may be packed.
struct Ways<W> {
    values: Numbers<W>,
    frames: Numbers<W>,
    deltas: Numbers<W>,
}

impl<W: Whole> Ways<W> {
    fn new() -> Self {
        Self { values: Numbers::new(), frames: Numbers::new(), deltas: Numbers::new() }
    }

    /// The smaller of frame and deltas, of multiples of the divisor where all values are.
    #[inline(always)]
    fn choose(&mut self, divisor: u64, element: Element) -> Choice<W> {
        let is_scaled = divisor > 1 && self.divide(divisor);
        if !is_scaled {
            self.frames.fill(self.values.used());
        }
        let plan = Plan::of(self.frames.used());
        let frame = Choice { mode: Mode::Frame, is_scaled, plan, bytes: plan.bytes };
        if plan.bytes == 0 || element.width() == 1 {
            return frame;
        }
        self.deltas.fill_deltas(self.frames.used());
        let plan = Plan::of(self.deltas.used());
        let delta = Choice { mode: Mode::Delta, is_scaled, plan, bytes: plan.bytes + base_bytes(element) };
        if delta.bytes < frame.bytes { delta } else { frame }
    }

    /// Divide the distances from the first value; false where one is no multiple.
    #[inline(always)]
    fn divide(&mut self, divisor: u64) -> bool {
        let shift = divisor.trailing_zeros();
        let odd = divisor >> shift;
        // Newton's iteration doubles the bits that are right: 3, 6, 12, 24, 48, 96.
        let inverse = (0..5)
            .fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))));
        let (inverse, mask) = (W::of(inverse as i64), W::of((1_i64 << shift) - 1));
        let most = W::of((W::MAX.raw() / divisor) as i64);
        let least = W::default().minus(most);
        let first = self.values.values.first().copied().unwrap_or_default();
        let (mut exact, mut remains) = (true, W::default());
        self.frames.count = self.values.count;
        for (frame, value) in self.frames.values.iter_mut().zip(self.values.used()) {
            let distance = value.minus(first);
            remains = remains.or(distance.and(mask));
            let quotient = distance.shifted(shift).times(inverse);
            exact &= least <= quotient && quotient <= most;
            *frame = quotient;
        }
        exact && remains == W::default()
    }
}

/// A block on its way: what is written of its groups so far.
struct Block<W> {
    shared: Shared,
    element: Element,
    rows: usize,
    /// Bytes that it must stay below.
    most: usize,
    table: Vec<u8>,
    packed: Vec<u8>,
    dense: Box<Ways<W>>,
    sparse: Option<Box<Ways<W>>>,
    present: [u8; VECTOR_ROWS / 8],
}

impl<W: Whole> Block<W> {
    fn new(shared: Shared, element: Element, most: usize) -> Self {
        let sparse = shared.common.map(|_| Box::new(Ways::new()));
        Self {
            shared,
            element,
            rows: 0,
            most,
            table: Vec::new(),
            packed: Vec::new(),
            dense: Box::new(Ways::new()),
            sparse,
            present: [0; VECTOR_ROWS / 8],
        }
    }

    /// Pack all rows; stops where the block has become too large.
    fn push_groups<const N: usize>(&mut self, rows: &[[u8; N]], read: impl Fn([u8; N]) -> W) {
        self.rows = rows.len();
        for group in rows.chunks(VECTOR_ROWS) {
            if self.packed.len() >= self.most {
                return;
            }
            dispatch(PushGroup { block: self, group, read: &read });
        }
    }

    #[inline(always)]
    fn push_group(&mut self) {
        let dense = self.dense.choose(self.shared.divisor, self.element);
        let sparse = if dense.bytes > 0 { self.choose_sparse() } else { None };
        match sparse {
            Some(sparse) if sparse.bytes < dense.bytes => self.push(sparse, true),
            _ => self.push(dense, false),
        }
    }

    /// Leave the common value out, where there is one and this group has it often enough.
    #[inline(always)]
    fn choose_sparse(&mut self) -> Option<Choice<W>> {
        let common = W::of(self.shared.common?);
        let ways = self.sparse.as_mut()?;
        let values = self.dense.values.used();
        let count: usize = values.iter().map(|value| usize::from(*value == common)).sum();
        if count * COMMON_SHARE < values.len() {
            return None;
        }
        let mut next = 0;
        for (bits, values) in self.present.iter_mut().zip(values.chunks(8)) {
            *bits = 0;
            for (bit, value) in values.iter().enumerate() {
                if let Some(place) = ways.values.values.get_mut(next) {
                    *place = *value;
                }
                next += usize::from(*value != common);
                *bits |= u8::from(*value != common) << bit;
            }
        }
        ways.values.count = next;
        let choice = ways.choose(self.shared.divisor, self.element);
        Some(Choice { bytes: choice.bytes + values.len().div_ceil(8), ..choice })
    }

    /// Append the group as chosen.
    #[inline(always)]
    fn push(&mut self, choice: Choice<W>, is_sparse: bool) {
        let Choice { mode, is_scaled, plan, .. } = choice;
        let present_bytes = self.dense.values.count.div_ceil(8);
        let ways = match &mut self.sparse {
            Some(ways) if is_sparse => ways,
            _ => &mut self.dense,
        };
        let first = ways.values.values.first().copied().unwrap_or_default();
        let factor = if is_scaled { W::of(self.shared.divisor as i64) } else { W::of(1) };
        let numbers = match mode {
            Mode::Frame => &mut ways.frames,
            Mode::Delta => &mut ways.deltas,
        };
        let mut base = plan.base.times(factor);
        if mode == Mode::Delta {
            if let Some(number) = numbers.values.first_mut() {
                *number = plan.base;
            }
        } else if is_scaled {
            base = base.plus(first);
        }
        let mut flags = if mode == Mode::Delta { FLAG_DELTA } else { 0 };
        flags |= if is_scaled { FLAG_SCALED } else { 0 } | if is_sparse { FLAG_SPARSE } else { 0 };
        let offset = self.packed.len() as u32;
        let base_bytes = base_bytes(self.element);
        if mode == Mode::Delta {
            push_bytes(first.signed(), base_bytes, &mut self.packed);
        }
        if is_sparse {
            self.packed.extend_from_slice(self.present.get(..present_bytes).unwrap_or_default());
        }
        let patches =
            if plan.patches > 0 { push_patches(numbers.used(), &plan, &mut self.packed) } else { 0 };
        if patches > 0 {
            flags |= (plan.patch_bytes as u8) << PATCH_SHIFT;
        }
        push_numbers(numbers.used(), &plan, &mut self.packed);
        self.table.extend_from_slice(&offset.to_le_bytes());
        self.table.extend_from_slice(&(patches as u16).to_le_bytes());
        self.table.extend_from_slice(&[plan.width as u8, flags]);
        push_bytes(base.signed(), base_bytes, &mut self.table);
    }

    /// Put the parts together; `values` are the plain values that exceptions are copied from.
    fn finish(self, values: &[u8], exceptions: &[u32]) -> Result<Option<Vec<u8>>> {
        let Shared { kind, exponent, divisor, common, ranks } = self.shared;
        let exception_bytes = exceptions.len() * (self.element.width() + 4);
        let size = HEADER_BYTES + ranks.len() + self.table.len() + self.packed.len() + exception_bytes;
        if size >= self.most || self.table.len() < self.rows.div_ceil(VECTOR_ROWS) * ENTRY_BYTES {
            return Ok(None);
        }
        let mut block = Vec::with_capacity(size);
        block.extend_from_slice(&[kind as u8, 0, exponent, 1]);
        for count in [self.rows, exceptions.len(), self.packed.len()] {
            block.extend_from_slice(&bytes::length_u32(count, "bit-packed block")?.to_le_bytes());
        }
        let parameter = if kind == Kind::Ranks { ranks.len() as u64 } else { divisor };
        block.extend_from_slice(&parameter.to_le_bytes());
        block.extend_from_slice(&common.unwrap_or(0).to_le_bytes());
        block.extend_from_slice(&ranks);
        block.extend_from_slice(&self.table);
        block.extend_from_slice(&self.packed);
        push_exceptions(exceptions, self.element, values, &mut block);
        Ok(Some(block))
    }
}

/// One group, read and packed in the instructions of this machine.
struct PushGroup<'b, W, F, const N: usize> {
    block: &'b mut Block<W>,
    group: &'b [[u8; N]],
    read: F,
}

impl<W: Whole, F: Fn([u8; N]) -> W, const N: usize> Kernel for PushGroup<'_, W, F, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let values = &mut self.block.dense.values;
        values.count = self.group.len();
        for (value, bits) in values.values.iter_mut().zip(self.group) {
            *value = (self.read)(*bits);
        }
        self.block.push_group();
    }
}

/// Append the low bytes of a number.
#[inline(always)]
fn push_bytes(number: i64, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(number.to_le_bytes().get(..bytes).unwrap_or_default());
}

/// Append the high bits of the numbers that exceed the width, then their places; gives how many there are.
#[inline(always)]
fn push_patches<W: Whole>(numbers: &[W], plan: &Plan<W>, out: &mut Vec<u8>) -> usize {
    let mut places = [0_u16; VECTOR_ROWS];
    let mut count = 0;
    for (row, number) in numbers.iter().enumerate() {
        if let Some(place) = places.get_mut(count) {
            *place = row as u16;
        }
        count += usize::from(number.minus(plan.base).exceeds(plan.width));
    }
    let places = places.get(..count).unwrap_or_default();
    for place in places {
        let number = numbers.get(usize::from(*place)).copied().unwrap_or_default();
        push_bytes((number.minus(plan.base).raw() >> plan.width) as i64, plan.patch_bytes, out);
    }
    for place in places {
        out.extend_from_slice(&place.to_le_bytes());
    }
    count
}

/// Append the low bits of all numbers.
#[inline(always)]
fn push_numbers<W: Whole>(numbers: &[W], plan: &Plan<W>, out: &mut Vec<u8>) {
    let padded = numbers.len().next_multiple_of(SUB_BLOCK);
    if plan.width == 0 {
        return;
    }
    let mask = u64::MAX >> (64 - plan.width.min(64));
    if plan.width <= 32 {
        let mut words = [0_u32; VECTOR_ROWS];
        for (word, number) in words.iter_mut().zip(numbers) {
            *word = number.minus(plan.base).raw() as u32 & mask as u32;
        }
        pack_32(plan.width, words.get(..padded).unwrap_or_default(), out);
    } else {
        let mut words = [0_u64; VECTOR_ROWS];
        for (word, number) in words.iter_mut().zip(numbers) {
            *word = number.minus(plan.base).raw() & mask;
        }
        pack_64(plan.width, words.get(..padded).unwrap_or_default(), out);
    }
}

/// Bits first, then positions, so that both can be viewed in place.
fn push_exceptions(exceptions: &[u32], element: Element, values: &[u8], block: &mut Vec<u8>) {
    for row in exceptions {
        let at = *row as usize * element.width();
        block.extend_from_slice(values.get(at..at + element.width()).unwrap_or_default());
    }
    for row in exceptions {
        block.extend_from_slice(&row.to_le_bytes());
    }
}

//! Aggregates over the runs of a vector, and what is kept of a group that is still open.
//!
//! An accumulator is a few words, all zero for no rows: count `[n]`; sum of ints `[low, high]` of an i128; sum of
//! floats, eight lanes; min and max `[value, flags]` with flag 1 for a value and 2 for one that is not NaN;
//! first and last `[value, flags]` with flag 1 for a row and 2 for a null one.

use crate::error::Result;
use crate::isa::{Isa, Kernel, dispatch};

use super::layout::{Aggregate, Class, Kind};
use super::registers::Register;
use super::vector::lost_register;

/// Lanes of a sum of floats.
pub const LANES: usize = 8;
/// A value was seen.
pub const SEEN: i64 = 1;
/// A float that is not NaN was seen.
pub const SEEN_NUMBER: i64 = 2;
const IS_NULL: i64 = 2;
/// Ints below this in size can be added 1,024 times without leaving i64.
const SMALL: i64 = 1 << 52;

/// The open group, as it is before and after a vector.
pub struct Open<'s> {
    /// Rows of the first run's group before this vector; 0 for a fresh group.
    pub rows: usize,
    /// Accumulator of this aggregate; of the first run before, of the last run after.
    pub state: &'s mut [i64],
}

/// Where the words of the finished groups go: one row a run but the last.
pub struct Finished<'o> {
    /// First word.
    pub low: &'o mut [i64],
    /// Second word, for sums of ints; empty for others.
    pub high: &'o mut [i64],
    /// Words of nulls.
    pub nulls: &'o mut [i64],
}

/// Add the runs of a vector to an aggregate.
pub fn apply(
    aggregate: &Aggregate,
    registers: &[Register<'_>],
    ends: &[u32],
    open: Open<'_>,
    finished: Finished<'_>,
) -> Result<()> {
    let count = ends.last().map_or(0, |end| *end as usize);
    if aggregate.kind == Kind::Len {
        let mut start = 0;
        let mut before = open.rows;
        for (out, end) in finished.low.iter_mut().zip(ends) {
            *out = (before + (*end as usize) - start) as i64;
            (start, before) = (*end as usize, 0);
        }
        return Ok(());
    }
    let register = registers.get(aggregate.register).ok_or_else(lost_register)?;
    if register.has_nulls {
        apply_rows(aggregate, register, ends, open, finished);
        return Ok(());
    }
    match (aggregate.kind, aggregate.class) {
        (Kind::Sum, Class::Float) => {
            let lanes = open.state.first_chunk_mut().ok_or_else(lost_register)?;
            let kernel = SumFloats {
                values: register.floats(count),
                ends,
                before: open.rows,
                lanes,
                out: finished.low,
            };
            dispatch(kernel);
        }
        (Kind::Sum, _) => {
            let state = open.state.first_chunk_mut().ok_or_else(lost_register)?;
            let values = register.ints(count);
            dispatch(SumInts { values, ends, state, low: finished.low, high: finished.high });
        }
        (Kind::Min | Kind::Max, Class::Float) => {
            let state = open.state.first_chunk_mut().ok_or_else(lost_register)?;
            let (values, out) = (register.floats(count), finished.low);
            if aggregate.kind == Kind::Min {
                dispatch(BestFloat { values, ends, state, out, worst: f64::INFINITY, best: lower });
            } else {
                dispatch(BestFloat { values, ends, state, out, worst: f64::NEG_INFINITY, best: higher });
            }
        }
        (Kind::Min | Kind::Max, _) => {
            let state = open.state.first_chunk_mut().ok_or_else(lost_register)?;
            let (values, out) = (register.ints(count), finished.low);
            if aggregate.kind == Kind::Min {
                dispatch(BestInt {
                    values,
                    ends,
                    state,
                    out,
                    worst: i64::MAX,
                    best: |a: i64, b: i64| a.min(b),
                });
            } else {
                dispatch(BestInt {
                    values,
                    ends,
                    state,
                    out,
                    worst: i64::MIN,
                    best: |a: i64, b: i64| a.max(b),
                });
            }
        }
        (Kind::Count, _) => count_all(ends, open.state, finished),
        (Kind::First, _) => first(register.ints(count), ends, open.state, finished, aggregate.null_bit),
        _ => last(register.ints(count), ends, open.state, finished),
    }
    Ok(())
}

/// The slow way, row by row: for values that may be null.
fn apply_rows(
    aggregate: &Aggregate,
    register: &Register<'_>,
    ends: &[u32],
    open: Open<'_>,
    finished: Finished<'_>,
) {
    let Open { mut rows, state } = open;
    let mut start = 0;
    for (run, end) in ends.iter().enumerate() {
        let end = *end as usize;
        let values = register.ints(end);
        for row in start..end {
            let value = values.get(row).copied().unwrap_or_default();
            update(aggregate, state, value, register.is_valid(row), rows);
            rows += 1;
        }
        if run + 1 < ends.len() {
            let finish = finish(aggregate, state, rows);
            if let Some(out) = finished.low.get_mut(run) {
                *out = finish.low;
            }
            if let Some(out) = finished.high.get_mut(run) {
                *out = finish.high;
            }
            if let Some(nulls) = finished.nulls.get_mut(run) {
                *nulls |= finish.null_bit;
            }
            state.fill(0);
            rows = 0;
        }
        start = end;
    }
}

/// Add one row to an accumulator; `row` is its number within the group.
pub fn update(aggregate: &Aggregate, state: &mut [i64], word: i64, valid: bool, row: usize) {
    match (aggregate.kind, state) {
        (Kind::Count, [count, ..]) => *count = count.wrapping_add(i64::from(valid)),
        (Kind::Sum, state) if aggregate.class == Class::Float => {
            if let (true, Some(lane)) = (valid, state.get_mut(row % LANES)) {
                *lane = (float(*lane) + float(word)).to_bits() as i64;
            }
        }
        (Kind::Sum, [low, high, ..]) if valid => {
            (*low, *high) = split(join(*low, *high).wrapping_add(i128::from(word)));
        }
        (Kind::Min | Kind::Max, [value, flags, ..]) if valid && aggregate.class == Class::Float => {
            let number = float(word);
            let better =
                if aggregate.kind == Kind::Min { number < float(*value) } else { number > float(*value) };
            if !number.is_nan() && (better || *flags & SEEN_NUMBER == 0) {
                *value = word;
                *flags |= SEEN_NUMBER;
            }
            *flags |= SEEN;
        }
        (Kind::Min | Kind::Max, [value, flags, ..]) if valid => {
            let better = if aggregate.kind == Kind::Min { word < *value } else { word > *value };
            if better || *flags & SEEN == 0 {
                *value = word;
            }
            *flags |= SEEN;
        }
        (Kind::First, [value, flags, ..]) if *flags == 0 => {
            (*value, *flags) = (word, if valid { SEEN } else { SEEN | IS_NULL });
        }
        (Kind::Last, [value, flags, ..]) => {
            (*value, *flags) = (word, if valid { SEEN } else { SEEN | IS_NULL });
        }
        _ => {}
    }
}

/// The output words of a group.
pub struct Words {
    /// First word.
    pub low: i64,
    /// Second word, for sums of ints.
    pub high: i64,
    /// The aggregate's bit where it is null, otherwise 0.
    pub null_bit: i64,
}

/// Make the output words of a group of `rows` rows from its accumulator.
pub fn finish(aggregate: &Aggregate, state: &[i64], rows: usize) -> Words {
    let (low, high, null) = match (aggregate.kind, state) {
        (Kind::Len, _) => (rows as i64, 0, false),
        (Kind::Count, [count, ..]) => (*count, 0, false),
        (Kind::Sum, state) if aggregate.class == Class::Float => {
            (state.first_chunk().map_or(0, |lanes| finish_lanes(&lanes.map(float))), 0, false)
        }
        (Kind::Sum, [low, high, ..]) => (*low, *high, false),
        (Kind::Min | Kind::Max, [value, flags, ..]) if aggregate.class == Class::Float => {
            let number = if flags & SEEN_NUMBER == 0 { f64::NAN } else { float(*value) + 0.0 };
            if flags & SEEN == 0 { (0, 0, true) } else { (number.to_bits() as i64, 0, false) }
        }
        (Kind::Min | Kind::Max, [value, flags, ..]) => (*value, 0, flags & SEEN == 0),
        (_, [value, flags, ..]) if *flags == SEEN => (*value, 0, false),
        _ => (0, 0, true),
    };
    Words { low, high, null_bit: if null { aggregate.null_bit } else { 0 } }
}

/// The float of its bits.
#[inline(always)]
pub fn float(word: i64) -> f64 {
    f64::from_bits(word as u64)
}

/// An i128 of its two words.
#[inline(always)]
pub fn join(low: i64, high: i64) -> i128 {
    i128::from(high) << 64 | i128::from(low as u64)
}

/// The two words of an i128.
#[inline(always)]
pub fn split(sum: i128) -> (i64, i64) {
    (sum as i64, (sum >> 64) as i64)
}

/// Add the lanes in their fixed order; every NaN comes out as the same one.
#[inline(always)]
pub fn finish_lanes(lanes: &[f64; LANES]) -> i64 {
    let [a, b, c, d, e, f, g, h] = *lanes;
    let sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
    (if sum.is_nan() { f64::NAN } else { sum }).to_bits() as i64
}

/// All bits for the first `n` lanes.
pub const FIRST_LANES: [[u64; LANES]; LANES] =
    [mask(0), mask(1), mask(2), mask(3), mask(4), mask(5), mask(6), mask(7)];

const fn mask(n: usize) -> [u64; LANES] {
    const ALL: u64 = u64::MAX;
    [
        if n > 0 { ALL } else { 0 },
        if n > 1 { ALL } else { 0 },
        if n > 2 { ALL } else { 0 },
        if n > 3 { ALL } else { 0 },
        if n > 4 { ALL } else { 0 },
        if n > 5 { ALL } else { 0 },
        if n > 6 { ALL } else { 0 },
        0,
    ]
}

/// Combine two vectors of lanes; spelled out, so that lanes stay in registers.
#[inline(always)]
pub fn zip_lanes<A: Copy, B: Copy, C>(a: [A; LANES], b: [B; LANES], f: impl Fn(A, B) -> C) -> [C; LANES] {
    let [a0, a1, a2, a3, a4, a5, a6, a7] = a;
    let [b0, b1, b2, b3, b4, b5, b6, b7] = b;
    [f(a0, b0), f(a1, b1), f(a2, b2), f(a3, b3), f(a4, b4), f(a5, b5), f(a6, b6), f(a7, b7)]
}

/// A value of 64 bits, whose bits can be masked.
trait Word: Copy {
    fn select(self, mask: u64, other: Self) -> Self;
}

impl Word for f64 {
    #[inline(always)]
    fn select(self, mask: u64, other: Self) -> Self {
        Self::from_bits(self.to_bits() & mask | other.to_bits() & !mask)
    }
}

impl Word for i64 {
    #[inline(always)]
    fn select(self, mask: u64, other: Self) -> Self {
        self & mask as Self | other & !mask as Self
    }
}

/// Fold a run into eight lanes: whole chunks, then the rest with the other lanes set to `neutral`.
///
/// `values` go on behind the run where the vector does, so that the rest is read as a whole chunk, too.
#[inline(always)]
fn fold_lanes<W: Word>(
    lanes: &mut [W; LANES],
    values: &[W],
    count: usize,
    neutral: W,
    fold: impl Fn(W, W) -> W,
) {
    let mut rest = values;
    let mut left = count;
    while left >= LANES {
        let Some((chunk, behind)) = rest.split_first_chunk::<LANES>() else { return };
        *lanes = zip_lanes(*lanes, *chunk, &fold);
        rest = behind;
        left -= LANES;
    }
    if left == 0 {
        return;
    }
    match (rest.first_chunk::<LANES>(), FIRST_LANES.get(left)) {
        (Some(chunk), Some(masks)) => {
            let chunk = zip_lanes(*chunk, *masks, |value, mask| value.select(mask, neutral));
            *lanes = zip_lanes(*lanes, chunk, &fold);
        }
        _ => {
            for (lane, value) in lanes.iter_mut().zip(rest).take(left) {
                *lane = fold(*lane, *value);
            }
        }
    }
}

struct SumFloats<'v> {
    values: &'v [f64],
    ends: &'v [u32],
    before: usize,
    lanes: &'v mut [i64; LANES],
    out: &'v mut [i64],
}

impl Kernel for SumFloats<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut lanes = self.lanes.map(float);
        let mut turn = self.before % LANES;
        lanes.rotate_left(turn);
        let mut rest = self.values;
        let mut start = 0;
        let mut out = self.out.iter_mut();
        for end in self.ends {
            let count = (*end - start) as usize;
            start = *end;
            fold_lanes(&mut lanes, rest, count, 0.0, |lane, value| lane + value);
            rest = rest.get(count..).unwrap_or_default();
            if let Some(out) = out.next() {
                if turn != 0 {
                    lanes.rotate_right(turn);
                    turn = 0;
                }
                *out = finish_lanes(&lanes);
                lanes = [0.0; LANES];
            }
        }
        lanes.rotate_right(turn);
        *self.lanes = lanes.map(|lane| lane.to_bits() as i64);
    }
}

/// Whether a vector of these values can be added in 64 bits.
#[inline(always)]
pub fn are_small(values: &[i64]) -> bool {
    values.iter().fold(true, |all, value| all & (value.wrapping_add(SMALL) as u64 <= 2 * SMALL as u64))
}

struct SumInts<'v> {
    values: &'v [i64],
    ends: &'v [u32],
    state: &'v mut [i64; 2],
    low: &'v mut [i64],
    high: &'v mut [i64],
}

impl Kernel for SumInts<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut rest = self.values;
        let mut start = 0;
        let mut out = self.low.iter_mut().zip(self.high);
        let [low, high] = *self.state;
        let mut sum = join(low, high);
        let all_small = are_small(self.values);
        for end in self.ends {
            let count = (*end - start) as usize;
            start = *end;
            if all_small {
                let mut lanes = [0; LANES];
                fold_lanes(&mut lanes, rest, count, 0, i64::wrapping_add);
                sum = sum.wrapping_add(i128::from(lanes.iter().sum::<i64>()));
            } else {
                sum = sum.wrapping_add(rest.iter().take(count).map(|value| i128::from(*value)).sum());
            }
            rest = rest.get(count..).unwrap_or_default();
            if let Some((low, high)) = out.next() {
                (*low, *high) = split(sum);
                sum = 0;
            }
        }
        let (low, high) = split(sum);
        *self.state = [low, high];
    }
}

/// The smaller; a NaN value does not count.
#[inline(always)]
pub fn lower(best: f64, value: f64) -> f64 {
    if value < best { value } else { best }
}

/// The larger; a NaN value does not count.
#[inline(always)]
pub fn higher(best: f64, value: f64) -> f64 {
    if value > best { value } else { best }
}

/// Min or max of floats: NaN never wins; only a run that gives the worst value is looked at again.
struct BestFloat<'v, F> {
    values: &'v [f64],
    ends: &'v [u32],
    state: &'v mut [i64; 2],
    out: &'v mut [i64],
    worst: f64,
    best: F,
}

impl<F: Fn(f64, f64) -> f64 + Copy> Kernel for BestFloat<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { worst, best, .. } = self;
        let [value, flags] = *self.state;
        let mut carried = if flags & SEEN_NUMBER == 0 { worst } else { float(value) };
        let mut has_number = flags & SEEN_NUMBER != 0;
        let mut rest = self.values;
        let mut start = 0;
        let mut out = self.out.iter_mut();
        for end in self.ends {
            let count = (*end - start) as usize;
            start = *end;
            let mut lanes = [worst; LANES];
            fold_lanes(&mut lanes, rest, count, worst, best);
            let [a, b, c, d, e, f, g, h] = lanes;
            let found = best(best(best(a, b), best(c, d)), best(best(e, f), best(g, h)));
            carried = best(carried, found);
            has_number |= carried != worst || rest.iter().take(count).any(|value| !value.is_nan());
            rest = rest.get(count..).unwrap_or_default();
            if let Some(out) = out.next() {
                *out = (if has_number { carried + 0.0 } else { f64::NAN }).to_bits() as i64;
                (carried, has_number) = (worst, false);
            }
        }
        let flags = if has_number { SEEN | SEEN_NUMBER } else { SEEN };
        *self.state = [carried.to_bits() as i64, flags];
    }
}

struct BestInt<'v, F> {
    values: &'v [i64],
    ends: &'v [u32],
    state: &'v mut [i64; 2],
    out: &'v mut [i64],
    worst: i64,
    best: F,
}

impl<F: Fn(i64, i64) -> i64> Kernel for BestInt<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let [value, flags] = *self.state;
        let mut carried = if flags & SEEN == 0 { self.worst } else { value };
        let mut rest = self.values;
        let mut start = 0;
        let mut out = self.out.iter_mut();
        for end in self.ends {
            let (run, behind) = rest.split_at_checked((*end - start) as usize).unwrap_or((rest, &[]));
            start = *end;
            rest = behind;
            carried = run.iter().fold(carried, |best, value| (self.best)(best, *value));
            if let Some(out) = out.next() {
                *out = carried;
                carried = self.worst;
            }
        }
        *self.state = [carried, SEEN];
    }
}

fn count_all(ends: &[u32], state: &mut [i64], finished: Finished<'_>) {
    let Some(count) = state.first_mut() else { return };
    let mut starts = std::iter::once(0).chain(ends.iter().copied());
    let mut lengths = ends.iter().zip(&mut starts).map(|(end, start)| i64::from(*end - start));
    for (out, length) in finished.low.iter_mut().zip(&mut lengths) {
        *out = *count + length;
        *count = 0;
    }
    *count += lengths.next().unwrap_or_default();
}

fn first(values: &[i64], ends: &[u32], state: &mut [i64], finished: Finished<'_>, null_bit: i64) {
    let value_at = |row: usize| values.get(row).copied().unwrap_or_default();
    let starts = std::iter::once(0).chain(ends.iter().map(|end| *end as usize));
    let carried = match state {
        [value, flags, ..] if *flags != 0 => Some((*value, *flags)),
        _ => None,
    };
    for (out, start) in finished.low.iter_mut().zip(starts) {
        *out = value_at(start);
    }
    if let (Some((value, flags)), Some(out)) = (carried, finished.low.first_mut()) {
        // The open group began in an earlier vector, which may have given it a null.
        *out = if flags == SEEN { value } else { 0 };
        if let (true, Some(nulls)) = (flags != SEEN, finished.nulls.first_mut()) {
            *nulls |= null_bit;
        }
    }
    if let ([value, flags, ..], true) = (state, carried.is_none() || ends.len() > 1) {
        let start = ends.iter().rev().nth(1).map_or(0, |end| *end as usize);
        (*value, *flags) = (value_at(start), SEEN);
    }
}

fn last(values: &[i64], ends: &[u32], state: &mut [i64], finished: Finished<'_>) {
    let value_before = |end: u32| values.get((end as usize).wrapping_sub(1)).copied().unwrap_or_default();
    for (out, end) in finished.low.iter_mut().zip(ends) {
        *out = value_before(*end);
    }
    if let ([value, flags, ..], Some(end)) = (state, ends.last()) {
        (*value, *flags) = (value_before(*end), SEEN);
    }
}

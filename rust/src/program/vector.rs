//! The instructions, each over one vector.

use crate::cursor::Cursor;
use crate::error::{KernelError, Result};
use crate::isa::{Isa, Kernel, dispatch};

use super::layout::{Arithmetic, Comparison, Instruction};
use super::registers::Register;

/// Where a vector lies.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// First row within the part.
    pub first_row: usize,
    /// Rows, at most 1,024.
    pub count: usize,
    /// Query code of the symbol.
    pub symbol: i64,
    /// Date in days.
    pub date: i64,
}

struct Unary<'v, A, O, F> {
    a: &'v [A],
    out: &'v mut [O],
    f: F,
}

impl<A: Copy, O, F: Fn(A) -> O> Kernel for Unary<'_, A, O, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (out, a) in self.out.iter_mut().zip(self.a) {
            *out = (self.f)(*a);
        }
    }
}

struct Binary<'v, A, O, F> {
    a: &'v [A],
    b: &'v [A],
    out: &'v mut [O],
    f: F,
}

impl<A: Copy, O, F: Fn(A, A) -> O> Kernel for Binary<'_, A, O, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for ((out, a), b) in self.out.iter_mut().zip(self.a).zip(self.b) {
            *out = (self.f)(*a, *b);
        }
    }
}

fn unary<A: Copy, O>(a: &[A], out: &mut [O], f: impl Fn(A) -> O) {
    dispatch(Unary { a, out, f });
}

fn binary<A: Copy, O>(a: &[A], b: &[A], out: &mut [O], f: impl Fn(A, A) -> O) {
    dispatch(Binary { a, b, out, f });
}

/// Run one instruction: `before` are the registers below its own, `own` is the one it writes.
pub fn run<'a>(
    instruction: Instruction,
    before: &[Register<'a>],
    own: &mut Register<'a>,
    cursors: &mut [Cursor<'a>],
    constants: &[i64],
    place: Place,
) -> Result<()> {
    let n = place.count;
    let at = |number: usize| before.get(number).ok_or_else(lost_register);
    match instruction {
        Instruction::LoadInt { column, ordered } => {
            let cursor = cursors.get_mut(column).ok_or_else(lost_register)?;
            let view = cursor.integers(place.first_row, ordered, own.ints_mut(n).0)?;
            let (words, validity) = own.ints_mut(n);
            own.has_nulls = cursor.validity(place.first_row, view.unwrap_or(words), validity);
            if let Some(view) = view {
                own.set_view(view);
            }
        }
        Instruction::LoadFloat { column } => {
            let cursor = cursors.get_mut(column).ok_or_else(lost_register)?;
            let view = cursor.floats(place.first_row, own.floats_mut(n).0)?;
            own.has_nulls = cursor.validity(place.first_row, &[], own.ints_mut(n).1);
            if let Some(view) = view {
                own.set_view(bytemuck::cast_slice(view));
            }
        }
        Instruction::LoadSymbol => own.ints_mut(n).0.fill(place.symbol),
        Instruction::LoadDate => own.ints_mut(n).0.fill(place.date),
        Instruction::Constant { .. } => {}
        Instruction::Int { op, a, b } => run_int(op, at(a)?, at(b)?, own, n),
        Instruction::Float { op, a, b } => {
            let (a, b) = (at(a)?, at(b)?);
            own.has_nulls = both_valid(a, b, own.floats_mut(n).1);
            let (x, y, out) = (a.floats(n), b.floats(n), own.floats_mut(n).0);
            match op {
                Arithmetic::Add => binary(x, y, out, |x, y| x + y),
                Arithmetic::Sub => binary(x, y, out, |x, y| x - y),
                Arithmetic::Mul => binary(x, y, out, |x, y| x * y),
                Arithmetic::Div | Arithmetic::Mod => binary(x, y, out, |x, y| x / y),
            }
        }
        Instruction::NegInt { a } => {
            let a = at(a)?;
            unary(a.ints(n), own.ints_mut(n).0, i64::wrapping_neg);
            same_validity(a, own, n);
        }
        Instruction::NegFloat { a } => {
            let a = at(a)?;
            unary(a.floats(n), own.floats_mut(n).0, |x| -x);
            same_validity(a, own, n);
        }
        Instruction::CompareInt { op, a, b } => {
            let (a, b) = (at(a)?, at(b)?);
            own.has_nulls = both_valid(a, b, own.bools_mut(n).1);
            compare_int(op, a.ints(n), b.ints(n), own.bools_mut(n).0);
        }
        Instruction::CompareFloat { op, a, b } => {
            let (a, b) = (at(a)?, at(b)?);
            own.has_nulls = both_valid(a, b, own.bools_mut(n).1);
            compare_float(op, a.floats(n), b.floats(n), own.bools_mut(n).0);
        }
        Instruction::Not { a } => {
            let a = at(a)?;
            unary(a.bools(n), own.bools_mut(n).0, |x| x ^ 1);
            same_validity(a, own, n);
        }
        Instruction::And { a, b } => logic(at(a)?, at(b)?, own, n, 0),
        Instruction::Or { a, b } => logic(at(a)?, at(b)?, own, n, 1),
        Instruction::IsNull { a, valid } => {
            own.has_nulls = false;
            let out = own.bools_mut(n).0;
            match at(a)?.validity(n) {
                None => out.fill(u8::from(valid)),
                Some(validity) if valid => out.copy_from_slice(validity),
                Some(validity) => unary(validity, out, |x| x ^ 1),
            }
        }
        Instruction::IsNan { a } => {
            let a = at(a)?;
            unary(a.floats(n), own.bools_mut(n).0, |x| u8::from(x.is_nan()));
            same_validity(a, own, n);
        }
        Instruction::IsIn { a, first, count } => {
            let a = at(a)?;
            let list = constants.get(first..first + count).unwrap_or_default();
            is_in(list, a.ints(n), own.bools_mut(n).0);
            same_validity(a, own, n);
        }
        Instruction::ToFloat { a } => {
            let a = at(a)?;
            unary(a.ints(n), own.floats_mut(n).0, to_float);
            same_validity(a, own, n);
        }
        Instruction::ToInt { a } => {
            let a = at(a)?;
            unary(a.bools(n), own.ints_mut(n).0, i64::from);
            same_validity(a, own, n);
        }
        Instruction::Bucket { a, width, offset } => {
            let a = at(a)?;
            let mut bucket = Bucket::EMPTY;
            for (out, value) in own.ints_mut(n).0.iter_mut().zip(a.ints(n)) {
                if !bucket.holds(*value) {
                    bucket = Bucket::of(*value, width, offset);
                }
                *out = bucket.start;
            }
            same_validity(a, own, n);
        }
    }
    Ok(())
}

/// Only a bug of ours leads here: every number was checked before.
pub fn lost_register() -> KernelError {
    KernelError::InvalidArgument("a validated program names a register or column that isn't there".to_owned())
}

/// A bucket: its label, and the values that it holds, ends included.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    /// Label, wrapped around at the ends of int64.
    pub start: i64,
    /// Smallest value in it.
    pub low: i64,
    /// Largest value in it.
    pub high: i64,
}

impl Bucket {
    /// A bucket that holds nothing.
    pub const EMPTY: Self = Self { start: 0, low: i64::MAX, high: i64::MIN };

    /// The bucket of a value; `width` is 1 to 2^62.
    pub fn of(value: i64, width: i64, offset: i64) -> Self {
        let past = (value % width - offset % width).rem_euclid(width);
        Self {
            start: value.wrapping_sub(past),
            low: value.saturating_sub(past),
            high: value.saturating_add(width - 1 - past),
        }
    }

    /// Whether the value lies in the bucket.
    #[inline(always)]
    pub fn holds(&self, value: i64) -> bool {
        value >= self.low && value <= self.high
    }

    /// The bucket of a value that is likely in the one after this.
    #[inline(always)]
    pub fn next(&self, value: i64, width: i64, offset: i64) -> Self {
        match (self.high.checked_add(1), self.high.checked_add(width)) {
            (Some(low), Some(high)) if self.low <= self.high && value >= low && value <= high => {
                Self { start: low, low, high }
            }
            _ => Self::of(value, width, offset),
        }
    }
}

/// Exactly `value as f64`, in steps that vectorise: both halves as doubles of known exponent, one rounding.
#[inline(always)]
fn to_float(value: i64) -> f64 {
    const LOW: u64 = 0x4330_0000_0000_0000; // 2^52
    const HIGH: u64 = 0x4530_0000_8000_0000; // 2^84 + 2^63
    const BOTH: f64 = f64::from_bits(0x4530_0000_8010_0000); // 2^84 + 2^63 + 2^52
    let bits = value as u64;
    let high = f64::from_bits(bits >> 32 ^ HIGH) - BOTH;
    high + f64::from_bits(bits & 0xffff_ffff | LOW)
}

/// Fill `out` with the rows where both are valid; false where no row is null.
fn both_valid(a: &Register<'_>, b: &Register<'_>, out: &mut [u8]) -> bool {
    let n = out.len();
    match (a.validity(n), b.validity(n)) {
        (None, None) => return false,
        (Some(one), None) | (None, Some(one)) => out.copy_from_slice(one),
        (Some(a), Some(b)) => binary(a, b, out, |x, y| x & y),
    }
    true
}

fn same_validity(a: &Register<'_>, own: &mut Register<'_>, n: usize) {
    own.has_nulls = a.has_nulls;
    if let Some(validity) = a.validity(n) {
        own.validity_mut(n).copy_from_slice(validity);
    }
}

fn run_int(op: Arithmetic, a: &Register<'_>, b: &Register<'_>, own: &mut Register<'_>, n: usize) {
    own.has_nulls = both_valid(a, b, own.ints_mut(n).1);
    let (x, y) = (a.ints(n), b.ints(n));
    let has_nulls = own.has_nulls;
    let (out, validity) = own.ints_mut(n);
    match op {
        Arithmetic::Add => binary(x, y, out, i64::wrapping_add),
        Arithmetic::Sub => binary(x, y, out, i64::wrapping_sub),
        Arithmetic::Mul => binary(x, y, out, i64::wrapping_mul),
        Arithmetic::Div => binary(x, y, out, floor_div),
        Arithmetic::Mod => binary(x, y, out, floor_mod),
    }
    if matches!(op, Arithmetic::Div | Arithmetic::Mod) && y.contains(&0) {
        if !has_nulls {
            validity.fill(1);
        }
        for (valid, divisor) in validity.iter_mut().zip(y) {
            *valid &= u8::from(*divisor != 0);
        }
        own.has_nulls = true;
    }
}

fn floor_div(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

fn floor_mod(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let rest = a.wrapping_rem(b);
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}

fn compare_int(op: Comparison, x: &[i64], y: &[i64], out: &mut [u8]) {
    match op {
        Comparison::Eq => binary(x, y, out, |x, y| u8::from(x == y)),
        Comparison::Ne => binary(x, y, out, |x, y| u8::from(x != y)),
        Comparison::Lt => binary(x, y, out, |x, y| u8::from(x < y)),
        Comparison::Le => binary(x, y, out, |x, y| u8::from(x <= y)),
        Comparison::Gt => binary(x, y, out, |x, y| u8::from(x > y)),
        Comparison::Ge => binary(x, y, out, |x, y| u8::from(x >= y)),
    }
}

/// Whether x is y or above it, NaN above all.
#[inline(always)]
fn at_least(x: f64, y: f64) -> u8 {
    u8::from((x >= y) | x.is_nan())
}

#[inline(always)]
fn same(x: f64, y: f64) -> u8 {
    u8::from((x == y) | (x.is_nan() & y.is_nan()))
}

fn compare_float(op: Comparison, x: &[f64], y: &[f64], out: &mut [u8]) {
    match op {
        Comparison::Eq => binary(x, y, out, same),
        Comparison::Ne => binary(x, y, out, |x, y| same(x, y) ^ 1),
        Comparison::Lt => binary(x, y, out, |x, y| at_least(x, y) ^ 1),
        Comparison::Le => binary(x, y, out, |x, y| at_least(y, x)),
        Comparison::Gt => binary(x, y, out, |x, y| at_least(y, x) ^ 1),
        Comparison::Ge => binary(x, y, out, at_least),
    }
}

/// And (`decides` 0) or or (`decides` 1) of three values: a side that decides does so beside a null, too.
fn logic(a: &Register<'_>, b: &Register<'_>, own: &mut Register<'_>, n: usize, decides: u8) {
    let (x, y) = (a.bools(n), b.bools(n));
    own.has_nulls = both_valid(a, b, own.bools_mut(n).1);
    let out = own.bools_mut(n).0;
    if decides == 0 {
        binary(x, y, out, |x, y| x & y);
    } else {
        binary(x, y, out, |x, y| x | y);
    }
    if !own.has_nulls {
        return;
    }
    let (out, validity) = own.bools_mut(n);
    for (row, (out, valid)) in out.iter_mut().zip(validity).enumerate() {
        let side = |values: &[u8], register: &Register<'_>| {
            register.is_valid(row) && values.get(row).is_some_and(|value| *value == decides)
        };
        if side(x, a) || side(y, b) {
            *out = decides;
            *valid = 1;
        }
    }
}

fn is_in(list: &[i64], values: &[i64], out: &mut [u8]) {
    if list.len() <= 8 {
        out.fill(0);
        for item in list {
            for (out, value) in out.iter_mut().zip(values) {
                *out |= u8::from(value == item);
            }
        }
    } else {
        for (out, value) in out.iter_mut().zip(values) {
            *out = u8::from(list.binary_search(value).is_ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_float_rounds_as_the_cast_does() {
        let mut value: i64 = 1;
        for step in 0..4_000_i64 {
            for near in -2..=2 {
                let value = value.wrapping_add(near);
                assert_eq!(to_float(value).to_bits(), (value as f64).to_bits(), "{value}");
            }
            value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step) >> (step % 40);
        }
        for value in [i64::MIN, i64::MAX, 0, -1, (1 << 53) + 1, -(1 << 53) - 1] {
            assert_eq!(to_float(value).to_bits(), (value as f64).to_bits());
        }
    }

    #[test]
    fn bucket_holds_exactly_its_width_of_values_even_at_the_ends_of_int64() {
        for value in [i64::MIN, i64::MIN + 1, -61, -60, -1, 0, 59, 60, i64::MAX] {
            let bucket = Bucket::of(value, 60, 7);
            assert!(bucket.holds(value));
            let start = value as i128 - (value as i128 - 7).rem_euclid(60);
            assert_eq!(bucket.start, start as i64);
            assert_eq!(bucket.low as i128, start.max(i64::MIN as i128));
            assert_eq!(bucket.high as i128, (start + 59).min(i64::MAX as i128));
        }
    }

    #[test]
    fn floor_division_follows_the_floor_for_every_sign() {
        for (a, b, quotient, rest) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -2, -3, 0)]
        {
            assert_eq!((floor_div(a, b), floor_mod(a, b)), (quotient, rest));
        }
    }
}

//! Groups to 64-bit registers.

use super::layout::{Group, Kind, Layout, Mode, is_narrow};
use super::unpack::{extract, unpack_32, unpack_64};
use crate::column::{Element, VECTOR_ROWS};
use crate::decimal::{Scale, whole_to_float};
use crate::error::Result;
use crate::isa::{Baseline, Isa, Kernel, dispatch};
use crate::plain;

/// Numbers that a sum of deltas takes at a time.
const STEP: usize = 4;

/// Work memory of a decoder: one group of packed numbers and one of whole numbers.
#[derive(Debug)]
pub struct Scratch {
    words_32: [u32; VECTOR_ROWS],
    words_64: [u64; VECTOR_ROWS],
    wholes: [i64; VECTOR_ROWS],
}

impl Scratch {
    /// Make work memory.
    pub fn new() -> Box<Self> {
        Box::new(Self { words_32: [0; VECTOR_ROWS], words_64: [0; VECTOR_ROWS], wholes: [0; VECTOR_ROWS] })
    }
}

/// Packed numbers of a group: narrow ones where the width allows.
enum Packed<'v> {
    Narrow(&'v [u32; VECTOR_ROWS]),
    Wide(&'v [u64; VECTOR_ROWS]),
}

fn unpack<'v>(
    group: &Group<'_>,
    words_32: &'v mut [u32; VECTOR_ROWS],
    words_64: &'v mut [u64; VECTOR_ROWS],
) -> Packed<'v> {
    if group.width <= 32 {
        unpack_32(group.width, group.packed, words_32);
        Packed::Narrow(words_32)
    } else {
        unpack_64(group.width, group.packed, words_64);
        Packed::Wide(words_64)
    }
}

/// Fill `out`, one register a value of the group, with integers; u64 by bit pattern.
pub fn integers(
    layout: &Layout,
    block: &[u8],
    element: Element,
    group: usize,
    scratch: &mut Scratch,
    out: &mut [i64],
) -> Result<()> {
    let group = layout.group(block, element, group)?;
    let packed = unpack(&group, &mut scratch.words_32, &mut scratch.words_64);
    match packed {
        Packed::Narrow(packed) if is_narrow(element) => narrow(layout.mode, element, &group, packed, out),
        Packed::Narrow(packed) => wide(layout.mode, &group, packed, out),
        Packed::Wide(packed) => wide(layout.mode, &group, packed, out),
    }
    Ok(())
}

/// Fill `out`, one register a value of the group, with floats.
pub fn floats(
    layout: &Layout,
    block: &[u8],
    element: Element,
    group_number: usize,
    scratch: &mut Scratch,
    out: &mut [f64],
) -> Result<()> {
    let group = layout.group(block, element, group_number)?;
    let scale = Scale::of_exponent(layout.exponent);
    let packed = unpack(&group, &mut scratch.words_32, &mut scratch.words_64);
    match (layout.mode, packed) {
        (Mode::Frame, Packed::Narrow(packed)) => {
            dispatch(FrameFloats { base: group.base, scale, packed, out: &mut *out });
        }
        (mode, packed) => {
            match packed {
                Packed::Narrow(packed) => wide(mode, &group, packed, &mut scratch.wholes),
                Packed::Wide(packed) => wide(mode, &group, packed, &mut scratch.wholes),
            }
            dispatch(WholeFloats { scale, wholes: &scratch.wholes, out: &mut *out });
        }
    }
    if element == Element::F32 {
        out.iter_mut().for_each(|value| *value = f64::from(*value as f32));
    }
    if layout.exceptions > 0 && layout.kind == Kind::Decimals {
        for (place, bits) in layout.exceptions(block, element, group_number) {
            if let Some(value) = out.get_mut(place) {
                *value = float_of_bits(bits);
            }
        }
    }
    Ok(())
}

/// Write one value of a block of frames as a plain value, without decoding its group.
pub fn one_value(
    layout: &Layout,
    block: &[u8],
    element: Element,
    group_number: usize,
    place: usize,
    plain: &mut [u8],
) -> Result<()> {
    let group = layout.group(block, element, group_number)?;
    let whole = group.base.wrapping_add(extract(group.width, group.packed, place) as i64);
    if matches!(element, Element::F32 | Element::F64) {
        let value = Scale::of_exponent(layout.exponent).divide::<Baseline>(whole_to_float(whole));
        plain::write_floats(element, &[value], plain);
        restore_exceptions(layout, block, element, group_number, place, plain);
    } else {
        plain::write_integers(element, &[whole], plain);
    }
    Ok(())
}

/// Put the raw bits of exceptions into plain values, which start at place `start` of the group; a register of
/// 64 bits does not keep the payload of a narrower NaN.
pub fn restore_exceptions(
    layout: &Layout,
    block: &[u8],
    element: Element,
    group: usize,
    start: usize,
    plain: &mut [u8],
) {
    if layout.exceptions == 0 {
        return;
    }
    let width = element.width();
    for (place, bits) in layout.exceptions(block, element, group) {
        let at = place.wrapping_sub(start).wrapping_mul(width);
        if let Some(value) = at.checked_add(width).and_then(|stop| plain.get_mut(at..stop)) {
            value.copy_from_slice(bits);
        }
    }
}

fn float_of_bits(bits: &[u8]) -> f64 {
    match *bits {
        [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => f64::NAN,
    }
}

/// A packed number of 32 or 64 bits.
trait Word: Copy {
    fn number(self) -> i64;
}

impl Word for u32 {
    #[inline(always)]
    fn number(self) -> i64 {
        i64::from(self)
    }
}

impl Word for u64 {
    #[inline(always)]
    fn number(self) -> i64 {
        self as i64
    }
}

fn wide<W: Word>(mode: Mode, group: &Group<'_>, packed: &[W; VECTOR_ROWS], out: &mut [i64]) {
    match mode {
        Mode::Frame => dispatch(Frame { base: group.base, packed, out }),
        Mode::Delta => dispatch(Delta { base: group.base, first: group.first, packed, out }),
    }
}

/// base + packed.
struct Frame<'v, W> {
    base: i64,
    packed: &'v [W; VECTOR_ROWS],
    out: &'v mut [i64],
}

impl<W: Word> Kernel for Frame<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (value, packed) in self.out.iter_mut().zip(self.packed) {
            *value = self.base.wrapping_add(packed.number());
        }
    }
}

/// first + the sum of base + packed so far; the first packed number is 0 and its base taken back beforehand.
struct Delta<'v, W> {
    base: i64,
    first: i64,
    packed: &'v [W; VECTOR_ROWS],
    out: &'v mut [i64],
}

impl<W: Word> Kernel for Delta<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut last = self.first.wrapping_sub(self.base);
        let (rows, rest) = self.out.as_chunks_mut::<STEP>();
        let (packed_rows, packed_rest) = self.packed.as_chunks::<STEP>();
        for (row, packed) in rows.iter_mut().zip(packed_rows) {
            let sums = prefix_sums(packed.map(|word| self.base.wrapping_add(word.number())));
            *row = sums.map(|sum| last.wrapping_add(sum));
            [.., last] = *row;
        }
        let packed = packed_rows.get(rows.len()).map_or(packed_rest, |row| row.as_slice());
        for (value, packed) in rest.iter_mut().zip(packed) {
            last = last.wrapping_add(self.base.wrapping_add(packed.number()));
            *value = last;
        }
    }
}

/// Sums up to each of some numbers, so that one addition a step waits for the step before.
#[inline(always)]
fn prefix_sums(numbers: [i64; STEP]) -> [i64; STEP] {
    let [a, b, c, d] = numbers;
    let (ab, cd) = (a.wrapping_add(b), c.wrapping_add(d));
    [a, ab, ab.wrapping_add(c), ab.wrapping_add(cd)]
}

fn narrow(mode: Mode, element: Element, group: &Group<'_>, packed: &[u32; VECTOR_ROWS], out: &mut [i64]) {
    match element {
        Element::U8 => narrow_as(mode, group, packed, out, |word| i64::from(word as u8)),
        Element::I8 => narrow_as(mode, group, packed, out, |word| i64::from(word as i8)),
        Element::U16 => narrow_as(mode, group, packed, out, |word| i64::from(word as u16)),
        Element::I16 => narrow_as(mode, group, packed, out, |word| i64::from(word as i16)),
        Element::I32 => narrow_as(mode, group, packed, out, |word| i64::from(word as i32)),
        _ => narrow_as(mode, group, packed, out, i64::from),
    }
}

fn narrow_as(
    mode: Mode,
    group: &Group<'_>,
    packed: &[u32; VECTOR_ROWS],
    out: &mut [i64],
    convert: impl Fn(u32) -> i64,
) {
    let (base, first) = (group.base as u32, group.first as u32);
    match mode {
        Mode::Frame => dispatch(NarrowFrame { base, packed, out, convert }),
        Mode::Delta => dispatch(NarrowDelta { base, first, packed, out, convert }),
    }
}

/// base + packed in 32 bits, then as wide as a register.
struct NarrowFrame<'v, F> {
    base: u32,
    packed: &'v [u32; VECTOR_ROWS],
    out: &'v mut [i64],
    convert: F,
}

impl<F: Fn(u32) -> i64> Kernel for NarrowFrame<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (value, packed) in self.out.iter_mut().zip(self.packed) {
            *value = (self.convert)(self.base.wrapping_add(*packed));
        }
    }
}

/// The sum of base + packed in 32 bits, then as wide as a register.
struct NarrowDelta<'v, F> {
    base: u32,
    first: u32,
    packed: &'v [u32; VECTOR_ROWS],
    out: &'v mut [i64],
    convert: F,
}

impl<F: Fn(u32) -> i64> Kernel for NarrowDelta<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut last = self.first.wrapping_sub(self.base);
        for (value, packed) in self.out.iter_mut().zip(self.packed) {
            last = last.wrapping_add(self.base.wrapping_add(*packed));
            *value = (self.convert)(last);
        }
    }
}

/// (base + packed) / scale.
struct FrameFloats<'v> {
    base: i64,
    scale: Scale,
    packed: &'v [u32; VECTOR_ROWS],
    out: &'v mut [f64],
}

impl Kernel for FrameFloats<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (value, packed) in self.out.iter_mut().zip(self.packed) {
            let whole = self.base.wrapping_add(i64::from(*packed));
            *value = self.scale.divide::<I>(whole_to_float(whole));
        }
    }
}

/// whole / scale.
struct WholeFloats<'v> {
    scale: Scale,
    wholes: &'v [i64; VECTOR_ROWS],
    out: &'v mut [f64],
}

impl Kernel for WholeFloats<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (value, whole) in self.out.iter_mut().zip(self.wholes) {
            *value = self.scale.divide::<I>(whole_to_float(*whole));
        }
    }
}

//! Groups to 64-bit registers and to plain values.

use super::layout::{Group, Kind, Layout, Mode, Patches};
use super::ranks::write_bytes;
use super::unpack::{extract, unpack_32, unpack_64};
use crate::column::{Element, VECTOR_ROWS};
use crate::decimal::{Scale, whole_to_float};
use crate::error::Result;
use crate::isa::{Baseline, Isa, Kernel, dispatch};
use crate::plain;

/// Numbers that a sum of deltas takes at a time.
const STEP: usize = 4;

/// Work memory of a decoder: groups of packed and of whole numbers.
#[derive(Debug)]
pub struct Scratch {
    words_32: [u32; VECTOR_ROWS],
    words_64: [u64; VECTOR_ROWS],
    wholes: [i64; VECTOR_ROWS],
    spread: [i64; VECTOR_ROWS],
}

impl Scratch {
    /// Make work memory.
    pub fn new() -> Box<Self> {
        Box::new(Self {
            words_32: [0; VECTOR_ROWS],
            words_64: [0; VECTOR_ROWS],
            wholes: [0; VECTOR_ROWS],
            spread: [0; VECTOR_ROWS],
        })
    }
}

/// Packed numbers of a group: narrow ones where the width allows.
enum Packed<'v> {
    Narrow(&'v [u32; VECTOR_ROWS]),
    Wide(&'v [u64; VECTOR_ROWS]),
}

/// Unpack the numbers of a group and put the patches in.
fn unpack<'v>(
    group: &Group<'_>,
    narrow: bool,
    words_32: &'v mut [u32; VECTOR_ROWS],
    words_64: &'v mut [u64; VECTOR_ROWS],
) -> Packed<'v> {
    let patches = group.patches;
    if group.width > 32 {
        unpack_64(group.width, group.packed, words_64);
        patches.apply(|place, bits| or_64(words_64, place, bits, group.width));
        return Packed::Wide(words_64);
    }
    unpack_32(group.width, group.packed, words_32);
    if narrow || group.width + 8 * patches.bytes <= 32 {
        patches.apply(|place, bits| or_32(words_32, place, bits, group.width));
        return Packed::Narrow(words_32);
    }
    dispatch(Widen { words_32, words_64: &mut *words_64 });
    patches.apply(|place, bits| or_64(words_64, place, bits, group.width));
    Packed::Wide(words_64)
}

/// Places are cut to the group instead of checked: those of damaged bytes give wrong numbers, and no check a patch.
#[inline(always)]
fn or_32(words: &mut [u32; VECTOR_ROWS], place: usize, bits: u64, width: usize) {
    if let Some(word) = words.get_mut(place % VECTOR_ROWS) {
        *word |= (bits as u32).checked_shl(width as u32).unwrap_or(0);
    }
}

#[inline(always)]
fn or_64(words: &mut [u64; VECTOR_ROWS], place: usize, bits: u64, width: usize) {
    if let Some(word) = words.get_mut(place % VECTOR_ROWS) {
        *word |= bits.checked_shl(width as u32).unwrap_or(0);
    }
}

impl Patches<'_> {
    #[inline(always)]
    fn apply(&self, put: impl FnMut(usize, u64)) {
        match self.bytes {
            0 => {}
            1 => self.apply_sized(put, |[a]: [u8; 1]| u64::from(a)),
            2 => self.apply_sized(put, |bits| u64::from(u16::from_le_bytes(bits))),
            3 => self.apply_sized(put, |[a, b, c]: [u8; 3]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
            4 => self.apply_sized(put, |bits| u64::from(u32::from_le_bytes(bits))),
            5 => {
                self.apply_sized(put, |[a, b, c, d, e]: [u8; 5]| u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]))
            }
            6 => self
                .apply_sized(put, |[a, b, c, d, e, f]: [u8; 6]| u64::from_le_bytes([a, b, c, d, e, f, 0, 0])),
            7 => self.apply_sized(put, |[a, b, c, d, e, f, g]: [u8; 7]| {
                u64::from_le_bytes([a, b, c, d, e, f, g, 0])
            }),
            _ => self.apply_sized(put, u64::from_le_bytes),
        }
    }

    #[inline(always)]
    fn apply_sized<const N: usize>(&self, mut put: impl FnMut(usize, u64), read: impl Fn([u8; N]) -> u64) {
        for (place, bits) in self.places.iter().zip(self.bits.as_chunks::<N>().0) {
            put(usize::from(u16::from_le_bytes(*place)), read(*bits));
        }
    }

    /// The bits of one place; 0 where it has no patch.
    fn at(&self, place: usize) -> u64 {
        let found = self.places.binary_search_by_key(&place, |found| usize::from(u16::from_le_bytes(*found)));
        let bits = found.ok().and_then(|number| self.bits.chunks_exact(self.bytes.max(1)).nth(number));
        let mut word = [0; 8];
        word.iter_mut().zip(bits.unwrap_or_default()).for_each(|(byte, bits)| *byte = *bits);
        u64::from_le_bytes(word)
    }
}

/// Narrow numbers as wide ones.
struct Widen<'v> {
    words_32: &'v [u32; VECTOR_ROWS],
    words_64: &'v mut [u64; VECTOR_ROWS],
}

impl Kernel for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (wide, narrow) in self.words_64.iter_mut().zip(self.words_32) {
            *wide = u64::from(*narrow);
        }
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
    let numbers = Numbers { layout, block, element, group, scratch };
    match element {
        Element::U8 => numbers.narrow(out, |word| i64::from(word as u8)),
        Element::I8 => numbers.narrow(out, |word| i64::from(word as i8)),
        Element::U16 => numbers.narrow(out, |word| i64::from(word as u16)),
        Element::I16 => numbers.narrow(out, |word| i64::from(word as i16)),
        Element::I32 => numbers.narrow(out, |word| i64::from(word as i32)),
        Element::U32 => numbers.narrow(out, i64::from),
        _ => numbers.wide(out, |whole| whole),
    }
}

/// Fill `out`, one register a value of the group, with floats.
pub fn floats(
    layout: &Layout,
    block: &[u8],
    element: Element,
    group: usize,
    scratch: &mut Scratch,
    out: &mut [f64],
) -> Result<()> {
    let numbers = Numbers { layout, block, element, group, scratch };
    if element == Element::F32 {
        numbers.floats(out, |value| f64::from(value as f32))?;
    } else {
        numbers.floats(out, |value| value)?;
    }
    if layout.exceptions > 0 && layout.kind == Kind::Decimals {
        for (place, bits) in layout.exceptions(block, element, group) {
            if let Some(value) = out.get_mut(place) {
                *value = float_of_bits(bits);
            }
        }
    }
    Ok(())
}

/// Fill `out` with the plain values of a group.
pub fn plain_values(
    layout: &Layout,
    block: &[u8],
    element: Element,
    group: usize,
    scratch: &mut Scratch,
    out: &mut [u8],
) -> Result<()> {
    let numbers = Numbers { layout, block, element, group, scratch };
    match element {
        Element::F32 => {
            numbers.floats(out.as_chunks_mut().0, |value| (value as f32).to_le_bytes())?;
            restore_exceptions(layout, block, element, group, 0, out);
            Ok(())
        }
        Element::F64 => {
            numbers.floats(out.as_chunks_mut().0, f64::to_le_bytes)?;
            restore_exceptions(layout, block, element, group, 0, out);
            Ok(())
        }
        _ if layout.kind == Kind::Ranks => {
            let mut codes = [0_u8; VECTOR_ROWS];
            let codes = codes.get_mut(..out.len()).unwrap_or_default();
            numbers.words(codes, |word| word as u8)?;
            write_bytes(&layout.ranks(block), layout.rank_count(), codes, out);
            Ok(())
        }
        _ => match element.width() {
            1 => numbers.narrow(out, |word| word as u8),
            2 => numbers.narrow(out.as_chunks_mut().0, |word| (word as u16).to_le_bytes()),
            4 => numbers.narrow(out.as_chunks_mut().0, u32::to_le_bytes),
            _ => numbers.wide(out.as_chunks_mut().0, i64::to_le_bytes),
        },
    }
}

/// Write one value as a plain value without decoding its group; false where that can't be done.
pub fn one_value(
    layout: &Layout,
    block: &[u8],
    element: Element,
    group_number: usize,
    place: usize,
    plain: &mut [u8],
) -> Result<bool> {
    let group = layout.group(block, element, group_number)?;
    if group.mode == Mode::Delta || group.present.is_some() {
        return Ok(false);
    }
    let high = group.patches.at(place).checked_shl(group.width as u32).unwrap_or(0);
    let number = extract(group.width, group.packed, place) | high;
    let whole = group.base.wrapping_add(number.wrapping_mul(group.divisor) as i64);
    if matches!(element, Element::F32 | Element::F64) {
        let value = Scale::of_exponent(layout.exponent).divide::<Baseline>(whole_to_float(whole));
        plain::write_floats(element, &[value], plain);
        restore_exceptions(layout, block, element, group_number, place, plain);
    } else if layout.kind == Kind::Ranks {
        let rank = layout.ranks(block).get(usize::from(whole as u8)).copied();
        plain.copy_from_slice(rank.as_slice());
    } else {
        plain::write_integers(element, &[whole], plain);
    }
    Ok(true)
}

/// The numbers of a group, on their way to registers or plain values.
struct Numbers<'n> {
    layout: &'n Layout,
    block: &'n [u8],
    element: Element,
    group: usize,
    scratch: &'n mut Scratch,
}

impl Numbers<'_> {
    /// Give integers of at most 32 bits, by the words whose low bits they are.
    #[inline(always)]
    fn narrow<O: Copy>(self, out: &mut [O], convert: impl Fn(u32) -> O) -> Result<()> {
        if self.layout.kind == Kind::Ranks {
            let ranks = self.layout.ranks(self.block);
            let byte = |word: u32| ranks.get(usize::from(word as u8)).copied().unwrap_or(0);
            return self.words(out, |word| convert(u32::from(byte(word))));
        }
        self.words(out, convert)
    }

    #[inline(always)]
    fn words<O: Copy>(self, out: &mut [O], convert: impl Fn(u32) -> O) -> Result<()> {
        let Self { layout, block, element, group, scratch } = self;
        let group = layout.group(block, element, group)?;
        if group.width == 0
            && group.patches.bytes == 0
            && group.mode == Mode::Frame
            && group.present.is_none()
        {
            out.fill(convert(group.base as u32));
            return Ok(());
        }
        let Packed::Narrow(packed) = unpack(&group, true, &mut scratch.words_32, &mut scratch.words_64)
        else {
            return Ok(()); // widths above 32 were refused
        };
        if group.present.is_some() {
            narrow(&group, packed, &mut scratch.wholes, |word| i64::from(word as i32));
            let wholes = spread(&group, &scratch.wholes, &mut scratch.spread);
            dispatch(Convert { wholes, out, convert: |whole| convert(whole as u32) });
        } else {
            narrow(&group, packed, out, convert);
        }
        Ok(())
    }

    /// Give integers of 64 bits.
    #[inline(always)]
    fn wide<O: Copy>(self, out: &mut [O], convert: impl Fn(i64) -> O) -> Result<()> {
        let Self { layout, block, element, group, scratch } = self;
        let group = layout.group(block, element, group)?;
        if group.width == 0
            && group.patches.bytes == 0
            && group.mode == Mode::Frame
            && group.present.is_none()
        {
            out.fill(convert(group.base));
            return Ok(());
        }
        let packed = unpack(&group, false, &mut scratch.words_32, &mut scratch.words_64);
        if group.present.is_some() {
            wholes(&group, &packed, &mut scratch.wholes, |whole| whole);
            let wholes = spread(&group, &scratch.wholes, &mut scratch.spread);
            dispatch(Convert { wholes, out, convert });
        } else {
            wholes(&group, &packed, out, convert);
        }
        Ok(())
    }

    /// Give decimals, exceptions left out.
    #[inline(always)]
    fn floats<O: Copy>(self, out: &mut [O], convert: impl Fn(f64) -> O) -> Result<()> {
        let Self { layout, block, element, group, scratch } = self;
        let group = layout.group(block, element, group)?;
        let scale = Scale::of_exponent(layout.exponent);
        let packed = unpack(&group, false, &mut scratch.words_32, &mut scratch.words_64);
        if let (Mode::Frame, None, Packed::Narrow(packed)) = (group.mode, group.present, &packed) {
            let (base, divisor) = (group.base, group.divisor);
            match u32::try_from(divisor) {
                Ok(1) => {
                    dispatch(FrameFloats::<_, _, false> { base, divisor: 1, scale, packed, out, convert })
                }
                Ok(divisor) => {
                    dispatch(FrameFloats::<_, _, true> { base, divisor, scale, packed, out, convert });
                }
                Err(_) => {
                    wholes(&group, &Packed::Narrow(packed), &mut scratch.wholes, |whole| whole);
                    dispatch(WholeFloats { scale, wholes: &scratch.wholes, out, convert });
                }
            }
            return Ok(());
        }
        wholes(&group, &packed, &mut scratch.wholes, |whole| whole);
        let wholes = match group.present {
            Some(_) => spread(&group, &scratch.wholes, &mut scratch.spread),
            None => &scratch.wholes,
        };
        dispatch(WholeFloats { scale, wholes, out, convert });
        Ok(())
    }
}

/// Put packed values where they belong, the common value between them.
fn spread<'s>(
    group: &Group<'_>,
    packed: &[i64; VECTOR_ROWS],
    out: &'s mut [i64; VECTOR_ROWS],
) -> &'s [i64; VECTOR_ROWS] {
    dispatch(Spread {
        present: group.present.unwrap_or_default(),
        packed,
        common: group.common,
        out: &mut *out,
    });
    out
}

struct Spread<'v> {
    present: &'v [u8],
    packed: &'v [i64; VECTOR_ROWS],
    common: i64,
    out: &'v mut [i64; VECTOR_ROWS],
}

impl Kernel for Spread<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut next = 0;
        for (values, bits) in self.out.as_chunks_mut::<8>().0.iter_mut().zip(self.present) {
            for (bit, value) in values.iter_mut().enumerate() {
                let is_present = bits >> bit & 1 == 1;
                let packed = self.packed.get(next % VECTOR_ROWS).copied().unwrap_or(0);
                *value = if is_present { packed } else { self.common };
                next += usize::from(is_present);
            }
        }
    }
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

/// Give whole numbers of 64 bits: base + divisor * packed, summed with deltas.
#[inline(always)]
fn wholes<O: Copy>(group: &Group<'_>, packed: &Packed<'_>, out: &mut [O], convert: impl Fn(i64) -> O) {
    match *packed {
        Packed::Narrow(packed) => match u32::try_from(group.divisor) {
            Ok(1) => wide(group, packed, out, i64::from, convert),
            // A product of two numbers of 32 bits is one instruction, of 64 bits many.
            Ok(divisor) => {
                wide(group, packed, out, move |word| (u64::from(word) * u64::from(divisor)) as i64, convert);
            }
            Err(_) => {
                let divisor = group.divisor;
                wide(group, packed, out, move |word| u64::from(word).wrapping_mul(divisor) as i64, convert);
            }
        },
        Packed::Wide(packed) if group.divisor == 1 => wide(group, packed, out, |word| word as i64, convert),
        Packed::Wide(packed) => {
            let divisor = group.divisor;
            wide(group, packed, out, move |word| word.wrapping_mul(divisor) as i64, convert);
        }
    }
}

#[inline(always)]
fn wide<W: Copy, O: Copy>(
    group: &Group<'_>,
    packed: &[W; VECTOR_ROWS],
    out: &mut [O],
    number: impl Fn(W) -> i64,
    convert: impl Fn(i64) -> O,
) {
    let (base, first) = (group.base, group.first);
    match group.mode {
        Mode::Frame => dispatch(Frame { base, packed, out, number, convert }),
        Mode::Delta => dispatch(Delta { base, first, packed, out, number, convert }),
    }
}

/// base + packed.
struct Frame<'v, W, O, N, F> {
    base: i64,
    packed: &'v [W; VECTOR_ROWS],
    out: &'v mut [O],
    number: N,
    convert: F,
}

impl<W: Copy, O, N: Fn(W) -> i64, F: Fn(i64) -> O> Kernel for Frame<'_, W, O, N, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (value, packed) in self.out.iter_mut().zip(self.packed) {
            *value = (self.convert)(self.base.wrapping_add((self.number)(*packed)));
        }
    }
}

/// first + the sum of base + packed so far; the first packed number is 0 and its base taken back beforehand.
struct Delta<'v, W, O, N, F> {
    base: i64,
    first: i64,
    packed: &'v [W; VECTOR_ROWS],
    out: &'v mut [O],
    number: N,
    convert: F,
}

impl<W: Copy, O, N: Fn(W) -> i64, F: Fn(i64) -> O> Kernel for Delta<'_, W, O, N, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut last = self.first.wrapping_sub(self.base);
        let (rows, rest) = self.out.as_chunks_mut::<STEP>();
        let (packed_rows, packed_rest) = self.packed.as_chunks::<STEP>();
        for (row, packed) in rows.iter_mut().zip(packed_rows) {
            let sums = prefix_sums(packed.map(|word| self.base.wrapping_add((self.number)(word))));
            let values = sums.map(|sum| last.wrapping_add(sum));
            [.., last] = values;
            *row = values.map(&self.convert);
        }
        let packed = packed_rows.get(rows.len()).map_or(packed_rest, |row| row.as_slice());
        for (value, packed) in rest.iter_mut().zip(packed) {
            last = last.wrapping_add(self.base.wrapping_add((self.number)(*packed)));
            *value = (self.convert)(last);
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

/// The same in 32 bits.
#[inline(always)]
fn prefix_sums_32(numbers: [u32; STEP]) -> [u32; STEP] {
    let [a, b, c, d] = numbers;
    let (ab, cd) = (a.wrapping_add(b), c.wrapping_add(d));
    [a, ab, ab.wrapping_add(c), ab.wrapping_add(cd)]
}

#[inline(always)]
fn narrow<O: Copy>(
    group: &Group<'_>,
    packed: &[u32; VECTOR_ROWS],
    out: &mut [O],
    convert: impl Fn(u32) -> O,
) {
    let (base, first, divisor) = (group.base as u32, group.first as u32, group.divisor as u32);
    match (group.mode, divisor) {
        (Mode::Frame, 1) => dispatch(NarrowFrame::<_, _, false> { base, divisor, packed, out, convert }),
        (Mode::Frame, _) => dispatch(NarrowFrame::<_, _, true> { base, divisor, packed, out, convert }),
        (Mode::Delta, _) => dispatch(NarrowDelta { base, divisor, first, packed, out, convert }),
    }
}

/// base + packed in 32 bits.
struct NarrowFrame<'v, O, F, const SCALED: bool> {
    base: u32,
    divisor: u32,
    packed: &'v [u32; VECTOR_ROWS],
    out: &'v mut [O],
    convert: F,
}

impl<O, F: Fn(u32) -> O, const SCALED: bool> Kernel for NarrowFrame<'_, O, F, SCALED> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (value, packed) in self.out.iter_mut().zip(self.packed) {
            let number = if SCALED { packed.wrapping_mul(self.divisor) } else { *packed };
            *value = (self.convert)(self.base.wrapping_add(number));
        }
    }
}

/// The sum of base + packed in 32 bits.
struct NarrowDelta<'v, O, F> {
    base: u32,
    divisor: u32,
    first: u32,
    packed: &'v [u32; VECTOR_ROWS],
    out: &'v mut [O],
    convert: F,
}

impl<O, F: Fn(u32) -> O> Kernel for NarrowDelta<'_, O, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut last = self.first.wrapping_sub(self.base);
        let number = |packed: u32| self.base.wrapping_add(packed.wrapping_mul(self.divisor));
        let (rows, rest) = self.out.as_chunks_mut::<STEP>();
        let (packed_rows, packed_rest) = self.packed.as_chunks::<STEP>();
        for (row, packed) in rows.iter_mut().zip(packed_rows) {
            let values = prefix_sums_32(packed.map(number)).map(|sum| last.wrapping_add(sum));
            [.., last] = values;
            *row = values.map(&self.convert);
        }
        let packed = packed_rows.get(rows.len()).map_or(packed_rest, |row| row.as_slice());
        for (value, packed) in rest.iter_mut().zip(packed) {
            last = last.wrapping_add(number(*packed));
            *value = (self.convert)(last);
        }
    }
}

/// Whole numbers as they are wanted.
struct Convert<'v, O, F> {
    wholes: &'v [i64; VECTOR_ROWS],
    out: &'v mut [O],
    convert: F,
}

impl<O, F: Fn(i64) -> O> Kernel for Convert<'_, O, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (value, whole) in self.out.iter_mut().zip(self.wholes) {
            *value = (self.convert)(*whole);
        }
    }
}

/// (base + packed) / scale.
struct FrameFloats<'v, O, F, const SCALED: bool> {
    base: i64,
    divisor: u32,
    scale: Scale,
    packed: &'v [u32; VECTOR_ROWS],
    out: &'v mut [O],
    convert: F,
}

impl<O, F: Fn(f64) -> O, const SCALED: bool> Kernel for FrameFloats<'_, O, F, SCALED> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (value, packed) in self.out.iter_mut().zip(self.packed) {
            let factor = if SCALED { u64::from(self.divisor) } else { 1 };
            let whole = self.base.wrapping_add((u64::from(*packed) * factor) as i64);
            *value = (self.convert)(self.scale.divide::<I>(whole_to_float(whole)));
        }
    }
}

/// whole / scale.
struct WholeFloats<'v, O, F> {
    scale: Scale,
    wholes: &'v [i64; VECTOR_ROWS],
    out: &'v mut [O],
    convert: F,
}

impl<O, F: Fn(f64) -> O> Kernel for WholeFloats<'_, O, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (value, whole) in self.out.iter_mut().zip(self.wholes) {
            *value = (self.convert)(self.scale.divide::<I>(whole_to_float(*whole)));
        }
    }
}

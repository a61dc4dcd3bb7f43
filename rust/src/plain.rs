//! Plain values, little-endian, as the 64-bit registers that kernels compute with.

use crate::column::Element;
use crate::isa::{Isa, Kernel, dispatch};

/// Turns bytes into registers, value by value.
struct Widen<'v, O, F, const N: usize> {
    bytes: &'v [u8],
    out: &'v mut [O],
    convert: F,
}

impl<O, F: Fn([u8; N]) -> O, const N: usize> Kernel for Widen<'_, O, F, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (register, value) in self.out.iter_mut().zip(self.bytes.as_chunks::<N>().0) {
            *register = (self.convert)(*value);
        }
    }
}

fn widen<O, const N: usize>(bytes: &[u8], out: &mut [O], convert: impl Fn([u8; N]) -> O) {
    dispatch(Widen { bytes, out, convert });
}

/// Read integers; u64 by bit pattern. Floats and text leave `out` as it is.
pub fn integers(element: Element, bytes: &[u8], out: &mut [i64]) {
    match element {
        Element::U8 => widen(bytes, out, |value| i64::from(u8::from_le_bytes(value))),
        Element::I8 => widen(bytes, out, |value| i64::from(i8::from_le_bytes(value))),
        Element::U16 => widen(bytes, out, |value| i64::from(u16::from_le_bytes(value))),
        Element::I16 => widen(bytes, out, |value| i64::from(i16::from_le_bytes(value))),
        Element::U32 => widen(bytes, out, |value| i64::from(u32::from_le_bytes(value))),
        Element::I32 => widen(bytes, out, |value| i64::from(i32::from_le_bytes(value))),
        Element::U64 | Element::I64 => widen(bytes, out, i64::from_le_bytes),
        Element::F32 | Element::F64 | Element::Utf8 | Element::Bytes16 | Element::Binary => {}
    }
}

/// Read floats; integers and text leave `out` as it is.
pub fn floats(element: Element, bytes: &[u8], out: &mut [f64]) {
    match element {
        Element::F32 => widen(bytes, out, |value| f64::from(f32::from_le_bytes(value))),
        Element::F64 => widen(bytes, out, f64::from_le_bytes),
        _ => {}
    }
}

/// Write registers as little-endian values of `N` bytes.
fn narrow<T: Copy, const N: usize>(values: &[T], out: &mut [u8], convert: impl Fn(T) -> [u8; N]) {
    for (bytes, value) in out.as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *bytes = convert(*value);
    }
}

/// Write integer registers as plain values: their low bytes.
pub fn write_integers(element: Element, values: &[i64], out: &mut [u8]) {
    match element.width() {
        1 => narrow(values, out, |value| (value as u8).to_le_bytes()),
        2 => narrow(values, out, |value| (value as u16).to_le_bytes()),
        4 => narrow(values, out, |value| (value as u32).to_le_bytes()),
        _ => narrow(values, out, i64::to_le_bytes),
    }
}

/// Write float registers as plain values.
pub fn write_floats(element: Element, values: &[f64], out: &mut [u8]) {
    if element == Element::F32 {
        narrow(values, out, |value| (value as f32).to_le_bytes());
    } else {
        narrow(values, out, f64::to_le_bytes);
    }
}

/// The signed element of the same width: codes are packed as signed numbers, so that the null code
/// 0xffffffff lies next to code 0 and a group with nulls stays narrow.
pub const fn signed_twin(element: Element) -> Element {
    match element {
        Element::U8 => Element::I8,
        Element::U16 => Element::I16,
        Element::U32 => Element::I32,
        other => other,
    }
}

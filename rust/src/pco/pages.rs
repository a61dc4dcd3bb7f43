//! Pages of a pco block to values.

use std::mem;

use ::pco::data_types::Number;
use ::pco::metadata::DeltaEncoding;
use ::pco::wrapped::{ChunkDecompressor, FileDecompressor};
use bytemuck::Pod;

use super::failure;
use super::layout::{Kind, Layout, PAGE_ROWS};
use crate::column::Element;
use crate::decimal::Scale;
use crate::error::{KernelError, Result};
use crate::isa::{Isa, Kernel, dispatch};
use crate::plain;

/// pcodec looks back at most this far where it compresses; what says more only wants memory.
const MOST_LOOKBACK_LOG: u32 = 15;
/// The mode of pcodec that brings a dictionary, which may claim any length; the encoder never uses it.
const DICT_MODE: u8 = 4;
/// Bytes of pcodec's header: the version of its format.
const FILE_HEADER_BYTES: usize = 2;

/// Decodes pages of the current block; keeps the last one, so that stepping through it decodes it once.
#[derive(Default)]
pub struct PageReader {
    chunk: Option<Chunk>,
    /// The numbers of a page as pcodec gives them.
    numbers: Vec<u64>,
    /// The page that `values` holds.
    held: Option<usize>,
    /// A page as plain values.
    values: Vec<u64>,
}

/// What pcodec learned from the description of the current block, by the type of its numbers.
enum Chunk {
    U16(ChunkDecompressor<u16>),
    U32(ChunkDecompressor<u32>),
    U64(ChunkDecompressor<u64>),
    F32(ChunkDecompressor<f32>),
    F64(ChunkDecompressor<f64>),
}

impl Chunk {
    fn open(layout: &Layout, block: &[u8]) -> Result<Self> {
        let description = layout.description(block);
        Ok(match (layout.kind, layout.bits) {
            (Kind::Floats, 32) => Self::F32(described(description)?),
            (Kind::Floats, _) => Self::F64(described(description)?),
            (_, 16) => Self::U16(described(description)?),
            (_, 32) => Self::U32(described(description)?),
            _ => Self::U64(described(description)?),
        })
    }
}

/// Read the description of a chunk; refuses what would take more memory than a block can need.
fn described<T: Number>(description: &[u8]) -> Result<ChunkDecompressor<T>> {
    if description.get(FILE_HEADER_BYTES).is_some_and(|first| first & 0xf == DICT_MODE) {
        return Err(KernelError::Corrupt("pco: a dictionary is never written".to_owned()));
    }
    let (file, rest) = FileDecompressor::new(description).map_err(failure)?;
    if description.len() - rest.len() != FILE_HEADER_BYTES {
        return Err(KernelError::Corrupt("pco: header of an older format".to_owned()));
    }
    let (chunk, rest) = file.chunk_decompressor::<T, _>(rest).map_err(failure)?;
    match &chunk.meta().delta_encoding {
        _ if !rest.is_empty() => {
            Err(KernelError::Corrupt("pco: description has bytes after its end".to_owned()))
        }
        DeltaEncoding::Lookback { config, .. } if config.window_n_log > MOST_LOOKBACK_LOG => {
            Err(KernelError::Corrupt(format!("pco: looks back 2^{} values", config.window_n_log)))
        }
        _ => Ok(chunk),
    }
}

impl PageReader {
    /// Read the description of a block, which is the current one from then on.
    pub fn open(&mut self, layout: &Layout, block: &[u8]) -> Result<()> {
        self.held = None;
        self.chunk = None;
        self.chunk = Some(Chunk::open(layout, block)?);
        Ok(())
    }

    /// Fill `out` with plain values of the element's type, from row `start` of the block on.
    pub fn values(
        &mut self,
        layout: &Layout,
        block: &[u8],
        element: Element,
        start: usize,
        out: &mut [u8],
    ) -> Result<()> {
        let width = element.width().max(1);
        let (mut row, mut rest) = (start, out);
        while !rest.is_empty() {
            let page = row / PAGE_ROWS;
            let rows = layout.page_rows(page);
            let wanted = rows.end.saturating_sub(row).min(rest.len() / width);
            let Some((head, tail)) = rest.split_at_mut_checked(wanted.max(1) * width) else { break };
            if wanted == rows.len() && self.held != Some(page) {
                self.decode(layout, block, element, page, head)?;
            } else {
                head.copy_from_slice(self.hold(layout, block, element, row, wanted)?);
            }
            row += wanted;
            rest = tail;
        }
        Ok(())
    }

    /// Fill `out` with integers; u64 by bit pattern.
    pub fn integers(
        &mut self,
        layout: &Layout,
        block: &[u8],
        element: Element,
        start: usize,
        out: &mut [i64],
    ) -> Result<()> {
        self.registers(layout, block, element, start, out, plain::integers)
    }

    /// Fill `out` with floats.
    pub fn floats(
        &mut self,
        layout: &Layout,
        block: &[u8],
        element: Element,
        start: usize,
        out: &mut [f64],
    ) -> Result<()> {
        self.registers(layout, block, element, start, out, plain::floats)
    }

    fn registers<T>(
        &mut self,
        layout: &Layout,
        block: &[u8],
        element: Element,
        start: usize,
        out: &mut [T],
        convert: impl Fn(Element, &[u8], &mut [T]),
    ) -> Result<()> {
        let (mut row, mut rest) = (start, out);
        while !rest.is_empty() {
            let wanted = layout.page_rows(row / PAGE_ROWS).end.saturating_sub(row).min(rest.len());
            let Some((head, tail)) = rest.split_at_mut_checked(wanted.max(1)) else { break };
            convert(element, self.hold(layout, block, element, row, wanted)?, head);
            row += wanted;
            rest = tail;
        }
        Ok(())
    }

    /// Give plain values of one page, decoding it where it isn't held.
    fn hold(
        &mut self,
        layout: &Layout,
        block: &[u8],
        element: Element,
        row: usize,
        count: usize,
    ) -> Result<&[u8]> {
        let page = row / PAGE_ROWS;
        let width = element.width();
        if self.held != Some(page) {
            self.held = None;
            let mut values = mem::take(&mut self.values);
            values.resize(PAGE_ROWS, 0);
            let out = bytemuck::cast_slice_mut::<u64, u8>(&mut values)
                .get_mut(..layout.page_rows(page).len() * width)
                .unwrap_or_default();
            let decoded = self.decode(layout, block, element, page, out);
            self.values = values;
            decoded?;
            self.held = Some(page);
        }
        let start = row % PAGE_ROWS * width;
        crate::bytes::slice(bytemuck::cast_slice::<u64, u8>(&self.values), start, count * width, "page")
    }

    /// Decode a page to plain values.
    fn decode(
        &mut self,
        layout: &Layout,
        block: &[u8],
        element: Element,
        page: usize,
        out: &mut [u8],
    ) -> Result<()> {
        self.numbers.resize(PAGE_ROWS, 0);
        let numbers = &mut self.numbers;
        let (bytes, length) = layout.page(block, page)?;
        let rows = layout.page_rows(page).len();
        let source = Source { bytes, length, rows };
        match &mut self.chunk {
            Some(Chunk::U16(chunk)) => expand(layout, element, source.read(chunk, numbers)?, out),
            Some(Chunk::U32(chunk)) => expand(layout, element, source.read(chunk, numbers)?, out),
            Some(Chunk::U64(chunk)) => expand(layout, element, source.read(chunk, numbers)?, out),
            Some(Chunk::F32(chunk)) => copy(bytemuck::cast_slice(source.read(chunk, numbers)?), out),
            Some(Chunk::F64(chunk)) => copy(bytemuck::cast_slice(source.read(chunk, numbers)?), out),
            None => return Err(KernelError::InvalidArgument("no pco block is open".to_owned())),
        }
        let width = element.width();
        for (place, bits) in layout.exceptions(block, element, page) {
            if let Some(value) = out.get_mut(place * width..(place + 1) * width) {
                value.copy_from_slice(bits);
            }
        }
        Ok(())
    }
}

/// A page as it is stored.
struct Source<'b> {
    /// From the page on to the end of the block.
    bytes: &'b [u8],
    /// Bytes that are the page's.
    length: usize,
    rows: usize,
}

impl Source<'_> {
    /// Have pcodec decode the numbers into `memory`.
    fn read<'m, T: Number + Pod>(
        &self,
        chunk: &mut ChunkDecompressor<T>,
        memory: &'m mut [u64],
    ) -> Result<&'m [T]> {
        let numbers = bytemuck::cast_slice_mut::<u64, T>(memory).get_mut(..self.rows).unwrap_or_default();
        let mut page = chunk.page_decompressor(self.bytes, self.rows).map_err(failure)?;
        page.read(numbers).map_err(failure)?;
        let read = self.bytes.len() - page.into_src().len();
        if read == self.length {
            Ok(numbers)
        } else {
            Err(KernelError::Corrupt(format!("pco: page takes {read} bytes, expected {}", self.length)))
        }
    }
}

fn copy(numbers: &[u8], out: &mut [u8]) {
    if numbers.len() == out.len() {
        out.copy_from_slice(numbers);
    }
}

/// A whole number of pcodec, which takes part in arithmetic modulo a power of two.
trait Whole: Copy {
    /// Modulo 2^64.
    fn wide(self) -> u64;
    /// Modulo 2^32.
    fn narrow(self) -> u32;
}

impl Whole for u16 {
    #[inline(always)]
    fn wide(self) -> u64 {
        u64::from(self)
    }

    #[inline(always)]
    fn narrow(self) -> u32 {
        u32::from(self)
    }
}

impl Whole for u32 {
    #[inline(always)]
    fn wide(self) -> u64 {
        u64::from(self)
    }

    #[inline(always)]
    fn narrow(self) -> u32 {
        self
    }
}

impl Whole for u64 {
    #[inline(always)]
    fn wide(self) -> u64 {
        self
    }

    #[inline(always)]
    fn narrow(self) -> u32 {
        self as u32
    }
}

/// Turn numbers into plain values: base + divisor * number, computed as wide as the values are.
fn expand<T: Whole>(layout: &Layout, element: Element, numbers: &[T], out: &mut [u8]) {
    let (base, divisor) = (layout.base as u64, layout.divisor);
    if element.width() == 8 || element == Element::F32 {
        if divisor == 1 {
            expand_wide(layout, element, numbers, out, |number| base.wrapping_add(number.wide()));
        } else {
            expand_wide(layout, element, numbers, out, |number| {
                base.wrapping_add(number.wide().wrapping_mul(divisor))
            });
        }
        return;
    }
    let (base, divisor) = (base as u32, divisor as u32);
    let value = |number: T| base.wrapping_add(number.narrow().wrapping_mul(divisor));
    match element.width() {
        1 => dispatch(Convert { numbers, out, bits: |number| (value(number) as u8).to_le_bytes() }),
        2 => dispatch(Convert { numbers, out, bits: |number| (value(number) as u16).to_le_bytes() }),
        _ => dispatch(Convert { numbers, out, bits: |number| value(number).to_le_bytes() }),
    }
}

fn expand_wide<T: Whole>(
    layout: &Layout,
    element: Element,
    numbers: &[T],
    out: &mut [u8],
    whole: impl Fn(T) -> u64,
) {
    let scale = Scale::of_exponent(layout.exponent);
    match element {
        Element::F32 => dispatch(Divide { numbers, out, whole, scale, bits: |x| (x as f32).to_le_bytes() }),
        Element::F64 => dispatch(Divide { numbers, out, whole, scale, bits: f64::to_le_bytes }),
        _ => dispatch(Convert { numbers, out, bits: |number| whole(number).to_le_bytes() }),
    }
}

/// Writes one value a number.
struct Convert<'v, T, F, const N: usize> {
    numbers: &'v [T],
    out: &'v mut [u8],
    bits: F,
}

impl<T: Copy, F: Fn(T) -> [u8; N], const N: usize> Kernel for Convert<'_, T, F, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (value, number) in self.out.as_chunks_mut::<N>().0.iter_mut().zip(self.numbers) {
            *value = (self.bits)(*number);
        }
    }
}

/// Writes one decimal a number.
struct Divide<'v, T, W, F, const N: usize> {
    numbers: &'v [T],
    out: &'v mut [u8],
    whole: W,
    scale: Scale,
    bits: F,
}

impl<T: Copy, W: Fn(T) -> u64, F: Fn(f64) -> [u8; N], const N: usize> Kernel for Divide<'_, T, W, F, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (value, number) in self.out.as_chunks_mut::<N>().0.iter_mut().zip(self.numbers) {
            let k = crate::decimal::whole_to_float((self.whole)(*number) as i64);
            *value = (self.bits)(self.scale.divide::<I>(k));
        }
    }
}

//! Reads rows of a column, whatever its encoding, codec and block size.
//!
//! A reader keeps the current block with its codec undone, so that stepping through rows undoes each codec once;
//! encodings that decode as a whole are undone with it, and their blocks read as plain from then on.
//! Plain values without a codec are never copied: [`Reader::plain`] gives them as they lie.  Any bytes at all
//! give values or an error.

use bytemuck::Pod;

use crate::bitpack::{GroupReader, Layout, Span};
use crate::block_index::{self, BlockEntry};
use crate::codec::{Codec, Decompressor};
use crate::column::{Column, Element, VECTOR_ROWS};
use crate::dict;
use crate::encoding::Encoding;
use crate::error::{KernelError, Result};
use crate::numerals;
use crate::pco::{self, PageReader};
use crate::plain;
use crate::planes;
use crate::runs;
use crate::strings::Texts;

/// Plain bytes of the largest block of a fixed-width column.
pub const MAX_BLOCK_BYTES: usize = 1 << 20;

/// Steps through the rows of a column.
pub struct Reader<'a> {
    column: Column<'a>,
    decompressor: Decompressor,
    scratch: Scratch,
    block: Option<Block<'a>>,
    groups: GroupReader,
    pages: PageReader,
}

/// Memory that blocks are undone into, reused from block to block.
#[derive(Default)]
struct Scratch {
    /// A block with its codec undone.
    encoded: Vec<u64>,
    /// The plain values of a block whose encoding decodes as a whole.
    decoded: Vec<u64>,
}

/// The current block.
#[derive(Clone, Copy)]
struct Block<'a> {
    number: usize,
    first_row: usize,
    rows: usize,
    place: Place<'a>,
    content: Content,
}

/// What the current block's bytes are.
#[derive(Clone, Copy)]
enum Content {
    Plain,
    Bitpack(Layout),
    Pco(pco::Layout),
    /// Only of texts; dictionaries of values are undone as a whole.
    Dict(dict::TextLayout),
}

/// Where the current block's bytes lie.
#[derive(Clone, Copy)]
enum Place<'a> {
    /// In the file.
    Stored(&'a [u8]),
    /// In the scratch memory of codecs.
    Encoded { length: usize },
    /// In the scratch memory of encodings.
    Decoded { length: usize },
}

/// Rows that lie in one block: which of the block's rows, and which part of the answer they are.
struct Piece<'a> {
    block: Block<'a>,
    /// Row within the block.
    start: usize,
    count: usize,
}

impl Piece<'_> {
    fn span(&self) -> Span {
        Span { block: self.block.number, start: self.start }
    }
}

impl<'a> Reader<'a> {
    /// Make a reader; refuses a column whose parts do not fit each other.
    pub fn new(column: Column<'a>) -> Result<Self> {
        column.validate()?;
        Ok(Self {
            column,
            decompressor: Decompressor::default(),
            scratch: Scratch::default(),
            block: None,
            groups: GroupReader::default(),
            pages: PageReader::default(),
        })
    }

    /// The column that is read.
    pub fn column(&self) -> &Column<'a> {
        &self.column
    }

    /// Fill `out` with the integers of the rows from `first_row` on; u64 by bit pattern.
    pub fn integers(&mut self, first_row: usize, out: &mut [i64]) -> Result<()> {
        let element = self.column.element;
        if !element.is_number() || matches!(element, Element::F32 | Element::F64) {
            return Err(KernelError::InvalidArgument(format!("{element:?} values aren't integers")));
        }
        self.column.check_rows(first_row, out.len())?;
        let (mut row, mut rest) = (first_row, out);
        while !rest.is_empty() {
            let piece = self.piece(row, rest.len())?;
            let Some((head, tail)) = rest.split_at_mut_checked(piece.count) else { break };
            match piece.block.content {
                Content::Plain => plain::integers(element, self.plain_bytes(&piece)?, head),
                Content::Dict(_) => return Err(undecoded()),
                Content::Bitpack(layout) => {
                    let bytes = bytes_of(&piece.block, &self.scratch);
                    self.groups.integers(&layout, bytes, element, piece.span(), head)?;
                }
                Content::Pco(layout) => {
                    let bytes = bytes_of(&piece.block, &self.scratch);
                    self.pages.integers(&layout, bytes, element, piece.start, head)?;
                }
            }
            row += piece.count;
            rest = tail;
        }
        Ok(())
    }

    /// Fill `out` with the floats of the rows from `first_row` on.
    pub fn floats(&mut self, first_row: usize, out: &mut [f64]) -> Result<()> {
        let element = self.column.element;
        if !matches!(element, Element::F32 | Element::F64) {
            return Err(KernelError::InvalidArgument(format!("{element:?} values aren't floats")));
        }
        self.column.check_rows(first_row, out.len())?;
        let (mut row, mut rest) = (first_row, out);
        while !rest.is_empty() {
            let piece = self.piece(row, rest.len())?;
            let Some((head, tail)) = rest.split_at_mut_checked(piece.count) else { break };
            match piece.block.content {
                Content::Plain => plain::floats(element, self.plain_bytes(&piece)?, head),
                Content::Dict(_) => return Err(undecoded()),
                Content::Bitpack(layout) => {
                    let bytes = bytes_of(&piece.block, &self.scratch);
                    self.groups.floats(&layout, bytes, element, piece.span(), head)?;
                }
                Content::Pco(layout) => {
                    let bytes = bytes_of(&piece.block, &self.scratch);
                    self.pages.floats(&layout, bytes, element, piece.start, head)?;
                }
            }
            row += piece.count;
            rest = tail;
        }
        Ok(())
    }

    /// Fill `out` with the rows from `first_row` on as plain little-endian values of the column's type.
    pub fn values(&mut self, first_row: usize, out: &mut [u8]) -> Result<()> {
        let element = self.column.element;
        let width = self.fixed_width()?;
        self.column.check_rows(first_row, out.len() / width)?;
        if out.len() == width && self.value_alone(first_row, out)? {
            return Ok(());
        }
        let (mut row, mut rest) = (first_row, out);
        while rest.len() >= width {
            let piece = self.piece(row, rest.len() / width)?;
            let Some((head, tail)) = rest.split_at_mut_checked(piece.count * width) else { break };
            match piece.block.content {
                Content::Plain => head.copy_from_slice(self.plain_bytes(&piece)?),
                Content::Dict(_) => return Err(undecoded()),
                Content::Bitpack(layout) => {
                    let bytes = bytes_of(&piece.block, &self.scratch);
                    self.groups.values(&layout, bytes, element, piece.span(), head)?;
                }
                Content::Pco(layout) => {
                    let bytes = bytes_of(&piece.block, &self.scratch);
                    self.pages.values(&layout, bytes, element, piece.start, head)?;
                }
            }
            row += piece.count;
            rest = tail;
        }
        Ok(())
    }

    /// Give rows as they lie, without a copy: `None` where they are encoded, lie in several blocks, are not
    /// aligned, or the column's values do not have the width of `T`.
    ///
    /// `T` must be the type of the column's element; for floats and integers of one width only the caller knows.
    pub fn plain<T: Pod>(&mut self, first_row: usize, count: usize) -> Result<Option<&[T]>> {
        self.column.check_rows(first_row, count)?;
        if count == 0 || size_of::<T>() != self.column.element.width() {
            return Ok(None);
        }
        let piece = self.piece(first_row, count)?;
        if piece.count < count || !matches!(piece.block.content, Content::Plain) {
            return Ok(None);
        }
        Ok(bytemuck::try_cast_slice(self.plain_bytes(&piece)?).ok())
    }

    /// Like [`Self::plain`], but only rows that lie in the file as they are, so that they outlive the reader's block.
    pub fn stored_plain<T: Pod>(&mut self, first_row: usize, count: usize) -> Result<Option<&'a [T]>> {
        self.column.check_rows(first_row, count)?;
        let width = self.column.element.width();
        if count == 0 || size_of::<T>() != width {
            return Ok(None);
        }
        let piece = self.piece(first_row, count)?;
        match piece.block {
            Block { place: Place::Stored(stored), content: Content::Plain, .. } if piece.count == count => {
                let bytes = crate::bytes::slice(stored, piece.start * width, count * width, "plain block")?;
                Ok(bytemuck::try_cast_slice(bytes).ok())
            }
            _ => Ok(None),
        }
    }

    /// Append the texts of rows `start` to `stop`: the end of each text within `data` to `ends`, bytes to `data`.
    pub fn texts(
        &mut self,
        start: usize,
        stop: usize,
        ends: &mut Vec<i64>,
        data: &mut Vec<u8>,
    ) -> Result<()> {
        let is_utf8 = self.column.element == Element::Utf8;
        if !is_utf8 && self.column.element != Element::Binary {
            return Err(KernelError::InvalidArgument(format!(
                "{:?} values aren't text",
                self.column.element
            )));
        }
        self.column.check_rows(start, stop.saturating_sub(start))?;
        ends.reserve(stop.saturating_sub(start));
        let mut row = start;
        while row < stop {
            let piece = self.piece(row, stop - row)?;
            let bytes = bytes_of(&piece.block, &self.scratch);
            match piece.block.content {
                Content::Plain => {
                    let texts = Texts::new(bytes, piece.block.rows)?;
                    texts.append(piece.start, piece.count, is_utf8, ends, data)?;
                }
                Content::Dict(layout) => {
                    layout.append(bytes, piece.start..piece.start + piece.count, ends, data)?;
                }
                Content::Bitpack(_) | Content::Pco(_) => {
                    let mut integers = [0; VECTOR_ROWS];
                    let Some(integers) = integers.get_mut(..piece.count.min(VECTOR_ROWS)) else { break };
                    self.numerals(&piece, integers)?;
                    numerals::append(integers, ends, data);
                    row += integers.len();
                    continue;
                }
            }
            row += piece.count;
        }
        Ok(())
    }

    /// Fill `out` with the integers that texts of a block are stored as.
    fn numerals(&mut self, piece: &Piece<'_>, out: &mut [i64]) -> Result<()> {
        let bytes = bytes_of(&piece.block, &self.scratch);
        match piece.block.content {
            Content::Bitpack(layout) => self.groups.integers(&layout, bytes, Element::I64, piece.span(), out),
            Content::Pco(layout) => self.pages.integers(&layout, bytes, Element::I64, piece.start, out),
            Content::Plain | Content::Dict(_) => Err(undecoded()),
        }
    }

    /// Fill `out` with one value of a block that isn't open, where that is less work than to open it.
    fn value_alone(&self, row: usize, out: &mut [u8]) -> Result<bool> {
        let number = row / self.column.block_rows;
        if self.block.is_some_and(|block| block.number == number) {
            return Ok(false);
        }
        let entry = self.column.index.entry(number)?;
        let encoding = Encoding::from_id(entry.encoding)?;
        if entry.codec != Codec::None as u8 || !matches!(encoding, Encoding::Dict | Encoding::Runs) {
            return Ok(false);
        }
        let (stored, row) = (entry.stored(self.column.stored)?, row % self.column.block_rows);
        let (element, rows) = (self.column.element, entry.rows as usize);
        let decoded = if encoding == Encoding::Dict {
            dict::decode_one(stored, element, rows, row, out)
        } else {
            runs::decode_one(stored, element, row, out)
        };
        decoded.map(|()| true).map_err(|failure| located(failure, number))
    }

    /// Bytes of one value; an error for text.
    fn fixed_width(&self) -> Result<usize> {
        match self.column.element.width() {
            0 => Err(KernelError::InvalidArgument("text has no fixed width".to_owned())),
            width => Ok(width),
        }
    }

    /// Open the block of `row`; gives the rows of it from there on, at most `wanted`.
    fn piece(&mut self, row: usize, wanted: usize) -> Result<Piece<'a>> {
        let number = row / self.column.block_rows;
        let block = match self.block {
            Some(block) if block.number == number => block,
            _ => self.open(number)?,
        };
        let start = row - block.first_row;
        Ok(Piece { block, start, count: wanted.min(block.rows - start) })
    }

    /// Make a block the current one.
    fn open(&mut self, number: usize) -> Result<Block<'a>> {
        self.block = None;
        let entry = self.column.index.entry(number)?;
        let opened = self.open_entry(number, &entry);
        let block = opened.map_err(|failure| located(failure, number))?;
        self.block = Some(block);
        Ok(block)
    }

    fn open_entry(&mut self, number: usize, entry: &BlockEntry) -> Result<Block<'a>> {
        let first_row = number * self.column.block_rows;
        let rows = self.column.rows.saturating_sub(first_row).min(self.column.block_rows);
        if entry.rows as usize != rows || rows == 0 {
            return Err(KernelError::Corrupt(format!("got {} rows, expected {rows}", entry.rows)));
        }
        let encoding = Encoding::from_id(entry.encoding)?;
        let codec = Codec::from_id(entry.codec)?;
        let length = entry.encoded_bytes as usize;
        let stored = entry.stored(self.column.stored)?;
        self.check_length(encoding, codec, length, rows)?;
        if length > codec.most_bytes(stored.len()) {
            let reason = format!("{} stored bytes can't give {length}", stored.len());
            return Err(KernelError::Corrupt(reason));
        }
        let place = if codec == Codec::None {
            if stored.len() != length {
                return Err(KernelError::Corrupt(format!("got {} bytes, expected {length}", stored.len())));
            }
            Place::Stored(stored)
        } else {
            self.decompressor.decompress(codec, stored, scratch_of(&mut self.scratch.encoded, length)?)?;
            Place::Encoded { length }
        };
        let mut block = Block { number, first_row, rows, place, content: Content::Plain };
        let element = self.column.element;
        match encoding {
            Encoding::Plain => {}
            Encoding::Bitpack => {
                let bytes = bytes_of(&block, &self.scratch);
                let numbers = if element == Element::Utf8 { Element::I64 } else { element };
                block.content = Content::Bitpack(Layout::parse(bytes, numbers, rows)?);
            }
            Encoding::Pco => {
                let bytes = bytes_of(&block, &self.scratch);
                let numbers = if element == Element::Utf8 { Element::I64 } else { element };
                let layout = pco::Layout::parse(bytes, numbers, rows)?;
                self.pages.open(&layout, bytes)?;
                block.content = Content::Pco(layout);
            }
            Encoding::Dict if element == Element::Utf8 => {
                let bytes = bytes_of(&block, &self.scratch);
                block.content = Content::Dict(dict::TextLayout::parse(bytes, rows)?);
            }
            Encoding::Bytes => block.place = self.decoded(&block, planes::decode)?,
            Encoding::Dict => block.place = self.decoded(&block, dict::decode)?,
            Encoding::Runs => block.place = self.decoded(&block, runs::decode)?,
        }
        Ok(block)
    }

    /// Undo an encoding that decodes as a whole.
    fn decoded(
        &mut self,
        block: &Block<'a>,
        decode: impl Fn(&[u8], Element, &mut [u8]) -> Result<()>,
    ) -> Result<Place<'a>> {
        let length = block.rows * self.column.element.width();
        let mut decoded = std::mem::take(&mut self.scratch.decoded);
        let result = scratch_of(&mut decoded, length)
            .and_then(|out| decode(bytes_of(block, &self.scratch), self.column.element, out));
        self.scratch.decoded = decoded;
        result.map(|()| Place::Decoded { length })
    }

    /// Refuse a length that the block cannot have, before memory is taken for it.
    fn check_length(&self, encoding: Encoding, codec: Codec, length: usize, rows: usize) -> Result<()> {
        let element = self.column.element;
        block_index::check_encoded_bytes(encoding, element, rows, length).map_err(KernelError::Corrupt)?;
        let plain_bytes = rows.saturating_mul(element.width());
        if plain_bytes > MAX_BLOCK_BYTES && (codec != Codec::None || encoding != Encoding::Plain) {
            return Err(KernelError::Corrupt(format!(
                "{plain_bytes} plain bytes are more than a block's {MAX_BLOCK_BYTES}"
            )));
        }
        Ok(())
    }

    fn plain_bytes(&self, piece: &Piece<'a>) -> Result<&[u8]> {
        let width = self.column.element.width();
        crate::bytes::slice(
            bytes_of(&piece.block, &self.scratch),
            piece.start * width,
            piece.count * width,
            "plain block",
        )
    }
}

/// The bytes of a block: encoded, or plain where its encoding decodes as a whole.
fn bytes_of<'s>(block: &Block<'s>, scratch: &'s Scratch) -> &'s [u8] {
    let (words, length) = match block.place {
        Place::Stored(stored) => return stored,
        Place::Encoded { length } => (&scratch.encoded, length),
        Place::Decoded { length } => (&scratch.decoded, length),
    };
    bytemuck::cast_slice::<u64, u8>(words).get(..length).unwrap_or_default()
}

/// Texts of a dictionary where values are wanted; opening a block rules it out.
fn undecoded() -> KernelError {
    KernelError::InvalidArgument("texts of a dictionary are no values".to_owned())
}

/// Name the block that a failure belongs to.
fn located(failure: KernelError, block: usize) -> KernelError {
    match failure {
        KernelError::Truncated(reason) => KernelError::Truncated(format!("block {block}: {reason}")),
        KernelError::Corrupt(reason) => KernelError::Corrupt(format!("block {block}: {reason}")),
        other => other,
    }
}

/// Give `length` bytes of scratch memory, aligned to 8.
fn scratch_of(scratch: &mut Vec<u64>, length: usize) -> Result<&mut [u8]> {
    let words = length.div_ceil(8);
    if scratch.len() < words {
        scratch
            .try_reserve_exact(words - scratch.len())
            .map_err(|_| KernelError::Corrupt(format!("a block of {length} bytes doesn't fit in memory")))?;
        scratch.resize(words, 0);
    }
    bytemuck::cast_slice_mut::<u64, u8>(scratch)
        .get_mut(..length)
        .ok_or_else(|| KernelError::Corrupt(format!("a block of {length} bytes doesn't fit in memory")))
}

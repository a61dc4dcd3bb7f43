//! Rows of a bit-packed block, group by group; remembers the last group that was wanted in part.

use super::decode::{self, Scratch};
use super::layout::Layout;
use crate::column::{Element, VECTOR_ROWS};
use crate::error::Result;
use crate::plain;

/// Rows of one block: the block's number, and the first row within it.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Number of the block.
    pub block: usize,
    /// First row within it.
    pub start: usize,
}

/// Decodes groups; one reader serves the blocks of one column.
#[derive(Debug, Default)]
pub struct GroupReader {
    /// Made when the first group is decoded: many columns have none.
    scratch: Option<Box<Scratch>>,
    /// Block and group that `integers` or `floats` hold.
    held: Option<(usize, usize)>,
    integers: Vec<i64>,
    floats: Vec<f64>,
}

/// The part of a group that is wanted.
struct Part {
    group: usize,
    /// Values of the whole group.
    size: usize,
    start: usize,
    count: usize,
}

/// Cut rows at groups; `rows` is what the block has.
fn part_at(row: usize, wanted: usize, rows: usize) -> Part {
    let (group, start) = (row / VECTOR_ROWS, row % VECTOR_ROWS);
    let size = rows.saturating_sub(group * VECTOR_ROWS).min(VECTOR_ROWS);
    Part { group, size, start, count: wanted.min(size.saturating_sub(start)) }
}

impl GroupReader {
    /// Fill `out` with integers.
    pub fn integers(
        &mut self,
        layout: &Layout,
        block: &[u8],
        element: Element,
        span: Span,
        out: &mut [i64],
    ) -> Result<()> {
        let (mut row, mut rest) = (span.start, out);
        while !rest.is_empty() {
            let part = part_at(row, rest.len(), layout.rows);
            let Some((head, tail)) = rest.split_at_mut_checked(part.count.max(1)) else { break };
            if part.count == part.size {
                decode::integers(
                    layout,
                    block,
                    element,
                    part.group,
                    self.scratch.get_or_insert_with(Scratch::new),
                    head,
                )?;
            } else {
                self.hold_integers(layout, block, element, span.block, &part)?;
                if let Some(held) = self.integers.get(part.start..part.start + part.count) {
                    head.copy_from_slice(held);
                }
            }
            row += part.count;
            rest = tail;
        }
        Ok(())
    }

    /// Fill `out` with floats.
    pub fn floats(
        &mut self,
        layout: &Layout,
        block: &[u8],
        element: Element,
        span: Span,
        out: &mut [f64],
    ) -> Result<()> {
        let (mut row, mut rest) = (span.start, out);
        while !rest.is_empty() {
            let part = part_at(row, rest.len(), layout.rows);
            let Some((head, tail)) = rest.split_at_mut_checked(part.count.max(1)) else { break };
            if part.count == part.size {
                decode::floats(
                    layout,
                    block,
                    element,
                    part.group,
                    self.scratch.get_or_insert_with(Scratch::new),
                    head,
                )?;
            } else {
                self.hold_floats(layout, block, element, span.block, &part)?;
                if let Some(held) = self.floats.get(part.start..part.start + part.count) {
                    head.copy_from_slice(held);
                }
            }
            row += part.count;
            rest = tail;
        }
        Ok(())
    }

    /// Fill `out` with plain values of the element's type.
    pub fn values(
        &mut self,
        layout: &Layout,
        block: &[u8],
        element: Element,
        span: Span,
        out: &mut [u8],
    ) -> Result<()> {
        let width = element.width();
        let (mut row, mut rest) = (span.start, out);
        while rest.len() >= width && width > 0 {
            let part = part_at(row, rest.len() / width, layout.rows);
            let Some((head, tail)) = rest.split_at_mut_checked(part.count.max(1) * width) else { break };
            let stop = part.start + part.count;
            let is_held = self.held == Some((span.block, part.group));
            if part.count == part.size {
                let scratch = self.scratch.get_or_insert_with(Scratch::new);
                decode::plain_values(layout, block, element, part.group, scratch, head)?;
            } else if part.count == 1
                && !is_held
                && decode::one_value(layout, block, element, part.group, part.start, head)?
            {
                // A point read: the group stays packed.
            } else if matches!(element, Element::F32 | Element::F64) {
                self.hold_floats(layout, block, element, span.block, &part)?;
                plain::write_floats(element, self.floats.get(part.start..stop).unwrap_or_default(), head);
                decode::restore_exceptions(layout, block, element, part.group, part.start, head);
            } else {
                self.hold_integers(layout, block, element, span.block, &part)?;
                plain::write_integers(element, self.integers.get(part.start..stop).unwrap_or_default(), head);
            }
            row += part.count;
            rest = tail;
        }
        Ok(())
    }

    fn hold_integers(
        &mut self,
        layout: &Layout,
        block: &[u8],
        element: Element,
        number: usize,
        part: &Part,
    ) -> Result<()> {
        if self.held == Some((number, part.group)) {
            return Ok(());
        }
        self.held = None;
        self.integers.resize(part.size, 0);
        decode::integers(
            layout,
            block,
            element,
            part.group,
            self.scratch.get_or_insert_with(Scratch::new),
            &mut self.integers,
        )?;
        self.held = Some((number, part.group));
        Ok(())
    }

    fn hold_floats(
        &mut self,
        layout: &Layout,
        block: &[u8],
        element: Element,
        number: usize,
        part: &Part,
    ) -> Result<()> {
        if self.held == Some((number, part.group)) {
            return Ok(());
        }
        self.held = None;
        self.floats.resize(part.size, 0.0);
        decode::floats(
            layout,
            block,
            element,
            part.group,
            self.scratch.get_or_insert_with(Scratch::new),
            &mut self.floats,
        )?;
        self.held = Some((number, part.group));
        Ok(())
    }
}

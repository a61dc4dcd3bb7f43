//! The loop over pieces, leaves and vectors; it stops where a budget or the output ends, and resumes from the state.
//!
//! Words at the start of a state, zeros at first:
//!
//! ```text
//! 0 done   1 piece   2 rows of it that are done   3 a leaf is open   4 its symbol   5 date   6 number
//! 7 rows of the open group   8 which of its keys are null   9 groups in the table   10 groups emitted
//! 11 the table is being emitted
//! ```
//!
//! For the rule of runs the keys and accumulators of the open group follow, for the rule of hash the table.

use std::ops::Range;

use crate::column::{Column, VECTOR_ROWS};
use crate::cursor::Cursor;
use crate::error::{KernelError, Result};

use super::aggregates::{self, Finished, Open};
use super::groups::{Runs, Source};
use super::layout::{Aggregate, LEAF_ROWS, Program, STATE_HEADER_WORDS};
use super::registers::Register;
use super::table::{Assigned, Table, damaged, write_row};
use super::together::{self, Together};
use super::vector::{self, Place, lost_register};

/// Words of a piece: part, start, stop, symbol, date, leaf row.
pub const PIECE_WORDS: usize = 6;
/// What a vector costs beside its rows, in rows, so that a budget holds for pieces of one row, too.
const VECTOR_COST: usize = 64;

/// What a call did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Output rows written.
    pub emitted: usize,
    /// Whether all pieces are done and all groups emitted.
    pub done: bool,
}

/// The words of the state's header by name.
struct State<'s> {
    header: &'s mut [i64; STATE_HEADER_WORDS],
    rest: &'s mut [i64],
}

const DONE: usize = 0;
const PIECE: usize = 1;
const OFFSET: usize = 2;
const OPEN: usize = 3;
const SYMBOL: usize = 4;
const DATE: usize = 5;
const LEAF: usize = 6;
const ROWS: usize = 7;
const NULLS: usize = 8;
const GROUPS: usize = 9;
const EMITTED: usize = 10;
const EMITTING: usize = 11;

/// The next rows to read: one vector or less, of one piece and one leaf.
#[derive(Debug, Clone, Copy)]
struct Step {
    part: usize,
    place: Place,
    leaf: i64,
}

/// Work through pieces until they are done, the output is full, or about `row_budget` rows were read.
///
/// `output` has the program's output words, each `capacity` rows; at least one row of room makes progress.
pub fn run(
    program: &Program,
    parts: &[Vec<Column<'_>>],
    pieces: &[[i64; PIECE_WORDS]],
    state: &mut [i64],
    output: &mut [i64],
    capacity: usize,
    row_budget: usize,
) -> Result<Progress> {
    if state.len() < program.state_words() {
        return Err(KernelError::InvalidArgument(format!(
            "state has {} words, expected {}",
            state.len(),
            program.state_words()
        )));
    }
    if capacity == 0 || output.len() != program.output_words * capacity {
        return Err(KernelError::InvalidArgument(format!(
            "output has {} words, expected {} for each of at least 1 row",
            output.len(),
            program.output_words
        )));
    }
    let (header, rest) = state.split_first_chunk_mut().ok_or_else(damaged)?;
    Run {
        program,
        parts,
        pieces,
        state: State { header, rest },
        outputs: output.chunks_exact_mut(capacity).collect(),
        capacity,
        emitted: 0,
        plan: Order::of(program)?,
        registers: program
            .instructions
            .iter()
            .zip(&program.classes)
            .map(|(instruction, class)| Register::new(*instruction, *class))
            .collect(),
        cursors: OpenParts::default(),
        selected: Vec::with_capacity(VECTOR_ROWS),
        runs: Runs::default(),
        assigned: Assigned::default(),
    }
    .all(row_budget)
}

/// Which instructions run when.
struct Order {
    /// Before rows are selected.
    condition: Vec<usize>,
    /// After.
    values: Vec<usize>,
    /// Registers of which only the selected rows are kept.
    kept: Vec<usize>,
    /// How each key is found.
    sources: Vec<Source>,
    /// Aggregates that are made in one pass.
    together: Option<Together>,
}

impl Order {
    fn of(program: &Program) -> Result<Self> {
        let sources: Vec<_> = program.keys.iter().map(|key| Source::of(program, *key)).collect();
        let mut kept: Vec<usize> =
            program.keys.iter().zip(&sources).filter_map(|(key, source)| source.register(*key)).collect();
        kept.extend(
            program
                .aggregates
                .iter()
                .filter(|aggregate| aggregate.kind != super::layout::Kind::Len)
                .map(|aggregate| aggregate.register),
        );
        kept.sort_unstable();
        kept.dedup();
        let before = needed(program, program.condition.as_slice())?;
        let after = needed(program, &kept)?;
        let numbers =
            |wanted: &dyn Fn(usize) -> bool| (0..program.instructions.len()).filter(|n| wanted(*n)).collect();
        let has = |set: &[bool], number: usize| set.get(number).copied().unwrap_or_default();
        Ok(Self {
            condition: numbers(&|number| has(&before, number)),
            values: numbers(&|number| has(&after, number) && !has(&before, number)),
            kept,
            sources,
            together: Together::find(&program.aggregates),
        })
    }
}

/// Mark the instructions that these registers need.
fn needed(program: &Program, registers: &[usize]) -> Result<Vec<bool>> {
    let mut marks = vec![false; program.instructions.len()];
    for register in registers {
        *marks.get_mut(*register).ok_or_else(lost_register)? = true;
    }
    for (number, instruction) in program.instructions.iter().enumerate().rev() {
        if marks.get(number).copied().unwrap_or_default() {
            for operand in instruction.operands().into_iter().flatten() {
                *marks.get_mut(operand).ok_or_else(lost_register)? = true;
            }
        }
    }
    Ok(marks)
}

/// Parts whose cursors are kept while others are read.
const KEPT_PARTS: usize = 16;

/// The cursors of the parts that were read last.
///
/// The rows of a symbol go from part to part, so each part is read a little at a time; a cursor that is kept
/// still holds the block that it decoded.
#[derive(Default)]
struct OpenParts<'a> {
    parts: Vec<(usize, Vec<Cursor<'a>>)>,
    now: usize,
}

impl<'a> OpenParts<'a> {
    /// Read a part that is open from now on; false where it isn't.
    fn turn_to(&mut self, part: usize) -> bool {
        if self.parts.get(self.now).is_some_and(|(open, _)| *open == part) {
            return true;
        }
        let found = self.parts.iter().position(|(open, _)| *open == part);
        self.now = found.unwrap_or(self.now);
        found.is_some()
    }

    /// Open a part and read it from now on; the one opened first goes where there are too many.
    fn open(&mut self, part: usize, cursors: Vec<Cursor<'a>>) {
        if self.parts.len() == KEPT_PARTS {
            self.parts.remove(0);
        }
        self.now = self.parts.len();
        self.parts.push((part, cursors));
    }

    /// The cursors of the part that is read.
    fn now(&mut self) -> &mut [Cursor<'a>] {
        self.parts.get_mut(self.now).map_or(&mut [], |(_, cursors)| cursors)
    }
}

struct Run<'p, 'a> {
    program: &'p Program,
    parts: &'p [Vec<Column<'a>>],
    pieces: &'p [[i64; PIECE_WORDS]],
    state: State<'p>,
    outputs: Vec<&'p mut [i64]>,
    capacity: usize,
    emitted: usize,
    plan: Order,
    registers: Vec<Register<'a>>,
    cursors: OpenParts<'a>,
    selected: Vec<u16>,
    runs: Runs,
    assigned: Assigned,
}

impl<'a> Run<'_, 'a> {
    fn all(mut self, row_budget: usize) -> Result<Progress> {
        let mut work = 0;
        while self.state.header[DONE] != 1 && work < row_budget.max(1) {
            if !self.step(&mut work)? {
                break;
            }
        }
        Ok(Progress { emitted: self.emitted, done: self.state.header[DONE] == 1 })
    }

    fn free(&self) -> usize {
        self.capacity - self.emitted
    }

    /// Do the next vector; false where the output is full.
    fn step(&mut self, work: &mut usize) -> Result<bool> {
        if self.state.header[EMITTING] != 0 {
            return self.emit_table();
        }
        let Some(step) = self.next_step()? else {
            if self.state.header[OPEN] != 0 {
                return self.close();
            }
            self.state.header[DONE] = 1;
            return Ok(true);
        };
        *work += step.place.count + VECTOR_COST;
        self.open_part(step.part)?;
        let selected = self.evaluate(step.place)?;
        if selected == 0 {
            self.state.header[OFFSET] += step.place.count as i64;
            return Ok(true);
        }
        if !self.program.hash {
            return self.add_runs(&step, selected);
        }
        if self.state.header[OPEN] != 0 && !self.is_open(&step) {
            return self.close();
        }
        self.add_to_table(&step, selected)
    }

    /// Find the next rows, after pieces that are done.
    fn next_step(&mut self) -> Result<Option<Step>> {
        loop {
            let number = usize::try_from(self.state.header[PIECE]).map_err(|_| damaged())?;
            let Some(piece) = self.pieces.get(number) else { return Ok(None) };
            let [part, start, stop, symbol, date, leaf_row] = *piece;
            let wrong = || {
                KernelError::InvalidArgument(format!(
                    "piece {number} is out of range: part {part}, rows {start} to {stop}, leaf row {leaf_row}"
                ))
            };
            let unsigned = |word: i64| usize::try_from(word).map_err(|_| wrong());
            let (part, start, stop) = (unsigned(part)?, unsigned(start)?, unsigned(stop)?);
            let offset = usize::try_from(self.state.header[OFFSET]).map_err(|_| damaged())?;
            let rows = stop.checked_sub(start).ok_or_else(wrong)?;
            let leaf_row = unsigned(leaf_row)? as u64;
            leaf_row.checked_add(rows as u64).filter(|last| *last < 1 << 62).ok_or_else(wrong)?;
            if offset >= rows {
                self.state.header[PIECE] += 1;
                self.state.header[OFFSET] = 0;
                continue;
            }
            let first_row = start + offset;
            let leaf = (leaf_row + offset as u64) / LEAF_ROWS;
            let to_leaf_end = (leaf + 1) * LEAF_ROWS - leaf_row - offset as u64;
            let to_vector_end = VECTOR_ROWS - first_row % VECTOR_ROWS;
            let count =
                (rows - offset).min(to_vector_end).min(usize::try_from(to_leaf_end).unwrap_or(usize::MAX));
            return Ok(Some(Step {
                part,
                place: Place { first_row, count, symbol, date },
                leaf: leaf as i64,
            }));
        }
    }

    /// Whether the step's leaf is the one last opened.
    fn is_open(&self, step: &Step) -> bool {
        self.state.header[SYMBOL] == step.place.symbol
            && self.state.header[DATE] == step.place.date
            && self.state.header[LEAF] == step.leaf
    }

    fn open_leaf(&mut self, step: &Step) {
        self.state.header[OPEN] = 1;
        self.state.header[SYMBOL] = step.place.symbol;
        self.state.header[DATE] = step.place.date;
        self.state.header[LEAF] = step.leaf;
    }

    /// Make the part the one that is read, with the cursors that it had before where they are still open.
    fn open_part(&mut self, part: usize) -> Result<()> {
        if self.cursors.turn_to(part) {
            return Ok(());
        }
        let columns = self.parts.get(part).ok_or_else(|| {
            KernelError::InvalidArgument(format!(
                "part {part} is out of range: there are {}",
                self.parts.len()
            ))
        })?;
        let mut cursors = Vec::with_capacity(self.program.columns.len());
        for position in &self.program.columns {
            let column = columns.get(*position).ok_or_else(|| {
                KernelError::InvalidArgument(format!(
                    "column {position} is out of range: part {part} has {}",
                    columns.len()
                ))
            })?;
            cursors.push(Cursor::new(*column)?);
        }
        self.cursors.open(part, cursors);
        Ok(())
    }

    /// Compute the registers of a vector and keep the selected rows in front; gives their number.
    fn evaluate(&mut self, place: Place) -> Result<usize> {
        self.execute(place, true)?;
        let Some(condition) = self.program.condition else {
            self.execute(place, false)?;
            return Ok(place.count);
        };
        let register = self.registers.get(condition).ok_or_else(lost_register)?;
        select(register, place.count, &mut self.selected);
        if self.selected.is_empty() {
            return Ok(0);
        }
        self.execute(place, false)?;
        if self.selected.len() < place.count {
            for number in &self.plan.kept {
                self.registers.get_mut(*number).ok_or_else(lost_register)?.compact(&self.selected);
            }
        }
        Ok(self.selected.len())
    }

    fn execute(&mut self, place: Place, condition: bool) -> Result<()> {
        let numbers = if condition { &self.plan.condition } else { &self.plan.values };
        for number in numbers {
            let instruction = self.program.instructions.get(*number).ok_or_else(lost_register)?;
            let (before, own) = self.registers.split_at_mut_checked(*number).ok_or_else(lost_register)?;
            let own = own.first_mut().ok_or_else(lost_register)?;
            vector::run(*instruction, before, own, self.cursors.now(), &self.program.constants, place)?;
        }
        Ok(())
    }

    /// Rows of the vector that are done when the first `taken` selected rows are.
    fn rows_done(&self, step: &Step, taken: usize, selected: usize) -> usize {
        if taken == selected {
            return step.place.count;
        }
        if selected == step.place.count {
            return taken;
        }
        self.selected.get(taken).map_or(step.place.count, |row| usize::from(*row))
    }

    /// Add selected rows by the rule of runs; false where the output is full.
    fn add_runs(&mut self, step: &Step, selected: usize) -> Result<bool> {
        let Self { program, plan, registers, runs, .. } = self;
        runs.find(program, &plan.sources, registers, step.place, selected)?;
        let is_open = self.state.header[OPEN] != 0;
        let goes_on = is_open && self.is_open(step) && self.continues(step);
        let closes = usize::from(is_open && !goes_on);
        let fitting = (self.free() + 1).saturating_sub(closes).min(self.runs.count());
        if fitting == 0 {
            return Ok(false);
        }
        if closes == 1 {
            self.close()?;
        }
        self.runs.ends.truncate(fitting);
        let taken = self.runs.ends.last().map_or(0, |end| *end as usize);
        let rows_done = self.rows_done(step, taken, selected);
        self.write_finished(step, goes_on)?;
        self.open_leaf(step);
        self.state.header[OFFSET] += rows_done as i64;
        self.emitted += fitting - 1;
        Ok(true)
    }

    /// Whether the first run has the keys of the open group.
    fn continues(&self, step: &Step) -> bool {
        let mut keys = self.state.rest.iter().zip(&self.plan.sources).enumerate();
        self.state.header[NULLS] == self.runs.null_bits(0)
            && keys.all(|(key, (word, source))| *word == self.runs.key(key, 0, *source, step.place))
    }

    /// Write the groups of all runs but the last, and make the last the open group.
    fn write_finished(&mut self, step: &Step, goes_on: bool) -> Result<()> {
        let program = self.program;
        let count = self.runs.count() - 1;
        let place = self.emitted..self.emitted + count;
        let (keys, accumulators) =
            self.state.rest.split_at_mut_checked(program.keys.len()).ok_or_else(damaged)?;
        let before = if goes_on {
            usize::try_from(self.state.header[ROWS]).map_err(|_| damaged())?
        } else {
            accumulators.fill(0);
            0
        };
        let (nulls, columns) = self.outputs.split_first_mut().ok_or_else(lost_register)?;
        let nulls = nulls.get_mut(place.clone()).ok_or_else(lost_register)?;
        nulls.fill(0);
        for (out, bits) in nulls.iter_mut().zip(&self.runs.nulls) {
            *out = *bits;
        }
        for ((number, column), source) in columns.iter_mut().enumerate().zip(&self.plan.sources) {
            let out = column.get_mut(place.clone()).ok_or_else(lost_register)?;
            match (source, self.runs.keys.get(number)) {
                (Source::Symbol, _) => out.fill(step.place.symbol),
                (Source::Date, _) => out.fill(step.place.date),
                (_, Some(values)) => out.copy_from_slice(values.get(..count).ok_or_else(lost_register)?),
                _ => return Err(lost_register()),
            }
        }
        let done = match self.plan.together {
            Some(found) => {
                let mut vector = OnePass {
                    registers: &self.registers,
                    ends: &self.runs.ends,
                    before,
                    accumulators,
                    columns,
                    place: place.clone(),
                };
                if vector.apply(&program.aggregates, found)? { Some(found) } else { None }
            }
            None => None,
        };
        for (number, aggregate) in program.aggregates.iter().enumerate() {
            if done.is_some_and(|done| done.has(number)) {
                continue;
            }
            let state = accumulators
                .get_mut(aggregate.state..aggregate.state + aggregate.state_words())
                .ok_or_else(damaged)?;
            let columns = columns.get_mut(aggregate.output - 1..).ok_or_else(lost_register)?;
            let (low, rest) = columns.split_first_mut().ok_or_else(lost_register)?;
            let low = low.get_mut(place.clone()).ok_or_else(lost_register)?;
            let high = match rest.first_mut() {
                Some(high) if aggregate.output_words() == 2 => {
                    high.get_mut(place.clone()).ok_or_else(lost_register)?
                }
                _ => &mut [],
            };
            let open = Open { rows: before, state };
            let finished = Finished { low, high, nulls };
            aggregates::apply(aggregate, &self.registers, &self.runs.ends, open, finished)?;
        }
        for (number, (word, source)) in keys.iter_mut().zip(&self.plan.sources).enumerate() {
            *word = self.runs.key(number, count, *source, step.place);
        }
        self.state.header[NULLS] = self.runs.null_bits(count);
        let last_start =
            count.checked_sub(1).and_then(|run| self.runs.ends.get(run)).map_or(0, |end| *end as usize);
        let last_rows = self.runs.ends.last().map_or(0, |end| *end as usize) - last_start;
        self.state.header[ROWS] = (last_rows + if count == 0 { before } else { 0 }) as i64;
        Ok(())
    }

    /// Add selected rows to the hash table; a full table is emitted, and a fresh one goes on.
    fn add_to_table(&mut self, step: &Step, selected: usize) -> Result<bool> {
        let mut groups = self.state.header[GROUPS];
        let mut table = Table::new(self.program, self.state.rest)?;
        let taken = table.add(self.program, &self.registers, selected, &mut groups, &mut self.assigned)?;
        self.state.header[GROUPS] = groups;
        self.open_leaf(step);
        self.state.header[OFFSET] += self.rows_done(step, taken, selected) as i64;
        if taken < selected {
            self.state.header[EMITTING] = 1;
        }
        Ok(true)
    }

    /// End the open leaf; false where the output is full.
    fn close(&mut self) -> Result<bool> {
        if self.program.hash {
            self.state.header[EMITTING] = 1;
            return self.emit_table();
        }
        if self.free() == 0 {
            return Ok(false);
        }
        let (keys, accumulators) =
            self.state.rest.split_at_checked(self.program.keys.len()).ok_or_else(damaged)?;
        let rows = usize::try_from(self.state.header[ROWS]).map_err(|_| damaged())?;
        let nulls = self.state.header[NULLS];
        write_row(self.program, keys, nulls, rows, accumulators, &mut self.outputs, self.emitted)?;
        self.emitted += 1;
        self.state.header[OPEN] = 0;
        Ok(true)
    }

    /// Emit groups of the table while there is room; false where the output is full.
    fn emit_table(&mut self) -> Result<bool> {
        let groups = usize::try_from(self.state.header[GROUPS]).map_err(|_| damaged())?;
        let mut number = usize::try_from(self.state.header[EMITTED]).map_err(|_| damaged())?;
        let mut table = Table::new(self.program, self.state.rest)?;
        while number < groups && self.emitted < self.capacity {
            table.emit(self.program, number, &mut self.outputs, self.emitted)?;
            table.clear(number)?;
            number += 1;
            self.emitted += 1;
        }
        self.state.header[EMITTED] = number as i64;
        if number < groups {
            return Ok(false);
        }
        self.state.header[OPEN] = 0;
        self.state.header[GROUPS] = 0;
        self.state.header[EMITTED] = 0;
        self.state.header[EMITTING] = 0;
        Ok(true)
    }
}

/// The four aggregates of bars in one pass over a vector, where none of their values is null.
struct OnePass<'r, 'o, 'a> {
    registers: &'r [Register<'a>],
    ends: &'r [u32],
    before: usize,
    accumulators: &'r mut [i64],
    columns: &'r mut [&'o mut [i64]],
    place: Range<usize>,
}

impl OnePass<'_, '_, '_> {
    /// Do it; false, with nothing done, where the values do not allow it.
    fn apply(&mut self, aggregates: &[Aggregate], found: Together) -> Result<bool> {
        let at = |number: usize| aggregates.get(number).copied().ok_or_else(lost_register);
        let (min, max, ints, floats) = (at(found.min)?, at(found.max)?, at(found.ints)?, at(found.floats)?);
        let register =
            |aggregate: Aggregate| self.registers.get(aggregate.register).ok_or_else(lost_register);
        let (prices, sizes, products) = (register(min)?, register(ints)?, register(floats)?);
        if prices.has_nulls || sizes.has_nulls || products.has_nulls {
            return Ok(false);
        }
        let count = self.ends.last().map_or(0, |end| *end as usize);
        let inputs = together::Inputs {
            prices: prices.floats(count),
            ints: sizes.ints(count),
            floats: products.floats(count),
            ends: self.ends,
            before: self.before,
        };
        let states = together::States {
            min: self.state(min)?,
            max: self.state(max)?,
            ints: self.state(ints)?,
            floats: self.state(floats)?,
        };
        let places = [min.output, max.output, ints.output, ints.output + 1, floats.output];
        let columns = self.columns.get_disjoint_mut(places.map(|column| column - 1));
        let columns = columns.map_err(|_| lost_register())?;
        let outputs = columns.map(|column| column.get_mut(self.place.clone()).unwrap_or_default());
        let Some(states) = together::apply(&inputs, states, outputs) else { return Ok(false) };
        self.set_state(min, &states.min)?;
        self.set_state(max, &states.max)?;
        self.set_state(ints, &states.ints)?;
        self.set_state(floats, &states.floats)?;
        Ok(true)
    }

    fn state<const N: usize>(&self, aggregate: Aggregate) -> Result<[i64; N]> {
        let words = self.accumulators.get(aggregate.state..).and_then(|words| words.first_chunk());
        words.copied().ok_or_else(damaged)
    }

    fn set_state<const N: usize>(&mut self, aggregate: Aggregate, words: &[i64; N]) -> Result<()> {
        let state = self.accumulators.get_mut(aggregate.state..).and_then(|words| words.first_chunk_mut());
        *state.ok_or_else(damaged)? = *words;
        Ok(())
    }
}

/// List the rows where the condition is true and not null.
fn select(condition: &Register<'_>, count: usize, selected: &mut Vec<u16>) {
    selected.clear();
    let values = condition.bools(count);
    match condition.validity(count) {
        None if values.iter().fold(true, |all, value| all & (*value == 1)) => {
            selected.extend(0..count as u16)
        }
        None => {
            selected.extend((0..).zip(values).filter(|(_, value)| **value == 1).map(|(row, _)| row));
        }
        Some(validity) => {
            let pairs = values.iter().zip(validity);
            selected.extend(
                (0..).zip(pairs).filter(|(_, (value, valid))| **value & **valid == 1).map(|(row, _)| row),
            );
        }
    }
}

//! As-of joins: for each left time the right row that belongs to it, by merging sorted times.
//!
//! Backward takes the last right row at or before the time, forward the row with the first time at or after it,
//! nearest the closer of both and of two equally close the later.  Among equal right times the last stored row wins,
//! as q's `aj` has it.  Null times and null codes match nothing.
//!
//! Without codes, and without null right times, one merge finds the place of each left time.  With codes one row
//! a code is remembered, ascending for backward, descending for forward, both for nearest.
//!
//! State, zeros at first: `0 done   1 phase   2 pair   3 left rows done   4 right rows done`, then for each code
//! `row + 1, time` of what is remembered.

use crate::column::{Column, VECTOR_ROWS};
use crate::cursor::Cursor;
use crate::error::{KernelError, Result};
use crate::isa::{Isa, Kernel, dispatch};
use crate::search::{Side, Sorted};

/// Words of a pair: left part, start, stop, right part, start, stop, position in the output.
pub const PAIR_WORDS: usize = 7;
const HEADER_WORDS: usize = 5;
/// What a pair costs beside its rows, in rows.
const PAIR_COST: usize = 64;

const DONE: usize = 0;
const PHASE: usize = 1;
const PAIR: usize = 2;
const LEFT: usize = 3;
const RIGHT: usize = 4;

/// Which right row belongs to a left time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The last at or before it.
    Backward,
    /// The first time at or after it.
    Forward,
    /// The closer of both.
    Nearest,
}

impl Strategy {
    /// Read a strategy from its number.
    pub fn from_id(id: i64) -> Result<Self> {
        match id {
            0 => Ok(Self::Backward),
            1 => Ok(Self::Forward),
            2 => Ok(Self::Nearest),
            _ => Err(KernelError::InvalidArgument(format!("unknown strategy {id}: expected 0 to 2"))),
        }
    }
}

/// What is joined; columns by part.
#[derive(Debug, Clone, Copy)]
pub struct Join<'j, 'a> {
    /// Times of the left.
    pub left: &'j [Column<'a>],
    /// Times of the right.
    pub right: &'j [Column<'a>],
    /// Codes of both, in one space, 0 to `codes - 1`; empty for a join by time alone.
    pub left_by: &'j [Column<'a>],
    /// Codes of the right.
    pub right_by: &'j [Column<'a>],
    /// Number of codes.
    pub codes: usize,
    /// Which row.
    pub strategy: Strategy,
    /// Greatest distance in time, -1 for any.
    pub tolerance: i64,
}

impl Join<'_, '_> {
    /// Words of state that the join needs.
    pub fn state_words(codes: usize) -> usize {
        HEADER_WORDS + 2 * codes.max(1)
    }

    fn is_near(&self, left: i64, right: i64) -> bool {
        self.tolerance < 0 || left.abs_diff(right) <= self.tolerance.unsigned_abs()
    }
}

/// One pair, checked.
#[derive(Debug, Clone, Copy)]
struct Pair {
    left_part: usize,
    left_start: usize,
    left_stop: usize,
    right_part: usize,
    right_start: usize,
    right_stop: usize,
    position: usize,
}

impl Pair {
    fn parse(words: &[i64; PAIR_WORDS], join: &Join<'_, '_>, room: usize) -> Result<Self> {
        let wrong = || KernelError::InvalidArgument(format!("pair {words:?} is out of range"));
        let mut numbers = [0; PAIR_WORDS];
        for (number, word) in numbers.iter_mut().zip(words) {
            *number = usize::try_from(*word).map_err(|_| wrong())?;
        }
        let [left_part, left_start, left_stop, right_part, right_start, right_stop, position] = numbers;
        let fits = |columns: &[Column<'_>], part: usize, start: usize, stop: usize| {
            start <= stop && columns.get(part).is_some_and(|column| stop <= column.rows)
        };
        let has_room = left_stop.checked_sub(left_start).and_then(|rows| position.checked_add(rows));
        let by_fits = join.codes == 0
            || (fits(join.left_by, left_part, left_start, left_stop)
                && fits(join.right_by, right_part, right_start, right_stop));
        if fits(join.left, left_part, left_start, left_stop)
            && fits(join.right, right_part, right_start, right_stop)
            && by_fits
            && has_room.is_some_and(|stop| stop <= room)
        {
            Ok(Self { left_part, left_start, left_stop, right_part, right_start, right_stop, position })
        } else {
            Err(wrong())
        }
    }
}

/// Fill `out` with right row numbers, or -1; true where all pairs are done, false where the budget is spent.
pub fn asof_rows(
    join: &Join<'_, '_>,
    pairs: &[[i64; PAIR_WORDS]],
    state: &mut [i64],
    out: &mut [i64],
    row_budget: usize,
) -> Result<bool> {
    if state.len() < Join::state_words(join.codes) {
        return Err(KernelError::InvalidArgument(format!(
            "state has {} words, expected {}",
            state.len(),
            Join::state_words(join.codes)
        )));
    }
    let (header, table) = state.split_first_chunk_mut::<HEADER_WORDS>().ok_or_else(damaged)?;
    let mut work = 0;
    while header[DONE] != 1 && work < row_budget.max(1) {
        let number = usize::try_from(header[PAIR]).map_err(|_| damaged())?;
        let Some(words) = pairs.get(number) else {
            header[DONE] = 1;
            break;
        };
        let pair = Pair::parse(words, join, out.len())?;
        let (left, right) = (lookup(join.left, pair.left_part)?, lookup(join.right, pair.right_part)?);
        let rows = pair.left_stop - pair.left_start;
        let out = out.get_mut(pair.position..pair.position + rows).ok_or_else(damaged)?;
        let budget = row_budget.max(1) - work;
        let mut progress = Progress::of(header, rows, pair.right_stop - pair.right_start)?;
        work += PAIR_COST;
        let is_done = if join.codes == 0 && right.validity.is_none() {
            Merge::new(join, &pair, left, right)?.run(&mut progress, out, budget, &mut work)?
        } else {
            let mut lookup = Remembering::new(join, &pair, left, right, table)?;
            lookup.run(&mut progress, out, budget, &mut work)?
        };
        progress.store(header);
        if is_done {
            header[PAIR] += 1;
            header[PHASE] = 0;
            header[LEFT] = 0;
            header[RIGHT] = 0;
        }
    }
    Ok(header[DONE] == 1)
}

fn lookup<'j, 'a>(columns: &'j [Column<'a>], part: usize) -> Result<&'j Column<'a>> {
    columns.get(part).ok_or_else(damaged)
}

fn damaged() -> KernelError {
    KernelError::InvalidArgument("the state isn't one that this join left; start with zeros".to_owned())
}

/// How far a pair is.
struct Progress {
    phase: i64,
    left: usize,
    right: usize,
}

impl Progress {
    fn of(header: &[i64; HEADER_WORDS], left_rows: usize, right_rows: usize) -> Result<Self> {
        let within = |word: i64, most: usize| {
            usize::try_from(word).ok().filter(|number| *number <= most).ok_or_else(damaged)
        };
        Ok(Self {
            phase: header[PHASE],
            left: within(header[LEFT], left_rows)?,
            right: within(header[RIGHT], right_rows)?,
        })
    }

    fn store(&self, header: &mut [i64; HEADER_WORDS]) {
        header[PHASE] = self.phase;
        header[LEFT] = self.left as i64;
        header[RIGHT] = self.right as i64;
    }
}

/// One vector of a column at a time, kept until another is asked for.
struct Vector<'a> {
    cursor: Cursor<'a>,
    start: usize,
    stop: usize,
    first: usize,
    values: Vec<i64>,
    view: Option<&'a [i64]>,
    validity: Vec<u8>,
    has_nulls: bool,
}

impl<'a> Vector<'a> {
    fn new(column: &Column<'a>, start: usize, stop: usize) -> Result<Self> {
        Ok(Self {
            cursor: Cursor::new(*column)?,
            start,
            stop,
            first: 0,
            values: Vec::with_capacity(VECTOR_ROWS),
            view: None,
            validity: Vec::new(),
            has_nulls: false,
        })
    }

    /// The values from `row` to the end of its vector; `row` is one of the rows.
    fn from(&mut self, row: usize) -> Result<&[i64]> {
        self.open(row)?;
        Ok(self.slice().get(row - self.first..).unwrap_or_default())
    }

    /// The value of a row, or `None` where it is null.
    fn value(&mut self, row: usize) -> Result<Option<i64>> {
        self.open(row)?;
        let place = row - self.first;
        let is_valid = !self.has_nulls || self.validity.get(place).is_some_and(|valid| *valid == 1);
        Ok(if is_valid { self.slice().get(place).copied() } else { None })
    }

    fn slice(&self) -> &[i64] {
        self.view.unwrap_or(&self.values)
    }

    fn open(&mut self, row: usize) -> Result<()> {
        if row >= self.first && row - self.first < self.slice().len() {
            return Ok(());
        }
        let first = (row - row % VECTOR_ROWS).max(self.start);
        let stop = (row - row % VECTOR_ROWS + VECTOR_ROWS).min(self.stop);
        let count = stop.saturating_sub(first);
        self.view = None;
        self.values.resize(count, 0);
        self.validity.resize(count, 1);
        self.view = self.cursor.integers(first, true, &mut self.values)?;
        let codes = self.view.unwrap_or(&self.values);
        self.has_nulls = self.cursor.validity(first, codes, &mut self.validity);
        self.first = first;
        Ok(())
    }
}

/// Times alone: the place of each left time among the right ones.
struct Merge<'j, 'a> {
    join: &'j Join<'j, 'a>,
    pair: &'j Pair,
    left: Vector<'a>,
    right: Vector<'a>,
    /// Right times beside a place; apart from `right`, which runs ahead.
    beside: Vector<'a>,
    sorted: Sorted<'a>,
    places: Vec<usize>,
    /// The last forward answer: a place, and the last row of its time.
    last_equal: Option<(usize, usize)>,
}

impl<'j, 'a> Merge<'j, 'a> {
    fn new(join: &'j Join<'j, 'a>, pair: &'j Pair, left: &Column<'a>, right: &Column<'a>) -> Result<Self> {
        Ok(Self {
            join,
            pair,
            left: Vector::new(left, pair.left_start, pair.left_stop)?,
            right: Vector::new(right, pair.right_start, pair.right_stop)?,
            beside: Vector::new(right, pair.right_start, pair.right_stop)?,
            sorted: Sorted::new(*right)?,
            places: Vec::with_capacity(VECTOR_ROWS),
            last_equal: None,
        })
    }

    fn run(
        &mut self,
        progress: &mut Progress,
        out: &mut [i64],
        budget: usize,
        work: &mut usize,
    ) -> Result<bool> {
        let rows = self.pair.left_stop - self.pair.left_start;
        let mut spent = 0;
        while progress.left < rows {
            if spent >= budget {
                *work += spent;
                return Ok(false);
            }
            let first = self.pair.left_start + progress.left;
            let before = progress.right;
            let mut place = self.pair.right_start + progress.right;
            let count = self.find_places(first, &mut place)?;
            self.answer(first, count, out.get_mut(progress.left..).unwrap_or_default())?;
            progress.left += count;
            progress.right = place - self.pair.right_start;
            spent += count + progress.right - before;
        }
        *work += spent;
        Ok(true)
    }

    /// Find the first right row after each time of the left vector at `first`; gives the number of times.
    fn find_places(&mut self, first: usize, place: &mut usize) -> Result<usize> {
        self.places.clear();
        let left = self.left.from(first)?;
        if !left.is_sorted() {
            return Err(KernelError::Unsorted(format!(
                "left times of an as-of join don't ascend between rows {first} and {}",
                first + left.len()
            )));
        }
        let count = left.len();
        let mut skipped = 0;
        while self.places.len() < count {
            if *place >= self.pair.right_stop {
                self.places.resize(count, self.pair.right_stop);
                break;
            }
            let left = left.get(self.places.len()..).unwrap_or_default();
            let right = self.right.from(*place)?;
            let found = self.places.len();
            *place = dispatch(Places { left, right, base: *place, places: &mut self.places });
            skipped = if self.places.len() == found { skipped + 1 } else { 0 };
            if skipped >= 2
                && let Some(time) = left.first()
            {
                *place = gallop(&mut self.sorted, *place, self.pair.right_stop, *time)?;
            }
        }
        Ok(count)
    }

    /// Turn places into answers.
    fn answer(&mut self, first: usize, count: usize, out: &mut [i64]) -> Result<()> {
        let start = self.pair.right_start;
        let is_plain = self.join.strategy == Strategy::Backward && self.join.tolerance < 0;
        let places = std::mem::take(&mut self.places);
        for (number, (out, place)) in out.iter_mut().zip(&places).take(count).enumerate() {
            let before = if *place > start { Some(place - 1) } else { None };
            if is_plain && !self.left.has_nulls {
                *out = before.map_or(-1, |row| row as i64);
                continue;
            }
            *out = -1;
            if let Some(time) = self.left.value(first + number)? {
                *out = self.choose(time, before, *place)?;
            }
        }
        self.places = places;
        Ok(())
    }

    /// Choose between the row before a place and the rows from it on.
    fn choose(&mut self, time: i64, before: Option<usize>, place: usize) -> Result<i64> {
        let before = match before {
            Some(row) => self.beside.value(row)?.map(|found| (row, found)),
            None => None,
        };
        let best = match (self.join.strategy, before) {
            (Strategy::Backward, before) => before,
            (_, Some((row, found))) if found == time => Some((row, found)),
            (strategy, before) => {
                let after = self.after(place)?;
                match (strategy, before, after) {
                    (Strategy::Nearest, Some(before), Some(after)) => {
                        if after.1.abs_diff(time) <= before.1.abs_diff(time) {
                            Some(after)
                        } else {
                            Some(before)
                        }
                    }
                    (Strategy::Nearest, Some(before), None) => Some(before),
                    (_, _, after) => after,
                }
            }
        };
        Ok(best.filter(|(_, found)| self.join.is_near(time, *found)).map_or(-1, |(row, _)| row as i64))
    }

    /// The last row of the time at a place.
    fn after(&mut self, place: usize) -> Result<Option<(usize, i64)>> {
        if place >= self.pair.right_stop {
            return Ok(None);
        }
        let Some(time) = self.beside.value(place)? else { return Ok(None) };
        let row = match self.last_equal {
            Some((at, row)) if at == place => row,
            _ => {
                let mut row = place;
                while row + 1 < self.pair.right_stop && self.beside.value(row + 1)? == Some(time) {
                    row += 1;
                }
                row
            }
        };
        self.last_equal = Some((place, row));
        Ok(Some((row, time)))
    }
}

/// Leap over right rows at or before `time` by steps that double, then search.
fn gallop(sorted: &mut Sorted<'_>, place: usize, stop: usize, time: i64) -> Result<usize> {
    let (mut low, mut step) = (place, VECTOR_ROWS);
    loop {
        let high = low.saturating_add(step).min(stop);
        let found = sorted.search_ordered(low, high, time, Side::Right)?;
        if found < high || high == stop {
            return Ok(found);
        }
        low = high;
        step *= 2;
    }
}

/// For each left time the first right row above it, while there is one; gives the right row reached.
struct Places<'v> {
    left: &'v [i64],
    right: &'v [i64],
    base: usize,
    places: &'v mut Vec<usize>,
}

impl Kernel for Places<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<I: Isa>(self) -> usize {
        let mut rest = self.right;
        for time in self.left {
            while let Some((chunk, behind)) = rest.split_first_chunk::<8>() {
                let above = chunk
                    .iter()
                    .enumerate()
                    .fold(0_i64, |above, (bit, value)| above | if *value > *time { 1 << bit } else { 0 });
                if above != 0 {
                    rest = rest.get(above.trailing_zeros() as usize..).unwrap_or_default();
                    break;
                }
                rest = behind;
            }
            if rest.len() < 8 {
                let passed = rest.iter().take_while(|value| **value <= *time).count();
                rest = rest.get(passed..).unwrap_or_default();
                if rest.is_empty() {
                    break;
                }
            }
            self.places.push(self.base + self.right.len() - rest.len());
        }
        self.base + self.right.len() - rest.len()
    }
}

/// One row a code is remembered while both sides are passed, upwards or downwards.
struct Remembering<'j, 'a> {
    join: &'j Join<'j, 'a>,
    pair: &'j Pair,
    left: Vector<'a>,
    right: Vector<'a>,
    left_by: Option<Vector<'a>>,
    right_by: Option<Vector<'a>>,
    beside: Vector<'a>,
    /// Two words a code: row + 1, time.
    table: &'j mut [[i64; 2]],
}

impl<'j, 'a> Remembering<'j, 'a> {
    fn new(
        join: &'j Join<'j, 'a>,
        pair: &'j Pair,
        left: &Column<'a>,
        right: &Column<'a>,
        table: &'j mut [i64],
    ) -> Result<Self> {
        let by = |columns: &[Column<'a>], part, start, stop| -> Result<Option<Vector<'a>>> {
            if join.codes == 0 {
                return Ok(None);
            }
            Ok(Some(Vector::new(lookup(columns, part)?, start, stop)?))
        };
        Ok(Self {
            join,
            pair,
            left: Vector::new(left, pair.left_start, pair.left_stop)?,
            right: Vector::new(right, pair.right_start, pair.right_stop)?,
            left_by: by(join.left_by, pair.left_part, pair.left_start, pair.left_stop)?,
            right_by: by(join.right_by, pair.right_part, pair.right_start, pair.right_stop)?,
            beside: Vector::new(right, pair.right_start, pair.right_stop)?,
            table: table.as_chunks_mut().0,
        })
    }

    fn run(
        &mut self,
        progress: &mut Progress,
        out: &mut [i64],
        budget: usize,
        work: &mut usize,
    ) -> Result<bool> {
        let mut spent = 0;
        if progress.phase == 0 {
            self.table.as_flattened_mut().fill(0);
            spent += self.table.len() / 8;
            progress.phase = if self.join.strategy == Strategy::Forward { 2 } else { 1 };
        }
        loop {
            let is_done = self.pass(progress, out, budget, &mut spent)?;
            if is_done && progress.phase == 1 && self.join.strategy == Strategy::Nearest {
                self.table.as_flattened_mut().fill(0);
                *progress = Progress { phase: 2, left: 0, right: 0 };
                continue;
            }
            *work += spent;
            return Ok(is_done);
        }
    }

    /// Pass both sides, upwards in phase 1, downwards in phase 2.
    fn pass(
        &mut self,
        progress: &mut Progress,
        out: &mut [i64],
        budget: usize,
        spent: &mut usize,
    ) -> Result<bool> {
        let upwards = progress.phase == 1;
        let left_rows = self.pair.left_stop - self.pair.left_start;
        let right_rows = self.pair.right_stop - self.pair.right_start;
        let row_at =
            |done: usize, start: usize, stop: usize| if upwards { start + done } else { stop - 1 - done };
        while progress.left < left_rows {
            if *spent >= budget {
                return Ok(false);
            }
            let left_row = row_at(progress.left, self.pair.left_start, self.pair.left_stop);
            let Some(time) = self.left.value(left_row)? else {
                self.answer(left_row, None, out, upwards)?;
                progress.left += 1;
                *spent += 1;
                continue;
            };
            while progress.right < right_rows {
                if *spent >= budget {
                    return Ok(false);
                }
                let right_row = row_at(progress.right, self.pair.right_start, self.pair.right_stop);
                match self.right.value(right_row)? {
                    Some(found) if (upwards && found > time) || (!upwards && found < time) => break,
                    Some(found) => self.remember(right_row, found, upwards)?,
                    None => {}
                }
                progress.right += 1;
                *spent += 1;
            }
            self.answer(left_row, Some(time), out, upwards)?;
            progress.left += 1;
            *spent += 1;
        }
        Ok(true)
    }

    fn remember(&mut self, row: usize, time: i64, upwards: bool) -> Result<()> {
        let Some(code) = code_of(&mut self.right_by, row)? else { return Ok(()) };
        let slot = self.table.get_mut(code).ok_or_else(|| wrong_code(code))?;
        // Downwards, the first row seen of a time is the last stored one.
        if upwards || slot[0] == 0 || slot[1] != time {
            *slot = [row as i64 + 1, time];
        }
        Ok(())
    }

    fn answer(&mut self, row: usize, time: Option<i64>, out: &mut [i64], upwards: bool) -> Result<()> {
        let slot = out.get_mut(row - self.pair.left_start).ok_or_else(damaged)?;
        let is_second = !upwards && self.join.strategy == Strategy::Nearest;
        if !is_second {
            *slot = -1;
        }
        let (Some(time), Some(code)) = (time, code_of(&mut self.left_by, row)?) else { return Ok(()) };
        let [found_row, found] = *self.table.get(code).ok_or_else(|| wrong_code(code))?;
        if found_row == 0 || !self.join.is_near(time, found) {
            return Ok(());
        }
        if is_second && *slot >= 0 {
            let before = usize::try_from(*slot).map_err(|_| damaged())?;
            if before < self.pair.right_start || before >= self.pair.right_stop {
                return Err(damaged());
            }
            if let Some(before) = self.beside.value(before)?
                && before.abs_diff(time) < found.abs_diff(time)
            {
                return Ok(());
            }
        }
        *slot = found_row - 1;
        Ok(())
    }
}

/// The code of a row; 0 without codes, `None` for null.
fn code_of(by: &mut Option<Vector<'_>>, row: usize) -> Result<Option<usize>> {
    match by {
        None => Ok(Some(0)),
        Some(codes) => match codes.value(row)? {
            None => Ok(None),
            Some(code) => Ok(Some(usize::try_from(code).map_err(|_| wrong_code(usize::MAX))?)),
        },
    }
}

fn wrong_code(code: usize) -> KernelError {
    KernelError::InvalidArgument(format!("code {code} of an as-of join is out of range"))
}

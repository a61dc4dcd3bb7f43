//! Where runs of equal keys end, within one vector of selected rows.

use crate::column::VECTOR_ROWS;
use crate::error::Result;
use crate::isa::{Isa, Kernel, dispatch};

use super::layout::{Class, Instruction, Key, Program};
use super::registers::Register;
use super::vector::{self, Bucket, Place};

/// How the values of a key are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The piece's symbol.
    Symbol,
    /// The piece's date.
    Date,
    /// Buckets of a register, found by their ends instead of by a division a row.
    Bucket { of: usize, width: i64, offset: i64 },
    /// A register.
    Register,
}

impl Source {
    /// Find the cheapest way to a key; `hash` needs its register in any case.
    pub fn of(program: &Program, key: Key) -> Self {
        match program.instructions.get(key.register) {
            _ if program.hash => Self::Register,
            Some(Instruction::LoadSymbol) => Self::Symbol,
            Some(Instruction::LoadDate) => Self::Date,
            Some(&Instruction::Bucket { a, width, offset }) => Self::Bucket { of: a, width, offset },
            _ => Self::Register,
        }
    }

    /// The register that is read for it.
    pub fn register(self, key: Key) -> Option<usize> {
        match self {
            Self::Symbol | Self::Date => None,
            Self::Bucket { of, .. } => Some(of),
            Self::Register => Some(key.register),
        }
    }
}

/// Runs of equal keys in one vector.
pub struct Runs {
    /// The row after each run; the last is the number of rows.
    pub ends: Vec<u32>,
    /// Per key, its value in each run; empty for symbol and date, which stay.
    pub keys: Vec<Vec<i64>>,
    /// Per run, one bit a key that is null; empty where none is.
    pub nulls: Vec<i64>,
    changes: Vec<u8>,
    words: Vec<i64>,
    bucket: Option<Bucket>,
    numbers: Box<[f64; VECTOR_ROWS]>,
}

impl Default for Runs {
    fn default() -> Self {
        Self {
            ends: Vec::new(),
            keys: Vec::new(),
            nulls: Vec::new(),
            changes: Vec::new(),
            words: Vec::new(),
            bucket: None,
            numbers: Box::new([0.0; VECTOR_ROWS]),
        }
    }
}

impl Runs {
    /// Number of runs.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Value of a key in a run.
    pub fn key(&self, key: usize, run: usize, source: Source, place: Place) -> i64 {
        match source {
            Source::Symbol => place.symbol,
            Source::Date => place.date,
            _ => self.keys.get(key).and_then(|values| values.get(run)).copied().unwrap_or_default(),
        }
    }

    /// Which keys are null in a run.
    pub fn null_bits(&self, run: usize) -> i64 {
        self.nulls.get(run).copied().unwrap_or_default()
    }

    /// Find the runs of the first `count` rows of the registers.
    pub fn find<'a>(
        &mut self,
        program: &Program,
        sources: &[Source],
        registers: &mut [Register<'a>],
        place: Place,
        count: usize,
    ) -> Result<()> {
        self.ends.clear();
        self.nulls.clear();
        self.keys.resize_with(sources.len(), Vec::new);
        self.keys.iter_mut().for_each(Vec::clear);
        let mut varying =
            sources.iter().enumerate().filter(|(_, source)| !matches!(source, Source::Symbol | Source::Date));
        match (varying.next(), varying.next()) {
            (None, _) => {
                self.ends.push(count as u32);
                Ok(())
            }
            (Some((key, &Source::Bucket { of, width, offset })), None)
                if registers.get(of).is_some_and(|register| !register.has_nulls) =>
            {
                let values = registers.get(of).map(|register| register.ints(count)).unwrap_or_default();
                let starts = self.keys.get_mut(key).ok_or_else(vector::lost_register)?;
                let bucket = self.bucket.unwrap_or(Bucket::EMPTY);
                self.bucket = Some(dispatch(BucketRuns {
                    values,
                    width,
                    offset,
                    bucket,
                    ends: &mut self.ends,
                    starts,
                    numbers: &mut self.numbers,
                }));
                Ok(())
            }
            _ => self.find_changes(program, sources, registers, place, count),
        }
    }

    /// Any keys: mark the rows where one differs from the row before.
    fn find_changes<'a>(
        &mut self,
        program: &Program,
        sources: &[Source],
        registers: &mut [Register<'a>],
        place: Place,
        count: usize,
    ) -> Result<()> {
        self.changes.clear();
        self.changes.resize(count, 0);
        for (source, key) in sources.iter().zip(&program.keys) {
            if let (Source::Bucket { .. }, Some(&instruction)) =
                (source, program.instructions.get(key.register))
            {
                let (before, own) =
                    registers.split_at_mut_checked(key.register).ok_or_else(vector::lost_register)?;
                let own = own.first_mut().ok_or_else(vector::lost_register)?;
                vector::run(instruction, before, own, &mut [], &[], Place { count, ..place })?;
            }
            if matches!(source, Source::Symbol | Source::Date) {
                continue;
            }
            let register = registers.get(key.register).ok_or_else(vector::lost_register)?;
            key_words(register, *key, count, &mut self.words);
            dispatch(Changes { values: &self.words, changes: &mut self.changes });
            if let Some(validity) = register.validity(count) {
                dispatch(Changes { values: validity, changes: &mut self.changes });
            }
        }
        self.ends.extend(
            (1..).zip(self.changes.iter().skip(1)).filter(|(_, change)| **change != 0).map(|(row, _)| row),
        );
        self.ends.push(count as u32);
        let starts = || std::iter::once(0).chain(self.ends.iter().copied()).take(self.ends.len());
        for (number, ((source, key), values)) in
            sources.iter().zip(&program.keys).zip(&mut self.keys).enumerate()
        {
            if matches!(source, Source::Symbol | Source::Date) {
                continue;
            }
            let register = registers.get(key.register).ok_or_else(vector::lost_register)?;
            key_words(register, *key, count, &mut self.words);
            let words = &self.words;
            values.extend(starts().map(|row| words.get(row as usize).copied().unwrap_or_default()));
            if register.has_nulls {
                self.nulls.resize(self.ends.len(), 0);
                for (bits, row) in self.nulls.iter_mut().zip(starts()) {
                    *bits |= i64::from(!register.is_valid(row as usize)) << number;
                }
            }
        }
        Ok(())
    }
}

/// The words of a key: equal exactly where the keys are; 0 for null, one form of NaN and of zero.
pub fn key_words(register: &Register<'_>, key: Key, count: usize, words: &mut Vec<i64>) {
    words.clear();
    match key.class {
        Class::Float => words.extend(register.floats(count).iter().map(|value| float_key(*value))),
        _ => words.extend_from_slice(register.ints(count)),
    }
    if let Some(validity) = register.validity(count) {
        for (word, valid) in words.iter_mut().zip(validity) {
            *word &= -i64::from(*valid);
        }
    }
}

fn float_key(value: f64) -> i64 {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    value.to_bits() as i64
}

struct Changes<'v, T> {
    values: &'v [T],
    changes: &'v mut [u8],
}

impl<T: PartialEq> Kernel for Changes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let pairs = self.values.iter().zip(self.values.iter().skip(1));
        for (change, (before, value)) in self.changes.iter_mut().skip(1).zip(pairs) {
            *change |= u8::from(before != value);
        }
    }
}

/// Runs of buckets without a division a row.
///
/// Buckets are numbered from that of the first value, by a product of floats and one correction; where the
/// values go down, or reach too far for that, each run is followed to its end instead.
struct BucketRuns<'v> {
    values: &'v [i64],
    width: i64,
    offset: i64,
    bucket: Bucket,
    ends: &'v mut Vec<u32>,
    starts: &'v mut Vec<i64>,
    numbers: &'v mut [f64; VECTOR_ROWS],
}

/// Buckets that one vector may span to be numbered: products are off by less than 2^-30 then.
const MOST_BUCKETS: i64 = 1 << 20;
/// Distances below it are exact as floats, and so is their sum with 2^52.
const MOST_DISTANCE: i64 = 1 << 51;
/// Rows of a bucket from which following it is faster than numbering its rows.
const LONG_RUN: usize = 64;
const TWO_52: f64 = 4_503_599_627_370_496.0;

impl Kernel for BucketRuns<'_> {
    type Output = Bucket;

    #[inline(always)]
    fn run<I: Isa>(self) -> Bucket {
        let Some(first) = self.values.first() else { return self.bucket };
        let first = if self.bucket.holds(*first) {
            self.bucket
        } else {
            self.bucket.next(*first, self.width, self.offset)
        };
        let farthest =
            self.values.iter().fold(0, |most: u64, value| most | value.wrapping_sub(first.low) as u64);
        if first.low != first.start
            || farthest >= MOST_DISTANCE.min(self.width.saturating_mul(MOST_BUCKETS)) as u64
        {
            return self.follow(first);
        }
        if farthest < self.width as u64 {
            self.ends.push(self.values.len() as u32);
            self.starts.push(first.start);
            return first;
        }
        // Following costs a search a bucket, numbering a few operations a row.
        if farthest / (self.width as u64) < (self.values.len() / LONG_RUN) as u64 {
            return self.follow(first);
        }
        self.number(first)
    }
}

impl BucketRuns<'_> {
    /// Number all buckets, then list where the number changes.
    #[inline(always)]
    fn number(self, first: Bucket) -> Bucket {
        let width = self.width as f64;
        let inverse = 1.0 / width;
        for (number, value) in self.numbers.iter_mut().zip(self.values) {
            let distance = f64::from_bits(value.wrapping_sub(first.low) as u64 | TWO_52.to_bits()) - TWO_52;
            let nearest = (distance * inverse + TWO_52) - TWO_52;
            *number = if distance < nearest * width { nearest - 1.0 } else { nearest };
        }
        let numbers = self.numbers.get(..self.values.len()).unwrap_or_default();
        self.ends.resize(numbers.len(), 0);
        let ends = self.ends.as_mut_slice();
        let mut count = 0;
        let mut before = 0.0;
        // The end of a run is written at each row, and stays where the next row has another number.
        for (row, number) in (0_u32..).zip(numbers) {
            count += usize::from(*number != before);
            before = *number;
            if let Some(end) = ends.get_mut(count) {
                *end = row + 1;
            }
        }
        self.ends.truncate(count + 1);
        let mut last = first;
        let rows = std::iter::once(0).chain(self.ends.iter().map(|end| *end as usize));
        self.starts.extend(rows.take(count + 1).map(|row| {
            let number = numbers.get(row).copied().unwrap_or_default() as i64;
            first.start.wrapping_add(number.wrapping_mul(self.width))
        }));
        if let Some(start) = self.starts.last() {
            last = Bucket::of(*start, self.width, self.offset);
        }
        last
    }

    /// Follow each run to where a value leaves the bucket.
    #[inline(always)]
    fn follow(self, first: Bucket) -> Bucket {
        let mut bucket = first;
        let mut rest = self.values;
        let mut end = 0;
        while let Some(value) = rest.first() {
            if !bucket.holds(*value) {
                bucket = bucket.next(*value, self.width, self.offset);
            }
            let inside = count_inside(rest, bucket);
            end += inside;
            self.ends.push(end as u32);
            self.starts.push(bucket.start);
            rest = rest.get(inside..).unwrap_or_default();
        }
        bucket
    }
}

/// Values in front that lie in the bucket.
#[inline(always)]
fn count_inside(values: &[i64], bucket: Bucket) -> usize {
    let (chunks, tail) = values.as_chunks::<8>();
    let mut count = 0;
    for chunk in chunks {
        let mut outside = 0_i64;
        for (bit, value) in chunk.iter().enumerate() {
            outside |= if bucket.holds(*value) { 0 } else { 1 << bit };
        }
        if outside != 0 {
            return count + outside.trailing_zeros() as usize;
        }
        count += 8;
    }
    count + tail.iter().take_while(|value| bucket.holds(**value)).count()
}

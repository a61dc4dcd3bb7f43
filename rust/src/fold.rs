//! Adds the partial rows of each group: one a leaf, one by one in their order.

use crate::error::{KernelError, Result};
use crate::program::aggregates::{join, split};
use crate::program::layout::{Aggregate, Class, Kind, Program};

/// Partial rows: the output words of a program, one column a word.
pub struct Rows<'a> {
    columns: Vec<&'a [i64]>,
    count: usize,
}

impl<'a> Rows<'a> {
    /// Take `words` as the output of a program, `count` rows.
    pub fn new(program: &Program, words: &'a [i64], count: usize) -> Result<Self> {
        if words.len() != program.output_words * count {
            return Err(KernelError::InvalidArgument(format!(
                "got {} words for {count} rows, expected {} a row",
                words.len(),
                program.output_words
            )));
        }
        let columns = if count == 0 { Vec::new() } else { words.chunks_exact(count).collect() };
        Ok(Self { columns, count })
    }

    fn word(&self, column: usize, row: usize) -> i64 {
        self.columns.get(column).and_then(|column| column.get(row)).copied().unwrap_or_default()
    }
}

/// Make one row a group: its keys, and its aggregates over all its partial rows.
///
/// `starts` are positions in the order of rows where a group begins, ascending from 0; `order` lists the rows in
/// that order, or is `None` where they lie in it.
pub fn fold_groups(
    program: &Program,
    starts: &[i64],
    order: Option<&[i64]>,
    rows: &Rows<'_>,
    out: &mut [i64],
) -> Result<()> {
    if out.len() != program.output_words * starts.len() {
        return Err(KernelError::InvalidArgument(format!(
            "output has {} words, expected {} for each of {} groups",
            out.len(),
            program.output_words,
            starts.len()
        )));
    }
    if starts.is_empty() {
        return Ok(());
    }
    let order = order.map(|order| checked_order(order, rows.count)).transpose()?;
    let at =
        |position: usize| order.map_or(position, |order| order.get(position).map_or(0, |row| *row as usize));
    let mut columns: Vec<&mut [i64]> = out.chunks_exact_mut(starts.len()).collect();
    for (group, start) in starts.iter().enumerate() {
        let stop = starts.get(group + 1).map_or(rows.count, |next| *next as usize);
        let start = usize::try_from(*start).unwrap_or(usize::MAX);
        if start >= stop || stop > rows.count {
            return Err(KernelError::InvalidArgument(format!(
                "group {group} has rows {start} to {stop} of {}; starts must ascend",
                rows.count
            )));
        }
        let mut put = |column: usize, word: i64| {
            if let Some(slot) = columns.get_mut(column).and_then(|column| column.get_mut(group)) {
                *slot = word;
            }
        };
        let key_bits = (1_i64 << program.keys.len()) - 1;
        let mut nulls = rows.word(0, at(start)) & key_bits;
        for column in 1..=program.keys.len() {
            put(column, rows.word(column, at(start)));
        }
        for aggregate in &program.aggregates {
            let (low, high, null) = fold(aggregate, rows, (start..stop).map(at));
            put(aggregate.output, low);
            if aggregate.output_words() == 2 {
                put(aggregate.output + 1, high);
            }
            nulls |= if null { aggregate.null_bit } else { 0 };
        }
        put(0, nulls);
    }
    Ok(())
}

fn checked_order(order: &[i64], count: usize) -> Result<&[i64]> {
    if order.len() == count && order.iter().all(|row| usize::try_from(*row).is_ok_and(|row| row < count)) {
        Ok(order)
    } else {
        Err(KernelError::InvalidArgument(format!("order doesn't list the {count} rows")))
    }
}

/// Fold one aggregate over partial rows: its words, and whether it is null.
fn fold(
    aggregate: &Aggregate,
    rows: &Rows<'_>,
    mut numbers: impl Iterator<Item = usize>,
) -> (i64, i64, bool) {
    let Some(first) = numbers.next() else { return (0, 0, true) };
    let read = |row: usize| (rows.word(aggregate.output, row), rows.word(0, row) & aggregate.null_bit != 0);
    let (word, null) = read(first);
    match (aggregate.kind, aggregate.class) {
        (Kind::Len | Kind::Count, _) => {
            (numbers.fold(word, |sum, row| sum.wrapping_add(read(row).0)), 0, false)
        }
        (Kind::Sum, Class::Float) => {
            let sum = numbers.fold(float(word), |sum, row| sum + float(read(row).0));
            (bits(if sum.is_nan() { f64::NAN } else { sum }), 0, false)
        }
        (Kind::Sum, _) => {
            let read =
                |row: usize| join(rows.word(aggregate.output, row), rows.word(aggregate.output + 1, row));
            let (low, high) = split(numbers.fold(read(first), |sum, row| sum.wrapping_add(read(row))));
            (low, high, false)
        }
        (Kind::Min | Kind::Max, class) => {
            let best = numbers.map(read).fold((word, null), |best, other| {
                if other.1 || (!best.1 && !wins(aggregate.kind, class, other.0, best.0)) {
                    best
                } else {
                    other
                }
            });
            (best.0, 0, best.1)
        }
        (Kind::First, _) => (word, 0, null),
        (Kind::Last, _) => {
            let (word, null) = numbers.last().map_or((word, null), read);
            (word, 0, null)
        }
    }
}

/// Whether `other` takes the place of `best`; a number always takes that of NaN.
fn wins(kind: Kind, class: Class, other: i64, best: i64) -> bool {
    match (kind, class) {
        (Kind::Min, Class::Float) => {
            float(other) < float(best) || (float(best).is_nan() && !float(other).is_nan())
        }
        (_, Class::Float) => float(other) > float(best) || (float(best).is_nan() && !float(other).is_nan()),
        (Kind::Min, _) => other < best,
        _ => other > best,
    }
}

fn float(word: i64) -> f64 {
    f64::from_bits(word as u64)
}

fn bits(value: f64) -> i64 {
    value.to_bits() as i64
}

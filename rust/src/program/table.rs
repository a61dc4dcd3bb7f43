//! Groups by hash inside one leaf, in the state that Python owns.
//!
//! Words: slots, twice as many as groups (0 empty, else group + 1, linear probing), then the groups in order of
//! their first row: keys, nulls, rows, slot, accumulators.  Groups are emitted in that order.

use crate::error::{KernelError, Result};

use super::aggregates::{LANES, finish, float, update};
use super::groups::key_words;
use super::layout::{Aggregate, Class, Kind, Program};
use super::registers::Register;
use super::vector::lost_register;

/// The table of one leaf.
pub struct Table<'s> {
    slots: &'s mut [i64],
    groups: &'s mut [i64],
    keys: usize,
    stride: usize,
    capacity: usize,
}

/// Buffers that a table needs for one vector.
#[derive(Default)]
pub struct Assigned {
    /// Group of each row.
    groups: Vec<u32>,
    /// Number of each row within its group.
    rows: Vec<usize>,
    words: Vec<Vec<i64>>,
    /// Group + 1 of small values of a single key, so that most rows need no probing; 0 unknown.
    small: Vec<i64>,
}

/// Values of a single key from 0 on that are looked up directly.
const SMALL_KEYS: usize = 256;

impl<'s> Table<'s> {
    /// Take the words behind the header of a state as a table.
    pub fn new(program: &Program, words: &'s mut [i64]) -> Result<Self> {
        let (slots, groups) = words.split_at_mut_checked(program.table_groups * 2).ok_or_else(damaged)?;
        Ok(Self {
            slots,
            groups,
            keys: program.keys.len(),
            stride: program.table_stride(),
            capacity: program.table_groups,
        })
    }

    fn group(&mut self, number: usize) -> Result<&mut [i64]> {
        let first = number.checked_mul(self.stride).ok_or_else(damaged)?;
        self.groups.get_mut(first..).and_then(|rest| rest.get_mut(..self.stride)).ok_or_else(damaged)
    }

    /// Add rows; gives how many were taken: fewer than `count` where a new group has no place.
    pub fn add(
        &mut self,
        program: &Program,
        registers: &[Register<'_>],
        count: usize,
        group_count: &mut i64,
        assigned: &mut Assigned,
    ) -> Result<usize> {
        let taken = self.assign(program, registers, count, group_count, assigned)?;
        let offset = self.keys + 3;
        for aggregate in &program.aggregates {
            let width = aggregate.state_words();
            if width == 0 {
                continue;
            }
            let register = registers.get(aggregate.register).ok_or_else(lost_register)?;
            let first = offset + aggregate.state;
            if register.has_nulls {
                self.update_each(aggregate, register, first, count, assigned)?;
                continue;
            }
            match (aggregate.kind, aggregate.class) {
                (Kind::Sum, Class::Float) => {
                    let rows = assigned.groups.iter().zip(&assigned.rows);
                    for ((group, row), value) in rows.zip(register.floats(count)) {
                        let place = *group as usize * self.stride + first + row % LANES;
                        let lane = self.groups.get_mut(place).ok_or_else(damaged)?;
                        *lane = (float(*lane) + value).to_bits() as i64;
                    }
                }
                (Kind::Sum, Class::Int) => {
                    for (group, value) in assigned.groups.iter().zip(register.ints(count)) {
                        let place = *group as usize * self.stride + first;
                        let state = self.groups.get_mut(place..place + 2).ok_or_else(damaged)?;
                        if let [low, high] = state {
                            let (sum, carry) = (*low as u64).overflowing_add(*value as u64);
                            *low = sum as i64;
                            *high = high.wrapping_add(*value >> 63).wrapping_add(i64::from(carry));
                        }
                    }
                }
                _ => self.update_each(aggregate, register, first, count, assigned)?,
            }
        }
        Ok(taken)
    }

    /// Add rows to one aggregate, any.
    fn update_each(
        &mut self,
        aggregate: &Aggregate,
        register: &Register<'_>,
        first: usize,
        count: usize,
        assigned: &Assigned,
    ) -> Result<()> {
        let values = register.ints(count);
        let rows = assigned.groups.iter().zip(&assigned.rows);
        for (row, (group, number)) in rows.enumerate() {
            let place = *group as usize * self.stride + first;
            let state = self.groups.get_mut(place..place + aggregate.state_words()).ok_or_else(damaged)?;
            let value = values.get(row).copied().unwrap_or_default();
            update(aggregate, state, value, register.is_valid(row), *number);
        }
        Ok(())
    }

    /// Find or make the group of each row.
    fn assign(
        &mut self,
        program: &Program,
        registers: &[Register<'_>],
        count: usize,
        group_count: &mut i64,
        assigned: &mut Assigned,
    ) -> Result<usize> {
        assigned.groups.clear();
        assigned.rows.clear();
        assigned.words.resize_with(self.keys, Vec::new);
        for (key, words) in program.keys.iter().zip(&mut assigned.words) {
            key_words(registers.get(key.register).ok_or_else(lost_register)?, *key, count, words);
        }
        let has_nulls = program
            .keys
            .iter()
            .any(|key| registers.get(key.register).is_some_and(|register| register.has_nulls));
        let is_single = self.keys == 1 && !has_nulls;
        assigned.small.clear();
        assigned.small.resize(if is_single { SMALL_KEYS } else { 0 }, 0);
        let mut wanted = vec![0; self.keys + 1];
        for row in 0..count {
            let mut nulls = 0;
            for (number, ((key, words), word)) in
                program.keys.iter().zip(&assigned.words).zip(&mut wanted).enumerate()
            {
                *word = words.get(row).copied().unwrap_or_default();
                if has_nulls {
                    let valid = registers.get(key.register).is_some_and(|register| register.is_valid(row));
                    nulls |= i64::from(!valid) << number;
                }
            }
            if let Some(last) = wanted.last_mut() {
                *last = nulls;
            }
            let small = wanted.first().and_then(|word| usize::try_from(*word).ok());
            let known = small.and_then(|word| assigned.small.get_mut(word));
            let group = match known {
                Some(known) if *known > 0 => (*known - 1) as usize,
                known => {
                    let Some(group) = self.find_or_make(&wanted, group_count)? else { return Ok(row) };
                    if let Some(known) = known {
                        *known = group as i64 + 1;
                    }
                    group
                }
            };
            let rows = self.groups.get_mut(group * self.stride + self.keys + 1).ok_or_else(damaged)?;
            assigned.groups.push(group as u32);
            assigned.rows.push(usize::try_from(*rows).map_err(|_| damaged())?);
            *rows = rows.wrapping_add(1);
        }
        Ok(count)
    }

    /// Give the group of the wanted keys and nulls; `None` where it would be one too many.
    fn find_or_make(&mut self, wanted: &[i64], group_count: &mut i64) -> Result<Option<usize>> {
        let mask = self.slots.len() - 1;
        let mut place = hash(wanted) as usize & mask;
        for _ in 0..self.slots.len() {
            let slot = *self.slots.get(place).ok_or_else(damaged)?;
            if slot == 0 {
                let number = usize::try_from(*group_count).map_err(|_| damaged())?;
                if number >= self.capacity {
                    return Ok(None);
                }
                let group = self.group(number)?;
                group.fill(0);
                for (word, key) in group.iter_mut().zip(wanted) {
                    *word = *key;
                }
                if let Some(word) = group.get_mut(wanted.len() + 1) {
                    *word = place as i64;
                }
                *group_count += 1;
                *self.slots.get_mut(place).ok_or_else(damaged)? = *group_count;
                return Ok(Some(number));
            }
            let number = usize::try_from(slot.wrapping_sub(1)).map_err(|_| damaged())?;
            if self.group(number)?.starts_with(wanted) {
                return Ok(Some(number));
            }
            place = (place + 1) & mask;
        }
        Err(damaged())
    }

    /// Write the output words of a group to row `row` of the output.
    pub fn emit(
        &mut self,
        program: &Program,
        number: usize,
        outputs: &mut [&mut [i64]],
        row: usize,
    ) -> Result<()> {
        let keys = self.keys;
        let group = self.group(number)?;
        let (key_words, rest) = group.split_at_checked(keys).ok_or_else(damaged)?;
        let [nulls, rows, _, accumulators @ ..] = rest else { return Err(damaged()) };
        let rows = usize::try_from(*rows).map_err(|_| damaged())?;
        write_row(program, key_words, *nulls, rows, accumulators, outputs, row)
    }

    /// Forget a group's slot; after all groups the table is empty again.
    pub fn clear(&mut self, number: usize) -> Result<()> {
        let at = self.keys + 2;
        let place =
            self.group(number)?.get(at).and_then(|place| usize::try_from(*place).ok()).ok_or_else(damaged)?;
        *self.slots.get_mut(place).ok_or_else(damaged)? = 0;
        Ok(())
    }
}

/// Write one output row from keys and accumulators.
pub fn write_row(
    program: &Program,
    keys: &[i64],
    nulls: i64,
    rows: usize,
    accumulators: &[i64],
    outputs: &mut [&mut [i64]],
    row: usize,
) -> Result<()> {
    let mut nulls = nulls;
    let mut put = |column: usize, word: i64| -> Result<()> {
        let slot =
            outputs.get_mut(column).and_then(|column| column.get_mut(row)).ok_or_else(lost_register)?;
        *slot = word;
        Ok(())
    };
    for (column, key) in (1..).zip(keys) {
        put(column, *key)?;
    }
    for aggregate in &program.aggregates {
        let state = accumulators
            .get(aggregate.state..aggregate.state + aggregate.state_words())
            .ok_or_else(lost_register)?;
        let words = finish(aggregate, state, rows);
        nulls |= words.null_bit;
        put(aggregate.output, words.low)?;
        if aggregate.output_words() == 2 {
            put(aggregate.output + 1, words.high)?;
        }
    }
    put(0, nulls)
}

fn hash(words: &[i64]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for word in words {
        state = (state ^ *word as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        state ^= state >> 32;
    }
    state
}

/// The state is not one that this program wrote.
pub fn damaged() -> KernelError {
    KernelError::InvalidArgument("the state isn't one that this program left; start with zeros".to_owned())
}

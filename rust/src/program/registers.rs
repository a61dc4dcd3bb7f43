//! What instructions read and write: one vector of values a register, and which of them are null.

use crate::column::VECTOR_ROWS;

use super::layout::{Class, Instruction};

/// One register; ints and floats share the words, floats by their bits.
pub struct Register<'a> {
    /// Values in place, instead of `words`.
    view: Option<&'a [i64]>,
    words: Vec<i64>,
    bools: Vec<u8>,
    validity: Vec<u8>,
    /// Whether `validity` counts; otherwise no row is null.
    pub has_nulls: bool,
    /// The same value in every row, made once.
    constant: bool,
}

impl<'a> Register<'a> {
    /// Make the register that an instruction writes.
    pub fn new(instruction: Instruction, class: Class) -> Self {
        let mut register = Self {
            view: None,
            words: if class == Class::Bool { Vec::new() } else { vec![0; VECTOR_ROWS] },
            bools: if class == Class::Bool { vec![0; VECTOR_ROWS] } else { Vec::new() },
            validity: vec![1; VECTOR_ROWS],
            has_nulls: false,
            constant: false,
        };
        if let Instruction::Constant { word, null, .. } = instruction {
            register.words.fill(word);
            register.bools.fill(u8::from(word != 0));
            register.validity.fill(u8::from(!null));
            register.has_nulls = null;
            register.constant = true;
        }
        register
    }

    /// The first `count` ints.
    pub fn ints(&self, count: usize) -> &[i64] {
        self.view.unwrap_or(&self.words).get(..count).unwrap_or_default()
    }

    /// The first `count` floats.
    pub fn floats(&self, count: usize) -> &[f64] {
        bytemuck::cast_slice(self.ints(count))
    }

    /// The first `count` truth values.
    pub fn bools(&self, count: usize) -> &[u8] {
        self.bools.get(..count).unwrap_or_default()
    }

    /// Which of the first `count` rows are valid; `None` where all are.
    pub fn validity(&self, count: usize) -> Option<&[u8]> {
        if self.has_nulls { self.validity.get(..count) } else { None }
    }

    /// Room for `count` ints and their validity.
    pub fn ints_mut(&mut self, count: usize) -> (&mut [i64], &mut [u8]) {
        self.view = None;
        (self.words.get_mut(..count).unwrap_or_default(), self.validity.get_mut(..count).unwrap_or_default())
    }

    /// Room for `count` floats and their validity.
    pub fn floats_mut(&mut self, count: usize) -> (&mut [f64], &mut [u8]) {
        let (words, validity) = self.ints_mut(count);
        (bytemuck::cast_slice_mut(words), validity)
    }

    /// Room for `count` truth values and their validity.
    pub fn bools_mut(&mut self, count: usize) -> (&mut [u8], &mut [u8]) {
        (self.bools.get_mut(..count).unwrap_or_default(), self.validity.get_mut(..count).unwrap_or_default())
    }

    /// Validity of the first `count` rows, to be written.
    pub fn validity_mut(&mut self, count: usize) -> &mut [u8] {
        self.validity.get_mut(..count).unwrap_or_default()
    }

    /// Hold values where they lie.
    pub fn set_view(&mut self, view: &'a [i64]) {
        self.view = Some(view);
    }

    /// Whether the row is valid.
    pub fn is_valid(&self, row: usize) -> bool {
        !self.has_nulls || self.validity.get(row).is_some_and(|valid| *valid == 1)
    }

    /// Keep only the rows of `selected`, ascending, in front.
    pub fn compact(&mut self, selected: &[u16]) {
        if self.constant {
            return;
        }
        match self.view.take() {
            Some(view) => {
                for (word, row) in self.words.iter_mut().zip(selected) {
                    *word = view.get(usize::from(*row)).copied().unwrap_or_default();
                }
            }
            None => gather(&mut self.words, selected),
        }
        gather(&mut self.bools, selected);
        if self.has_nulls {
            gather(&mut self.validity, selected);
        }
    }
}

/// Move the selected values to the front; a row is never left of its place.
fn gather<T: Copy>(values: &mut [T], selected: &[u16]) {
    for (place, row) in selected.iter().enumerate() {
        let value = values.get(usize::from(*row)).copied();
        if let (Some(slot), Some(value)) = (values.get_mut(place), value) {
            *slot = value;
        }
    }
}

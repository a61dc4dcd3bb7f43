//! Floats of a block to whole numbers: the decimal places that suit them, and the exceptions.

use crate::column::Element;
use crate::decimal::{MAX_EXPONENT, Scale};
use crate::isa::{Isa, Kernel, dispatch};

/// Runs of values that the exponent of a block is chosen from, spread over the block; runs, because single
/// values at equal distances may all have fewer places than their neighbours.
const SAMPLE_RUNS: usize = 16;
/// Values of such a run.
const SAMPLE_RUN: usize = 16;

/// Whole numbers, and where floats are none.
#[derive(Default)]
pub struct Decimals {
    /// Decimal places.
    pub exponent: u8,
    /// The whole number of each value; at an exception the one before it, which costs no width.
    pub wholes: Vec<i64>,
    /// Rows of the values that are no such float, ascending.
    pub exceptions: Vec<u32>,
}

impl Decimals {
    /// Find the exponent that a sample of the values takes the fewest bits with, then convert all of them;
    /// `None` where a sample shows no decimals.
    pub fn of_values(values: &[u8], element: Element) -> Option<Self> {
        let count = values.len() / element.width();
        let stride = count.div_ceil(SAMPLE_RUNS).max(SAMPLE_RUN) * element.width();
        let sample: Vec<u8> = values
            .chunks(stride)
            .flat_map(|piece| piece.iter().take(SAMPLE_RUN * element.width()))
            .copied()
            .collect();
        let bits = 8 * element.width();
        let (_, exponent) = (0..=MAX_EXPONENT as u8)
            .map(|exponent| (Self::with_exponent(&sample, element, exponent).cost(bits), exponent))
            .min()?;
        let found = Self::with_exponent(values, element, exponent);
        (found.exceptions.len() < count / 2).then_some(found)
    }

    fn with_exponent(values: &[u8], element: Element, exponent: u8) -> Self {
        let scale = Scale::of_exponent(exponent);
        let mut found =
            Self { exponent, wholes: vec![0; values.len() / element.width()], exceptions: Vec::new() };
        let (wholes, exceptions) = (&mut found.wholes, &mut found.exceptions);
        if element == Element::F32 {
            dispatch(Convert {
                values,
                wholes,
                exceptions,
                whole_of: |bits| scale.whole_of_f32(f32::from_le_bytes(bits)),
            });
        } else {
            dispatch(Convert {
                values,
                wholes,
                exceptions,
                whole_of: |bits| scale.whole_of(f64::from_le_bytes(bits)),
            });
        }
        found
    }

    /// About the bits that these values take: exceptions in full with their positions, the others as wide as
    /// their range.
    fn cost(&self, bits: usize) -> usize {
        let (low, high) = range(self.wholes.iter().copied());
        let packed = self.wholes.len() * width_of(high.wrapping_sub(low) as u64);
        packed + self.exceptions.len() * (bits + 32)
    }
}

/// Converts floats to whole numbers; an exception takes the number before it, which costs no width.
struct Convert<'v, F, const N: usize> {
    values: &'v [u8],
    wholes: &'v mut [i64],
    exceptions: &'v mut Vec<u32>,
    whole_of: F,
}

impl<F: Fn([u8; N]) -> Option<i64>, const N: usize> Kernel for Convert<'_, F, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let values = self.values.as_chunks::<N>().0;
        let mut last = values.iter().find_map(|bits| (self.whole_of)(*bits)).unwrap_or(0);
        for (row, (whole, bits)) in self.wholes.iter_mut().zip(values).enumerate() {
            match (self.whole_of)(*bits) {
                Some(found) => last = found,
                None => self.exceptions.push(row as u32),
            }
            *whole = last;
        }
    }
}

/// Minimum and maximum; both 0 where there are no values.
pub fn range(values: impl Iterator<Item = i64>) -> (i64, i64) {
    let (low, high) =
        values.fold((i64::MAX, i64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    if low <= high { (low, high) } else { (0, 0) }
}

/// Bits that numbers from 0 to `largest` take.
pub fn width_of(largest: u64) -> usize {
    64 - largest.leading_zeros() as usize
}

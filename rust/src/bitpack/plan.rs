//! How a group of numbers is packed in the fewest bytes: base, width, and which numbers are patched.

use super::layout::SUB_BLOCK;
use super::whole::Whole;
use crate::column::VECTOR_ROWS;

/// Numbers of a group that widths are compared by; the width that is taken is then counted exactly.
const SAMPLE: usize = 128;
/// Bytes of a patch's place.
const PLACE_BYTES: usize = 2;

/// Numbers of a group; those from `count` on mean nothing.
#[derive(Debug, Clone, Copy)]
pub struct Numbers<W> {
    /// Room for a whole group.
    pub values: [W; VECTOR_ROWS],
    /// Numbers that there are.
    pub count: usize,
}

impl<W: Whole> Numbers<W> {
    /// No numbers.
    pub fn new() -> Self {
        Self { values: [W::default(); VECTOR_ROWS], count: 0 }
    }

    /// The numbers.
    #[inline(always)]
    pub fn used(&self) -> &[W] {
        self.values.get(..self.count).unwrap_or_default()
    }

    /// Take these numbers, at most a group of them.
    #[inline(always)]
    pub fn fill(&mut self, values: &[W]) {
        self.count = values.len().min(VECTOR_ROWS);
        self.values.iter_mut().zip(values).for_each(|(number, value)| *number = *value);
    }

    /// Take the differences between neighbours, the smallest of them in place of the first, which takes no bits.
    #[inline(always)]
    pub fn fill_deltas(&mut self, values: &[W]) {
        self.count = values.len().min(VECTOR_ROWS);
        let Some((_, rest)) = self.values.split_first_mut() else { return };
        let mut low = W::MAX;
        for ((delta, value), next) in rest.iter_mut().zip(values).zip(values.iter().skip(1)) {
            *delta = next.minus(*value);
            low = low.min(*delta);
        }
        if let Some(first) = self.values.first_mut() {
            *first = if self.count > 1 { low } else { W::default() };
        }
    }
}

/// How numbers are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan<W> {
    /// Subtracted from each number.
    pub base: W,
    /// Bits of each packed number.
    pub width: u32,
    /// Bytes of a patch's bits; 0 where there is no patch.
    pub patch_bytes: usize,
    /// Numbers that take more than `width` bits.
    pub patches: usize,
    /// Bytes of packed numbers and patches.
    pub bytes: usize,
}

impl<W: Whole> Plan<W> {
    /// Find the smallest plan, but for what a sample does not show.
    #[inline(always)]
    pub fn of(numbers: &[W]) -> Self {
        let (low, high) = range(numbers.iter());
        let width = high.minus(low).length();
        let whole =
            Self { base: low, width, patch_bytes: 0, patches: 0, bytes: packed_bytes(numbers.len(), width) };
        if width == 0 {
            return whole;
        }
        let step = (numbers.len() / SAMPLE).max(1);
        let from_low = whole.patched(numbers, step);
        let best = if from_low.bytes < whole.bytes { from_low } else { whole };
        // The lowest number itself often stands for none: 0, or an empty text.
        let (sample_low, sample_high) = range(numbers.iter().step_by(step).filter(|number| **number != low));
        let reach = sample_high.minus(sample_low);
        if best.bytes <= packed_bytes(numbers.len(), reach.length() + 1) {
            return best;
        }
        // Few numbers far below the others: take the lowest near them as base, all below wrap to many bits.
        let near = sample_low.signed().saturating_sub(reach.signed().max(0) / 8);
        let near = W::of(near.max(low.signed()));
        let base =
            numbers.iter().fold(W::MAX, |found, value| if *value < near { found } else { found.min(*value) });
        let above = Self { base, width: W::BITS, ..whole }.patched(numbers, step);
        if above.bytes < best.bytes { above } else { best }
    }

    /// Patch the numbers that make this plan wide, as far as that is worth it.
    #[inline(always)]
    fn patched(self, numbers: &[W], step: usize) -> Self {
        let mut lengths = [0_u16; 65];
        for number in numbers.iter().step_by(step) {
            if let Some(count) = lengths.get_mut(number.minus(self.base).length() as usize) {
                *count += 1;
            }
        }
        let cost = |width: u32, patches: usize| {
            packed_bytes(numbers.len(), width) + patches * (patch_bytes(self.width, width) + PLACE_BYTES)
        };
        let (mut above, mut best, mut width) = (0, usize::MAX, self.width);
        for (narrower, count) in lengths.iter().enumerate().take(self.width as usize + 1).rev() {
            let found = cost(narrower as u32, above * step);
            if found < best {
                (best, width) = (found, narrower as u32);
            }
            above += usize::from(*count);
        }
        if width == self.width {
            // The few that the sample misses may still be worth it.
            let longest = lengths.iter().rposition(|count| *count > 0).unwrap_or(0) as u32;
            width = longest.min(self.width);
        }
        if width >= W::BITS {
            return Self { bytes: usize::MAX, ..self };
        }
        let patches: usize =
            numbers.iter().map(|number| usize::from(number.minus(self.base).exceeds(width))).sum();
        let patch_bytes = if patches > 0 { patch_bytes(self.width, width) } else { 0 };
        Self { width, patches, patch_bytes, bytes: cost(width, patches), ..self }
    }
}

/// Bytes of the bits above `width`, where numbers take up to `widest`.
#[inline(always)]
fn patch_bytes(widest: u32, width: u32) -> usize {
    widest.saturating_sub(width).div_ceil(8) as usize
}

/// Bytes of packed numbers.
#[inline(always)]
pub fn packed_bytes(count: usize, width: u32) -> usize {
    count.div_ceil(SUB_BLOCK) * 32 * width as usize
}

/// Minimum and maximum; both 0 where there are no values.
#[inline(always)]
fn range<'w, W: Whole + 'w>(values: impl Iterator<Item = &'w W>) -> (W, W) {
    let first = W::MAX;
    let last = W::MAX.plus(W::of(1)); // the smallest
    let (low, high) = values.fold((first, last), |(low, high), value| (low.min(*value), high.max(*value)));
    if low <= high { (low, high) } else { (W::default(), W::default()) }
}

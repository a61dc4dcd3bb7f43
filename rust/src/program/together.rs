//! Min and max of one float, a sum of ints and a sum of floats in one pass: what bars are made of.
//!
//! The runs of bars are short, about ten rows, so that most of the time goes to the ends of loops; one loop instead
//! of four saves a third of it.  The answers are those of `aggregates`, word by word.

use crate::isa::{Isa, Kernel, dispatch};

use super::aggregates::{
    FIRST_LANES, LANES, SEEN, SEEN_NUMBER, are_small, finish_lanes, float, higher, join, lower, split,
    zip_lanes,
};
use super::layout::{Aggregate, Class, Kind};

/// Positions of the four aggregates.
#[derive(Debug, Clone, Copy)]
pub struct Together {
    /// Min of a float register.
    pub min: usize,
    /// Max of the same.
    pub max: usize,
    /// Sum of an int register.
    pub ints: usize,
    /// Sum of a float register.
    pub floats: usize,
}

impl Together {
    /// Find four aggregates that can be made in one pass.
    pub fn find(aggregates: &[Aggregate]) -> Option<Self> {
        let at = |kind: Kind, class: Class, register: Option<usize>| {
            aggregates.iter().position(|aggregate| {
                aggregate.kind == kind
                    && aggregate.class == class
                    && register.is_none_or(|register| aggregate.register == register)
            })
        };
        let min = at(Kind::Min, Class::Float, None)?;
        Some(Self {
            min,
            max: at(Kind::Max, Class::Float, aggregates.get(min).map(|aggregate| aggregate.register))?,
            ints: at(Kind::Sum, Class::Int, None)?,
            floats: at(Kind::Sum, Class::Float, None)?,
        })
    }

    /// Whether an aggregate is one of the four.
    pub fn has(&self, number: usize) -> bool {
        [self.min, self.max, self.ints, self.floats].contains(&number)
    }
}

/// Values of the vector, none of them null.
pub struct Inputs<'v> {
    /// Values of min and max.
    pub prices: &'v [f64],
    /// Values of the sum of ints.
    pub ints: &'v [i64],
    /// Values of the sum of floats.
    pub floats: &'v [f64],
    /// The row after each run.
    pub ends: &'v [u32],
    /// Rows of the first run's group before.
    pub before: usize,
}

/// Accumulators, as in `aggregates`.
#[derive(Debug, Clone, Copy)]
pub struct States {
    /// Of min.
    pub min: [i64; 2],
    /// Of max.
    pub max: [i64; 2],
    /// Of the sum of ints.
    pub ints: [i64; 2],
    /// Of the sum of floats.
    pub floats: [i64; LANES],
}

/// Words of the finished groups: min, max, low and high of the sum of ints, sum of floats.
pub type Outputs<'o> = [&'o mut [i64]; 5];

/// Add the runs of a vector; `None` where an int is too large for sums in 64 bits.
pub fn apply(inputs: &Inputs<'_>, states: States, outputs: Outputs<'_>) -> Option<States> {
    dispatch(Pass { inputs, states, outputs })
}

struct Pass<'v> {
    inputs: &'v Inputs<'v>,
    states: States,
    outputs: Outputs<'v>,
}

/// The lanes of one run.
struct Lanes {
    low: [f64; LANES],
    high: [f64; LANES],
    ints: [i64; LANES],
    floats: [f64; LANES],
}

impl Lanes {
    #[inline(always)]
    fn add(self, prices: [f64; LANES], ints: [i64; LANES], floats: [f64; LANES]) -> Self {
        Self {
            low: zip_lanes(self.low, prices, lower),
            high: zip_lanes(self.high, prices, higher),
            ints: zip_lanes(self.ints, ints, i64::wrapping_add),
            floats: zip_lanes(self.floats, floats, |lane, value| lane + value),
        }
    }

    /// Add the first rows of a chunk: the others are NaN to min and max, and 0 to sums.
    #[inline(always)]
    fn add_masked(
        self,
        prices: [f64; LANES],
        ints: [i64; LANES],
        floats: [f64; LANES],
        masks: [u64; LANES],
    ) -> Self {
        self.add(
            zip_lanes(prices, masks, |value, mask| f64::from_bits(value.to_bits() | !mask)),
            zip_lanes(ints, masks, |value, mask| value & mask as i64),
            zip_lanes(floats, masks, |value, mask| f64::from_bits(value.to_bits() & mask)),
        )
    }
}

impl Kernel for Pass<'_> {
    type Output = Option<States>;

    #[inline(always)]
    fn run<I: Isa>(self) -> Option<States> {
        let Self { inputs, states, outputs } = self;
        if !are_small(inputs.ints) {
            return None;
        }
        let mut low = if states.min[1] & SEEN_NUMBER == 0 { f64::INFINITY } else { float(states.min[0]) };
        let mut high =
            if states.max[1] & SEEN_NUMBER == 0 { f64::NEG_INFINITY } else { float(states.max[0]) };
        let mut has_number = states.min[1] & SEEN_NUMBER != 0;
        let mut sum = join(states.ints[0], states.ints[1]);
        let mut floats = states.floats.map(float);
        let mut turn = inputs.before % LANES;
        floats.rotate_left(turn);
        let [mins, maxes, lows, highs, sums] = outputs;
        let mut outs = mins.iter_mut().zip(maxes).zip(lows).zip(highs).zip(sums);
        let mut rest = (inputs.prices, inputs.ints, inputs.floats);
        let mut start = 0;
        for end in inputs.ends {
            let count = (*end - start) as usize;
            start = *end;
            let run_prices = rest.0.get(..count).unwrap_or_default();
            let mut lanes = Lanes { low: [low; LANES], high: [high; LANES], ints: [0; LANES], floats };
            let mut left = count;
            while left >= LANES {
                let (Some(a), Some(b), Some(c)) =
                    (rest.0.split_first_chunk(), rest.1.split_first_chunk(), rest.2.split_first_chunk())
                else {
                    break;
                };
                lanes = lanes.add(*a.0, *b.0, *c.0);
                rest = (a.1, b.1, c.1);
                left -= LANES;
            }
            if let (1.., Some(masks)) = (left, FIRST_LANES.get(left)) {
                lanes = lanes.add_masked(chunk_of(rest.0), chunk_of(rest.1), chunk_of(rest.2), *masks);
                rest = (
                    rest.0.get(left..).unwrap_or_default(),
                    rest.1.get(left..).unwrap_or_default(),
                    rest.2.get(left..).unwrap_or_default(),
                );
            }
            low = reduce(lanes.low, lower);
            high = reduce(lanes.high, higher);
            has_number |= low != f64::INFINITY
                || high != f64::NEG_INFINITY
                || run_prices.iter().any(|value| !value.is_nan());
            let [a, b, c, d, e, f, g, h] = lanes.ints;
            sum = sum.wrapping_add(i128::from(((a + b) + (c + d)) + ((e + f) + (g + h))));
            floats = lanes.floats;
            if let Some(((((min, max), low_word), high_word), total)) = outs.next() {
                if turn != 0 {
                    floats.rotate_right(turn);
                    turn = 0;
                }
                *min = (if has_number { low + 0.0 } else { f64::NAN }).to_bits() as i64;
                *max = (if has_number { high + 0.0 } else { f64::NAN }).to_bits() as i64;
                (*low_word, *high_word) = split(sum);
                *total = finish_lanes(&floats);
                (low, high, has_number) = (f64::INFINITY, f64::NEG_INFINITY, false);
                sum = 0;
                floats = [0.0; LANES];
            }
        }
        floats.rotate_right(turn);
        let flags = if has_number { SEEN | SEEN_NUMBER } else { SEEN };
        let (low_word, high_word) = split(sum);
        Some(States {
            min: [low.to_bits() as i64, flags],
            max: [high.to_bits() as i64, flags],
            ints: [low_word, high_word],
            floats: floats.map(|lane| lane.to_bits() as i64),
        })
    }
}

#[inline(always)]
fn reduce(lanes: [f64; LANES], best: impl Fn(f64, f64) -> f64) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    best(best(best(a, e), best(b, f)), best(best(c, g), best(d, h)))
}

/// The next values as a whole chunk; behind the last of a vector are zeros.
#[inline(always)]
fn chunk_of<T: Copy + Default>(values: &[T]) -> [T; LANES] {
    values.first_chunk().copied().unwrap_or_else(|| padded(values))
}

#[cold]
#[inline(never)]
fn padded<T: Copy + Default>(values: &[T]) -> [T; LANES] {
    let mut chunk = [T::default(); LANES];
    for (slot, value) in chunk.iter_mut().zip(values) {
        *slot = *value;
    }
    chunk
}

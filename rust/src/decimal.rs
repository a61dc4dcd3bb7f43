//! Floats that are decimals: k / 10^e with a whole k.
//!
//! Where there is a fused multiply-add, k / s comes from two of them: q = k (1 / s), then q + (k - s q)(1 / s).
//! That gives the very bits of the division for all k in use, in a tenth of its time; the encoder tries each
//! value both ways and lists as an exception what either does not give back.

use crate::isa::Isa;

/// Largest number of decimal places; 10^18 is exact as a float.
pub const MAX_EXPONENT: usize = 18;

/// Whole numbers up to this one, of either sign, pass through [`whole_to_float`].
pub const MAX_WHOLE: i64 = 1 << 51;

const POWERS: [f64; MAX_EXPONENT + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

/// A number of decimal places, as the numbers that kernels divide by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// 10^e.
    pub scale: f64,
    /// 1 / 10^e, rounded.
    pub inverse: f64,
}

impl Scale {
    /// The scale of `exponent` decimal places.
    pub fn of_exponent(exponent: u8) -> Self {
        let scale = POWERS.get(usize::from(exponent)).copied().unwrap_or(1.0);
        Self { scale, inverse: 1.0 / scale }
    }

    /// Give k / 10^e by the way that is fast with these instructions.
    #[inline(always)]
    pub fn divide<I: Isa>(self, k: f64) -> f64 {
        if I::HAS_FMA { self.divide_fused(k) } else { k / self.scale }
    }

    /// Give k / 10^e by two fused multiply-adds.
    #[inline(always)]
    pub fn divide_fused(self, k: f64) -> f64 {
        let q = k * self.inverse;
        let rest = (-self.scale).mul_add(q, k);
        rest.mul_add(self.inverse, q)
    }

    /// Give the whole number k whose k / 10^e has the very bits of `value` by either way, or `None`.
    #[inline(always)]
    pub fn whole_of(self, value: f64) -> Option<i64> {
        let whole = (value * self.scale).round_ties_even();
        let is_whole = whole.abs() <= MAX_WHOLE as f64 // false for NaN
            && (whole / self.scale).to_bits() == value.to_bits()
            && self.divide_fused(whole).to_bits() == value.to_bits();
        is_whole.then_some(whole as i64)
    }

    /// The same for a float of 32 bits, which comes from the float of 64 bits by rounding.
    #[inline(always)]
    pub fn whole_of_f32(self, value: f32) -> Option<i64> {
        let whole = (f64::from(value) * self.scale).round_ties_even();
        let is_whole = whole.abs() <= MAX_WHOLE as f64
            && ((whole / self.scale) as f32).to_bits() == value.to_bits()
            && (self.divide_fused(whole) as f32).to_bits() == value.to_bits();
        is_whole.then_some(whole as i64)
    }
}

/// Turn a whole number of at most [`MAX_WHOLE`] into a float, in instructions that vectorise everywhere:
/// added to 1.5 * 2^52, its bits are the fraction.
#[inline(always)]
pub fn whole_to_float(whole: i64) -> f64 {
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    f64::from_bits((MAGIC.to_bits() as i64).wrapping_add(whole) as u64) - MAGIC
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_become_the_same_floats() {
        for whole in [0, 1, -1, 12_345, -98_765_432_100, MAX_WHOLE, -MAX_WHOLE] {
            assert_eq!(whole_to_float(whole).to_bits(), (whole as f64).to_bits(), "{whole}");
        }
    }

    #[test]
    fn both_ways_agree_on_prices() {
        for exponent in 0..=8 {
            let scale = Scale::of_exponent(exponent);
            for whole in (0..50_000_000).step_by(1237) {
                let k = f64::from(whole);
                assert_eq!(
                    scale.divide_fused(k).to_bits(),
                    (k / scale.scale).to_bits(),
                    "{whole} e{exponent}"
                );
            }
        }
    }

    #[test]
    fn only_decimals_have_a_whole_number() {
        let cents = Scale::of_exponent(2);
        assert_eq!(cents.whole_of(187.43), Some(18_743));
        assert_eq!(cents.whole_of(-0.07), Some(-7));
        for value in [-0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1e300, 0.125] {
            assert_eq!(cents.whole_of(value), None, "{value}");
        }
    }
}

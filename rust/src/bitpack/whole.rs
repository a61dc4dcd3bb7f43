//! Whole numbers of 32 or 64 bits, as groups are planned and packed in.

/// A signed number; sums, differences and products wrap.
pub trait Whole: Copy + Ord + Default {
    /// Its bits.
    const BITS: u32;
    /// Its largest value.
    const MAX: Self;

    /// Cut a number to these bits.
    fn of(number: i64) -> Self;
    /// The same number in 64 bits.
    fn signed(self) -> i64;
    /// The same bits, zeros above them.
    fn raw(self) -> u64;
    /// Add.
    fn plus(self, other: Self) -> Self;
    /// Subtract.
    fn minus(self, other: Self) -> Self;
    /// Multiply.
    fn times(self, other: Self) -> Self;
    /// The bits of either.
    fn or(self, other: Self) -> Self;
    /// The bits of both.
    fn and(self, other: Self) -> Self;
    /// Shift right, the sign kept.
    fn shifted(self, bits: u32) -> Self;
    /// Bits that the number takes without its leading zeros, as an unsigned one.
    fn length(self) -> u32;
    /// Whether an unsigned number takes more than `width` bits, fewer than all.
    fn exceeds(self, width: u32) -> bool;
}

macro_rules! whole {
    ($signed:ty, $unsigned:ty) => {
        impl Whole for $signed {
            const BITS: u32 = <$signed>::BITS;
            const MAX: Self = <$signed>::MAX;

            #[inline(always)]
            fn of(number: i64) -> Self {
                number as $signed
            }

            #[inline(always)]
            fn signed(self) -> i64 {
                i64::from(self)
            }

            #[inline(always)]
            fn raw(self) -> u64 {
                u64::from(self as $unsigned)
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn shifted(self, bits: u32) -> Self {
                self.wrapping_shr(bits)
            }

            #[inline(always)]
            fn length(self) -> u32 {
                <$signed>::BITS - self.leading_zeros()
            }

            #[inline(always)]
            fn exceeds(self, width: u32) -> bool {
                (self as $unsigned).wrapping_shr(width) != 0
            }
        }
    };
}

whole!(i32, u32);
whole!(i64, u64);

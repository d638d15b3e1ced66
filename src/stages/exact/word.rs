//! Words of 1, 2, 4, and 8 bytes as integers in the order of the values.

use super::params::{FLOAT, UNSIGNED};
use bytemuck::Pod;
use std::fmt::Debug;

/// An integer modulo 2^w.
pub(super) trait Word: Pod + Ord + Send + Sync + Debug {
    const BITS: u32;
    const ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    /// The bits of a float with those of the magnitude inverted if it is negative: integers in the order of floats.
    fn fold(self) -> Self;
    fn is_negative(self) -> bool;
    fn zigzag(self) -> Self;
    fn unzigzag(self) -> Self;
    /// The number of bits without leading zeros.
    fn length(self) -> u32;
    fn shift_right(self, n: u32) -> Self;
    fn wide(self) -> u64;
    /// The low bits.
    fn cut(wide: u64) -> Self;

    /// The complement of a negative integer, and any other integer itself.
    #[inline(always)]
    fn magnitude(self) -> Self {
        if self.is_negative() { Self::ZERO.sub(self).sub(Self::cut(1)) } else { self }
    }

    /// The integer of the bits of an element. Floats of magnitudes below `gap` are at the ends, all others move together.
    #[inline(always)]
    fn integer(self, kind: u32, gap: Self) -> Self {
        if kind != FLOAT {
            return self;
        }
        let o = self.fold();
        let far = if o.magnitude() < gap { Self::cut(1 << (Self::BITS - 1)) } else { Self::ZERO };
        if self.is_negative() { o.add(gap).sub(far) } else { o.sub(gap).add(far) }
    }

    /// Undoes [`Word::integer`].
    #[inline(always)]
    fn element(self, kind: u32, gap: Self) -> Self {
        if kind != FLOAT {
            return self;
        }
        let half = Self::cut(1 << (Self::BITS - 1));
        let magnitude = self.magnitude();
        let own = if magnitude < half.sub(gap) { magnitude.add(gap) } else { magnitude.sub(half.sub(gap)) };
        if self.is_negative() { own.add(half) } else { own }
    }

    /// A number whose order is that of the elements.
    #[inline(always)]
    fn rank_key(self, kind: u32) -> u64 {
        if kind == UNSIGNED { self.wide() } else { self.wide() ^ 1 << (Self::BITS - 1) }
    }
}

macro_rules! words {
    ($($word:ty, $signed:ty);*) => {$(
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;
            const ZERO: $word = 0;
            #[inline(always)]
            fn add(self, other: $word) -> $word {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: $word) -> $word {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn fold(self) -> $word {
                let sign = self as $signed >> (Self::BITS - 1);
                self ^ (sign as $word >> 1)
            }
            #[inline(always)]
            fn is_negative(self) -> bool {
                (self as $signed) < 0
            }
            #[inline(always)]
            fn zigzag(self) -> $word {
                self << 1 ^ (self as $signed >> (Self::BITS - 1)) as $word
            }
            #[inline(always)]
            fn unzigzag(self) -> $word {
                self >> 1 ^ (self & 1).wrapping_neg()
            }
            #[inline(always)]
            fn length(self) -> u32 {
                Self::BITS - self.leading_zeros()
            }
            #[inline(always)]
            fn shift_right(self, n: u32) -> $word {
                self >> (n % Self::BITS)
            }
            #[inline(always)]
            fn wide(self) -> u64 {
                u64::from(self)
            }
            #[inline(always)]
            fn cut(wide: u64) -> $word {
                wide as $word
            }
        }
    )*};
}

words!(u8, i8; u16, i16; u32, i32; u64, i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_restored_and_keep_the_order_beyond_the_gap() {
        let all = |gap: u16| (0..=u16::MAX).map(move |bits| (bits, bits.integer(FLOAT, gap)));
        for gap in [0, 1, 0x123, 0x7fff] {
            let mut seen = vec![false; 1 << 16];
            for (bits, o) in all(gap) {
                assert_eq!(o.element(FLOAT, gap), bits, "{bits:x} and gap {gap:x}");
                assert!(!std::mem::replace(&mut seen[usize::from(o)], true));
            }
        }
        // The smallest magnitude on either side of the gap is next to the other one.
        assert_eq!((0x123u16.integer(FLOAT, 0x123), 0x8123u16.integer(FLOAT, 0x123)), (0, 0xffff));
        assert_eq!((0x200u16.integer(FLOAT, 0x123), 0x8200u16.integer(FLOAT, 0x123)), (0xdd, 0xff22));
    }
}

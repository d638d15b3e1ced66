//! Words of 1, 2, 4, and 8 bytes as integers in the order of the values.

use super::params::{FLOAT, UNSIGNED};
use bytemuck::Pod;
use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, BitXor};

/// An integer modulo 2^w.
pub(super) trait Word:
    Pod + Ord + Send + Sync + Debug + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    const BITS: u32;
    const ZERO: Self;
    const ONE: Self;
    /// All bits but the highest one.
    const LOW: Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// All bits are the highest one.
    fn sign(self) -> Self;
    fn zigzag(self) -> Self;
    fn unzigzag(self) -> Self;
    /// The number of bits without leading zeros.
    fn length(self) -> u32;
    fn shift_right(self, n: u32) -> Self;
    fn wide(self) -> u64;
    /// The low bits.
    fn cut(wide: u64) -> Self;

    /// A number whose order is that of signed integers, or of unsigned ones.
    #[inline(always)]
    fn rank_key(self, kind: u32) -> u64 {
        if kind == UNSIGNED { self.wide() } else { self.wide() ^ 1 << (Self::BITS - 1) }
    }

    /// Undoes [`Word::rank_key`].
    #[inline(always)]
    fn of_rank_key(key: u64, kind: u32) -> Self {
        Self::cut(Self::cut(key).rank_key(kind))
    }
}

/// The map between elements and integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Map<W> {
    pub(super) kind: u32,
    /// The element, or the magnitude of a float, that becomes 0.
    pub(super) gap: W,
    /// The distance of elements, or of magnitudes, that become neighbors.
    pub(super) factor: W,
}

impl<W: Word> Map<W> {
    /// The integer of the bits of an element. `factor` is that of the map, which divides the distances of all elements.
    #[inline(always)]
    pub(super) fn integer(self, element: W, factor: Divisor) -> W {
        let divided = |d: W| if self.factor == W::ONE { d } else { factor.quotient(d) };
        if self.kind != FLOAT {
            return divided(element.sub(self.gap));
        }
        divided((element & W::LOW).sub(self.gap) & W::LOW) ^ element.sign()
    }

    /// [`Map::integer`] of elements, which may be misaligned.
    #[inline(always)]
    pub(super) fn integers(self, elements: &[u8], factor: Divisor, out: &mut [W]) {
        let elements = elements.chunks_exact(size_of::<W>()).map(bytemuck::pod_read_unaligned::<W>);
        let each = out.iter_mut().zip(elements);
        if self.kind == FLOAT && factor.inverse == 1 {
            // Most factors of floats are powers of two, and AVX2 has no product of numbers of 64 bits.
            for (o, x) in each {
                *o = ((x & W::LOW).sub(self.gap) & W::LOW).shift_right(factor.zeros) ^ x.sign();
            }
        } else if self.kind == FLOAT || self.factor != W::ONE || self.gap != W::ZERO {
            for (o, x) in each {
                *o = self.integer(x, factor);
            }
        } else {
            for (o, x) in each {
                *o = x;
            }
        }
    }

    /// Undoes [`Map::integer`].
    #[inline(always)]
    pub(super) fn element(self, o: W) -> W {
        if self.kind != FLOAT {
            return o.times(self.factor).add(self.gap);
        }
        let magnitude = (o ^ o.sign()).times(self.factor).add(self.gap) & W::LOW;
        magnitude | o ^ (o & W::LOW)
    }

    /// A number of an element whose differences have the factor: for floats the magnitude.
    #[inline(always)]
    pub(super) fn place(kind: u32, element: W) -> u64 {
        if kind == FLOAT { (element & W::LOW).wide() } else { element.rank_key(kind) }
    }

    /// The element of a number of [`Map::place`].
    pub(super) fn at(kind: u32, place: u64) -> W {
        if kind == FLOAT { W::cut(place) } else { W::of_rank_key(place, kind) }
    }
}

/// A divisor of many numbers, by which they are divided with a multiplication.
#[derive(Clone, Copy)]
pub(super) struct Divisor {
    /// The inverse of the divisor without its zeros in the low bits, modulo 2^64, and the number of these bits.
    inverse: u64,
    zeros: u32,
    /// The largest quotient.
    most: u64,
}

impl Divisor {
    /// 0 divides 0 alone.
    pub(super) fn new(divisor: u64) -> Divisor {
        let zeros = divisor.trailing_zeros() % u64::BITS;
        let odd = (divisor >> zeros).max(1);
        // The three low bits of an odd number are those of its inverse; each step doubles their number.
        let inverse = (0..5).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))));
        Divisor { inverse, zeros, most: u64::MAX.checked_div(divisor).unwrap_or(0) }
    }

    /// True if it divides `n`. The product of other numbers with the inverse is no quotient.
    #[inline(always)]
    pub(super) fn divides(self, n: u64) -> bool {
        n.wrapping_mul(self.inverse).rotate_right(self.zeros) <= self.most
    }

    /// The quotient of a number that it divides.
    #[inline(always)]
    pub(super) fn quotient<W: Word>(self, n: W) -> W {
        // The inverse modulo 2^w has the low bits of that modulo 2^64.
        n.shift_right(self.zeros).times(W::cut(self.inverse))
    }
}

macro_rules! words {
    ($($word:ty, $signed:ty);*) => {$(
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;
            const ZERO: $word = 0;
            const ONE: $word = 1;
            const LOW: $word = <$word>::MAX >> 1;
            #[inline(always)]
            fn add(self, other: $word) -> $word {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: $word) -> $word {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn times(self, other: $word) -> $word {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn sign(self) -> $word {
                (self as $signed >> (Self::BITS - 1)) as $word
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
    use super::super::params::SIGNED;
    use super::*;

    #[test]
    fn integers_are_restored_and_keep_the_order_beyond_the_gap() {
        for gap in [0, 1, 0x123, 0x7fff] {
            let map = Map { kind: FLOAT, gap, factor: 1u16 };
            let mut seen = vec![false; 1 << 16];
            for bits in 0..=u16::MAX {
                let o = map.integer(bits, Divisor::new(1));
                assert_eq!(map.element(o), bits, "{bits:x} and gap {gap:x}");
                assert!(!std::mem::replace(&mut seen[usize::from(o)], true));
            }
        }
        // The smallest magnitude on either side of the gap is next to the other one.
        let map = Map { kind: FLOAT, gap: 0x123, factor: 1u16 };
        let integer = |bits| map.integer(bits, Divisor::new(1));
        assert_eq!((integer(0x123), integer(0x8123)), (0, 0xffff));
        assert_eq!((integer(0x200), integer(0x8200)), (0xdd, 0xff22));
    }

    #[test]
    fn integers_of_arrays_are_those_of_elements() {
        for kind in [UNSIGNED, SIGNED, FLOAT] {
            for (gap, factor) in
                [(0u64, 1), (0x3ff0 << 48, 1), (0, 1 << 29), (0x3ff0 << 48, 1 << 29), (7, 6), (5, 3)]
            {
                let (map, divisor) = (Map { kind, gap, factor }, Divisor::new(factor));
                let signs = if kind == FLOAT { [0, 1 << 63] } else { [0, 0] };
                let elements: Vec<u64> =
                    (0..100).map(|k| (gap + k * factor) | signs[k as usize % 2]).collect();
                let mut all = vec![0; elements.len()];
                map.integers(bytemuck::cast_slice(&elements), divisor, &mut all);
                let each: Vec<u64> = elements.iter().map(|&x| map.integer(x, divisor)).collect();
                assert_eq!(all, each, "{map:?}");
                assert!(all.iter().zip(elements).all(|(&o, x)| map.element(o) == x), "{map:?}");
            }
        }
    }

    #[test]
    fn multiples_become_neighbors() {
        for kind in [UNSIGNED, SIGNED, FLOAT] {
            for (gap, factor) in [(0u16, 3), (5, 2), (0x7000, 0xfff)] {
                let map = Map { kind, gap, factor };
                for k in 0..(0x7fff - gap) / factor {
                    for sign in if kind == FLOAT { &[0, 0x8000][..] } else { &[0] } {
                        let element = (gap + k * factor) | sign;
                        let o = map.integer(element, Divisor::new(factor.into()));
                        assert_eq!(o, if *sign == 0 { k } else { !k });
                        assert_eq!(map.element(o), element);
                    }
                }
            }
        }
        for (kind, bits) in [(SIGNED, 0x8000u16), (UNSIGNED, 0), (FLOAT, 0)] {
            assert_eq!((Map::place(kind, bits), Map::at(kind, 0)), (0, bits));
        }
    }

    #[test]
    fn multiples_and_quotients_are_those_of_divisions() {
        let divisors =
            (1..300).chain([1 << 20, 3 << 40, u64::MAX, u64::MAX / 3, 1 << 63, 0x1234_5678_9abc_def1]);
        for divisor in divisors {
            let by = Divisor::new(divisor);
            let near = (0..50).flat_map(|k| [k, u64::MAX - k, k.wrapping_mul(divisor), (1 << 63) + k]);
            for n in near.flat_map(|n| [n, n.wrapping_add(1)]) {
                assert_eq!(by.divides(n), n % divisor == 0, "{n} / {divisor}");
                if by.divides(n) {
                    assert_eq!(by.quotient(n), n / divisor, "{n} / {divisor}");
                }
            }
        }
        assert!(Divisor::new(0).divides(0) && !Divisor::new(0).divides(6));
    }
}

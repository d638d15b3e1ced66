//! Prediction of a row of points along one axis, and of points between several.

use super::params::{MD, NATURAL, REVERSE};
use super::value::SplineValue;

/// The neighbors of a point along an axis: those at distances -3, -1, 1, and 3 in units of the spacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Neighbors {
    /// -1 alone.
    Before,
    /// -1 and 1.
    Both,
    /// -1, 1 and 3.
    Left,
    /// -3, -1 and 1.
    Right,
    /// All four.
    All,
}

impl Neighbors {
    /// The neighbors of a point `at` in a tile of `body` that has `extent` elements, far face included; both
    /// from the start of the tile.
    pub(super) fn new(at: usize, spacing: usize, body: usize, extent: usize) -> Neighbors {
        Neighbors::along(at, at, spacing, body, extent)
    }

    /// The neighbors of a point that is `at` in its tile and `from` in a row of `extent` elements.
    pub(super) fn along(at: usize, from: usize, spacing: usize, body: usize, extent: usize) -> Neighbors {
        let near = at >= 3 * spacing;
        let far = at + 3 * spacing <= body && from + 3 * spacing < extent;
        match (near, far, from + spacing < extent) {
            (true, true, _) => Neighbors::All,
            (true, false, true) => Neighbors::Right,
            (false, true, _) => Neighbors::Left,
            (false, false, true) => Neighbors::Both,
            _ => Neighbors::Before, // seed: ginterp-edge
        }
    }

    /// The rank of a prediction. Between two axes, the prediction with the higher rank counts; if ranks are
    /// equal, their mean.
    pub(super) fn rank(self) -> u32 {
        match self {
            Neighbors::Before => 0,
            Neighbors::Both => 1,
            Neighbors::Left | Neighbors::Right => 2,
            Neighbors::All => 3,
        }
    }
}

/// How a level is predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LevelFlags {
    /// Along all axes at once, by parity; otherwise one axis after the other.
    pub(super) md: bool,
    /// The natural cubic where `md` is set, the not-a-knot one where it is not.
    pub(super) natural: bool,
    /// x first, in place of last.
    pub(super) reverse: bool,
}

impl LevelFlags {
    /// The flags in the bits of the metadata.
    pub(super) fn of(bits: u8) -> LevelFlags {
        LevelFlags { md: bits & MD != 0, natural: bits & NATURAL != 0, reverse: bits & REVERSE != 0 }
    }

    pub(super) fn bits(self) -> u8 {
        [(self.md, MD), (self.natural, NATURAL), (self.reverse, REVERSE)]
            .into_iter()
            .map(|(set, bit)| if set { bit } else { 0 })
            .sum()
    }
}

/// Where a line is evaluated, as far as roundings depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) md: bool,
    /// Between all three axes.
    pub(super) cube: bool,
    pub(super) natural: bool,
}

/// The roundings of a prediction along one axis.
pub(super) trait Arithmetic<T: SplineValue> {
    fn before(b: T) -> T;
    fn left(b: T, c: T, d: T, place: Place) -> T;
    fn cubic(a: T, b: T, c: T, d: T, place: Place) -> T;

    #[inline(always)]
    fn both(b: T, c: T) -> T {
        b.add(c).mul(T::from_f64(0.5))
    }

    #[inline(always)]
    fn right(a: T, b: T, c: T) -> T {
        let six = T::from_f64(6.0).fma(b, a.neg());
        T::from_f64(3.0).fma(c, six).mul(T::from_f64(0.125))
    }
}

/// (-3a + 23b + 23c - 3d) / 40.
#[inline(always)]
fn natural<T: SplineValue>(b_and_a: T, c: T, d: T) -> T {
    let c = T::from_f64(23.0).fma(c, b_and_a);
    T::from_f64(-3.0).fma(d, c).div(T::from_f64(40.0))
}

/// The arithmetic of the stage's own layout.
pub(super) struct Strict;

impl<T: SplineValue> Arithmetic<T> for Strict {
    #[inline(always)]
    fn before(b: T) -> T {
        b.add(T::ZERO)
    }

    #[inline(always)]
    fn left(b: T, c: T, d: T, _: Place) -> T {
        let three = T::from_f64(3.0).mul(b);
        T::from_f64(6.0).fma(c, three).sub(d).mul(T::from_f64(0.125))
    }

    #[inline(always)]
    fn cubic(a: T, b: T, c: T, d: T, place: Place) -> T {
        if place.natural {
            let a = T::from_f64(-3.0).mul(a);
            return natural(T::from_f64(23.0).fma(b, a), c, d);
        }
        let nine = T::from_f64(9.0);
        nine.fma(c, nine.fma(b, a.neg())).sub(d).mul(T::from_f64(0.0625))
    }
}

/// The arithmetic of the reference, whose compiler fuses other operations in other places.
pub(super) struct Reference;

impl<T: SplineValue> Arithmetic<T> for Reference {
    fn before(b: T) -> T {
        b
    }

    fn left(b: T, c: T, d: T, place: Place) -> T {
        if place.cube {
            return Strict::left(b, c, d, place);
        }
        let six = T::from_f64(6.0).mul(c);
        T::from_f64(3.0).fma(b, six).sub(d).mul(T::from_f64(0.125))
    }

    fn cubic(a: T, b: T, c: T, d: T, place: Place) -> T {
        if place.md {
            return Strict::cubic(a, b, c, d, place);
        }
        if place.natural {
            let b = T::from_f64(23.0).mul(b);
            return natural(T::from_f64(-3.0).fma(a, b), c, d);
        }
        let nine = T::from_f64(9.0);
        nine.fma(c, nine.mul(b).sub(a)).sub(d).mul(T::from_f64(0.0625))
    }
}

/// Predictions of a row between rows of the same points: `at(distance)` is the row at this distance.
#[inline(always)]
pub(super) fn across<'r, T: SplineValue + 'r, A: Arithmetic<T>>(
    neighbors: Neighbors,
    place: Place,
    at: impl Fn(isize) -> &'r [T],
    p: &mut [T],
) {
    let n = p.len();
    let b = &at(-1)[..n];
    match neighbors {
        Neighbors::Before => {
            for i in 0..n {
                p[i] = A::before(b[i]);
            }
        }
        Neighbors::Both => {
            let c = &at(1)[..n];
            for i in 0..n {
                p[i] = A::both(b[i], c[i]);
            }
        }
        Neighbors::Left => {
            let (c, d) = (&at(1)[..n], &at(3)[..n]);
            for i in 0..n {
                p[i] = A::left(b[i], c[i], d[i], place);
            }
        }
        Neighbors::Right => {
            let (a, c) = (&at(-3)[..n], &at(1)[..n]);
            for i in 0..n {
                p[i] = A::right(a[i], b[i], c[i]);
            }
        }
        Neighbors::All => {
            let (a, c, d) = (&at(-3)[..n], &at(1)[..n], &at(3)[..n]);
            for i in 0..n {
                p[i] = A::cubic(a[i], b[i], c[i], d[i], place);
            }
        }
    }
}

/// The neighbors of the points of a row along the row.
pub(super) struct RowNeighbors {
    pub(super) each: Vec<Neighbors>,
    /// Ranks, for loops over them.
    pub(super) rank: Vec<u32>,
    /// Points that the loop over cubics leaves out.
    others: Vec<usize>,
}

impl RowNeighbors {
    /// The neighbors of the odd points of a row of `extent` elements, which begins with a tile.
    pub(super) fn new(spacing: usize, body: usize, extent: usize) -> RowNeighbors {
        let points = (spacing..extent).step_by(2 * spacing);
        let each: Vec<_> = points.map(|x| Neighbors::along(x % body, x, spacing, body, extent)).collect();
        let rank = each.iter().map(|n| n.rank()).collect();
        let inner = |i: usize| each[i] == Neighbors::All && i > 0 && i + 2 < each.len();
        let others = (0..each.len()).filter(|&i| !inner(i)).collect();
        RowNeighbors { each, rank, others }
    }

    /// Predictions of the points between `even` points.
    #[inline(always)]
    pub(super) fn predict<T: SplineValue, A: Arithmetic<T>>(&self, place: Place, even: &[T], p: &mut [T]) {
        let n = p.len();
        // Cubic everywhere, which most points are; then the others.
        if n > 3 {
            let (a, b) = (&even[..n - 3], &even[1..n - 2]);
            let (c, d) = (&even[2..n - 1], &even[3..n]);
            let inner = &mut p[1..n - 2];
            for i in 0..n - 3 {
                inner[i] = A::cubic(a[i], b[i], c[i], d[i], place);
            }
        }
        for &i in &self.others {
            let (b, next) = (even[i], i + 1);
            p[i] = match self.each[i] {
                Neighbors::All => A::cubic(even[i - 1], b, even[next], even[i + 2], place),
                Neighbors::Before => A::before(b),
                Neighbors::Both => A::both(b, even[next]),
                Neighbors::Left => A::left(b, even[next], even[i + 2], place),
                Neighbors::Right => A::right(even[i - 1], b, even[next]),
            };
        }
    }
}

/// Between x, whose ranks differ from point to point, and another axis: the prediction of the higher rank, of equal ranks the mean. Where
/// both are 0, the plane through three neighbors: that of the row `before`, that of the row, and that of both.
#[inline(always)]
pub(super) fn face_with_x<T: SplineValue>(
    x: &[T],
    ranks: &[u32],
    (other, rank): (&[T], u32),
    (even, before): (&[T], (&[T], &[T])),
    p: &mut [T],
) {
    let (half, n) = (T::from_f64(0.5), p.len());
    let (x, ranks, other) = (&x[..n], &ranks[..n], &other[..n]);
    for i in 0..n {
        let mean = other[i].add(x[i]).mul(half);
        let larger = if ranks[i] > rank { x[i] } else { other[i] };
        p[i] = if ranks[i] == rank { mean } else { larger };
    }
    if rank == 0 {
        for i in (0..n).filter(|&i| ranks[i] == 0) {
            p[i] = before.0[i].add(even[i]).sub(before.1[i]);
        }
    }
}

/// The same between y and z.
#[inline(always)]
pub(super) fn face<T: SplineValue>(
    (y, rank_y): (&[T], u32),
    (z, rank_z): (&[T], u32),
    [above, beside, both]: [&[T]; 3],
    p: &mut [T],
) {
    let (half, n) = (T::from_f64(0.5), p.len());
    if rank_y != rank_z {
        p.copy_from_slice(if rank_y > rank_z { y } else { z });
    } else if rank_y > 0 {
        for i in 0..n {
            p[i] = z[i].add(y[i]).mul(half);
        }
    } else {
        for i in 0..n {
            p[i] = above[i].add(beside[i]).sub(both[i]);
        }
    }
}

/// Between three axes: the mean of those with a cubic, which `true` marks for y and z; without any, x alone.
#[inline(always)]
pub(super) fn cube<T: SplineValue>(x: &[T], ranks: &[u32], y: (&[T], bool), z: (&[T], bool), p: &mut [T]) {
    let (half, three, n) = (T::from_f64(0.5), T::from_f64(3.0), p.len());
    let (x, ranks, (y, cubic_y), (z, cubic_z)) = (&x[..n], &ranks[..n], (&y.0[..n], y.1), (&z.0[..n], z.1));
    if cubic_y && cubic_z {
        for i in 0..n {
            let all = x[i].add(y[i]).add(z[i]).div(three);
            let two = z[i].add(y[i]).mul(half);
            p[i] = if ranks[i] == 3 { all } else { two };
        }
    } else if cubic_y || cubic_z {
        let other = if cubic_z { z } else { y };
        for i in 0..n {
            let two = other[i].add(x[i]).mul(half);
            p[i] = if ranks[i] == 3 { two } else { other[i] };
        }
    } else {
        p.copy_from_slice(x);
    }
}

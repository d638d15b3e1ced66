//! The shape of an array as parameters: `dim_x`, `dim_y`, `dim_z`.

use crate::base::array::Array;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, DIMS as NAMES, Kind, Param, Setting};

/// The three lengths, each of at most `most` elements.
pub(super) const fn dim_x(most: i64) -> Param {
    dim(
        NAMES[0],
        most,
        "Length of the fastest dimension. If all three are 0: that of the array. If this one alone is 0: the number of elements divided by the others.",
    )
}
pub(super) const fn dim_y(most: i64) -> Param {
    dim(NAMES[1], most, "Length of the second dimension; 0: 1.")
}
pub(super) const fn dim_z(most: i64) -> Param {
    dim(NAMES[2], most, "Length of the third dimension; 0: 1.")
}

/// `axes`: how many dimensions differences are taken in.
pub(super) const AXES: Param = Param {
    name: "axes",
    kind: Kind::Int { low: 0, high: 3 },
    default: Setting::Int(0),
    unit: "dimensions",
    doc: "Dimensions along which values are predicted, the fastest ones; the others are joined to the last of them. 0: all that the array has.",
};

const fn dim(name: &'static str, most: i64, doc: &'static str) -> Param {
    Param { name, kind: Kind::Int { low: 0, high: most }, default: Setting::Int(0), unit: "elements", doc }
}

/// The shape in the parameters, with ones in place of zeros except for x.
pub(super) fn dims(args: &Args) -> Result<[u64; 3]> {
    let dim = |name| -> Result<u64> { Ok(args.int(name)? as u64) };
    Ok([dim(NAMES[0])?, dim(NAMES[1])?.max(1), dim(NAMES[2])?.max(1)])
}

/// The shape of `n` elements. If the parameters leave x open, it is `n` divided by the other two.
pub(super) fn of(stage: &'static str, args: &Args, n: u64) -> Result<[u64; 3]> {
    let mut dims = dims(args)?;
    if dims[0] == 0 {
        dims[0] = n / dims[1].saturating_mul(dims[2]);
    }
    if product(dims) > u128::from(n) || product(dims) == 0 && n > 0 {
        let expected = format!("a shape of 1 to {n} elements");
        return Err(Error::argument(format!("{stage}.dim_x"), format!("{dims:?}"), expected));
    }
    Ok(dims)
}

/// 3 where z is above 1, else 2 where y is, else 1.
pub(super) fn rank<T: Copy + PartialOrd + From<u8>>([_, y, z]: [T; 3]) -> u32 {
    let one = T::from(1);
    if z > one {
        3
    } else if y > one {
        2
    } else {
        1
    }
}

/// The dimensions in an order in which those of length 1 come last, and the others as they were.
pub(super) fn ones_last(dims: [u64; 3]) -> [usize; 3] {
    let mut order = [0, 1, 2];
    order.sort_by_key(|&d| dims[d] == 1);
    order
}

pub(super) fn product(dims: [u64; 3]) -> u128 {
    dims.iter().map(|&d| u128::from(d)).fold(1, u128::saturating_mul)
}

/// Joins the lengths behind the first `axes` to the last of those.
pub(super) fn join(args: &mut Args) -> Result<()> {
    let axes = args.int(AXES.name)? as usize;
    if !(1..NAMES.len()).contains(&axes) {
        return Ok(());
    }
    let dims = dims(args)?;
    // Their product is that of the array, whose elements were counted.
    args.set_int(NAMES[axes - 1], dims[axes - 1..].iter().product::<u64>() as i64)?;
    NAMES[axes..].iter().try_for_each(|name| args.set_int(name, 1))
}

/// Sets the lengths that the parameters leave open to those of the array: all three, or x alone.
pub(super) fn fit(stage: &'static str, args: &mut Args, array: &Array, most: u64) -> Result<()> {
    let n = array.elements();
    let given = dims(args)?;
    let unset = given == [0, 1, 1] && args.int(NAMES[1])? + args.int(NAMES[2])? == 0;
    let mut bound = given;
    if unset && n > 0 {
        array.joined_dims().iter().zip(&mut bound).for_each(|(&d, b)| *b = d);
    } else if given[0] == 0 {
        bound[0] = n / given[1].saturating_mul(given[2]);
    }
    if product(bound) != u128::from(n) {
        let set: Vec<(&str, u64)> = NAMES.into_iter().zip(given).filter(|(_, d)| *d > 1).collect();
        let [x, y, z] = bound;
        let (what, got) = match set[..] {
            [] => (NAMES[0].to_string(), given[0].to_string()),
            [(name, d)] => (name.to_string(), d.to_string()),
            _ => (NAMES.join(" · "), format!("{x} · {y} · {z} = {}", product(bound))),
        };
        let expected = format!(
            "lengths whose product is {n}, the elements of the array; 0 in all three takes its shape"
        );
        return Err(Error::argument(format!("{stage}.{what}"), got, expected));
    }
    for (name, d) in NAMES.into_iter().zip(bound) {
        let d = i64::try_from(d).ok().filter(|_| d <= most).ok_or(Error::TooLarge {
            stage,
            needed: array.bytes(),
            limit: most.saturating_mul(array.dtype().bytes()),
        })?;
        args.set_int(name, d)?;
    }
    Ok(())
}

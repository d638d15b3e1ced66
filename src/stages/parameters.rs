//! Parameters that several stages have.

use super::shape;
use crate::base::error::{Error, Result};
use crate::base::param::{self, Args, DIMS, Kind, Param, Setting};
use crate::ir::stage::Spec;

/// `input_type`: the element type that the stage works on.
pub(super) const INPUT_TYPE: Param = Param {
    name: "input_type",
    kind: Kind::Choice(&["auto", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"]),
    default: Setting::Choice("auto"),
    unit: "",
    doc: "Element type that the stage works on; auto: the type on the edge. It must have the same width.",
};

/// `input_type` of the stages that take floats as values.
pub(super) const FLOAT_TYPE: Param = Param {
    name: "input_type",
    kind: Kind::Choice(&["auto", "f32", "f64"]),
    default: Setting::Choice("auto"),
    unit: "",
    doc: "Element type that the pipeline is made for, any other is refused; auto: the type on the edge.",
};

/// The shape that a stage with indices of 32 bits works in.
pub(super) const DIM_X: Param = shape::dim_x(u32::MAX as i64);
pub(super) const DIM_Y: Param = shape::dim_y(u32::MAX as i64);
pub(super) const DIM_Z: Param = shape::dim_z(u32::MAX as i64);

/// `outlier_threshold` of the stages that lose something.
pub(super) const OUTLIER_THRESHOLD: Param = Param {
    name: "outlier_threshold",
    kind: Kind::Real { low: 0.0, open: true, high: f64::INFINITY },
    default: Setting::Real(f64::INFINITY),
    unit: "data units",
    doc: "Values of this magnitude and above (fill values) are exact and outside of the value range, unless strict is off.",
};

/// The capacity of the outlier lists as a fraction of the elements. If a threshold is set, the number of fill values is unknown,
/// and the lists have room for every one of `n` elements. Lists of more elements would be too long for stages that merge or code
/// them.
pub(super) fn list_capacity(args: &Args, strict: bool, n: u64) -> Result<f64> {
    const MOST: u64 = 1 << 28;
    let fills = strict && args.real("outlier_threshold")?.is_finite();
    if fills && n <= MOST { Ok(1.0) } else { args.real(param::OUTLIER_CAPACITY) }
}

/// `error_bound` of the stages whose bins have one width.
pub(super) const ERROR_BOUND: Param = Param {
    name: "error_bound",
    kind: Kind::Real { low: 0.0, open: true, high: f64::MAX },
    default: Setting::Real(1e-3),
    unit: "data units (abs), fraction of the value range (noa) or of the largest magnitude (prel)",
    doc: "Largest error of a bounded value.",
};

/// `mode` of the same stages. Plans reject `rel` with a reason, see [`super::quantizer::mode_of_array`].
pub(super) const MODE: Param = Param {
    name: param::MODE,
    kind: Kind::Choice(&["abs", "noa", "prel"]),
    default: Setting::Choice("abs"),
    unit: "",
    doc: "abs: the bound itself; noa: times (max - min); prel: times max |x|, of the bounded values. Only stage quantizer has mode rel.",
};

/// `value_base` of the same.
pub(super) const VALUE_BASE: Param = Param {
    name: "value_base",
    kind: Kind::Real { low: 0.0, open: false, high: f64::MAX },
    default: Setting::Real(0.0),
    unit: "data units",
    doc: "noa: the value range, prel: the largest magnitude, if it is known in advance; 0: measured.",
};

/// The number that a bound is a fraction of, by name, as a container states it.
pub(super) fn base_said(args: &Args, base: f32) -> Option<(&'static str, String)> {
    let name = match args.choice("mode") {
        Ok("noa") => "value_range",
        Ok("prel") => "largest_magnitude",
        _ => return None,
    };
    Some((name, format!("{base:?}")))
}

/// `fixed_step` of the stages that lose something.
pub(super) const FIXED_STEP: Param = Param {
    name: "fixed_step",
    kind: Kind::Flag,
    default: Setting::Flag(false),
    unit: "",
    doc: "The step follows from the bound alone and not from a sample of f32 values, so a restored array is coded without change.",
};

/// The parameters that the config of a stage with a bound, a threshold, and a shape records.
pub(super) fn recorded(spec: &Spec, mode: u8, bound: f64, threshold: f64, dims: [u64; 3]) -> Result<Args> {
    let refuse = |what: String| Err(Error::corrupt(spec.name, what));
    let mut args = Args::new(spec.name, spec.params);
    args.set_text(
        "mode",
        match mode {
            0 => "abs",
            2 => "noa",
            3 => "prel",
            other => return refuse(format!("there is no mode {other}")),
        },
    )?;
    let put =
        |name: &str, set: Result<()>| set.map_err(|e| Error::corrupt(spec.name, format!("{name}: {e}")));
    put("bound", args.set_real("error_bound", bound))?;
    put("threshold", args.set_real("outlier_threshold", threshold))?;
    for (name, d) in DIMS.into_iter().zip(dims) {
        // Not cut off at the limit of the parameter: the message would name another number than the
        // container.
        let Ok(length) = i64::try_from(d) else {
            return refuse(format!("{name} is {d}, which is above 2^40"));
        };
        put(name, args.set_int(name, length))?;
    }
    Ok(args)
}

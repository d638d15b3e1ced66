//! Pipelines that work well, by name. Their parameters can be changed; until then `fz` and `pfpl` have mode `noa` and
//! error bound 1e-3.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;

/// A named pipeline.
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Whether decompression gives back the same bytes.
    pub lossless: bool,
    build: fn(DType) -> Result<Pipeline>,
}

/// Every preset.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "pfpl",
        about: "bounded error: quantizer (in-place outliers) > difference > bitshuffle > rze; f32 and f64, any mode; under rel outliers have lists",
        lossless: false,
        build: pfpl,
    },
    Preset {
        name: "fz",
        about: "bounded error: lorenzo_quant (1, 2 or 3 dimensions) > bitshuffle > rze; f32 and f64, modes abs, noa and prel",
        lossless: false,
        build: fz,
    },
    Preset {
        name: "bits",
        about: "lossless: difference > bitshuffle > rze; any element type",
        lossless: true,
        build: bits,
    },
];

/// The preset of this name, for arrays of this type and no other. `fz` and `pfpl` have mode `noa` and error bound 1e-3 until they are
/// set, see [`Pipeline::set_everywhere`]; `bits` loses nothing.
///
/// # Errors
/// [`Error::UnknownName`]; [`Error::Unsupported`] for a type that it does not compress.
pub fn preset(name: &str, dtype: DType) -> Result<Pipeline> {
    let preset = PRESETS.iter().find(|p| p.name == name).ok_or_else(|| Error::UnknownName {
        kind: "preset",
        name: name.into(),
        place: String::new(),
        known: PRESETS.iter().map(|p| p.name).collect::<Vec<_>>().join(", "),
    })?;
    (preset.build)(dtype)
}

fn pfpl(dtype: DType) -> Result<Pipeline> {
    let code = match dtype {
        DType::F32 => "u32",
        DType::F64 => "u64",
        other => {
            let what = format!("it bounds errors of f32 and f64, not of {other}; use preset bits");
            return Err(Error::Unsupported { stage: "preset pfpl", what });
        }
    };
    let mut p = Pipeline::new();
    let quantizer = p.add("quantizer")?;
    let args = p.args_mut(quantizer)?;
    args.set_text("mode", "noa")?;
    args.set_text("code_type", code)?;
    args.set_int("quant_radius", 0)?;
    args.set_int("inplace_outliers", 1)?;
    let tail = shuffle(&mut p, dtype)?;
    p.connect(quantizer, "codes", tail)?;
    Ok(p)
}

fn fz(dtype: DType) -> Result<Pipeline> {
    if !dtype.is_float() {
        let what = format!("it bounds errors of f32 and f64, not of {dtype}; use preset bits");
        return Err(Error::Unsupported { stage: "preset fz", what });
    }
    let mut p = Pipeline::new();
    let predictor = p.add("lorenzo_quant")?;
    let args = p.args_mut(predictor)?;
    args.set_text("mode", "noa")?;
    args.set_int("zigzag_codes", 1)?;
    let bitshuffle = p.add("bitshuffle")?;
    p.args_mut(bitshuffle)?.set_int("element_width", 2)?;
    let rze = p.add("rze")?;
    p.connect(predictor, "codes", bitshuffle)?;
    p.connect(bitshuffle, "output", rze)?;
    Ok(p)
}

fn bits(dtype: DType) -> Result<Pipeline> {
    let mut p = Pipeline::new();
    shuffle(&mut p, dtype)?;
    Ok(p)
}

/// Adds difference > bitshuffle > rze for elements of this width; returns the difference.
fn shuffle(p: &mut Pipeline, dtype: DType) -> Result<usize> {
    let difference = p.add("difference")?;
    let args = p.args_mut(difference)?;
    args.set_text("code", "negabinary")?;
    args.set_int("chunk_size", 16384)?;
    let bitshuffle = p.add("bitshuffle")?;
    p.args_mut(bitshuffle)?.set_int("element_width", dtype.bytes() as i64)?;
    let rze = p.add("rze")?;
    p.connect(difference, "output", bitshuffle)?;
    p.connect(bitshuffle, "output", rze)?;
    Ok(difference)
}

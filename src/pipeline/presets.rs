//! Pipelines that work well, by name: files of `presets/`, compiled in. Their parameters can be changed; until then those with
//! a bound have mode `noa` and error bound 1e-3.

use crate::base::dtype::DType;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::base::nearest::meant;
use crate::pipeline::Pipeline;

/// A named pipeline.
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// True if decompression restores the same bytes.
    pub lossless: bool,
    /// True for a published pipeline that another preset surpasses and that exists for comparisons. It is
    /// found by its name and is in no list.
    pub research: bool,
    /// The pipeline for each element type.
    forms: &'static [(&'static [DType], &'static str)],
}

/// All presets. [`Preset::listed`] has those to choose from.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "pfpl",
        about: "bounded error: quantizer (in-place outliers) > difference > bitshuffle > rze; f32 and f64, any mode; under rel outliers have lists",
        lossless: false,
        research: false,
        forms: &[
            (&[DType::F32], include_str!("../../presets/pfpl-f32.toml")),
            (&[DType::F64], include_str!("../../presets/pfpl-f64.toml")),
        ],
    },
    Preset {
        name: "fz",
        about: "bounded error: lorenzo_quant (1, 2 or 3 dimensions) > bitshuffle > rze; f32 and f64, modes abs, noa and prel",
        lossless: false,
        research: false,
        forms: &[(&[DType::F32, DType::F64], include_str!("../../presets/fz.toml"))],
    },
    Preset {
        name: "cusz",
        about: "bounded error: lorenzo_quant (1, 2 or 3 dimensions) > huffman; f32 and f64, modes abs, noa and prel",
        lossless: false,
        research: false,
        forms: &[(&[DType::F32, DType::F64], include_str!("../../presets/cusz.toml"))],
    },
    Preset {
        name: "cusz_ans",
        about: "bounded error: lorenzo_quant (1, 2 or 3 dimensions) > adm > ans; f32 and f64, modes abs, noa and prel",
        lossless: false,
        research: false,
        forms: &[(&[DType::F32, DType::F64], include_str!("../../presets/cusz_ans.toml"))],
    },
    Preset {
        name: "bits",
        about: "lossless: difference > bitshuffle > rze; any element type",
        lossless: true,
        research: false,
        forms: &[
            (&[DType::U8, DType::I8], include_str!("../../presets/bits-1.toml")),
            (&[DType::U16, DType::I16], include_str!("../../presets/bits-2.toml")),
            (&[DType::U32, DType::I32, DType::F32], include_str!("../../presets/bits-4.toml")),
            (&[DType::U64, DType::I64, DType::F64], include_str!("../../presets/bits-8.toml")),
        ],
    },
    Preset {
        name: "lc_speed",
        about: "bounded error: lorenzo_quant > zigzag > bitshuffle > rre; f32 and f64, modes abs, noa and prel",
        lossless: false,
        research: true,
        forms: &[(&[DType::F32, DType::F64], include_str!("../../presets/research/lc_speed.toml"))],
    },
    Preset {
        name: "lc_ratio",
        about: "bounded error: lorenzo_quant > rre > zigzag > rze; f32 and f64, modes abs, noa and prel",
        lossless: false,
        research: true,
        forms: &[(&[DType::F32, DType::F64], include_str!("../../presets/research/lc_ratio.toml"))],
    },
    Preset {
        name: "lc_tp",
        about: "bounded error: lorenzo_quant, its codes > zigzag > bitshuffle > rre, its outliers > merge > bitshuffle > rre > rze; f32 and f64, modes abs, noa and prel",
        lossless: false,
        research: true,
        forms: &[(&[DType::F32, DType::F64], include_str!("../../presets/research/lc_tp.toml"))],
    },
    Preset {
        name: "cusz_hi_tp",
        about: "bounded error: ginterp (1, 2 or 3 dimensions, made for 2 and 3), its codes > zigzag > bitshuffle > rre, the rest > merge > bitshuffle > rre > rze; f32 and f64, modes abs, noa and prel",
        lossless: false,
        research: true,
        forms: &[(&[DType::F32, DType::F64], include_str!("../../presets/research/cusz_hi_tp.toml"))],
    },
    Preset {
        name: "cusz_hi_cr",
        about: "bounded error: ginterp (1, 2 or 3 dimensions, made for 2 and 3), its codes > huffman, with the rest > merge > rre > zigzag > rze; f32 and f64, modes abs, noa and prel",
        lossless: false,
        research: true,
        forms: &[(&[DType::F32, DType::F64], include_str!("../../presets/research/cusz_hi_cr.toml"))],
    },
    Preset {
        name: "lc_cr",
        about: "bounded error: lorenzo_quant, its codes > huffman, with its outliers > merge > rre > zigzag > rze; f32 and f64, modes abs, noa and prel",
        lossless: false,
        research: false,
        forms: &[(&[DType::F32, DType::F64], include_str!("../../presets/lc_cr.toml"))],
    },
    Preset {
        name: "fast",
        about: "bounded error: fast (1, 2 or 3 dimensions), one stage at the speed of memory; f32 and f64, modes abs, noa and prel",
        lossless: false,
        research: false,
        forms: &[(&[DType::F32, DType::F64], include_str!("../../presets/fast.toml"))],
    },
    Preset {
        name: "high",
        about: "bounded error: multilevel (1, 2 or 3 dimensions), one stage for the highest ratios; f32 and f64, modes abs, noa and prel",
        lossless: false,
        research: false,
        forms: &[(&[DType::F32, DType::F64], include_str!("../../presets/high.toml"))],
    },
    Preset {
        name: "exact",
        about: "lossless: exact (1, 2 or 3 dimensions), one stage for higher ratios than bits; any element type",
        lossless: true,
        research: false,
        forms: &[(&DType::ALL, include_str!("../../presets/exact.toml"))],
    },
];

impl Preset {
    /// The presets to choose from: all but those for comparisons.
    pub fn listed() -> impl Iterator<Item = &'static Preset> {
        PRESETS.iter().filter(|p| !p.research)
    }

    /// The preset as a TOML file for arrays of this type, as in `presets/` of the sources.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a type that the preset does not compress.
    pub fn toml(&self, dtype: DType) -> Result<&'static str> {
        let form = self.forms.iter().find(|(types, _)| types.contains(&dtype));
        form.map(|(_, toml)| *toml).ok_or_else(|| {
            let types: Vec<&str> =
                self.forms.iter().flat_map(|(types, _)| *types).map(|d| d.name()).collect();
            let what =
                format!("this preset is for {}, not for {dtype}; use preset bits", types.join(" and "));
            Error::Unsupported { stage: self.name, what }
        })
    }
}

/// The preset of this name, listed or not, for arrays of this type and no other. Presets with a bound have
/// mode `noa` and error bound 1e-3 until these are set, see [`Pipeline::set_everywhere`]; `bits` and `exact` are lossless.
///
/// # Errors
/// [`Error::UnknownName`]; [`Error::Unsupported`] for a type that the preset does not compress.
pub fn preset(name: &str, dtype: DType) -> Result<Pipeline> {
    in_default_environment(|| {
        let preset = PRESETS.iter().find(|p| p.name == name).ok_or_else(|| {
            let of = |research| PRESETS.iter().filter(move |p| p.research == research).map(|p| p.name);
            let (listed, others): (Vec<&str>, Vec<&str>) = (of(false).collect(), of(true).collect());
            Error::UnknownName {
                kind: "preset",
                name: name.into(),
                place: meant(name, &[&listed[..], &others].concat()),
                known: format!("{}; for comparisons {}", listed.join(", "), others.join(", ")),
            }
        })?;
        Pipeline::from_toml(preset.toml(dtype)?)
    })
}

/// The preset of this name with a bound: a mode by its name and the error bound, or `lossless` and 0 for a preset that loses nothing.
///
/// # Errors
/// Those of [`preset`]; [`Error::InvalidArgument`] for a mode or a bound that the preset does not accept.
pub fn preset_within(name: &str, dtype: DType, mode: &str, bound: f64) -> Result<Pipeline> {
    in_default_environment(|| {
        let mut pipeline = preset(name, dtype)?;
        let lossless = PRESETS.iter().any(|p| p.name == name && p.lossless);
        match (lossless, mode) {
            (true, "lossless") if bound == 0.0 => return Ok(pipeline),
            (true, "lossless") => return Err(Error::argument("bound", bound, "0 for a lossless preset")),
            (true, _) => {
                return Err(Error::argument(
                    "mode",
                    mode,
                    format!("lossless, as preset {name} loses nothing"),
                ));
            }
            (false, "lossless") => {
                let expected =
                    format!("abs, noa, prel, or rel; preset {name} has a bound, and bits is lossless");
                return Err(Error::argument("mode", mode, expected));
            }
            _ => {}
        }
        pipeline.set_everywhere("mode", |args| args.set_text("mode", mode))?;
        pipeline.set_everywhere("error_bound", |args| args.set_real("error_bound", bound))?;
        Ok(pipeline)
    })
}

//! Stage lorenzo_quant: its values and its lists, alone and in presets fz and cusz, on the CPU and on devices.

mod damage;
mod lists;
mod presets;
mod values;

use crate::common::agreement::{holds, stage};
use crate::common::gpu;
use crate::common::run::{every_way, forms, options};
use crate::common::samples::{Content, Sample};
use fzgm::{Container, DType, Generation, Options, Pipeline, compress, decompress};

#[derive(Clone, Copy)]
struct Setup {
    mode: &'static str,
    eb: f64,
    threshold: f64,
    code: &'static str,
    radius: i64,
}

impl Setup {
    fn new(mode: &'static str, eb: f64) -> Setup {
        Setup { mode, eb, threshold: f64::INFINITY, code: "u16", radius: 0 }
    }

    fn pipeline(&self) -> Pipeline {
        let (eb, threshold) = (format!("{:?}", self.eb), format!("{:?}", self.threshold));
        stage(
            "lorenzo_quant",
            &[
                ("mode", self.mode),
                ("error_bound", &eb),
                ("outlier_threshold", &threshold),
                ("code_type", self.code),
                ("quant_radius", &self.radius.to_string()),
                ("zigzag_codes", if self.radius == 0 { "true" } else { "false" }),
            ],
        )
    }

    /// The restored array.
    fn restores(&self, sample: &Sample, container: Container) -> Vec<u8> {
        holds(&self.pipeline(), sample, &options(container, true)).1
    }
}

/// Planes of whole tiles. `fused_fz_decode` restores them if there are one or two.
const BANDED: [[u64; 3]; 7] =
    [[8, 1024, 3], [16, 512, 9], [64, 128, 2], [128, 64, 17], [256, 32, 8], [512, 16, 1], [512, 16, 11]];

/// More planes, which have enough tiles for `fused_fz_decode`; nine of them are in two layers.
const WIDE: [[u64; 3]; 2] = [[512, 528, 3], [512, 272, 9]];

/// Rows that end within a piece, so that tiles end within a lane too; more than a brick across; hardly anything.
const RAGGED: [[u64; 3]; 7] =
    [[7, 5, 3], [33, 9, 10], [129, 8, 8], [130, 17, 9], [1, 1, 100], [3, 1000, 2], [131, 40, 1]];

const SHIFTS: [[usize; 2]; 4] = [[0, 0], [4, 0], [0, 4], [8, 8]];

/// A step of twice the bound, rounded to the type.
fn step_of(dtype: DType, eb: f64) -> f64 {
    if dtype == DType::F32 { (2.0 * eb as f32).into() } else { 2.0 * eb }
}

const CONTENTS: [Content; 7] = [
    Content::Walk,
    Content::Specials,
    Content::Fills,
    Content::Sparse,
    Content::Random,
    Content::Ones,
    Content::Constant,
];

fn quantizer(sets: &[(&str, &str)]) -> Pipeline {
    stage("lorenzo_quant", sets)
}

/// Files in the exact form of the reference do not contain the shape, and are restored padded.
fn all_ways(p: &Pipeline, sample: &Sample, form: &Options) {
    if form.strict || form.generation != Generation::G2026_05 {
        every_way(p, sample, form).unwrap_or_else(|e| panic!("{} {form:?}: {e}", sample.name));
        return;
    }
    let container = compress(p, &sample.array, form, &sample.bytes).unwrap();
    let (_, restored) = decompress(&container, form).unwrap();
    gpu::agrees(p, sample, form, (&container, &restored));
}

/// The forms that hold tiles around their means.
fn forms_with_means() -> impl Iterator<Item = Options> {
    forms().into_iter().filter(|f| f.generation == Generation::G2026_08 || f.container == Container::Compact)
}

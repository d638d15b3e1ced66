//! The vocabulary of FZGPUModules: names of stages, and keys with a meaning only there, which are accepted if
//! their value has no effect.

use super::{shown, unknown};
use crate::base::error::{Error, Result};
use crate::ir::stage::Stage;
use crate::stages::{self, STAGES};

/// Stage types that its files may have, as it spells them.
const TYPES: [&str; 34] = [
    "Quantizer",
    "LorenzoQuant",
    "Difference",
    "Zigzag",
    "Negabinary",
    "Bitshuffle",
    "RZE",
    "Lorenzo",
    "RLE",
    "Bitpack",
    "RRE",
    "Merge",
    "Huffman",
    "ANS",
    "ADM",
    "GInterp",
    "RARE",
    "RAZE",
    "CLOG",
    "HCLOG",
    "BitplaneRZE",
    "BitplaneRLE",
    "AdaptiveBitpack",
    "TiledLorenzo",
    "AdaptiveLorenzo",
    "GPULZ",
    "TUPL",
    "LogTransform",
    "CDF97",
    "SPECK2D",
    "Cdf97OutlierCorrect",
    "ROIBinSplit",
    "SZx",
    "SZp",
];

fn same(a: &str, b: &str) -> bool {
    let letters =
        |s: &str| s.bytes().filter(|c| *c != b'_').map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>();
    letters(a) == letters(b)
}

/// How the reference spells the name of a stage; our own name where it has none.
pub(super) fn spelled(stage: &'static str) -> &'static str {
    TYPES.into_iter().find(|t| same(t, stage)).unwrap_or(stage)
}

/// The stage of this name, in our spelling or the reference's.
pub(super) fn stage(name: &str) -> Result<&'static dyn Stage> {
    if let Ok(stage) = stages::by_name(name) {
        return Ok(stage);
    }
    let known: Vec<&str> = STAGES.iter().map(|s| s.spec().name).collect();
    let Some(theirs) = TYPES.into_iter().find(|t| same(t, name)) else {
        return Err(unknown("stage", name, "", &known));
    };
    let what = format!(
        "this version does not support this stage of FZGPUModules; its stages are {}",
        known.join(", ")
    );
    Err(Error::Unsupported { stage: theirs, what })
}

/// The only value that a key may have here.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Only {
    False,
    Int(i64),
    Real(f64),
}

/// Keys of stages, each with its value that has no effect.
const IDLE: [(&str, &str, Only); 10] = [
    ("bitpack", "auto_base", Only::False),
    ("bitpack", "auto_shift", Only::False),
    ("bitpack", "adaptive", Only::False),
    ("quantizer", "linear_mode", Only::False),
    ("quantizer", "linear_high_precision", Only::False),
    ("quantizer", "power_of_two_bound", Only::False),
    ("quantizer", "dither", Only::False),
    ("quantizer", "dither_seed", Only::Int(0)),
    ("quantizer", "dither_strength", Only::Real(1.0)),
    // The number of bitmaps, which is no choice: the reference refuses any other.
    ("rze", "levels", Only::Int(4)),
];

/// Keys of a stage that may be there and change nothing.
pub(super) fn idle(stage: &str) -> impl Iterator<Item = (&'static str, Only)> {
    IDLE.into_iter().filter(move |(of, ..)| *of == stage).map(|(_, key, only)| (key, only))
}

impl Only {
    /// Rejects a value that has an effect.
    pub(super) fn check(self, stage: &'static str, key: &str, given: Option<Only>, text: &str) -> Result<()> {
        if given == Some(self) {
            return Ok(());
        }
        let want = match self {
            Only::False => "false".into(),
            Only::Int(v) => v.to_string(),
            Only::Real(v) => format!("{v:?}"),
        };
        let what = format!(
            "{key} = {} is not supported by this version; remove it, or set it to {want}",
            shown(text)
        );
        Err(Error::Unsupported { stage, what })
    }
}

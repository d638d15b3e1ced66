//! The presets of the filter and their numbers. A number never changes its meaning.

use super::Answer;
use super::words::Mode;

/// The pipeline of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preset {
    /// pfpl with a bound, otherwise bits.
    Auto = 0,
    /// Bins, differences, bit planes.
    Pfpl = 1,
    /// Differences in as many dimensions as the chunk has.
    Fz = 2,
    /// Bins, differences in all dimensions, and bit planes in one stage, for speed.
    Fast = 3,
    /// Interpolation of bin numbers from coarse to fine grids, for ratio.
    High = 4,
    /// Differences and a Huffman code.
    Cusz = 6,
    /// Differences and range coders.
    CuszAns = 7,
    /// Differences and the chain of LC for ratio.
    LcCr = 8,
    /// Interpolation of the values themselves, for chunks that are written once.
    HighOnce = 9,
}

/// Reserved for a preset that does not exist yet.
const EXACT: u32 = 5;

impl Preset {
    pub(crate) const ALL: [Preset; 9] = [
        Preset::Auto,
        Preset::Pfpl,
        Preset::Fz,
        Preset::Fast,
        Preset::High,
        Preset::Cusz,
        Preset::CuszAns,
        Preset::LcCr,
        Preset::HighOnce,
    ];

    /// The name in all interfaces.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Preset::Auto => "default",
            Preset::Pfpl => "pfpl",
            Preset::Fz => "fz",
            Preset::Fast => "fast",
            Preset::High => "high",
            Preset::Cusz => "cusz",
            Preset::CuszAns => "cusz_ans",
            Preset::LcCr => "lc_cr",
            Preset::HighOnce => "high_once",
        }
    }

    /// True if chunks have a form of the filter around the frame, and the words contain the fill value.
    pub(crate) const fn has_form(self) -> bool {
        matches!(self, Preset::High | Preset::HighOnce)
    }

    /// The preset of a number, if the preset supports the mode.
    pub(crate) fn of(number: u32, mode: Mode) -> Answer<Preset> {
        let Some(preset) = Preset::ALL.into_iter().find(|p| *p as u32 == number) else {
            let reserved = if number == EXACT { ", reserved for preset exact" } else { "" };
            let known: Vec<String> =
                Preset::ALL.iter().map(|p| format!("{} ({})", *p as u32, p.name())).collect();
            return Err(format!(
                "the preset is {number}{reserved}; this plugin supports {}; for other presets, install a newer plugin",
                known.join(", ")
            ));
        };
        let advice = match (preset, mode) {
            (Preset::Auto, _) | (_, Mode::Abs(_)) | (Preset::Pfpl, Mode::Rel(_)) => return Ok(preset),
            (Preset::Pfpl, _) => "pass mode 1 (abs) or 2 (rel), or omit the preset",
            _ => "pass mode 1 (abs), or omit the preset",
        };
        let mode = if matches!(mode, Mode::Rel(_)) { "2 (rel)" } else { "0 (lossless)" };
        Err(format!("preset {number} ({}) does not support mode {mode}; {advice}", preset.name()))
    }
}

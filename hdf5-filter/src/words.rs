//! The cd_values: the words of a user, and the words that a dataset stores. `docs/hdf5-format.md` specifies them.
//!
//! The program `fzgm` compiles this file too, for `fzgm hdf5`.

use super::Answer;
use super::element::Element;
use super::presets::Preset;

/// The request of the user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    /// Every byte is restored.
    Lossless,
    /// |x - x'| is at most this.
    Abs(f64),
    /// |x - x'| is at most this times |x|.
    Rel(f64),
}

/// The words of a user: mode, bound as two words, preset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct User {
    pub(crate) mode: Mode,
    pub(crate) preset: Preset,
}

/// The number of the filter, from the header for programs.
pub(crate) const ID: i32 = number_after(include_str!("../fzgm_hdf5.h"), "#define H5Z_FILTER_FZGM ");
const USER_WORDS: usize = 4;
/// The upper half of word 4, "FZ". The lower half is the version.
const MAGIC: u32 = 0x465a_0000;
/// Version for presets without a form of their own: words 9 and 10 are the threshold.
const VERSION: u32 = 1;
/// Version for presets whose chunks have the form of `form`: words 9 and 10 are the fill value.
const FORM_VERSION: u32 = 2;
/// Words before the dimensions.
const FIXED_WORDS: usize = 12;
/// Dimensions that HDF5 permits.
pub(crate) const MAX_RANK: usize = 32;
/// Largest number of words of a dataset.
pub(crate) const MAX_WORDS: usize = FIXED_WORDS + 2 * MAX_RANK;
/// Bounds of mode rel with which a restored value keeps its bin, see the page of stage quantizer.
const REL: std::ops::RangeInclusive<f64> = 1.0 / 131_072.0..=0.25;

/// The decimal number that follows `name` in a text. A text without it does not compile.
const fn number_after(text: &str, name: &str) -> i32 {
    let (text, name) = (text.as_bytes(), name.as_bytes());
    let mut at = 0;
    loop {
        let mut same = 0;
        while same < name.len() && text[at + same] == name[same] {
            same += 1;
        }
        at += 1;
        if same == name.len() {
            at += same - 1;
            break;
        }
    }
    let mut number = 0;
    while text[at].is_ascii_digit() {
        number = 10 * number + (text[at] - b'0') as i32;
        at += 1;
    }
    assert!(number > 0);
    number
}

fn double(low: u32, high: u32) -> f64 {
    f64::from_bits(u64::from(low) | u64::from(high) << 32)
}

fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

impl User {
    /// The request in the words at the creation of a dataset: words of a user, or the words of another dataset,
    /// which tools copy.
    pub(crate) fn read(cd: &[u32]) -> Answer<User> {
        let stored = cd.get(USER_WORDS).is_some_and(|w| w & 0xffff_0000 == MAGIC);
        match (cd, stored) {
            (_, true) => {
                // Dimensions are not read: h5py up to 3.15 copies only 16 words, and passes arbitrary memory in
                // place of the others.
                let ones =
                    cd.iter().enumerate().map(|(i, w)| if i < FIXED_WORDS { *w } else { 1 - i as u32 % 2 });
                Stored::read(&ones.collect::<Vec<_>>()).map(|s| s.user)
            }
            ([] | [0], _) => Ok(User { mode: Mode::Lossless, preset: Preset::Auto }),
            ([mode, low, high], _) => User::of(*mode, double(*low, *high), 0),
            ([mode, low, high, preset], _) => User::of(*mode, double(*low, *high), *preset),
            _ => Err(format!(
                "{} cd_values are given; expected none, or mode, the two words of the bound as a float64 (low word first), and optionally a preset",
                cd.len()
            )),
        }
    }

    fn of(mode: u32, bound: f64, preset: u32) -> Answer<User> {
        let positive = bound.is_finite() && bound > 0.0;
        let mode = match mode {
            0 => Mode::Lossless,
            1 if positive => Mode::Abs(bound),
            1 => {
                return Err(format!(
                    "the error bound is {bound:?}; in mode abs, pass a finite number above 0 (in cd_values, the low word first)"
                ));
            }
            2 if REL.contains(&bound) => Mode::Rel(bound),
            2 => {
                return Err(format!(
                    "the error bound is {bound:?}; in mode rel, pass 2^-17 = 7.63e-6 to 0.25; for smaller bounds, use mode abs or lossless"
                ));
            }
            3 => {
                return Err("the mode is 3 (noa), but each chunk has its own range; pass mode 1 (abs) with bound * (max - min) of the whole dataset".into());
            }
            _ => return Err(format!("the mode is {mode}; expected 0 (lossless), 1 (abs), or 2 (rel)")),
        };
        let preset = Preset::of(preset, mode)?;
        Ok(User { mode, preset })
    }

    /// The request as words 0 to 3.
    pub(crate) fn words(self) -> [u32; USER_WORDS] {
        let (mode, bound) = match self.mode {
            Mode::Lossless => (0, 0.0),
            Mode::Abs(bound) => (1, bound),
            Mode::Rel(bound) => (2, bound),
        };
        let [low, high] = halves(f64::to_bits(bound));
        [mode, low, high, self.preset as u32]
    }
}

/// The settings of a dataset: everything that compressing and restoring a chunk requires.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) user: User,
    pub(crate) element: Element,
    /// The bound that values are compressed with, at most that of the user; 0 if the dataset is lossless.
    pub(crate) bound: f64,
    /// Values of this magnitude and above are stored exactly. It is the magnitude of a fill value that no bin equals,
    /// otherwise infinity.
    pub(crate) threshold: f64,
    /// The fill value, if chunks have the form of `form`.
    pub(crate) fill: Option<f64>,
    /// Elements of a chunk, the slowest dimension first.
    pub(crate) dims: Vec<u64>,
}

impl Stored {
    /// The words of a dataset.
    pub(crate) fn words(&self) -> Vec<u32> {
        let mut words = self.user.words().to_vec();
        let (version, exact) = match self.user.preset.has_form() {
            true => (FORM_VERSION, self.fill.unwrap_or(f64::NAN)),
            false => (VERSION, self.threshold),
        };
        words.extend([MAGIC | version, self.element.word(), self.element.bytes]);
        words.extend(halves(self.bound.to_bits()));
        words.extend(halves(exact.to_bits()));
        words.push(self.dims.len() as u32);
        words.extend(self.dims.iter().flat_map(|d| halves(*d)));
        words
    }

    /// The settings in the words of a dataset. Every word is checked.
    pub(crate) fn read(cd: &[u32]) -> Answer<Stored> {
        let damaged = |what: String| {
            format!("the cd_values of the dataset are damaged: {what}; restore the file from a copy")
        };
        let version = cd.get(USER_WORDS).filter(|w| **w & 0xffff_0000 == MAGIC).map(|w| w & 0xffff);
        if let Some(version) = version.filter(|v| !(VERSION..=FORM_VERSION).contains(v)) {
            return Err(format!(
                "the cd_values have version {version}; this plugin supports {VERSION} and {FORM_VERSION}; install a newer plugin"
            ));
        }
        let Some((fixed, dims)) = cd.split_first_chunk::<FIXED_WORDS>().filter(|_| version.is_some()) else {
            return Err(format!(
                "the {} cd_values are incomplete; expected those that H5Dcreate stores. Link HDF5 as a shared library (h5cc -shlib, h5fc -shlib), or pass complete cd_values, see docs/hdf5-advanced.md",
                cd.len()
            ));
        };
        let &[mode, low, high, preset, _, kind, bytes, b0, b1, e0, e1, rank] = fixed;
        let user = User::of(mode, double(low, high), preset)?;
        let element = Element::from_words(kind, bytes).ok_or_else(|| {
            damaged(format!(
                "word 5 is {kind:#x} and word 6 is {bytes}, which is not an element type and its size"
            ))
        })?;
        let (bound, exact) = (double(b0, b1), double(e0, e1));
        if (version == Some(FORM_VERSION)) != user.preset.has_form() {
            let version = version.unwrap_or_default();
            return Err(damaged(format!(
                "the preset is {preset}, which does not belong to version {version}"
            )));
        }
        let (threshold, fill) = match user.preset.has_form() {
            true => (f64::INFINITY, Some(exact).filter(|f| !f.is_nan())),
            false => (exact, None),
        };
        if rank as usize > MAX_RANK || dims.len() != 2 * rank as usize {
            let follow = dims.len();
            return Err(damaged(format!(
                "word 11 is {rank}, but {follow} words follow; expected 2 for each of at most {MAX_RANK} dimensions"
            )));
        }
        let dims = dims.chunks_exact(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect();
        let most = match user.mode {
            Mode::Abs(bound) | Mode::Rel(bound) if element.dtype.is_float() => bound,
            _ => 0.0,
        };
        // A NaN fails these comparisons. Every dataset that is not lossless has a bound.
        let bounded = bound >= 0.0 && bound <= most && (bound > 0.0) == (most > 0.0);
        if !bounded {
            let range = if most > 0.0 { "above 0 and at most" } else { "exactly" };
            return Err(damaged(format!(
                "the bound in words 7 and 8 is {bound:?}; expected a number {range} {most:?}"
            )));
        }
        let positive = threshold > 0.0;
        if !positive {
            return Err(damaged(format!(
                "the threshold in words 9 and 10 is {threshold:?}; expected a number above 0"
            )));
        }
        let stored = Stored { user, element, bound, threshold, fill, dims };
        stored.chunk_bytes()?;
        Ok(stored)
    }

    /// Bytes of a chunk, which HDF5 counts in 32 bits.
    pub(crate) fn chunk_bytes(&self) -> Answer<usize> {
        let bytes = self.dims.iter().try_fold(u64::from(self.element.bytes), |n, d| n.checked_mul(*d));
        match bytes.filter(|b| *b < 1 << 32).and_then(|b| usize::try_from(b).ok()) {
            Some(0) => Err(format!(
                "the chunk shape is {:?}; expected at least one element in each dimension",
                self.dims
            )),
            Some(bytes) => Ok(bytes),
            None => Err(format!(
                "chunks of {:?} elements of {} bytes have 4 GiB or more; choose smaller chunks, best of 1 to 64 MiB",
                self.dims, self.element.bytes
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fzgm::DType;

    fn stored() -> Stored {
        Stored {
            user: User { mode: Mode::Abs(1e-3), preset: Preset::Fz },
            element: Element::number(DType::F64, true),
            bound: 9.9e-4,
            threshold: 1e20,
            fill: None,
            dims: vec![3, 1 << 20, 7],
        }
    }

    #[test]
    fn stored_words_are_read_back_and_begin_with_those_of_the_user() {
        let words = stored().words();
        assert_eq!(words[..4], [1, 0xd2f1_a9fc, 0x3f50_624d, 2]);
        assert_eq!(Stored::read(&words), Ok(stored()));
        assert_eq!(User::read(&words), Ok(stored().user));
        assert_eq!(User::read(&words[..4]), Ok(stored().user));
        // Any dimensions are accepted; those of the new dataset replace them.
        let mut odd = words.clone();
        odd[16..].fill(0xdead_beef);
        assert_eq!(User::read(&odd), Ok(stored().user));
        assert!(Stored::read(&odd).is_err());
    }

    #[test]
    fn every_other_length_is_refused() {
        let words = stored().words();
        for n in (0..words.len()).chain([words.len() + 1]) {
            let cut: Vec<u32> = words.iter().copied().chain([0]).take(n).collect();
            assert!(Stored::read(&cut).is_err(), "{n}");
            assert_eq!(User::read(&cut).is_ok(), [0, 3, 4].contains(&n), "{n}");
        }
    }

    #[test]
    fn bounds_that_the_user_did_not_request_are_refused() {
        let wrong = [(1.1e-3, 1.0), (0.0, 1.0), (-1e-4, 1.0), (f64::NAN, 1.0), (1e-4, 0.0), (1e-4, f64::NAN)];
        for (bound, threshold) in wrong {
            let s = Stored { bound, threshold, ..stored() };
            assert!(Stored::read(&s.words()).is_err(), "{bound} {threshold}");
        }
        let lossless = Stored { user: User { mode: Mode::Lossless, preset: Preset::Auto }, ..stored() };
        assert!(Stored::read(&lossless.words()).is_err());
    }

    #[test]
    fn chunks_of_4_gib_are_refused() {
        let of = |dims: &[u64]| Stored { dims: dims.to_vec(), ..stored() }.chunk_bytes();
        assert_eq!(of(&[1 << 28, 2]).ok(), None);
        assert_eq!(of(&[(1 << 29) - 1]), Ok(usize::try_from((1u64 << 32) - 8).unwrap()));
        assert_eq!(of(&[1 << 63, 1 << 63]).ok(), None);
        assert_eq!(of(&[3, 0]).ok(), None);
    }
}

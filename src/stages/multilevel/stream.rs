//! The stream: header, lengths of sections, patterns, sections.

use super::differences::Differences;
use super::params::{MultilevelMetadata, PATTERNS, RUN_BYTES, WAVE};
use super::section::{Form, Kind, Planned};
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::base::tile::at;

/// Fields of the first word: the number of sections, the number of patterns, and a bit that is set if the stream is wide.
const SECTIONS: u32 = (1 << 24) - 1;
const PATTERNS_AT: u32 = 24;
const WIDE: u32 = 1 << 27;
/// Bytes of the first word. Stored values follow it.
pub(super) const HEAD: usize = 4;

/// The cost of a section in bytes, rounded up.
fn bytes_of(cost: u64) -> u64 {
    cost.div_ceil(8 * super::log2::BIT)
}

/// The number of runs that all sections should have together.
fn runs(bytes: u64, values: u64) -> u64 {
    let share = match values / bytes {
        0..=50 => 20,
        v @ 51..=200 => 20 + (v - 50) / 5,
        v @ 201..=2000 => 50 + (v - 200) / 12,
        _ => 200,
    };
    (u128::from(bytes) * u128::from(share) / (1000 * u128::from(RUN_BYTES))) as u64
}

/// Rounds a number of runs down to whole waves: a large device decodes about `WAVE` runs at a time.
fn waves(runs: usize) -> usize {
    if runs > WAVE as usize { runs - runs % WAVE as usize } else { runs }
}

/// The least number of steps of the form (8 + m) 2^e that is not below `steps`, and 8e + m.
fn steps_of_run(steps: usize) -> (usize, u8) {
    (0..=u8::MAX).map(|code| (per_run(code), code)).find(|(q, _)| *q >= steps).unwrap_or((per_run(255), 255))
}

pub(super) fn per_run(code: u8) -> usize {
    (8 + usize::from(code % 8)) << (code / 8)
}

/// Writes the stream, or the values if these are shorter. Returns the number of bytes.
pub(super) fn write(
    sections: &[Planned],
    differences: Option<&Differences>,
    metadata: &MultilevelMetadata,
    form: Form,
    threads: Parallel<'_>,
    src: &[u8],
    out: &mut [u8],
) -> Result<usize, Fault> {
    let cost = sections.iter().map(|s| s.cost).sum::<u64>();
    let runs = runs(bytes_of(cost).max(1), src.len() as u64);
    let root = |s: &Planned| if s.kind == Kind::Serial { 0 } else { (s.steps as u64).isqrt() };
    let roots = sections.iter().map(root).sum::<u64>().max(1);
    let mut words: Vec<Vec<u16>> = vec![];
    for section in sections {
        let of = waves((u128::from(runs) * u128::from(root(section)) / u128::from(roots)).max(1) as usize);
        let (per_run, code) = match section.kind {
            Kind::Serial => (section.steps, 0),
            _ => steps_of_run(section.steps.div_ceil(of)),
        };
        words.push(section.write(threads, per_run, code, form));
    }
    if let (Some(differences), Some(last)) = (differences, words.last_mut()) {
        differences.write(form, last);
    }
    let patterns = &metadata.pattern[..metadata.patterns.into()];
    let mut head = (sections.len() as u32
        | u32::from(metadata.patterns) << PATTERNS_AT
        | if form.wide { WIDE } else { 0 })
    .to_le_bytes()
    .to_vec();
    let number = |head: &mut Vec<u8>, x: u64, bytes: usize| head.extend_from_slice(&x.to_le_bytes()[..bytes]);
    words.iter().for_each(|w| number(&mut head, w.len() as u64, if form.wide { 8 } else { 4 }));
    patterns.iter().for_each(|&p| number(&mut head, p, form.exact as usize / 8));
    let total = head.len() + words.iter().map(|w| 2 * w.len()).sum::<usize>();
    if total >= HEAD + src.len() {
        let out = out.get_mut(..HEAD + src.len()).ok_or(Fault::BadLaunch)?;
        out[..HEAD].fill(0);
        out[HEAD..].copy_from_slice(src);
        return Ok(HEAD + src.len());
    }
    let mut rest = out.get_mut(..total).ok_or(Fault::BadLaunch)?;
    for bytes in std::iter::once(&head[..]).chain(words.iter().map(|w| bytemuck::cast_slice(w))) {
        let (to, behind) = rest.split_at_mut(bytes.len());
        to.copy_from_slice(bytes);
        rest = behind;
    }
    Ok(total)
}

/// The number of steps of a run of a section that is not in a stream, and its code. The section has a cost and `steps` steps in runs; the
/// array has `bytes` bytes.
pub(super) fn alone(cost: u64, steps: usize, bytes: u64) -> (usize, u8) {
    let runs = (runs(bytes_of(cost).max(1), bytes) / 4).max(1) as usize;
    steps_of_run(steps.div_ceil(runs))
}

/// The header of a stream: the part before the sections.
pub(super) struct Head {
    /// Bytes of each section.
    pub(super) lengths: Vec<usize>,
    pub(super) patterns: [u64; PATTERNS as usize],
    pub(super) count: usize,
}

impl Head {
    /// The number of bytes of the header of a stream whose first word is `first`. It must have `sections` sections. `None` if the values
    /// follow the first word.
    pub(super) fn bytes(first: u32, sections: usize, form: Form) -> Result<Option<usize>, Fault> {
        if first == 0 {
            return Ok(None);
        }
        let count = (first >> PATTERNS_AT & 7) as usize;
        let known = SECTIONS | 7 << PATTERNS_AT | WIDE;
        if first & SECTIONS != sections as u32
            || first & !known != 0
            || (first & WIDE != 0) != form.wide
            || count > PATTERNS as usize
        {
            return Err(Fault::Corrupt);
        }
        Ok(Some(HEAD + sections * if form.wide { 8 } else { 4 } + count * (form.exact as usize / 8)))
    }

    /// Reads the header of a stream of `whole` bytes. `bytes` must be exactly the header.
    pub(super) fn read(bytes: &[u8], sections: usize, form: Form, whole: u64) -> Result<Head, Fault> {
        let first: u32 = at(bytes, 0).ok_or(Fault::Corrupt)?;
        let count = (first >> PATTERNS_AT & 7) as usize;
        let mut place = HEAD;
        let mut number = |bytes_of: usize| {
            let mut all = [0; 8];
            let from = bytes.get(place..place + bytes_of).ok_or(Fault::Corrupt)?;
            all[..bytes_of].copy_from_slice(from);
            place += bytes_of;
            Ok(u64::from_le_bytes(all))
        };
        let (mut lengths, mut end) = (vec![], bytes.len() as u64);
        for _ in 0..sections {
            let length = number(if form.wide { 8 } else { 4 })?.checked_mul(2).ok_or(Fault::Corrupt)?;
            end = end.checked_add(length).filter(|end| *end <= whole).ok_or(Fault::Corrupt)?;
            lengths.push(usize::try_from(length).map_err(|_| Fault::Corrupt)?);
        }
        if end != whole {
            return Err(Fault::Corrupt);
        }
        let mut patterns = [0; PATTERNS as usize];
        for pattern in patterns.get_mut(..count).ok_or(Fault::Corrupt)? {
            *pattern = number(form.exact as usize / 8)?;
        }
        Ok(Head { lengths, patterns, count })
    }

    /// The first sections, those that `bytes` contains completely.
    pub(super) fn cut<'a>(&self, bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let (mut rest, mut words) = (bytes, vec![]);
        for &length in &self.lengths {
            let Some((own, behind)) = rest.split_at_checked(length) else { break };
            words.push(own);
            rest = behind;
        }
        words
    }
}

/// An opened stream.
pub(super) enum Stream<'a> {
    Values(&'a [u8]),
    Sections { words: Vec<&'a [u8]>, patterns: [u64; PATTERNS as usize], count: usize },
}

impl<'a> Stream<'a> {
    /// Opens the stream of an array that is not empty. It must have `sections` sections.
    pub(super) fn open(bytes: &'a [u8], sections: usize, form: Form) -> Result<Stream<'a>, Fault> {
        let first: u32 = at(bytes, 0).ok_or(Fault::Corrupt)?;
        let Some(length) = Head::bytes(first, sections, form)? else {
            return Ok(Stream::Values(&bytes[HEAD..]));
        };
        let (own, rest) = bytes.split_at_checked(length).ok_or(Fault::Corrupt)?;
        let head = Head::read(own, sections, form, bytes.len() as u64)?;
        Ok(Stream::Sections { words: head.cut(rest), patterns: head.patterns, count: head.count })
    }
}

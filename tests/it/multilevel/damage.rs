//! Containers that no encoder writes: data or a status, in bounded time, the same for 1 and 3 threads and from run to run.

use super::{With, array, pipeline, said, write};
use crate::common::agreement::bare;
use crate::common::damage::frame_stages;
use crate::common::rng::Rng;
use crate::common::samples::{FLOATS, Sample};
use fzgm::{Container, DType, Decoder, Encoder, Options, Status, Workspace, decompress, info};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Far above the time of any of the arrays here, and below that of a loop that a header started.
const SLOW: Duration = Duration::from_secs(10);

struct Victim {
    name: String,
    bytes: Vec<u8>,
    config: Range<usize>,
    /// Where the sections are, and where the stream starts.
    sections: Vec<Range<usize>>,
    start: usize,
    planned: (Decoder, Workspace),
}

fn number(b: &[u8], at: usize) -> usize {
    u32::from_le_bytes(b[at..at + 4].try_into().unwrap()) as usize
}

impl Victim {
    fn new(dtype: DType, dims: &[u64], with: With, mode: &str, eb: f64, sets: &[(&str, &str)]) -> Victim {
        Victim::of(&array(dtype, dims, with, &mut Rng(5)), mode, eb, sets)
    }

    fn of(sample: &Sample, mode: &str, eb: f64, sets: &[(&str, &str)]) -> Victim {
        let p = pipeline(mode, eb, sets);
        let bytes = write(&p, sample, Container::Compact);
        let start = info(&bytes).unwrap().header_bytes as usize;
        let (head, mut sections) = (number(&bytes, start), vec![]);
        let count = head & 0xff_ffff;
        let width = if sample.array.dtype() == DType::F32 { 4 } else { 8 };
        let mut at = start + 4 + 4 * count + width * (head >> 24 & 7);
        for k in 0..count {
            let end = at + 2 * number(&bytes, start + 4 + 4 * k);
            sections.push(at..end);
            at = end;
        }
        if head > 0 {
            assert_eq!(at, bytes.len(), "{}", sample.name);
        }
        let config = frame_stages(&bytes).unwrap().0[0].clone();
        assert_eq!(config.len(), 112);
        let decoder = Encoder::new(&p, &sample.array, &bare(Container::Compact)).unwrap().decoder().unwrap();
        let ws = decoder.workspace().unwrap();
        Victim { name: sample.name.clone(), bytes, config, sections, start, planned: (decoder, ws) }
    }

    /// The verdict of 1 and 3 threads, and of a plan in a used workspace unless the header is another.
    fn verdict(&mut self, bad: &[u8], what: &str) -> Status {
        let name = self.name.clone();
        let begun = Instant::now();
        let run = |threads| {
            decompress(bad, &Options { threads, ..bare(Container::Compact) })
                .map_or_else(|e| Err(e.status()), |(_, bytes)| Ok(bytes))
        };
        let said = catch_unwind(AssertUnwindSafe(|| {
            let said = [run(1), run(3)];
            assert!(said[0] == said[1], "1 and 3 threads differ: {:?}", said.map(|s| s.map(|b| b.len())));
            let [first, _] = said;
            if bad[..self.start] == self.bytes[..self.start] {
                let mut to = vec![0xee; self.planned.0.array().bytes() as usize];
                let planned = self.planned.0.decompress(&mut self.planned.1, bad, &mut to);
                let planned = planned.map_or_else(|e| Err(e.status()), |_| Ok(to));
                assert!(planned == first, "a plan says something else");
            }
            first
        }));
        let said = said.unwrap_or_else(|_| panic!("{name}: {what}"));
        assert!(begun.elapsed() < SLOW, "{name}: {what}: {:?}", begun.elapsed());
        let status = said.map_or_else(|status| status, |_| Status::Ok);
        assert!(!matches!(status, Status::Internal), "{name}: {what}: {status:?}");
        status
    }
}

/// Arrays of every kind of section.
fn victims(dtype: DType) -> Vec<Victim> {
    let new =
        |dims: &[u64], with, mode, eb, sets: &[(&str, &str)]| Victim::new(dtype, dims, with, mode, eb, sets);
    let fills = &[("outlier_threshold", "1e15")][..];
    let all = vec![
        new(&[33, 20, 14], With::Specials, "noa", 1e-3, fills),
        new(&[90, 80], With::Fills, "noa", 1e-3, fills),
        new(&[40, 30, 8], With::NanFills, "abs", 0.01, &[]),
        new(&[9000], With::Walk, "prel", 1e-4, &[]),
        new(&[700], With::Nothing, "noa", 1e-2, &[]),
        new(&[70, 70], With::Eighths, "abs", 1e-3, &[]),
        new(&[8000], With::Blocks, "abs", 0.05, &[]),
        new(&[40, 20, 15], With::Blocks, "abs", 0.5, &[]),
        new(&[3, 4200], With::Rows, "noa", 1e-4, &[]),
        new(&[50, 40], With::Ends, "abs", 1.0, &[]),
        new(&[30, 40], With::Noise, "abs", 1e-13, &[]),
    ];
    assert!(all.iter().any(|v| said(&v.bytes, "axes_of_differences").is_some()), "no differences");
    assert!(all.iter().any(|v| said(&v.bytes, "lattice").unwrap() == "true"), "no lattice");
    assert!(all.iter().any(|v| v.sections.is_empty()), "no values as they are");
    assert!(all.iter().any(|v| v.bytes[v.start + 3] & 7 > 0), "no patterns");
    assert!(all.iter().any(|v| v.sections.iter().any(|s| v.bytes[s.start] & 32 > 0)), "no masks");
    all
}

/// Fields of the config: offset and width.
const FIELDS: [(usize, usize); 21] = [
    (0, 1),
    (1, 1),
    (2, 1),
    (3, 1),
    (4, 1),
    (5, 1),
    (6, 1),
    (7, 1),
    (8, 8),
    (16, 8),
    (24, 8),
    (32, 8),
    (40, 8),
    (48, 4),
    (52, 4),
    (56, 8),
    (64, 8),
    (72, 8),
    (80, 8),
    (88, 8),
    (96, 8),
];

fn put(b: &mut [u8], at: usize, width: usize, value: u64) {
    if let Some(to) = b.get_mut(at..at + width) {
        to.copy_from_slice(&value.to_le_bytes()[..width]);
    }
}

fn get(b: &[u8], at: usize, width: usize) -> u64 {
    let mut all = [0; 8];
    if let Some(from) = b.get(at..at + width) {
        all[..width].copy_from_slice(from);
    }
    u64::from_le_bytes(all)
}

/// Values at which something ends: of numbers, of lengths, of floats.
fn border(old: u64, width: usize, rng: &mut Rng) -> u64 {
    let float = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
        1e300,
        1e-300,
        3.5e38,
        1e-45,
    ];
    match rng.below(11) {
        0 => 0,
        1 => u64::MAX,
        2 => old.wrapping_add(1),
        3 => old.wrapping_sub(1),
        4 => 1 << rng.below(8 * width),
        5 => old.wrapping_mul(2),
        6 => u64::MAX >> 1,
        7 => rng.word() % 70,
        8 | 9 if width == 8 => float[rng.below(float.len())].to_bits(),
        _ => rng.word(),
    }
}

/// Shapes of as many elements, of fewer, of none, and of far more.
fn shape(b: &mut [u8], config: usize, rng: &mut Rng) {
    let n = get(b, config + 80, 8);
    let divisor = |of: u64, rng: &mut Rng| {
        let all: Vec<u64> = (1..=of.min(200)).filter(|d| of % d == 0).collect();
        all[rng.below(all.len().max(1))]
    };
    let dims = match rng.below(6) {
        0 => [n, 1, 1],
        1 => [1, 1, n],
        2 => [[0, n, n], [n, 0, 1], [0, 0, 0], [1, 1, 1]][rng.below(4)],
        3 => {
            let x = divisor(n.max(1), rng);
            let y = divisor((n / x).max(1), rng);
            [x, y, n / x / y]
        }
        4 => [1 << 40, 1 << rng.below(41), 1 << rng.below(25)],
        _ => [1 + rng.word() % 100, 1 + rng.word() % 100, 1 + rng.word() % 10],
    };
    let mut dimensions = dims.iter().filter(|&&d| d != 1).count().max(1) as u64;
    if rng.below(10) == 0 {
        dimensions = rng.word() % 4;
    }
    put(b, config + 2, 1, dimensions);
    for (k, d) in dims.into_iter().enumerate() {
        put(b, config + 88 + 8 * k, 8, d);
    }
    match rng.below(4) {
        0 => put(b, config + 4, 2, 1),
        1 => put(b, config + 4, 2, (1 << dimensions) - 1),
        2 => put(b, config + 4, 2, (1 + rng.word() % 3) << 8),
        _ => {}
    }
}

/// One edit with knowledge of the format; its name.
fn edit(v: &Victim, b: &mut [u8], rng: &mut Rng) -> &'static str {
    match rng.below(17) {
        kind if kind < 7 || v.sections.is_empty() => of_all(v, b, kind % 7, rng),
        kind if kind < 12 => of_sections(v, b, kind, rng),
        kind => within_a_section(v, b, kind, rng),
    }
}

/// Damage of the config and of the first words of the stream.
fn of_all(v: &Victim, b: &mut [u8], kind: usize, rng: &mut Rng) -> &'static str {
    let config = v.config.start;
    match kind {
        0 => {
            let (field, width) = FIELDS[rng.below(FIELDS.len())];
            let old = get(b, config + field, width);
            put(b, config + field, width, border(old, width, rng));
            "a field of the config"
        }
        1 => {
            shape(b, config, rng);
            "a shape"
        }
        2 => {
            put(b, config + 4, 2, [1, 2, 3, 5, 7, 0x100, 0x200, 0x300, 0x101, 0][rng.below(10)]);
            "axes"
        }
        3 => {
            (0..16).for_each(|k| b[config + 8 + k] = rng.word() as u8);
            "stencils"
        }
        4 => {
            b[config + 6] ^= 1;
            "the lattice"
        }
        5 => {
            let head = get(b, v.start, 4);
            let all =
                [0, head + 1, head ^ 1 << 27, head ^ (1 + rng.word() % 7) << 24, head ^ 1 << rng.below(32)];
            put(b, v.start, 4, all[rng.below(5)]);
            "the head"
        }
        _ => {
            for field in [24, 56, 64, 72] {
                if rng.below(2) == 0 {
                    let x = (rng.unit() - 0.5) * [1.0, 1e30, 1e-30, 1e308, 1e-310][rng.below(5)];
                    put(b, config + field, 8, x.to_bits());
                }
            }
            "numbers of the call"
        }
    }
}

/// Lengths of sections, and their first words.
fn of_sections(v: &Victim, b: &mut [u8], kind: usize, rng: &mut Rng) -> &'static str {
    let section = v.sections[rng.below(v.sections.len())].clone();
    let words = section.len() / 2;
    let at = |word: usize| section.start + 2 * word.min(words.saturating_sub(1));
    match kind {
        7 => {
            let k = v.start + 4 + 4 * rng.below(v.sections.len());
            let old = get(b, k, 4);
            put(b, k, 4, border(old, 4, rng));
            "the length of a section"
        }
        8 => {
            // Words go from a section to its neighbor.
            let k = rng.below(v.sections.len());
            let moved = 1 + rng.word() % 5;
            let (from, to) = (v.start + 4 + 4 * k, v.start + 4 + 4 * ((k + 1) % v.sections.len()));
            let less = get(b, from, 4).wrapping_sub(moved);
            put(b, from, 4, less);
            let more = get(b, to, 4).wrapping_add(moved);
            put(b, to, 4, more);
            "a border of sections"
        }
        9 => {
            let old = get(b, at(0), 2);
            let new = match rng.below(4) {
                0 => old ^ 32,
                1 => old & 0xff | (rng.word() & 0xff) << 8,
                2 => old & !31 | rng.word() & 31,
                _ => old ^ 1 << rng.below(16),
            };
            put(b, at(0), 2, new);
            "the head of a section"
        }
        10 => {
            let old = get(b, at(1), 2);
            put(b, at(1), 2, border(old, 2, rng));
            "the words of tables"
        }
        _ => {
            let old = get(b, at(2), 4);
            put(b, at(2), 4, border(old, 4, rng));
            "the number of steps"
        }
    }
}

fn within_a_section(v: &Victim, b: &mut [u8], kind: usize, rng: &mut Rng) -> &'static str {
    let section = v.sections[rng.below(v.sections.len())].clone();
    let words = section.len() / 2;
    let at = |word: usize| section.start + 2 * word.min(words.saturating_sub(1));
    let tables = get(b, section.start + 2, 2) as usize;
    match kind {
        12 => {
            let word = at(2 + rng.below(12));
            let old = get(b, word, 2);
            put(b, word, 2, border(old, 2, rng));
            "numbers of words"
        }
        13 => {
            let word = at(4 + rng.below(8 + tables));
            b[word + rng.below(2)] ^= 1 << rng.below(8);
            "a bit of tables"
        }
        14 => {
            let word = at(4 + tables + rng.below(60));
            let old = get(b, word, 2);
            put(b, word, 2, [border(old, 2, rng), 0xffff, old ^ 31, old | 0xffe0][rng.below(4)]);
            "the start of a run"
        }
        15 => {
            let word = at(rng.below(words));
            put(b, word, 2, rng.word());
            "a word of a section"
        }
        _ => {
            let other = v.sections[rng.below(v.sections.len())].clone();
            let n = rng.below(other.len().min(section.len()) / 2 + 1) * 2;
            let copy = b[other.start..other.start + n].to_vec();
            b[section.start..section.start + n].copy_from_slice(&copy);
            "a section over another"
        }
    }
}

fn anywhere(v: &Victim, b: &mut [u8], rng: &mut Rng) {
    for _ in 0..1 + rng.below(3) {
        let at = match rng.below(3) {
            0 => rng.below(b.len()),
            1 => v.config.start + rng.below(112),
            _ => (v.start + rng.below(200)).min(b.len() - 1),
        };
        b[at] = match rng.below(4) {
            0 => 0,
            1 => 255,
            2 => b[at] ^ 1 << rng.below(8),
            _ => rng.word() as u8,
        };
    }
}

#[test]
fn damaged_containers_are_data_or_a_status() {
    let rounds = if std::env::var_os("FZGM_LONG").is_some() { 5000 } else { 70 };
    let seed = std::env::var("FZGM_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(91);
    let mut rng = Rng(seed);
    let (mut data, mut refused) = (0, 0);
    let mut slowest = Duration::ZERO;
    for dtype in FLOATS {
        for mut v in victims(dtype) {
            assert_eq!(v.verdict(&v.bytes.clone(), "as written"), Status::Ok);
            for round in 0..rounds {
                let mut bad = v.bytes.clone();
                let mut what = "bytes";
                if rng.below(4) == 0 {
                    anywhere(&v, &mut bad, &mut rng);
                } else {
                    for _ in 0..1 + rng.below(2) {
                        what = edit(&v, &mut bad, &mut rng);
                    }
                }
                let begun = Instant::now();
                match v.verdict(&bad, &format!("{what}, seed {seed}, round {round}")) {
                    Status::Ok => data += 1,
                    _ => refused += 1,
                }
                slowest = slowest.max(begun.elapsed());
            }
        }
    }
    println!("{data} restored, {refused} refused, slowest {slowest:?}");
    assert!(data > rounds && refused > rounds, "{data} restored, {refused} refused");
}

/// The cases that the page lists, by edits that keep all else right.
#[test]
fn streams_that_no_encoder_writes_are_corrupt() {
    for dtype in FLOATS {
        let mut all = victims(dtype);
        let differs = all.iter().position(|v| said(&v.bytes, "axes_of_differences").is_some()).unwrap();
        for k in [0, 1, 3, differs] {
            let v = &mut all[k];
            let (config, start, good) = (v.config.start, v.start, v.bytes.clone());
            let first = v.sections[0].clone();
            let mut corrupt = |what: &str, at: usize, width: usize, value: u64| {
                let mut bad = good.clone();
                put(&mut bad, at, width, value);
                assert_eq!(v.verdict(&bad, what), Status::Corrupt, "{} {what}", v.name);
            };
            let field = |at: usize, width: usize| get(&good, config + at, width);
            for (what, at, width, value) in [
                ("no type", 1, 1, 7),
                ("another number of dimensions", 2, 1, field(2, 1) % 3 + 1),
                ("a mode that does not exist", 3, 1, 1),
                ("axes without x", 4, 1, 2),
                ("axes that do not exist", 4, 2, 15),
                ("axes beside differences", 4, 2, 0x101),
                ("neither axes nor differences", 4, 2, 0),
                ("differences along axes that do not exist", 4, 2, 0x400),
                ("a flag", 6, 1, 2),
                ("a byte that is to be 0", 7, 1, 1),
                ("a word that is to be 0", 52, 4, 1),
                ("a negative step", 24, 8, (-1.0f64).to_bits()),
                ("an infinite step", 24, 8, f64::INFINITY.to_bits()),
                ("a step of NaN", 24, 8, f64::NAN.to_bits()),
                ("a bound of 0", 32, 8, 0),
                ("an infinite bound", 32, 8, f64::INFINITY.to_bits()),
                ("a threshold of 0", 40, 8, 0),
                ("a threshold of NaN", 40, 8, f64::NAN.to_bits()),
                ("a center of NaN", 56, 8, f64::NAN.to_bits()),
                ("an infinite center", 56, 8, f64::NEG_INFINITY.to_bits()),
                ("a low of NaN", 64, 8, f64::NAN.to_bits()),
                ("a low of -0", 64, 8, (-0.0f64).to_bits()),
                ("a low of infinity", 64, 8, f64::INFINITY.to_bits()),
                ("a high of 0", 72, 8, 0),
                ("a high of -infinity", 72, 8, f64::NEG_INFINITY.to_bits()),
                ("a shape of too many", 88, 8, field(88, 8) + 1),
                ("a length above 2^40", 88, 8, (1 << 40) + 1),
            ] {
                corrupt(what, config + at, width, value);
            }
            let head = get(&good, start, 4);
            corrupt("another number of sections", start, 4, head + 1);
            corrupt("a wide stream", start, 4, head | 1 << 27);
            corrupt("unknown bits", start, 4, head | 1 << 28);
            corrupt("five patterns", start, 4, head & 0xff_ffff | 5 << 24);
            corrupt("values of another length", start, 4, 0);
            corrupt("a section that is too long", start + 4, 4, u64::from(u32::MAX));
            corrupt("masks or none", first.start, 2, get(&good, first.start, 2) ^ 32);
            corrupt("unknown bits of a section", first.start, 2, get(&good, first.start, 2) | 64);
            corrupt("tables of nothing", first.start + 2, 2, 0);
            corrupt("tables beyond the section", first.start + 2, 2, 0xffff);
            if k != differs {
                corrupt("Q in a serial section", first.start + 1, 1, 8);
            }
        }
    }
}

/// A header alone starts no work: arrays of many rows whose sections have nothing in them.
#[test]
fn sections_of_nothing_are_refused_at_once() {
    for dims in [&[2u64, 500_000][..], &[1_000_000], &[100, 100, 100], &[2, 2, 250_000]] {
        let sample = Sample::of(DType::F32, dims, vec![1.0; 1_000_000]);
        let mut v = Victim::of(&sample, "abs", 1e-3, &[]);
        for k in 0..v.sections.len() {
            let mut bad = v.bytes.clone();
            let s = v.sections[k].clone();
            // No bits for the numbers of words: runs of no words.
            bad[s.start] &= !31;
            assert_eq!(v.verdict(&bad, "runs of nothing"), Status::Corrupt);
            let mut bad = v.bytes.clone();
            bad[s].fill(0);
            assert_eq!(v.verdict(&bad, "a section of zeros"), Status::Corrupt);
        }
    }
}

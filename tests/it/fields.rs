//! Real fields: the bound kept for every value by every preset in all its modes, the cost of strict in bytes,
//! and on a GPU (`FZGM_REQUIRE_GPU=1`) the same containers and the same values.
//!
//! `FZGM_FIELDS=dir[:dir]` adds directories of `*.f32` and `*.f64` files with a `fields.json` of their
//! shapes; `FZGM_TABLE=file` appends a line for each case, with commas.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use crate::common::field::{Field, directory};
use crate::common::gpu::{self, Block};
use crate::common::oracle::{Bound, judge};
use fzgm::{DType, Decoder, Device, Encoder, Options, compress, decompress};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

const ALL: &[f64] = &[1e-2, 1e-3, 1e-4, 1e-5, 1e-6];
/// The number of elements from which a field counts as large.
const LARGE: u64 = 1 << 26;
const FEW: &[f64] = &[1e-2, 1e-3, 1e-4, 1e-6];

/// Per cent of the bytes that keeping the bound for every value may cost.
const MOST_OVERHEAD: f64 = 0.2;
/// The limit for fz: on the smoothest fields the stand-ins of exact values cost their neighbors a little.
/// Also the limit for bounds below 1e-4, where the spacing of f32 is some thousandth of a step and therefore
/// a part of the values is stored exactly.
const MOST_OVERHEAD_OF_FINE: f64 = 0.25;

/// A field, and where it lies on the device if there is one.
struct Bench<'f> {
    field: &'f Field,
    on_device: Option<(Block, Block)>,
}

impl Bench<'_> {
    fn new(field: &Field) -> Bench<'_> {
        let bytes = field.array.bytes() as usize;
        // The emulator takes a minute where a GPU takes a blink.
        let here = gpu::device().is_some() && (bytes <= 1 << 16 || gpu::cuda().is_real());
        Bench { field, on_device: here.then(|| (Block::of(&field.bytes), Block::new(bytes))) }
    }

    /// Compresses and restores on the device, each from the container of the other side. Returns the
    /// difference, if any.
    fn compare(&self, encoder: &Encoder, container: &[u8], restored: &[u8]) -> Option<String> {
        let (src, back) = self.on_device.as_ref()?;
        let (array, bytes) = (&self.field.array, self.field.bytes.len());
        let options = Options { device: Device::Cuda(0), ..encoder.options().clone() };
        let there = Encoder::new(encoder.pipeline(), array, &options).unwrap();
        let written = Block::new(there.max_compressed_bytes() as usize);
        let mut ws = there.workspace().unwrap();
        let (from, to) = (src.slice(0, bytes), written.slice(0, written.bytes));
        let n = unsafe { there.compress_at(&mut ws, from, to) }.unwrap();
        drop(ws);
        if n != container.len() || written.first(n) != container {
            return Some(format!(
                "the device writes another container, of {n} bytes for {}",
                container.len()
            ));
        }
        // The container of the CPU, at another address.
        written.put(0, container);
        let decoder = Decoder::open(container, &options).unwrap();
        let mut ws = decoder.workspace().unwrap();
        unsafe { decoder.decompress_at(&mut ws, written.slice(0, n), back.slice(0, bytes)) }.unwrap();
        (back.get() != restored).then(|| "the device restores other values".to_string())
    }
}

/// One preset in one mode with one bound: prints ratio, worst error over bound, and the cost of strict;
/// returns a broken promise, if any.
fn row(bench: &Bench<'_>, preset: &str, mode: &str, eb: f64) -> Option<String> {
    let Field { name, array, bytes, .. } = bench.field;
    let case = format!("{name} {preset} {mode} {eb:?}");
    let pipeline = bench.field.pipeline(preset, mode, eb);
    let options = |strict: bool| Options { strict, threads: 0, device: Device::Cpu, ..Options::default() };
    let encoder = Encoder::new(&pipeline, array, &options(true)).unwrap();
    let mut strict = vec![0; encoder.max_compressed_bytes() as usize];
    let n = encoder.compress(&mut encoder.workspace().unwrap(), bytes, &mut strict).unwrap();
    strict.truncate(n);
    let loose = compress(&pipeline, array, &options(false), bytes).unwrap().len();
    let (shape, restored) = decompress(&strict, &options(true)).unwrap();
    assert_eq!(shape, *array);
    let worst = if preset == "bits" {
        if restored != *bytes {
            return Some(format!("{case}: not what it was"));
        }
        0.0
    } else {
        match judge(array.dtype(), bytes, &restored, Bound::of(mode, eb), bench.field.threshold()) {
            Ok(verdict) => verdict.worst,
            Err(e) => return Some(format!("{case}: {e}")),
        }
    };
    if let Some(what) = bench.compare(&encoder, &strict, &restored) {
        return Some(format!("{case}: {what}"));
    }
    let overhead = (strict.len() as f64 / loose as f64 - 1.0) * 100.0;
    let ratio = bytes.len() as f64 / strict.len() as f64;
    let hash = crc32fast::hash(&strict);
    let device = if bench.on_device.is_some() { "equal" } else { "none" };
    println!(
        "| {name} | {preset} | {mode} | {eb:.0e} | {ratio:.3} | {worst:.9} | {overhead:+.4} % | {device} |"
    );
    line(&format!("{name},{preset},{mode},{eb:e},{ratio:.4},{worst:.9},{overhead:.4},{hash:08x},{device}"));
    let most = if preset == "fz" || eb < 1e-4 { MOST_OVERHEAD_OF_FINE } else { MOST_OVERHEAD };
    let limit = if cost_is_asked(bench.field, mode, eb) { most } else { f64::INFINITY };
    (overhead > limit).then(|| format!("{case}: strict costs {overhead:.3} %"))
}

/// True for given fields whose floats are dense compared with the bound: otherwise strict off saves bytes by
/// breaking the bound. In a corner of a field the header weighs more.
fn cost_is_asked(field: &Field, mode: &str, eb: f64) -> bool {
    std::env::var_os("FZGM_FIELDS").is_some()
        && !field.has_fills
        && field.array.elements() >= 1 << 16
        && field.largest_multiple(mode, eb) < 2f64.powi(18)
}

/// A line of the table for programs.
fn line(text: &str) {
    static TABLE: Mutex<()> = Mutex::new(());
    let Some(path) = std::env::var_os("FZGM_TABLE") else { return };
    let _alone = TABLE.lock();
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    if file.metadata().unwrap().len() == 0 {
        writeln!(file, "field,preset,mode,bound,ratio,worst error / bound,strict adds %,crc32,device")
            .unwrap();
    }
    writeln!(file, "{text}").unwrap();
}

fn table(field: &Field, broken: &mut Vec<String>) {
    println!("| field | preset | mode | bound | ratio | worst error / bound | strict adds | device |");
    let bounds = if field.array.elements() < LARGE { ALL } else { FEW };
    let bench = Bench::new(field);
    for (preset, modes) in
        [("pfpl", &["abs", "noa", "rel", "prel"][..]), ("fz", &["abs", "noa", "prel"]), ("bits", &["none"])]
    {
        for mode in modes {
            let bounds = if preset == "bits" { &[0.0] } else { bounds };
            broken.extend(bounds.iter().filter_map(|&eb| row(&bench, preset, mode, eb)));
        }
    }
}

#[test]
fn the_shipped_field_keeps_its_bounds() {
    let mut broken = vec![];
    table(&Field::shipped(), &mut broken);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Small enough for the emulator.
#[test]
fn a_corner_of_the_field_is_the_same_on_the_device() {
    if gpu::device().is_none() {
        eprintln!("SKIPPED: FZGM_REQUIRE_GPU is not set");
        return;
    }
    let mut broken = vec![];
    table(&Field::shipped().corner(37, 90), &mut broken);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn all_given_fields_keep_their_bounds() {
    let Ok(list) = std::env::var("FZGM_FIELDS") else {
        eprintln!("SKIPPED: FZGM_FIELDS is not set: only the shipped field is tested");
        return;
    };
    let mut broken = vec![];
    list.split(':').flat_map(|dir| directory(Path::new(dir))).for_each(|field| table(&field, &mut broken));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Values that are not bounded are restored bit for bit and do not harm the field around them.
#[test]
fn fills_and_specials_in_a_real_field() {
    let mut field = Field::shipped();
    let specials =
        [1e20f32.to_bits(), f32::NAN.to_bits() | 0x8000_0123, f32::INFINITY.to_bits(), 0x8000_0000, 1];
    for (i, word) in field.bytes.chunks_exact_mut(4).enumerate().filter(|(i, _)| i % 37 == 0) {
        word.copy_from_slice(&specials[i / 37 % specials.len()].to_le_bytes());
    }
    for (name, mode) in [("pfpl", "noa"), ("fz", "noa"), ("fz", "abs"), ("fz", "prel")] {
        let mut pipeline = fzgm::preset(name, DType::F32).unwrap();
        pipeline.set_everywhere("mode", |a| a.set_text("mode", mode)).unwrap();
        pipeline.set_everywhere("outlier_threshold", |a| a.set_real("outlier_threshold", 1e20)).unwrap();
        let container = compress(&pipeline, &field.array, &Options::default(), &field.bytes).unwrap();
        let (_, restored) = decompress(&container, &Options::default()).unwrap();
        let bound = Bound::of(mode, 1e-3);
        let verdict = judge(DType::F32, &field.bytes, &restored, bound, 1e20).unwrap();
        assert!(verdict.bounded > 1_000_000 && verdict.worst > 0.9, "{name} {mode}: {verdict:?}");
    }
}

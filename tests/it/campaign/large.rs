//! Arrays beyond 4 GiB, and those at the limit of their preset: bytes of the CPU, both ways, and the bound.

use super::limits::{in_mode, longest};
use super::{at_full_size, device_alone, note};
use crate::common::fixture::{Fixture, lossy, options};
use crate::common::oracle::{Bound, judge};
use fzgm::{Array, DType, Device, Encoder, Options, Pipeline};
use std::time::Instant;

/// Threads that make and compare arrays.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Values that vary slowly with some noise, and a special one now and then: a function of the index.
fn element(dtype: DType, i: u64) -> u64 {
    let mut noise = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    noise ^= noise >> 29;
    let level = (i >> 6) % 40_009;
    let real = |bits: u32| level as f64 + f64::from(bits) * 2f64.powi(-34);
    match dtype {
        DType::F32 if i % 1_000_003 == 7 => 0xffc0_1234,
        DType::F32 => u64::from((real(noise as u32) as f32).to_bits()),
        DType::F64 if i % 1_000_003 == 7 => 0xfff8_0000_0000_4321,
        DType::F64 => real(noise as u32).to_bits(),
        _ => level.wrapping_mul(3) ^ (noise & 1),
    }
}

fn make(array: &Array) -> Vec<u8> {
    let (width, dtype) = (array.dtype().bytes() as usize, array.dtype());
    let mut bytes = vec![0; array.bytes() as usize];
    let part = (bytes.len() / width).div_ceil(workers()) * width;
    std::thread::scope(|s| {
        for (k, piece) in bytes.chunks_mut(part.max(width)).enumerate() {
            let first = (k * part / width) as u64;
            s.spawn(move || {
                for (i, slot) in (first..).zip(piece.chunks_exact_mut(width)) {
                    slot.copy_from_slice(&element(dtype, i).to_le_bytes()[..width]);
                }
            });
        }
    });
    bytes
}

/// Slices compared by all cores.
fn equal(a: &[u8], b: &[u8]) -> bool {
    let part = a.len().div_ceil(workers()).max(1);
    a.len() == b.len()
        && std::thread::scope(|s| {
            let parts: Vec<_> =
                a.chunks(part).zip(b.chunks(part)).map(|(a, b)| s.spawn(move || a == b)).collect();
            parts.into_iter().all(|p| p.join().unwrap())
        })
}

/// The stages of `bits` except the last, which bring no length into the wire form.
pub(crate) fn without_rze(dtype: DType) -> Pipeline {
    let mut p = Pipeline::new();
    let difference = p.add("difference").unwrap();
    let args = p.args_mut(difference).unwrap();
    args.set_text("code", "negabinary").unwrap();
    args.set_int("chunk_size", 16384).unwrap();
    let shuffle = p.add("bitshuffle").unwrap();
    p.args_mut(shuffle).unwrap().set_int("element_width", dtype.bytes() as i64).unwrap();
    p.connect(difference, "output", shuffle).unwrap();
    p
}

/// Both ways on the CPU and on the device, over the same array.
fn agrees(name: &str, pipeline: &Pipeline, dtype: DType, dims: &[u64], bound: Option<Bound>) {
    let started = Instant::now();
    let array = Array::new(dtype, dims).unwrap();
    let options = Options { store_incompressible: false, checksum: false, ..options() };
    let mut fixture = Fixture::new(pipeline, &array, &options);
    let src = make(&array);
    fixture.src.put(0, &src);
    let (first, second) = fixture.both();
    assert_eq!((first.status, second.status), (0, 0), "{name} {dtype} {dims:?}: {first:?} {second:?}");

    let on_cpu = Options { device: Device::Cpu, threads: 0, ..options };
    let encoder = Encoder::new(pipeline, &array, &on_cpu).unwrap();
    let mut container = vec![0; encoder.max_compressed_bytes() as usize];
    let bytes = encoder.compress(&mut encoder.workspace().unwrap(), &src, &mut container).unwrap();
    container.truncate(bytes);
    assert_eq!(first.bytes, bytes as u64, "{name} {dtype} {dims:?}");
    let there = fixture.container.first(bytes);
    assert!(equal(&there, &container), "{name} {dtype} {dims:?}: another container");
    drop(container);

    // The CPU restores the container of the device.
    let decoder = encoder.decoder().unwrap();
    let mut restored = vec![0; src.len()];
    decoder.decompress(&mut decoder.workspace().unwrap(), &there, &mut restored).unwrap();
    assert_eq!(second.bytes, restored.len() as u64);
    assert!(equal(&fixture.restored.get(), &restored), "{name} {dtype} {dims:?}: another array");
    let worst = match bound {
        None => {
            assert!(equal(&src, &restored), "{name} {dtype} {dims:?}: not what it was");
            0.0
        }
        Some(bound) => judge(dtype, &src, &restored, bound, f64::INFINITY).unwrap().worst,
    };
    note(&format!(
        "{name} {dtype} {dims:?}: {} -> {bytes} bytes, worst error / bound {worst:.9}, {:.0} s",
        src.len(),
        started.elapsed().as_secs_f64()
    ));
}

/// `full` elements if there is room for them.
fn elements(full: u64) -> u64 {
    if at_full_size() { full } else { 20_000 + full % 1024 }
}

#[test]
fn five_gib_of_u16_without_rze() {
    let Some(_alone) = device_alone("five_gib_of_u16_without_rze") else { return };
    agrees("bits without rze", &without_rze(DType::U16), DType::U16, &[elements(5 << 29)], None);
}

#[test]
fn bits_at_its_limit() {
    let Some(_alone) = device_alone("bits_at_its_limit") else { return };
    for dtype in [DType::U8, DType::U16, DType::U32, DType::U64] {
        agrees(
            "bits",
            &lossy("bits", dtype),
            dtype,
            &[elements(longest(dtype.bytes(), dtype.bytes()))],
            None,
        );
    }
}

#[test]
fn pfpl_at_its_limit() {
    let Some(_alone) = device_alone("pfpl_at_its_limit") else { return };
    for dtype in [DType::F32, DType::F64] {
        let n = elements(longest(dtype.bytes(), dtype.bytes()));
        agrees("pfpl", &in_mode("noa", dtype), dtype, &[n], Some(Bound::Noa(1e-3)));
    }
}

#[test]
fn rel_at_its_limit() {
    let Some(_alone) = device_alone("rel_at_its_limit") else { return };
    for dtype in [DType::F32, DType::F64] {
        let n = elements(longest(dtype.bytes(), dtype.bytes()));
        agrees("rel", &scarce(in_mode("rel", dtype)), dtype, &[n], Some(Bound::Rel(1e-3)));
    }
}

/// Lists as long as the array would take more memory than the device has.
fn scarce(mut pipeline: Pipeline) -> Pipeline {
    pipeline.set_everywhere("outlier_capacity", |args| args.set_real("outlier_capacity", 0.05)).unwrap();
    pipeline
}

/// Twice as many bytes as a stream of RZE holds: its codes have two bytes.
#[test]
fn eight_gib_of_f32_in_fz() {
    let Some(_alone) = device_alone("eight_gib_of_f32_in_fz") else { return };
    let pipeline = scarce(lossy("fz", DType::F32));
    let bound = Some(Bound::Noa(1e-3));
    agrees("fz", &pipeline, DType::F32, &[elements(longest(4, 2))], bound);
    let (rows, planes) = if at_full_size() { (16_000, 44) } else { (60, 7) };
    let row = if at_full_size() { 3_001 } else { 51 };
    agrees("fz", &pipeline, DType::F32, &[row, rows, planes], bound);
    agrees("fz", &pipeline, DType::F32, &[row, rows * planes], bound);
}

/// And four times as many.
#[test]
fn sixteen_gib_of_f64_in_fz() {
    let Some(_alone) = device_alone("sixteen_gib_of_f64_in_fz") else { return };
    let pipeline = scarce(lossy("fz", DType::F64));
    agrees("fz", &pipeline, DType::F64, &[elements(longest(8, 2))], Some(Bound::Noa(1e-3)));
}

/// Stage fast is the only preset above 16 GiB: more than 2^32 elements of f32, and more than 2^31 of f64.
#[test]
fn seventeen_gib_of_f32_in_fast() {
    let Some(_alone) = device_alone("seventeen_gib_of_f32_in_fast") else { return };
    agrees(
        "fast",
        &lossy("fast", DType::F32),
        DType::F32,
        &[elements(SEVENTEEN_GIB / 4 + 77)],
        Some(Bound::Noa(1e-3)),
    );
}

#[test]
fn seventeen_gib_of_f64_in_fast() {
    let Some(_alone) = device_alone("seventeen_gib_of_f64_in_fast") else { return };
    let (row, rows) = if at_full_size() { (40_001, 57_042) } else { (101, 200) };
    agrees("fast", &lossy("fast", DType::F64), DType::F64, &[row, rows], Some(Bound::Noa(1e-3)));
    const { assert!(40_001 * 57_042 * 8 > SEVENTEEN_GIB) };
}

const SEVENTEEN_GIB: u64 = 17 << 30;

/// Presets whose codes are shorter than values exceed 4 GiB. lc_tp and lc_cr do not: one stream holds both outlier lists at maximum length.
fn five_gib_of_f64(name: &str) {
    let Some(_alone) = device_alone(name) else { return };
    let (pipeline, full) = (scarce(lossy(name, DType::F64)), (5 << 30) / 8 + 77);
    Encoder::new(&pipeline, &Array::new(DType::F64, &[full]).unwrap(), &Options::default()).unwrap();
    agrees(name, &pipeline, DType::F64, &[elements(full)], Some(Bound::Noa(1e-3)));
}

#[test]
fn five_gib_of_f64_in_cusz() {
    five_gib_of_f64("cusz");
}

#[test]
fn five_gib_of_f64_in_cusz_ans() {
    five_gib_of_f64("cusz_ans");
}

#[test]
fn five_gib_of_f64_in_lc_speed() {
    five_gib_of_f64("lc_speed");
}

#[test]
fn five_gib_of_f64_in_lc_ratio() {
    five_gib_of_f64("lc_ratio");
}

/// Codes of two bytes of the quantizer, with lists: 8 GiB of f32 again, by another predictor.
#[test]
fn eight_gib_of_f32_with_short_codes() {
    let Some(_alone) = device_alone("eight_gib_of_f32_with_short_codes") else { return };
    let mut pipeline = without_rze(DType::U16);
    let quantizer = pipeline.add("quantizer").unwrap();
    let args = pipeline.args_mut(quantizer).unwrap();
    args.set_text("mode", "noa").unwrap();
    args.set_real("error_bound", 1e-4).unwrap();
    args.set_text("code_type", "u16").unwrap();
    pipeline.connect(quantizer, "codes", 0).unwrap();
    let rze = pipeline.add("rze").unwrap();
    pipeline.connect(1, "output", rze).unwrap();
    agrees(
        "quantizer u16",
        &scarce(pipeline),
        DType::F32,
        &[elements(longest(4, 2))],
        Some(Bound::Noa(1e-4)),
    );
}

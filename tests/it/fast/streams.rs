//! Damaged streams: the CPU returns data or a status, and devices return the same.

use super::*;
use crate::common::agreement::verdict;
use crate::common::gpu;
use crate::common::rng::Rng;
use crate::common::samples::{FLOATS, elements, walk};
use fzgm::{Status, decompress, decompress_region};

fn status(container: &[u8]) -> Status {
    verdict(container, &always(), true, "").map_or_else(|status| status, |_| Status::Ok)
}

#[test]
fn streams_that_no_encoder_writes_are_corrupt() {
    for dtype in FLOATS {
        let sample = planes(dtype);
        let (good, at) = frame(&sample, 1e-3);
        let chunks = 4;
        let status = |edit: &dyn Fn(&mut [u8])| {
            let mut bad = good.clone();
            edit(&mut bad[at..]);
            self::status(&bad)
        };
        assert_eq!(status(&|_| ()), Status::Ok);
        let entry = |s: &[u8]| u64::from_le_bytes(s[..8].try_into().unwrap());
        let with = |f: &dyn Fn(u64) -> u64| {
            status(&|s| {
                let e = f(entry(s));
                s[..8].copy_from_slice(&e.to_le_bytes());
            })
        };
        let corrupt = |what: &str, got: Status| assert_eq!(got, Status::Corrupt, "{dtype} {what}");
        corrupt("bit 61", with(&|e| e | 1 << 61));
        corrupt("raw and constant", with(&|e| e | 3 << 62));
        corrupt("raw with a reference value", with(&|e| e | 5 << 60));
        corrupt("raw of another length", with(&|e| e | 1 << 62));
        corrupt("a reference value that is not there", with(&|e| e | 1 << 60));
        corrupt("a word less", with(&|e| e - (1 << 44)));
        corrupt("a word more", with(&|e| e + (1 << 44)));
        corrupt("outside", with(&|e| e | ((1 << 44) - 1)));
        assert_eq!(with(&|_| 1 << 63 | 5), Status::Ok, "a constant is as good");
        let descriptor = |u: usize, f: &dyn Fn(u16) -> u16| {
            status(&|s| {
                let d = 8 * chunks + 2 * u;
                let new = f(u16::from_le_bytes([s[d], s[d + 1]]));
                s[d..d + 2].copy_from_slice(&new.to_le_bytes());
            })
        };
        corrupt("mode 1", descriptor(0, &|d| d & !3 | 1));
        corrupt("mode 3 in unit 0", descriptor(0, &|d| d | 3));
        corrupt("bit 14", descriptor(1, &|d| d | 1 << 14));
        corrupt("bit 15", descriptor(1, &|d| d | 1 << 15));
        corrupt("a width of 33 and more", descriptor(0, &|d| d & !(63 << 2) | 33 << 2));
        corrupt("more planes of widths", descriptor(0, &|d| d | 7 << 8));
    }
}

/// Errors name the field of the container and its number.
#[test]
fn errors_name_the_fields_of_a_container() {
    let sample = planes(DType::F32);
    let (good, _) = frame(&sample, 1e-3);
    let config = good.windows(8).position(|w| w == [1, 8, 3, 0, 0, 0, 0, 0]).unwrap();
    let mut bad = good.clone();
    bad[config + 48..config + 56].fill(255);
    let refused = decompress(&bad, &always()).unwrap_err();
    assert_eq!(refused.status(), Status::Corrupt);
    assert!(refused.to_string().contains("dim_y is 18446744073709551615"), "{refused}");
    let refused = decompress_region(&good, &[0], &[1], &mut [0; 4]).unwrap_err();
    assert!(refused.to_string().ends_with("origin is 1; expected 3, that of the array"), "{refused}");
}

#[test]
fn streams_beyond_table_and_values_are_corrupt() {
    let (mut made, at) = frame(&Sample::of(DType::F32, &[16], [0.0; 16]), 1e-3);
    assert_eq!(made.len() - at, 8, "one constant chunk");
    for (length, status) in [(8, Status::Ok), (72, Status::Ok), (76, Status::Corrupt)] {
        // The last number of the header.
        made[at - 1] = length;
        made.resize(at + usize::from(length), 0);
        assert_eq!(self::status(&made), status, "{length}");
    }
}

/// Half of the damage goes to the table and the descriptors, where it does most.
#[test]
fn damaged_streams_are_data_or_a_status() {
    let long = std::env::var_os("FZGM_LONG").is_some();
    let mut rng = Rng(77);
    let mut cases = vec![];
    for dtype in FLOATS {
        for dims in [&[20_000][..], &[70, 300], &[33, 40, 17]] {
            let n = elements(dims);
            let mut x = walk(n, 1.0, &mut rng);
            x[n / 4..n / 3].fill(1e300);
            x.iter_mut().step_by(97).for_each(|x| *x = f64::NAN);
            if dtype == DType::F64 {
                x.iter_mut().for_each(|x| *x += 1e7);
            }
            cases.push((frame(&Sample::of(dtype, dims, x), 1e-2), n * dtype.bytes() as usize));
        }
    }
    let (mut fine, mut corrupt) = (0, 0);
    for round in 0..if long { 20_000 } else { 600 } {
        let ((good, at), restored) = rng.pick(&cases);
        let mut bad = good.clone();
        let stream = &mut bad[*at..];
        for _ in 0..1 + rng.below(3) {
            let i = if rng.below(2) == 0 { rng.below(stream.len().min(80)) } else { rng.below(stream.len()) };
            match rng.below(4) {
                0 => stream[i] ^= 1 << rng.below(8),
                1 => stream[i] = rng.word() as u8,
                2 => stream[i] = 255,
                _ => {
                    let from = rng.below(stream.len());
                    let len = rng.below(40).min(stream.len() - i.max(from));
                    stream.copy_within(from..from + len, i);
                }
            }
        }
        let array = info(&bad).unwrap().array;
        let middle: Vec<u64> = array.dims().iter().map(|d| d / 2).collect();
        let mut some = vec![0; *restored];
        if let Err(e) = decompress_region(&bad, &middle, &middle, &mut some) {
            assert_eq!(e.status(), Status::Corrupt, "{e}");
        }
        let threads = 1 + rng.below(2) as u32;
        let options = Options { threads, ..always() };
        let on_device = gpu::shared(round) && gpu::mine(round / 16);
        match verdict(&bad, &options, on_device, &format!("round {round}")) {
            Ok(back) => {
                assert_eq!(back.len(), *restored);
                fine += 1;
            }
            Err(status) => {
                assert_eq!(status, Status::Corrupt);
                corrupt += 1;
            }
        }
    }
    assert!(fine > 50 && corrupt > 50, "{fine} {corrupt}");
}

/// Damages an entry of the table, or words of its chunk: the first ones, which determine the places of the
/// others, or any.
fn harm(stream: &mut [u8], chunks: usize, rng: &mut Rng) -> String {
    let any = rng.below(chunks);
    let k = *rng.pick(&[0, chunks - 1, any]);
    let entry = u64::from_le_bytes(stream[8 * k..8 * k + 8].try_into().unwrap());
    let (first, words) = ((entry & ((1 << 44) - 1)) as usize, (entry >> 44 & 0xffff) as usize);
    let put = |stream: &mut [u8], entry: u64| stream[8 * k..8 * k + 8].copy_from_slice(&entry.to_le_bytes());
    let way = rng.below(8);
    match way {
        0 => put(stream, entry ^ 1 << (40 + rng.below(24))),
        // A word more or less.
        1 => put(stream, entry.wrapping_add(1 << 44)),
        2 => put(stream, entry.wrapping_sub(1 << 44)),
        // All that there is.
        3 => put(stream, entry & 15 << 60 | (((stream.len() / 4 - 2 * chunks).min(0xffff)) as u64) << 44),
        4 => {
            let other = rng.below(chunks);
            (0..8).for_each(|i| stream.swap(8 * k + i, 8 * other + i));
        }
        _ if entry >> 62 != 0 || words == 0 => {}
        _ => {
            let at = 8 * chunks + 4 * (first + rng.below(if way == 5 { words } else { words.min(12) }));
            stream[at + rng.below(4)] ^= 1 << rng.below(8);
        }
    }
    format!("chunk {k} of {words} words, way {way}")
}

/// Streams with chunks of every kind, damaged where it matters.
#[test]
fn streams_of_every_kind_of_chunk_are_damaged() {
    let mut rng = Rng(0xa54f_f53a);
    let [mut refused, mut restored] = [0; 2];
    for (dims, rounds) in [
        (&[20_000][..], 40),
        (&[40, 600], 40),
        (&[40, 33, 17], 60),
        (&[2_097_153], 3),
        (&[8193, 2], 20),
        (&[8193, 2, 2], 20),
    ] {
        for dtype in FLOATS {
            let value = |i: usize| match (i / 700 % 7, rng.below(50)) {
                (0, _) => 5.0,
                (1, 0) => f64::NAN,
                (2, 0..25) => 1e30 * (1.0 + rng.unit()),
                (3, _) => 1e30,
                (4, _) => -4.5e9 + (i % 90) as f64,
                (5, _) => (i as f64 * 0.01).sin() * 300.0 + rng.unit() * 1e5,
                _ => (i as f64 * 0.01).sin() * 300.0 + rng.unit() * 9.0,
            };
            let sample = Sample::of(dtype, dims, (0..elements(dims)).map(value));
            let whole = compress(&with_fills(), &sample.array, &bare(Container::Fzm), &sample.bytes).unwrap();
            // The start of the payload, as the file states it.
            let payload = u64::from_le_bytes(whole[24..32].try_into().unwrap()) as usize;
            let chunk: &[u64] = [&[8192][..], &[32, 256], &[32, 32, 8]][dims.len() - 1];
            let chunks = dims.iter().zip(chunk).map(|(d, c)| d.div_ceil(*c)).product::<u64>() as usize;
            for round in 0..rounds {
                let mut bytes = whole.clone();
                let what = harm(&mut bytes[payload..], chunks, &mut Rng(round as u64));
                let name = format!("{}, round {round}, {what}", sample.name);
                let ok = verdict(&bytes, &Options::default(), gpu::mine(round), &name).is_ok();
                *if ok { &mut restored } else { &mut refused } += 1;
            }
        }
    }
    assert!(refused > 20 && restored > 20, "{refused} refused, {restored} restored");
}

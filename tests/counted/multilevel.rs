//! Stage multilevel: streams of a few hundred bytes that restore whole arrays take memory as all others.

use crate::alloc::peak_of;
use crate::alone;
use crate::common::agreement::bare;
use fzgm::{
    Array, Container, DType, Decoder, Error, Options, Pipeline, Status, compress, decompress_preview,
    decompress_preview_file, preview_array,
};
use std::time::{Duration, Instant};

/// Bits as words of 16, the lowest first.
fn words(bits: &[(u64, usize)]) -> Vec<u16> {
    let all: Vec<u64> = bits.iter().flat_map(|&(x, n)| (0..n).map(move |i| x >> i & 1)).collect();
    all.chunks(16).map(|w| w.iter().rev().fold(0, |all, &b| all << 1 | b as u16)).collect()
}

/// A section whose one run has no words and states of 0. All points have the only token of its table.
fn section(token: u64, is_serial: bool) -> Vec<u16> {
    let mut table = vec![(0, 15), (token, 6), (token, 6)];
    // The other entries have frequencies of 0.
    table.extend((0..token).map(|_| (0, 3)));
    let table = words(&table);
    let code = if is_serial { 0 } else { 255u16 };
    [&[1 | code << 8, table.len() as u16, 1][..], &table, &[0]].concat()
}

fn restore(dims: &[u64], dtype: DType, axes: u8, sections: usize, is_serial: bool, token: u64) {
    let mut p = Pipeline::new();
    p.add("multilevel").unwrap();
    let array = Array::new(dtype, dims).unwrap();
    let made = compress(&p, &array, &bare(Container::Fzm), &vec![0; array.bytes() as usize]).unwrap();
    let number = |at: usize| u64::from_le_bytes(made[at..at + 8].try_into().unwrap());
    let mut bad = made[..number(24) as usize].to_vec();
    // The config is behind the first 40 bytes of the record of the stage.
    let config = made.windows(2).position(|w| w == [1, dtype as u8]).filter(|&at| at >= 80).unwrap();
    bad[config + 4..config + 6].copy_from_slice(&[axes, 0]);
    let all: Vec<_> = (0..sections).map(|k| section(token, k == 0 && is_serial)).collect();
    let mut stream = (sections as u32).to_le_bytes().to_vec();
    all.iter().for_each(|s| stream.extend((s.len() as u32).to_le_bytes()));
    all.iter().flatten().for_each(|w| stream.extend(w.to_le_bytes()));
    bad[16..24].copy_from_slice(&(stream.len() as u64).to_le_bytes());
    let last = bad.len() - 256;
    bad[last + 72..last + 80].copy_from_slice(&(stream.len() as u64).to_le_bytes());
    bad.extend(stream);
    let mut to = vec![1; array.bytes() as usize];
    for threads in [1, 3] {
        let options = Options { threads, ..bare(Container::Fzm) };
        let begun = Instant::now();
        let (said, peak) = peak_of(|| {
            let decoder = Decoder::open(&bad, &options)?;
            decoder.decompress(&mut decoder.workspace()?, &bad, &mut to)
        });
        let status = said.map_or_else(|e| e.status(), |_| Status::Ok);
        assert_eq!(status, Status::Ok, "{dims:?} token {token}");
        assert!(to.iter().all(|&b| b == 0), "{dims:?} token {token}");
        assert!(peak <= 8 * to.len() + (64 << 20), "{dims:?} token {token}: {peak} bytes of memory");
        // The limit of memory counts all but the list of exact values, which these streams make without having them.
        if token == 0 {
            let tight = Options { max_memory_bytes: peak as u64 - 1, ..options };
            let refused = Decoder::open(&bad, &tight).err();
            assert!(matches!(refused, Some(Error::MemoryLimit { .. })), "{dims:?}: {refused:?}");
        }
        println!("{dtype} {dims:?} token {token}: {:.1} of the array", peak as f64 / to.len() as f64);
        assert!(begun.elapsed() < Duration::from_secs(60), "{dims:?} token {token}: {:?}", begun.elapsed());
    }
}

#[test]
fn streams_of_nothing_take_memory_as_all_others() {
    let _alone = alone();
    for dtype in [DType::F32, DType::F64] {
        // 0, and values bit for bit: 32 bits of a state of 0.
        for token in [0, 62] {
            restore(&[1 << 23], dtype, 1, 12, true, token);
            // 2^22 roots, and rows of one point.
            restore(&[2, 1 << 22], dtype, 1, 2, false, token);
        }
    }
}

/// The memory of a preview is that of the preview, not of the array.
#[test]
fn previews_take_memory_of_their_size() {
    let _alone = alone();
    let dims = [160, 120, 100];
    let array = Array::new(DType::F32, &dims).unwrap();
    let value = |i: u64| {
        let [x, y, z] = [i % 160, i / 160 % 120, i / 19_200].map(|v| v as f32);
        50.0 * (0.11 * x).sin() * (0.13 * y).cos() * (0.07 * z + 1.0).sin()
            + (i * 2_654_435_761 % 4096) as f32 * 2e-5
    };
    let src: Vec<u8> = (0..array.elements()).flat_map(|i| value(i).to_le_bytes()).collect();
    let mut p = Pipeline::new();
    p.add("multilevel").unwrap();
    p.set_everywhere("error_bound", |args| args.set_real("error_bound", 1e-3)).unwrap();
    let bytes = compress(&p, &array, &bare(Container::Compact), &src).unwrap();
    let path = std::env::temp_dir().join(format!("fzgm-counted-{}.fzm", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    for step in [1, 2, 4, 8] {
        let mut dst = vec![0; preview_array(&array, step).unwrap().bytes() as usize];
        let (done, peak) = peak_of(|| decompress_preview_file(&path, step, &mut dst));
        assert_eq!(done, Ok(dst.len()));
        let cut = |have: usize| decompress_preview(&bytes[..have], step, &mut vec![0; dst.len()]);
        let mut needed = 200;
        while let Err(Error::Truncated { needed: more }) = cut(needed) {
            needed = more as usize;
        }
        println!("step {step}: {peak} bytes of memory, {} of the preview, {needed} read", dst.len());
        assert!(step == 1 || 3 * needed < bytes.len(), "step {step}: {needed} of {}", bytes.len());
        // Sections are read into memory of up to twice their length; tables take some of their own.
        assert!(peak <= 4 * dst.len() + 2 * needed + (1 << 18), "step {step}: {peak} for {}", dst.len());
    }
    std::fs::remove_file(&path).unwrap();
}

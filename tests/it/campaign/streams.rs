//! Four concurrent streams: all presets, both directions, random arrays, compared with the CPU. `run.sh two_processes` starts it twice.

use super::{at_full_size, device_alone, note};
use crate::common::fixture::{Fixture, lossy, options};
use crate::common::rng::Rng;
use crate::common::samples::CONTENTS;
use fzgm::{Array, Container, DType, Device, Options, PRESETS, compress, decompress};
use std::time::{Duration, Instant};

const STREAMS: u64 = 4;

/// The running time from `FZGM_SECONDS`; default 1 second.
fn duration() -> Duration {
    let set = std::env::var("FZGM_SECONDS").ok().map(|n| n.parse().expect("FZGM_SECONDS is a number"));
    Duration::from_secs(set.unwrap_or(1))
}

/// A random shape of one to three dimensions.
fn shape(dtype: DType, rng: &mut Rng) -> Array {
    let most = if at_full_size() { 1 << 20 } else { 3_000 };
    let n = 1 + rng.below(most);
    let x = 1 + rng.below(n);
    let y = 1 + rng.below(n / x);
    let dims = match rng.below(3) {
        0 => vec![n],
        1 => vec![x, n / x],
        _ => vec![x, y, n / x / y],
    };
    Array::new(dtype, &dims.into_iter().map(|d| d as u64).collect::<Vec<_>>()).unwrap()
}

/// Compresses and restores some arrays of one shape, asynchronously and blocking. Returns their number and bytes.
fn round(rng: &mut Rng) -> (usize, usize) {
    let preset = rng.pick(PRESETS);
    let dtypes = if preset.lossless {
        [DType::U8, DType::U16, DType::U32, DType::U64]
    } else {
        [DType::F32, DType::F64, DType::F32, DType::F64]
    };
    let dtype = *rng.pick(&dtypes);
    let container = *rng.pick(&[Container::Fzm, Container::Compact]);
    let array = shape(dtype, rng);
    let mut fixture = Fixture::new(&lossy(preset.name, dtype), &array, &Options { container, ..options() });
    let arrays = 1 + rng.below(4);
    for _ in 0..arrays {
        let src = fixture.data(CONTENTS[rng.below(CONTENTS.len())], rng.word());
        fixture.src.put(0, &src);
        fixture.both();
        fixture.check(&src);
    }
    let src = fixture.data(CONTENTS[rng.below(CONTENTS.len())], rng.word());
    let [on_gpu, on_cpu] = [fixture.encoder.options().device, Device::Cpu].map(|device| {
        let options = Options { device, ..fixture.encoder.options().clone() };
        let container = compress(fixture.encoder.pipeline(), &array, &options, &src).unwrap();
        let values = decompress(&container, &options).unwrap().1;
        (container, values)
    });
    assert!(on_gpu == on_cpu, "{} {dtype} {:?}: blocking calls", preset.name, array.dims());
    (arrays + 1, (arrays + 1) * src.len())
}

#[test]
fn four_streams_at_once_write_the_bytes_of_the_cpu() {
    let Some(_alone) = device_alone("four_streams_at_once") else { return };
    let end = Instant::now() + duration();
    // Processes use different seeds.
    let seed = u64::from(std::process::id()) << 8;
    let work = move |stream: u64| {
        let mut rng = Rng(seed + stream);
        let (mut arrays, mut bytes) = (0, 0);
        while arrays == 0 || Instant::now() < end {
            let done = round(&mut rng);
            (arrays, bytes) = (arrays + done.0, bytes + done.1);
        }
        (arrays, bytes)
    };
    let done: Vec<(usize, usize)> = std::thread::scope(|s| {
        let streams: Vec<_> = (0..STREAMS).map(|stream| s.spawn(move || work(stream))).collect();
        streams.into_iter().map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    });
    let (arrays, bytes) = done.iter().fold((0, 0), |sum, d| (sum.0 + d.0, sum.1 + d.1));
    note(&format!(
        "{STREAMS} streams, seed {seed}: {arrays} arrays of {bytes} bytes, both ways, as the CPU has them"
    ));
}

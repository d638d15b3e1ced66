//! Previews and regions: the elements of the whole array, from the front of a container.

use super::{ALL, With, array, pipeline, said, write};
use crate::common::rng::Rng;
use crate::common::samples::{FLOATS, Sample, elements};
use fzgm::{
    Container, ContainerFile, DType, Error, Options, Status, compress, decompress, decompress_preview,
    decompress_preview_file, decompress_region, decompress_region_file, preset, preview_array,
};

/// Elements of `whole` from `first` on, `step` apart.
fn picked(sample: &Sample, whole: &[u8], first: [u64; 3], count: [u64; 3], step: u64) -> Vec<u8> {
    let dims: [u64; 3] = std::array::from_fn(|d| sample.array.dims().get(d).copied().unwrap_or(1));
    let width = sample.array.dtype().bytes();
    let mut all = vec![];
    for z in 0..count[2] {
        for y in 0..count[1] {
            for x in 0..count[0] {
                let [x, y, z] = [(0, x), (1, y), (2, z)].map(|(d, i)| first[d] + i * step);
                let at = (((z * dims[1] + y) * dims[0] + x) * width) as usize;
                all.extend_from_slice(&whole[at..at + width as usize]);
            }
        }
    }
    all
}

fn preview_of(sample: &Sample, whole: &[u8], step: u64) -> Vec<u8> {
    let count = std::array::from_fn(|d| sample.array.dims().get(d).copied().unwrap_or(1).div_ceil(step));
    picked(sample, whole, [0; 3], count, step)
}

/// The least beginning of a container that has the preview, as the statuses of shorter ones tell it.
fn front(container: &[u8], step: u64, dst: &mut [u8]) -> usize {
    let mut have = 0;
    loop {
        match decompress_preview(&container[..have], step, dst) {
            Ok(n) => {
                assert_eq!(n, dst.len());
                return have;
            }
            Err(Error::Truncated { needed }) => {
                assert!(needed as usize > have && needed as usize <= container.len(), "{have} {needed}");
                have = needed as usize;
            }
            // Fewer than four bytes are no container.
            Err(e) => {
                assert!(have < 4 && e.status() == Status::NotAContainer, "{e}");
                have = 4;
            }
        }
    }
}

/// All previews and some regions of an array; the bytes that the previews of ascending steps need.
fn check(sample: &Sample, container: &[u8], rng: &mut Rng) -> Vec<usize> {
    let (_, whole) = decompress(container, &Options::default()).unwrap();
    let longest = *sample.array.dims().iter().max().unwrap();
    let mut fronts = vec![];
    for k in (0..).take_while(|k| 1 << k < 8 * longest).chain([40, 63]) {
        let step = 1u64 << k;
        let name = format!("{}, step {step}", sample.name);
        let bytes = preview_array(&sample.array, step).unwrap().bytes() as usize;
        let want = preview_of(sample, &whole, step);
        assert_eq!(want.len(), bytes, "{name}");
        let mut dst = vec![1; bytes + 3];
        assert_eq!(decompress_preview(container, step, &mut dst), Ok(bytes), "{name}");
        assert!(dst[..bytes] == want && dst[bytes..] == [1; 3], "{name}");
        let mut dst = vec![1; bytes];
        fronts.push(front(container, step, &mut dst));
        assert!(dst == want, "{name}: of the front");
        let few = decompress_preview(container, step, &mut dst[1..]).unwrap_err();
        assert_eq!(few.status(), Status::DstTooSmall, "{name}");
    }
    for _ in 0..3 {
        let dims = sample.array.dims();
        let first: Vec<u64> = dims.iter().map(|&n| rng.below(n as usize) as u64).collect();
        let count: Vec<u64> =
            dims.iter().zip(&first).map(|(n, f)| 1 + rng.below((n - f) as usize) as u64).collect();
        let of = |v: &[u64], none| std::array::from_fn(|d| v.get(d).copied().unwrap_or(none));
        let want = picked(sample, &whole, of(&first, 0), of(&count, 1), 1);
        let mut dst = vec![0; want.len()];
        assert_eq!(decompress_region(container, &first, &count, &mut dst), Ok(want.len()));
        assert!(dst == want, "{}: region {first:?} {count:?}", sample.name);
    }
    fronts
}

#[test]
fn parts_are_those_of_the_whole_array() {
    let rng = &mut Rng(11);
    let mut kinds = [0; 4];
    for (i, dims) in [
        &[1][..],
        &[5],
        &[32],
        &[100_003],
        &[70, 65],
        &[1, 200],
        &[257, 129],
        &[3, 5, 7],
        &[40, 33, 35],
        &[6, 1, 900],
        &[33, 100, 50],
        &[2, 90, 70],
    ]
    .into_iter()
    .enumerate()
    {
        for (j, with) in ALL.into_iter().enumerate() {
            let dtype = FLOATS[(i + j) % 2];
            let sample = array(dtype, dims, with, rng);
            let container = [Container::Compact, Container::Fzm][j % 2];
            let sets: &[(&str, &str)] =
                if with == With::Fills { &[("outlier_threshold", "1e19")] } else { &[] };
            let bytes = write(&pipeline("abs", 0.01, sets), &sample, container);
            let start = fzgm::info(&bytes).unwrap().header_bytes as usize;
            let kind = match said(&bytes, "interpolated_axes") {
                _ if bytes[start..start + 4] == [0; 4] => 0,
                None => 1,
                Some(axes) if axes.len() < dims.iter().filter(|d| **d > 1).count() => 2,
                Some(_) => 3,
            };
            kinds[kind] += 1;
            let fronts = check(&sample, &bytes, rng);
            assert_eq!(fronts[0], bytes.len(), "{}", sample.name);
            assert!(fronts.is_sorted_by(|a, b| a >= b), "{}: {fronts:?}", sample.name);
            // Differences are read completely, and levels are not.
            match kind {
                1 => assert!(fronts.iter().all(|n| *n == bytes.len()), "{}", sample.name),
                2 | 3 if elements(dims) > 8192 => {
                    assert!(fronts[1] < bytes.len(), "{}: {fronts:?}", sample.name);
                }
                _ => {}
            }
        }
    }
    assert!(kinds.iter().all(|&n| n > 2), "values, differences, some axes, all axes: {kinds:?}");
}

/// An array whose shape is not that of the pipeline.
#[test]
fn another_shape_of_the_pipeline_changes_no_part() {
    let rng = &mut Rng(12);
    let sample = array(DType::F32, &[60, 40, 10], With::Noise, rng);
    for sets in [&[("dim_x", "24000")][..], &[("dim_x", "40"), ("dim_y", "600")]] {
        let bytes = write(&pipeline("abs", 0.01, sets), &sample, Container::Compact);
        check(&sample, &bytes, rng);
    }
}

#[test]
fn a_preview_reads_the_front_of_a_file() {
    let sample = array(DType::F32, &[120, 110, 100], With::Noise, &mut Rng(13));
    let bytes =
        compress(&pipeline("abs", 0.01, &[]), &sample.array, &Options::default(), &sample.bytes).unwrap();
    let path = std::env::temp_dir().join(format!("fzgm-front-{}.fzm", std::process::id()));
    let (_, whole) = decompress(&bytes, &Options::default()).unwrap();
    for (step, share) in [(2, 0.25), (4, 0.06), (8, 0.05)] {
        let want = preview_of(&sample, &whole, step);
        let mut dst = vec![0; want.len()];
        let needed = front(&bytes, step, &mut dst);
        assert!((needed as f64) < share * bytes.len() as f64, "step {step}: {needed} of {}", bytes.len());
        // Cut off, and poisoned.
        let mut poisoned = bytes.clone();
        poisoned[needed..].fill(0xff);
        for content in [&bytes[..needed], &poisoned] {
            std::fs::write(&path, content).unwrap();
            dst.fill(0);
            assert_eq!(decompress_preview_file(&path, step, &mut dst), Ok(want.len()));
            assert!(dst == want, "step {step}");
            let file = ContainerFile::open_front(&path).unwrap();
            assert_eq!(file.info().unwrap().array, sample.array);
            assert_eq!(file.decompress_preview(step, &mut dst), Ok(want.len()));
        }
        std::fs::write(&path, &bytes[..needed - 1]).unwrap();
        let short = decompress_preview_file(&path, step, &mut dst).unwrap_err();
        assert_eq!(short, Error::Truncated { needed: needed as u64 });
        assert_eq!(ContainerFile::open(&path).err().map(|e| e.status()), Some(Status::Corrupt));
    }
    std::fs::write(&path, &bytes).unwrap();
    let mut dst = vec![0; 4 * 6];
    decompress_region_file(&path, &[7, 8, 9], &[1, 2, 3], &mut dst).unwrap();
    assert!(dst == picked(&sample, &whole, [7, 8, 9], [1, 2, 3], 1));
    std::fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
    assert_eq!(decompress_preview_file(&path, 1 << 40, &mut dst).unwrap_err().status(), Status::Corrupt);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn steps_are_powers_of_two() {
    let sample = array(DType::F64, &[50], With::Noise, &mut Rng(14));
    let bytes = write(&pipeline("abs", 0.01, &[]), &sample, Container::Compact);
    for step in [0, 3, 6, u64::MAX] {
        let e = decompress_preview(&bytes, step, &mut [0; 400]).unwrap_err();
        assert_eq!(e.status(), Status::InvalidArgument);
        assert!(e.to_string().contains(&step.to_string()) && e.to_string().contains("power of two"), "{e}");
    }
}

/// Other stages restore the array for it, and compare its checksum.
#[test]
fn previews_of_other_stages_take_the_whole_container() {
    let sample = array(DType::F32, &[90, 41, 13], With::Noise, &mut Rng(15));
    for name in ["fast", "pfpl", "fz", "bits"] {
        let mut p = preset(name, DType::F32).unwrap();
        let _ = p.set_everywhere("error_bound", |args| args.set_real("error_bound", 1e-3));
        let mut bytes = compress(&p, &sample.array, &Options::default(), &sample.bytes).unwrap();
        let (_, whole) = decompress(&bytes, &Options::default()).unwrap();
        for step in [1, 2, 16, 1 << 50] {
            let want = preview_of(&sample, &whole, step);
            let mut dst = vec![0; want.len()];
            assert_eq!(decompress_preview(&bytes, step, &mut dst), Ok(want.len()));
            assert!(dst == want, "{name}, step {step}");
            assert_eq!(front(&bytes, step, &mut dst), bytes.len());
        }
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let e = decompress_preview(&bytes, 4, &mut vec![0; sample.bytes.len()]).unwrap_err();
        assert_eq!(e.status(), Status::Checksum, "{name}");
    }
}

#[test]
fn empty_arrays_have_empty_previews() {
    let sample = Sample::new(DType::F32, &[0], vec![]);
    let bytes = write(&pipeline("abs", 0.01, &[]), &sample, Container::Compact);
    assert_eq!(decompress_preview(&bytes, 4, &mut []), Ok(0));
}

/// Damaged containers give data or a status, and a preview is that of the whole array where that is restored.
#[test]
fn damaged_containers_have_defined_previews() {
    let rng = &mut Rng(16);
    let rounds = if std::env::var_os("FZGM_LONG").is_some() { 3000 } else { 150 };
    for (dims, with) in [(&[40, 33, 30][..], With::Noise), (&[500, 60], With::Blocks), (&[30, 9], With::Ends)]
    {
        let sample = array(DType::F32, dims, with, rng);
        let good = write(&pipeline("abs", 0.01, &[]), &sample, Container::Compact);
        let options = Options { checksum: false, ..Options::default() };
        for round in 0..rounds {
            let mut bad = good.clone();
            for _ in 0..1 + rng.below(3) {
                let at = rng.below(if round % 2 == 0 { bad.len() } else { 400.min(bad.len()) });
                bad[at] = rng.below(256) as u8;
            }
            let whole = decompress(&bad, &options);
            let step = 1 << rng.below(7);
            let mut dst = vec![0; sample.bytes.len()];
            let done = decompress_preview(&bad, step, &mut dst);
            if let (Ok((array, whole)), true) = (&whole, good[..100] == bad[..100]) {
                assert_eq!(array, &sample.array);
                let n = done.unwrap();
                assert!(dst[..n] == preview_of(&sample, whole, step), "{}", sample.name);
            } else if let Err(e) = done {
                assert!(e.status() != Status::Internal, "{e}");
            }
            let _ = decompress_region(&bad, &vec![1; dims.len()], &vec![2; dims.len()], &mut dst);
        }
    }
}

//! Arrays of four to eight dimensions: the container states all of them, and stages see at most three.

use crate::common::agreement::holds;
use crate::common::corpus::Case;
use crate::common::run::{both_containers, options};
use crate::common::samples::{Content, Sample, make};
use crate::reference_reader::read_by_reference;
use fzgm::{
    Array, Container, DType, Decoder, Error, MAX_DIMS, Options, Pipeline, compress, decompress,
    decompress_preview, decompress_region, info, pipeline_of, preset, preview_array,
};

const SHAPES: [&[u64]; 7] = [
    &[9, 8, 7, 6],
    &[20, 3, 5, 4, 3],
    &[5, 1, 2, 1, 3, 2, 1, 4],
    &[1, 1, 1, 1, 1, 1, 1, 1],
    &[33, 9, 1, 2],
    &[4, 0, 3, 2],
    &[300, 1, 1, 7, 1],
];

fn pipelines(dtype: DType) -> impl Iterator<Item = Pipeline> {
    ["fast", "high", "pfpl", "fz", "cusz_hi_cr", "bits", "exact"]
        .into_iter()
        .filter_map(move |name| preset(name, dtype).ok())
}

fn joined(sample: &Sample) -> Sample {
    Sample::new(sample.array.dtype(), sample.array.joined_dims(), sample.bytes.clone())
}

fn payload(container: &[u8]) -> &[u8] {
    &container[info(container).unwrap().header_bytes as usize..]
}

#[test]
fn the_shape_is_kept_and_stages_see_three_dimensions() {
    let mut cases = vec![];
    for (dims, dtype) in SHAPES.iter().flat_map(|d| [(d, DType::F32), (d, DType::F64)]) {
        let sample = make(dtype, dims, Content::Specials, 3);
        for (p, container) in pipelines(dtype).flat_map(|p| both_containers().map(|c| (p.clone(), c))) {
            let options = options(container, true);
            let name = format!("{} as {container:?} by {}", sample.name, p.to_text().unwrap_or_default());
            let (bytes, restored) = holds(&p, &sample, &options);
            let about = info(&bytes).unwrap();
            assert_eq!(about.array, sample.array, "{name}");
            assert_eq!(decompress(&bytes, &options).unwrap().0, sample.array, "{name}");
            let flat = joined(&sample);
            let other = compress(&p, &flat.array, &options, &flat.bytes).unwrap();
            assert!(
                payload(&bytes) == payload(&other),
                "{name}: other segments than those of three dimensions"
            );
            assert_eq!(info(&other).unwrap().array.dims(), sample.array.joined_dims(), "{name}");
            // A plan is for one shape, of the elements of another one too.
            let decoder = Decoder::open(&other, &Options::default()).unwrap();
            let (mut room, mut ws) = (vec![0; restored.len()], decoder.workspace().unwrap());
            let refused = decoder.decompress(&mut ws, &bytes, &mut room);
            assert!(matches!(refused, Err(Error::PlanMismatch(_))), "{name}: {refused:?}");
            let again =
                compress(&pipeline_of(&bytes).unwrap(), &sample.array, &options, &sample.bytes).unwrap();
            assert!(again == bytes, "{name}: the pipeline of the container writes another one");
            cases.push(Case {
                name,
                bytes,
                restored,
                made_of: None,
                compact: container == Container::Compact,
                loose: false,
                width: dtype.bytes(),
                segments: about.segments.len(),
            });
        }
    }
    read_by_reference(&cases, "dimensions");
}

/// Containers of at most three dimensions are as they were, for readers of version 1.
#[test]
fn only_more_dimensions_have_version_2() {
    for (dims, version) in [(&[6, 5, 4][..], 1), (&[6, 5, 4, 1], 2), (&[120], 1)] {
        let sample = make(DType::F32, dims, Content::Walk, 1);
        let make = |container| {
            let p = preset("fast", DType::F32).unwrap();
            compress(&p, &sample.array, &options(container, true), &sample.bytes).unwrap()
        };
        assert_eq!(make(Container::Fzm)[80 + 172..][..6], [b'F', b'Z', b'X', b'1', version, 0]);
        assert_eq!(make(Container::Compact)[..5], [b'F', b'Z', b'C', b'1', version]);
    }
}

/// The elements of `whole` at `first` + i `step`, `count` of them in each dimension.
fn gather(dims: &[u64], width: usize, whole: &[u8], first: &[u64], count: &[u64], step: u64) -> Vec<u8> {
    let mut part = vec![];
    for n in 0..count.iter().product::<u64>() {
        let (mut n, mut at, mut stride) = (n, 0, 1);
        for d in 0..dims.len() {
            at += (first[d] + n % count[d] * step) * stride;
            (n, stride) = (n / count[d], stride * dims[d]);
        }
        part.extend_from_slice(&whole[at as usize * width..][..width]);
    }
    part
}

#[test]
fn regions_and_previews_are_parts_of_the_whole() {
    for dims in SHAPES {
        let sample = make(DType::F32, dims, Content::Walk, 5);
        for p in pipelines(DType::F32) {
            let options = options(Container::Fzm, true);
            let bytes = compress(&p, &sample.array, &options, &sample.bytes).unwrap();
            let whole = decompress(&bytes, &options).unwrap().1;
            for step in [1, 2, 4, 1 << 40, 1 << 63] {
                let array = preview_array(&sample.array, step).unwrap();
                let mut part = vec![0; array.bytes() as usize];
                assert_eq!(decompress_preview(&bytes, step, &mut part), Ok(part.len()));
                let step = if step > 9 { 0 } else { step };
                let expected = gather(dims, 4, &whole, &[0; MAX_DIMS], array.dims(), step);
                assert!(part == expected, "{}, step {step}", sample.name);
            }
            for pick in 0..12u64 {
                // From all of it to single elements, and some regions without elements.
                let origin: Vec<u64> =
                    (0..).zip(dims).map(|(d, n)| if *n == 0 { 0 } else { pick * (d + 1) / 3 % n }).collect();
                let longest = |d: usize| dims[d] - origin[d];
                let extent: Vec<u64> = (0..dims.len())
                    .map(|d| if pick >> (d % 3) & 1 == 0 { longest(d) } else { longest(d).min(1 + pick / 4) })
                    .collect();
                let expected = gather(dims, 4, &whole, &origin, &extent, 1);
                let mut part = vec![0; expected.len()];
                let done = decompress_region(&bytes, &origin, &extent, &mut part);
                assert_eq!(done, Ok(part.len()), "{}", sample.name);
                assert!(part == expected, "{}, {extent:?} from {origin:?} on", sample.name);
            }
            let outside =
                decompress_region(&bytes, &vec![0; dims.len()], &[u64::MAX; MAX_DIMS][..dims.len()], &mut []);
            assert!(matches!(outside, Err(Error::InvalidArgument { .. })), "{outside:?}");
            let three = decompress_region(&bytes, &[0; 3], &[1; 3], &mut [0; 4]);
            assert!(matches!(three, Err(Error::InvalidArgument { .. })), "{three:?}");
        }
    }
}

#[test]
fn damaged_shapes_are_refused() {
    let sample = make(DType::F32, &[6, 5, 4, 3, 2], Content::Walk, 1);
    let p = preset("fast", DType::F32).unwrap();
    for container in both_containers() {
        let options = Options { checksum: false, ..options(container, true) };
        let whole = compress(&p, &sample.array, &options, &sample.bytes).unwrap();
        // Version, number of dimensions, and lengths: of an FZM file in the extension block, the slowest at its end.
        let places: Vec<usize> = match container {
            Container::Fzm => {
                [176..178, 189..216, 240..256].into_iter().flatten().map(|at| 80 + at).collect()
            }
            Container::Compact => [4].into_iter().chain(7..13).collect(),
        };
        for (at, bit) in places.iter().flat_map(|at| (0..8).map(move |bit| (*at, bit))) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            let refused = info(&bytes);
            assert!(refused.is_err(), "{container:?}, bit {bit} of byte {at}: {refused:?}");
        }
        // The slowest dimensions in another order are another array of the same elements.
        let at = if container == Container::Fzm { 80 + 240 } else { 10 };
        assert_eq!(whole[at..at + 3], [4, 3, 2]);
        let mut bytes = whole.clone();
        bytes[at..at + 3].copy_from_slice(&[4, 2, 3]);
        let (array, restored) = decompress(&bytes, &Options::default()).unwrap();
        assert_eq!(array.dims(), [6, 5, 4, 2, 3]);
        assert!(restored == decompress(&whole, &Options::default()).unwrap().1);
    }
}

#[test]
fn limits_of_shapes() {
    let array = |dims: &[u64]| Array::new(DType::U8, dims);
    assert_eq!(array(&[2, 3, 4, 5]).unwrap().joined_dims(), [2, 3, 20]);
    assert_eq!(array(&[2, 3, 4]).unwrap().joined_dims(), [2, 3, 4]);
    assert_eq!(array(&[7]).unwrap().joined_dims(), [7]);
    for dims in [
        &[][..],
        &[1; 9],
        &[1 << 30, 1 << 20, 1 << 5, 1 << 2],
        &[0, 1 << 30, 1 << 20, 1 << 7],
        &[0, 1 << 57],
        &[1 << 30, 0, 1 << 27],
        &[u64::MAX; 8],
    ] {
        let refused = array(dims);
        assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{dims:?}: {refused:?}");
    }
    // The longest numbers that the slowest six dimensions can have fit into their place in an FZM file.
    for dims in [
        [0, 1, 128, 128, 128, 128, 128, 1 << 21],
        [1, 0, 1, 1, 1, 1, 1, 1 << 56],
        [0, 1, 512, 512, 512, 512, 512, 1 << 11],
    ] {
        let array = array(&dims).unwrap();
        for container in both_containers() {
            let bytes = compress(&preset("bits", DType::U8).unwrap(), &array, &options(container, true), &[])
                .unwrap();
            assert_eq!(info(&bytes).unwrap().array, array);
            assert_eq!(decompress(&bytes, &Options::default()).unwrap(), (array, vec![]));
        }
    }
}

/// With fewer axes the segments are those of the array with its slowest dimensions joined, and its shape is kept.
#[test]
fn fewer_axes_join_the_slowest_dimensions() {
    for (dims, dtype) in SHAPES
        .iter()
        .chain(&[&[40, 30, 20][..], &[700, 3], &[5000]])
        .flat_map(|d| [(d, DType::F32), (d, DType::F64)])
    {
        let sample = make(dtype, dims, Content::Specials, 4);
        let at = |d: usize| sample.array.joined_dims().get(d).copied().unwrap_or(1);
        let [x, y, z] = [at(0), at(1), at(2)];
        for (axes, joined) in [(0, [x, y, z]), (1, [x * y * z, 1, 1]), (2, [x, y * z, 1]), (3, [x, y, z])] {
            for (name, container) in
                ["fz", "lc_cr"].into_iter().flat_map(|n| both_containers().map(|c| (n, c)))
            {
                let (plain, options) = (preset(name, dtype).unwrap(), options(container, true));
                let mut fewer = plain.clone();
                fewer.args_mut(0).unwrap().set_int("axes", axes).unwrap();
                let (bytes, _) = holds(&fewer, &sample, &options);
                let other = Array::new(dtype, &joined).unwrap();
                let other = compress(&plain, &other, &options, &sample.bytes).unwrap();
                assert!(payload(&bytes) == payload(&other), "{} {name} {axes} {container:?}", sample.name);
                assert_eq!(info(&bytes).unwrap().array, sample.array);
                // The pipeline that is read from the container compresses to the same segments.
                let again =
                    compress(&pipeline_of(&bytes).unwrap(), &sample.array, &options, &sample.bytes).unwrap();
                assert!(payload(&again) == payload(&other), "{} {name} {axes} {container:?}", sample.name);
            }
        }
    }
}

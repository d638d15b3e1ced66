//! Regions from files: the same bytes and the same errors as from memory, for any file, and no more memory
//! than stated.

use crate::alloc::peak_of;
use crate::alone;
use crate::common::rng::Rng;
use crate::common::run::both_containers;
use fzgm::{
    Array, Container, ContainerFile, DType, Error, Options, Pipeline, Status, compress, decompress,
    decompress_region, decompress_region_file, info, preset,
};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

const SHAPES: [&[u64]; 12] = [
    &[1],
    &[8193],
    &[30_000],
    &[33, 300],
    &[70, 5],
    &[1, 9000],
    &[300, 40],
    &[33, 31, 9],
    &[70, 65, 17],
    &[64, 1, 3],
    &[1, 1, 20],
    &[32, 1, 600],
];

/// A file of its own, which goes again.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("fzgm-box-{}-{}.fzm", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Place(std::env::temp_dir().join(name))
    }

    fn put(&self, bytes: &[u8]) {
        fs::write(&self.0, bytes).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn pipeline(eb: f64) -> Pipeline {
    let mut p = Pipeline::new();
    let node = p.add("fast").unwrap();
    p.args_mut(node).unwrap().set_real("error_bound", eb).unwrap();
    p
}

/// A walk with values that are not bounded and stretches that are constant.
fn field(dtype: DType, dims: &[u64], rng: &mut Rng) -> Vec<u8> {
    let n = dims.iter().product::<u64>() as usize;
    let mut x = 0.0;
    let mut values: Vec<f64> = (0..n)
        .map(|_| {
            x += rng.unit() - 0.5;
            x
        })
        .collect();
    values[n / 3..n / 2].fill(3.0);
    (0..n / 60).for_each(|_| values[rng.below(n)] = f64::NAN);
    match dtype {
        DType::F32 => values.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}

fn made(dtype: DType, dims: &[u64], eb: f64, options: &Options, rng: &mut Rng) -> Vec<u8> {
    let array = Array::new(dtype, dims).unwrap();
    compress(&pipeline(eb), &array, options, &field(dtype, dims, rng)).unwrap()
}

/// A region of the whole array.
fn cut(whole: &[u8], w: usize, dims: &[u64], origin: &[u64], extent: &[u64]) -> Vec<u8> {
    let at = |d: &[u64], i: usize, none: usize| d.get(i).map_or(none, |n| *n as usize);
    let mut part = vec![];
    for z in 0..at(extent, 2, 1) {
        for y in 0..at(extent, 1, 1) {
            let row = (at(origin, 2, 0) + z) * at(dims, 1, 1) + at(origin, 1, 0) + y;
            let first = row * at(dims, 0, 1) + at(origin, 0, 0);
            part.extend_from_slice(&whole[first * w..(first + at(extent, 0, 1)) * w]);
        }
    }
    part
}

fn a_box(dims: &[u64], rng: &mut Rng) -> (Vec<u64>, Vec<u64>) {
    let one = |d: u64, rng: &mut Rng| match rng.below(4) {
        0 => (0, d),
        _ => {
            let first = rng.below(d as usize) as u64;
            (first, 1 + rng.below((d - first) as usize) as u64)
        }
    };
    dims.iter().map(|d| one(*d, rng)).unzip()
}

#[test]
fn regions_of_files_are_the_slices_of_the_whole() {
    let _alone = alone();
    let (mut rng, place) = (Rng(90), Place::new());
    for dtype in [DType::F32, DType::F64] {
        for dims in SHAPES {
            // The last bound only works for an array that is stored without coding.
            for (container, eb) in both_containers().into_iter().flat_map(|c| [(c, 1e-2), (c, 1e-14)]) {
                let options = Options { container, ..Options::default() };
                let bytes = made(dtype, dims, eb, &options, &mut rng);
                let (_, whole) = decompress(&bytes, &options).unwrap();
                place.put(&bytes);
                let file = ContainerFile::open(&place.0).unwrap();
                assert_eq!(file.info().unwrap().array, info(&bytes).unwrap().array);
                for _ in 0..8 {
                    let (origin, extent) = a_box(dims, &mut rng);
                    let want = cut(&whole, dtype.bytes() as usize, dims, &origin, &extent);
                    let what = || format!("{dtype} {dims:?} {origin:?} {extent:?} {container:?} {eb}");
                    let mut dst = vec![0xc3; want.len() + 8];
                    let n = decompress_region_file(&place.0, &origin, &extent, &mut dst).unwrap();
                    assert!(n == want.len() && dst[..n] == want && dst[n..] == [0xc3; 8], "{}", what());
                    dst.fill(0);
                    assert_eq!(file.decompress_region(&origin, &extent, &mut dst), Ok(n), "{}", what());
                    assert!(dst[..n] == want, "{}", what());
                    dst.fill(0);
                    assert_eq!(decompress_region(&bytes, &origin, &extent, &mut dst), Ok(n), "{}", what());
                    assert!(dst[..n] == want, "{}", what());
                    let few = decompress_region_file(&place.0, &origin, &extent, &mut dst[..n - 1]);
                    assert_eq!(few.unwrap_err().status(), Status::DstTooSmall, "{}", what());
                }
            }
        }
    }
}

/// The outcome of a call for a region, in memory and in a file, which must be equal except for names.
fn outcome(
    bytes: &[u8],
    place: &Place,
    origin: &[u64],
    extent: &[u64],
    room: usize,
) -> Result<Vec<u8>, Status> {
    place.put(bytes);
    let restored = |done: fzgm::Result<usize>, mut dst: Vec<u8>| {
        done.map(|n| {
            dst.truncate(n);
            dst
        })
    };
    let (mut a, mut b) = (vec![0; room], vec![0; room]);
    let memory = decompress_region(bytes, origin, extent, &mut a);
    let memory = restored(memory, a).map_err(|e| e.status());
    let file = decompress_region_file(&place.0, origin, extent, &mut b);
    let file = restored(file, b).map_err(|e| e.status());
    assert!(memory == file, "{:?} from memory, {:?} from a file", memory.as_ref().err(), file.as_ref().err());
    file
}

#[test]
fn files_that_were_cut_at_any_length_are_refused() {
    let _alone = alone();
    let (mut rng, place) = (Rng(91), Place::new());
    for container in both_containers() {
        for eb in [0.3, 1e-14] {
            let options = Options { container, ..Options::default() };
            let bytes = made(DType::F32, &[40, 33, 3], eb, &options, &mut rng);
            let (origin, extent) = ([0, 0, 0], [4, 4, 2]);
            assert!(outcome(&bytes, &place, &origin, &extent, 1000).is_ok());
            let header = info(&bytes).unwrap().header_bytes as usize;
            // The stream has thousands of bytes that are all alike.
            for length in
                (0..bytes.len()).filter(|n| *n < header + 200 || n % 61 == 0 || n + 50 > bytes.len())
            {
                let status = outcome(&bytes[..length], &place, &origin, &extent, 1000).unwrap_err();
                let expected = if length < 4 { Status::NotAContainer } else { Status::Corrupt };
                assert_eq!(status, expected, "{length}");
            }
            let more = [&bytes[..], b"x"].concat();
            assert_eq!(outcome(&more, &place, &origin, &extent, 1000), Err(Status::Corrupt));
        }
    }
}

/// Entries, words, and headers, damaged: the same outcome everywhere, and never more memory than a region may
/// need.
#[test]
fn damaged_files_are_data_or_a_status() {
    let _alone = alone();
    let long = std::env::var_os("FZGM_LONG").is_some();
    let (mut rng, place) = (Rng(92), Place::new());
    let mut cases = vec![];
    for dtype in [DType::F32, DType::F64] {
        for dims in [&[30_000][..], &[70, 600], &[70, 65, 17]] {
            for container in both_containers() {
                let options = Options { container, checksum: false, ..Options::default() };
                let bytes = made(dtype, dims, 1e-2, &options, &mut rng);
                cases.push((bytes, dtype, dims));
            }
        }
    }
    let (mut fine, mut refused) = (0, 0);
    for _ in 0..if long { 20_000 } else { 600 } {
        let (good, dtype, dims) = rng.pick(&cases);
        let said = info(good).unwrap();
        let (header, segment) = (said.header_bytes as usize, said.segments[0].bytes as usize);
        let mut bad = good.clone();
        for _ in 0..1 + rng.below(2) {
            // The table, the header, the words; an entry as a whole.
            let at = match rng.below(6) {
                0 => rng.below(header),
                1 => header + rng.below(segment),
                2 | 3 => header + rng.below(segment.min(100)),
                _ => {
                    let k = header + 8 * rng.below(segment.min(100) / 8);
                    let old = u64::from_le_bytes(bad[k..k + 8].try_into().unwrap());
                    let new = match rng.below(6) {
                        0 => old | 0xffff << 44,
                        1 => old.wrapping_add(1 << 44),
                        2 => old ^ 1 << rng.below(64),
                        3 => rng.word(),
                        4 => old.wrapping_add(rng.below(9) as u64).wrapping_sub(4),
                        _ => u64::from_le_bytes(bad[header..header + 8].try_into().unwrap()),
                    };
                    bad[k..k + 8].copy_from_slice(&new.to_le_bytes());
                    continue;
                }
            };
            match rng.below(3) {
                0 => bad[at] ^= 1 << rng.below(8),
                1 => bad[at] = rng.word() as u8,
                _ => bad[at] = 255,
            }
        }
        let (origin, extent) = a_box(dims, &mut rng);
        let room = (dims.iter().product::<u64>() * dtype.bytes()) as usize;
        place.put(&bad);
        let mut dst = vec![0; room];
        let (done, took) = peak_of(|| decompress_region_file(&place.0, &origin, &extent, &mut dst));
        assert!(took < 5 << 18, "{took} bytes of memory");
        drop(done);
        match outcome(&bad, &place, &origin, &extent, room) {
            Ok(_) => fine += 1,
            Err(status) => {
                let known = [
                    Status::Corrupt,
                    Status::NotAContainer,
                    Status::Unsupported,
                    Status::InvalidArgument,
                    Status::DstTooSmall,
                ];
                assert!(known.contains(&status), "{status:?}");
                refused += 1;
            }
        }
    }
    assert!(fine > 50 && refused > 100, "{fine} {refused}");
}

/// As much for all of 16 MB as for a value.
#[test]
fn memory_does_not_grow_with_the_region() {
    let _alone = alone();
    let place = Place::new();
    let mut rng = Rng(93);
    for eb in [1e-6, 1e-14] {
        let dims = [160, 160, 160];
        let noise: Vec<u8> =
            (0..dims.iter().product::<u64>()).flat_map(|_| (rng.unit() as f32).to_le_bytes()).collect();
        let array = Array::new(DType::F32, &dims).unwrap();
        let bytes = compress(&pipeline(eb), &array, &Options::default(), &noise).unwrap();
        place.put(&bytes);
        let mut dst = vec![0; noise.len()];
        for extent in [dims, [159, 159, 159], [1, 1, 1]] {
            let (done, took) = peak_of(|| decompress_region_file(&place.0, &[0; 3], &extent, &mut dst));
            assert_eq!(done, Ok(4 * extent.iter().product::<u64>() as usize));
            assert!(took < 5 << 18, "{extent:?}: {took}");
        }
    }
}

#[test]
fn paths_that_are_no_files_are_refused() {
    let _alone = alone();
    let place = Place::new();
    let open = |path: PathBuf| match decompress_region_file(&path, &[0], &[1], &mut [0; 4]) {
        Err(Error::File { doing, path: named, why }) => {
            assert_eq!((doing, named), ("read", path.display().to_string()));
            why
        }
        other => panic!("{}: {other:?}", path.display()),
    };
    open(place.0.clone());
    assert_eq!(open(std::env::temp_dir()), "it is not a regular file");
    #[cfg(unix)]
    {
        assert_eq!(open("/dev/null".into()), "it is not a regular file");
        // A FIFO without a writer: opening it would block.
        assert!(std::process::Command::new("mkfifo").arg(&place.0).status().unwrap().success());
        assert_eq!(open(place.0.clone()), "it is not a regular file");
    }
}

/// Bytes that a file had when it was opened may be missing when it is read.
#[test]
fn a_file_that_becomes_shorter_is_one_that_cannot_be_read() {
    let _alone = alone();
    let (mut rng, place) = (Rng(94), Place::new());
    for eb in [1e-2, 1e-14] {
        let bytes = made(DType::F64, &[70, 65, 17], eb, &Options::default(), &mut rng);
        let header = info(&bytes).unwrap().header_bytes;
        let mut dst = vec![0; 8 * 70 * 65 * 17];
        for length in [0, header, header + 4, header + 500, bytes.len() as u64 - 1] {
            place.put(&bytes);
            let file = ContainerFile::open(&place.0).unwrap();
            fs::OpenOptions::new().write(true).open(&place.0).unwrap().set_len(length).unwrap();
            let refused = file.decompress_region(&[0; 3], &[70, 65, 17], &mut dst).unwrap_err();
            assert_eq!(refused.status(), Status::File, "{refused}");
            assert!(refused.to_string().ends_with("it became shorter while it was read"), "{refused}");
            assert!(refused.to_string().contains(&*place.0.to_string_lossy()), "{refused}");
        }
        // Another file by the same name is not read.
        place.put(&bytes);
        let file = ContainerFile::open(&place.0).unwrap();
        fs::remove_file(&place.0).unwrap();
        place.put(b"something else");
        file.decompress_region(&[0; 3], &[70, 65, 17], &mut dst).unwrap();
    }
}

/// Anywhere in a file, between bytes that are not looked at.
#[test]
fn a_container_inside_of_a_file() {
    let _alone = alone();
    let (mut rng, place) = (Rng(95), Place::new());
    let bytes = made(DType::F32, &[70, 600], 1e-2, &Options::default(), &mut rng);
    let (_, whole) = decompress(&bytes, &Options::default()).unwrap();
    place.put(&[&[0x77; 1001][..], &bytes, &[0x77; 99]].concat());
    let end = 1001 + bytes.len() as u64;
    let open = |range| ContainerFile::within(fs::File::open(&place.0).unwrap(), range, "slab");
    let file = open(1001..end).unwrap();
    for _ in 0..10 {
        let (origin, extent) = a_box(&[70, 600], &mut rng);
        let want = cut(&whole, 4, &[70, 600], &origin, &extent);
        let mut dst = vec![0; want.len()];
        file.decompress_region(&origin, &extent, &mut dst).unwrap();
        assert!(dst == want);
    }
    let refused = |range| open(range).err().unwrap();
    assert!(refused(1001..end + 1).to_string().contains("slab has"), "{}", refused(1001..end + 1));
    assert_eq!(refused(1001..end - 1).status(), Status::Corrupt);
    assert_eq!(refused(1000..end).status(), Status::NotAContainer);
    assert_eq!(refused(std::ops::Range { start: 5000, end: 1001 }).status(), Status::NotAContainer);
    for beyond in [1001..end + 100, u64::MAX - 1..u64::MAX, 0..u64::MAX] {
        assert!(matches!(refused(beyond).status(), Status::File | Status::Corrupt | Status::NotAContainer));
    }
}

#[test]
fn regions_that_are_refused() {
    let _alone = alone();
    let (mut rng, place) = (Rng(96), Place::new());
    let dims = [40, 33, 3];
    let bytes = made(DType::F64, &dims, 1e-2, &Options::default(), &mut rng);
    let status = |origin: &[u64], extent: &[u64]| {
        outcome(&bytes, &place, origin, extent, 100_000).err().unwrap_or(Status::Ok)
    };
    assert_eq!(status(&[0, 0, 0], &dims), Status::Ok);
    assert_eq!(status(&dims, &[0, 0, 0]), Status::Ok);
    assert_eq!(status(&[0, 33, 0], &[1, 1, 1]), Status::InvalidArgument);
    assert_eq!(status(&[0, 0, u64::MAX], &[1, 1, 2]), Status::InvalidArgument);
    assert_eq!(status(&[0, 0], &[1, 1]), Status::InvalidArgument);
    let array = Array::new(DType::F64, &dims).unwrap();
    let fz = preset("fz", DType::F64).unwrap();
    let src = field(DType::F64, &dims, &mut rng);
    let options = Options { container: Container::Compact, ..Options::default() };
    let other = compress(&fz, &array, &options, &src).unwrap();
    // Also where the whole array is decoded for it.
    let whole = decompress(&other, &options).unwrap().1;
    assert_eq!(
        outcome(&other, &place, &[7, 5, 1], &[1; 3], 8),
        Ok(cut(&whole, 8, &dims, &[7, 5, 1], &[1; 3]))
    );
    assert_eq!(outcome(&other, &place, &[7, 5, 1], &[1; 3], 7), Err(Status::DstTooSmall));
    assert_eq!(outcome(&other, &place, &[0, 33, 0], &[1; 3], 8), Err(Status::InvalidArgument));
}

/// A segment that is longer than table and values is one that no encoder writes, of a part as of the whole.
#[test]
fn streams_beyond_table_and_values_are_corrupt() {
    let _alone = alone();
    let place = Place::new();
    let options = Options {
        container: Container::Compact,
        checksum: false,
        store_incompressible: false,
        ..Options::default()
    };
    let array = Array::new(DType::F32, &[16]).unwrap();
    let mut bytes = compress(&pipeline(1e-3), &array, &options, &[0; 64]).unwrap();
    let at = bytes.len() - 8;
    for (length, want) in [(8, None), (72, None), (74, Some(Status::Corrupt)), (76, Some(Status::Corrupt))] {
        // The last number of the header.
        bytes[at - 1] = length;
        bytes.resize(at + usize::from(length), 0);
        assert_eq!(outcome(&bytes, &place, &[3], &[5], 20).err(), want, "{length}");
        assert_eq!(decompress(&bytes, &options).err().map(|e| e.status()), want, "{length}");
    }
}

/// Every reader of a header reports this before it allocates memory for a missing array.
#[test]
fn a_length_that_the_stream_cannot_have_is_corrupt() {
    let _alone = alone();
    let file = Place::new();
    let form = Options { container: Container::Fzm, checksum: false, ..Options::default() };
    let array = Array::new(DType::F32, &[20_000]).unwrap();
    let whole = compress(&pipeline(1e-3), &array, &form, &[0; 80_000]).unwrap();
    let refused = |bytes: &[u8], what: &str| {
        file.put(bytes);
        let of_file = ContainerFile::open(&file.0).err();
        let all = [
            info(bytes).err(),
            decompress(bytes, &form).err(),
            decompress_region(bytes, &[0], &[9], &mut [0; 36]).err(),
            of_file,
        ];
        for (i, e) in all.into_iter().enumerate() {
            assert_eq!(e.as_ref().map(Error::status), Some(Status::Corrupt), "{what}, {i}: {e:?}");
        }
    };
    // The numbers of its bytes and of its elements, at any place.
    let of = |elements: u64| {
        let mut bytes = whole.clone();
        let header = u64::from_le_bytes(whole[24..32].try_into().unwrap()) as usize;
        let mut places = 0;
        for (old, new) in [(20_000u64, elements), (80_000, 4 * elements)] {
            for i in (0..=header - 8).filter(|i| whole[*i..*i + 8] == old.to_le_bytes()) {
                bytes[i..i + 8].copy_from_slice(&new.to_le_bytes());
                places += 1;
            }
        }
        assert!(places > 3, "the header says its lengths in {places} places");
        bytes
    };
    assert_eq!(of(20_000), whole);
    // As many chunks have the same table.
    assert_eq!(info(&of(20_001)).unwrap().array.elements(), 20_001);
    for elements in [3 * 8192 + 1, 1 << 20, 1 << 32, 1 << 40] {
        refused(&of(elements), &format!("{elements} elements"));
    }
    // The config alone: another type, other lengths.
    let config = whole.windows(4).position(|w| w[..3] == [1, DType::F32 as u8, 1]).unwrap();
    for (at, new) in [(1, vec![DType::F64 as u8])]
        .into_iter()
        .chain([0u64, 19_999, 20_001, 40_000].into_iter().map(|n| (32, n.to_le_bytes().to_vec())))
    {
        let mut bytes = whole.clone();
        bytes[config + at..config + at + new.len()].copy_from_slice(&new);
        refused(&bytes, &format!("{new:?} in the config"));
    }
}

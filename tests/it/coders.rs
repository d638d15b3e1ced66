//! Entropy coders: recorded streams to the byte, codes as short as they can be, and data that is hard on them.

use crate::common::agreement::stage;
use crate::common::gpu;
use crate::common::rng::Rng;
use crate::common::run::{every_way, options};
use crate::common::samples::Sample;
use std::path::{Path, PathBuf};

use fzgm::{Array, Container, DType, Error, Generation, Options, Pipeline, Status, compress, info};

fn sample(name: &str, dtype: DType, values: impl IntoIterator<Item = u32>) -> Sample {
    let width = dtype.bytes() as usize;
    let bytes: Vec<u8> = values.into_iter().flat_map(|v| v.to_le_bytes()[..width].to_vec()).collect();
    let array = Array::new(dtype, &[(bytes.len() / width) as u64]).unwrap();
    Sample { name: format!("{name} {dtype}"), array, bytes }
}

/// The only segment of a container.
fn segment(container: &[u8]) -> Vec<u8> {
    let segments = info(container).unwrap().segments;
    container[container.len() - segments[0].bytes as usize..].to_vec()
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()).into()
}

/// Symbols with counts that double: lengths 1, 2, 3, …
fn doubling(symbols: u32) -> impl Iterator<Item = u32> {
    (0..symbols).flat_map(move |s| std::iter::repeat_n(s, 1 << (symbols - 1 - s)))
}

fn contents(bklen: u32, rng: &mut Rng) -> Vec<(&'static str, Vec<u32>)> {
    let mut random = |n: usize, f: &dyn Fn(u64) -> u32| (0..n).map(|_| f(rng.word())).collect::<Vec<u32>>();
    vec![
        ("none", vec![]),
        ("one", vec![bklen - 1]),
        ("all the same", vec![bklen / 2; 2000]),
        ("two", random(3001, &|r| (r as u32 & 1) * (bklen - 1))),
        ("uniform", random(20_000, &|r| r as u32 % bklen)),
        ("each once", (0..bklen).rev().collect()),
        ("geometric", random(30_011, &|r| (r.leading_zeros() + (r as u32 & 1)) % bklen)),
        ("wide", random(20_001, &|r| ((r as u32 % bklen) >> (r >> 32 & 15)) % bklen)),
        ("long codes", doubling(15.min(bklen)).collect()),
        ("whole partitions", random(768 * 9, &|r| (r as u32 & r as u32 >> 3) % bklen)),
    ]
}

/// The total of an optimal code: the sum of all sums of the two smallest.
fn optimum(values: &[u32]) -> u64 {
    let mut counts = std::collections::BTreeMap::new();
    values.iter().for_each(|v| *counts.entry(v).or_insert(0u64) += 1);
    let mut heap: std::collections::BinaryHeap<_> = counts.values().map(|&c| std::cmp::Reverse(c)).collect();
    if heap.len() == 1 {
        return values.len() as u64;
    }
    let mut total = 0;
    while let (Some(a), Some(b)) = (heap.pop(), heap.pop()) {
        total += a.0 + b.0;
        if heap.is_empty() {
            break;
        }
        heap.push(std::cmp::Reverse(a.0 + b.0));
    }
    total
}

#[test]
fn huffman_is_as_short_as_possible_and_within_the_bound_of_its_page() {
    let (mut rng, mut cases) = (Rng(5), 0usize..);
    for (dtype, bklen) in [
        (DType::U8, 256),
        (DType::U8, 4),
        (DType::U16, 1024),
        (DType::U16, 2),
        (DType::U16, 65536),
        (DType::U32, 5000),
    ] {
        for (name, values) in contents(bklen, &mut rng) {
            for (mode, sublen) in [("auto", 768), ("fine", 1024), ("4096", 4096)] {
                let s = sample(name, dtype, values.iter().copied());
                let p = stage("huffman", &[("bklen", &bklen.to_string()), ("encode_mode", mode)]);
                let case = cases.next().unwrap();
                for strict in [true, false] {
                    let generation = if strict { Generation::G2026_08 } else { Generation::G2026_05 };
                    let options = Options { generation, ..options(Container::Fzm, strict) };
                    let bytes = compress(&p, &s.array, &options, &s.bytes).unwrap();
                    if let Some(device) = gpu::device().filter(|_| gpu::mine(case + case / 4)) {
                        let there = Options { device, ..options };
                        let there = compress(&p, &s.array, &there, &s.bytes).unwrap();
                        assert!(there == bytes, "{} {mode}: other bytes on the device", s.name);
                    }
                    if values.is_empty() {
                        continue;
                    }
                    let stream = segment(&bytes);
                    let n = values.len() as u64;
                    let parts = n.div_ceil(sublen);
                    let keys_end = 384 + u64::from(bklen) * dtype.bytes();
                    let bits: Vec<u64> =
                        (0..parts).map(|i| word(&stream, (keys_end + 4 * i) as usize)).collect();
                    let cells: u64 = bits.iter().map(|b| b.div_ceil(32)).sum();
                    assert_eq!(stream.len() as u64, keys_end + 8 * parts + 4 * cells, "{} {mode}", s.name);
                    assert_eq!(bits.iter().sum::<u64>(), optimum(&values), "{} {mode}", s.name);
                }
                let (_, restored) = every_way(&p, &s, &options(Container::Compact, true)).unwrap();
                assert!(restored == s.bytes, "{} {mode}", s.name);
            }
        }
    }
}

/// More partitions than a device decodes with a warp for each: `FEW` in src/stages/huffman/device.rs.
#[test]
fn huffman_decodes_many_partitions() {
    let mut rng = Rng(6);
    let symbols = (0..768 * 2049 + 5).map(|_| rng.word()).map(|r| r.leading_zeros() * 4 + (r as u32 & 3));
    let s = sample("many", DType::U8, symbols);
    let p = stage("huffman", &[("bklen", "256")]);
    let (_, restored) = every_way(&p, &s, &options(Container::Compact, true)).unwrap();
    assert!(restored == s.bytes);
}

/// Counts like Fibonacci numbers require codes that are longer than 27 bits.
#[test]
fn huffman_evens_out_counts_that_require_longer_codes() {
    let mut counts = vec![1usize, 1];
    while counts.len() < 30 {
        counts.push(counts[counts.len() - 1] + counts[counts.len() - 2]);
    }
    // One with codes of 28 bits, which the reference writes and this encoder does not, and one that requires
    // 29.
    for counts in [&counts[..29], &counts] {
        evens_out(counts);
    }
}

fn evens_out(counts: &[usize]) {
    let values = counts.iter().enumerate().flat_map(|(s, &c)| std::iter::repeat_n(s as u32, c));
    let s = sample("fibonacci", DType::U8, values);
    let p = stage("huffman", &[("bklen", "32")]);
    for (strict, generation) in [(true, Generation::G2026_08), (false, Generation::G2026_05)] {
        let options = Options { generation, ..options(Container::Fzm, strict) };
        let bytes = compress(&p, &s.array, &options, &s.bytes).unwrap();
        let (_, restored) = fzgm::decompress(&bytes, &options).unwrap();
        assert!(restored[..s.bytes.len()] == s.bytes);
        // There are no more codes that are shorter than 31 bits than those that are as long as codes may be.
        let (stream, longest) = (segment(&bytes), if strict { 27 } else { 28 });
        let shorter = |bits: usize| word(&stream, 256 + 4 * bits);
        assert_eq!(shorter(longest + 1), shorter(31), "codes longer than {longest} bits");
        #[cfg(feature = "cuda")]
        if let Some(device) = crate::common::gpu::device() {
            let there = Options { device, ..options };
            assert!(compress(&p, &s.array, &there, &s.bytes).unwrap() == bytes, "other bytes on the device");
            assert!(fzgm::decompress(&bytes, &there).unwrap().1[..s.bytes.len()] == s.bytes);
        }
    }
}

/// Recorded streams: `STAGE_NAME.in` and `.out`.
#[test]
fn recorded_streams_are_written_to_the_byte_and_read() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/coders");
    let dir = std::env::var_os("FZGM_CODERS").map_or(golden, Into::into);
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let mut seen = 0;
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "in")) {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let (input, mut want) =
            (std::fs::read(file).unwrap(), std::fs::read(file.with_extension("out")).unwrap());
        let words: Vec<&str> = name.split('_').collect();
        let (dtype, p) = match words[..] {
            ["huf", dtype, bklen, sublen, ..] => {
                let mode = if sublen == "1024" { "fine" } else { "coarse" };
                let set = [("bklen", bklen), ("encode_mode", mode)];
                (DType::from_name(dtype).unwrap(), stage("huffman", &set))
            }
            ["adm", dtype, ..] => (DType::from_name(dtype).unwrap(), stage("adm", &[])),
            _ => (DType::U8, stage("ans", &[])),
        };
        let array = Array::new(dtype, &[input.len() as u64 / dtype.bytes()]).unwrap();
        let s = Sample { name: name.clone(), array, bytes: input };
        // A compact frame pads nothing; the files of 2026-05 pad for ans.
        let mut got = if words[0] == "huf" {
            let exact = Options { generation: Generation::G2026_05, ..options(Container::Fzm, false) };
            segment(&compress(&p, &s.array, &exact, &s.bytes).unwrap())
        } else {
            let (bytes, _) = every_way(&p, &s, &options(Container::Compact, true)).unwrap();
            bytes[bytes.len() - info(&bytes).unwrap().segments[0].bytes as usize..].to_vec()
        };
        if words[0] == "huf" {
            got[64..128].fill(0);
        }
        if words[0] == "ans" {
            // The reference leaves the words behind the precision to chance.
            want[17..32].fill(0);
        }
        if got != want {
            let at = got.iter().zip(&want).position(|(a, b)| a != b);
            panic!("{name}: {} bytes for {}, first difference at {at:?}", got.len(), want.len());
        }
        let (_, restored) = every_way(&p, &s, &options(Container::Compact, true)).unwrap();
        assert!(restored == s.bytes, "{name}");
        seen += 1;
    }
    assert!(seen > 50, "{seen} streams");
}

#[test]
fn bytes_and_distances_of_every_kind_are_restored() {
    let mut rng = Rng(9);
    for (name, values) in contents(65536, &mut rng) {
        for (dtype, coder) in [(DType::U8, "ans"), (DType::U16, "adm"), (DType::U32, "adm")] {
            for spread in [1, 200, 65_537] {
                let s = sample(name, dtype, values.iter().map(|v| v.wrapping_mul(spread)));
                let (_, restored) =
                    every_way(&stage(coder, &[]), &s, &options(Container::Compact, true)).unwrap();
                assert!(restored == s.bytes, "{coder} {} times {spread}", s.name);
            }
        }
    }
}

#[test]
fn symbols_without_a_code_are_named() {
    for (dtype, bklen, bad) in [(DType::U16, 1024, 1024), (DType::U32, 4096, 1 << 30), (DType::U8, 128, 255)]
    {
        let mut values = vec![3; 5000];
        values[4321] = bad;
        values[17] = bklen;
        let s = sample("out of range", dtype, values);
        let p = stage("huffman", &[("bklen", &bklen.to_string())]);
        let e = every_way(&p, &s, &options(Container::Compact, true)).unwrap_err();
        assert!(matches!(e, Error::InvalidArgument { .. }), "{e:?}");
        assert!(e.to_string().contains("huffman") && e.to_string().contains(&bad.to_string()), "{e}");
        assert!(e.to_string().contains("below huffman.bklen"), "{e}");
        #[cfg(feature = "cuda")]
        if let Some(device) = crate::common::gpu::device() {
            let options = Options { device, ..options(Container::Compact, true) };
            assert_eq!(compress(&p, &s.array, &options, &s.bytes).unwrap_err(), e);
        }
    }
    let s = sample("out of range", DType::U16, vec![3, 16, 2]);
    let e =
        every_way(&stage("bitpack", &[("nbits", "4")]), &s, &options(Container::Compact, true)).unwrap_err();
    assert!(e.to_string().contains("16") && e.to_string().contains("its nbits"), "{e}");
}

/// A stream that is shorter in the config of merge than it is, where nothing that is restored comes from it.
#[test]
fn merged_streams_are_as_long_as_they_are_said_to_be() {
    let mut p = Pipeline::new();
    let [array, runs, all] = ["stored", "rle", "merge"].map(|stage| p.add(stage).unwrap());
    p.args_mut(all).unwrap().set_text("segments", "array+runs").unwrap();
    for (from, to) in [(array, all), (array, runs), (runs, all)] {
        p.connect(from, "output", to).unwrap();
    }
    let s = sample("merged", DType::U8, (0..100).map(|i| i / 30));
    let options = Options { checksum: false, ..options(Container::Compact, true) };
    let mut bytes = compress(&p, &s.array, &options, &s.bytes).unwrap();
    let sizes = [2u8, 100, 0, 0, 0, 24, 0, 0, 0, 5];
    let at = bytes.windows(sizes.len()).position(|w| w == sizes).unwrap();
    for (size, sound) in [(24, true), (23, false), (25, false)] {
        bytes[at + 5] = size;
        let told = |options: &Options| fzgm::decompress(&bytes, options).map_err(|e| e.status());
        let want = if sound { Ok((s.array, s.bytes.clone())) } else { Err(Status::Corrupt) };
        assert_eq!(told(&options), want, "{size}");
        if let Some(device) = crate::common::gpu::device() {
            assert_eq!(told(&Options { device, ..options.clone() }), want, "{size} on the device");
        }
    }
}

/// A single element at any place decides the bits: the smallest one that needs all bits of its type.
#[test]
fn bitpack_finds_the_largest_element() {
    for dtype in [DType::U8, DType::U16, DType::U32] {
        for at in 0..40 {
            let s = sample("one", dtype, (0..40).map(|i| if i == at { 1 << (4 * dtype.bytes()) } else { 0 }));
            let p = stage("bitpack", &[("auto_detect", "true")]);
            let options = options(Container::Compact, true);
            let bytes = compress(&p, &s.array, &options, &s.bytes).unwrap();
            assert!(fzgm::decompress(&bytes, &options).unwrap().1 == s.bytes, "{dtype} {at}");
            if let Some(device) = crate::common::gpu::device() {
                let there = compress(&p, &s.array, &Options { device, ..options }, &s.bytes).unwrap();
                assert!(there == bytes, "{dtype} {at}: other bytes on the device");
            }
        }
    }
}

/// 100 bytes that occur once weigh one each, and 156 that occur equally often six: 12 too much, which the smallest of these give.
#[test]
fn ans_takes_from_the_smallest_of_equal_weights() {
    let once = 0..100;
    let often = (0..64).flat_map(|_| 100..256);
    let s = sample("weights", DType::U8, once.chain(often));
    let bytes = compress(&stage("ans", &[]), &s.array, &options(Container::Compact, true), &s.bytes).unwrap();
    let stream = segment(&bytes);
    let weights: Vec<u64> = (0..256).map(|i| word(&stream, 32 + 2 * i) & 0xffff).collect();
    let want = (0..256).map(|i| if i < 100 { 1 } else { 6 - u64::from(i < 112) });
    assert!(weights.iter().copied().eq(want), "{weights:?}");
}

/// Lanes without elements in the last group: all of them are ones when there are more than 1024 groups, else the first byte.
#[test]
fn adm_ends_where_its_number_of_groups_implies() {
    for (groups, end) in [(1025, [0xff, 0xff]), (1024, [0xff, 0])] {
        let s = sample("groups", DType::U16, std::iter::repeat_n(7, 512 * (groups - 1) + 17));
        let p = stage("adm", &[]);
        let options = options(Container::Compact, true);
        let bytes = compress(&p, &s.array, &options, &s.bytes).unwrap();
        assert!(bytes.ends_with(&end), "{groups} groups end with {:?}", &bytes[bytes.len() - 2..]);
        if let Some(device) = crate::common::gpu::device() {
            let there = compress(&p, &s.array, &Options { device, ..options }, &s.bytes).unwrap();
            assert!(there == bytes, "{groups} groups: other bytes on the device");
        }
    }
}

/// Streams that differ from sound ones only in bytes that a decoder does not need.
#[test]
fn unused_bytes_at_the_end_are_corrupt() {
    type Change = fn(&mut Vec<u8>);
    type Case = (&'static str, &'static [(&'static str, &'static str)], DType, Vec<u32>, Change);
    let all: [Case; 8] = [
        // One bit more than the symbols of the partition take.
        ("huffman", &[("bklen", "4")], DType::U8, vec![0, 1, 2, 2, 3, 3], |s| s[388] += 1),
        // A word before those that the block takes, which are as many as fill no unit of eight.
        ("ans", &[], DType::U8, (0..500).map(|i| i * i / 7 % 251).collect(), |s| {
            let (sizes, words) = (544 + 128, 544 + 128 + 16);
            let count = word(s, sizes) as usize & 0xffff;
            assert!(count % 8 != 0, "{count} words");
            s.copy_within(words..words + 2 * count, words + 2);
            s[sizes] += 1;
        }),
        // Blocks that are alike, and the second has the words of the first.
        ("ans", &[], DType::U8, (0..3 * 4096).map(|i| i % 4096 * (i % 4096) / 7 % 251).collect(), |s| {
            let second = 544 + 3 * 128 + 8 + 4;
            assert!(word(s, second) > 0);
            s[second..second + 4].fill(0);
        }),
        // A zero before the first one of a lane, which has one more than it needs.
        ("adm", &[], DType::U16, vec![9; 15], |s| s[22] = 0x7f),
        // A group that does not begin where the first one does: its lanes have three bytes of ones, except
        // the first lane.
        ("adm", &[], DType::U16, (0..512).map(|i| if i == 15 { 1200 } else { 1000 }).collect(), |s| {
            assert_eq!((word(s, 0), s.len()), (0, 4 + 2 + 1 + 512 + 3 * 32));
            s[0] = 1;
        }),
        // A bit behind the last element.
        ("bitpack", &[("nbits", "4")], DType::U8, vec![1, 2, 3], |s| s[1] |= 0x10),
        // A run that leaves its chunk.
        ("rle", &[("chunk_size", "4")], DType::U8, vec![5; 8], |s| {
            assert_eq!((word(s, 20), word(s, 24), s.len()), (4, 4, 28));
            (s[20], s[24]) = (5, 3);
        }),
        // A sound one.
        ("lorenzo", &[], DType::U8, vec![5, 5, 6], |_| {}),
    ];
    let options = Options { checksum: false, ..options(Container::Compact, true) };
    for (coder, set, dtype, values, change) in all {
        let s = sample(coder, dtype, values);
        let whole = compress(&stage(coder, set), &s.array, &options, &s.bytes).unwrap();
        let (header, mut stream) = (whole.len() - segment(&whole).len(), segment(&whole));
        change(&mut stream);
        let bytes = [&whole[..header], &stream[..]].concat();
        let corrupt = |options: &Options| match fzgm::decompress(&bytes, options) {
            Ok(_) => false,
            Err(Error::Corrupt { .. }) => true,
            Err(e) => panic!("{coder}: {e}"),
        };
        assert_eq!(corrupt(&options), coder != "lorenzo", "{coder}");
        if let Some(device) = crate::common::gpu::device() {
            assert_eq!(
                corrupt(&Options { device, ..options.clone() }),
                coder != "lorenzo",
                "{coder} on the device"
            );
        }
    }
}

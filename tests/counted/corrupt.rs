//! Damaged containers return a status. No call panics or writes outside the destination, and each ends within
//! a second and within eight times the destination and 64 MiB of memory.
//!
//! `FZGM_LONG=1` makes 100,000 mutations in place of 10,000, `FZGM_SEED=n` repeats one, and the ignored test
//! `fuzz` runs for `FUZZ_SECONDS`.

use crate::alloc::peak_of;
use crate::alone;
use crate::common::corpus::{Case, build, coders};
use crate::common::damage::{damage, garble, seal};
use crate::common::rng::Rng;
use crate::common::samples::Content;
use fzgm::{DType, Decoder, Options, Result, Status};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

const GUARD: usize = 64;

/// A careful caller's decompression of a container whose array should fit `dst`.
fn restore(container: &[u8], options: &Options, dst: &mut [u8]) -> Result<usize> {
    let _ = fzgm::info(container);
    let decoder = Decoder::open(container, options)?;
    let (need, have) = (decoder.array().bytes(), dst.len() as u64);
    if need > have {
        return Err(fzgm::Error::DstTooSmall { need, have });
    }
    decoder.decompress(&mut decoder.workspace()?, container, dst)
}

/// Restores within all limits; `seed` and `what` are for the message.
fn survives(case: &Case, bytes: &[u8], options: &Options, what: &str, seed: u64) -> Status {
    let room = case.restored.len();
    let mut dst = vec![0xc3; room + 2 * GUARD];
    let started = Instant::now();
    let (result, peak) =
        peak_of(|| catch_unwind(AssertUnwindSafe(|| restore(bytes, options, &mut dst[GUARD..GUARD + room]))));
    let took = started.elapsed();
    let at = || format!("FZGM_SEED={seed}: {}, {what}, {options:?}", case.name);
    let result = result.unwrap_or_else(|_| panic!("{}: panics", at()));
    assert!(took < Duration::from_secs(1), "{}: takes {took:?}", at());
    assert!(peak <= 8 * room + (64 << 20), "{}: takes {peak} bytes of memory", at());
    let guards = dst[..GUARD].iter().chain(&dst[GUARD + room..]);
    assert!(guards.into_iter().all(|&b| b == 0xc3), "{}: writes outside of the destination", at());
    match result {
        Ok(n) => {
            assert!(n <= room, "{}: {n} bytes", at());
            Status::Ok
        }
        Err(e) => {
            assert!(e.status() != Status::Internal, "{}: {e}", at());
            e.status()
        }
    }
}

fn mutation(cases: &[Case], seed: u64) -> Status {
    let mut rng = Rng(seed);
    let (case, donor) = (rng.pick(cases), rng.pick(cases));
    let (bytes, what) = damage(case, donor, &mut rng);
    // Checksums are right again; where they are not, leaving them aside lets the damage through.
    let checksum = rng.below(2) == 0;
    let threads = if rng.below(40) == 0 { 3 } else { 1 };
    let fuse = rng.below(2) == 0;
    survives(case, &bytes, &Options { checksum, threads, fuse, ..Options::default() }, what, seed)
}

fn mutate(cases: &[Case], seeds: impl Iterator<Item = u64>) {
    let mut seen = std::collections::BTreeMap::<Status, usize>::new();
    let mut count = 0usize;
    for seed in seeds {
        *seen.entry(mutation(cases, seed)).or_default() += 1;
        count += 1;
    }
    println!("{count} mutations of {} containers: {seen:?}", cases.len());
    if count >= 5000 {
        // The damage passes the checks of headers: some of it is only detected by stages, some not at all.
        assert!(seen.get(&Status::Ok).is_some_and(|&n| n > count / 50), "{seen:?}");
        assert!(seen.get(&Status::Corrupt).is_some_and(|&n| n > count / 5), "{seen:?}");
        assert!(
            seen.get(&Status::Checksum).is_none_or(|&n| n < count / 10),
            "checksums are not set right: {seen:?}"
        );
    }
}

#[test]
fn mutations_give_a_status() {
    let _alone = alone();
    let cases = build(3000, Content::Specials);
    assert!(cases.len() > 150, "{} containers", cases.len());
    match number("FZGM_SEED") {
        Some(seed) => mutate(&cases, std::iter::once(seed)),
        None => mutate(&cases, 0..if number("FZGM_LONG").is_some() { 100_000 } else { 10_000 }),
    }
}

/// The streams of each coder, damaged in their counts, the targets of their tables, and their codebooks.
/// `FZGM_LONG` makes 20,000 of each.
#[test]
fn garbled_streams_of_each_coder_give_a_status() {
    let _alone = alone();
    let (first, rounds) = match (number("FZGM_SEED"), number("FZGM_LONG")) {
        (Some(seed), _) => (seed, 1),
        (None, Some(_)) => (0, 20_000),
        (None, None) => (0, 400),
    };
    for (name, cases) in coders() {
        let mut seen = std::collections::BTreeMap::<Status, u64>::new();
        for seed in first..first + rounds {
            let mut rng = Rng(seed);
            let (case, donor) = (rng.pick(&cases), rng.pick(&cases));
            let way = if rng.below(4) == 0 { damage } else { garble };
            let (bytes, what) = way(case, donor, &mut rng);
            let checksum = rng.below(2) == 0;
            let threads = if rng.below(40) == 0 { 3 } else { 1 };
            let options = Options { checksum, threads, fuse: rng.below(2) == 0, ..Options::default() };
            *seen.entry(survives(case, &bytes, &options, what, seed)).or_default() += 1;
        }
        println!("{name}: {rounds} of {} containers: {seen:?}", cases.len());
        let enough = |status, share| rounds == 1 || seen.get(&status).is_some_and(|&n| n > rounds / share);
        assert!(enough(Status::Ok, 100) && enough(Status::Corrupt, 20), "{name}: {seen:?}");
    }
}

#[test]
#[ignore = "minutes"]
fn a_hundred_thousand_mutations() {
    let _alone = alone();
    mutate(&build(9000, Content::Specials), 1 << 32..(1 << 32) + 100_000);
}

/// As `scripts/test.sh fuzz` calls it.
#[test]
#[ignore = "runs for FUZZ_SECONDS"]
fn fuzz() {
    let _alone = alone();
    let end = Instant::now() + Duration::from_secs(number("FUZZ_SECONDS").unwrap_or(60));
    let cases = build(5000, Content::Specials);
    let first = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    mutate(&cases, (first..).take_while(|_| Instant::now() < end));
}

/// The initial inputs of the targets in `fuzz`, into the folder `FUZZ_SEEDS`: containers of every stage,
/// preset, and form, in the format of each target.
#[test]
#[ignore = "writes files for scripts/test.sh fuzz"]
fn fuzz_seeds() {
    let Some(folder) = std::env::var_os("FUZZ_SEEDS").map(std::path::PathBuf::from) else { return };
    let put = |target: &str, name: &str, bytes: &[u8]| {
        let folder = folder.join(target);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name.replace(['/', ' '], "_")), bytes).unwrap();
    };
    let small = build(150, Content::Specials).into_iter();
    // The longest of the coders are for those who have time.
    let coded = coders().into_iter().flat_map(|(_, cases)| cases).filter(|c| c.restored.len() <= 4000);
    for (i, case) in small.chain(coded).enumerate() {
        let name = format!("{i:04} {}", case.name);
        put("decode", &name, &case.bytes);
        put("header", &name, &case.bytes);
        put("file", &name, &[&[50, 90, 20, 7], &case.bytes[..]].concat());
        if case.compact {
            put("compact", &name, case.bytes.strip_prefix(b"FZC1\x01").unwrap());
            // Behind a recipe of words: lossless, of f32.
            let recipe = [0, 0, 0, 0, 0, 8, 2, 0, 149, 0, 0, 0, 0];
            put("hdf5", &name, &[&recipe, &case.bytes[..]].concat());
        }
        put("slabs", &name, &slab_file(&case.bytes));
        put("series", &name, &crate::series::of_container(&case.bytes));
    }
    // Any string is calls; from long ones on the target needs not grow them first.
    for seed in 0..200 {
        let mut rng = Rng(seed);
        let bytes: Vec<u8> = (0..50 + rng.below(550)).map(|_| rng.below(256) as u8).collect();
        put("calls", &seed.to_string(), &bytes);
    }
    // An array after each stage with its default parameters.
    for (i, stage) in fzgm::stages::STAGES.iter().enumerate() {
        let recipe: Vec<u8> = [i as u8].into_iter().chain(stage.spec().params.iter().map(|_| 1)).collect();
        for dtype in [DType::U8, DType::I32, DType::F32] {
            let array = crate::common::samples::make(dtype, &[200], Content::Walk, 5).bytes;
            let header = [dtype as u8, 4, recipe.len() as u8];
            put(
                "roundtrip",
                &format!("{} {dtype}", stage.spec().name),
                &[&header, &recipe[..], &array].concat(),
            );
        }
    }
}

/// A slab file of one slab; the target sets its checksums right.
fn slab_file(container: &[u8]) -> Vec<u8> {
    let array = fzgm::info(container).unwrap().array;
    let (dims, rows) = (array.dims(), *array.dims().last().unwrap());
    let mut file = [b"FZS1\x01\0", &[array.dtype() as u8, dims.len() as u8][..]].concat();
    let fixed = dims.iter().copied().chain(std::iter::repeat_n(0, 3 - dims.len())).chain([rows.max(1), 0]);
    let slab = [container.len() as u64];
    fixed.chain(slab).for_each(|word| file.extend(word.to_le_bytes()));
    file.extend_from_slice(container);
    [0, 1, rows, 0].iter().for_each(|word| file.extend(u64::to_le_bytes(*word)));
    file
}

/// Cut off anywhere, no container reads as a whole one.
#[test]
fn every_truncation_is_noticed() {
    let _alone = alone();
    for case in build(150, Content::Sparse) {
        for n in 0..case.bytes.len() {
            let checksum = n % 2 == 0;
            let options = Options { checksum, ..Options::default() };
            let status = survives(&case, &case.bytes[..n], &options, "truncated", n as u64);
            assert!(status != Status::Ok, "{} cut off at {n} is read", case.name);
        }
    }
}

/// Any single bit of a container with checksums is protected.
#[test]
fn every_flipped_bit_of_a_container_with_checksums_is_noticed() {
    let _alone = alone();
    for case in build(90, Content::Sparse).iter().step_by(7) {
        let mut bytes = case.bytes.clone();
        for bit in 0..8 * bytes.len() {
            // Byte 4 of a file is the version: 3.0 has no checksums, later minors may sum other bytes. The
            // flags mark the checksums that exist.
            let unprotected = if case.compact { bit / 8 == 5 } else { [4, 5, 38, 39].contains(&(bit / 8)) };
            bytes[bit / 8] ^= 1 << (bit % 8);
            let status = survives(case, &bytes, &Options::default(), "one bit", bit as u64);
            assert!(status != Status::Ok || unprotected, "{}: bit {bit} flips unnoticed", case.name);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// The tool that sets checksums right does not change a sound container; otherwise it would hide damage.
#[test]
fn sealing_again_changes_nothing() {
    let _alone = alone();
    for case in build(700, Content::Walk) {
        let mut again = case.bytes.clone();
        seal(&mut again, &case);
        assert!(again == case.bytes, "{}", case.name);
        assert_eq!(survives(&case, &again, &Options::default(), "sound", 0), Status::Ok);
    }
}

/// A header that claims an array of any size costs nothing before the caller has seen the size.
#[test]
fn claims_cost_nothing() {
    let _alone = alone();
    for case in build(1000, Content::Zeros).iter().filter(|c| !c.compact && c.name.contains("strict=true")) {
        for claim in [1u64 << 30, 1 << 40, 1 << 55, 1 << 62, u64::MAX] {
            let mut bytes = case.bytes.clone();
            bytes[8..16].copy_from_slice(&claim.to_le_bytes());
            bytes[40..48].copy_from_slice(&claim.to_le_bytes());
            for at in [180, 192] {
                let field = 80 + at;
                bytes[field..field + 8]
                    .copy_from_slice(&(claim / if at == 192 { 4 } else { 1 }).to_le_bytes());
            }
            seal(&mut bytes, case);
            survives(case, &bytes, &Options::default(), "a claim", claim);
        }
    }
}

/// An outlier that has no place in the array. Its index is the last word of the container: lists of one entry,
/// values first.
#[test]
fn an_outlier_beyond_the_array_is_corrupt() {
    let _alone = alone();
    let mut p = fzgm::Pipeline::new();
    p.add("quantizer").unwrap();
    let array = fzgm::Array::new(fzgm::DType::F32, &[100]).unwrap();
    let mut src = vec![0u8; 400];
    src[40..44].copy_from_slice(&f32::NAN.to_le_bytes());
    for container in [fzgm::Container::Fzm, fzgm::Container::Compact] {
        let options = Options { checksum: false, ..crate::common::run::options(container, true) };
        let mut bytes = fzgm::compress(&p, &array, &options, &src).unwrap();
        let at = bytes.len() - 4;
        assert_eq!(bytes[at..], 10u32.to_le_bytes());
        for (index, ok) in [(0u32, true), (99, true), (100, false), (101, false), (u32::MAX, false)] {
            bytes[at..].copy_from_slice(&index.to_le_bytes());
            let status = fzgm::decompress(&bytes, &options).map_or_else(|e| e.status(), |_| Status::Ok);
            assert_eq!(status, if ok { Status::Ok } else { Status::Corrupt }, "index {index} of 100");
        }
    }
}

/// A frame has one form: bytes with the same meaning in another form are rejected.
#[test]
fn a_frame_in_another_form_is_corrupt() {
    let _alone = alone();
    let options = Options {
        container: fzgm::Container::Compact,
        checksum: false,
        store_incompressible: false,
        ..Options::default()
    };
    // Behind magic, version, flags, type, dimensions, one length, bytes, one stage and its id.
    let (length, config) = (13, 14);
    let frame = |stage: &str, dtype, set: &[(&str, &str)]| {
        let mut pipeline = fzgm::Pipeline::new();
        let node = pipeline.add(stage).unwrap();
        set.iter().for_each(|(name, value)| pipeline.args_mut(node).unwrap().set_text(name, value).unwrap());
        let array = fzgm::Array::new(dtype, &[4]).unwrap();
        let frame = fzgm::compress(&pipeline, &array, &options, &[7; 16]).unwrap();
        assert!(fzgm::decompress(&frame, &options).is_ok());
        frame
    };
    // A config of 3 bytes has the meaning of one of 2 bytes if its last byte is 0.
    let mut longer = frame("zigzag", fzgm::DType::I32, &[]);
    assert_eq!(longer[length], 2);
    longer[length] = 3;
    longer.insert(config + 2, 0);
    // Under rel readers take no notice of the switch for outliers in place.
    let mut switched = frame("quantizer", fzgm::DType::F32, &[("mode", "rel")]);
    assert_eq!((switched[length], switched[config + 26], switched[config + 32]), (36, 1, 0));
    switched[config + 32] = 1;
    for frame in [longer, switched] {
        let e = fzgm::decompress(&frame, &options).unwrap_err();
        assert!(e.status() == Status::Corrupt && e.to_string().contains("one form"), "{e}");
    }
}

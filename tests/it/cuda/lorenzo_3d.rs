//! Fields of three dimensions through lorenzo_quant and preset fz: bricks, bands of whole tiles, and what is neither, with every
//! kind of value at every edge of what a lane, a warp or a tile has.

use crate::common::fixture::{lossy, options};
use crate::common::gpu::{Block, TestStream, mine};
use crate::common::rng::Rng;
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, Decoder, Device, Encoder, Generation, Options, Pipeline, Status};

/// Planes of whole tiles: what `fused_fz_decode` takes, with nine planes and more also in two layers.
pub(crate) const BANDED: [[u64; 3]; 7] =
    [[8, 1024, 3], [16, 512, 9], [64, 128, 2], [128, 64, 17], [256, 32, 8], [512, 16, 1], [512, 16, 11]];

/// Rows that end within a piece, so that tiles end within a lane too; more than a brick across; hardly anything.
const RAGGED: [[u64; 3]; 7] =
    [[7, 5, 3], [33, 9, 10], [129, 8, 8], [130, 17, 9], [1, 1, 100], [3, 1000, 2], [131, 40, 1]];

/// How many of the values are rare.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rare {
    No,
    /// At the edges of lanes, bricks and bands.
    Edges,
    Many,
    All,
}

fn f32_next(x: f32, up: i32) -> f32 {
    f32::from_bits((x.to_bits() as i32 + up) as u32)
}

/// `x` or one of the four floats around it.
fn beside(dtype: DType, x: f64, rng: &mut Rng) -> f64 {
    let by = rng.below(5) as i64 - 2;
    match dtype {
        DType::F32 => f32_next(x as f32, by as i32).into(),
        _ => f64::from_bits((x.to_bits() as i64 + by) as u64),
    }
}

/// A value that a kernel may take for another, in units of a step that is `step` in the type of the array. `guard` is the
/// largest multiple.
fn rare(dtype: DType, step: f64, guard: f64, radius: f64, rng: &mut Rng) -> f64 {
    let near = |m: f64, rng: &mut Rng| beside(dtype, m * step, rng);
    let sign = if rng.below(2) == 0 { 1.0 } else { -1.0 };
    sign * match rng.below(14) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => 1e30,
        3 => 0.0,
        4 => f64::from(f32::MIN_POSITIVE) / 4.0,
        5 => f64::from(f32::MAX),
        // Where rounding decides between two multiples; the first one is 0 or 1.
        6 => near(0.5, rng),
        7 => near(1.5, rng),
        8 => near(rng.below(1 << 20) as f64 + 0.5, rng),
        // What is the last to have a multiple, and the first to have none.
        9 => near(guard + rng.below(5) as f64 - 2.0, rng),
        10 => near(guard * 0.9999, rng),
        11 => near(guard - 0.5 + rng.below(3) as f64, rng),
        // What is the last to have a code, and the first to have none.
        12 => near(radius + rng.below(3) as f64 - 1.0, rng),
        _ => near(rng.below(3) as f64, rng),
    }
}

/// The largest multiple in three dimensions.
fn guard_of(dtype: DType) -> f64 {
    (1u64 << if dtype == DType::F32 { 21 } else { 50 }) as f64
}

fn put(dtype: DType, value: f64, out: &mut Vec<u8>) {
    match dtype {
        DType::F32 => out.extend_from_slice(&(value as f32).to_le_bytes()),
        _ => out.extend_from_slice(&value.to_le_bytes()),
    }
}

/// A smooth field with rare values; `step` as the type has it.
pub(crate) fn field(
    dtype: DType,
    dims: [u64; 3],
    (step, radius): (f64, f64),
    which: Rare,
    seed: u64,
) -> Vec<u8> {
    let mut rng = Rng(seed);
    let guard = guard_of(dtype);
    let edge =
        |i: u64, n: u64| i + 1 == n || matches!(i % 8, 0 | 7) || matches!(i % 128, 3 | 4 | 63 | 64 | 124);
    let mut out = vec![];
    for (z, y, x) in
        (0..dims[2]).flat_map(|z| (0..dims[1]).flat_map(move |y| (0..dims[0]).map(move |x| (z, y, x))))
    {
        let smooth = ((x as f64 * 0.05).sin() * 40.0 + y as f64 * 0.3 - z as f64 * 1.7 + rng.unit()) * step;
        let at_edge = edge(x, dims[0]) && edge(y, dims[1]) && edge(z, dims[2]);
        let is_rare = match which {
            Rare::No => false,
            Rare::Edges => at_edge && rng.below(6) == 0,
            Rare::Many => rng.below(4) == 0,
            Rare::All => true,
        };
        let value = if is_rare { rare(dtype, step, guard, radius, &mut rng) } else { smooth };
        put(dtype, value, &mut out);
    }
    out
}

/// What the CPU makes of it, the device makes too: from and to addresses with these remainders, in one launch for
/// several stages and apart.
pub(crate) fn agrees(
    p: &Pipeline,
    array: &Array,
    src: &[u8],
    form: &Options,
    shifts: [usize; 2],
    what: &str,
) {
    let on_cpu = Options { device: Device::Cpu, checksum: false, ..form.clone() };
    let want = fzgm::compress(p, array, &on_cpu, src).unwrap();
    let restored = fzgm::decompress(&want, &on_cpu).unwrap().1;
    let padded = restored.len() != src.len();
    let stream = TestStream::new();
    for &fuse in if p.nodes().len() == 1 { &[true][..] } else { &[true, false] } {
        let form = Options { fuse, device: options().device, ..form.clone() };
        let encoder = Encoder::new(p, array, &form).unwrap();
        let mut ws = encoder.workspace().unwrap();
        let [from, to] = [src.len() + shifts[0], want.len() + 8].map(Block::new);
        let result = Block::new(24);
        let place = result.slice(0, 24).address;
        from.put(shifts[0], src);
        let (a, b) = (from.slice(shifts[0], src.len()), to.slice(0, want.len()));
        unsafe { encoder.compress_async(&mut ws, a, b, place, stream.raw()) }.unwrap();
        stream.wait();
        assert_eq!(result.result().status, 0, "{what} fuse {fuse}");
        let made = to.get();
        let at = made.iter().zip(&want).position(|(a, b)| a != b);
        assert!(at.is_none(), "{what} fuse {fuse}: another byte {at:?} of {}", want.len());
        assert!(
            made[want.len()..].iter().all(|&b| b == 0xee),
            "{what}: bytes behind the container are touched"
        );
        for decoder in [encoder.decoder().unwrap(), Decoder::open(&want, &form).unwrap()] {
            if padded {
                continue;
            }
            let back = Block::new(src.len() + shifts[1] + 16);
            let mut ws = decoder.workspace().unwrap();
            let (b, c) = (to.slice(0, to.bytes), back.slice(shifts[1], src.len()));
            unsafe { decoder.decompress_async(&mut ws, b, c, place, stream.raw()) }.unwrap();
            stream.wait();
            assert_eq!(result.result().status, 0, "{what} fuse {fuse}: back");
            let got = back.get();
            let (got, behind) = got[shifts[1]..].split_at(src.len());
            let at = got.iter().zip(&restored).position(|(a, b)| a != b);
            assert!(at.is_none(), "{what} fuse {fuse}: another byte {at:?} comes back");
            assert!(behind.iter().all(|&b| b == 0xee), "{what}: bytes behind the array are touched");
        }
    }
}

pub(crate) fn stage(name: &str, sets: &[(&str, &str)]) -> Pipeline {
    let mut p = Pipeline::new();
    match fzgm::preset(name, DType::F32) {
        Ok(preset) => p = preset,
        Err(_) => assert_eq!(p.add(name), Ok(0)),
    }
    for (key, value) in sets {
        p.args_mut(0).unwrap().set_text(key, value).unwrap();
    }
    p
}

const SHIFTS: [[usize; 2]; 4] = [[0, 0], [4, 0], [0, 4], [8, 8]];

/// Codes of every type, two's complement and zigzag, strict and not, in every shape.
#[test]
fn codes_lists_and_values_are_those_of_the_cpu() {
    need_gpu!();
    let mut rng = Rng(0x428a_2f98);
    let mut k = 0;
    let codes = [
        (DType::F32, "u8", 128.0),
        (DType::F32, "u16", 32768.0),
        (DType::F32, "u32", 2147483648.0),
        (DType::F64, "u16", 32768.0),
        (DType::F64, "u32", 2147483648.0),
    ];
    for dims in BANDED.iter().chain(&RAGGED) {
        let small = dims.iter().product::<u64>() < 12_000;
        for (dtype, code, most) in codes {
            for which in [Rare::No, Rare::Edges, Rare::Many, Rare::All] {
                // Of large fields one kind each.
                if !small && rng.below(4) != 0 {
                    continue;
                }
                let (zigzag, bound) = (*rng.pick(&["true", "false"]), *rng.pick(&["0.5", "0.3", "1e-3"]));
                let radius = *rng.pick(&["0", "100"]);
                let threshold = *rng.pick(&["inf", "1e19"]);
                let sets = [
                    ("mode", "abs"),
                    ("error_bound", bound),
                    ("code_type", code),
                    ("quant_radius", radius),
                    ("zigzag_codes", zigzag),
                    ("outlier_threshold", threshold),
                    ("outlier_capacity", "1"),
                ];
                let b: f64 = bound.parse().unwrap();
                let step = if dtype == DType::F32 { (2.0 * b as f32).into() } else { 2.0 * b };
                let reach = if radius == "0" { most } else { 100.0 };
                let src = field(dtype, *dims, (step, reach), which, rng.word());
                let form = Options {
                    strict: rng.below(2) == 0,
                    container: *rng.pick(&[Container::Fzm, Container::Compact]),
                    store_incompressible: false,
                    ..Options::default()
                };
                let what = format!("{dtype} {dims:?} {which:?} {sets:?} strict {}", form.strict);
                let (array, shift) = (Array::new(dtype, dims).unwrap(), *rng.pick(&SHIFTS));
                k += 1;
                if mine(k) {
                    agrees(&stage("lorenzo_quant", &sets), &array, &src, &form, shift, &what);
                }
            }
        }
    }
}

/// Bricks in which nothing but one thing may be wrong: what is found in a hurry is then all there is. Differences of whole
/// multiples have codes of 32 bits.
#[test]
fn bricks_of_one_kind_of_value() {
    need_gpu!();
    let mut rng = Rng(0x59f1_11f1);
    for (dtype, dims) in [(DType::F32, [128, 8, 9]), (DType::F32, [136, 9, 8]), (DType::F64, [64, 8, 9])] {
        let array = Array::new(dtype, &dims).unwrap();
        for (kind, b) in (0..8).flat_map(|k| [(k, 0.5), (k, 0.3), (k, 1e-3)]) {
            let step = if dtype == DType::F32 { (2.0 * b as f32).into() } else { 2.0 * b };
            let (guard, threshold) = (guard_of(dtype), 97.0 * step);
            let mut src = vec![];
            for i in 0..dims.iter().product::<u64>() {
                let (x, y, z) = (i % dims[0], i / dims[0] % dims[1], i / dims[0] / dims[1]);
                let value = match kind {
                    0 => beside(dtype, 0.5 * step, &mut rng),
                    1 => beside(dtype, (rng.below(100) as f64 + 0.5) * step, &mut rng),
                    // Within the guard and on it; then one by one beyond, which is a brick of its own in some planes.
                    2 => (guard - rng.below(3) as f64) * step,
                    3 => (guard + f64::from(u8::from(i % 4000 == 5))) * step,
                    4 => beside(dtype, (guard + 0.5) * step, &mut rng),
                    5 if i % 1500 == 7 => beside(dtype, threshold, &mut rng),
                    5 => 96.0 * step,
                    6 => [-0.0, 0.0, 1e-40, -1e-40][rng.below(4)],
                    // One jump along x in each tile, below the radius, of it, and beyond, in tiles beside each other.
                    _ => f64::from(u8::from(x % 8 > 2)) * (99 + (x / 8 + y / 8 + z / 8) % 3) as f64 * step,
                };
                put(dtype, value, &mut src);
            }
            for (strict, zigzag) in [(true, "true"), (true, "false"), (false, "true")] {
                let (bound, limit) = (b.to_string(), threshold.to_string());
                let sets = [
                    ("mode", "abs"),
                    ("error_bound", &bound[..]),
                    ("code_type", if kind > 5 { "u16" } else { "u32" }),
                    ("quant_radius", if kind > 5 { "100" } else { "0" }),
                    ("zigzag_codes", zigzag),
                    ("outlier_threshold", if kind == 5 { &limit } else { "inf" }),
                    ("outlier_capacity", "1"),
                ];
                let form = Options { strict, store_incompressible: false, ..Options::default() };
                let what = format!("{dtype} {dims:?} kind {kind}, strict {strict}, {sets:?}");
                agrees(&stage("lorenzo_quant", &sets), &array, &src, &form, [0, 0], &what);
            }
        }
    }
}

/// The same for tiles of preset pfpl: values around the last one that has a bin, and around the threshold.
#[test]
fn tiles_of_one_kind_of_value() {
    need_gpu!();
    let mut rng = Rng(0x923f_82a4);
    let array = Array::new(DType::F32, &[9000]).unwrap();
    for (k, b) in (0..3).flat_map(|k| [(k, 0.5), (k, 0.3), (k, 1e-3)]) {
        let step = f64::from(2.0 * b as f32);
        let middle = [100_000.0, 99_999.0, 97.0][k] * step;
        let mut src = vec![];
        (0..9000).for_each(|i| {
            put(
                DType::F32,
                if i % 7 < 5 { beside(DType::F32, middle, &mut rng) } else { 90.0 * step },
                &mut src,
            )
        });
        let (bound, limit) = (b.to_string(), if k == 2 { middle.to_string() } else { "inf".into() });
        let sets = [
            ("mode", "abs"),
            ("error_bound", &bound[..]),
            ("quant_radius", "100000"),
            ("outlier_threshold", &limit),
        ];
        let what = format!("{sets:?}");
        agrees(&stage("pfpl", &sets), &array, &src, &Options::default(), [0, 0], &what);
    }
}

/// Preset fz, whose decoder takes banded fields of f32 in one launch.
#[test]
fn preset_fz_is_that_of_the_cpu() {
    need_gpu!();
    let mut rng = Rng(0x7137_4491);
    for dims in BANDED.iter().chain(&RAGGED) {
        for (k, which) in [Rare::No, Rare::Edges, Rare::Many, Rare::All].into_iter().enumerate() {
            if dims.iter().product::<u64>() > 100_000 && k % 2 == 1 {
                continue;
            }
            let zigzag = *rng.pick(&["true", "false"]);
            let sets = [
                ("mode", "abs"),
                ("error_bound", "0.3"),
                ("zigzag_codes", zigzag),
                ("outlier_capacity", "1"),
            ];
            let src = field(DType::F32, *dims, ((2.0 * 0.3f32).into(), 32768.0), which, rng.word());
            let form = Options {
                strict: k % 2 == 0 || rng.below(2) == 0,
                generation: *rng.pick(&[Generation::G2026_05, Generation::G2026_08, Generation::G2026_08]),
                store_incompressible: false,
                ..Options::default()
            };
            let what = format!("{dims:?} {which:?} zigzag {zigzag} {form:?}");
            let array = Array::new(DType::F32, dims).unwrap();
            // Of neighbouring shapes each kind of field, from one run to the next.
            if mine(k + k / 2 + dims[0] as usize / 4 % 2) {
                agrees(&stage("fz", &sets), &array, &src, &form, SHIFTS[k], &what);
            }
        }
    }
}

/// Tiles that are all zeros, that RZE leaves as they are, and everything between, in one field.
#[test]
fn tiles_of_every_kind_of_payload() {
    need_gpu!();
    let mut rng = Rng(0xb5c0_fbcf);
    for dims in [[16, 512, 9], [64, 256, 10], [512, 16, 11]] {
        let per = (dims[0] * dims[1]) as usize;
        let src: Vec<u8> = (0..per * dims[2] as usize)
            .map(|i| match i / 8192 % 5 {
                0 | 3 => 0.0,
                // A difference is the sum of eight such, and below 2^15.
                1 => rng.below(4096) as f32,
                2 => rng.below(4) as f32,
                _ => (i % 600) as f32,
            })
            .flat_map(f32::to_le_bytes)
            .collect();
        for zigzag in ["true", "false"] {
            let p = stage("fz", &[("mode", "abs"), ("error_bound", "0.5"), ("zigzag_codes", zigzag)]);
            let array = Array::new(DType::F32, &dims).unwrap();
            for container in [Container::Fzm, Container::Compact] {
                let form = Options { container, ..Options::default() };
                agrees(&p, &array, &src, &form, [4, 0], &format!("{dims:?} {zigzag} {container:?}"));
            }
        }
    }
}

/// One layer of bricks after the other: a workspace remembers nothing of the lists of the call before.
#[test]
fn one_workspace_for_fields_with_lists_and_without() {
    need_gpu!();
    for (dtype, dims) in [(DType::F32, [16, 512, 9]), (DType::F32, [130, 17, 9]), (DType::F64, [33, 9, 10])] {
        let array = Array::new(dtype, &dims).unwrap();
        let mut fixture = crate::common::fixture::Fixture::new(&lossy("fz", dtype), &array, &options());
        for (k, which) in [Rare::Many, Rare::No, Rare::All, Rare::Edges, Rare::No].into_iter().enumerate() {
            let src = field(dtype, dims, (0.25, 32768.0), which, k as u64);
            fixture.src.put(0, &src);
            let (first, second) = fixture.both();
            assert_eq!((first.status, second.status), (Status::Ok as i32, Status::Ok as i32));
            fixture.check(&src);
        }
    }
}

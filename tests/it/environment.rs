//! Calls in any floating-point environment of the caller: the bytes, values and texts of the default one, and the environment as it
//! was, exception flags included. The C interface has tests/c/environment.c, the HDF5 filter tests/hdf5/environment.c.
#![allow(unsafe_code)]

use fzgm::metrics::{self, Bound};
use fzgm::{Array, DType, Decoder, Encoder, Options, PRESETS, Pipeline};
use proptest::prelude::*;
use std::arch::asm;

#[cfg(target_arch = "x86_64")]
mod register {
    use super::asm;

    pub(crate) const DEFAULT: u64 = 0x1f80;

    /// Every value of the low half is one of MXCSR: rounding, flush to zero, subnormal operands as zero, traps, flags.
    pub(crate) fn of(random: u64) -> u64 {
        random & 0xffff
    }

    pub(crate) fn read() -> u64 {
        let mut bits = 0u32;
        // SAFETY: four bytes are written to the variable.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut bits, options(nostack)) };
        bits.into()
    }

    pub(crate) fn write(bits: u64) {
        let bits = bits as u32;
        // SAFETY: no reserved bit is set. No float is touched before the default is back.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const bits, options(nostack)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod register {
    use super::asm;

    pub(crate) const DEFAULT: u64 = 0;

    /// FPCR in the low half: rounding and flush to zero; FPSR in the high one: flags.
    pub(crate) fn of(random: u64) -> u64 {
        random & (0x1f << 32 | 7 << 22)
    }

    pub(crate) fn read() -> u64 {
        let (control, flags): (u64, u64);
        // SAFETY: reads two registers.
        unsafe { asm!("mrs {}, fpcr", "mrs {}, fpsr", out(reg) control, out(reg) flags, options(nostack)) };
        control | flags << 32
    }

    pub(crate) fn write(bits: u64) {
        // SAFETY: no float is touched before the default is back.
        unsafe {
            asm!("msr fpcr, {}", "msr fpsr, {}", in(reg) bits & 0xffff_ffff, in(reg) bits >> 32, options(nostack));
        }
    }
}

/// The result of one call of the library in an environment, which it must restore.
#[inline(never)]
fn within<R>(environment: u64, call: impl FnOnce() -> R) -> R {
    register::write(environment);
    let done = call();
    let after = register::read();
    register::write(register::DEFAULT);
    assert_eq!(after, environment, "the environment is another one after a call");
    done
}

fn array_of(dtype: DType, content: u32, len: usize) -> (Array, Vec<u8>) {
    let value = |i: usize| {
        let smooth = (i as f64 * 0.013).sin() * 40.0 + (i * 7919 % 1000) as f64 * 1e-4;
        match (content, i % 11) {
            (1, 3) => f64::NAN,
            (1, 5) => f64::NEG_INFINITY,
            (1, 7) => 1e20,
            // Subnormal numbers of f32, which make products of bounds and ranges subnormal too.
            (1, 9) | (2, _) => smooth * 1e-42,
            _ => smooth,
        }
    };
    let bytes = match dtype {
        DType::F32 => (0..len).flat_map(|i| (value(i) as f32).to_le_bytes()).collect(),
        _ => {
            let narrow = |v: f64| if content == 2 { v * 1e-270 } else { v };
            (0..len).flat_map(|i| narrow(value(i)).to_le_bytes()).collect::<Vec<u8>>()
        }
    };
    let dims = [len as u64 / 100, 10, 10];
    (Array::new(dtype, &dims).unwrap(), bytes)
}

/// All that is made on the way, in one environment.
#[derive(PartialEq, Debug)]
struct Made {
    texts: Vec<String>,
    container: Vec<u8>,
    restored: Vec<u8>,
}

struct Case<'a> {
    preset: &'a str,
    mode: &'a str,
    bound: f64,
    array: Array,
    src: &'a [u8],
    threads: u32,
}

impl Case<'_> {
    /// `environments`: of planning, of workspaces, of compression and of restoring.
    fn run(&self, [plan, memory, there, back]: [u64; 4]) -> fzgm::Result<Made> {
        let options = Options { threads: self.threads, ..Options::default() };
        let mut pipeline = within(plan, || fzgm::preset(self.preset, self.array.dtype()))?;
        if !["bits", "exact"].contains(&self.preset) {
            let text = format!("{:?}", self.bound);
            within(plan, || pipeline.set_everywhere("mode", |args| args.set_text("mode", self.mode)))?;
            within(plan, || {
                pipeline.set_everywhere("error_bound", |args| args.set_text("error_bound", &text))
            })?;
        }
        let toml = within(plan, || pipeline.to_toml())?;
        let pipeline = within(plan, || Pipeline::from_toml(&toml))?;
        let encoder = within(plan, || Encoder::new(&pipeline, &self.array, &options))?;
        let decoder = within(plan, || encoder.decoder())?;
        let mut encoding = within(memory, || encoder.workspace())?;
        let mut decoding = within(memory, || decoder.workspace())?;
        let mut container = vec![0; encoder.max_compressed_bytes() as usize];
        let bytes = within(there, || encoder.compress(&mut encoding, self.src, &mut container))?;
        container.truncate(bytes);
        let mut restored = vec![0; self.src.len()];
        within(back, || decoder.decompress(&mut decoding, &container, &mut restored))?;
        // Calls without plans, and the description of a container.
        let alone = within(there, || fzgm::compress(&pipeline, &self.array, &options, self.src))?;
        assert_eq!(alone, container);
        let (_, again) = within(back, || fzgm::decompress(&container, &options))?;
        assert_eq!(again, restored);
        let info = within(back, || fzgm::info(&container))?;
        let found = within(back, || fzgm::pipeline_of(&container))?;
        let opened = within(back, || Decoder::open(&container, &options))?;
        assert_eq!(opened.array(), &self.array);
        let bound = match self.preset {
            "bits" | "exact" => None,
            _ => Some(within(back, || Bound::from_name(self.mode, self.bound))?),
        };
        let judged =
            within(back, || metrics::compare(self.array.dtype(), self.src, &restored, bound, f64::INFINITY))?;
        assert!(judged.kept(), "{} {}: the bound does not hold", self.preset, self.mode);
        let texts = vec![toml, within(back, || found.to_toml())?, format!("{info:?}"), format!("{judged:?}")];
        Ok(Made { texts, container, restored })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn no_environment_shows(
        environments in any::<[u64; 4]>(),
        preset in 0..PRESETS.len(),
        mode in prop::sample::select(vec!["abs", "noa", "prel", "rel"]),
        wide in any::<bool>(),
        content in 0u32..3,
        threads in 1u32..4,
        exponent in 2i32..6,
    ) {
        let dtype = if wide { DType::F64 } else { DType::F32 };
        let (array, src) = array_of(dtype, content, 20_000);
        let tiny = if wide { 1e-308 } else { 1e-37 };
        let bound = if mode == "abs" && content == 2 { tiny } else { 10f64.powi(-exponent) };
        let case = Case { preset: PRESETS[preset].name, mode, bound, array, src: &src, threads };
        let want = case.run([register::DEFAULT; 4]);
        let got = case.run(environments.map(register::of));
        match (want, got) {
            (Ok(want), Ok(got)) => prop_assert!(want == got, "other bytes, values or texts"),
            (want, got) => prop_assert_eq!(want.err().map(|e| e.to_string()), got.err().map(|e| e.to_string())),
        }
    }
}

/// Without the guard these results differ, so the property above is about something.
#[test]
fn environments_make_a_difference() {
    #[inline(never)]
    fn sum(x: f64, y: f64) -> f64 {
        std::hint::black_box(x) + std::hint::black_box(y)
    }
    let upward = if cfg!(target_arch = "x86_64") { 0x1f80 | 0x4000 } else { 1 << 22 };
    register::write(upward);
    let up = sum(1.0, 1e-30);
    register::write(register::DEFAULT);
    assert!(up > sum(1.0, 1e-30));
}

//! Containers of every preset, mode, and type against a list of their checksums, which must be equal for
//! every machine, compiler, and C library.

use crate::common::field::Field;
use crate::common::run::forms;
use crate::common::samples::{self, Content, Sample};
use fzgm::{DType, Error, Options, PRESETS, Pipeline, compress, decompress, preset};
use std::fmt::Write;
use std::path::Path;

/// Borders of tiles, special values, any bits there are, subnormal numbers, and a field.
fn arrays(dtype: DType) -> Vec<Sample> {
    let mut all = samples::few(dtype);
    all.push(samples::make(dtype, &[5000], Content::Random, 4));
    all.push(samples::make(dtype, &[61, 67], Content::Fills, 5));
    if dtype.is_float() {
        let scale = if dtype == DType::F32 { 1e-41 } else { 1e-311 };
        all.push(samples::scaled(dtype, &[40, 50], scale, 6));
        all.push(samples::scaled(dtype, &[20, 30, 15], 1e3, 7));
    }
    if dtype == DType::F32 {
        let Field { name, array, bytes, .. } = Field::shipped().corner(300, 100);
        all.push(Sample { name, array, bytes });
    }
    all
}

fn pipeline(name: &str, dtype: DType, mode: &str, bound: f64) -> fzgm::Result<Pipeline> {
    let mut p = preset(name, dtype)?;
    if !mode.is_empty() {
        p.set_everywhere("mode", |args| args.set_text("mode", mode))?;
        p.set_everywhere("error_bound", |args| args.set_real("error_bound", bound))?;
    }
    Ok(p)
}

/// The arithmetic of the reference, without strict, restores a NaN where a range is infinite. IEEE 754 leaves the bits of such a NaN to
/// the processor: x86-64 sets the sign, AArch64 does not. Here all are the same.
fn one_nan(values: &mut [u8], dtype: DType) {
    let width = dtype.bytes() as usize;
    for word in values.chunks_exact_mut(width) {
        let nan = match width {
            4 => f32::from_le_bytes((&*word).try_into().unwrap()).is_nan(),
            _ => f64::from_le_bytes((&*word).try_into().unwrap()).is_nan(),
        };
        if nan {
            word.fill(0xff);
        }
    }
}

/// The totals of the containers of an array.
#[derive(Default)]
struct Sum {
    containers: usize,
    bytes: usize,
    written: crc32fast::Hasher,
    restored: crc32fast::Hasher,
}

impl Sum {
    /// In every form that can hold it, from three threads.
    fn add(&mut self, pipeline: &Pipeline, sample: &Sample) -> fzgm::Result<()> {
        for form in forms() {
            let options = Options { threads: 3, ..form.clone() };
            let container = match compress(pipeline, &sample.array, &options, &sample.bytes) {
                Err(Error::Unsupported { .. }) => continue,
                // The form of the reference has no arrays of one dimension.
                Err(Error::InvalidArgument { what, .. }) if what == "ginterp.dim_y" && !form.strict => {
                    continue;
                }
                done => done?,
            };
            let (_, mut restored) = decompress(&container, &options)?;
            if !options.strict && sample.array.dtype().is_float() {
                one_nan(&mut restored, sample.array.dtype());
            }
            self.containers += 1;
            self.bytes += container.len();
            self.written.update(&container);
            self.restored.update(&restored);
        }
        Ok(())
    }

    /// None where no such array is for the preset.
    fn of(name: &str, mode: &str, sample: &Sample) -> Option<Sum> {
        let mut sum = Sum::default();
        let bounds = if mode.is_empty() { &[0.0][..] } else { &[1e-2, 1e-5] };
        for bound in bounds {
            pipeline(name, sample.array.dtype(), mode, *bound)
                .and_then(|p| sum.add(&p, sample))
                .unwrap_or_else(|e| panic!("{name} {mode} {}: {e}", sample.name));
        }
        (sum.containers > 0).then_some(sum)
    }
}

#[test]
fn containers_are_the_same_everywhere() {
    let (mut list, mut containers) = (String::new(), 0);
    for p in PRESETS {
        let modes = if p.lossless { &[""][..] } else { &["abs", "noa", "prel", "rel"] };
        let types = DType::ALL.into_iter().filter(|d| p.lossless || d.is_float());
        let samples: Vec<Sample> = types.flat_map(arrays).collect();
        for (mode, sample) in modes.iter().flat_map(|m| samples.iter().map(move |s| (m, s))) {
            let Some(sum) = Sum::of(p.name, mode, sample) else { continue };
            containers += sum.containers;
            let (array, written) = (crc32fast::hash(&sample.bytes), sum.written.finalize());
            let (bytes, restored) = (sum.bytes, sum.restored.finalize());
            let (name, mode) = (p.name, if mode.is_empty() { "-" } else { mode });
            writeln!(
                list,
                "{name} {mode}, {}: {array:08x}, {bytes} {written:08x}, {restored:08x}",
                sample.name
            )
            .unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/containers.txt");
    if std::env::var_os("FZGM_BLESS").is_some() {
        std::fs::write(&path, &list).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    let other: Vec<_> = list.lines().zip(recorded.lines()).filter(|(new, old)| new != old).collect();
    // Array, length and checksum of its containers, checksum of the restored arrays.
    assert!(other.is_empty(), "{} lines are others, now and in the list: {other:#?}", other.len());
    assert_eq!(list.lines().count(), recorded.lines().count());
    println!(
        "{containers} containers of {} arrays are as tests/containers.txt has them",
        list.lines().count()
    );
}

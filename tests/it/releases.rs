//! Containers of all releases, which every later version must restore bit for bit: the promise of docs/files.md.
//!
//! `tests/golden/releases/<version>/containers.bin` consists of containers, one after the other. `index.tsv` has a line for each of
//! them: its name, its bytes, the element type, the dimensions, and the CRC-32 of the restored array. `FZGM_UPDATE_RELEASE=1` writes both
//! files for the version of the package. Do this once, for the release candidate.

mod files;

use crate::common::fixture::lossy;
use crate::common::run::{both_containers, options};
use crate::common::samples::{self, Content, Sample};
use crate::contract::{one_at_a_time, pipeline};
use fzgm::stages::STAGES;
use fzgm::{Array, Container, DType, Generation, Options, PRESETS, Pipeline, compress, decompress};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/releases")
}

/// The folders of all releases.
fn folders() -> Vec<PathBuf> {
    let folders: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!folders.is_empty());
    folders
}

/// The fields of a line of an index.
fn fields<'l, const N: usize>(folder: &Path, line: &'l str) -> [&'l str; N] {
    let fields: Vec<_> = line.split('\t').collect();
    fields.try_into().unwrap_or_else(|_| panic!("{}: a line has other fields: {line}", folder.display()))
}

/// A container of this version, and its name in the index.
struct Case {
    name: String,
    container: Vec<u8>,
    restored: Vec<u8>,
    sample: Sample,
}

impl Case {
    /// True if an element was restored as a NaN with other bits than in the array.
    fn has_new_nan(&self) -> bool {
        let width = self.sample.array.dtype().bytes() as usize;
        let is_nan = |word: &[u8]| match self.sample.array.dtype() {
            DType::F32 => word.try_into().is_ok_and(|b| f32::from_le_bytes(b).is_nan()),
            DType::F64 => word.try_into().is_ok_and(|b| f64::from_le_bytes(b).is_nan()),
            _ => false,
        };
        self.restored
            .chunks_exact(width)
            .zip(self.sample.bytes.chunks_exact(width))
            .any(|(x, y)| is_nan(x) && x != y)
    }
}

/// The case of a pipeline; `None` if it does not accept the array or the options.
fn case(name: &str, pipeline: &Pipeline, sample: &Sample, o: &Options) -> Option<Case> {
    let container = compress(pipeline, &sample.array, o, &sample.bytes).ok()?;
    let restored = decompress(&container, &Options::default()).unwrap().1;
    let form = match o.container {
        Container::Fzm => format!("FZM {:?}{}", o.generation, if o.strict { "" } else { " not strict" }),
        Container::Compact => "compact".into(),
    };
    let name = format!("{name}, {}, {form}", sample.name);
    Some(Case { name, container, restored, sample: sample.clone() })
}

/// Each stage alone: defaults for every type, and each value of each parameter for the first type that accepts it.
fn of_stages(all: &mut Vec<Case>) {
    for stage in STAGES {
        let name = stage.spec().name;
        for set in one_at_a_time(stage.spec().params) {
            let what = set.iter().map(|(n, v)| format!(" {n}={v}")).collect::<String>();
            let p = pipeline(name, &set);
            for container in both_containers() {
                let o = options(container, true);
                let of_types = DType::ALL.into_iter().filter_map(|dtype| {
                    let of = |content| {
                        let sample = samples::make(dtype, &[9, 8, 7], content, 1);
                        case(&format!("stage {name}{what}"), &p, &sample, &o)
                    };
                    // The bits of a NaN that arithmetic results in depend on the processor.
                    of(Content::Specials).filter(|c| !c.has_new_nan()).or_else(|| of(Content::Walk))
                });
                all.extend(of_types.take(if set.is_empty() { DType::ALL.len() } else { 1 }));
                if !set.is_empty() && container == Container::Compact {
                    break;
                }
            }
        }
    }
}

/// Presets in every mode and form, arrays of every rank, without elements, and of several chunks.
fn of_presets(all: &mut Vec<Case>) {
    let shapes: [&[u64]; 5] = [&[0], &[1], &[77], &[13, 21], &[3, 4, 5, 6]];
    for p in PRESETS {
        let types = DType::ALL.into_iter().filter(|d| p.lossless || d.is_float());
        for dtype in types {
            let modes = if p.lossless { &[""][..] } else { &["abs", "noa", "prel", "rel"] };
            for mode in modes {
                let mut pipeline = lossy(p.name, dtype);
                let set = pipeline.set_everywhere("mode", |args| args.set_text("mode", mode));
                if !mode.is_empty() && set.is_err() {
                    continue;
                }
                let name = format!("preset {} {mode}", p.name);
                let field = samples::make(dtype, &[11, 10, 12], Content::Walk, 2);
                for container in both_containers() {
                    let o = options(container, true);
                    all.extend(case(&name, &pipeline, &field, &o));
                    let old = Options { generation: Generation::G2026_05, ..o.clone() };
                    all.extend(case(&name, &pipeline, &field, &old).filter(|_| container == Container::Fzm));
                    let loose = Options { strict: false, ..o };
                    all.extend(
                        case(&name, &pipeline, &field, &loose).filter(|_| container == Container::Fzm),
                    );
                }
                let compact = options(Container::Compact, true);
                for content in [Content::Specials, Content::Fills, Content::Constant] {
                    all.extend(case(&name, &pipeline, &samples::make(dtype, &[500], content, 3), &compact));
                }
                if *mode == modes[0] {
                    let small = shapes.iter().map(|dims| samples::make(dtype, dims, Content::Ramp, 4));
                    all.extend(small.filter_map(|sample| case(&name, &pipeline, &sample, &compact)));
                }
                if *mode == modes[0] && matches!(dtype, DType::F32 | DType::U16) {
                    let chunks = samples::make(dtype, &[20, 30, 40], Content::Walk, 5);
                    all.extend(case(&name, &pipeline, &chunks, &compact));
                }
            }
        }
    }
    for dtype in DType::ALL {
        let random = samples::make(dtype, &[40], Content::Random, 6);
        for container in both_containers() {
            let o = Options { container, ..Options::default() };
            all.extend(case("stored", &lossy("bits", dtype), &random, &o));
        }
    }
}

fn shape(array: &Array) -> String {
    array.dims().iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

/// A version bump without files of that version fails here, and so does a stage, a preset, or a form that the files do not contain.
#[test]
fn this_version_has_its_containers() {
    let mut cases = vec![];
    of_stages(&mut cases);
    of_presets(&mut cases);
    let folder = folder().join(env!("CARGO_PKG_VERSION"));
    if std::env::var_os("FZGM_UPDATE_RELEASE").is_some() {
        let (mut index, mut bytes) = (String::new(), vec![]);
        for c in &cases {
            let crc = crc32fast::hash(&c.restored);
            let dtype = c.sample.array.dtype();
            writeln!(
                index,
                "{}\t{}\t{dtype}\t{}\t{crc:08x}",
                c.name,
                c.container.len(),
                shape(&c.sample.array)
            )
            .unwrap();
            bytes.extend_from_slice(&c.container);
        }
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("index.tsv"), index).unwrap();
        std::fs::write(folder.join("containers.bin"), bytes).unwrap();
    }
    let index = std::fs::read_to_string(folder.join("index.tsv")).unwrap_or_else(|e| {
        panic!("{}: {e}; set FZGM_UPDATE_RELEASE=1 to write the containers of this version", folder.display())
    });
    let recorded: BTreeSet<&str> = index.lines().filter_map(|line| line.split('\t').next()).collect();
    let names: BTreeSet<&str> = cases.iter().map(|c| &*c.name).collect();
    assert_eq!(names.len(), cases.len(), "two containers have one name");
    let missing: Vec<_> = names.difference(&recorded).collect();
    assert!(
        missing.is_empty(),
        "{} containers are missing in {}: {missing:?}",
        missing.len(),
        folder.display()
    );
}

#[test]
fn containers_of_all_releases_are_restored() {
    for folder in folders() {
        let index = std::fs::read_to_string(folder.join("index.tsv")).unwrap();
        let bytes = std::fs::read(folder.join("containers.bin")).unwrap();
        let mut rest = &bytes[..];
        for line in index.lines() {
            let [name, length, dtype, dims, crc] = fields(&folder, line);
            let (container, behind) = rest.split_at(length.parse().unwrap());
            rest = behind;
            let (array, restored) =
                decompress(container, &Options::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!((array.dtype().name(), &*shape(&array)), (dtype, dims), "{name}");
            assert_eq!(format!("{:08x}", crc32fast::hash(&restored)), crc, "{name}: another array");
        }
        assert!(rest.is_empty(), "{}: bytes behind the last container", folder.display());
    }
}

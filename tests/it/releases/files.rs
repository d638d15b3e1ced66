//! Files of several containers: slab files and a series of every release, in `slabs.bin` and `series.bin`, beside an index for each. A line
//! of `slabs.tsv` has the fields of `index.tsv`, and one of `series.tsv` the same without the bytes.

use super::{fields, folder, folders, shape};
use crate::common::fixture::lossy;
use crate::common::run::both_containers;
use crate::common::samples::{self, Content, Sample};
use crate::series::{Given, read, written};
use fzgm::series::Series;
use fzgm::slabs::{Header, Reader, Writer};
use fzgm::{Array, DType, Options, decompress};
use std::fmt::Write as _;
use std::path::Path;

/// A slab file, its name in the index, and its array.
struct SlabFile {
    name: String,
    bytes: Vec<u8>,
    sample: Sample,
}

/// Slab files of every type, number of dimensions, and kind of container; the last slab is shorter, alone, or as long as the others.
fn slab_files() -> Vec<SlabFile> {
    let mut all = vec![];
    for dtype in DType::ALL {
        for (dims, rows) in [(&[50][..], 20), (&[7, 30], 40), (&[6, 5, 8], 4)] {
            for container in both_containers() {
                let sample = samples::make(dtype, dims, Content::Walk, 7);
                let row = sample.bytes.len() as u64 / dims[dims.len() - 1];
                let header = Header::new(dtype, Some(dims), rows * row);
                let o = Options { container, ..Options::default() };
                let name = format!("slabs of {rows} rows, {}, {container:?}", sample.name);
                let mut writer =
                    Writer::new(vec![], "slabs", header, &lossy("bits", dtype), &o).expect("a writer");
                let slabs = sample.bytes.chunks((rows * row) as usize);
                slabs.for_each(|slab| writer.write_slab(slab).expect("a slab"));
                all.push(SlabFile { name, bytes: writer.finish().expect("a file").1, sample });
            }
        }
    }
    all
}

/// Steps of every type and shape.
fn steps() -> Vec<Given> {
    let of_types = DType::ALL.into_iter().map(|dtype| Given::new(dtype.name(), dtype, &[6, 5, 4], 3));
    crate::series::some().into_iter().chain(of_types).collect()
}

/// Writes the files and their indexes for the version of the package.
fn update(folder: &Path) {
    let (mut index, mut bytes) = (String::new(), vec![]);
    for file in slab_files() {
        let (array, crc) = (&file.sample.array, crc32fast::hash(&file.sample.bytes));
        let line = (&file.name, file.bytes.len(), array.dtype(), shape(array));
        writeln!(index, "{}\t{}\t{}\t{}\t{crc:08x}", line.0, line.1, line.2, line.3).unwrap();
        bytes.extend(file.bytes);
    }
    std::fs::write(folder.join("slabs.tsv"), index).unwrap();
    std::fs::write(folder.join("slabs.bin"), bytes).unwrap();
    let mut index = String::new();
    for step in steps() {
        let crc = crc32fast::hash(&step.values);
        writeln!(index, "{}\t{}\t{}\t{crc:08x}", step.name, step.array.dtype(), shape(&step.array)).unwrap();
    }
    std::fs::write(folder.join("series.tsv"), index).unwrap();
    std::fs::write(folder.join("series.bin"), written(&steps())).unwrap();
}

/// A version bump without slab files and series of that version fails here.
#[test]
fn this_version_has_its_files() {
    let folder = folder().join(env!("CARGO_PKG_VERSION"));
    if std::env::var_os("FZGM_UPDATE_RELEASE").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        update(&folder);
    }
    let names = |file: &str| -> Vec<String> {
        let index = std::fs::read_to_string(folder.join(file)).unwrap_or_else(|e| {
            panic!(
                "{}/{file}: {e}; set FZGM_UPDATE_RELEASE=1 to write the files of this version",
                folder.display()
            )
        });
        index.lines().map(|line| line.split('\t').next().unwrap_or("").to_owned()).collect()
    };
    assert_eq!(names("slabs.tsv"), slab_files().into_iter().map(|file| file.name).collect::<Vec<_>>());
    assert_eq!(names("series.tsv"), steps().into_iter().map(|step| step.name).collect::<Vec<_>>());
}

/// The array of a slab file, and its values.
fn restored(file: &[u8], name: &str) -> (Array, Vec<u8>) {
    let mut reader = Reader::new(file, name).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut values = vec![];
    while let Some(container) = reader.next_container().unwrap_or_else(|e| panic!("{name}: {e}")) {
        values.extend(decompress(container, &Options::default()).unwrap_or_else(|e| panic!("{name}: {e}")).1);
    }
    (reader.header().array(reader.totals().rows).unwrap(), values)
}

#[test]
fn slab_files_of_all_releases_are_restored() {
    for folder in folders() {
        let bytes = std::fs::read(folder.join("slabs.bin")).unwrap();
        let mut rest = &bytes[..];
        for line in std::fs::read_to_string(folder.join("slabs.tsv")).unwrap().lines() {
            let [name, length, dtype, dims, crc] = fields(&folder, line);
            let (file, behind) = rest.split_at(length.parse().unwrap());
            rest = behind;
            let (array, values) = restored(file, name);
            assert_eq!((array.dtype().name(), &*shape(&array)), (dtype, dims), "{name}");
            assert_eq!(format!("{:08x}", crc32fast::hash(&values)), crc, "{name}: another array");
        }
        assert!(rest.is_empty(), "{}: bytes behind the last slab file", folder.display());
    }
}

#[test]
fn series_of_all_releases_are_restored() {
    for folder in folders() {
        let bytes = std::fs::read(folder.join("series.bin")).unwrap();
        let series = Series::new(&bytes[..], "series").unwrap();
        let index = std::fs::read_to_string(folder.join("series.tsv")).unwrap();
        assert!(series.is_indexed() && series.lost_bytes() == 0);
        assert_eq!(series.steps().len(), index.lines().count());
        for (at, line) in index.lines().enumerate() {
            let [name, dtype, dims, crc] = fields(&folder, line);
            let step = series.step(at as u64).unwrap();
            assert_eq!((step.name(), step.array().dtype().name()), (name, dtype));
            assert_eq!(shape(step.array()), dims, "{name}");
            let values = read(&series, at).unwrap();
            assert_eq!(format!("{:08x}", crc32fast::hash(&values)), crc, "{name}: other values");
        }
    }
}

//! Slab files: one array in slabs along its slowest dimension, each in a separate container, so that reader
//! and writer hold only one slab in memory. `docs/files.md` defines the bytes.
//!
//! A slab is a number of *rows*. A row is the part at one index of the slowest dimension, such as a plane.
//!
//! ```
//! use fzgm::slabs::{Header, Reader, Writer};
//! use fzgm::{DType, Options, decompress, preset};
//!
//! // A plane of 1000 x 300 floats in slabs of 128 rows; the last one has 44.
//! let plane: Vec<u8> = (0..300_000).flat_map(|i| (i as f32 * 1e-4).sin().to_le_bytes()).collect();
//! let header = Header::new(DType::F32, Some(&[1000, 300]), 512_000);
//! let (mut file, options) = (vec![], Options::default());
//! let mut writer = Writer::new(&mut file, "plane.fzs", header, &preset("bits", DType::F32)?, &options)?;
//! for slab in plane.chunks(512_000) {
//!     writer.write_slab(slab)?;
//! }
//! assert_eq!(writer.finish()?.0.slabs, 3);
//!
//! let (mut reader, mut restored) = (Reader::new(&file[..], "plane.fzs")?, vec![]);
//! while let Some(container) = reader.next_container()? {
//!     restored.extend(decompress(container, &options)?.1);
//! }
//! assert!(restored == plane && reader.header().rows() == 128);
//! # Ok::<(), fzgm::Error>(())
//! ```

mod file;
mod reader;
mod writer;

pub use crate::format::SLAB_FILE_MAGIC as MAGIC;
pub use file::SlabFile;
pub use reader::Reader;
pub use writer::Writer;

use super::FileOp;
use super::sealed::{is_sealed, seal, word};
use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use std::io::{self, ErrorKind};
use std::path::Path;

const VERSION: u16 = 1;
const HEADER: usize = 48;
const TRAILER: usize = 32;

/// The beginning of a slab file: the array and how it is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    dtype: DType,
    /// All dimensions but the slowest, fastest first.
    row: Vec<u64>,
    /// The slowest dimension; `None`: the file comes from a stream, and the trailer contains it.
    slowest: Option<u64>,
    rows: u64,
}

/// Totals of a slab file, as far as it is written or read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of slabs.
    pub slabs: u64,
    /// Length of the slowest dimension.
    pub rows: u64,
    /// Bytes of the array.
    pub array_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

impl Header {
    /// The header of an array of one to three dimensions, fastest first, in slabs of `slab_bytes` at most, but of at least one row.
    /// `None`: one dimension of a length that is not known yet.
    pub fn new(dtype: DType, dims: Option<&[u64]>, slab_bytes: u64) -> Header {
        let (row, slowest) = match dims.and_then(<[u64]>::split_last) {
            Some((slowest, row)) => (row.to_vec(), Some(*slowest)),
            None => (vec![], None),
        };
        let mut header = Header { dtype, row, slowest, rows: 1 };
        header.rows = (slab_bytes / header.row_bytes().max(1)).max(1);
        header
    }

    /// Element type of the array.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Length of the slowest dimension; `None`: the header does not state it, and the trailer does.
    pub fn slowest(&self) -> Option<u64> {
        self.slowest
    }

    /// Rows of a slab; the last slab may have fewer.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of a row; `u64::MAX` where they are more.
    pub fn row_bytes(&self) -> u64 {
        self.row.iter().fold(self.dtype.bytes(), |bytes, d| bytes.saturating_mul(*d))
    }

    /// An array of `rows` rows: a slab, or the whole array.
    ///
    /// # Errors
    /// As [`Array::new`].
    pub fn array(&self, rows: u64) -> Result<Array> {
        Array::new(self.dtype, &self.dims(rows))
    }

    fn dims(&self, rows: u64) -> Vec<u64> {
        self.row.iter().copied().chain([rows]).collect()
    }

    /// Rejects an array that cannot be the slab of this index, with `rows` rows before it.
    fn admit(&self, index: u64, rows: u64, slab: &Array) -> Result<()> {
        let own = slab.dims().last().copied().unwrap_or(0);
        let alike = slab.dtype() == self.dtype && slab.dims() == self.dims(own);
        // Only the last slab may have fewer rows, so that no slab follows on one that has.
        if alike && (1..=self.rows).contains(&own) && rows == index.saturating_mul(self.rows) {
            return Ok(());
        }
        Err(foreign(index, slab))
    }

    fn to_bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6] = self.dtype as u8;
        bytes[7] = self.row.len() as u8 + 1;
        let dims = self.dims(self.slowest.unwrap_or(0));
        for (place, d) in bytes[8..32].chunks_mut(8).zip(&dims) {
            place.copy_from_slice(&d.to_le_bytes());
        }
        bytes[32..40].copy_from_slice(&self.rows.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    fn from_bytes(bytes: &[u8; HEADER]) -> Result<Header> {
        if bytes[..4] != MAGIC {
            return Err(damaged("does not begin with the header of a slab file"));
        }
        if !is_sealed(bytes) {
            return Err(damaged("has a header whose checksum does not match"));
        }
        let version = u16::from_le_bytes([bytes[4], bytes[5]]);
        if version != VERSION {
            return Err(damaged(format!(
                "is a slab file of version {version}, which this program does not support"
            )));
        }
        let dtype = DType::from_number(bytes[6].into()).map_err(|e| damaged(e.to_string()))?;
        let ndim = usize::from(bytes[7]);
        let rows = word(bytes, 32);
        if !(1..=3).contains(&ndim) || rows == 0 {
            return Err(damaged(format!("has {ndim} dimensions and slabs of {rows} rows")));
        }
        if bytes[8 + 8 * ndim..32].iter().chain(&bytes[40..44]).any(|&b| b != 0) {
            return Err(damaged("has a header whose reserved bytes are not 0"));
        }
        let mut row: Vec<u64> = (0..ndim).map(|i| word(bytes, 8 + 8 * i)).collect();
        let slowest = row.pop().filter(|d| *d != 0);
        Ok(Header { dtype, row, slowest, rows })
    }

    /// Slabs and rows that the end of a slab file with this header states.
    fn ends(&self, trailer: &[u8; TRAILER]) -> Result<(u64, u64)> {
        if !is_sealed(trailer) {
            let what =
                "has a trailer whose checksum does not match: the end of the file is damaged or missing";
            return Err(damaged(what));
        }
        let (slabs, slowest) = (word(trailer, 8), word(trailer, 16));
        if self.slowest.is_some_and(|all| all != slowest) {
            return Err(damaged(format!(
                "ends at row {slowest}, but its header states another number of rows"
            )));
        }
        let rows = self.rows;
        if slabs != slowest.div_ceil(rows) || trailer[..8] != [0; 8] || trailer[24..28] != [0; 4] {
            return Err(damaged(format!(
                "has {slabs} slabs of {rows} rows, but its trailer states {slowest} rows"
            )));
        }
        Ok((slabs, slowest))
    }
}

/// The end of a slab file: a length of 0 in place of that of a slab, and the sums, which may not be known before.
fn trailer(totals: &Totals) -> [u8; TRAILER] {
    let mut bytes = [0; TRAILER];
    bytes[8..16].copy_from_slice(&totals.slabs.to_le_bytes());
    bytes[16..24].copy_from_slice(&totals.rows.to_le_bytes());
    seal(&mut bytes);
    bytes
}

/// The part of a region, as its origin and its extent, in a slab of the rows `begin` to `end`, relative to the slab. `None` if they do not
/// overlap.
pub(super) fn within_slab(
    (origin, extent): (&[u64], &[u64]),
    begin: u64,
    end: u64,
) -> Option<(Vec<u64>, Vec<u64>)> {
    let last = origin.len() - 1;
    let touched = origin[last].max(begin)..(origin[last] + extent[last]).min(end);
    if touched.is_empty() {
        return None;
    }
    let (mut origin, mut extent) = (origin.to_vec(), extent.to_vec());
    (origin[last], extent[last]) = (touched.start - begin, touched.end - touched.start);
    Some((origin, extent))
}

/// The refusal of a slab of another array.
fn foreign(index: u64, slab: &Array) -> Error {
    let (dtype, dims) = (slab.dtype(), slab.dims());
    damaged(format!("slab {index} is {dtype} of {dims:?}, which is not a part of this array"))
}

fn damaged(what: impl Into<String>) -> Error {
    Error::corrupt("slab file", what)
}

/// The result of reading a slab file. An end before the trailer's end is damage; any other failure is an
/// error of the file.
fn read<T>(name: &Path, done: io::Result<T>) -> Result<T> {
    match done {
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Err(damaged("the slab file ends early")),
        done => FileOp { path: name, doing: "read" }.io(done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Options, decompress};
    use crate::ir::stage::Generation;
    use crate::pipeline::Pipeline;
    use crate::pipeline::presets::preset;

    /// A volume of 40 x 30 x 25 floats, and its header for slabs of 7 planes, the last one of 4.
    fn volume() -> (Header, Vec<u8>) {
        let values = (0..40 * 30 * 25).flat_map(|i| (i as f32 * 1e-3).cos().to_le_bytes()).collect();
        (Header::new(DType::F32, Some(&[40, 30, 25]), 40 * 30 * 4 * 7 + 99), values)
    }

    fn fast() -> Pipeline {
        preset("fast", DType::F32).expect("a preset")
    }

    fn written(header: &Header, values: &[u8], options: &Options) -> Result<Vec<u8>> {
        let mut file = vec![];
        let mut writer = Writer::new(&mut file, "volume", header.clone(), &fast(), options)?;
        let bytes = (header.rows() * header.row_bytes()) as usize;
        values.chunks(bytes).try_for_each(|slab| writer.write_slab(slab))?;
        let (totals, _) = writer.finish()?;
        assert_eq!((totals.rows, totals.array_bytes), (25, values.len() as u64));
        assert_eq!((totals.slabs, totals.file_bytes), (4, file.len() as u64));
        Ok(file)
    }

    #[test]
    fn written_files_are_read() {
        let (header, values) = volume();
        let file = written(&header, &values, &Options::default()).expect("a file");
        let mut reader = Reader::new(&file[..], "volume").expect("a file");
        let mut restored = vec![];
        while let Some(container) = reader.next_container().expect("a slab") {
            restored.extend(decompress(container, &Options::default()).expect("a slab").1);
        }
        assert_eq!((reader.header(), reader.totals().file_bytes), (&header, file.len() as u64));
        assert_eq!(restored.len(), values.len());
        for bytes in 0..file.len() {
            let cut = Reader::new(&file[..bytes], "volume").and_then(|mut reader| {
                while reader.next_container()?.is_some() {}
                Ok(())
            });
            assert!(matches!(cut, Err(Error::Corrupt { place: "slab file", .. })), "{bytes} bytes: {cut:?}");
        }
    }

    /// From many threads at once: the file has one place, which none of them moves.
    #[test]
    fn regions_are_parts_of_the_slabs() {
        let (header, values) = volume();
        let file = written(&header, &values, &Options::default()).expect("a file");
        let folder = std::env::temp_dir().join(format!("fzgm-slabs-{}", std::process::id()));
        std::fs::write(&folder, &file).expect("written");
        let slabs = SlabFile::open(&folder).expect("a file");
        std::fs::remove_file(&folder).expect("removed");
        assert_eq!((slabs.array().dims(), slabs.bytes()), (&[40, 30, 25][..], file.len() as u64));
        let mut whole = vec![0; values.len()];
        assert_eq!(slabs.decompress_region(&[0; 3], &[40, 30, 25], &mut whole), Ok(values.len()));
        let plane = values.len() / 25;
        std::thread::scope(|scope| {
            for z in 0..25 {
                let (slabs, whole) = (&slabs, &whole);
                scope.spawn(move || {
                    let mut part = vec![0; plane];
                    assert_eq!(slabs.decompress_region(&[0, 0, z], &[40, 30, 1], &mut part), Ok(plane));
                    assert!(part == whole[z as usize * plane..][..plane], "plane {z}");
                });
            }
        });
        assert_eq!(slabs.decompress_region(&[0, 0, 25], &[40, 30, 0], &mut []), Ok(0));
        for (origin, extent) in [([0, 0, 25], [1, 1, 1]), ([u64::MAX, 0, 0], [1, 1, 1])] {
            let refused = slabs.decompress_region(&origin, &extent, &mut [0; 4]);
            assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{refused:?}");
        }
        let short = slabs.decompress_region(&[0; 3], &[40, 30, 1], &mut [0; 9]);
        assert_eq!(short, Err(Error::DstTooSmall { need: plane as u64, have: 9 }));
    }

    #[test]
    fn a_writer_takes_the_slabs_of_its_array_in_order() {
        let (header, values) = volume();
        let (options, slab, row) = (Options::default(), 40 * 30 * 4 * 7, 40 * 30 * 4);
        let write = |slabs: &[usize]| {
            let mut file = vec![];
            let mut writer = Writer::new(&mut file, "volume", header.clone(), &fast(), &options)?;
            slabs.iter().try_for_each(|bytes| writer.write_slab(&values[..*bytes]))?;
            writer.finish().map(|(totals, _)| totals)
        };
        assert!(write(&[slab, slab, slab, 4 * row]).is_ok());
        for slabs in [
            &[][..],
            &[0],
            &[row - 4],
            &[slab + row],
            // Nothing comes after a shorter slab, and no more rows than there are.
            &[row, slab, slab, slab, 3 * row],
            &[slab, slab, slab, 5 * row],
            &[slab, slab, slab],
        ] {
            assert!(matches!(write(slabs), Err(Error::PlanMismatch(_))), "{slabs:?}");
        }
        let refused = |dims: &[u64], options: &Options| {
            let header = Header::new(DType::F32, Some(dims), 1000);
            let mut file = vec![];
            let mut writer = Writer::new(&mut file, "volume", header, &fast(), options)?;
            writer.write_slab(&values[..40])
        };
        assert!(matches!(refused(&[0, 5], &options), Err(Error::InvalidArgument { .. })));
        let literal = Options { strict: false, generation: Generation::G2026_05, ..options.clone() };
        let said = refused(&[10, 1], &literal).expect_err("no shape").to_string();
        assert!(said.contains("shape") && said.contains("2026-08"), "{said}");
        let full = Writer::new(&mut [0; 9][..], "disk", header.clone(), &fast(), &options).map(drop);
        assert!(matches!(full, Err(Error::File { doing: "write", .. })), "{full:?}");
        for dims in [&[1, 1, 1, 1][..], &[1 << 40, 1 << 40, 0]] {
            assert!(matches!(refused(dims, &options), Err(Error::InvalidArgument { .. })), "{dims:?}");
        }
    }

    /// A disk that is full for one write, or when its buffer is flushed.
    struct Disk {
        room: usize,
        flushes: bool,
    }

    impl std::io::Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            match self.room.checked_sub(bytes.len()) {
                Some(left) => self.room = left,
                None => {
                    self.room = usize::MAX;
                    return Err(ErrorKind::StorageFull.into());
                }
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            if self.flushes { Ok(()) } else { Err(ErrorKind::StorageFull.into()) }
        }
    }

    #[test]
    fn a_failed_write_is_never_a_complete_file() {
        let (header, values) = volume();
        let (options, slab) = (Options::default(), 40 * 30 * 4 * 7);
        let disk = |room, flushes| {
            let disk = Disk { room, flushes };
            Writer::new(disk, "disk", header.clone(), &fast(), &options).expect("room for the header")
        };
        let mut writer = disk(1000, true);
        for _ in 0..3 {
            let full = writer.write_slab(&values[..slab]);
            assert!(matches!(full, Err(Error::File { .. })), "{full:?}");
        }
        let mut writer = disk(usize::MAX, false);
        values.chunks(slab).for_each(|slab| writer.write_slab(slab).expect("room"));
        assert!(matches!(writer.finish().map(drop), Err(Error::File { .. })));
    }
}

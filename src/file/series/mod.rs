//! Series: steps in one file, each an array in one or more containers, with an index at the end. `docs/series.md` defines the bytes.
//!
//! A step is an array with its own element type and shape, and optionally a name. Large steps are cut into slabs along their slowest
//! dimension, each in a separate container, so that writer and reader hold only one slab in memory.
//!
//! ```
//! use fzgm::series::{Series, SeriesWriter};
//! use fzgm::{Array, DType, Encoder, Options, preset};
//!
//! # let folder = tempfile::tempdir().expect("a folder");
//! # let path = folder.path().join("run.fzs");
//! let array = Array::new(DType::F32, &[100, 80])?;
//! let encoder = Encoder::new(&preset("bits", DType::F32)?, &array, &Options::default())?;
//! let mut workspace = encoder.workspace()?;
//! let field: Vec<u8> = (0..8000).flat_map(|i| (i as f32 * 1e-3).sin().to_le_bytes()).collect();
//!
//! let mut writer = SeriesWriter::open(&path)?;
//! writer.append("start", &encoder, &mut workspace, &field)?;
//! writer.append("", &encoder, &mut workspace, &field)?;
//!
//! let series = Series::open(&path)?;
//! let mut restored = vec![0; series.step(1)?.array().bytes() as usize];
//! series.read(1, &Options::default(), &mut restored)?;
//! assert!(restored == field && series.find("start")? == 0 && series.steps().len() == 2);
//! # Ok::<(), fzgm::Error>(())
//! ```

mod contents;
#[cfg(all(unix, feature = "files"))]
mod lock;
mod reader;
mod storage;
mod wire;
mod writer;

pub use reader::Series;
pub use storage::{Storage, StorageMut};
pub use wire::{MAGIC, MAX_NAME_BYTES};
pub use writer::SeriesWriter;

use crate::base::array::Array;
use crate::base::error::{Error, Result};
use std::ops::Range;

/// One step of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    name: String,
    array: Array,
    /// Length of all slabs but the last along the slowest dimension.
    rows: u64,
    /// Its records in the storage.
    at: Range<u64>,
}

impl Step {
    /// The name; empty if the step has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Element type and shape.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// Length of a slab along the slowest dimension; the last slab may be shorter.
    pub fn slab_rows(&self) -> u64 {
        self.rows
    }

    /// Number of slabs, at least 1.
    pub fn slabs(&self) -> u64 {
        self.slowest().div_ceil(self.rows).max(1)
    }

    /// Bytes of the step in the series.
    pub fn bytes(&self) -> u64 {
        self.at.end - self.at.start
    }

    /// The array of a slab.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the step has fewer slabs.
    pub fn slab(&self, index: u64) -> Result<Array> {
        if index >= self.slabs() {
            return Err(Error::argument("slab", index, format!("0 to {}", self.slabs() - 1)));
        }
        let mut dims = self.array.dims().to_vec();
        if let Some(slowest) = dims.last_mut() {
            *slowest = self.rows.min(*slowest - index * self.rows);
        }
        Array::new(self.array.dtype(), &dims)
    }

    fn slowest(&self) -> u64 {
        self.array.dims().last().copied().unwrap_or(0)
    }
}

/// The position of the step with this name; unnamed steps have none.
fn find(steps: &[Step], name: &str) -> Option<u64> {
    steps.iter().position(|step| !name.is_empty() && step.name == name).map(|i| i as u64)
}

/// Rejects a container of another array than the slab `want`.
fn admit(want: &Array, found: &Array) -> Result<()> {
    if want == found {
        return Ok(());
    }
    let text = |a: &Array| format!("{} of {:?}", a.dtype(), a.dims());
    Err(damaged(format!("a container has {}, but its slab is {}", text(found), text(want))))
}

fn damaged(what: impl Into<String>) -> Error {
    Error::corrupt("series", what)
}

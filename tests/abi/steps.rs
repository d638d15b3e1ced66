//! Arguments of the functions for series.

use crate::fixture::{Is, Word, last_error, ok};
use fzgm::capi::*;
use std::ffi::CString;
use std::ptr;
use tempfile::TempDir;

/// A series of one step, and a writer, with everything that arguments point to.
pub(crate) struct Steps {
    folder: TempDir,
    pub(crate) series: *mut fz_series,
    pub(crate) writer: *mut fz_series_writer,
    path: CString,
    step_name: CString,
    /// The last fresh path or name.
    fresh: CString,
    count: u64,
    container: Vec<u8>,
    elements: u64,
}

impl Steps {
    pub(crate) fn new(container: &[u8], elements: u64) -> Steps {
        let folder = tempfile::tempdir().unwrap();
        let text = |name: &str| CString::new(folder.path().join(name).to_str().unwrap()).unwrap();
        let (path, other) = (text("series"), text("writer"));
        let mut steps = Steps {
            series: ptr::null_mut(),
            writer: ptr::null_mut(),
            path,
            step_name: c"first".into(),
            fresh: c"".into(),
            count: 0,
            container: container.into(),
            elements,
            folder,
        };
        let (mut writer, mut at) = (ptr::null_mut(), 9);
        let (bytes, len) = (container.as_ptr().cast(), container.len() as u64);
        unsafe {
            ok(fz_series_writer_open(steps.path.as_ptr(), 0, &mut writer));
            ok(fz_series_append_container(writer, steps.step_name.as_ptr(), bytes, len, &mut at));
            assert_eq!(at, 0);
            fz_series_writer_free(writer);
            ok(fz_series_open(steps.path.as_ptr(), &mut steps.series));
            ok(fz_series_writer_open(other.as_ptr(), 0, &mut steps.writer));
        }
        steps
    }

    /// A text that was not used before: a path in the folder, or a name.
    fn another(&mut self, is_path: bool) -> Word {
        self.count += 1;
        let name = format!("n{}", self.count);
        let path = self.folder.path().join(&name);
        self.fresh = CString::new(if is_path { path.to_str().unwrap() } else { &name }).unwrap();
        self.fresh.as_ptr().into()
    }

    fn writer_elsewhere(&mut self) -> *mut fz_series_writer {
        let mut writer = ptr::null_mut();
        self.another(true);
        ok(unsafe { fz_series_writer_open(self.fresh.as_ptr(), 0, &mut writer) });
        writer
    }

    fn series_again(&self) -> *mut fz_series {
        let mut series = ptr::null_mut();
        ok(unsafe { fz_series_open(self.path.as_ptr(), &mut series) });
        series
    }

    /// The writer without a step that was begun, with one, or with one whose slab is written.
    fn ready(&self, begun: bool, slab: bool) -> Word {
        let (dims, rows) = ([self.elements], self.elements);
        unsafe {
            ok(fz_series_abandon(self.writer));
            if begun {
                ok(fz_series_begin(self.writer, ptr::null(), 8, dims.as_ptr(), 1, rows));
            }
            if slab {
                let container = self.container.as_ptr().cast();
                ok(fz_series_slab(self.writer, container, self.container.len() as u64));
            }
        }
        self.writer.cast_const().into()
    }

    pub(crate) fn good(&mut self, is: Is) -> Option<Word> {
        Some(match is {
            Is::Series => self.series.cast_const().into(),
            Is::FreshSeries => self.series_again().cast_const().into(),
            Is::SeriesPath => self.path.as_ptr().into(),
            Is::StepName => self.step_name.as_ptr().into(),
            Is::FirstStep => Word(0),
            Is::Writer => self.ready(false, false),
            Is::BegunWriter => self.ready(true, false),
            Is::FullWriter => self.ready(true, true),
            Is::FreshWriter => self.writer_elsewhere().cast_const().into(),
            Is::NewSeriesPath => self.another(true),
            Is::MayNewName => self.another(false),
            Is::Rows => Word(self.elements),
            _ => return None,
        })
    }

    /// A series and a writer that were freed.
    pub(crate) fn freed(&self) -> [u64; 2] {
        let series = self.series_again();
        let path = CString::new(self.folder.path().join("freed").to_str().unwrap()).unwrap();
        let mut writer = ptr::null_mut();
        unsafe {
            ok(fz_series_writer_open(path.as_ptr(), 0, &mut writer));
            fz_series_free(series);
            fz_series_writer_free(writer);
        }
        [series as u64, writer as u64]
    }

    pub(crate) fn free(&self) {
        unsafe {
            fz_series_free(self.series);
            fz_series_writer_free(self.writer);
        }
    }
}

/// A step of slabs by the calls of C, with its description.
#[test]
fn a_step_of_slabs_is_described() {
    let fixture = crate::fixture::Fixture::new();
    let steps = &fixture.steps;
    let (container, bytes) = (steps.container.as_ptr(), steps.container.len() as u64);
    let (dims, mut at) = ([steps.elements, 2, 3], 9);
    let mismatch = fz_status::FZ_PLAN_MISMATCH as i32;
    unsafe {
        ok(fz_series_begin(steps.writer, c"slabs".as_ptr(), 8, dims.as_ptr(), 3, 1));
        assert_eq!(fz_series_slab(steps.writer, container.cast(), bytes), mismatch);
        assert!(last_error().contains("slab 0 of step 0 is f32 of [5000, 2, 1]"), "{}", last_error());
        assert_eq!((fz_series_end(steps.writer, &mut at), at), (mismatch, 9));
        assert!(last_error().contains("step 0 has 0 of 3 slabs"), "{}", last_error());
        ok(fz_series_abandon(steps.writer));
        assert_eq!(fz_series_end(steps.writer, &mut at), mismatch);
        let dims = [steps.elements];
        ok(fz_series_begin(steps.writer, c"one".as_ptr(), 8, dims.as_ptr(), 1, u64::MAX));
        ok(fz_series_slab(steps.writer, container.cast(), bytes));
        ok(fz_series_end(steps.writer, &mut at));
        assert_eq!(at, 0);
        let mut summary =
            fz_series_summary { struct_bytes: size_of::<fz_series_summary>() as u32, ..std::mem::zeroed() };
        ok(fz_series_info(steps.series, &mut summary));
        assert_eq!((summary.indexed, summary.steps, summary.lost_bytes), (1, 1, 0));
        let mut step = fz_step { struct_bytes: size_of::<fz_step>() as u32, ..std::mem::zeroed() };
        ok(fz_series_step_info(steps.series, 0, &mut step));
        assert_eq!((step.dtype, step.ndim, step.dims), (8, 1, [5000, 1, 1, 1, 1, 1, 1, 1]));
        assert_eq!((step.slabs, step.slab_rows, step.original_bytes), (1, 5000, 20_000));
        assert_eq!(std::ffi::CStr::from_ptr(step.name.as_ptr()), c"first");
    }
}

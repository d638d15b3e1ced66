//! Calls that make and change pipelines.

use super::judge::*;
use super::source::Source;
use super::{Known, MOST, Pipeline, World, one};
use fzgm::DType;
use fzgm::capi::*;
use std::ffi::{CStr, CString, c_char};
use std::ptr;

/// Boxes need the second.
const NAMES: [&CStr; 13] = [
    c"pfpl",
    c"fast",
    c"fast",
    c"fast",
    c"fz",
    c"bits",
    c"exact",
    c"cusz",
    c"cusz_ans",
    c"lc_speed",
    c"lc_ratio",
    c"lc_tp",
    c"lc_cr",
];
const NOT_UTF8: &CStr = c"\xff\xfe";
const BOUNDS: [f64; 4] = [1e-3, 0.5, 1e-2, 1e-4];

/// A name, or a wrong argument in its place.
fn text<'a>(good: &'a CStr, mistake: u8, unknown: i32, wrong: &mut Vec<i32>) -> *const c_char {
    let (text, status): (Option<&'a CStr>, _) = match mistake {
        1 => (None, NULL),
        2 => (Some(NOT_UTF8), ARGUMENT),
        3 => (Some(c"no such name"), unknown),
        _ => return good.as_ptr(),
    };
    wrong.push(status);
    text.map_or(ptr::null(), CStr::as_ptr)
}

impl World {
    pub(super) fn pipeline_from_preset(&mut self, source: &mut Source) {
        let (name, mistake) = (*source.pick(&NAMES), source.mistake(6));
        let lossless = name == c"bits" || name == c"exact";
        let dtype = match lossless || source.rarely(16) {
            true => source.below(10) as i32,
            false => *source.pick(&[8, 9]),
        };
        let mut wrong = vec![];
        let given = text(name, mistake, NAME, &mut wrong);
        let number = if mistake == 6 { *source.pick(&[-1, 10, i32::MAX]) } else { dtype };
        if number != dtype {
            wrong.push(ARGUMENT);
        } else if dtype < 8 && !lossless && wrong.is_empty() {
            wrong.push(UNSUPPORTED);
        }
        let place = Place::or(mistake.saturating_sub(3), &mut wrong);
        let status = unsafe { fz_pipeline_from_preset(given, number, place.pointer()) };
        let done = self.judge.call("fz_pipeline_from_preset", status, &wrong, &[OK]);
        let known = Known {
            preset: name.to_str().expect("ours"),
            dtype: *DType::ALL.iter().find(|d| **d as i32 == dtype).expect("a type"),
            mode: "noa",
            bound: 1e-3,
            threshold: f64::INFINITY,
        };
        self.adopt(&place, done, Some(known));
    }

    /// Takes over a pipeline that a call has made.
    pub(super) fn adopt(&mut self, place: &Place, done: bool, known: Option<Known>) {
        let handle = place.take(done) as usize as *mut fz_pipeline;
        if !done {
            return;
        }
        let place = Place::new();
        let status = unsafe { fz_pipeline_stage_count(handle, place.pointer()) };
        self.judge.ok("fz_pipeline_stage_count", status);
        self.pipelines.push(Pipeline { handle, known, stages: place.take_u32(true) });
        if self.pipelines.len() > MOST {
            let oldest = self.pipelines.remove(0);
            unsafe { fz_pipeline_free(oldest.handle) };
        }
    }

    pub(super) fn free_pipeline(&mut self, source: &mut Source) {
        match one(&self.pipelines, source) {
            // The others are needed.
            Some(p) if self.pipelines.len() > 2 => {
                let pipeline = self.pipelines.remove(p);
                unsafe { fz_pipeline_free(pipeline.handle) };
            }
            _ => unsafe { fz_pipeline_free(ptr::null_mut()) },
        }
    }

    pub(super) fn add_stage(&mut self, source: &mut Source) {
        let new = source.rarely(3) || self.pipelines.is_empty();
        if new {
            let mut wrong = vec![];
            let place = Place::or(source.mistake(2), &mut wrong);
            let status = unsafe { fz_pipeline_new(place.pointer()) };
            let done = self.judge.call("fz_pipeline_new", status, &wrong, &[OK]);
            self.adopt(&place, done, None);
        }
        let Some(p) = one(&self.pipelines, source) else { return };
        let stage = *source.pick(fzgm::stages::STAGES);
        let name = CString::new(stage.spec().name).expect("a name");
        let (mistake, mut wrong) = (source.mistake(6), vec![]);
        let given = text(&name, mistake, NAME, &mut wrong);
        let pipeline = &mut self.pipelines[p];
        let index = match mistake {
            // The index may be left out.
            4 => Place::at(ptr::null::<u32>()),
            5 => Place::or(2, &mut wrong),
            _ => Place::new(),
        };
        let handle = if mistake == 6 { (ptr::null_mut(), wrong.push(NULL)).0 } else { pipeline.handle };
        let full = if pipeline.stages >= 32 { PIPELINE } else { OK };
        if full == PIPELINE && !wrong.is_empty() {
            // Either may be said.
            wrong.push(PIPELINE);
        }
        let status = unsafe { fz_pipeline_add_stage(handle, given, index.pointer()) };
        if self.judge.call("fz_pipeline_add_stage", status, &wrong, &[full]) {
            assert!(mistake == 4 || index.take_u32(true) == pipeline.stages, "stages count from 0");
            pipeline.stages += 1;
            pipeline.known = None;
        } else {
            index.take(false);
        }
    }

    pub(super) fn connect(&mut self, source: &mut Source) {
        let Some(p) = one(&self.pipelines, source) else { return };
        let before = self.toml(p);
        let Pipeline { handle, stages, .. } = self.pipelines[p];
        let port = *source.pick(&[c"output", c"codes", c"outlier_idxs", c"outlier_vals", c"outlier_errors"]);
        let (mistake, mut wrong) = (source.mistake(3), vec![]);
        let given = text(port, mistake, NAME, &mut wrong);
        let consumer = source.below(stages as usize + 1) as u32;
        let producer = if source.rarely(16) { u32::MAX } else { consumer.saturating_sub(1) };
        if producer >= stages || consumer >= stages {
            // A port that the producer has not may be said first.
            wrong.extend([ARGUMENT, NAME]);
        }
        let status = unsafe { fz_pipeline_connect(handle, producer, given, consumer) };
        // The existing ports and inputs depend on parameters.
        if self.judge.call("fz_pipeline_connect", status, &wrong, &[OK, NAME, PIPELINE]) {
            self.pipelines[p].known = None;
        } else {
            assert!(self.toml(p) == before, "a connection that is refused changes the pipeline");
        }
    }

    pub(super) fn set(&mut self, source: &mut Source) {
        let Some(p) = one(&self.pipelines, source) else { return };
        let before = self.toml(p);
        let handle = self.pipelines[p].handle;
        let (stage, known) =
            (if source.rarely(8) { 0 } else { FZ_EVERY_STAGE }, self.pipelines[p].known.clone());
        let lossy = known.as_ref().is_some_and(|k| !["bits", "exact"].contains(&k.preset));
        let (mut changed, mut wrong) = (known, vec![]);
        let mut right =
            if changed.is_some() && stage == FZ_EVERY_STAGE { vec![OK] } else { vec![OK, NAME, ARGUMENT] };
        if !lossy && changed.is_some() {
            right = vec![NAME];
        }
        let (function, status) = match source.below(8) {
            0..3 => {
                let bound = *source.pick(&BOUNDS);
                changed.iter_mut().for_each(|k| k.bound = bound);
                ("fz_pipeline_set_double", unsafe {
                    fz_pipeline_set_double(handle, stage, c"error_bound".as_ptr(), bound)
                })
            }
            3 => {
                changed.iter_mut().for_each(|k| k.bound = 1.0);
                ("fz_pipeline_set_int", unsafe {
                    fz_pipeline_set_int(handle, stage, c"error_bound".as_ptr(), 1)
                })
            }
            4 => {
                let (mode, name) =
                    *source.pick(&[("abs", c"abs"), ("noa", c"noa"), ("prel", c"prel"), ("rel", c"rel")]);
                changed.iter_mut().for_each(|k| k.mode = mode);
                ("fz_pipeline_set_string", unsafe {
                    fz_pipeline_set_string(handle, stage, c"mode".as_ptr(), name.as_ptr())
                })
            }
            5 => {
                let threshold = *source.pick(&[1e20, 2.0, f64::INFINITY]);
                changed.iter_mut().for_each(|k| k.threshold = threshold);
                ("fz_pipeline_set_double", unsafe {
                    fz_pipeline_set_double(handle, stage, c"outlier_threshold".as_ptr(), threshold)
                })
            }
            6 => self.set_wrong(source, handle, stage, &mut wrong),
            _ => {
                let names = [
                    c"word_size",
                    c"chunk_size",
                    c"quant_radius",
                    c"zigzag_codes",
                    c"inplace_outliers",
                    c"block_size",
                ];
                (changed, right) = (None, vec![OK, NAME, ARGUMENT]);
                let (name, value) =
                    (source.pick(&names).as_ptr(), *source.pick(&[0, 1, 2, 4, 1024, 4096, -1]));
                ("fz_pipeline_set_int", unsafe { fz_pipeline_set_int(handle, stage, name, value) })
            }
        };
        if self.judge.call(function, status, &wrong, &right) {
            self.pipelines[p].known = changed;
        } else {
            assert!(self.toml(p) == before, "a parameter that is refused changes the pipeline");
        }
    }

    /// Values and names that no pipeline takes.
    fn set_wrong(
        &self,
        source: &mut Source,
        handle: *mut fz_pipeline,
        stage: u32,
        wrong: &mut Vec<i32>,
    ) -> (&'static str, i32) {
        let name = c"error_bound".as_ptr();
        // Where no stage has the parameter, that may be said first.
        wrong.extend([ARGUMENT, NAME]);
        match source.below(6) {
            0 => {
                let value = *source.pick(&[f64::NAN, -1.0, 0.0, f64::INFINITY]);
                ("fz_pipeline_set_double", unsafe { fz_pipeline_set_double(handle, stage, name, value) })
            }
            1 => ("fz_pipeline_set_string", unsafe {
                fz_pipeline_set_string(handle, stage, c"mode".as_ptr(), c"some".as_ptr())
            }),
            2 => ("fz_pipeline_set_int", unsafe { fz_pipeline_set_int(handle, 32, name, 1) }),
            3 => ("fz_pipeline_set_int", unsafe {
                fz_pipeline_set_int(handle, stage, c"no such name".as_ptr(), 1)
            }),
            4 => {
                *wrong = vec![NULL];
                ("fz_pipeline_set_double", unsafe { fz_pipeline_set_double(handle, stage, ptr::null(), 1.0) })
            }
            _ => {
                *wrong = vec![NULL];
                ("fz_pipeline_set_string", unsafe {
                    fz_pipeline_set_string(handle, stage, name, ptr::null())
                })
            }
        }
    }
}

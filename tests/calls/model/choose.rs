//! The choice of a pipeline: it keeps its promise for the array that it is made from.

use super::data::{Container, Promise, Shape, array};
use super::describe::Structure;
use super::judge::*;
use super::oracle::Bound;
use super::source::Source;
use super::{Known, World};
use fzgm::DType;
use fzgm::capi::*;
use std::ffi::CStr;
use std::ptr;
use std::rc::Rc;

/// Modes with their bounds; without a loss the bound is 0.
const MODES: [(i32, f64); 6] = [(-1, 0.0), (0, 1e-2), (0, 1e-5), (1, 1e-2), (2, 1e-3), (3, 1e-4)];
const WORDS: [(i32, &str); 4] = [(0, "abs"), (1, "rel"), (2, "noa"), (3, "prel")];
/// Presets of pipelines that later calls may change. The parameters of the others differ from those of these.
const PRESETS: [&str; 5] = ["fast", "fz", "cusz", "pfpl", "bits"];

fn wish(source: &mut Source) -> fz_wish {
    let (mode, bound) = *source.pick(&MODES);
    let mut wish = fz_wish {
        struct_bytes: size_of::<fz_wish>() as u32,
        goal: source.below(3) as i32,
        mode,
        reserved: 0,
        bound,
        target_ratio: 0.0,
        target_psnr: 0.0,
        outlier_threshold: *source.pick(&[0.0, 0.0, f64::INFINITY, 1e20, 2.0]),
    };
    match source.below(8) {
        0 => (wish.bound, wish.target_ratio) = (0.0, *source.pick(&[1.0, 3.0, 40.0])),
        1 => (wish.bound, wish.target_psnr) = (0.0, *source.pick(&[20.0, 70.0, 300.0])),
        _ => {}
    }
    wish
}

fn is_lossless(wish: &fz_wish) -> bool {
    wish.mode == -1 && wish.target_ratio == 0.0 && wish.target_psnr == 0.0
}

/// Makes one of the first seven mistakes in a wish.
fn spoil(wish: &mut fz_wish, mistake: u8, source: &mut Source, wrong: &mut Vec<i32>) {
    match mistake {
        1 => wish.struct_bytes -= 4,
        2 => wish.goal = *source.pick(&[-1, 3, i32::MAX]),
        3 => (wish.target_ratio, wish.target_psnr, wish.mode) = (0.0, 0.0, *source.pick(&[-2, 4, i32::MIN])),
        4 => (wish.target_ratio, wish.target_psnr, wish.bound) = (0.0, 0.0, *source.pick(&[f64::NAN, -1.0])),
        5 => (wish.target_ratio, wish.target_psnr) = (8.0, 60.0),
        6 => wish.reserved = 1,
        7 => wish.outlier_threshold = *source.pick(&[f64::NAN, -1.0]),
        _ => return,
    }
    wrong.push(ARGUMENT);
}

impl World {
    pub(super) fn choose(&mut self, source: &mut Source) {
        let (mut wrong, mistake) = (vec![], source.mistake(16));
        let mut wish = wish(source);
        let any = is_lossless(&wish) || source.rarely(16);
        let dtype = if any { *source.pick(&DType::ALL) } else { *source.pick(&[DType::F32, DType::F64]) };
        if !dtype.is_float() && !is_lossless(&wish) {
            wrong.push(UNSUPPORTED);
        }
        spoil(&mut wish, mistake, source, &mut wrong);
        let shape = Shape { dtype, dims: Shape::dims_of(source) };
        let data = array(source, &shape);
        let mut src = Bytes::of(&data, source.byte());
        let mut choice = Structure::<fz_choice>::new(if mistake == 8 { 1 } else { 0 }, &mut wrong);
        let mut place = Place::or(mistake.saturating_sub(8), &mut wrong);
        let (mut from, mut length) = (src.pointer::<u8>().cast_const(), src.len());
        let (mut asked, mut found) = (&raw const wish, choice.pointer());
        let (mut dims, mut number) = (shape.dims.as_ptr(), dtype as i32);
        let inside = (from as usize).next_multiple_of(8);
        match mistake {
            11 => (asked, _) = (ptr::null(), wrong.push(NULL)),
            12 => (length, _) = (length + 1, wrong.push(ARGUMENT)),
            13 => (dims, _) = (ptr::null(), wrong.push(NULL)),
            14 => (number, _) = (*source.pick(&[-1, 10]), wrong.push(ARGUMENT)),
            15 if length >= 16 => (place, _) = (Place::at(inside as *const u8), wrong.push(ARGUMENT)),
            16 if length > 0 => (from, _) = (ptr::null(), wrong.push(NULL)),
            _ => {}
        }
        let described = mistake == 8 || !source.rarely(8);
        if !described {
            found = ptr::null_mut();
        }
        let ndim = shape.dims.len() as u32;
        let status = unsafe {
            fz_pipeline_choose(asked, number, dims, ndim, from.cast(), length, place.pointer(), found)
        };
        let done = self.judge.call("fz_pipeline_choose", status, &wrong, &[OK]);
        assert!(src.get() == &**data, "a choice changes the array");
        let found = choice.take(done && described).copied();
        let (promise, known) = match found {
            Some(found) => (promised(&wish, &found), known(&wish, &found, dtype)),
            None if is_lossless(&wish) => (Promise::Exact, None),
            None => (Promise::Same, None),
        };
        self.adopt(&place, done, known);
        if done {
            self.use_choice(shape, data, promise);
        }
    }

    /// Compresses the array with the newest pipeline, and restores it.
    fn use_choice(&mut self, shape: Shape, data: Rc<Vec<u8>>, promise: Promise) {
        let pipeline = self.pipelines.last().expect("the chosen one").handle;
        let (dims, ndim, place) = (shape.dims.as_ptr(), shape.dims.len() as u32, Place::new());
        let status = unsafe {
            fz_pipeline_finalize(pipeline, shape.dtype as i32, dims, ndim, ptr::null(), place.pointer())
        };
        self.judge.ok("fz_pipeline_finalize", status);
        let plan = place.take(true) as usize as *mut fz_plan;
        let (room, bytes) = (Place::new(), Place::new());
        let status = unsafe { fz_max_compressed_bytes(plan, room.pointer()) };
        self.judge.ok("fz_max_compressed_bytes", status);
        let room = room.take(true);
        let (mut src, mut dst) = (Bytes::of(&data, 0), Bytes::new(room as usize, 0));
        let (src, len) = (src.pointer::<u8>().cast_const(), src.len());
        let to = dst.pointer::<u8>();
        let status =
            unsafe { fz_compress(plan, ptr::null_mut(), src.cast(), len, to.cast(), room, bytes.pointer()) };
        self.judge.ok("fz_compress", status);
        unsafe { fz_plan_free(plan) };
        let bytes = bytes.take(true);
        assert!(dst.keeps_to(bytes as usize), "written outside of the result");
        let (mut restored, place) = (Bytes::new(data.len(), 0), Place::new());
        let status = unsafe {
            let (from, back) = (to.cast_const().cast(), restored.pointer::<u8>().cast());
            fz_decompress(ptr::null(), ptr::null_mut(), from, bytes, back, len, place.pointer())
        };
        self.judge.ok("fz_decompress", status);
        assert_eq!(place.take(true), len);
        let family = self.identity();
        let mut container = Container {
            bytes: dst.get()[..bytes as usize].to_vec(),
            family,
            shape,
            array: data,
            promise,
            restored: None,
            damaged: false,
            padded: false,
        };
        container.comes_back(restored.get());
        self.keep(container);
    }
}

fn text(letters: &[std::ffi::c_char]) -> &str {
    assert!(letters.contains(&0), "a text without a zero at its end");
    unsafe { CStr::from_ptr(letters.as_ptr()) }.to_str().expect("texts are UTF-8")
}

/// The threshold as it is in a pipeline.
fn threshold(wish: &fz_wish) -> f64 {
    if wish.outlier_threshold == 0.0 { f64::INFINITY } else { wish.outlier_threshold }
}

fn word(found: &fz_choice) -> Option<&'static str> {
    WORDS.iter().find(|(mode, _)| *mode == found.mode).map(|(_, word)| *word)
}

/// Judges the description of a choice, and returns the promise of its pipeline.
fn promised(wish: &fz_wish, found: &fz_choice) -> Promise {
    let (preset, lattice) = (text(&found.preset), text(&found.lattice));
    assert!(!preset.is_empty() && found.expected_ratio >= 0.0);
    let Some(word) = word(found) else {
        assert!(found.mode == -1 && found.bound == 0.0, "mode {}, bound {}", found.mode, found.bound);
        return Promise::Exact;
    };
    assert!(found.bound > 0.0 && lattice.is_empty() && !is_lossless(wish), "{preset} {}", found.bound);
    if wish.target_ratio == 0.0 && wish.target_psnr == 0.0 {
        assert_eq!((found.mode, found.bound), (wish.mode, wish.bound), "another bound than was wished");
    }
    Promise::Within(Bound::of(word, found.bound), threshold(wish))
}

/// The pipeline, if it is a preset with only the common parameters set.
fn known(wish: &fz_wish, found: &fz_choice, dtype: DType) -> Option<Known> {
    let preset = PRESETS.into_iter().find(|preset| *preset == text(&found.preset))?;
    let (mode, lattice) = (word(found).unwrap_or("noa"), text(&found.lattice));
    let known = Known { preset, dtype, mode, bound: found.bound, threshold: threshold(wish) };
    (lattice.is_empty()).then_some(known)
}

//! The call that needs no plan, and the search for fill values.

use super::World;
use super::data::{Container, Promise, Shape, array};
use super::describe::Structure;
use super::judge::*;
use super::oracle::Bound;
use super::source::Source;
use fzgm::DType;
use fzgm::capi::*;
use std::ffi::CStr;
use std::ptr;

const PRESETS: [&CStr; 5] = [c"fast", c"high", c"pfpl", c"bits", c"exact"];
const MODES: [(i32, &str); 3] = [(0, "abs"), (2, "noa"), (3, "prel")];

fn promised(lossless: bool, word: &'static str, bound: f64) -> Promise {
    if lossless { Promise::Exact } else { Promise::Within(Bound::of(word, bound), f64::INFINITY) }
}

impl World {
    pub(super) fn compress_simple(&mut self, source: &mut Source) {
        let (preset, mistake) = (*source.pick(&PRESETS), source.mistake(9));
        let lossless = preset == c"bits" || preset == c"exact";
        let dtype =
            if lossless { *source.pick(&DType::ALL) } else { *source.pick(&[DType::F32, DType::F64]) };
        let (mut mode, word) = if lossless { (-1, "") } else { *source.pick(&MODES) };
        let mut bound = if lossless { 0.0 } else { *source.pick(&[1e-2, 1e-4]) };
        let shape = Shape { dtype, dims: Shape::dims_of(source) };
        let data = array(source, &shape);
        let mut wrong = vec![];
        let place = Place::or(mistake, &mut wrong);
        let (mut src, mut name, mut dims) =
            (Bytes::of(&data, source.byte()), preset.as_ptr(), shape.dims.as_ptr());
        let mut length = src.len();
        match mistake {
            3 => (name, _) = (ptr::null(), wrong.push(NULL)),
            4 => (name, _) = (c"no such preset".as_ptr(), wrong.push(NAME)),
            5 => (dims, _) = (ptr::null(), wrong.push(NULL)),
            6 => (mode, _) = (*source.pick(&[-2, 4, 100]), wrong.push(ARGUMENT)),
            // The bound of a lossless preset is 0, that of others is not.
            7 => (bound, _) = (if lossless { 1e-3 } else { -1.0 }, wrong.push(ARGUMENT)),
            8 => (mode, _) = (if lossless { 0 } else { -1 }, wrong.push(ARGUMENT)),
            9 => (length, _) = (length + 1, wrong.push(MISMATCH)),
            _ => {}
        }
        let ndim = shape.dims.len() as u32;
        let at = src.pointer::<u8>().cast_const();
        let call = |dst: *mut u8, room, place: &Place| unsafe {
            fz_compress_simple(
                name,
                dtype as i32,
                dims,
                ndim,
                mode,
                bound,
                at.cast(),
                length,
                dst.cast(),
                room,
                place.pointer(),
            )
        };
        let status = call(ptr::null_mut(), 0, &place);
        if !self.judge.call("fz_compress_simple", status, &wrong, &[OK]) {
            place.take(false);
            return;
        }
        let room = place.take(true);
        let (mut dst, place) = (Bytes::new(room as usize, source.byte()), Place::new());
        let status = call(dst.pointer(), room, &place);
        self.judge.ok("fz_compress_simple", status);
        let bytes = place.take(true);
        assert!(dst.keeps_to(bytes as usize), "written outside of the result");
        if bytes > 0 {
            let (mut less, place) = (Bytes::new(bytes as usize - 1, source.byte()), Place::new());
            let status = call(less.pointer(), bytes - 1, &place);
            self.judge.call("fz_compress_simple", status, &[SMALL], &[]);
            place.take(false);
        }
        let family = self.identity();
        self.keep(Container {
            bytes: dst.get()[..bytes as usize].to_vec(),
            family,
            shape,
            array: data,
            promise: promised(lossless, word, bound),
            restored: None,
            damaged: false,
            padded: false,
        });
    }

    pub(super) fn find_fill_value(&mut self, source: &mut Source) {
        let dtype = *source.pick(&[DType::F32, DType::F64, DType::I32]);
        let shape = Shape { dtype, dims: Shape::dims_of(source) };
        let (data, mistake, mut wrong) = (array(source, &shape), source.mistake(4), vec![]);
        let mut fill = Structure::<fz_fill>::new(mistake, &mut wrong);
        let mut src = Bytes::of(&data, source.byte());
        let (mut length, mut threshold, mut to) =
            (src.len(), *source.pick(&[f64::INFINITY, 1e20, 10.0]), fill.pointer());
        match mistake {
            2 => (to, _) = (ptr::null_mut(), wrong.push(NULL)),
            3 if length > 0 => (length, _) = (length - 1, wrong.push(ARGUMENT)),
            4 => (threshold, _) = (*source.pick(&[0.0, -1.0, f64::NAN]), wrong.push(ARGUMENT)),
            _ => {}
        }
        let status =
            unsafe { fz_find_fill_value(dtype as i32, src.pointer::<u8>().cast(), length, threshold, to) };
        let done = self.judge.call("fz_find_fill_value", status, &wrong, &[OK]);
        let Some(found) = fill.take(done) else { return };
        assert!(found.found == 0 || dtype != DType::I32, "integers have fill values");
        if found.found > 0 {
            let (top, low) = (found.value.abs(), found.threshold);
            assert!(low <= top && top < threshold && found.count > 0, "{top} {low}");
            assert!(found.min.abs().max(found.max.abs()) < low, "a value beyond the threshold is bounded");
        }
    }
}

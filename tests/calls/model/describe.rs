//! Calls that describe stages, presets and pipelines, and their notations.

use super::judge::*;
use super::source::Source;
use super::{Pipeline, World, one};
use fzgm::capi::*;
use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;
use std::ptr;

/// A structure that begins with its length, filled with bytes that no call writes.
pub(super) struct Structure<T> {
    room: Box<MaybeUninit<T>>,
    length: u32,
}

impl<T> Structure<T> {
    pub(super) fn new(mistake: u8, wrong: &mut Vec<i32>) -> Structure<T> {
        let mut room = Box::new(MaybeUninit::<T>::uninit());
        let mut length = size_of::<T>() as u32;
        if mistake == 1 {
            length -= 4;
            wrong.push(ARGUMENT);
        }
        unsafe {
            room.as_mut_ptr().cast::<u8>().write_bytes(UNTOUCHED, size_of::<T>());
            room.as_mut_ptr().cast::<u32>().write(length);
        }
        Structure { room, length }
    }

    pub(super) fn pointer(&mut self) -> *mut T {
        self.room.as_mut_ptr()
    }

    /// The written value, if a value was to be written.
    pub(super) fn take(&self, done: bool) -> Option<&T> {
        let bytes = unsafe { std::slice::from_raw_parts(self.room.as_ptr().cast::<u8>(), size_of::<T>()) };
        let untouched = bytes[..4] == self.length.to_ne_bytes() && bytes[4..].iter().all(|b| *b == UNTOUCHED);
        assert!(done != untouched, "a structure is written on failure, or not on success");
        done.then(|| unsafe { self.room.assume_init_ref() })
    }
}

/// An index, as a rule one that there is.
fn index(source: &mut Source, count: u32, wrong: &mut Vec<i32>) -> u32 {
    let index = match source.mistake(2) {
        1 => count,
        2 => u32::MAX,
        _ if count == 0 => 0,
        _ => source.below(count as usize) as u32,
    };
    if index >= count {
        wrong.push(ARGUMENT);
    }
    index
}

impl World {
    /// Descriptions of the library.
    pub(super) fn describe(&mut self, source: &mut Source) {
        let mut wrong = vec![];
        let place = Place::or(source.mistake(2), &mut wrong);
        let presets = source.rarely(4);
        let (function, status) = match presets {
            true => ("fz_preset_count", unsafe { fz_preset_count(place.pointer()) }),
            false => ("fz_stage_count", unsafe { fz_stage_count(place.pointer()) }),
        };
        let done = self.judge.call(function, status, &wrong, &[OK]);
        let count = place.take_u32(done);
        if !done {
            return;
        }
        let (mut wrong, mistake) = (vec![], source.mistake(1));
        let i = index(source, count, &mut wrong);
        if presets {
            let mut preset = Structure::<fz_preset>::new(mistake, &mut wrong);
            let status = unsafe { fz_preset_info(i, preset.pointer()) };
            preset.take(self.judge.call("fz_preset_info", status, &wrong, &[OK]));
            return;
        }
        let mut stage = Structure::<fz_stage>::new(mistake, &mut wrong);
        let status = unsafe { fz_stage_info(i, stage.pointer()) };
        let done = self.judge.call("fz_stage_info", status, &wrong, &[OK]);
        let Some(stage) = stage.take(done) else { return };
        let (mut wrong, mistake, inputs) = (vec![], source.mistake(1), source.rarely(2));
        if source.rarely(2) {
            let k = index(source, stage.parameters, &mut wrong);
            let mut parameter = Structure::<fz_parameter>::new(mistake, &mut wrong);
            let status = unsafe { fz_stage_parameter(i, k, parameter.pointer()) };
            parameter.take(self.judge.call("fz_stage_parameter", status, &wrong, &[OK]));
            return;
        }
        let k = index(source, if inputs { stage.inputs } else { stage.outputs }, &mut wrong);
        let mut port = Structure::<fz_port>::new(mistake, &mut wrong);
        let status = unsafe { fz_stage_port(i, i32::from(!inputs), k, port.pointer()) };
        port.take(self.judge.call("fz_stage_port", status, &wrong, &[OK]));
    }

    /// Descriptions of a pipeline.
    pub(super) fn describe_pipeline(&mut self, source: &mut Source) {
        let Some(p) = one(&self.pipelines, source) else { return };
        let Pipeline { handle, stages, .. } = self.pipelines[p];
        let (mut wrong, mistake) = (vec![], source.mistake(1));
        let i = index(source, stages, &mut wrong);
        let mut stage = Structure::<fz_stage>::new(mistake, &mut wrong);
        let status = unsafe { fz_pipeline_stage_info(handle, i, stage.pointer()) };
        let done = self.judge.call("fz_pipeline_stage_info", status, &wrong, &[OK]);
        let Some(stage) = stage.take(done) else { return };
        let (mut wrong, mistake, inputs) = (vec![], source.mistake(1), source.rarely(2));
        if source.rarely(2) {
            let k = index(source, stage.parameters, &mut wrong);
            let mut parameter = Structure::<fz_parameter>::new(mistake, &mut wrong);
            let status = unsafe { fz_pipeline_stage_parameter(handle, i, k, parameter.pointer()) };
            parameter.take(self.judge.call("fz_pipeline_stage_parameter", status, &wrong, &[OK]));
            return;
        }
        let k = index(source, if inputs { stage.inputs } else { stage.outputs }, &mut wrong);
        let mut port = Structure::<fz_port>::new(mistake, &mut wrong);
        let status = unsafe { fz_pipeline_stage_port(handle, i, i32::from(!inputs), k, port.pointer()) };
        port.take(self.judge.call("fz_pipeline_stage_port", status, &wrong, &[OK]));
    }

    /// A pipeline as TOML; none without stages.
    pub(super) fn toml(&mut self, p: usize) -> Option<CString> {
        let (handle, length) = (self.pipelines[p].handle, Place::new());
        let right: &[i32] = if self.pipelines[p].stages == 0 { &[PIPELINE] } else { &[OK] };
        let status = unsafe { fz_pipeline_to_toml(handle, ptr::null_mut(), 0, length.pointer()) };
        if !self.judge.call("fz_pipeline_to_toml", status, &[], right) {
            return None;
        }
        let (mut text, again) = (Bytes::new(length.take(true) as usize, 0), Place::new());
        let status = unsafe { fz_pipeline_to_toml(handle, text.pointer(), text.len(), again.pointer()) };
        self.judge.ok("fz_pipeline_to_toml", status);
        assert!(again.take(true) == text.len() && text.keeps_to(text.get().len()), "a text has two lengths");
        Some(CString::from_vec_with_nul(text.get().to_vec()).expect("a text with one zero, at its end"))
    }

    /// Written and read again, a pipeline is the same.
    pub(super) fn notation(&mut self, source: &mut Source) {
        let Some(p) = one(&self.pipelines, source) else { return };
        let Some(toml) = self.toml(p) else { return };
        let handle = self.pipelines[p].handle;
        let known = self.pipelines[p].known.clone();
        let asked = Place::new();
        let status = unsafe { fz_pipeline_to_text(handle, ptr::null_mut(), 0, asked.pointer()) };
        // A graph is no chain.
        let chain = self.judge.call("fz_pipeline_to_text", status, &[], &[OK, PIPELINE]);
        let said = asked.take(chain) as usize;
        let (need, short) = (if chain { said } else { 16 }, 1 + source.below(3));
        let (mut wrong, mistake) = (vec![], source.mistake(6));
        let length = Place::or(mistake, &mut wrong);
        let mut room = Bytes::new(if mistake == 3 { need.max(4) - short } else { need.max(16) }, 0);
        let (mut to, mut length_at) = (room.pointer::<c_char>(), length.pointer());
        match mistake {
            3 => wrong.push(SMALL),
            4 => (to, _) = (ptr::null_mut(), wrong.push(NULL)),
            5 => {
                let inside = (to as usize).next_multiple_of(8);
                (length_at, _) = (inside as *mut u64, wrong.push(ARGUMENT));
            }
            _ => {}
        }
        if !(wrong.is_empty() || chain) {
            wrong.push(PIPELINE);
        }
        let given = if mistake == 6 { (ptr::null(), wrong.push(NULL)).0 } else { handle.cast_const() };
        let status = unsafe { fz_pipeline_to_text(given, to, room.len(), length_at) };
        let done =
            self.judge.call("fz_pipeline_to_text", status, &wrong, if chain { &[OK] } else { &[PIPELINE] });
        let bytes = length.take(done) as usize;
        assert!(!done || bytes == need, "a text has another length than was said");
        assert!(
            room.keeps_to(if done { bytes } else { 0 }),
            "a text is written beyond its end, or on failure"
        );
        let text = done.then(|| room.get()[..bytes].to_vec());
        let (mut wrong, mistake) = (vec![], source.mistake(4));
        let place = Place::or(mistake, &mut wrong);
        let (name, function, written): (_, unsafe extern "C" fn(_, _) -> i32, *const c_char) = match &text {
            Some(text) => ("fz_pipeline_from_text", fz_pipeline_from_text, text.as_ptr().cast()),
            None => ("fz_pipeline_from_toml", fz_pipeline_from_toml, toml.as_ptr()),
        };
        let given = match mistake {
            3 => (c"no > [pipeline".as_ptr(), wrong.extend([PIPELINE, NAME])).0,
            4 => (ptr::null(), wrong.push(NULL)).0,
            _ => written,
        };
        let status = unsafe { function(given, place.pointer()) };
        let done = self.judge.call(name, status, &wrong, &[OK]);
        self.adopt(&place, done, known);
        if done {
            let again = self.toml(self.pipelines.len() - 1);
            assert!(again.as_ref() == Some(&toml), "{toml:?} is read as {again:?}");
        }
    }
}

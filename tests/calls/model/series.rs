//! Series: a writer and then a reader of one file, with legal and illegal calls.

use super::data::Container;
use super::describe::Structure;
use super::files::Given;
use super::judge::*;
use super::source::Source;
use super::{World, one};
use fzgm::capi::*;
use std::ffi::{CStr, CString, c_char};
use std::ptr;

/// Files of one string.
const MOST_SERIES: u32 = 3;
/// The largest array that a damaged header may state.
const MOST_BYTES: u64 = 16 << 20;

/// A step as it was appended: its name, its container, and how often the container is a slab of it.
struct Appended {
    name: String,
    container: Container,
    slabs: u64,
}

impl World {
    pub(super) fn series(&mut self, source: &mut Source) {
        self.series += 1;
        if self.series > MOST_SERIES {
            return;
        }
        let (mistake, mut wrong) = (source.mistake(7), vec![]);
        let place = Place::or(mistake, &mut wrong);
        let (file, path) = Given::or(mistake, &mut wrong);
        let sync = if mistake == 7 { (2, wrong.push(ARGUMENT)).0 } else { 0 };
        let status = unsafe { fz_series_writer_open(path, sync, place.pointer()) };
        let done = self.judge.call("fz_series_writer_open", status, &wrong, &[OK]);
        let writer = place.take(done) as usize as *mut fz_series_writer;
        if !done {
            return;
        }
        let mut steps = vec![];
        for _ in 0..1 + source.below(4) {
            let Some(c) = one(&self.containers, source) else { break };
            let container = self.containers[c].clone();
            match source.below(3) {
                _ if container.padded => {}
                0 => self.append(writer, container, &mut steps, source),
                1 => self.append_container(writer, container, &mut steps, source),
                _ => self.append_slabs(writer, container, &mut steps, source),
            }
        }
        unsafe { fz_series_writer_free(writer) };
        self.read_series(&file, &steps, source);
    }

    /// Compresses the array of a container again.
    fn append(
        &mut self,
        writer: *mut fz_series_writer,
        container: Container,
        steps: &mut Vec<Appended>,
        source: &mut Source,
    ) {
        let plan = self.plans.iter().find(|p| p.id == container.family && !container.damaged);
        let Some((handle, id, lists)) =
            plan.map(|p| (p.handle, p.id, p.known.as_ref().is_none_or(|k| k.lists())))
        else {
            return;
        };
        let (mut wrong, mut right) = (vec![], vec![OK]);
        let space = self.space_for(Some(id), source, &mut wrong);
        right.extend((space.is_tight() && lists).then_some(OUTLIERS));
        let mut src = Bytes::of(&container.array, source.byte());
        let mut length = src.len();
        let mistake = source.mistake(3);
        let place = Place::or(mistake, &mut wrong);
        if mistake == 3 && length > 0 {
            (length, _) = (length - 1, wrong.push(MISMATCH));
        }
        let name = Name::of(steps, source, &mut wrong);
        if !wrong.is_empty() {
            wrong.extend(&right[1..]);
        }
        let at = src.pointer::<u8>().cast_const().cast();
        let status = unsafe {
            fz_series_append(writer, name.pointer, handle, space.handle, at, length, place.pointer())
        };
        let done = self.judge.call("fz_series_append", status, &wrong, &right);
        let step = place.take(done);
        if done {
            assert_eq!(step, steps.len() as u64);
            steps.push(Appended { name: name.text, container, slabs: 1 });
        }
    }

    fn append_container(
        &mut self,
        writer: *mut fz_series_writer,
        container: Container,
        steps: &mut Vec<Appended>,
        source: &mut Source,
    ) {
        let mut wrong = vec![];
        let place = Place::or(source.mistake(2), &mut wrong);
        let name = Name::of(steps, source, &mut wrong);
        let right = if container.damaged { DAMAGED } else { &DAMAGED[..1] };
        if container.damaged && !wrong.is_empty() {
            wrong.extend(&DAMAGED[1..]);
        }
        let mut src = Bytes::of(&container.bytes, source.byte());
        let (at, bytes) = (src.pointer::<u8>().cast_const().cast(), src.len());
        let status = unsafe { fz_series_append_container(writer, name.pointer, at, bytes, place.pointer()) };
        let done = self.judge.call("fz_series_append_container", status, &wrong, right);
        let step = place.take(done);
        if done {
            assert_eq!(step, steps.len() as u64);
            steps.push(Appended { name: name.text, container, slabs: 1 });
        }
    }

    /// A step of which each slab is the same container.
    fn append_slabs(
        &mut self,
        writer: *mut fz_series_writer,
        container: Container,
        steps: &mut Vec<Appended>,
        source: &mut Source,
    ) {
        let (slabs, mut dims) = (1 + source.below(3) as u64, container.shape.dims.clone());
        let Some(slowest) = dims.last_mut().filter(|d| **d > 0 && !container.damaged) else { return };
        let mut rows = *slowest;
        *slowest *= slabs;
        let mut wrong = vec![];
        if source.mistake(1) == 1 {
            (rows, _) = (0, wrong.push(ARGUMENT));
        }
        let name = Name::of(steps, source, &mut wrong);
        let (dtype, ndim) = (container.shape.dtype as i32, dims.len() as u32);
        let status = unsafe { fz_series_begin(writer, name.pointer, dtype, dims.as_ptr(), ndim, rows) };
        if !self.judge.call("fz_series_begin", status, &wrong, &[OK]) {
            return;
        }
        let mut src = Bytes::of(&container.bytes, source.byte());
        let (at, bytes): (*const _, _) = (src.pointer::<u8>().cast_const().cast(), src.len());
        let slab = |world: &mut World, at, wrong: &[i32]| {
            let status = unsafe { fz_series_slab(writer, at, bytes) };
            world.judge.call("fz_series_slab", status, wrong, &[OK])
        };
        for _ in 0..slabs {
            if source.rarely(8) {
                slab(self, ptr::null(), &[NULL]);
            }
            if source.rarely(16) {
                let place = Place::new();
                let status = unsafe { fz_series_end(writer, place.pointer()) };
                self.judge.call("fz_series_end", status, &[MISMATCH], &[]);
                place.take(false);
            }
            slab(self, at, &[]);
        }
        if source.rarely(8) {
            slab(self, at, &[MISMATCH]);
            let status = unsafe { fz_series_begin(writer, ptr::null(), dtype, dims.as_ptr(), ndim, 1) };
            self.judge.call("fz_series_begin", status, &[MISMATCH], &[]);
        }
        if source.rarely(6) {
            let none = if source.rarely(3) { ptr::null_mut() } else { writer };
            let wrong: &[i32] = if none.is_null() { &[NULL] } else { &[] };
            let status = unsafe { fz_series_abandon(none) };
            if self.judge.call("fz_series_abandon", status, wrong, &[OK]) {
                return;
            }
        }
        let place = Place::new();
        let status = unsafe { fz_series_end(writer, place.pointer()) };
        self.judge.ok("fz_series_end", status);
        assert_eq!(place.take(true), steps.len() as u64);
        steps.push(Appended { name: name.text, container, slabs });
    }

    fn read_series(&mut self, file: &Given, steps: &[Appended], source: &mut Source) {
        let (mistake, mut wrong) = (source.mistake(4), vec![]);
        let place = Place::or(mistake, &mut wrong);
        let (_other, path) = match mistake {
            3 | 4 => Given::or(mistake, &mut wrong),
            _ => (Given::none(), file.pointer()),
        };
        let status = unsafe { fz_series_open(path, place.pointer()) };
        let done = self.judge.call("fz_series_open", status, &wrong, &[OK]);
        let series = place.take(done) as usize as *mut fz_series;
        if !done {
            return;
        }
        let mut wrong = vec![];
        let mut about = Structure::<fz_series_summary>::new(source.mistake(1), &mut wrong);
        let status = unsafe { fz_series_info(series, about.pointer()) };
        let done = self.judge.call("fz_series_info", status, &wrong, &[OK]);
        if let Some(about) = about.take(done) {
            assert_eq!((about.indexed, about.steps, about.lost_bytes), (1, steps.len() as u64, 0));
        }
        for (index, step) in steps.iter().enumerate() {
            self.read_step(series, index, step, steps.len(), source);
        }
        unsafe { fz_series_free(series) };
    }

    fn read_step(
        &mut self,
        series: *mut fz_series,
        index: usize,
        step: &Appended,
        count: usize,
        source: &mut Source,
    ) {
        let mut wrong = vec![];
        let mut info = Structure::<fz_step>::new(source.mistake(1), &mut wrong);
        let status = unsafe { fz_series_step_info(series, index as u64, info.pointer()) };
        let done = self.judge.call("fz_series_step_info", status, &wrong, &[OK]);
        let Some(info) = info.take(done) else { return };
        let found = unsafe { CStr::from_ptr(info.name.as_ptr()) }.to_str().expect("names are UTF-8");
        assert!(found == step.name && info.slabs == step.slabs);
        let whole = info.original_bytes;
        let dims = info.dims[..info.ndim as usize].to_vec();
        self.find_step(series, index, step, source);
        if whole > MOST_BYTES {
            return;
        }
        let (mut wrong, mut room, mut at) = (vec![], whole, index as u64);
        let place = match source.mistake(4) {
            3 if room > 0 => (Place::new(), (room, _) = (room - 1, wrong.push(SMALL))).0,
            4 => (Place::new(), (at, _) = (count as u64, wrong.push(ARGUMENT))).0,
            mistake => Place::or(mistake.min(2) * u8::from(mistake < 3), &mut wrong),
        };
        let damaged = step.container.damaged;
        let right = if damaged { DAMAGED } else { &DAMAGED[..1] };
        if damaged && !wrong.is_empty() {
            wrong.extend(&DAMAGED[1..]);
        }
        let mut dst = Bytes::new(whole as usize, source.byte());
        let region = source.rarely(2);
        let (to, place_at) = (dst.pointer::<u8>().cast(), place.pointer());
        let done = if region {
            let (origin, ndim) = (vec![0; dims.len()], dims.len() as u32);
            let status = unsafe {
                fz_series_read_region(series, at, origin.as_ptr(), dims.as_ptr(), ndim, to, room, place_at)
            };
            let mut right = right.to_vec();
            right.extend(damaged.then_some(ARGUMENT));
            self.judge.call("fz_series_read_region", status, &wrong, &right)
        } else {
            let status = unsafe { fz_series_read(series, at, ptr::null(), to, room, place_at) };
            self.judge.call("fz_series_read", status, &wrong, right)
        };
        let bytes = place.take(done);
        assert!(dst.keeps_to(dst.get().len()), "written outside of the result");
        if done && !damaged {
            assert_eq!(bytes, whole);
            let slab = dst.get().len() / step.slabs as usize;
            for part in dst.get().chunks(slab.max(1)) {
                match &step.container.restored {
                    Some(before) => assert!(part == before.as_slice(), "a step is another array"),
                    None => step.container.promise.check(&step.container.shape, &step.container.array, part),
                }
            }
        }
    }

    fn find_step(&mut self, series: *mut fz_series, index: usize, step: &Appended, source: &mut Source) {
        let (mistake, mut wrong) = (source.mistake(3), vec![]);
        let place = Place::or(mistake, &mut wrong);
        let mut name = CString::new(step.name.as_str()).expect("without a zero");
        if mistake == 3 {
            name = c"no such step".into();
        }
        if mistake == 3 || step.name.is_empty() {
            wrong.push(NAME);
        }
        let status = unsafe { fz_series_find(series, name.as_ptr(), place.pointer()) };
        let done = self.judge.call("fz_series_find", status, &wrong, &[OK]);
        let found = place.take(done);
        assert!(!done || found == index as u64, "a name belongs to another step");
    }
}

/// The name of a new step, as C passes it.
struct Name {
    text: String,
    _held: CString,
    pointer: *const c_char,
}

impl Name {
    fn of(steps: &[Appended], source: &mut Source, wrong: &mut Vec<i32>) -> Name {
        let mut text = match source.below(3) {
            0 => String::new(),
            _ => format!("step {}", steps.len()),
        };
        let taken = steps.iter().find(|step| !step.name.is_empty());
        match (source.mistake(3), taken) {
            (1, _) => (text, _) = ("12".into(), wrong.push(ARGUMENT)),
            (2, Some(taken)) => (text, _) = (taken.name.clone(), wrong.push(ARGUMENT)),
            (3, _) => (text, _) = ("bell\u{7}".into(), wrong.push(ARGUMENT)),
            _ => {}
        }
        let held = CString::new(text.as_str()).expect("without a zero");
        let pointer = if text.is_empty() && source.rarely(2) { ptr::null() } else { held.as_ptr() };
        Name { text, pointer, _held: held }
    }
}

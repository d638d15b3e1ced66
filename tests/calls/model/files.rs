//! Calls on files.

use super::data::Container;
use super::describe::Structure;
use super::judge::*;
use super::source::Source;
use super::{Plan, World, one};
use fzgm::capi::*;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::ptr;

/// Calls of one string: each waits for the disk.
const MOST_FILES: u32 = 4;

/// A file of this thread, which goes again.
pub(super) struct Given {
    path: PathBuf,
    text: CString,
}

impl Given {
    fn new() -> Given {
        let thread = format!("{:?}", std::thread::current().id());
        let number: String = thread.chars().filter(char::is_ascii_digit).collect();
        Given::at(std::env::temp_dir().join(format!("fzgm-calls-{}-{number}", std::process::id())))
    }

    /// Nothing that is removed.
    pub(super) fn none() -> Given {
        Given { path: PathBuf::new(), text: CString::default() }
    }

    pub(super) fn pointer(&self) -> *const std::ffi::c_char {
        self.text.as_ptr()
    }

    fn at(path: PathBuf) -> Given {
        let text = CString::new(path.to_str().expect("a path that is a text")).expect("without a zero");
        Given { path, text }
    }

    /// The valid argument, or a wrong one in its place.
    pub(super) fn or(mistake: u8, wrong: &mut Vec<i32>) -> (Given, *const std::ffi::c_char) {
        let given = Given::new();
        let elsewhere = |path: &Path, wrong: &mut Vec<i32>| {
            wrong.push(FILE);
            Given::at(path.into())
        };
        let given = match mistake {
            5 => elsewhere(&given.path.join("in").join("no").join("folder"), wrong),
            6 => elsewhere(&std::env::temp_dir(), wrong),
            _ => given,
        };
        let pointer = match mistake {
            3 => (ptr::null(), wrong.push(NULL)).0,
            4 => (c"\xff\xfe".as_ptr(), wrong.push(ARGUMENT)).0,
            _ => given.text.as_ptr(),
        };
        (given, pointer)
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // A file that was not made need not be removed.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl World {
    pub(super) fn files(&mut self, source: &mut Source) {
        let Some(c) = one(&self.containers, source) else { return };
        self.files += 1;
        if self.files > MOST_FILES {
            return;
        }
        let container = self.containers[c].clone();
        match source.below(5) {
            0 => self.compress_file(&container, source),
            1 => self.decompress_file(&container, source),
            2 => self.box_file(&container, source),
            3 => self.preview_file(&container, source),
            _ => self.file_info(&container, source),
        }
    }

    /// The file equals the output of fz_compress().
    fn compress_file(&mut self, container: &Container, source: &mut Source) {
        let Some(plan) = self.plans.iter().find(|p| p.id == container.family && !container.damaged) else {
            return;
        };
        let Plan { handle, id, .. } = *plan;
        let lists = plan.known.as_ref().is_none_or(|k| k.lists());
        let (mut wrong, mut right) = (vec![], vec![OK]);
        let space = self.space_for(Some(id), source, &mut wrong);
        right.extend((space.is_tight() && lists).then_some(OUTLIERS));
        let mistake = source.mistake(7);
        let place = Place::or(mistake, &mut wrong);
        let (given, path) = Given::or(mistake, &mut wrong);
        let mut src = Bytes::of(&container.array, source.byte());
        let length = if mistake == 7 { (src.len() + 1, wrong.push(MISMATCH)).0 } else { src.len() };
        if mistake == 7 {
            src = Bytes::new(length as usize, 0);
        }
        if !wrong.is_empty() {
            wrong.extend(&right[1..]);
        }
        let at = src.pointer::<u8>().cast_const().cast();
        let status = unsafe { fz_compress_file(handle, space.handle, at, length, path, place.pointer()) };
        let done = self.judge.call("fz_compress_file", status, &wrong, &right);
        let bytes = place.take(done);
        match done {
            true => {
                let written = std::fs::read(&given.path).expect("the file is there");
                assert!(
                    written == container.bytes && bytes == written.len() as u64,
                    "a file has other bytes"
                );
            }
            false => assert!(!given.path.is_file(), "a failure leaves a file"),
        }
    }

    fn decompress_file(&mut self, container: &Container, source: &mut Source) {
        if container.padded {
            return;
        }
        let (mistake, mut wrong) = (source.mistake(7), vec![]);
        let place = Place::or(mistake, &mut wrong);
        let (given, path) = Given::or(mistake, &mut wrong);
        let mut dst = Bytes::new(container.array.len(), source.byte());
        let mut room = dst.len();
        if mistake == 7 && room > 0 {
            (room, _) = (room - 1, wrong.push(SMALL));
        }
        if mistake < 5 || mistake == 7 {
            std::fs::write(&given.path, &container.bytes).expect("a file");
        }
        let right = if container.damaged { DAMAGED } else { &DAMAGED[..1] };
        if container.damaged && !wrong.is_empty() {
            wrong.extend(if mistake == 7 { DAMAGED } else { &DAMAGED[1..] });
        }
        let to = dst.pointer::<u8>().cast();
        let status =
            unsafe { fz_decompress_file(ptr::null(), ptr::null_mut(), path, to, room, place.pointer()) };
        let done = self.judge.call("fz_decompress_file", status, &wrong, right);
        let bytes = place.take(done) as usize;
        assert!(dst.keeps_to(dst.get().len()), "written outside of the result");
        if done && !container.damaged {
            container.promise.check(&container.shape, &container.array, &dst.get()[..bytes]);
        }
    }

    /// The whole array, as a region.
    fn box_file(&mut self, container: &Container, source: &mut Source) {
        if container.padded {
            return;
        }
        let (mistake, mut wrong) = (source.mistake(6), vec![]);
        let place = Place::or(mistake, &mut wrong);
        let (given, path) = Given::or(mistake, &mut wrong);
        if mistake < 5 {
            std::fs::write(&given.path, &container.bytes).expect("a file");
        }
        let (origin, extent) = ([0; 3], container.shape.dims.clone());
        let mut dst = Bytes::new(container.array.len(), source.byte());
        let mut right = vec![OK];
        if container.damaged {
            right.extend(DAMAGED.iter().chain(&[ARGUMENT]));
        }
        if !wrong.is_empty() {
            wrong.extend(&right[1..]);
        }
        let ndim = extent.len() as u32;
        let (to, room) = (dst.pointer::<u8>().cast(), dst.len());
        let status = unsafe {
            fz_decompress_region_file(path, origin.as_ptr(), extent.as_ptr(), ndim, to, room, place.pointer())
        };
        let done = self.judge.call("fz_decompress_region_file", status, &wrong, &right);
        place.take(done);
        assert!(dst.keeps_to(dst.get().len()), "written outside of the result");
        if let Some(whole) = container.restored.as_ref().filter(|_| done && !container.damaged) {
            assert!(dst.get() == whole.as_slice(), "all of a file is another array as a box");
        }
    }

    /// All of it, as a preview.
    fn preview_file(&mut self, container: &Container, source: &mut Source) {
        if container.padded {
            return;
        }
        let (mistake, mut wrong) = (source.mistake(6), vec![]);
        let place = Place::or(mistake, &mut wrong);
        let (given, path) = Given::or(mistake, &mut wrong);
        if mistake < 5 {
            std::fs::write(&given.path, &container.bytes).expect("a file");
        }
        let mut dst = Bytes::new(container.array.len(), source.byte());
        let mut right = vec![OK];
        if container.damaged {
            right.extend(DAMAGED[1..].iter().chain(&[TRUNCATED]));
        }
        if !wrong.is_empty() {
            wrong.extend(&right[1..]);
        }
        let (to, room) = (dst.pointer::<u8>().cast(), dst.len());
        let status = unsafe { fz_decompress_preview_file(path, 1, to, room, place.pointer()) };
        let done = self.judge.call("fz_decompress_preview_file", status, &wrong, &right);
        place.take(done);
        assert!(dst.keeps_to(dst.get().len()), "written outside of the result");
        if let Some(whole) = container.restored.as_ref().filter(|_| done && !container.damaged) {
            assert!(dst.get() == whole.as_slice(), "all of a file is another array as a preview");
        }
    }

    fn file_info(&mut self, container: &Container, source: &mut Source) {
        let (mistake, mut wrong) = (source.mistake(6), vec![]);
        let mut info = Structure::<fz_info>::new(mistake, &mut wrong);
        let (given, path) = Given::or(mistake, &mut wrong);
        if mistake < 5 {
            std::fs::write(&given.path, &container.bytes).expect("a file");
        }
        let right = if container.damaged { DAMAGED } else { &DAMAGED[..1] };
        if container.damaged && !wrong.is_empty() {
            wrong.extend(&DAMAGED[1..]);
        }
        let status = unsafe { fz_file_info(path, info.pointer()) };
        let done = self.judge.call("fz_file_info", status, &wrong, right);
        if let Some(info) = info.take(done).filter(|_| !container.damaged) {
            World::agrees(container, info);
        }
    }
}

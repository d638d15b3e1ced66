//! Calls that describe containers, the library and devices that are not there.

use super::data::Container;
use super::describe::Structure;
use super::judge::*;
use super::source::Source;
use super::{World, one};
use fzgm::capi::*;
use std::ffi::CStr;
use std::ptr;

impl World {
    /// The description of a sound container.
    pub(super) fn described(&mut self, container: &Container) -> fz_info {
        let mut info = Structure::<fz_info>::new(0, &mut vec![]);
        let (at, length) = (container.bytes.as_ptr().cast(), container.bytes.len() as u64);
        let status = unsafe { fz_container_info(at, length, info.pointer()) };
        self.judge.ok("fz_container_info", status);
        *info.take(true).expect("done")
    }

    /// Compares a description with the compressed array.
    pub(super) fn agrees(container: &Container, info: &fz_info) {
        assert_eq!(info.container_bytes, container.bytes.len() as u64);
        if container.padded {
            return;
        }
        let shape = &container.shape;
        let mut dims = shape.dims.clone();
        dims.resize(3, 1);
        assert_eq!((info.dtype, info.original_bytes), (shape.dtype as i32, container.array.len() as u64));
        assert_eq!((info.ndim as usize, info.dims.to_vec()), (shape.dims.len(), dims));
    }

    pub(super) fn container_info(&mut self, source: &mut Source) {
        let Some(c) = one(&self.containers, source) else { return };
        let container = self.containers[c].clone();
        let (mistake, mut wrong) = (source.mistake(4), vec![]);
        let mut info = Structure::<fz_info>::new(mistake, &mut wrong);
        let mut bytes = Bytes::of(&container.bytes, source.byte());
        let (mut at, mut length, mut to) = (bytes.pointer::<u8>().cast_const(), bytes.len(), info.pointer());
        match mistake {
            2 => (to, _) = (ptr::null_mut(), wrong.push(NULL)),
            3 if length > 0 => (at, _) = (ptr::null(), wrong.push(NULL)),
            4 => (length, _) = (0, wrong.push(NO_CONTAINER)),
            _ => {}
        }
        let right = if container.damaged { DAMAGED } else { &DAMAGED[..1] };
        let status = unsafe { fz_container_info(at.cast(), length, to) };
        let done = self.judge.call("fz_container_info", status, &wrong, right);
        if let Some(info) = info.take(done).filter(|_| !container.damaged) {
            World::agrees(&container, info);
        }
    }

    pub(super) fn container_shape(&mut self, source: &mut Source) {
        let Some(c) = one(&self.containers, source) else { return };
        let container = self.containers[c].clone();
        let (mistake, mut wrong) = (source.mistake(6), vec![]);
        let place = Place::or(mistake, &mut wrong);
        let mut lengths = Box::new([u64::MAX; FZ_MAX_DIMS as usize]);
        let mut dims = lengths.as_mut_ptr();
        let mut bytes = Bytes::of(&container.bytes, source.byte());
        let (mut at, mut length) = (bytes.pointer::<u8>().cast_const(), bytes.len());
        match mistake {
            3 => (dims, _) = (ptr::null_mut(), wrong.push(NULL)),
            4 => (dims, _) = (dims.wrapping_byte_add(1), wrong.push(ARGUMENT)),
            5 if length > 0 => (at, _) = (ptr::null(), wrong.push(NULL)),
            6 => (length, _) = (0, wrong.push(NO_CONTAINER)),
            _ => {}
        }
        let right = if container.damaged { DAMAGED } else { &DAMAGED[..1] };
        let status = unsafe { fz_container_shape(at.cast(), length, dims, place.pointer()) };
        let done = self.judge.call("fz_container_shape", status, &wrong, right);
        let ndim = place.take_u32(done) as usize;
        if !done {
            assert_eq!(*lengths, [u64::MAX; FZ_MAX_DIMS as usize], "a result is written on failure");
        } else if !container.damaged && !container.padded {
            let mut all = container.shape.dims.clone();
            all.resize(lengths.len(), 1);
            assert_eq!((ndim, lengths.to_vec()), (container.shape.dims.len(), all));
        }
    }

    /// Like reading from a stream: some bytes first, and then the number of bytes that the function requests.
    pub(super) fn info_partial(&mut self, source: &mut Source) {
        let Some(c) = one(&self.containers, source) else { return };
        let container = self.containers[c].clone();
        let mut have = u64::from(source.byte() % 64).min(container.bytes.len() as u64);
        for _ in 0..16 {
            let (mut info, needed) = (Structure::<fz_info>::new(0, &mut vec![]), Place::new());
            let mut bytes = Bytes::of(&container.bytes[..have as usize], 0);
            let at = if have == 0 { ptr::null() } else { bytes.pointer::<u8>().cast_const() };
            let status =
                unsafe { fz_container_info_partial(at.cast(), have, info.pointer(), needed.pointer()) };
            let right: &[i32] = match container.damaged {
                true => &[OK, TRUNCATED, CORRUPT, NO_CONTAINER, UNSUPPORTED],
                false => &[OK, TRUNCATED],
            };
            let done = self.judge.call("fz_container_info_partial", status, &[], right);
            let said = needed.take(done || status == TRUNCATED);
            if status != TRUNCATED {
                let info = info.take(done);
                if let Some(info) = info.filter(|_| !container.damaged) {
                    assert!(said <= have, "a header is longer than what it was read from");
                    World::agrees(&container, info);
                }
                return;
            }
            info.take(false);
            assert!(said > have, "no more is asked for than there was");
            if container.damaged && said > container.bytes.len() as u64 {
                return;
            }
            assert!(said <= container.bytes.len() as u64, "more is asked for than the container has");
            have = said;
        }
        panic!("a header is asked for without end");
    }

    pub(super) fn pipeline_from_container(&mut self, source: &mut Source) {
        let Some(c) = one(&self.containers, source) else { return };
        let container = self.containers[c].clone();
        let (mistake, mut wrong) = (source.mistake(3), vec![]);
        let place = Place::or(mistake, &mut wrong);
        let mut bytes = Bytes::of(&container.bytes, source.byte());
        let (mut at, length) = (bytes.pointer::<u8>().cast_const(), bytes.len());
        if mistake == 3 && length > 0 {
            (at, _) = (ptr::null(), wrong.push(NULL));
        }
        let right = if container.damaged { DAMAGED } else { &DAMAGED[..1] };
        let status = unsafe { fz_pipeline_from_container(at.cast(), length, place.pointer()) };
        let done = self.judge.call("fz_pipeline_from_container", status, &wrong, right);
        self.adopt(&place, done, None);
    }

    pub(super) fn about(&mut self, source: &mut Source) {
        let status = *source.pick(&[0, 10, 41, 90, -1, i32::MAX]);
        let texts =
            unsafe { [fz_version(), fz_build_info(), fz_strerror(status)].map(|t| CStr::from_ptr(t)) };
        assert!(texts.iter().all(|t| t.to_str().is_ok_and(|t| !t.is_empty())));
        assert_eq!(fz_abi_version(), FZ_ABI_VERSION);
        let mut wrong = vec![];
        if source.rarely(2) {
            wrong.push(NULL);
        }
        let mut options = Structure::<fz_options>::new(0, &mut vec![]);
        let to = if wrong.is_empty() { options.pointer() } else { ptr::null_mut() };
        let status = unsafe { fz_options_init(to) };
        options.take(self.judge.call("fz_options_init", status, &wrong, &[OK]));
    }

    /// There is no GPU here, and every call for one reports it, or another error of the call.
    pub(super) fn devices(&mut self, source: &mut Source) {
        let mut wrong = vec![NO_DEVICE];
        match source.below(7) {
            5 | 6 => self.device_views(source),
            0 => {
                let place = Place::or(source.mistake(2), &mut wrong);
                let status = unsafe { fz_device_count(place.pointer()) };
                place.take(self.judge.call("fz_device_count", status, &wrong, &[]));
            }
            1 => {
                let mut device = Structure::<fz_device>::new(source.mistake(1), &mut wrong);
                let status = unsafe { fz_device_info(source.byte().into(), device.pointer()) };
                device.take(self.judge.call("fz_device_info", status, &wrong, &[]));
            }
            k => {
                let Some(p) = one(&self.plans, source) else { return };
                let (plan, id) = (self.plans[p].handle.cast_const(), self.plans[p].id);
                let space = self.space_for(Some(id), source, &mut wrong);
                // NULL, a plan of the other direction, an array of another length, a destination that is too small.
                wrong.extend([NULL, ARGUMENT, MISMATCH, UNSUPPORTED, SMALL]);
                let (src, mut dst) = ([0u64; 8], [0u64; 8]);
                let (from, to, bytes) = (src.as_ptr().cast(), dst.as_mut_ptr().cast(), 64);
                let (function, status) = unsafe {
                    match k {
                        2 => ("fz_plan_preload", fz_plan_preload(plan, space.handle, ptr::null_mut())),
                        3 => {
                            let stream = ptr::null_mut();
                            let result = ptr::null_mut();
                            let s =
                                fz_compress_async(plan, space.handle, from, bytes, to, bytes, result, stream);
                            ("fz_compress_async", s)
                        }
                        _ => {
                            let stream = ptr::null_mut();
                            let result = ptr::null_mut();
                            let s = fz_decompress_async(
                                plan,
                                space.handle,
                                from,
                                bytes,
                                to,
                                bytes,
                                result,
                                stream,
                            );
                            ("fz_decompress_async", s)
                        }
                    }
                };
                self.judge.call(function, status, &wrong, &[]);
                assert!(dst == [0; 8], "a call without a GPU writes something");
            }
        }
    }
}

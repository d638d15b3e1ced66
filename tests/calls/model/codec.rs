//! Calls that compress and restore.

use super::data::{Container, Promise, array};
use super::judge::*;
use super::source::Source;
use super::spaces::Chosen;
use super::{MOST_BYTES, Plan, World, one};
use fzgm::capi::*;
use std::ptr;

/// Two regions and a place for a length, with their mistakes.
struct Regions {
    src: Bytes,
    dst: Bytes,
    /// As the call is given them.
    given: (*const u8, u64, *mut u8, u64),
    place: Place,
}

impl Regions {
    fn new(src: &[u8], room: usize, source: &mut Source, wrong: &mut Vec<i32>) -> Regions {
        let (mistake, skew) = (source.mistake(9), source.byte());
        let (mut src, mut dst) = (Bytes::of(src, skew), Bytes::new(room, skew >> 4));
        let mut place = Place::or(mistake, wrong);
        let (mut from, from_bytes, mut to, mut to_bytes) =
            (src.pointer::<u8>().cast_const(), src.len(), dst.pointer::<u8>(), dst.len());
        match mistake {
            3 if from_bytes > 0 => (from, _) = (ptr::null(), wrong.push(NULL)),
            4 if to_bytes > 0 => (to, _) = (ptr::null_mut(), wrong.push(NULL)),
            // They share their last or first byte.
            5 if from_bytes > 0 && to_bytes > 0 => {
                (to, _) = (from.wrapping_add(from_bytes as usize - 1).cast_mut(), wrong.push(ARGUMENT));
            }
            6 if from_bytes > 0 && to_bytes > 0 => {
                (to, _) = (from.wrapping_sub(to_bytes as usize - 1).cast_mut(), wrong.push(ARGUMENT));
            }
            7 if to_bytes >= 16 => {
                let inside = (to as usize).next_multiple_of(8);
                (place, _) = (Place::at(inside as *const u8), wrong.push(ARGUMENT));
            }
            8 if from_bytes >= 16 => {
                let inside = (from as usize).next_multiple_of(8);
                (place, _) = (Place::at(inside as *const u8), wrong.push(ARGUMENT));
            }
            // More than there are addresses.
            9 => (to_bytes, _) = (*source.pick(&[1 << 63, u64::MAX]), wrong.push(ARGUMENT)),
            _ => {}
        }
        Regions { given: (from, from_bytes, to, to_bytes), src, dst, place }
    }

    /// Now and then, regions or place lie in the buffer of the workspace.
    fn stray(&mut self, space: &Chosen, source: &mut Source, wrong: &mut Vec<i32>) {
        let src = space.stray(self.given.1, source, wrong).map(<*mut u8>::cast_const);
        self.given.0 = src.unwrap_or(self.given.0);
        self.given.2 = space.stray(self.given.3, source, wrong).unwrap_or(self.given.2);
        if let Some(inside) = space.stray(16, source, wrong) {
            self.place = Place::at((inside as usize).next_multiple_of(8) as *const u8);
        }
    }

    /// Judges the written bytes, and returns the length.
    fn written(&self, src: &[u8], done: bool, room: usize) -> usize {
        assert!(self.src.get() == src, "what is only read is changed");
        let length = self.place.take(done) as usize;
        assert!(self.dst.keeps_to(if done { length } else { room }), "written outside of the result");
        length
    }
}

impl World {
    /// The most that an encoder writes.
    fn most(&mut self, plan: *const fz_plan) -> u64 {
        let place = Place::new();
        let status = unsafe { fz_max_compressed_bytes(plan, place.pointer()) };
        self.judge.ok("fz_max_compressed_bytes", status);
        place.take(true)
    }

    pub(super) fn compress(&mut self, source: &mut Source) {
        let Some(p) = one(&self.plans, source) else { return };
        let Plan { handle, id, encoder, strict, .. } = self.plans[p];
        let (mut wrong, mut right) = (vec![], vec![OK]);
        let Some(shape) = self.plans[p].shape.clone() else { return };
        if !encoder {
            wrong.push(ARGUMENT);
        }
        let room = if encoder { self.most(handle) as usize } else { 64 };
        let room = match source.rarely(8) {
            true => {
                right.push(SMALL);
                usize::from(source.byte()) * room / 256
            }
            false => room,
        };
        let array = array(source, &shape);
        let known = self.plans[p].known.clone();
        let space = self.space_for(Some(id), source, &mut wrong);
        if known.as_ref().is_none_or(|k| k.lists()) {
            right.extend(space.is_tight().then_some(OUTLIERS));
        }
        if known.is_none() {
            // Symbols that a codebook has no room for, and the like, only the array tells.
            right.extend([ARGUMENT, UNSUPPORTED, OUTLIERS]);
        }
        let mut r = Regions::new(&array, room, source, &mut wrong);
        if source.rarely(24) && r.given.1 > 0 {
            (r.given.1, _) = (r.given.1 - 1, wrong.push(MISMATCH));
        }
        let given = if source.rarely(32) { (ptr::null(), wrong.push(NULL)).0 } else { handle.cast_const() };
        r.stray(&space, source, &mut wrong);
        let (src, src_bytes, dst, room) = r.given;
        let status = unsafe {
            fz_compress(given, space.handle, src.cast(), src_bytes, dst.cast(), room, r.place.pointer())
        };
        let done = self.judge.call("fz_compress", status, &wrong, &right);
        let bytes = r.written(&array, done, 0);
        if done {
            let promise = match known.as_ref().map(|k| k.promise()) {
                Some(promise @ Promise::Exact) => promise,
                Some(promise) if strict => promise,
                _ => Promise::Same,
            };
            let padded = self.plans[p].padded;
            let container = Container {
                bytes: r.dst.get()[..bytes].to_vec(),
                family: id,
                shape,
                array,
                promise: if padded { Promise::Same } else { promise },
                restored: None,
                damaged: false,
                padded,
            };
            self.keep(container);
        }
    }

    /// The same array into just enough room, or a byte less.
    pub(super) fn compress_again(&mut self, source: &mut Source) {
        let Some(c) = one(&self.containers, source).filter(|c| !self.containers[*c].damaged) else { return };
        let container = self.containers[c].clone();
        let Some(plan) = self.plans.iter().find(|p| p.id == container.family) else { return };
        let (handle, id) = (plan.handle, plan.id);
        let lists = plan.known.as_ref().is_none_or(|k| k.lists());
        let (mut wrong, short) = (vec![], source.rarely(3));
        let space = self.space_for(Some(id), source, &mut wrong);
        let mut room = container.bytes.len();
        if short {
            (room, _) = (room - 1, wrong.push(SMALL));
        }
        let right = if space.is_tight() && lists { [OK, OUTLIERS] } else { [OK; 2] };
        if short && space.is_tight() && lists {
            wrong.push(OUTLIERS);
        }
        let mut r = Regions::new(&container.array, room, source, &mut wrong);
        r.stray(&space, source, &mut wrong);
        let (src, src_bytes, dst, room) = r.given;
        let status = unsafe {
            fz_compress(handle, space.handle, src.cast(), src_bytes, dst.cast(), room, r.place.pointer())
        };
        let done = self.judge.call("fz_compress", status, &wrong, &right);
        let bytes = r.written(&container.array, done, 0);
        assert!(!done || r.dst.get()[..bytes] == container.bytes, "the same array gives other bytes");
    }

    pub(super) fn decompress(&mut self, source: &mut Source) {
        let Some(c) = one(&self.containers, source) else { return };
        let container = self.containers[c].clone();
        let plan = if source.rarely(3) { None } else { one(&self.plans, source) };
        let own = self.plans.iter().rposition(|p| !p.encoder && p.family == container.family);
        let plan = plan.and(if source.rarely(6) { plan } else { own });
        let (mut wrong, mut right) = (vec![], vec![OK]);
        let (mut handle, mut id) = (ptr::null_mut(), None);
        if let Some(p) = plan {
            let p = &self.plans[p];
            (handle, id) = (p.handle, Some(p.id));
            if p.encoder {
                wrong.push(ARGUMENT);
            } else if p.family != container.family || !p.every {
                right.extend([MISMATCH, SMALL]);
            }
        }
        let space = self.space_for(id, source, &mut wrong);
        if !handle.is_null() && space.handle.is_null() && self.workspace_bytes(handle) > MOST_BYTES {
            return;
        }
        if container.damaged {
            right.extend(&DAMAGED[1..]);
        }
        let mut room = self.restored_bytes(&container);
        if source.rarely(8) && room > 0 {
            room = usize::from(source.byte()) * room / 256;
            if container.damaged || right.len() > 1 { right.push(SMALL) } else { wrong.push(SMALL) }
        }
        let mut r = Regions::new(&container.bytes, room, source, &mut wrong);
        if source.rarely(24) && !container.bytes.is_empty() {
            // Cut off, it is damaged.
            let cut = (1 + u64::from(source.byte())).min(r.given.1);
            r.given.1 -= cut;
            wrong.extend(&DAMAGED[1..]);
        }
        if !wrong.is_empty() {
            wrong.extend(&right[1..]);
        }
        r.stray(&space, source, &mut wrong);
        let (src, src_bytes, dst, room) = r.given;
        let status = unsafe {
            fz_decompress(handle, space.handle, src.cast(), src_bytes, dst.cast(), room, r.place.pointer())
        };
        let done = self.judge.call("fz_decompress", status, &wrong, &right);
        let bytes = r.written(&container.bytes, done, r.dst.get().len());
        if done {
            let restored = r.dst.get()[..bytes].to_vec();
            self.containers[c].comes_back(&restored);
        }
    }

    /// The length of the array as the container states it.
    fn restored_bytes(&mut self, container: &Container) -> usize {
        if container.damaged || !container.padded {
            return container.array.len();
        }
        self.described(container).original_bytes as usize
    }

    pub(super) fn decompress_region(&mut self, source: &mut Source) {
        let Some(c) = one(&self.containers, source) else { return };
        let container = self.containers[c].clone();
        if container.padded {
            return;
        }
        let dims = &container.shape.dims;
        let mut origin: Vec<u64> = dims.iter().map(|d| u64::from(source.byte()) % (d + 1)).collect();
        let mut extent: Vec<u64> =
            dims.iter().zip(&origin).map(|(d, o)| u64::from(source.byte()) % (d - o + 1)).collect();
        let (mut wrong, mut right) = (vec![], vec![OK]);
        let mut ndim = dims.len() as u32;
        let expected = container.restored.as_ref().map(|whole| cut(&container, &origin, &extent, whole));
        let length = (extent.iter().product::<u64>() * container.shape.dtype.bytes()) as usize;
        let mut room = length;
        match source.mistake(5) {
            1 => (ndim, _) = (*source.pick(&[0, FZ_MAX_DIMS + 1]), wrong.push(ARGUMENT)),
            2 => (extent[0], _) = (dims[0] - origin[0] + 1, wrong.push(ARGUMENT)),
            3 => (origin[0], _) = (u64::MAX, wrong.push(ARGUMENT)),
            4 if length > 0 => (room, _) = (length - 1, wrong.push(SMALL)),
            5 if dims.len() > 1 => (ndim, _) = (1, wrong.push(ARGUMENT)),
            _ => {}
        }
        if container.damaged {
            // The array may be said to be another one.
            right.extend(DAMAGED.iter().chain(&[ARGUMENT]));
        }
        let r = Regions::new(&container.bytes, room, source, &mut wrong);
        let origin_at = if source.rarely(32) { (ptr::null(), wrong.push(NULL)).0 } else { origin.as_ptr() };
        if !wrong.is_empty() {
            wrong.extend(&right[1..]);
            if container.damaged {
                wrong.push(OK);
            }
        }
        let (src, src_bytes, dst, room) = r.given;
        let status = unsafe {
            fz_decompress_region(
                src.cast(),
                src_bytes,
                origin_at,
                extent.as_ptr(),
                ndim,
                dst.cast(),
                room,
                r.place.pointer(),
            )
        };
        let done = self.judge.call("fz_decompress_region", status, &wrong, &right);
        let bytes = r.written(&container.bytes, done, r.dst.get().len());
        if done && !container.damaged {
            assert_eq!(bytes, length, "a box of another length");
            assert!(
                expected.is_none_or(|e| r.dst.get()[..bytes] == e),
                "a box is another one than in the whole"
            );
        }
    }

    pub(super) fn decompress_preview(&mut self, source: &mut Source) {
        let Some(c) = one(&self.containers, source) else { return };
        let container = self.containers[c].clone();
        if container.padded {
            return;
        }
        let mut step = 1u64 << (source.byte() % 64);
        let dims = &container.shape.dims;
        let extent: Vec<u64> = dims.iter().map(|d| d.div_ceil(step)).collect();
        let length = (extent.iter().product::<u64>() * container.shape.dtype.bytes()) as usize;
        let (mut wrong, mut right, mut room) = (vec![], vec![OK], length);
        match source.mistake(2) {
            1 => (step, _) = (*source.pick(&[0, 3, u64::MAX]), wrong.push(ARGUMENT)),
            2 if length > 0 => (room, _) = (length - 1, wrong.push(SMALL)),
            _ => {}
        }
        if container.damaged {
            right.extend(DAMAGED[1..].iter().chain(&[TRUNCATED]));
        }
        let mut r = Regions::new(&container.bytes, room, source, &mut wrong);
        if source.rarely(8) && !container.bytes.is_empty() {
            // Its front suffices, or does not.
            r.given.1 -= (1 + u64::from(source.byte())).min(r.given.1);
            right.extend([TRUNCATED, NO_CONTAINER]);
        }
        if !wrong.is_empty() {
            wrong.extend(&right[1..]);
            if container.damaged {
                wrong.push(OK);
            }
        }
        let (src, src_bytes, dst, room) = r.given;
        let place = r.place.pointer();
        let status = unsafe { fz_decompress_preview(src.cast(), src_bytes, step, dst.cast(), room, place) };
        let done = self.judge.call("fz_decompress_preview", status, &wrong, &right);
        let bytes = r.written(&container.bytes, done, r.dst.get().len());
        let whole = container.restored.as_ref().filter(|_| done && !container.damaged && step == 1);
        assert!(
            whole.is_none_or(|w| r.dst.get()[..bytes] == w[..]),
            "all of an array is another as a preview"
        );
    }
}

/// A region of the whole array.
fn cut(container: &Container, origin: &[u64], extent: &[u64], whole: &[u8]) -> Vec<u8> {
    let width = container.shape.dtype.bytes() as usize;
    let at = |v: &[u64], d: usize, missing| v.get(d).copied().unwrap_or(missing) as usize;
    let dim = |d| at(&container.shape.dims, d, 1);
    let mut part = vec![];
    for z in 0..at(extent, 2, 1) {
        for y in 0..at(extent, 1, 1) {
            let row = ((z + at(origin, 2, 0)) * dim(1) + y + at(origin, 1, 0)) * dim(0) + at(origin, 0, 0);
            part.extend_from_slice(&whole[row * width..(row + at(extent, 0, 1)) * width]);
        }
    }
    part
}

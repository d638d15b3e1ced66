//! Arrays with gaps: the interior of a grid, as a source and as a destination.

use super::judge::*;
use super::source::Source;
use super::{World, one};
use fzgm::capi::*;
use std::ptr;

/// A grid with ghost cells around an array, and the view of the array.
struct Grid {
    memory: Vec<u8>,
    /// Offsets of the elements in the memory, in the order of the packed array.
    places: Vec<usize>,
    width: usize,
    view: Box<fz_view>,
}

impl Grid {
    fn new(dtype: fzgm::DType, dims: &[u64], source: &mut Source) -> Grid {
        let width = dtype.bytes() as usize;
        let (mut stride, mut origin) = (1i64, 0i64);
        let (mut all, mut strides) = ([0; FZ_MAX_DIMS as usize], [0; FZ_MAX_DIMS as usize]);
        for (d, &length) in dims.iter().enumerate() {
            let (before, after) = (source.below(3) as i64, source.below(3) as i64);
            all[d] = length;
            let back = source.rarely(4) && length > 0;
            strides[d] = if back { -stride } else { stride };
            origin += stride * (before + if back { length as i64 - 1 } else { 0 });
            stride *= before + length as i64 + after;
        }
        let count = dims.iter().product::<u64>();
        let place = |mut index: u64| {
            let steps = dims.iter().zip(strides).map(|(d, s)| {
                let i = index % d;
                index /= d;
                i as i64 * s
            });
            (origin + steps.sum::<i64>()) as usize * width
        };
        let places = (0..count).map(place).collect();
        let mut memory = vec![UNTOUCHED; stride.max(1) as usize * width];
        // Without elements the origin may be anywhere.
        let at = memory.as_mut_ptr().wrapping_add(origin as usize * width);
        let view = fz_view {
            struct_bytes: size_of::<fz_view>() as u32,
            dtype: dtype as i32,
            ndim: dims.len() as u32,
            reserved: 0,
            origin: at.cast(),
            dims: all,
            strides,
        };
        Grid { memory, places, width, view: Box::new(view) }
    }

    fn put(&mut self, array: &[u8]) {
        for (place, element) in self.places.iter().zip(array.chunks(self.width)) {
            self.memory[*place..*place + self.width].copy_from_slice(element);
        }
    }

    /// The elements; all other memory must be untouched.
    fn take(&mut self) -> Vec<u8> {
        let mut array = vec![];
        for place in &self.places {
            let element = &mut self.memory[*place..*place + self.width];
            array.extend_from_slice(element);
            element.fill(UNTOUCHED);
        }
        assert!(self.memory.iter().all(|b| *b == UNTOUCHED), "a ghost cell is written");
        array
    }

    /// Good, or with a mistake of four.
    fn pointer(&mut self, mistake: u8, wrong: &mut Vec<i32>) -> *const fz_view {
        match mistake {
            1 => return (ptr::null(), wrong.push(NULL)).0,
            2 => (self.view.struct_bytes, _) = (0, wrong.push(ARGUMENT)),
            3 => (self.view.ndim, _) = (0, wrong.push(ARGUMENT)),
            // One element more may also share its place with the next row.
            4 => (self.view.dims[0], _) = (self.view.dims[0] + 1, wrong.extend([MISMATCH, ARGUMENT])),
            _ => {}
        }
        &raw const *self.view
    }
}

impl World {
    /// Asynchronous calls without a GPU: each reports that there is none, or another error of the call.
    pub(super) fn device_views(&mut self, source: &mut Source) {
        let Some(p) = one(&self.plans, source) else { return };
        let (plan, id) = (self.plans[p].handle.cast_const(), self.plans[p].id);
        // A plan of the other direction, an array of another type or length, scratch memory that is too small.
        let mut wrong = vec![NO_DEVICE, NULL, ARGUMENT, MISMATCH, UNSUPPORTED];
        let space = self.space_for(Some(id), source, &mut wrong);
        let dtype = fzgm::DType::ALL[source.below(fzgm::DType::ALL.len())];
        let mut grid = Grid::new(dtype, &[1 + source.below(9) as u64], source);
        let view = grid.pointer(source.mistake(4), &mut wrong);
        let (mut other, mut scratch) = ([0u64; 8], [0u64; 8]);
        let (at, to, bytes) = (other.as_mut_ptr().cast(), scratch.as_mut_ptr().cast(), 64);
        let (result, stream) = (ptr::null_mut(), ptr::null_mut());
        let (function, status) = unsafe {
            match source.below(2) {
                0 => (
                    "fz_compress_view_async",
                    fz_compress_view_async(plan, space.handle, view, to, bytes, at, bytes, result, stream),
                ),
                _ => (
                    "fz_decompress_view_async",
                    fz_decompress_view_async(plan, space.handle, at, bytes, view, to, bytes, result, stream),
                ),
            }
        };
        self.judge.call(function, status, &wrong, &[]);
        assert!(other == [0; 8] && scratch == [0; 8], "a call without a GPU writes something");
        grid.take();
    }

    pub(super) fn views(&mut self, source: &mut Source) {
        let Some(c) = one(&self.containers, source) else { return };
        let container = self.containers[c].clone();
        if container.padded {
            return;
        }
        let mut grid = Grid::new(container.shape.dtype, &container.shape.dims, source);
        let plan = self.plans.iter().find(|p| p.id == container.family && !container.damaged);
        if let Some(plan) = plan.filter(|_| source.rarely(2)) {
            let (handle, lists) = (plan.handle, plan.known.as_ref().is_none_or(|k| k.lists()));
            grid.put(&container.array);
            let (mut wrong, mut right) = (vec![], vec![OK]);
            right.extend(lists.then_some(OUTLIERS));
            let src = grid.pointer(source.mistake(4), &mut wrong);
            let place = Place::or(source.mistake(2), &mut wrong);
            let mut dst = Bytes::new(container.bytes.len(), source.byte());
            let (to, room) = (dst.pointer::<u8>().cast(), dst.len());
            let status = unsafe { fz_compress_view(handle, ptr::null_mut(), src, to, room, place.pointer()) };
            let done = self.judge.call("fz_compress_view", status, &wrong, &right);
            let bytes = place.take(done);
            assert!(!done || bytes == room && dst.get() == container.bytes, "a view gives other bytes");
            return;
        }
        let mut wrong = vec![];
        let dst = grid.pointer(source.mistake(4), &mut wrong);
        let place = Place::or(source.mistake(2), &mut wrong);
        let right = if container.damaged { DAMAGED } else { &DAMAGED[..1] };
        if container.damaged && !wrong.is_empty() {
            wrong.extend(&DAMAGED[1..]);
        }
        let mut src = Bytes::of(&container.bytes, source.byte());
        let (at, bytes) = (src.pointer::<u8>().cast_const().cast(), src.len());
        let status =
            unsafe { fz_decompress_view(ptr::null(), ptr::null_mut(), at, bytes, dst, place.pointer()) };
        let done = self.judge.call("fz_decompress_view", status, &wrong, right);
        let length = place.take(done);
        let restored = grid.take();
        if !done {
            assert!(restored.iter().all(|b| *b == UNTOUCHED), "a failure writes elements");
        } else if !container.damaged {
            assert_eq!(length, restored.len() as u64);
            self.containers[c].comes_back(&restored);
        }
    }
}

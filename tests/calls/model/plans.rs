//! Calls that make plans.

use super::data::Shape;
use super::judge::*;
use super::source::Source;
use super::{Known, MOST, Plan, World, one};
use fzgm::DType;
use fzgm::capi::*;
use std::ptr;

/// Reasons to reject a plan with options that not every pipeline supports.
const REFUSALS: &[i32] = &[OK, PIPELINE, TYPE, UNSUPPORTED, LARGE, ARGUMENT];

/// Options, and their mistakes.
struct Chosen {
    options: Option<fz_options>,
    wrong: Vec<i32>,
}

impl Chosen {
    fn new(source: &mut Source, judge: &mut Judge) -> Chosen {
        let mut chosen = Chosen { options: None, wrong: vec![] };
        if source.byte() < 96 {
            return chosen;
        }
        let mut options: fz_options = unsafe { std::mem::zeroed() };
        judge.ok("fz_options_init", unsafe { fz_options_init(&mut options) });
        options.container = source.below(2) as i32;
        options.checksum = *source.pick(&[1, 1, 0, 2]);
        options.threads = if source.rarely(16) { 3 } else { 1 };
        (options.strict, options.generation) =
            *source.pick(&[(1, 0), (1, 0), (1, 0), (1, 0), (0, 0), (0, 1), (1, 1)]);
        match source.mistake(9) {
            0 => {}
            1 => chosen.mistake(&mut options.struct_bytes, 0),
            2 => chosen.mistake(&mut options.strict, 2),
            3 => chosen.mistake(&mut options.generation, -1),
            4 => chosen.mistake(&mut options.container, 2),
            5 => chosen.mistake(&mut options.checksum, 3),
            6 => chosen.mistake(&mut options.threads, 1025),
            7 => chosen.mistake(&mut options.device, -3),
            8 => chosen.mistake(&mut options.previous_base, 2),
            _ => (options.device, _) = (0, chosen.wrong.push(NO_DEVICE)),
        }
        chosen.options = Some(options);
        chosen
    }

    fn mistake<T>(&mut self, field: &mut T, value: T) {
        *field = value;
        self.wrong.push(ARGUMENT);
    }

    fn pointer(&self) -> *const fz_options {
        self.options.as_ref().map_or(ptr::null(), ptr::from_ref)
    }

    /// A form that not every pipeline has.
    fn is_usual(&self) -> bool {
        self.options.is_none_or(|o| o.strict == 1 && o.generation == 0)
    }
}

impl World {
    pub(super) fn finalize(&mut self, source: &mut Source) {
        let Some(p) = one(&self.pipelines, source) else { return };
        let known = self.pipelines[p].known.clone();
        let other = *source.pick(&DType::ALL);
        let dtype = known.as_ref().map(|k| k.dtype).filter(|_| !source.rarely(16)).unwrap_or(other);
        let Chosen { mut wrong, options } = Chosen::new(source, &mut self.judge);
        let chosen = Chosen { options, wrong: vec![] };
        let shape = Shape { dtype, dims: Shape::dims_of(source) };
        let (mut numbers, mistake) = (shape.dims.clone(), source.mistake(8));
        numbers.resize(4, 1);
        let place = Place::or(mistake, &mut wrong);
        let mut refuse = |status| wrong.push(status);
        let (mut dims, mut ndim, mut number) = (numbers.as_ptr(), shape.dims.len() as u32, dtype as i32);
        match mistake {
            3 => (ndim, _) = (*source.pick(&[0, FZ_MAX_DIMS + 1, u32::MAX]), refuse(ARGUMENT)),
            4 => (dims, _) = (ptr::null(), refuse(NULL)),
            5 => (dims, _) = (dims.wrapping_byte_add(1), refuse(ARGUMENT)),
            6 => (number, _) = (*source.pick(&[-1, 10]), refuse(ARGUMENT)),
            7 => {
                // More than there are addresses.
                numbers = vec![1 << 62, 1, 1, 1];
                (dims, ndim) = (numbers.as_ptr(), 3);
                [ARGUMENT, LARGE, UNSUPPORTED].into_iter().for_each(&mut refuse);
            }
            _ => {}
        }
        let handle = if mistake == 8 { (ptr::null_mut(), refuse(NULL)).0 } else { self.pipelines[p].handle };
        let usual = chosen.is_usual() && known.as_ref().is_some_and(|k| k.dtype == dtype);
        if known.as_ref().is_some_and(|k| k.mode == "rel" && k.preset != "pfpl") {
            refuse(UNSUPPORTED);
        }
        if mistake == 7 && !usual {
            wrong.extend(&REFUSALS[1..]);
        }
        let right = if usual { &REFUSALS[..1] } else { REFUSALS };
        if !wrong.is_empty() && !usual {
            // An error of the pipeline may be reported first.
            wrong.extend(&REFUSALS[1..]);
        }
        let status =
            unsafe { fz_pipeline_finalize(handle, number, dims, ndim, chosen.pointer(), place.pointer()) };
        if !self.judge.call("fz_pipeline_finalize", status, &wrong, right) {
            place.take(false);
            return;
        }
        let id = self.identity();
        let strict = chosen.options.is_none_or(|o| o.strict == 1);
        let padded = chosen.options.is_some_and(|o| o.strict == 0 && o.generation == 1);
        let known = known.filter(|k| k.dtype == dtype);
        self.plan(
            &place,
            Plan {
                id,
                family: id,
                encoder: true,
                every: true,
                shape: Some(shape),
                known,
                strict,
                padded,
                handle: ptr::null_mut(),
            },
        );
    }

    fn plan(&mut self, place: &Place, plan: Plan) {
        self.plans.push(Plan { handle: place.take(true) as usize as *mut fz_plan, ..plan });
        if self.plans.len() > MOST {
            // Workspaces of it stay, to be freed.
            let oldest = self.plans.remove(0);
            unsafe { fz_plan_free(oldest.handle) };
        }
    }

    pub(super) fn plan_decoder(&mut self, source: &mut Source) {
        let Some(p) = one(&self.plans, source) else { return };
        let Plan { handle, family, encoder, strict, padded, .. } = self.plans[p];
        let (mistake, mut wrong) = (source.mistake(3), vec![]);
        let place = Place::or(mistake, &mut wrong);
        if !encoder {
            wrong.push(ARGUMENT);
        }
        let given = if mistake == 3 { (ptr::null(), wrong.push(NULL)).0 } else { handle.cast_const() };
        let status = unsafe { fz_plan_decoder(given, place.pointer()) };
        if !self.judge.call("fz_plan_decoder", status, &wrong, &[OK]) {
            place.take(false);
            return;
        }
        let (shape, known): (Option<Shape>, Option<Known>) =
            (self.plans[p].shape.clone(), self.plans[p].known.clone());
        let id = self.identity();
        self.plan(
            &place,
            Plan {
                id,
                family,
                encoder: false,
                every: true,
                shape,
                known,
                strict,
                padded,
                handle: ptr::null_mut(),
            },
        );
    }

    pub(super) fn plan_open(&mut self, source: &mut Source) {
        let Some(c) = one(&self.containers, source) else { return };
        let container = self.containers[c].clone();
        let Chosen { mut wrong, mut options } = Chosen::new(source, &mut self.judge);
        if container.damaged {
            // A container may require any amount of memory.
            let mut limited: fz_options = unsafe { std::mem::zeroed() };
            self.judge.ok("fz_options_init", unsafe { fz_options_init(&mut limited) });
            options.get_or_insert(limited).max_memory_bytes = MOST_BYTES_OF_DAMAGED;
        }
        let chosen = Chosen { options, wrong: vec![] };
        let mut bytes = Bytes::of(&container.bytes, source.byte());
        let (mistake, length) = (source.mistake(4), bytes.len());
        let place = Place::or(mistake, &mut wrong);
        let (at, length) = match mistake {
            3 if length > 0 => (ptr::null(), (length, wrong.push(NULL)).0),
            4 => (bytes.pointer::<u8>().cast_const().cast(), (0, wrong.push(NO_CONTAINER)).0),
            _ => (bytes.pointer::<u8>().cast_const().cast(), length),
        };
        let right = if container.damaged { DAMAGED } else { &DAMAGED[..1] };
        if container.damaged && !wrong.is_empty() {
            wrong.extend(&DAMAGED[1..]);
        }
        let status = unsafe { fz_plan_open(at, length, chosen.pointer(), place.pointer()) };
        if !self.judge.call("fz_plan_open", status, &wrong, right) {
            place.take(false);
            return;
        }
        assert!(bytes.get() == container.bytes, "a container that is opened is changed");
        let shape = Some(container.shape).filter(|_| !container.damaged);
        let (id, family) = (self.identity(), if container.damaged { 0 } else { container.family });
        self.plan(
            &place,
            Plan {
                id,
                family,
                encoder: false,
                every: false,
                shape,
                known: None,
                strict: true,
                padded: false,
                handle: ptr::null_mut(),
            },
        );
    }

    pub(super) fn free_plan(&mut self, source: &mut Source) {
        match one(&self.plans, source) {
            Some(p) if self.plans.len() > 2 => {
                let plan = self.plans.remove(p);
                unsafe { fz_plan_free(plan.handle) };
            }
            _ => unsafe { fz_plan_free(ptr::null_mut()) },
        }
    }

    /// The lengths that a plan reports.
    pub(super) fn lengths(&mut self, source: &mut Source) {
        let Some(p) = one(&self.plans, source) else { return };
        let Plan { handle, encoder, .. } = self.plans[p];
        let (mistake, mut wrong) = (source.mistake(3), vec![]);
        let place = Place::or(mistake, &mut wrong);
        let given = if mistake == 3 { (ptr::null(), wrong.push(NULL)).0 } else { handle.cast_const() };
        if source.rarely(2) {
            let status = unsafe { fz_workspace_bytes(given, place.pointer()) };
            place.take(self.judge.call("fz_workspace_bytes", status, &wrong, &[OK]));
            return;
        }
        if !encoder {
            wrong.push(ARGUMENT);
        }
        let status = unsafe { fz_max_compressed_bytes(given, place.pointer()) };
        place.take(self.judge.call("fz_max_compressed_bytes", status, &wrong, &[OK]));
    }
}

/// In addition, a container may require eight times its array.
const MOST_BYTES_OF_DAMAGED: u64 = super::MOST_BYTES;

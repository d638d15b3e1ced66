//! Good arguments for every function, by their meaning.

use crate::batches::Batches;
use crate::steps::Steps;
use fzgm::capi::*;
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An argument as C would put it into a register.
#[derive(Clone, Copy)]
pub(crate) struct Word(pub(crate) u64);

impl<T> From<*const T> for Word {
    fn from(pointer: *const T) -> Word {
        Word(pointer as u64)
    }
}

/// The meaning of an argument. `May…` may be NULL; `New…`, `…Out`, and `Length` are places for results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Is {
    Pipeline,
    Encoder,
    Decoder,
    MayDecoder,
    EncoderSpace,
    MayEncoderSpace,
    DecoderSpace,
    MayDecoderSpace,
    FreshPipeline,
    FreshPlan,
    FreshSpace,
    NewPipeline,
    NewPlan,
    NewSpace,
    Array,
    ArrayBytes,
    /// Bytes of the array, or of none.
    AnyBytes,
    Sink,
    SinkBytes,
    Container,
    ContainerBytes,
    Chunked,
    ChunkedBytes,
    Origin,
    Length,
    Count,
    MayCount,
    /// A place for several lengths.
    Lengths,
    Text,
    TextBytes,
    PresetName,
    StageName,
    PortName,
    RealName,
    IntName,
    WordName,
    WordValue,
    Toml,
    Chain,
    DType,
    Dims,
    Ndim,
    MayOptions,
    OptionsOut,
    Zero,
    One,
    Step,
    AnyStage,
    Direction,
    Status,
    Real,
    /// A real number, or infinity.
    Threshold,
    Whole,
    Described,
    MayDescribed,
    Wish,
    MayResult,
    Stream,
    Buffer,
    BufferBytes,
    Needed,
    Encoders,
    ArrayCount,
    NewBatch,
    NewBatchSpace,
    FreshBatch,
    FreshBatchSpace,
    EncoderBatch,
    DecoderBatch,
    EncoderBatchSpace,
    DecoderBatchSpace,
    Arrays,
    ArraysBytes,
    Containers,
    ContainersBytes,
    Sinks,
    SinksBytes,
    Results,
    NewPath,
    OldPath,
    ChunkedPath,
    View,
    SinkView,
    Series,
    FreshSeries,
    NewSeries,
    SeriesPath,
    NewSeriesPath,
    StepName,
    FirstStep,
    Writer,
    /// With a step that was begun.
    BegunWriter,
    /// With a step whose slabs are written.
    FullWriter,
    FreshWriter,
    NewWriter,
    MayNewName,
    Rows,
}

pub(crate) const UNTOUCHED: u64 = 0xA5A5_A5A5_A5A5_A5A5;

/// One test at a time: another one would reuse the addresses of handles that this one has freed.
static TURN: Mutex<()> = Mutex::new(());

/// Everything that arguments point to.
pub(crate) struct Fixture {
    _turn: MutexGuard<'static, ()>,
    pub(crate) pipeline: *mut fz_pipeline,
    pub(crate) encoder: *mut fz_plan,
    pub(crate) decoder: *mut fz_plan,
    pub(crate) spaces: [*mut fz_workspace; 2],
    array: Vec<f32>,
    container: Vec<u8>,
    /// Of preset fast.
    chunked: Vec<u8>,
    sink: Vec<u8>,
    text: Vec<u8>,
    texts: Vec<CString>,
    dims: [u64; 1],
    options: Box<fz_options>,
    /// Places for results of one word.
    pub(crate) slot: Box<u64>,
    /// A place for any structure, with its length at its beginning.
    pub(crate) described: Box<[u64; 128]>,
    result: Box<fz_result>,
    wish: Box<fz_wish>,
    /// The array, and the memory for results.
    views: [Box<fz_view>; 2],
    /// Views that are rejected, with their mistake.
    pub(crate) wrong_views: Vec<(&'static str, Box<fz_view>)>,
    /// Wishes that are rejected for any array, with their mistake.
    pub(crate) wrong_wishes: Vec<(&'static str, Box<fz_wish>)>,
    buffer: Vec<u8>,
    /// Written on one failure too.
    needed: Box<u64>,
    pub(crate) batches: Batches,
    paths: [CString; 3],
    pub(crate) steps: Steps,
}

pub(crate) fn ok(status: i32) {
    assert_eq!(status, 0, "{}", last_error());
}

pub(crate) fn last_error() -> String {
    unsafe { std::ffi::CStr::from_ptr(fz_last_error()) }.to_string_lossy().into_owned()
}

pub(crate) fn pipeline() -> *mut fz_pipeline {
    let mut pipeline = ptr::null_mut();
    ok(unsafe { fz_pipeline_from_preset(c"pfpl".as_ptr(), 8, &mut pipeline) });
    pipeline
}

/// Two stages that nothing connects yet.
fn unconnected() -> *mut fz_pipeline {
    let mut pipeline = ptr::null_mut();
    ok(unsafe { fz_pipeline_new(&mut pipeline) });
    for stage in [c"quantizer", c"rze"] {
        ok(unsafe { fz_pipeline_add_stage(pipeline, stage.as_ptr(), ptr::null_mut()) });
    }
    pipeline
}

/// A pipeline within a bound of 1e-3.
pub(crate) fn wish() -> fz_wish {
    fz_wish {
        struct_bytes: size_of::<fz_wish>() as u32,
        goal: fz_goal::FZ_GOAL_BALANCED as i32,
        mode: fz_mode::FZ_MODE_ABS as i32,
        reserved: 0,
        bound: 1e-3,
        target_ratio: 0.0,
        target_psnr: 0.0,
        outlier_threshold: 0.0,
    }
}

fn wrong_wishes() -> Vec<(&'static str, Box<fz_wish>)> {
    let good = wish();
    let target = fz_wish { bound: 0.0, ..good };
    let lossless = fz_wish { mode: fz_mode::FZ_MODE_LOSSLESS as i32, ..good };
    let wrong = [
        ("wish.struct_bytes 0", fz_wish { struct_bytes: 0, ..good }),
        ("wish.struct_bytes - 1", fz_wish { struct_bytes: good.struct_bytes - 1, ..good }),
        ("wish.struct_bytes + 1", fz_wish { struct_bytes: good.struct_bytes + 1, ..good }),
        ("wish.struct_bytes 2^32 - 1", fz_wish { struct_bytes: u32::MAX, ..good }),
        ("wish.goal -1", fz_wish { goal: -1, ..good }),
        ("wish.goal 3", fz_wish { goal: 3, ..good }),
        ("wish.mode -2", fz_wish { mode: -2, ..good }),
        ("wish.mode 4", fz_wish { mode: 4, ..good }),
        ("wish.reserved 1", fz_wish { reserved: 1, ..good }),
        ("wish.bound NaN", fz_wish { bound: f64::NAN, ..good }),
        ("wish.bound 0", fz_wish { bound: 0.0, ..good }),
        ("wish.bound -1", fz_wish { bound: -1.0, ..good }),
        ("wish.bound infinity", fz_wish { bound: f64::INFINITY, ..good }),
        ("a lossless wish with a bound", lossless),
        ("wish.target_ratio NaN", fz_wish { target_ratio: f64::NAN, ..target }),
        ("wish.target_ratio 0.5", fz_wish { target_ratio: 0.5, ..target }),
        ("wish.target_ratio 1e7", fz_wish { target_ratio: 1e7, ..target }),
        ("wish.target_psnr NaN", fz_wish { target_psnr: f64::NAN, ..target }),
        ("wish.target_psnr -1", fz_wish { target_psnr: -1.0, ..target }),
        ("wish.target_psnr 301", fz_wish { target_psnr: 301.0, ..target }),
        ("a ratio and a bound", fz_wish { target_ratio: 8.0, ..good }),
        ("a PSNR and a bound", fz_wish { target_psnr: 60.0, ..good }),
        ("a ratio and a PSNR", fz_wish { target_ratio: 8.0, target_psnr: 60.0, ..target }),
        ("wish.outlier_threshold NaN", fz_wish { outlier_threshold: f64::NAN, ..good }),
        ("wish.outlier_threshold -1", fz_wish { outlier_threshold: -1.0, ..good }),
    ];
    wrong.map(|(what, wish)| (what, Box::new(wish))).into()
}

/// A view of the array of 5000 elements, whose origin is filled in later.
fn view() -> fz_view {
    fz_view {
        struct_bytes: size_of::<fz_view>() as u32,
        dtype: 8,
        ndim: 1,
        reserved: 0,
        origin: ptr::null_mut(),
        dims: [5000, 0, 0, 0, 0, 0, 0, 0],
        strides: [1, 0, 0, 0, 0, 0, 0, 0],
    }
}

/// Memory for all of these views to lie in.
static VIEWED: [u64; 2500] = [0; 2500];

fn strided(mut view: fz_view, stride: i64) -> fz_view {
    view.strides[0] = stride;
    view
}

fn wrong_views() -> Vec<(&'static str, Box<fz_view>)> {
    let good = fz_view { origin: (&raw const VIEWED).cast_mut().cast(), ..view() };
    let wrong = [
        ("view.struct_bytes 0", fz_view { struct_bytes: 0, ..good }),
        ("view.struct_bytes + 1", fz_view { struct_bytes: good.struct_bytes + 1, ..good }),
        ("view.dtype -1", fz_view { dtype: -1, ..good }),
        ("view.dtype 10", fz_view { dtype: 10, ..good }),
        ("view.ndim 0", fz_view { ndim: 0, ..good }),
        ("view.ndim 9", fz_view { ndim: 9, ..good }),
        ("view.ndim 2^32 - 1", fz_view { ndim: u32::MAX, ..good }),
        ("view.reserved 1", fz_view { reserved: 1, ..good }),
        ("view.dims of 2^60", fz_view { dims: [1 << 60; 8], ..good }),
        ("a stride of 2^62", strided(good, 1 << 62)),
        ("a stride of -2^63", strided(good, i64::MIN)),
        ("a stride that wraps below 0", strided(good, -(1 << 46))),
    ];
    wrong.map(|(what, view)| (what, Box::new(view))).into()
}

/// The start of a region that is the whole array.
static ORIGIN: [u64; 1] = [0];

fn chunked(array: &[f32]) -> Vec<u8> {
    let src: Vec<u8> = array.iter().flat_map(|x| x.to_le_bytes()).collect();
    let shape = fzgm::Array::new(fzgm::DType::F32, &[array.len() as u64]).unwrap();
    let fast = fzgm::preset("fast", fzgm::DType::F32).unwrap();
    fzgm::compress(&fast, &shape, &fzgm::Options::default(), &src).unwrap()
}

/// A file of this process.
fn path(name: &str) -> CString {
    let name = format!("fzgm-abi-{}-{name}.fzm", std::process::id());
    CString::new(std::env::temp_dir().join(name).to_str().unwrap()).unwrap()
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // Calls on a GPU are tested by tests/cuda_calls.rs; here only the arguments count.
        unsafe { std::env::set_var("FZGM_DISABLE_CUDA", "1") };
        let array: Vec<f32> = (0..5000).map(|i| (i as f32 * 1e-2).sin()).collect();
        let dims = [array.len() as u64];
        let mut options = Box::new(unsafe { std::mem::zeroed::<fz_options>() });
        ok(unsafe { fz_options_init(&mut *options) });
        let texts = ["pfpl", "rze", "codes", "error_bound", "quant_radius", "mode", "noa"];
        let toml = "[[stage]]\nname = \"s\"\ntype = \"Difference\"\n";
        let texts = texts.into_iter().chain([toml, "difference > rze"]).map(|t| CString::new(t).unwrap());
        let chunked = chunked(&array);
        let mut fixture = Fixture {
            _turn: turn,
            steps: Steps::new(&chunked, dims[0]),
            pipeline: pipeline(),
            encoder: ptr::null_mut(),
            decoder: ptr::null_mut(),
            spaces: [ptr::null_mut(); 2],
            container: vec![],
            chunked,
            sink: vec![0; 100_000],
            text: vec![0; 10_000],
            texts: texts.collect(),
            array,
            dims,
            options,
            slot: Box::new(UNTOUCHED),
            described: Box::new([0; 128]),
            result: Box::new(unsafe { std::mem::zeroed() }),
            wish: Box::new(wish()),
            views: [0, 0].map(|_| Box::new(view())),
            wrong_views: wrong_views(),
            wrong_wishes: wrong_wishes(),
            buffer: vec![0; 1_000_000],
            needed: Box::new(0),
            batches: Batches::default(),
            paths: ["new", "old", "chunked"].map(path),
        };
        fixture.encoder = fixture.plan();
        ok(unsafe { fz_plan_decoder(fixture.encoder, &mut fixture.decoder) });
        fixture.spaces = [fixture.encoder, fixture.decoder].map(|plan| fixture.space(plan));
        let (mut container, mut bytes) = (vec![0; 100_000], 0);
        let (src, len) = (fixture.array.as_ptr().cast(), 4 * fixture.dims[0]);
        let made = unsafe {
            fz_compress(
                fixture.encoder,
                ptr::null_mut(),
                src,
                len,
                container.as_mut_ptr().cast(),
                100_000,
                &mut bytes,
            )
        };
        ok(made);
        container.truncate(bytes as usize);
        std::fs::write(fixture.paths[1].to_str().unwrap(), &container).unwrap();
        std::fs::write(fixture.paths[2].to_str().unwrap(), &fixture.chunked).unwrap();
        fixture.container = container;
        let (array, container) = (&fixture.array, &fixture.container);
        fixture.batches = Batches::new(fixture.encoder, fixture.decoder, array, container);
        fixture
    }

    /// A handle of each kind that has just been freed: its address may be taken again soon.
    pub(crate) fn freed(&self) -> [u64; 7] {
        let (p, plan) = (pipeline(), self.plan());
        let space = self.space(plan);
        let batch = self.batches.plan();
        let batch_space = self.batches.space(batch);
        unsafe { (fz_pipeline_free(p), fz_workspace_free(space), fz_plan_free(plan)) };
        unsafe { (fz_batch_workspace_free(batch_space), fz_batch_plan_free(batch)) };
        let [series, writer] = self.steps.freed();
        [p as u64, plan as u64, space as u64, batch as u64, batch_space as u64, series, writer]
    }

    /// A handle of each kind, in the order of [`Fixture::freed`].
    pub(crate) fn live(&self) -> [u64; 7] {
        let Batches { plans, spaces, .. } = &self.batches;
        let (pipeline, plan, space) = (self.pipeline as u64, self.encoder as u64, self.spaces[0] as u64);
        let (series, writer) = (self.steps.series as u64, self.steps.writer as u64);
        [pipeline, plan, space, plans[0] as u64, spaces[0] as u64, series, writer]
    }

    fn plan(&self) -> *mut fz_plan {
        let mut plan = ptr::null_mut();
        ok(unsafe { fz_pipeline_finalize(self.pipeline, 8, self.dims.as_ptr(), 1, ptr::null(), &mut plan) });
        plan
    }

    fn space(&self, plan: *const fz_plan) -> *mut fz_workspace {
        let mut space = ptr::null_mut();
        ok(unsafe { fz_workspace_new(plan, &mut space) });
        space
    }

    fn text_of(&self, index: usize) -> Word {
        self.texts[index].as_ptr().into()
    }

    fn view_at(&mut self, index: usize) -> Word {
        self.views[index].origin = match index {
            0 => self.array.as_mut_ptr().cast(),
            _ => self.sink.as_mut_ptr().cast(),
        };
        (&raw const *self.views[index]).into()
    }

    /// An argument that the function takes.
    pub(crate) fn good(&mut self, is: Is, struct_bytes: u32) -> Word {
        match is {
            Is::Pipeline => self.pipeline.cast_const().into(),
            Is::Encoder => self.encoder.cast_const().into(),
            Is::Decoder | Is::MayDecoder => self.decoder.cast_const().into(),
            Is::EncoderSpace | Is::MayEncoderSpace => self.spaces[0].cast_const().into(),
            Is::DecoderSpace | Is::MayDecoderSpace => self.spaces[1].cast_const().into(),
            Is::FreshPipeline => unconnected().cast_const().into(),
            Is::FreshPlan => self.plan().cast_const().into(),
            Is::FreshSpace => self.space(self.encoder).cast_const().into(),
            Is::NewBatch
            | Is::NewBatchSpace
            | Is::NewSeries
            | Is::NewWriter
            | Is::NewPipeline
            | Is::NewPlan
            | Is::NewSpace
            | Is::Length
            | Is::Count
            | Is::MayCount => {
                *self.slot = UNTOUCHED;
                (&raw const *self.slot).into()
            }
            Is::Array => self.array.as_ptr().into(),
            Is::ArrayBytes | Is::AnyBytes => Word(4 * self.dims[0]),
            Is::Sink => self.sink.as_ptr().into(),
            Is::SinkBytes => Word(self.sink.len() as u64),
            Is::Container => self.container.as_ptr().into(),
            Is::ContainerBytes => Word(self.container.len() as u64),
            Is::Chunked => self.chunked.as_ptr().into(),
            Is::ChunkedBytes => Word(self.chunked.len() as u64),
            Is::Origin => ORIGIN.as_ptr().into(),
            Is::Text => self.text.as_ptr().cast::<c_char>().into(),
            Is::TextBytes => Word(self.text.len() as u64),
            Is::PresetName => self.text_of(0),
            Is::StageName => self.text_of(1),
            Is::PortName => self.text_of(2),
            Is::RealName => self.text_of(3),
            Is::IntName => self.text_of(4),
            Is::WordName => self.text_of(5),
            Is::WordValue => self.text_of(6),
            Is::Toml => self.text_of(7),
            Is::Chain => self.text_of(8),
            Is::DType => Word(8),
            Is::Dims => self.dims.as_ptr().into(),
            Is::MayOptions => (&raw const *self.options).into(),
            Is::Lengths => self.described.as_ptr().into(),
            Is::Wish => (&raw const *self.wish).into(),
            Is::View => self.view_at(0),
            Is::SinkView => self.view_at(1),
            Is::OptionsOut | Is::Described | Is::MayDescribed => {
                self.described.fill(UNTOUCHED);
                let length = UNTOUCHED & !u64::from(u32::MAX) | u64::from(struct_bytes);
                self.described[0] = length;
                self.described.as_ptr().into()
            }
            Is::Ndim | Is::One | Is::Step | Is::Direction => Word(1),
            Is::Zero | Is::AnyStage | Is::Status | Is::Stream => Word(0),
            Is::Real | Is::Threshold => Word(1e-3f64.to_bits()),
            Is::Whole => Word(1024),
            Is::Buffer => self.buffer.as_ptr().into(),
            Is::BufferBytes => Word(self.buffer.len() as u64),
            Is::Needed => (&raw const *self.needed).into(),
            Is::NewPath => self.paths[0].as_ptr().into(),
            Is::OldPath => self.paths[1].as_ptr().into(),
            Is::ChunkedPath => self.paths[2].as_ptr().into(),
            Is::MayResult => (&raw const *self.result).into(),
            other => self.steps.good(other).unwrap_or_else(|| self.batches.good(other)),
        }
    }

    /// Frees the object that a successful call put into the slot.
    pub(crate) fn clear(&mut self, is: Is) {
        let made = *self.slot as usize;
        match is {
            Is::NewPipeline => unsafe { fz_pipeline_free(made as *mut fz_pipeline) },
            Is::NewPlan => unsafe { fz_plan_free(made as *mut fz_plan) },
            Is::NewSpace => unsafe { fz_workspace_free(made as *mut fz_workspace) },
            Is::NewSeries => unsafe { fz_series_free(made as *mut fz_series) },
            Is::NewWriter => unsafe { fz_series_writer_free(made as *mut fz_series_writer) },
            Is::NewBatch => unsafe { fz_batch_plan_free(made as *mut fz_batch_plan) },
            Is::NewBatchSpace => unsafe { fz_batch_workspace_free(made as *mut fz_batch_workspace) },
            _ => {}
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = std::fs::remove_file(path.to_str().unwrap());
        }
        unsafe {
            self.batches.free();
            self.steps.free();
            self.spaces.iter().for_each(|space| fz_workspace_free(*space));
            fz_plan_free(self.decoder);
            fz_plan_free(self.encoder);
            fz_pipeline_free(self.pipeline);
        }
    }
}

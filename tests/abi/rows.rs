//! One row for each function of the header: its call, and the meaning of its arguments.

use crate::fixture::{Is, Word};
use fzgm::capi::*;
use std::ffi::c_char;

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'static [Is],
    /// Its status, if it returns one.
    pub(crate) call: fn(&[Word]) -> Option<i32>,
    /// The call needs a GPU, and reports it if all arguments are good.
    pub(crate) gpu: bool,
}

/// A register as the type of a parameter.
trait Argument {
    fn of(word: &Word) -> Self;
}

impl<T> Argument for *const T {
    fn of(word: &Word) -> Self {
        word.0 as usize as *const T
    }
}

impl<T> Argument for *mut T {
    fn of(word: &Word) -> Self {
        word.0 as usize as *mut T
    }
}

impl Argument for f64 {
    fn of(word: &Word) -> Self {
        f64::from_bits(word.0)
    }
}

macro_rules! whole {
    ($($t:ty)*) => { $(impl Argument for $t {
        fn of(word: &Word) -> Self { word.0 as $t }
    })* };
}
whole!(u32 i32 u64 i64);

/// The result of a function.
trait Answer {
    fn status(self) -> Option<i32>;
}

impl Answer for i32 {
    fn status(self) -> Option<i32> {
        Some(self)
    }
}

impl Answer for () {
    fn status(self) -> Option<i32> {
        None
    }
}

impl Answer for u32 {
    fn status(self) -> Option<i32> {
        None
    }
}

/// Static text.
impl Answer for *const c_char {
    fn status(self) -> Option<i32> {
        assert!(!self.is_null());
        None
    }
}

macro_rules! rows {
    ($($name:ident($($is:ident),*) $($gpu:ident)?;)*) => {
        &[$(Row {
            name: stringify!($name),
            arguments: &[$(Is::$is),*],
            call: |_words| {
                let mut _words = _words.iter();
                #[allow(unused_unsafe)]
                let answer = unsafe { $name($({ let _ = Is::$is; Argument::of(_words.next().unwrap()) }),*) };
                answer.status()
            },
            gpu: !matches!(stringify!($($gpu)?).as_bytes(), b""),
        }),*]
    };
}

pub(crate) const ROWS: &[Row] = rows! {
    fz_version();
    fz_abi_version();
    fz_build_info();
    fz_strerror(Status);
    fz_last_error();
    fz_pipeline_new(NewPipeline);
    fz_pipeline_from_preset(PresetName, DType, NewPipeline);
    fz_pipeline_free(FreshPipeline);
    fz_pipeline_add_stage(FreshPipeline, StageName, MayCount);
    fz_pipeline_connect(FreshPipeline, Zero, PortName, One);
    fz_pipeline_set_double(Pipeline, AnyStage, RealName, Real);
    fz_pipeline_set_int(Pipeline, AnyStage, IntName, Whole);
    fz_pipeline_set_string(Pipeline, AnyStage, WordName, WordValue);
    fz_pipeline_from_toml(Toml, NewPipeline);
    fz_pipeline_from_text(Chain, NewPipeline);
    fz_pipeline_to_toml(Pipeline, Text, TextBytes, Length);
    fz_pipeline_to_text(Pipeline, Text, TextBytes, Length);
    fz_stage_count(Count);
    fz_stage_info(Zero, Described);
    fz_stage_port(Zero, Direction, Zero, Described);
    fz_stage_parameter(Zero, Zero, Described);
    fz_preset_count(Count);
    fz_preset_info(Zero, Described);
    fz_pipeline_stage_count(Pipeline, Count);
    fz_pipeline_stage_info(Pipeline, Zero, Described);
    fz_pipeline_stage_port(Pipeline, Zero, Direction, Zero, Described);
    fz_pipeline_stage_parameter(Pipeline, Zero, Zero, Described);
    fz_options_init(OptionsOut);
    fz_pipeline_finalize(Pipeline, DType, Dims, Ndim, MayOptions, NewPlan);
    fz_plan_decoder(Encoder, NewPlan);
    fz_plan_open(Container, ContainerBytes, MayOptions, NewPlan);
    fz_plan_free(FreshPlan);
    fz_max_compressed_bytes(Encoder, Length);
    fz_workspace_bytes(Encoder, Length);
    fz_workspace_new(Encoder, NewSpace);
    fz_workspace_from_buffer(Encoder, Buffer, BufferBytes, NewSpace);
    fz_workspace_free(FreshSpace);
    fz_compress(Encoder, MayEncoderSpace, Array, ArrayBytes, Sink, SinkBytes, Length);
    fz_decompress(MayDecoder, MayDecoderSpace, Container, ContainerBytes, Sink, SinkBytes, Length);
    fz_decompress_region(Chunked, ChunkedBytes, Origin, Dims, Ndim, Sink, SinkBytes, Length);
    fz_decompress_preview(Container, ContainerBytes, Step, Sink, SinkBytes, Length);
    fz_decompress_box(Chunked, ChunkedBytes, Origin, Dims, Ndim, Sink, SinkBytes, Length);
    fz_compress_view(Encoder, MayEncoderSpace, View, Sink, SinkBytes, Length);
    fz_decompress_view(MayDecoder, MayDecoderSpace, Container, ContainerBytes, SinkView, Length);
    fz_compress_simple(PresetName, DType, Dims, Ndim, Zero, Real, Array, ArrayBytes, Sink, SinkBytes, Length);
    fz_find_fill_value(DType, Array, AnyBytes, Threshold, Described);
    fz_pipeline_choose(Wish, DType, Dims, Ndim, Array, ArrayBytes, NewPipeline, MayDescribed);
    fz_device_count(Count) gpu;
    fz_device_info(Zero, Described) gpu;
    fz_plan_preload(Encoder, EncoderSpace, Stream) gpu;
    fz_compress_async(Encoder, EncoderSpace, Array, ArrayBytes, Sink, SinkBytes, MayResult, Stream) gpu;
    fz_decompress_async(Decoder, DecoderSpace, Container, ContainerBytes, Sink, SinkBytes, MayResult, Stream) gpu;
    fz_compress_view_async(Encoder, EncoderSpace, View, Buffer, BufferBytes, Sink, SinkBytes, MayResult, Stream) gpu;
    fz_decompress_view_async(Decoder, DecoderSpace, Container, ContainerBytes, SinkView, Buffer, BufferBytes, MayResult, Stream) gpu;
    fz_batch_plan_new(Encoders, ArrayCount, One, NewBatch);
    fz_batch_plan_free(FreshBatch);
    fz_batch_workspace_bytes(EncoderBatch, Length);
    fz_batch_workspace_new(EncoderBatch, NewBatchSpace);
    fz_batch_workspace_free(FreshBatchSpace);
    fz_compress_batch(EncoderBatch, EncoderBatchSpace, Arrays, ArraysBytes, Sinks, SinksBytes, Results);
    fz_decompress_batch(DecoderBatch, DecoderBatchSpace, Containers, ContainersBytes, Sinks, SinksBytes, Results);
    fz_batch_preload(EncoderBatch, EncoderBatchSpace, Stream) gpu;
    fz_compress_batch_async(EncoderBatch, EncoderBatchSpace, Arrays, Sinks, SinksBytes, Results, Stream) gpu;
    fz_decompress_batch_async(DecoderBatch, DecoderBatchSpace, Containers, ContainersBytes, Sinks, SinksBytes, Results, Stream) gpu;
    fz_container_info(Container, ContainerBytes, Described);
    fz_container_shape(Container, ContainerBytes, Lengths, Count);
    fz_container_info_partial(Container, ContainerBytes, Described, Needed);
    fz_pipeline_from_container(Container, ContainerBytes, NewPipeline);
    fz_compress_file(Encoder, MayEncoderSpace, Array, ArrayBytes, NewPath, Length);
    fz_decompress_file(MayDecoder, MayDecoderSpace, OldPath, Sink, SinkBytes, Length);
    fz_decompress_region_file(ChunkedPath, Origin, Dims, Ndim, Sink, SinkBytes, Length);
    fz_decompress_preview_file(OldPath, Step, Sink, SinkBytes, Length);
    fz_decompress_box_file(ChunkedPath, Origin, Dims, Ndim, Sink, SinkBytes, Length);
    fz_file_info(OldPath, Described);
    fz_series_open(SeriesPath, NewSeries);
    fz_series_free(FreshSeries);
    fz_series_info(Series, Described);
    fz_series_step_info(Series, FirstStep, Described);
    fz_series_find(Series, StepName, Length);
    fz_series_read(Series, FirstStep, MayOptions, Sink, SinkBytes, Length);
    fz_series_read_region(Series, FirstStep, Origin, Dims, Ndim, Sink, SinkBytes, Length);
    fz_series_writer_open(NewSeriesPath, One, NewWriter);
    fz_series_writer_free(FreshWriter);
    fz_series_append(Writer, MayNewName, Encoder, MayEncoderSpace, Array, ArrayBytes, Length);
    fz_series_append_container(Writer, MayNewName, Container, ContainerBytes, Length);
    fz_series_begin(Writer, MayNewName, DType, Dims, Ndim, Rows);
    fz_series_slab(BegunWriter, Container, ContainerBytes);
    fz_series_end(FullWriter, Length);
    fz_series_abandon(BegunWriter);
};

//! One row of a benchmark.

use crate::failure::Failure;
use crate::memory;
use crate::report::{number, optional, ratio, speed};
use crate::request::Request;
use fzgm::metrics::{self, Bound, Metrics};
use fzgm::{Array, Decoder, Encoder, Options};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;

pub(super) struct Row<'a> {
    pub(super) request: Request<'a>,
    pub(super) threads: u32,
    pub(super) ratio: f64,
    /// In GB/s, like `decompress`.
    pub(super) compress: f64,
    pub(super) decompress: f64,
    pub(super) quality: Quality,
}

/// The errors of the restored array.
pub(super) struct Quality {
    metrics: Metrics,
    /// True if the bound holds, or, without a bound, if the bytes are equal.
    pub(super) kept: bool,
}

impl Quality {
    pub(super) fn judge(
        request: &Request<'_>,
        array: &Array,
        src: &[u8],
        restored: &[u8],
    ) -> Result<Quality, Failure> {
        let from_error = |e| Failure::from_error(&e);
        let (mode, eb) = (request.mode.unwrap_or("abs"), request.bound.unwrap_or(0.0));
        // A given value range replaces the range of the array.
        let bound = match request.value_base {
            Some(base) => Bound::from_name("abs", eb * base),
            None => Bound::from_name(mode, eb),
        };
        let threshold = request.threshold.unwrap_or(f64::INFINITY);
        let metrics =
            metrics::compare(array.dtype(), src, restored, Some(bound.map_err(from_error)?), threshold)
                .map_err(from_error)?;
        // An error of 0 does not imply equal bytes, because 0 and -0 differ.
        let kept = metrics.kept() && (request.bound.is_some() || restored == src);
        Ok(Quality { metrics, kept })
    }

    /// The column "worst error / bound".
    pub(super) fn text(&self, request: &Request<'_>) -> String {
        match self.metrics.worst {
            _ if !self.kept => format!("NOT KEPT: {:?}", self.metrics.worst.unwrap_or(f64::INFINITY)),
            Some(worst) if request.bound.is_some() => format!("{worst:.6}"),
            _ => "exact".into(),
        }
    }

    /// The keys that rows of all devices have.
    pub(super) fn json(&self, request: &Request<'_>, ratio: f64) -> Value {
        let m = &self.metrics;
        let mut value = about(request);
        value["ratio"] = number(ratio);
        value["worst_error_over_bound"] = optional(m.worst);
        value["max_abs_error"] = number(m.max_abs_error);
        value["psnr_db"] = number(m.psnr);
        value["kept"] = self.kept.into();
        value
    }
}

/// The keys that identify a row, measured or failed.
pub(super) fn about(request: &Request<'_>) -> Value {
    let (preset, pipeline) = request.start.names();
    json!({
        "preset": preset,
        "pipeline": pipeline,
        "mode": request.mode.unwrap_or("lossless"),
        "eb": number(request.bound.unwrap_or(0.0)),
        "value_base": optional(request.value_base),
        "previous_base": request.previous_base,
    })
}

/// Measures compression and decompression. Plans, workspaces, and buffers are created before and used in the warm-up run, as
/// in a program that compresses many arrays.
pub(super) fn measure<'a>(
    request: Request<'a>,
    array: &Array,
    src: &[u8],
    options: &Options,
    runs: u32,
) -> Result<Row<'a>, Failure> {
    let from_error = |e| Failure::from_error(&e);
    let threads = options.threads;
    let pipeline = request.pipeline(array.dtype())?;
    let encoder = Encoder::new(&pipeline, array, options).map_err(from_error)?;
    let mut workspace = encoder.workspace().map_err(from_error)?;
    let mut container = memory::zeroed(encoder.max_compressed_bytes())?;
    let mut bytes = 0;
    let seconds = median(runs, || {
        bytes = encoder.compress(&mut workspace, black_box(src), &mut container).map_err(from_error)?;
        Ok(())
    })?;
    let compress = speed(array.bytes(), seconds);
    drop(workspace);

    container.truncate(bytes);
    let decoder = Decoder::open(&container, options).map_err(from_error)?;
    let mut workspace = decoder.workspace().map_err(from_error)?;
    let mut restored = memory::zeroed(array.bytes())?;
    let seconds = median(runs, || {
        decoder.decompress(&mut workspace, black_box(&container), &mut restored).map_err(from_error)?;
        Ok(())
    })?;
    let decompress = speed(array.bytes(), seconds);

    let quality = Quality::judge(&request, array, src, &restored)?;
    let ratio = ratio(array.bytes(), bytes as u64);
    Ok(Row { request, threads, ratio, compress, decompress, quality })
}

/// Speed at which one thread copies the array in memory: an upper limit for a compressor that reads the array once.
pub(super) fn copy_speed(src: &[u8], runs: u32) -> Result<f64, Failure> {
    let mut dst = memory::zeroed(src.len() as u64)?;
    let seconds = median(runs, || {
        dst.copy_from_slice(black_box(src));
        black_box(&mut dst);
        Ok(())
    })?;
    Ok(speed(src.len() as u64, seconds))
}

/// Median time of `runs` calls in seconds, after one warm-up call.
fn median(runs: u32, mut call: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    call()?;
    let mut seconds = vec![];
    for _ in 0..runs {
        let start = Instant::now();
        call()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok(middle(seconds))
}

/// The median of a list that is not empty.
pub(super) fn middle(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    let half = seconds.len() / 2;
    if seconds.len() % 2 == 1 { seconds[half] } else { (seconds[half - 1] + seconds[half]) / 2.0 }
}

//! A pipeline that is chosen by the values of an array.
//!
//! Section of the header: Choice of a pipeline.

use std::ffi::{c_char, c_void};

use super::ffi_guard::{FfiError, ffi_guard};
use super::handle::{expect_struct_bytes, letters, numbers, optional, out, place_for, region};
use super::pipeline::fz_pipeline;
use super::status::fz_mode;
use crate::{Aim, Array, DType, Error, Goal, Wish, choose_at};

/// Goal of fz_pipeline_choose(), an int32_t in fz_wish.
#[repr(C)]
pub enum fz_goal {
    /// Highest ratio among pipelines that require at most a few times the time of preset "fast".
    FZ_GOAL_BALANCED = 0,
    /// Shortest time.
    FZ_GOAL_SPEED = 1,
    /// Highest ratio.
    FZ_GOAL_RATIO = 2,
}

/// Request to fz_pipeline_choose(). Initialize it with FZ_INIT(), then set fields. At most one of
/// `bound`, `target_ratio`, and `target_psnr` may differ from 0. If all of them are 0 and `mode` is
/// FZ_MODE_LOSSLESS, the pipeline is lossless.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_wish {
    /// sizeof(fz_wish), set by FZ_INIT(); any other value is rejected.
    pub struct_bytes: u32,
    /// An fz_goal. Default: FZ_GOAL_BALANCED.
    pub goal: i32,
    /// Mode of `bound`, an fz_mode. Default: FZ_MODE_ABS. If `target_ratio` or `target_psnr` is set,
    /// `mode` is ignored.
    pub mode: i32,
    /// Reserved; must be 0.
    pub reserved: i32,
    /// Error bound. Must be 0 in mode FZ_MODE_LOSSLESS. Must also be 0 if `target_ratio` or
    /// `target_psnr` is set.
    pub bound: f64,
    /// Ratio of array size to container size, from 1 to 1e6. The call finds a bound for this ratio;
    /// the mode of the bound is "noa". 0 (default): no target.
    pub target_ratio: f64,
    /// Peak signal-to-noise ratio of the restored array in dB, at most 300. The call finds a bound
    /// for this value; the mode of the bound is "noa". 0 (default): no target.
    pub target_psnr: f64,
    /// Values of this magnitude or above, such as fill values, are stored exactly and are not part
    /// of the value range. 0 (default): no threshold.
    pub outlier_threshold: f64,
}

/// Result of fz_pipeline_choose().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_choice {
    /// Set to sizeof(fz_choice) before the call; any other value is rejected.
    pub struct_bytes: u32,
    /// Mode of the pipeline, an fz_mode.
    pub mode: i32,
    /// Error bound in `mode`; 0 if the pipeline is lossless.
    pub bound: f64,
    /// Expected ratio of array size to container size, predicted from a sample, also if the request
    /// has a target. 0 if fz_pipeline_choose() compressed no data.
    pub expected_ratio: f64,
    /// Name of the preset that the pipeline is based on, with a terminating zero.
    pub preset: [c_char; 32],
    /// Description of a lattice (a set of evenly spaced levels), with a terminating zero, if the
    /// pipeline is lossless and the values of the sample are on this lattice. Otherwise empty.
    pub lattice: [c_char; 160],
}

/// Chooses a pipeline for an array by a sample of its values. Blocking.
///
/// Parameters:
///   `wish`          In: the request.
///   `dtype`         In: element type, an fz_dtype.
///   `dims`, `ndim`  In: shape, x first, as for fz_pipeline_finalize().
///   `src`           In: the array. From device memory, the call copies parts to the host. If
///                   the request has a target, it copies the whole array.
///   `src_bytes`     In: length of the array in bytes.
///   `pipeline`      Out: the pipeline, which you may use and change as one from
///                   fz_pipeline_new(); free it with fz_pipeline_free(). Must not overlap `src`.
///   `choice`        In/out: description of the pipeline; set choice->struct_bytes before the call.
///                   Must not overlap `src`. May be NULL.
///
/// The choice depends only on `*wish` and the array, not on the device, the number of threads, or
/// the time. If the pipeline has an error bound, the bound is guaranteed for every array that you
/// compress with the pipeline, not only for `src`. If the pipeline is lossless, it is lossless for
/// every array.
///
/// The request and the goal determine the pipeline:
/// - A bound in mode FZ_MODE_REL: every goal returns preset "pfpl".
/// - A lossless request: FZ_GOAL_SPEED returns preset "bits". The other goals try presets "bits" and
///   "exact", and the lattice pipeline that is described below.
/// - A bound in another mode: FZ_GOAL_SPEED returns preset "fast". FZ_GOAL_BALANCED tries variants
///   of presets "fast", "fz", and "cusz". FZ_GOAL_RATIO tries preset "high" and, if the array has
///   fewer than 32,768 elements, the variants for FZ_GOAL_BALANCED. Both goals also try preset
///   "exact", which is lossless and can be shorter if the bound is small.
/// - A target: FZ_GOAL_RATIO returns preset "high". The other goals return preset "fast".
///
/// A call that tries pipelines predicts from the sample how short each of them makes the array. It
/// compares them in order of speed: a slower pipeline replaces a faster one only if it makes the
/// array more than 2 % shorter. Before this comparison, the call tries lossless
/// pipelines on a part of the sample, and excludes those whose result is far from the best one.
///
/// Such a call also tests whether the values of the sample are on a lattice, a set of evenly spaced
/// levels. Examples are rounded numbers and scaled integers. If they are on a lattice, the call also
/// tries a lossless pipeline that codes the levels.
///
/// The call does not read `src` in these cases: a bound in mode FZ_MODE_REL; FZ_GOAL_SPEED without a
/// target.
///
/// With a target, the call compresses the whole array up to three times on the CPU to find a bound.
/// It searches for a pipeline whose ratio differs from the target by at most 5 %, or whose
/// signal-to-noise ratio differs from the target by at most 1 dB. If the call finds no such
/// pipeline, it returns the closest pipeline that it finds.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  A goal, mode, bound, target, or threshold is out of range, more than one
///                        of `bound`, `target_ratio`, and `target_psnr` is set, `src_bytes` does
///                        not match `dims` and `dtype`, or struct_bytes is wrong.
///   FZ_UNSUPPORTED       The array has integers, and the request is not lossless.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_choose(
    wish: *const fz_wish,
    dtype: i32,
    dims: *const u64,
    ndim: u32,
    src: *const c_void,
    src_bytes: u64,
    pipeline: *mut *mut fz_pipeline,
    choice: *mut fz_choice,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (wish, dims) = unsafe { (optional(wish, "wish")?, numbers(dims, ndim, "dims")?) };
        let wish = *wish.ok_or_else(|| FfiError::null("wish"))?;
        let src = region(src, src_bytes, "src")?;
        // SAFETY: the caller's promise.
        let pipeline = unsafe { out(pipeline, "pipeline") }?.apart_from(src, "src")?;
        let choice = match choice.is_null() {
            true => None,
            // SAFETY: the caller's promise; the first field is the length.
            false => Some(unsafe { place_for(choice, "choice", "fz_choice") }?.apart_from(src, "src")?),
        };
        let array = Array::new(DType::from_number(dtype.into())?, dims)?;
        // SAFETY: the caller's promise: memory of `src_bytes` bytes.
        let chosen = unsafe { choose_at(&array, src, &wish.checked()?) }?;
        let found = fz_choice {
            struct_bytes: size_of::<fz_choice>() as u32,
            mode: fz_mode::of(chosen.mode) as i32,
            bound: chosen.bound,
            expected_ratio: chosen.expected_ratio,
            preset: letters(chosen.preset),
            lattice: letters(chosen.lattice.as_deref().unwrap_or_default()),
        };
        pipeline.give(fz_pipeline(chosen.pipeline))?;
        if let Some(choice) = choice {
            choice.put(found);
        }
        Ok(())
    })
}

impl fz_wish {
    fn checked(&self) -> Result<Wish<'static>, FfiError> {
        expect_struct_bytes::<fz_wish>("wish", "fz_wish", self.struct_bytes)?;
        const BALANCED: i32 = fz_goal::FZ_GOAL_BALANCED as i32;
        const SPEED: i32 = fz_goal::FZ_GOAL_SPEED as i32;
        const RATIO: i32 = fz_goal::FZ_GOAL_RATIO as i32;
        let goal = match self.goal {
            BALANCED => Goal::Balanced,
            SPEED => Goal::Speed,
            RATIO => Goal::Ratio,
            other => return Err(Error::argument("wish.goal", other, "an fz_goal from 0 to 2").into()),
        };
        if self.reserved != 0 {
            return Err(Error::argument("wish.reserved", self.reserved, "0").into());
        }
        Ok(Wish { goal, aim: self.aim()?, outlier_threshold: self.threshold() })
    }

    fn threshold(&self) -> f64 {
        if self.outlier_threshold == 0.0 { f64::INFINITY } else { self.outlier_threshold }
    }

    fn aim(&self) -> crate::Result<Aim<'static>> {
        let targets = [self.bound, self.target_ratio, self.target_psnr].iter().filter(|x| **x != 0.0).count();
        if targets > 1 {
            let given = format!(
                "bound {}, target_ratio {}, target_psnr {}",
                self.bound, self.target_ratio, self.target_psnr
            );
            return Err(Error::argument("wish", given, "one of them, and 0 in the others"));
        }
        if self.target_ratio != 0.0 {
            return Ok(Aim::Ratio(self.target_ratio));
        }
        if self.target_psnr != 0.0 {
            return Ok(Aim::Psnr(self.target_psnr));
        }
        match (super::simple::word(self.mode)?, self.bound) {
            ("lossless", 0.0) => Ok(Aim::Lossless),
            ("lossless", bound) => Err(Error::argument("wish.bound", bound, "0 in mode FZ_MODE_LOSSLESS")),
            (mode, bound) => Ok(Aim::Bound(mode, bound)),
        }
    }
}

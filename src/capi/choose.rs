//! A pipeline by what is in an array.

use std::ffi::{c_char, c_void};

use super::ffi_guard::{FfiError, ffi_guard};
use super::handle::{expect_struct_bytes, letters, numbers, optional, out, place_for, region};
use super::pipeline::fz_pipeline;
use super::status::fz_mode;
use crate::{Aim, Array, DType, Error, Goal, Wish, choose_at};

/// What a pipeline is chosen for, as int32_t in fz_wish.
#[repr(C)]
pub enum fz_goal {
    /// The highest ratio among pipelines that take at most a few times as long as preset "fast".
    FZ_GOAL_BALANCED = 0,
    /// The least time.
    FZ_GOAL_SPEED = 1,
    /// The highest ratio of all.
    FZ_GOAL_RATIO = 2,
}

/// What fz_pipeline_choose() is to choose. Fill it with FZ_INIT() and set what is wanted.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_wish {
    /// sizeof(fz_wish), set by FZ_INIT(); any other value is refused.
    pub struct_bytes: u32,
    /// An fz_goal. 0 is FZ_GOAL_BALANCED.
    pub goal: i32,
    /// What the bound is relative to, an fz_mode. FZ_MODE_LOSSLESS with a bound of 0: every bit comes back. Not read with a target.
    pub mode: i32,
    /// Reserved, 0.
    pub reserved: i32,
    /// The error bound in the sense of the mode. With a target, 0.
    pub bound: f64,
    /// Above 0: the ratio that a container is to have, 1 to 1e6; the pipeline gets mode "noa" and the bound that leads to it. 0: no such target.
    pub target_ratio: f64,
    /// Above 0: the peak signal-to-noise ratio of the restored array in dB, up to 300; mode "noa". 0: no such target.
    pub target_psnr: f64,
    /// Values of this magnitude and above (fill values) are exact and outside of the value range. 0: none.
    pub outlier_threshold: f64,
}

/// What fz_pipeline_choose() has chosen.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_choice {
    /// sizeof(fz_choice), set by the caller before the call; any other value is refused.
    pub struct_bytes: u32,
    /// The mode of the pipeline, an fz_mode.
    pub mode: i32,
    /// Its error bound in the sense of the mode; 0 if it is lossless.
    pub bound: f64,
    /// The ratio that the sample promises; 0 if nothing had to be compressed for the choice.
    pub expected_ratio: f64,
    /// The preset that the pipeline is made of, with a zero at the end.
    pub preset: [c_char; 32],
    /// The evenly spaced levels on which the values are, in words, with a zero at the end; empty: the pipeline uses none.
    pub lattice: [c_char; 160],
}

/// Chooses a pipeline for an array: looks at a sample of it and returns an ordinary pipeline, for plans, graphs, and asynchronous calls.
///
/// `wish`              what is wanted.
/// `dtype`             type of the array, an fz_dtype.
/// `dims`, `ndim`      its shape, x first, as for fz_pipeline_finalize().
/// `src`, `src_bytes`  the array, in host or device memory, at any address. From a device the call copies the sample to the host, for a target the
///                     whole array, and waits for that.
/// `pipeline`          becomes the pipeline; the caller frees it with fz_pipeline_free(). Untouched on failure.
/// `choice`            becomes what was chosen; NULL: nobody wants to know.
///
/// The choice depends on the wish and on the array alone, not on the device, the machine, or the time. A pipeline with a bound keeps it for any array, and a lossless
/// one is lossless for any array: both may be used for others, such as later time steps.
///
/// FZ_GOAL_SPEED returns preset "fast", in mode rel "pfpl", and without losses "bits", and reads nothing but the arguments. FZ_GOAL_BALANCED compresses a sample with
/// the forms of "fast", "fz", and "cusz", FZ_GOAL_RATIO with "high". Both look for evenly spaced levels, as unpacked integers and rounded numbers have: where whole numbers
/// without loss are shorter than values within the bound, the pipeline is lossless. A target compresses the whole array up to three times on the CPU; the ratio is met
/// to 5 % and the signal-to-noise ratio to 1 dB where the array permits it.
///
/// Errors: FZ_INVALID_ARGUMENT for a goal, mode, bound, target, or threshold outside of its range, for src_bytes other than dims and dtype make, or another struct_bytes;
/// FZ_UNSUPPORTED for a bound or a target and integers; FZ_OUT_OF_MEMORY; FZ_DEVICE.
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
        // SAFETY: the caller's promise: memory of so many bytes.
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

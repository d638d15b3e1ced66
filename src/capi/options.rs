//! Options of a plan, as C passes them and as the core takes them.
//!
//! Section of the header: Options.

use super::ffi_guard::{FfiError, FfiResult, ffi_guard};
use super::handle::{expect_struct_bytes, optional, out};
use super::status::{fz_container, fz_device_choice, fz_generation};
use crate::MAX_THREADS;
use crate::{Container, Device, Generation, Options};

/// Options of a plan. Initialize them with fz_options_init(), then change individual fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_options {
    /// sizeof(fz_options), set by fz_options_init(); any other value is rejected.
    pub struct_bytes: u32,
    /// - 1 (default): the error bound is guaranteed for every bounded value. Bounded values without
    ///   a code are stored exactly.
    /// - 0: the arithmetic of the reference implementation. The error bound may be exceeded. Stages
    ///   fast and multilevel (presets "fast" and "high") ignore this option and use value 1.
    ///
    /// strict 0 together with FZ_GENERATION_2026_05 writes the exact form of the reference: the
    /// file has the same bytes as a file from the reference implementation. Such a file contains
    /// the elements of the array, followed by padding (zeros). It does not record the shape. It
    /// records one number: the length of the array plus that of the padding. Every decoder, also one from
    /// fz_plan_decoder(), restores a one-dimensional array of this length: the elements in order,
    /// followed by the padding. fz_info::original_bytes is this length in bytes. The capacity of
    /// `dst` must be at least fz_info::original_bytes.
    pub strict: i32,
    /// Generation of FZM files, an fz_generation. Default: FZ_GENERATION_2026_08.
    ///
    /// A pipeline from TOML may contain strict = false or the previous generation. These settings
    /// take precedence over the options: the plan then has strict 0 or FZ_GENERATION_2026_05.
    pub generation: i32,
    /// Form of the container, an fz_container. Default: FZ_CONTAINER_FZM.
    pub container: i32,
    /// - 1 (default): blocking calls write checksums, and decoders compare all checksums of a
    ///   container.
    /// - 2: asynchronous calls write checksums too, which requires one more pass over the container.
    /// - 0: checksums are neither written nor compared.
    ///
    /// Decoders check every length, offset, and index, with every value of this option. If checksums
    /// are not compared, decoders detect damage only if it makes a number in the container impossible,
    /// such as a length or an index.
    /// fz_decompress_region() and fz_decompress_preview() do not use this option; their descriptions
    /// state when they compare checksums.
    pub checksum: i32,
    /// Threads per call, at most 1024. 1 (default): the calling thread only. 0: one per core. The
    /// container does not depend on this option.
    pub threads: u32,
    /// Processor of the calls. The container does not depend on this option.
    /// - FZ_DEVICE_AUTO (default): a blocking call with device memory runs on the device of that
    ///   memory. Any other blocking call runs on the CPU. An asynchronous call runs on the GPU of
    ///   its stream. Blocking calls with memory of two GPUs fail with FZ_INVALID_ARGUMENT.
    /// - FZ_DEVICE_CPU: the CPU. Device memory and asynchronous calls fail with FZ_INVALID_ARGUMENT.
    /// - n >= 0: GPU n. Blocking calls copy host memory to the device and back. Blocking calls with
    ///   memory of another GPU, and asynchronous calls on a stream of another GPU, fail with
    ///   FZ_INVALID_ARGUMENT. If there is no GPU n, no plan is created; see fz_pipeline_finalize().
    pub device: i32,
    /// Reuse of the value base, which is max - min (mode "noa") or max |x| (mode "prel") of the
    /// bounded values; see docs/bounds.md of the sources.
    /// - 0 (default): the bound of a call is a fraction of the value base of its array.
    /// - 1: the workspace of an encoder keeps a value base from call to call. Let V be the value
    ///   base of the array of a call. If the kept base is from 0.8 V to V, the bound is a fraction
    ///   of the kept base. Otherwise, it is a fraction of V. In both cases, the workspace then replaces
    ///   the kept base by 63/64 of V. The bound is never larger than the bound with previous_base 0. The container
    ///   also depends on the earlier calls with the workspace. On a GPU, calls with preset "pfpl" are
    ///   faster.
    ///
    /// The option applies to the stages fast and quantizer with strict 1 and without value_base.
    /// Other stages, other modes, and decoders ignore the option. fz_batch_workspace_new() rejects
    /// it.
    pub previous_base: i32,
    /// Limit of the memory of a decoder in bytes. The limit guards against containers made to
    /// exhaust memory. If a decoder requires more memory, its creation fails with FZ_MEMORY_LIMIT.
    /// 0 (default): the limit is 64 MiB plus 8 times the array size. Exception: 0 means no
    /// limit for decoders from fz_plan_decoder().
    ///
    /// The limit applies to the workspace. On the CPU, stage "multilevel" (preset "high") and stage
    /// "exact" also allocate memory in calls. For these stages, the limit applies to the sum of the
    /// workspace and the memory that calls allocate.
    ///
    /// With FZ_DEVICE_AUTO, the creation of a decoder does not check its device memory. If the
    /// device memory exceeds the limit, every call that uses the decoder on a GPU fails with
    /// FZ_MEMORY_LIMIT.
    pub max_memory_bytes: u64,
}

/// Sets `*options` to the defaults, including struct_bytes. Fails only if `options` is NULL or
/// misaligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_options_init(options: *mut fz_options) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let options = unsafe { out(options, "options") }?;
        options.put(fz_options {
            struct_bytes: size_of::<fz_options>() as u32,
            strict: 1,
            generation: fz_generation::FZ_GENERATION_2026_08 as i32,
            container: fz_container::FZ_CONTAINER_FZM as i32,
            checksum: 1,
            threads: 1,
            device: fz_device_choice::FZ_DEVICE_AUTO as i32,
            previous_base: 0,
            max_memory_bytes: 0,
        });
        Ok(())
    })
}

impl fz_options {
    fn checked(&self) -> FfiResult<Options> {
        expect_struct_bytes::<fz_options>("options", "fz_options", self.struct_bytes)?;
        const G2026_08: i32 = fz_generation::FZ_GENERATION_2026_08 as i32;
        const G2026_05: i32 = fz_generation::FZ_GENERATION_2026_05 as i32;
        const FZM: i32 = fz_container::FZ_CONTAINER_FZM as i32;
        const COMPACT: i32 = fz_container::FZ_CONTAINER_COMPACT as i32;
        const AUTO: i32 = fz_device_choice::FZ_DEVICE_AUTO as i32;
        const CPU: i32 = fz_device_choice::FZ_DEVICE_CPU as i32;
        let one_of =
            |name: &str, got: i32| FfiError::argument(format!("options.{name} is {got}; expected 0 or 1"));
        Ok(Options {
            strict: flag(self.strict).ok_or_else(|| one_of("strict", self.strict))?,
            generation: match self.generation {
                G2026_08 => Generation::G2026_08,
                G2026_05 => Generation::G2026_05,
                other => return Err(one_of("generation", other)),
            },
            container: match self.container {
                FZM => Container::Fzm,
                COMPACT => Container::Compact,
                other => return Err(one_of("container", other)),
            },
            checksum: self.checksum != 0,
            checksum_async: match self.checksum {
                0 | 1 => false,
                2 => true,
                other => {
                    return Err(FfiError::argument(format!(
                        "options.checksum is {other}; expected 0, 1, or 2"
                    )));
                }
            },
            device: match (self.device, u32::try_from(self.device)) {
                (_, Ok(index)) => Device::Cuda(index),
                (AUTO, _) => Device::Auto,
                (CPU, _) => Device::Cpu,
                (other, _) => {
                    return Err(FfiError::argument(format!(
                        "options.device is {other}; expected FZ_DEVICE_AUTO, FZ_DEVICE_CPU, or the number of a GPU"
                    )));
                }
            },
            previous_base: flag(self.previous_base)
                .ok_or_else(|| one_of("previous_base", self.previous_base))?,
            threads: match self.threads {
                threads @ 0..=MAX_THREADS => threads,
                other => {
                    return Err(FfiError::argument(format!(
                        "options.threads is {other}; expected 0 to {MAX_THREADS}"
                    )));
                }
            },
            max_memory_bytes: self.max_memory_bytes,
            ..Options::default()
        })
    }
}

const fn flag(number: i32) -> Option<bool> {
    match number {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// The options that C passed, or the defaults for null.
///
/// # Safety
/// As for [`optional`].
pub(super) unsafe fn chosen(options: *const fz_options) -> FfiResult<Options> {
    // SAFETY: the caller's promise, passed on.
    unsafe { optional(options, "options") }?.map_or(Ok(Options::default()), fz_options::checked)
}

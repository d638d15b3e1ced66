//! Failed driver calls, injected by the emulator into each entry point that touches a GPU.
//!
//! Each driver call of an entry point fails once, in turn. The entry point must return a status. The same
//! call must then succeed with the same bytes. Nothing may leak: memory, streams, events, contexts, and
//! pending operations are counted. Then the device is lost at each driver call, in turn. Every function must
//! return a status, the CPU must keep working, and handles must be freeable.
//!
//! This is a separate program because an injected failure hits all threads.
// Its unsafe calls are those of the driver and of the library, on memory that lives until the test has waited.
#![allow(clippy::unwrap_used, clippy::panic, unsafe_code, clippy::undocumented_unsafe_blocks)]

#[allow(dead_code, unreachable_pub)]
#[path = "../common/mod.rs"]
mod common;
#[allow(unreachable_pub)]
mod emulator;
mod entries;
#[allow(unreachable_pub)]
mod walk;

use common::gpu::device;
use fzgm::{Device, Options, Status, device_count, device_info};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use walk::{Tally, World};

/// Serializes the tests; `None` without the emulator.
fn alone(test: &str) -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if device().is_none() {
        eprintln!("SKIPPED: {test}: FZGM_REQUIRE_GPU is not set");
        return None;
    }
    if !emulator::is_present() {
        eprintln!("SKIPPED: {test}: this is not the emulator");
        return None;
    }
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    start_against_failures();
    Some(guard)
}

/// Fails the driver calls that succeed only once per process, before their first success. The failure must not be permanent.
fn start_against_failures() {
    static STARTED: Mutex<bool> = Mutex::new(false);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::replace(&mut *started, true) {
        return;
    }
    let world = World::of("fast");
    for call in ["cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet"] {
        emulator::fail(Some(call), 1, 0, false);
        let e = device_info(0).unwrap_err();
        assert_eq!(emulator::failed().as_deref(), Some(call));
        let wanted = if call == "cuDeviceGet" { Status::Device } else { Status::NoDevice };
        assert_eq!(e.status(), wanted, "{call}: {e}");
    }
    assert!(device_count().unwrap() > 0 && !device_info(0).unwrap().name.is_empty());
    for call in [
        "cuDevicePrimaryCtxRetain",
        "cuLibraryLoadData",
        "cuLibraryGetKernel",
        "cuKernelGetFunction",
        "cuFuncGetAttribute",
    ] {
        emulator::fail(Some(call), 1, 0, false);
        let e = fzgm::compress(&world.pipeline, &world.array, &world.on_gpu(), &world.src).unwrap_err();
        assert_eq!(emulator::failed().as_deref(), Some(call), "{e}");
        assert_eq!(e.status(), Status::Device, "{call}: {e}");
    }
    assert!(
        fzgm::compress(&world.pipeline, &world.array, &world.on_gpu(), &world.src).unwrap() == world.summed
    );
}

/// Selects all presets and every driver call.
fn is_long() -> bool {
    std::env::var_os("FZGM_LONG").is_some()
}

/// A preset with few launches, and one with outlier lists.
fn presets() -> Vec<&'static str> {
    if is_long() {
        return fzgm::PRESETS.iter().map(|p| p.name).collect();
    }
    vec!["fast", "fz"]
}

fn walk_all(gone: bool) -> Tally {
    let mut tally = Tally::default();
    // The paths after a loss do not depend on the preset.
    let some = if gone && !is_long() { 1 } else { usize::MAX };
    for (k, preset) in presets().into_iter().take(some).enumerate() {
        let world = World::of(preset);
        for row in entries::all(k == 0) {
            for home in row.homes {
                let name = format!("{preset}, {}, {home:?}", row.name);
                let share = if is_long() { 1 } else { row.share };
                tally.walk(&name, &world, *home, gone, row.entry, (share, row.events));
            }
        }
    }
    tally
}

#[test]
fn a_call_that_fails_once_is_a_status_and_costs_nothing() {
    let Some(_alone) = alone("a_call_that_fails_once") else { return };
    let tally = walk_all(false);
    tally.say("failed once");
    assert!(tally.injected > 400 && tally.statuses.contains_key(&Status::OutOfMemory), "{tally:?}");
    // Every driver call that the library makes after its start must be among them.
    let walked: BTreeSet<&str> = tally.calls.keys().map(String::as_str).collect();
    for call in [
        "cuCtxGetCurrent",
        "cuCtxPushCurrent_v2",
        "cuCtxPopCurrent_v2",
        "cuCtxGetDevice",
        "cuCtxGetId",
        "cuStreamCreateWithPriority",
        "cuStreamDestroy_v2",
        "cuStreamSynchronize",
        "cuStreamGetCtx",
        "cuThreadExchangeStreamCaptureMode",
        "cuLibraryGetKernel",
        "cuKernelGetFunction",
        "cuFuncGetAttribute",
        "cuLaunchKernelEx",
        "cuMemAlloc_v2",
        "cuMemFree_v2",
        "cuMemHostAlloc",
        "cuMemFreeHost",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemsetD8Async",
        "cuEventCreate",
        "cuEventDestroy_v2",
        "cuEventRecord",
        "cuEventSynchronize",
        "cuPointerGetAttribute",
        "cuDeviceGetName",
        "cuDeviceTotalMem_v2",
        "cuDeviceGetAttribute",
    ] {
        assert!(walked.contains(call), "{call} never failed: {walked:?}");
    }
}

#[test]
fn a_device_that_is_lost_is_a_status_from_then_on() {
    let Some(_alone) = alone("a_device_that_is_lost") else { return };
    let tally = walk_all(true);
    tally.say("lost");
    assert!(tally.injected > 400, "{tally:?}");
}

/// After a loss, plans for the CPU compress host memory, and the plugin for HDF5 relies on that.
#[test]
fn the_cpu_keeps_working_without_the_device() {
    let Some(_alone) = alone("the_cpu_goes_on") else { return };
    let world = World::of("pfpl");
    let on_cpu = Options { device: Device::Cpu, ..Options::default() };
    emulator::fail(None, 1, 700, true);
    let lost = fzgm::compress(&world.pipeline, &world.array, &world.on_gpu(), &world.src).unwrap_err();
    assert_eq!(lost.status(), Status::Device, "{lost}");
    let encoder = fzgm::Encoder::new(&world.pipeline, &world.array, &on_cpu).unwrap();
    let mut dst = vec![0; encoder.max_compressed_bytes() as usize];
    let slice =
        |bytes: &[u8]| fzgm::DeviceSlice { address: bytes.as_ptr() as u64, bytes: bytes.len() as u64 };
    let to = fzgm::DeviceSlice { address: dst.as_mut_ptr() as u64, bytes: dst.len() as u64 };
    let n = unsafe { encoder.compress_at(&mut encoder.workspace().unwrap(), slice(&world.src), to) };
    assert!(dst[..n.unwrap()] == world.summed);
    assert!(fzgm::decompress(&world.summed, &on_cpu).unwrap().1 == world.restored);
    assert_eq!(emulator::failed().as_deref(), Some("cuCtxGetCurrent"));
    // The loss is not cached.
    assert!(
        fzgm::compress(&world.pipeline, &world.array, &world.on_gpu(), &world.src).unwrap() == world.summed
    );
}

//! The one place that talks to libcuda. Functions are looked up once, by name, and have the types
//! that cudarc declares. Their results alone are integers: a number that a newer driver invents is a
//! number and nothing else.
#![allow(unsafe_code)]

mod calls;
pub(super) mod library;
pub(super) mod table;

use super::DeviceInfo;
use crate::base::error::{Error, Result};
use cudarc::driver::sys::{self, CUdevice_attribute, CUresult, CUstreamCaptureMode};
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;
use std::sync::OnceLock;
use table::{Table, call};

/// The return value of the driver: a [`CUresult`], or a number that is none.
pub(super) type Code = c_int;
/// A context, a stream, a function, or anything else that the driver returns as a pointer, or a device
/// address.
pub(super) type Handle = usize;

pub(super) const SUCCESS: Code = CUresult::CUDA_SUCCESS as Code;
const OUT_OF_MEMORY: Code = CUresult::CUDA_ERROR_OUT_OF_MEMORY as Code;

/// The driver of this process.
pub(crate) struct Driver {
    table: &'static Table,
    /// CUDA version of the driver.
    version: i32,
    devices: u32,
    /// The process that opened it: a child of fork() has the memory of its parent, but no CUDA.
    process: u32,
}

impl Driver {
    /// The driver, opened and initialized at the first call; the error states why there is none.
    ///
    /// The library is searched once. A start that fails is repeated at the next call, because its reason may
    /// be transient, except if there is no device.
    pub(crate) fn get() -> Result<&'static Driver> {
        // Usual reasons are static, so that nothing is left on the heap for a leak checker to wonder about.
        static TABLE: OnceLock<Result<Table, Cow<'static, str>>> = OnceLock::new();
        static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
        let driver = match DRIVER.get() {
            Some(driver) => driver,
            None => {
                let table = TABLE.get_or_init(Driver::open).as_ref();
                let table = table.map_err(|why| Error::NoDevice(why.to_string()))?;
                let started = Driver::start(table)?;
                DRIVER.get_or_init(|| started)
            }
        };
        let driver = driver.as_ref().map_err(|why| Error::NoDevice(why.clone()))?;
        if driver.process == std::process::id() {
            return Ok(driver);
        }
        Err(Error::NoDevice(
            "CUDA was started before this process was forked, and does not survive a fork; fork before the first GPU call, or start another program in the child"
                .into(),
        ))
    }

    /// Devices that it sees.
    pub(super) fn devices(&self) -> u32 {
        self.devices
    }

    fn open() -> Result<Table, Cow<'static, str>> {
        if let Some(why) = super::ruled_out() {
            return Err(why.into());
        }
        let find = library::open()?;
        // SAFETY: `find` looks names up in libcuda.
        unsafe { Table::load(find) }.map_err(|name| {
            format!("the driver has no function {name}; install a driver of CUDA 12.0 or later").into()
        })
    }

    /// Initializes the driver, or returns the reason why there is no device, which does not change while a
    /// process runs.
    fn start(table: &'static Table) -> Result<Result<Driver, String>> {
        const NONE: Code = CUresult::CUDA_ERROR_NO_DEVICE as Code;
        let mut driver = Driver { table, version: 0, devices: 0, process: std::process::id() };
        let mut count = 0;
        // SAFETY: plain calls in the documented order; the places for results are live.
        let returned = unsafe {
            [
                call!(table, cuInit(0)),
                call!(table, cuDriverGetVersion(&mut driver.version)),
                call!(table, cuDeviceGetCount(&mut count)),
            ]
        };
        for returned in returned {
            match driver.check(returned) {
                Ok(()) => {}
                Err(none) if returned.1 == NONE => return Ok(Err(none.to_string())),
                Err(e) => return Err(Error::NoDevice(e.to_string())),
            }
        }
        if count < 1 {
            return Ok(Err("the driver found no device".into()));
        }
        driver.devices = count as u32;
        Ok(Ok(driver))
    }

    /// The return value of [`call!`], as an error if it is one.
    fn check(&self, (call, code): (&'static str, Code)) -> Result<()> {
        if code == SUCCESS {
            return Ok(());
        }
        let text = |get: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text = std::ptr::null();
            // SAFETY: the place for the result is live; the driver sets it to null or to a string that is
            // never freed.
            unsafe {
                let _ = get(code, &mut text);
                if text.is_null() {
                    String::new()
                } else {
                    CStr::from_ptr(text).to_string_lossy().into_owned()
                }
            }
        };
        // SAFETY: the declarations are those of the functions.
        let functions = unsafe {
            [
                self.table.cuGetErrorName.of_code(|| sys::cuGetErrorName),
                self.table.cuGetErrorString.of_code(|| sys::cuGetErrorString),
            ]
        };
        let said = functions.into_iter().map(text).filter(|s| !s.is_empty()).collect::<Vec<_>>().join(", ");
        let text = if said.is_empty() { "the driver has no name for it".into() } else { said };
        // Names as the manual has them: without the version that the symbol has.
        Err(Error::Device { call: call.trim_end_matches("_v2"), code, text })
    }

    pub(super) fn info(&self, index: u32) -> Result<DeviceInfo> {
        const CAPABILITY: [CUdevice_attribute; 2] = [
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        ];
        let device = self.device(index)?;
        let (mut name, mut bytes, mut capability) = ([0u8; 256], 0usize, [0; 2]);
        let t = self.table;
        // SAFETY: the places for results are live and as long as said.
        unsafe {
            self.check(call!(t, cuDeviceGetName(name.as_mut_ptr().cast(), 256, device)))?;
            self.check(call!(t, cuDeviceTotalMem_v2(&mut bytes, device)))?;
            for (value, attribute) in capability.iter_mut().zip(CAPABILITY) {
                self.check(call!(t, cuDeviceGetAttribute(value, attribute, device)))?;
            }
        }
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned();
        let capability = (capability[0], capability[1]);
        Ok(DeviceInfo { name, capability, memory_bytes: bytes as u64, driver: self.version })
    }

    fn device(&self, index: u32) -> Result<c_int> {
        if index >= self.devices {
            let there = match self.devices {
                1 => "cuda:0, the only GPU here".into(),
                n => format!("cuda:0 to cuda:{}", n - 1),
            };
            return Err(Error::argument("device", format!("cuda:{index}"), there));
        }
        let mut device = 0;
        // SAFETY: the place for the result is live.
        self.check(unsafe { call!(self.table, cuDeviceGet(&mut device, index as c_int)) })?;
        Ok(device)
    }

    // Contexts.

    /// The primary context of a device, which the CUDA runtime uses too. It is kept: as the runtime does.
    pub(super) fn retain_primary(&self, index: u32) -> Result<Handle> {
        let device = self.device(index)?;
        let mut context = null_mut();
        // SAFETY: the place for the result is live.
        self.check(unsafe { call!(self.table, cuDevicePrimaryCtxRetain(&mut context, device)) })?;
        Ok(context as Handle)
    }

    /// The calling thread's context; 0: none.
    pub(super) fn current(&self) -> Result<Handle> {
        let mut context = null_mut();
        // SAFETY: the place for the result is live.
        self.check(unsafe { call!(self.table, cuCtxGetCurrent(&mut context)) })?;
        Ok(context as Handle)
    }

    pub(super) fn push(&self, context: Handle) -> Result<()> {
        // SAFETY: the driver checks the handle.
        self.check(unsafe { call!(self.table, cuCtxPushCurrent_v2(context as _)) })
    }

    pub(super) fn pop(&self) -> Result<()> {
        let mut context = null_mut();
        // SAFETY: the place for the result is live.
        self.check(unsafe { call!(self.table, cuCtxPopCurrent_v2(&mut context)) })
    }

    /// A number that no other context of this process ever had.
    pub(super) fn context_id(&self, context: Handle) -> Result<u64> {
        let mut id = 0;
        // SAFETY: the place for the result is live.
        self.check(unsafe { call!(self.table, cuCtxGetId(context as _, &mut id)) })?;
        Ok(id)
    }

    /// The device of the current context.
    pub(super) fn current_device(&self) -> Result<u32> {
        let mut device = 0;
        // SAFETY: the place for the result is live.
        self.check(unsafe { call!(self.table, cuCtxGetDevice(&mut device)) })?;
        Ok(device as u32)
    }

    /// The context of a stream that is none of the special ones.
    pub(super) fn stream_context(&self, stream: Handle) -> Result<Handle> {
        let mut context = null_mut();
        // SAFETY: the stream is live by the promise of whoever handed it over.
        self.check(unsafe { call!(self.table, cuStreamGetCtx(stream as _, &mut context)) })?;
        Ok(context as Handle)
    }

    /// Runs `f` so that calls which are no stream operations neither disturb a capture nor are refused by one.
    pub(super) fn relaxed<R>(&self, f: impl FnOnce() -> R) -> R {
        const RELAXED: c_int = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as c_int;
        let before = self.exchange_capture_mode(RELAXED);
        let result = f();
        if let Ok(mode) = before {
            // A second try, because the thread belongs to the caller and must not stay relaxed.
            let _ = self.exchange_capture_mode(mode).or_else(|_| self.exchange_capture_mode(mode));
        }
        result
    }

    /// Sets how this thread's calls are taken while somebody captures a graph; returns the previous mode. A rejected call leaves
    /// the mode unchanged.
    fn exchange_capture_mode(&self, mut mode: c_int) -> Result<c_int> {
        // An integer, because a mode of a newer driver is no value of the enum.
        let place = (&raw mut mode).cast::<CUstreamCaptureMode>();
        // SAFETY: the place is live and as large as the enum.
        self.check(unsafe { call!(self.table, cuThreadExchangeStreamCaptureMode(place)) })?;
        Ok(mode)
    }
}

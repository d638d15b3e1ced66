//! The one place that talks to libcuda. Functions are looked up once, by name, and their results are integers: a number
//! that a newer driver invents is a number and nothing else.
#![allow(unsafe_code)]

mod calls;
pub(super) mod library;
mod table;

use super::DeviceInfo;
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;
use table::Table;

/// What the driver returns.
type Code = c_int;
/// A context, a stream, a function: whatever the driver hands out as a pointer, or a device address.
pub(super) type Handle = usize;

const SUCCESS: Code = 0;
const OUT_OF_MEMORY: Code = 2;

/// The driver of this process.
pub(crate) struct Driver {
    table: &'static Table,
    /// CUDA version of the driver.
    pub(super) version: i32,
    /// Devices that it sees.
    pub(super) devices: u32,
    /// The process that opened it: a child of fork() has the memory of its parent, but no CUDA.
    process: u32,
}

impl Driver {
    /// The driver, opened and initialised at the first call; the error says why there is none.
    ///
    /// The library is searched once. A start that fails is repeated at the next call, because its reason may be transient, except
    /// if there is no device.
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
            "CUDA was started before this process was forked, and does not survive a fork; fork first, or let the child start a program of its own"
                .into(),
        ))
    }

    fn open() -> Result<Table, Cow<'static, str>> {
        if std::env::var_os("FZGM_DISABLE_CUDA").is_some_and(|v| v != "0") {
            return Err("FZGM_DISABLE_CUDA is set".into());
        }
        if !super::images::exist() {
            return Err(
                "this build of fzgm has no device code; build it where nvcc is found, see docs/install.md"
                    .into(),
            );
        }
        let find = library::open()?;
        // SAFETY: `find` looks names up in libcuda.
        unsafe { Table::load(find) }
            .map_err(|name| format!("the driver lacks {name}; fzgm needs one of CUDA 12.0 or later").into())
    }

    /// Initializes the driver, or says why there is no device, which does not change while a process runs.
    fn start(table: &'static Table) -> Result<Result<Driver, String>> {
        /// CUDA_ERROR_NO_DEVICE
        const NONE: Code = 100;
        let mut driver = Driver { table, version: 0, devices: 0, process: std::process::id() };
        let mut count = 0;
        // SAFETY: plain calls in the documented order; the places for results are live.
        let codes = unsafe {
            [
                ("cuInit", (table.cuInit)(0)),
                ("cuDriverGetVersion", (table.cuDriverGetVersion)(&mut driver.version)),
                ("cuDeviceGetCount", (table.cuDeviceGetCount)(&mut count)),
            ]
        };
        for (call, code) in codes {
            match driver.check(call, code) {
                Ok(()) => {}
                Err(none) if code == NONE => return Ok(Err(none.to_string())),
                Err(e) => return Err(Error::NoDevice(e.to_string())),
            }
        }
        if count < 1 {
            return Ok(Err("the driver sees no device".into()));
        }
        driver.devices = count as u32;
        Ok(Ok(driver))
    }

    fn check(&self, call: &'static str, code: Code) -> Result<()> {
        if code == SUCCESS {
            return Ok(());
        }
        let text = |get: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text = std::ptr::null();
            // SAFETY: the place for the result is live; what it becomes is null or a string that lives for ever.
            unsafe {
                let _ = get(code, &mut text);
                if text.is_null() {
                    String::new()
                } else {
                    CStr::from_ptr(text).to_string_lossy().into_owned()
                }
            }
        };
        let said = [text(self.table.cuGetErrorName), text(self.table.cuGetErrorString)];
        let said = said.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(", ");
        let text = if said.is_empty() { "the driver has no name for it".into() } else { said };
        Err(Error::Device { call, code, text })
    }

    pub(super) fn info(&self, index: u32) -> Result<DeviceInfo> {
        /// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
        const CAPABILITY: [c_int; 2] = [75, 76];
        let device = self.device(index)?;
        let (mut name, mut bytes, mut capability) = ([0u8; 256], 0usize, [0; 2]);
        let t = self.table;
        // SAFETY: the places for results are live and as long as said.
        unsafe {
            self.check("cuDeviceGetName", (t.cuDeviceGetName)(name.as_mut_ptr().cast(), 256, device))?;
            self.check("cuDeviceTotalMem", (t.cuDeviceTotalMem_v2)(&mut bytes, device))?;
            for (value, attribute) in capability.iter_mut().zip(CAPABILITY) {
                self.check("cuDeviceGetAttribute", (t.cuDeviceGetAttribute)(value, attribute, device))?;
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
        self.check("cuDeviceGet", unsafe { (self.table.cuDeviceGet)(&mut device, index as c_int) })?;
        Ok(device)
    }

    // Contexts.

    /// The primary context of a device, which the CUDA runtime uses too. It is kept: as the runtime does.
    pub(super) fn retain_primary(&self, index: u32) -> Result<Handle> {
        let device = self.device(index)?;
        let mut context = 0;
        // SAFETY: the place for the result is live.
        let code = unsafe { (self.table.cuDevicePrimaryCtxRetain)(&mut context, device) };
        self.check("cuDevicePrimaryCtxRetain", code).map(|()| context)
    }

    /// The calling thread's context; 0: none.
    pub(super) fn current(&self) -> Result<Handle> {
        let mut context = 0;
        // SAFETY: the place for the result is live.
        self.check("cuCtxGetCurrent", unsafe { (self.table.cuCtxGetCurrent)(&mut context) }).map(|()| context)
    }

    pub(super) fn push(&self, context: Handle) -> Result<()> {
        // SAFETY: the driver checks the handle.
        self.check("cuCtxPushCurrent", unsafe { (self.table.cuCtxPushCurrent_v2)(context) })
    }

    pub(super) fn pop(&self) -> Result<()> {
        let mut context = 0;
        // SAFETY: the place for the result is live.
        self.check("cuCtxPopCurrent", unsafe { (self.table.cuCtxPopCurrent_v2)(&mut context) })
    }

    /// A number that no other context of this process ever had.
    pub(super) fn context_id(&self, context: Handle) -> Result<u64> {
        let mut id = 0;
        // SAFETY: the place for the result is live.
        self.check("cuCtxGetId", unsafe { (self.table.cuCtxGetId)(context, &mut id) }).map(|()| id)
    }

    /// The device of the current context.
    pub(super) fn current_device(&self) -> Result<u32> {
        let mut device = 0;
        // SAFETY: the place for the result is live.
        self.check("cuCtxGetDevice", unsafe { (self.table.cuCtxGetDevice)(&mut device) })
            .map(|()| device as u32)
    }

    /// The context of a stream that is none of the special ones.
    pub(super) fn stream_context(&self, stream: Handle) -> Result<Handle> {
        let mut context = 0;
        // SAFETY: the stream is live by the promise of whoever handed it over.
        let code = unsafe { (self.table.cuStreamGetCtx)(stream, &mut context) };
        self.check("cuStreamGetCtx", code).map(|()| context)
    }

    /// Runs `f` so that calls which are no stream operations neither disturb a capture nor are refused by one.
    pub(super) fn relaxed<R>(&self, f: impl FnOnce() -> R) -> R {
        /// CU_STREAM_CAPTURE_MODE_RELAXED
        const RELAXED: c_int = 2;
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
        // SAFETY: the place is live.
        let code = unsafe { (self.table.cuThreadExchangeStreamCaptureMode)(&mut mode) };
        self.check("cuThreadExchangeStreamCaptureMode", code).map(|()| mode)
    }
}

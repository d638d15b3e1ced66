//! The one file that talks to libcuda. Functions are looked up once, by name, and their results are integers: a number
//! that a newer driver invents is a number and nothing else.
#![allow(unsafe_code)]

use super::DeviceInfo;
use crate::error::{Error, Result};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// What the driver returns.
type Code = c_int;
/// A context, a stream, a function: whatever the driver hands out as a pointer, or a device address.
pub(super) type Handle = usize;

const SUCCESS: Code = 0;
const INVALID_VALUE: Code = 1;
const OUT_OF_MEMORY: Code = 2;

macro_rules! table {
    ($($call:ident: fn($($arg:ty),*);)*) => {
        /// The functions of the driver that fzgm calls, all of which CUDA 12.0 has.
        #[allow(non_snake_case)]
        struct Table {
            $($call: unsafe extern "C" fn($($arg),*) -> Code,)*
        }

        impl Table {
            /// Every function, or the name of the first one that the driver lacks.
            ///
            /// # Safety
            /// `find` gives the address of the function of that name in libcuda, or null.
            unsafe fn load(find: impl Fn(&CStr) -> *mut c_void) -> Result<Table, &'static str> {
                Ok(Table {$(
                    $call: {
                        const NAME: &str = concat!(stringify!($call), "\0");
                        let name = CStr::from_bytes_with_nul(NAME.as_bytes()).unwrap_or_default();
                        let address = find(name);
                        if address.is_null() {
                            return Err(stringify!($call));
                        }
                        // SAFETY: the function of that name has this signature since it exists.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> Code>(address) }
                    },
                )*})
            }
        }
    };
}

table! {
    cuInit: fn(c_uint);
    cuDriverGetVersion: fn(*mut c_int);
    cuDeviceGetCount: fn(*mut c_int);
    cuDeviceGet: fn(*mut c_int, c_int);
    cuDeviceGetName: fn(*mut c_char, c_int, c_int);
    cuDeviceTotalMem_v2: fn(*mut usize, c_int);
    cuDeviceGetAttribute: fn(*mut c_int, c_int, c_int);
    cuDevicePrimaryCtxRetain: fn(*mut Handle, c_int);
    cuCtxGetCurrent: fn(*mut Handle);
    cuCtxPushCurrent_v2: fn(Handle);
    cuCtxPopCurrent_v2: fn(*mut Handle);
    cuCtxGetDevice: fn(*mut c_int);
    cuCtxGetId: fn(Handle, *mut u64);
    cuStreamCreate: fn(*mut Handle, c_uint);
    cuStreamDestroy_v2: fn(Handle);
    cuStreamSynchronize: fn(Handle);
    cuStreamGetCtx: fn(Handle, *mut Handle);
    cuThreadExchangeStreamCaptureMode: fn(*mut c_int);
    cuLibraryLoadData: fn(*mut Handle, *const c_void, *mut c_void, *mut c_void, c_uint, *mut c_void, *mut c_void, c_uint);
    cuLibraryGetKernel: fn(*mut Handle, Handle, *const c_char);
    cuKernelGetFunction: fn(*mut Handle, Handle);
    cuLaunchKernel: fn(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);
    cuMemAlloc_v2: fn(*mut Handle, usize);
    cuMemFree_v2: fn(Handle);
    cuMemHostAlloc: fn(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost: fn(*mut c_void);
    cuMemcpyHtoDAsync_v2: fn(Handle, *const c_void, usize, Handle);
    cuMemcpyDtoHAsync_v2: fn(*mut c_void, Handle, usize, Handle);
    cuMemcpyDtoDAsync_v2: fn(Handle, Handle, usize, Handle);
    cuMemsetD8Async: fn(Handle, u8, usize, Handle);
    cuPointerGetAttribute: fn(*mut c_void, c_int, Handle);
    cuEventCreate: fn(*mut Handle, c_uint);
    cuEventDestroy_v2: fn(Handle);
    cuEventRecord: fn(Handle, Handle);
    cuEventSynchronize: fn(Handle);
    cuEventElapsedTime: fn(*mut f32, Handle, Handle);
    cuGetErrorName: fn(Code, *mut *const c_char);
    cuGetErrorString: fn(Code, *mut *const c_char);
}

/// The driver of this process.
pub(crate) struct Driver {
    table: Table,
    /// CUDA version of the driver.
    pub(super) version: i32,
    /// Devices that it sees.
    pub(super) devices: u32,
}

impl Driver {
    /// The driver, opened and initialised at the first call; the error says why there is none.
    pub(crate) fn get() -> Result<&'static Driver> {
        static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
        DRIVER.get_or_init(Driver::open).as_ref().map_err(|why| Error::NoDevice(why.clone()))
    }

    /// The driver, if this process already has libcuda: whoever holds a device pointer has loaded it.
    pub(super) fn present() -> Option<&'static Driver> {
        library::loaded().then(Driver::get).and_then(Result::ok)
    }

    fn open() -> Result<Driver, String> {
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
        let table = unsafe { Table::load(find) }
            .map_err(|name| format!("the driver lacks {name}; fzgm needs one of CUDA 12.0 or later"))?;
        let mut driver = Driver { table, version: 0, devices: 0 };
        let mut count = 0;
        let t = &driver.table;
        // SAFETY: plain calls in the documented order; the places for results are live.
        let codes = unsafe {
            [
                ("cuInit", (t.cuInit)(0)),
                ("cuDriverGetVersion", (t.cuDriverGetVersion)(&mut driver.version)),
                ("cuDeviceGetCount", (t.cuDeviceGetCount)(&mut count)),
            ]
        };
        for (call, code) in codes {
            driver.check(call, code).map_err(|e| e.to_string())?;
        }
        if count < 1 {
            return Err("the driver sees no device".into());
        }
        driver.devices = count as u32;
        Ok(driver)
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
        let text = format!("{}, {}", text(self.table.cuGetErrorName), text(self.table.cuGetErrorString));
        Err(Error::Device { call, code, text })
    }

    pub(super) fn info(&self, index: u32) -> Result<DeviceInfo> {
        /// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
        const CAPABILITY: [c_int; 2] = [75, 76];
        let device = self.device(index)?;
        let (mut name, mut bytes, mut capability) = ([0u8; 256], 0usize, [0; 2]);
        let t = &self.table;
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
            return Err(Error::argument(
                "device",
                format!("cuda:{index}"),
                format!("cuda:0 to cuda:{}", self.devices - 1),
            ));
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

    pub(super) fn pop(&self) {
        let mut context = 0;
        // SAFETY: the place for the result is live. There is nobody to tell of a failure.
        let _ = unsafe { (self.table.cuCtxPopCurrent_v2)(&mut context) };
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

    /// Sets how this thread's calls are taken while somebody captures a graph; returns what it was.
    pub(super) fn exchange_capture_mode(&self, mut mode: c_int) -> c_int {
        // SAFETY: the place is live. A driver that refuses leaves things as they are.
        let _ = unsafe { (self.table.cuThreadExchangeStreamCaptureMode)(&mut mode) };
        mode
    }

    // Streams and events.

    pub(super) fn create_stream(&self) -> Result<Handle> {
        /// CU_STREAM_DEFAULT
        const DEFAULT: c_uint = 0;
        let mut stream = 0;
        // SAFETY: the place for the result is live.
        self.check("cuStreamCreate", unsafe { (self.table.cuStreamCreate)(&mut stream, DEFAULT) })
            .map(|()| stream)
    }

    pub(super) fn destroy_stream(&self, stream: Handle) {
        // SAFETY: the caller made it and forgets it.
        let _ = unsafe { (self.table.cuStreamDestroy_v2)(stream) };
    }

    pub(super) fn synchronize(&self, stream: Handle) -> Result<()> {
        // SAFETY: the stream is live by the promise of whoever handed it over.
        self.check("cuStreamSynchronize", unsafe { (self.table.cuStreamSynchronize)(stream) })
    }

    pub(super) fn create_event(&self) -> Result<Handle> {
        let mut event = 0;
        // SAFETY: the place for the result is live.
        self.check("cuEventCreate", unsafe { (self.table.cuEventCreate)(&mut event, 0) }).map(|()| event)
    }

    pub(super) fn destroy_event(&self, event: Handle) {
        // SAFETY: the caller made it and forgets it.
        let _ = unsafe { (self.table.cuEventDestroy_v2)(event) };
    }

    pub(super) fn record(&self, event: Handle, stream: Handle) -> Result<()> {
        // SAFETY: both are live.
        self.check("cuEventRecord", unsafe { (self.table.cuEventRecord)(event, stream) })
    }

    /// Milliseconds between two events, once the second one has passed.
    pub(super) fn elapsed(&self, from: Handle, to: Handle) -> Result<f32> {
        let mut ms = 0.0;
        // SAFETY: both are live and recorded; the place for the result is live.
        unsafe {
            self.check("cuEventSynchronize", (self.table.cuEventSynchronize)(to))?;
            self.check("cuEventElapsedTime", (self.table.cuEventElapsedTime)(&mut ms, from, to))?;
        }
        Ok(ms)
    }

    // Device code.

    /// Loads a fat binary, for all contexts.
    pub(super) fn load(&self, image: &'static [u8]) -> Result<Handle> {
        let (mut library, null) = (0, std::ptr::null_mut());
        // SAFETY: the image is a whole fat binary, aligned, and lives for ever.
        let code = unsafe {
            (self.table.cuLibraryLoadData)(&mut library, image.as_ptr().cast(), null, null, 0, null, null, 0)
        };
        self.check("cuLibraryLoadData", code).map(|()| library)
    }

    /// A function of a library in the current context.
    pub(super) fn function(&self, library: Handle, name: &CStr) -> Result<Handle> {
        let (mut kernel, mut function) = (0, 0);
        // SAFETY: the library is live; the places for results are.
        unsafe {
            self.check(
                "cuLibraryGetKernel",
                (self.table.cuLibraryGetKernel)(&mut kernel, library, name.as_ptr()),
            )?;
            self.check("cuKernelGetFunction", (self.table.cuKernelGetFunction)(&mut function, kernel))?;
        }
        Ok(function)
    }

    /// Launches a function whose only argument is `argument`, which the driver copies.
    pub(super) fn launch<A>(
        &self,
        function: Handle,
        grid: u32,
        block: u32,
        stream: Handle,
        argument: &A,
    ) -> Result<()> {
        let mut arguments = [std::ptr::from_ref(argument).cast_mut().cast::<c_void>()];
        let none = std::ptr::null_mut();
        // SAFETY: every device function takes one block of the type of `argument`; addresses in it are the planner's.
        let code = unsafe {
            (self.table.cuLaunchKernel)(
                function,
                grid,
                1,
                1,
                block,
                1,
                1,
                0,
                stream,
                arguments.as_mut_ptr(),
                none,
            )
        };
        self.check("cuLaunchKernel", code)
    }

    // Memory.

    pub(super) fn allocate(&self, bytes: u64) -> Result<Handle> {
        let mut address = 0;
        // SAFETY: the place for the result is live.
        match unsafe { (self.table.cuMemAlloc_v2)(&mut address, (bytes as usize).max(1)) } {
            OUT_OF_MEMORY => Err(Error::OutOfMemory(bytes)),
            code => self.check("cuMemAlloc", code).map(|()| address),
        }
    }

    pub(super) fn free(&self, address: Handle) {
        // SAFETY: the caller allocated it and forgets it.
        let _ = unsafe { (self.table.cuMemFree_v2)(address) };
    }

    pub(super) fn allocate_host(&self, bytes: u64) -> Result<*mut u8> {
        /// CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
        const FLAGS: c_uint = 1 | 2;
        let mut address = std::ptr::null_mut();
        // SAFETY: the place for the result is live.
        match unsafe { (self.table.cuMemHostAlloc)(&mut address, (bytes as usize).max(1), FLAGS) } {
            OUT_OF_MEMORY => Err(Error::OutOfMemory(bytes)),
            code => self.check("cuMemHostAlloc", code).map(|()| address.cast()),
        }
    }

    pub(super) fn free_host(&self, address: *mut u8) {
        // SAFETY: the caller allocated it and forgets it.
        let _ = unsafe { (self.table.cuMemFreeHost)(address.cast()) };
    }

    /// # Safety
    /// `src` stays as it is until the stream has passed; `to` has as many bytes.
    pub(super) unsafe fn upload(&self, to: Handle, src: &[u8], stream: Handle) -> Result<()> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.table.cuMemcpyHtoDAsync_v2)(to, src.as_ptr().cast(), src.len(), stream) };
        self.check("cuMemcpyHtoDAsync", code)
    }

    /// # Safety
    /// Nobody touches `dst` until the stream has passed; `from` has as many bytes.
    pub(super) unsafe fn download(&self, dst: &mut [u8], from: Handle, stream: Handle) -> Result<()> {
        // SAFETY: the caller's promise.
        let code =
            unsafe { (self.table.cuMemcpyDtoHAsync_v2)(dst.as_mut_ptr().cast(), from, dst.len(), stream) };
        self.check("cuMemcpyDtoHAsync", code)
    }

    pub(super) fn clear(&self, address: Handle, bytes: u64, stream: Handle) -> Result<()> {
        // SAFETY: the range lies in memory of the caller's.
        self.check("cuMemsetD8Async", unsafe {
            (self.table.cuMemsetD8Async)(address, 0, bytes as usize, stream)
        })
    }

    /// An attribute of an address; `None`: the driver does not know the address.
    ///
    /// # Safety
    /// The attribute is of type `T`.
    pub(super) unsafe fn attribute<T: Default>(
        &self,
        attribute: c_int,
        address: Handle,
    ) -> Result<Option<T>> {
        let mut value = T::default();
        let place = std::ptr::from_mut(&mut value).cast();
        // SAFETY: the place for the result is live and of its type, by the caller's promise.
        match unsafe { (self.table.cuPointerGetAttribute)(place, attribute, address) } {
            INVALID_VALUE => Ok(None),
            code => self.check("cuPointerGetAttribute", code).map(|()| Some(value)),
        }
    }
}

/// libcuda as a file.
#[cfg(feature = "cuda")]
mod library {
    use std::ffi::{CStr, c_void};

    const NAME: &CStr = c"libcuda.so.1";

    /// True when the process has it already.
    pub(super) fn loaded() -> bool {
        // SAFETY: the name is a string; nothing is loaded. The handle's count stays raised, as it does for the process.
        !unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) }.is_null()
    }

    /// Opens it, for ever.
    pub(super) fn open() -> Result<impl Fn(&CStr) -> *mut c_void, String> {
        // SAFETY: the name is a string; the initialisers of the driver are trusted.
        let handle = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(format!("{} is not found: there is no NVIDIA driver", NAME.to_string_lossy()));
        }
        // SAFETY: the handle is that of an open library and the name is a string.
        Ok(move |name: &CStr| unsafe { libc::dlsym(handle, name.as_ptr()) })
    }
}

/// A build without the feature `cuda`.
#[cfg(not(feature = "cuda"))]
mod library {
    use std::ffi::{CStr, c_void};

    pub(super) fn loaded() -> bool {
        false
    }

    pub(super) fn open() -> Result<impl Fn(&CStr) -> *mut c_void, String> {
        Err::<fn(&CStr) -> *mut c_void, _>(
            "this build of fzgm has no GPU backend (feature cuda is off)".into(),
        )
    }
}

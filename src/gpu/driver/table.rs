//! The functions of libcuda, looked up once and by name.
#![allow(unsafe_code)]

use super::calls::LaunchConfig;
use super::{Code, Handle};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

macro_rules! table {
    ($($call:ident: fn($($arg:ty),*);)*) => {
        /// The functions of the driver that fzgm calls, all of which CUDA 12.0 has.
        #[allow(non_snake_case)]
        pub(super) struct Table {
            $(pub(super) $call: unsafe extern "C" fn($($arg),*) -> Code,)*
        }

        impl Table {
            /// Every function, or the name of the first one that the driver lacks.
            ///
            /// # Safety
            /// `find` gives the address of the function of that name in libcuda, or null.
            pub(super) unsafe fn load(find: impl Fn(&CStr) -> *mut c_void) -> Result<Table, &'static str> {
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
    cuFuncGetAttribute: fn(*mut c_int, c_int, Handle);
    cuLaunchKernelEx: fn(*const LaunchConfig, Handle, *mut *mut c_void, *mut *mut c_void);
    cuMemAlloc_v2: fn(*mut Handle, usize);
    cuMemFree_v2: fn(Handle);
    cuMemHostAlloc: fn(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost: fn(*mut c_void);
    cuMemcpyHtoDAsync_v2: fn(Handle, *const c_void, usize, Handle);
    cuMemcpyDtoHAsync_v2: fn(*mut c_void, Handle, usize, Handle);
    cuMemcpyDtoDAsync_v2: fn(Handle, Handle, usize, Handle);
    cuMemsetD8Async: fn(Handle, u8, usize, Handle);
    cuStreamBeginCapture_v2: fn(Handle, c_int);
    cuStreamEndCapture: fn(Handle, *mut Handle);
    cuGraphInstantiateWithFlags: fn(*mut Handle, Handle, u64);
    cuGraphLaunch: fn(Handle, Handle);
    cuGraphExecDestroy: fn(Handle);
    cuGraphDestroy: fn(Handle);
    cuEventCreate: fn(*mut Handle, c_uint);
    cuEventDestroy_v2: fn(Handle);
    cuEventRecord: fn(Handle, Handle);
    cuEventSynchronize: fn(Handle);
    cuEventElapsedTime: fn(*mut f32, Handle, Handle);
    cuGetErrorName: fn(Code, *mut *const c_char);
    cuGetErrorString: fn(Code, *mut *const c_char);
}

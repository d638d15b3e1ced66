//! The functions of libcuda: looked up once, by name, and called with the types that cudarc declares.
//!
//! No code of cudarc is called or linked. Its functions panic if there is no driver, and return an
//! enum; a newer driver may return a code that the enum lacks, which is undefined behavior.
#![allow(unsafe_code)]

use super::Code;
use cudarc::driver::sys::CUresult;
use std::ffi::{CStr, c_void};

/// The address of a function.
type Address = unsafe extern "C" fn();

const _: () = assert!(size_of::<Code>() == size_of::<CUresult>());

/// A function of libcuda; its declaration gives the type.
#[derive(Clone, Copy)]
pub(in crate::gpu) struct Function(Address);

impl Function {
    /// # Safety
    /// `address` is null or the address of a function that is never unloaded.
    pub(in crate::gpu) unsafe fn at(address: *mut c_void) -> Option<Function> {
        // SAFETY: null is `None`, and other addresses are functions by the caller's promise.
        unsafe { std::mem::transmute::<*mut c_void, Option<Address>>(address) }.map(Function)
    }

    /// The C function. `_declaration` is there for its type, and is never called.
    ///
    /// # Safety
    /// `_declaration` returns the declaration of this function.
    pub(in crate::gpu) unsafe fn declared<D: Declaration>(self, _declaration: impl FnOnce() -> D) -> D::Call {
        // SAFETY: the caller's promise.
        unsafe { D::of(self) }
    }

    /// As [`Function::declared`], for a function whose first parameter is a code, which may be one
    /// that `CUresult` lacks.
    ///
    /// # Safety
    /// `_declaration` returns the declaration of this function.
    pub(super) unsafe fn of_code<A>(
        self,
        _declaration: impl FnOnce() -> unsafe fn(CUresult, A) -> CUresult,
    ) -> unsafe extern "C" fn(Code, A) -> Code {
        // SAFETY: the caller's promise; `Code` is as large as `CUresult`.
        unsafe { std::mem::transmute::<Address, unsafe extern "C" fn(Code, A) -> Code>(self.0) }
    }
}

/// The type of a function of `cudarc::driver::sys`.
pub(in crate::gpu) trait Declaration {
    /// The C function of the same parameters that returns an integer.
    type Call;

    /// # Safety
    /// `function` has this declaration.
    unsafe fn of(function: Function) -> Self::Call;
}

macro_rules! declarations {
    ($($($parameter:ident)*;)*) => {$(
        impl<$($parameter),*> Declaration for unsafe fn($($parameter),*) -> CUresult {
            type Call = unsafe extern "C" fn($($parameter),*) -> Code;

            unsafe fn of(function: Function) -> Self::Call {
                // SAFETY: the caller's promise; `Code` is as large as `CUresult`.
                unsafe { std::mem::transmute::<Address, Self::Call>(function.0) }
            }
        }
    )*};
}

declarations! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E F G H;
}

/// Calls a function of a table. Returns its name and its code.
macro_rules! call {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let declaration = || -> unsafe fn($(call!(_ $argument)),*) -> _ { cudarc::driver::sys::$function };
        (stringify!($function), $table.$function.declared(declaration)($($argument),*))
    }};
    (_ $argument:expr) => { _ };
}
pub(super) use call;

macro_rules! table {
    ($($function:ident;)*) => {
        /// The functions of the driver that fzgm calls, all of which CUDA 12.0 has.
        #[allow(non_snake_case)]
        pub(super) struct Table {
            $(pub(super) $function: Function,)*
        }

        impl Table {
            /// Every function, or the name of the first one that the driver lacks.
            ///
            /// # Safety
            /// `find` gives the address of the function of that name in libcuda, or null.
            pub(super) unsafe fn load(find: impl Fn(&CStr) -> *mut c_void) -> Result<Table, &'static str> {
                Ok(Table {$(
                    $function: {
                        const NAME: &str = concat!(stringify!($function), "\0");
                        let name = CStr::from_bytes_with_nul(NAME.as_bytes()).unwrap_or_default();
                        // SAFETY: the caller's promise.
                        unsafe { Function::at(find(name)) }.ok_or(stringify!($function))?
                    },
                )*})
            }
        }
    };
}

table! {
    cuInit;
    cuDriverGetVersion;
    cuDeviceGetCount;
    cuDeviceGet;
    cuDeviceGetName;
    cuDeviceTotalMem_v2;
    cuDeviceGetAttribute;
    cuDevicePrimaryCtxRetain;
    cuCtxGetCurrent;
    cuCtxPushCurrent_v2;
    cuCtxPopCurrent_v2;
    cuCtxGetDevice;
    cuCtxGetId;
    cuStreamCreate;
    cuStreamDestroy_v2;
    cuStreamSynchronize;
    cuStreamGetCtx;
    cuStreamWaitEvent;
    cuThreadExchangeStreamCaptureMode;
    cuLibraryLoadData;
    cuLibraryGetKernel;
    cuKernelGetFunction;
    cuFuncGetAttribute;
    cuLaunchKernelEx;
    cuMemAlloc_v2;
    cuMemFree_v2;
    cuMemHostAlloc;
    cuMemFreeHost;
    cuMemcpyHtoDAsync_v2;
    cuMemcpyDtoHAsync_v2;
    cuMemcpyDtoDAsync_v2;
    cuMemsetD8Async;
    cuEventCreate;
    cuEventDestroy_v2;
    cuEventRecord;
    cuEventSynchronize;
    cuGetErrorName;
    cuGetErrorString;
}

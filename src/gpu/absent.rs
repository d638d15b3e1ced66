//! Takes the place of the driver in a build without the feature `cuda`. There is no value of
//! [`Driver`], so that no method is ever called.
#![allow(unsafe_code)]

use super::{DeviceInfo, Home, LaunchAttrs};
use crate::base::error::{Error, Result};
use std::ffi::{CStr, c_int};

pub(super) type Handle = usize;

pub(crate) enum Driver {}

pub(crate) fn home(_: u64) -> Result<Home> {
    Ok(Home::Host)
}

pub(super) fn pinned(_: u64) -> Result<bool> {
    Ok(false)
}

pub(crate) fn mapped(_: &[u8]) -> Result<bool> {
    Ok(false)
}

pub(super) fn context_of(_: Handle) -> Result<Option<Handle>> {
    Ok(None)
}

macro_rules! absent {
    ($($method:ident $([$generic:ident])? ($($argument:ty),*) -> $result:ty;)*) => {
        impl Driver {
            pub(crate) fn get() -> Result<&'static Driver> {
                Err(Error::NoDevice(super::ruled_out().unwrap_or_default().into()))
            }

            pub(super) unsafe fn upload(&self, _: Handle, _: &[u8], _: Handle) -> Result<()> {
                match *self {}
            }

            pub(super) unsafe fn download(&self, _: &mut [u8], _: Handle, _: Handle) -> Result<()> {
                match *self {}
            }

            $(pub(super) fn $method $(<$generic>)? (&self, $(_: $argument),*) -> $result {
                match *self {}
            })*
        }
    };
}

absent! {
    devices() -> u32;
    info(u32) -> Result<DeviceInfo>;
    retain_primary(u32) -> Result<Handle>;
    current() -> Result<Handle>;
    push(Handle) -> Result<()>;
    pop() -> Result<()>;
    context_id(Handle) -> Result<u64>;
    current_device() -> Result<u32>;
    stream_context(Handle) -> Result<Handle>;
    relaxed[R](impl FnOnce() -> R) -> R;
    create_stream() -> Result<Handle>;
    destroy_stream(Handle) -> ();
    synchronize(Handle) -> Result<()>;
    create_event() -> Result<Handle>;
    destroy_event(Handle) -> ();
    record(Handle, Handle) -> Result<()>;
    wait(Handle) -> Result<()>;
    follow(Handle, Handle) -> Result<()>;
    load(&'static [u8]) -> Result<Handle>;
    function(Handle, &CStr) -> Result<Handle>;
    made_for(Handle) -> Result<c_int>;
    launch[A](Handle, (u32, u32), u32, Handle, LaunchAttrs, &A) -> Result<()>;
    allocate(u64) -> Result<Handle>;
    free(Handle) -> ();
    allocate_host(u64) -> Result<*mut u8>;
    free_host(*mut u8) -> ();
    copy(Handle, Handle, u64, Handle) -> Result<()>;
    clear(Handle, u64, Handle) -> Result<()>;
}

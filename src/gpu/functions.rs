//! Device functions by name, loaded when first asked for.

use super::context::Context;
use super::driver::Handle;
use super::images;
use super::stream::Stream;
use crate::device::LaunchArgs;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::{CString, c_int};
use std::sync::{Mutex, PoisonError, RwLock};

/// How much of the on-chip memory of a multiprocessor is to be shared memory, in percent, where the driver's choice costs time: one
/// that has been divided for a function without much of it takes no block of a later one before all of its own have ended, so that
/// the early blocks of that crowd on those few which are free. Half is what the later functions have.
const SHARED: [(&str, c_int); 1] = [("quantizer_bound_step", 50)];

/// A function in one context.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    handle: Handle,
    /// Whether its code can wait for the launch ahead of it by itself.
    waits: bool,
}

impl Function {
    /// Launches it on a stream of the context. `follows`: what is ahead on the stream is a launch of ours, and this one may
    /// start before that has ended.
    pub(crate) fn launch(
        self,
        context: &Context,
        grid: u64,
        block: u32,
        stream: Stream,
        follows: bool,
        args: &LaunchArgs,
    ) -> Result<()> {
        let grid = u32::try_from(grid).ok().filter(|g| *g <= i32::MAX as u32);
        let grid = grid.ok_or(Error::Internal("a launch has more blocks than a grid can have"))?;
        context.driver().launch(self.handle, grid, block, stream.0, follows && self.waits, args)
    }
}

/// The function of that name, in that context. The first call per name and context is no stream operation.
pub(crate) fn function(context: &Context, name: &'static str) -> Result<Function> {
    static KNOWN: RwLock<BTreeMap<(u64, &'static str), Function>> = RwLock::new(BTreeMap::new());
    let key = (context.id, name);
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(&f) = known.get(&key) {
        return Ok(f);
    }
    drop(known);
    let image =
        images::image_of(name).ok_or(Error::Internal("no image has a device function of that name"))?;
    let c_name = CString::new(name).map_err(|_| Error::Internal("a function name holds a zero"))?;
    let driver = context.driver();
    let handle = context.relaxed(|| {
        let handle = driver.function(library(context, image)?, &c_name)?;
        let shared = SHARED.iter().find(|(function, _)| *function == name);
        shared.map_or(Ok(()), |(_, percent)| driver.prefer_shared(handle, *percent)).map(|()| handle)
    })?;
    // See `await_former` in kernels/fz.cuh.
    let found = Function { handle, waits: driver.made_for(handle)? >= 90 };
    KNOWN.write().unwrap_or_else(PoisonError::into_inner).insert(key, found);
    Ok(found)
}

/// An image as a library, which serves all contexts; loaded once per process.
fn library(context: &Context, image: usize) -> Result<Handle> {
    static LOADED: Mutex<Vec<(usize, Handle)>> = Mutex::new(Vec::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, library)) = loaded.iter().find(|(i, _)| *i == image) {
        return Ok(*library);
    }
    let library = context.driver().load(images::image(image)).map_err(|e| match e {
        Error::Device { code: 200 | 209 | 222, text, .. } => Error::NoDevice(format!(
            "this device or driver cannot run the device code of this build ({text}); fzgm needs driver 580 or later and compute capability 8.0"
        )),
        other => other,
    })?;
    loaded.push((image, library));
    Ok(library)
}

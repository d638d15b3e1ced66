//! Device functions by name, loaded when first asked for.

use super::context::Context;
use super::driver::Handle;
use super::images;
use super::stream::Stream;
use crate::base::error::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError, RwLock};

/// The relation of a launch to other launches.
#[derive(Clone, Copy)]
pub(crate) struct LaunchAttrs {
    /// The previous work on the stream is a launch of this library, and this launch may start before it has
    /// ended.
    pub(crate) follows: bool,
    /// This launch and those around it are short and request the division of on-chip memory that suits them.
    pub(crate) short: bool,
}

/// A function in one context.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    handle: Handle,
    /// True if the code of the function can wait for the launch before it.
    waits: bool,
}

impl Function {
    /// Launches it on a stream of the context, with `rows` times `grid` blocks.
    pub(crate) fn launch<A>(
        self,
        context: &Context,
        (grid, rows): (u64, u32),
        block: u32,
        stream: Stream,
        way: LaunchAttrs,
        args: &A,
    ) -> Result<()> {
        let grid = u32::try_from(grid).ok().filter(|g| *g <= i32::MAX as u32);
        let grid = grid.ok_or(Error::Internal("a launch has more blocks than a grid can have"))?;
        let way = LaunchAttrs { follows: way.follows && self.waits, ..way };
        context.driver().launch(self.handle, (grid, rows), block, stream.0, way, args)
    }
}

/// The batched version of a function; `None`: it has none.
pub(crate) fn batched(name: &str) -> Option<&'static str> {
    images::name_of(&format!("{name}_batch"))
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
    let handle = context.relaxed(|| driver.function(library(context, image)?, &c_name))?;
    // See `wait_prerequisites` in kernels/common/launch.cuh.
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
    let library = context.driver().load(images::image(image))?;
    loaded.push((image, library));
    Ok(library)
}

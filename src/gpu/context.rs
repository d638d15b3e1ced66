//! The context that a call works in, current for as long as the call lasts.

use super::Stream;
use super::driver::{Driver, Handle};
use crate::base::error::{Error, Result};
use std::marker::PhantomData;
use std::sync::Mutex;

/// A context made current; the caller's is back when this is dropped.
pub(crate) struct Context {
    driver: &'static Driver,
    /// Never that of another context.
    pub(crate) id: u64,
    pub(super) handle: Handle,
    /// Index of the device.
    pub(crate) device: u32,
    pushed: bool,
    /// A context must be popped by the thread that pushed it.
    thread: PhantomData<*mut ()>,
}

impl Context {
    /// The context of a stream. Special streams (NULL, legacy, per-thread) are those of the thread's context, and where
    /// it has none, of the primary context of a device: 0, as in the CUDA runtime, unless the plan is for another one.
    pub(crate) fn of(stream: Stream, device: Option<u32>) -> Result<Context> {
        let driver = Driver::get()?;
        let current = driver.current()?;
        let wanted = match stream.special() {
            false => driver.stream_context(stream.0)?,
            true if current != 0 => current,
            true => primary(driver, device.unwrap_or(0))?,
        };
        let context = Context::enter(driver, wanted, current)?;
        match device {
            Some(want) if want != context.device => Err(Error::argument(
                "stream",
                format!("one of cuda:{}", context.device),
                format!("one of cuda:{want}, the device of the plan"),
            )),
            _ => Ok(context),
        }
    }

    /// A context of a device: the thread's if it is one, else the primary one.
    pub(crate) fn on(index: u32) -> Result<Context> {
        let driver = Driver::get()?;
        let current = driver.current()?;
        if current != 0 {
            let context = Context::enter(driver, current, current)?;
            if context.device == index {
                return Ok(context);
            }
        }
        Context::enter(driver, primary(driver, index)?, current)
    }

    fn enter(driver: &'static Driver, wanted: Handle, current: Handle) -> Result<Context> {
        let pushed = wanted != current;
        if pushed {
            driver.push(wanted)?;
        }
        let mut context = Context { driver, id: 0, handle: wanted, device: 0, pushed, thread: PhantomData };
        context.id = driver.context_id(wanted)?;
        context.device = driver.current_device()?;
        Ok(context)
    }

    /// The context that memory was allocated in, if it is still that one.
    pub(super) fn holding(handle: Handle, id: u64) -> Result<Option<Context>> {
        let driver = Driver::get()?;
        let context = Context::enter(driver, handle, driver.current()?)?;
        Ok(Some(context).filter(|c| c.id == id))
    }

    pub(super) fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// As [`Driver::relaxed`].
    pub(super) fn relaxed<R>(&self, f: impl FnOnce() -> R) -> R {
        self.driver.relaxed(f)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A second try if the context is still current, because the caller must not continue in it.
        if self.pushed && self.driver.pop().is_err() && self.driver.current().ok() == Some(self.handle) {
            let _ = self.driver.pop();
        }
    }
}

/// The primary context of a device, retained once per process.
fn primary(driver: &Driver, index: u32) -> Result<Handle> {
    static RETAINED: Mutex<Vec<(u32, Handle)>> = Mutex::new(Vec::new());
    let mut retained = RETAINED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, context)) = retained.iter().find(|(i, _)| *i == index) {
        return Ok(*context);
    }
    let context = driver.retain_primary(index)?;
    retained.push((index, context));
    Ok(context)
}

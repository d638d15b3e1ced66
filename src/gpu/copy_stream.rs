//! A stream of a blocking call, whose operations run beside those of other streams.
#![allow(unsafe_code)]

use super::context::Context;
use super::driver::Handle;
use super::stream::{Event, Stream};
use crate::base::error::Result;
use std::marker::PhantomData;

/// The memory of the host is borrowed until all copies have ended: a call waits for the stream when it drops this.
pub(crate) struct CopyStream<'c, 'h> {
    context: &'c Context,
    stream: Stream,
    host: PhantomData<&'h mut [u8]>,
}

impl<'c, 'h> CopyStream<'c, 'h> {
    pub(crate) fn on(context: &'c Context, stream: Stream) -> CopyStream<'c, 'h> {
        CopyStream { context, stream, host: PhantomData }
    }

    pub(crate) fn borrow(&self) -> Stream {
        self.stream
    }

    /// Waits until all operations have ended.
    pub(crate) fn finish(self) -> Result<()> {
        self.stream.synchronize(self.context)?;
        std::mem::forget(self);
        Ok(())
    }

    /// An event that passes when all present operations of the stream have ended.
    pub(crate) fn mark(&self) -> Result<Event> {
        let event = Event::new(self.context)?;
        event.record(self.stream)?;
        Ok(event)
    }

    /// Copies to the device, as an operation of the stream.
    pub(crate) fn upload(&self, to: u64, src: &'h [u8]) -> Result<()> {
        if src.is_empty() {
            return Ok(());
        }
        // SAFETY: `src` is borrowed for longer than the stream, which waits when it is dropped.
        unsafe { self.context.driver().upload(to as Handle, src, self.stream.0) }
    }

    /// Copies from the device, as an operation of the stream.
    pub(crate) fn download(&self, dst: &'h mut [u8], from: u64) -> Result<()> {
        if dst.is_empty() {
            return Ok(());
        }
        // SAFETY: `dst` is borrowed for longer than the stream, which waits when it is dropped.
        unsafe { self.context.driver().download(dst, from as Handle, self.stream.0) }
    }
}

// With this function, the compiler checks that the host memory outlives the stream.
impl Drop for CopyStream<'_, '_> {
    fn drop(&mut self) {
        // As for streams that are destroyed.
        let _ = self.context.relaxed(|| self.stream.synchronize(self.context));
    }
}

//! A stream for the copies of a blocking call, which run beside kernels on other streams.
#![allow(unsafe_code)]

use super::context::Context;
use super::driver::Handle;
use super::stream::{OwnStream, Stream};
use crate::base::error::Result;
use std::marker::PhantomData;

/// The memory of the host is borrowed until all copies have ended: the stream waits for them when it is dropped.
pub(crate) struct CopyStream<'c, 'h> {
    context: &'c Context,
    stream: OwnStream,
    host: PhantomData<&'h mut [u8]>,
}

impl<'c, 'h> CopyStream<'c, 'h> {
    pub(crate) fn new(context: &'c Context) -> Result<CopyStream<'c, 'h>> {
        Ok(CopyStream { context, stream: OwnStream::new(context)?, host: PhantomData })
    }

    pub(crate) fn borrow(&self) -> Stream {
        self.stream.borrow()
    }

    /// Copies to the device, as an operation of the stream.
    pub(crate) fn upload(&self, to: u64, src: &'h [u8]) -> Result<()> {
        if src.is_empty() {
            return Ok(());
        }
        // SAFETY: `src` is borrowed for longer than the stream, which waits when it is dropped.
        unsafe { self.context.driver().upload(to as Handle, src, self.borrow().0) }
    }

    /// Copies from the device, as an operation of the stream.
    pub(crate) fn download(&self, dst: &'h mut [u8], from: u64) -> Result<()> {
        if dst.is_empty() {
            return Ok(());
        }
        // SAFETY: `dst` is borrowed for longer than the stream, which waits when it is dropped.
        unsafe { self.context.driver().download(dst, from as Handle, self.borrow().0) }
    }
}

// With this function, the compiler checks that the host memory outlives the stream.
impl Drop for CopyStream<'_, '_> {
    fn drop(&mut self) {
        let _ = self.borrow().synchronize(self.context);
    }
}

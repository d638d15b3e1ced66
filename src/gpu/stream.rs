//! Streams: those of the caller, which are borrowed, and those of blocking calls.

use super::context::Context;
use super::driver::{Driver, Handle};
use crate::base::error::Result;

/// A stream of the caller's, or a special one: 0 (NULL), 1 (legacy), 2 (per thread). Live as long as it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub(crate) Handle);

impl Stream {
    /// The stream of a `cudaStream_t` or `CUstream`.
    pub fn from_raw(stream: usize) -> Stream {
        Stream(stream)
    }

    pub(super) fn special(self) -> bool {
        self.0 <= 2
    }

    /// Waits for everything on it.
    pub(crate) fn synchronize(self, context: &Context) -> Result<()> {
        context.driver().synchronize(self.0)
    }
}

/// A stream of our own, which waits for the NULL stream and makes it wait, as a blocking call on it would.
pub(crate) struct OwnStream {
    driver: &'static Driver,
    stream: Stream,
}

impl OwnStream {
    pub(crate) fn new(context: &Context) -> Result<OwnStream> {
        let driver = context.driver();
        let stream = context.relaxed(|| driver.create_stream())?;
        Ok(OwnStream { driver, stream: Stream(stream) })
    }

    pub(crate) fn borrow(&self) -> Stream {
        self.stream
    }
}

impl Drop for OwnStream {
    fn drop(&mut self) {
        // A destroyed stream runs on. After a failed call its operations must not touch memory that the caller reuses.
        let _ = self.driver.relaxed(|| self.driver.synchronize(self.stream.0));
        self.driver.destroy_stream(self.stream.0);
    }
}

/// An event, destroyed on drop.
pub(crate) struct Event {
    driver: &'static Driver,
    handle: Handle,
}

impl Event {
    pub(crate) fn new(context: &Context) -> Result<Event> {
        let driver = context.driver();
        Ok(Event { driver, handle: driver.create_event()? })
    }

    /// It passes when all present operations of the stream have ended.
    pub(crate) fn record(&self, stream: Stream) -> Result<()> {
        self.driver.record(self.handle, stream.0)
    }

    /// Later operations of the stream begin when it has passed.
    pub(crate) fn before(&self, stream: Stream) -> Result<()> {
        self.driver.follow(stream.0, self.handle)
    }

    /// Waits until it has passed.
    pub(crate) fn wait(&self) -> Result<()> {
        self.driver.wait(self.handle)
    }
}

impl Stream {
    /// Later operations of this stream begin when all present operations of `other` have ended.
    pub(crate) fn follow(self, other: Stream, context: &Context) -> Result<()> {
        let event = Event::new(context)?;
        event.record(other)?;
        event.before(self)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.driver.destroy_event(self.handle);
    }
}

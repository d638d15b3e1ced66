//! Streams: those of the caller, which are borrowed, and those of blocking calls.

use super::context::Context;
use super::driver::{Driver, Handle};
use crate::error::Result;

/// A stream of the caller's, or a special one: 0 (NULL), 1 (legacy), 2 (per thread). Live as long as it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub(crate) Handle);

impl Stream {
    /// The stream that a `cudaStream_t` or `CUstream` stands for.
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
        self.driver.destroy_stream(self.stream.0);
    }
}

/// Device time between two points of a stream.
pub(crate) struct Timer {
    driver: &'static Driver,
    events: [Handle; 2],
    stream: Stream,
}

impl Timer {
    /// Starts now.
    pub(crate) fn start(context: &Context, stream: Stream) -> Result<Timer> {
        let driver = context.driver();
        let events = [driver.create_event()?, driver.create_event()?];
        let timer = Timer { driver, events, stream };
        driver.record(timer.events[0], stream.0)?;
        Ok(timer)
    }

    /// Waits for the stream; seconds since the start.
    pub(crate) fn stop(&self) -> Result<f64> {
        self.driver.record(self.events[1], self.stream.0)?;
        Ok(f64::from(self.driver.elapsed(self.events[0], self.events[1])?) / 1e3)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.events.iter().for_each(|&e| self.driver.destroy_event(e));
    }
}

//! Graphs: what a call puts on a stream, recorded once and launched again and again.

use super::context::Context;
use super::driver::{Driver, Handle};
use super::stream::Stream;
use crate::error::Result;

/// A graph, ready to be launched.
pub(crate) struct Graph {
    driver: &'static Driver,
    executable: Handle,
}

impl Graph {
    /// Records what `calls` puts on the stream; nothing of it runs.
    pub(crate) fn capture(
        context: &Context,
        stream: Stream,
        calls: impl FnOnce() -> Result<()>,
    ) -> Result<Graph> {
        let driver = context.driver();
        driver.begin_capture(stream.0)?;
        let recorded = calls();
        // Ends the capture in any case, or the stream stays unusable.
        let executable = driver.end_capture(stream.0);
        recorded?;
        Ok(Graph { driver, executable: executable? })
    }

    /// Puts all of it on the stream.
    pub(crate) fn launch(&self, stream: Stream) -> Result<()> {
        self.driver.launch_graph(self.executable, stream.0)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.driver.destroy_graph(self.executable);
    }
}

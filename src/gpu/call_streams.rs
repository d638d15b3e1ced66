//! The streams of blocking calls whose copies run beside kernels, kept from call to call: the first operations of a new stream and
//! its end take as long as a copy of some megabytes.

use super::context::Context;
use super::copy_stream::CopyStream;
use super::memory::{DeviceMemory, Pinned};
use super::stream::OwnStream;
use crate::base::error::{Error, Result};

/// Streams, and words in pinned memory that operations of them write.
pub(crate) struct CallStreams {
    words: Pinned,
    streams: Vec<OwnStream>,
    /// Tells whether the context of the streams still exists.
    witness: DeviceMemory,
}

impl CallStreams {
    pub(crate) fn new(context: &Context, streams: usize, words: usize) -> Result<CallStreams> {
        let words = Pinned::new(context, 8 * words as u64)?;
        let streams = (0..streams).map(|_| OwnStream::new(context)).collect::<Result<_>>()?;
        Ok(CallStreams { words, streams, witness: DeviceMemory::new(context, 1)? })
    }

    /// The streams for the operations of one call, and the words.
    pub(crate) fn of_call<'c, 'h, const N: usize>(
        &'c mut self,
        context: &'c Context,
    ) -> Result<([CopyStream<'c, 'h>; N], &'c mut Pinned)> {
        let streams = self.streams.iter().map(|own| CopyStream::on(context, own.borrow()));
        let streams = streams.collect::<Vec<_>>().try_into();
        let streams = streams.map_err(|_| Error::Internal("a call has another number of streams"))?;
        Ok((streams, &mut self.words))
    }
}

impl Drop for CallStreams {
    fn drop(&mut self) {
        // A second try if a query fails, as for device memory. Without the context there are no streams either.
        match self.witness.context().or_else(|_| self.witness.context()) {
            Ok(Some(_context)) => self.streams.clear(),
            _ => std::mem::forget(std::mem::take(&mut self.streams)),
        }
    }
}

//! The streams of blocking calls whose copies run beside kernels, kept from call to call: the first operations of a new stream and
//! its end take as long as a copy of several megabytes.

use super::context::Context;
use super::copy_stream::CopyStream;
use super::driver::Handle;
use super::memory::{Pinned, alive};
use super::stream::OwnStream;
use crate::base::error::{Error, Result};

/// Streams, and words in pinned memory that operations of them write.
pub(crate) struct CallStreams {
    words: Pinned,
    context: Handle,
    id: u64,
    streams: Vec<OwnStream>,
}

impl CallStreams {
    pub(crate) fn new(context: &Context, streams: usize, words: usize) -> Result<CallStreams> {
        let words = Pinned::new(context, 8 * words as u64)?;
        let streams = (0..streams).map(|_| OwnStream::new(context)).collect::<Result<_>>()?;
        Ok(CallStreams { words, context: context.handle, id: context.id, streams })
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
        // Without the context there are no streams either.
        match alive(self.words.address() as Handle, self.context, self.id) {
            Ok(Some(_context)) => self.streams.clear(),
            _ => std::mem::forget(std::mem::take(&mut self.streams)),
        }
    }
}

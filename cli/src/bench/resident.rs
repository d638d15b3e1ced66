//! Calls on an array that stays on a GPU, and their times: one workspace each way, one stream, asynchronous calls, as programs make them.
#![allow(unsafe_code)]

use super::driver::{self, Memory, Outcome, Stream};
use fzgm::{Decoder, Direction, Encoder, Result, Workspace};
use std::time::Instant;

/// An array on a GPU, and what it takes to compress and to restore it there again and again.
pub(super) struct Resident<'p> {
    /// Dropped first: that waits for the calls.
    stream: Stream,
    calls: Calls<'p>,
}

/// How a call is made and timed.
#[derive(Clone, Copy)]
pub(super) enum Clock {
    /// The time between two events around the call, on the device.
    Device,
    /// The time of the host from the start of the call until the device is done.
    Host,
    /// As [`Clock::Device`], of the launch of a graph that holds the call.
    Graph,
}

impl<'p> Resident<'p> {
    /// Copies the array to device `index`, for which encoder and decoder are.
    pub(super) fn new(
        encoder: &'p Encoder,
        decoder: &'p Decoder,
        index: u32,
        src: &[u8],
    ) -> Result<Resident<'p>> {
        driver::enter(index)?;
        let (stream, array) = (Stream::new()?, Memory::new(src.len() as u64)?);
        array.upload(src, &stream)?;
        let calls = Calls {
            encoder,
            decoder,
            encoding: encoder.workspace()?,
            decoding: decoder.workspace()?,
            array,
            container: Memory::new(encoder.max_compressed_bytes())?,
            restored: Memory::new(decoder.array().bytes())?,
            outcome: Outcome::new()?,
            container_bytes: 0,
        };
        Ok(Resident { stream, calls })
    }

    /// Seconds of each of so many calls. Compress before you decompress.
    pub(super) fn seconds(&mut self, way: Direction, clock: Clock, count: u32) -> Result<Vec<f64>> {
        let Resident { stream, calls } = self;
        let graph = match clock {
            Clock::Graph => Some(stream.capture(|| calls.put(way, stream))?),
            Clock::Device | Clock::Host => None,
        };
        let mut seconds = vec![];
        for _ in 0..count {
            calls.outcome.clear();
            seconds.push(match (clock, &graph) {
                (Clock::Host, _) => {
                    let start = Instant::now();
                    calls.put(way, stream)?;
                    stream.synchronize()?;
                    start.elapsed().as_secs_f64()
                }
                (_, Some(graph)) => stream.time(|| graph.launch(stream))?,
                (_, None) => stream.time(|| calls.put(way, stream))?,
            });
            calls.settle(way)?;
        }
        Ok(seconds)
    }

    /// Seconds of each of so many copies of the array within the device: what no compressor that reads and writes as much can pass.
    pub(super) fn copy_seconds(&mut self, count: u32) -> Result<Vec<f64>> {
        let Resident { stream, calls: Calls { array, restored, .. } } = self;
        (0..count).map(|_| stream.time(|| restored.copy(array, stream))).collect()
    }

    /// Bytes of the container that was made last.
    pub(super) fn container_bytes(&self) -> u64 {
        self.calls.container_bytes
    }

    /// Fills `dst` with the array that was restored last.
    pub(super) fn restored(&self, dst: &mut [u8]) -> Result<()> {
        self.calls.restored.download(dst, &self.stream)
    }
}

/// Both calls, with everything that they read and write.
struct Calls<'p> {
    encoder: &'p Encoder,
    decoder: &'p Decoder,
    encoding: Workspace,
    decoding: Workspace,
    array: Memory,
    container: Memory,
    restored: Memory,
    outcome: Outcome,
    container_bytes: u64,
}

impl Calls<'_> {
    /// Puts a call on the stream, which is always the same.
    fn put(&mut self, way: Direction, stream: &Stream) -> Result<()> {
        let (array, container, restored) =
            (self.array.slice(), self.container.slice(), self.restored.slice());
        let (result, stream) = (self.outcome.address(), stream.get());
        // SAFETY: memory of the stream's device, of as many bytes, apart from each other, which only this stream uses and which is
        // dropped after the stream, as the workspaces are.
        unsafe {
            match way {
                Direction::Encode => {
                    self.encoder.compress_async(&mut self.encoding, array, container, result, stream)
                }
                Direction::Decode => {
                    self.decoder.decompress_async(&mut self.decoding, container, restored, result, stream)
                }
            }
        }
    }

    /// Looks at what a call has left.
    fn settle(&mut self, way: Direction) -> Result<()> {
        let result = self.outcome.get();
        match way {
            Direction::Encode => {
                self.container_bytes = self.encoder.outcome(result, self.container.slice().bytes)?;
            }
            Direction::Decode => {
                self.decoder.outcome(result, self.restored.slice().bytes)?;
            }
        }
        Ok(())
    }
}

//! Asynchronous calls on an array in device memory, and their times. One stream runs all calls, with one workspace per direction.
#![allow(unsafe_code)]

use super::driver::{self, Memory, Outcome, Stream};
use fzgm::{Decoder, Direction, Encoder, Result, Workspace};
use std::time::Instant;

/// An array on a GPU, with the plans and memory for repeated compression and decompression.
pub(super) struct Resident<'p> {
    /// Must be the first field: it is dropped first and then waits for the calls, which use the other fields.
    stream: Stream,
    calls: Calls<'p>,
}

/// The clock that measures a call, and the form of the call.
#[derive(Clone, Copy)]
pub(super) enum Clock {
    /// Device time between two events around the call.
    Device,
    /// Host time from the start of the call until the device has finished.
    Host,
    /// Device time of the launch of a graph that contains the call.
    Graph,
}

impl<'p> Resident<'p> {
    /// Copies the array to device `index`, which must be the device of both plans.
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

    /// Times of `count` calls in seconds. Compression must precede decompression, which reads its container.
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

    /// Times of `count` copies of the array within the device in seconds: a lower limit for a compressor that reads and writes as
    /// many bytes.
    pub(super) fn copy_seconds(&mut self, count: u32) -> Result<Vec<f64>> {
        let Resident { stream, calls: Calls { array, restored, .. } } = self;
        (0..count).map(|_| stream.time(|| restored.copy(array, stream))).collect()
    }

    /// Length in bytes of the container that the last compression wrote.
    pub(super) fn container_bytes(&self) -> u64 {
        self.calls.container_bytes
    }

    /// Fills `dst` with the array that the last decompression restored.
    pub(super) fn restored(&self, dst: &mut [u8]) -> Result<()> {
        self.calls.restored.download(dst, &self.stream)
    }
}

/// Plans, workspaces, and device memory of both calls.
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
    /// Enqueues a call on `stream`, which must be the same stream for all calls.
    fn put(&mut self, way: Direction, stream: &Stream) -> Result<()> {
        let (array, container, restored) =
            (self.array.slice(), self.container.slice(), self.restored.slice());
        let (result, stream) = (self.outcome.address(), stream.get());
        // SAFETY: the slices are separate allocations on the device of the stream. Only this stream uses them and the workspaces,
        // and all of them are dropped after the stream.
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

    /// Checks the result of a completed call.
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

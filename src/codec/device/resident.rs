//! Calls on an array that stays on a device, and their times.

use super::{CallResult, DeviceSlice};
use crate::codec::{Decoder, Device, Encoder, buffer};
use crate::environment::in_default_environment;
use crate::error::Result;
use crate::gpu::{Context, DeviceMemory, Graph, OwnStream, Pinned, Timer, download};
use crate::plan::Direction;
use crate::workspace::Workspace;
use std::time::Instant;

/// An array on a GPU, and what it takes to compress and to restore it there again and again as programs do it: one workspace
/// each way, one stream, asynchronous calls. Every method waits until the device is done, so that nothing of it is unsafe.
///
/// `fzgm bench` measures with it. Its stream is its own; the GPU is that of the encoder's options, else the first one.
pub struct Resident<'p> {
    encoder: &'p Encoder,
    decoder: &'p Decoder,
    device: u32,
    stream: OwnStream,
    encoding: Workspace,
    decoding: Workspace,
    array: DeviceMemory,
    container: DeviceMemory,
    restored: DeviceMemory,
    result: Pinned,
    container_bytes: u64,
}

/// How a call is made and timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The time between two events around the call, on the device.
    Device,
    /// The time of the host from the start of the call until the device is done.
    Host,
    /// As [`Clock::Device`], of the launch of a graph that holds the call.
    Graph,
}

impl<'p> Resident<'p> {
    /// Takes the device memory and copies the array there. `decoder` is that of the encoder: [`Encoder::decoder`].
    ///
    /// # Errors
    /// [`crate::Error::NoDevice`], [`crate::Error::OutOfMemory`], [`crate::Error::PlanMismatch`] for an array of another length.
    pub fn new(encoder: &'p Encoder, decoder: &'p Decoder, src: &[u8]) -> Result<Resident<'p>> {
        in_default_environment(|| {
            encoder.takes(src.len() as u64)?;
            let device = match encoder.options().device {
                Device::Cuda(index) => index,
                Device::Auto | Device::Cpu => 0,
            };
            let context = Context::on(device)?;
            let (mut encoding, mut decoding) = (Workspace::bare(1)?, Workspace::bare(1)?);
            encoder.gpu()?.prepared.ready(&context, &mut encoding)?;
            decoder.gpu()?.prepared.ready(&context, &mut decoding)?;
            let array = DeviceMemory::new(&context, src.len() as u64)?;
            array.upload(&context, 0, src)?;
            Ok(Resident {
                encoder,
                decoder,
                device,
                stream: OwnStream::new(&context)?,
                encoding,
                decoding,
                array,
                container: DeviceMemory::new(&context, encoder.max_compressed_bytes())?,
                restored: DeviceMemory::new(&context, decoder.array().bytes())?,
                result: Pinned::new(&context, size_of::<CallResult>() as u64)?,
                container_bytes: 0,
            })
        })
    }

    /// Seconds of each of so many calls. Compress before you decompress.
    ///
    /// # Errors
    /// Those of the calls, those that a call leaves in its result included; and those of the driver.
    pub fn seconds(&mut self, way: Direction, clock: Clock, calls: u32) -> Result<Vec<f64>> {
        in_default_environment(|| {
            let seconds = self.measure(way, clock, calls);
            self.at_rest(seconds)
        })
    }

    /// Waits for the device after a failure, as every method does after success.
    fn at_rest<T>(&self, done: Result<T>) -> Result<T> {
        if done.is_err() {
            let _ = Context::on(self.device).and_then(|context| self.stream.borrow().synchronize(&context));
        }
        done
    }

    fn measure(&mut self, way: Direction, clock: Clock, calls: u32) -> Result<Vec<f64>> {
        let context = Context::on(self.device)?;
        let stream = self.stream.borrow();
        let graph = match clock {
            Clock::Graph => Some(Graph::capture(&context, stream, || self.put(&context, way))?),
            Clock::Device | Clock::Host => None,
        };
        let mut seconds = Vec::new();
        for _ in 0..calls {
            self.result.bytes_mut().fill(0xff);
            seconds.push(match &graph {
                None if clock == Clock::Host => {
                    let start = Instant::now();
                    self.put(&context, way)?;
                    stream.synchronize(&context)?;
                    start.elapsed().as_secs_f64()
                }
                graph => {
                    let timer = Timer::start(&context, stream)?;
                    graph.as_ref().map_or_else(|| self.put(&context, way), |g| g.launch(stream))?;
                    timer.stop()?
                }
            });
            self.settle(way)?;
        }
        Ok(seconds)
    }

    /// Seconds of each of so many copies of the array within the device: what no compressor that reads and writes as much
    /// can pass.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn copy_seconds(&mut self, calls: u32) -> Result<Vec<f64>> {
        let context = Context::on(self.device)?;
        let times = (0..calls).map(|_| {
            let timer = Timer::start(&context, self.stream.borrow())?;
            self.restored.copy(&self.array, self.stream.borrow())?;
            timer.stop()
        });
        self.at_rest(times.collect())
    }

    /// Puts a call on the stream.
    fn put(&mut self, context: &Context, way: Direction) -> Result<()> {
        let whole = |m: &DeviceMemory| DeviceSlice { address: m.address(), bytes: m.bytes() };
        let (array, container, restored) = (&self.array, &self.container, &self.restored);
        let (result, stream) = (self.result.address(), self.stream.borrow());
        match way {
            Direction::Encode => {
                let checksum = self.encoder.options().checksum_async;
                let slices = (whole(array), whole(container));
                self.encoder.gpu()?.enqueue(context, &mut self.encoding, slices, result, stream, checksum)
            }
            Direction::Decode => {
                let checksum = self.encoder.options().checksum;
                let slices = (whole(container), whole(restored));
                self.decoder.gpu()?.enqueue(context, &mut self.decoding, slices, result, stream, checksum)
            }
        }
    }

    /// Looks at what a call left behind.
    fn settle(&mut self, way: Direction) -> Result<()> {
        let outcome: CallResult =
            bytemuck::pod_read_unaligned(&self.result.bytes()[..size_of::<CallResult>()]);
        match way {
            Direction::Encode => {
                self.container_bytes =
                    outcome.of(&self.encoder.gpu()?.prepared.plan, self.container.bytes())?;
            }
            Direction::Decode => {
                outcome.of(&self.decoder.gpu()?.prepared.plan, self.restored.bytes())?;
            }
        }
        Ok(())
    }

    /// Bytes of the container that was made last.
    pub fn container_bytes(&self) -> u64 {
        self.container_bytes
    }

    /// The container that was made last.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn container(&self) -> Result<Vec<u8>> {
        self.fetch(&self.container, self.container_bytes)
    }

    /// The array that was restored last.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn restored(&self) -> Result<Vec<u8>> {
        self.fetch(&self.restored, self.restored.bytes())
    }

    fn fetch(&self, from: &DeviceMemory, bytes: u64) -> Result<Vec<u8>> {
        let mut copy = buffer(bytes)?;
        let copied = download(&Context::on(self.device)?, &mut copy, from.address(), self.stream.borrow());
        self.at_rest(copied)?;
        Ok(copy)
    }
}

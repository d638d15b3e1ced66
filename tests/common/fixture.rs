//! An encoder and a decoder with everything that asynchronous calls need.
// Calls on memory that lives until the test has waited.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use crate::common::gpu::{Block, Graph, TestStream, device};
use crate::common::samples::{self, Content};
use fzgm::{
    Array, CallResult, DType, Decoder, Encoder, Options, Pipeline, Status, Stream, Workspace, preset,
};

pub struct Fixture {
    pub encoder: Encoder,
    pub decoder: Decoder,
    pub encoding: Workspace,
    pub decoding: Workspace,
    pub array: Array,
    pub src: Block,
    pub container: Block,
    pub restored: Block,
    pub results: [Block; 2],
    pub stream: TestStream,
}

/// A preset with a bound of a thousandth of the range, if it supports one, and lists with room for every
/// case.
pub fn lossy(name: &str, dtype: DType) -> Pipeline {
    let mut p = preset(name, dtype).unwrap();
    let _ = p.set_everywhere("mode", |args| args.set_text("mode", "noa"));
    let _ = p.set_everywhere("error_bound", |args| args.set_real("error_bound", 1e-3));
    let _ = p.set_everywhere("outlier_capacity", |args| args.set_real("outlier_capacity", 1.0));
    p
}

pub fn options() -> Options {
    Options { device: device().unwrap(), ..Options::default() }
}

impl Fixture {
    pub fn new(pipeline: &Pipeline, array: &Array, options: &Options) -> Fixture {
        let encoder = Encoder::new(pipeline, array, options).unwrap();
        let decoder = encoder.decoder().unwrap();
        let (encoding, decoding) = (encoder.workspace().unwrap(), decoder.workspace().unwrap());
        let most = encoder.max_compressed_bytes() as usize;
        let bytes = array.bytes() as usize;
        Fixture {
            encoder,
            decoder,
            encoding,
            decoding,
            array: *array,
            src: Block::new(bytes),
            container: Block::new(most),
            restored: Block::new(bytes),
            results: [Block::new(24), Block::new(24)],
            stream: TestStream::new(),
        }
    }

    /// One dimension of `n` elements through a preset.
    pub fn of(name: &str, dtype: DType, n: u64) -> Fixture {
        Fixture::new(&lossy(name, dtype), &Array::new(dtype, &[n]).unwrap(), &options())
    }

    /// Contents of its array.
    pub fn data(&self, content: Content, seed: u64) -> Vec<u8> {
        samples::make(self.array.dtype(), self.array.dims(), content, seed).bytes
    }

    pub fn compress(&mut self, stream: Stream) {
        let (src, dst) = (self.src.slice(0, self.src.bytes), self.container.slice(0, self.container.bytes));
        let result = self.results[0].slice(0, 24).address;
        // SAFETY: the blocks and the workspace live until the test has waited for the stream.
        unsafe { self.encoder.compress_async(&mut self.encoding, src, dst, result, stream) }.unwrap();
    }

    pub fn decompress(&mut self, stream: Stream) {
        let (src, dst) =
            (self.container.slice(0, self.container.bytes), self.restored.slice(0, self.restored.bytes));
        let result = self.results[1].slice(0, 24).address;
        // SAFETY: as above.
        unsafe { self.decoder.decompress_async(&mut self.decoding, src, dst, result, stream) }.unwrap();
    }

    /// A graph of both directions.
    pub fn capture(&mut self) -> Graph {
        let stream = self.stream.raw();
        self.encoder.preload(&mut self.encoding, stream).unwrap();
        self.decoder.preload(&mut self.decoding, stream).unwrap();
        let captured = TestStream(self.stream.0);
        let graph = captured.capture(|| {
            self.compress(stream);
            self.decompress(stream);
        });
        // The fixture has the stream.
        std::mem::forget(captured);
        graph
    }

    /// The graph on other data, compared with the result of the CPU.
    pub fn replay(&self, graph: &Graph, src: &[u8]) {
        self.src.put(0, src);
        graph.launch(&self.stream);
        self.stream.wait();
        self.check(src);
    }

    /// The result of an asynchronous call for a container of the caller. Waits.
    pub fn verdict(&mut self, container: &[u8]) -> CallResult {
        let room = Block::of(container);
        let (from, to) = (room.slice(0, container.len()), self.restored.slice(0, self.restored.bytes));
        let result = self.results[1].slice(0, 24).address;
        // SAFETY: the blocks and the workspace live until the stream has passed.
        unsafe { self.decoder.decompress_async(&mut self.decoding, from, to, result, self.stream.raw()) }
            .unwrap();
        self.stream.wait();
        self.results[1].result()
    }

    /// Both ways on the fixture's own stream, and waits.
    pub fn both(&mut self) -> (CallResult, CallResult) {
        let stream = self.stream.raw();
        self.compress(stream);
        self.decompress(stream);
        self.stream.wait();
        (self.results[0].result(), self.results[1].result())
    }

    /// Container and array as calls that wait make them, on the CPU.
    pub fn expected(&self, src: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let options =
            Options { device: fzgm::Device::Cpu, checksum: false, ..self.encoder.options().clone() };
        let pipeline = self.encoder.pipeline();
        let container = fzgm::compress(pipeline, &self.array, &options, src).unwrap();
        let restored = fzgm::decompress(&container, &options).unwrap().1;
        (container, restored)
    }

    /// The data on the device is the result of the CPU for `src`.
    pub fn check(&self, src: &[u8]) {
        let (container, restored) = self.expected(src);
        let [first, second] = [&self.results[0], &self.results[1]].map(|b| b.result());
        assert_eq!((first.status, first.bytes), (Status::Ok as i32, container.len() as u64), "{first:?}");
        assert!(self.container.get()[..container.len()] == container[..], "another container");
        assert_eq!((second.status, second.bytes), (Status::Ok as i32, restored.len() as u64), "{second:?}");
        assert!(self.restored.get() == restored, "another array");
    }
}

//! The decoders of one container. Their results for damaged containers must be the results of the CPU.
// Calls on memory that lives until the test has waited.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use super::agreement::verdict;
use super::gpu::{Block, TestStream, device};
use super::samples::Sample;
use fzgm::{Decoder, Device, Encoder, Options, Pipeline, Status, Workspace, compress};

pub struct Decoders {
    /// The container as it was written, without checksums.
    pub bytes: Vec<u8>,
    name: String,
    options: Options,
    planned: (Decoder, Workspace),
    /// The encoder's and one that was opened, on the device if the case is for it.
    on_device: Vec<(Decoder, Workspace)>,
}

impl Decoders {
    pub fn new(p: &Pipeline, sample: &Sample, options: &Options, is_for_device: bool) -> Decoders {
        let options =
            Options { device: Device::Cpu, checksum: false, store_incompressible: false, ..options.clone() };
        let bytes = compress(p, &sample.array, &options, &sample.bytes).unwrap();
        let with_memory = |d: Decoder| {
            let ws = d.workspace().unwrap();
            (d, ws)
        };
        let planned = |options: &Options| Encoder::new(p, &sample.array, options).unwrap().decoder().unwrap();
        let on_device = device().filter(|_| is_for_device).map(|device| {
            let options = Options { device, ..options.clone() };
            [planned(&options), Decoder::open(&bytes, &options).unwrap()].map(with_memory)
        });
        Decoders {
            name: format!("{}, {}, {options:?}", sample.name, p.to_text().unwrap()),
            planned: with_memory(planned(&options)),
            on_device: on_device.into_iter().flatten().collect(),
            bytes,
            options,
        }
    }

    /// Restores `bytes` by the planned decoder of the CPU and in asynchronous calls on the device; the status of all of them.
    pub fn restore(&mut self, bytes: &[u8], what: &str) -> Status {
        let mut want = vec![0; self.planned.0.array().bytes() as usize];
        let said = self.planned.0.decompress(&mut self.planned.1, bytes, &mut want);
        let status = said.map_or_else(|e| e.status(), |_| Status::Ok);
        for (k, (decoder, ws)) in self.on_device.iter_mut().enumerate() {
            let (from, to) = (Block::of(bytes), Block::new(want.len() + 4 * k));
            let (result, stream) = (Block::new(24), TestStream::new());
            let (a, b, place) =
                (from.slice(0, bytes.len()), to.slice(4 * k, want.len()), result.slice(0, 24).address);
            unsafe { decoder.decompress_async(ws, a, b, place, stream.raw()) }.unwrap();
            stream.wait();
            assert_eq!(result.result().status, status as i32, "{} {what}: decoder {k}", self.name);
            let same = status != Status::Ok || to.get()[4 * k..] == want[..];
            assert!(same, "{} {what}: values of decoder {k}", self.name);
        }
        status
    }

    /// The same, and in calls that open the container.
    pub fn restore_and_open(&mut self, bytes: &[u8], what: &str) -> Status {
        let status = self.restore(bytes, what);
        let opened = verdict(bytes, &self.options, !self.on_device.is_empty(), what);
        assert_eq!(opened.map_or_else(|status| status, |_| Status::Ok), status, "{} {what}", self.name);
        status
    }
}

//! `fzgm compress --append`: each array becomes a step of one series.

use super::Work;
use crate::failure::{Failure, each};
use crate::memory;
use crate::output::OutFile;
use crate::series;
use crate::slabs::{self, Sink};
use fzgm::series::SeriesWriter;
use fzgm::slabs::Header;
use fzgm::{Encoder, Error, Options, Pipeline, Workspace};
use std::io::Read;
use std::path::Path;

impl Work<'_> {
    /// Appends each array to one series.
    pub(super) fn append(&self) -> Result<(), Failure> {
        let args = self.args;
        if let (Some(name), [_, _, ..]) = (&args.name, &args.inputs[..]) {
            let what = format!("--name {name} names one step, but {} files are given", args.inputs.len());
            return Err(Failure::usage(format!("{what}; remove --name, or append them one by one")));
        }
        let output = args.output.shared().ok_or_else(|| Failure::usage("--append requires -o"))?;
        each(&args.inputs, |input| {
            let mut writer = series::writer(output.path())?;
            self.file(input, &output, Some(&mut writer))
        })
    }

    /// Writes the container to its place, and returns the position of its step.
    pub(super) fn write(
        &self,
        output: &OutFile,
        series: Option<&mut SeriesWriter>,
        container: &[u8],
    ) -> Result<Option<u64>, Failure> {
        let Some(writer) = series else { return output.write(container).map(|()| None) };
        let name = self.args.name.as_deref().unwrap_or("");
        writer.append_container(name, container).map(Some).map_err(|e| Failure::from_error(&e))
    }

    /// Appends an array slab by slab. Returns the position of the step.
    pub(super) fn append_slabs(
        &self,
        src: (&mut dyn Read, &Path),
        writer: &mut SeriesWriter,
        header: &Header,
        (pipeline, options): (&Pipeline, &Options),
        check: &dyn Fn(&[u8]) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let refused = |e| Failure::from_error(&e);
        slabs::expect_rows(header)?;
        let rows = header.slowest().ok_or_else(|| {
            Failure::usage("--append with --slab requires the shape of a raw array; add --dims")
        })?;
        let array = header.array(rows).map_err(refused)?;
        writer.begin(self.args.name.as_deref().unwrap_or(""), &array, header.rows()).map_err(refused)?;
        let mut sink = Step { writer, header, pipeline, options, slabs: 0, ready: None };
        slabs::pass(src, &mut sink, header, check)?;
        writer.end().map_err(refused)
    }
}

/// A step that receives its slabs.
struct Step<'a> {
    writer: &'a mut SeriesWriter,
    header: &'a Header,
    pipeline: &'a Pipeline,
    options: &'a Options,
    slabs: u64,
    /// Bytes of a slab, with the plan for such slabs and its memory.
    ready: Option<(usize, Encoder, Workspace, Vec<u8>)>,
}

impl Step<'_> {
    fn compress(&mut self, slab: &[u8]) -> fzgm::Result<()> {
        let rows = slab.len() as u64 / self.header.row_bytes();
        let (_, encoder, workspace, dst) = match self.ready.take() {
            Some(ready) if ready.0 == slab.len() => self.ready.insert(ready),
            _ => {
                let encoder = Encoder::new(self.pipeline, &self.header.array(rows)?, self.options)?;
                let workspace = encoder.workspace()?;
                let bytes = encoder.max_compressed_bytes();
                let dst = memory::zeroed(bytes).map_err(|_| Error::OutOfMemory(bytes))?;
                self.ready.insert((slab.len(), encoder, workspace, dst))
            }
        };
        let made = encoder.compress(workspace, slab, dst)?;
        self.writer.slab(&dst[..made])
    }
}

impl Sink for Step<'_> {
    fn write_slab(&mut self, slab: &[u8]) -> fzgm::Result<()> {
        let index = self.slabs;
        self.slabs += 1;
        self.compress(slab).map_err(|source| Error::Slab { index, source: Box::new(source) })
    }
}

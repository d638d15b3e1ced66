//! An array, slab by slab, into a slab file.

use super::{HEADER, Header, TRAILER, Totals, trailer};
use crate::base::error::{Error, Result};
use crate::codec::{Encoder, Options, buffer};
use crate::file::FileOp;
use crate::pipeline::Pipeline;
use crate::runtime::workspace::Workspace;
use std::io::{self, Write};
use std::path::PathBuf;

/// Writes a slab file from front to back, with the memory of one slab and its compression.
///
/// Under the modes `noa` and `prel` each slab has the bound of its own values, which is never a larger one. Parameter `value_base` of
/// the pipeline, the value range or the largest magnitude of the whole array, gives all of them the bound of the whole.
pub struct Writer<W> {
    dst: W,
    name: PathBuf,
    header: Header,
    pipeline: Pipeline,
    options: Options,
    totals: Totals,
    /// For the last number of rows: all slabs but the last have the same.
    ready: Option<Ready>,
    /// True if a write has failed, so that the end of the file is unknown.
    broken: bool,
}

/// A plan for slabs of a number of rows, with its memory.
struct Ready {
    rows: u64,
    encoder: Encoder,
    workspace: Workspace,
    dst: Vec<u8>,
}

impl Ready {
    fn new(header: &Header, rows: u64, pipeline: &Pipeline, options: &Options) -> Result<Ready> {
        let options = Options { previous_base: false, ..options.clone() };
        let encoder = Encoder::new(pipeline, &header.array(rows)?, &options)?;
        if encoder.options().is_literal() {
            return Err(Error::Unsupported {
                stage: "slab file",
                what: "files of generation 2026-05 with strict off do not state their shape; use strict or generation 2026-08".into(),
            });
        }
        let workspace = encoder.workspace()?;
        let dst = buffer(encoder.max_compressed_bytes())?;
        Ok(Ready { rows, encoder, workspace, dst })
    }
}

impl<W: Write> Writer<W> {
    /// Writes the header. Errors call the destination `name`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an array of more than 3 dimensions or whose rows have no elements;
    /// those of [`Header::array`]; [`Error::File`] if `dst` cannot be written.
    pub fn new(
        mut dst: W,
        name: impl Into<PathBuf>,
        header: Header,
        pipeline: &Pipeline,
        options: &Options,
    ) -> Result<Writer<W>> {
        if header.row_bytes() == 0 {
            let dims = format!("{:?}", header.dims(header.slowest.unwrap_or(0)));
            return Err(Error::argument("dims of a slab file", dims, "rows of at least one element"));
        }
        let ndim = header.row.len() + 1;
        if ndim > 3 {
            return Err(Error::argument(
                "number of dimensions of a slab file",
                ndim,
                "1 to 3; join the slowest ones",
            ));
        }
        header.array(header.slowest.unwrap_or(header.rows))?;
        let name = name.into();
        FileOp { path: &name, doing: "write" }.io(dst.write_all(&header.to_bytes()))?;
        let totals = Totals { file_bytes: HEADER as u64, ..Totals::default() };
        Ok(Writer {
            dst,
            name,
            header,
            pipeline: pipeline.clone(),
            options: options.clone(),
            totals,
            ready: None,
            broken: false,
        })
    }

    /// Totals of the slabs that were written.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Compresses the next slab: [`Header::rows`] rows; for the last slab the rest of the array, at least one
    /// row.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] for another number of bytes or a slab after a shorter one;
    /// [`Error::Unsupported`] for containers without a shape (strict off, generation 2026-05); those of
    /// [`Encoder::new`]; [`Error::Slab`] with those of [`Encoder::compress`]; [`Error::File`], after which
    /// the file cannot be completed: all later calls fail.
    pub fn write_slab(&mut self, slab: &[u8]) -> Result<()> {
        let (bytes, row) = (slab.len() as u64, self.header.row_bytes());
        let rows = self.next(bytes, row)?;
        let mut ready = match self.ready.take() {
            Some(ready) if ready.rows == rows => ready,
            _ => Ready::new(&self.header, rows, &self.pipeline, &self.options)?,
        };
        let made = ready.encoder.compress(&mut ready.workspace, slab, &mut ready.dst);
        let index = self.totals.slabs;
        let made = made.map_err(|source| Error::Slab { index, source: Box::new(source) })?;
        self.write(&(made as u64).to_le_bytes())?;
        self.write(&ready.dst[..made])?;
        self.ready = Some(ready);
        self.totals.slabs += 1;
        self.totals.rows += rows;
        self.totals.array_bytes += bytes;
        self.totals.file_bytes += 8 + made as u64;
        Ok(())
    }

    /// Rows of the next slab, which has `bytes` bytes.
    fn next(&self, bytes: u64, row: u64) -> Result<u64> {
        let (rows, before) = (bytes / row, self.totals.rows);
        let left = self.header.slowest.map_or(self.header.rows, |all| all - before);
        let whole = before == self.totals.slabs.saturating_mul(self.header.rows);
        if whole && bytes % row == 0 && (1..=self.header.rows.min(left)).contains(&rows) {
            return Ok(rows);
        }
        let slab = self.totals.slabs;
        Err(Error::PlanMismatch(format!(
            "slab {slab} has {bytes} bytes after {before} rows; a slab has {} rows of {row} bytes, and the last slab has the remaining rows",
            self.header.rows
        )))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match self.broken {
            false => self.dst.write_all(bytes),
            true => Err(io::Error::other("an earlier write failed; write the file again")),
        };
        self.broken = written.is_err();
        FileOp { path: &self.name, doing: "write" }.io(written)
    }

    /// Writes the trailer, without which a reader refuses the file, flushes the destination and returns it. An
    /// [`AtomicFile`](crate::AtomicFile) is committed after that.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] for fewer rows than the header states; [`Error::File`].
    pub fn finish(mut self) -> Result<(Totals, W)> {
        let rows = self.totals.rows;
        if let Some(all) = self.header.slowest.filter(|all| *all != rows) {
            return Err(Error::PlanMismatch(format!("the array has {all} rows, but {rows} were written")));
        }
        let trailer = trailer(&self.totals);
        self.write(&trailer)?;
        FileOp { path: &self.name, doing: "write" }.io(self.dst.flush())?;
        self.totals.file_bytes += TRAILER as u64;
        Ok((self.totals, self.dst))
    }
}

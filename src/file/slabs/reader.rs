//! A slab file from front to back. Its numbers may come from anywhere: none of them becomes memory before it is bytes.

use super::{HEADER, Header, TRAILER, Totals, damaged, read};
use crate::base::array::Array;
use crate::base::error::{Error, Result};
use crate::format::info_partial;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

/// Reads a slab file from front to back, without seeking and with the memory of one container.
pub struct Reader<R> {
    src: R,
    name: PathBuf,
    header: Header,
    totals: Totals,
    container: Vec<u8>,
    /// True after the trailer was read.
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the header. Errors call the source `name`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for bytes that are not the beginning of a slab file; [`Error::File`] where `src` cannot be read.
    pub fn new(mut src: R, name: impl Into<PathBuf>) -> Result<Reader<R>> {
        let (name, mut header) = (name.into(), [0; HEADER]);
        read(&name, src.read_exact(&mut header))?;
        let (header, file_bytes) = (Header::from_bytes(&header)?, HEADER as u64);
        Ok(Reader {
            src,
            name,
            header,
            totals: Totals { file_bytes, ..Totals::default() },
            container: vec![],
            ended: false,
        })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Totals of the slabs that were read; those of the whole file once [`Reader::next_container`] has returned `None`.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Reads the next slab: a container whose array is the next rows of the whole, as its header states.
    /// `None`: there are no more slabs, the trailer agrees with them, and no byte follows it. The payload is
    /// not checked; decompression does so.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a slab that does not belong to the array, and for a file whose parts contradict each
    /// other or that ends early; [`Error::File`] if the source cannot be read. Do not read again after an
    /// error.
    pub fn next_container(&mut self) -> Result<Option<&[u8]>> {
        if self.ended {
            return Ok(None);
        }
        let mut length = [0; 8];
        read(&self.name, self.src.read_exact(&mut length))?;
        let bytes = u64::from_le_bytes(length);
        self.container.clear();
        if bytes == 0 {
            return self.end().map(|()| None);
        }
        let slab = self.array(bytes)?;
        // Memory is allocated for the bytes that arrive, not for the stated length.
        let left = bytes.saturating_sub(self.container.len() as u64);
        read(&self.name, (&mut self.src).take(left).read_to_end(&mut self.container))?;
        if (self.container.len() as u64) < bytes {
            return read(&self.name, Err(ErrorKind::UnexpectedEof.into()));
        }
        self.totals.slabs += 1;
        self.totals.rows = self.totals.rows.saturating_add(slab.dims().last().copied().unwrap_or(0));
        self.totals.array_bytes = self.totals.array_bytes.saturating_add(slab.bytes());
        self.totals.file_bytes += 8 + bytes;
        Ok(Some(&self.container))
    }

    /// Reads the header of the next container, which has `bytes` bytes, and returns its array. The payload is
    /// not read if the header states another length, because a stream may have no end.
    fn array(&mut self, bytes: u64) -> Result<Array> {
        let index = self.totals.slabs;
        let info = loop {
            let needed = match info_partial(&self.container) {
                Ok(info) => break info,
                Err(Error::Truncated { needed }) if needed <= bytes => needed,
                Err(Error::Truncated { needed }) => {
                    let what =
                        format!("slab {index} has {bytes} bytes, but its header requires at least {needed}");
                    return Err(damaged(what));
                }
                Err(e) => return Err(damaged(format!("slab {index}: {e}"))),
            };
            let missing = needed.saturating_sub(self.container.len() as u64);
            if read(&self.name, (&mut self.src).take(missing).read_to_end(&mut self.container))? == 0 {
                return read(&self.name, Err(ErrorKind::UnexpectedEof.into()));
            }
        };
        let stated = info.container_bytes;
        if stated != bytes {
            return Err(damaged(format!("slab {index} has {bytes} bytes, but its header states {stated}")));
        }
        self.header.admit(index, self.totals.rows, &info.array)?;
        Ok(info.array)
    }

    fn end(&mut self) -> Result<()> {
        let mut trailer = [0; TRAILER];
        read(&self.name, self.src.read_exact(&mut trailer[8..]))?;
        let (slabs, rows) = self.header.ends(&trailer)?;
        let Totals { slabs: found, rows: found_rows, .. } = self.totals;
        if slabs != found {
            return Err(damaged(format!("has {found} slabs, but its trailer states {slabs}")));
        }
        if rows != found_rows {
            let what = format!("has slabs of {found_rows} rows in total, but its trailer states {rows}");
            return Err(damaged(what));
        }
        // An array that there cannot be may have no slab.
        self.header.array(rows).map_err(|e| damaged(e.to_string()))?;
        self.totals.file_bytes += TRAILER as u64;
        self.ended = true;
        // Unlike `read`, this continues after an interruption.
        match read(&self.name, (&mut self.src).take(1).read_to_end(&mut vec![]))? {
            0 => Ok(()),
            _ => Err(damaged("continues after its trailer")),
        }
    }
}

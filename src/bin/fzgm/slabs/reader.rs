//! A slab file, slab by slab. Its numbers may come from anywhere: none of them is memory before it is bytes.

use super::{Head, MAGIC, TRAILER, Totals, damaged, end_of, foreign, refused};
use crate::failure::Failure;
use crate::input;
use crate::memory;
use crate::progress::Progress;
use fzgm::Options;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

/// What a slab file holds, without its values.
pub(crate) struct Outline {
    pub(crate) head: Head,
    pub(crate) totals: Totals,
    /// The first slab.
    pub(crate) container: Vec<u8>,
}

/// The slabs of a file, one after the other.
struct Slabs<'a> {
    src: &'a mut dyn Read,
    from: &'a Path,
    head: Head,
    totals: Totals,
}

impl<'a> Slabs<'a> {
    /// `src` stands behind the magic number.
    fn open(src: &'a mut dyn Read, from: &'a Path) -> Result<Slabs<'a>, Failure> {
        let head = Head::read(&mut MAGIC.chain(&mut *src)).map_err(|e| refused(from, &e))?;
        let totals = Totals { slabs: 0, slowest: 0, array_bytes: 0, file_bytes: super::HEAD as u64 };
        Ok(Slabs { src, from, head, totals })
    }

    /// Reads the next container into `container`. False: that was all, and the trailer agrees.
    fn next(&mut self, container: &mut Vec<u8>) -> Result<bool, Failure> {
        self.read(container).map_err(|e| refused(self.from, &e))
    }

    fn read(&mut self, container: &mut Vec<u8>) -> std::io::Result<bool> {
        let mut length = [0; 8];
        self.src.read_exact(&mut length)?;
        let bytes = u64::from_le_bytes(length);
        if bytes == 0 {
            return self.end().map(|()| false);
        }
        container.clear();
        // A length that its container does not confirm is not read for: a stream may have no end.
        let slab = self.totals.slabs;
        match input::stated(&mut *self.src, bytes, container)? {
            Err(e) => return Err(damaged(format!("slab {slab}: {e}"))),
            Ok(Some(stated)) if stated != bytes => {
                return Err(damaged(format!("slab {slab} has {bytes} bytes, its head states {stated}")));
            }
            Ok(_) => {}
        }
        // As much memory as there are bytes, whatever the length says.
        let left = bytes.saturating_sub(container.len() as u64);
        (&mut *self.src).take(left).read_to_end(container)?;
        if (container.len() as u64) < bytes {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.totals.slabs += 1;
        self.totals.file_bytes += 8 + bytes;
        Ok(true)
    }

    fn end(&mut self) -> std::io::Result<()> {
        let mut trailer = [0; TRAILER];
        self.src.read_exact(&mut trailer[8..])?;
        let (slabs, slowest) = end_of(&self.head, &trailer)?;
        self.totals.file_bytes += TRAILER as u64;
        if slabs != self.totals.slabs {
            return Err(damaged(format!("has {} slabs, its trailer says {slabs}", self.totals.slabs)));
        }
        self.totals.array_bytes = self.head.array(slowest).map_err(|e| damaged(e.to_string()))?.bytes();
        self.totals.slowest = slowest;
        let mut more = [0];
        if self.src.read(&mut more)? != 0 {
            return Err(damaged("goes on behind its trailer"));
        }
        Ok(())
    }
}

/// Restores a file into `dst`. `src` stands behind the magic number; `to` is what `dst` is called.
pub(crate) fn restore(
    (src, from): (&mut dyn Read, &Path),
    (dst, to): (&mut dyn Write, &Path),
    options: &Options,
) -> Result<(Head, Totals), Failure> {
    let mut slabs = Slabs::open(src, from)?;
    let row = slabs.head.row_bytes();
    let progress = Progress::new("decompress", slabs.head.slowest.map(|all| all.saturating_mul(row)));
    let (mut container, mut restored, mut rows) = (vec![], vec![], 0u64);
    while slabs.next(&mut container)? {
        let index = slabs.totals.slabs - 1;
        let about = |e| memory::refused(from, &container, options, e);
        let here = |failure: Failure| failure.about(&format!("slab {index}"));
        let decoder = memory::decoder(from, &container, options).map_err(here)?;
        let array = decoder.array();
        let bytes = array.bytes();
        // Only the last slab may have fewer rows, so that nothing follows on one that has.
        if !slabs.head.has(array) || rows != index.saturating_mul(slabs.head.rows) {
            return Err(Failure::container(from, &foreign(index, array)));
        }
        let mut workspace = decoder.workspace().map_err(about).map_err(here)?;
        if restored.len() as u64 != bytes {
            restored = memory::zeroed(bytes)?;
        }
        let made = decoder.decompress(&mut workspace, &container, &mut restored);
        let made = made.map_err(about).map_err(here)?;
        dst.write_all(&restored[..made]).map_err(|e| Failure::io("write", to, &e))?;
        rows = rows.saturating_add(array.dims().last().copied().unwrap_or(0));
        slabs.totals.array_bytes += made as u64;
        progress.at(slabs.totals.array_bytes);
    }
    if rows != slabs.totals.slowest {
        let what = format!("has slabs of {rows} rows together, its trailer says {}", slabs.totals.slowest);
        return Err(Failure::container(from, &what));
    }
    Ok((slabs.head, slabs.totals))
}

/// Reads what a file says of itself. `src` stands behind the magic number.
pub(crate) fn outline(src: &mut dyn Read, from: &Path) -> Result<Outline, Failure> {
    let mut slabs = Slabs::open(src, from)?;
    let (mut first, mut container) = (vec![], vec![]);
    while slabs.next(&mut container)? {
        if slabs.totals.slabs == 1 {
            first = std::mem::take(&mut container);
        }
    }
    if slabs.totals.slabs > 0 {
        let array = fzgm::info(&first).map_err(|e| Failure::reading(from, &e).about("slab 0"))?.array;
        if !slabs.head.has(&array) {
            return Err(Failure::container(from, &foreign(0, &array)));
        }
    }
    Ok(Outline { head: slabs.head, totals: slabs.totals, container: first })
}

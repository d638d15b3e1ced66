//! Containers and arrays that are read at places, of which only some is wanted.

use crate::base::error::{Error, Result};
use crate::base::strided::{Layout, Row};
use std::ops::Range;

/// Where a container lies: in memory, or in a file.
pub(crate) trait Source {
    /// The name of the source in errors.
    fn name(&self) -> String;

    /// How many bytes it has.
    fn bytes(&self) -> u64;

    /// Fills `into` with the bytes from `at` on, all of which are below [`Source::bytes`].
    fn fill(&self, at: u64, into: &mut [u8]) -> Result<()>;

    /// Fills `into` with the packed forms of strided arrays, one after another. Each has the place of its first element, and all of its
    /// elements are below [`Source::bytes`]. A device packs all of them before it copies the result once.
    fn pack(&self, parts: &[(u64, Layout)], into: &mut [u8]) -> Result<()> {
        let mut rest = into;
        for (first, layout) in parts {
            let (own, others) = std::mem::take(&mut rest)
                .split_at_mut_checked(layout.bytes() as usize)
                .ok_or(Error::Internal("packed arrays are longer than their memory"))?;
            rest = others;
            let (width, mut done) = (layout.width() as usize, Ok(()));
            layout.rows(|Row { at, stride, packed }| {
                let at = first.wrapping_add_signed(at);
                let step = if stride == width as i64 { packed.len() } else { width };
                for (i, element) in (0..).zip(own[packed].chunks_exact_mut(step)) {
                    if done.is_ok() {
                        done = self.fill(at.wrapping_add_signed(stride * i), element);
                    }
                }
            });
            done?;
        }
        Ok(())
    }

    /// All of it where it is memory: that is read where it lies.
    fn memory(&self) -> Option<&[u8]> {
        None
    }
}

impl Source for &[u8] {
    fn name(&self) -> String {
        "the container".into()
    }

    fn bytes(&self) -> u64 {
        self.len() as u64
    }

    fn fill(&self, at: u64, into: &mut [u8]) -> Result<()> {
        into.copy_from_slice(part(self, at, into.len())?);
        Ok(())
    }

    fn memory(&self) -> Option<&[u8]> {
        Some(self)
    }
}

fn part(all: &[u8], at: u64, bytes: usize) -> Result<&[u8]> {
    let range = usize::try_from(at).ok().and_then(|at| Some(at..at.checked_add(bytes)?));
    range.and_then(|r| all.get(r)).ok_or(Error::Internal("a source is read beyond its end"))
}

/// A segment of a container. Bytes beyond its ends are never read, even if they are requested.
pub struct Segment<'a> {
    stage: &'static str,
    source: &'a dyn Source,
    range: Range<u64>,
}

impl<'a> Segment<'a> {
    /// The segment of `stage`, at `range` of the container.
    pub(crate) fn new(stage: &'static str, source: &'a dyn Source, range: &Range<usize>) -> Segment<'a> {
        Segment { stage, source, range: range.start as u64..range.end as u64 }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Where in the container the bytes from `at` on are.
    fn place(&self, at: u64, bytes: usize) -> Result<u64> {
        let end = at.checked_add(bytes as u64).filter(|end| *end <= self.bytes()); // seed: box-beyond
        let end = end.ok_or_else(|| {
            let what = format!("{bytes} bytes from {at} on are outside of its {} bytes", self.bytes());
            Error::corrupt(self.stage, what)
        })?;
        let needed = self.range.start + end;
        if needed > self.source.bytes() {
            return Err(Error::Truncated { needed });
        }
        Ok(self.range.start + at)
    }

    /// Fills `into` with the bytes from `at` on.
    pub(crate) fn fill(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.source.fill(self.place(at, into.len())?, into)
    }

    /// The bytes from `at` on, where they are or in `buffer`.
    pub(crate) fn view<'b>(&self, at: u64, bytes: usize, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]>
    where
        'a: 'b,
    {
        let at = self.place(at, bytes)?;
        if let Some(all) = self.source.memory() {
            return part(all, at, bytes);
        }
        if buffer.len() < bytes {
            // The old contents are not needed, and few requests lead to the longest buffer.
            *buffer = vec![];
            let room = bytes.checked_next_power_of_two().unwrap_or(bytes);
            buffer.try_reserve_exact(room).map_err(|_| Error::OutOfMemory(room as u64))?;
            buffer.resize(room, 0);
        }
        let (view, _) = buffer.split_at_mut(bytes);
        self.source.fill(at, view)?;
        Ok(view)
    }
}

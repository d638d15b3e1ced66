//! The header of a container, common to both formats.

use super::{compact, crc32, fzm, template};
use crate::base::array::Array;
use crate::base::byte_source::Source;
use crate::base::error::{Error, Result};
use crate::base::parallel::Parallel;
use crate::format::{Container, Report};
use crate::ir::stage::{Generation, Length, Parsed, Rules};
use crate::ir::value::Val;
use crate::pipeline::Pipeline;
use crate::plan::{BoundPipeline, Graph};
use std::ops::Range;

/// The first bytes of a slab file, whose slabs are containers.
pub const SLAB_FILE_MAGIC: [u8; 4] = *b"FZS1";

/// The first bytes of a series, whose slabs are containers.
pub const SERIES_MAGIC: [u8; 4] = *b"FZS2";

/// Information on the origin of a container that is not needed to read it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Requested {
    /// True if the bound was kept for every value; `None`: the container does not state it.
    pub(crate) strict: Option<bool>,
    /// The bound that the user asked for; 0: none, or not said.
    pub(crate) bound: f64,
    /// Values from here on are exact.
    pub(crate) threshold: f64,
}

/// A container, parsed and checked.
#[derive(Clone)]
pub(crate) struct Header {
    pub(crate) container: Container,
    /// Stages in the order of the container, bound to the array.
    pub(crate) bound: BoundPipeline,
    /// Bytes of the padded array.
    pub(crate) padded: u64,
    pub(crate) requested: Requested,
    /// The length of the input of each stage, as far as the container states it.
    pub(crate) lengths: Vec<Length>,
    /// Per stage, its metadata.
    pub(crate) metadata: Vec<Vec<u8>>,
    /// Where the segments lie in the container, in the order of [`Graph::sinks`].
    pub(crate) segments: Vec<Range<usize>>,
    /// Checksums as stored, with the bytes that they cover.
    pub(crate) checksums: Vec<Checksum>,
    /// Bytes of the whole container.
    pub(crate) end: usize,
    /// The header itself.
    pub(crate) bytes: Vec<u8>,
}

/// The available part of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// All of it and nothing else.
    Whole,
    /// Its beginning, or more.
    Beginning,
}

/// A checksum of a container, not yet compared: over all but four bytes of it, or of its beginning.
#[derive(Clone)]
pub(crate) struct Checksum {
    pub(crate) what: &'static str,
    pub(crate) stored: u32,
    /// The bytes that the checksum covers before and after the field itself.
    pub(crate) before: Range<usize>,
    pub(crate) after: Range<usize>,
    /// True if the field counts as four zeros between them.
    pub(crate) zeros: bool,
}

impl Checksum {
    fn computed(&self, container: &[u8], threads: Parallel<'_>) -> u32 {
        let part = |r: &Range<usize>| container.get(r.clone()).unwrap_or_default();
        let zeros: &[u8] = if self.zeros { &[0; 4] } else { &[] };
        crc32(threads, &[part(&self.before), zeros, part(&self.after)])
    }
}

impl Header {
    /// Lengths of the segments.
    pub(crate) fn segment_bytes(&self) -> Vec<u64> {
        self.segments.iter().map(|r| r.len() as u64).collect()
    }

    /// True if a writer of the bound pipeline writes this very header; checksums may differ.
    pub(super) fn is_canonical(&self) -> Result<bool> {
        let graph = &self.bound.graph;
        let words = graph.lengths(&self.lengths, &self.segment_bytes())?;
        let metadata =
            |v: Val| graph.nodes.iter().position(|n| n.metadata == v).map(|i| &self.metadata[i][..]);
        let report = Report { length: &|v| words[v.index()], bytes: &metadata };
        template(&self.bound, self.container, !self.checksums.is_empty())?.matches(&report, &self.bytes)
    }

    /// The same with the pipeline and the rules of an encoder that writes just this header; `None`: it is in a form that only
    /// others write. The values have the numbers that they have in a plan of this header.
    pub(crate) fn canonical(&self) -> Option<Header> {
        let mut header = match self.container {
            Container::Fzm => fzm::as_added(self),
            Container::Compact => self.clone(),
        };
        [Generation::G2026_08, Generation::G2026_05].into_iter().find_map(|generation| {
            let BoundPipeline { pipeline, array, rules, graph } = &mut header.bound;
            rules.generation = generation;
            let nodes = &mut pipeline.nodes;
            nodes
                .iter_mut()
                .try_for_each(|n| n.stage.versions().resolve_args(&mut n.args, generation))
                .ok()?;
            *graph = Graph::new(pipeline, *array, header.padded, *rules).ok()?;
            header.is_canonical().ok()?.then(|| header.clone())
        })
    }

    /// Compares every checksum that the container has.
    pub(crate) fn verify(&self, container: &[u8], threads: Parallel<'_>) -> Result<()> {
        for checksum in &self.checksums {
            let (what, stored, computed) =
                (checksum.what, checksum.stored, checksum.computed(container, threads));
            if computed != stored {
                return Err(Error::Checksum { what, stored, computed });
            }
        }
        Ok(())
    }
}

/// Reads the header of either container. Checksums are not compared yet.
pub(crate) fn read(container: &[u8]) -> Result<Header> {
    read_given(container, Given::Whole)
}

/// Reads the beginning of a container; bytes after the header count as the payload that it states.
///
/// # Errors
/// [`Error::Truncated`] if the header is longer.
pub(crate) fn read_beginning(beginning: &[u8]) -> Result<Header> {
    let may_be = [fzm::MAGIC, compact::MAGIC].iter().any(|magic| magic.starts_with(beginning));
    if beginning.len() < 4 && may_be {
        return Err(Error::Truncated { needed: compact::LEAST as u64 });
    }
    read_given(beginning, Given::Beginning)
}

/// The same from wherever the container lies. No more of it is read than 4 KiB, or the header where that is longer.
///
/// # Errors
/// [`Error::Corrupt`] for a source of another length than the header states.
pub(crate) fn read_from(source: &dyn Source) -> Result<Header> {
    let all = source.bytes();
    match read_front(source) {
        Ok(header) if header.end as u64 == all => Ok(header), // seed: box-length
        Ok(header) => Err(another_length(source, header.end as u64)),
        Err(Error::Truncated { needed }) => {
            let (name, has) = (source.name(), source.bytes());
            let what = format!("{name} has {has} bytes, but its header requires at least {needed}");
            Err(Error::corrupt("length", what))
        }
        Err(e) => Err(e),
    }
}

fn another_length(source: &dyn Source, stated: u64) -> Error {
    let what = format!("{} has {} bytes, but its header states {stated}", source.name(), source.bytes());
    Error::corrupt("length", what)
}

/// Reads a container that may end before the length that its header states.
///
/// # Errors
/// [`Error::Truncated`] if it ends within its header; [`Error::Corrupt`] if bytes follow it.
pub(crate) fn read_front(source: &dyn Source) -> Result<Header> {
    /// Most headers are shorter.
    const FIRST: u64 = 4096;
    let all = source.bytes();
    let mut beginning = vec![];
    let mut wanted = all.min(FIRST);
    loop {
        let have = beginning.len();
        // Never more than there is, nor than a header can have.
        beginning.resize(wanted as usize, 0);
        source.fill(have as u64, &mut beginning[have..])?;
        match read_beginning(&beginning) {
            Ok(header) if header.end as u64 >= all => return Ok(header),
            Ok(header) => return Err(another_length(source, header.end as u64)),
            Err(Error::Truncated { needed }) if needed <= all => wanted = needed,
            // The header ends after the last available byte.
            Err(Error::Truncated { .. }) if wanted < all => wanted = all,
            Err(Error::Truncated { needed }) => match read(&beginning) {
                Err(e @ Error::NotAContainer(_)) => return Err(e),
                _ => return Err(Error::Truncated { needed }),
            },
            Err(e) => return Err(e),
        }
    }
}

fn read_given(container: &[u8], given: Given) -> Result<Header> {
    #[cfg(test)]
    crate::base::tally::count(|t| t.parses += 1);
    match container.first_chunk::<4>() {
        Some(magic) if *magic == fzm::MAGIC => fzm::read(container, given),
        Some(magic) if *magic == compact::MAGIC => compact::read(container, given),
        Some(magic) if *magic == SLAB_FILE_MAGIC => Err(Error::NotAContainer(
            "it is a slab file, which contains several containers; read it with fzgm::slabs or `fzgm decompress`".into(),
        )),
        Some(magic) if *magic == SERIES_MAGIC => Err(Error::NotAContainer(
            "it is a series, which contains several containers; read it with fzgm::series, fz_series_open() or `fzgm decompress --step`".into(),
        )),
        Some(magic) => Err(Error::NotAContainer(format!(
            "it starts with the bytes {:#010x}",
            u32::from_be_bytes(*magic)
        ))),
        None => Err(Error::NotAContainer(format!("{} bytes are too few", container.len()))),
    }
}

/// The stages of a container as they were parsed.
pub(super) struct Stages {
    pub(super) pipeline: Pipeline,
    pub(super) parsed: Vec<Parsed>,
}

impl Stages {
    /// The graph of these stages on the array. Errors that are the caller's mistake elsewhere are damage
    /// here.
    pub(super) fn graph(&self, array: Array, padded: u64, rules: Rules) -> Result<Graph> {
        Graph::new(&self.pipeline, array, padded, rules).map_err(|e| match e {
            Error::Unsupported { .. } | Error::Corrupt { .. } | Error::Internal(_) => e,
            other => Error::corrupt("stage records", other.to_string()),
        })
    }

    /// Puts the number of exact values of stage `i` where its kernels look for it.
    pub(super) fn set_exact_values(&mut self, i: usize, count: u64) -> Result<()> {
        let (Some(node), Some(parsed)) = (self.pipeline.nodes.get(i), self.parsed.get_mut(i)) else {
            return Err(Error::Internal("a stage was not parsed"));
        };
        // Eight bytes of ones tell kernels on a device that the header does not contain the number.
        if count == u64::MAX {
            return Err(Error::corrupt("exact values", format!("no list holds {count} of them")));
        }
        let at = node.stage.exact_values_at().map(|at| at as usize);
        match at.and_then(|at| parsed.metadata.get_mut(at..at + 8)) {
            Some(field) => field.copy_from_slice(&count.to_le_bytes()),
            None if count == 0 => {} // seed: exact-pairs-of-others
            None => {
                let what = format!("{count} exact values are stated for {}, which has none", node.stage());
                return Err(Error::corrupt("exact values", what));
            }
        }
        Ok(())
    }

    pub(super) fn lengths(&self) -> Vec<Length> {
        self.parsed.iter().map(|p| p.length.clone()).collect()
    }

    pub(super) fn metadata(self) -> (Pipeline, Vec<Vec<u8>>) {
        (self.pipeline, self.parsed.into_iter().map(|p| p.metadata).collect())
    }
}

/// Rules under which a container is read; they have no influence on decoding.
pub(super) fn reading(strict: bool) -> Rules {
    Rules { strict, ..Rules::default() }
}

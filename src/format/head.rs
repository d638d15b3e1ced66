//! What both containers come down to when they are read.

use super::{compact, crc32, fzm, template, tier};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::format::{Container, Report};
use crate::kernel::Threads;
use crate::launch::Val;
use crate::pipeline::Pipeline;
use crate::plan::{Blueprint, Graph};
use crate::source::Source;
use crate::stage::{Generation, Length, Parsed, Rules};
use std::ops::Range;

/// What a container says of where it comes from, besides what is needed to read it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Origin {
    /// Whether the bound was kept for every value; `None`: the container does not say.
    pub(crate) strict: Option<bool>,
    /// The bound that the user asked for; 0: none, or not said.
    pub(crate) bound: f64,
    /// Values from here on are exact.
    pub(crate) threshold: f64,
}

/// A container, parsed and checked.
#[derive(Clone)]
pub(crate) struct Head {
    pub(crate) container: Container,
    /// Stages in the order of the container.
    pub(crate) pipeline: Pipeline,
    pub(crate) array: Array,
    /// Bytes of the padded array.
    pub(crate) padded: u64,
    pub(crate) rules: Rules,
    pub(crate) origin: Origin,
    /// Per stage, what it says of the length of its input.
    pub(crate) lengths: Vec<Length>,
    /// Per stage, its facts.
    pub(crate) facts: Vec<Vec<u8>>,
    /// Where the segments lie in the container, in the order of [`Graph::sinks`].
    pub(crate) segments: Vec<Range<usize>>,
    /// Checksums as stored, with what they cover.
    pub(crate) checksums: Vec<Checksum>,
    /// Bytes of the whole container.
    pub(crate) end: usize,
    /// The head itself.
    pub(crate) bytes: Vec<u8>,
}

/// How much of a container is there.
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
    /// What is covered before and after the field itself.
    pub(crate) before: Range<usize>,
    pub(crate) after: Range<usize>,
    /// Whether the field counts as four zeros in between.
    pub(crate) zeros: bool,
}

impl Checksum {
    fn computed(&self, container: &[u8], threads: Threads<'_>) -> u32 {
        let part = |r: &Range<usize>| container.get(r.clone()).unwrap_or_default();
        let zeros: &[u8] = if self.zeros { &[0; 4] } else { &[] };
        crc32(threads, &[part(&self.before), zeros, part(&self.after)])
    }
}

impl Head {
    /// Lengths of the segments.
    pub(crate) fn segment_bytes(&self) -> Vec<u64> {
        self.segments.iter().map(|r| r.len() as u64).collect()
    }

    /// Whether a plan of these values, under these rules, writes just this head; checksums may be any.
    pub(super) fn follows_from(&self, graph: &Graph, rules: Rules) -> Result<bool> {
        let plan = Blueprint { pipeline: &self.pipeline, array: self.array, rules, graph };
        let words = graph.lengths(&self.lengths, &self.segment_bytes())?;
        let facts = |v: Val| graph.nodes.iter().position(|n| n.facts == v).map(|i| &self.facts[i][..]);
        let report = Report { length: &|v| words[v.index()], bytes: &facts };
        template(plan, self.container, !self.checksums.is_empty())?.makes(&report, &self.bytes)
    }

    /// The same with the pipeline and the rules of an encoder that writes just this head, and the values of its plan;
    /// `None`: it is in a form that only others write. The values have the numbers that they have in a plan of this head.
    pub(crate) fn origin(&self) -> Option<(Head, Graph)> {
        let mut head = match self.container {
            Container::Fzm => fzm::as_added(self),
            Container::Compact => self.clone(),
        };
        [Generation::G2026_08, Generation::G2026_05].into_iter().find_map(|generation| {
            head.rules.generation = generation;
            head.pipeline.nodes.iter_mut().try_for_each(|node| tier::settle_node(node, generation)).ok()?;
            let graph = Graph::new(&head.pipeline, head.array, head.padded, head.rules).ok()?;
            head.follows_from(&graph, head.rules).ok()?.then(|| (head.clone(), graph))
        })
    }

    /// Compares every checksum that the container has.
    pub(crate) fn verify(&self, container: &[u8], threads: Threads<'_>) -> Result<()> {
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

/// Reads the head of either container. Checksums are not compared yet.
pub(crate) fn read(container: &[u8]) -> Result<Head> {
    read_given(container, Given::Whole)
}

/// The same from the beginning of a container; what follows on the head counts as the payload that it states.
///
/// # Errors
/// [`Error::Truncated`] where the head is longer.
pub(crate) fn read_beginning(beginning: &[u8]) -> Result<Head> {
    let may_be = [fzm::MAGIC, compact::MAGIC].iter().any(|magic| magic.starts_with(beginning));
    if beginning.len() < 4 && may_be {
        return Err(Error::Truncated { needed: compact::LEAST as u64 });
    }
    read_given(beginning, Given::Beginning)
}

/// The same from wherever the container lies. No more of it is read than 4 KiB, or the head where that is longer.
///
/// # Errors
/// [`Error::Corrupt`] for a source of another length than the head states.
pub(crate) fn read_from(source: &dyn Source) -> Result<Head> {
    /// Most heads are shorter.
    const FIRST: u64 = 4096;
    let all = source.bytes();
    let mut beginning = vec![];
    let mut wanted = all.min(FIRST);
    let stated = loop {
        let have = beginning.len();
        // Never more than there is, nor than a head can have.
        beginning.resize(wanted as usize, 0);
        source.fill(have as u64, &mut beginning[have..])?;
        match read_beginning(&beginning) {
            Ok(head) if head.end as u64 == all => return Ok(head),
            Ok(head) => break head.end as u64,
            Err(Error::Truncated { needed }) if needed <= all => wanted = needed,
            // The head goes on behind the end of what there is.
            Err(Error::Truncated { .. }) if wanted < all => wanted = all,
            Err(Error::Truncated { needed }) => match read(&beginning) {
                Err(e @ Error::NotAContainer(_)) => return Err(e),
                _ => break needed,
            },
            Err(e) => return Err(e),
        }
    };
    let what = format!("{} has {all} bytes, its head states {stated}", source.name());
    Err(Error::corrupt("length", what))
}

fn read_given(container: &[u8], given: Given) -> Result<Head> {
    match container.first_chunk::<4>() {
        Some(magic) if *magic == fzm::MAGIC => fzm::read(container, given),
        Some(magic) if *magic == compact::MAGIC => compact::read(container, given),
        // What the command line makes of arrays that are larger than memory; somebody will hand it to a call.
        Some(b"FZS1") => {
            Err(Error::NotAContainer("it is a slab file, which `fzgm decompress` restores".into()))
        }
        Some(magic) => Err(Error::NotAContainer(format!("it starts with the bytes {magic:02x?}"))),
        None => Err(Error::NotAContainer(format!("{} bytes are too few", container.len()))),
    }
}

/// The stages of a container as they were parsed.
pub(super) struct Stages {
    pub(super) pipeline: Pipeline,
    pub(super) parsed: Vec<Parsed>,
}

impl Stages {
    /// The graph that these stages make of the array. What would be the caller's mistake elsewhere is damage
    /// here.
    pub(super) fn graph(&self, array: Array, padded: u64, rules: Rules) -> Result<Graph> {
        Graph::new(&self.pipeline, array, padded, rules).map_err(|e| match e {
            Error::Unsupported { .. } | Error::Corrupt { .. } | Error::Internal(_) => e,
            other => Error::corrupt("stage records", other.to_string()),
        })
    }

    /// Puts the number of exact pairs of stage `i` where its kernels look for it.
    pub(super) fn set_exact_pairs(&mut self, i: usize, count: u64) -> Result<()> {
        let (Some(node), Some(parsed)) = (self.pipeline.nodes.get(i), self.parsed.get_mut(i)) else {
            return Err(Error::Internal("a stage was not parsed"));
        };
        // To kernels on a device eight bytes of ones say that the head does not tell.
        if count == u64::MAX {
            return Err(Error::corrupt("exact pairs", format!("no list holds {count} of them")));
        }
        let at = node.stage.exact_pairs_at().map(|at| at as usize);
        match at.and_then(|at| parsed.facts.get_mut(at..at + 8)) {
            Some(field) => field.copy_from_slice(&count.to_le_bytes()),
            None if count == 0 => {}
            None => {
                let what = format!("{count} exact pairs are stated for {}, which has none", node.stage());
                return Err(Error::corrupt("exact pairs", what));
            }
        }
        Ok(())
    }

    pub(super) fn lengths(&self) -> Vec<Length> {
        self.parsed.iter().map(|p| p.length.clone()).collect()
    }

    pub(super) fn facts(self) -> (Pipeline, Vec<Vec<u8>>) {
        (self.pipeline, self.parsed.into_iter().map(|p| p.facts).collect())
    }
}

/// Rules under which a container is read; they have no influence on decoding.
pub(super) fn reading(strict: bool) -> Rules {
    Rules { strict, generation: Generation::G2026_08 }
}

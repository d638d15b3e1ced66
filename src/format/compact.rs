//! The compact frame, for chunks and small messages.
#![doc = include_str!("compact.md")]

use super::header::{Checksum, Given, Header, Requested, Stages, reading};
use super::template::{Crc, Field, Segment, Template};
use crate::base::array::{Array, MAX_DIMS};
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::wire::Reader;
use crate::format::Container;
use crate::ir::stage::{Generation, RuntimeField};
use crate::pipeline::{MAX_STAGES, Node, Pipeline, Source};
use crate::plan::BoundPipeline;
use crate::stages;

/// The first four bytes.
pub(super) const MAGIC: [u8; 4] = *b"FZC1";
const VERSION: u8 = 1;
/// The version of arrays of more than 3 dimensions.
const MORE_DIMS: u8 = 2;
const FLAG_CRC: u8 = 1;
const FLAG_STRICT: u8 = 2;
const PLACE: &str = "compact frame";
/// Bytes of the header up to the number of dimensions, and of the shortest record of a stage: id, length of a config of none,
/// one edge.
const START: usize = 8;
const RECORD: usize = 5;
/// Bytes of the shortest header: one dimension, the length, one stage.
pub(super) const LEAST: usize = START + 1 + 1 + 1 + RECORD;

pub(super) fn template(plan: &BoundPipeline, checksum: bool) -> Result<Template> {
    if plan.rules.generation != Generation::G2026_08 {
        let what = "frames are written in generation 2026-08 only; use container fzm".into();
        return Err(Error::Unsupported { stage: "compact frame", what });
    }
    let g = &plan.graph;
    let mut t = Template::new(g.sinks.iter().map(|s| Segment::Value(s.value)).collect());
    let flag = |on: bool, bit: u8| if on { bit } else { 0 };
    t.bytes(|w| {
        w.bytes(&MAGIC);
        w.u8(if plan.array.slow_dims().is_empty() { VERSION } else { MORE_DIMS });
        w.u8(flag(checksum, FLAG_CRC) | flag(plan.rules.strict, FLAG_STRICT));
        w.u8(plan.array.dtype() as u8);
        w.u8(plan.array.dims().len() as u8);
        plan.array.dims().iter().for_each(|&d| w.varint(d));
        w.varint(plan.array.bytes());
        w.u8(g.order.len() as u8);
    });
    for &i in &g.order {
        let node = &plan.pipeline.nodes[i];
        let id = node.stage.spec().id;
        let config = g.nodes[i].bound.config(g.nodes[i].ports())?;
        let config = node.stage.versions().downgrade(Generation::G2026_08, config)?;
        t.bytes(|w| {
            w.u16(id);
            w.u8(config.bytes.len() as u8);
        });
        t.config(&config);
        if let Some(at) = node.stage.exact_values_at() {
            t.varint(Field::RuntimeField(RuntimeField::Stored { of: g.nodes[i].metadata, at }));
        }
        let sources = if node.inputs.is_empty() { &[Source::Array] } else { &node.inputs[..] };
        for &source in sources {
            let (producer, port) = match source {
                Source::Array => (0, 0),
                Source::Port { node, port } => {
                    (1 + g.order.iter().position(|&o| o == node).unwrap_or(0), port)
                }
            };
            t.bytes(|w| w.bytes(&[producer as u8, port as u8]));
        }
    }
    (0..g.sinks.len()).for_each(|k| t.varint(Field::SegmentBytes(k)));
    if checksum {
        t.crc(Crc::Rest);
    }
    Ok(t)
}

pub(super) fn read(container: &[u8], given: Given) -> Result<Header> {
    let mut r = match given {
        Given::Whole => Reader::new(PLACE, container),
        Given::Beginning => Reader::beginning(PLACE, container),
    };
    r.before(LEAST - MAGIC.len()).bytes(MAGIC.len())?;
    let [version, flags, dtype, ndim] = r.before(LEAST - START).array()?;
    let possible = match version {
        VERSION => 1..=3,
        MORE_DIMS => 4..=MAX_DIMS,
        _ => {
            return Err(Error::NotAContainer(format!(
                "its compact frame version is {version}; this version reads {VERSION} and {MORE_DIMS}"
            )));
        }
    };
    let refuse = |what: String| Err(Error::corrupt(PLACE, what));
    if flags & !(FLAG_CRC | FLAG_STRICT) != 0 || !possible.contains(&usize::from(ndim)) {
        return refuse(format!("flags {flags:#x} or {ndim} dimensions are not possible"));
    }
    let rest = |d: u8| usize::from(ndim - 1 - d) + 2 + RECORD;
    let dims = (0..ndim).map(|d| r.before(rest(d)).varint()).collect::<Result<Vec<_>>>()?;
    let dtype = DType::from_number(dtype.into()).map_err(|e| Error::corrupt(PLACE, e.to_string()))?;
    let array = Array::new(dtype, &dims).map_err(|e| Error::corrupt(PLACE, e.to_string()))?;
    if r.before(1 + RECORD).varint()? != array.bytes() {
        return refuse("its dimensions do not make its original length".into());
    }
    let stages = read_stages(&mut r)?;
    let rules = reading(flags & FLAG_STRICT != 0);
    let graph = stages.graph(array, array.bytes(), rules)?;
    let (sinks, crc) = (graph.sinks.len(), if flags & FLAG_CRC != 0 { 4 } else { 0 });
    let bytes = (0..sinks).map(|k| r.before(sinks - 1 - k + crc).varint()).collect::<Result<Vec<_>>>()?;
    let stored = if crc > 0 { Some(r.before(0).u32()?) } else { None };
    let header = container.len() - r.rest().len();
    let (segments, end) = split(header, &bytes)?;
    if given == Given::Whole && end != container.len() {
        return refuse(format!("it states {end} bytes and has {}", container.len()));
    }
    let lengths = stages.lengths();
    let (pipeline, metadata) = stages.metadata();
    let (bound, threshold) = super::info::requested(&pipeline);
    let requested = Requested { strict: Some(rules.strict), bound, threshold };
    let checksums = stored.map(|stored| {
        let (before, after) = (0..header - 4, header..end);
        Checksum { what: "frame", stored, before, after, zeros: false }
    });
    let checksums = checksums.into_iter().collect();
    let padded = array.bytes();
    let parsed = Header {
        container: Container::Compact,
        bound: BoundPipeline { pipeline, array, rules, graph },
        padded,
        requested,
        lengths,
        metadata,
        segments,
        checksums,
        end,
        bytes: container[..header].to_vec(),
    };
    // Writing the parsed header must result in the same bytes: one comparison that covers reserved bits,
    // counts, orders, and unused fields.
    if parsed.is_canonical()? {
        Ok(parsed)
    } else {
        Err(Error::corrupt(PLACE, "its header is not in the one form that writers use"))
    }
}

fn read_stages(r: &mut Reader<'_>) -> Result<Stages> {
    let count = usize::from(r.before(RECORD).u8()?);
    if count == 0 || count > MAX_STAGES {
        return Err(Error::corrupt(PLACE, format!("it has {count} stages; 1 to {MAX_STAGES} are possible")));
    }
    let mut stages = Stages { pipeline: Pipeline::new(), parsed: vec![] };
    for i in 0..count {
        let rest = RECORD * (count - 1 - i);
        let id = r.before(rest + RECORD - 2).u16()?;
        let stage = stages::by_id(id).ok_or_else(|| Error::Unsupported {
            stage: PLACE,
            what: format!("stage {id} is not in this version"),
        })?;
        let edges = 2 * stage.spec().inputs.len();
        let len = usize::from(r.before(rest + edges).u8()?);
        let mut config = stage.versions().upgrade(r.before(rest + edges).bytes(len)?)?;
        stage.versions().resolve(&mut config, Generation::G2026_08)?;
        let parsed = stage.parse(&config)?;
        let ports = stage.inputs(&parsed.args)?;
        let pairs = if stage.exact_values_at().is_some() { r.before(rest + 2 * ports).varint()? } else { 0 };
        let inputs = (1..=ports).rev().map(|left| {
            let [producer, port] = r.before(rest + 2 * (left - 1)).array()?;
            match usize::from(producer) {
                0 if port == 0 => Ok(Source::Array),
                p if p > 0 && p <= i => Ok(Source::Port { node: p - 1, port: port.into() }),
                p => Err(Error::corrupt(PLACE, format!("stage {} reads port {port} of stage {p}", i + 1))),
            }
        });
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        stages.pipeline.nodes.push(Node::new(stage, parsed.args.clone(), inputs));
        stages.parsed.push(parsed);
        stages.set_exact_values(i, pairs)?;
    }
    Ok(stages)
}

/// Segments back to back behind the header, and where they end.
fn split(header: usize, bytes: &[u64]) -> Result<(Vec<std::ops::Range<usize>>, usize)> {
    let mut at = header;
    let mut ranges = vec![];
    for &b in bytes {
        let next = usize::try_from(b).ok().and_then(|b| at.checked_add(b));
        let next = next.ok_or_else(|| Error::corrupt(PLACE, format!("a segment of {b} bytes is absurd")))?;
        ranges.push(at..next);
        at = next;
    }
    Ok((ranges, at))
}

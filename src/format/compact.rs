//! The compact frame, for chunks and small messages.
#![doc = include_str!("compact.md")]

use super::head::{Checksum, Head, Origin, Stages, reading};
use super::template::{Crc, Field, Segment, Template};
use super::tier;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::format::Container;
use crate::pipeline::{MAX_STAGES, Node, Pipeline, Source};
use crate::plan::Blueprint;
use crate::stage::{Fact, Generation};
use crate::stages;
use crate::wire::Reader;

/// The first four bytes.
pub(super) const MAGIC: [u8; 4] = *b"FZC1";
const VERSION: u8 = 1;
const FLAG_CRC: u8 = 1;
const FLAG_STRICT: u8 = 2;
const PLACE: &str = "compact frame";

pub(super) fn template(plan: Blueprint<'_>, checksum: bool) -> Result<Template> {
    if plan.rules.generation != Generation::G2026_08 {
        let what = "frames are written in generation 2026-08 only; use container fzm".into();
        return Err(Error::Unsupported { stage: "compact frame", what });
    }
    let g = &plan.graph;
    let mut t = Template::new(g.sinks.iter().map(|s| Segment::Value(s.value)).collect());
    let flag = |on: bool, bit: u8| if on { bit } else { 0 };
    t.bytes(|w| {
        w.bytes(&MAGIC);
        w.u8(VERSION);
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
        let config =
            node.stage.config(&node.args, g.nodes[i].ports(), plan.rules, &|v| plan.graph.flow(v))?;
        let config = tier::shorten(id, Generation::G2026_08, config)?;
        t.bytes(|w| {
            w.u16(id);
            w.u8(config.bytes.len() as u8);
        });
        t.config(&config);
        if let Some(at) = node.stage.exact_pairs_at() {
            t.varint(Field::Fact(Fact::Stored { of: g.nodes[i].facts, at }));
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

pub(super) fn read(container: &[u8]) -> Result<Head> {
    let mut r = Reader::new(PLACE, container);
    r.bytes(MAGIC.len())?;
    let [version, flags, dtype, ndim] = r.array()?;
    if version != VERSION {
        return Err(Error::NotAContainer(format!(
            "its compact frame version is {version}; this version reads {VERSION}"
        )));
    }
    let refuse = |what: String| Err(Error::corrupt(PLACE, what));
    if flags & !(FLAG_CRC | FLAG_STRICT) != 0 || ndim == 0 || ndim > 3 {
        return refuse(format!("flags {flags:#x} or {ndim} dimensions are not possible"));
    }
    let dims = (0..ndim).map(|_| r.varint()).collect::<Result<Vec<_>>>()?;
    let dtype = DType::from_number(dtype.into()).map_err(|e| Error::corrupt(PLACE, e.to_string()))?;
    let array = Array::new(dtype, &dims).map_err(|e| Error::corrupt(PLACE, e.to_string()))?;
    if r.varint()? != array.bytes() {
        return refuse("its dimensions do not make its original length".into());
    }
    let stages = read_stages(&mut r)?;
    let rules = reading(flags & FLAG_STRICT != 0);
    let graph = stages.graph(array, array.bytes(), rules)?;
    let bytes = graph.sinks.iter().map(|_| r.varint()).collect::<Result<Vec<_>>>()?;
    let stored = if flags & FLAG_CRC != 0 { Some(r.u32()?) } else { None };
    let head = container.len() - r.rest().len();
    let segments = split(head, &bytes, container.len())?;
    let lengths = stages.lengths();
    let (pipeline, facts) = stages.facts();
    let (bound, threshold) = super::info::requested(&pipeline);
    let origin = Origin { strict: Some(rules.strict), bound, threshold };
    let checksums = stored.map(|stored| {
        let (before, after) = (0..head - 4, head..container.len());
        Checksum { what: "frame", stored, before, after, zeros: false }
    });
    let checksums = checksums.into_iter().collect();
    let padded = array.bytes();
    let parsed = Head {
        container: Container::Compact,
        pipeline,
        array,
        padded,
        rules,
        origin,
        lengths,
        facts,
        segments,
        checksums,
        bytes: container[..head].to_vec(),
    };
    // Writing what was parsed has to give the same bytes: one comparison that covers reserved bits, counts, orders and
    // unused fields.
    if parsed.follows_from(&graph, rules)? {
        Ok(parsed)
    } else {
        Err(Error::corrupt(PLACE, "its head is not in the one form that writers use"))
    }
}

fn read_stages(r: &mut Reader<'_>) -> Result<Stages> {
    let count = usize::from(r.u8()?);
    if count == 0 || count > MAX_STAGES {
        return Err(Error::corrupt(PLACE, format!("it has {count} stages; 1 to {MAX_STAGES} are possible")));
    }
    let mut stages = Stages { pipeline: Pipeline::new(), parsed: vec![] };
    for i in 0..count {
        let id = r.u16()?;
        let stage = stages::by_id(id).ok_or_else(|| Error::Unsupported {
            stage: PLACE,
            what: format!("stage {id} is not in this version"),
        })?;
        let len = usize::from(r.u8()?);
        let mut config = tier::widen(id, r.bytes(len)?)?;
        tier::settle(id, &mut config, Generation::G2026_08)?;
        let parsed = stage.parse(&config)?;
        let pairs = if stage.exact_pairs_at().is_some() { r.varint()? } else { 0 };
        let inputs = stage.spec().inputs.iter().map(|_| {
            let [producer, port] = r.array()?;
            match usize::from(producer) {
                0 if port == 0 => Ok(Source::Array),
                p if p > 0 && p <= i => Ok(Source::Port { node: p - 1, port: port.into() }),
                p => Err(Error::corrupt(PLACE, format!("stage {} reads port {port} of stage {p}", i + 1))),
            }
        });
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        stages.pipeline.nodes.push(Node { stage, args: parsed.args.clone(), inputs });
        stages.parsed.push(parsed);
        stages.set_exact_pairs(i, pairs)?;
    }
    Ok(stages)
}

/// Segments back to back behind the head, up to the very end.
fn split(head: usize, bytes: &[u64], end: usize) -> Result<Vec<std::ops::Range<usize>>> {
    let mut at = head as u64;
    let mut ranges = vec![];
    for &b in bytes {
        let next = at.checked_add(b).filter(|&next| next <= end as u64);
        let next = next.ok_or_else(|| Error::corrupt(PLACE, "its segments are longer than the frame"))?;
        ranges.push(at as usize..next as usize);
        at = next;
    }
    if at != end as u64 {
        return Err(Error::corrupt(PLACE, format!("{} bytes follow its last segment", end as u64 - at)));
    }
    Ok(ranges)
}

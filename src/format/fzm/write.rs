//! The template of a file.

use super::{
    CONFIG, CORE, DATA_CRC, EXACT_VALUES, EXTENSION, EXTENSION_2026_05, EXTENSION_MAGIC, EXTENSION_MORE_DIMS,
    EXTENSION_STRICT, EXTENSION_VERSION, HEADER_CRC, MAGIC, NO_ID, PORTS, RECORD, VERSION,
};
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::wire::Writer;
use crate::format::template::{Crc, Field, Segment, Template};
use crate::ir::stage::{Config, Generation, RuntimeField};
use crate::ir::versions::has_extension;
use crate::pipeline::{Node, Source};
use crate::plan::{BoundPipeline, NodeValues};

/// A buffer record to be.
struct Buffer {
    node: usize,
    port: usize,
    name: &'static str,
    dtype: DType,
    /// Recorded as allocated; `None`: as many as the segment has.
    room: Option<u64>,
}

pub(in crate::format) fn template(plan: &BoundPipeline, checksum: bool) -> Result<Template> {
    let (buffers, segments) = segments(plan)?;
    let configs = configs(plan)?;
    let mut t = Template::new(segments);
    core(&mut t, plan, buffers.len(), checksum);
    let ids = Ids::new(plan)?;
    for &i in &plan.graph.order {
        stage_record(&mut t, plan, i, &ids, &configs[i]);
    }
    for (k, b) in buffers.iter().enumerate() {
        buffer_record(&mut t, plan, k, b, &ids, &configs[b.node]);
    }
    Ok(t)
}

/// Segments in the order of the container, with the ports that only the generation has.
fn segments(plan: &BoundPipeline) -> Result<(Vec<Buffer>, Vec<Segment>)> {
    let (mut buffers, mut segments) = (vec![], vec![]);
    for &node in plan.graph.order.iter().rev() {
        let stage = plan.pipeline.nodes[node].stage;
        let names = stage.outputs(&plan.pipeline.nodes[node].args)?;
        for sink in plan.graph.sinks.iter().filter(|s| s.node == node) {
            let edge = plan.graph.edge(sink.value);
            let room = stage.versions().records_capacity().then(|| edge.max_bytes());
            buffers.push(Buffer { node, port: sink.port, name: names[sink.port], dtype: edge.dtype, room });
            segments.push(Segment::Value(sink.value));
        }
        if let Some((name, runtime_field)) = extra_port(plan, node) {
            buffers.push(Buffer { node, port: names.len(), name, dtype: DType::U32, room: Some(4) });
            segments.push(Segment::Count(runtime_field));
        }
    }
    if buffers.len() > crate::pipeline::MAX_STAGES {
        return Err(Error::InvalidPipeline(format!(
            "it stores {} segments; a file can list 32",
            buffers.len()
        )));
    }
    Ok((buffers, segments))
}

fn extra_port(plan: &BoundPipeline, node: usize) -> Option<(&'static str, RuntimeField)> {
    let values = &plan.graph.nodes[node];
    let width = values.inputs.first().map_or(1, |&v| plan.graph.edge(v).dtype.bytes());
    let versions = plan.pipeline.nodes[node].stage.versions();
    versions.extra_port(plan.rules.generation, values.ports(), width)
}

fn configs(plan: &BoundPipeline) -> Result<Vec<Config>> {
    let config = |(node, values): (&Node, &NodeValues)| {
        node.stage.versions().downgrade(plan.rules.generation, values.bound.config(values.ports())?)
    };
    plan.pipeline.nodes.iter().zip(&plan.graph.nodes).map(config).collect()
}

/// Buffer ids: one per output port in the order in which stages were added, the array behind them all.
struct Ids {
    first: Vec<u16>,
    array: u16,
}

impl Ids {
    fn new(plan: &BoundPipeline) -> Result<Ids> {
        let (mut first, mut next) = (vec![], 0);
        for node in &plan.pipeline.nodes {
            first.push(next);
            let ports = node.stage.outputs(&node.args)?.len();
            next += node.stage.versions().reserved_ids(plan.rules.generation, ports) as u16;
        }
        Ok(Ids { first, array: next })
    }

    fn source(&self, source: Source) -> u16 {
        match source {
            Source::Array => self.array,
            Source::Port { node, port } => self.first[node] + port as u16,
        }
    }
}

fn core(t: &mut Template, plan: &BoundPipeline, buffers: usize, checksum: bool) {
    let stages = plan.graph.order.len();
    let padded = plan.graph.edge(plan.graph.source).max_bytes();
    t.bytes(|w| {
        w.bytes(&MAGIC);
        w.u16(VERSION);
        w.u16(buffers as u16);
        w.u64(padded);
    });
    t.fixed(Field::PayloadBytes, 8);
    t.bytes(|w| {
        w.u64((CORE + RECORD * (stages + buffers)) as u64);
        w.u32(stages as u32);
        w.u16(1);
        w.u16(if checksum { DATA_CRC | HEADER_CRC } else { 0 });
        w.u64(padded);
        w.bytes(&[0; 24]);
    });
    // The data checksum comes first: the header's covers it.
    for crc in [Crc::Data, Crc::Header] {
        if checksum { t.crc(crc) } else { t.bytes(|w| w.u32(0)) }
    }
}

fn config(t: &mut Template, config: &Config) {
    t.config(config);
    t.bytes(|w| {
        w.bytes(&vec![0; CONFIG - config.bytes.len()]);
        w.u32(config.bytes.len() as u32);
    });
}

fn stage_record(t: &mut Template, plan: &BoundPipeline, i: usize, ids: &Ids, stage_config: &Config) {
    let node = &plan.pipeline.nodes[i];
    let outputs = plan.graph.nodes[i].outputs.len() + usize::from(extra_port(plan, i).is_some());
    let reads_array = node.inputs.is_empty() || node.inputs.contains(&Source::Array);
    let inputs = if node.inputs.is_empty() { vec![Source::Array] } else { node.inputs.clone() };
    t.bytes(|w| {
        w.u16(node.stage.spec().id);
        w.u16(1);
        w.bytes(&[inputs.len() as u8, outputs as u8, 0, 0]);
        for k in 0..PORTS {
            w.u16(inputs.get(k).map_or(NO_ID, |&s| ids.source(s)));
        }
        for k in 0..PORTS {
            w.u16(if k < outputs { ids.first[i] + k as u16 } else { NO_ID });
        }
    });
    config(t, stage_config);
    let pairs = node.stage.exact_values_at().filter(|_| has_extension(plan.rules));
    if reads_array && has_extension(plan.rules) {
        extension(t, plan);
    } else {
        t.bytes(|w| {
            if pairs.is_some() {
                w.bytes(&EXTENSION_MAGIC);
                w.u16(EXTENSION_VERSION);
            }
            w.pad_to(EXACT_VALUES - EXTENSION);
        });
    }
    match pairs {
        Some(at) => {
            t.fixed(Field::RuntimeField(RuntimeField::Stored { of: plan.graph.nodes[i].metadata, at }), 8)
        }
        None => t.bytes(|w| w.u64(0)),
    }
    t.bytes(|w| {
        if reads_array && has_extension(plan.rules) {
            plan.array.slow_dims().iter().for_each(|&d| w.varint(d));
        }
        w.pad_to(RECORD - EXACT_VALUES - 8);
    });
}

/// Up to the number of exact values.
fn extension(t: &mut Template, plan: &BoundPipeline) {
    let flag = |on: bool, bit: u16| if on { bit } else { 0 };
    let old = plan.rules.generation == Generation::G2026_05;
    t.bytes(|w| {
        w.bytes(&EXTENSION_MAGIC);
        w.u16(if plan.array.slow_dims().is_empty() { EXTENSION_VERSION } else { EXTENSION_MORE_DIMS });
        w.u16(flag(plan.rules.strict, EXTENSION_STRICT) | flag(old, EXTENSION_2026_05));
        w.u64(plan.array.bytes());
        w.bytes(&[plan.array.dtype() as u8, plan.array.dims().len() as u8, 0, 0]);
        plan.array.volume().iter().for_each(|&d| w.u64(d));
    });
    let (bound, threshold) = crate::format::info::requested(&plan.pipeline);
    t.informational(|w| {
        w.f64(bound);
        w.f64(threshold);
    });
}

fn buffer_record(
    t: &mut Template,
    plan: &BoundPipeline,
    k: usize,
    b: &Buffer,
    ids: &Ids,
    stage_config: &Config,
) {
    let stage = plan.pipeline.nodes[b.node].stage;
    t.bytes(|w| {
        w.u16(stage.spec().id);
        w.u16(1);
        w.bytes(&[stage.versions().recorded_type(plan.rules, b.dtype, stage_config), b.port as u8]);
        w.u16(ids.first[b.node] + b.port as u16);
        let mut name = Writer::default();
        name.bytes(b.name.as_bytes());
        name.pad_to(64);
        w.bytes(&name.0);
    });
    t.fixed(Field::SegmentBytes(k), 8);
    match b.room {
        Some(room) => t.capacity(room),
        None => t.fixed(Field::SegmentBytes(k), 8),
    }
    t.fixed(Field::SegmentBytes(k), 8);
    t.fixed(Field::SegmentOffset(k), 8);
    config(t, stage_config);
    t.bytes(|w| w.pad_to(RECORD - 236));
}

//! Files of every generation, trusting none of them.

use super::{
    CONFIG, CORE, CORE_3_0, DATA_CRC, EXACT_VALUES, EXTENSION, EXTENSION_2026_05, EXTENSION_MAGIC,
    EXTENSION_MORE_DIMS, EXTENSION_STRICT, EXTENSION_VERSION, HEADER_CRC, NO_ID, PORTS, RECORD,
};
use crate::base::array::{Array, MAX_DIMS};
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::wire::Reader;
use crate::format::Container;
use crate::format::header::{Checksum, Given, Header, Requested, Stages, reading};
use crate::format::plain_array;
use crate::ir::stage::Generation;
use crate::pipeline::{MAX_STAGES, Node, Pipeline, Source};
use crate::plan::{BoundPipeline, Graph};
use crate::stages;
use std::ops::Range;

const PLACE: &str = "core header";

/// The fields of the core header that matter.
struct Core {
    minor: u8,
    stages: usize,
    buffers: usize,
    padded: u64,
    header: usize,
    payload: usize,
    /// Where the container ends.
    end: usize,
    flags: u16,
    checksums: [u32; 2],
}

pub(in crate::format) fn read(container: &[u8], given: Given) -> Result<Header> {
    let core = read_core(container, given)?;
    let records = container.get(core.header - RECORD * (core.stages + core.buffers)..core.header);
    let records = records.ok_or_else(|| Error::corrupt(PLACE, "the records end too early"))?;
    let (stage_records, buffer_records) = records.split_at(RECORD * core.stages);
    if given == Given::Whole && container.len() != core.end {
        let what =
            format!("{} payload bytes are stated, {} exist", core.payload, container.len() - core.header);
        return Err(Error::corrupt(PLACE, what));
    }
    let mut ids: Vec<(u16, Id)> = vec![];
    let (extension, pairs) = find_extension(stage_records)?;
    let mut stages = read_stages(stage_records, extension.as_ref().map(|e| e.generation), &mut ids)?;
    pairs.into_iter().enumerate().try_for_each(|(i, count)| stages.set_exact_values(i, count))?;
    let (array, requested) = match extension {
        Some(e) => (e.array, e.requested),
        None => unmarked(&stages, core.padded)?,
    };
    // Only files with an extension block tell the array from its padding.
    if array.bytes() != core.padded && stages.pipeline.padded(array.bytes()).ok() != Some(core.padded) {
        let what = format!("{} original bytes do not pad to {}", array.bytes(), core.padded);
        return Err(Error::corrupt("extension block", what));
    }
    let rules = reading(requested.strict.unwrap_or(false));
    let graph = stages.graph(array, core.padded, rules)?;
    let segments = read_buffers(buffer_records, &ids, &graph, &core)?;
    let lengths = stages.lengths();
    let (pipeline, metadata) = stages.metadata();
    let header = Header {
        container: Container::Fzm,
        bound: BoundPipeline { pipeline, array, rules, graph },
        padded: core.padded,
        requested,
        lengths,
        metadata,
        segments,
        checksums: checksums(&core),
        end: core.end,
        bytes: container[..core.header].to_vec(),
    };
    // Before anybody takes the array for as long as it is said to be.
    header.bound.graph.lengths(&header.lengths, &header.segment_bytes())?; // seed: head-lengths
    Ok(header)
}

fn read_core(container: &[u8], given: Given) -> Result<Core> {
    /// Bytes of the shortest header: that of one stage.
    const LEAST: usize = CORE_3_0 + RECORD;
    /// Bytes up to the version, of which others may have shorter headers.
    const VERSIONED: usize = 6;
    let short = |least: usize| given == Given::Beginning && container.len() < least;
    let truncated = Err(Error::Truncated { needed: LEAST as u64 });
    if short(VERSIONED) {
        return truncated;
    }
    let mut r = Reader::new(PLACE, container);
    r.u32()?;
    let version = r.u16()?;
    let (major, minor) =
        if version <= 0xff { (version as u8, 0) } else { ((version >> 8) as u8, version as u8) };
    if major != 3 {
        return Err(Error::NotAContainer(format!(
            "its FZM version is {major}.{minor}; this version reads 3.x"
        )));
    }
    if short(LEAST) {
        return truncated;
    }
    let buffers = usize::from(r.u16()?);
    let (padded, payload, header) = (r.u64()?, r.u64()?, r.u64()?);
    let stages = r.u32()? as usize;
    let sources = r.u16()?;
    // Version 3.0 has a reserved zero for flags and no checksums.
    let flags = r.u16()?;
    r.bytes(32)?;
    let checksums = if minor == 0 { [0; 2] } else { [r.u32()?, r.u32()?] };
    let refuse = |what: String| Err(Error::corrupt(PLACE, what));
    if stages == 0 || stages > MAX_STAGES || buffers > MAX_STAGES {
        return refuse(format!("{stages} stages and {buffers} buffers; 1 to 32 and 0 to 32 are possible"));
    }
    if sources > 1 {
        let what = format!("files of {sources} arrays are not read by this version");
        return Err(Error::Unsupported { stage: "fzm", what });
    }
    let core = if minor == 0 { CORE_3_0 } else { CORE };
    let there = container.len() as u64 >= header;
    if header != (core + RECORD * (stages + buffers)) as u64 || (!there && given == Given::Whole) {
        return refuse(format!(
            "{header} header bytes do not fit {stages} stages, {buffers} buffers and {} bytes",
            container.len()
        ));
    }
    if !there {
        return Err(Error::Truncated { needed: header });
    }
    let (header, payload) = (header as usize, usize::try_from(payload));
    let end = payload.ok().and_then(|payload| Some((payload, header.checked_add(payload)?)));
    let (payload, end) = end.ok_or_else(|| Error::corrupt(PLACE, "its payload length is absurd"))?;
    Ok(Core { minor, stages, buffers, padded, header, payload, end, flags, checksums })
}

fn checksums(core: &Core) -> Vec<Checksum> {
    let mut all = vec![];
    let [data, header] = core.checksums;
    // A later minor version may cover its header in another way; 3.0 has none.
    if core.minor == 1 && core.flags & HEADER_CRC != 0 {
        let (before, after) = (0..CORE - 4, CORE..core.header);
        all.push(Checksum { what: "header", stored: header, before, after, zeros: true });
    }
    if core.minor != 0 && core.flags & DATA_CRC != 0 {
        let (before, after) = (0..0, core.header..core.end);
        all.push(Checksum { what: "data", stored: data, before, after, zeros: false });
    }
    all
}

/// The value that a buffer id refers to.
#[derive(Clone, Copy)]
enum Id {
    Port(usize, usize),
    /// A port that only the generation has; its content is in the header too.
    Extra,
}

struct Extension {
    array: Array,
    requested: Requested,
    generation: Generation,
}

fn read_stages(records: &[u8], generation: Option<Generation>, ids: &mut Vec<(u16, Id)>) -> Result<Stages> {
    let (mut nodes, mut parsed) = (vec![], vec![]);
    for (i, record) in records.chunks_exact(RECORD).enumerate() {
        let mut r = Reader::new("stage record", record);
        let id = r.u16()?;
        let stage = stages::by_id(id).ok_or_else(|| Error::Unsupported {
            stage: "fzm",
            what: format!("stage {id} of the file is not in this version"),
        })?;
        r.u16()?;
        let (inputs, outputs) = (usize::from(r.u8()?), usize::from(r.u8()?));
        r.u16()?;
        let (input_ids, output_ids) = (read_ids(&mut r)?, read_ids(&mut r)?);
        let config = r.bytes(CONFIG)?;
        let config_len = r.u32()? as usize;
        let config = config
            .get(..config_len)
            .ok_or_else(|| Error::corrupt("stage record", "its config is longer than its room"))?;
        let versions = stage.versions();
        let mut config = versions.upgrade(config)?;
        if let Some(generation) = generation {
            versions.resolve(&mut config, generation)?;
        }
        let node = stage.parse(&config)?;
        let expected = stage.outputs(&node.args)?.len();
        let ports = versions.known_ports(outputs, expected).ok_or_else(|| {
            let what = format!("stage {id} has {outputs} output ports where it should have {expected}");
            Error::corrupt("stage record", what)
        })?;
        if inputs != stage.inputs(&node.args)? {
            return Err(Error::corrupt("stage record", format!("{} has {inputs} inputs", stage.spec().name)));
        }
        let sources = input_ids[..inputs].iter().map(|&id| source(ids, id)).collect::<Result<Vec<_>>>()?;
        for (port, &id) in output_ids[..outputs].iter().enumerate() {
            if id == NO_ID || ids.iter().any(|(known, _)| *known == id) {
                return Err(Error::corrupt("stage record", format!("buffer id {id} is no id or used twice")));
            }
            ids.push((id, if port < ports { Id::Port(i, port) } else { Id::Extra }));
        }
        nodes.push(Node::new(stage, node.args.clone(), sources));
        parsed.push(node);
    }
    Ok(Stages { pipeline: Pipeline { nodes, ..Pipeline::default() }, parsed })
}

fn read_ids(r: &mut Reader<'_>) -> Result<[u16; PORTS]> {
    let mut ids = [0; PORTS];
    for id in &mut ids {
        *id = r.u16()?;
    }
    Ok(ids)
}

/// An id that no earlier stage produces is the array.
fn source(ids: &[(u16, Id)], id: u16) -> Result<Source> {
    match ids.iter().find(|(known, _)| *known == id) {
        Some((_, Id::Port(node, port))) => Ok(Source::Port { node: *node, port: *port }),
        Some((_, Id::Extra)) => Err(Error::corrupt("stage record", "a count port feeds a stage")),
        None => Ok(Source::Array),
    }
}

/// The extension block of the stage that reads the array, which is the first one, and the number of exact
/// values of every stage.
fn find_extension(records: &[u8]) -> Result<(Option<Extension>, Vec<u64>)> {
    let (mut found, mut pairs) = (None, vec![]);
    for (i, record) in records.chunks_exact(RECORD).enumerate() {
        let block = &record[EXTENSION..];
        let marked = block.iter().any(|&b| b != 0);
        if i == 0 {
            found = read_extension(block)?;
        } else if marked {
            let only = [&EXTENSION_MAGIC[..], &EXTENSION_VERSION.to_le_bytes()].concat();
            let rest = block[only.len()..EXACT_VALUES - EXTENSION]
                .iter()
                .chain(&block[EXACT_VALUES + 8 - EXTENSION..]);
            if found.is_none() || block[..only.len()] != only || rest.into_iter().any(|&b| b != 0) {
                let what =
                    "after the first stage it holds more than a number of exact values, or is the only block";
                return Err(Error::corrupt("extension block", what));
            }
        }
        pairs.push(Reader::new("extension block", &record[EXACT_VALUES..]).u64()?);
    }
    Ok((found, pairs))
}

fn read_extension(bytes: &[u8]) -> Result<Option<Extension>> {
    let place = "extension block";
    let refuse = |what: &str| Err(Error::corrupt(place, what));
    if bytes.iter().all(|&b| b == 0) {
        return Ok(None);
    }
    let mut r = Reader::new(place, bytes);
    let (magic, version) = (r.array()?, r.u16()?);
    if magic != EXTENSION_MAGIC || ![EXTENSION_VERSION, EXTENSION_MORE_DIMS].contains(&version) {
        return refuse("the reserved bytes hold something unknown");
    }
    let flags = r.u16()?;
    let original = r.u64()?;
    let [dtype, ndim, zero_a, zero_b] = r.array()?;
    let dims = [r.u64()?, r.u64()?, r.u64()?];
    let (bound, threshold, _exact_values) = (r.f64()?, r.f64()?, r.u64()?);
    let slow = if version == EXTENSION_MORE_DIMS { slow_dims(&mut r, ndim)? } else { vec![] };
    if flags & !(EXTENSION_STRICT | EXTENSION_2026_05) != 0
        || zero_a | zero_b != 0
        || r.rest().iter().any(|&b| b != 0)
    {
        return refuse("a reserved field is not zero");
    }
    if !(0.0..f64::INFINITY).contains(&bound) || threshold.is_nan() || threshold <= 0.0 {
        return refuse("its bound or its threshold is not possible");
    }
    let dtype = DType::from_number(dtype.into()).map_err(|e| Error::corrupt(place, e.to_string()))?;
    let shape = if slow.is_empty() {
        let Some((shape, unused)) = dims.split_at_checked(ndim.into()) else {
            return refuse("more than three dimensions");
        };
        if unused.iter().any(|&d| d > 1) {
            return refuse("a dimension that is not used has a length");
        }
        shape.to_vec()
    } else {
        [&dims[..2], &slow].concat()
    };
    let array = Array::new(dtype, &shape).map_err(|e| Error::corrupt(place, e.to_string()))?;
    if array.bytes() != original || !slow.is_empty() && array.volume() != dims {
        return refuse("its dimensions do not make its original length");
    }
    let old = flags & EXTENSION_2026_05 != 0;
    let generation = if old { Generation::G2026_05 } else { Generation::G2026_08 };
    let requested = Requested { strict: Some(flags & EXTENSION_STRICT != 0), bound, threshold };
    Ok(Some(Extension { array, requested, generation }))
}

/// The dimensions from the third one on of an array of more than 3.
fn slow_dims(r: &mut Reader<'_>, ndim: u8) -> Result<Vec<u64>> {
    let ndim = usize::from(ndim);
    if !(4..=MAX_DIMS).contains(&ndim) {
        return Err(Error::corrupt(
            "extension block",
            format!("version 2 has {ndim} dimensions; 4 to {MAX_DIMS} are possible"),
        ));
    }
    (2..ndim).map(|_| r.varint()).collect()
}

/// Without an extension block: the array as the first stage describes it.
fn unmarked(stages: &Stages, padded: u64) -> Result<(Array, Requested)> {
    let array = plain_array(stages.parsed.first().and_then(|p| p.input), padded)?;
    let (bound, threshold) = crate::format::info::requested(&stages.pipeline);
    Ok((array, Requested { strict: None, bound, threshold }))
}

/// Every sink exactly once; the segments tile the payload, in any order.
fn read_buffers(records: &[u8], ids: &[(u16, Id)], graph: &Graph, core: &Core) -> Result<Vec<Range<usize>>> {
    let refuse = |what: String| Err(Error::corrupt("buffer record", what));
    let mut segments: Vec<Option<Range<usize>>> = vec![None; graph.sinks.len()];
    let (mut tiles, mut extras): (Vec<Range<usize>>, Vec<u16>) = (vec![], vec![]);
    for record in records.chunks_exact(RECORD) {
        let mut r = Reader::new("buffer record", record);
        r.bytes(6)?;
        let id = r.u16()?;
        r.bytes(64)?;
        let bytes = r.u64()?;
        r.bytes(16)?;
        let offset = r.u64()?;
        let range = offset.checked_add(bytes).filter(|&end| end <= core.payload as u64);
        let Some(end) = range else {
            return refuse(format!(
                "{bytes} bytes at {offset} are outside of the payload of {}",
                core.payload
            ));
        };
        let range = core.header + offset as usize..core.header + end as usize;
        tiles.push(range.clone());
        let (node, port) = match ids.iter().find(|(known, _)| *known == id) {
            Some((_, Id::Port(node, port))) => (*node, *port),
            Some((_, Id::Extra)) if bytes == 4 && !extras.contains(&id) => {
                extras.push(id);
                continue;
            }
            Some((_, Id::Extra)) => {
                return refuse(format!("a count of {bytes} bytes, or one that is stored twice"));
            }
            None => return refuse(format!("no stage has buffer id {id}")),
        };
        let Some(k) = graph.sinks.iter().position(|s| (s.node, s.port) == (node, port)) else {
            return refuse(format!("buffer id {id} feeds another stage and is stored too"));
        };
        if segments[k].replace(range).is_some() {
            return refuse(format!("buffer id {id} is stored twice"));
        }
    }
    tiles.sort_unstable_by_key(|t| (t.start, t.end));
    let end = tiles.iter().try_fold(core.header, |at, t| (t.start == at).then_some(t.end));
    if end != Some(core.header + core.payload) {
        return refuse("the segments overlap or leave a gap in the payload".into());
    }
    let missing = || Error::corrupt("buffer record", "a segment is missing");
    segments.into_iter().collect::<Option<Vec<_>>>().ok_or_else(missing)
}

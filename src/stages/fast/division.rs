//! The launches of large arrays, divided so that copies overlap with them.

use super::device::group;
use super::entry::{self, Entry};
use super::params::{CHUNK, CHUNK_UNITS, FastParams};
use crate::base::tile::at;
use crate::ir::device::{Division, PARAM_BYTES};
use crate::ir::kernel::read_params;
use std::ops::Range;

/// Chunks that a block of the decoder restores.
pub(super) const DECODER_CHUNKS: u64 = 2;
/// Bytes of an entry of the table.
const ENTRY: u64 = entry::BYTES as u64;

/// Parts end behind a block that copies, which then sets the length of the stream.
pub(super) static ENCODER: Division = Division {
    blocks: |params, bytes| {
        let p = read_params::<FastParams>(params);
        let group = group(p.chunks.into());
        layers(&p, bytes / layer_bytes(&p)) / group * (group + 1)
    },
    table,
    reads: |_, _, _| 0,
};

pub(super) static DECODER: Division = Division {
    blocks: |params, bytes| {
        let p = read_params::<FastParams>(params);
        layers(&p, bytes.div_ceil(layer_bytes(&p))).div_ceil(DECODER_CHUNKS)
    },
    table,
    reads,
};

/// Bytes of the array in a layer of chunks.
fn layer_bytes(p: &FastParams) -> u64 {
    let lines = u64::from(CHUNK_UNITS);
    let values = match p.ndim {
        1 => CHUNK.into(),
        2 => p.dims[0] * 32 * lines,
        _ => p.dims[0] * p.dims[1] * lines,
    };
    (values * u64::from(p.value)).max(1)
}

/// Chunks of the first `n` layers.
fn layers(p: &FastParams, n: u64) -> u64 {
    let in_layer = match p.ndim {
        1 => 1,
        2 => p.chunks_x.into(),
        _ => u64::from(p.chunks_x) * u64::from(p.chunks_y),
    };
    n.saturating_mul(in_layer).min(p.chunks.into())
}

fn table(params: &[u8; PARAM_BYTES]) -> u64 {
    ENTRY * u64::from(read_params::<FastParams>(params).chunks)
}

/// Entries have the form that spec.md describes.
fn reads(params: &[u8; PARAM_BYTES], stream: &[u8], blocks: Range<u64>) -> u64 {
    let chunks = u64::from(read_params::<FastParams>(params).chunks);
    let [from, to] = [blocks.start, blocks.end].map(|block| block.saturating_mul(DECODER_CHUNKS).min(chunks));
    let entries = (from as usize..to as usize).filter_map(|k| Entry::read(at(stream, k)?).ok());
    ENTRY * chunks + 4 * entries.map(|entry| entry.place().end).max().unwrap_or(0)
}

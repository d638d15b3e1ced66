//! The launches of large arrays, divided so that copies overlap with them.

use super::device::group;
use super::entry::{self, Entry};
use super::params::{CHUNK, CHUNK_UNITS, FastParams};
use crate::base::tile::at;
use crate::ir::device::PARAM_BYTES;
use crate::ir::division::Division;
use crate::ir::kernel::read_params;
use std::ops::Range;

/// Chunks that a block of the decoder restores.
pub(super) const DECODER_CHUNKS: u64 = 2;
/// Bytes of an entry of the table.
const ENTRY: u64 = entry::BYTES as u64;

/// Parts end behind a block that copies, which then sets the length of the stream. Such a block copies the group before it,
/// so that parts need no blocks for the last groups.
pub(super) static ENCODER: Division = Division {
    grid: |params| {
        let chunks = u64::from(read_params::<FastParams>(params).chunks);
        let group = group(chunks);
        chunks.div_ceil(group) * (group + 1)
    },
    blocks: |params, bytes| {
        let p = read_params::<FastParams>(params);
        let group = group(p.chunks.into());
        layers(&p, bytes / layer_bytes(&p)) / group * (group + 1)
    },
    table,
    reads: |_, _, _| 0,
};

pub(super) static DECODER: Division = Division {
    grid: |params| u64::from(read_params::<FastParams>(params).chunks).div_ceil(DECODER_CHUNKS),
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

#[cfg(test)]
mod tests {
    use super::super::entry::ChunkForm;
    use super::*;
    use bytemuck::Zeroable;

    /// The entries of one block each, in an order that no encoder writes; a constant chunk has no words.
    #[test]
    fn words_end_with_the_last_one_of_the_blocks() {
        let words = |first, words| Entry::Words { form: ChunkForm::Raw, first, words };
        let entries = [words(50, 4), words(0, 10), Entry::Constant(1 << 50), words(10, 5), words(15, 35)];
        let stream: Vec<u8> = entries.iter().flat_map(|entry| entry.bits().to_le_bytes()).collect();
        let p = FastParams { ndim: 1, value: 4, chunks: 5, ..FastParams::zeroed() };
        let mut params = [0; PARAM_BYTES];
        params.copy_from_slice(bytemuck::bytes_of(&p));
        for (blocks, end) in
            [(0..1, 54), (1..2, 15), (2..3, 50), (1..3, 50), (0..9, 54), (2..2, 0), (3..9, 0)]
        {
            assert_eq!((DECODER.reads)(&params, &stream, blocks.clone()), 40 + 4 * end, "{blocks:?}");
        }
        assert_eq!((DECODER.reads)(&params, &stream[..39], 2..3), 40);
        let layer = 4 * u64::from(CHUNK);
        let blocks =
            [0, 1, layer, layer + 1, 3 * layer, 9 * layer].map(|bytes| (DECODER.blocks)(&params, bytes));
        assert_eq!(blocks, [0, 1, 1, 1, 2, 3]);
        // Groups of eight chunks.
        let p = FastParams { chunks: 20, ..p };
        params.copy_from_slice(bytemuck::bytes_of(&p));
        let blocks = [8 * layer - 1, 8 * layer, 17 * layer].map(|bytes| (ENCODER.blocks)(&params, bytes));
        assert_eq!(blocks, [0, 9, 18]);
        assert_eq!([&ENCODER, &DECODER].map(|division| (division.grid)(&params)), [27, 10]);
    }
}

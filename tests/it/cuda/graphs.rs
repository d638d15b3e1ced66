//! Both directions in a CUDA graph, replayed on other data.

use crate::common::fixture::{Fixture, lossy, options};
use crate::common::gpu::mine;
use crate::common::samples::{self, CONTENTS, Content};
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, Options, PRESETS};

/// Every preset, in various types and shapes. Replayed data has nothing in common with the data at the
/// capture of the graph: other codes, other codebooks, other lists of outliers, another range.
#[test]
fn a_graph_of_both_directions_is_replayed_on_changing_data() {
    need_gpu!();
    for (k, preset) in PRESETS.iter().enumerate() {
        let dtypes = if preset.lossless { [DType::U64, DType::U16] } else { [DType::F32, DType::F64] };
        for (dtype, dims) in
            dtypes.into_iter().zip([&[6_001][..], &[30, 31, 7], &[67, 61]].into_iter().cycle().skip(k))
        {
            if !mine(k + usize::from(dtype == dtypes[1])) {
                continue;
            }
            let array = Array::new(dtype, dims).unwrap();
            let mut fixture = Fixture::new(&lossy(preset.name, dtype), &array, &options());
            let graph = fixture.capture();
            for (round, content) in CONTENTS.into_iter().enumerate() {
                fixture.replay(&graph, &samples::make(dtype, dims, content, round as u64).bytes);
            }
            for (round, scale) in [1e-6, 1e12].into_iter().enumerate() {
                fixture.replay(&graph, &samples::scaled(dtype, dims, scale, round as u64).bytes);
            }
        }
    }
}

#[test]
fn graphs_with_checksums_and_compact_frames() {
    need_gpu!();
    let options = Options { container: Container::Compact, ..options() };
    let array = Array::new(DType::F32, &[30, 31, 7]).unwrap();
    let mut fixture = Fixture::new(&lossy("pfpl", DType::F32), &array, &options);
    let graph = fixture.capture();
    for (seed, content) in
        [Content::Walk, Content::Constant, Content::Random, Content::Fills].into_iter().enumerate()
    {
        let src = fixture.data(content, seed as u64);
        fixture.replay(&graph, &src);
    }
}

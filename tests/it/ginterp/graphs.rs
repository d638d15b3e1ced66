//! Both directions in a CUDA graph, in every mode of tuning: nothing is asked back between two kernels.

use crate::common::agreement::stage;
use crate::common::fixture::{Fixture, options};
use crate::common::samples::{Content, FLOATS, make, scaled};
use crate::cuda::need_gpu;
use fzgm::Array;

#[test]
fn every_mode_of_tuning_is_captured() {
    need_gpu!();
    for (k, tuning) in ["0", "1", "2", "3", "4", "5"].into_iter().enumerate() {
        for (dtype, dims) in
            FLOATS.into_iter().zip([&[33, 40, 18][..], &[67, 131]].into_iter().cycle().skip(k))
        {
            let array = Array::new(dtype, dims).unwrap();
            for mode in ["abs", "noa"] {
                let sets = [("auto_tuning", tuning), ("mode", mode), ("outlier_capacity", "1")];
                let mut fixture = Fixture::new(&stage("ginterp", &sets), &array, &options());
                let graph = fixture.capture();
                for (round, content) in
                    [Content::Walk, Content::Specials, Content::Constant].into_iter().enumerate()
                {
                    fixture.replay(&graph, &make(dtype, dims, content, round as u64).bytes);
                }
                fixture.replay(&graph, &scaled(dtype, dims, 1e6, 3).bytes);
            }
        }
    }
}

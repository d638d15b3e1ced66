//! Any bytes as a container: describing and planning give a status.
#![no_main]

use fzgm::{Decoder, Options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = fzgm::info(data);
    let _ = fzgm::info_partial(data);
    let _ = fzgm::pipeline_of(data);
    let _ = Decoder::open(data, &Options::default());
});

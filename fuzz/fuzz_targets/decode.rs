//! Any bytes as a container, with checksums left aside so that damage reaches the stages.
#![no_main]

use fzgm::{Decoder, Options, decompress_preview, decompress_region};
use libfuzzer_sys::fuzz_target;

/// The room of a caller with a limit on the size of arrays: the caller rejects larger ones.
const ROOM: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let options = Options { checksum: false, ..Options::default() };
    let Ok(decoder) = Decoder::open(data, &options) else { return };
    if decoder.array().bytes() > ROOM as u64 {
        return;
    }
    let Ok(mut ws) = decoder.workspace() else { return };
    // Just enough, so that writes beyond the end are detected.
    let mut dst = vec![0; decoder.array().bytes() as usize];
    let _ = decoder.decompress(&mut ws, data, &mut dst);
    let middle: Vec<u64> = decoder.array().dims().iter().map(|d| d / 2).collect();
    let _ = decompress_region(data, &middle, &middle, &mut dst);
    let step = 1 << (data.len() % 8);
    let front = &data[..data.len() - data.len() % 64];
    let _ = (decompress_preview(data, step, &mut dst), decompress_preview(front, step, &mut dst));
});

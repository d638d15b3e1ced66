//! Compact frames: the fuzzer need not find the magic, and an accepted frame has only one form.
#![no_main]

use fzgm::{Decoder, Options};
use libfuzzer_sys::fuzz_target;

const ROOM: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let mut frame = b"FZC1\x01".to_vec();
    frame.extend_from_slice(data);
    let options = Options { checksum: false, ..Options::default() };
    let Ok(decoder) = Decoder::open(&frame, &options) else { return };
    let info = fzgm::info(&frame).expect("what can be opened can be described");
    assert_eq!(info.array, *decoder.array());
    if decoder.array().bytes() > ROOM as u64 {
        return;
    }
    let Ok(mut ws) = decoder.workspace() else { return };
    // Just enough, so that writes beyond the end are detected.
    let mut dst = vec![0; decoder.array().bytes() as usize];
    let _ = decoder.decompress(&mut ws, &frame, &mut dst);
});

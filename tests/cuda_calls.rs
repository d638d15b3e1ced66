//! What asynchronous calls ask of the driver, counted by the emulator. In a program of its own: it counts for all threads.
#![allow(clippy::unwrap_used, clippy::panic, unsafe_code)]

#[allow(dead_code, unreachable_pub)]
mod common;
#[allow(dead_code, unreachable_pub)]
#[path = "cuda/rig.rs"]
mod rig;

use common::gpu::{cuda, device};
use common::samples::Content;
use fzgm::{DType, Decoder};
use rig::Rig;

#[test]
fn a_call_neither_waits_nor_allocates_nor_loads() {
    if device().is_none() {
        eprintln!("SKIPPED: FZGM_REQUIRE_GPU is not set");
        return;
    }
    if cuda().count("launch").is_none() {
        // A real device does not count; there a call that returns while a long kernel still runs shows the same.
        eprintln!("SKIPPED: this is not the emulator");
        return;
    }
    for (name, dtype) in
        [("pfpl", DType::F32), ("pfpl", DType::F64), ("fz", DType::F32), ("bits", DType::U16)]
    {
        let mut rig = Rig::of(name, dtype, 10_000);
        let src = rig.data(Content::Walk, 1);
        rig.src.put(0, &src);
        let stream = rig.stream.raw();
        // The decoder of the encoder, and one that was opened; both have made their workspace ready.
        let opened = Decoder::open(&rig.expected(&src).0, &rig::options()).unwrap();
        let mut opened_ws = opened.workspace().unwrap();
        opened.preload(&mut opened_ws, stream).unwrap();
        let counts = || {
            ["sync", "alloc", "free", "load", "copy_host", "memset"].map(|what| cuda().count(what).unwrap())
        };
        let (before, launches, early) =
            (counts(), cuda().count("launch").unwrap(), cuda().count("overlap").unwrap());
        rig.compress(stream);
        rig.decompress(stream);
        assert_eq!(counts(), before, "{name} {dtype}: sync, alloc, free, load, copy_host, memset");
        let (launches, early) =
            (cuda().count("launch").unwrap() - launches, cuda().count("overlap").unwrap() - early);
        assert!(launches >= 3, "{name} {dtype}: nothing was launched");
        // All but the first one of a call.
        assert_eq!(early, launches - 2, "{name} {dtype}: launches that start before the one ahead has ended");
        rig.stream.wait();
        rig.check(&src);

        (rig.decoder, rig.decoding) = (opened, opened_ws);
        rig.restored.put(0, &vec![0; rig.restored.bytes]);
        let (before, launches) = (counts(), cuda().count("launch").unwrap());
        rig.decompress(stream);
        rig.decompress(stream);
        assert_eq!(counts(), before, "{name} {dtype}, opened: sync, alloc, free, load, copy_host, memset");
        assert!(
            cuda().count("launch").unwrap() >= launches + 2,
            "{name} {dtype}, opened: nothing was launched"
        );
        rig.stream.wait();
        rig.check(&src);
    }
}

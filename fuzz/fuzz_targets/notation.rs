//! Any text as a pipeline, in both forms: a pipeline that is read can be written, and is equal when it is
//! read again.
#![no_main]

use fzgm::Pipeline;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(p) = Pipeline::from_toml(text) {
        let written = p.to_toml().expect("what was read can be written");
        assert!(Pipeline::from_toml(&written).expect("what was written can be read") == p);
    }
    if let Ok(p) = Pipeline::from_text(text) {
        let written = p.to_text().expect("what was read can be written");
        assert!(Pipeline::from_text(&written).expect("what was written can be read") == p);
    }
});

//! `include/fzgm.h` is what cbindgen makes of `src/capi`. After a change there:
//!
//! ```text
//! FZGM_UPDATE_HEADER=1 cargo test --test header
//! ```

use std::path::Path;

/// In the order of the header.
const SOURCES: [&str; 11] = [
    "status",
    "about",
    "pipeline",
    "text",
    "stages",
    "options",
    "plan",
    "workspace",
    "codec",
    "device",
    "info",
];

#[test]
fn the_committed_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut made = Vec::new();
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml");
    SOURCES
        .iter()
        .fold(cbindgen::Builder::new(), |b, name| b.with_src(root.join(format!("src/capi/{name}.rs"))))
        .with_config(config)
        .generate()
        .expect("cbindgen reads src/capi")
        .write(&mut made);
    let made = short_comments(&String::from_utf8(made).expect("a header is text"));

    compare(&root.join("include/fzgm.h"), &made);
}

/// What is committed is what was made, or becomes it.
fn compare(path: &Path, made: &str) {
    if std::env::var_os("FZGM_UPDATE_HEADER").is_some() {
        std::fs::write(path, made).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let difference = committed.lines().zip(made.lines()).enumerate().find(|(_, (a, b))| a != b);
    assert!(
        committed == made,
        "{} is not what its source says (first difference: {difference:?}); \
         run FZGM_UPDATE_HEADER=1 cargo test --test header",
        path.display()
    );
}

/// `kernels/args.h` is what cbindgen makes of `src/device.rs`, the argument block that host and device share.
#[test]
fn the_committed_argument_block_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut made = Vec::new();
    let config =
        cbindgen::Config::from_file(root.join("kernels/cbindgen.toml")).expect("kernels/cbindgen.toml");
    cbindgen::Builder::new()
        .with_src(root.join("src/device.rs"))
        .with_config(config)
        .generate()
        .expect("cbindgen reads src/device.rs")
        .write(&mut made);
    compare(&root.join("kernels/args.h"), &String::from_utf8(made).expect("a header is text"));
}

/// A comment of one line takes one line, not the three that cbindgen gives it.
fn short_comments(header: &str) -> String {
    let lines: Vec<&str> = header.lines().collect();
    let mut out = String::new();
    let mut i = 0;
    while i < lines.len() {
        match lines[i..] {
            [open, text, close, ..] if open.trim() == "/**" && close.trim() == "*/" => {
                out += &open.replace("/**", &format!("/** {} */", text.trim().trim_start_matches("* ")));
                i += 3;
            }
            _ => {
                out += lines[i];
                i += 1;
            }
        }
        out.push('\n');
    }
    out
}

//! `include/fzgm.h` is what cbindgen makes of `src/capi`. After a change there:
//!
//! ```text
//! FZGM_UPDATE_HEADER=1 cargo test --test header
//! ```

use std::path::Path;

/// In the order of the header.
const SOURCES: [&str; 12] = [
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
    "file",
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

/// The functions and constants of a C header, comments aside.
fn names(header: &str) -> (Vec<String>, Vec<(String, String)>) {
    let mut code = String::new();
    for part in header.split("*/") {
        code += part.split_once("/*").map_or(part, |(before, _)| before);
    }
    let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '(');
    let functions = words.filter_map(|w| w.split_once('(')).map(|(name, _)| name.to_string());
    let functions = functions.filter(|name| name.starts_with("fz_")).collect();
    let constants = code.lines().filter_map(|l| l.trim().trim_end_matches(',').split_once(" = "));
    (functions, constants.map(|(name, value)| (name.into(), value.into())).collect())
}

/// `fzgm.hpp` and `fzgm.f90` are written by hand: what is new in the header is missed here.
#[test]
fn cpp_and_fortran_have_everything() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join("include").join(name)).expect("a header");
    let (c, cpp, fortran) = (read("fzgm.h"), read("fzgm.hpp"), read("fzgm.f90"));
    let (functions, constants) = names(&c);
    assert!(functions.len() > 40 && constants.len() > 40, "{functions:?} {constants:?}");
    for name in functions {
        let called = [format!("{name}("), format!("{name}>"), format!("{name})")];
        assert!(called.iter().any(|c| cpp.contains(c)), "fzgm.hpp does not call {name}");
        assert!(fortran.contains(&format!("bind(C, name=\"{name}\")")), "fzgm.f90 does not declare {name}");
    }
    for (name, value) in constants {
        let line = format!("parameter :: {name} = {value}\n");
        assert!(fortran.contains(&line), "fzgm.f90 has no {name} = {value}");
    }
    let abi = c.lines().find_map(|l| l.strip_prefix("#define FZ_ABI_VERSION ")).expect("an ABI");
    assert!(fortran.contains(&format!("FZ_ABI = {abi}\n")), "FZ_ABI of fzgm.f90 is not {abi}");
}

//! Statements of the documentation about itself and about the code, checked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All files below a directory of the repository with one of the endings.
fn files(dir: &str, endings: &[&str]) -> Vec<PathBuf> {
    let (mut found, mut open) = (vec![], vec![root().join(dir)]);
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if endings.iter().any(|e| path.to_string_lossy().ends_with(e)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A page defines the decoder before it describes the encoder.
const HEADINGS: [&str; 10] = [
    "Purpose",
    "Ports",
    "Parameters",
    "Decoding",
    "Config bytes",
    "Encoding",
    "Bound",
    "Limits",
    "Corruption cases",
    "Example",
];

#[test]
fn every_stage_has_its_page() {
    for stage in fzgm::stages::STAGES {
        let spec = stage.spec();
        let path = format!("src/stages/{}/spec.md", spec.name);
        let page = read(&path);
        let headings: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("# ")).collect();
        assert_eq!(headings, HEADINGS, "{path}");
        let encoding = page.split_once("# Encoding\n").expect("a section").1.trim_start();
        assert!(encoding.starts_with("This section is informative"), "{path}");
        let examples = page.matches("```fz\n").count();
        assert!(examples >= 2, "{path}: {examples} examples");
        for param in spec.params {
            assert!(page.contains(&format!("| `{}` |", param.name)), "{path}: no row of {}", param.name);
        }
        for port in spec.inputs {
            assert!(page.contains(&format!("`{port}`")), "{path}: no word of port {port}");
        }
        let code = read(format!("src/stages/{}/mod.rs", spec.name));
        assert!(code.contains("include_str!(\"spec.md\")"), "{path} is not included");
    }
}

#[test]
fn the_table_of_statuses_is_that_of_the_code() {
    let name = |text: &str| text.chars().filter(|c| *c != '_').collect::<String>().to_lowercase();
    let page = read("docs/errors.md");
    let rows: Vec<(i32, String, String)> = page
        .lines()
        .filter_map(|l| {
            let mut cells = l.split('|').map(str::trim).skip(1);
            let number = cells.next()?.parse().ok()?;
            let status = cells.next()?.trim_matches('`');
            Some((number, name(status), cells.next()?.to_string()))
        })
        .collect();
    let want: Vec<(i32, String)> =
        fzgm::Status::ALL.iter().map(|s| (*s as i32, name(&format!("{s:?}")))).collect();
    assert_eq!(rows.iter().map(|(n, s, _)| (*n, s.clone())).collect::<Vec<_>>(), want);
    assert!(rows.iter().all(|(.., meaning)| !meaning.is_empty()));
}

#[test]
fn pages_name_the_presets_and_the_readme_quotes_the_example_for_gpus() {
    let (readme, choosing) = (read("README.md"), read("docs/choosing.md"));
    for preset in fzgm::PRESETS {
        let row = format!("\n| `{}` |", preset.name);
        assert_eq!(choosing.contains(&row), !preset.research, "the row of preset {}", preset.name);
    }
    // A row of the table in the readme: a need and a preset.
    let table = readme.split_once("| need | preset |\n|---|---|\n").expect("a table").1;
    for row in table.lines().take_while(|l| l.starts_with('|')) {
        let listed = fzgm::PRESETS.iter().any(|p| !p.research && row.ends_with(&format!("| `{}` |", p.name)));
        assert!(listed, "{row} names no preset");
    }
    let block = readme.split_once("```c\n").and_then(|(_, rest)| rest.split_once("```")).expect("a block").0;
    let source = read("examples/compress_cuda.c");
    let mut rest = source.lines();
    for line in block.lines().filter(|l| !l.trim().is_empty()) {
        assert!(rest.any(|l| l == line), "examples/compress_cuda.c does not continue with `{line}`");
    }
}

#[test]
fn the_quick_start_quotes_the_example_of_the_crate() {
    let page = read("docs/quickstart.md");
    let block = page.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```")).expect("a block").0;
    let lib = read("src/lib.rs");
    let example = lib.split_once("//! ```rust\n").and_then(|(_, rest)| rest.split_once("//! ```\n"));
    let shown = example
        .expect("a block")
        .0
        .lines()
        .filter_map(|l| l.strip_prefix("//!"))
        .map(|l| l.strip_prefix(' ').unwrap_or(l));
    let shown: Vec<&str> = shown.filter(|l| !l.starts_with("# ")).collect();
    assert_eq!(block.lines().collect::<Vec<_>>(), shown);
}

#[test]
fn every_dependency_has_its_line() {
    let page = read("THIRD_PARTY.md");
    for path in ["Cargo.toml", "cli/Cargo.toml", "hdf5-filter/Cargo.toml", "fuzz/Cargo.toml"] {
        let manifest: toml::Table = read(path).parse().expect("toml");
        let tables = ["dependencies", "dev-dependencies"].iter().filter_map(|t| manifest.get(*t)?.as_table());
        for name in tables.flat_map(|t| t.keys()).filter(|n| *n != "fzgm") {
            assert!(page.contains(&format!("| {name} |")), "THIRD_PARTY.md has no line for {name}");
        }
    }
}

/// Each crate has one version, except those that deny.toml skips with a reason; cargo-deny checks the other
/// rules.
#[test]
fn crates_come_in_one_version() {
    let lock: toml::Table = read("Cargo.lock").parse().expect("toml");
    let deny: toml::Table = read("deny.toml").parse().expect("toml");
    let field = |table: &toml::Value, key: &str| table[key].as_str().expect("text").to_string();
    let mut seen = BTreeSet::new();
    let packages = lock["package"].as_array().expect("packages");
    // An entry of deny.toml names one of the versions.
    let twice: Vec<String> =
        packages.iter().map(|p| field(p, "name")).filter(|n| !seen.insert(n.clone())).collect();
    let skipped = deny["bans"]["skip"].as_array().expect("skip");
    let skipped: Vec<String> =
        skipped.iter().map(|s| field(s, "crate").split('@').next().expect("a name").to_string()).collect();
    assert_eq!(twice, skipped, "crates of several versions, and those that deny.toml skips");
}

/// Each topic has one page, and a test compiles or runs the blocks of every language: tests/c/snippets has C,
/// C++, and Fortran, cli/tests and tests/notation the commands and pipelines, tests/c/package.sh and
/// packages.sh run install.md, tests/hdf5 runs hdf5.md, tests/adios2 the blocks of adios2.md, and python/tests the blocks in Python.
#[test]
fn pages_are_listed_and_their_blocks_checked() {
    let index = read("docs/README.md");
    for path in files("docs", &[".md"]) {
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
        let text = read(&path);
        assert!(
            name == "README.md" || index.contains(&format!("| [{name}]({name}) |")),
            "docs/README.md has no {name}"
        );
        assert_eq!(text.matches("\n```").count() % 2, 0, "{name}: a block that does not end");
        for block in text.split("\n```").skip(1).step_by(2) {
            let language = block.lines().next().unwrap_or_default();
            let known =
                ["c", "cpp", "c++", "fortran", "rust", "sh", "cmake", "toml", "pipeline", "text", "python"];
            assert!(known.contains(&language), "{name}: a block in `{language}`");
            let run = [
                "cli.md",
                "bounds.md",
                "choosing.md",
                "fill-values.md",
                "other-compressors.md",
                "series.md",
                "tuning.md",
                "install.md",
                "hdf5.md",
                "adios2.md",
            ];
            let is_run = ["python.md", "series.md", "adios2.md"].contains(&name);
            assert!(language != "python" || is_run, "{name}: Python that no test runs");
            assert!(language != "c++" || name == "adios2.md", "{name}: C++ that no test runs; use cpp");
            assert!(language != "sh" || run.contains(&name), "{name}: commands that no test runs");
        }
    }
}

#[test]
fn recipes_are_of_this_version() {
    let manifest: toml::Table = read("Cargo.toml").parse().expect("toml");
    let version = manifest["package"]["version"].as_str().expect("a version");
    let rust = manifest["package"]["rust-version"].as_str().expect("a version");
    let (spack, conda) = (read("packaging/spack/package.py"), read("packaging/conda/recipe.yaml"));
    for (recipe, line) in [
        (&spack, format!("    version(\"{version}\"")),
        (&spack, format!("depends_on(\"rust@{rust}:\"")),
        (&conda, format!("  version: \"{version}\"\n")),
    ] {
        assert!(recipe.contains(&line), "no `{line}`");
    }
    // CMake has every option that a recipe sets.
    let cmake = read("CMakeLists.txt");
    for word in spack.split(['"', '\'']).filter(|w| w.starts_with("FZGM_") && !w.starts_with("FZGM_CUDA")) {
        assert!(cmake.contains(&format!("({word} ")), "CMakeLists.txt has no {word}");
    }
}

#[test]
fn modules_use_only_modules_before_them() {
    let lib = read("src/lib.rs");
    let prose: Vec<&str> = lib.lines().filter_map(|l| l.strip_prefix("//!")).map(str::trim).collect();
    let prose = prose.join(" ");
    let list =
        prose.split_once("in this list:").and_then(|(_, rest)| rest.split_once('.')).expect("a list").0;
    let order: Vec<&str> = list.split(',').map(str::trim).collect();
    let place = |module: &str| order.iter().position(|m| *m == module);
    for line in lib.lines() {
        let module = line.strip_prefix("pub mod ").or(line.strip_prefix("mod "));
        if let Some(module) = module.and_then(|m| m.strip_suffix(';')) {
            assert!(place(module).is_some(), "{module} is not in the list of src/lib.rs");
        }
    }
    let mut back = BTreeSet::new();
    for path in files("src", &[".rs"]) {
        let inside = path.strip_prefix(root().join("src")).expect("a source");
        let top = inside.iter().next().and_then(|p| p.to_str()).expect("a name");
        let module = top.trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let here = place(module).unwrap_or_else(|| panic!("{module} is not in the list of src/lib.rs"));
        let text = read(&path);
        // Tests inside a module may use everything.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in text.lines().filter(|l| !l.trim_start().starts_with("//")) {
            for rest in line.split("crate::").skip(1) {
                let used: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                // A name that is no module is re-exported at the top; only the last module may use those.
                if place(&used).is_some_and(|there| there > here) {
                    back.insert((module.to_string(), used));
                }
            }
        }
    }
    assert!(back.is_empty(), "modules that use a later one: {back:?}");
}

/// The name of a stage or of its kernels belongs to its folder: the layers above find stages through the
/// registry alone.
#[test]
fn the_core_names_no_stage() {
    let names: Vec<&str> = fzgm::stages::STAGES.iter().map(|s| s.spec().name).collect();
    for layer in ["base", "ir", "plan", "gpu", "format", "runtime", "codec", "file", "capi"] {
        for path in files(&format!("src/{layer}"), &[".rs"]) {
            let text = read(&path);
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            if path.file_name().is_some_and(|name| name == "tests.rs") {
                continue;
            }
            for line in code.lines().filter(|l| !l.trim_start().starts_with("//")) {
                for literal in line.split('"').skip(1).step_by(2) {
                    let named = names.iter().find(|name| {
                        literal == **name || literal.strip_prefix(**name).is_some_and(|r| r.starts_with('_'))
                    });
                    assert!(named.is_none(), "{}: names stage {named:?}: {line}", path.display());
                }
                let direct = line
                    .split("stages::")
                    .skip(1)
                    .find(|rest| names.iter().any(|n| rest.starts_with(&format!("{n}::"))));
                assert!(direct.is_none(), "{}: uses a stage: {line}", path.display());
            }
        }
    }
}

#[test]
fn files_are_short() {
    for path in ["src", "cli/src", "hdf5-filter/src"].map(|dir| files(dir, &[".rs"])).concat() {
        let lines = read(&path).lines().count();
        assert!(lines <= 400, "{} has {lines} lines; 400 are the limit", path.display());
    }
}

/// The repository contains no places of one machine.
#[test]
fn no_paths_of_a_machine() {
    let words: Vec<String> =
        ["work", "root", "home", "tmp", "Users"].iter().map(|w| format!("/{w}/")).collect();
    let mut all = files("src", &[".rs", ".md"]);
    for dir in [
        "docs",
        "examples",
        "include",
        "cmake",
        "packaging",
        "presets",
        "scripts",
        "cli",
        "hdf5-filter",
        "tests/hdf5",
        "adios2",
        "tests/adios2",
    ] {
        let texts = [
            ".rs", ".py", ".yaml", ".md", ".c", ".cpp", ".f90", ".h", ".hpp", ".toml", ".txt", ".sh",
            ".cmake", ".in",
        ];
        all.extend(files(dir, &texts));
    }
    all.extend(["README.md", "CONTRIBUTING.md", "THIRD_PARTY.md", "CHANGELOG.md"].map(|p| root().join(p)));
    for path in all {
        let text = read(&path);
        for word in &words {
            assert!(!text.contains(word.as_str()), "{} says {word}", path.display());
        }
    }
}

//! Our containers in the hands of the independent reader, tests/reference/fzm_reader.py: every stage, preset
//! and form decodes to the very bytes of our own decoder, so that encoder and decoder cannot agree on the same
//! mistake.

use crate::common::corpus::{Case, build, splines};
use crate::common::samples::Content;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Decodes each file named on standard input and compares with the file of the same name and `.raw`. A width
/// before the name: floats of this number of bytes, for which a NaN may be any NaN. Without strict a bound
/// can be infinite, 0 times infinity is a NaN, and its bits depend on the processor.
const DRIVER: &str = "
import array, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import fzm_reader
bad = 0
def settled(data, width):
    values = array.array('f' if width == 4 else 'd', data)
    return [0 if value != value else word for value, word in
            zip(values, array.array('I' if width == 4 else 'Q', data))]
for line in sys.stdin:
    width, path = line.rstrip('\\n').split(' ', 1)
    try:
        got = fzm_reader.decode(open(path, 'rb').read())
        want = open(path + '.raw', 'rb').read()
        same = got == want or width != '0' and settled(got, int(width)) == settled(want, int(width))
        verdict = 'same' if same else 'DIFFERENT'
    except fzm_reader.FormatError as error:
        same, verdict = False, 'REFUSED: %s' % error
    bad += not same
    print(path.rsplit('/', 1)[-1], verdict)
sys.exit(1 if bad else 0)
";

/// True if Python exists. Without it the test prints a message; where tests must be complete it fails.
fn python() -> bool {
    let there = Command::new("python3").arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        assert!(std::env::var("CI").is_err(), "python3 is missing: the independent reader cannot be asked");
        eprintln!("SKIPPED: python3 is missing, nothing is compared with the independent reader");
    }
    there
}

pub(crate) fn read_by_reference(cases: &[Case], what: &str) {
    if !python() {
        return;
    }
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reference_reader_{what}"));
    std::fs::create_dir_all(&dir).unwrap();
    let mut list = String::new();
    for (i, case) in cases.iter().enumerate() {
        let path = dir.join(i.to_string());
        std::fs::write(&path, &case.bytes).unwrap();
        std::fs::write(dir.join(format!("{i}.raw")), &case.restored).unwrap();
        list += &format!("{} {}\n", if case.loose { case.width } else { 0 }, path.display());
    }
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference");
    let mut child = Command::new("python3")
        .args(["-c", DRIVER])
        .arg(reference)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(list.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let verdicts: Vec<&str> = text.lines().collect();
    assert_eq!(verdicts.len(), cases.len(), "the reader stopped early; see {}", dir.display());
    let bad: Vec<String> = verdicts
        .iter()
        .zip(cases)
        .filter(|(v, _)| !v.ends_with(" same"))
        .map(|(v, c)| format!("{}: {v}", c.name))
        .collect();
    assert!(
        bad.is_empty() && output.status.success(),
        "{} of {}:\n{}",
        bad.len(),
        cases.len(),
        bad.join("\n")
    );
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn the_independent_reader_agrees_on_special_values() {
    let cases = build(4500, Content::Specials);
    assert!(cases.len() > 150, "{} containers", cases.len());
    read_by_reference(&cases, "specials");
}

#[test]
fn the_independent_reader_agrees_on_sparse_arrays() {
    read_by_reference(&build(9001, Content::Sparse), "sparse");
}

#[test]
fn the_independent_reader_agrees_on_fills_and_short_arrays() {
    read_by_reference(&build(1777, Content::Fills), "fills");
    read_by_reference(&build(31, Content::Walk), "short");
    read_by_reference(&build(1, Content::Random), "one");
}

#[test]
fn the_independent_reader_agrees_on_planes_and_volumes_of_splines() {
    let cases = splines();
    // Planes and volumes of 2 types: 5 pipelines, strict or not, in both containers, and 3 in strict files of generation 2026-05.
    let samples = 2 * 2;
    assert_eq!(cases.len(), samples * (5 * 2 * 2 + 3));
    for (id, files) in [(22u16, samples * 5), (0x8016, samples * (5 + 3))] {
        // The first stage record of FZM files.
        let written = cases.iter().filter(|c| !c.compact && c.bytes[80..82] == id.to_le_bytes()).count();
        assert_eq!(written, files, "files of id {id:#x}");
    }
    read_by_reference(&cases, "splines");
}

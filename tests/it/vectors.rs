//! Worked examples and recorded vectors, stage by stage: the bytes of each stage are compared, not only its
//! round trip.
//!
//! The examples are in the pages beside the stages, in fenced blocks marked `fz`, one fact a line:
//!
//! ```text
//! stage: difference              the stage, alone in its pipeline
//! set: code=negabinary           a parameter; any number of such lines
//! strict: off                    on if there is no such line
//! dtype: i32                     the type of the array
//! dims: 3x2                      its shape; one dimension if there is no such line
//! input: 0a000000 00*12          bytes in hex; 00*12 means twelve zero bytes
//! output codes: 0200 0400        an output port and its segment; every port of the stage has its line
//! config: 0602 10000000          the config of the stage, generation 2026-08
//! restored: 0c000000 00*12       the result of decompression; the input if there is no such line
//! ```

use fzgm::stages::rze;
use fzgm::{Array, Container, DType, Error, Generation, Options, Pipeline, Status};
use std::collections::BTreeMap;
use std::path::Path;

type Ports = Vec<(String, Vec<u8>)>;

/// A stage alone: parameters as text.
fn one_stage(stage: &str, set: &[(String, String)]) -> fzgm::Result<Pipeline> {
    let mut p = Pipeline::new();
    let node = p.add(stage)?;
    for (name, value) in set {
        p.args_mut(node)?.set_text(name, value)?;
    }
    Ok(p)
}

fn options(container: Container, generation: Generation, strict: bool) -> Options {
    Options { strict, generation, container, store_incompressible: false, ..Options::default() }
}

/// Config and segments of the only stage of a container, taken from its bytes; the names of the ports are
/// those that [`fzgm::info`] gives, the segments of an FZM file carry their own.
fn dissect(container: &[u8]) -> (Vec<u8>, Ports) {
    match container.first_chunk::<4>() {
        Some(b"FZC1") => dissect_compact(container),
        _ => dissect_fzm(container),
    }
}

fn dissect_compact(frame: &[u8]) -> (Vec<u8>, Ports) {
    let (flags, ndim) = (frame[5], frame[7]);
    let mut at = 8;
    let varint = |at: &mut usize| {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = frame[*at];
            *at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    };
    for _ in 0..=ndim {
        varint(&mut at);
    }
    assert_eq!(frame[at], 1, "one stage");
    let config_len = usize::from(frame[at + 3]);
    let config = frame[at + 4..at + 4 + config_len].to_vec();
    at += 4 + config_len;
    // LorenzoQuant and strict GInterp state the number of their exact values.
    if [[1, 0], [0x16, 0x80]].iter().any(|id| frame[at - 4 - config_len + 1..][..2] == *id) {
        varint(&mut at);
    }
    assert_eq!(frame[at..at + 2], [0, 0], "it reads the array");
    at += 2;
    let info = fzgm::info(frame).expect("a readable frame");
    let lengths: Vec<u64> = info.segments.iter().map(|_| varint(&mut at)).collect();
    at += if flags & 1 != 0 { 4 } else { 0 };
    let mut ports = vec![];
    for (segment, length) in info.segments.iter().zip(lengths) {
        assert_eq!(segment.bytes, length);
        let end = at + length as usize;
        ports.push((segment.port.to_string(), frame[at..end].to_vec()));
        at = end;
    }
    assert_eq!(at, frame.len());
    (config, ports)
}

fn dissect_fzm(file: &[u8]) -> (Vec<u8>, Ports) {
    let u16_at = |at: usize| usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
    let u64_at = |at: usize| u64::from_le_bytes(*file[at..].first_chunk().expect("eight bytes")) as usize;
    let (buffers, header) = (u16_at(6), u64_at(24));
    let config_len = u16_at(80 + 168);
    let config = file[120..120 + config_len].to_vec();
    let mut ports = vec![];
    for record in (0..buffers).map(|k| 80 + 256 * (k + 1)) {
        let name: Vec<u8> = file[record + 8..record + 72].iter().copied().take_while(|&b| b != 0).collect();
        let (bytes, offset) = (u64_at(record + 72), u64_at(record + 96));
        let segment = file[header + offset..header + offset + bytes].to_vec();
        ports.push((String::from_utf8(name).expect("a name"), segment));
    }
    (config, ports)
}

/// A minimal FZM 3.1 file of one stage, without checksums, as another writer could have made it. `ports` are
/// type and bytes of each output.
fn fzm_file(stage: u16, padded: u64, config: &[u8], ports: &[(u8, &[u8])]) -> Vec<u8> {
    let mut file = vec![0x32, 0x5a, 0x4d, 0x46, 0x01, 0x03];
    let payload: usize = ports.iter().map(|(_, bytes)| bytes.len()).sum();
    file.extend((ports.len() as u16).to_le_bytes());
    file.extend(padded.to_le_bytes());
    file.extend((payload as u64).to_le_bytes());
    file.extend(((80 + 256 * (1 + ports.len())) as u64).to_le_bytes());
    file.extend(1u32.to_le_bytes());
    file.extend([1, 0, 0, 0]);
    file.extend(padded.to_le_bytes());
    file.resize(80, 0);
    file.extend(stage.to_le_bytes());
    file.extend([1, 0, 1, ports.len() as u8, 0, 0]);
    let ids = |ids: &[u16]| -> Vec<u8> {
        (0..8).flat_map(|k| ids.get(k).copied().unwrap_or(0xffff).to_le_bytes()).collect()
    };
    file.extend(ids(&[ports.len() as u16]));
    file.extend(ids(&(0..ports.len() as u16).collect::<Vec<_>>()));
    file.extend(config);
    file.resize(80 + 168, 0);
    file.extend((config.len() as u32).to_le_bytes());
    file.resize(80 + 256, 0);
    let mut offset = 0u64;
    for (k, (dtype, bytes)) in ports.iter().enumerate() {
        let start = file.len();
        file.extend(stage.to_le_bytes());
        file.extend([1, 0, *dtype, k as u8, k as u8, 0]);
        file.resize(start + 72, 0);
        for n in [bytes.len() as u64, bytes.len() as u64, bytes.len() as u64, offset] {
            file.extend(n.to_le_bytes());
        }
        file.resize(start + 256, 0);
        offset += bytes.len() as u64;
    }
    ports.iter().for_each(|(_, bytes)| file.extend(*bytes));
    file
}

fn hex(text: &str) -> Vec<u8> {
    let digits = |s: &str| -> Vec<u8> {
        let byte = |i: usize| u8::from_str_radix(&s[2 * i..2 * i + 2], 16);
        (0..s.len() / 2).map(|i| byte(i).unwrap_or_else(|e| panic!("{s}: {e}"))).collect()
    };
    let mut bytes = vec![];
    for token in text.split_whitespace() {
        match token.split_once('*') {
            Some((unit, times)) => bytes.extend(digits(unit).repeat(times.parse().expect("a number"))),
            None => bytes.extend(digits(token)),
        }
    }
    bytes
}

fn show(bytes: &[u8]) -> String {
    let text: String = bytes.iter().take(200).map(|b| format!("{b:02x}")).collect();
    format!("{} bytes {text}{}", bytes.len(), if bytes.len() > 200 { "…" } else { "" })
}

fn same(what: &str, got: &[u8], want: &[u8]) {
    let at = got.iter().zip(want).position(|(a, b)| a != b).unwrap_or(got.len().min(want.len()));
    assert!(got == want, "{what}: differs from byte {at} on\n  got  {}\n  want {}", show(got), show(want));
}

#[derive(Default)]
struct Example {
    place: String,
    stage: String,
    set: Vec<(String, String)>,
    loose: bool,
    dtype: String,
    dims: Vec<u64>,
    input: Vec<u8>,
    outputs: Ports,
    config: Option<Vec<u8>>,
    restored: Option<Vec<u8>>,
}

/// The `fz` blocks of a page.
fn examples(page: &Path) -> Vec<Example> {
    let text = std::fs::read_to_string(page).expect("a page");
    let (mut found, mut open): (Vec<Example>, Option<Example>) = (vec![], None);
    for (number, line) in text.lines().enumerate() {
        let Some(block) = &mut open else {
            if line == "```fz" {
                let place = format!("{}:{}", page.display(), number + 1);
                open = Some(Example { place, ..Example::default() });
            }
            continue;
        };
        if line == "```" {
            found.extend(open.take());
            continue;
        }
        let bad = format!("{}: `{line}` is no line of an example", block.place);
        let bare = || line.strip_suffix(':').map(|key| (key, ""));
        let (key, value) = line.split_once(": ").or_else(bare).expect(&bad);
        match key.split_once(' ').unwrap_or((key, "")) {
            ("stage", "") => block.stage = value.into(),
            ("set", "") => {
                let (name, value) = value.split_once('=').expect(&bad);
                block.set.push((name.into(), value.into()));
            }
            ("strict", "") if value == "off" => block.loose = true,
            ("dtype", "") => block.dtype = value.into(),
            ("dims", "") => block.dims = value.split('x').map(|d| d.parse().expect(&bad)).collect(),
            ("input", "") => block.input = hex(value),
            ("output", port) if !port.is_empty() => block.outputs.push((port.into(), hex(value))),
            ("config", "") => block.config = Some(hex(value)),
            ("restored", "") => block.restored = Some(hex(value)),
            _ => panic!("{bad}"),
        }
    }
    assert!(open.is_none(), "{}: a block does not end", page.display());
    found
}

fn run(example: &Example) {
    let Example { place, stage, set, input, outputs, .. } = example;
    let dtype = DType::from_name(&example.dtype).expect("a type");
    let flat = vec![input.len() as u64 / dtype.bytes()];
    let dims = if example.dims.is_empty() { &flat } else { &example.dims };
    let array = Array::new(dtype, dims).expect("an array");
    assert_eq!(array.bytes(), input.len() as u64, "{place}: whole elements");
    let pipeline = one_stage(stage, set).unwrap_or_else(|e| panic!("{place}: {e}"));
    let options = options(Container::Compact, Generation::G2026_08, !example.loose);
    let frame = fzgm::compress(&pipeline, &array, &options, input).unwrap_or_else(|e| panic!("{place}: {e}"));
    let (config, ports) = dissect(&frame);
    let names = |ports: &Ports| ports.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&ports), names(outputs), "{place}: the ports");
    for ((port, got), (_, want)) in ports.iter().zip(outputs) {
        same(&format!("{place}: {port}"), got, want);
    }
    let want = example.config.as_ref().unwrap_or_else(|| panic!("{place}: no config"));
    same(&format!("{place}: config"), &config, want);
    let (_, back) = fzgm::decompress(&frame, &options).unwrap_or_else(|e| panic!("{place}: {e}"));
    same(&format!("{place}: restored"), &back, example.restored.as_ref().unwrap_or(input));
}

#[test]
fn examples_of_the_pages() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stages");
    let mut count = 0;
    for stage in fzgm::stages::STAGES {
        for example in examples(&pages.join(stage.spec().name).join("spec.md")) {
            run(&example);
            count += 1;
        }
    }
    assert!(count >= 2 * fzgm::stages::STAGES.len(), "{count} examples");
}

#[test]
fn examples_of_the_compact_frame() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/format/compact.md");
    let text = std::fs::read_to_string(page).expect("the page");
    let blocks: Vec<&str> =
        text.split("```frame\n").skip(1).map(|rest| rest.split_once("```").expect("a block").0).collect();
    let shapes: [&[u64]; 2] = [&[4], &[1, 2, 1, 2]];
    assert_eq!(blocks.len(), shapes.len());
    for (block, dims) in blocks.into_iter().zip(shapes) {
        let frame: Vec<u8> =
            block.lines().flat_map(|l| hex(l.split_once('#').map_or(l, |(b, _)| b))).collect();
        let array = Array::new(DType::U8, dims).expect("an array");
        let options = Options { checksum: false, ..options(Container::Compact, Generation::G2026_08, true) };
        let pipeline = one_stage("stored", &[]).expect("a pipeline");
        let made = fzgm::compress(&pipeline, &array, &options, &hex("deadbeef")).expect("a frame");
        same("the frame", &made, &frame);
        assert_eq!(fzgm::decompress(&frame, &options).expect("an array"), (array, hex("deadbeef")));
    }
}

// ---- tests/golden/vectors.json -----------------------------------------------------------------------------

type Json = serde_json::Value;

fn vectors(kind: &str) -> Vec<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/vectors.json");
    let text = std::fs::read_to_string(path).expect("the vectors");
    let all: Json = serde_json::from_str(&text).expect("json");
    let list = all["vectors"].as_array().expect("a list");
    list.iter().filter(|v| v["kind"] == kind).cloned().collect()
}

fn lcg(seed: u64) -> impl Iterator<Item = u8> {
    let mut x = seed as u32;
    std::iter::from_fn(move || {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((x >> 24) as u8)
    })
}

/// The bytes of a byte string of the vectors, by the rules in their README.
fn bytes(v: &Json) -> Vec<u8> {
    let len = v["len"].as_u64().expect("len") as usize;
    let made = match (v["hex"].as_str(), &v["gen"]) {
        (Some(text), _) => hex(text),
        (None, rule) => {
            let n = |key: &str| rule[key].as_u64().unwrap_or_else(|| panic!("{key} of {rule}")) as usize;
            let by = |f: &dyn Fn(usize) -> usize| (0..len).map(|i| f(i) as u8).collect::<Vec<u8>>();
            match rule["kind"].as_str().expect("a rule") {
                "const" => by(&|_| n("byte")),
                "affine" => by(&|i| n("a") * i + n("b")),
                "div" => by(&|i| i / n("d")),
                "sparse" => by(&|i| if i % n("m") == 0 { (i / n("m") % 256) | 1 } else { 0 }),
                "pattern" => {
                    let unit = hex(rule["hex"].as_str().expect("hex"));
                    by(&|i| unit[i % unit.len()].into())
                }
                "prefix" => by(&|i| if i < n("nz") { n("byte") } else { 0 }),
                "lcg" => lcg(n("seed") as u64).take(len).collect(),
                "lcgsmall" => lcg(n("seed") as u64).take(len).map(|b| b % n("m") as u8).collect(),
                "lcgruns" => {
                    let low = |last: &mut u8, b: u8| {
                        *last = if usize::from(b) < n("t") { b } else { *last };
                        Some(*last)
                    };
                    lcg(n("seed") as u64).take(len).scan(0u8, low).collect()
                }
                "points" => {
                    let mut all = vec![0; len];
                    for pair in rule["set"].as_array().expect("pairs") {
                        all[pair[0].as_u64().expect("i") as usize] = pair[1].as_u64().expect("byte") as u8;
                    }
                    all
                }
                other => panic!("rule {other}"),
            }
        }
    };
    let crc = format!("{:08x}", crc32fast::hash(&made));
    assert_eq!((made.len(), Some(&*crc)), (len, v["crc32"].as_str()), "{v}");
    made
}

/// Checks `got` against a byte string of which the vectors may only hold a digest.
fn matches(what: &str, got: &[u8], want: &Json) {
    if want["hex"].is_null() && want["gen"].is_null() {
        let crc = format!("{:08x}", crc32fast::hash(got));
        let (len, want_crc) = (want["len"].as_u64(), want["crc32"].as_str());
        assert_eq!((Some(got.len() as u64), Some(&*crc)), (len, want_crc), "{what}");
    } else {
        same(what, got, &bytes(want));
    }
}

/// The stage, the element type and the parameters that a vector is about.
fn setup(v: &Json) -> (String, DType, Vec<(String, String)>) {
    let p = &v["params"];
    let text = |key: &str| match &p[key] {
        Json::String(s) => s.to_lowercase(),
        other => other.to_string(),
    };
    let name = v["stage"].as_str().expect("stage").to_lowercase();
    let (dtype, set): (String, Vec<(&str, String)>) = match &*name {
        "quantizer" => {
            let direct =
                ["code_type", "error_bound", "mode", "quant_radius", "outlier_threshold", "outlier_capacity"];
            let mut set: Vec<_> = direct.iter().map(|&k| (k, text(k))).collect();
            set.push(("zigzag_codes", text("zigzag")));
            set.push(("inplace_outliers", text("inplace")));
            (text("input_type"), set)
        }
        "lorenzoquant" => {
            let direct = ["code_type", "error_bound", "quant_radius", "outlier_capacity"];
            let mut set: Vec<_> = direct.iter().map(|&k| (k, text(k))).collect();
            // The reference's REL is relative to the largest magnitude.
            set.push(("mode", text("mode").replace("rel", "prel")));
            set.push(("zigzag_codes", text("zigzag")));
            set.push(("centering", (p["centering"] == true).to_string()));
            (text("input_type"), set)
        }
        "difference" => {
            let code = match &*text("fusion") {
                "nb" => "negabinary",
                "zz" => "zigzag",
                _ => "plain",
            };
            (p["T"].to_string(), vec![("code", code.into()), ("chunk_size", text("chunk_bytes"))])
        }
        "zigzag" | "negabinary" => (text("TIn"), vec![]),
        "lorenzo" => {
            (text("data_type"), ["block_size", "order", "centering"].iter().map(|&k| (k, text(k))).collect())
        }
        "bitshuffle" => {
            ("u8".into(), ["block_size", "element_width"].iter().map(|&k| (k, text(k))).collect())
        }
        "rle" => (text("T"), vec![("chunk_size", text("chunk_bytes"))]),
        "bitpack" => {
            (text("T"), ["nbits", "auto_detect", "base", "shift"].iter().map(|&k| (k, text(k))).collect())
        }
        "rze" | "rre" => ("u8".into(), ["chunk_size", "word_size"].iter().map(|&k| (k, text(k))).collect()),
        other => panic!("stage {other}"),
    };
    let dtype = if name == "difference" { p["T"].as_str().expect("T").into() } else { dtype };
    let set = set.into_iter().map(|(k, v)| (k.to_string(), v)).collect();
    (name, DType::from_name(&dtype).expect("a type"), set)
}

fn ports(container: &[u8]) -> BTreeMap<String, Vec<u8>> {
    dissect(container).1.into_iter().collect()
}

/// The reference cuts off values that do not fit; they are rejected here, and the reference's output is read.
fn cut_off(v: &Json, pipeline: &Pipeline, array: &Array, file: &[u8]) {
    let id = v["id"].as_str().expect("id");
    let options = options(Container::Compact, Generation::G2026_08, false);
    let error = fzgm::compress(pipeline, array, &options, &bytes(&v["input"])).expect_err(id);
    assert!(error.status() == Status::InvalidArgument && error.to_string().contains("bitpack"), "{error}");
    same(id, &fzgm::decompress(file, &options).expect(id).1, &bytes(&v["decoded"]));
}

/// Forms that this version does not read are reported as such.
fn unread(v: &Json, number: u16, config: &[u8]) -> bool {
    let p = &v["params"];
    if p["linear"] != true {
        return false;
    }
    let outputs = v["outputs"].as_object().expect("outputs");
    let ports: Vec<Vec<u8>> = outputs.values().map(bytes).collect();
    let ports: Vec<(u8, &[u8])> = ports.iter().map(|p| (0, &p[..])).collect();
    let file = fzm_file(number, bytes(&v["input"]).len() as u64, config, &ports);
    let error = fzgm::info(&file).expect_err("unread");
    assert_eq!(error.status(), Status::Unsupported, "{error}");
    true
}

/// Generation 2026-05: its own extra ports.
fn in_the_form_of_2026_05(v: &Json, pipeline: &Pipeline, array: &Array, config: &[u8]) {
    let id = v["id"].as_str().expect("id");
    let old = options(Container::Fzm, Generation::G2026_05, false);
    let file =
        fzgm::compress(pipeline, array, &old, &bytes(&v["input"])).unwrap_or_else(|e| panic!("{id}: {e}"));
    let mut segments = ports(&file);
    let parts = [&v["outputs"], &v["legacy_outputs"]];
    for (port, want) in parts.into_iter().filter_map(Json::as_object).flatten() {
        let got = segments.remove(port).unwrap_or_else(|| panic!("{id}: no {port}"));
        matches(&format!("{id}: {port} of 2026-05"), &got, want);
    }
    assert!(segments.is_empty(), "{id}: more ports than expected: {segments:?}");
    same(&format!("{id}: config of 2026-05"), &dissect(&file).0, config);
}

#[test]
fn stage_vectors() {
    let (mut done, mut cut, mut refused) = (0, 0, vec![]);
    for v in vectors("stage") {
        let id = v["id"].as_str().expect("id");
        let (stage, dtype, set) = setup(&v);
        let number = fzgm::stages::by_name(&stage).expect("a stage").spec().id;
        let input = bytes(&v["input"]);
        let config = hex(v["config"].as_str().expect("config"));
        let long = v["config_2026_08_long"].as_str().map(hex);
        let outputs = v["outputs"].as_object().expect("outputs");
        if unread(&v, number, &config) {
            refused.push(id.to_string());
            continue;
        }
        let flat = vec![input.len() as u64 / dtype.bytes()];
        let dims = v["params"]["dims"].as_array().map(|d| d.iter().filter_map(Json::as_u64).collect());
        let array = Array::new(dtype, &dims.unwrap_or(flat)).expect("an array");
        let pipeline = one_stage(&stage, &set).unwrap_or_else(|e| panic!("{id}: {e}"));
        if stage == "bitpack" && v["decoded"].is_object() {
            cut_off(
                &v,
                &pipeline,
                &array,
                &fzm_file(number, input.len() as u64, &config, &[(0, &bytes(&outputs["output"]))]),
            );
            cut += 1;
            continue;
        }
        let want = if v["decoded"].is_null() { input.clone() } else { bytes(&v["decoded"]) };
        // No value of these vectors needs strict, so both settings give the same bytes; but strict, zeros have codes in
        // the logarithmic mode, and bounds are rounded down.
        let differs = id == "lq-1d-noa-f64" || (stage == "quantizer" && v["params"]["mode"] == "REL");
        for strict in [true, false].into_iter().filter(|strict| !(*strict && differs)) {
            let options = options(Container::Compact, Generation::G2026_08, strict);
            let frame =
                fzgm::compress(&pipeline, &array, &options, &input).unwrap_or_else(|e| panic!("{id}: {e}"));
            let (got, segments) = dissect(&frame);
            same(&format!("{id}: config"), &got, &config);
            assert_eq!(segments.len(), outputs.len(), "{id}");
            for (port, bytes) in &segments {
                matches(&format!("{id}: {port}"), bytes, &outputs[port]);
            }
            same(&format!("{id}: restored"), &fzgm::decompress(&frame, &options).expect(id).1, &want);
            // The same in a file without extension and checksums, with the short and the long config.
            let parts: Vec<(u8, &[u8])> = segments.iter().map(|(_, b)| (0, &b[..])).collect();
            let long_want = match &v["decoded_2026_08_long"] {
                Json::Null => want.clone(),
                other => bytes(other),
            };
            for (config, want) in [(Some(&config), &want), (long.as_ref(), &long_want)] {
                let Some(config) = config else { continue };
                let file = fzm_file(number, input.len() as u64, config, &parts);
                let back = fzgm::decompress(&file, &options).unwrap_or_else(|e| panic!("{id}: {e}")).1;
                same(&format!("{id}: restored from a file"), &back, want);
            }
        }
        // No vector of generation 2026-05 needs padding unless its blocks are short.
        let padding = [&*stage == "bitshuffle", id.contains("chunk")].contains(&true);
        if !padding && !id.contains("2026") {
            in_the_form_of_2026_05(&v, &pipeline, &array, &config);
        }
        done += 1;
    }
    assert_eq!((done, cut, &refused[..]), (52, 2, &["qz-linear-f32-u32-2026".to_string()][..]));
}

/// A stream of one chunk.
fn one_chunk_stream(chunk: usize, raw: bool, payload: &[u8]) -> Vec<u8> {
    let entry = payload.len() as u32 | if raw { 1 << 31 } else { 0 };
    let mut stream: Vec<u8> = [chunk as u32, 1, entry].iter().flat_map(|n| n.to_le_bytes()).collect();
    stream.extend(payload);
    stream.resize(stream.len().next_multiple_of(4), 0);
    stream
}

fn rze_config(chunk: u32, byte_4: u8, original: usize) -> Vec<u8> {
    let mut config = chunk.to_le_bytes().to_vec();
    config.push(byte_4);
    config.extend((original as u32).to_le_bytes());
    config
}

#[test]
fn rze_chunk_vectors() {
    let all = vectors("chunk");
    for v in &all {
        let id = v["id"].as_str().expect("id");
        let (stage, _, set) = setup(v);
        let input = bytes(&v["input"]);
        let number = |key: &str| v["params"][key].as_u64().expect(key);
        let (chunk, word) = (number("chunk_size") as u32, number("word_size") as usize);
        let raw = v["stored"] == "raw";
        let old = v["params"]["layout"] == "2026-05";
        let array = Array::new(DType::U8, &[input.len() as u64]).expect("an array");
        let pipeline = one_stage(&stage, &set).expect(id);
        let stream = if !old {
            let options = options(Container::Compact, Generation::G2026_08, true);
            let frame = fzgm::compress(&pipeline, &array, &options, &input).expect(id);
            same(id, &fzgm::decompress(&frame, &options).expect(id).1, &input);
            ports(&frame).remove("output").expect("output")
        } else if input.len() == chunk as usize {
            let options = options(Container::Fzm, Generation::G2026_05, false);
            let file = fzgm::compress(&pipeline, &array, &options, &input).expect(id);
            same(id, &fzgm::decompress(&file, &options).expect(id).1, &input);
            ports(&file).remove("output").expect("output")
        } else {
            // Files pad up to whole chunks; short ones only arise behind stages that change the width.
            let mut scratch = Default::default();
            match rze::encode_chunk(&input, &rze::Geometry::old(input.len()), &mut scratch) {
                Some(payload) => one_chunk_stream(input.len(), false, payload),
                None => one_chunk_stream(input.len(), true, &input),
            }
        };
        let entry = u32::from_le_bytes(*stream[8..].first_chunk().expect("a table"));
        assert_eq!(entry >> 31 == 1, raw, "{id}: raw or coded");
        let payload = &stream[12..12 + (entry & !(1 << 31)) as usize];
        if raw {
            same(id, payload, &input);
        } else {
            matches(id, payload, &v["outputs"]["payload"]);
        }
        same(id, &stream, &one_chunk_stream(input.len(), raw, payload));
        // The same stream in somebody else's file.
        let config = rze_config(chunk, if old { 4 } else { word as u8 }, input.len());
        let id_of = if stage == "rre" { 26 } else { 18 };
        let file = fzm_file(id_of, input.len() as u64, &config, &[(0, &stream)]);
        let back = fzgm::decompress(&file, &Options::default()).unwrap_or_else(|e| panic!("{id}: {e}")).1;
        same(&format!("{id}: from a file"), &back, &input);
    }
    assert_eq!(all.len(), 265);
}

#[test]
fn rze_stream_vectors() {
    let all = vectors("stream");
    for v in &all {
        let id = v["id"].as_str().expect("id");
        let (stage, _, set) = setup(v);
        let input = bytes(&v["input"]);
        let config = hex(v["config"].as_str().expect("config"));
        let array = Array::new(DType::U8, &[input.len() as u64]).expect("an array");
        let pipeline = one_stage(&stage, &set).expect(id);
        let want = &v["outputs"]["output"];
        if v["params"]["layout"] == "2026-08" {
            for threads in [1, 2] {
                let options = Options { threads, ..options(Container::Compact, Generation::G2026_08, true) };
                let frame = fzgm::compress(&pipeline, &array, &options, &input).expect(id);
                let (got, segments) = dissect(&frame);
                same(&format!("{id}: config"), &got, &config);
                matches(id, &segments[0].1, want);
                same(id, &fzgm::decompress(&frame, &options).expect(id).1, &input);
            }
        }
        if want["hex"].is_string() {
            let id_of = if stage == "rre" { 26 } else { 18 };
            let file = fzm_file(id_of, input.len() as u64, &config, &[(0, &bytes(want))]);
            same(id, &fzgm::decompress(&file, &Options::default()).expect(id).1, &input);
        }
    }
    assert_eq!(all.len(), 8);
}

#[test]
fn pairs_without_a_last_level_are_refused() {
    let array = Array::new(DType::U8, &[4096]).expect("an array");
    for (stage, (chunk, word)) in
        ["rze", "rre"].into_iter().flat_map(|s| [(4096, 2), (4096, 4), (8192, 4)].map(|pair| (s, pair)))
    {
        let set = [("chunk_size".into(), chunk.to_string()), ("word_size".into(), word.to_string())];
        let pipeline = one_stage(stage, &set).expect("parameters");
        let error = fzgm::compress(&pipeline, &array, &Options::default(), &[1; 4096]).expect_err("refused");
        assert!(matches!(error, Error::Unsupported { stage: by, .. } if by == stage), "{error}");
    }
}

/// Files of others under mode rel: the switch of outliers in place means nothing, far bins are 0 or infinite, and a
/// bound that is none is damage.
#[test]
fn logarithmic_codes_of_other_writers() {
    let codes = [5u32, 7, 0, 4 * 64 + 1, 4 * 75 + 3, 0xffff_ffff].map(u32::to_le_bytes).concat();
    let (values, indices) = (1e-40f32.to_le_bytes(), 2u32.to_le_bytes());
    let config = |bound: f32, in_place: u8| -> Vec<u8> {
        let mut c = [&[0; 4], &bound.to_le_bytes()[..], &[0; 4], &32768u32.to_le_bytes()].concat();
        c.extend([6, 0, 0, 0, 1, 0, 0, 0, 8, 2, 1, 1, 0, 0, 0x80, 0x7f, in_place, 0, 0, 0]);
        c
    };
    let file = |bound: f32, in_place: u8| {
        fzm_file(14, 24, &config(bound, in_place), &[(2, &codes), (8, &values), (2, &indices)])
    };
    let want = [4.0, 0.25, 1e-40, f32::INFINITY, 0.0, 0.0].map(f32::to_le_bytes).concat();
    for in_place in [0, 1] {
        let (_, got) = fzgm::decompress(&file(1.0, in_place), &Options::default()).expect("an array");
        same("logarithmic codes", &got, &want);
        let info = fzgm::info(&file(1.0, in_place)).expect("a header");
        assert_eq!((info.mode, info.bound, info.strict), ("rel", 1.0, None));
    }
    for bound in [0.0, -0.5, f32::NAN, f32::INFINITY] {
        let error = fzgm::info(&file(bound, 0)).expect_err("damage");
        assert_eq!(error.status(), Status::Corrupt, "{bound}: {error}");
    }
    // The smallest bound there is leaves steps of nothing, which decode to 1 and do not fail.
    let (_, got) = fzgm::decompress(&file(1e-45, 0), &Options::default()).expect("an array");
    same("bins of no width", &got[..4], &1f32.to_le_bytes());
}

/// A mode that files of 2026-05 do not have is refused with what to do instead.
#[test]
fn files_of_2026_05_have_no_bound_of_the_largest_magnitude() {
    let array = Array::new(DType::F32, &[100]).expect("an array");
    let pipeline = one_stage("quantizer", &[("mode".into(), "prel".into())]).expect("parameters");
    for strict in [true, false] {
        let old = options(Container::Fzm, Generation::G2026_05, strict);
        let error = fzgm::compress(&pipeline, &array, &old, &[0; 400]).expect_err("refused");
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("prel") && text.contains("2026-08") && text.contains("noa"), "{text}");
    }
}

/// Streams of others, whole and damaged in one place each: stage, bytes of the array, config, the stream, and
/// the defect.
#[test]
fn streams_of_other_writers() {
    let rle = "00 06000000";
    let chunks = "01 09000000 08000000";
    let bits = "00 01 0900000000000000";
    let merge = "01 04000000 01 61";
    for (stage, bytes, config, stream, wrong) in [
        (5, 6, rle, "03000000 050607 00 02000000 03000000 01000000", ""),
        (5, 6, rle, "03000000 050507 00 02000000 03000000 01000000", ""),
        (5, 6, rle, "04000000 05060708 02000000 03000000 01000000 00000000", "a run of nothing"),
        (5, 6, rle, "03000000 050607 00 02000000 02000000 01000000", "too short"),
        (5, 6, rle, "03000000 050607 00 02000000 03000000 02000000", "too long"),
        (5, 6, rle, "03000000 050607 01 02000000 03000000 01000000", "padding"),
        (5, 6, rle, "03000000 050607 00 02000000 03000000 01000000 00000000", "a word more"),
        (5, 6, rle, "03000000 050607 00 02000000 03000000", "a word less"),
        (5, 0, "00 00000000", "01000000", "a run of an empty array"),
        (
            5,
            18,
            chunks,
            "03000000 00000000*2 01000000 03000000 0100 0200*2 00*2 04000000*2 01000000",
            "a table of other chunks",
        ),
        (
            5,
            18,
            chunks,
            "03000000 00000000 01000000 02000000 03000000 0100 0200*2 00*2 04000000*2 01000000",
            "",
        ),
        (
            5,
            18,
            chunks,
            "03000000 00000000 01000000 02000000 03000000 0100 0200*2 00*2 05000000 03000000 01000000",
            "a run over a border",
        ),
        (7, 9, bits, "8d 01", ""),
        (7, 9, bits, "8d 03", "a bit behind the end"),
        (7, 9, bits, "8d", "a byte less"),
        (7, 9, "00 03 0900000000000000", "8d 01 00 00", "three bits"),
        (7, 9, "00 00 0900000000000000", "", "no bits"),
        (7, 9, "00 10 0900000000000000", "00*18", "more bits than an element"),
        (11, 4, merge, "01020304", ""),
        (11, 4, merge, "010203", "a byte less"),
        (11, 4, "01 03000000 01 61", "010203", "another length"),
    ] {
        let file = fzm_file(stage, bytes, &hex(config), &[(0, &hex(stream))]);
        match fzgm::decompress(&file, &Options::default()) {
            Ok((array, _)) => {
                assert!(wrong.is_empty() && array.bytes() == bytes, "{stage}: {wrong}: {stream}")
            }
            Err(e) => assert!(!wrong.is_empty() && e.status() == Status::Corrupt, "{stage}: {wrong}: {e}"),
        }
    }
}

/// A reader that split a name at its `+` would have more inputs than the config has lengths.
#[test]
fn names_of_other_letters_in_a_merge_are_unsupported() {
    for name in ["03 612b62", "01 2b", "00", "03 612062"] {
        let file = fzm_file(11, 4, &hex(&format!("01 04000000 {name}")), &[(0, &hex("01020304"))]);
        let errors = [
            fzgm::info(&file).err(),
            fzgm::pipeline_of(&file).err(),
            fzgm::decompress(&file, &Options::default()).err(),
        ];
        for e in errors {
            let e = e.unwrap_or_else(|| panic!("{name} is read"));
            assert_eq!(e.status(), Status::Unsupported, "{name}: {e}");
        }
    }
}

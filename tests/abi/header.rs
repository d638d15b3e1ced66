//! The declarations of `include/fzgm.h`.

use std::path::Path;

pub(crate) struct Function {
    /// As it is declared, on one line.
    pub(crate) text: String,
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
}

pub(crate) struct Parameter {
    /// `const fz_plan *`
    pub(crate) ctype: String,
    pub(crate) name: String,
}

pub(crate) struct Header {
    pub(crate) functions: Vec<Function>,
    /// Names and values.
    pub(crate) constants: Vec<(String, String)>,
    /// Structures with their fields.
    pub(crate) structs: Vec<(String, Vec<String>)>,
}

pub(crate) fn read() -> Header {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/fzgm.h");
    let text = std::fs::read_to_string(path).unwrap();
    let mut code = String::new();
    for part in text.split("*/") {
        code += part.split_once("/*").map_or(part, |(before, _)| before);
    }
    let defines = code.lines().filter_map(|l| l.strip_prefix("#define FZ_ABI_VERSION "));
    let mut constants: Vec<(String, String)> = defines.map(|v| ("FZ_ABI_VERSION".into(), v.into())).collect();
    let lines = code.lines().map(|l| l.split("//").next().unwrap_or_default().trim());
    let code: Vec<&str> = lines.filter(|l| !l.starts_with('#')).collect();
    let code = code.join(" ");
    let code = code.replace("FZ_NODISCARD", "").replace("extern \"C\" {", "");

    let (mut functions, mut structs) = (vec![], vec![]);
    let mut rest = code.as_str();
    while let Some(at) = rest.find([';', '{']) {
        let (before, brace) = (rest[..at].trim(), rest[at..].starts_with('{'));
        rest = &rest[at + 1..];
        if brace {
            let (body, after) = rest.split_once('}').unwrap();
            let (name, after) = after.split_once(';').unwrap();
            rest = after;
            if before.contains("enum") {
                let pairs = body.split(',').filter_map(|l| l.split_once('='));
                constants.extend(pairs.map(|(n, v)| (n.trim().into(), v.trim().into())));
            } else {
                let fields = body.split(';').filter_map(|l| l.trim().rsplit_once(' '));
                let fields =
                    fields.map(|(_, f)| f.trim_start_matches('*').split('[').next().unwrap().to_string());
                structs.push((name.trim().to_string(), fields.collect()));
            }
        } else if before.ends_with(')') && !before.starts_with("typedef") {
            functions.push(function(before));
        }
    }
    Header { functions, constants, structs }
}

fn function(text: &str) -> Function {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let (header, list) = text.trim_end_matches(')').split_once('(').unwrap();
    let name = header.rsplit([' ', '*']).next().unwrap().to_string();
    let parameters = list.split(',').map(str::trim).filter(|p| *p != "void");
    let parameters = parameters
        .map(|p| {
            let name = p.rsplit([' ', '*']).next().unwrap().to_string();
            Parameter { ctype: p[..p.len() - name.len()].trim().into(), name }
        })
        .collect();
    Function { text, name, parameters }
}

#[test]
fn the_header_is_understood() {
    let header = read();
    assert!(header.functions.len() > 40 && header.constants.len() > 40 && header.structs.len() == 14);
    let call = header.functions.iter().find(|f| f.name == "fz_plan_open").unwrap();
    let types: Vec<&str> = call.parameters.iter().map(|p| p.ctype.as_str()).collect();
    assert_eq!(types, ["const void *", "uint64_t", "const fz_options *", "fz_plan **"]);
}

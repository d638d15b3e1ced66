//! How deep a TOML text nests, found before the parser follows it down the stack: each level takes a kilobyte there.

/// The most brackets and braces that may be open at once. Pipelines have two.
pub(super) const DEEPEST: usize = 32;

/// The position at which the nesting exceeds the limit. The result for text that is no TOML does not matter,
/// because the parser reports its defect.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'[' | b'{' if depth == DEEPEST => return Some(at), // seed: nesting
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'#' => at += bytes[at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - at),
            b'"' | b'\'' => at += string(&bytes[at..], byte) - 1, // seed: nesting-in-strings
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of the string that `bytes` begin with, quotes included.
fn string(bytes: &[u8], quote: u8) -> usize {
    let triple = bytes.starts_with(&[quote; 3]);
    let (end, mut at) = if triple { (&[quote; 3][..], 3) } else { (&[quote][..], 1) };
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        match rest[0] {
            _ if rest.starts_with(end) => return at + end.len(),
            // An unterminated string ends with its line.
            b'\n' if !triple => return at,
            b'\\' if quote == b'"' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::{DEEPEST, too_deep};

    #[test]
    fn brackets_count_where_they_are_no_text() {
        let open = |n: usize| "[".repeat(n);
        assert_eq!(too_deep(&format!("x = {}", open(DEEPEST))), None);
        assert_eq!(too_deep(&format!("x = {}", open(DEEPEST + 1))), Some(4 + DEEPEST));
        assert_eq!(too_deep(&format!("x = {}", "{a = ".repeat(DEEPEST + 1))), Some(4 + 5 * DEEPEST));
        // Closed again, however often.
        assert_eq!(too_deep(&"x = [[1], {a = 2}]\n".repeat(99)), None);
        let many = open(99);
        for text in [
            format!("# {many}\nx = 1"),
            format!("x = \"{many}\""),
            format!("x = '{many}'"),
            format!("x = \"\\\"{many}\""),
            format!("x = \"\"\"\n{many}\"{many}\\\"\"\"{many}\"\"\""),
            format!("x = '''\n{many}\\'''"),
            format!("x = '\\' # {many}"),
            String::new(),
            "\"".into(),
            "'''".into(),
            "\"\\".into(),
        ] {
            assert_eq!(too_deep(&text), None, "{text}");
        }
        for text in [
            format!("x = \"\\\\\"{many}"),
            format!("x = 'a\n{many}"),
            format!("x = \"\"{many}"),
            format!("#\n{many}"),
        ] {
            assert!(too_deep(&text).is_some(), "{text}");
        }
    }
}

//! Which name was meant.

/// Longer names than any of ours are not compared: the work is the product of the lengths.
const LONGEST: usize = 64;

/// Keys that people write because another file had them, and what says it here.
const MISTAKEN: [(&str, &str); 1] = [("input_port", "inputs")];

/// The known name that goes on where this one ends, or else the one with the fewest letters to change; the first of several.
pub(super) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if let Some((_, meant)) = MISTAKEN.iter().find(|(mistaken, _)| *mistaken == name) {
        return known.iter().find(|k| *k == meant).copied();
    }
    if name.len() > LONGEST {
        return None;
    }
    let begins = |k: &str| k.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    known.iter().copied().min_by_key(|k| (!begins(k), distance(name.as_bytes(), k.as_bytes())))
}

/// Letters to insert, drop or replace, whatever their case.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(!x.eq_ignore_ascii_case(y));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        for (a, b, n) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("EB", "eb", 0)] {
            assert_eq!((distance(a.as_bytes(), b.as_bytes()), distance(b.as_bytes(), a.as_bytes())), (n, n));
        }
    }

    #[test]
    fn the_name_with_the_fewest_changes_is_nearest() {
        let known = ["error_bound", "mode", "quant_radius", "inputs"];
        assert_eq!(nearest("eror_bound", &known), Some("error_bound"));
        assert_eq!(nearest("modus", &known), Some("mode"));
        assert_eq!(nearest("auto", &["nbits", "auto_detect"]), Some("auto_detect"));
        assert_eq!(nearest("input_port", &known), Some("inputs"));
        assert_eq!(nearest(&"x".repeat(65), &known), None);
        assert_eq!(nearest("x", &[]), None);
    }
}

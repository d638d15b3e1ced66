//! Which name was meant.

use super::text::SHORT;

/// Longer names than any of ours are not compared: the work is the product of the lengths.
const LONGEST: usize = 64;

/// Keys that people write because another file had them, and what says it here. Chains have short names, which files have not.
const MISTAKEN: [(&str, &str); 1] = [("input_port", "inputs")];

/// The known name that goes on where this one ends, or else the one with the fewest letters to change, if those are not most;
/// the first of several.
pub(super) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let mut mistaken = MISTAKEN.iter().chain(&SHORT);
    if let Some((_, meant)) = mistaken.find(|(mistaken, meant)| *mistaken == name && known.contains(meant)) {
        return Some(meant);
    }
    if name.len() > LONGEST {
        return None;
    }
    let begins = |k: &str| k.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let rank = |k: &'k str| (!begins(k), distance(name.as_bytes(), k.as_bytes()), k);
    // With more than half of its letters changed a name is another name.
    let alike = |(other, n, k): &(bool, usize, &str)| !other || 2 * n <= name.len().max(k.len());
    let best = known.iter().copied().map(rank).filter(alike).min_by_key(|&(other, n, _)| (other, n));
    best.map(|(_, _, k)| k)
}

/// Letters to insert, drop, replace or swap with the next one, whatever their case.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let same = |x: u8, y: u8| x.eq_ignore_ascii_case(&y);
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => {
                    let replaced = rows[i - 1][j - 1] + usize::from(!same(a[i - 1], b[j - 1]));
                    let swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
                    let swapped = if swapped { rows[i - 2][j - 2] + 1 } else { usize::MAX };
                    replaced.min(swapped).min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1)
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        for (a, b, n) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("EB", "eb", 0), ("Fats", "fast", 1)]
        {
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
        assert_eq!(nearest("fats", &["ans", "fast"]), Some("fast"));
        assert_eq!(nearest("radius", &known), Some("quant_radius"));
        assert_eq!(nearest("step", &["eb", "mode"]), None);
        assert_eq!((nearest("eb", &known), nearest("eb", &["mode"])), (Some("error_bound"), None));
        assert_eq!(nearest("width", &["word_size", "element_width"]), Some("element_width"));
    }
}

//! Which name was meant.

use crate::base::error::Error;
use strsim::osa_distance;

/// Longer names than any of ours are not compared: the work is the product of the lengths.
const LONGEST: usize = 64;

/// The known name of which `name` is a beginning, or else the one with the fewest letters to insert, drop,
/// replace, or swap with the next letter, unless these are most of its letters; the first of several. Case
/// does not count.
pub(crate) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if name.len() > LONGEST {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let rank = |k: &'k str| {
        let lower = k.to_ascii_lowercase();
        (!lower.starts_with(&name), osa_distance(&name, &lower), k)
    };
    // With more than half of its letters changed a name is another name.
    let alike = |(other, n, k): &(bool, usize, &str)| !other || 2 * n <= name.len().max(k.len());
    let best = known.iter().copied().map(rank).filter(alike).min_by_key(|&(other, n, _)| (other, n)); // seed: notation-nearest
    best.map(|(_, _, k)| k)
}

/// The known name that was most likely meant, as part of a message, or nothing.
pub(crate) fn meant(name: &str, known: &[&str]) -> String {
    nearest(name, known).map_or(String::new(), |n| format!(", the nearest is `{n}`"))
}

/// The error for a name that nothing answers to.
pub(crate) fn unknown(kind: &'static str, name: &str, of: &str, known: &[&str]) -> Error {
    let place = format!("{of}{}", meant(name, known));
    Error::UnknownName { kind, name: name.into(), place, known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_with_the_fewest_changes_is_nearest() {
        let known = ["error_bound", "mode", "quant_radius", "inputs"];
        assert_eq!(nearest("eror_bound", &known), Some("error_bound"));
        assert_eq!(nearest("modus", &known), Some("mode"));
        assert_eq!(nearest("auto", &["nbits", "auto_detect"]), Some("auto_detect"));
        assert_eq!(nearest(&"x".repeat(65), &known), None);
        assert_eq!(nearest("x", &[]), None);
        assert_eq!(nearest("Fats", &["ans", "fast"]), Some("fast"));
        // A swap is one change; as two it would tie with the first name.
        assert_eq!(nearest("fsat", &["fxay", "FAST"]), Some("FAST"));
        assert_eq!(nearest("radius", &known), Some("quant_radius"));
        assert_eq!(nearest("step", &["eb", "mode"]), None);
    }
}

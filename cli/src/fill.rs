//! Fill values: the declarations of the command line, and suspected fill values.

use crate::failure::Failure;
use fzgm::DType;
use fzgm::metrics::{SuspectedFill, ValueScan};

#[derive(clap::Args)]
pub(crate) struct FillArgs {
    /// Declare a fill value such as 1e20 or -9999, which is stored exactly and excluded from the value range;
    /// none: the array has none; may be repeated
    ///
    /// Pipelines separate values by magnitude: all values of the magnitude of V and above are exact. `fzgm compress`
    /// prints a note with the number of other values among them. In modes noa and prel, it rejects an array with a
    /// suspected fill value if this option is not given.
    #[arg(long = "fill-value", value_name = "V", allow_negative_numbers = true, value_parser = parse, conflicts_with = "outlier_threshold")]
    values: Vec<Fill>,
}

#[derive(Clone, Copy, PartialEq)]
enum Fill {
    None,
    Value(f64),
}

fn parse(text: &str) -> Result<Fill, String> {
    match text {
        "none" => Ok(Fill::None),
        _ => crate::input::real(text).map(Fill::Value).map_err(|e| format!("{e}, or as none")),
    }
}

/// The declared fill values, and the threshold that makes them exact.
#[derive(Clone)]
pub(crate) struct Declared {
    pub(crate) values: Vec<f64>,
    pub(crate) threshold: Option<f64>,
    /// True if the user states that the array has no fill values.
    pub(crate) none: bool,
}

impl FillArgs {
    pub(crate) fn is_given(&self) -> bool {
        !self.values.is_empty()
    }

    /// Checks the declarations for an array of this type.
    pub(crate) fn declared(&self, dtype: DType) -> Result<Declared, Failure> {
        let none = self.values.contains(&Fill::None);
        if none && self.values.len() > 1 {
            return Err(Failure::usage(
                "--fill-value none is given together with other fill values; remove none, or the other values",
            ));
        }
        let (mut values, mut threshold) = (vec![], None);
        for value in &self.values {
            let Fill::Value(value) = *value else { continue };
            let value = if dtype == DType::F32 { f64::from(value as f32) } else { value };
            if value == 0.0 {
                return Err(Failure::usage(
                    "--fill-value is 0 in this element type, but every other value has a larger magnitude; remove --fill-value and use mode abs with a small bound, which restores 0 as 0",
                ));
            }
            // A value that is given twice counts once.
            if !values.contains(&value) {
                values.push(value);
            }
            // NaN and infinities are exact without a threshold.
            if value.is_finite() {
                threshold = Some(value.abs().min(threshold.unwrap_or(f64::INFINITY)));
            }
        }
        Ok(Declared { values, threshold, none })
    }
}

/// Advice if other values have a larger magnitude than the fill value.
const INSTEAD: &str = "replace the fill value by NaN, or remove --fill-value and pass --mode abs, \
                       or the range of the other elements with --value-base";

/// Statistics of an array about its fill values.
#[derive(Clone)]
pub(crate) struct Check {
    scan: ValueScan,
    dtype: DType,
    declared: Declared,
    /// For each declared value, the number of elements that equal it.
    equal: Vec<u64>,
    /// Finite elements.
    finite: u64,
    /// Finite elements that are exact because of the declared threshold.
    exact: u64,
}

impl Check {
    /// `threshold` is the threshold of the pipeline.
    pub(crate) fn new(dtype: DType, threshold: f64, declared: Declared) -> Check {
        let equal = vec![0; declared.values.len()];
        Check { scan: ValueScan::new(dtype, threshold), dtype, declared, equal, finite: 0, exact: 0 }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.scan.add(bytes);
        let Some(threshold) = self.declared.threshold else { return };
        let mut element = |x: f64| {
            self.finite += u64::from(x.is_finite());
            if x.is_finite() && x.abs() >= threshold {
                self.exact += 1;
                for (value, equal) in self.declared.values.iter().zip(&mut self.equal) {
                    *equal += u64::from(x == *value);
                }
            }
        };
        match self.dtype {
            DType::F32 => {
                bytes.chunks_exact(4).for_each(|x| element(f64::from(bytemuck::pod_read_unaligned::<f32>(x))))
            }
            DType::F64 => bytes.chunks_exact(8).for_each(|x| element(bytemuck::pod_read_unaligned(x))),
            _ => {}
        }
    }

    /// Smallest and largest bounded value.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        self.scan.range()
    }

    /// The suspected fill values, unless the user states that there are none.
    pub(crate) fn suspects(&self) -> Vec<SuspectedFill> {
        if self.declared.none { vec![] } else { self.scan.suspects() }
    }

    /// A note about declared values that do not occur, and about other elements that become exact; a warning if these are most.
    pub(crate) fn note(&self) -> Option<String> {
        let missing: Vec<String> = self
            .declared
            .values
            .iter()
            .zip(&self.equal)
            .filter(|(value, equal)| value.is_finite() && **equal == 0)
            .map(|(value, _)| format!("no element is {}", text(self.dtype, *value)))
            .collect();
        let fills = self.equal.iter().sum::<u64>();
        let (others, ordinary) = (self.exact - fills, self.finite - fills);
        let most = 2 * others > ordinary;
        let others = (others > 0).then(|| {
            let threshold = text(self.dtype, self.declared.threshold.unwrap_or_default());
            let large = format!("other elements have a magnitude of {threshold} or more");
            if most {
                let share = 100.0 * others as f64 / ordinary as f64;
                format!("{others} of {ordinary} {large} ({share:.1} %) and are stored exactly, so the file is hardly smaller; {INSTEAD}")
            } else {
                format!("{others} {large}, and are stored exactly too")
            }
        });
        let all: Vec<String> = missing.into_iter().chain(others).collect();
        let begin = if most { "warning: --fill-value" } else { "--fill-value" };
        (!all.is_empty()).then(|| format!("{begin}: {}", all.join("; ")))
    }
}

/// The shortest text of a value that its element type reads back.
pub(crate) fn text(dtype: DType, value: f64) -> String {
    if dtype == DType::F32 { format!("{:?}", value as f32) } else { format!("{value:?}") }
}

/// Rejects an array with suspected fill values.
pub(crate) fn refuse(
    path: &str,
    mode: &str,
    dtype: DType,
    suspects: &[SuspectedFill],
) -> Result<(), Failure> {
    let Some(first) = suspects.first() else { return Ok(()) };
    let last = suspects.last().unwrap_or(first);
    let name = |s: &SuspectedFill| {
        let others = match s.above - s.count {
            0 => String::new(),
            n => format!(", and {n} other elements from {} on", text(dtype, s.threshold)),
        };
        format!("{} ({} elements{others})", text(dtype, s.value), s.count)
    };
    let names: Vec<String> = suspects.iter().map(name).collect();
    let mut options: Vec<String> =
        suspects.iter().map(|s| format!("--fill-value {}", text(dtype, s.value))).collect();
    let mut threshold = ", or --outlier-threshold";
    if suspects.iter().any(|s| s.above > s.count) {
        options = vec![format!("--outlier-threshold {}", text(dtype, last.threshold))];
        threshold = "";
    }
    let (low, high) = (text(dtype, last.others.0), text(dtype, last.others.1));
    Err(Failure::usage(format!(
        "{path} has a suspected fill value: {}; all other values are from {low} to {high}, and in mode {mode} the fill value would make their bound \
         too large; add {}{threshold}, or --fill-value none if it is regular data",
        names.join(", "),
        options.join(" ")
    )))
}

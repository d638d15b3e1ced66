//! Results on standard output, as text or as one JSON object.

use crate::failure::Failure;
use serde_json::Value;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Prints text unchanged. A closed pipe, such as one to `head`, is not a failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::io("write", Path::new("-"), &e)),
        _ => Ok(()),
    }
}

/// Prints a report, on standard error if the result is written to standard output.
pub(crate) fn print_beside(result_on_stdout: bool, text: &str) -> Result<(), Failure> {
    if !result_on_stdout {
        return print(text);
    }
    // A failure to write the report is ignored, because the result is complete.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    Ok(())
}

/// Prints a note for users. A failure to write it is ignored, because the result does not depend on it.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "fzgm: {text}");
}

/// Prints a JSON value on one line.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value}\n"))
}

/// A number as JSON. Infinities and NaN, which JSON numbers cannot express, become the strings "inf", "-inf", and "NaN".
pub(crate) fn number(x: f64) -> Value {
    serde_json::Number::from_f64(x).map_or_else(|| Value::String(x.to_string()), Value::Number)
}

/// A number or null as JSON.
pub(crate) fn optional(x: Option<f64>) -> Value {
    x.map_or(Value::Null, number)
}

/// The value of a parameter as JSON: a number or a Boolean if its text is one, otherwise the text.
pub(crate) fn setting(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::String(text.into()),
    }
}

/// A ratio or a speed as text with at least three significant digits.
pub(crate) fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => format!("{x:.1}"),
        a if a >= 1.0 || a == 0.0 => format!("{x:.2}"),
        a if a >= 1e-3 => format!("{x:.4}"),
        _ => format!("{x:.3e}"),
    }
}

/// Bytes of the array per byte of its container.
pub(crate) fn ratio(array: u64, container: u64) -> f64 {
    array as f64 / container as f64
}

/// Bits of the container per element of the array; `None` for an array without elements.
pub(crate) fn bits_per_value(container: u64, elements: u64) -> Option<f64> {
    (elements > 0).then(|| 8.0 * container as f64 / elements as f64)
}

/// Speed in GB/s: 10^9 bytes of the array per second.
pub(crate) fn speed(array: u64, seconds: f64) -> f64 {
    array as f64 / seconds / 1e9
}

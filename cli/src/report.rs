//! Results on stdout, as text for people or as one JSON object for programs.

use crate::failure::Failure;
use serde_json::Value;
use std::io::{ErrorKind, Write};

/// Prints text as it is. A reader that has gone away, such as `header`, is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::output(format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Prints a report where it does not get in the way of a result on standard output.
pub(crate) fn print_beside(result_on_stdout: bool, text: &str) -> Result<(), Failure> {
    if !result_on_stdout {
        return print(text);
    }
    // With stderr gone, the result counts.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    Ok(())
}

/// A line for people that is no result. With stderr gone, the result counts.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "fzgm: {text}");
}

/// Prints `value` on one line.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value}\n"))
}

/// A number; JSON has none for infinities and NaN, which become the strings "inf", "-inf" and "NaN".
pub(crate) fn number(x: f64) -> Value {
    serde_json::Number::from_f64(x).map_or_else(|| Value::String(x.to_string()), Value::Number)
}

/// A number or null.
pub(crate) fn optional(x: Option<f64>) -> Value {
    x.map_or(Value::Null, number)
}

/// The value of a parameter: a number or a flag where its text is one, the text otherwise.
pub(crate) fn setting(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::String(text.into()),
    }
}

/// Three significant digits or more; ratios and speeds.
pub(crate) fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => format!("{x:.1}"),
        a if a >= 1.0 || a == 0.0 => format!("{x:.2}"),
        a if a >= 1e-3 => format!("{x:.4}"),
        _ => format!("{x:.3e}"),
    }
}

/// Bytes of the array, per byte of its container.
pub(crate) fn ratio(array: u64, container: u64) -> f64 {
    array as f64 / container as f64
}

/// Bits of the container, per element of the array; `None` for an array without elements.
pub(crate) fn bits_per_value(container: u64, elements: u64) -> Option<f64> {
    (elements > 0).then(|| 8.0 * container as f64 / elements as f64)
}

/// Gigabytes (1e9) of the array per second.
pub(crate) fn speed(array: u64, seconds: f64) -> f64 {
    array as f64 / seconds / 1e9
}

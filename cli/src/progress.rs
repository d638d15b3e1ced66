//! A progress bar for long runs.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};

/// Shorter runs, in bytes, have no bar, because they end before a user can read it.
const LONG: u64 = 64 << 20;

/// A bar on standard error. It is not shown if standard error is not a terminal, or the run is short.
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// Creates a bar for a run over `bytes` bytes; `None` if the length is unknown.
    pub(crate) fn new(what: &'static str, bytes: Option<u64>) -> Progress {
        if !stderr().is_terminal() || bytes.is_some_and(|b| b < LONG) {
            return Progress(None);
        }
        let (bar, form) = match bytes {
            Some(bytes) => (
                ProgressBar::new(bytes),
                "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            ),
            None => (ProgressBar::new_spinner(), "{msg} {spinner} {bytes}, {bytes_per_sec}"),
        };
        if let Ok(style) = ProgressStyle::with_template(form) {
            bar.set_style(style);
        }
        bar.set_message(what);
        Progress(Some(bar))
    }

    /// Sets the number of processed bytes.
    pub(crate) fn at(&self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.set_position(bytes);
        }
    }
}

/// Removes the bar, so that the next output starts on an empty line.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

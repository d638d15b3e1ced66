//! How far a long run is, for who watches it.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};

/// What is shorter is done before anybody has read a bar.
const LONG: u64 = 64 << 20;

/// A bar on standard error; nothing where that is no terminal, or the run is short.
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// For so many bytes; `None`: as many as come.
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

    /// So many bytes of the array are done.
    pub(crate) fn at(&self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.set_position(bytes);
        }
    }
}

/// The line is left to what comes next.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

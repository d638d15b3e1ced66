//! Rows of a benchmark that could not be measured, and the exit code of the run. A failed row does not stop the others.

use super::measure::about;
use super::name;
use crate::failure::Failure;
use crate::report;
use crate::request::Request;
use serde_json::Value;

pub(super) struct Failed<'a> {
    pub(super) request: Request<'a>,
    /// `None` on a GPU.
    pub(super) threads: Option<u32>,
    pub(super) failure: Failure,
}

impl Failed<'_> {
    /// The keys that identify the row, with the error.
    fn json(&self) -> Value {
        let mut value = about(&self.request);
        value["threads"] = self.threads.into();
        value["error"] = self.failure.message.as_str().into();
        value["exit_code"] = self.failure.code.into();
        value
    }
}

#[derive(Default)]
pub(super) struct Failures<'a>(Vec<Failed<'a>>);

impl<'a> Failures<'a> {
    /// Adds a failed row and prints its error immediately.
    pub(super) fn add(&mut self, failed: Failed<'a>) {
        let Failed { request, threads, failure } = &failed;
        let mut what = name(request).trim_end().to_string();
        what += &request.mode.map_or(String::new(), |mode| format!(", {mode}"));
        what += &request.bound.map_or(String::new(), |eb| format!(" {eb:e}"));
        what += &match threads {
            None => String::new(),
            Some(0) => ", all threads".into(),
            Some(1) => ", 1 thread".into(),
            Some(n) => format!(", {n} threads"),
        };
        report::note(&format!("{what}: {}", failure.message));
        self.0.push(failed);
    }

    pub(super) fn to_json(&self) -> Value {
        self.0.iter().map(Failed::json).collect()
    }

    /// The result of the run. `kept` states for each measured row whether its bound holds. A violated bound determines the
    /// exit code; otherwise the first failed row does.
    pub(super) fn verdict(&self, kept: impl Iterator<Item = bool> + Clone) -> Result<(), Failure> {
        let (measured, violations) = (kept.clone().count(), kept.filter(|kept| !kept).count());
        let rows = measured + self.0.len();
        let mut what = vec![];
        if violations > 0 {
            what.push(format!("{violations} of {rows} rows violate their bound"));
        }
        if !self.0.is_empty() {
            what.push(format!("{} of {rows} rows could not be measured", self.0.len()));
        }
        let what = what.join(", ");
        match self.0.first() {
            _ if violations > 0 => Err(Failure::violation(what)),
            Some(first) => Err(Failure { code: first.failure.code, message: what }),
            None => Ok(()),
        }
    }
}

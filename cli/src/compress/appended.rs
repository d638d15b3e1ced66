//! `fzgm compress --append`: each array becomes a step of one series.

use super::Work;
use crate::failure::{Failure, each};
use crate::output::OutFile;
use crate::series;
use fzgm::series::SeriesWriter;

impl Work<'_> {
    /// Appends each array to one series.
    pub(super) fn append(&self) -> Result<(), Failure> {
        let args = self.args;
        if let (Some(name), [_, _, ..]) = (&args.name, &args.inputs[..]) {
            let what = format!("--name {name} names one step, but {} files are given", args.inputs.len());
            return Err(Failure::usage(format!("{what}; remove --name, or append them one by one")));
        }
        let output = args.output.shared().ok_or_else(|| Failure::usage("--append requires -o"))?;
        each(&args.inputs, |input| {
            let mut writer = series::writer(output.path())?;
            self.file(input, &output, Some(&mut writer))
        })
    }

    /// Writes the container to its place, and returns the position of its step.
    pub(super) fn write(
        &self,
        output: &OutFile,
        series: Option<&mut SeriesWriter>,
        container: &[u8],
    ) -> Result<Option<u64>, Failure> {
        let Some(writer) = series else { return output.write(container).map(|()| None) };
        let name = self.args.name.as_deref().unwrap_or("");
        writer.append_container(name, container).map(Some).map_err(|e| Failure::from_error(&e))
    }
}

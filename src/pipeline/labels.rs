//! Stages of a pipeline in messages.

use super::{Pipeline, notation};
use crate::base::error::Error;
use crate::base::param::Kind;

impl Pipeline {
    /// A stage for messages: its type, its index, and the name in its TOML file.
    pub(crate) fn label(&self, stage: usize) -> String {
        let node = &self.nodes[stage];
        let name = self.own_name(stage).map_or(String::new(), |name| format!(", `{name}`"));
        format!("{} (stage {stage}{name})", node.stage())
    }

    /// The name in a TOML file, if it is not the name of the stage anyway.
    fn own_name(&self, stage: usize) -> Option<&str> {
        let node = &self.nodes[stage];
        node.name.as_deref().filter(|name| *name != node.stage())
    }

    /// An error of a stage, with the place of the stage if the name of the stage does not identify it: several stages have
    /// it, or the stage has a name of its own.
    pub(crate) fn in_stage(&self, stage: usize, error: Error) -> Error {
        let of = self.nodes[stage].stage();
        let alone = self.nodes.iter().filter(|n| n.stage() == of).count() == 1;
        match self.own_name(stage) {
            Some(name) => notation::at(&format!("stage {stage}, `{name}`"), error),
            None if alone => error,
            None => notation::at(&format!("stage {stage}"), error),
        }
    }

    /// The inputs of a stage that has one for each name in a parameter. `None`: its number of inputs is constant.
    pub(crate) fn ports(&self, stage: usize) -> Option<String> {
        let node = &self.nodes[stage];
        let (param, names) = node.args.iter().find(|(p, _)| matches!(p.kind, Kind::Names { .. }))?;
        let (label, of) = (self.label(stage), node.stage());
        Some(format!("{label} has one input for each name in {of}.{}, which is `{names}`", param.name))
    }

    /// The error for a stage with a bound that does not read the array.
    pub(crate) fn recoded(&self, stage: usize, remedy: &str) -> Error {
        let (label, name) = (self.label(stage), self.nodes[stage].stage());
        Error::InvalidPipeline(format!(
            "the bound of {label} would apply to recoded values and not to the array; a stage with a bound must read the array: connect {name} to the array{remedy}"
        ))
    }
}

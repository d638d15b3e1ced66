//! Stored: the bytes as they are.
#![doc = include_str!("stored.md")]

use super::words::{IN, only};
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::launch::{Emit, Val};
use crate::param::Args;
use crate::stage::{Config, Length, Parsed, Ports, Rules, Spec, Stage};

/// See the module.
pub struct Stored;

pub(super) const SPEC: Spec = Spec {
    id: 0x8001,
    name: "stored",
    about: "keeps the bytes as they are; what does not compress is stored this way",
    inputs: IN,
    params: &[],
};

impl Stage for Stored {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn infer(&self, _: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        Ok(vec![only(inputs)?])
    }

    fn encode(&self, _: &Args, io: Ports<'_>, _: Rules, em: &mut Emit<'_>) -> Result<()> {
        em.alias(io.outputs[0], io.inputs[0]);
        Ok(())
    }

    fn decode(&self, _: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        em.alias(io.outputs[0], io.inputs[0]);
        Ok(())
    }

    fn config(&self, _: &Args, _: Ports<'_>, _: Rules, _: &dyn Fn(Val) -> Flow) -> Result<Config> {
        Ok(Config::default())
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        if !config.is_empty() {
            return Err(Error::corrupt(SPEC.name, "its config has another length"));
        }
        let args = Args::new(SPEC.name, SPEC.params);
        Ok(Parsed { args, input: None, length: Length::OfOutput, facts: vec![] })
    }
}

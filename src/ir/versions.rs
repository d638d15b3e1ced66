//! How a stage is recorded in files of every generation.
//!
//! Stages see one form of their config only, the widest. Writing takes the shortest form of the generation that can
//! express the stage, so that readers of that time understand it.

use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::param::Args;
use crate::ir::stage::{Config, Generation, Ports, Rules, RuntimeField};

/// The type of a port in a buffer record if the reference leaves it open.
pub(crate) const UNKNOWN_TYPE: u8 = 0xff;

/// The port of the number of outliers, which files of 2026-05 have and whose value their header repeats.
pub(crate) const COUNT_PORT: &str = "outlier_count";

/// Differences between generations of files, for one stage. The defaults are those of a stage with one form.
pub trait Versions: Sync {
    /// Converts a config from a container to the widest form.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a length that no version has.
    fn upgrade(&self, config: &[u8]) -> Result<Vec<u8>> {
        Ok(config.to_vec())
    }

    /// Converts the widest form to the shortest that readers of `generation` understand.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a config that the generation cannot express.
    fn downgrade(&self, _generation: Generation, config: Config) -> Result<Config> {
        Ok(config)
    }

    /// Resolves fields that an upgraded config leaves open, in a container that records its generation.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a config that the generation does not have.
    fn resolve(&self, _config: &mut [u8], _generation: Generation) -> Result<()> {
        Ok(())
    }

    /// The same for parameters from a file that does not record its generation: sets them as a writer of `generation`
    /// had them.
    ///
    /// # Errors
    /// [`Error::Internal`] only.
    fn resolve_args(&self, _args: &mut Args, _generation: Generation) -> Result<()> {
        Ok(())
    }

    /// A port that the generation has and the stage has not: its name and content.
    fn extra_port(
        &self,
        _generation: Generation,
        _io: Ports<'_>,
        _value_bytes: u64,
    ) -> Option<(&'static str, RuntimeField)> {
        None
    }

    /// The largest number of output ports in generation 2026-05, if it had one port more than later generations.
    fn former_ports(&self) -> Option<usize> {
        None
    }

    /// Buffer ids that the stage reserves when it is added, before its parameters can remove ports.
    fn reserved_ids(&self, generation: Generation, ports: usize) -> usize {
        self.former_ports().filter(|_| generation == Generation::G2026_05).unwrap_or(ports)
    }

    /// Of `found` recorded output ports, how many belong to the stage, which has `ports`; `None`: the numbers do not fit.
    fn known_ports(&self, found: usize, ports: usize) -> Option<usize> {
        (found == ports || self.former_ports() == Some(found) && found == ports + 1).then_some(ports)
    }

    /// True if `allocated_size` of a buffer record is the capacity of the list and not its length.
    fn records_capacity(&self) -> bool {
        false
    }

    /// The type that a buffer record names for a port of type `dtype`.
    fn recorded_type(&self, _rules: Rules, dtype: DType, _config: &Config) -> u8 {
        dtype as u8
    }
}

/// A stage that every generation records alike.
pub(crate) struct OneVersion;

impl Versions for OneVersion {}

/// The error for a config of an unknown length.
pub(crate) fn no_such_config(id: u16, bytes: usize) -> Error {
    Error::corrupt("stage record", format!("stage {id} has no config of {bytes} bytes"))
}

/// True if files under these rules contain an extension block. Files in the exact form of the reference have
/// no block, and then no mark of their generation.
pub(crate) fn has_extension(rules: Rules) -> bool {
    rules.strict || rules.generation == Generation::G2026_08
}

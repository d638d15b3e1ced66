//! What a stage is: a definition that knows its ports, parameters and wire form, infers what comes out of
//! it and lowers itself to kernel launches. It keeps no state and never runs.

use crate::array::Array;
use crate::error::Result;
use crate::extent::Flow;
use crate::launch::{Emit, Val};
use crate::param::{Args, Param};

/// What never changes about a stage.
#[derive(Debug)]
pub struct Spec {
    /// Number on the wire: that of the FZM format, or 0x8000 and up for our own; never reused.
    pub id: u16,
    /// Name in C and on the command line.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Names of the input ports; where parameters make them more or fewer, of the first.
    pub inputs: &'static [&'static str],
    /// Parameters.
    pub params: &'static [Param],
}

/// Two switches that concern the bytes of every stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The bound is kept for every value, whatever it costs; off writes the reference's bytes.
    pub strict: bool,
    /// The form of the files.
    pub generation: Generation,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { strict: true, generation: Generation::G2026_08 }
    }
}

/// Which form of FZM files is written. All of them are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// The form of May 2026.
    G2026_05,
    /// The form of August 2026, the default.
    G2026_08,
}

impl Generation {
    /// Every generation, the oldest first.
    pub const ALL: [Generation; 2] = [Generation::G2026_05, Generation::G2026_08];

    /// `2026-05` or `2026-08`.
    pub const fn name(self) -> &'static str {
        match self {
            Generation::G2026_05 => "2026-05",
            Generation::G2026_08 => "2026-08",
        }
    }
}

/// The values at the ports of a node, the same for both directions.
#[derive(Clone, Copy, Debug)]
pub struct Ports<'a> {
    /// One per input port.
    pub inputs: &'a [Val],
    /// One per output port.
    pub outputs: &'a [Val],
    /// The value that holds what only the run knows besides lengths, of [`Stage::fact_bytes`] bytes.
    pub facts: Val,
}

/// Something that only the run knows and a header carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Length of a value in units of so many bytes.
    Count {
        /// Which value.
        of: Val,
        /// Bytes of a unit.
        unit: u64,
    },
    /// Bytes of a value, as the kernels left them.
    Stored {
        /// Which value.
        of: Val,
        /// Offset in the value.
        at: u64,
    },
    /// The same, of a bound as a float, which is neither negative nor NaN; one of eight bytes is not infinite either.
    Bound {
        /// Which value.
        of: Val,
        /// Offset in the value.
        at: u64,
    },
}

/// A field of a config that the run fills in.
#[derive(Clone, Copy, Debug)]
pub struct Patch {
    /// Offset in the config.
    pub at: usize,
    /// Bytes of the field.
    pub width: usize,
    /// What goes there.
    pub fact: Fact,
}

/// The config of a stage in a header: what is known beforehand, and the fields that are not.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// With zeros where a patch goes.
    pub bytes: Vec<u8>,
    /// In ascending order of offset.
    pub patches: Vec<Patch>,
}

/// What the config of a stage in a container says.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The parameters.
    pub args: Args,
    /// Element type of the input, where the config states it.
    pub input: Option<crate::dtype::DType>,
    /// How long the input is.
    pub length: Length,
    /// The facts, as a kernel would have left them.
    pub facts: Vec<u8>,
}

/// What a config says about the length of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Length {
    /// So many bytes.
    Bytes(u64),
    /// As many bytes as output 0.
    OfOutput,
    /// So many bytes of each of several inputs.
    Each(Vec<u64>),
}

/// The output of stages that have one.
pub(crate) const OUT: &[&str] = &["output"];

/// A stage without its parameters. One static object per stage stands in the registry.
pub trait Stage: Sync {
    /// What never changes.
    fn spec(&self) -> &'static Spec;

    /// How many inputs the stage has under these parameters.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] when the parameters are not of this stage.
    fn inputs(&self, _args: &Args) -> Result<usize> {
        Ok(self.spec().inputs.len())
    }

    /// Names of the output ports under these parameters.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] when the parameters are not of this stage.
    fn outputs(&self, _args: &Args) -> Result<&'static [&'static str]> {
        Ok(OUT)
    }

    /// The stage asks that the pipeline input be a multiple of so many bytes. Only FZM files pad.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] when the parameters are not of this stage.
    fn alignment(&self, _args: &Args) -> Result<u64> {
        Ok(1)
    }

    /// True when the kernels cope with an array that is shorter than its padded length.
    fn takes_short_array(&self) -> bool {
        false
    }

    /// Where the facts hold, as a u64, the number of exact pairs: entries of the outlier lists behind those that
    /// the format knows, of values bit for bit. `None`: the stage never has any.
    fn exact_pairs_at(&self) -> Option<u64> {
        None
    }

    /// Sets parameters that are left to the shape of the array.
    ///
    /// # Errors
    /// Parameters that contradict the shape.
    fn bind(&self, _args: &mut Args, _array: &Array) -> Result<()> {
        Ok(())
    }

    /// Bytes of the fact value.
    fn fact_bytes(&self) -> u64 {
        0
    }

    /// What a container says of the stage, for people: names and values. `facts` are those of its config.
    fn describe(&self, args: &Args, _facts: &[u8]) -> Vec<(&'static str, String)> {
        args.iter().map(|(p, v)| (p.name, v.to_string())).collect()
    }

    /// Turns parameters as a container says them into those to compress with again. `facts` are those of its config.
    ///
    /// # Errors
    /// None but defects.
    fn asked(&self, args: &mut Args, _facts: &[u8]) -> Result<()> {
        // A reader takes lists of any length; how long a writer let them be, nothing says.
        if args.has("outlier_capacity") { args.reset("outlier_capacity") } else { Ok(()) }
    }

    /// What the stage promises of the values that it carries: the name of a mode with a bound, `unbounded` for
    /// none, or nothing when it loses nothing.
    fn mode(&self, _args: &Args) -> Option<&'static str> {
        None
    }

    /// What comes out, one flow per output port.
    ///
    /// # Errors
    /// A type that the stage does not take, a parameter that does not fit it, a length beyond its wire form.
    fn infer(&self, args: &Args, inputs: &[Flow], rules: Rules) -> Result<Vec<Flow>>;

    /// Emits the launches that turn inputs into outputs.
    ///
    /// # Errors
    /// Parameters that can be read but not written.
    fn encode(&self, args: &Args, io: Ports<'_>, rules: Rules, em: &mut Emit<'_>) -> Result<()>;

    /// Emits the launches that turn outputs back into inputs.
    ///
    /// # Errors
    /// As [`Stage::infer`].
    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()>;

    /// The config in its widest form; `format::tier` shortens it.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] for what the generation cannot express.
    fn config(&self, args: &Args, io: Ports<'_>, rules: Rules, flow: &dyn Fn(Val) -> Flow) -> Result<Config>;

    /// Reads a config in its widest form.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for what no encoder writes, [`crate::Error::Unsupported`] for what this version does not read.
    fn parse(&self, config: &[u8]) -> Result<Parsed>;
}

//! The definition of a stage: ports, parameters, and a wire form. A stage is bound to the types on its input
//! edges once per graph. The bound stage infers its outputs and lowers itself to kernels; it never runs.

use super::fusion::Fusion;
use super::versions::{OneVersion, Versions};
use crate::base::byte_source::Segment;
use crate::base::error::{Error, Fault, Result};
use crate::base::{array::Array, dtype::DType, edge_type::EdgeType, param::Args, param::Param};
use crate::ir::{lowering::LoweringContext, value::Val};
use std::ops::Range;
use std::sync::Arc;

/// The constant properties of a stage.
#[derive(Debug)]
pub struct Spec {
    /// Number on the wire: that of the FZM format, or 0x8000 and up for our own; never reused.
    pub id: u16,
    /// Name in C and on the command line.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Element types that an input port accepts under some values of the parameters.
    pub accepts: &'static [DType],
    /// Names of the input ports; where parameters make them more or fewer, of the first.
    pub inputs: &'static [&'static str],
    /// Parameters.
    pub params: &'static [Param],
}

/// Switches that concern the bytes of every stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The bound is kept for every value, at any cost in bytes; off writes the reference's bytes.
    pub strict: bool,
    /// The form of the files.
    pub generation: Generation,
    /// Relative bounds may refer to the base of the previous call with the workspace.
    pub previous_base: bool,
    /// The streams are those of this library's encoders, which may be shorter than the longest valid ones.
    pub own_streams: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { strict: true, generation: Generation::G2026_08, previous_base: false, own_streams: false }
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
    /// The value that holds the metadata of a run other than lengths, of [`Stage::metadata_bytes`] bytes.
    pub metadata: Val,
}

/// A number that is only known at run time and that a header stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeField {
    /// The length of a value in units of this number of bytes.
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
    /// The number that is stored there.
    pub runtime_field: RuntimeField,
}

/// The config of a stage in a header: its constant bytes, and the fields that are only known at run time.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// With zeros where a patch goes.
    pub bytes: Vec<u8>,
    /// In ascending order of offset.
    pub patches: Vec<Patch>,
}

/// The contents of the config of a stage in a container.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The parameters.
    pub args: Args,
    /// Element type of the input, where the config states it.
    pub input: Option<crate::base::dtype::DType>,
    /// How long the input is.
    pub length: Length,
    /// The metadata, as a kernel would have left them.
    pub metadata: Vec<u8>,
}

/// The length of the input, as far as a config states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Length {
    /// The number of bytes.
    Bytes(u64),
    /// As many bytes as output 0.
    OfOutput,
    /// The number of bytes of each of several inputs.
    Each(Vec<u64>),
}

/// The output of stages that have one.
pub(crate) const OUT: &[&str] = &["output"];

/// A stage definition, which does not depend on the data. The registry holds one static object per stage.
pub trait Stage: Sync {
    /// The constant properties.
    fn spec(&self) -> &'static Spec;

    /// The stage that writes containers under these rules: another one where the form with a bound has an id of its own.
    fn under(&self, _rules: Rules) -> Option<&'static dyn Stage> {
        None
    }

    /// Number of inputs under these parameters.
    ///
    /// # Errors
    /// [`Error::Internal`] if the parameters belong to another stage.
    fn inputs(&self, _args: &Args) -> Result<usize> {
        Ok(self.spec().inputs.len())
    }

    /// Names of the output ports under these parameters.
    ///
    /// # Errors
    /// [`Error::Internal`] if the parameters belong to another stage.
    fn outputs(&self, _args: &Args) -> Result<&'static [&'static str]> {
        Ok(OUT)
    }

    /// The multiple in bytes that the pipeline input must have. Only FZM files are padded.
    ///
    /// # Errors
    /// [`Error::Internal`] if the parameters belong to another stage.
    fn alignment(&self, _args: &Args) -> Result<u64> {
        Ok(1)
    }

    /// True if the kernels accept an array that is shorter than its padded length.
    fn accepts_short_array(&self) -> bool {
        false
    }

    /// True if the output is the input. Values then keep their meaning, and containers can fall back to it.
    fn is_identity(&self) -> bool {
        false
    }

    /// Absolute errors below this number in the first output do not change the restored input. `None`: every error does.
    fn absorbs_errors_below(&self) -> Option<f64> {
        None
    }

    /// Offset in the metadata of the number of exact values, a u64: outliers after those of the format, bit for bit. `None`: none.
    fn exact_values_at(&self) -> Option<u64> {
        None
    }

    /// Bytes of the metadata value.
    fn metadata_bytes(&self) -> u64 {
        0
    }

    /// Sets the parameters that are left to the shape of the array.
    ///
    /// # Errors
    /// Parameters that contradict the shape.
    fn fit_shape(&self, _args: &mut Args, _array: &Array) -> Result<()> {
        Ok(())
    }

    /// The guarantee for bounded values: the name of a mode with a bound, `unbounded` for none, or nothing for a lossless stage.
    fn mode(&self, _args: &Args) -> Option<&'static str> {
        None
    }

    /// Parses the parameters for the types on the input edges, once per graph.
    ///
    /// # Errors
    /// A type that the stage does not accept, a parameter that does not fit it, a length beyond its wire form.
    fn bind(&self, args: &Args, inputs: &[EdgeType], rules: Rules) -> Result<Arc<dyn BoundStage>>;

    /// Reads a config in its widest form.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a config that no encoder writes, [`Error::Unsupported`] for one that this version does not read.
    fn parse(&self, config: &[u8]) -> Result<Parsed>;

    /// How the stage is recorded in files of other generations.
    fn versions(&self) -> &dyn Versions {
        &OneVersion
    }

    /// Parameters and resolved values of a container, for people: names and values. `metadata` are those of its config.
    fn describe(&self, args: &Args, _metadata: &[u8]) -> Vec<(&'static str, String)> {
        args.iter().map(|(p, v)| (p.name, v.to_string())).collect()
    }

    /// Turns parameters as a container records them into those to compress with again. `metadata` are those of its config.
    ///
    /// # Errors
    /// [`Error::Internal`] only.
    fn reencode_params(&self, _args: &mut Args, _metadata: &[u8]) -> Result<()> {
        Ok(())
    }

    /// The error for a fault of one of the kernels. `_before`: the stages whose first outputs feed this one, the nearest first.
    fn explain(&self, fault: Fault, _args: &Args, _before: &[(&'static str, &Args)]) -> Error {
        explain(self.spec().name, fault)
    }

    /// Checks that the elements of another stage have the form that the parameters state. Only pipelines that compress are checked.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a parameter that would make larger containers than its default.
    fn check_feed(&self, _args: &Args, _from: &str, _edge: EdgeType) -> Result<()> {
        Ok(())
    }

    /// The fused kernels that have this stage last when they encode.
    fn fusions(&self) -> &'static [&'static [Fusion]] {
        &[]
    }

    /// Restores a region that is not empty from the segment of a pipeline of this stage alone. `None`: the stage cannot.
    fn region_reader(&self) -> Option<&dyn RegionReader> {
        None
    }

    /// Restores a preview from the front of the segment of a pipeline of this stage alone. `None`: a preview takes the whole segment.
    fn preview_reader(&self) -> Option<&dyn PreviewReader> {
        None
    }
}

/// A stage bound to its parameters and to the types on its input edges.
pub trait BoundStage: Send + Sync {
    /// Type and length of each output.
    fn outputs(&self) -> Vec<EdgeType>;

    /// Emits the launches that turn inputs into outputs.
    ///
    /// # Errors
    /// Parameters that can be read but not written.
    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()>;

    /// Emits the launches that turn outputs back into inputs.
    ///
    /// # Errors
    /// [`Error::Internal`] only.
    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()>;

    /// The config in its widest form; [`Versions::downgrade`] shortens it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a pipeline that the generation cannot express.
    fn config(&self, io: Ports<'_>) -> Result<Config>;

    /// The ports of the outlier lists, which a blocking call enlarges when they are too short.
    fn outlier_lists(&self) -> Range<usize> {
        0..0
    }

    /// The most memory in bytes that the decoder on the CPU allocates besides its operands, for limits of memory. `outputs`: lengths of the
    /// values at the output ports.
    fn decoder_memory(&self, _outputs: &[u64]) -> u64 {
        0
    }
}

/// The default error for a fault.
pub(crate) fn explain(stage: &'static str, fault: Fault) -> Error {
    match fault {
        Fault::Corrupt => Error::corrupt(stage, "no encoder writes such a segment"),
        Fault::OutlierCapacity { needed, capacity } => Error::OutlierCapacity { stage, needed, capacity },
        Fault::OutOfRange(element) => {
            Error::out_of_range(stage, element, "one that its parameters have room for")
        }
        Fault::OutOfMemory(bytes) => Error::OutOfMemory(bytes),
        Fault::BadLaunch => Error::Internal("a kernel was launched with operands that it does not take"),
    }
}

/// A region of an array: the first element and the number of elements in each dimension, x first.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// Type of the elements of the array.
    pub dtype: DType,
    /// Shape of the array; unused dimensions are 1.
    pub shape: [u64; 3],
    /// First element.
    pub first: [usize; 3],
    /// Number of elements, all above 0.
    pub count: [usize; 3],
}

/// Restores regions without decoding everything else.
pub trait RegionReader: Sync {
    /// True if each call decodes the whole array, so that one call for all regions is the fastest.
    fn decodes_all(&self) -> bool {
        false
    }

    /// Restores `region` to `dst`, which has just its bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`], and the errors of reading `segment`.
    fn read_region(
        &self,
        args: &Args,
        metadata: &[u8],
        segment: &Segment<'_>,
        region: &Region,
        dst: &mut [u8],
    ) -> Result<()>;
}

/// A preview of an array: the elements at multiples of a step in every dimension.
#[derive(Clone, Copy, Debug)]
pub struct Preview {
    /// Type of the elements of the array.
    pub dtype: DType,
    /// Shape of the array; unused dimensions are 1, none is 0.
    pub shape: [u64; 3],
    /// A power of two.
    pub step: usize,
}

impl Preview {
    /// Number of elements in each dimension.
    pub fn count(&self) -> [usize; 3] {
        self.shape.map(|n| (n as usize).div_ceil(self.step))
    }
}

/// Restores previews without decoding everything else.
pub trait PreviewReader: Sync {
    /// Restores `preview` to `dst`, which has just its bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; [`Error::Truncated`] where the container ends before the bytes that the preview needs.
    fn read_preview(
        &self,
        args: &Args,
        metadata: &[u8],
        segment: &Segment<'_>,
        preview: &Preview,
        dst: &mut [u8],
    ) -> Result<()>;
}

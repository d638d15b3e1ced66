//! The input edge of a stage: its number and its element type.

use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::Args;

/// The only input of stages that have one.
pub(super) const IN: &[&str] = &["input"];

/// The floats on the edge of a stage with [`super::parameters::FLOAT_TYPE`].
pub(super) fn floats(stage: &'static str, args: &Args, edge: EdgeType) -> Result<DType> {
    let refused = |accepts| Error::type_mismatch(stage, IN[0], edge.dtype, accepts);
    if !edge.dtype.is_float() {
        return Err(refused("f32 and f64"));
    }
    match args.choice("input_type")? {
        "f32" if edge.dtype != DType::F32 => Err(refused("f32, its input_type")), // seed: input-type
        "f64" if edge.dtype != DType::F64 => Err(refused("f64, its input_type")),
        _ => Ok(edge.dtype),
    }
}

/// The number of elements on an edge whose length must be fixed before the run, at most `most`.
pub(super) fn known_elements(stage: &'static str, edge: EdgeType, most: u64) -> Result<u64> {
    let (bytes, width) = (edge.max_bytes(), edge.dtype.bytes());
    if bytes % width != 0 || edge.length.is_dynamic() {
        let accepts = "whole floats of a length that is known beforehand";
        return Err(Error::type_mismatch(stage, IN[0], edge.dtype, accepts));
    }
    if bytes / width > most {
        return Err(Error::TooLarge { stage, needed: bytes, limit: most * width });
    }
    Ok(bytes / width)
}

/// The element type that a stage works on: that of the parameter, else that on the edge.
pub(super) fn element(args: &Args, edge: EdgeType) -> Result<DType> {
    match args.choice("input_type")? {
        "auto" => Ok(edge.dtype),
        name => DType::from_name(name),
    }
}

/// Refuses a type of another width than that on the edge.
pub(super) fn same_width(stage: &'static str, element: DType, edge: EdgeType) -> Result<()> {
    if element.bytes() == edge.dtype.bytes() {
        return Ok(());
    }
    let accepts = format!("elements of {} bytes, the width of its input_type {element}", element.bytes());
    Err(Error::type_mismatch(stage, IN[0], edge.dtype, accepts))
}

/// The signed integer of the width on the edge, for stages that take integers only. `otherwise` follows the accepted types in the
/// error text.
pub(super) fn signed(stage: &'static str, args: &Args, edge: EdgeType, otherwise: &str) -> Result<DType> {
    let element = element(args, edge)?;
    same_width(stage, element, edge)?;
    if element.is_float() || edge.dtype.is_float() {
        let accepts = match args.choice("input_type")? {
            "auto" => format!("integers{otherwise}"),
            name => format!("integers of the width of its input_type {name}{otherwise}"),
        };
        return Err(Error::type_mismatch(stage, IN[0], edge.dtype, accepts));
    }
    Ok(element.signed())
}

/// The single edge into a stage of one input.
pub(super) fn only(inputs: &[EdgeType]) -> Result<EdgeType> {
    match inputs {
        [edge] => Ok(*edge),
        _ => Err(Error::Internal("a stage of one input got another number")),
    }
}

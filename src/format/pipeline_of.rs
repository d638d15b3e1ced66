//! The pipeline that a container was written with, to be used again.

use super::header::{Header, read};
use crate::base::array::Array;
use crate::base::environment::in_default_environment;
use crate::base::error::Result;
use crate::base::param::{Args, DIMS, ERROR_BOUND, OUTLIER_THRESHOLD, POINTWISE};
use crate::format::Container;
use crate::ir::stage::Rules;
use crate::pipeline::{Node, Pipeline, Source};

/// The pipeline that wrote a container, as far as its header contains it. With the same options and the same
/// array, this pipeline writes the same container. A header does not contain the room for outliers, the
/// partitions of huffman, and whether a range was measured or given. A compact frame also contains only seven
/// digits of a bound, and no threshold of lorenzo_quant. An array that did not compress has the pipeline
/// `stored`.
///
/// # Errors
/// [`crate::Error::NotAContainer`], [`crate::Error::Corrupt`], [`crate::Error::Unsupported`].
pub fn pipeline_of(container: &[u8]) -> Result<Pipeline> {
    in_default_environment(|| {
        let header = read(container)?;
        let ours = header.canonical();
        let written = ours.as_ref().unwrap_or(&header);
        // A header without the field is in the exact form of the reference, or in one that no encoder here
        // writes.
        let strict = header.requested.strict.unwrap_or(ours.is_none());
        let rules = Rules { strict, ..written.bound.rules };
        let mut pipeline = Pipeline { nodes: written.bound.pipeline.nodes.clone(), rules };
        for (node, metadata) in pipeline.nodes.iter_mut().zip(&written.metadata) {
            node.stage.reencode_params(&mut node.args, metadata)?;
            restate(&mut node.args, OUTLIER_THRESHOLD, shortest)?;
            // Under rel a header has the bound that its decoders compute with, and fewer digits would mean
            // another step.
            if node.stage.mode(&node.args) != Some(POINTWISE) {
                restate(&mut node.args, ERROR_BOUND, shortest)?;
            }
            unbind(node, &header.bound.array)?;
            // The default of a stage without connections.
            if node.inputs == [Source::Array] {
                node.inputs.clear();
            }
        }
        if in_double(&header) {
            // The extension block has them of the first stage that takes them.
            let said =
                [(ERROR_BOUND, header.requested.bound), (OUTLIER_THRESHOLD, header.requested.threshold)];
            // A damaged file may contain any number, including a bound of 0.
            let losing: Vec<bool> = pipeline.nodes.iter().map(|n| pipeline.is_losing(n)).collect();
            for (name, value) in said.into_iter().filter(|(_, value)| *value > 0.0) {
                let mut nodes = pipeline.nodes.iter_mut().zip(&losing);
                if let Some((node, _)) = nodes.find(|(n, losing)| **losing && n.args.has(name)) {
                    restate(&mut node.args, name, |_| value)?;
                }
            }
        }
        Ok(pipeline)
    })
}

fn restate(args: &mut Args, name: &str, as_said: impl Fn(f64) -> f64) -> Result<()> {
    if args.has(name) { args.set_real(name, as_said(args.real(name)?)) } else { Ok(()) }
}

/// The number with the fewest digits that a field of four bytes holds as this one: 0.001, where 1e-3 was asked for.
fn shortest(value: f64) -> f64 {
    let narrow = value as f32;
    if f64::from(narrow) == value { narrow.to_string().parse().unwrap_or(value) } else { value }
}

/// True if the header has an extension block, in which bounds are doubles.
fn in_double(header: &Header) -> bool {
    header.container == Container::Fzm && header.requested.strict.is_some()
}

/// Leaves lengths to the shape of the array again, where they are its own, so that the pipeline serves other shapes too.
fn unbind(node: &mut Node, array: &Array) -> Result<()> {
    let mut free = node.args.clone();
    for name in DIMS.into_iter().filter(|name| node.args.has(name)) {
        free.reset(name)?;
    }
    let mut bound = free.clone();
    if node.stage.fit_shape(&mut bound, array).is_ok() && bound == node.args {
        node.args = free;
    }
    Ok(())
}

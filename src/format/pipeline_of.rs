//! The pipeline that a container was written with, to be used again.

use super::header::{Header, read};
use crate::base::array::Array;
use crate::base::environment::in_default_environment;
use crate::base::error::Result;
use crate::base::param::{Args, DIMS, ERROR_BOUND, OUTLIER_THRESHOLD, POINTWISE};
use crate::format::Container;
use crate::ir::stage::Rules;
use crate::pipeline::{Node, Pipeline, Source};

/// The pipeline that wrote a container, as far as its header says: with the same options it makes the same container of the
/// same array. A header does not say what room there was for outliers, in what partitions huffman codes, whether a range was measured or given, and, in a compact
/// frame, more than seven digits of a bound, nor the threshold of lorenzo_quant. What did not compress has the pipeline `stored`.
///
/// # Errors
/// [`crate::Error::NotAContainer`], [`crate::Error::Corrupt`], [`crate::Error::Unsupported`].
pub fn pipeline_of(container: &[u8]) -> Result<Pipeline> {
    in_default_environment(|| {
        let header = read(container)?;
        let ours = header.canonical();
        let written = ours.as_ref().unwrap_or(&header);
        // Where a header says nothing of it, it is the exact form of the reference, or one that no encoder here writes.
        let strict = header.requested.strict.unwrap_or(ours.is_none());
        let rules = Rules { strict, ..written.bound.rules };
        let mut pipeline = Pipeline { nodes: written.bound.pipeline.nodes.clone(), rules };
        for (node, metadata) in pipeline.nodes.iter_mut().zip(&written.metadata) {
            node.stage.reencode_params(&mut node.args, metadata)?;
            restate(&mut node.args, OUTLIER_THRESHOLD, shortest)?;
            // Under rel a header has what its decoders compute with, and less than that would be another step.
            if node.stage.mode(&node.args) != Some(POINTWISE) {
                restate(&mut node.args, ERROR_BOUND, shortest)?;
            }
            unbind(node, &header.bound.array)?;
            // As it is where nobody connects it.
            if node.inputs == [Source::Array] {
                node.inputs.clear();
            }
        }
        if in_double(&header) {
            // The extension block has them of the first stage that takes them.
            let said =
                [(ERROR_BOUND, header.requested.bound), (OUTLIER_THRESHOLD, header.requested.threshold)];
            // A file may say anything, also that a bound is 0.
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

/// Whether the header has an extension block, where bounds are doubles.
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

//! What steps need on a device: functions, and memory besides their operands.

use super::{Graph, Target};
use crate::chains;
use crate::device::{Recipe, Shape};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::kernel::Kernel;
use crate::launch::{Equipment, Place, Step, Value};

/// Whether the target can run this step.
pub(super) fn takes(g: &Graph, step: &Step, target: Target) -> bool {
    target == Target::Cpu || recipe(g, step).is_some()
}

fn recipe(g: &Graph, step: &Step) -> Option<Recipe> {
    let bytes = |values: &[crate::launch::Val]| -> Vec<u64> {
        values.iter().map(|&v| g.flow(v).max_bytes()).collect()
    };
    let (ins, outs) = (bytes(&step.ins), bytes(&step.outs));
    let links: Vec<(&'static Kernel, _)> = step.links.iter().map(|l| (l.kernel, &l.params)).collect();
    let shape = Shape { params: &step.params, ins: &ins, outs: &outs };
    chains::find(&step.params, step.kernel, &links, &shape)
}

/// Equips every step; returns the bytes that all of them need zeroed.
pub(super) fn equip(g: &mut Graph, steps: &mut [Step]) -> Result<u64> {
    /// Zeroed memory starts at multiples of this.
    const ALIGN: u64 = 16;
    let mut zeroed = 0;
    for step in steps {
        let Some(Recipe { passes, zeroed: own, scratch }) = recipe(g, step) else {
            let what =
                format!("{} has no device code for these parameters; use device cpu", step.kernel.name);
            return Err(Error::Unsupported { stage: step.stage, what });
        };
        let scratch = (scratch > 0).then(|| {
            g.values.push(Value {
                flow: Flow::fixed(DType::U8, scratch),
                place: Place::Dead,
                alias: None,
                feeds: false,
            });
            crate::launch::Val(g.values.len() as u32 - 1)
        });
        step.device = Equipment { passes, zeroed_at: zeroed, scratch };
        zeroed += own.next_multiple_of(ALIGN);
    }
    Ok(zeroed)
}

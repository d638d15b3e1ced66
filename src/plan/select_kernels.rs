//! The device functions of steps, and their memory besides operands.

use super::fused_kernels;
use super::{Graph, Target};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::step::{DeviceStep, Step};
use crate::ir::value::{Place, Value};

/// True if the target can run this step.
pub(super) fn takes(g: &Graph, step: &Step, target: Target) -> bool {
    target == Target::Cpu || device_launch(g, step).is_some()
}

fn device_launch(g: &Graph, step: &Step) -> Option<DeviceLaunch> {
    let bytes = |values: &[crate::ir::value::Val]| -> Vec<u64> {
        values.iter().map(|&v| g.edge(v).max_bytes()).collect()
    };
    let (ins, outs) = (bytes(&step.ins), bytes(&step.outs));
    fused_kernels::find(step, &LaunchShape { params: &step.params, ins: &ins, outs: &outs })
}

/// Equips every step; returns the bytes that all of them need zeroed.
pub(super) fn select_kernels(g: &mut Graph, steps: &mut [Step]) -> Result<u64> {
    /// Zeroed memory starts at multiples of this.
    const ALIGN: u64 = 16;
    let found: Result<Vec<_>> = steps
        .iter()
        .map(|step| {
            device_launch(g, step).ok_or_else(|| {
                let what =
                    format!("{} has no device code for these parameters; use device cpu", step.kernel.name);
                Error::Unsupported { stage: step.stage, what }
            })
        })
        .collect();
    let found = found?;
    // Both tries are launches of the kernel that resolves the bound and of the kernel behind it, which must be
    // the last one: other kernels cannot run twice.
    let twice = found.len() == 2 && found.iter().all(|launch| launch.tries.is_some());
    let mut zeroed = 0;
    for (step, DeviceLaunch { launches, batched, zeroed: own, scratch, tries }) in steps.iter_mut().zip(found)
    {
        let scratch = (scratch > 0).then(|| {
            g.values.push(Value {
                edge: EdgeType::fixed(DType::U8, scratch),
                place: Place::Dead,
                alias: None,
                feeds: false,
                checks_room: false,
            });
            crate::ir::value::Val(g.values.len() as u32 - 1)
        });
        let own = own.next_multiple_of(ALIGN);
        let second_zeroed_at = zeroed + if twice { own } else { 0 };
        let (launches, second_try) = match tries.filter(|_| twice) {
            Some(tries) => (tries.first, tries.second),
            None => (launches, vec![]),
        };
        step.device =
            DeviceStep { launches, batched, second_try, zeroed_at: zeroed, second_zeroed_at, scratch };
        zeroed = second_zeroed_at + own;
    }
    Ok(zeroed)
}

//! The device functions of steps, and their memory besides operands.

use super::fused_kernels;
use super::{Graph, Target};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::step::{DeviceStep, Step};
use crate::ir::value::{Place, Val, Value};

/// True if the target can run this step.
pub(super) fn takes(g: &Graph, step: &Step, target: Target) -> bool {
    target == Target::Cpu || device_launch(g, step).is_some()
}

fn device_launch(g: &Graph, step: &Step) -> Option<DeviceLaunch> {
    let bytes = |values: &[Val]| -> Vec<u64> { values.iter().map(|&v| g.edge(v).max_bytes()).collect() };
    let (ins, outs) = (bytes(&step.ins), bytes(&step.outs));
    fused_kernels::find(step, &LaunchShape { params: &step.params, ins: &ins, outs: &outs })
}

/// Equips every step; returns the bytes that all of them need zeroed.
pub(super) fn select_kernels(g: &mut Graph, steps: &mut Vec<Step>) -> Result<u64> {
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
    for (step, found) in steps.iter_mut().zip(&found) {
        let DeviceLaunch {
            launches, batched, single, zeroed: own, scratch, tries, sampled, division, ..
        } = found.clone();
        let scratch = (scratch > 0).then(|| {
            g.values.push(Value {
                edge: EdgeType::fixed(DType::U8, scratch),
                place: Place::Dead,
                alias: None,
                feeds: false,
                checks_room: false,
            });
            Val(g.values.len() as u32 - 1)
        });
        let own = own.next_multiple_of(ALIGN);
        let second_zeroed_at = zeroed + if twice { own } else { 0 };
        let (launches, second_try) = match tries.filter(|_| twice) {
            Some(tries) => (tries.first, tries.second),
            None => (launches, vec![]),
        };
        let (zeroed_at, unused) = (zeroed, vec![]);
        step.device = DeviceStep {
            launches,
            batched,
            second_try,
            single,
            sampled,
            division,
            zeroed_at,
            second_zeroed_at,
            scratch,
            unused,
        };
        zeroed = second_zeroed_at + own;
    }
    // From the last one on, so that the numbers of the others remain.
    for (k, launch) in found.iter().enumerate().rev() {
        if launch.in_place {
            put_in_place(g, steps, k);
        }
        if !launch.late.is_empty() {
            put_off(g, steps, k, (launch.late, launch.early));
        }
    }
    Ok(zeroed)
}

/// Gives the output of step `k` the place of its input, if no other step and no container needs the input afterwards.
fn put_in_place(g: &mut Graph, steps: &[Step], k: usize) {
    let step = &steps[k];
    let (&[from], &[to], []) = (&step.ins[..], &step.outs[..], &step.fused[..]) else { return };
    let (source, target) = (g.root(from), g.root(to));
    let stored = |root: Val| g.sinks.iter().any(|s| g.root(s.value) == root);
    let own = |root: Val| root != Val::ARRAY && !stored(root);
    let ends = steps[k + 1..].iter().flat_map(Step::touched).all(|v| g.root(v) != source);
    let same = g.edge(from).length == g.edge(to).length;
    if same && ends && source != target && own(source) && own(target) {
        g.values[target.index()].alias = Some(source);
    }
}

/// Moves the last launch of step `k` to a step of its own, immediately before the first step that reads its outputs. `late` and `early`
/// are those of [`DeviceLaunch`].
fn put_off(g: &Graph, steps: &mut Vec<Step>, k: usize, (late, early): (&[usize], &[usize])) {
    let of = |outputs: &[usize]| -> Vec<Val> {
        outputs.iter().filter_map(|&i| steps[k].outs.get(i).copied()).collect()
    };
    let (own, others) = (of(late), of(early));
    let reads = |step: &Step| step.ins.iter().any(|&v| own.iter().any(|&o| g.root(v) == g.root(o)));
    let place = (k + 1..steps.len()).find(|&i| reads(&steps[i])).unwrap_or(steps.len());
    if place == k + 1 || steps[k].device.batched.is_some() {
        return;
    }
    let Some(launch) = steps[k].device.launches.pop() else { return };
    let mut later = steps[k].clone();
    later.device.launches = vec![launch];
    later.device.unused = others;
    steps[k].device.unused = own;
    steps.insert(place, later);
}

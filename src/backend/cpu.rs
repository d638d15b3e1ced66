//! The CPU backend: one loop over the steps of a plan.

use crate::arena::{Range, carve};
use crate::chain::Link;
use crate::error::{Error, Fault, Result};
use crate::kernel::{HostCall, MAX_OPERANDS, Role, Threads};
use crate::launch::{Place, Step, Val};
use crate::plan::{Direction, Plan};
use crate::workspace::Workspace;

/// The caller's array for one run.
pub(crate) enum ArrayBinding<'a> {
    /// It is compressed.
    Read(&'a [u8]),
    /// It is restored.
    Write(&'a mut [u8]),
}

/// Sets the length of every value to its largest.
pub(crate) fn prime(plan: &Plan, ws: &mut Workspace) {
    for (word, value) in ws.words.iter_mut().zip(&plan.graph.values) {
        *word = value.flow.max_bytes();
    }
}

/// The length of a value, as far as the run has come.
pub(crate) fn length(plan: &Plan, words: &[u64], v: Val) -> u64 {
    let flow = plan.value(v).flow;
    if flow.extent.is_dynamic() { words[plan.root(v).index()] } else { flow.max_bytes() }
}

/// Where a value lies in the arena; empty for the array.
pub(crate) fn range(plan: &Plan, v: Val, bytes: u64) -> Range {
    match plan.place(v) {
        Place::Arena { offset } => Range { offset, bytes },
        _ => Range::default(),
    }
}

/// Runs all steps. Lengths of inputs are in the workspace's words; those of outputs are put there.
pub(crate) fn run(plan: &Plan, ws: &mut Workspace, mut array: ArrayBinding<'_>) -> Result<()> {
    for step in &plan.steps {
        launch(plan, step, ws, &mut array).map_err(|fault| explain(step, fault))?;
    }
    Ok(())
}

fn launch(plan: &Plan, step: &Step, ws: &mut Workspace, array: &mut ArrayBinding<'_>) -> Result<(), Fault> {
    let Workspace { arena, words, threads, .. } = ws;
    let (n_in, n_out) = (step.ins.len(), step.outs.len());
    let on_array = |v: Val| plan.place(v) == Place::Array;
    let mut ranges = [Range::default(); MAX_OPERANDS];
    for (r, &v) in ranges.iter_mut().zip(&step.ins) {
        *r = range(plan, v, length(plan, words, v));
    }
    // Encoding, an output has room for its largest length; decoding, every length is known beforehand.
    let room = |words: &[u64], v: Val| match plan.direction {
        Direction::Encode => plan.value(v).flow.max_bytes(),
        Direction::Decode => length(plan, words, v),
    };
    for (r, &v) in ranges[n_in..].iter_mut().zip(&step.outs) {
        *r = range(plan, v, room(words, v));
    }
    let views = carve::<MAX_OPERANDS>(arena.bytes_mut(), &ranges[..n_in + n_out]).ok_or(Fault::BadLaunch)?;
    let mut ins: [&[u8]; MAX_OPERANDS] = [&[]; MAX_OPERANDS];
    let mut outs: [&mut [u8]; MAX_OPERANDS] = Default::default();
    for (k, view) in views.into_iter().enumerate().take(n_in + n_out) {
        if k < n_in { ins[k] = view } else { outs[k - n_in] = view }
    }
    match array {
        ArrayBinding::Read(src) => {
            (0..n_in).filter(|&k| on_array(step.ins[k])).for_each(|k| ins[k] = src);
        }
        ArrayBinding::Write(dst) => {
            if let Some(k) = (0..n_out).find(|&k| on_array(step.outs[k])) {
                outs[k] = dst;
            }
        }
    }
    let mut produced = [0; MAX_OPERANDS];
    for (p, &v) in produced.iter_mut().zip(&step.outs) {
        *p = room(words, v);
    }
    let mut first_extra = n_in - step.links.iter().map(|l| l.extra).sum::<usize>();
    let own = first_extra;
    let mut links = [Link { kernel: step.kernel, params: &step.params, extra: &[] }; MAX_OPERANDS];
    for (slot, l) in links.iter_mut().zip(&step.links) {
        let extra = &ins[first_extra..first_extra + l.extra];
        *slot = Link { kernel: l.kernel, params: &l.params, extra };
        first_extra += l.extra;
    }
    let mut call = HostCall {
        params: &step.params,
        ins: &ins[..own],
        outs: &mut outs[..n_out],
        words: &mut produced[..n_out],
        threads: Threads(threads.pool()),
        links: &links[..step.links.len()],
        length: chained_length(plan, words, step),
    };
    (step.kernel.host)(&mut call)?;
    for (&v, &bytes) in step.outs.iter().zip(&produced) {
        let dynamic = plan.value(v).flow.extent.is_dynamic();
        if bytes > room(words, v) || (!dynamic && !on_array(v) && bytes < room(words, v)) {
            return Err(Fault::BadLaunch);
        }
        if dynamic {
            words[plan.root(v).index()] = bytes;
        }
    }
    Ok(())
}

/// Bytes of what a Gather takes or a Scatter makes.
fn chained_length(plan: &Plan, words: &[u64], step: &Step) -> u64 {
    let own = match (step.kernel.role)(&step.params) {
        Role::Gather => step.ins.first(),
        Role::Scatter => step.outs.first(),
        Role::Alone | Role::Tile | Role::Sums | Role::Last => None,
    };
    step.between.as_ref().or(own).map_or(0, |&v| length(plan, words, v))
}

fn explain(step: &Step, fault: Fault) -> Error {
    match fault {
        Fault::Corrupt => Error::corrupt(step.stage, "its segment is not what an encoder writes"),
        Fault::OutlierCapacity { needed, capacity } => {
            Error::OutlierCapacity { stage: step.stage, needed, capacity }
        }
        Fault::OutOfRange(element) => Error::out_of_range(step.stage, element),
        Fault::OutOfMemory(bytes) => Error::OutOfMemory(bytes),
        Fault::BadLaunch => Error::Internal("a kernel was launched with operands that it does not take"),
    }
}

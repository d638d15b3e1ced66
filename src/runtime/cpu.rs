//! The CPU backend: opens a workspace, runs the steps of a plan in one loop, and seals the container.

use crate::base::arena::{Range, carve};
use crate::base::error::{Error, Fault, Result};
use crate::base::parallel::Parallel;
use crate::format::{Header, Report, Template};
use crate::ir::kernel::{HostCall, MAX_OPERANDS, Role};
use crate::ir::step::Step;
use crate::ir::tile_stream::FusedCall;
use crate::ir::value::{Place, Val};
use crate::plan::{Direction, Graph, Plan};
use crate::runtime::workspace::Workspace;

/// The caller's array for one run.
pub(crate) enum ArrayBinding<'a> {
    /// It is compressed.
    Read(&'a [u8]),
    /// It is restored.
    Write(&'a mut [u8]),
}

/// The length of a value, as far as the run has come.
fn length(plan: &Plan, words: &[u64], v: Val) -> u64 {
    let edge = plan.value(v).edge;
    if edge.length.is_dynamic() { words[plan.root(v).index()] } else { edge.max_bytes() }
}

/// Where a value lies in the arena; empty for the array.
fn range(plan: &Plan, v: Val, bytes: u64) -> Range {
    match plan.place(v) {
        Place::Arena { offset } => Range { offset, bytes },
        _ => Range::default(),
    }
}

/// One run of a plan.
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) ws: &'a mut Workspace,
    pub(crate) array: ArrayBinding<'a>,
}

impl Run<'_> {
    /// Prepares the workspace. Encoding, every value has its largest length. Decoding, `from` is the header, the lengths of
    /// all values and the container, whose segments and metadata are put where the plan has them.
    pub(crate) fn open(&mut self, from: Option<(&Header, &[u64], &[u8])>) -> Result<()> {
        self.ws.serves(self.plan)?;
        let Some((header, lengths, container)) = from else {
            for (word, value) in self.ws.words.iter_mut().zip(&self.plan.bound.graph.values) {
                *word = value.edge.max_bytes();
            }
            return Ok(());
        };
        self.ws.words[..lengths.len()].copy_from_slice(lengths);
        self.load(header, container)
    }

    /// Puts segments and metadata where the plan has them.
    fn load(&mut self, header: &Header, container: &[u8]) -> Result<()> {
        let g = &self.plan.bound.graph;
        let segments = g.sinks.iter().zip(&header.segments).map(|(s, r)| (s.value, container.get(r.clone())));
        let metadata = g.nodes.iter().zip(&header.metadata).map(|(n, f)| (n.metadata, Some(&f[..])));
        let Workspace { arena, threads, .. } = &mut *self.ws;
        for (v, bytes) in segments.chain(metadata) {
            let bytes = bytes.ok_or(Error::Internal("a segment lies outside of its container"))?;
            let block = match (self.plan.place(v), &mut self.array) {
                (Place::Array, ArrayBinding::Write(dst)) => &mut **dst,
                (Place::Arena { offset }, _) => &mut arena.bytes_mut()[offset as usize..],
                (Place::Array | Place::Segment(_) | Place::Dead, _) => continue,
            };
            let room =
                block.get_mut(..bytes.len()).ok_or(Error::Internal("a segment is longer than its place"))?;
            Parallel(threads.pool()).copy(bytes, room);
        }
        Ok(())
    }

    /// Runs all steps. The workspace holds the lengths of inputs and receives those of outputs.
    pub(crate) fn run(&mut self) -> Result<()> {
        for step in &self.plan.steps {
            launch(self.plan, step, self.ws, &mut self.array)
                .map_err(|fault| self.plan.explain(step, fault))?;
        }
        Ok(())
    }

    /// Writes the container to the memory that `dst` returns for its length: the coded form, or the form of a
    /// stored array if that is shorter. Returns its length.
    pub(crate) fn seal<'d>(
        self,
        own: &Template,
        stored: Option<&StoredForm<'_>>,
        dst: impl FnOnce(u64) -> Result<&'d mut [u8]>,
    ) -> Result<usize> {
        let ArrayBinding::Read(src) = self.array else {
            return Err(Error::Internal("only an encoder seals a container"));
        };
        let Workspace { arena, words, header, threads, .. } = self.ws;
        let (plan, threads) = (self.plan, Parallel(threads.pool()));
        let length_of = |v: Val| length(plan, words, v);
        let bytes_of = |v: Val| bytes(plan, words, arena.bytes(), src, v);
        let report = Report { length: &length_of, bytes: &bytes_of };
        let bytes = own.fill(&report, header)?;
        match stored {
            Some(stored) if bytes > stored.template.header_bound() + src.len() as u64 => {
                let length_of = |v: Val| stored.graph.edge(v).max_bytes();
                let report = Report { length: &length_of, bytes: &|_| Some(src) };
                let bytes = stored.template.fill(&report, header)?;
                stored.template.seal(header, bytes, &report, dst(bytes)?, threads)
            }
            _ => own.seal(header, bytes, &report, dst(bytes)?, threads),
        }
    }
}

/// The form of an array that is stored without coding.
pub(crate) struct StoredForm<'a> {
    pub(crate) template: &'a Template,
    pub(crate) graph: &'a Graph,
}

/// The bytes of a value after a run; empty for those that have no place.
fn bytes<'a>(plan: &Plan, words: &[u64], arena: &'a [u8], array: &'a [u8], v: Val) -> Option<&'a [u8]> {
    let bytes = length(plan, words, v);
    match plan.place(v) {
        Place::Array => array.get(..bytes as usize),
        Place::Arena { offset } => arena.get(offset as usize..(offset + bytes) as usize),
        Place::Segment(_) | Place::Dead => Some(&[]),
    }
}

fn launch(plan: &Plan, step: &Step, ws: &mut Workspace, array: &mut ArrayBinding<'_>) -> Result<(), Fault> {
    let Workspace { arena, words, threads, kept, .. } = ws;
    let (n_in, n_out) = (step.ins.len(), step.outs.len());
    let on_array = |v: Val| plan.place(v) == Place::Array;
    let mut ranges = [Range::default(); MAX_OPERANDS];
    for (r, &v) in ranges.iter_mut().zip(&step.ins) {
        *r = range(plan, v, length(plan, words, v));
    }
    // Encoding, an output has room for its largest length; decoding, every length is known beforehand.
    let room = |words: &[u64], v: Val| match plan.direction {
        Direction::Encode => plan.value(v).edge.max_bytes(),
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
    let mut first_extra = n_in - step.fused.iter().map(|l| l.extra).sum::<usize>();
    let own = first_extra;
    let mut fused = [FusedCall { kernel: step.kernel, params: &step.params, extra: &[] }; MAX_OPERANDS];
    for (slot, l) in fused.iter_mut().zip(&step.fused) {
        let extra = &ins[first_extra..first_extra + l.extra];
        *slot = FusedCall { kernel: l.kernel, params: &l.params, extra };
        first_extra += l.extra;
    }
    let mut call = HostCall {
        params: &step.params,
        ins: &ins[..own],
        outs: &mut outs[..n_out],
        words: &mut produced[..n_out],
        threads: Parallel(threads.pool()),
        fused: &fused[..step.fused.len()],
        length: fused_length(plan, words, step),
        kept: kept.of(plan.id, step.node),
    };
    let done = (step.kernel.host)(&mut call);
    kept.set(plan.id, step.node, call.kept);
    done?;
    for (&v, &bytes) in step.outs.iter().zip(&produced) {
        let dynamic = plan.value(v).edge.length.is_dynamic();
        if bytes > room(words, v) || (!dynamic && !on_array(v) && bytes < room(words, v)) {
            return Err(Fault::BadLaunch);
        }
        if dynamic {
            words[plan.root(v).index()] = bytes;
        }
    }
    Ok(())
}

/// Bytes that a TileConsumer reads or a TileProducer writes.
fn fused_length(plan: &Plan, words: &[u64], step: &Step) -> u64 {
    let own = match step.role {
        Role::TileConsumer => step.ins.first(),
        Role::TileProducer => step.outs.first(),
        Role::Alone | Role::Tile | Role::Reduction | Role::TileSink => None,
    };
    step.intermediate.as_ref().or(own).map_or(0, |&v| length(plan, words, v))
}

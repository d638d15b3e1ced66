//! Blocking calls of large arrays in pinned memory. The array is copied piece by piece, and the launch of the coder is
//! divided: a part of it runs as soon as its piece of the array has arrived, or before its piece leaves. The container is
//! copied meanwhile.

use super::{DeviceSlice, GpuDecoder, GpuEncoder, prepared};
use crate::base::error::{Error, Result, Status};
use crate::gpu::abi::ContainerArgs;
use crate::gpu::{CallStreams, Context, DeviceMemory, OwnStream, download, mapped};
use crate::ir::division::Division;
use crate::ir::step::Step;
use crate::ir::value::{Place, Val};
use crate::plan::{Direction, Plan};
use crate::runtime::cuda::Span;
use crate::runtime::workspace::{GpuMemory, Workspace};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the smallest array that gains more than the additional operations cost.
static LEAST: AtomicUsize = AtomicUsize::new(64 << 20);

/// Sets the bytes of the smallest array whose blocking calls overlap copies and kernels, for tests on the emulator, which is slow.
pub fn overlap_from(bytes: usize) {
    LEAST.store(bytes, Ordering::Relaxed);
}
/// The pieces of an array from its end, as parts of 128. The end of a compression waits for the last piece, so this one is short;
/// each piece costs a few microseconds. A decompression, which waits for the first piece, has the pieces in the other order.
const PIECES: [usize; 8] = [2, 4, 10, 24, 32, 32, 16, 8];

/// A plan whose last step codes the whole array in one launch, which can be divided.
pub(super) struct Divided<'p> {
    plan: &'p Plan,
    step: &'p Step,
    division: &'static Division,
    /// Blocks of all parts.
    grid: u64,
    /// The one segment of the container.
    segment: Val,
    /// Where it starts in the container.
    header: usize,
}

impl<'p> Divided<'p> {
    /// `None`: the plan cannot be divided, or the memory does not suit. `header`: bytes of the header of a container; 0: unknown.
    fn new(plan: &'p Plan, header: u64, array: &[u8], container: &[u8]) -> Result<Option<Divided<'p>>> {
        let Some((step, first)) = plan.steps.split_last() else { return Ok(None) };
        let (Some(division), [_], [sink]) =
            (step.device.division, &step.device.launches[..], &plan.bound.graph.sinks[..])
        else {
            return Ok(None);
        };
        let (from, to) = match plan.direction {
            Direction::Encode => (Place::Array, Place::Segment(0)),
            Direction::Decode => (Place::Segment(0), Place::Array),
        };
        let place = |v: Option<&Val>| v.map(|&v| plan.place(v));
        let suits = place(step.ins.first()) == Some(from)
            && place(step.outs.first()) == Some(to)
            && step.device.second_try.is_empty()
            && first.iter().all(|step| step.device.sampled)
            && header > 0
            && array.len() >= LEAST.load(Ordering::Relaxed);
        let (segment, header) = (sink.value, header as usize);
        let suits = suits && mapped(array)? && mapped(container)?;
        let grid = (division.grid)(&step.params);
        Ok(suits.then_some(Divided { plan, step, division, grid, segment, header }))
    }

    /// Blocks of the first `end` bytes of an array of `bytes` bytes.
    fn blocks(&self, end: usize, bytes: usize) -> u64 {
        let blocks =
            if end == bytes { self.grid } else { (self.division.blocks)(&self.step.params, end as u64) };
        blocks.min(self.grid)
    }

    /// The end of the bytes of a container that decoders of these blocks read.
    fn reads(&self, container: &[u8], blocks: Range<u64>) -> usize {
        let segment = container.get(self.header..).unwrap_or_default();
        let end = (self.division.reads)(&self.step.params, segment, blocks);
        container.len().min(self.header.saturating_add(end as usize))
    }

    /// The end of the table of a container.
    fn table(&self) -> usize {
        self.header + (self.division.table)(&self.step.params) as usize
    }
}

/// The ends of pieces of an array of `bytes` bytes.
fn ends(bytes: usize, pieces: impl Iterator<Item = &'static usize>) -> Vec<usize> {
    let unit = (bytes / 128).next_multiple_of(1 << 12);
    let add = |end: &mut usize, piece: &usize| {
        *end += piece * unit;
        Some((*end).min(bytes))
    };
    let mut ends: Vec<usize> = pieces.scan(0, add).collect();
    ends.pop();
    ends.push(bytes);
    ends
}

/// The operands of a call on the device.
struct Call<'c> {
    context: &'c Context,
    array: DeviceSlice,
    container: DeviceSlice,
    result: u64,
    checksum: bool,
}

impl<'c> Call<'c> {
    fn new(
        context: &'c Context,
        memory: &mut GpuMemory,
        (array, container): (usize, usize),
        checksum: bool,
    ) -> Result<Call<'c>> {
        let of = |kept: &mut Option<DeviceMemory>, bytes: usize| {
            let address = prepared::staging(context, kept, bytes as u64)?.address();
            Ok::<_, Error>(DeviceSlice { address, bytes: bytes as u64 })
        };
        let (array, container) = (of(&mut memory.array, array)?, of(&mut memory.container, container)?);
        let result = prepared::result(context, &mut memory.result)?.address();
        Ok(Call { context, array, container, result, checksum })
    }
}

/// Streams for kernels, copies to the device, copies from the device, and the copy of the front of a container; and
/// a word for each piece.
fn streams<'m>(context: &Context, kept: &'m mut Option<CallStreams>) -> Result<&'m mut CallStreams> {
    match kept {
        Some(streams) => Ok(streams),
        none => Ok(none.insert(CallStreams::new(context, 4, PIECES.len())?)),
    }
}

/// The front of a container that is at the destination.
struct Sent {
    bytes: usize,
    /// The length of the container, unless the array is stored in its place.
    own: usize,
}

impl GpuEncoder {
    /// The division of a compression from host memory to host memory, which must have `room` for every container: a call that fails
    /// must not have written there.
    pub(super) fn divided(
        &self,
        (src, dst): (&[u8], &[u8]),
        room: u64,
        checksum: bool,
    ) -> Result<Option<Divided<'_>>> {
        if (dst.len() as u64) < room {
            return Ok(None);
        }
        Divided::new(&self.prepared.plan, self.header_bytes(checksum), src, dst)
    }

    /// As [`GpuEncoder::compress`].
    pub(super) fn compress_overlapped(
        &self,
        context: &Context,
        ws: &mut Workspace,
        divided: &Divided<'_>,
        (src, dst): (&[u8], &mut [u8]),
        checksum: bool,
    ) -> Result<usize> {
        let memory = prepared::memory_mut(&mut ws.gpu)?;
        let call = Call::new(context, memory, (src.len(), dst.len()), checksum)?;
        let sent = self.put_parts(&call, memory, divided, (src, dst)).inspect_err(|_| {
            // As in `enqueue`.
            ws.gpu = None;
        })?;
        let bytes = prepared::outcome(ws)?.of(divided.plan, dst.len() as u64)? as usize;
        let there = if sent.own == bytes { sent.bytes.min(bytes) } else { 0 };
        let to = dst.get_mut(there..bytes).ok_or(Error::Internal("a container is longer than its room"))?;
        if !to.is_empty() {
            let from = call.container.address + there as u64;
            download(context, to, from, OwnStream::new(context)?.borrow())?;
        }
        Ok(bytes)
    }

    /// Puts a compression on the streams, and copies the words of the segment as soon as they are final, the bytes before them last.
    fn put_parts(
        &self,
        call: &Call<'_>,
        memory: &mut GpuMemory,
        divided: &Divided<'_>,
        (src, dst): (&[u8], &mut [u8]),
    ) -> Result<Sent> {
        let &Call { context, array, container, result, checksum } = call;
        let GpuMemory { block, streams: kept, .. } = memory;
        let ([kernels, copies_in, copies_out, copies_front], lengths) =
            streams(context, kept)?.of_call(context)?;
        let stream = kernels.borrow();
        let ends = ends(src.len(), PIECES.iter().rev());
        let (mut at, mut arrived) = (0, vec![]);
        for &end in &ends {
            copies_in.upload(array.address + at as u64, &src[at..end])?;
            arrived.push(copies_in.mark()?);
            at = end;
        }
        let run = |array| {
            let spans = (array, container.span());
            self.prepared.run(context, block, stream, spans, divided.header as u64)
        };
        // The sample is taken from the array of the caller.
        run(Span { address: src.as_ptr() as u64, bytes: src.len() as u64 }).run_first()?;
        let run = run(array.span());
        let (mut first, mut passed) = (0, vec![]);
        for (k, (&end, event)) in ends.iter().zip(arrived).enumerate() {
            event.before(stream)?;
            let blocks = first..divided.blocks(end, src.len()).max(first);
            first = blocks.end;
            run.run_part(blocks)?;
            lengths.receive(k, run.length_at(divided.segment), stream)?;
            passed.push(kernels.mark()?);
        }
        self.seal(&run, result, checksum)?;
        // A stored array is not longer than the array and its header. Behind it, the destination remains as it was.
        let (mut at, mut own) = (divided.table().min(src.len()), 0);
        let room = dst.get_mut(..src.len()).ok_or(Error::Internal("a container has no room"))?;
        let (front, mut rest) = room.split_at_mut(at);
        copies_front.borrow().follow(stream, context)?;
        copies_front.download(front, container.address)?;
        for (k, (event, end)) in passed.into_iter().zip(ends).enumerate() {
            event.wait()?;
            own = divided.header + lengths.word(k)? as usize;
            // The words of an array that will perhaps be stored are not copied.
            let more = if own <= end { own.saturating_sub(at).min(rest.len()) } else { 0 };
            let (piece, behind) = rest.split_at_mut(more);
            let bytes = piece.len();
            copies_out.download(piece, container.address + at as u64)?;
            (at, rest) = (at + bytes, behind);
        }
        copies_out.finish()?;
        copies_front.finish()?;
        Ok(Sent { bytes: at, own })
    }
}

impl GpuDecoder {
    /// Decompresses from host memory to host memory. `None`: another call must decompress or refuse the container.
    pub(super) fn restore_overlapped(
        &self,
        context: &Context,
        ws: &mut Workspace,
        (container, dst): (&[u8], &mut [u8]),
        checksum: bool,
    ) -> Result<Option<usize>> {
        let bytes = dst.len();
        let Some(divided) = Divided::new(&self.prepared.plan, self.header, dst, container)? else {
            return Ok(None);
        };
        let memory = prepared::memory_mut(&mut ws.gpu)?;
        let call = Call::new(context, memory, (bytes, container.len()), checksum)?;
        let done = self.put_parts(&call, memory, &divided, (container, dst)).inspect_err(|_| {
            // As in `enqueue`.
            ws.gpu = None;
        })?;
        let restored = done && prepared::outcome(ws)?.status == Status::Ok as i32;
        Ok(restored.then_some(bytes))
    }

    /// Puts a decompression on the streams, and waits for the copies. False: the header is not one of this plan, and nothing is
    /// written.
    fn put_parts(
        &self,
        call: &Call<'_>,
        memory: &mut GpuMemory,
        divided: &Divided<'_>,
        (container, dst): (&[u8], &mut [u8]),
    ) -> Result<bool> {
        let &Call { context, array, result, checksum, .. } = call;
        let GpuMemory { block, streams: kept, .. } = memory;
        let ([kernels, copies_in, copies_out, _], _) = streams(context, kept)?.of_call(context)?;
        let stream = kernels.borrow();
        let spans = (array.span(), call.container.span());
        let run = self.prepared.run(context, block, stream, spans, self.header);
        let bytes = dst.len();
        let args = ContainerArgs {
            result,
            verify: checksum.into(),
            whole: 1,
            array_bytes: bytes as u64,
            ..ContainerArgs::default()
        };
        let mut there = divided.table().min(container.len());
        copies_in.upload(call.container.address, &container[..there])?;
        // The host reads the container when earlier work on the NULL stream, which may write it, has ended.
        copies_in.mark()?.wait()?;
        if !self.headers.iter().any(|header| header.begins(container)) {
            return Ok(false);
        }
        let (mut rest, mut at, mut first) = (dst, 0, 0);
        for end in ends(bytes, PIECES.iter()) {
            let (piece, behind) = rest.split_at_mut(end - at);
            let blocks = first..divided.blocks(end, bytes).max(first);
            let needed = if end == bytes {
                container.len()
            } else {
                divided.reads(container, blocks.clone()).max(there)
            };
            copies_in.upload(call.container.address + there as u64, &container[there..needed])?;
            stream.follow(copies_in.borrow(), context)?;
            if at == 0 {
                run.open(&args)?;
            }
            (first, there) = (blocks.end, needed);
            run.run_part(blocks)?;
            copies_out.borrow().follow(stream, context)?;
            copies_out.download(piece, array.address + at as u64)?;
            (rest, at) = (behind, end);
        }
        run.seal(&args)?;
        kernels.finish()?;
        copies_out.finish()?;
        Ok(true)
    }
}

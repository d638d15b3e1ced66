//! Converts chunks to compact frames and back, with plans that a thread keeps.

use crate::Answer;
use crate::block::Block;
use crate::presets::Preset;
use crate::words::{Mode, Stored};
use fzgm::{
    Array, Container, Decoder, Device, Encoder, Error, Options, Pipeline, ReserveAllocator, Workspace, preset,
};
use std::cell::RefCell;

/// The plans of one dataset.
pub(crate) struct Plan {
    encoder: Encoder,
    decoder: Decoder,
    options: Options,
    /// Elements are opaque and compressed as integers in one dimension.
    opaque: bool,
    /// Workspaces of previous calls, if they are small.
    encoding: Option<Workspace>,
    decoding: Option<Workspace>,
}

/// A thread keeps a workspace of at most this many bytes from call to call.
const MAX_KEPT: u64 = 32 << 20;
/// Datasets whose plans a thread keeps.
const MAX_PLANS: usize = 8;

/// The text of an error, with advice for users of HDF5.
fn text(error: Error) -> String {
    match error {
        Error::TooLarge { stage, needed, limit } => {
            format!(
                "a chunk of this dataset requires {needed} bytes in stage {stage}, whose limit is {limit}; choose smaller chunks"
            )
        }
        e => e.to_string(),
    }
}

/// The device that `FZGM_DEVICE` names; `Auto` if the variable is empty or not set.
fn device() -> Answer<Device> {
    match std::env::var_os("FZGM_DEVICE") {
        Some(wish) if !wish.is_empty() => {
            wish.to_string_lossy().parse().map_err(|e: Error| format!("FZGM_DEVICE: {e}"))
        }
        _ => Ok(Device::Auto),
    }
}

/// A chunk as an array: numbers in at most three dimensions without dimensions of length 1, opaque elements in one.
fn array(stored: &Stored) -> Answer<Array> {
    let bytes = stored.chunk_bytes()? as u64;
    let dtype = stored.element.dtype;
    if stored.element.opaque {
        return Array::new(dtype, &[bytes / dtype.bytes()]).map_err(text);
    }
    let dims: Vec<u64> = stored.dims.iter().rev().copied().collect();
    Array::new(dtype, &joined(&dims)).map_err(text)
}

/// Dimensions as in [`array`], the fastest first.
fn joined(dims: &[u64]) -> Vec<u64> {
    let mut dims: Vec<u64> = dims.iter().copied().filter(|d| *d != 1).collect();
    let slow: u64 = dims.iter().skip(2).product();
    dims.truncate(2);
    dims.extend((slow != 1).then_some(slow));
    if dims.is_empty() {
        dims.push(1);
    }
    dims
}

/// True if a container cannot be the chunk, by element type, shape, or length. The shape is not compared if the
/// container has one dimension. Of opaque elements, only the element size is compared.
fn is_other(is: &Array, chunk: &Array, opaque: bool) -> bool {
    let same_type = is.dtype() == chunk.dtype() || opaque && is.dtype().bytes() == chunk.dtype().bytes();
    let dims = joined(is.dims());
    let same_shape = dims == chunk.dims() || opaque || dims.len() == 1;
    !same_type || !same_shape || is.bytes() != chunk.bytes()
}

/// Type and shape for a message, with the slowest dimension first, as in HDF5.
fn described(array: &Array) -> String {
    let dims: Vec<u64> = joined(array.dims()).into_iter().rev().collect();
    format!("{} elements of type {} in the shape {dims:?}", array.elements(), array.dtype())
}

fn pipeline(stored: &Stored) -> fzgm::Result<Pipeline> {
    let mode = match stored.user.mode {
        Mode::Abs(_) if stored.bound > 0.0 => "abs",
        Mode::Rel(_) if stored.bound > 0.0 => "rel",
        _ => return preset("bits", stored.element.dtype),
    };
    let name = match stored.user.preset {
        Preset::Auto => "pfpl",
        Preset::HighOnce => "high",
        preset => preset.name(),
    };
    let mut pipeline = preset(name, stored.element.dtype)?;
    pipeline.set_everywhere("mode", |a| a.set_text("mode", mode))?;
    pipeline.set_everywhere("error_bound", |a| a.set_real("error_bound", stored.bound))?;
    pipeline.set_everywhere("outlier_threshold", |a| a.set_real("outlier_threshold", stored.threshold))?;
    if stored.user.preset.has_form() {
        return Ok(pipeline);
    }
    // With a step that depends on the chunk, a change of a part of the chunk could change other restored values.
    pipeline.set_everywhere("fixed_step", |a| a.set_int("fixed_step", 1))?;
    Ok(pipeline)
}

impl Plan {
    pub(crate) fn new(stored: &Stored) -> Answer<Plan> {
        Plan::on(stored, device()?)
    }

    fn on(stored: &Stored, device: Device) -> Answer<Plan> {
        let options = Options { container: Container::Compact, device, ..Options::default() };
        let array = array(stored)?;
        let pipeline = pipeline(stored).map_err(text)?;
        let encoder = Encoder::new(&pipeline, &array, &options).map_err(text)?;
        let decoder = encoder.decoder().map_err(text)?;
        let opaque = stored.element.opaque;
        Ok(Plan { encoder, decoder, options, opaque, encoding: None, decoding: None })
    }

    /// Largest number of bytes of a compressed chunk.
    pub(crate) fn max_bytes(&self) -> u64 {
        self.encoder.max_compressed_bytes()
    }

    pub(crate) fn encode(&mut self, chunk: &[u8], dst: &mut [u8]) -> Answer<usize> {
        let kept = self.encoding.take();
        let mut workspace = kept.map_or_else(|| self.encoder.workspace(), Ok).map_err(text)?;
        let bytes = self.encoder.compress(&mut workspace, chunk, dst).map_err(text)?;
        self.encoding = (self.encoder.workspace_bytes() <= MAX_KEPT).then_some(workspace);
        Ok(bytes)
    }

    /// The frame of a chunk.
    pub(crate) fn frame(&mut self, chunk: &[u8]) -> Answer<Block> {
        let mut block = Block::new(self.max_bytes())?;
        let bytes = self.encode(chunk, block.bytes_mut())?;
        block.shorten(bytes);
        Ok(block)
    }

    pub(crate) fn decode(&mut self, chunk: &[u8], dst: &mut [u8]) -> Answer<()> {
        let kept = self.decoding.take();
        let mut workspace = kept.map_or_else(|| self.decoder.workspace(), Ok).map_err(text)?;
        let done = self.decoder.decompress(&mut workspace, chunk, dst);
        self.decoding = (self.decoder.workspace_bytes() <= MAX_KEPT).then_some(workspace);
        match done {
            Ok(_) => Ok(()),
            // A program compressed this chunk itself and wrote it with H5Dwrite_chunk.
            Err(Error::PlanMismatch(_)) => self.decode_other(chunk, dst),
            Err(e) => Err(format!("a chunk cannot be restored: {e}")),
        }
    }

    fn decode_other(&self, chunk: &[u8], dst: &mut [u8]) -> Answer<()> {
        let failed = |e: Error| format!("a chunk cannot be restored: {e}");
        let decoder = Decoder::open(chunk, &self.options).map_err(failed)?;
        if is_other(decoder.array(), self.decoder.array(), self.opaque)
            || dst.len() as u64 != decoder.array().bytes()
        {
            return Err(format!(
                "a chunk cannot be restored: it contains {}, but a chunk of this dataset has {}; write chunks with the type and shape of the dataset's \
                 chunks, or in one dimension",
                described(decoder.array()),
                described(self.decoder.array())
            ));
        }
        let mut workspace = decoder.workspace().map_err(failed)?;
        decoder.decompress(&mut workspace, chunk, dst).map_err(failed).map(|_| ())
    }
}

/// The key of a cached plan.
#[derive(PartialEq)]
struct Key {
    words: Vec<u32>,
    device: Device,
}

thread_local! {
    /// Plans, the last used first. Each thread has its own list, so that a child of a fork does not wait for a lock
    /// of another thread.
    static PLANS: RefCell<Vec<(Key, Plan)>> = const { RefCell::new(Vec::new()) };
}

fn take(key: &Key) -> Option<Plan> {
    let found = PLANS.try_with(|plans| {
        let mut plans = plans.borrow_mut();
        let place = plans.iter().position(|(k, _)| k == key)?;
        Some(plans.remove(place).1)
    });
    // A thread that ends has no thread-local storage left.
    found.ok().flatten()
}

fn keep(key: Key, plan: Plan) {
    let _ = PLANS.try_with(|plans| {
        let mut plans = plans.borrow_mut();
        plans.truncate(MAX_PLANS - 1);
        plans.insert(0, (key, plan));
    });
}

/// Calls `f` with the plan of a dataset on a device. The thread then keeps the plan.
fn on_device<T>(
    words: &[u32],
    stored: &Stored,
    device: Device,
    f: &mut impl FnMut(&mut Plan) -> Answer<T>,
) -> Answer<T> {
    let before = ReserveAllocator::served();
    let key = Key { words: words.to_vec(), device };
    let mut plan = match take(&key) {
        Some(plan) => plan,
        None => Plan::on(stored, device)?,
    };
    let done = f(&mut plan);
    // A plan with memory of the reserve is not kept, because other calls may need the reserve.
    if ReserveAllocator::served() == before {
        keep(key, plan);
    }
    done
}

/// Calls `f` with the plan of a dataset.
///
/// If `f` fails on a GPU, it is called again for the CPU, which writes the same bytes. A missing GPU, or a process that
/// was forked after CUDA had started, must not be a reason to reject a chunk. Therefore only `local` reports an invalid
/// device.
pub(crate) fn with_plan<T>(
    words: &[u32],
    stored: &Stored,
    mut f: impl FnMut(&mut Plan) -> Answer<T>,
) -> Answer<T> {
    let wish = device().unwrap_or_default();
    match on_device(words, stored, wish, &mut f) {
        Err(_) if matches!(wish, Device::Cuda(_)) => on_device(words, stored, Device::Cpu, &mut f),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;
    use crate::words::User;
    use fzgm::DType;

    fn stored(element: Element, dims: &[u64]) -> Stored {
        let user = User { mode: Mode::Abs(0.5), preset: Preset::Auto };
        let bound = if element.dtype.is_float() { 0.5 } else { 0.0 };
        Stored { user, element, bound, threshold: f64::INFINITY, fill: None, dims: dims.to_vec() }
    }

    #[test]
    fn chunks_have_at_most_three_dimensions_without_those_of_1() {
        let of = |dims: &[u64]| {
            array(&stored(Element::number(DType::F32, false), dims)).map(|a| a.dims().to_vec())
        };
        assert_eq!(of(&[1, 721, 1440]), Ok(vec![1440, 721]));
        assert_eq!(of(&[4, 3, 1, 5, 7]), Ok(vec![7, 5, 12]));
        assert_eq!(of(&[1, 1]), Ok(vec![1]));
        let record = stored(Element::opaque(12), &[10, 2]);
        assert_eq!(array(&record).map(|a| (a.dtype(), a.dims().to_vec())), Ok((DType::U32, vec![60])));
    }

    #[test]
    fn files_and_frames_of_other_pipelines_are_read() {
        let chunk: Vec<u8> = (0..600).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let mut plan = Plan::on(&stored(Element::number(DType::F32, false), &[20, 30]), Device::Cpu).unwrap();
        let array = Array::new(DType::F32, &[600]).unwrap();
        for container in [Container::Fzm, Container::Compact] {
            let options = Options { container, ..Options::default() };
            let own = fzgm::compress(&preset("bits", DType::F32).unwrap(), &array, &options, &chunk).unwrap();
            let mut dst = vec![0; chunk.len()];
            plan.decode(&own, &mut dst).unwrap();
            assert_eq!(dst, chunk);
            assert!(plan.decode(&own, &mut dst[..chunk.len() - 4]).is_err());
        }
    }

    #[test]
    fn chunks_of_another_type_or_shape_are_refused() {
        let chunk = vec![0; 2400];
        let mut dst = chunk.clone();
        let mut plan = Plan::on(&stored(Element::number(DType::F32, false), &[20, 30]), Device::Cpu).unwrap();
        let mut words = Plan::on(&stored(Element::opaque(12), &[10, 20]), Device::Cpu).unwrap();
        let frame = |dtype: DType, dims: &[u64]| {
            let array = Array::new(dtype, dims).unwrap();
            fzgm::compress(&preset("bits", dtype).unwrap(), &array, &Options::default(), &chunk).unwrap()
        };
        for dims in [&[30, 20][..], &[30, 1, 20], &[1, 1, 1, 30, 20], &[600], &[1, 600]] {
            plan.decode(&frame(DType::F32, dims), &mut dst).unwrap();
            words.decode(&frame(DType::F32, dims), &mut dst).unwrap();
        }
        for (dtype, dims, found) in [
            (DType::F32, &[20, 30][..], "600 elements of type f32 in the shape [30, 20]"),
            (DType::F32, &[30, 10, 2], "600 elements of type f32 in the shape [2, 10, 30]"),
            (DType::I32, &[30, 20], "600 elements of type i32 in the shape [20, 30]"),
            (DType::F64, &[15, 20], "300 elements of type f64 in the shape [20, 15]"),
        ] {
            let text = plan.decode(&frame(dtype, dims), &mut dst).unwrap_err();
            let wanted = "a chunk of this dataset has 600 elements of type f32 in the shape [20, 30]";
            assert!(text.contains(found) && text.contains(wanted), "{text}");
        }
        assert!(words.decode(&frame(DType::F64, &[300]), &mut dst).is_err());
    }

    #[test]
    fn a_thread_keeps_the_plans_of_the_last_datasets() {
        let element = Element::number(DType::I32, false);
        for rows in (1..=20).chain([20]) {
            let stored = stored(element, &[rows]);
            let chunk = vec![7; 4 * rows as usize];
            let made = with_plan(&stored.words(), &stored, |plan| {
                let mut dst = vec![0; plan.max_bytes() as usize];
                plan.encode(&chunk, &mut dst)
            });
            assert!(made.is_ok());
        }
        let held: Vec<u64> =
            PLANS.with_borrow(|plans| plans.iter().map(|(_, p)| p.encoder.array().elements()).collect());
        assert_eq!(held, (13..=20).rev().collect::<Vec<_>>());
    }
}

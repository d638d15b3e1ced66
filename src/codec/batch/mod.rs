//! Batches: one call for many arrays, of equal or different types, shapes, and pipelines.

mod calls;
mod workspace;

use super::{Decoder, DeviceSlice, Encoder};
use crate::base::error::{Error, Result};
use crate::base::thread_pool::MAX_THREADS;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
pub use workspace::BatchWorkspace;

/// The plans of one call for many arrays, [`Encoder`]s or [`Decoder`]s. Immutable; any number of threads may
/// share it, each with a workspace of its own. Each container has the bytes of a call for its array alone.
pub struct Batch<P> {
    plans: Vec<Arc<P>>,
    threads: u32,
    /// Unique.
    id: u64,
}

/// An array of a call: its memory, and that of its container.
#[derive(Clone, Copy, Debug)]
pub struct BatchItem {
    /// Index of its plan in the batch.
    pub array: usize,
    /// Bytes to read.
    pub src: DeviceSlice,
    /// Room for the bytes to write.
    pub dst: DeviceSlice,
}

impl<P> Batch<P> {
    /// A batch with a plan for each array; the arrays of one plan share it. `threads` of each call take one
    /// array at a time: 0 for all cores, 1 for the calling thread alone. The option `threads` of the plans
    /// has no effect on the calls.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for more than [`MAX_THREADS`] threads.
    pub fn new(plans: Vec<Arc<P>>, threads: u32) -> Result<Batch<P>> {
        if threads > MAX_THREADS {
            return Err(Error::argument("threads", threads, format!("0 (all cores) to {MAX_THREADS}")));
        }
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Batch { plans, threads, id: NEXT.fetch_add(1, Ordering::Relaxed) })
    }

    /// The number of arrays.
    pub fn len(&self) -> usize {
        self.plans.len()
    }

    /// True if there are no arrays.
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// The plan of each array.
    pub fn plans(&self) -> &[Arc<P>] {
        &self.plans
    }

    /// The identity of the batch.
    pub(in crate::codec) fn identity(&self) -> u64 {
        self.id
    }

    fn plan(&self, array: usize) -> Result<&P> {
        let plan = self.plans.get(array).map(|plan| &**plan);
        let last = self.len().wrapping_sub(1);
        plan.ok_or_else(|| Error::argument("the index of an array", array, format!("at most {last}")))
    }
}

impl Batch<Encoder> {
    /// The decoders for the containers of the batch, in its order. The arrays of one encoder share a decoder.
    ///
    /// # Errors
    /// As [`Encoder::decoder`].
    pub fn decoders(&self) -> Result<Batch<Decoder>> {
        let mut made: Vec<(*const Encoder, Arc<Decoder>)> = vec![];
        let mut plans = Vec::with_capacity(self.len());
        for encoder in &self.plans {
            let key = Arc::as_ptr(encoder);
            let known = made.iter().find(|(of, _)| *of == key).map(|(_, decoder)| decoder.clone());
            let decoder = match known {
                Some(decoder) => decoder,
                None => Arc::new(encoder.decoder()?),
            };
            if !made.iter().any(|(of, _)| *of == key) {
                made.push((key, decoder.clone()));
            }
            plans.push(decoder);
        }
        Batch::new(plans, self.threads)
    }
}

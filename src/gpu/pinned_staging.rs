//! Large copies between a device and memory of the host that is not pinned: through two pinned halves, so that the device
//! copies the one while the processor fills or empties the other.
#![allow(unsafe_code)]

use super::context::Context;
use super::driver::{Driver, Handle};
use super::memory::{self, Pinned};
use super::pointer::pinned;
use super::stream::{Event, Stream};
use crate::base::error::Result;
use crate::base::parallel::Parallel;

/// Bytes of a half.
const HALF: usize = 4 << 20;
/// From here on two halves are quicker than the driver's own way.
const WORTH_IT: usize = 2 * HALF;

/// The halves, each with an event that marks when the device has finished with it.
pub(crate) struct PinnedStaging {
    driver: &'static Driver,
    halves: [Pinned; 2],
    passed: [Event; 2],
}

impl PinnedStaging {
    fn new(context: &Context) -> Result<PinnedStaging> {
        let driver = context.driver();
        let halves = [Pinned::new(context, HALF as u64)?, Pinned::new(context, HALF as u64)?];
        Ok(PinnedStaging { driver, halves, passed: [Event::new(context)?, Event::new(context)?] })
    }

    /// The pinned_staging that is kept, or a new one; `None` where a plain copy is as good.
    fn staging_for<'m>(
        context: &Context,
        kept: &'m mut Option<PinnedStaging>,
        host: &[u8],
    ) -> Result<Option<&'m mut PinnedStaging>> {
        if host.len() < WORTH_IT || pinned(host.as_ptr() as u64)? {
            return Ok(None);
        }
        if kept.is_none() {
            *kept = Some(PinnedStaging::new(context)?);
        }
        Ok(kept.as_mut())
    }

    /// Copies to the device and waits.
    pub(crate) fn upload(
        context: &Context,
        kept: &mut Option<PinnedStaging>,
        to: u64,
        src: &[u8],
        stream: Stream,
        threads: Parallel<'_>,
    ) -> Result<()> {
        let Some(pinned_staging) = PinnedStaging::staging_for(context, kept, src)? else {
            return memory::upload(context, to, src, stream);
        };
        for (k, piece) in src.chunks(HALF).enumerate() {
            if k >= 2 {
                pinned_staging.passed[k % 2].wait()?;
            }
            let half = &mut pinned_staging.halves[k % 2].bytes_mut()[..piece.len()];
            threads.copy(piece, half);
            // SAFETY: the half is not touched again before its event has passed, or the stream.
            unsafe { pinned_staging.driver.upload(to as Handle + k * HALF, half, stream.0)? };
            pinned_staging.passed[k % 2].record(stream)?;
        }
        stream.synchronize(context)
    }

    /// Copies from the device and waits.
    pub(crate) fn download(
        context: &Context,
        kept: &mut Option<PinnedStaging>,
        dst: &mut [u8],
        from: u64,
        stream: Stream,
        threads: Parallel<'_>,
    ) -> Result<()> {
        let Some(pinned_staging) = PinnedStaging::staging_for(context, kept, dst)? else {
            return memory::download(context, dst, from, stream);
        };
        let pieces = dst.len().div_ceil(HALF);
        let range = |k: usize, len: usize| k * HALF..len.min((k + 1) * HALF);
        for k in 0..=pieces {
            if k < pieces {
                let n = range(k, dst.len()).len();
                let half = &mut pinned_staging.halves[k % 2].bytes_mut()[..n];
                // SAFETY: the previous contents were copied out one round ago; the half is not touched before
                // its event has completed.
                unsafe { pinned_staging.driver.download(half, from as Handle + k * HALF, stream.0)? };
                pinned_staging.passed[k % 2].record(stream)?;
            }
            if k > 0 {
                pinned_staging.passed[(k - 1) % 2].wait()?;
                let r = range(k - 1, dst.len());
                let n = r.len();
                threads.copy(&pinned_staging.halves[(k - 1) % 2].bytes()[..n], &mut dst[r]);
            }
        }
        Ok(())
    }
}

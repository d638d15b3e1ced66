//! The same code, compiled for wider registers, fused multiply-add, and operations on bits where the machine has them, and loops over
//! rows for it.

#![allow(unsafe_code)]

/// Work whose loops are inlined into [`Work::run`], so that they are compiled for the registers of the function around it.
pub(crate) trait Work {
    type Result;
    fn run(self) -> Self::Result;
}

/// True if the machine has the instructions of [`widest`] and of all stages with code for wide registers.
#[cfg(target_arch = "x86_64")]
pub(super) fn available() -> bool {
    #[cfg(test)]
    if PORTABLE.get() {
        return false;
    }
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("popcnt")
}

#[cfg(test)]
thread_local! {
    static PORTABLE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The result of `f`, for which this thread uses the instructions of every machine.
#[cfg(test)]
pub(crate) fn portable<R>(f: impl FnOnce() -> R) -> R {
    PORTABLE.set(true);
    let result = f();
    PORTABLE.set(false);
    result
}

/// Does the work with the widest registers.
#[cfg(target_arch = "x86_64")]
pub(crate) fn widest<W: Work>(work: W) -> W::Result {
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn wide<W: Work>(work: W) -> W::Result {
        work.run()
    }
    if available() {
        // SAFETY: the machine has all of these features.
        unsafe { wide(work) }
    } else {
        work.run()
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn available() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn widest<W: Work>(work: W) -> W::Result {
    work.run()
}

/// Requests memory that is read soon. Processors do so alone only if a loop reads it in the order of its addresses.
#[inline(always)]
pub(super) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 machine has the instruction, which accepts any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// Elements that a loop of known length works on at once: the compiler then leaves no rest of a long vector to a loop over single elements.
pub(super) const LANES: usize = 8;

/// Elements of both in turns; the last one of an odd number is of `even`.
#[inline(always)]
pub(super) fn interleave<T: Copy>(even: &[T], odd: &[T], out: &mut [T]) {
    let (pairs, last) = out.split_at_mut(out.len() / 2 * 2);
    let n = pairs.len() / 2;
    let mut pairs = pairs.chunks_exact_mut(2 * LANES);
    let (mut evens, mut odds) = (even[..n].chunks_exact(LANES), odd[..n].chunks_exact(LANES));
    for ((pairs, even), odd) in (&mut pairs).zip(&mut evens).zip(&mut odds) {
        for i in 0..LANES {
            (pairs[2 * i], pairs[2 * i + 1]) = (even[i], odd[i]);
        }
    }
    let others = evens.remainder().iter().zip(odds.remainder());
    for (pair, (&even, &odd)) in pairs.into_remainder().chunks_exact_mut(2).zip(others) {
        (pair[0], pair[1]) = (even, odd);
    }
    if let [last] = last {
        *last = even[n];
    }
}

/// Every second element from the first on. The last of them may be the last element there is.
#[inline(always)]
pub(super) fn every_second<T: Copy>(from: &[T], out: &mut [T]) {
    let vectors = (from.len() / (2 * LANES)).min(out.len() / LANES);
    let (whole, rest) = out.split_at_mut(vectors * LANES);
    for (out, pairs) in whole.chunks_exact_mut(LANES).zip(from.chunks_exact(2 * LANES)) {
        for i in 0..LANES {
            out[i] = pairs[2 * i];
        }
    }
    for (out, pair) in rest.iter_mut().zip(from[2 * whole.len()..].chunks(2)) {
        *out = pair[0];
    }
}

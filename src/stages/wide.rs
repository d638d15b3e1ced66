//! The same code, compiled for wider registers and for fused multiply-add where the machine has them, and loops over rows for it.

#![allow(unsafe_code)]

/// Work whose loops are inlined into [`Work::run`], so that they are compiled for the registers of the function around it.
pub(super) trait Work {
    type Result;
    fn run(self) -> Self::Result;
}

/// Does the work with the widest registers.
#[cfg(target_arch = "x86_64")]
pub(super) fn widest<W: Work>(work: W) -> W::Result {
    #[target_feature(enable = "avx2,fma")]
    unsafe fn wide<W: Work>(work: W) -> W::Result {
        work.run()
    }
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the machine has both features.
        unsafe { wide(work) }
    } else {
        work.run()
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn widest<W: Work>(work: W) -> W::Result {
    work.run()
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

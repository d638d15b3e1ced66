//! The same code, compiled for wider registers and for fused multiply-add where the machine has them.

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

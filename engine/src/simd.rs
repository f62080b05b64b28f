//! Run-time choice of the instruction set.
//!
//! Kernels are written once, over arrays of lanes, and inlined into an entry compiled for AVX2 and FMA
//! where the processor has them. The results are the same bits either way: the compiler neither reorders
//! nor contracts floating-point arithmetic, and an explicit fused multiply-add is exact on both paths.

/// Runs `work`, compiled for AVX2 + FMA where the processor has both.
///
/// Only what is inlined into `work` profits: mark everything it calls `#[inline(always)]`.
#[inline(always)]
pub(crate) fn dispatch<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the two features that the entry is compiled for.
        return unsafe { avx2_fma(work) };
    }
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2_fma<R>(work: impl FnOnce() -> R) -> R {
    work()
}

//! Run-time choice of the instruction set.
//!
//! Kernels are written once, over arrays of lanes, and inlined into an entry compiled for AVX2 and FMA
//! where the processor has them. The results are the same bits either way: the compiler neither reorders
//! nor contracts floating-point arithmetic, and an explicit fused multiply-add is exact on both paths.
//!
//! The environment variable `COTANGENT_SIMD=baseline` forces the other path, for tests.

use std::sync::OnceLock;

/// Whether the kernels run with AVX2 and FMA.
#[inline]
fn wide() -> bool {
    static WIDE: OnceLock<bool> = OnceLock::new();
    *WIDE.get_or_init(|| {
        let forced = match std::env::var("COTANGENT_SIMD").as_deref() {
            Err(_) | Ok("" | "avx2+fma") => false,
            Ok("baseline") => true,
            Ok(other) => panic!("COTANGENT_SIMD={other}: \"baseline\" or \"avx2+fma\" is needed"),
        };
        #[cfg(target_arch = "x86_64")]
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        #[cfg(not(target_arch = "x86_64"))]
        let has = false;
        has && !forced
    })
}

/// The instruction set in use: `"avx2+fma"` or `"baseline"`.
pub fn level() -> &'static str {
    if wide() { "avx2+fma" } else { "baseline" }
}

/// Runs `work`, compiled for AVX2 + FMA where the processor has both.
///
/// Only what is inlined into `work` profits: mark everything it calls `#[inline(always)]`.
#[inline(always)]
pub(crate) fn dispatch<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: the processor has the two features that the entry is compiled for.
        return unsafe { avx2_fma(work) };
    }
    work()
}

/// Runs `vector` on a state, compiled for AVX2 + FMA, where the processor has both, else `scalar`: the same work on
/// one lane, which is much less code for every formula.
#[inline(always)]
pub(crate) fn dispatch_lanes<A, R>(state: A, vector: impl FnOnce(A) -> R, scalar: impl FnOnce(A) -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: the processor has the two features that the entry is compiled for.
        return unsafe {
            avx2_fma(
                #[inline(always)]
                || vector(state),
            )
        };
    }
    let _ = vector;
    scalar(state)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2_fma<R>(work: impl FnOnce() -> R) -> R {
    work()
}

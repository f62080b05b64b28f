//! Run-time choice of the instruction set.
//!
//! Kernels are written once, over arrays of lanes, blocks or registers, and inlined into an entry compiled
//! for AVX2 and FMA, or AVX-512, where the processor has them. The results are the same bits on every path:
//! the compiler neither reorders nor contracts floating-point arithmetic, and an explicit fused multiply-add
//! is rounded once on all of them. Large matrix products are the exception: see [`instruction_set`].
//!
//! On x86-64, code for processors without AVX2 is compiled where the machine that compiles has none, and with
//! the feature `portable`.
//!
//! The environment variable `COTANGENT_SIMD` lowers the level, for tests: `baseline`, `avx2+fma` or `avx512`.

mod block;
pub(crate) mod columns;
mod product;
mod register;
pub(crate) mod session;

use std::sync::OnceLock;

pub use block::{
    Aligned, Avx2, Avx512, Block, LANES, Portable, add, ask_ahead, asks_ahead, for_each_block, prefetch,
    read, write,
};
pub use product::{Columns, Strided, tile};
pub use register::{Baseline, Dispatched, F32x8, F32x16, F64x4, F64x8, Key, Register};

/// Instruction sets that kernels are compiled for, each containing the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Baseline,
    Avx2,
    Avx512,
}

const LEVELS: [(&str, Level); 3] =
    [("baseline", Level::Baseline), ("avx2+fma", Level::Avx2), ("avx512", Level::Avx512)];

#[inline]
fn in_use() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let detected = detect();
        let level = match std::env::var("COTANGENT_SIMD") {
            Ok(wanted) if !wanted.is_empty() => match LEVELS.iter().find(|(name, _)| *name == wanted) {
                Some(&(_, level)) => level.min(detected),
                None => {
                    panic!("COTANGENT_SIMD={wanted}: one of {:?} is needed", LEVELS.map(|(name, _)| name))
                }
            },
            _ => detected,
        };
        if cfg!(not(portable)) && level == Level::Baseline {
            without_vectors();
        }
        level
    })
}

/// There is no code for this processor, or for the level that is asked for.
#[cold]
#[inline(never)]
fn without_vectors() -> ! {
    panic!(
        "this program was built for x86-64 processors with AVX2 and FMA: build it with the feature \
         `portable` of `cotangent`, or on a machine without them"
    )
}

fn detect() -> Level {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        let wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        return if wide { Level::Avx512 } else { Level::Avx2 };
    }
    Level::Baseline
}

/// The instruction set in use: `"avx512"`, `"avx2+fma"` or `"baseline"`.
///
/// # Panics
/// If the environment variable `COTANGENT_SIMD` is another word, or there is no code for this processor: see
/// the feature `portable`.
pub fn level() -> &'static str {
    let level = in_use();
    LEVELS.iter().find(|(_, l)| *l == level).expect("every level has a name").0
}

/// Whether kernels use vector instructions.
///
/// # Panics
/// As [`level`].
pub fn has_vectors() -> bool {
    in_use() >= Level::Avx2
}

/// Whether kernels use registers of 64 bytes: AVX-512.
///
/// # Panics
/// As [`level`].
pub fn has_wide_vectors() -> bool {
    in_use() == Level::Avx512
}

/// The instruction set of the kernels and that of large matrix products, as in
/// `"avx512, matrix products avx512"`.
///
/// Two runs of one build on the processor with the same seeds give the same bits, for any number of
/// threads, if this text is the same. On another instruction set, the sums in matrix products are formed in
/// another order or rounded at other places; the kernels' own results do not change. Most large products are
/// computed by `matrixmultiply`, which detects the instruction set for itself: `COTANGENT_SIMD` lowers only
/// that of the kernels.
///
/// # Panics
/// As [`level`].
pub fn instruction_set() -> String {
    format!("{}, matrix products {}", level(), level_of_products())
}

/// What `matrixmultiply` 0.3 chooses, by the same tests in the same order.
fn level_of_products() -> &'static str {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        if is_x86_feature_detected!("avx512f") {
            return "avx512";
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return "avx2+fma";
        }
        if is_x86_feature_detected!("avx") {
            return "avx";
        }
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("neon") {
        return "neon";
    }
    "baseline"
}

/// Runs `work`, compiled for AVX2 + FMA where the processor has both.
///
/// Only what is inlined into `work` is compiled so: mark everything it calls `#[inline(always)]`.
#[inline(always)]
pub fn dispatch<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if in_use() >= Level::Avx2 {
        // SAFETY: the processor has the two features that the entry is compiled for.
        return unsafe { work.avx2_fma() };
    }
    #[cfg(portable)]
    return work();
    #[cfg(not(portable))]
    without_vectors()
}

/// Runs `vector` on a state, compiled for AVX2 + FMA, where the processor has both. Elsewhere it runs
/// `scalar`: the same work on one lane, which is much less code for every formula.
#[inline(always)]
pub fn dispatch_lanes<A, R>(state: A, vector: impl FnOnce(A) -> R, scalar: impl FnOnce(A) -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if in_use() >= Level::Avx2 {
        // SAFETY: the processor has the two features that the entry is compiled for.
        return unsafe { vector.avx2_fma_on(state) };
    }
    let _ = vector;
    #[cfg(portable)]
    return scalar(state);
    #[cfg(not(portable))]
    {
        let _ = scalar;
        without_vectors()
    }
}

/// As [`dispatch_lanes`], with `widest` compiled for AVX-512 where the processor has that.
#[inline(always)]
pub fn dispatch_wide<A, R>(
    state: A,
    widest: impl FnOnce(A) -> R,
    vector: impl FnOnce(A) -> R,
    scalar: impl FnOnce(A) -> R,
) -> R {
    #[cfg(target_arch = "x86_64")]
    if in_use() == Level::Avx512 {
        // SAFETY: the processor has the features that the entry is compiled for.
        return unsafe { widest.avx512_on(state) };
    }
    let _ = widest;
    dispatch_lanes(state, vector, scalar)
}

/// Runs an expression on a state, compiled for the instruction set in use, as [`dispatch_wide`] does.
///
/// In the expression the name, which may be left out, is the [`Block`] of the instruction set. What the
/// expression calls is compiled for the instruction set too if it is marked `#[inline(always)]`.
///
/// ```
/// use cotangent_numbers::line::line_dot;
/// use cotangent_numbers::simd::dispatch_blocks;
///
/// let (x, y) = ([1.0, 2.0], [3.0, 4.0]);
/// assert_eq!(dispatch_blocks!(S, (&x, &y), |(x, y)| line_dot::<f64, S>(x, y)), 11.0);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch_blocks {
    ($block:ident, $state:expr, |$name:pat_param| $work:expr) => {
        $crate::simd::dispatch_wide(
            $state,
            #[inline(always)]
            |$name| {
                type $block = $crate::simd::Avx512;
                $work
            },
            #[inline(always)]
            |$name| {
                type $block = $crate::simd::Avx2;
                $work
            },
            #[inline(always)]
            |$name| {
                type $block = $crate::simd::Portable;
                $work
            },
        )
    };
    ($state:expr, |$name:pat_param| $work:expr) => {
        $crate::simd::dispatch_wide(
            $state,
            #[inline(always)]
            |$name| $work,
            #[inline(always)]
            |$name| $work,
            #[inline(always)]
            |$name| $work,
        )
    };
}
#[doc(inline)]
pub use dispatch_blocks;

/// Runs a closure, compiled for an instruction set.
///
/// These are methods of the closure because of where the compiler puts their code: a method goes into the
/// codegen unit of its `Self` type's module, a free function into that of the function's module. As methods,
/// each kernel is compiled with its own module. The units compile in parallel, and after an edit of one
/// kernel only its own unit is compiled again.
#[cfg(target_arch = "x86_64")]
trait Entry<R>: FnOnce() -> R + Sized {
    /// # Safety
    ///
    /// The processor has AVX2 and FMA.
    unsafe fn avx2_fma(self) -> R;
}

#[cfg(target_arch = "x86_64")]
impl<R, F: FnOnce() -> R> Entry<R> for F {
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2_fma(self) -> R {
        self()
    }
}

/// As [`Entry`], for a closure that takes a state.
#[cfg(target_arch = "x86_64")]
trait EntryOn<A, R>: FnOnce(A) -> R + Sized {
    /// # Safety
    ///
    /// The processor has AVX2 and FMA.
    unsafe fn avx2_fma_on(self, state: A) -> R;

    /// # Safety
    ///
    /// The processor has AVX2, FMA, and AVX-512 with its parts DQ and VL.
    unsafe fn avx512_on(self, state: A) -> R;
}

#[cfg(target_arch = "x86_64")]
impl<A, R, F: FnOnce(A) -> R> EntryOn<A, R> for F {
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2_fma_on(self, state: A) -> R {
        self(state)
    }

    #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl")]
    unsafe fn avx512_on(self, state: A) -> R {
        self(state)
    }
}

//! Eight neighbours as the scalar of a formula: what pair formulas are evaluated on.
//!
//! As with [`Block`](super::Block): where a formula and its derivatives are one long stretch of code, the compiler no
//! longer makes vector instructions of arrays of [`Lanes`]. There, the register is named.

use crate::{Float, Lanes, Scalar};

/// Eight numbers of type `T`. Every implementation computes the same bits.
#[doc(hidden)]
#[allow(missing_docs)]
pub trait Octet<T>: Scalar {
    fn splat(x: T) -> Self;
    fn load(x: &[T; 8]) -> Self;
    fn store(self, out: &mut [T; 8]);
}

impl<T: Float> Octet<T> for Lanes<8, T> {
    #[inline(always)]
    fn splat(x: T) -> Self {
        Lanes::splat(x)
    }
    #[inline(always)]
    fn load(x: &[T; 8]) -> Self {
        Lanes::from(*x)
    }
    #[inline(always)]
    fn store(self, out: &mut [T; 8]) {
        *out = self.to_array();
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) type OctetF32 = Lanes<8, f32>;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::OctetF32;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::*;
    use std::ops::{Add, Div, Mul, Neg, Sub};

    use super::Octet;
    use crate::{Lanes, Scalar};

    /// A register of AVX2. Made only in what [`dispatch_lanes`](crate::simd::dispatch_lanes) runs where the processor has
    /// it.
    #[derive(Clone, Copy, Debug)]
    pub struct OctetF32(__m256);

    impl OctetF32 {
        #[inline(always)]
        fn lanes(self) -> Lanes<8, f32> {
            let mut lanes = [0.0; 8];
            self.store(&mut lanes);
            Lanes::from(lanes)
        }
        #[inline(always)]
        fn of(lanes: Lanes<8, f32>) -> Self {
            Self::load(&lanes.to_array())
        }
    }

    impl Octet<f32> for OctetF32 {
        #[inline(always)]
        fn splat(x: f32) -> Self {
            // SAFETY: only called where the processor has AVX2.
            unsafe { OctetF32(_mm256_set1_ps(x)) }
        }
        #[inline(always)]
        fn load(x: &[f32; 8]) -> Self {
            // SAFETY: only called where the processor has AVX2; eight elements are read from eight.
            unsafe { OctetF32(_mm256_loadu_ps(x.as_ptr())) }
        }
        #[inline(always)]
        fn store(self, out: &mut [f32; 8]) {
            // SAFETY: only called where the processor has AVX2; eight elements are written to eight.
            unsafe { _mm256_storeu_ps(out.as_mut_ptr(), self.0) }
        }
    }

    macro_rules! operators {
        ($($trait:ident $method:ident $instruction:ident;)*) => { $(
            impl $trait for OctetF32 {
                type Output = Self;
                #[inline(always)]
                fn $method(self, b: Self) -> Self {
                    // SAFETY: a value of this type exists only where the processor has AVX2.
                    unsafe { OctetF32($instruction(self.0, b.0)) }
                }
            }
        )* };
    }
    operators! {
        Add add _mm256_add_ps;
        Sub sub _mm256_sub_ps;
        Mul mul _mm256_mul_ps;
        Div div _mm256_div_ps;
    }

    impl Neg for OctetF32 {
        type Output = Self;
        #[inline(always)]
        fn neg(self) -> Self {
            // SAFETY: a value of this type exists only where the processor has AVX2.
            unsafe { OctetF32(_mm256_xor_ps(self.0, _mm256_set1_ps(-0.0))) }
        }
    }

    /// The elementary functions are those of lanes.
    macro_rules! elementary {
        ($($name:ident)*; $($pair:ident)*) => {
            $(
                #[inline(always)]
                fn $name(self) -> Self {
                    Self::of(self.lanes().$name())
                }
            )*
            $(
                #[inline(always)]
                fn $pair(self) -> (Self, Self) {
                    let (a, b) = self.lanes().$pair();
                    (Self::of(a), Self::of(b))
                }
            )*
        };
    }

    impl Scalar for OctetF32 {
        type Mask = Mask;
        const EPSILON: f64 = f32::EPSILON as f64;

        #[inline(always)]
        fn constant(value: f64) -> Self {
            Self::splat(value as f32)
        }
        #[inline(always)]
        fn lt(self, other: Self) -> Mask {
            // SAFETY: a value of this type exists only where the processor has AVX2.
            unsafe { Mask(_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0)) }
        }
        #[inline(always)]
        fn select(mask: Mask, a: Self, b: Self) -> Self {
            // SAFETY: a value of this type exists only where the processor has AVX2.
            unsafe { OctetF32(_mm256_blendv_ps(b.0, a.0, mask.0)) }
        }
        /// Evaluates only what some lane needs.
        #[inline(always)]
        fn choose(mask: Mask, a: impl FnOnce() -> Self, b: impl FnOnce() -> Self) -> Self {
            // SAFETY: a value of this type exists only where the processor has AVX2.
            match unsafe { _mm256_movemask_ps(mask.0) } {
                0xff => a(),
                0 => b(),
                _ => Self::select(mask, a(), b()),
            }
        }
        #[inline(always)]
        fn abs(self) -> Self {
            // SAFETY: a value of this type exists only where the processor has AVX2.
            unsafe { OctetF32(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0)) }
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            // SAFETY: a value of this type exists only where the processor has AVX2.
            unsafe { OctetF32(_mm256_sqrt_ps(self.0)) }
        }
        elementary! {
            exp exp_m1 ln ln_1p sin cos tan asin atan sinh cosh tanh asinh acosh atanh erf gelu
            tanc arctanc sinc cosc arcsinc;
            sin_cos sinh_cosh tanh_with_slope gelu_with_slope sinc_cosc tanc_secant
        }
    }

    /// A comparison of two registers: all ones or all zeros in each lane.
    #[derive(Clone, Copy)]
    pub struct Mask(__m256);
}

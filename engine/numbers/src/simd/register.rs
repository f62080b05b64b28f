//! Registers of neighbouring numbers as the scalar of a formula. Pair formulas and elementary functions are
//! evaluated on them.
//!
//! Where a formula and its derivatives are one long stretch of code, the compiler does not turn arrays of
//! [`Lanes`] into vector instructions. So the register is named, as in a [`Block`](super::Block).

use crate::elementary::Packed;
use crate::lanes::Lanes;
use crate::storage::Storage;

/// What it takes to name a register type. The methods of a register are safe to call only in what
/// [`dispatch_wide`](super::dispatch_wide) runs for it. The key is for the engine's kernels: the engine does
/// not export it.
#[doc(hidden)]
pub trait Key {}

/// The only key.
pub enum Dispatched {}

impl Key for Dispatched {}

/// Neighbours of type `T`, `WIDTH` of them. Every implementation computes the same bits.
#[doc(hidden)]
#[allow(missing_docs)]
pub trait Register<T>: Packed<Element = T> {
    const WIDTH: usize;
    /// Loads the first numbers of a slice, as many as there are. The other lanes hold unspecified
    /// numbers.
    fn load(x: &[T]) -> Self;
    /// Writes the first numbers, as many as there is room for.
    fn store(self, out: &mut [T]);
}

impl<T: Storage, const R: usize> Register<T> for Lanes<R, T> {
    const WIDTH: usize = R;
    #[inline(always)]
    fn load(x: &[T]) -> Self {
        Lanes::load(x, 1.0)
    }
    #[inline(always)]
    fn store(self, out: &mut [T]) {
        Lanes::store(self, out);
    }
}

/// Lanes for every processor. On x86-64 without AVX2 formulas are computed number by number: vector code
/// without vector instructions is long, and takes long to compile.
#[cfg(target_arch = "x86_64")]
pub type Baseline<T> = Lanes<1, T>;

/// Lanes for every processor.
#[cfg(not(target_arch = "x86_64"))]
pub type Baseline<T> = Lanes<8, T>;

/// Eight lanes of `f32`, as an array.
#[cfg(not(target_arch = "x86_64"))]
pub type F32x8 = Lanes<8, f32>;

/// What takes the place of sixteen lanes of `f32`: eight, as an array.
#[cfg(not(target_arch = "x86_64"))]
pub type F32x16 = Lanes<8, f32>;

/// Four lanes of `f64`, as an array.
#[cfg(not(target_arch = "x86_64"))]
pub type F64x4 = Lanes<4, f64>;

/// Eight lanes of `f64`, as an array.
#[cfg(not(target_arch = "x86_64"))]
pub type F64x8 = Lanes<8, f64>;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{F32x8, F32x16, F64x4, F64x8};

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::*;
    use std::ops::{Add, Div, Mul, Neg, Sub};

    use super::{Packed, Register};
    use crate::scalar::Scalar;
    use crate::simd::columns::{Column, Entry, elementary, in_place, with_elementary};

    /// An AVX2 register. Made only in what [`dispatch_wide`](crate::simd::dispatch_wide) runs, and
    /// in entries of `columns`, on a processor with AVX2.
    #[derive(Clone, Copy, Debug)]
    pub struct F32x8(__m256);

    /// A choice of lanes: those whose sign bit is set.
    #[derive(Clone, Copy)]
    pub struct Mask8(__m256);

    /// An AVX-512 register. Made only in what [`dispatch_wide`](crate::simd::dispatch_wide) runs, and
    /// in entries of `columns`, on a processor with AVX-512.
    #[derive(Clone, Copy, Debug)]
    pub struct F32x16(__m512);

    /// A choice of lanes: a bit for each.
    #[derive(Clone, Copy)]
    pub struct Mask16(__mmask16);

    /// An AVX2 register. Made only in what [`dispatch_lanes`](crate::simd::dispatch_lanes) runs, and
    /// in entries of `columns`, on a processor with AVX2.
    #[derive(Clone, Copy, Debug)]
    pub struct F64x4(__m256d);

    /// A choice of lanes: those whose sign bit is set.
    #[derive(Clone, Copy)]
    pub struct Mask4(__m256d);

    /// An AVX-512 register. Made only in what [`dispatch_wide`](crate::simd::dispatch_wide) runs, and
    /// in entries of `columns`, on a processor with AVX-512.
    #[derive(Clone, Copy, Debug)]
    pub struct F64x8(__m512d);

    /// A choice of lanes: a bit for each.
    #[derive(Clone, Copy)]
    pub struct WideMask8(__mmask8);

    /// Comparisons and what is done with them. A mask of AVX2 is a register, one of AVX-512 has a bit for
    /// each lane.
    macro_rules! comparisons {
        (
            $register:ident $mask:ident $compare:ident;
            |$m:ident, $a:ident, $b:ident| $blend:expr; $bits:expr
        ) => {
            impl $register {
                #[inline(always)]
                fn less(self, other: Self) -> $mask {
                    // SAFETY: a value of this type exists only where the processor has the instruction.
                    unsafe { $mask($compare::<_CMP_LT_OQ>(self.0, other.0)) }
                }
                #[inline(always)]
                fn is_unordered(self, other: Self) -> $mask {
                    // SAFETY: a value of this type exists only where the processor has the instruction.
                    unsafe { $mask($compare::<_CMP_UNORD_Q>(self.0, other.0)) }
                }
                #[inline(always)]
                fn blend($mask($m): $mask, $register($a): Self, $register($b): Self) -> Self {
                    // SAFETY: a value of this type exists only where the processor has the instruction.
                    unsafe { $register($blend) }
                }
                /// A bit for each lane.
                #[inline(always)]
                fn bits($mask($m): $mask) -> u16 {
                    // SAFETY: a value of this type exists only where the processor has the instruction.
                    unsafe { $bits as u16 }
                }
            }
        };
    }
    comparisons! {
        F64x4 Mask4 _mm256_cmp_pd;
        |m, a, b| _mm256_blendv_pd(b, a, m); _mm256_movemask_pd(m)
    }
    comparisons! {
        F32x8 Mask8 _mm256_cmp_ps;
        |m, a, b| _mm256_blendv_ps(b, a, m); _mm256_movemask_ps(m)
    }
    comparisons! {
        F32x16 Mask16 _mm512_cmp_ps_mask;
        |m, a, b| _mm512_mask_blend_ps(m, b, a); _cvtmask16_u32(m)
    }
    comparisons! {
        F64x8 WideMask8 _mm512_cmp_pd_mask;
        |m, a, b| _mm512_mask_blend_pd(m, b, a); _cvtmask8_u32(m)
    }

    /// Slices that are shorter than a register, by a mask and not through a copy, which is a call. The lanes
    /// beyond their end are loaded as 1, and what formulas make of them is not stored.
    macro_rules! parts {
        (
            $register:ident $t:ident: |$len:ident| $mask:expr,
            |$x:ident, $taken:ident| $load:expr, $store:ident
        ) => {
            impl $register {
                #[inline(always)]
                fn load_part(x: &[$t]) -> Self {
                    let ($len, $x) = (x.len(), x.as_ptr());
                    // SAFETY: only called where the processor has the instructions; no element is read whose
                    // lane is not in the mask.
                    unsafe {
                        let $taken = $mask;
                        $register($load)
                    }
                }
                #[inline(always)]
                fn store_part(self, out: &mut [$t]) {
                    let $len = out.len();
                    // SAFETY: a value of this type exists only where the processor has the instructions; no
                    // element is written whose lane is not in the mask.
                    unsafe { $store(out.as_mut_ptr(), $mask, self.0) }
                }
            }
        };
    }
    parts! {
        F32x8 f32: |len| _mm256_loadu_si256(TAKEN_8[8 - len..].as_ptr().cast()),
        |x, taken| {
            let mask = _mm256_castsi256_ps(taken);
            _mm256_blendv_ps(_mm256_set1_ps(1.0), _mm256_maskload_ps(x, taken), mask)
        }, _mm256_maskstore_ps
    }
    parts! {
        F64x4 f64: |len| _mm256_loadu_si256(TAKEN_4[4 - len..].as_ptr().cast()),
        |x, taken| {
            let mask = _mm256_castsi256_pd(taken);
            _mm256_blendv_pd(_mm256_set1_pd(1.0), _mm256_maskload_pd(x, taken), mask)
        }, _mm256_maskstore_pd
    }
    parts! {
        F32x16 f32: |len| ((1_u32 << len) - 1) as __mmask16,
        |x, taken| _mm512_mask_loadu_ps(_mm512_set1_ps(1.0), taken, x), _mm512_mask_storeu_ps
    }
    parts! {
        F64x8 f64: |len| ((1_u32 << len) - 1) as __mmask8,
        |x, taken| _mm512_mask_loadu_pd(_mm512_set1_pd(1.0), taken, x), _mm512_mask_storeu_pd
    }

    /// Lanes that a mask takes, and as many that it does not.
    static TAKEN_8: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    static TAKEN_4: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

    /// Methods that are one instruction.
    macro_rules! operations {
        ($register:ident; $($method:ident $instruction:ident;)*) => { $(
            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                // SAFETY: a value of this type exists only where the processor has the instruction.
                unsafe { $register($instruction(self.0, b.0)) }
            }
        )* };
    }

    macro_rules! operators {
        ($register:ident; $($trait:ident $method:ident $instruction:ident;)*) => { $(
            impl $trait for $register {
                type Output = Self;
                operations! { $register; $method $instruction; }
            }
        )* };
    }

    /// As for [`Lanes`](crate::lanes::Lanes), but with the entry of the register's instruction set.
    macro_rules! elementary {
        ($register:ident $t:ident $width:literal $entry:ident;
            $($name:ident $operation:ident)*; $($pair:ident $pair_operation:ident)*
        ) => {
            $(
                #[inline(always)]
                fn $name(self) -> Self {
                    // Not generic, so it is compiled in this crate alone.
                    #[inline(never)]
                    unsafe fn called(columns: &[Column<$t>; 1]) {
                        use elementary::$operation::Operation;
                        // SAFETY: the caller's promise.
                        unsafe { <Operation as Entry<$t>>::$entry(columns, &in_place(1), $width) };
                    }
                    let mut x = Line([0.0; $width]);
                    self.store(&mut x.0);
                    // SAFETY: a value of this type exists only where the processor has the instructions. The
                    // column is one register, which the operation reads before it writes it.
                    unsafe { called(&[Column::from_mut(&mut x.0)]) };
                    Self::load(&x.0)
                }
            )*
            $(
                #[inline(always)]
                fn $pair(self) -> (Self, Self) {
                    #[inline(never)]
                    unsafe fn called(columns: &[Column<$t>; 2]) {
                        use elementary::$pair_operation::Operation;
                        // SAFETY: the caller's promise.
                        unsafe { <Operation as Entry<$t>>::$entry(columns, &in_place(2), $width) };
                    }
                    let (mut x, mut y) = (Line([0.0; $width]), Line([0.0; $width]));
                    self.store(&mut x.0);
                    // SAFETY: as for one function.
                    unsafe { called(&[Column::from_mut(&mut x.0), Column::from_mut(&mut y.0)]) };
                    (Self::load(&x.0), Self::load(&y.0))
                }
            )*
        };
    }

    /// Numbers that do not cross a line of the cache.
    #[repr(align(64))]
    struct Line<const WIDTH: usize, T>([T; WIDTH]);

    macro_rules! register {
        (
            $register:ident, $mask:ident, $t:ident, $width:literal, $entry:ident, $all:literal,
            $splat:ident $load:ident $store:ident $add:ident $sub:ident $mul:ident $div:ident
            $sqrt:ident $min:ident $max:ident $and:ident $or:ident $xor:ident $andnot:ident $fmadd:ident;
            $integers:ident $numbers:ident $add_bits:ident $left:ident $right:ident,
            |$sign:ident| $signs:expr
        ) => {
            operators! { $register; Add add $add; Sub sub $sub; Mul mul $mul; Div div $div; }

            impl Register<$t> for $register {
                const WIDTH: usize = $width;
                #[inline(always)]
                fn load(x: &[$t]) -> Self {
                    match x.first_chunk::<$width>() {
                        // SAFETY: only called where the processor has the instruction; as many elements are
                        // read as there are.
                        Some(block) => unsafe { $register($load(block.as_ptr())) },
                        None => Self::load_part(x),
                    }
                }
                #[inline(always)]
                fn store(self, out: &mut [$t]) {
                    if let Some(block) = out.first_chunk_mut::<$width>() {
                        // SAFETY: only called where the processor has the instruction; as many elements
                        // are written as there are.
                        return unsafe { $store(block.as_mut_ptr(), self.0) };
                    }
                    self.store_part(out);
                }
            }

            impl Packed for $register {
                type Element = $t;
                #[inline(always)]
                fn splat(x: $t) -> Self {
                    // SAFETY: only called where the processor has the instruction.
                    unsafe { $register($splat(x)) }
                }
                #[inline(always)]
                fn mul_add(self, b: Self, c: Self) -> Self {
                    // SAFETY: a value of this type exists only where the processor has the instruction.
                    unsafe { $register($fmadd(self.0, b.0, c.0)) }
                }
                operations! { $register; lesser $min; greater $max; and $and; or $or; xor $xor; }
                #[inline(always)]
                fn each(self, f: impl FnOnce(&mut [$t])) -> Self {
                    let mut numbers = Line([0.0; $width]);
                    self.store(&mut numbers.0);
                    f(&mut numbers.0);
                    Self::load(&numbers.0)
                }
                #[inline(always)]
                fn add_bits(self, other: Self) -> Self {
                    // SAFETY: a value of this type exists only where the processor has the instructions.
                    unsafe { $register($numbers($add_bits($integers(self.0), $integers(other.0)))) }
                }
                #[inline(always)]
                fn shift_left(self, count: usize) -> Self {
                    // SAFETY: a value of this type exists only where the processor has the instructions.
                    unsafe { $register($numbers($left($integers(self.0), _mm_cvtsi32_si128(count as i32)))) }
                }
                #[inline(always)]
                fn shift_right(self, count: usize) -> Self {
                    // SAFETY: a value of this type exists only where the processor has the instructions.
                    unsafe { $register($numbers($right($integers(self.0), _mm_cvtsi32_si128(count as i32)))) }
                }
                #[inline(always)]
                fn sign(self) -> $mask {
                    let $sign = self.0;
                    $mask($signs)
                }
            }

            impl Neg for $register {
                type Output = Self;
                #[inline(always)]
                fn neg(self) -> Self {
                    self.xor(Self::splat(-0.0))
                }
            }

            impl Scalar for $register {
                type Mask = $mask;
                const EPSILON: f64 = $t::EPSILON as f64;

                #[inline(always)]
                fn constant(value: f64) -> Self {
                    Self::splat(value as $t)
                }
                #[inline(always)]
                fn lt(self, other: Self) -> $mask {
                    self.less(other)
                }
                #[inline(always)]
                fn unordered(self, other: Self) -> $mask {
                    self.is_unordered(other)
                }
                #[inline(always)]
                fn select(mask: $mask, a: Self, b: Self) -> Self {
                    Self::blend(mask, a, b)
                }
                #[inline(always)]
                fn any(mask: $mask) -> bool {
                    Self::bits(mask) != 0
                }
                #[inline(always)]
                fn all(mask: $mask) -> bool {
                    Self::bits(mask) == $all
                }
                #[inline(always)]
                fn abs(self) -> Self {
                    // SAFETY: a value of this type exists only where the processor has the instructions.
                    unsafe { $register($andnot($splat(-0.0), self.0)) }
                }
                #[inline(always)]
                fn sqrt(self) -> Self {
                    // SAFETY: a value of this type exists only where the processor has the instruction.
                    unsafe { $register($sqrt(self.0)) }
                }
                with_elementary! { elementary! $register $t $width $entry; }
            }
        };
    }
    register! {
        F32x8, Mask8, f32, 8, avx2, 0xff,
        _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps
        _mm256_div_ps _mm256_sqrt_ps _mm256_min_ps _mm256_max_ps _mm256_and_ps
        _mm256_or_ps _mm256_xor_ps _mm256_andnot_ps _mm256_fmadd_ps;
        _mm256_castps_si256 _mm256_castsi256_ps _mm256_add_epi32 _mm256_sll_epi32 _mm256_srl_epi32,
        |x| x
    }
    register! {
        F64x4, Mask4, f64, 4, avx2, 0xf,
        _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd
        _mm256_div_pd _mm256_sqrt_pd _mm256_min_pd _mm256_max_pd _mm256_and_pd
        _mm256_or_pd _mm256_xor_pd _mm256_andnot_pd _mm256_fmadd_pd;
        _mm256_castpd_si256 _mm256_castsi256_pd _mm256_add_epi64 _mm256_sll_epi64 _mm256_srl_epi64,
        |x| x
    }
    register! {
        F32x16, Mask16, f32, 16, avx512, 0xffff,
        _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps
        _mm512_div_ps _mm512_sqrt_ps _mm512_min_ps _mm512_max_ps _mm512_and_ps
        _mm512_or_ps _mm512_xor_ps _mm512_andnot_ps _mm512_fmadd_ps;
        _mm512_castps_si512 _mm512_castsi512_ps _mm512_add_epi32 _mm512_sll_epi32 _mm512_srl_epi32,
        |x| {
            // SAFETY: a value of this type exists only where the processor has the instruction.
            unsafe { _mm512_movepi32_mask(_mm512_castps_si512(x)) }
        }
    }
    register! {
        F64x8, WideMask8, f64, 8, avx512, 0xff,
        _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd
        _mm512_div_pd _mm512_sqrt_pd _mm512_min_pd _mm512_max_pd _mm512_and_pd
        _mm512_or_pd _mm512_xor_pd _mm512_andnot_pd _mm512_fmadd_pd;
        _mm512_castpd_si512 _mm512_castsi512_pd _mm512_add_epi64 _mm512_sll_epi64 _mm512_srl_epi64,
        |x| {
            // SAFETY: a value of this type exists only where the processor has the instruction.
            unsafe { _mm512_movepi64_mask(_mm512_castpd_si512(x)) }
        }
    }
}

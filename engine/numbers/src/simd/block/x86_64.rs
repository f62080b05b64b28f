//! Blocks in the registers of x86-64.

use std::arch::x86_64::*;

use super::{AHEAD, Add, Block, Div, Fused, LANES, LINE, Mul, Storage, Sub};
use crate::storage::{Floats, FloatsMut};

/// Two AVX2 registers. Made only in what [`dispatch_wide`](crate::simd::dispatch_wide) runs on a
/// processor with AVX2.
#[derive(Clone, Copy)]
pub struct Avx2(__m256d, __m256d);

/// One AVX-512 register. Made only in what [`dispatch_wide`](crate::simd::dispatch_wide) runs on a
/// processor with AVX-512.
#[derive(Clone, Copy)]
pub struct Avx512(__m512d);

/// Prefetches the cache lines of a row.
#[inline(always)]
pub fn prefetch<T>(row: &[T]) {
    for number in row.iter().step_by(LINE / size_of::<T>()) {
        prefetch_line(number);
    }
}

#[inline(always)]
fn prefetch_line<T>(address: *const T) {
    // SAFETY: a hint: no address makes it fail, and nothing is read.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast::<i8>()) };
}

/// Prefetches the memory `AHEAD` bytes after a block, which belongs to the row or to the next ones.
#[inline(always)]
pub fn ask_ahead<T>(block: &[T; LANES]) {
    prefetch_line(block.as_ptr().wrapping_byte_add(AHEAD));
}

/// The sums of four quarters each: `(l₀ + l₂) + (l₁ + l₃)`.
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn sums_of_quads([a, b, c, d]: [__m256d; 4]) -> [f64; 4] {
    // SAFETY: the caller's promise; four elements are written to four.
    unsafe {
        let mut sums = [0.0; 4];
        _mm256_storeu_pd(sums.as_mut_ptr(), _mm256_hadd_pd(fold(a, c), fold(b, d)));
        sums
    }
}

/// The upper halves of two registers added to the lower ones.
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn fold(x: __m256d, y: __m256d) -> __m256d {
    // SAFETY: the caller's promise.
    unsafe { _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(x, y), _mm256_permute2f128_pd::<0x31>(x, y)) }
}

/// Sums and their errors, of halves of four rows, summed over the lanes of each.
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn compensated_of_halves(sums: [[__m256d; 2]; 4], errors: [[__m256d; 2]; 4]) -> ([f64; 4], [f64; 4]) {
    // SAFETY: the caller's promise; four elements are written to four.
    unsafe {
        let (mut row_sums, mut row_errors) = ([_mm256_setzero_pd(); 4], [_mm256_setzero_pd(); 4]);
        for l in 0..4 {
            let ([a, b], [x, y]) = (sums[l], errors[l]);
            (row_sums[l], row_errors[l]) = plus((a, x), (b, y));
        }
        let (s, e) = (transposed(row_sums), transposed(row_errors));
        let (even, odd) = (plus((s[0], e[0]), (s[2], e[2])), plus((s[1], e[1]), (s[3], e[3])));
        let (total, total_error) = plus(even, odd);
        let (mut sum, mut error) = ([0.0; 4], [0.0; 4]);
        _mm256_storeu_pd(sum.as_mut_ptr(), total);
        _mm256_storeu_pd(error.as_mut_ptr(), total_error);
        (sum, error)
    }
}

/// The sum of two sums with their errors (Knuth).
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn plus((a, x): (__m256d, __m256d), (b, y): (__m256d, __m256d)) -> (__m256d, __m256d) {
    // SAFETY: the caller's promise.
    unsafe {
        let sum = _mm256_add_pd(a, b);
        let part = _mm256_sub_pd(sum, a);
        let rounding = _mm256_add_pd(_mm256_sub_pd(a, _mm256_sub_pd(sum, part)), _mm256_sub_pd(b, part));
        (sum, _mm256_add_pd(_mm256_add_pd(x, y), rounding))
    }
}

/// The four rows transposed: columns as rows.
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn transposed([a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        let (ab, cd) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
        let (ab_odd, cd_odd) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
        [
            _mm256_permute2f128_pd::<0x20>(ab, cd),
            _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd),
            _mm256_permute2f128_pd::<0x31>(ab, cd),
            _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd),
        ]
    }
}

/// The mask of the first `n` of eight 32-bit elements, n at most 8.
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn first_of_8(n: usize) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), places)
    }
}

/// The masks of the first `n` of eight 64-bit elements, n at most 8.
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn first_of_4(n: usize) -> [__m256i; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        let n = _mm256_set1_epi64x(n as i64);
        let places = [_mm256_setr_epi64x(0, 1, 2, 3), _mm256_setr_epi64x(4, 5, 6, 7)];
        places.map(
            #[inline(always)]
            |places| _mm256_cmpgt_epi64(n, places),
        )
    }
}

impl Avx2 {
    #[inline(always)]
    fn halves(self) -> [__m256d; 2] {
        [self.0, self.1]
    }
    /// The upper half added to the lower one.
    #[inline(always)]
    fn folded(self) -> __m256d {
        // SAFETY: a value of this type exists only where the processor has AVX2.
        unsafe { _mm256_add_pd(self.0, self.1) }
    }
}

impl Avx512 {
    #[inline(always)]
    fn halves(self) -> [__m256d; 2] {
        // SAFETY: a value of this type exists only where the processor has AVX-512.
        unsafe { [_mm512_castpd512_pd256(self.0), _mm512_extractf64x4_pd::<1>(self.0)] }
    }
    /// The upper half added to the lower one.
    #[inline(always)]
    fn folded(self) -> __m256d {
        let [low, high] = self.halves();
        // SAFETY: a value of this type exists only where the processor has AVX-512.
        unsafe { _mm256_add_pd(low, high) }
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $avx2:ident $avx512:ident;)*) => { $(
        impl $trait for Avx2 {
            type Output = Self;
            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                // SAFETY: a value of this type exists only where the processor has AVX2.
                unsafe { Avx2($avx2(self.0, b.0), $avx2(self.1, b.1)) }
            }
        }
        impl $trait for Avx512 {
            type Output = Self;
            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                // SAFETY: a value of this type exists only where the processor has AVX-512.
                unsafe { Avx512($avx512(self.0, b.0)) }
            }
        }
    )* };
}

operators! {
    Add add _mm256_add_pd _mm512_add_pd;
    Sub sub _mm256_sub_pd _mm512_sub_pd;
    Mul mul _mm256_mul_pd _mm512_mul_pd;
    Div div _mm256_div_pd _mm512_div_pd;
}

/// The sums over the lanes, by the halves of a block.
macro_rules! sums_by_halves {
    () => {
        #[inline(always)]
        fn sums_of_four([a, b, c, d]: [Self; 4]) -> [f64; 4] {
            // SAFETY: values of this type exist only where the processor has AVX2, or AVX-512 and so AVX2.
            unsafe { sums_of_quads([a.folded(), b.folded(), c.folded(), d.folded()]) }
        }
        #[inline(always)]
        fn compensated_of_four(sums: [Self; 4], errors: [Self; 4]) -> ([f64; 4], [f64; 4]) {
            let ([a, b, c, d], [w, x, y, z]) = (sums, errors);
            // SAFETY: as above.
            unsafe {
                compensated_of_halves(
                    [a.halves(), b.halves(), c.halves(), d.halves()],
                    [w.halves(), x.halves(), y.halves(), z.halves()],
                )
            }
        }
    };
}

impl Fused for Avx2 {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: only called where the processor has AVX2.
        unsafe { Avx2(_mm256_set1_pd(x), _mm256_set1_pd(x)) }
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: a value of this type exists only where the processor has AVX2 and FMA.
        unsafe { Avx2(_mm256_fmadd_pd(self.0, b.0, c.0), _mm256_fmadd_pd(self.1, b.1, c.1)) }
    }
}

impl Block for Avx2 {
    sums_by_halves! {}
    #[inline(always)]
    fn load<T: Storage>(x: &[T; LANES]) -> Self {
        // SAFETY: only called where the processor has AVX2; eight elements are read from eight.
        unsafe {
            match T::erase(x) {
                Floats::F32(x) => {
                    let x = _mm256_loadu_ps(x.as_ptr());
                    let high = _mm256_extractf128_ps::<1>(x);
                    Avx2(_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(high))
                }
                Floats::F64(x) => Avx2(_mm256_loadu_pd(x.as_ptr()), _mm256_loadu_pd(x.as_ptr().add(4))),
            }
        }
    }
    #[inline(always)]
    fn join(low: &[f64; LANES / 2], high: &[f64; LANES / 2]) -> Self {
        // SAFETY: only called where the processor has AVX2; four elements are read from each four.
        unsafe { Avx2(_mm256_loadu_pd(low.as_ptr()), _mm256_loadu_pd(high.as_ptr())) }
    }
    #[inline(always)]
    fn split(self, low: &mut [f64; LANES / 2], high: &mut [f64; LANES / 2]) {
        // SAFETY: only called where the processor has AVX2; four elements are written to each four.
        unsafe {
            _mm256_storeu_pd(low.as_mut_ptr(), self.0);
            _mm256_storeu_pd(high.as_mut_ptr(), self.1);
        }
    }
    #[inline(always)]
    fn store<T: Storage>(self, out: &mut [T; LANES]) {
        // SAFETY: only called where the processor has AVX2; eight elements are written to eight.
        unsafe {
            match T::erase_mut(out) {
                FloatsMut::F32(out) => {
                    let (low, high) = (_mm256_cvtpd_ps(self.0), _mm256_cvtpd_ps(self.1));
                    _mm256_storeu_ps(out.as_mut_ptr(), _mm256_set_m128(high, low));
                }
                FloatsMut::F64(out) => {
                    _mm256_storeu_pd(out.as_mut_ptr(), self.0);
                    _mm256_storeu_pd(out.as_mut_ptr().add(4), self.1);
                }
            }
        }
    }
    #[inline(always)]
    fn load_part<T: Storage>(x: &[T]) -> Self {
        let n = x.len().min(LANES);
        // SAFETY: only called where the processor has AVX2; what the masks leave out is not read.
        unsafe {
            match T::erase(x) {
                Floats::F32(x) => {
                    let x = _mm256_maskload_ps(x.as_ptr(), first_of_8(n));
                    let high = _mm256_extractf128_ps::<1>(x);
                    Avx2(_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(high))
                }
                Floats::F64(x) => {
                    let [low, high] = first_of_4(n);
                    // The upper half may begin beyond the end, where nothing is read.
                    let upper = x.as_ptr().wrapping_add(4);
                    Avx2(_mm256_maskload_pd(x.as_ptr(), low), _mm256_maskload_pd(upper, high))
                }
            }
        }
    }
    #[inline(always)]
    fn store_part<T: Storage>(self, out: &mut [T]) {
        let n = out.len().min(LANES);
        // SAFETY: only called where the processor has AVX2; what the masks leave out is not written.
        unsafe {
            match T::erase_mut(out) {
                FloatsMut::F32(out) => {
                    let (low, high) = (_mm256_cvtpd_ps(self.0), _mm256_cvtpd_ps(self.1));
                    _mm256_maskstore_ps(out.as_mut_ptr(), first_of_8(n), _mm256_set_m128(high, low));
                }
                FloatsMut::F64(out) => {
                    let [low, high] = first_of_4(n);
                    _mm256_maskstore_pd(out.as_mut_ptr(), low, self.0);
                    // The upper half may begin beyond the end, where nothing is written.
                    _mm256_maskstore_pd(out.as_mut_ptr().wrapping_add(4), high, self.1);
                }
            }
        }
    }
    #[inline(always)]
    fn mul_sub(self, b: Self, c: Self) -> Self {
        // SAFETY: a value of this type exists only where the processor has AVX2 and FMA.
        unsafe { Avx2(_mm256_fmsub_pd(self.0, b.0, c.0), _mm256_fmsub_pd(self.1, b.1, c.1)) }
    }
    #[inline(always)]
    fn max_magnitude(self, b: Self) -> Self {
        // SAFETY: a value of this type exists only where the processor has AVX2.
        unsafe {
            let sign = _mm256_set1_pd(-0.0);
            Avx2(
                _mm256_max_pd(_mm256_andnot_pd(sign, self.0), _mm256_andnot_pd(sign, b.0)),
                _mm256_max_pd(_mm256_andnot_pd(sign, self.1), _mm256_andnot_pd(sign, b.1)),
            )
        }
    }
}

impl Fused for Avx512 {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: only called where the processor has AVX-512.
        unsafe { Avx512(_mm512_set1_pd(x)) }
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: a value of this type exists only where the processor has AVX-512.
        unsafe { Avx512(_mm512_fmadd_pd(self.0, b.0, c.0)) }
    }
}

impl Block for Avx512 {
    sums_by_halves! {}
    #[inline(always)]
    fn load<T: Storage>(x: &[T; LANES]) -> Self {
        // SAFETY: only called where the processor has AVX-512; eight elements are read from eight.
        unsafe {
            match T::erase(x) {
                Floats::F32(x) => Avx512(_mm512_cvtps_pd(_mm256_loadu_ps(x.as_ptr()))),
                Floats::F64(x) => Avx512(_mm512_loadu_pd(x.as_ptr())),
            }
        }
    }
    #[inline(always)]
    fn join(low: &[f64; LANES / 2], high: &[f64; LANES / 2]) -> Self {
        // SAFETY: only called where the processor has AVX-512; four elements are read from each four.
        unsafe {
            let low = _mm512_castpd256_pd512(_mm256_loadu_pd(low.as_ptr()));
            Avx512(_mm512_insertf64x4::<1>(low, _mm256_loadu_pd(high.as_ptr())))
        }
    }
    #[inline(always)]
    fn split(self, low: &mut [f64; LANES / 2], high: &mut [f64; LANES / 2]) {
        // SAFETY: only called where the processor has AVX-512; four elements are written to each four.
        unsafe {
            _mm256_storeu_pd(low.as_mut_ptr(), _mm512_castpd512_pd256(self.0));
            _mm256_storeu_pd(high.as_mut_ptr(), _mm512_extractf64x4_pd::<1>(self.0));
        }
    }
    #[inline(always)]
    fn store<T: Storage>(self, out: &mut [T; LANES]) {
        // SAFETY: only called where the processor has AVX-512; eight elements are written to eight.
        unsafe {
            match T::erase_mut(out) {
                FloatsMut::F32(out) => _mm256_storeu_ps(out.as_mut_ptr(), _mm512_cvtpd_ps(self.0)),
                FloatsMut::F64(out) => _mm512_storeu_pd(out.as_mut_ptr(), self.0),
            }
        }
    }
    #[inline(always)]
    fn load_part<T: Storage>(x: &[T]) -> Self {
        let n = x.len().min(LANES);
        // SAFETY: only called where the processor has AVX-512; what the masks leave out is not read.
        unsafe {
            match T::erase(x) {
                Floats::F32(x) => Avx512(_mm512_cvtps_pd(_mm256_maskload_ps(x.as_ptr(), first_of_8(n)))),
                Floats::F64(x) => Avx512(_mm512_maskz_loadu_pd(((1_u32 << n) - 1) as u8, x.as_ptr())),
            }
        }
    }
    #[inline(always)]
    fn store_part<T: Storage>(self, out: &mut [T]) {
        let n = out.len().min(LANES);
        // SAFETY: only called where the processor has AVX-512; what the masks leave out is not written.
        unsafe {
            match T::erase_mut(out) {
                FloatsMut::F32(out) => {
                    _mm256_maskstore_ps(out.as_mut_ptr(), first_of_8(n), _mm512_cvtpd_ps(self.0));
                }
                FloatsMut::F64(out) => {
                    _mm512_mask_storeu_pd(out.as_mut_ptr(), ((1_u32 << n) - 1) as u8, self.0);
                }
            }
        }
    }
    #[inline(always)]
    fn mul_sub(self, b: Self, c: Self) -> Self {
        // SAFETY: a value of this type exists only where the processor has AVX-512.
        unsafe { Avx512(_mm512_fmsub_pd(self.0, b.0, c.0)) }
    }
    #[inline(always)]
    fn max_magnitude(self, b: Self) -> Self {
        // SAFETY: a value of this type exists only where the processor has AVX-512.
        unsafe { Avx512(_mm512_max_pd(_mm512_abs_pd(self.0), _mm512_abs_pd(b.0))) }
    }
}

//! Storage types: what a tensor's elements may be.

use crate::elementary::Element;
use crate::parallel::split_front;
use crate::per_type::{Each, PerFloat};
use crate::scratch;
use crate::simd::columns::{self, Kernel, Operation};
use crate::simd::{F32x8, F32x16, F64x4, F64x8, Key, Register};

/// The type that elements of tensors are stored in, `f32` or `f64`, with what kernels need of it. The
/// engine's `Float`, the element type of a `Tape`, extends it.
///
/// Elements are *stored* in this type; inner products, margins and coefficients of row formulas are
/// always computed in `f64`, or on a device without `f64` as sums of two `f32`.
pub trait Storage: Element + Default + std::fmt::Display + bytemuck::Pod {
    /// Largest finite number, as `f64`.
    const LARGEST: f64;
    /// Whether accurate sums of products need a compensated dot product.
    ///
    /// Products of two `f32` are exact in `f64`; products of two `f64` are not.
    const COMPENSATED: bool;
    /// Name used in files and messages: `"f32"` or `"f64"`.
    const NAME: &'static str;

    /// The register of this type on which pair formulas and elementary functions are evaluated with AVX2.
    /// Naming it takes a [`Key`], which the engine does not export.
    #[doc(hidden)]
    type Avx2<K: Key>: Register<Self>;
    /// The same with AVX-512.
    #[doc(hidden)]
    type Avx512<K: Key>: Register<Self>;
    /// The register of this type for matrix products with AVX-512.
    #[doc(hidden)]
    type Products<K: Key>: Register<Self>;

    /// Widens to `f64`, exactly.
    fn to_f64(self) -> f64;
    /// The nearest value of this type.
    fn nearest(value: f64) -> Self;
    /// Whether the value is neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// Whether the value is NaN.
    fn is_nan(self) -> bool;
    /// The value as little-endian bytes, appended to `bytes`.
    fn write_le(self, bytes: &mut Vec<u8>);
    /// Reads one value from exactly `size_of::<Self>()` little-endian bytes.
    ///
    /// # Panics
    /// If `bytes` has another length.
    fn read_le(bytes: &[u8]) -> Self;

    /// The elements with their type erased.
    #[doc(hidden)]
    fn erase(elements: &[Self]) -> Floats<'_>;
    /// The elements with their type erased.
    #[doc(hidden)]
    fn erase_mut(elements: &mut [Self]) -> FloatsMut<'_>;

    /// The value for this type.
    #[doc(hidden)]
    fn pick<K: PerFloat>(each: &Each<K>) -> K::Of<Self>;

    /// The kernel of a program's step.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn kernel_of(operation: Operation) -> Kernel<Self>;

    /// Calls `work` with `len` elements of this thread's scratch memory, of unspecified content.
    #[doc(hidden)]
    fn with_scratch<R>(len: usize, work: impl FnOnce(&mut [Self]) -> R) -> R;

    /// `C = A B + beta C` by matrixmultiply, for sizes `[m, k, n]` and the strides of rows and columns
    /// of A and B; C is row-major.
    ///
    /// # Safety
    /// The pointers must be valid for matrices of those sizes and strides, and C for writing.
    #[doc(hidden)]
    unsafe fn gemm(
        sizes: [usize; 3],
        a: *const Self,
        b: *const Self,
        strides: [isize; 4],
        beta: Self,
        c: *mut Self,
    );
}

/// Elements of either type.
#[doc(hidden)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Floats<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl Floats<'_> {
    #[inline(always)]
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Floats::F32(x) => f64::from(x[i]),
            Floats::F64(x) => x[i],
        }
    }
}

/// Elements of either type, to be written.
#[doc(hidden)]
#[allow(missing_docs)]
pub enum FloatsMut<'a> {
    F32(&'a mut [f32]),
    F64(&'a mut [f64]),
}

#[allow(clippy::len_without_is_empty)]
impl<'a> FloatsMut<'a> {
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            FloatsMut::F32(x) => x.len(),
            FloatsMut::F64(x) => x.len(),
        }
    }
    /// Writes the nearest value.
    #[inline(always)]
    pub fn set(&mut self, i: usize, value: f64) {
        match self {
            FloatsMut::F32(x) => x[i] = value as f32,
            FloatsMut::F64(x) => x[i] = value,
        }
    }
    /// Takes the first `n` elements off the front.
    #[inline]
    pub fn split_front(&mut self, n: usize) -> Self {
        match self {
            FloatsMut::F32(x) => FloatsMut::F32(split_front(x, n)),
            FloatsMut::F64(x) => FloatsMut::F64(split_front(x, n)),
        }
    }
}

macro_rules! impl_storage {
    (
        $t:ident, $compensated:expr, [$avx2:ty, $avx512:ty, $products:ty],
        $erased:ident, $buffers:ident, $gemm:ident
    ) => {
        impl Storage for $t {
            const LARGEST: f64 = $t::MAX as f64;
            const COMPENSATED: bool = $compensated;
            const NAME: &'static str = stringify!($t);
            type Avx2<K: Key> = $avx2;
            type Avx512<K: Key> = $avx512;
            type Products<K: Key> = $products;

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn nearest(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }
            #[inline]
            fn write_le(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn read_le(bytes: &[u8]) -> Self {
                $t::from_le_bytes(bytes.try_into().expect("one element's bytes"))
            }
            #[inline(always)]
            fn erase(elements: &[Self]) -> Floats<'_> {
                Floats::$erased(elements)
            }
            #[inline(always)]
            fn erase_mut(elements: &mut [Self]) -> FloatsMut<'_> {
                FloatsMut::$erased(elements)
            }
            #[inline]
            fn pick<K: PerFloat>(each: &Each<K>) -> K::Of<Self> {
                each.$t
            }
            #[allow(private_interfaces)]
            #[inline(never)]
            fn kernel_of(operation: Operation) -> Kernel<Self> {
                columns::kernel_of(operation)
            }
            fn with_scratch<R>(len: usize, work: impl FnOnce(&mut [Self]) -> R) -> R {
                scratch::with(&scratch::$buffers, 0.0, len, work)
            }
            unsafe fn gemm(
                [m, k, n]: [usize; 3],
                a: *const Self,
                b: *const Self,
                [row_a, column_a, row_b, column_b]: [isize; 4],
                beta: Self,
                c: *mut Self,
            ) {
                // SAFETY: the caller's promise.
                unsafe {
                    matrixmultiply::$gemm(
                        m, k, n, 1.0, a, row_a, column_a, b, row_b, column_b, beta, c, n as isize, 1,
                    );
                }
            }
        }
    };
}

impl_storage!(f32, false, [F32x8, F32x16, F32x16], F32, F32_BUFFERS, sgemm);

impl_storage!(f64, true, [F64x4, F64x8, F64x8], F64, F64_BUFFERS, dgemm);

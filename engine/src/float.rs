//! Storage types: what a tensor's elements may be.

use crate::scalar::Scalar;

/// An element type of tensors: `f32` or `f64`.
///
/// Elements are *stored* in this type; inner products, margins and coefficients of row formulas are
/// always computed in `f64`.
pub trait Float: Scalar<Mask = bool> + PartialOrd + Default + std::fmt::Display {
    /// Distance from 1 to the next larger number, as `f64`.
    const EPSILON: f64;
    /// Largest finite number, as `f64`.
    const LARGEST: f64;
    /// Whether sums of squares of rows need a compensated dot product to be exact in `f64`.
    ///
    /// Products of two `f32` are exact in `f64`; products of two `f64` are not.
    const COMPENSATED: bool;
    /// Name used in files and messages: `"f32"` or `"f64"`.
    const NAME: &'static str;

    /// Widens to `f64`, exactly.
    fn to_f64(self) -> f64;
    /// The nearest value of this type.
    fn nearest(value: f64) -> Self;
    /// Whether the value is neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// The value as little-endian bytes, appended to `bytes`.
    fn write_le(self, bytes: &mut Vec<u8>);
    /// Reads one value from exactly `size_of::<Self>()` little-endian bytes.
    ///
    /// # Panics
    /// If `bytes` has another length.
    fn read_le(bytes: &[u8]) -> Self;
}

macro_rules! impl_float {
    ($t:ident, $compensated:expr) => {
        impl Float for $t {
            const EPSILON: f64 = $t::EPSILON as f64;
            const LARGEST: f64 = $t::MAX as f64;
            const COMPENSATED: bool = $compensated;
            const NAME: &'static str = stringify!($t);

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
            fn write_le(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn read_le(bytes: &[u8]) -> Self {
                $t::from_le_bytes(bytes.try_into().expect("one element's bytes"))
            }
        }
    };
}

impl_float!(f32, false);
impl_float!(f64, true);

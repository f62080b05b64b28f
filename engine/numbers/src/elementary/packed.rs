//! What elementary functions are computed on.

use super::element::{Element, Format};
use crate::scalar::Scalar;

/// Numbers side by side, one formula for all of them: [`Lanes`](crate::lanes::Lanes), or a register of the
/// processor. A result depends neither on the kind nor on the place in it: all have the same bits.
pub trait Packed: Scalar {
    /// The numbers' type.
    type Element: Element;

    /// The same number everywhere.
    fn splat(x: Self::Element) -> Self;
    /// `self · b + c`, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `self` where it is less than `other`, else `other`: also where one of them is NaN.
    #[inline(always)]
    fn lesser(self, other: Self) -> Self {
        Self::select(self.lt(other), self, other)
    }
    /// `self` where it is greater than `other`, else `other`: also where one of them is NaN.
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        Self::select(other.lt(self), self, other)
    }
    /// The numbers after `f`, which finds them in memory.
    fn each(self, f: impl FnOnce(&mut [Self::Element])) -> Self;

    /// The bits that both numbers have.
    fn and(self, other: Self) -> Self;
    /// The bits that one of the numbers has or both have.
    fn or(self, other: Self) -> Self;
    /// The bits that exactly one of the numbers has.
    fn xor(self, other: Self) -> Self;
    /// The sum of the bits as integers; it wraps around.
    fn add_bits(self, other: Self) -> Self;
    /// The bits moved to higher places, with zeros in the lowest.
    fn shift_left(self, count: usize) -> Self;
    /// The bits moved to lower places, with zeros in the highest.
    fn shift_right(self, count: usize) -> Self;
    /// Where the sign bit is set.
    fn sign(self) -> Self::Mask;

    /// A number by its bits, everywhere.
    #[inline(always)]
    fn from_bits(bits: <Self::Element as Format>::Bits) -> Self {
        Self::splat(Self::Element::from_bits(bits))
    }
    /// `self`, negated where the sign bit of `sign` is set.
    #[inline(always)]
    fn flip_sign(self, sign: Self) -> Self {
        self.xor(sign.and(Self::constant(-0.0)))
    }
    /// The magnitude of `self` with the sign of `sign`.
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        self.abs().flip_sign(sign)
    }
    /// Where the lowest bit is set.
    #[inline(always)]
    fn odd(self) -> Self::Mask {
        self.shift_left(Self::Element::WIDTH - 1).sign()
    }
}

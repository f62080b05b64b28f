//! SIMD lanes: several elements at a time through one formula.
//!
//! A `Lanes<R, E>` is an array, and every operation on it is a loop over the array; elementary functions are
//! called. Where the loop is inlined into an entry of [`simd`](crate::simd), the compiler turns it into
//! vector instructions. All lanes are computed alike, so a result depends neither on the lane it was computed
//! in nor on its neighbours.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::elementary::{Element, Packed};
use crate::scalar::Scalar;
use crate::simd::columns::{self, Elementary, with_elementary};
use crate::storage::Storage;

/// `R` numbers, `f64` or `f32`; every operation acts on all of them.
///
/// ```
/// use cotangent_engine::{Lanes, Scalar};
/// let x = Lanes::from([1.0, 4.0, 9.0]);
/// assert_eq!((x.sqrt() + x).to_array(), [2.0, 6.0, 12.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lanes<const R: usize, E = f64>([E; R]);

/// A bit pattern for each lane: all ones or all zeros.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneMask<const R: usize, E: Element>([E::Bits; R]);

impl<const R: usize, E: Element> LaneMask<R, E> {
    /// Whether it holds in some lane.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.0.iter().fold(E::ZERO_BITS, |any, m| any | *m) != E::ZERO_BITS
    }
    /// Whether it holds in lane `lane`.
    #[inline(always)]
    pub fn get(self, lane: usize) -> bool {
        self.0[lane] != E::ZERO_BITS
    }
    /// Whether it holds in every lane.
    #[inline(always)]
    pub fn all(self) -> bool {
        self.0.iter().fold(!E::ZERO_BITS, |all, m| all & *m) == !E::ZERO_BITS
    }
}

impl<const R: usize, E> From<[E; R]> for Lanes<R, E> {
    #[inline(always)]
    fn from(lanes: [E; R]) -> Self {
        Lanes(lanes)
    }
}

impl<const R: usize, E> From<Lanes<R, E>> for [E; R] {
    #[inline(always)]
    fn from(lanes: Lanes<R, E>) -> Self {
        lanes.0
    }
}

impl<const R: usize, E: Element> Lanes<R, E> {
    /// The numbers.
    #[inline(always)]
    pub fn to_array(self) -> [E; R] {
        self.0
    }
    /// The number in lane `l`.
    #[inline(always)]
    pub fn get(&self, l: usize) -> E {
        self.0[l]
    }
    /// Puts a number into lane `l`.
    #[inline(always)]
    pub fn set(&mut self, l: usize, x: E) {
        self.0[l] = x;
    }
    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(x: E) -> Self {
        Lanes([x; R])
    }
    /// `self · b + c`, rounded once.
    #[inline(always)]
    pub fn mul_add(self, b: Self, c: Self) -> Self {
        Lanes(array(E::zero(), |l| self.0[l].mul_add(b.0[l], c.0[l])))
    }
    #[inline(always)]
    fn map(self, f: impl Fn(E) -> E) -> Self {
        Lanes(array(E::zero(), |l| f(self.0[l])))
    }
    #[inline(always)]
    fn zip(self, o: Self, f: impl Fn(E, E) -> E) -> Self {
        Lanes(array(E::zero(), |l| f(self.0[l], o.0[l])))
    }
}

impl<const R: usize, T: Storage> Lanes<R, T> {
    /// The same numbers in `f64`.
    #[inline(always)]
    pub fn widen(self) -> Lanes<R> {
        Lanes(array(0.0, |l| self.0[l].to_f64()))
    }
    /// The first `R` elements of `x`; `pad` in the lanes beyond its end.
    #[inline(always)]
    pub fn load(x: &[T], pad: f64) -> Self {
        if let Some(block) = x.first_chunk::<R>() {
            return Lanes(*block);
        }
        // Out of line: otherwise the compiler merges the two copies into one of variable length, which is
        // a call for every block.
        #[cold]
        #[inline(never)]
        fn last<T: Storage, const R: usize>(x: &[T], pad: f64) -> [T; R] {
            let mut block = [T::nearest(pad); R];
            block[..x.len()].copy_from_slice(x);
            block
        }
        Lanes(last(x, pad))
    }
    /// Writes the first lanes, as many as there is room for.
    #[inline(always)]
    pub fn store(self, out: &mut [T]) {
        if let Some(block) = out.first_chunk_mut::<R>() {
            *block = self.0;
            return;
        }
        #[cold]
        #[inline(never)]
        fn last<T: Storage, const R: usize>(block: [T; R], out: &mut [T]) {
            out.copy_from_slice(&block[..out.len()]);
        }
        last(self.0, out);
    }
}

/// `[f(0), f(1), …]`. As `std::array::from_fn`, but sure to be inlined, so that the loop is compiled for
/// the instruction set of the kernel it stands in.
#[inline(always)]
pub fn array<T: Copy, const N: usize>(zero: T, mut f: impl FnMut(usize) -> T) -> [T; N] {
    let mut out = [zero; N];
    for (i, x) in out.iter_mut().enumerate() {
        *x = f(i);
    }
    out
}

/// Calls `work(0)`, `work(1)`, …, `work(N - 1)`; `N` is at most 12. Each number is known at compile time,
/// so a `match` on an element of a constant array compiles to one arm. The compiler does not unroll loops
/// of that length by itself.
#[inline(always)]
pub fn unrolled<const N: usize>(mut work: impl FnMut(usize)) {
    const { assert!(N <= 12, "an unrolled loop is at most 12 long") };
    macro_rules! steps {
        ($($k:literal)*) => { $(if $k < N { work($k) })* };
    }
    steps! { 0 1 2 3 4 5 6 7 8 9 10 11 }
}

macro_rules! operator {
    ($trait:ident $method:ident) => {
        impl<const R: usize, E: Element> $trait for Lanes<R, E> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, o: Self) -> Self {
                self.zip(o, |a, b| a.$method(b))
            }
        }
    };
}

operator!(Add add);
operator!(Sub sub);
operator!(Mul mul);
operator!(Div div);

impl<const R: usize, E: Element> Neg for Lanes<R, E> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

impl<const R: usize, E: Storage> Packed for Lanes<R, E> {
    type Element = E;

    #[inline(always)]
    fn splat(x: E) -> Self {
        Lanes::splat(x)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Lanes::mul_add(self, b, c)
    }
    #[inline(always)]
    fn each(mut self, f: impl FnOnce(&mut [E])) -> Self {
        f(&mut self.0);
        self
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| E::from_bits(a.to_bits() & b.to_bits()))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| E::from_bits(a.to_bits() | b.to_bits()))
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| E::from_bits(a.to_bits() ^ b.to_bits()))
    }
    #[inline(always)]
    fn add_bits(self, other: Self) -> Self {
        self.zip(other, |a, b| E::from_bits(a.to_bits() + b.to_bits()))
    }
    #[inline(always)]
    fn shift_left(self, count: usize) -> Self {
        self.map(|x| E::from_bits(x.to_bits() << count))
    }
    #[inline(always)]
    fn shift_right(self, count: usize) -> Self {
        self.map(|x| E::from_bits(x.to_bits() >> count))
    }
    #[inline(always)]
    fn sign(self) -> LaneMask<R, E> {
        LaneMask(array(E::ZERO_BITS, |l| E::ZERO_BITS - (self.0[l].to_bits() >> (E::WIDTH - 1))))
    }
}

/// Elementary functions are those of columns, which are compiled once, and called. Inlined into every formula
/// they would take the compiler minutes. That of one number is the number's own.
macro_rules! elementary {
    ($($name:ident $operation:ident)*; $($pair:ident $pair_operation:ident)*) => {
        $(
            #[inline(always)]
            fn $name(self) -> Self {
                if R == 1 {
                    return self.map(|x| Scalar::$name(x));
                }
                let [y] = columns::elementary_of(Elementary::$operation, self.0);
                Lanes(y)
            }
        )*
        $(
            #[inline(always)]
            fn $pair(self) -> (Self, Self) {
                if R == 1 {
                    let (a, b) = Scalar::$pair(self.0[0]);
                    return (Lanes([a; R]), Lanes([b; R]));
                }
                let [a, b] = columns::elementary_of(Elementary::$pair_operation, self.0);
                (Lanes(a), Lanes(b))
            }
        )*
    };
}

impl<const R: usize, E: Storage> Scalar for Lanes<R, E> {
    type Mask = LaneMask<R, E>;
    const EPSILON: f64 = E::EPSILON;

    #[inline(always)]
    fn constant(value: f64) -> Self {
        Lanes::splat(E::constant(value))
    }
    #[inline(always)]
    fn lt(self, other: Self) -> LaneMask<R, E> {
        LaneMask(array(E::ZERO_BITS, |l| if self.0[l] < other.0[l] { !E::ZERO_BITS } else { E::ZERO_BITS }))
    }
    #[inline(always)]
    fn unordered(self, other: Self) -> LaneMask<R, E> {
        LaneMask(array(E::ZERO_BITS, |l| {
            if self.0[l].unordered(other.0[l]) { !E::ZERO_BITS } else { E::ZERO_BITS }
        }))
    }
    #[inline(always)]
    fn select(mask: LaneMask<R, E>, a: Self, b: Self) -> Self {
        let m = mask.0;
        Lanes(array(E::zero(), |l| E::from_bits(a.0[l].to_bits() & m[l] | b.0[l].to_bits() & !m[l])))
    }
    #[inline(always)]
    fn any(mask: LaneMask<R, E>) -> bool {
        mask.any()
    }
    #[inline(always)]
    fn all(mask: LaneMask<R, E>) -> bool {
        mask.all()
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(|x| x.abs())
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(|x| x.sqrt())
    }
    with_elementary! { elementary! }
}

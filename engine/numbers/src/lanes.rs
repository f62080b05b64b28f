//! SIMD lanes: several elements at a time through one formula.
//!
//! A `Lanes<R, E>` is an array, and every operation on it is a loop over the array. Where the loop is
//! inlined into an entry of [`simd`](crate::simd), the compiler turns it into vector instructions. All lanes
//! are computed alike, so a result depends neither on the lane it was computed in nor on its neighbours.

use std::any::Any;
use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::elementary::{self as e, Element};
use crate::scalar::Scalar;
use crate::simd::{dispatch_lanes, dispatch_wide};
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
    /// `self + b` and its rounding error, exactly (Knuth).
    #[inline(always)]
    pub fn two_sum(self, b: Self) -> (Self, Self) {
        let sum = self + b;
        let part = sum - self;
        (sum, (self - (sum - part)) + (b - part))
    }
    #[inline(always)]
    fn map(self, f: impl Fn(E) -> E) -> Self {
        Lanes(array(E::zero(), |l| f(self.0[l])))
    }
    #[inline(always)]
    fn zip(self, o: Self, f: impl Fn(E, E) -> E) -> Self {
        Lanes(array(E::zero(), |l| f(self.0[l], o.0[l])))
    }
    /// Applies a function to the bits of each lane.
    #[inline(always)]
    pub fn map_bits(self, f: impl Fn(E::Bits) -> E::Bits) -> Self {
        self.map(|x| E::from_bits(f(x.to_bits())))
    }
    /// The magnitude of `self` with the sign of `sign`.
    #[inline(always)]
    pub fn copysign(self, sign: Self) -> Self {
        self.zip(sign, |x, s| x.copysign(s))
    }
    /// `self`, negated where the sign bit of `sign` is set.
    #[inline(always)]
    pub fn flip_sign(self, sign: Self) -> Self {
        let bit = E::ONE_BITS << (E::WIDTH - 1);
        self.zip(sign, |x, s| E::from_bits(x.to_bits() ^ (s.to_bits() & bit)))
    }
    /// The lanes whose lowest bit is set.
    #[inline(always)]
    pub fn odd(self) -> LaneMask<R, E> {
        LaneMask(array(E::ZERO_BITS, |l| E::ZERO_BITS - (self.0[l].to_bits() & E::ONE_BITS)))
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

/// Up to this many lanes, elementary functions are called out of line. A row formula calls few of them for
/// many coordinates, and inlining their code into every formula takes the compiler minutes. On more lanes, as
/// in the kernels of [programs](crate::program) and [lines](crate::line), the functions are inlined, except
/// those of [`CalledAlways`].
const CALLED: usize = 4;

/// Bytes of an AVX2 register.
const REGISTER: usize = 32;

/// Computes an elementary function in the registers that the lanes fill. On an x86-64 processor without
/// AVX2 it is computed lane by lane: vector code without vector instructions is long, and would be
/// compiled for every function.
#[inline(always)]
fn dispatched<const R: usize, E: Element, Y>(
    x: Lanes<R, E>,
    wide: impl Fn(Lanes<R, E>) -> Y,
    lane_by_lane: impl Fn(Lanes<R, E>) -> Y,
) -> Y {
    // By reference: a copy would be written in parts, and the processor waits before it reads these as one
    // register.
    if size_of::<Lanes<R, E>>() > REGISTER {
        dispatch_wide(
            &x,
            #[inline(always)]
            |x| wide(*x),
            #[inline(always)]
            |x| wide(*x),
            #[inline(always)]
            |x| if R > 1 && cfg!(target_arch = "x86_64") { lane_by_lane(*x) } else { wide(*x) },
        )
    } else {
        dispatch_lanes(
            &x,
            #[inline(always)]
            |x| wide(*x),
            #[inline(always)]
            |x| if R > 1 && cfg!(target_arch = "x86_64") { lane_by_lane(*x) } else { wide(*x) },
        )
    }
}

/// Declares a trait of elementary functions that are out of line on `R` lanes, and implements it for
/// both element types. Its methods are not generic, so they are compiled in this crate only.
macro_rules! out_of_line {
    (
        $(#[$doc:meta])* $trait:ident ($($width:literal)*): $functions:tt
    ) => {
        $(#[$doc])*
        #[allow(missing_docs)]
        pub trait $trait<const R: usize>: Sized {
            out_of_line!(@declare $functions);
        }
        $(
            out_of_line!(@implement f32 $width $trait $functions);
            out_of_line!(@implement f64 $width $trait $functions);
        )*
    };
    (@declare ($($name:ident)*; $($pair:ident)*)) => {
        $( fn $name(x: Lanes<R, Self>) -> Lanes<R, Self>; )*
        $( fn $pair(x: Lanes<R, Self>) -> (Lanes<R, Self>, Lanes<R, Self>); )*
    };
    (@implement $t:ident $width:literal $trait:ident ($($name:ident)*; $($pair:ident)*)) => {
        impl $trait<$width> for $t {
            $(
                #[inline(never)]
                fn $name(x: Lanes<$width, $t>) -> Lanes<$width, $t> {
                    dispatched(
                        x,
                        #[inline(always)]
                        |x| e::$name(x),
                        |x| x.map(|x| <$t as $trait<1>>::$name(Lanes([x])).0[0]),
                    )
                }
            )*
            $(
                #[inline(never)]
                fn $pair(x: Lanes<$width, $t>) -> (Lanes<$width, $t>, Lanes<$width, $t>) {
                    dispatched(
                        x,
                        #[inline(always)]
                        |x| e::$pair(x),
                        |x| {
                            let mut pairs = (x, x);
                            for l in 0..$width {
                                let (a, b) = <$t as $trait<1>>::$pair(Lanes([x.0[l]]));
                                (pairs.0.0[l], pairs.1.0[l]) = (a.0[0], b.0[0]);
                            }
                            pairs
                        },
                    )
                }
            )*
        }
    };
}

out_of_line! {
    /// Elementary functions out of line.
    Called (1 4): (
        exp exp_m1 ln ln_1p sin cos tan asin atan sinh cosh tanh asinh acosh atanh erf gelu arctanc arcsinc;
        sin_cos sinh_cosh tanh_with_slope gelu_with_slope
    )
}

out_of_line! {
    /// Elementary functions that are called out of line on more lanes too. Each contains sine and cosine,
    /// with the reduction of the argument, and hyperbolic functions: so much code that one formula of them
    /// took minutes to compile, and so much work that a call costs little.
    CalledAlways (1 4 8 16): (tanc sinc cosc; sinc_cosc tanc_secant)
}

impl<const R: usize, E: Element> Lanes<R, E> {
    /// The first `N` lanes; where there are fewer, the last one is repeated.
    #[inline(always)]
    fn resized<const N: usize>(self) -> Lanes<N, E> {
        // The usual case, without a copy: a copy is written element by element, and a processor waits before
        // it reads such parts as one register.
        if let Some(same) = (&self as &dyn Any).downcast_ref() {
            return *same;
        }
        Lanes(array(E::zero(), |l| self.0[if l < R { l } else { R - 1 }]))
    }
}

macro_rules! elementary {
    ($($name:ident)*; $($pair:ident)*; called: $($called:ident)*; $($called_pair:ident)*) => {
        $( elementary!(@function $name Called inlined); )*
        $( elementary!(@pair $pair Called inlined); )*
        $( elementary!(@function $called CalledAlways called); )*
        $( elementary!(@pair $called_pair CalledAlways called); )*
    };
    (@function $name:ident $trait:ident $how:ident) => {
        #[inline(always)]
        fn $name(self) -> Self {
            match R {
                1 => <E as $trait<1>>::$name(self.resized()).resized(),
                2..=CALLED => <E as $trait<4>>::$name(self.resized()).resized(),
                _ => elementary!(@wide $how $name self, |y| y.resized()),
            }
        }
    };
    (@pair $name:ident $trait:ident $how:ident) => {
        #[inline(always)]
        fn $name(self) -> (Self, Self) {
            match R {
                1 => {
                    let (a, b) = <E as $trait<1>>::$name(self.resized());
                    (a.resized(), b.resized())
                }
                2..=CALLED => {
                    let (a, b) = <E as $trait<4>>::$name(self.resized());
                    (a.resized(), b.resized())
                }
                _ => elementary!(@wide $how $name self, |(a, b)| (a.resized(), b.resized())),
            }
        }
    };
    (@wide inlined $name:ident $self:ident, $resized:expr) => { e::$name($self) };
    (@wide called $name:ident $self:ident, |$y:pat_param| $resized:expr) => {
        match R {
            ..=8 => {
                let $y = <E as CalledAlways<8>>::$name($self.resized());
                $resized
            }
            ..=16 => {
                let $y = <E as CalledAlways<16>>::$name($self.resized());
                $resized
            }
            _ => e::$name($self),
        }
    };
}

impl<const R: usize, E: Element> Scalar for Lanes<R, E> {
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
    elementary! {
        exp exp_m1 ln ln_1p sin cos tan asin atan sinh cosh tanh asinh acosh atanh erf gelu arctanc arcsinc;
        sin_cos sinh_cosh tanh_with_slope gelu_with_slope;
        called: tanc sinc cosc; sinc_cosc tanc_secant
    }
}

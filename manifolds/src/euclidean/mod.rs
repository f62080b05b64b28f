//! Euclidean space.

pub mod formulas;

use std::ops::{Add, Deref, Div, Mul, Neg, Sub};

use cotangent_engine::{Elementwise, Float, Row, Rows, Scalar, Var, update_elements};

use crate::distance_key::DistanceKey;
use crate::laws::lawful::{Lawful, family, length};
use crate::manifold::{ConstantCurvature, Manifold, OffManifold};
use crate::module::constant;
use crate::point::Point;
use crate::steps::{Motion, Moving, OnTape, Rule, Steps};

/// Euclidean space of any dimension, with the plain metric: `dist = ‖x − y‖`.
///
/// Note that the flat limit of the other models is twice that (the convention λ₀ = 2 of Ganea et al.
/// 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Euclidean;

/// A coordinate after a step without momentum, in the arithmetic of its type.
#[inline(always)]
fn descended<S: Scalar>(x: S, g: S, rate: f64) -> S {
    x - S::constant(rate) * g
}

/// A coordinate, its momentum and its moments after a step, in the arithmetic of their type: the
/// Euclidean algorithm.
#[inline(always)]
fn stepped<U: Rule<K>, S: Scalar, const K: usize>(
    rule: &U,
    motion: Motion,
    [x, m, g]: [S; 3],
    moments: [S; K],
) -> ([S; 2], [S; K]) {
    let [keep, take] = rule.blend().map(S::constant);
    let m = keep * m + take * g;
    let along = if motion.lookahead { keep * m + take * g } else { m };
    let (length, moments) = rule.length(g.square(), moments);
    let x = if motion.decay == 0.0 { x } else { S::constant(1.0 - motion.decay) * x };
    ([x - length * along, m], moments)
}

/// [`descended`] of a point and a gradient on a tape.
struct Descended {
    rate: f64,
}

impl Elementwise for Descended {
    fn name(&self) -> &'static str {
        "euclidean descent"
    }
    fn eval<S: Scalar>(&self, operands: &[S]) -> S {
        descended(operands[0], operands[1], self.rate)
    }
}

/// One of the results of [`stepped`] on a tape, from point, momentum, gradient and moments.
struct Stepped<U, const K: usize> {
    rule: U,
    motion: Motion,
    /// 0 for the point, 1 for the momentum, then the moments.
    which: usize,
}

impl<U: Rule<K> + 'static, const K: usize> Elementwise for Stepped<U, K> {
    fn name(&self) -> &'static str {
        "euclidean step"
    }
    fn eval<S: Scalar>(&self, operands: &[S]) -> S {
        let moments = std::array::from_fn(|k| operands[3 + k]);
        let [x, m, g] = [operands[0], operands[1], operands[2]];
        let ([x, m], moments) = stepped(&self.rule, self.motion, [x, m, g], moments);
        match self.which {
            0 => x,
            1 => m,
            k => moments[k - 2],
        }
    }
}

impl Euclidean {
    /// Geodesic distance `‖x − y‖`. It is a method of the type because two traits in the prelude have
    /// one of this name.
    pub fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        R::scalar(formulas::Dist, [x, y], [])
    }
}

impl ConstantCurvature for Euclidean {
    fn kappa(&self) -> f64 {
        0.0
    }
    fn distance_key<'a>(&self, y: &'a [f64]) -> Option<DistanceKey<'a>> {
        Some(DistanceKey::new(y, 1.0))
    }
}

impl Manifold for Euclidean {
    const NAME: &'static str = "euclidean";
    const TITLE: &'static str = "Euclidean space";

    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        Row::from(vec![T::zero(); dim].as_slice())
    }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        self.dist(x, y)
    }
    fn inner<R: Rows>(&self, _x: &R, u: &R, v: &R) -> R::Scalar {
        R::scalar(formulas::Inner, [u, v], [])
    }
    fn norm<R: Rows>(&self, _x: &R, v: &R) -> R::Scalar {
        R::scalar(formulas::Norm, [v], [])
    }
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R {
        R::vector(formulas::Add, [x, v], [])
    }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R {
        R::vector(formulas::Sub, [x, y], [])
    }
    fn transport<R: Rows>(&self, _x: &R, _y: &R, v: &R) -> R {
        v.clone()
    }
    fn egrad_to_rgrad<R: Rows>(&self, _x: &R, g: &R) -> R {
        g.clone()
    }
    fn project_tangent<R: Rows>(&self, _x: &R, v: &R) -> R {
        v.clone()
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        x.clone()
    }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        OffManifold::unless_finite(Self::TITLE, x, 1)
    }
}

impl Steps for Euclidean {
    const FLAT: bool = true;

    fn moments(&self, width: usize) -> usize {
        width
    }
    /// Coordinate by coordinate, in the arithmetic of their type.
    fn descend_rows<T: Float>(
        &self,
        points: &mut [T],
        gradients: &[T],
        width: usize,
        rate: f64,
    ) -> Result<(), usize> {
        update_elements(
            [points],
            [],
            [gradients],
            width,
            #[inline(always)]
            move |[x], [], [g]| ([descended(x, g, rate)], []),
        )
    }
    /// Coordinate by coordinate, in the arithmetic of their type: bit for bit the Euclidean algorithm.
    fn step<U: Rule<K>, T: Float, const K: usize>(
        &self,
        rule: &U,
        motion: Motion,
        rows: Moving<'_, T, K>,
    ) -> Result<(), usize> {
        let (rule, Moving { points, momenta, moments, gradients, width }) = (*rule, rows);
        update_elements(
            [points, momenta],
            moments,
            [gradients],
            width,
            #[inline(always)]
            move |[x, m], moments, [g]| stepped(&rule, motion, [x, m, g], moments),
        )
    }
    /// Rounded as on the processor.
    fn descend_on_tape<'t, T: Float>(&self, x: Var<'t, T>, g: Var<'t, T>, rate: f64) -> Var<'t, T> {
        x.tape().elementwise(Descended { rate }, &[x, g])
    }
    /// Rounded as on the processor: bit for bit the Euclidean algorithm.
    fn step_on_tape<'t, U: Rule<K> + 'static, T: Float, const K: usize>(
        &self,
        rule: U,
        motion: Motion,
        rows: OnTape<'t, T, K>,
    ) -> OnTape<'t, T, K> {
        let OnTape { points: x, momenta, moments, gradients } = rows;
        let operands: Vec<Var<'t, T>> = [x, momenta, gradients].into_iter().chain(moments).collect();
        let result = |which| x.tape().elementwise(Stepped { rule, motion, which }, &operands);
        OnTape {
            points: result(0),
            momenta: result(1),
            moments: std::array::from_fn(|k| result(2 + k)),
            gradients,
        }
    }
}

impl Lawful for Euclidean {
    fn curvature_bounds(&self) -> [f64; 2] {
        [0.0; 2]
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        length(x)
    }
}

family!(Euclidean: [Euclidean], [(Euclidean, 3, 3.0)]);

constant!(Euclidean);

/// Methods shared by all submanifolds of Euclidean space with its metric: `inner`, `norm`, and the
/// Riemannian gradient, which is the tangent part of the coordinate gradient.
macro_rules! euclidean_metric {
    () => {
        fn inner<R: Rows>(&self, _x: &R, u: &R, v: &R) -> R::Scalar {
            R::scalar($crate::euclidean::formulas::Inner, [u, v], [])
        }
        fn norm<R: Rows>(&self, _x: &R, v: &R) -> R::Scalar {
            R::scalar($crate::euclidean::formulas::Norm, [v], [])
        }
        fn egrad_to_rgrad<R: Rows>(&self, x: &R, g: &R) -> R {
            self.project_tangent(x, g)
        }
    };
}
pub(crate) use euclidean_metric;

// A Euclidean point on a tape behaves as its variable: it has the variable's methods and operators.

impl<'t, T: Float> Deref for Point<Euclidean, Var<'t, T>> {
    type Target = Var<'t, T>;

    fn deref(&self) -> &Var<'t, T> {
        self.coordinates()
    }
}

/// A variable as points of Euclidean space, one per row: what a layer of [`Euclidean`] takes.
impl<'t, T: Float> From<Var<'t, T>> for Point<Euclidean, Var<'t, T>> {
    fn from(coordinates: Var<'t, T>) -> Self {
        Point::new(Euclidean, coordinates)
    }
}

impl<'t, T: Float> From<Point<Euclidean, Var<'t, T>>> for Var<'t, T> {
    fn from(point: Point<Euclidean, Var<'t, T>>) -> Self {
        *point
    }
}

/// A Euclidean point takes every right operand that a variable takes. Variables and numbers take a point.
macro_rules! operator {
    ($($trait:ident $method:ident)*) => { $(
        impl<'t, T: Float, O> $trait<O> for Point<Euclidean, Var<'t, T>>
        where
            Var<'t, T>: $trait<O, Output = Var<'t, T>>,
        {
            type Output = Var<'t, T>;
            #[track_caller]
            fn $method(self, other: O) -> Var<'t, T> {
                <Var<'t, T> as $trait<O>>::$method(*self, other)
            }
        }
        impl<'t, T: Float> $trait<Point<Euclidean, Var<'t, T>>> for Var<'t, T> {
            type Output = Var<'t, T>;
            #[track_caller]
            fn $method(self, other: Point<Euclidean, Var<'t, T>>) -> Var<'t, T> {
                self.$method(*other)
            }
        }
        impl<'t, T: Float> $trait<Point<Euclidean, Var<'t, T>>> for f64 {
            type Output = Var<'t, T>;
            #[track_caller]
            fn $method(self, other: Point<Euclidean, Var<'t, T>>) -> Var<'t, T> {
                self.$method(*other)
            }
        }
    )* };
}
operator!(Add add Sub sub Mul mul Div div);

impl<'t, T: Float> Neg for Point<Euclidean, Var<'t, T>> {
    type Output = Var<'t, T>;
    #[track_caller]
    fn neg(self) -> Var<'t, T> {
        -*self
    }
}

//! How optimisers move points: plain descent, and steps with momentum as in SGD, Adam and their kin.
//!
//! ```text
//! r  = egrad_to_rgrad(x, g)          the Riemannian gradient
//! m  ← keep · m + take · r           the momentum, tangent at x
//! x' = exp_x(−length · m), bounded   the step, its length from ‖r‖² and kept second moments
//! m  ← P_{x→x'} m                    the momentum, carried along
//! ```
//!
//! Bonnabel 2013; Bécigneul & Ganea 2019 (Riemannian adaptive optimisation methods), algorithm 1.

use std::ops::Range;

use cotangent_engine::{Elementwise, Float, Rows, Scalar, Tape, Var, row_formula};

use crate::manifold::Manifold;

/// A manifold whose points an optimiser can move. Every method has a default, made of the operations of
/// [`Manifold`]; so a manifold of one's own needs only `impl Steps for Own {}`.
pub trait Steps: Manifold {
    /// Whether this is Euclidean space itself, in which the algorithms of optimisers are the ordinary ones.
    const FLAT: bool = false;

    /// The point `x` itself, unless it is so far out that its coordinates cannot hold the radial part of
    /// a gradient: then the farthest point on its radius where they can. The default is `x`.
    /// [`Lorentz`](crate::Lorentz) has such a bound, `x₀√−κ = 1/(4ε)`, as a factor of a product
    /// too. Steps of SGD and Adam end with this; [`exp`](Manifold::exp), and the deterministic solvers, do
    /// not.
    fn bounded<R: Rows>(&self, x: &R) -> R {
        x.clone()
    }

    /// [`descend`](Self::descend) in place on the calling thread, with the same result up to rounding.
    /// Points and gradients are `[rows, width]`.
    ///
    /// # Errors
    /// The first row whose result would not be finite. It is unchanged; other rows may have moved.
    fn descend_rows<T: Float>(
        &self,
        points: &mut [T],
        gradients: &[T],
        width: usize,
        rate: f64,
    ) -> Result<(), usize> {
        descended(self, points, gradients, width, rate)
    }

    /// One step of Riemannian gradient descent: `exp(x, −rate · egrad_to_rgrad(x, g))`,
    /// [`bounded`](Self::bounded).
    fn descend<R: Rows>(&self, x: &R, g: &R, rate: &R::Scalar) -> R {
        let gradient = self.egrad_to_rgrad(x, g);
        self.bounded(&self.exp(x, &R::vector(Descent, [&gradient], [rate])))
    }

    /// [`descend`](Self::descend) on a tape, for steps on a device: points and gradients are
    /// `[rows, width]`. A manifold whose [`descend_rows`](Self::descend_rows) has a shorter form that
    /// rounds differently uses that form here too.
    fn descend_on_tape<'t, T: Float>(&self, x: Var<'t, T>, g: Var<'t, T>, rate: f64) -> Var<'t, T> {
        self.descend(&x, &g, &x.constant(rate))
    }

    /// Number of second moments that adaptive optimisers keep for a row of this width. It is one, of the
    /// Riemannian norm, so that steps commute with isometries; in Euclidean space it is one for each
    /// coordinate. Bécigneul & Ganea 2019.
    fn moments(&self, width: usize) -> usize {
        let _ = width;
        1
    }

    /// A step of rows with momentum, on the calling thread. The default is
    /// [`composed`]; a manifold may have a shorter form of the same.
    ///
    /// # Errors
    /// The first row whose point, momentum or moment would not be finite. It is unchanged; rows before
    /// it may have changed.
    fn step<U: Rule<K>, T: Float, const K: usize>(
        &self,
        rule: &U,
        motion: Motion,
        rows: Moving<'_, T, K>,
    ) -> Result<(), usize> {
        composed(self, rule, motion, rows)
    }

    /// [`step`](Self::step) on a tape, for steps on a device. The caller must look for rows that are not
    /// finite. The default is [`on_tape`].
    fn step_on_tape<'t, U: Rule<K> + 'static, T: Float, const K: usize>(
        &self,
        rule: U,
        motion: Motion,
        rows: OnTape<'t, T, K>,
    ) -> OnTape<'t, T, K> {
        on_tape(self, rule, motion, rows)
    }

    /// Calls `visitor` with the manifold itself and the `coordinates` of a row; for a product, with each
    /// factor and its part of them. Optimisers take their steps factor by factor.
    fn factors<V: FactorVisitor>(&self, coordinates: Range<usize>, visitor: &mut V) {
        visitor.factor(self, coordinates);
    }
}

/// Receives the factors of a product.
pub trait FactorVisitor {
    /// A factor, and the coordinates of a row that are its own.
    fn factor<M: Steps>(&mut self, manifold: &M, coordinates: Range<usize>);
}

/// The number of factors of a product, and of second moments that adaptive optimisers keep for a row, for all
/// factors together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactorCount {
    /// Number of factors: 1, unless the manifold is a product.
    pub factors: usize,
    /// Number of second moments of a row.
    pub moments: usize,
}

impl FactorCount {
    /// The numbers of a manifold whose rows have this width.
    pub fn new<M: Steps>(manifold: &M, width: usize) -> Self {
        let mut count = FactorCount { factors: 0, moments: 0 };
        manifold.factors(0..width, &mut count);
        count
    }
}

impl FactorVisitor for FactorCount {
    fn factor<M: Steps>(&mut self, manifold: &M, columns: Range<usize>) {
        self.factors += 1;
        self.moments += manifold.moments(columns.len());
    }
}

/// What distinguishes one optimiser from another: a rule for scalars, with `K` second moments.
pub trait Rule<const K: usize>: Copy + Send + Sync {
    /// How much is kept of the old momentum, and how much is taken of the gradient.
    fn blend(&self) -> [f64; 2];

    /// The length of the step per unit of momentum, and the new moments, from the gradient's squared
    /// norm.
    fn length<S: Scalar>(&self, square: S, moments: [S; K]) -> (S, [S; K]);
}

/// How a point moves, given a momentum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// Nesterov's: moves along `keep · m + take · r` with the new momentum m, instead of along m.
    pub lookahead: bool,
    /// Moves this fraction of the way to the origin as well: `rate · weight decay`. Loshchilov & Hutter
    /// 2019.
    pub decay: f64,
    /// Moves by [`Manifold::retract`] instead of [`Manifold::exp`].
    pub retraction: bool,
}

/// Rows during a step.
#[derive(Debug)]
pub struct Moving<'a, T, const K: usize> {
    /// The points, `[rows, width]`.
    pub points: &'a mut [T],
    /// Their momenta, tangent vectors: `[rows, width]`.
    pub momenta: &'a mut [T],
    /// Their second moments, [`Steps::moments`] for each row.
    pub moments: [&'a mut [T]; K],
    /// The gradients with respect to the coordinates: `[rows, width]`.
    pub gradients: &'a [T],
    /// Coordinates of a row.
    pub width: usize,
}

/// A step without momentum, composed of [`Steps::descend`]: the default of
/// [`Steps::descend_rows`].
///
/// # Errors
/// The first row whose result would not be finite. Nothing is changed.
pub fn descended<M: Steps, T: Float>(
    manifold: &M,
    points: &mut [T],
    gradients: &[T],
    width: usize,
    rate: f64,
) -> Result<(), usize> {
    T::with_scratch_tape(|tape| {
        let shape = [points.len() / width, width];
        let constant = |from: &[T]| tape.constant_with(shape, |to| to.copy_from_slice(from));
        let (x, g) = (constant(points), constant(gradients));
        manifold.descend(&x, &g, &x.constant(rate)).with_data(|moved| {
            match moved.iter().position(|x| !x.is_finite()) {
                Some(bad) => Err(bad / width),
                None => {
                    points.copy_from_slice(moved);
                    Ok(())
                }
            }
        })
    })
}

/// Computes the lengths of steps, `[rows, 1]`, from the squared norms of the Riemannian gradients.
type Length<'a, 't, T> = dyn FnMut(Var<'t, T>) -> Var<'t, T> + 'a;

/// [`stepped`] on some manifold.
type Stepped<'a, 't, T> = dyn Fn([Var<'t, T>; 3], &mut Length<'_, 't, T>) -> [Var<'t, T>; 2] + 'a;

/// The equations of a step, given the points, their momenta and the coordinate gradients: the new points
/// and momenta. It alone is compiled for each manifold, and not for each rule.
fn stepped<'t, M: Steps, T: Float>(
    manifold: &M,
    [keep, take]: [f64; 2],
    motion: Motion,
    [x, momentum, g]: [Var<'t, T>; 3],
    length: &mut Length<'_, 't, T>,
) -> [Var<'t, T>; 2] {
    let gradient = manifold.egrad_to_rgrad(&x, &g);
    let square = manifold.inner(&x, &gradient, &gradient);
    let momentum = momentum * keep + gradient * take;
    let along = if motion.lookahead { momentum * keep + gradient * take } else { momentum };
    let mut velocity = along * -length(square);
    if motion.decay != 0.0 {
        let width = x.shape().width();
        let origin = manifold.origin::<T>(manifold.dimension(width));
        let origin = x.tape().constant_with([1, width], |to| to.copy_from_slice(&origin));
        velocity = velocity + manifold.log(&x, &origin) * motion.decay;
    }
    let moved = if motion.retraction { manifold.retract(&x, &velocity) } else { manifold.exp(&x, &velocity) };
    let moved = manifold.bounded(&moved);
    [moved, manifold.transport(&x, &moved, &momentum)]
}

/// A step composed of the operations of a manifold, with one second moment for each row: the default of
/// [`Steps::step`].
///
/// # Errors
/// The first row whose result would not be finite. Nothing is changed.
pub fn composed<M: Steps, U: Rule<K>, T: Float, const K: usize>(
    manifold: &M,
    rule: &U,
    motion: Motion,
    rows: Moving<'_, T, K>,
) -> Result<(), usize> {
    T::with_scratch_tape(|tape: &Tape<T>| {
        let stepped: &Stepped<'_, '_, T> =
            &|operands, length| stepped(manifold, rule.blend(), motion, operands, length);
        composed_of(tape, stepped, rule, rows)
    })
}

/// The part of [`composed`] that is the same for all manifolds.
#[inline(never)]
fn composed_of<'t, U: Rule<K>, T: Float, const K: usize>(
    tape: &'t Tape<T>,
    stepped: &Stepped<'_, 't, T>,
    rule: &U,
    rows: Moving<'_, T, K>,
) -> Result<(), usize> {
    let (width, n) = (rows.width, rows.points.len() / rows.width);
    let constant = |from: &[T]| tape.constant_with([n, width], |to| to.copy_from_slice(from));
    let operands = [constant(rows.points), constant(rows.momenta), constant(rows.gradients)];
    T::with_scratch((1 + K) * n, |scratch| {
        let (lengths, moments) = scratch.split_at_mut(n);
        let [moved, carried] = stepped(operands, &mut |square| {
            square.with_data(|square| {
                for i in 0..n {
                    let old = std::array::from_fn(|k| rows.moments[k][i].to_f64());
                    // In Minkowski space rounding may make the square of a vanishing vector negative.
                    let square = square[i].to_f64();
                    let (length, new) = rule.length(if square < 0.0 { 0.0 } else { square }, old);
                    lengths[i] = T::nearest(length);
                    for k in 0..K {
                        moments[k * n + i] = T::nearest(new[k]);
                    }
                }
            });
            tape.constant_with([n, 1], |to| to.copy_from_slice(lengths))
        });
        moved.with_data(|moved| {
            carried.with_data(|carried| {
                let bad = |row: &[T]| row.iter().any(|x| !x.is_finite());
                let bad_moment = |i: usize| (0..K).any(|k| !moments[k * n + i].is_finite());
                let mut rows_of = moved.chunks_exact(width).zip(carried.chunks_exact(width)).enumerate();
                if let Some((i, _)) = rows_of.find(|(i, (x, m))| bad(x) || bad(m) || bad_moment(*i)) {
                    return Err(i);
                }
                rows.points.copy_from_slice(moved);
                rows.momenta.copy_from_slice(carried);
                for (k, to) in rows.moments.into_iter().enumerate() {
                    to.copy_from_slice(&moments[k * n..(k + 1) * n]);
                }
                Ok(())
            })
        })
    })
}

/// Rows on a tape during a step: as [`Moving`].
#[derive(Clone, Copy, Debug)]
pub struct OnTape<'t, T: Float, const K: usize> {
    /// The points, `[rows, width]`.
    pub points: Var<'t, T>,
    /// Their momenta: `[rows, width]`.
    pub momenta: Var<'t, T>,
    /// Their second moments: `[rows, moments]`.
    pub moments: [Var<'t, T>; K],
    /// The gradients with respect to the coordinates: `[rows, width]`.
    pub gradients: Var<'t, T>,
}

/// One result of a [`Rule`]: the length of the step, or one of the new moments.
struct Number<U, const K: usize> {
    rule: U,
    /// 0 for the length.
    which: usize,
}

impl<U: Rule<K> + 'static, const K: usize> Elementwise for Number<U, K> {
    fn name(&self) -> &'static str {
        "step length"
    }
    fn eval<S: Scalar>(&self, operands: &[S]) -> S {
        // In Minkowski space rounding may make the square of a vanishing vector negative. NaN stays NaN.
        let square = S::zero().max(operands[0]);
        let (length, moments) = self.rule.length(square, std::array::from_fn(|k| operands[1 + k]));
        if self.which == 0 { length } else { moments[self.which - 1] }
    }
}

/// As [`composed`], with one second moment for each row, but recorded on the tape of the rows, which may
/// be a device's. The caller must look for rows that are not finite. The default of
/// [`Steps::step_on_tape`].
pub fn on_tape<'t, M: Steps, U: Rule<K> + 'static, T: Float, const K: usize>(
    manifold: &M,
    rule: U,
    motion: Motion,
    rows: OnTape<'t, T, K>,
) -> OnTape<'t, T, K> {
    on_tape_of(&|operands, length| stepped(manifold, rule.blend(), motion, operands, length), rule, rows)
}

/// The part of [`on_tape`] that is the same for all manifolds.
#[inline(never)]
fn on_tape_of<'t, U: Rule<K> + 'static, T: Float, const K: usize>(
    stepped: &Stepped<'_, 't, T>,
    rule: U,
    rows: OnTape<'t, T, K>,
) -> OnTape<'t, T, K> {
    let OnTape { points, momenta, moments, gradients } = rows;
    let (tape, n) = (points.tape(), points.shape().rows().elements());
    let mut new_moments = moments;
    let [points, momenta] = stepped([points, momenta, gradients], &mut |square| {
        let operands: Vec<Var<'t, T>> = std::iter::once(square.reshape([n, 1])).chain(moments).collect();
        let number = |which| tape.elementwise(Number { rule, which }, &operands);
        new_moments = std::array::from_fn(|k| number(1 + k));
        number(0)
    });
    OnTape { points, momenta, moments: new_moments, gradients }
}

row_formula! {
    /// `−t v`, t = parameter 0.
    Descent = "descent": vector [Input(0)];
    t = Param(0) => [-t]
}

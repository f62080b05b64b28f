//! Steps of first-order optimisers with momentum: SGD with momentum, Adam and their kin.
//!
//! ```text
//! r  = egrad_to_rgrad(x, g)          the Riemannian gradient
//! m  ← keep · m + take · r           the momentum, tangent at x
//! x' = exp_x(−length · m)            the step, its length from ‖r‖² and kept second moments
//! m  ← P_{x→x'} m                    the momentum, carried along
//! ```
//!
//! Bonnabel 2013; Bécigneul & Ganea 2019 (Riemannian adaptive optimisation methods), algorithm 1.

use cotangent_engine::{Elementwise, Float, Rows, Scalar, Tape, Var};

use crate::Manifold;

/// What distinguishes one optimiser from another: a rule of numbers, with `K` second moments.
pub trait Rule<const K: usize>: Copy + Send + Sync {
    /// What is kept of the old momentum, and what is taken of the gradient.
    fn blend(&self) -> [f64; 2];

    /// The length of the step for each unit of momentum, and the new moments, from the square of the gradient.
    fn length<S: Scalar>(&self, square: S, moments: [S; K]) -> (S, [S; K]);
}

/// How a point moves, given a momentum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// Nesterov's: along `keep · m + take · r` with the new momentum m, instead of along m.
    pub lookahead: bool,
    /// This part of the way to the origin, besides: `rate · weight decay`. Loshchilov & Hutter 2019.
    pub decay: f64,
    /// By [`Manifold::retract`] instead of [`Manifold::exp`].
    pub retraction: bool,
}

/// Rows in the course of a step.
#[derive(Debug)]
pub struct Moving<'a, T, const K: usize> {
    /// The points, `[rows, width]`.
    pub points: &'a mut [T],
    /// Their momenta, tangent vectors: `[rows, width]`.
    pub momenta: &'a mut [T],
    /// Their second moments, [`Manifold::moments`] for each row.
    pub moments: [&'a mut [T]; K],
    /// The gradients with respect to the coordinates: `[rows, width]`.
    pub gradients: &'a [T],
    /// Coordinates of a row.
    pub width: usize,
}

/// A step without momentum, put together from [`Manifold::descend`]: what [`Manifold::descend_rows`] is where the
/// manifold has no shorter form.
///
/// # Errors
/// The first row that would not be finite. Nothing is changed.
pub fn descended<M: Manifold, T: Float>(
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

/// A step put together from the operations of a manifold, with one second moment for each row: what
/// [`Manifold::step`] is where the manifold has no shorter form.
///
/// # Errors
/// The first row that would not be finite. Nothing is changed.
pub fn composed<M: Manifold, U: Rule<K>, T: Float, const K: usize>(
    manifold: &M,
    rule: &U,
    motion: Motion,
    rows: Moving<'_, T, K>,
) -> Result<(), usize> {
    let (width, n) = (rows.width, rows.points.len() / rows.width);
    let [keep, take] = rule.blend();
    T::with_scratch_tape(|tape: &Tape<T>| {
        let constant = |from: &[T]| tape.constant_with([n, width], |to| to.copy_from_slice(from));
        let (x, momentum, g) = (constant(rows.points), constant(rows.momenta), constant(rows.gradients));
        let gradient = manifold.egrad_to_rgrad(&x, &g);
        let square = manifold.inner(&x, &gradient, &gradient);
        let momentum = momentum * keep + gradient * take;
        let along = if motion.lookahead { momentum * keep + gradient * take } else { momentum };
        T::with_scratch((1 + K) * n, |scratch| {
            let (lengths, moments) = scratch.split_at_mut(n);
            square.with_data(|square| {
                for i in 0..n {
                    let old = std::array::from_fn(|k| rows.moments[k][i].to_f64());
                    // Rounding may leave the square of a vanishing vector negative in Minkowski space.
                    let square = square[i].to_f64();
                    let (length, new) = rule.length(if square < 0.0 { 0.0 } else { square }, old);
                    lengths[i] = T::nearest(length);
                    for k in 0..K {
                        moments[k * n + i] = T::nearest(new[k]);
                    }
                }
            });
            let mut velocity = along * -tape.constant_with([n, 1], |to| to.copy_from_slice(lengths));
            if motion.decay != 0.0 {
                let origin = manifold.origin::<T>(manifold.dimension(width));
                let origin = tape.constant_with([1, width], |to| to.copy_from_slice(&origin));
                velocity = velocity + manifold.log(&x, &origin) * motion.decay;
            }
            let moved =
                if motion.retraction { manifold.retract(&x, &velocity) } else { manifold.exp(&x, &velocity) };
            let carried = manifold.transport(&x, &moved, &momentum);
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
    })
}

/// Rows on a tape in the course of a step: as [`Moving`].
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

/// A number of a [`Rule`]: the length of the step, or one of the new moments.
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
        // Rounding may leave the square of a vanishing vector negative in Minkowski space; what is NaN stays so.
        let square = S::zero().max(operands[0]);
        let (length, moments) = self.rule.length(square, std::array::from_fn(|k| operands[1 + k]));
        if self.which == 0 { length } else { moments[self.which - 1] }
    }
}

/// As [`composed`], with one second moment for each row, recorded on the tape of its rows, on a device for one; rows that
/// would not be finite are the caller's to find. What [`Manifold::step_on_tape`] is where the manifold has no shorter form.
pub fn on_tape<'t, M: Manifold, U: Rule<K> + 'static, T: Float, const K: usize>(
    manifold: &M,
    rule: U,
    motion: Motion,
    rows: OnTape<'t, T, K>,
) -> OnTape<'t, T, K> {
    let OnTape { points: x, momenta, moments, gradients } = rows;
    let (tape, shape, [keep, take]) = (x.tape(), x.shape(), rule.blend());
    let (n, width) = (shape.rows().len(), shape.width());
    let gradient = manifold.egrad_to_rgrad(&x, &gradients);
    let square = manifold.inner(&x, &gradient, &gradient).reshape([n, 1]);
    let momentum = momenta * keep + gradient * take;
    let along = if motion.lookahead { momentum * keep + gradient * take } else { momentum };
    let operands: Vec<Var<'t, T>> = std::iter::once(square).chain(moments).collect();
    let number = |which| tape.elementwise(Number { rule, which }, &operands);
    let mut velocity = -(along * number(0));
    if motion.decay != 0.0 {
        let origin = manifold.origin::<T>(manifold.dimension(width));
        let origin = tape.constant_with([1, width], |to| to.copy_from_slice(&origin));
        velocity = velocity + manifold.log(&x, &origin) * motion.decay;
    }
    let points =
        if motion.retraction { manifold.retract(&x, &velocity) } else { manifold.exp(&x, &velocity) };
    let momenta = manifold.transport(&x, &points, &momentum);
    OnTape { points, momenta, moments: std::array::from_fn(|k| number(1 + k)), gradients }
}

#[cfg(test)]
mod tests {
    use cotangent_engine::Row;
    use cotangent_engine::rng;

    use super::*;
    use crate::{ConstantCurvature, Lorentz, Stereographic};

    /// Adam without bias correction.
    #[derive(Clone, Copy)]
    struct Adam;

    impl Rule<1> for Adam {
        fn blend(&self) -> [f64; 2] {
            [0.9, 0.1]
        }
        fn length<S: Scalar>(&self, square: S, [v]: [S; 1]) -> (S, [S; 1]) {
            let v = S::constant(0.99) * v + S::constant(0.01) * square;
            (S::constant(0.3) / (v.sqrt() + S::constant(1e-8)), [v])
        }
    }

    fn random<T: Float>(m: &Stereographic, n: usize, width: usize, radius: f64) -> [Vec<T>; 4] {
        let mut rng = rng::stream(5, width as u64, n as u64);
        let [mut x, mut v, mut g] = [(); 3].map(|_| Vec::new());
        for _ in 0..n {
            let point = m.random_point::<T>(width, radius, &mut rng);
            // Tangents of length about 1.
            let margin = cotangent_engine::domain::margin(&point, m.kappa());
            let mut tangent = |scale: f64| {
                let t = m.random_tangent(&point, &mut rng);
                t.iter().map(|c| T::nearest(scale * c.to_f64())).collect::<Vec<T>>()
            };
            v.extend(tangent(margin / 2.0));
            g.extend(tangent(2.0 / margin));
            x.extend_from_slice(&point);
        }
        let moments = (0..n).map(|i| T::nearest(i as f64 * 0.3)).collect();
        [x, v, moments, g]
    }

    /// What a distance loses where points are stored near the boundary.
    fn condition(points: [&Row<f64>; 2], kappa: f64) -> f64 {
        points.map(|x| 2.0 / cotangent_engine::domain::margin(x, kappa).abs().min(2.0)).iter().sum()
    }

    /// The short form is the long one, at every radius and curvature, for rows of all widths.
    #[test]
    fn a_step_in_the_ball_is_the_composition() {
        for (kappa, radius) in [(-1.0, 12.0), (-0.37, 3.0), (0.0, 1.0), (0.6, 0.5)] {
            let m = Stereographic::new(kappa).unwrap();
            for width in [1, 3, 8, 13, 32] {
                let n = 11;
                let [x, v, s, g] = random::<f64>(&m, n, width, radius);
                let [mut short, mut long] = [(); 2].map(|_| (x.clone(), v.clone(), s.clone()));
                let moving = |state: &mut (Vec<f64>, Vec<f64>, Vec<f64>), short: bool| {
                    let (points, momenta, moments) = state;
                    let rows = Moving { points, momenta, moments: [moments], gradients: &g, width };
                    if short {
                        m.step(&Adam, Motion::default(), rows).unwrap();
                    } else {
                        composed(&m, &Adam, Motion::default(), rows).unwrap();
                    }
                };
                moving(&mut short, true);
                moving(&mut long, false);
                assert_ne!(short.0, x);
                for i in 0..n {
                    let row = |v: &[f64]| Row::from(&v[i * width..(i + 1) * width]);
                    let (a, b) = (row(&short.0), row(&long.0));
                    let before = row(&x);
                    let bound = 32.0 * f64::EPSILON * condition([&a, &before], kappa);
                    assert!(m.dist(&a, &b) <= bound, "{kappa} {width}: {:e} {bound:e}", m.dist(&a, &b));
                    let (p, q) = (row(&short.1), row(&long.1));
                    let difference: Row<f64> =
                        Row::from(p.iter().zip(q.iter()).map(|(p, q)| p - q).collect::<Vec<_>>().as_slice());
                    let (error, norm) = (m.norm(&a, &difference), m.norm(&a, &p));
                    let bound = 64.0 * bound * norm;
                    assert!(error <= bound, "{kappa} {width}: momentum {error:e} {bound:e}");
                    assert!((short.2[i] / long.2[i] - 1.0).abs() < 1e-14);
                }
            }
        }
    }

    /// A step without momentum is [`Manifold::descend`], and so is the first step with it; also back past the origin, where
    /// the gradient is nearly parallel to the point and the small area between them decides.
    #[test]
    fn descending_rows_is_descending() {
        #[derive(Clone, Copy)]
        struct Plain;
        impl Rule<0> for Plain {
            fn blend(&self) -> [f64; 2] {
                [0.0, 1.0]
            }
            fn length<S: Scalar>(&self, _: S, []: [S; 0]) -> (S, [S; 0]) {
                (S::constant(0.5), [])
            }
        }
        for (kappa, radius) in [(-1.0, 6.0), (-0.37, 3.0), (0.0, 1.0), (0.6, 0.5)] {
            let m = Stereographic::new(kappa).unwrap();
            for (width, aside) in [(1, 1.0), (2, 1e-4), (5, 1.0), (5, 1e-6), (13, 1e-9)] {
                let (n, mut rng) = (11, rng::stream(6, width as u64, 0));
                let [x, _, _, mut g] = random::<f64>(&m, n, width, radius);
                for (x, g) in x.chunks_exact(width).zip(g.chunks_exact_mut(width)) {
                    // To y, opposite of x.
                    let x = Row::from(x);
                    let mut y = m.random_point::<f64>(width, radius, &mut rng);
                    let by = -m.dist(&m.origin(width), &x).tanh() / 2.0;
                    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = 0.4 * aside * *y + by * x);
                    let margin = cotangent_engine::domain::margin(&x, kappa);
                    let velocity = m.log(&x, &y);
                    g.iter_mut().zip(velocity.iter()).for_each(|(g, v)| *g = -8.0 * v / margin.powi(2));
                }
                let (mut plain, mut with_momentum, mut momenta) =
                    (x.clone(), x.clone(), vec![0.0; n * width]);
                m.descend_rows(&mut plain, &g, width, 0.5).unwrap();
                let rows = Moving {
                    points: &mut with_momentum,
                    momenta: &mut momenta,
                    moments: [],
                    gradients: &g,
                    width,
                };
                m.step(&Plain, Motion::default(), rows).unwrap();
                for i in 0..n {
                    let row = |v: &[f64]| Row::from(&v[i * width..(i + 1) * width]);
                    let want = m.descend(&row(&x), &row(&g), &0.5);
                    for moved in [&plain, &with_momentum] {
                        let miss = m.dist(&row(moved), &want);
                        let bound = 32.0 * f64::EPSILON * condition([&row(&x), &want], kappa);
                        assert!(miss <= bound, "{kappa} {width} {aside}: {miss:e} {bound:e}");
                    }
                }
            }
        }
    }

    /// Law 61, where the difference of two points loses digits: the carried momentum keeps its norm.
    #[test]
    fn momenta_keep_their_norm_to_the_boundary() {
        #[derive(Clone, Copy)]
        struct Keep;
        impl Rule<0> for Keep {
            fn blend(&self) -> [f64; 2] {
                [1.0, 0.0]
            }
            fn length<S: Scalar>(&self, _: S, []: [S; 0]) -> (S, [S; 0]) {
                (S::constant(-0.8), [])
            }
        }
        let m = Stereographic::new(-1.0).unwrap();
        for radius in [1.0, 10.0, 25.0] {
            let [mut x, mut v, _, g] = random::<f64>(&m, 20, 4, radius);
            let before: Vec<f64> = norms(&m, &x, &v);
            let rows = Moving { points: &mut x, momenta: &mut v, moments: [], gradients: &g, width: 4 };
            m.step(&Keep, Motion::default(), rows).unwrap();
            for (i, (a, b)) in norms(&m, &x, &v).into_iter().zip(before).enumerate() {
                // An ulp of a coordinate is a margin of u λ.
                let margin = cotangent_engine::domain::margin(&x[4 * i..4 * i + 4], -1.0);
                let bound = 16.0 * f64::EPSILON / margin;
                assert!((a / b - 1.0).abs() <= bound, "{radius}: {a} {b} {bound:e}");
            }
        }

        fn norms(m: &Stereographic, x: &[f64], v: &[f64]) -> Vec<f64> {
            let rows = x.chunks_exact(4).zip(v.chunks_exact(4));
            rows.map(|(x, v)| m.norm(&Row::from(x), &Row::from(v))).collect()
        }
    }

    #[test]
    fn a_row_that_is_not_finite_is_named() {
        let m = Stereographic::new(-1.0).unwrap();
        let lorentz = Lorentz::new(-1.0).unwrap();
        let origin = lorentz.origin::<f32>(1);
        for short in [true, false] {
            let (mut x, mut v, mut s) = (vec![0.1_f32; 6], vec![0.0; 6], vec![0.0; 3]);
            let g = [1.0, 1.0, 1.0, 1.0, f32::NAN, 1.0];
            let rows = Moving { points: &mut x, momenta: &mut v, moments: [&mut s], gradients: &g, width: 2 };
            let outcome = if short {
                m.step(&Adam, Motion::default(), rows)
            } else {
                composed(&m, &Adam, Motion::default(), rows)
            };
            assert_eq!(outcome, Err(2));
            assert_eq!((x[4], v[5], s[2]), (0.1, 0.0, 0.0));
        }
        // Finite coefficients, but not in storage.
        let mut x = [0.0_f32; 4];
        let flat = Stereographic::new(0.0).unwrap();
        assert_eq!(flat.descend_rows(&mut x, &[1.0, 1.0, 1.0, 3e38], 2, 8.0), Err(1));
        let (mut x, mut v) = (origin.to_vec(), vec![0.0; 2]);
        let mut s = [f32::INFINITY];
        let rows =
            Moving { points: &mut x, momenta: &mut v, moments: [&mut s], gradients: &[0.0; 2], width: 2 };
        assert_eq!(lorentz.step(&Adam, Motion::default(), rows), Err(0));
    }
}

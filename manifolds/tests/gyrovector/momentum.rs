//! Steps of optimisers: the ball's short forms, and what they are composed of.

use cotangent_engine::domain::margin;
use cotangent_engine::{Float, Row, Scalar, rng};
use cotangent_manifolds::steps::{Motion, Moving, Rule, composed};
use cotangent_manifolds::{ConstantCurvature, Lorentz, Manifold, Steps, Stereographic};

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
        let margin = margin(&point, m.kappa());
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

/// The digits that a distance loses where points are stored near the boundary.
fn condition(points: [&Row<f64>; 2], kappa: f64) -> f64 {
    points.map(|x| 2.0 / margin(x, kappa).abs().min(2.0)).iter().sum()
}

/// The short form agrees with the long one, at every radius and curvature, for rows of all widths.
#[test]
fn a_step_in_the_ball_is_the_composition() {
    for (kappa, radius) in [(-1.0, 12.0), (-0.37, 3.0), (0.0, 1.0), (0.6, 0.5)] {
        let m = Stereographic::new(kappa);
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

/// A step without momentum is [`Steps::descend`], and so is the first step with momentum. This
/// includes steps back past the origin, where the gradient is nearly parallel to the point and the small
/// area between them decides.
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
        let m = Stereographic::new(kappa);
        for (width, aside) in [(1, 1.0), (2, 1e-4), (5, 1.0), (5, 1e-6), (13, 1e-9)] {
            let (n, mut rng) = (11, rng::stream(6, width as u64, 0));
            let [x, _, _, mut g] = random::<f64>(&m, n, width, radius);
            for (x, g) in x.chunks_exact(width).zip(g.chunks_exact_mut(width)) {
                // To y, opposite of x.
                let x = Row::from(x);
                let mut y = m.random_point::<f64>(width, radius, &mut rng);
                let by = -m.dist(&m.origin(width), &x).tanh() / 2.0;
                y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = 0.4 * aside * *y + by * x);
                let margin = margin(&x, kappa);
                let velocity = m.log(&x, &y);
                g.iter_mut().zip(velocity.iter()).for_each(|(g, v)| *g = -8.0 * v / margin.powi(2));
            }
            let (mut plain, mut with_momentum, mut momenta) = (x.clone(), x.clone(), vec![0.0; n * width]);
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

/// Law 61: the carried momentum keeps its norm, also where the difference of two points loses digits.
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
    let m = Stereographic::new(-1.0);
    for radius in [1.0, 10.0, 25.0] {
        let [mut x, mut v, _, g] = random::<f64>(&m, 20, 4, radius);
        let before: Vec<f64> = norms(&m, &x, &v);
        let rows = Moving { points: &mut x, momenta: &mut v, moments: [], gradients: &g, width: 4 };
        m.step(&Keep, Motion::default(), rows).unwrap();
        for (i, (a, b)) in norms(&m, &x, &v).into_iter().zip(before).enumerate() {
            // An ulp of a coordinate is a margin of u λ.
            let margin = margin(&x[4 * i..4 * i + 4], -1.0);
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
    let m = Stereographic::new(-1.0);
    let lorentz = Lorentz::new(-1.0);
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
    // The coefficients are finite, but the result does not fit storage.
    let mut x = [0.0_f32; 4];
    let flat = Stereographic::new(0.0);
    assert_eq!(flat.descend_rows(&mut x, &[1.0, 1.0, 1.0, 3e38], 2, 8.0), Err(1));
    let (mut x, mut v) = (origin.to_vec(), vec![0.0; 2]);
    let mut s = [f32::INFINITY];
    let rows = Moving { points: &mut x, momenta: &mut v, moments: [&mut s], gradients: &[0.0; 2], width: 2 };
    assert_eq!(lorentz.step(&Adam, Motion::default(), rows), Err(0));
}

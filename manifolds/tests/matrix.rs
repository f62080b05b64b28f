//! Laws of the manifolds of matrices, numbered as in the list of laws that the manifolds are tested by.
//!
//! Errors are compared with `C · u · condition`: u the unit roundoff of storage, the condition of a positive
//! definite matrix its condition number (an ulp of an element is that distance), 1 for orthonormal columns.

use cotangent_engine::{Float, Row, Rows, Tape, Tensor, Var, check, rng};
use cotangent_manifolds::{Manifold, Spd};
use rand::RngExt;

const DRAWS: u64 = 24;

/// `a + factor b`.
fn combine<T: Float>(a: &Row<T>, factor: f64, b: &Row<T>) -> Row<T> {
    let mut out = a.clone();
    out.iter_mut().zip(b.iter()).for_each(|(a, b)| *a = T::nearest(a.to_f64() + factor * b.to_f64()));
    out
}

fn scaled<T: Float>(a: &Row<T>, factor: f64) -> Row<T> {
    let mut out = a.clone();
    out.iter_mut().for_each(|a| *a = T::nearest(factor * a.to_f64()));
    out
}

fn dot<T: Float>(a: &Row<T>, b: &Row<T>) -> f64 {
    a.iter().zip(b.iter()).map(|(a, b)| a.to_f64() * b.to_f64()).sum()
}

/// What the laws need to know of a manifold.
struct Laws<M> {
    m: M,
    /// Points are drawn at this distance of the origin at most, tangents with this norm at most.
    radius: f64,
    /// By how much the manifold stretches an ulp of an element, at this distance of the origin.
    condition: fn(f64) -> f64,
}

impl<M: Manifold> Laws<M> {
    fn all(&self) {
        self.of::<f64>();
        self.of::<f32>();
    }

    fn of<T: Float>(&self) {
        let m = self.m;
        let dim = m.fixed_dimension().unwrap();
        let origin = m.origin::<T>(dim);
        m.contains(&origin).unwrap();
        assert_eq!(m.ambient(dim), origin.len());
        assert_eq!(m.dimension(origin.len()), dim);
        let size = origin.len() as f64;
        for draw in 0..DRAWS {
            let mut rng = rng::stream(draw, 71, origin.len() as u64);
            let x = m.random_point::<T>(dim, self.radius, &mut rng);
            let mut v = m.random_tangent(&x, &mut rng);
            let near = draw % 4 == 0;
            let length = if near { 1e-3 } else { self.radius * rng.random::<f64>() };
            let norm = m.norm(&x, &v);
            v = scaled(&v, if norm > 0.0 { length / norm } else { 0.0 });
            let y = if near { m.exp(&x, &v) } else { m.random_point::<T>(dim, self.radius, &mut rng) };
            let far = m.dist(&origin, &x).max(m.dist(&origin, &y)) + m.norm(&x, &v);
            let bound = 4.0 * T::EPSILON * size * (self.condition)(far);
            let close = |what: &str, error: f64, bound: f64| {
                assert!(error <= bound, "{what}: {error:e} > {bound:e}; {m:?} {} draw {draw}", T::NAME);
            };
            let difference = |at: &Row<T>, a: &Row<T>, b: &Row<T>| m.norm(at, &combine(a, -1.0, b));
            m.contains(&x).unwrap();
            m.contains(&y).unwrap();

            // 15, 16, 17
            let (d, w) = (m.dist(&x, &y), m.log(&x, &y));
            assert_eq!(m.dist(&x, &x), 0.0);
            close("symmetry", (d - m.dist(&y, &x)).abs(), bound);
            close("|log| = d", (m.norm(&x, &w) - d).abs(), bound);
            let back = m.exp(&x, &w);
            m.contains(&back).unwrap();
            close("exp(log y) = y", m.dist(&back, &y), bound);
            let z = m.exp(&x, &v);
            close("d(x, exp v) = |v|", (m.dist(&x, &z) - m.norm(&x, &v)).abs(), bound);
            close("log(exp v) = v", difference(&x, &m.log(&x, &z), &v), bound);
            let middle = m.geodesic(&x, &y, &0.5);
            close("midpoint", (m.dist(&x, &middle) - m.dist(&middle, &y)).abs(), bound);

            // 25, 27
            let u = m.random_tangent(&x, &mut rng);
            let carried = m.transport(&x, &y, &u);
            let kept = m.project_tangent(&y, &carried);
            let unit = m.norm(&x, &u);
            close("tangency", difference(&y, &kept, &carried), bound * unit);
            close("|Pu| = |u|", (m.norm(&y, &carried) - unit).abs(), bound * unit);
            let products = m.inner(&y, &carried, &m.transport(&x, &y, &v)) - m.inner(&x, &u, &v);
            close("<Pu, Pv> = <u, v>", products.abs(), bound * unit);
            close("there and back", difference(&x, &m.transport(&y, &x, &carried), &u), bound * unit);
            let reverse = scaled(&m.log(&y, &x), -1.0);
            close("P log = -log", difference(&y, &m.transport(&x, &y, &w), &reverse), bound);

            // 36: the derivative of ⟨g, x⟩ + ½‖x‖² along u.
            let mut g = x.clone();
            g.iter_mut().for_each(|c| *c = T::nearest(c.to_f64() + rng.random_range(-1.0..1.0)));
            let gradient = m.egrad_to_rgrad(&x, &g);
            let scale = m.norm(&x, &gradient) * unit;
            close("gradient", (m.inner(&x, &gradient, &u) - dot(&g, &u)).abs(), bound * scale);

            // 37
            close("R(0) = x", m.dist(&m.retract(&x, &scaled(&u, 0.0)), &x), bound);

            // 39
            assert_eq!(m.project(&x), x);
            let free = scaled(&g, 3.0);
            let projected = m.project(&free);
            m.contains(&projected).unwrap();
            assert_eq!(m.project(&projected), projected);
            let once = m.project_tangent(&x, &g);
            close(
                "idempotent",
                difference(&x, &m.project_tangent(&x, &once), &once),
                bound * m.norm(&x, &once),
            );
            for factor in [0.0, 1e-30, 1e4, 1e10, 1e30] {
                let far = scaled(&u, factor);
                m.contains(&m.exp(&x, &far)).unwrap();
                m.contains(&m.retract(&x, &far)).unwrap();
            }
        }
    }
}

/// Gradients of every operation by finite differences, at points and tangents made of free coordinates by `m`.
fn gradients<M: Manifold>(m: M, seed: u64) {
    let dim = m.fixed_dimension().unwrap();
    let width = m.ambient(dim);
    let origin = Tensor::new([width], m.origin::<f64>(dim).to_vec());
    let mut rng = rng::stream(seed, 72, width as u64);
    let inputs: [Tensor<f64>; 4] =
        std::array::from_fn(|_| Tensor::from_fn([2, width], |_| rng.random_range(-0.5..0.5)));
    for_each_operation(m, |name, operation| {
        let worst = check::gradients(&inputs, |free| {
            let origin = free[0].tape().constant(&origin);
            let [x, y] = [0, 1].map(|i| m.exp(&origin, &m.project_tangent(&origin, &free[i])));
            let [u, v] = [2, 3].map(|i| m.project_tangent(&x, &free[i]));
            operation([x, y, u, v])
        });
        assert!(worst.relative < 1e-8, "{name} {m:?}: {worst:?}");
    });
}

/// Every differentiable operation as a number.
fn for_each_operation<M: Manifold>(
    m: M,
    mut each: impl FnMut(&str, &dyn for<'t> Fn([Var<'t, f64>; 4]) -> Var<'t, f64>),
) {
    each("dist", &|[x, y, _, _]| weighted(m.dist(&x, &y)));
    each("squared dist", &|[x, y, _, _]| weighted(m.dist(&x, &y).square()));
    each("inner", &|[x, _, u, v]| weighted(m.inner(&x, &u, &v)));
    each("norm", &|[x, _, u, _]| weighted(m.norm(&x, &u)));
    each("exp", &|[x, _, u, _]| weighted(m.exp(&x, &u)));
    each("log", &|[x, y, _, _]| weighted(m.log(&x, &y)));
    each("transport", &|[x, y, u, _]| weighted(m.transport(&x, &y, &u)));
    each("egrad_to_rgrad", &|[x, y, _, _]| weighted(m.egrad_to_rgrad(&x, &y)));
    each("project_tangent", &|[x, y, _, _]| weighted(m.project_tangent(&x, &y)));
    each("retract", &|[x, _, u, _]| weighted(m.retract(&x, &u)));
    each("project", &|[x, y, _, _]| weighted(m.project(&(x + y * 0.3))));
    each("descend", &|[x, _, u, _]| weighted(m.descend(&x, &u, &x.constant(0.3))));
}

fn weighted(v: Var<'_, f64>) -> Var<'_, f64> {
    let w = v.tape().constant(&Tensor::from_fn(v.shape(), |i| 0.3 + (i as f64).sin()));
    // Near 10, which derivatives and rounding are then measured against.
    10.0 + (v * w).sum()
}

/// Rows, tensors and tapes give the same bits.
fn levels<M: Manifold, T: Float>(m: M) {
    let dim = m.fixed_dimension().unwrap();
    let mut rng = rng::stream(1, 73, dim as u64);
    let mut rows: [Vec<Row<T>>; 3] = [vec![], vec![], vec![]];
    for _ in 0..3 {
        let x = m.random_point::<T>(dim, 1.0, &mut rng);
        rows[1].push(m.random_point::<T>(dim, 1.0, &mut rng));
        rows[2].push(m.random_tangent(&x, &mut rng));
        rows[0].push(x);
    }
    let width = rows[0][0].len();
    let [x, y, v] =
        rows.each_ref().map(|rows| Tensor::from_fn([rows.len(), width], |i| rows[i / width][i % width]));
    let tape = Tape::<T>::new();
    let [a, b, c] = [&x, &y, &v].map(|t| tape.constant(t));
    macro_rules! same {
        ($($operation:ident($($argument:tt)*);)*) => {$(
            let [of_tensor, of_tape] = [
                m.$operation($(same!(@x y v $argument)),*),
                m.$operation($(same!(@a b c $argument)),*).to_tensor(),
            ];
            assert_eq!(of_tensor.data(), of_tape.data(), "{m:?} {}", stringify!($operation));
            for i in 0..3 {
                let (x, y, v) = (&rows[0][i], &rows[1][i], &rows[2][i]);
                let _ = (y, v);
                assert_eq!(m.$operation($(same!(@row x y v $argument)),*)[..], *of_tensor.row(i));
            }
        )*};
        (@$x:ident $y:ident $v:ident 0) => { &$x };
        (@$x:ident $y:ident $v:ident 1) => { &$y };
        (@$x:ident $y:ident $v:ident 2) => { &$v };
        (@row $x:ident $y:ident $v:ident 0) => { $x };
        (@row $x:ident $y:ident $v:ident 1) => { $y };
        (@row $x:ident $y:ident $v:ident 2) => { $v };
    }
    same! {
        exp(0 2);
        log(0 1);
        transport(0 1 2);
        egrad_to_rgrad(0 2);
        project_tangent(0 2);
        project(0);
        retract(0 2);
    }
    let (of_tensor, of_tape) = (m.dist(&x, &y), m.dist(&a, &b).to_tensor());
    for i in 0..3 {
        let one = m.dist(&rows[0][i], &rows[1][i]);
        assert_eq!(one.to_bits(), of_tensor.data()[i].to_bits());
        assert_eq!(T::nearest(one), of_tape.data()[i]);
    }
}

/// A product of row-major matrices, `[rows, inner]` and `[inner, columns]`.
fn product(a: &[f64], b: &[f64], inner: usize) -> Row<f64> {
    let columns = b.len() / inner;
    let out: Vec<f64> = (0..a.len() / inner * columns)
        .map(|k| (0..inner).map(|l| a[k / columns * inner + l] * b[l * columns + k % columns]).sum())
        .collect();
    Row::from(out.as_slice())
}

fn transpose(a: &[f64], columns: usize) -> Row<f64> {
    let rows = a.len() / columns;
    let out: Vec<f64> = (0..a.len()).map(|k| a[k % rows * columns + k / rows]).collect();
    Row::from(out.as_slice())
}

fn diagonal(d: &[f64]) -> Row<f64> {
    let n = d.len();
    let out: Vec<f64> = (0..n * n).map(|k| if k / n == k % n { d[k / n] } else { 0.0 }).collect();
    Row::from(out.as_slice())
}

mod spd {
    use super::*;

    const SIZES: [usize; 5] = [1, 2, 3, 5, 8];

    fn both(n: usize) -> [Spd; 2] {
        [Spd::affine_invariant(n), Spd::log_euclidean(n)]
    }

    /// Two eigenvalues of a matrix at distance r of the identity are a factor of e^(√2 r) apart at most.
    fn condition(radius: f64) -> f64 {
        (2f64.sqrt() * radius).exp()
    }

    #[test]
    fn laws() {
        for n in SIZES {
            for m in both(n) {
                Laws { m, radius: 1.5, condition }.all();
            }
        }
    }

    #[test]
    fn gradients_equal_finite_differences() {
        for n in [1, 2, 3, 4] {
            both(n).into_iter().for_each(|m| gradients(m, n as u64));
        }
    }

    /// Off the manifold, projection is onto the positive part.
    #[test]
    fn gradient_of_projection() {
        let x = Tensor::new([1, 9], vec![1.0, 0.3, -0.2, 0.5, -2.0, 0.4, 0.1, -0.7, 0.5]);
        let worst = check::gradients(&[x], |v| weighted(Spd::affine_invariant(3).project(&v[0])));
        assert!(worst.relative < 1e-8, "{worst:?}");
    }

    /// Where eigenvalues or points coincide.
    #[test]
    fn gradients_at_coinciding_eigenvalues() {
        let twice = Tensor::new([1, 4], vec![2.0, 0.0, 0.0, 2.0]);
        let thrice = Tensor::new([1, 4], vec![3.0, 0.0, 0.0, 3.0]);
        let u = Tensor::new([1, 4], vec![0.4, 0.1, 0.1, 0.4]);
        for m in both(2) {
            for y in [&twice, &thrice] {
                let inputs = [twice.clone(), y.clone(), u.clone(), u.clone()];
                for_each_operation(m, |name, operation| {
                    if name == "dist" && *y == twice {
                        return;
                    }
                    let worst = check::gradients(&inputs, |v| operation([v[0], v[1], v[2], v[3]]));
                    assert!(worst.relative < 1e-8, "{name} {m:?}: {worst:?}");
                });
            }
            let tape = Tape::new();
            let (x, y) = (tape.variable(&twice), tape.variable(&twice));
            let gradients = tape.backward(m.dist(&x, &y).sum());
            assert_eq!(gradients.wrt(x).unwrap().to_dense(1, 4), [0.0; 4]);
        }
    }

    #[test]
    fn levels_agree_bit_for_bit() {
        for n in [1, 3] {
            for m in both(n) {
                levels::<_, f64>(m);
                levels::<_, f32>(m);
            }
        }
    }

    /// Commuting matrices: distances, geodesics and transports are those of the logarithms of the eigenvalues,
    /// however far apart these are.
    #[test]
    fn diagonal_matrices() {
        let (a, b) = ([1e-40, 3.0, 1e20], [1e-30, 3.0 + 3e-12, 1e5]);
        let (x, y) = (diagonal(&a), diagonal(&b));
        let ratio = |i: usize| (b[i] / a[i]).ln();
        let want = (0..3).map(|i| ratio(i).powi(2)).sum::<f64>().sqrt();
        for m in both(3) {
            assert!((m.dist(&x, &y) / want - 1.0).abs() < 1e-14);
        }
        let m = Spd::affine_invariant(3);
        let (log, carried) = (m.log(&x, &y), m.transport(&x, &y, &x));
        for i in 0..3 {
            // The ratio of the middle ones, computed here, has four digits.
            assert!((log[4 * i] / (a[i] * ratio(i)) - 1.0).abs() < 1e-3, "{i} {log:?}");
            assert!((carried[4 * i] / b[i] - 1.0).abs() < 1e-14);
            assert!((m.exp(&x, &log)[4 * i] / b[i] - 1.0).abs() < 1e-13);
        }
    }

    /// Nearby points: relative to the distance, not to the points.
    #[test]
    fn small_distances_are_accurate() {
        let m = Spd::affine_invariant(2);
        let x = Row::from([2.0, 1.0, 1.0, 2.0]);
        for k in [10, 25, 40, 50] {
            // Half of the steps are eigenvalues of X⁻¹ D, for D = h [[1, 0], [0, −1]]: ±h/√3.
            let h = 2f64.powi(-k);
            let y = Row::from([2.0 + h, 1.0, 1.0, 2.0 - h]);
            let e = h / 3f64.sqrt();
            let want = (e.ln_1p().powi(2) + (-e).ln_1p().powi(2)).sqrt();
            assert!((m.dist(&x, &y) / want - 1.0).abs() < 8.0 * f64::EPSILON, "{k}");
        }
    }

    #[test]
    fn invariances() {
        for n in SIZES {
            let [m, flat] = both(n);
            let dim = m.fixed_dimension().unwrap();
            let mut rng = rng::stream(3, 74, n as u64);
            let (x, y) =
                (m.random_point::<f64>(dim, 1.5, &mut rng), m.random_point::<f64>(dim, 1.5, &mut rng));
            let mut a = diagonal(&vec![1.0; n]);
            a.iter_mut().for_each(|c| *c += rng.random_range(-0.2..0.2));
            let moved = |x: &Row<f64>| m.project(&product(&product(&a, x, n), &transpose(&a, n), n));
            let bound = 64.0 * (n * n) as f64 * f64::EPSILON * condition(1.5);
            assert!((m.dist(&moved(&x), &moved(&y)) - m.dist(&x, &y)).abs() < bound, "congruence {n}");
            // Transport commutes with the congruence.
            let v = m.random_tangent(&x, &mut rng);
            let (carried, of_moved) = (moved_tangent(&a, &m.transport(&x, &y, &v), n), {
                m.transport(&moved(&x), &moved(&y), &moved_tangent(&a, &v, n))
            });
            assert!(m.norm(&moved(&y), &combine(&carried, -1.0, &of_moved)) < bound * m.norm(&x, &v));
            // The inverse of X is exp(−log X), at the identity.
            let o = m.origin::<f64>(dim);
            let inverse = |x: &Row<f64>| m.exp(&o, &scaled(&m.log(&o, x), -1.0));
            for m in [m, flat] {
                assert!((m.dist(&inverse(&x), &inverse(&y)) - m.dist(&x, &y)).abs() < bound, "inverse {n}");
            }
            let double = |x| scaled(x, 2.0);
            assert!((flat.dist(&double(&x), &double(&y)) - flat.dist(&x, &y)).abs() < bound, "scaling {n}");
        }
    }

    fn moved_tangent(a: &Row<f64>, v: &Row<f64>, n: usize) -> Row<f64> {
        let s = product(&product(a, v, n), &transpose(a, n), n);
        combine(&scaled(&s, 0.5), 0.5, &transpose(&s, n))
    }

    #[test]
    fn rows_off_the_manifold_are_told_by_how_much() {
        let m = Spd::affine_invariant(2);
        let error = m.contains(&[1.0, 2.0, 2.0, 1.0]).unwrap_err();
        assert_eq!(error.condition, "smallest eigenvalue > 0");
        assert!((error.by - 1.0).abs() < 1e-14, "{error}");
        assert_eq!(m.contains(&[1.0, 0.5, 0.25, 1.0]).unwrap_err().by, 0.25);
        assert!(m.contains(&[f64::NAN, 0.0, 0.0, 1.0]).is_err());
        assert!(m.contains(&[f64::INFINITY, 0.0, 0.0, 1.0]).is_err());
        // Projection of what is not positive definite at all.
        for row in
            [[0.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, -2.0], [1.0, 1.0, 1.0, 1.0], [1e300, 0.0, 0.0, 1.0]]
        {
            m.contains(&m.project(&Row::from(row))).unwrap();
            m.contains(&m.project(&Row::from(row.map(|x| x as f32).map(|x| x.min(f32::MAX))))).unwrap();
        }
    }

    #[test]
    #[should_panic(expected = "spd.dist: rows of 3 x 3 matrices are needed, 9 elements each, not [4, 9]")]
    fn sizes_are_checked() {
        let m = Spd::affine_invariant(3);
        m.dist(&Row::from([1.0, 0.0, 0.0, 1.0]), &m.origin::<f64>(6));
    }
}

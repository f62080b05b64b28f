//! Laws of the manifolds of matrices.
//!
//! Errors are compared with `C · u · condition`, u the unit roundoff of storage. The condition is 1 for
//! orthonormal columns. For a positive definite matrix it is its condition number: an error of one ulp in
//! an element moves the point by that distance.

mod decompositions;
mod grassmann;
mod spd;
mod spectral;
mod stiefel;

use cotangent_engine::{Float, Row, Rows, Storage, Tape, Tensor, Var, check, rng};
use cotangent_manifolds::{Manifold, Steps};
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

/// A manifold with what the laws need to know about it.
struct Laws<M> {
    m: M,
    /// Points are drawn at most at this distance from the origin, tangents with at most this norm.
    radius: f64,
    /// How much the manifold stretches an ulp of an element, at this distance from the origin.
    condition: fn(f64) -> f64,
    /// Whether transport is along geodesics.
    parallel: bool,
}

impl<M: Manifold> Laws<M> {
    fn all(&self) {
        self.check::<f64>();
        self.check::<f32>();
    }

    fn check<T: Float>(&self) {
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
            let reach = m.dist(&origin, &x).max(m.dist(&origin, &y)) + m.norm(&x, &v);
            let bound = 4.0 * T::EPSILON * size * (self.condition)(reach);
            let close = |what: &str, error: f64, bound: f64| {
                assert!(error <= bound, "{what}: {error:e} > {bound:e}; {m:?} {} draw {draw}", T::NAME);
            };
            let difference = |x: &Row<T>, a: &Row<T>, b: &Row<T>| m.norm(x, &combine(a, -1.0, b));
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
            if self.parallel {
                close("|Pu| = |u|", (m.norm(&y, &carried) - unit).abs(), bound * unit);
                let products = m.inner(&y, &carried, &m.transport(&x, &y, &v)) - m.inner(&x, &u, &v);
                close("<Pu, Pv> = <u, v>", products.abs(), bound * unit);
                close("there and back", difference(&x, &m.transport(&y, &x, &carried), &u), bound * unit);
                let reverse = scaled(&m.log(&y, &x), -1.0);
                close("P log = -log", difference(&y, &m.transport(&x, &y, &w), &reverse), bound);
            }

            // 36: the derivative of ⟨g, x⟩ + ½‖x‖² along u.
            let mut g = x.clone();
            g.iter_mut().for_each(|c| *c = T::nearest(c.to_f64() + rng.random_range(-1.0..1.0)));
            let gradient = m.egrad_to_rgrad(&x, &g);
            let scale = m.norm(&x, &gradient) * unit + (dot(&g, &g) * dot(&u, &u)).sqrt();
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
                // The rounding of the first projection is relative to what it takes away.
                bound * m.norm(&x, &once).max(dot(&g, &g).sqrt()),
            );
            for factor in [0.0, 1e-30, 1e4, 1e10, 1e30] {
                let long = scaled(&u, factor);
                m.contains(&m.exp(&x, &long)).unwrap();
                m.contains(&m.retract(&x, &long)).unwrap();
            }
        }
    }
}

/// Gradients of every operation against finite differences. `m` makes the points and tangents from free
/// coordinates.
fn gradients<M: Steps>(m: M, seed: u64) {
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
fn for_each_operation<M: Steps>(
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
    // The sum is near 10; derivatives and rounding are measured against it.
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

/// Law 37: the distance between retraction and exponential map shrinks with that power of the step.
fn assert_slope<M: Manifold>(m: M, order: f64) {
    let dim = m.fixed_dimension().unwrap();
    let mut rng = rng::stream(5, 76, dim as u64);
    let x = m.random_point::<f64>(dim, 1.0, &mut rng);
    let v = m.random_tangent(&x, &mut rng);
    let v = scaled(&v, 1.0 / m.norm(&x, &v));
    let gap = |t: f64| m.dist(&m.retract(&x, &scaled(&v, t)), &m.exp(&x, &scaled(&v, t)));
    let slope = (gap(0.02) / gap(0.005)).log2() / 2.0;
    assert!((slope - order).abs() < 0.1, "{m:?}: {slope}");
}

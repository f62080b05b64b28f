//! Laws of the Klein model, the half-space, the sphere and products, up to the representable radius.
//!
//! Errors are measured as in the suite: distances between the point that came out and the one that should have,
//! against `C · u · condition`. The condition of a point is how far an ulp of its coordinates moves it, in units of u.

use cotangent_engine::{Float, Row, Rows, Tape, Tensor, Var, check, rng};
use cotangent_manifolds::{ConstantCurvature, Euclidean, HalfSpace, Klein, Manifold, Product, Sphere};
use rand::RngExt;

const KAPPAS: [f64; 4] = [-2.5, -1.0, -0.37, -1e-6];
/// Draws whose bound is above this say nothing and are skipped.
const MEANINGLESS: f64 = 0.1;

fn difference<T: Float>(x: &Row<T>, y: &Row<T>) -> Row<T> {
    let mut d = x.clone();
    d.iter_mut().zip(y.iter()).for_each(|(d, y)| *d = *d - *y);
    d
}

fn scaled<T: Float>(v: &Row<T>, by: f64) -> Row<T> {
    let mut w = v.clone();
    w.iter_mut().for_each(|c| *c = T::nearest((c.to_f64() * by).clamp(-T::LARGEST, T::LARGEST)));
    w
}

fn dot<T: Float>(x: &Row<T>, y: &Row<T>) -> f64 {
    x.iter().zip(y.iter()).map(|(x, y)| x.to_f64() * y.to_f64()).sum()
}

/// What the laws need to know of a manifold: its least dimension, the radius to draw points in, the unit of length, the condition of a
/// point, and how much further apart geodesics are after a length (in that unit).
struct Setting<M> {
    m: M,
    least: usize,
    radius: f64,
    unit: f64,
    condition: fn(&M, &[f64]) -> f64,
    stretch: fn(f64) -> f64,
}

fn klein(kappa: f64, radius: f64) -> Setting<Klein> {
    let unit = (-kappa).sqrt().recip();
    let condition = |m: &Klein, x: &[f64]| cotangent_engine::domain::margin(x, m.kappa()).recip();
    Setting {
        least: 1,
        m: Klein::new(kappa).unwrap(),
        radius: radius * unit,
        unit,
        condition,
        stretch: f64::cosh,
    }
}

fn half_space(kappa: f64, radius: f64) -> Setting<HalfSpace> {
    let unit = (-kappa).sqrt().recip();
    let condition =
        |_: &HalfSpace, x: &[f64]| x.iter().fold(0.0, |m: f64, c| m.max(c.abs())) / x[x.len() - 1];
    Setting {
        least: 1,
        m: HalfSpace::new(kappa).unwrap(),
        radius: radius * unit,
        unit,
        condition,
        stretch: f64::cosh,
    }
}

fn sphere(kappa: f64) -> Setting<Sphere> {
    let unit = kappa.sqrt().recip();
    // Short of the antipode, where logarithms jump.
    Setting {
        least: 1,
        m: Sphere::new(kappa).unwrap(),
        radius: 1.5 * unit,
        unit,
        condition: |_, _| 1.0,
        stretch: |_| 1.0,
    }
}

// Pairs of points and their distances, from arithmetic of 800 digits on their `f64` coordinates.
const KLEIN: [(f64, [f64; 3], [f64; 3], f64); 12] = [
    (
        -1.0,
        [0.18708286933869706, 0.3741657386773941, -0.5612486080160912],
        [0.3265986323710905, -0.653197264742181, 0.3265986323710905],
        1.8274396263605348,
    ),
    (
        -1.0,
        [0.26726124191215717, 0.5345224838243143, 0.8017837257364714],
        [0.2672606692103822, 0.5345213384207644, 0.8017846802378388],
        1.0766559048916466,
    ),
    (
        -1.0,
        [0.26726124191215717, 0.5345224838243143, 0.8017837257364714],
        [0.26726124190975176, 0.5345224838195035, 0.8017837257292554],
        1.1513258590973632,
    ),
    (
        -1.0,
        [0.26726124191215717, 0.5345224838243143, 0.8017837257364714],
        [-0.26726124191239764, 0.5345224838247953, 0.801783725737193],
        26.836539273103106,
    ),
    (-1.0, [0.1, 0.2, 0.3], [0.1, 0.2, 0.30000000000099997], 1.1333231080181148e-12),
    (-1.0, [0.0, 0.0, 1e-09], [0.0, 0.0, -1e-09], 2e-09),
    (
        -0.37,
        [0.3075623426146228, 0.6151246852292456, -0.9226870278438684],
        [0.5369248441712197, -1.0738496883424393, 0.5369248441712197],
        3.004292239353525,
    ),
    (
        -0.37,
        [0.43937477516330753, 0.8787495503266151, 1.3181243254899224],
        [0.43937383364738924, 0.8787476672947785, 1.3181258946805041],
        1.770061480523333,
    ),
    (
        -0.37,
        [0.43937477516330753, 0.8787495503266151, 1.3181243254899224],
        [0.4393747751593531, 0.8787495503187062, 1.3181243254780595],
        1.892825697244202,
    ),
    (
        -0.37,
        [0.43937477516330753, 0.8787495503266151, 1.3181243254899224],
        [-0.4393747751637029, 0.8787495503274058, 1.3181243254911088],
        44.11987898698498,
    ),
    (-0.37, [0.1, 0.2, 0.3], [0.1, 0.2, 0.30000000000099997], 1.0448058450210063e-12),
    (-0.37, [0.0, 0.0, 1e-09], [0.0, 0.0, -1e-09], 2e-09),
];
const HALF_SPACE: [(f64, [f64; 3], [f64; 3], f64); 14] = [
    (-1.0, [1.0, 2.0, 3.0], [-1.0, 0.5, 0.2], 3.23648119231961),
    (-1.0, [1.0, 2.0, 1e-200], [1.0, 2.0, 1e+200], 921.0340371976183),
    (-1.0, [1e+300, 0.0, 1e-300], [-1e+300, 1.0, 2e-300], 2763.795258773415),
    (-1.0, [1.0, 2.0, 3e-09], [1.0, 2.000000000001, 3e-09], 0.00033336296531715886),
    (-1.0, [0.0, 0.0, 1e-250], [0.0, 1e-250, 3e-250], 1.214890214797568),
    (-1.0, [1.0, 0.0, 0.001], [1.0, 10000.0, 1e-07], 41.446531673892835),
    (-1.0, [0.005, 0.0, 1.0], [0.005, 1e-13, 1.0], 1e-13),
    (-0.37, [1.0, 2.0, 3.0], [-1.0, 0.5, 0.2], 5.320742304501792),
    (-0.37, [1.0, 2.0, 1e-200], [1.0, 2.0, 1e+200], 1514.1706298905322),
    (-0.37, [1e+300, 0.0, 1e-300], [-1e+300, 1.0, 2e-300], 4543.651416616973),
    (-0.37, [1.0, 2.0, 3e-09], [1.0, 2.000000000001, 3e-09], 0.0005480453390325187),
    (-0.37, [0.0, 0.0, 1e-250], [0.0, 1e-250, 3e-250], 1.9972672099990818),
    (-0.37, [1.0, 0.0, 0.001], [1.0, 10000.0, 1e-07], 68.13767834507397),
    (-0.37, [0.005, 0.0, 1.0], [0.005, 1e-13, 1.0], 1.643989873053573e-13),
];

#[track_caller]
fn assert_within(what: &str, error: f64, bound: f64, context: &dyn std::fmt::Debug) {
    if !(bound > MEANINGLESS) {
        assert!(error <= bound, "{what}: error {error:e}, bound {bound:e}; {context:?}");
    }
}

fn laws<M: Manifold, T: Float>(setting: &Setting<M>) {
    let Setting { m, least, radius, unit, condition, stretch } = setting;
    let u = T::EPSILON / 2.0;
    let mut rng = rng::stream(1, 0, 0);
    for i in 0..400 {
        let dim = least + i % 7;
        let x = m.random_point::<T>(dim, *radius, &mut rng);
        let mut v = m.random_tangent(&x, &mut rng);
        let near = i % 4 == 0;
        let length = radius * if near { 10f64.powf(-rng.random_range(1.0..6.0)) } else { rng.random() };
        v = scaled(&v, length / m.norm(&x, &v));
        let y = if near { m.exp(&x, &v) } else { m.random_point::<T>(dim, *radius, &mut rng) };
        let z = m.random_point::<T>(dim, *radius, &mut rng);
        let context = (m, &x, &y, &v);
        [&x, &y, &z].into_iter().for_each(|p| m.contains(p).unwrap());
        let wide = |p: &Row<T>| p.iter().map(|c| c.to_f64()).collect::<Vec<_>>();
        let [cx, cy] = [&x, &y].map(|p| condition(m, &wide(p)));

        // 17: a distance.
        let d = m.dist(&x, &y);
        assert!(d >= 0.0 && d.is_finite());
        assert_eq!(m.dist(&x, &x), 0.0);
        assert_eq!(d.to_bits(), m.dist(&y, &x).to_bits(), "symmetry {context:?}");
        // A stored point between two others may be nearer to both by its rounding.
        let slack = d * 1e-13 + 8.0 * u * unit;
        assert!(m.dist(&x, &z) + m.dist(&z, &y) >= d - slack, "triangle {context:?} {z:?}");

        // 15, 16, 18: exp and log.
        let log = m.log(&x, &y);
        let relative = 16.0 * u * (1.0 + cx + cy);
        assert_within("|log y| = d", (m.norm(&x, &log) - d).abs() / d.max(1e-300), relative, &context);
        let back = m.exp(&x, &log);
        m.contains(&back).unwrap();
        let bound = 16.0 * u * (1.0 + d / unit) * stretch(d / unit) * (cx + cy) * unit;
        assert_within("exp(log y) = y", m.dist(&y, &back), bound, &context);
        let (length, end) = (m.norm(&x, &v), m.exp(&x, &v));
        m.contains(&end).unwrap();
        let ce = condition(m, &wide(&end));
        let bound = 16.0 * u * (1.0 + length / unit) * (cx + ce) * unit;
        assert_within("d(x, exp v) = |v|", (m.dist(&x, &end) - length).abs(), bound, &context);
        let miss = m.norm(&x, &difference(&m.log(&x, &end), &v));
        assert_within("log(exp v) = v", miss, bound * stretch(length / unit), &context);
        let (half, half_back) = (m.geodesic(&x, &y, &0.5), m.geodesic(&y, &x, &0.5));
        m.contains(&half).unwrap();
        let bound = 16.0 * u * (1.0 + d / unit) * stretch(d / unit) * (cx + cy) * unit;
        assert_within("one geodesic", m.dist(&half, &half_back), bound, &context);

        // 25, 27: transport.
        let carried = m.transport(&x, &y, &v);
        let bound = 32.0 * u * (1.0 + cx + cy) * stretch(d / unit);
        assert_within("|Pv| = |v|", (m.norm(&y, &carried) / length - 1.0).abs(), bound, &context);
        let miss = m.norm(&x, &difference(&m.transport(&y, &x, &carried), &v));
        assert_within("PPv = v", miss / length, bound, &context);
        let across = m.transport(&x, &y, &log);
        let miss = m.norm(&y, &difference(&across, &scaled(&m.log(&y, &x), -1.0)));
        assert_within("P log y = -log x", miss / d.max(1e-300), bound, &context);

        // 36: ⟨grad, v⟩ is the derivative along v.
        let mut g = x.clone();
        g.iter_mut().for_each(|c| *c = T::nearest(rng.random_range(-1.0..1.0)));
        let (gradient, slope) = (m.egrad_to_rgrad(&x, &g), dot(&g, &v));
        let size = (dot(&g, &g) * dot(&v, &v)).sqrt();
        let error = (m.inner(&x, &gradient, &v) - slope).abs();
        assert_within("⟨grad f, v⟩ = Df[v]", error / size, 16.0 * u * (1.0 + cx), &context);

        // 39: points stay where they are, bit for bit; far away is nowhere else.
        assert_eq!(m.project(&x), x);
        for far in [0.0, 1e-30, 1e10, 1e30, 1e200] {
            m.contains(&m.exp(&x, &scaled(&v, far))).unwrap();
            m.contains(&m.descend(&x, &scaled(&v, far.min(1e30)), &0.3)).unwrap();
        }
    }
}

#[test]
fn klein_laws() {
    for kappa in KAPPAS {
        laws::<_, f64>(&klein(kappa, 18.0));
        laws::<_, f64>(&klein(kappa, 4.0));
        laws::<_, f32>(&klein(kappa, 8.0));
    }
}

#[test]
fn half_space_laws() {
    for kappa in KAPPAS {
        // The inner product of a gradient and a tangent vector goes with the third power of the height.
        laws::<_, f64>(&half_space(kappa, 225.0));
        laws::<_, f64>(&half_space(kappa, 10.0));
        // A Riemannian gradient with the second, in f32.
        laws::<_, f32>(&half_space(kappa, 35.0));
        laws::<_, f32>(&half_space(kappa, 5.0));
    }
}

#[test]
fn sphere_laws() {
    for kappa in [0.4, 1.0, 1.7, 1e-6] {
        laws::<_, f64>(&sphere(kappa));
        laws::<_, f32>(&sphere(kappa));
    }
}

#[test]
fn product_laws() {
    let curved = Product::new(HalfSpace::new(-2.0).unwrap(), 1, Sphere::new(2.0).unwrap());
    let m = Product::new(Klein::new(-0.37).unwrap(), 2, curved);
    assert_eq!((m.ambient(7), m.dimension(8)), (8, 7));
    // Up to the radius 1 no coordinate is larger than 3, no metric stretches more than cosh² 1.
    let condition = |_: &_, _: &[f64]| 8.0;
    let setting = Setting { m, least: 4, radius: 1.0, unit: 1.0, condition, stretch: f64::cosh };
    laws::<_, f64>(&setting);
}

#[test]
fn distances_of_given_points_are_exact_to_a_few_units() {
    for (kappa, x, y, want) in KLEIN {
        let d = Klein::new(kappa).unwrap().dist(&Row::from(x), &Row::from(y));
        assert!((d / want - 1.0).abs() < 2e-15, "Klein, {kappa}: {x:?} {y:?}: {d}, not {want}");
    }
    for (kappa, x, y, want) in HALF_SPACE {
        let d = HalfSpace::new(kappa).unwrap().dist(&Row::from(x), &Row::from(y));
        assert!((d / want - 1.0).abs() < 2e-15, "half-space, {kappa}: {x:?} {y:?}: {d}, not {want}");
    }
}

/// Beyond a right angle as well: through points near the antipode, to it, and away from it.
#[test]
fn the_far_side_of_the_sphere() {
    let m = Sphere::new(0.25).unwrap();
    let pole = m.origin::<f64>(2);
    for angle in [1e-8_f64, 1e-3, 1.0, 2.0, 3.0, 3.1, std::f64::consts::PI - 1e-8] {
        let v = Row::from([0.0, 2.0 * angle * 0.6, 2.0 * angle * 0.8]);
        let x = m.exp(&pole, &v);
        m.contains(&x).unwrap();
        assert!((m.dist(&pole, &x) - 2.0 * angle).abs() < 2e-15 * (1.0 + angle), "{angle}");
        // The direction of a point near the antipode is that of a small vector.
        let bound = 4e-15 * (1.0 + angle) * (1.0 + 1.0 / (std::f64::consts::PI - angle));
        let miss = |a: &Row<f64>, b: &Row<f64>| m.norm(a, &difference(a, b));
        assert!(miss(&m.log(&pole, &x), &v) < bound, "{angle}: {x:?}");
        let w = Row::from([0.0, -0.8, 0.6]);
        assert!(miss(&m.transport(&pole, &x, &w), &w) < bound, "{angle}: {x:?}");
    }
    let antipode = scaled(&pole, -1.0);
    assert_eq!(m.dist(&pole, &antipode), 2.0 * std::f64::consts::PI);
    assert_eq!(m.log(&pole, &antipode)[..], [0.0; 3]);
    let v = Row::from([0.0, 1.0, 2.0]);
    assert_eq!(m.transport(&pole, &antipode, &v), v);
}

/// The height of a geodesic's end, up and down by more than an f32 holds. Tseng et al. 2023, eq. 9.
#[test]
fn vertical_geodesics_of_the_half_space() {
    let m = HalfSpace::new(-0.25).unwrap();
    for (height, length) in [(1.0_f64, 80.0), (1e-100, 340.0), (1e100, -340.0), (1.0, -340.0), (3.0, 1e-9)] {
        let x = Row::from([7.0, height]);
        let end = m.exp(&x, &Row::from([0.0, height * length]));
        assert_eq!(end[0], 7.0);
        let error = ((end[1] / height).ln() - length).abs();
        assert!(error <= 1e-15 * (1.0 + length.abs()), "{height} {length}: {end:?}");
        assert!((m.dist(&x, &end) - 2.0 * length.abs()).abs() < 1e-12, "{height} {length}: {end:?}");
    }
}

#[test]
fn rows_off_a_manifold_are_refused_by_how_much() {
    let message = |r: Result<(), cotangent_manifolds::OffManifold>| r.unwrap_err().to_string();
    let klein = Klein::new(-1.0).unwrap();
    assert_eq!(
        message(klein.contains(&[1.5, 0.0])),
        "not a point of klein: 1 + kappa |x|^2 > 0 fails by 1.25e0"
    );
    let half_space = HalfSpace::new(-1.0).unwrap();
    assert!(
        message(half_space.contains(&[1.0, -0.5])).ends_with("coordinate, no subnormal one fails by 5e-1")
    );
    assert!(message(half_space.contains(&[f64::INFINITY, 0.5])).contains("finite coordinates"));
    let sphere = Sphere::new(1.0).unwrap();
    assert_eq!(message(sphere.contains(&[1.0, 1.0])), "not a point of sphere: kappa |x|^2 = 1 fails by 1e0");
    let product = Product::new(half_space, 2, sphere);
    assert!(product.contains(&[1.0, 2.0, 1.0, 0.0]).is_ok());
    assert!(message(product.contains(&[1.0, -2.0, 1.0, 0.0])).starts_with("not a point of half_space"));
    assert!(message(product.contains(&[1.0, 2.0, 1.0, 3.0])).starts_with("not a point of sphere"));
    for kappa in [0.0, 1.0, f64::NAN, f64::NEG_INFINITY] {
        assert!(Klein::new(kappa).is_err() && HalfSpace::new(kappa).is_err());
        assert!(Sphere::new(-kappa).is_err());
    }
}

/// Rows off a manifold are moved onto it.
#[test]
fn projections_land_on_the_manifold() {
    let sphere = Sphere::new(0.3).unwrap();
    for row in [[3.0, 4.0, 0.0], [0.0; 3], [1e300, 1e300, -1e300], [1e-300, 0.0, 0.0], [0.0, -2.0, 1e-9]] {
        let x = sphere.project(&Row::from(row));
        sphere.contains(&x).unwrap();
        assert_eq!(sphere.project(&x), x);
        sphere.contains(&sphere.project(&Row::from(row.map(|c| c as f32)))).unwrap();
    }
    assert!((sphere.project(&Row::from([3.0, 4.0, 0.0]))[1] - 0.8 / 0.3_f64.sqrt()).abs() < 1e-15);
    let half_space = HalfSpace::new(-1.0).unwrap();
    for row in [[1.0, -1.0], [f64::INFINITY, 0.0], [0.0, f64::INFINITY]] {
        half_space.contains(&half_space.project(&Row::from(row))).unwrap();
    }
}

#[test]
fn products_add_squared_distances() {
    let (a, b) = (Klein::new(-0.5).unwrap(), HalfSpace::new(-2.0).unwrap());
    let m = Product::new(a, 2, b);
    let (x, y) = (Row::from([0.1, 0.2, 3.0, 0.5]), Row::from([-0.3, 0.4, 1.0, 2.0]));
    let (xs, ys) = (m.parts(&x), m.parts(&y));
    let want = a.dist(&xs.0, &ys.0).powi(2) + b.dist(&xs.1, &ys.1).powi(2);
    assert!((m.dist(&x, &y).powi(2) / want - 1.0).abs() < 1e-15);
    let carried = m.transport(&x, &y, &x);
    assert_eq!(carried.columns(0..2), a.transport(&xs.0, &ys.0, &xs.0));
    assert_eq!(carried.columns(2..4), b.transport(&xs.1, &ys.1, &xs.1));
    // Each factor's gradient by its own metric.
    let gradient = m.egrad_to_rgrad(&x, &y);
    assert_eq!(gradient.columns(2..4), b.egrad_to_rgrad(&xs.1, &ys.1));
}

#[test]
#[should_panic(expected = "rows of width 2, of which the left factor alone takes 2")]
fn a_row_without_a_right_part_is_refused() {
    let m = Product::new(Klein::new(-1.0).unwrap(), 2, Euclidean);
    let x = Row::from([0.1, 0.2]);
    m.dist(&x, &x);
}

/// Gradients of every operation, against finite differences.
fn gradients<M: Manifold>(m: M, dim: usize, spread: f64) {
    let mut rng = rng::stream(4, 0, 0);
    let width = m.ambient(dim);
    // Heights are positive before anything is projected.
    let height = f64::from(M::NAME == "half_space");
    let mut free = |height: f64| {
        let last = |i: usize| if i % width == width - 1 { height } else { 0.0 };
        Tensor::<f64>::from_fn([3, width], |i| last(i) + rng.random_range(-spread..spread))
    };
    let inputs = [free(height), free(height), free(0.0), free(0.0)];
    type Operation<M> = for<'t> fn(&M, [&Var<'t, f64>; 4]) -> Var<'t, f64>;
    let operations: [(&str, Operation<M>); 9] = [
        ("dist", |m, [x, y, _, _]| m.dist(x, y)),
        ("inner", |m, [x, _, u, v]| m.inner(x, u, v)),
        ("norm", |m, [x, _, u, _]| m.norm(x, u)),
        ("exp", |m, [x, _, u, _]| m.exp(x, u)),
        ("log", |m, [x, y, _, _]| m.log(x, y)),
        ("transport", |m, [x, y, u, _]| m.transport(x, y, u)),
        ("egrad_to_rgrad", |m, [x, _, u, _]| m.egrad_to_rgrad(x, u)),
        ("geodesic", |m, [x, y, _, _]| m.geodesic(x, y, &x.constant(0.3))),
        ("descend", |m, [x, _, u, _]| m.descend(x, u, &x.constant(0.3))),
    ];
    for (name, operation) in operations {
        let worst = check::gradients(&inputs, |v| {
            let [x, y] = [&v[0], &v[1]].map(|v| m.project(v));
            let [u, w] = [&v[2], &v[3]].map(|v| m.project_tangent(&x, v));
            crate::weighted(operation(&m, [&x, &y, &u, &w]))
        });
        assert!(worst.relative < 2e-8, "{m:?} {name}, dimension {dim}: {worst:?}");
    }
}

#[test]
fn gradients_of_all_operations() {
    for dim in [1, 3, 11] {
        for kappa in [-1.0, -0.37] {
            gradients(Klein::new(kappa).unwrap(), dim, 0.25);
            gradients(HalfSpace::new(kappa).unwrap(), dim, 0.5);
        }
        gradients(Sphere::new(0.7).unwrap(), dim, 0.5);
    }
    let m = Product::new(Klein::new(-1.0).unwrap(), 2, Sphere::new(0.7).unwrap());
    gradients(m, 5, 0.4);
}

/// 22: the gradient of a distance has norm 1 and points away; where the points coincide it is 0 by definition, that of
/// the square by continuity.
#[test]
fn gradients_of_distances() {
    fn of<M: Manifold>(m: M, radius: f64, tolerance: f64) {
        let mut rng = rng::stream(5, 0, 0);
        for i in 0..100 {
            let x = m.random_point::<f64>(4, radius, &mut rng);
            let y = if i == 0 { x.clone() } else { m.random_point::<f64>(4, radius, &mut rng) };
            let tape = Tape::new();
            let shape = [1, x.len()];
            let (a, b) = (
                tape.variable(&Tensor::new(shape, x.to_vec())),
                tape.constant(&Tensor::new(shape, y.to_vec())),
            );
            let d = m.dist(&a, &b).sum();
            let length = d.item();
            let g = tape.backward(0.5 * d * d).wrt(a).unwrap().to_dense(1, x.len());
            let gradient = m.egrad_to_rgrad(&x, &Row::from(g.as_slice()));
            let log = m.log(&x, &y);
            let sum =
                Row::from(gradient.iter().zip(log.iter()).map(|(g, l)| g + l).collect::<Vec<_>>().as_slice());
            let miss = m.norm(&x, &sum);
            assert!(miss <= tolerance * (1.0 + length), "{m:?} {x:?} {y:?}: {miss:e}");
        }
    }
    for kappa in [-2.5, -0.37] {
        let c = f64::sqrt(-kappa);
        of(Klein::new(kappa).unwrap(), 4.0 / c, 1e-10);
        of(HalfSpace::new(kappa).unwrap(), 100.0 / c, 1e-10);
    }
    of(Sphere::new(0.7).unwrap(), 1.5, 1e-13);
    of(Product::new(Klein::new(-1.0).unwrap(), 2, Sphere::new(0.7).unwrap()), 1.5, 1e-11);
}

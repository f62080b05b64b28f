//! Accuracy against reference values in 100-digit arithmetic, by `generate.py`: every operation over radii
//! to the representable limit, stored inputs taken as exact.
//!
//! A number's error is relative. A vector's is the largest error of a coordinate over the largest
//! coordinate, so that one unit is an ulp of the coordinates that matter. Some results are by definition
//! a sum that cancels, whatever the form. There the table says by how much, and the bound is that many
//! times larger. `--nocapture` prints the worst error at each level in units of that condition, and the
//! worst of all as it is.

mod given;
mod gradients;

use std::collections::BTreeMap;

use cotangent_engine::{Float, Row, Rows, Tape, Tensor, Var};
use cotangent_manifolds::{
    Barycentre, Busemann, ConstantCurvature, Curved, EntailmentCones, Euclidean, FrechetMean, Grassmann,
    Gyroplanes, HalfSpace, Isometric, Klein, Lorentz, Manifold, OriginFrame, PoincareBall, Product,
    Retraction, Spd, Sphere, Spread, Steps, Stereographic, Stiefel, WrappedNormal, direction,
};

struct Case {
    single: bool,
    kappa: f64,
    /// K where ‖x‖ = 1 − 10^-K in the ball of radius 1.
    level: Option<usize>,
    kind: String,
    inputs: BTreeMap<String, Vec<f64>>,
    results: Vec<Reference>,
}

struct Reference {
    operation: String,
    condition: f64,
    value: Vec<f64>,
}

impl Case {
    fn row<T: Float>(&self, name: &str) -> Row<T> {
        let row: Vec<T> = self.inputs[name].iter().map(|&x| T::nearest(x)).collect();
        Row::from(row.as_slice())
    }
    fn number(&self, name: &str) -> f64 {
        self.inputs[name][0]
    }
    /// The number of rows, or of columns, of matrices.
    fn size(&self, axis: usize) -> usize {
        self.inputs["size"][axis] as usize
    }
}

fn read(table: &str) -> Vec<Case> {
    let number = |word: &str| f64::from_bits(u64::from_str_radix(word, 16).unwrap());
    let mut cases: Vec<Case> = Vec::new();
    for line in table.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "case" => cases.push(Case {
                single: words[1] == "f32",
                kappa: number(words[2]),
                level: words[3].parse().ok(),
                kind: words[4].to_owned(),
                inputs: BTreeMap::new(),
                results: Vec::new(),
            }),
            "=" => cases.last_mut().unwrap().results.push(Reference {
                operation: words[1].to_owned(),
                condition: words[2].parse().unwrap(),
                value: words[3..].iter().map(|w| number(w)).collect(),
            }),
            name => {
                let value = words[1..].iter().map(|w| number(w)).collect();
                cases.last_mut().unwrap().inputs.insert(name.to_owned(), value);
            }
        }
    }
    cases
}

impl Case {
    /// The factor by which denominators of Möbius sums on the sphere cancel, where sums go through the
    /// antipode of the origin, the point at infinity. It is 1 in the ball, where nothing cancels.
    fn antipodal(&self, operation: &str) -> f64 {
        // For gradients the square of this factor: they contain the square of a denominator.
        let (of_value, of_gradient) = (["add", "sub", "coadd", "gyr"], ["add", "coadd", "gyr"]);
        let slope = operation.strip_prefix("stereographic.").and_then(|name| name.split('.').next());
        let power = match slope {
            Some(name) if of_gradient.contains(&name) => 2,
            _ if of_value.contains(&operation) => 1,
            _ => return 1.0,
        };
        if self.kappa <= 0.0 {
            return 1.0;
        }
        let [x, y] = ["x", "y"].map(|name| self.row::<f64>(name));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (xx, yy, xy) = (dot(&x, &x), dot(&y, &y), dot(&x, &y));
        let square = self.kappa * self.kappa * xx * yy;
        let whole = (1.0 + self.kappa * xx) * (1.0 + self.kappa * yy);
        let denominators =
            [1.0 - 2.0 * self.kappa * xy + square, 1.0 + 2.0 * self.kappa * xy + square, 1.0 - square];
        denominators.iter().fold(1.0, |worst: f64, d| worst.max(whole / d.abs())).powi(power)
    }
}

fn error(got: &[f64], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |m: f64, x| m.max(x.abs()));
    if got.iter().any(|x| !x.is_finite()) {
        return f64::INFINITY;
    }
    let miss = largest(&mut got.iter().zip(want).map(|(a, b)| a - b));
    if miss == 0.0 { 0.0 } else { miss / largest(&mut want.iter().copied()) }
}

fn numbers<T: Float>(row: Row<T>) -> Vec<f64> {
    row.iter().map(|x| x.to_f64()).collect()
}

/// Runs a table through the library, in f64 and f32, with a bound for each.
fn check(table: &str, evaluate: [fn(&str, &Case) -> Vec<f64>; 2], bounds: [f64; 2]) {
    let mut worst: BTreeMap<(bool, String), BTreeMap<Option<usize>, f64>> = BTreeMap::new();
    let mut plain: BTreeMap<(bool, String), f64> = BTreeMap::new();
    let mut failures = Vec::new();
    // Cases whose bound is so large that any result would do, and all cases. A few far points have such
    // bounds.
    let (mut vacuous, mut all) = (0, 0);
    for case in read(table) {
        for reference in &case.results {
            let got = evaluate[usize::from(case.single)](&reference.operation, &case);
            let name = &reference.operation;
            let condition = reference.condition * case.antipodal(name) * case.reverse(name);
            let error = error(&got, &reference.value);
            let entry = plain.entry((case.single, reference.operation.clone())).or_insert(0.0);
            *entry = entry.max(error);
            let error = error / condition;
            let entry = worst.entry((case.single, reference.operation.clone())).or_default();
            let entry = entry.entry(case.level).or_insert(0.0);
            *entry = entry.max(error);
            let bound = bounds[usize::from(case.single)] * case.unreached(name);
            all += 1;
            vacuous += usize::from(bound * condition >= 1.0);
            if !(error <= bound) {
                failures.push(format!(
                    "{}: error {error:.1e}, bound {bound:.1e}, condition {condition:.1e}; \
                     f32 {} kappa {} level {:?} {} {:?}",
                    reference.operation, case.single, case.kappa, case.level, case.kind, case.inputs
                ));
            }
        }
    }
    for (which, levels) in worst {
        let plain = plain[&which];
        let (single, operation) = which;
        let cells: Vec<String> = levels
            .into_iter()
            .map(|(level, error)| format!("{}: {error:.0e}", level.map_or("-".to_owned(), |k| k.to_string())))
            .collect();
        let storage = if single { "f32" } else { "f64" };
        println!("{storage} {operation:18} {}; as it is {plain:.0e}", cells.join("  "));
    }
    println!("{vacuous} of {all} cases have a bound of 1 or more");
    assert!(40 * vacuous <= all, "{vacuous} of {all} cases have a bound that says nothing");
    assert!(
        failures.is_empty(),
        "{} failures, for example\n{}",
        failures.len(),
        failures[..failures.len().min(12)].join("\n")
    );
}

/// The operations that all models of constant curvature have.
fn model<M: OriginFrame + Steps, T: Float>(m: M, operation: &str, case: &Case) -> Vec<f64> {
    let [x, y] = ["x", "y"].map(|name| case.row::<T>(name));
    let density = |spread| vec![WrappedNormal::new(m, x.clone(), spread).log_density(&y)];
    match operation {
        "isotropic_density" => density(Spread::Isotropic(case.number("r").abs())),
        "diagonal_density" => {
            let scale = |i: usize| T::nearest(case.number("r").abs() * (1.0 + 0.5 * i as f64));
            let scales: Vec<T> = (0..m.dimension(x.len())).map(scale).collect();
            density(Spread::Diagonal(Row::from(scales.as_slice())))
        }
        _ => manifold::<_, T>(m, operation, case),
    }
}

/// The operations of all manifolds.
fn manifold<M: Steps, T: Float>(m: M, operation: &str, case: &Case) -> Vec<f64> {
    let [x, y, v, u] = ["x", "y", "v", "u"].map(|name| case.row::<T>(name));
    match operation {
        "dist" => vec![m.dist(&x, &y)],
        "log" => numbers(m.log(&x, &y)),
        "exp" => {
            let z = m.exp(&x, &v);
            m.contains(&z).unwrap();
            numbers(z)
        }
        "transport" => numbers(m.transport(&x, &y, &v)),
        "inner" => vec![m.inner(&x, &u, &v)],
        "norm" => vec![m.norm(&x, &v)],
        "egrad_to_rgrad" => numbers(m.egrad_to_rgrad(&x, &v)),
        "geodesic" | "geodesic_beyond" => {
            let z = m.geodesic(&x, &y, if operation == "geodesic" { &0.375 } else { &-0.25 });
            m.contains(&z).unwrap();
            numbers(z)
        }
        _ => panic!("{operation}"),
    }
}

/// The operations of all models of hyperbolic space.
fn hyperbolic<M: Busemann + Gyroplanes + OriginFrame + Steps, T: Float>(
    m: M,
    operation: &str,
    case: &Case,
) -> Vec<f64> {
    let [x, y, v, u] = ["x", "y", "v", "u"].map(|name| case.row::<T>(name));
    match operation {
        "gyroplane" => vec![m.gyroplane(&y, &x, &u)],
        "busemann" => vec![m.busemann(&x, &y)],
        "to_stereographic" => to::<M, Stereographic, T>(&m, &x),
        "push_to_stereographic" => push_to::<M, Stereographic, T>(&m, &x, &v),
        "to_lorentz" => to::<M, Lorentz, T>(&m, &x),
        "push_to_lorentz" => push_to::<M, Lorentz, T>(&m, &x, &v),
        "to_klein" => to::<M, Klein, T>(&m, &x),
        "push_to_klein" => push_to::<M, Klein, T>(&m, &x, &v),
        "to_half_space" => to::<M, HalfSpace, T>(&m, &x),
        "push_to_half_space" => push_to::<M, HalfSpace, T>(&m, &x, &v),
        _ => model::<_, T>(m, operation, case),
    }
}

/// The operations of models with cones.
fn with_cones<M, T: Float>(m: M, operation: &str, case: &Case) -> Vec<f64>
where
    M: EntailmentCones + OriginFrame + Busemann + Gyroplanes + Steps,
{
    const K: f64 = 0.1;
    let [x, y] = ["x", "y"].map(|name| case.row::<T>(name));
    match operation {
        "cone_aperture" => vec![m.cone_aperture(&x, K)],
        "cone_angle" => vec![m.cone_angle(&x, &y)],
        "cone_energy" => vec![m.cone_energy(&x, &y, K)],
        _ => hyperbolic::<_, T>(m, operation, case),
    }
}

fn stereographic<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let m = Stereographic::new(case.kappa);
    let [x, y, v, u] = ["x", "y", "v", "u"].map(|name| case.row::<T>(name));
    let point = |z: Row<T>| {
        m.contains(&z).unwrap();
        numbers(z)
    };
    match operation {
        "exp_back" => point(m.exp(&x, &case.row("w"))),
        "descend" => point(m.descend(&x, &v, &case.number("rate"))),
        "add" => point(m.add(&x, &y)),
        "scale" => point(m.scale(&case.number("r"), &x)),
        "lambda" => vec![m.lambda(&x)],
        "sub" => point(m.sub(&x, &y)),
        "coadd" => point(m.coadd(&x, &y)),
        "gyr" => numbers(m.gyration(&x, &y, &v)),
        "exp0" => point(m.exp0(&u)),
        "log0" => numbers(m.log0(&x)),
        "gyroplane" => vec![m.gyroplane(&x, &y, &u)],
        "logit" => vec![m.logit(&x, &y, &u)],
        "hyperplane" => vec![m.unidirectional_logit(&x, &u, &case.number("r"))],
        "busemann" => vec![m.busemann(&x, &y)],
        "matvec" => {
            let matrix = Tensor::new([2, x.len()], [u.to_vec(), y.to_vec()].concat());
            point(m.matvec(&matrix, &x))
        }
        "to_sphere" => to::<_, Sphere, T>(&m, &x),
        "push_to_sphere" => push_to::<_, Sphere, T>(&m, &x, &v),
        _ => with_cones::<_, T>(m, operation, case),
    }
}

/// The point in another model.
fn to<M: Isometric<N>, N: ConstantCurvature, T: Float>(m: &M, x: &Row<T>) -> Vec<f64> {
    let image = m.convert(x);
    m.counterpart().contains(&image).unwrap();
    numbers(image)
}

/// A tangent vector in another model.
fn push_to<M: Isometric<N>, N: ConstantCurvature, T: Float>(m: &M, x: &Row<T>, v: &Row<T>) -> Vec<f64> {
    numbers(m.push(x, v))
}

#[test]
fn stereographic_operations() {
    let table = include_str!("stereographic.txt");
    check(table, [stereographic::<f64>, stereographic::<f32>], [1e-14, 2e-7]);
}

fn lorentz<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let m = Lorentz::new(case.kappa);
    match operation {
        "exp_back" => numbers(m.exp(&case.row::<T>("x"), &case.row("w"))),
        "egrad_to_rgrad" => numbers(m.egrad_to_rgrad(&case.row::<T>("x"), &case.row("u"))),
        _ => with_cones::<_, T>(m, operation, case),
    }
}

#[test]
fn lorentz_operations() {
    let table = include_str!("lorentz.txt");
    // The errors of logarithms are relative to a stored time coordinate in f32.
    check(table, [lorentz::<f64>, lorentz::<f32>], [1e-14, 2e-6]);
}

fn klein<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    hyperbolic::<_, T>(Klein::new(case.kappa), operation, case)
}

#[test]
fn klein_operations() {
    check(include_str!("klein.txt"), [klein::<f64>, klein::<f32>], [1e-14, 2e-7]);
}

fn half_space<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let m = HalfSpace::new(case.kappa);
    let [x, y, v] = ["x", "y", "v"].map(|name| case.row::<T>(name));
    let [radius, light] = ["radius", "light"].map(|name| case.number(name));
    match operation {
        "umbral_ancestor" => vec![m.umbral_ancestor(&x, &y, radius)],
        "umbral_slack" => vec![m.umbral_slack(&x, &y, radius)],
        "penumbral_ancestor" => vec![m.penumbral_ancestor(&x, &y, light)],
        "penumbral_slack" => vec![m.penumbral_slack(&x, &y, light)],
        "descend" => numbers(m.descend(&x, &v, &case.number("rate"))),
        "busemann" => vec![m.busemann(&x, &case.row("omega"))],
        _ => hyperbolic::<_, T>(m, operation, case),
    }
}

#[test]
fn half_space_operations() {
    check(include_str!("half_space.txt"), [half_space::<f64>, half_space::<f32>], [1e-14, 2e-7]);
}

fn sphere<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let m = Sphere::new(case.kappa);
    let [x, y, v, u] = ["x", "y", "v", "u"].map(|name| case.row::<T>(name));
    match operation {
        "gyroplane" => vec![m.gyroplane(&y, &x, &u)],
        "egrad_to_rgrad" => numbers(m.egrad_to_rgrad(&x, &case.row("g"))),
        "project" => {
            let z = m.project(&case.row::<T>("g"));
            m.contains(&z).unwrap();
            numbers(z)
        }
        "to_stereographic" => to::<_, Stereographic, T>(&m, &x),
        "push_to_stereographic" => push_to::<_, Stereographic, T>(&m, &x, &v),
        _ => model::<_, T>(m, operation, case),
    }
}

#[test]
fn sphere_operations() {
    check(include_str!("sphere.txt"), [sphere::<f64>, sphere::<f32>], [1e-14, 2e-7]);
}

/// A ball of two dimensions, a sphere of two and a line: coordinates [2], [3], [1].
fn product<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let ball = PoincareBall::new(case.kappa);
    let sphere_and_line = Product::new(Sphere::new(0.25), 2, Euclidean);
    manifold::<_, T>(Product::new(ball, 2, sphere_and_line), operation, case)
}

#[test]
fn product_operations() {
    check(include_str!("product.txt"), [product::<f64>, product::<f32>], [1e-14, 2e-7]);
}

/// Maps from activations to points.
fn maps<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let (l, h) = (Lorentz::new(case.kappa), HalfSpace::new(case.kappa));
    let a = case.row::<T>("a");
    numbers(match operation {
        "psi" => h.psi(&a),
        "xi" => h.xi(&a, case.number("light")),
        "pseudo_polar" => l.pseudo_polar(&a),
        "direction" => direction(&a),
        _ => panic!("{operation}"),
    })
}

#[test]
fn maps_from_activations() {
    check(include_str!("maps.txt"), [maps::<f64>, maps::<f32>], [1e-14, 2e-7]);
}

/// Means of weighted points in the model that a case names.
fn means<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    fn mean<M: Barycentre, T: Float>(m: M, operation: &str, case: &Case) -> Vec<f64> {
        let points: Vec<Row<T>> = ["x", "y", "z"]
            .iter()
            .filter(|name| case.inputs.contains_key(**name))
            .map(|name| case.row(name))
            .collect();
        let points =
            Tensor::new([points.len(), points[0].len()], points.iter().flat_map(|x| x.to_vec()).collect());
        let weights = Tensor::new([points.shape()[0]], case.inputs["w"].clone());
        let mean = match operation {
            "barycentre" => m.barycentre(&points, &weights),
            "frechet" => FrechetMean::default()
                .solve(&m, &points, &weights)
                .unwrap_or_else(|e| panic!("{e} {m:?} {points:?} {weights:?}")),
            _ => panic!("{operation}"),
        };
        m.contains(mean.data()).unwrap();
        numbers(Row::from(mean.data()))
    }
    let kappa = case.kappa;
    match case.kind.as_str() {
        "stereographic" => mean::<_, T>(Stereographic::new(kappa), operation, case),
        "lorentz" => mean::<_, T>(Lorentz::new(kappa), operation, case),
        "klein" => mean::<_, T>(Klein::new(kappa), operation, case),
        "half_space" => mean::<_, T>(HalfSpace::new(kappa), operation, case),
        "sphere" => mean::<_, T>(Sphere::new(kappa), operation, case),
        model => panic!("{model}"),
    }
}

#[test]
fn means_of_weighted_points() {
    check(include_str!("means.txt"), [means::<f64>, means::<f32>], [1e-14, 2e-7]);
}

/// The operations that the manifolds of frames have.
fn frames<M: Steps, T: Float>(m: M, operation: &str, case: &Case) -> Vec<f64> {
    let [x, v, g] = ["x", "v", "g"].map(|name| case.row::<T>(name));
    let point = |z: Row<T>| {
        m.contains(&z).unwrap();
        numbers(z)
    };
    match operation {
        "egrad_to_rgrad" => numbers(m.egrad_to_rgrad(&x, &g)),
        "project" => point(m.project(&g)),
        "retract" => point(m.retract(&x, &v)),
        _ => manifold::<_, T>(m, operation, case),
    }
}

fn stiefel<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let m = Stiefel::new(case.size(0), case.size(1));
    match operation {
        "retract_polar" => frames::<_, T>(m.with_retraction(Retraction::Polar), "retract", case),
        _ => frames::<_, T>(m, operation, case),
    }
}

#[test]
fn stiefel_operations() {
    check(include_str!("stiefel.txt"), [stiefel::<f64>, stiefel::<f32>], [1e-14, 2e-7]);
}

fn grassmann<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    frames::<_, T>(Grassmann::new(case.size(0), case.size(1)), operation, case)
}

#[test]
fn grassmann_operations() {
    check(include_str!("grassmann.txt"), [grassmann::<f64>, grassmann::<f32>], [1e-14, 2e-7]);
}

fn spd<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let n = case.size(0);
    match operation.strip_prefix("flat_") {
        Some(operation) => manifold::<_, T>(Spd::log_euclidean(n), operation, case),
        None => manifold::<_, T>(Spd::affine_invariant(n), operation, case),
    }
}

#[test]
fn spd_operations() {
    check(include_str!("spd.txt"), [spd::<f64>, spd::<f32>], [1e-14, 2e-7]);
}

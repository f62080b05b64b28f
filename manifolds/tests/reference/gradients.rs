//! Derivatives on the tape against tables of derivatives.

use super::*;

/// A number, or a vector's inner product with g, of an operation on a tape.
fn on_tape<'t, T: Float>(
    operation: &str,
    m: &Curved<Var<'t, T>>,
    [x, y, v, u, g]: &[Var<'t, T>; 5],
    r: Var<'t, T>,
) -> Var<'t, T> {
    let along = |z: Var<'t, T>| (*g * z).sum();
    match operation {
        "dist" => m.dist(x, y).sum(),
        "log" => along(m.log(x, y)),
        "exp" => along(m.exp(x, v)),
        "transport" => along(m.transport(x, y, v)),
        "add" => along(m.add(x, y)),
        "scale" => along(m.scale(&r, x)),
        "exp0" => along(m.exp0(u)),
        "log0" => along(m.log0(x)),
        "geodesic" => along(m.geodesic(x, y, &x.constant(0.375))),
        "gyroplane" => m.gyroplane(x, y, u).sum(),
        "hyperplane" => m.unidirectional_logit(x, u, &r).sum(),
        _ => panic!("{operation}"),
    }
}

/// The derivative by curvature.
fn slope<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let tape = Tape::<T>::new();
    let rows = ["x", "y", "v", "u", "g"].map(|name| tape.constant(&tensor(&case.row(name))));
    let r = tape.constant(&Tensor::scalar(T::nearest(case.number("r"))));
    let kappa = tape.variable(&Tensor::scalar(T::nearest(case.kappa)));
    let value = on_tape(operation, &Curved::new(kappa), &rows, r);
    vec![tape.backward(value).wrt(kappa).data()[0].to_f64()]
}

fn tensor<T: Float>(row: &Row<T>) -> Tensor<T> {
    Tensor::new([1, row.len()], row.to_vec())
}

#[test]
fn derivatives_by_curvature() {
    check(include_str!("curvature.txt"), [slope::<f64>, slope::<f32>], [1e-12, 1e-6]);
}

/// Rows of a case on a tape, by name.
struct OnTape<'a, 't, T: Float> {
    case: &'a Case,
    tape: &'t Tape<T>,
    rows: BTreeMap<String, Var<'t, T>>,
}

impl<'a, 't, T: Float> OnTape<'a, 't, T> {
    fn new(case: &'a Case, tape: &'t Tape<T>) -> Self {
        let names = case.inputs.keys().filter(|name| case.inputs[*name].len() > 1);
        let rows = names.map(|name| (name.clone(), tape.variable(&tensor(&case.row(name))))).collect();
        OnTape { case, tape, rows }
    }
    fn number(&self, name: &str) -> Var<'t, T> {
        self.tape.scalar(self.case.number(name))
    }
    /// The inner product of a row with g.
    fn along(&self, z: Var<'t, T>) -> Var<'t, T> {
        (self.rows["g"] * z).sum()
    }
    /// The operations that all models have.
    fn model<M: Gyroplanes + Steps>(&self, m: &M, operation: &str) -> Var<'t, T> {
        let [x, y, v, u] = ["x", "y", "v", "u"].map(|name| self.rows[name]);
        match operation {
            "dist" => m.dist(&x, &y).sum(),
            "log" => self.along(m.log(&x, &y)),
            "exp" => self.along(m.exp(&x, &v)),
            "transport" => self.along(m.transport(&x, &y, &v)),
            "geodesic" => self.along(m.geodesic(&x, &y, &x.constant(0.375))),
            "descend" => self.along(m.descend(&x, &v, &self.number("rate"))),
            "inner" => m.inner(&x, &u, &v).sum(),
            "norm" => m.norm(&x, &v).sum(),
            "gyroplane" => m.gyroplane(&y, &x, &u).sum(),
            _ => panic!("{operation}"),
        }
    }
    fn with_cones<M: EntailmentCones + Gyroplanes + Steps>(&self, m: &M, operation: &str) -> Var<'t, T> {
        match operation {
            "cone_aperture" => m.cone_aperture(&self.rows["x"], 0.1).sum(),
            _ => self.model(m, operation),
        }
    }
    fn stereographic(&self, m: &Stereographic, operation: &str) -> Var<'t, T> {
        let [x, y, v, u] = ["x", "y", "v", "u"].map(|name| self.rows[name]);
        match operation {
            "add" => self.along(m.add(&x, &y)),
            "coadd" => self.along(m.coadd(&x, &y)),
            "gyr" => self.along(m.gyration(&x, &y, &v)),
            "scale" => self.along(m.scale(&self.number("r"), &x)),
            "exp0" => self.along(m.exp0(&u)),
            "log0" => self.along(m.log0(&x)),
            "lambda" => m.lambda(&x).sum(),
            "gyroplane" => m.gyroplane(&x, &y, &u).sum(),
            "logit" => m.logit(&x, &y, &u).sum(),
            "hyperplane" => m.unidirectional_logit(&x, &u, &self.number("r")).sum(),
            _ => self.with_cones(m, operation),
        }
    }
}

impl Case {
    /// What gradients lose in addition, because coordinates are longer there than what they stand for:
    /// of areas on the hyperboloid, and of normals in the Klein model.
    pub(super) fn reverse(&self, name: &str) -> f64 {
        let kappa = self.kappa;
        if name.starts_with("lorentz.") {
            ["x", "y"].iter().map(|x| (-kappa).sqrt() * self.inputs[*x][0]).fold(1.0, f64::max)
        } else if name.starts_with("klein.gyroplane.") {
            (1.0 + kappa * self.inputs["x"].iter().map(|x| x * x).sum::<f64>()).recip()
        } else {
            1.0
        }
    }

    /// The factor by which an operation misses the bound: gradients of Klein's geodesic lose digits
    /// between neighbouring points near the boundary.
    pub(super) fn unreached(&self, operation: &str) -> f64 {
        match (self.single, self.level) {
            _ if !operation.starts_with("klein.geodesic.") => 1.0,
            (false, Some(12)) => 500.0,
            (true, Some(4 | 6)) => 20.0,
            _ => 1.0,
        }
    }
}

/// The gradient of `model.operation` by an input, `model.operation.input`; on the hyperboloid by the space
/// coordinates.
fn gradient<T: Float>(name: &str, case: &Case) -> Vec<f64> {
    let [model, operation, input] = name.split('.').collect::<Vec<_>>().try_into().unwrap();
    let (tape, kappa) = (Tape::<T>::new(), case.kappa);
    let rows = OnTape::new(case, &tape);
    let value = match model {
        "stereographic" => rows.stereographic(&Stereographic::new(kappa), operation),
        "lorentz" => rows.with_cones(&Lorentz::new(kappa), operation),
        "klein" => rows.model(&Klein::new(kappa), operation),
        "half_space" => rows.model(&HalfSpace::new(kappa), operation),
        model => panic!("{model}"),
    };
    let gradient = tape.backward(value).wrt(rows.rows[input]);
    gradient.data()[usize::from(model == "lorentz")..].iter().map(|g| g.to_f64()).collect()
}

#[test]
fn gradients_to_the_boundary() {
    check(include_str!("gradients.txt"), [gradient::<f64>, gradient::<f32>], [1e-13, 2e-7]);
}

/// Gradients by x, y, v, u of an operation, and whether that by curvature is finite too.
fn gradients<T: Float>(operation: &str, kappa: f64, rows: &[Row<T>; 5]) -> Vec<Vec<f64>> {
    let tape = Tape::<T>::new();
    let variables = rows.each_ref().map(|row| tape.variable(&tensor(row)));
    let [r, k] = [0.7, kappa].map(|x| tape.variable(&Tensor::scalar(T::nearest(x))));
    let value = on_tape(operation, &Curved::new(k), &variables, r);
    let what = || format!("{operation}, kappa {kappa}: {rows:?}");
    assert!(value.to_tensor().data()[0].is_finite(), "{}", what());
    let gradients = tape.backward(value);
    let by = |variable: Var<'_, T>| {
        let gradient = gradients.wrt(variable).data().to_vec();
        assert!(gradient.iter().all(|g| g.is_finite()), "{}: {gradient:?}", what());
        gradient.iter().map(|g| g.to_f64()).collect::<Vec<f64>>()
    };
    by(k);
    by(r);
    variables[..4].iter().map(|v| by(*v)).collect()
}

/// Where formulas are 0/0, and at the outermost points that storage holds.
fn edges<T: Float>() {
    let row = |x: [f64; 3]| Row::from(x.map(T::nearest));
    let (zero, g) = (row([0.0; 3]), row([0.3, -0.5, 0.7]));
    for kappa in [-3.75_f64, -1.0, -1e-9, 0.0, 1e-9, 1.0] {
        let m = Stereographic::new(kappa);
        let scale = if kappa < -1e-3 { (-kappa).sqrt().recip() } else { 0.5 };
        // This point is outermost where the curvature is negative enough.
        let outer = m.project(&row([0.6 * scale, -0.8 * scale, 1e-3 * scale]));
        let inner = row([0.2 * scale, 0.1 * scale, -0.3 * scale]);
        let mut points = vec![zero.clone(), inner.clone(), outer.clone()];
        if kappa <= 0.0 {
            points.extend([m.neg(&outer), m.project(&row([0.6 * scale, -0.8 * scale, 1.1e-3 * scale]))]);
        }
        if kappa == 1.0 {
            // Antipodes, up to rounding.
            let square = inner.iter().map(|x| x.to_f64().powi(2)).sum::<f64>();
            let antipode = row([0, 1, 2].map(|i| -inner[i].to_f64() / square));
            for (x, y) in [(inner.clone(), antipode), (row([1.0, 0.0, 0.0]), row([-1.0, 0.0, 0.0]))] {
                for operation in ["dist", "log", "transport"] {
                    gradients(
                        operation,
                        kappa,
                        &[x.clone(), y.clone(), inner.clone(), zero.clone(), g.clone()],
                    );
                }
            }
        }
        for x in &points {
            for y in &points {
                let long = if kappa <= 0.0 { 1e3 } else { 0.1 };
                for v in
                    [zero.clone(), row([1e-30; 3]), inner.clone(), outer.clone(), row([-long, long, 0.0])]
                {
                    for operation in [
                        "dist",
                        "log",
                        "exp",
                        "transport",
                        "add",
                        "scale",
                        "geodesic",
                        "gyroplane",
                        "hyperplane",
                    ] {
                        gradients(operation, kappa, &[x.clone(), y.clone(), v.clone(), v.clone(), g.clone()]);
                    }
                }
            }
            let equal = |got: &[f64], sign: f64| {
                let miss =
                    got.iter().zip(g.iter()).map(|(a, b)| (a - sign * b.to_f64()).abs()).fold(0.0, f64::max);
                assert!(miss <= 16.0 * T::EPSILON, "kappa {kappa} at {x:?}: {got:?}, not {sign} times {g:?}");
            };
            let [x, zero, g] = [x, &zero, &g].map(Row::clone);
            let gradients_at = |operation: &str, x: &Row<T>, y: &Row<T>| {
                gradients(operation, kappa, &[x.clone(), y.clone(), zero.clone(), zero.clone(), g.clone()])
            };
            assert!(
                gradients_at("dist", &x, &x)[..2].iter().flatten().all(|g| *g == 0.0),
                "no direction is preferred"
            );
            equal(&gradients_at("log", &x, &x)[0], -1.0);
            equal(&gradients_at("log", &x, &x)[1], 1.0);
            equal(&gradients_at("exp", &x, &x)[0], 1.0);
            equal(&gradients_at("exp", &x, &x)[2], 1.0);
            equal(&gradients_at("add", &zero, &x)[1], 1.0);
            equal(&gradients_at("geodesic", &x, &x)[0], 0.625);
            equal(&gradients_at("geodesic", &x, &x)[1], 0.375);
            equal(&gradients_at("scale", &zero, &zero)[0], 0.7);
            equal(&gradients_at("exp0", &zero, &zero)[3], 1.0);
            equal(&gradients_at("log0", &zero, &zero)[0], 1.0);
        }
    }
}

#[test]
fn gradients_have_their_limits_where_forms_are_0_by_0() {
    edges::<f64>();
    edges::<f32>();
}

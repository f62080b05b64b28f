//! Accuracy against reference values in 100-digit arithmetic, by `reference/generate.py`: every operation over radii
//! to the representable limit, stored inputs taken as exact.
//!
//! A number's error is relative. A vector's is its largest coordinate's over the largest coordinate, so that one unit
//! is an ulp of the coordinates that matter. Where the result is a sum that cancels, by its definition and whatever the
//! form, the table says by how much, and the bound is that many times larger. `--nocapture` prints the worst.

use std::collections::BTreeMap;

use cotangent_engine::{Float, Row, Tape, Tensor};
use cotangent_manifolds::{Curved, Lorentz, Manifold, Stereographic};

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

/// Runs the table through the library; `bound` of an operation in f64.
fn check(table: &str, evaluate: [fn(&str, &Case) -> Vec<f64>; 2], bound: fn(&str) -> f64, single: f64) {
    let mut worst: BTreeMap<(bool, String), BTreeMap<Option<usize>, f64>> = BTreeMap::new();
    let mut failures = Vec::new();
    for case in read(table) {
        for reference in &case.results {
            let got = evaluate[usize::from(case.single)](&reference.operation, &case);
            let error = error(&got, &reference.value) / reference.condition;
            let entry = worst.entry((case.single, reference.operation.clone())).or_default();
            let entry = entry.entry(case.level).or_insert(0.0);
            *entry = entry.max(error);
            let bound = if case.single { single } else { bound(&reference.operation) };
            if !(error <= bound) {
                failures.push(format!(
                    "{}: error {error:.1e}, bound {bound:.1e}, condition {:.1e}; f32 {} kappa {} level {:?} {} {:?}",
                    reference.operation,
                    reference.condition,
                    case.single,
                    case.kappa,
                    case.level,
                    case.kind,
                    case.inputs
                ));
            }
        }
    }
    for ((single, operation), levels) in worst {
        let cells: Vec<String> = levels
            .into_iter()
            .map(|(level, error)| format!("{}: {error:.0e}", level.map_or("-".to_owned(), |k| k.to_string())))
            .collect();
        println!("{} {operation:15} {}", if single { "f32" } else { "f64" }, cells.join("  "));
    }
    assert!(
        failures.is_empty(),
        "{} failures, for example\n{}",
        failures.len(),
        failures[..failures.len().min(12)].join("\n")
    );
}

fn stereographic<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let m = Stereographic::new(case.kappa).unwrap();
    let [x, y, v, u] = ["x", "y", "v", "u"].map(|name| case.row::<T>(name));
    let point = |z: Row<T>| {
        m.contains(&z).unwrap();
        numbers(z)
    };
    match operation {
        "dist" => vec![m.dist(&x, &y)],
        "log" => numbers(m.log(&x, &y)),
        "exp" => point(m.exp(&x, &v)),
        "descend" => point(m.descend(&x, &v, &0.25)),
        "transport" => numbers(m.transport(&x, &y, &v)),
        "inner" => vec![m.inner(&x, &u, &v)],
        "norm" => vec![m.norm(&x, &v)],
        "egrad_to_rgrad" => numbers(m.egrad_to_rgrad(&x, &v)),
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
        _ => panic!("{operation}"),
    }
}

#[test]
fn stereographic_operations() {
    let bound = |operation: &str| if ["dist", "log"].contains(&operation) { 1e-14 } else { 1e-13 };
    let table = include_str!("reference/stereographic.txt");
    check(table, [stereographic::<f64>, stereographic::<f32>], bound, 2e-6);
}

fn lorentz<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let m = Lorentz::new(case.kappa).unwrap();
    let [x, y, v, u] = ["x", "y", "v", "u"].map(|name| case.row::<T>(name));
    match operation {
        "dist" => vec![m.dist(&x, &y)],
        "log" => numbers(m.log(&x, &y)),
        "exp" => numbers(m.exp(&x, &v)),
        "transport" => numbers(m.transport(&x, &y, &v)),
        "inner" => vec![m.inner(&x, &u, &v)],
        "norm" => vec![m.norm(&x, &v)],
        _ => panic!("{operation}"),
    }
}

#[test]
fn lorentz_operations() {
    let bound = |operation: &str| if ["dist", "log"].contains(&operation) { 1e-14 } else { 1e-13 };
    let table = include_str!("reference/lorentz.txt");
    check(table, [lorentz::<f64>, lorentz::<f32>], bound, 2e-6);
}

/// The derivative by curvature of a number, or of a vector's inner product with g.
fn slope<T: Float>(operation: &str, case: &Case) -> Vec<f64> {
    let tape = Tape::<T>::new();
    let variable = |x: &[f64]| {
        let data = x.iter().map(|&x| T::nearest(x)).collect();
        tape.constant(&Tensor::new([1, x.len()], data))
    };
    let [x, y, v, u, g] = ["x", "y", "v", "u", "g"].map(|name| variable(&case.inputs[name]));
    let r = tape.constant(&Tensor::scalar(T::nearest(case.number("r"))));
    let kappa = tape.variable(&Tensor::scalar(T::nearest(case.kappa)));
    let m = Curved::new(kappa);
    let value = match operation {
        "dist" => m.dist(&x, &y).sum(),
        "log" => (g * m.log(&x, &y)).sum(),
        "exp" => (g * m.exp(&x, &v)).sum(),
        "transport" => (g * m.transport(&x, &y, &v)).sum(),
        "lambda" => m.lambda(&x).sum(),
        "add" => (g * m.add(&x, &y)).sum(),
        "sub" => (g * m.sub(&x, &y)).sum(),
        "coadd" => (g * m.coadd(&x, &y)).sum(),
        "gyr" => (g * m.gyration(&x, &y, &v)).sum(),
        "scale" => (g * m.scale(&r, &x)).sum(),
        "exp0" => (g * m.exp0(&u)).sum(),
        "log0" => (g * m.log0(&x)).sum(),
        "gyroplane" => m.gyroplane(&x, &y, &u).sum(),
        "logit" => m.logit(&x, &y, &u).sum(),
        "hyperplane" => m.unidirectional_logit(&x, &u, &r).sum(),
        _ => panic!("{operation}"),
    };
    vec![tape.backward(value).wrt(kappa).unwrap().to_dense(1, 1)[0].to_f64()]
}

#[test]
fn derivatives_by_curvature() {
    check(include_str!("reference/curvature.txt"), [slope::<f64>, slope::<f32>], |_| 1e-12, 1e-6);
}

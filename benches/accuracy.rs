//! Worst relative errors of distances, maps and gradients in the ball and on the hyperboloid by radius.
//!
//! `cargo bench --bench accuracy -- [--json FILE]`
//! prints a line for each operation, with the worst error at each k, and writes each error as a JSON line.
//! k says how far out the outer one of x and y is: at 1 − 10^-k in the ball, with k rounded to one of the
//! levels of the table. Infinity and NaN are "not finite", in JSON `null`.
//!
//! Inputs and 100-digit values are the tables of `manifolds/tests/reference` at κ = −1, and those at
//! κ = −1/4 with all lengths halved: that is exact, and κ = −1. Operations run on a tape, which
//! rounds a result to the type of the inputs. The error of a number is relative; that of a vector is the
//! largest error of a coordinate over the largest coordinate. A gradient is that of the distance, or of
//! the result's inner product with a given vector; on the hyperboloid it is by the space coordinates.
//! Sums of opposite points are exactly 0, of which there is no relative error, and are left out.
//!
//! `results/peers/accuracy.py` measures other libraries against the same tables.

use std::collections::BTreeMap;
use std::path::Path;

use cotangent::prelude::*;

struct Case {
    /// The element type, `f64` or `f32`.
    element: String,
    /// By how much lengths are multiplied: 1, or 1/2 if κ = −1/4.
    scale: f64,
    inputs: BTreeMap<String, Vec<f64>>,
    /// Exact results by name: `MODEL.OPERATION`, and `MODEL.OPERATION.INPUT` for gradients.
    results: Vec<(String, Vec<f64>)>,
}

/// The cases of a table that have a level, and κ = −1 or −1/4. Names of results begin with `prefix`.
fn read(table: &str, prefix: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifolds/tests/reference").join(table);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let number = |word: &str| f64::from_bits(u64::from_str_radix(word, 16).expect("16 hexadecimal digits"));
    let mut cases = Vec::new();
    let mut wanted = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["case", element, kappa, level, ..] = words[..] {
            let kappa = number(kappa);
            wanted = level != "-" && [-1.0, -0.25].contains(&kappa);
            if wanted {
                let (element, scale) = (element.to_owned(), (-kappa).sqrt());
                cases.push(Case { element, scale, inputs: BTreeMap::new(), results: Vec::new() });
            }
            continue;
        }
        let Some(case) = cases.last_mut().filter(|_| wanted) else { continue };
        let numbers = |words: &[&str]| words.iter().map(|word| number(word)).collect();
        match words[0] {
            // The third word is a condition number.
            "=" => case.results.push((format!("{prefix}{}", words[1]), numbers(&words[3..]))),
            name => drop(case.inputs.insert(name.to_owned(), numbers(&words[1..]))),
        }
    }
    cases
}

/// An operation of both models.
fn apply<'t, T: Float, M: Manifold>(
    m: &M,
    operation: &str,
    [x, y, v]: [&Var<'t, T>; 3],
) -> Option<Var<'t, T>> {
    Some(match operation {
        "dist" => m.dist(x, y),
        "log" => m.log(x, y),
        "exp" => m.exp(x, v),
        "transport" => m.transport(x, y, v),
        _ => return None,
    })
}

/// The model, what is measured, and the error; `None` for what is not measured here.
fn measure<T: Float>(case: &Case, name: &str, exact: &[f64]) -> Option<(&'static str, String, f64)> {
    let mut parts = name.split('.');
    let (model, operation, input) = (parts.next()?, parts.next()?, parts.next());
    if exact.iter().all(|&t| t == 0.0) {
        return None;
    }
    let tape = Tape::<T>::new();
    let variable = |name: &str, scale: f64| {
        let row = &case.inputs[name];
        tape.variable(&Tensor::from_fn([1, row.len()], |i| T::nearest(scale * row[i])))
    };
    let inputs = ["x", "y", "v"].map(|name| variable(name, case.scale));
    let [x, y, v] = &inputs;
    let ball = PoincareBall::new(-1.0);
    let (model, value) = match (model, operation) {
        ("stereographic", "add") => ("ball", ball.add(x, y)),
        ("stereographic", _) => ("ball", apply(&ball, operation, [x, y, v])?),
        ("lorentz", _) => ("hyperboloid", apply(&Lorentz::new(-1.0), operation, [x, y, v])?),
        _ => return None,
    };
    let Some(input) = input else {
        let exact: Vec<f64> = exact.iter().map(|t| case.scale * t).collect();
        return Some((model, operation.to_owned(), error(value.to_tensor().data(), &exact)));
    };
    let number = if operation == "dist" { value.sum() } else { (variable("g", 1.0) * value).sum() };
    let gradients = tape.backward(number);
    let gradient = gradients.wrt(inputs["xyv".find(input)?]);
    let first = usize::from(model == "hyperboloid");
    Some((model, format!("{operation} gradient"), error(&gradient.data()[first..], exact)))
}

/// The k of a case. Tables of gradients have fewer levels: there the next one outward is taken.
fn level(case: &Case, model: &str, gradient: bool) -> usize {
    let [x, y] = ["x", "y"].map(|name| {
        let point: Vec<f64> = case.inputs[name].iter().map(|t| case.scale * t).collect();
        let norm = |row: &[f64]| row.iter().map(|t| t * t).sum::<f64>().sqrt();
        let norm = if model == "ball" { norm(&point) } else { norm(&point[1..]) / (1.0 + point[0]) };
        -(1.0 - norm).log10()
    });
    let (levels, last): (&[usize], _) = match (gradient, case.element.as_str()) {
        (true, "f32") => (&[2, 4], 6),
        (true, _) => (&[2, 5, 8], 12),
        (false, "f32") => (&[1, 2, 3, 4, 5], 6),
        (false, _) => (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 12),
    };
    levels.iter().copied().find(|&k| x.max(y) < k as f64 + 0.5).unwrap_or(last)
}

fn error<T: Float>(got: &[T], exact: &[f64]) -> f64 {
    assert_eq!(got.len(), exact.len());
    let miss = got.iter().zip(exact).map(|(a, b)| (a.to_f64() - b).abs());
    let size = exact.iter().fold(0.0_f64, |size, x| size.max(x.abs()));
    miss.fold(0.0, |worst, miss| if miss.is_finite() { miss.max(worst) } else { f64::INFINITY }) / size
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // Under `cargo test` the benchmark is compiled but not run.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let mut worst: BTreeMap<_, BTreeMap<usize, (f64, usize)>> = BTreeMap::new();
    for (table, prefix) in
        [("stereographic.txt", "stereographic."), ("lorentz.txt", "lorentz."), ("gradients.txt", "")]
    {
        for case in read(table, prefix) {
            for (name, exact) in &case.results {
                let measure = if case.element == "f32" { measure::<f32> } else { measure::<f64> };
                let Some((model, operation, error)) = measure(&case, name, exact) else { continue };
                let levels = worst.entry((model, operation, case.element.clone())).or_default();
                let k = level(&case, model, name.split('.').count() == 3);
                let (largest, cases) = levels.entry(k).or_insert((0.0, 0));
                (*largest, *cases) = (error.max(*largest), *cases + 1);
            }
        }
    }
    let mut lines = String::new();
    for ((model, operation, element), levels) in worst {
        print!("{model:11} {operation:18} {element} ");
        for (k, (worst, cases)) in levels {
            let cell = if worst.is_finite() { format!("{worst:.0e}") } else { "not finite".to_owned() };
            print!("  {k}: {cell}");
            let line = serde_json::json!({
                "library": "cotangent", "version": env!("CARGO_PKG_VERSION"), "operation": operation,
                "model": model, "type": element, "k": k, "cases": cases,
                "worst": worst.is_finite().then_some(worst),
            });
            lines += &format!("{line}\n");
        }
        println!();
    }
    if let Some(flag) = arguments.iter().position(|argument| argument == "--json") {
        let file = arguments.get(flag + 1).expect("a file after --json");
        std::fs::write(file, lines).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
}

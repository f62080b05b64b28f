//! All formulas of the registry. All evaluations of a formula agree with each other, and its derivatives
//! agree with finite differences. The kernels agree with plain loops, for shapes from empty to a million
//! elements.

use cotangent::engine::registry::{Formula, Kind};
use cotangent::engine::{Domain, Invariant, Operation, RowPlan};
use cotangent::prelude::*;

use crate::draws::{all, draw, inputs, vectors};

/// Random arguments of a scalar formula.
fn arguments(formula: &Formula, rng: &mut rng::Rng) -> Vec<f64> {
    match formula.kind {
        Kind::Map(ranges) | Kind::Pair { ranges, .. } => ranges.iter().map(|&r| draw(r, rng)).collect(),
        Kind::Row { plan, params, sample } => {
            let plan = plan();
            let params: Vec<f64> = params.iter().map(|&r| draw(r, rng)).collect();
            let kappa = params.first().copied().unwrap_or(0.0);
            let vectors = vectors(sample, plan.vectors, 4, kappa, rng);
            plan.invariants_at(&vectors.iter().map(Vec::as_slice).collect::<Vec<_>>(), &params)
        }
    }
}

#[test]
fn the_registry_lists_formulas_of_every_kind_once() {
    let mut names: Vec<&str> = all().map(|f| f.name).collect();
    assert!(names.len() > 50, "{}", names.len());
    for name in ["exp", "gelu", "scaled_dot", "stereographic.exp", "lorentz.log", "euclidean.norm"] {
        assert!(names.contains(&name), "{name}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all().count());
}

#[test]
fn plain_lanes_dual_and_traced_values_are_the_same_bits() {
    for formula in all() {
        let mut rng = rng::stream(1, formula.name, 0);
        let expression = (formula.trace)();
        for _ in 0..50 {
            let x = arguments(formula, &mut rng);
            let plain = (formula.plain)(&x);
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            let name = formula.name;
            assert_eq!(bits(&plain), bits(&(formula.lanes)(&x)), "{name} on lanes at {x:?}");
            assert_eq!(bits(&plain), bits(&expression.evaluate(&x)), "{name} traced at {x:?}");
            if !x.is_empty() {
                let dual: Vec<f64> = (formula.dual)(&x).into_iter().map(|(value, _)| value).collect();
                assert_eq!(bits(&plain), bits(&dual), "{name} on dual numbers at {x:?}");
            }
        }
    }
}

#[test]
fn single_precision_is_close_to_double() {
    for formula in all() {
        let mut rng = rng::stream(2, formula.name, 0);
        for _ in 0..50 {
            let x: Vec<f32> = arguments(formula, &mut rng).into_iter().map(|x| x as f32).collect();
            let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            let (single, double) = ((formula.plain_f32)(&x), (formula.plain)(&wide));
            let slopes = if x.is_empty() { Vec::new() } else { (formula.dual)(&wide) };
            for (o, (got, want)) in single.into_iter().zip(double).enumerate() {
                // The error that the rounding of every argument may cause, plus some for the result
                // itself.
                let condition: f64 =
                    slopes.get(o).map_or(0.0, |(_, p)| p.iter().zip(&wide).map(|(d, x)| (d * x).abs()).sum());
                let scale = want.abs() + condition + 1e-2;
                assert!(
                    (f64::from(got) - want).abs() <= 5e-6 * scale,
                    "{} at {x:?}: {got} {want}",
                    formula.name
                );
            }
        }
    }
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    for formula in all() {
        let mut rng = rng::stream(3, formula.name, 0);
        for _ in 0..20 {
            let x = arguments(formula, &mut rng);
            if x.is_empty() {
                continue;
            }
            for (o, (value, partials)) in (formula.dual)(&x).into_iter().enumerate() {
                for (k, got) in partials.into_iter().enumerate() {
                    // A mask is not differentiated.
                    if formula.name == "fill_where" && k == 1 {
                        assert_eq!(got, 0.0);
                        continue;
                    }
                    // 0 unless it takes the place of a product: there is nothing in between.
                    if let Kind::Row { plan, .. } = formula.kind
                        && matches!(plan().invariants[k], Invariant::Extreme(_))
                    {
                        continue;
                    }
                    let shifted = |shift: f64| {
                        let mut moved = x.clone();
                        moved[k] += shift;
                        (formula.plain)(&moved)[o]
                    };
                    let central = |h: f64| (shifted(h) - shifted(-h)) / (2.0 * h);
                    let h = 1e-3 * x[k].abs().clamp(1e-2, 1.0);
                    let (coarse, fine) = (central(h), central(h / 2.0));
                    let want = (4.0 * fine - coarse) / 3.0;
                    let scale = want.abs().max(value.abs() / x[k].abs().max(0.1)).max(1e-2);
                    assert!(
                        (got - want).abs() <= 1e-7 * scale + 0.05 * (fine - coarse).abs(),
                        "{}: ∂{o}/∂{k} at {x:?} is {got}, not {want}",
                        formula.name
                    );
                }
            }
        }
    }
}

/// The expected results of a formula's operation, computed by plain loops in `f64`.
fn expected(formula: &Formula, inputs: &[Tensor<f64>]) -> Vec<f64> {
    match formula.kind {
        Kind::Map(_) => (0..inputs[0].len())
            .flat_map(|i| {
                let x: Vec<f64> = inputs.iter().map(|t| t.data()[if t.len() == 1 { 0 } else { i }]).collect();
                (formula.plain)(&x)
            })
            .collect(),
        Kind::Row { plan, .. } => {
            let plan = plan();
            let (vectors, params) = inputs.split_at(plan.vectors);
            let params: Vec<f64> = params.iter().map(|p| p.data()[0]).collect();
            let width = vectors[0].width();
            (0..vectors[0].len() / width)
                .flat_map(|i| {
                    let rows: Vec<&[f64]> = vectors.iter().map(|v| v.row(i)).collect();
                    let coefficients = (formula.plain)(&plan.invariants_at(&rows, &params));
                    if !plan.vector {
                        return coefficients;
                    }
                    let mut row = plan.combination_at(&rows, &coefficients);
                    if plan.domain != Domain::Free {
                        plan.domain.settle(&mut row, params.first().copied().unwrap_or_default());
                    }
                    row
                })
                .collect()
        }
        Kind::Pair { counts: [l, r, _], pairing, .. } => {
            let (x, y) = (&inputs[0], &inputs[1]);
            let mut all = Vec::new();
            for i in 0..x.shape()[0] {
                for j in 0..y.shape()[0] {
                    let pairs = x.row(i).iter().zip(y.row(j));
                    let first: f64 = match pairing {
                        Pairing::SquaredDistance => pairs.map(|(a, b)| (a - b) * (a - b)).sum(),
                        Pairing::Dot => pairs.map(|(a, b)| a * b).sum(),
                    };
                    let mut arguments = vec![first];
                    arguments.extend(inputs[2..2 + l].iter().map(|t| t.data()[i]));
                    arguments.extend(inputs[2 + l..2 + l + r].iter().map(|t| t.data()[j]));
                    arguments.extend(inputs[2 + l + r..].iter().map(|t| t.data()[0]));
                    all.extend((formula.plain)(&arguments));
                }
            }
            all
        }
    }
}

#[test]
fn kernels_agree_with_plain_loops_over_all_shapes() {
    for formula in all() {
        let mut rng = rng::stream(4, formula.name, 0);
        // All formulas split elements over threads in the same way, so the large size is tested for three.
        let million = ["tanh", "add", "fill_where"].contains(&formula.name).then_some((1_000_003, 1));
        let shapes = [(0, 3), (1, 2), (1, 3), (7, 5), (64, 64), (65, 65), (300, 2)];
        for (n, width) in shapes.into_iter().chain(million) {
            let inputs = inputs(formula, n, width, &mut rng);
            let want = expected(formula, &inputs);
            let tape = Tape::<f64>::new();
            let variables: Vec<_> = inputs.iter().map(|t| tape.constant(t)).collect();
            let got = tape.operation(formula.as_operation::<f64>(), &variables).to_tensor();
            let single = Tape::<f32>::new();
            let rounded: Vec<Tensor<f32>> = inputs.iter().map(Tensor::cast).collect();
            let variables: Vec<_> = rounded.iter().map(|t| single.constant(t)).collect();
            let got_single = single.operation(formula.as_operation::<f32>(), &variables).to_tensor();
            let wide: Vec<Tensor<f64>> = rounded.iter().map(Tensor::cast).collect();
            let want_single = expected(formula, &wide);
            assert_eq!(got.len(), want.len(), "{} {n} {width}", formula.name);
            // A row is a sum of many terms. Where they cancel, the error is measured against the largest
            // element.
            let size = want.iter().fold(1e-2, |m: f64, x| m.max(x.abs()));
            for i in 0..want.len() {
                let what = || format!("{} [{n}, {width}] element {i}", formula.name);
                let (got, want) = (got.data()[i], want[i]);
                assert!((got - want).abs() <= 1e-12 * size, "{}: {got} {want}", what());
                let (got, want) = (f64::from(got_single.data()[i]), want_single[i]);
                assert!((got - want).abs() <= 2e-5 * size, "{}: f32 {got} {want}", what());
            }
        }
    }
}

/// Gradients of the kernels, forward mode and second derivatives, compared with finite differences.
#[test]
fn kernels_have_the_gradients_of_finite_differences() {
    use cotangent::engine::check;
    for formula in all() {
        let mut rng = rng::stream(5, formula.name, 0);
        // A result that is settled onto a surface has only the derivatives along it, which differences do not
        // show. The laws of the manifolds compare those; here forward mode is compared with the reverse pass.
        let is_on_surface =
            |plan: fn() -> &'static RowPlan| matches!(plan().domain, Domain::Hyperboloid | Domain::Sphere);
        let is_settled = matches!(formula.kind, Kind::Row { plan, .. } if is_on_surface(plan));
        for (n, width) in [(1, 3), (5, 4)] {
            let inputs = inputs(formula, n, width, &mut rng);
            // A mask is not differentiated.
            let (mask, inputs): (Vec<_>, Vec<_>) =
                inputs.into_iter().enumerate().partition(|(k, _)| formula.name == "fill_where" && *k == 1);
            let inputs: Vec<Tensor<f64>> = inputs.into_iter().map(|(_, t)| t).collect();
            fn scores<'t>(
                formula: &Formula,
                mask: &[(usize, Tensor<f64>)],
                v: &[Var<'t, f64>],
            ) -> Var<'t, f64> {
                let mut operands = v.to_vec();
                for (k, t) in mask {
                    operands.insert(*k, v[0].tape().constant(t));
                }
                let y = v[0].tape().operation(formula.as_operation::<f64>(), &operands);
                let weights = Tensor::from_fn(y.shape(), |i| 0.4 + (i as f64).sin());
                10.0 + (y * y.tape().constant(&weights)).sum()
            }
            if !is_settled {
                let worst = check::gradients(&inputs, |v| scores(formula, &mask, v));
                assert!(worst.relative < 1e-7, "{}: {worst:?}", formula.name);
            }

            let directions: Vec<Tensor<f64>> = inputs
                .iter()
                .map(|t| Tensor::from_fn(t.shape().clone(), |i| (i as f64 + 0.3).cos()))
                .collect();
            let worst = check::forward_mode(&inputs, &directions, |v| scores(formula, &mask, v));
            assert!(worst < 1e-10, "{}: forward mode differs from reverse by {worst:e}", formula.name);

            if !matches!(formula.kind, Kind::Pair { .. }) && !is_settled {
                let worst = check::gradients(&inputs, |v| {
                    let tape = v[0].tape();
                    let tangents: Vec<_> =
                        v.iter().zip(&directions).map(|(x, d)| (*x, tape.constant(d))).collect();
                    10.0 + tape.jvp(scores(formula, &mask, v), &tangents)
                });
                assert!(worst.relative < 1e-6, "{}: second derivatives: {worst:?}", formula.name);
            }
        }
    }
}

/// The engine interprets formulas if it is built with debug assertions, else it runs what is compiled of
/// them. `./test` runs this suite with both builds.
#[test]
fn formulas_have_the_same_bits_interpreted_and_compiled() {
    /// The results, and the gradients of the inputs.
    fn outcome<T: Float>(operation: &'static dyn Operation<T>, inputs: &[Tensor<f64>]) -> Vec<Vec<u64>> {
        let tape = Tape::<T>::with_device(Device::cpu());
        let variables: Vec<_> = inputs.iter().map(|x| tape.variable(&x.cast())).collect();
        let y = tape.operation(operation, &variables);
        let weights = Tensor::from_fn(y.shape(), |i| T::nearest((i as f64 + 0.5).sin()));
        let gradients = tape.backward_from(y, &weights);
        let gradients = variables.iter().map(|v| gradients.wrt(*v).data().to_vec());
        let bits = |numbers: Vec<T>| numbers.into_iter().map(|x| x.to_f64().to_bits()).collect();
        std::iter::once(y.to_tensor().data().to_vec()).chain(gradients).map(bits).collect()
    }
    fn same<T: Float>(formula: &Formula, inputs: &[Tensor<f64>], size: [usize; 2]) {
        let ways = [formula.as_operation::<T>(), formula.as_interpreted_operation::<T>()];
        let [compiled, interpreted] = ways.map(|way| outcome(way, inputs));
        assert_eq!(compiled, interpreted, "{} {size:?} of {}", formula.name, T::NAME);
    }
    for formula in all() {
        let is_elementwise = matches!(formula.kind, Kind::Map(_));
        assert_eq!(formula.is_compiled(), !is_elementwise && !cfg!(debug_assertions), "{}", formula.name);
        let mut rng = rng::stream(6, formula.name, 0);
        for (n, width) in [(1, 2), (3, 3), (4, 5), (18, 8), (7, 17), (41, 70)] {
            let inputs = inputs(formula, n, width, &mut rng);
            same::<f64>(formula, &inputs, [n, width]);
            same::<f32>(formula, &inputs, [n, width]);
        }
    }
}

/// Positions of NaN among 37 elements: in whole registers, and among the last elements.
const NAN_AT: [usize; 3] = [0, 19, 36];

/// Checks an elementwise formula with operands that are NaN or outside its domain. Where the result is NaN,
/// the gradient must not be plain zero.
fn nan_stays<T: Float>(formula: &Formula, operation: &'static dyn Operation<T>, inputs: &[Tensor<T>]) {
    let tape = Tape::<T>::new();
    let variables: Vec<_> = inputs.iter().map(|x| tape.variable(x)).collect();
    let y = tape.operation(operation, &variables);
    let values = y.to_tensor();
    let gradients = tape.backward(y.sum());
    assert!(variables.iter().all(|v| gradients.view(v).is_some()), "{}", formula.name);
    let gradients: Vec<Vec<T>> = variables.iter().map(|v| gradients.wrt(*v).data().to_vec()).collect();
    // The slope of a linear formula is a number even where the value is NaN. Where a minimum or maximum is
    // NaN, all slopes are; of all other formulas at least one is.
    let linear = ["add", "sub", "neg", "fill_where", "binary_cross_entropy"].contains(&formula.name);
    for (i, y) in values.data().iter().enumerate() {
        let name = || format!("{} of {}, element {i}", formula.name, T::NAME);
        assert_eq!(y.is_nan(), NAN_AT.contains(&i), "{}: {y}", name());
        for g in &gradients {
            assert!(g[i].is_finite() || NAN_AT.contains(&i), "{}: a gradient of {}", name(), g[i]);
        }
        if y.is_nan() {
            let nan = gradients.iter().filter(|g| g[i].is_nan()).count();
            let choice = ["min", "maximum"].contains(&formula.name);
            let least = if choice { inputs.len() } else { usize::from(!linear) };
            assert!(nan >= least, "{}: {nan} gradients are NaN", name());
            assert!(gradients.iter().any(|g| g[i] != T::zero()), "{}: all gradients are 0", name());
        }
    }
}

#[test]
fn elementwise_formulas_keep_nan_in_both_passes() {
    let mut rng = rng::stream(8, 0, 0);
    let outside = [
        ("sqrt", -1.0),
        ("ln", -1.0),
        ("ln_1p", -2.0),
        ("asin", 2.0),
        ("acosh", 0.5),
        ("atanh", 2.0),
        ("atanh", -2.0),
        ("sin", f64::INFINITY),
        ("cos", f64::NEG_INFINITY),
        ("tan", f64::INFINITY),
    ];
    for formula in all() {
        let Kind::Map(ranges) = formula.kind else { continue };
        for k in 0..ranges.len() {
            // A mask is no number.
            if formula.name == "fill_where" && k == 1 {
                continue;
            }
            let mut x = arguments(formula, &mut rng);
            x[k] = f64::NAN;
            if formula.name == "fill_where" && k == 2 {
                x[1] = 1.0;
            }
            let single: Vec<f32> = x.iter().map(|&x| x as f32).collect();
            let values = [
                (formula.plain)(&x)[0],
                (formula.lanes)(&x)[0],
                (formula.dual)(&x)[0].0,
                (formula.trace)().evaluate(&x)[0],
                (formula.plain_f32)(&single)[0].into(),
            ];
            assert!(values.iter().all(|y| y.is_nan()), "{} of {x:?}: {values:?}", formula.name);
            let arguments = outside.iter().filter(|(name, _)| *name == formula.name).map(|(_, x)| *x);
            for special in arguments.chain([f64::NAN]) {
                let mut inputs = inputs(formula, 37, 1, &mut rng);
                for x in &mut inputs {
                    *x = Tensor::from_fn([37], |i| x.data()[if x.len() == 1 { 0 } else { i }]);
                }
                if formula.name == "fill_where" && k == 2 {
                    inputs[1] = Tensor::from_fn([37], |_| 1.0);
                }
                NAN_AT.iter().for_each(|&i| inputs[k].data_mut()[i] = special);
                let rounded: Vec<Tensor<f32>> = inputs.iter().map(Tensor::cast).collect();
                nan_stays(formula, formula.as_operation::<f64>(), &inputs);
                nan_stays(formula, formula.as_operation::<f32>(), &rounded);
            }
        }
    }
}

/// If a vector of a row or pair formula contains NaN, so does the result. A formula that loses NaN would hide
/// where a computation has gone wrong. Adds the cases where it is lost to `lost`.
fn rows_keep_nan<T: Float>(formula: &Formula, operation: &'static dyn Operation<T>, lost: &mut Vec<String>) {
    let mut rng = rng::stream(9, 0, 0);
    let vectors = match formula.kind {
        Kind::Map(_) => return,
        Kind::Row { plan, .. } => plan().vectors,
        Kind::Pair { .. } => 2,
    };
    for k in 0..vectors {
        for c in [0, 2, 4] {
            let mut inputs: Vec<Tensor<T>> =
                inputs(formula, 3, 5, &mut rng).iter().map(Tensor::cast).collect();
            let result = |inputs: &[Tensor<T>]| {
                let tape = Tape::<T>::new();
                let variables: Vec<_> = inputs.iter().map(|x| tape.variable(x)).collect();
                tape.operation(operation, &variables).to_tensor()
            };
            let before = result(&inputs);
            let element = &mut inputs[k].row_mut(1)[c];
            *element = *element + T::constant(0.01);
            if result(&inputs) == before {
                // The formula does not read this coordinate.
                continue;
            }
            inputs[k].row_mut(1)[c] = T::constant(f64::NAN);
            let tape = Tape::<T>::new();
            let variables: Vec<_> = inputs.iter().map(|x| tape.variable(x)).collect();
            let y = tape.operation(operation, &variables);
            let values = y.to_tensor();
            let gradients = tape.backward(y.sum());
            let gradient = gradients.wrt(variables[k]).data().to_vec();
            let name = format!("{} of {}, vector {k}, coordinate {c}", formula.name, T::NAME);
            if !values.data().iter().any(|y| y.is_nan()) {
                lost.push(name);
            } else if gradient[5..10].iter().all(|g| *g == T::zero()) {
                lost.push(format!("{name}: the gradient"));
            }
        }
    }
}

#[test]
fn row_and_pair_formulas_keep_nan_in_both_passes() {
    let mut lost = Vec::new();
    for formula in all() {
        rows_keep_nan(formula, formula.as_operation::<f64>(), &mut lost);
        rows_keep_nan(formula, formula.as_operation::<f32>(), &mut lost);
    }
    assert!(lost.is_empty(), "NaN is lost: {lost:#?}");
}

/// The printed expressions are C: a compiler accepts them, and the program computes the same values.
#[test]
fn printed_expressions_compile_and_compute_the_same() {
    use std::fmt::Write;
    use std::process::Command;
    let mut rng = rng::stream(6, 0, 0);
    let mut source = format!(
        "#include <math.h>\n#include <stdio.h>\ntypedef double real;\n{}\n",
        cotangent::engine::prelude::<f64>()
    );
    let mut main = String::from("int main(void) {\n    real out[16];\n");
    let mut want: Vec<(&str, f64)> = Vec::new();
    for (f, formula) in all().enumerate() {
        source += &(formula.trace)().to_c(&format!("f{f}"), "real");
        for _ in 0..5 {
            let x = arguments(formula, &mut rng);
            let values: Vec<String> = x.iter().map(|x| format!("{x:.17e}")).collect();
            let list = if values.is_empty() { "0".into() } else { values.join(", ") };
            writeln!(main, "    {{ const real in[] = {{{list}}}; f{f}(in, out); }}").unwrap();
            for (o, y) in (formula.plain)(&x).into_iter().enumerate() {
                writeln!(main, "    printf(\"%.17g\\n\", out[{o}]);").unwrap();
                want.push((formula.name, y));
            }
        }
    }
    let dir = std::env::temp_dir().join(format!("cotangent-expressions-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("f.c"), source + &main + "    return 0;\n}\n").unwrap();
    let compiler = Command::new("cc")
        .args(["-std=c99", "-O1", "-Wall", "-Werror", "-Wno-unused-function", "-Wno-unused-variable", "-o"])
        .args([dir.join("f"), dir.join("f.c"), "-lm".into()])
        .status();
    let Ok(status) = compiler else {
        cotangent::engine::skip!("no C compiler");
    };
    assert!(status.success());
    let output = Command::new(dir.join("f")).output().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    let got: Vec<f64> =
        String::from_utf8(output.stdout).unwrap().lines().map(|l| l.parse().unwrap()).collect();
    assert_eq!(got.len(), want.len());
    for (got, (name, want)) in got.into_iter().zip(want) {
        assert_eq!(got.to_bits(), want.to_bits(), "{name}: {got} in C, {want}");
    }
}

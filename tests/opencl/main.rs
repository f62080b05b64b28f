//! Compares every computation on an OpenCL device with the processor. Without a device, the tests pass
//! with a message.

macro_rules! same {
    ($ulp:expr, [$($shape:expr),*], $computation:expr) => {
        assert_same($ulp, &[$(&$shape),*], &$computation, &$computation)
    };
}

mod attention;
#[path = "../suite/draws.rs"]
mod draws;
mod formulas;
#[path = "../suite/limit.rs"]
mod limit;
mod operations;
mod training;
mod without_f64;

use cotangent::engine::registry::{Formula, Kind};
use cotangent::prelude::*;

/// The first device, or `None` with a message if there is none.
fn device() -> Option<Device> {
    match Device::opencl(0) {
        Ok(device) => {
            limit::limit_time();
            Some(device)
        }
        Err(error) => {
            cotangent::engine::skipped(format_args!("{error}"));
            None
        }
    }
}

const ITEMS: &str = "COTANGENT_ROW_ITEMS";
const OTHER_HALF: &str = "COTANGENT_OTHER_HALF";
const WITHOUT_F64: &str = "COTANGENT_DEVICE_F64";

/// A few formulas that together have every manifold, domain, operand count and elementary function. The
/// variants of a device (`f32`, several work-items a row) are tested with these only, because each needs
/// programs of its own for every formula, from the same skeletons.
fn sample() -> Vec<&'static Formula> {
    let features = |formula: &Formula| {
        let mut all = match formula.kind {
            Kind::Map(operands) => vec![format!("{} operands", operands.len())],
            Kind::Pair { counts, pairing, .. } => vec![format!("{pairing:?}"), format!("{counts:?}")],
            Kind::Row { plan, params, .. } => {
                let plan = plan();
                let manifold = formula.name.split('.').next().unwrap_or_default().to_owned();
                let results = if plan.vector { format!("{:?}", plan.domain) } else { "numbers".into() };
                vec![manifold, results, format!("{} vectors, {} parameters", plan.vectors, params.len())]
            }
        };
        let source = (formula.trace)().to_c("formula", "real");
        let words = source.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned);
        all.extend(words.filter(|word| word.starts_with(char::is_alphabetic)));
        all
    };
    let mut seen = std::collections::HashSet::new();
    // Variables of the expressions have numbered names.
    let is_variable =
        |word: &String| word.strip_prefix('t').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let is_new = |formula: &&Formula| {
        let features = features(formula).into_iter().filter(|word| !is_variable(word));
        features.fold(false, |new, feature| seen.insert(feature) | new)
    };
    draws::all().filter(is_new).collect()
}

/// With one work-item per row every second formula, of all of them for `f64`, of [a few](sample) for `f32`:
/// [another process](formulas::the_other_half) has the others. The variants have the few.
fn formulas_of<T: Float>() -> Vec<&'static Formula> {
    if std::env::var_os(ITEMS).is_some() {
        return sample();
    }
    let formulas = if T::NAME == "f64" { draws::all().collect() } else { sample() };
    let first = usize::from(std::env::var_os(OTHER_HALF).is_some());
    formulas.into_iter().skip(first).step_by(2).collect()
}

/// Runs tests of this binary in another process, where eight work-items compute a row, as on a GPU.
#[test]
fn the_same_with_several_work_items_a_row() {
    if std::env::var_os(ITEMS).is_some() || device().is_none() {
        return;
    }
    let names = ["formulas::every_formula", "formulas::what_is_not_finite", "operations::", "attention::"];
    in_a_process(&names, &[(ITEMS, "8")]);
}

/// Runs the named tests of this binary in another process with these environment variables.
fn in_a_process(names: &[&str], variables: &[(&str, &str)]) {
    let tests = std::env::current_exe().expect("the tests are a program");
    let mut process = std::process::Command::new(tests);
    let output = process.args(names).envs(variables.iter().copied()).output().expect("it is started");
    let [said, complained] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(!said.contains("running 0 tests"), "{said}");
}

/// The value of a computation on a device, and the gradients of its inputs. `g` is the gradient of the
/// result; if it is `None`, fixed weights are.
fn run<T: Float>(
    device: &Device,
    inputs: &[Tensor<T>],
    g: Option<&Tensor<T>>,
    computation: &dyn for<'t> Fn(&[Var<'t, T>]) -> Var<'t, T>,
) -> Vec<Tensor<T>> {
    let tape = Tape::<T>::with_device(device.clone());
    let variables: Vec<_> = inputs.iter().map(|x| tape.variable(x)).collect();
    let y = computation(&variables);
    let mut all = vec![y.to_tensor()];
    let weights = Tensor::from_fn(y.shape(), |i| T::constant(0.4 + (i as f64).sin()));
    let gradients = tape.backward_from(y, g.unwrap_or(&weights));
    for (x, input) in variables.iter().zip(inputs) {
        let width = input.width();
        let dense = gradients.view(*x).map(|g| g.to_dense(input.len() / width.max(1), width));
        all.push(Tensor::new(input.shape().clone(), dense.unwrap_or_else(|| vec![T::zero(); input.len()])));
    }
    all
}

/// The largest difference of two tensors, in units of the rounding of their largest element. It is 0 if
/// the bits are the same.
fn difference<T: Float>(got: &Tensor<T>, want: &Tensor<T>) -> f64 {
    assert_eq!(got.shape(), want.shape());
    let finite = |x: &T| if x.is_finite() { x.to_f64().abs() } else { 0.0 };
    let size = want.data().iter().map(finite).fold(f64::MIN_POSITIVE, f64::max);
    let pairs = got.data().iter().zip(want.data()).map(|(a, b)| (a.to_f64(), b.to_f64()));
    pairs.fold(0.0, |worst, (a, b)| {
        if a == b || (a.is_nan() && b.is_nan()) {
            worst
        } else {
            // NaN counts as the largest difference.
            let difference = (a - b).abs() / (size * T::EPSILON);
            if difference <= worst { worst } else { difference }
        }
    })
}

fn tensor(shape: &[usize], seed: usize) -> Tensor<f64> {
    Tensor::from_fn(shape, |i| ((i * 37 + seed * 101 + 11) as f64).sin())
}

/// Checks that a computation gives the same on the device as on the processor, in both types: the value
/// and each gradient, within `ulp` roundings of the largest element.
#[track_caller]
fn assert_same(ulp: f64, inputs: &[&[usize]], double: &Computation<'_, f64>, single: &Computation<'_, f32>) {
    let Some(device) = device() else { return };
    let inputs: Vec<Tensor<f64>> = inputs.iter().enumerate().map(|(k, shape)| tensor(shape, k)).collect();
    let rounded: Vec<Tensor<f32>> = inputs.iter().map(Tensor::cast).collect();
    let [got, want] = [&device, &Device::cpu()].map(|d| run(d, &inputs, None, double));
    for (k, (got, want)) in got.iter().zip(&want).enumerate() {
        let difference = difference(got, want);
        assert!(difference <= ulp, "f64, output {k}: {difference} ulp\n{got}\n{want}");
    }
    let [got, want] = [&device, &Device::cpu()].map(|d| run(d, &rounded, None, single));
    for (k, (got, want)) in got.iter().zip(&want).enumerate() {
        let difference = difference(got, want);
        assert!(difference <= ulp, "f32, output {k}: {difference} ulp\n{got}\n{want}");
    }
}

type Computation<'a, T> = dyn for<'t> Fn(&[Var<'t, T>]) -> Var<'t, T> + 'a;

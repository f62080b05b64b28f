//! All formulas of the registry, in both passes and both types.

use cotangent::engine::registry::{Formula, Kind};
use cotangent::prelude::*;

use crate::draws::{all, inputs};
use crate::{ITEMS, OTHER_HALF, device, difference, formulas_of, in_a_process, run};

/// Compares a formula on a device with the processor. With parameters that have a number for each row,
/// elementwise and row formulas give the same bits, in values and gradients. The gradient of a number for
/// all rows is a sum over the rows, which the processor accumulates in the elements' type and a device in
/// `f64`; each addition may round by half an ulp of the sum of all terms' absolute values. The pairings of a
/// pair formula are a matrix product, whose terms are added in another order.
///
/// With `ulp` above 0, rows may differ by `ulp` roundings of their largest element, and gradients of numbers
/// by `ulp` roundings of the largest one.
pub(crate) fn check<T: Float>(
    formula: &Formula,
    operation: &'static dyn Operation<T>,
    device: &Device,
    ulp: f64,
) {
    let is_pair = matches!(formula.kind, Kind::Pair { .. });
    // Numbers of rows that fill the groups of a GPU or do not, and widths that fill their lanes or do
    // not.
    for (n, width) in [(1, 3), (7, 5), (33, 17), (64, 8), (95, 65)] {
        let mut rng = rng::stream(n as u64, 0, 0);
        let inputs: Vec<Tensor<T>> = inputs(formula, n, width, &mut rng).iter().map(Tensor::cast).collect();
        let on_each = |inputs: &[Tensor<T>]| {
            [device, &Device::cpu()]
                .map(|device| run(device, inputs, None, &|v| v[0].tape().operation(operation, v)))
        };
        let name = |k: usize| format!("{} of {} [{n}, {width}], output {k}", formula.name, T::NAME);
        let [got, want] = on_each(&inputs);
        if is_pair {
            for (k, (got, want)) in got.iter().zip(&want).enumerate() {
                let difference = difference(got, want);
                assert!(difference <= 2.0 * n as f64, "{}: {difference} ulp\n{got}\n{want}", name(k));
            }
            continue;
        }
        let [by_row, want_by_row] = on_each(&inputs.iter().map(|x| spread(x, n)).collect::<Vec<_>>());
        for (k, (got, want)) in by_row.iter().zip(&want_by_row).enumerate() {
            // The gradient of a number for each row may cancel, so it is measured against the largest of
            // all rows.
            let elements = if k > 0 && inputs[k - 1].len() <= n { got.len() } else { got.len() / n };
            for row in 0..got.len() / elements {
                let one_row =
                    |x: &Tensor<T>| Tensor::new([elements], x.data()[row * elements..][..elements].to_vec());
                let (got, want) = (one_row(got), one_row(want));
                let difference = difference(&got, &want);
                assert!(difference <= ulp, "{}, row {row}: {difference} ulp\n{got}\n{want}", name(k));
            }
        }
        for (k, (got, want)) in got.iter().zip(&want).enumerate() {
            let single = k > 0 && inputs[k - 1].len() == 1;
            let terms: f64 = want_by_row[k].data().iter().map(|x| x.to_f64().abs()).sum();
            let size = want.data().iter().map(|x| x.to_f64().abs()).fold(0.0, f64::max);
            let sum_bound = if single { (1.0 + ulp) * n as f64 / 2.0 * T::EPSILON * terms } else { 0.0 };
            let bound = ulp * T::EPSILON * size + sum_bound;
            for (a, b) in got.data().iter().zip(want.data()) {
                let (a, b) = (a.to_f64(), b.to_f64());
                assert!((a - b).abs() <= bound || a == b || a.is_nan() && b.is_nan(), "{}: {a} {b}", name(k));
            }
        }
    }
}

/// Repeats a number that holds for all rows, once for each row.
fn spread<T: Float>(x: &Tensor<T>, n: usize) -> Tensor<T> {
    if x.len() == 1 { Tensor::from_fn([n], |_| x.data()[0]) } else { x.clone() }
}

/// Compares a formula on a device with the processor, where one element of one input is infinite, NaN or the
/// largest number: the first element, the last, or one between. Results are equal or both NaN. Rows may
/// differ by `ulp` roundings of their largest element. If `ulp` is not 0, the largest number is left out.
pub(crate) fn check_special<T: Float>(
    formula: &Formula,
    operation: &'static dyn Operation<T>,
    device: &Device,
    ulp: f64,
) {
    let largest = if ulp == 0.0 { 0.9 * T::LARGEST } else { f64::NAN };
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, largest];
    let drawn = |n: usize| inputs(formula, n, 5, &mut rng::stream(9, 0, 0));
    let n = drawn(1).len() * 3 * special.len();
    let mut given: Vec<Tensor<T>> = drawn(n).iter().map(|x| spread(&x.cast(), n)).collect();
    for (k, x) in given.iter_mut().enumerate() {
        let elements = x.len() / n;
        // The largest number is used for vectors only, because libraries differ in circular functions of
        // such large arguments.
        let special = &special[..if elements > 1 { 4 } else { 3 }];
        for (place, element) in [0, elements / 2, elements - 1].into_iter().enumerate() {
            for (i, &special) in special.iter().enumerate() {
                x.data_mut()[((k * 3 + place) * 4 + i) * elements + element] = T::constant(special);
            }
        }
    }
    let [got, want] = [device, &Device::cpu()]
        .map(|device| run(device, &given, None, &|v| v[0].tape().operation(operation, v)));
    for (k, (got, want)) in got.iter().zip(&want).enumerate() {
        let elements = got.len() / n;
        let size =
            |row: &[T]| row.iter().map(|x| x.to_f64().abs()).filter(|x| x.is_finite()).fold(0.0, f64::max);
        for (i, (a, b)) in got.data().iter().zip(want.data()).enumerate() {
            let (a, b, row) = (a.to_f64(), b.to_f64(), i / elements);
            let name = || format!("{} of {}, output {k}, row {row}", formula.name, T::NAME);
            let bound = ulp * T::EPSILON * size(&want.data()[row * elements..][..elements]);
            let same = a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= bound;
            assert!(same, "{}: {a:e} on the device, {b:e}", name());
        }
    }
}

#[test]
fn what_is_not_finite_is_alike() {
    let Some(device) = device() else { return };
    let is_pair = |formula: &&Formula| matches!(formula.kind, Kind::Pair { .. });
    for formula in formulas_of::<f64>().into_iter().filter(|formula| !is_pair(formula)) {
        check_special(formula, formula.as_operation::<f64>(), &device, 0.0);
    }
    for formula in formulas_of::<f32>().into_iter().filter(|formula| !is_pair(formula)) {
        check_special(formula, formula.as_operation::<f32>(), &device, 0.0);
    }
}

#[test]
fn no_formula_is_without_a_device_form() {
    for formula in all() {
        let forms = (
            formula.as_operation::<f32>().on_device().is_some(),
            formula.as_operation::<f64>().on_device().is_some(),
        );
        assert_eq!(forms, (true, true), "{}", formula.name);
    }
}

#[test]
fn every_formula_of_the_registry_is_what_it_is_on_the_processor() {
    let Some(device) = device() else { return };
    for formula in formulas_of::<f64>() {
        check(formula, formula.as_operation::<f64>(), &device, 0.0);
    }
    for formula in formulas_of::<f32>() {
        check(formula, formula.as_operation::<f32>(), &device, 0.0);
    }
}

/// A driver compiles one program after another within a process. A second process makes use of a second core.
#[test]
fn the_other_half() {
    if [ITEMS, OTHER_HALF].iter().any(|name| std::env::var_os(name).is_some()) || device().is_none() {
        return;
    }
    let names = ["formulas::every_formula", "formulas::what_is_not_finite"];
    in_a_process(&names, &[(OTHER_HALF, "1")]);
}

/// Many arguments, to find a function that rounds differently now and then.
#[test]
fn what_is_rounded_is_rounded_alike() {
    let Some(device) = device() else { return };
    for formula in all() {
        let (n, width) = match formula.kind {
            Kind::Map(_) => (50_000, 1),
            Kind::Row { .. } => (2_000, 10),
            Kind::Pair { .. } => continue,
        };
        let inputs = inputs(formula, n, width, &mut rng::stream(7, 0, 0));
        let result = |device: &Device| {
            let tape = Tape::with_device(device.clone());
            let variables: Vec<_> = inputs.iter().map(|x| tape.constant(x)).collect();
            tape.operation(formula.as_operation::<f64>(), &variables).to_tensor()
        };
        let (got, want) = (result(&device), result(&Device::cpu()));
        for (i, (a, b)) in got.data().iter().zip(want.data()).enumerate() {
            assert_eq!(a.to_bits(), b.to_bits(), "{}, element {i}: {a:e} on the device, {b:e}", formula.name);
        }
    }
}

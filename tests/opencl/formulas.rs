//! All formulas of the registry, both passes, in both types.

use cotangent::engine::registry::{Formula, Kind};
use cotangent::prelude::*;

use crate::draws::{all, inputs};
use crate::{device, difference, run};

/// Elementwise and row formulas give the same bits, values and gradients. Two sums are taken in another order or
/// precision: gradients of single numbers, which the processor adds up in the elements' type, and inner products of
/// pairs, which are a matrix product. These may differ by a rounding for each term.
fn check<T: Float>(formula: &Formula, operation: &'static dyn Operation<T>, device: &Device) {
    for (n, width) in [(1, 3), (7, 5), (33, 17)] {
        let mut rng = rng::stream(n as u64, 0, 0);
        let inputs: Vec<Tensor<T>> = inputs(formula, n, width, &mut rng).iter().map(Tensor::cast).collect();
        let compute = |device: &Device| run(device, &inputs, None, &|v| v[0].tape().operation(operation, v));
        let (got, want) = (compute(device), compute(&Device::cpu()));
        for (k, (got, want)) in got.iter().zip(&want).enumerate() {
            let is_sum = k > 0 && want.len() == 1 || matches!(formula.kind, Kind::Pair { .. });
            let (difference, bound) = (difference(got, want), if is_sum { n as f64 } else { 0.0 });
            assert!(
                difference <= bound,
                "{} of {} [{n}, {width}], output {k}: {difference} ulp\n{got}\n{want}",
                formula.name,
                T::NAME
            );
        }
    }
}

#[test]
fn every_formula_of_the_registry_is_what_it_is_on_the_processor() {
    let Some(device) = device() else { return };
    for formula in all() {
        check(formula, (formula.operation_f64)(), &device);
        check(formula, (formula.operation_f32)(), &device);
    }
}

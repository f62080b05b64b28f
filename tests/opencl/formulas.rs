//! All formulas of the registry, both passes, in both types.

use cotangent::engine::registry::{Formula, Kind};
use cotangent::prelude::*;

use crate::draws::{all, inputs};
use crate::{device, difference, run};

/// The largest difference of values and gradients over some shapes.
fn worst<T: Float>(formula: &Formula, operation: &'static dyn Operation<T>, device: &Device) -> f64 {
    let mut worst: f64 = 0.0;
    for (n, width) in [(1, 3), (7, 5), (33, 17)] {
        let mut rng = rng::stream(n as u64, 0, 0);
        let inputs: Vec<Tensor<T>> = inputs(formula, n, width, &mut rng).iter().map(Tensor::cast).collect();
        let compute = |device: &Device| run(device, &inputs, None, &|v| v[0].tape().operation(operation, v));
        let (got, want) = (compute(device), compute(&Device::cpu()));
        for (got, want) in got.iter().zip(&want) {
            let difference = difference(got, want);
            if !(difference <= worst) {
                worst = difference;
            }
        }
    }
    worst
}

#[test]
fn every_formula_of_the_registry_is_what_it_is_on_the_processor() {
    let Some(device) = device() else { return };
    for formula in all() {
        let double = worst(formula, (formula.operation_f64)(), &device);
        let single = worst(formula, (formula.operation_f32)(), &device);
        println!("{:40} {double:8.1} {single:8.1} ulp", formula.name);
    }
}

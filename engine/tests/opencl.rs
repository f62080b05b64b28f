//! Kernels on an OpenCL device against the processor's.
#![cfg(feature = "opencl")]

use cotangent_engine::registry::{Formula, Kind, Range};
use cotangent_engine::{Device, Float, Tape, Tensor, formulas, rng};
use rand::RngExt;

/// The first device; `None`, with a message, where there is none.
fn device() -> Option<Device> {
    match Device::opencl(0) {
        Ok(device) => Some(device),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn draw<T: Float>(Range(low, high): Range, rng: &mut rng::Rng) -> T {
    T::nearest(if low == high { low } else { rng.random_range(low..high) })
}

/// The value and all gradients of an operation on a device, weighted so that every element counts.
fn run<T: OfRegistry>(formula: &Formula, inputs: &[Tensor<T>], weights: &Tensor<T>, device: &Device) -> Vec<Vec<T>> {
    let tape = Tape::<T>::on(device.clone());
    let variables: Vec<_> = inputs.iter().map(|x| tape.variable(x)).collect();
    let y = tape.operation(T::operation_of(formula), &variables);
    let mut all = vec![y.to_tensor().data().to_vec()];
    let gradients = tape.backward_from(y, weights);
    for (x, input) in variables.iter().zip(inputs) {
        all.push(gradients.wrt(*x).unwrap().to_dense(input.len() / input.width(), input.width()));
    }
    all
}

trait OfRegistry: Float {
    fn operation_of(formula: &Formula) -> &'static dyn cotangent_engine::Operation<Self>;
}
impl OfRegistry for f32 {
    fn operation_of(formula: &Formula) -> &'static dyn cotangent_engine::Operation<f32> {
        (formula.operation_f32)()
    }
}
impl OfRegistry for f64 {
    fn operation_of(formula: &Formula) -> &'static dyn cotangent_engine::Operation<f64> {
        (formula.operation_f64)()
    }
}

fn elementwise_formulas_give_the_same_bits<T: OfRegistry + std::fmt::LowerExp>(device: &Device) {
    let mut rng = rng::stream(1, 0, 0);
    for formula in formulas::ALL.into_iter().flatten() {
        let Kind::Map(ranges) = formula.kind else { continue };
        let shape = [5, 13];
        let mut tensor = |range| Tensor::<T>::from_fn(shape, |_| draw(range, &mut rng));
        let inputs: Vec<Tensor<T>> = ranges.iter().map(|&range| tensor(range)).collect();
        let weights = tensor(Range(-1.0, 1.0));
        let [got, want] = [device, &Device::cpu()].map(|d| run(formula, &inputs, &weights, d));
        for (k, (got, want)) in got.iter().zip(&want).enumerate() {
            for (i, (a, b)) in got.iter().zip(want).enumerate() {
                assert!(
                    a.to_f64().to_bits() == b.to_f64().to_bits() || (a.is_nan() && b.is_nan()),
                    "{} {}: output {k} at {i}: {a:e} on the device, {b:e}, inputs {:?}",
                    formula.name,
                    T::NAME,
                    inputs.iter().map(|x| x.data()[i]).collect::<Vec<_>>()
                );
            }
        }
    }
}

#[test]
fn elementwise_formulas() {
    let Some(device) = device() else { return };
    elementwise_formulas_give_the_same_bits::<f64>(&device);
    elementwise_formulas_give_the_same_bits::<f32>(&device);
}

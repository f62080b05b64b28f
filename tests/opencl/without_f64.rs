//! Computations in `f32` on a device that has no `f64`. `COTANGENT_DEVICE_F64=0` makes any device such a one.

use cotangent::engine::formulas::EuclideanDistance;
use cotangent::engine::registry::Kind;
use cotangent::engine::{Sparsity, Weights};
use cotangent::prelude::*;
use rand::RngExt;

use crate::draws::all;
use crate::{Computation, WITHOUT_F64, device, difference, formulas, run, tensor};

/// Runs a test of this file on a device without `f64`, once for each number of work-items per row. Each
/// run has its own process, because a process opens a device only once, with `f64` or without.
fn without_f64(name: &str, items: &[&str], test: impl FnOnce(&Device)) {
    let Some(device) = device() else { return };
    if std::env::var_os(WITHOUT_F64).is_some() {
        return test(&device);
    }
    let name = format!("without_f64::{name}");
    // PoCL compiles the many programs in less than half of the time without optimising them.
    let quick = ("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable");
    for items in items {
        crate::in_a_process(&[&name, "--exact"], &[(WITHOUT_F64, "0"), (crate::ITEMS, items), quick]);
    }
}

/// Compares the device's value and gradients in `f32` with the processor's, within `ulp` roundings of
/// the largest element.
#[track_caller]
fn close(device: &Device, ulp: f64, inputs: &[&[usize]], computation: &Computation<'_, f32>) {
    let inputs: Vec<Tensor<f32>> =
        inputs.iter().enumerate().map(|(k, shape)| tensor(shape, k).cast()).collect();
    let [got, want] = [device, &Device::cpu()].map(|device| run(device, &inputs, None, computation));
    for (k, (got, want)) in got.iter().zip(&want).enumerate() {
        let difference = difference(got, want);
        assert!(difference <= ulp, "output {k}: {difference} ulp\n{got}\n{want}");
    }
}

/// Formulas whose limits against overflow hold for the exponents of `f64` only.
const BEYOND: [&str; 10] = [
    "stereographic.geodesic",
    "lorentz.geodesic",
    "half_space.geodesic",
    "lorentz.exp",
    "lorentz.pseudo_polar",
    "half_space.exp",
    "half_space.descend",
    "half_space.psi",
    "isometry.half_space_to_lorentz",
    "sphere.exp",
];

/// Also tests values that are not finite, because that needs the same programs.
#[test]
fn every_formula_of_the_registry_is_what_it_is_on_the_processor_but_for_an_ulp() {
    let name = "every_formula_of_the_registry_is_what_it_is_on_the_processor_but_for_an_ulp";
    without_f64(name, &["1"], |device| {
        for formula in all() {
            // Elementwise formulas are computed in `f32` on every device.
            let ulp = if matches!(formula.kind, Kind::Row { .. }) { 1.0 } else { 0.0 };
            formulas::check(formula, formula.as_operation::<f32>(), device, ulp);
            if !matches!(formula.kind, Kind::Pair { .. }) && !BEYOND.contains(&formula.name) {
                formulas::check_special(formula, formula.as_operation::<f32>(), device, 1.0);
            }
        }
    });
}

/// How work-items share a row depends on the formula only through its domain, so one formula of each is
/// enough.
#[test]
fn every_domain_is_kept() {
    without_f64("every_domain_is_kept", &["8"], |device| {
        let names = ["lorentz.exp", "half_space.exp", "sphere.exp"];
        for formula in all().filter(|formula| names.contains(&formula.name)) {
            formulas::check(formula, formula.as_operation::<f32>(), device, 1.0);
        }
    });
}

#[test]
fn two_runs_give_the_same_bits() {
    without_f64("two_runs_give_the_same_bits", &["1"], |device| {
        let inputs = [[70, 9], [70, 9], [70, 9]].map(|shape| tensor(&shape, 1).cast::<f32>());
        let once = || {
            run(device, &inputs, None, &|v| {
                let ball = PoincareBall::new(-1.0);
                let moved = ball.exp(&(v[0] * 0.3), &v[1]);
                v[0].tape().training(rng::stream(3, 0, 0));
                let ones = v[0].tape().zeros([9]) + 1.0;
                moved.attend(v[2], v[2], 0.5, false).layer_norm(ones, ones, 1e-5).dropout(0.3)
            })
        };
        assert_eq!(once(), once());
    });
}

#[test]
fn a_tape_of_f64_is_refused() {
    without_f64("a_tape_of_f64_is_refused", &["1"], |device| {
        let error = device.computes::<f64>().unwrap_err().to_string();
        assert!(error.contains("has no f64: a computation in f32, or another device, is needed"), "{error}");
        assert_eq!(device.computes::<f32>(), Ok(()));
        let refused = std::panic::catch_unwind(|| Tape::<f64>::with_device(device.clone()));
        let said = refused.err().and_then(|panic| panic.downcast::<String>().ok());
        assert_eq!(said.as_deref(), Some(&error));
    });
}

#[test]
fn kernels_that_are_no_formulas() {
    without_f64("kernels_that_are_no_formulas", &["1", "8"], |device| {
        close(device, 8.0, &[&[130, 70], &[70, 67]], &|v| v[0].matmul(v[1]));
        for axis in [0, 1, -1] {
            close(device, 8.0, &[&[3, 700, 5]], &|v| v[0].square().sum_axis(axis));
            close(device, 8.0, &[&[3, 70, 5]], &|v| v[0].square().mean_axis(axis));
            close(device, 8.0, &[&[3, 70, 5]], &|v| v[0].max_axis(axis));
            close(device, 8.0, &[&[3, 70, 5]], &|v| v[0].logsumexp(axis));
            close(device, 8.0, &[&[3, 70, 5]], &|v| v[0].norm_axis(axis));
            close(device, 8.0, &[&[3, 70, 5]], &|v| v[0].softmax(axis));
            close(device, 8.0, &[&[3, 70, 5]], &|v| v[0].log_softmax(axis));
        }
        close(device, 32.0, &[&[70_000]], &|v| v[0].square().mean());
        close(device, 16.0, &[&[300, 5], &[]], &|v| v[0].square() * v[1]);
        close(device, 32.0, &[&[33, 65], &[65], &[65]], &|v| v[0].layer_norm(v[1], v[2], 1e-5));
        close(device, 16.0, &[&[3, 2, 9, 7], &[4, 2, 3, 3]], &|v| v[0].conv2d(v[1], 1, 1));
        close(device, 8.0, &[&[3, 2, 9, 7]], &|v| v[0].mean_pool2d(2, 1));
        close(device, 64.0, &[&[2, 300, 4], &[2, 290, 4], &[2, 290, 3]], &|v| {
            v[0].attend(v[1], v[2], 0.5, true)
        });
        for weights in [Weights::Sigmoid, Weights::NormalisedSigmoid] {
            close(device, 64.0, &[&[20, 4], &[270, 4], &[270, 3]], &|v| {
                let pairs = v[0].tape().pairs(EuclideanDistance, [v[0], v[1]], [], [], []);
                pairs.attend(v[2], weights, false)
            });
        }
        let matrix =
            std::sync::Arc::new(Sparsity::new(4, 5, &[(3, 0), (0, 4), (0, 1), (2, 1), (3, 4), (3, 3)]));
        close(device, 16.0, &[&[6, 3]], &|v| v[0].segment_softmax(&matrix));
        close(device, 16.0, &[&[4, 3], &[5, 3]], &|v| {
            v[0].tape().pairs(EuclideanDistance, [v[0], v[1]], [], [], []).along(&matrix)
        });
    });
}

/// The draws are those of the processor, of 53 bits each.
#[test]
fn dropout_draws_the_numbers_of_the_stream() {
    without_f64("dropout_draws_the_numbers_of_the_stream", &["1"], |device| {
        for rate in [0.0, 0.3, 0.999] {
            let dropped = |device: &Device| {
                let x = tensor(&[1000], 0).cast::<f32>();
                let tape = Tape::with_device(device.clone());
                tape.training(rng::stream(5, 7, 0));
                tape.constant(&x).dropout(rate).to_tensor()
            };
            assert_eq!(dropped(device), dropped(&Device::cpu()), "{rate}");
        }
    });
}

/// Points with 1 - |x| from 0.1 to 1e-6. Each is paired with another point about as near the boundary: from
/// much closer than the margin to a different direction, or opposite.
fn points(width: usize) -> [Tensor<f32>; 2] {
    let mut rng = rng::stream(11, 0, 0);
    let [mut x, mut y] = [Vec::new(), Vec::new()];
    for k in 0..600 {
        let gap = 10f64.powf(-1.0 - f64::from(k % 51) / 10.0);
        let mut direction = || -> Vec<f64> {
            let v: Vec<f64> = (0..width).map(|_| rng.random_range(-1.0..1.0)).collect();
            let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            v.iter().map(|x| x / norm).collect()
        };
        let (u, w) = (direction(), direction());
        let distance = [1e-2 * gap, gap, 1e-1, 1.0][k as usize / 51 % 4];
        let other: Vec<f64> = match k as usize / 204 {
            0 | 1 => u.iter().zip(&w).map(|(u, w)| u + distance * w).collect(),
            _ => u.iter().zip(&w).map(|(u, w)| -u + 1e-3 * distance * w).collect(),
        };
        let norm = other.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.extend(u.iter().map(|x| (x * (1.0 - gap)) as f32));
        y.extend(other.iter().map(|y| (y / norm * (1.0 - 1.5 * gap)) as f32));
    }
    [x, y].map(|rows| Tensor::new([rows.len() / width, width], rows))
}

/// The largest error of a row relative to its norm, against `f64`.
fn relative(got: &Tensor<f32>, want: &Tensor<f64>) -> f64 {
    let mut worst = 0.0;
    let width = want.len() / 600;
    for (got, want) in got.data().chunks(width).zip(want.data().chunks(width)) {
        let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
        let off = norm(&mut got.iter().zip(want).map(|(got, want)| f64::from(*got) - want));
        let error = off / norm(&mut want.iter().copied());
        // NaN counts as the largest error.
        worst = if error <= worst { worst } else { error };
    }
    worst
}

/// Errors relative to `f64` are at most 2e-7 for the same points.
#[test]
fn near_the_boundary_of_the_ball_digits_are_kept() {
    without_f64("near_the_boundary_of_the_ball_digits_are_kept", &["1", "8"], |device| {
        let [x, y] = points(5);
        // Tangent vectors of a few units of hyperbolic length.
        let margin = |i: usize| cotangent::engine::domain::margin(x.row(i), -1.0);
        let v = Tensor::from_fn([600, 5], |i| (margin(i / 5) * 3.0 * (i as f64).sin()) as f32);
        fn computed<T: Float>(device: &Device, [x, y, v]: [&Tensor<T>; 3]) -> Vec<(&'static str, Tensor<T>)> {
            let (ball, tape) = (PoincareBall::new(-1.0), Tape::with_device(device.clone()));
            let [x, y] = [tape.variable(x), tape.variable(y)];
            let dist = ball.dist(&x, &y);
            let v = tape.constant(v);
            let mut all = vec![
                ("distance", dist.to_tensor()),
                ("difference", ball.add(&-x, &y).to_tensor()),
                ("sum", ball.add(&x, &y).to_tensor()),
                ("logarithm", ball.log(&x, &y).to_tensor()),
                ("exponential", ball.exp(&x, &v).to_tensor()),
            ];
            let gradients = tape.backward(dist.sum());
            assert!([x, y].iter().all(|x| gradients.view(x).is_some()));
            all.extend([("gradient by x", gradients.wrt(x)), ("gradient by y", gradients.wrt(y))]);
            all
        }
        let got = computed(device, [&x, &y, &v]);
        let want = computed(&Device::cpu(), [&x.cast::<f64>(), &y.cast(), &v.cast()]);
        for ((name, got), (_, want)) in got.iter().zip(&want) {
            let error = relative(got, want);
            println!("{name}: {error:.1e}");
            assert!(error <= 2e-7, "{name}: {error:e}");
        }
    });
}

//! Linear layers, concatenation, activations, dropout, batch normalisation.

use cotangent_engine::{Float, Row, Rows, Tape, Tensor, rng};
use cotangent_layers::{
    Activation, BatchNorm, BatchStatistics, Concat, Dropout, FeedForward, GyrovectorSpace, Linear,
};
use cotangent_layers::{Curvature, Geometry, PoincareLinear, exp0, log0};
use cotangent_manifolds::{
    Curved, Euclidean, Gyroplanes, Manifold, Module, PoincareBall, Point, Stereographic,
};

use super::*;

const KAPPAS: [f64; 4] = [-1.0, -0.3, 0.0, 0.4];

fn linear(kappa: f64, weight: &Tensor<f64>) -> Linear<Stereographic, f64> {
    let [m, n] = [weight.shape()[0], weight.shape()[1]];
    let mut layer = Linear::new(space(kappa), n, m, &mut rng::stream(0, 0, 0)).without_bias();
    *layer.weight.value_mut() = weight.clone();
    layer
}

/// Law 48: M ⊗ x = exp₀(M log₀ x); (M₁M₂) ⊗ x = M₁ ⊗ (M₂ ⊗ x);
/// (rM) ⊗ x = r ⊗ (M ⊗ x); R ⊗ x = R x.
#[test]
fn moebius_matrices_are_associative() {
    let mut rng = rng::stream(1, 0, 0);
    for kappa in KAPPAS {
        let ball = space(kappa);
        let x = points(&ball, 20, 3, 1.5, &mut rng);
        let (first, second) = (uniform(&[2, 3], 0.5, &mut rng), uniform(&[4, 2], 0.5, &mut rng));
        let tape = Tape::new();
        let x = on(&tape, ball, &x);
        let y = linear(kappa, &first).forward(x);
        for i in 0..20 {
            let v = ball.log0(&Row::from(read(&x).row(i)));
            let mv: [f64; 2] =
                std::array::from_fn(|j| first.row(j).iter().zip(v.iter()).map(|(m, v)| m * v).sum());
            let want = ball.exp0(&Row::from(mv));
            assert!(ball.dist(&want, &Row::from(read(&y).row(i))) < 1e-14);
        }
        let product = tape.constant(&second).matmul(tape.constant(&first)).to_tensor();
        close(&read(&linear(kappa, &product).forward(x)), &read(&linear(kappa, &second).forward(y)), 1e-14);
        let tripled = Tensor::from_fn([2, 3], |i| 1.4 * first.data()[i]);
        let scaled = GyrovectorSpace::scale(&ball, tape.scalar(1.4), *y.coordinates()).to_tensor();
        close(&read(&linear(kappa, &tripled).forward(x)), &scaled, 1e-14);
        let rotation = cotangent_layers::init::orthogonal(3, 3, &mut rng);
        let rotated = x.coordinates().matmul_nt(tape.constant(&rotation)).to_tensor();
        close(&read(&linear(kappa, &rotation).forward(x)), &rotated, 1e-14);
    }
}

/// Eq. 26: transport log₀ b to x and follow it: the result is x ⊕ b. At κ = 0 the layer is the ordinary
/// one.
#[test]
fn biases_are_translations_along_geodesics() {
    let mut rng = rng::stream(2, 0, 0);
    for kappa in KAPPAS {
        let ball = space(kappa);
        let mut layer = Linear::new(ball, 3, 2, &mut rng);
        scatter(&mut layer, 0.8, 2);
        let x = points(&ball, 9, 3, 1.0, &mut rng);
        let tape = Tape::new();
        let y = read(&layer.forward(on(&tape, ball, &x)));
        let before = read(&layer.clone().without_bias().forward(on(&tape, ball, &x)));
        let origin = ball.origin(2);
        let bias = Row::from(layer.bias.as_ref().unwrap().value().data());
        for i in 0..9 {
            let at = Row::from(before.row(i));
            let want = ball.exp(&at, &ball.transport(&origin, &at, &ball.log0(&bias)));
            assert!(ball.dist(&want, &Row::from(y.row(i))) < 1e-13, "{kappa}");
        }
        if kappa == 0.0 {
            let mut flat = Linear::new(Euclidean, 3, 2, &mut rng);
            flat.load_state(layer.state()).unwrap();
            let ordinary = flat.forward(on(&tape, Euclidean, &x));
            close(&read(&ordinary), &y, 1e-15);
            let by_hand = Tensor::from_fn([9, 2], |i| {
                let product: f64 =
                    x.row(i / 2).iter().zip(flat.weight.value().row(i % 2)).map(|(x, w)| x * w).sum();
                product + bias[i % 2]
            });
            close(&read(&ordinary), &by_hand, 1e-15);
        }
    }
}

/// Law 52: the signed distance from y to the k-th axis hyperplane is the k-th logit.
#[test]
fn outputs_are_at_the_distances_that_logits_say() {
    let mut rng = rng::stream(3, 0, 0);
    for kappa in [-1.0, -0.3, -2.0] {
        let ball = PoincareBall::new(kappa);
        let mut layer = PoincareLinear::new(3, 4, &mut rng);
        scatter(&mut layer, 0.4, 3);
        let tape = Tape::new();
        let x = on(&tape, ball, &points(&ball, 30, 3, 2.0, &mut rng));
        let (y, logits) = (read(&layer.forward(x)), layer.logits.forward(x).to_tensor());
        for i in 0..30 {
            for k in 0..4 {
                let axis = Row::from(std::array::from_fn::<f64, 4, _>(|j| f64::from(j == k)));
                let distance = ball.gyroplane(&Row::from(y.row(i)), &ball.origin(4), &axis);
                let want = logits.row(i)[k];
                assert!((distance - want).abs() < 1e-13 * (1.0 + want.abs()), "{distance} {want}");
            }
        }
    }
}

/// Logits beyond the farthest point lead to points near the boundary, with finite gradients.
#[test]
fn large_logits_lead_to_the_boundary() {
    fn check<T: Float>() {
        for direction in [100.0, -1e4] {
            let mut layer = PoincareLinear::<T>::new(1, 2, &mut rng::stream(1, 0, 0));
            let directions = [direction, 0.5].map(T::nearest).to_vec();
            *layer.logits.directions.value_mut() = Tensor::new([2, 1], directions);
            let tape = Tape::new();
            let x = tape.variable(&Tensor::new([1, 1], vec![T::nearest(0.5)]));
            let y = layer.forward(Point::new(PoincareBall::new(-1.0), x));
            let value = y.coordinates().to_tensor();
            y.manifold().contains(value.row(0)).unwrap();
            assert!(value.data()[0].to_f64() * direction.signum() > 0.999, "{value}");
            let gradients = tape.backward(y.coordinates().sum());
            assert!(gradients.wrt(x).data()[0].is_finite());
        }
    }
    check::<f32>();
    check::<f64>();
}

/// Section 3.2: M₁ ⊗ x₁ ⊕ M₂ ⊗ x₂ ⊕ f ⊗ c ⊕ b, computed by the manifold's own operations
/// on rows. In Euclidean space it is the linear layer of the concatenation.
#[test]
fn concatenations_are_sums_of_products() {
    let mut rng = rng::stream(4, 0, 0);
    for kappa in KAPPAS {
        let ball = space(kappa);
        let mut layer = Concat::new(ball, &[3, 2], 2, 2, &mut rng);
        scatter(&mut layer, 0.6, 4);
        let (x, y) = (points(&ball, 5, 3, 0.7, &mut rng), points(&ball, 5, 2, 0.7, &mut rng));
        let f = uniform(&[5, 2], 0.8, &mut rng);
        let tape = Tape::new();
        let sum = read(&layer.forward(&[on(&tape, ball, &x), on(&tape, ball, &y)], Some(tape.constant(&f))));
        for i in 0..5 {
            let product =
                |k: usize, x: &Tensor<f64>| ball.matvec(layer.weights[k].value(), &Row::from(x.row(i)));
            let feature = |j: usize| ball.scale(&f.row(i)[j], &Row::from(layer.features[j].value().data()));
            let mut want = ball.add(&product(0, &x), &product(1, &y));
            for term in [feature(0), feature(1), Row::from(layer.bias.value().data())] {
                want = ball.add(&want, &term);
            }
            assert!(ball.dist(&want, &Row::from(sum.row(i))) < 1e-13, "{kappa}");
        }
        if kappa == 0.0 {
            let mut flat = Linear::new(Euclidean, 7, 2, &mut rng);
            let columns = layer.features.iter().map(|c| c.value().data());
            let columns: Vec<&[f64]> = columns.collect();
            let tail = Tensor::from_fn([2, 2], |i| columns[i % 2][i / 2]);
            let [m, n] = [0, 1].map(|k| layer.weights[k].value());
            *flat.weight.value_mut() = Rows::concat(&Rows::concat(m, n), &tail);
            *flat.bias.as_mut().unwrap().value_mut() = layer.bias.value().clone();
            let all = Rows::concat(&Rows::concat(&x, &y), &f);
            close(&read(&flat.forward(on(&tape, Euclidean, &all))), &sum, 1e-15);
        }
    }
}

/// Eq. 24: Möbius versions compose as the functions do, keep directions where the functions do, and fix
/// the origin.
#[test]
fn activations_are_moebius_versions() {
    let mut rng = rng::stream(5, 0, 0);
    for kappa in KAPPAS {
        let ball = space(kappa);
        let x = points(&ball, 9, 3, 1.0, &mut rng);
        let tape = Tape::new();
        let x = on(&tape, ball, &x);
        let composed = Activation::new(|v| v.tanh().sigmoid()).forward(x);
        let one_by_one = Activation::SIGMOID.forward(Activation::TANH.forward(x));
        close(&read(&composed), &read(&one_by_one), 1e-14);
        close(&read(&Activation::IDENTITY.forward(x)), &read(&x), 1e-14);
        let rectified = read(&Activation::RELU.forward(x));
        assert!(rectified.data().iter().zip(read(&x).data()).all(|(r, x)| (*r > 0.0) == (*x > 0.0)));
        let explicit = exp0(ball, log0(x));
        close(&read(&explicit), &read(&x), 1e-14);
    }
    let tape = Tape::new();
    let x = on(&tape, Euclidean, &points(&Euclidean, 9, 3, 1.0, &mut rng));
    assert_eq!(read(&Activation::TANH.forward(x)), x.coordinates().tanh().to_tensor());
}

/// Some coordinates of the logarithm are 0, the others are divided by 1 − rate. A rate of 0 changes
/// nothing.
#[test]
fn dropout_is_in_the_tangent_space() {
    let ball = space(-1.0);
    let x = points(&ball, 500, 4, 0.5, &mut rng::stream(6, 0, 0));
    let tape = Tape::new();
    let x = on(&tape, ball, &x);
    assert_eq!(read(&Dropout { rate: 0.25 }.forward(x)), read(&x));
    tape.training(rng::stream(6, 1, 0));
    let dropped = Dropout { rate: 0.25 }.forward(x);
    let (before, after) = (read(&log0(x)), read(&log0(dropped)));
    let mut gone = 0;
    for (b, a) in before.data().iter().zip(after.data()) {
        gone += usize::from(*a == 0.0);
        assert!(*a == 0.0 || (a - b / 0.75).abs() < 1e-14, "{b} {a}");
    }
    assert!((400..600).contains(&gone), "{gone} of 2000");
    let same = Dropout { rate: 0.0 }.forward(x);
    assert_eq!(read(&same), read(&x));
}

/// The network applies its layers in order, each with its activation; the last layer has the output
/// activation.
#[test]
fn networks_are_layers_and_activations() {
    let ball = space(-0.5);
    let mut rng = rng::stream(7, 0, 0);
    let mut net = FeedForward::new(ball, &[3, 4, 2], Activation::RELU, &mut rng);
    net.output = Activation::TANH;
    scatter(&mut net, 0.7, 7);
    let tape = Tape::new();
    let x = on(&tape, ball, &points(&ball, 6, 3, 1.0, &mut rng));
    let hidden = Activation::RELU.forward(net.layers[0].forward(x));
    let want = Activation::TANH.forward(net.layers[1].forward(hidden));
    assert_eq!(read(&net.forward(x)), read(&want));
}

/// A geometry with a variable curvature computes the same as the manifold of that curvature. Its biases
/// are tangent vectors.
#[test]
fn variable_curvature_is_that_curvature() {
    let mut rng = rng::stream(8, 0, 0);
    for kappa in KAPPAS {
        let ball = space(kappa);
        let mut moving = Concat::new(Euclidean, &[3], 1, 2, &mut rng);
        scatter(&mut moving, 0.5, 8);
        let mut fixed = Concat::new(ball, &[3], 1, 2, &mut rng);
        let mut state = moving.state();
        for (name, value) in &mut state {
            if name.starts_with("features") || name == "bias" {
                let point = ball.exp0(&Row::from(value.data()));
                value.data_mut().copy_from_slice(&point);
            }
        }
        fixed.load_state(state).unwrap();
        let (x, f) = (points(&ball, 5, 3, 0.7, &mut rng), uniform(&[5, 1], 0.8, &mut rng));
        let tape = Tape::new();
        let (x, f) = (on(&tape, ball, &x), tape.constant(&f));
        let of_kappa = Curved::new(tape.variable(&Tensor::scalar(kappa)));
        let y = moving.forward(&[Point::new(of_kappa, *x.coordinates())], Some(f));
        close(&y.coordinates().to_tensor(), &read(&fixed.forward(&[x], Some(f))), 1e-14);
    }
}

/// After normalisation the mean squared distance from β is γ² v/(v + ε). A batch with mean β and
/// variance 1 does not change.
#[test]
fn batches_are_brought_to_a_mean_and_a_deviation() {
    let mut rng = rng::stream(12, 2, 0);
    for kappa in [-1.0, -1e-3, 0.0, 0.3] {
        let ball = space(kappa);
        let x = points(&ball, 40, 3, 0.6, &mut rng);
        let mut norm = BatchNorm::new(ball, 3);
        scatter(&mut norm, 0.4, 9);
        norm.scale.value_mut().data_mut()[0] = 0.7;
        let tape = Tape::new();
        let (y, batch) = norm.forward_batch(on(&tape, ball, &x.reshape([4, 10, 3])));
        assert_eq!(y.coordinates().shape(), [4, 10, 3].into());
        let beta = on(&tape, ball, norm.bias.value());
        let variance = y.dist(&beta).square().mean().item();
        let v = batch.variance.data()[0];
        assert!((variance - 0.49 * v / (v + 1e-5)).abs() < 1e-12, "{kappa}: {variance} of {v}");
        // ⊖m ⊕ x has its barycentre at the origin, because an isometry also moves the barycentre.
        norm.scale.value_mut().data_mut()[0] = (v + 1e-5).sqrt();
        let tape = Tape::new();
        let (y, _) = norm.forward_batch(on(&tape, ball, &x));
        let weights = tape.constant(&Tensor::from_fn([40], |_| 1.0));
        let mean = GyrovectorSpace::gyromidpoint(&ball, *y.coordinates(), weights).to_tensor();
        close(&mean, norm.bias.value(), 1e-12);
        // If the running statistics are the batch's, `forward` gives the same as `forward_batch`.
        norm.momentum = 1.0;
        norm.observe(&batch);
        close(&read(&norm.forward(on(&tape, ball, &x))), &read(&y), 1e-12);
        let tape = Tape::new();
        norm.momentum = 0.25;
        let before = norm.clone();
        norm.observe(&BatchStatistics { mean: Tensor::zeros([3]), variance: Tensor::new([1], vec![2.0]) });
        assert!((norm.variance.value().data()[0] - (0.75 * v + 0.5)).abs() < 1e-12);
        let left = |norm: &BatchNorm<Stereographic, f64>| {
            on(&tape, ball, norm.mean.value()).dist(&on(&tape, ball, &Tensor::zeros([3]))).item()
        };
        assert!((left(&norm) - 0.75 * left(&before)).abs() < 1e-12);
    }
}

#[test]
fn batch_normalisation_is_the_ordinary_one_in_flat_space() {
    let x = uniform(&[20, 2], 2.0, &mut rng::stream(13, 2, 0));
    let mut norm = BatchNorm::new(Euclidean, 2);
    *norm.bias.value_mut() = Tensor::new([2], vec![1.0, -2.0]);
    let mean: Vec<f64> = (0..2).map(|k| x.rows().map(|row| row[k]).sum::<f64>() / 20.0).collect();
    let v = x.rows().map(|row| (row[0] - mean[0]).powi(2) + (row[1] - mean[1]).powi(2)).sum::<f64>() / 20.0;
    let want =
        Tensor::from_fn([20, 2], |i| [1.0, -2.0][i % 2] + (x.data()[i] - mean[i % 2]) / (v + 1e-5).sqrt());
    let tape = Tape::new();
    let (y, batch) = norm.forward_batch(on(&tape, Euclidean, &x));
    close(&read(&y), &want, 1e-13);
    close(&batch.mean, &Tensor::new([2], mean), 1e-14);
    // With a curvature of nearly 0 the result is nearly the same.
    let curved = BatchNorm::new(space(-1e-9), 2);
    let flat = BatchNorm::new(Euclidean, 2);
    let (y, _) = curved.forward_batch(on(&tape, space(-1e-9), &x));
    let (z, _) = flat.forward_batch(on(&tape, Euclidean, &x));
    let doubled = read(&y); // λ = 2: the deviation is twice as long
    close(&Tensor::from_fn([20, 2], |i| 2.0 * doubled.data()[i]), &read(&z), 1e-4);
}

/// A curvature that is put on a tape twice is one space there.
#[test]
fn points_of_one_learned_curvature_mix() {
    let curvature = Curvature::<f64>::new(-1.0);
    let layer = Concat::new(Euclidean, &[2, 2], 0, 2, &mut rng::stream(1, 0, 0));
    let tape = Tape::new();
    let point = || exp0(curvature.on(&tape), tape.zeros([3, 2]));
    let distances = point().dist(&point()).to_tensor();
    assert!(distances.data().iter().all(|d| *d == 0.0));
    assert_eq!(layer.forward(&[point(), point()], None).coordinates().shape(), [3, 2].into());
}

/// Two curvatures are two spaces, even if they have the same value.
#[test]
#[should_panic(expected = "Concat: points of Curved")]
fn points_of_two_learned_curvatures_do_not_mix() {
    let curvatures = [0, 1].map(|_| Curvature::<f64>::new(-1.0));
    let layer = Concat::new(Euclidean, &[2, 2], 0, 2, &mut rng::stream(1, 0, 0));
    let tape = Tape::new();
    let points = curvatures.each_ref().map(|curvature| exp0(curvature.on(&tape), tape.zeros([3, 2])));
    layer.forward(&points, None);
}

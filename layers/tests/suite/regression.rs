//! Multinomial logistic regression: laws 49 to 51.

use cotangent_engine::{Row, Tape, Tensor, rng};
use cotangent_layers::{LogisticRegression, UnidirectionalRegression};
use cotangent_manifolds::{Euclidean, Manifold, Module, Stereographic};

use super::*;

#[test]
#[should_panic(expected = "ranking_with_gradient: distances and their derivatives")]
fn a_ranking_has_as_many_derivatives_as_distances() {
    cotangent_layers::loss::ranking_with_gradient(&[1.0_f64, 1.0], &mut [0.0; 3]);
}

fn regression(kappa: f64, n: usize, k: usize, seed: u64) -> LogisticRegression<Stereographic, f64> {
    let mut layer = LogisticRegression::new(space(kappa), n, k, &mut rng::stream(0, 0, 0));
    scatter(&mut layer, 0.9, seed);
    layer
}

fn logits(layer: &LogisticRegression<Stereographic, f64>, x: &Tensor<f64>) -> Tensor<f64> {
    layer.forward(on(&Tape::new(), *layer.points.manifold(), x)).to_tensor()
}

/// Law 49: start from a point of the hyperplane and go a distance t along the transported normal. The
/// logit there is λ_p‖a‖ t = 2‖a′‖ t. It is odd in the normal.
#[test]
fn logits_are_distances_to_hyperplanes() {
    for kappa in [-1.0, -0.3, 0.0, 0.3] {
        let ball = space(kappa);
        let mut layer = regression(kappa, 3, 4, 1);
        let mut rng = rng::stream(1, 1, 0);
        for k in 0..4 {
            let (p, a) = (Row::from(layer.points.value().row(k)), Row::from(layer.normals.value().row(k)));
            let size = a.iter().map(|a| a * a).sum::<f64>().sqrt();
            for t in [-0.8, 0.0, 0.3, 2.0] {
                // A foot point on the hyperplane: along a tangent vector at p that is orthogonal to the
                // normal.
                let along = ball.random_tangent(&p, &mut rng);
                let dot: f64 = along.iter().zip(a.iter()).map(|(v, a)| v * a).sum();
                let mut tangent = along;
                tangent.iter_mut().zip(a.iter()).for_each(|(v, a)| *v = 0.4 * (*v - dot * a / (size * size)));
                let foot = ball.exp(&p, &tangent);
                let mut normal = ball.transport(&p, &foot, &a);
                let scale = t / ball.norm(&foot, &normal);
                normal.iter_mut().for_each(|v| *v *= scale);
                let x = ball.exp(&foot, &normal);
                let got = logits(&layer, &Tensor::new([1, 3], x.to_vec())).data()[k];
                assert!((got - 2.0 * size * t).abs() < 1e-12, "{kappa} {t}: {got}");
            }
        }
        let x = points(&ball, 7, 3, 1.5, &mut rng);
        let before = logits(&layer, &x);
        layer.normals.value_mut().data_mut().iter_mut().for_each(|a| *a = -*a);
        let after = logits(&layer, &x);
        assert!(before.data().iter().zip(after.data()).all(|(a, b)| *a == -b));
    }
}

/// Law 50: the two forms agree if p = exp₀(r z/‖z‖) and a′ = z.
#[test]
fn both_forms_have_the_same_logits() {
    let mut rng = rng::stream(2, 0, 0);
    for kappa in [-1.0, -0.3, 0.0, 0.3] {
        let ball = space(kappa);
        let mut short = UnidirectionalRegression::new(3, 5, &mut rng);
        scatter(&mut short, 0.7, 2);
        let mut long = LogisticRegression::new(ball, 3, 5, &mut rng);
        *long.normals.value_mut() = short.directions.value().clone();
        for k in 0..5 {
            let z = short.directions.value().row(k);
            let size = z.iter().map(|z| z * z).sum::<f64>().sqrt();
            let v: Vec<f64> = z.iter().map(|z| z / size * short.offsets.value().data()[k]).collect();
            long.points.value_mut().row_mut(k).copy_from_slice(&ball.exp0(&Row::from(v.as_slice())));
        }
        let tape = Tape::new();
        let x = on(&tape, ball, &points(&ball, 11, 3, 1.5, &mut rng));
        close(&short.forward(x).to_tensor(), &long.forward(x).to_tensor(), 1e-13);
    }
}

/// Law 51: as κ → 0 the logits tend to 4⟨x − p, a′⟩, four times those of Euclidean space. The
/// error is linear in κ.
#[test]
fn logits_are_linear_in_flat_space() {
    let mut rng = rng::stream(3, 0, 0);
    let mut flat = LogisticRegression::new(Euclidean, 3, 4, &mut rng);
    scatter(&mut flat, 0.5, 3);
    let mut short = UnidirectionalRegression::new(3, 4, &mut rng);
    scatter(&mut short, 0.5, 3);
    let x = points(&Euclidean, 9, 3, 0.6, &mut rng);
    let tape = Tape::new();
    let times_four = |logits: Tensor<f64>| Tensor::from_fn(logits.shape().axes(), |i| 4.0 * logits.data()[i]);
    let of_flat = [flat.forward(on(&tape, Euclidean, &x)), short.forward(on(&tape, Euclidean, &x))];
    let want = of_flat.map(|logits| times_four(logits.to_tensor()));
    let by_hand = Tensor::from_fn([9, 4], |i| {
        let (p, a) = (flat.points.value().row(i % 4), flat.normals.value().row(i % 4));
        4.0 * (0..3).map(|j| (x.row(i / 4)[j] - p[j]) * a[j]).sum::<f64>()
    });
    close(&want[0], &by_hand, 1e-14);
    let errors = |kappa: f64| {
        let mut curved = LogisticRegression::new(space(kappa), 3, 4, &mut rng::stream(0, 0, 0));
        curved.load_state(flat.state()).unwrap();
        let x = on(&tape, space(kappa), &x);
        let got = [curved.forward(x).to_tensor(), short.forward(x).to_tensor()];
        [difference(&got[0], &want[0]), difference(&got[1], &want[1])]
    };
    assert!(errors(0.0).iter().all(|e| *e < 1e-14));
    let (coarse, fine) = (errors(-1e-4), errors(-1e-5));
    for i in 0..2 {
        assert!((coarse[i] / fine[i] - 10.0).abs() < 0.01, "{coarse:?} {fine:?}");
    }
}

/// Law 51: moving points, hyperplanes and normals by the same isometry leaves the logits unchanged. A
/// translation by z takes a′ to gyr[z, p] a′.
#[test]
fn logits_are_invariant() {
    let mut rng = rng::stream(4, 0, 0);
    for kappa in [-1.0, -0.3, 0.0] {
        let ball = space(kappa);
        let layer = regression(kappa, 3, 4, 4);
        let x = points(&ball, 9, 3, 1.5, &mut rng);
        let z = ball.random_point(3, 1.0, &mut rng);
        let mut moved = layer.clone();
        for k in 0..4 {
            let (p, a) = (Row::from(layer.points.value().row(k)), Row::from(layer.normals.value().row(k)));
            moved.points.value_mut().row_mut(k).copy_from_slice(&ball.add(&z, &p));
            moved.normals.value_mut().row_mut(k).copy_from_slice(&ball.gyration(&z, &p, &a));
        }
        let translated: Vec<f64> = x.rows().flat_map(|x| ball.add(&z, &Row::from(x)).to_vec()).collect();
        close(&logits(&layer, &x), &logits(&moved, &Tensor::new([9, 3], translated)), 1e-12);
    }
}

/// Normals of zero have a slope, the one that they have at κ = 0 with the hyperplane's own λ.
#[test]
fn normals_are_learned_from_zero() {
    let mut layer = regression(-1.0, 2, 3, 5);
    *layer.normals.value_mut() = Tensor::zeros([3, 2]);
    let tape = Tape::new();
    let x = on(&tape, space(-1.0), &points(&space(-1.0), 4, 2, 1.0, &mut rng::stream(5, 0, 0)));
    let gradients = tape.backward(layer.forward(x).sum());
    let slope = gradients.wrt(&layer.normals).data().to_vec();
    assert!(slope.iter().all(|s| s.is_finite() && s.abs() > 1e-3), "{slope:?}");
}

//! The Fermi-Dirac decoder: on a tape and outside, at any distance. The shapes that losses take.

use cotangent_engine::check;
use cotangent_layers::loss::{FermiDirac, ranking};

use super::*;

/// The loss of one row, and its derivatives, on a tape.
fn on_tape(decoder: FermiDirac, distances: &[f64]) -> (f64, Vec<f64>) {
    let tape = Tape::new();
    let d = tape.variable(&Tensor::new([1, distances.len()], distances.to_vec()));
    let loss = decoder.cross_entropy(d).sum();
    let gradient = tape.backward(loss).wrt(d);
    (loss.item(), gradient.data().to_vec())
}

/// `−ln p` and `−ln(1 − p)` as they are written, where nothing overflows.
#[test]
fn it_is_the_cross_entropy_of_the_distribution() {
    let decoder = FermiDirac::new(2.0, 0.7);
    let p = |d: f64| 1.0 / (((d - 2.0) / 0.7).exp() + 1.0);
    let distances = [0.4, 1e-9, 2.0, 3.5, 9.0];
    let others: f64 = distances[1..].iter().map(|&d| (1.0 - p(d)).ln()).sum();
    let want = -p(distances[0]).ln() - others;
    let (loss, gradient) = on_tape(decoder, &distances);
    assert!((loss - want).abs() < 1e-12, "{loss} {want}");
    let mut slopes = [0.0; 5];
    let outside = decoder.cross_entropy_with_gradient(&distances, &mut slopes);
    assert!((outside - loss).abs() < 1e-14 * loss);
    for (j, (&slope, &d)) in slopes.iter().zip(&distances).enumerate() {
        let want = if j == 0 { (1.0 - p(d)) / 0.7 } else { -p(d) / 0.7 };
        assert!((slope - want).abs() < 1e-14 && (gradient[j] - want).abs() < 1e-14, "{j}: {slope} {want}");
    }
    let rows = uniform(&[3, 4], 3.0, &mut rng::stream(1, 1, 0));
    let worst = check::gradients(&[rows], |d| decoder.cross_entropy(d[0]).square().sum());
    assert!(worst.relative < 1e-8 && worst.reverse != 0.0, "{worst:?}");
}

/// A probability of 0 or 1 in floating point has a finite logarithm here, and a gradient.
#[test]
fn huge_distances_have_values_and_slopes() {
    let decoder = FermiDirac::new(1.0, 0.01);
    for distance in [1e3, 1e9, 1e15] {
        let (loss, slopes) = on_tape(decoder, &[distance, distance]);
        assert!((loss / ((distance - 1.0) * 100.0) - 1.0).abs() < 1e-14, "{distance}: {loss}");
        assert!((slopes[0] - 100.0).abs() < 1e-12 && slopes[1].abs() < 1e-300, "{distance}: {slopes:?}");
        let mut outside = [0.0; 2];
        assert_eq!(decoder.cross_entropy_with_gradient(&[distance, distance], &mut outside), loss);
        assert!((outside[0] - 100.0).abs() < 1e-12 && outside[1].abs() < 1e-300, "{distance}: {outside:?}");
    }
    // A pair that is no edge, at distance 0.
    let (loss, slopes) = on_tape(decoder, &[0.0, 0.0]);
    assert!((loss - 100.0).abs() < 1e-10 && (slopes[1] + 100.0).abs() < 1e-10, "{loss} {slopes:?}");
}

#[test]
#[should_panic(expected = "FermiDirac: r = 2, t = 0: both must be positive and finite")]
fn a_temperature_is_positive() {
    let _ = FermiDirac::new(2.0, 0.0);
}

#[test]
#[should_panic(expected = "FermiDirac: r = NaN, t = 1: both must be positive and finite")]
fn a_radius_is_a_number() {
    let _ = FermiDirac::new(f64::NAN, 1.0);
}

#[test]
#[should_panic(expected = "FermiDirac::cross_entropy: distances [2, 3, 1]")]
fn distances_have_two_axes() {
    let tape = Tape::<f64>::new();
    FermiDirac::new(2.0, 1.0).cross_entropy(tape.constant(&Tensor::from_fn([2, 3, 1], |_| 1.0)));
}

#[test]
#[should_panic(expected = "ranking: distances [2, 3, 1], not [batch, candidates]")]
fn ranked_distances_have_two_axes() {
    let tape = Tape::<f64>::new();
    ranking(tape.constant(&Tensor::from_fn([2, 3, 1], |_| 1.0)));
}

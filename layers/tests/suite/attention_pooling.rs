//! Attention pooling: compared with its equations on single points, and its invariances.

use cotangent_engine::Row;
use cotangent_engine::check;
use cotangent_layers::{AttentionPooling, Curvature, Geometry};
use cotangent_manifolds::{Barycentre, Euclidean};

use super::*;

/// Sequences `[2, 4, 3]`.
fn sequences(ball: &Stereographic, seed: u64) -> Tensor<f64> {
    let rows = points(ball, 8, 3, 1.5, &mut rng::stream(seed, 6, 0));
    Tensor::new([2, 4, 3], rows.data().to_vec())
}

fn layer(ball: Stereographic) -> AttentionPooling<Stereographic, f64> {
    let mut layer = AttentionPooling::new(ball, 3, 6, &mut rng::stream(1, 6, 0));
    scatter(&mut layer, 0.7, 2);
    layer.sharpness.value_mut().data_mut()[0] = 1.3;
    layer
}

/// López & Strube 2020, eq. 8 and 9, point by point.
#[test]
fn it_is_that_of_the_paper() {
    for kappa in [-1.0, -0.5] {
        let ball = space(kappa);
        let (layer, x) = (layer(ball), sequences(&ball, 3));
        let tape = Tape::new();
        let have = read(&layer.forward(on(&tape, ball, &x), None));
        let linear = |of: &cotangent_layers::Linear<Stereographic, f64>, r: &Row<f64>| {
            let v = ball.log0(r);
            let m = of.weight.value();
            let mv: Vec<f64> =
                m.rows().map(|row| row.iter().zip(v.iter()).map(|(m, v)| m * v).sum()).collect();
            let bias = Row::from(of.bias.as_ref().unwrap().value().data());
            ball.add(&ball.exp0(&Row::from(&mv[..])), &bias)
        };
        for b in 0..2 {
            let of = |i: usize| Row::from(x.row(b * 4 + i));
            let weights: Vec<f64> = (0..4)
                .map(|i| {
                    let r = ball.add(&of(i), &Row::from(layer.positions.value().row(i)));
                    let (q, k) = (linear(&layer.query, &r), linear(&layer.key, &r));
                    (-1.3 * ball.dist(&q, &k)).exp()
                })
                .collect();
            let rows = Tensor::new([1, 4, 3], x.data()[b * 12..(b + 1) * 12].to_vec());
            let want = Barycentre::barycentre(&ball, &rows, &Tensor::new([1, 4], weights));
            let apart = have.row(b).iter().zip(want.data()).map(|(h, w)| (h - w).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-12, "{apart:e}");
        }
    }
}

/// Points after the end of a sequence affect neither values nor gradients.
#[test]
fn what_follows_the_end_does_not_count() {
    let ball = space(-1.0);
    let (layer, x) = (layer(ball), sequences(&ball, 4));
    let mut other = x.clone();
    other.row_mut(6).copy_from_slice(&[0.1, -0.2, 0.3]);
    let run = |x: &Tensor<f64>| {
        let tape = Tape::new();
        let x = tape.variable(x);
        let y = layer.forward_in(&ball, x, Some(&[4, 2]));
        let value = y.to_tensor();
        (value, tape.backward((y * y).sum()).wrt(x).data().to_vec())
    };
    let (value, gradient) = run(&x);
    assert_eq!(run(&other).0, value);
    assert!(gradient[18..].iter().all(|g| *g == 0.0) && gradient[..18].iter().all(|g| *g != 0.0));
    // The first two points of a sequence alone give the same result.
    let short = Tensor::new([1, 2, 3], x.data()[12..18].to_vec());
    let tape = Tape::new();
    let alone = layer.forward_in(&ball, tape.constant(&short), None).to_tensor();
    assert!(alone.data().iter().zip(value.row(1)).all(|(a, b)| (a - b).abs() < 1e-14));
    // A single point gives itself.
    let one = Tensor::new([1, 1, 3], x.data()[..3].to_vec());
    let alone = layer.forward_in(&ball, tape.constant(&one), None).to_tensor();
    assert!(alone.data().iter().zip(one.data()).all(|(a, b)| (a - b).abs() < 1e-15));
}

#[test]
fn gradients_agree() {
    let ball = space(-1.0);
    let (layer, x) = (layer(ball), sequences(&ball, 5));
    let worst = check::gradients(&[x], |x| {
        let y = layer.forward_in(&ball, x[0], Some(&[3, 4]));
        (y * y).sum()
    });
    assert!(worst.relative < 1e-7 && worst.reverse != 0.0, "{worst:?}");
}

/// As the curvature, which is a variable, tends to 0, the layer tends to the one in Euclidean space.
#[test]
fn it_becomes_euclidean() {
    let mut flat = AttentionPooling::<Euclidean, f64>::new(Euclidean, 3, 6, &mut rng::stream(1, 6, 0));
    scatter(&mut flat, 0.7, 2);
    let x = uniform(&[2, 4, 3], 0.5, &mut rng::stream(7, 6, 0));
    let at = |kappa: f64| {
        let tape = Tape::new();
        let curvature = Curvature::new(kappa);
        let space = curvature.on(&tape);
        flat.forward_in(&space, tape.constant(&x), None).to_tensor()
    };
    let tape = Tape::new();
    // The flat limit of the curved metrics is twice the Euclidean distance.
    let mut doubled = flat.clone();
    doubled.sharpness.value_mut().data_mut()[0] *= 2.0;
    let want = doubled.forward_in(&Euclidean, tape.constant(&x), None).to_tensor();
    let [far, near] = [-1e-4, -1e-6].map(|kappa| apart(&at(kappa), &want));
    assert!(near < 1e-6 && near < 0.02 * far, "{far:e} {near:e}");
}

#[test]
#[should_panic(expected = "AttentionPooling: 7 points, there are 6 positions")]
fn sequences_have_positions() {
    let ball = space(-1.0);
    let tape = Tape::new();
    let _ = layer(ball).forward_in(&ball, tape.zeros([1, 7, 3]), None);
}

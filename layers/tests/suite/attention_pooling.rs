//! Attention pooling: compared with its equations on single points, and its invariances.

use cotangent_engine::Row;
use cotangent_engine::check;
use cotangent_layers::{AttentionPooling, Curvature, Geometry, Sequence};
use cotangent_manifolds::{Barycentre, Euclidean, Point};

use super::*;

/// Two sequences of four points: `[4, 2, 3]`.
fn sequences(ball: &Stereographic, seed: u64) -> Tensor<f64> {
    let rows = points(ball, 8, 3, 1.5, &mut rng::stream(seed, 6, 0));
    Tensor::new([4, 2, 3], rows.data().to_vec())
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
        let have = read(&layer.forward(on(&tape, ball, &x)));
        let linear = |layer: &cotangent_layers::Linear<Stereographic, f64>, r: &Row<f64>| {
            let v = ball.log0(r);
            let m = layer.weight.value();
            let mv: Vec<f64> =
                m.rows().map(|row| row.iter().zip(v.iter()).map(|(m, v)| m * v).sum()).collect();
            let bias = Row::from(layer.bias.as_ref().unwrap().value().data());
            ball.add(&ball.exp0(&Row::from(&mv[..])), &bias)
        };
        for b in 0..2 {
            let word = |i: usize| Row::from(x.row(i * 2 + b));
            let weights: Vec<f64> = (0..4)
                .map(|i| {
                    let r = ball.add(&word(i), &Row::from(layer.positions.value().row(i)));
                    let (q, k) = (linear(&layer.query, &r), linear(&layer.key, &r));
                    (-1.3 * ball.dist(&q, &k)).exp()
                })
                .collect();
            let rows = Tensor::from_fn([1, 4, 3], |i| x.row(i / 3 * 2 + b)[i % 3]);
            let want = Barycentre::barycentre(&ball, &rows, &Tensor::new([1, 4], weights));
            let error = have.row(b).iter().zip(want.data()).map(|(h, w)| (h - w).abs()).fold(0.0, f64::max);
            assert!(error < 1e-12, "{error:e}");
        }
    }
}

/// Points after the end of a sequence affect neither values nor gradients.
#[test]
fn what_follows_the_end_does_not_count() {
    let ball = space(-1.0);
    let (layer, x) = (layer(ball), sequences(&ball, 4));
    let mut other = x.clone();
    other.row_mut(5).copy_from_slice(&[0.1, -0.2, 0.3]);
    let run = |x: &Tensor<f64>| {
        let tape = Tape::new();
        let x = tape.variable(x);
        let y = *layer.forward(Sequence::new(Point::new(ball, x)).with_lengths(&[4, 2])).coordinates();
        (y.to_tensor(), tape.backward((y * y).sum()).wrt(x))
    };
    let (value, gradient) = run(&x);
    assert_eq!(run(&other).0, value);
    // Rows 5 and 7 are the third and fourth points of the second sequence.
    for (i, row) in gradient.rows().enumerate() {
        assert!(row.iter().all(|g| (*g == 0.0) == (i == 5 || i == 7)), "{i}: {row:?}");
    }
    // The first two points of a sequence alone give the same result.
    let short = Tensor::from_fn([2, 1, 3], |i| x.row(i / 3 * 2 + 1)[i % 3]);
    let tape = Tape::new();
    let alone = read(&layer.forward(on(&tape, ball, &short)));
    assert!(alone.data().iter().zip(value.row(1)).all(|(a, b)| (a - b).abs() < 1e-14));
    // A single point gives itself.
    let one = Tensor::new([1, 1, 3], x.data()[..3].to_vec());
    let alone = read(&layer.forward(on(&tape, ball, &one)));
    assert!(alone.data().iter().zip(one.data()).all(|(a, b)| (a - b).abs() < 1e-15));
}

/// Padding may be longer than the table of positions, if no sequence is.
#[test]
fn padding_needs_no_positions() {
    let ball = space(-1.0);
    let (layer, x) = (layer(ball), sequences(&ball, 8));
    let mut padded = x.data().to_vec();
    padded.resize(9 * 2 * 3, 0.1);
    let run = |x: &Tensor<f64>| {
        let tape = Tape::new();
        let x = Sequence::new(on(&tape, ball, x)).with_lengths(&[4, 2]);
        (read(&layer.forward(x.clone())), layer.weigh(&x).to_tensor())
    };
    let (pooled, weights) = run(&x);
    assert_eq!(run(&Tensor::new([9, 2, 3], padded)), (pooled, weights.clone()));
    assert_eq!(weights.shape(), &[2, 4].into());
}

#[test]
fn gradients_agree() {
    let ball = space(-1.0);
    let (layer, x) = (layer(ball), sequences(&ball, 5));
    let worst = check::gradients(&[x], |x| {
        let y = *layer.forward(Sequence::new(Point::new(ball, x[0])).with_lengths(&[3, 4])).coordinates();
        (y * y).sum()
    });
    assert!(worst.relative < 1e-7 && worst.reverse != 0.0, "{worst:?}");
}

/// As the curvature, which is a variable, tends to 0, the layer tends to the one in Euclidean space.
#[test]
fn it_becomes_euclidean() {
    let mut flat = AttentionPooling::<Euclidean, f64>::new(Euclidean, 3, 6, &mut rng::stream(1, 6, 0));
    scatter(&mut flat, 0.7, 2);
    let x = uniform(&[4, 2, 3], 0.5, &mut rng::stream(7, 6, 0));
    let at = |kappa: f64| {
        let tape = Tape::new();
        let curvature = Curvature::new(kappa);
        let space = curvature.on(&tape);
        flat.forward(Point::new(space, tape.constant(&x))).coordinates().to_tensor()
    };
    let tape = Tape::new();
    // The flat limit of the curved metrics is twice the Euclidean distance.
    let mut doubled = flat.clone();
    doubled.sharpness.value_mut().data_mut()[0] *= 2.0;
    let want = read(&doubled.forward(on(&tape, Euclidean, &x)));
    let [coarse, fine] = [-1e-4, -1e-6].map(|kappa| difference(&at(kappa), &want));
    assert!(fine < 1e-6 && fine < 0.02 * coarse, "{coarse:e} {fine:e}");
}

#[test]
#[should_panic(expected = "AttentionPooling: 7 points, there are 6 positions")]
fn sequences_have_positions() {
    let ball = space(-1.0);
    let tape = Tape::new();
    let _ = layer(ball).forward(Point::new(ball, tape.zeros([7, 1, 3])));
}

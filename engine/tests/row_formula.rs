//! What the manifolds' own tests do not reach: components without overflow, accurate inner products, first
//! and last coordinates as invariants, the horizontal metric, and columns of rows at all three levels.

use cotangent_engine::{Row, Rows, Tape, Tensor, Var, formulas, rng, row_formula};
use rand::RngExt;

row_formula! {
    /// The component of y − x along x.
    Component = "component": number [Difference(1, 0), Input(0)];
    along = Along(0, 1) => along
}

row_formula! {
    Norm = "norm": number [Input(0)];
    norm = Along(0, 0) => norm
}

row_formula! {
    Inner = "inner": number [Input(0), Input(1)];
    dot = Accurate(0, 1) => dot
}

row_formula! {
    /// All of these in one formula, in the horizontal metric.
    Mixture = "mixture": vector [Difference(1, 0), Sum(0, 1), Height], metric Horizontal;
    along = Along(0, 1), norm = Along(1, 1), dot = Dot(0, 1), square = Accurate(0, 0),
    first = First(1), last = Last(0) => [along * first + square, norm - last * dot, last * square + along]
}

#[test]
fn components_neither_overflow_nor_underflow() {
    for scale in [1.0, 1e-300, 1e300, 1e-170, 1e160] {
        let x = Row::from([3.0 * scale, -4.0 * scale]);
        let norm = Row::scalar(Norm, [&x], []);
        assert!((norm / scale - 5.0).abs() < 1e-14, "{scale}: {norm}");
        let y = Row::from([4.0 * scale, -4.0 * scale]);
        let along = Row::scalar(Component, [&x, &y], []);
        assert!((along / scale - 0.6).abs() < 1e-14, "{scale}: {along}");
    }
    let small = Row::from([1e-310_f64, 0.0]);
    assert_eq!(Row::scalar(Norm, [&small], []), 1e-310);
    let zero = Row::from([0.0_f64, 0.0]);
    assert_eq!(Row::scalar(Norm, [&zero], []), 0.0);
    assert!(Row::scalar(Norm, [&Row::from([f64::NAN, 1.0])], []).is_nan());
    let tape = Tape::<f64>::new();
    for (row, want) in [([3e-300, -4e-300], [0.6, -0.8]), ([0.0, 0.0], [0.0, 0.0])] {
        let x = tape.variable(&Tensor::new([1, 2], row.to_vec()));
        let g = tape.backward(Var::scalar(Norm, [&x], []).sum());
        let g = g.wrt(x).data().to_vec();
        assert!(g.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-14), "{row:?}: {g:?}");
    }
}

#[test]
fn accurate_products_have_digits_where_plain_ones_have_none() {
    // The products a b and 1 differ only in bits that a plain product rounds away.
    let (a, b) = (1.0 + 2f64.powi(-30), 1.0 - 2f64.powi(-30));
    let x = Row::from([a, 1.0, 2f64.powi(-62)]);
    let y = Row::from([b, -1.0, 1.0]);
    assert_eq!(Row::scalar(Inner, [&x, &y], []), -2f64.powi(-60) + 2f64.powi(-62));
}

fn mixed<'t>(v: &[Var<'t, f64>], weights: &Tensor<f64>) -> Var<'t, f64> {
    let y = Var::vector(Mixture, [&v[0], &v[1]], []);
    10.0 + (y * y.tape().constant(weights)).sum()
}

#[test]
fn the_horizontal_metric_has_the_gradients_of_finite_differences() {
    let mut rng = rng::stream(1, 0, 0);
    let mut draw = |shape: [usize; 2]| Tensor::<f64>::from_fn(shape, |_| rng.random_range(-1.0..1.0));
    for width in [1, 2, 5, 70] {
        let inputs = [draw([7, width]), draw([7, width])];
        let weights = draw([7, width]);
        // With width 1 nothing is horizontal, and the component has no derivative.
        if width > 1 {
            let worst = cotangent_engine::check::gradients(&inputs, |v| mixed(v, &weights));
            assert!(worst.relative < 1e-7, "{width}: {worst:?}");
        }
        let directions = [draw([7, width]), draw([7, width])];
        let worst = cotangent_engine::check::forward_mode(&inputs, &directions, |v| mixed(v, &weights));
        assert!(worst < 1e-10, "{width}: {worst:e}");
    }
}

#[test]
fn columns_and_differentials_agree_at_all_levels() {
    let mut rng = rng::stream(2, 0, 0);
    let mut draw = |shape: &[usize]| Tensor::<f64>::from_fn(shape, |_| rng.random_range(-1.0..1.0));
    let (x, y, v, w) = (draw(&[3, 4]), draw(&[4]), draw(&[3, 4]), draw(&[4]));
    let work =
        |x: &Tensor<f64>, y: &Tensor<f64>| Tensor::concat(&x.columns(1..3), &Tensor::concat(y, &x.zeros(1)));
    let tensor = work(&x, &y);
    assert_eq!(tensor.shape().axes(), [3, 7]);
    let d = Tensor::differential(Mixture, [&x, &y], [&v, &w], []);
    let tape = Tape::new();
    let [vx, vy, vv, vw] = [&x, &y, &v, &w].map(|t| tape.constant(t));
    let joined = <Var<'_, f64> as Rows>::concat(
        &vx.columns(1..3),
        &<Var<'_, f64> as Rows>::concat(&vy, &Rows::zeros(&vy, 1)),
    );
    assert_eq!(joined.to_tensor(), tensor);
    assert_eq!(Var::differential(Mixture, [&vx, &vy], [&vv, &vw], []).to_tensor(), d);
    let row = |t: &Tensor<f64>, i: usize| Row::from(t.row(if t.shape().rank() == 1 { 0 } else { i }));
    for i in 0..3 {
        let [x, y, v, w] = [&x, &y, &v, &w].map(|t| row(t, i));
        assert_eq!(Row::concat(&x.columns(1..3), &Row::concat(&y, &x.zeros(1)))[..], *tensor.row(i));
        assert_eq!(Row::differential(Mixture, [&x, &y], [&v, &w], [])[..], *d.row(i));
        // Against a difference quotient.
        let moved_by = |t: f64| {
            let moved = |x: &Row<f64>, v: &Row<f64>| {
                Row::from(x.iter().zip(v.iter()).map(|(x, v)| x + t * v).collect::<Vec<_>>().as_slice())
            };
            Row::vector(Mixture, [&moved(&x, &v), &moved(&y, &w)], [])
        };
        let (up, down) = (moved_by(1e-6), moved_by(-1e-6));
        for c in 0..4 {
            assert!((d.row(i)[c] - (up[c] - down[c]) / 2e-6).abs() < 1e-8);
        }
    }
    let (a, b) = (Tensor::new([3], vec![3.0, 0.0, 1.0]), Tensor::scalar(4.0));
    let hypot = Tensor::<f64>::map(formulas::Hypot, [&a, &b]);
    assert_eq!(hypot.data(), [5.0, 4.0, 17f64.sqrt()]);
    assert_eq!(Row::<f32>::map(formulas::Hypot, [&3.0, &4.0]), 5.0);
}

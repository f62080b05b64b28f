//! Row functions at the three levels, their gradients, and what they refuse.

use cotangent_engine::{Float, Row, RowFunction, Rows, ShapeError, Tape, Tensor, Var, check};

/// The outer product of two rows, flattened. It is wider than its inputs, which a row formula cannot be.
#[derive(Clone, Copy)]
struct Outer;

impl RowFunction<2> for Outer {
    fn name(&self) -> &'static str {
        "outer"
    }
    fn width(&self, [m, n]: [usize; 2]) -> Result<usize, ShapeError> {
        Ok(m * n)
    }
    fn eval<T: Float>(&self, [a, b]: [&[f64]; 2], out: &mut [f64]) {
        for (row, x) in out.chunks_exact_mut(b.len()).zip(a) {
            row.iter_mut().zip(b).for_each(|(out, y)| *out = x * y);
        }
    }
    fn pullback(&self, [a, b]: [&[f64]; 2], _out: &[f64], g: &[f64], [da, db]: [&mut [f64]; 2]) {
        db.fill(0.0);
        for ((g, x), dx) in g.chunks_exact(b.len()).zip(a).zip(da) {
            *dx = g.iter().zip(b).map(|(g, y)| g * y).sum();
            db.iter_mut().zip(g).for_each(|(dy, g)| *dy += g * x);
        }
    }
}

/// The largest coordinate, without a gradient.
#[derive(Clone, Copy)]
struct Largest;

impl RowFunction<1> for Largest {
    fn name(&self) -> &'static str {
        "largest"
    }
    fn width(&self, _: [usize; 1]) -> Result<usize, ShapeError> {
        Ok(1)
    }
    fn eval<T: Float>(&self, [x]: [&[f64]; 1], out: &mut [f64]) {
        out[0] = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    }
}

fn numbers(shape: &[usize], seed: f64) -> Tensor<f64> {
    Tensor::from_fn(shape, |i| (seed + 1.7 * i as f64).sin())
}

#[test]
fn levels_agree_and_rows_broadcast() {
    let (x, y) = (numbers(&[500, 3, 2], 0.1), numbers(&[3, 4], 0.2));
    let tensor = Tensor::row_function(Outer, [&x, &y]);
    assert_eq!(tensor.shape().axes(), [500, 3, 8]);
    let tape = Tape::new();
    let tape = Var::row_function(Outer, [&tape.constant(&x), &tape.constant(&y)]).to_tensor();
    assert_eq!(tensor, tape);
    for i in 0..1500 {
        let row = Row::row_function(Outer, [&Row::from(x.row(i)), &Row::from(y.row(i % 3))]);
        assert_eq!(row[..], *tensor.row(i));
    }
    // A number for each row is f64, whatever the type of the rows.
    let largest: Tensor<f64> = Tensor::scalar_function(Largest, [&x.cast::<f32>()]);
    assert_eq!(largest.shape().axes(), [500, 3]);
    let first = x.row(0)[0].max(x.row(0)[1]) as f32;
    assert_eq!(largest.data()[0], f64::from(first));
    assert_eq!(Row::scalar_function(Largest, [&Row::from([1.0, 5.0, 2.0])]), 5.0);
    assert!(Tensor::row_function(Outer, [&numbers(&[0, 2], 0.0), &numbers(&[3], 0.0)]).is_empty());
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let shapes: [[&[usize]; 2]; 4] =
        [[&[5, 3], &[5, 2]], [&[5, 3], &[2]], [&[1, 3], &[4, 2]], [&[2, 1, 3], &[2, 4, 2]]];
    for [a, b] in shapes {
        let worst = check::gradients(&[numbers(a, 0.3), numbers(b, 0.7)], |v| {
            let outer = Var::row_function(Outer, [&v[0], &v[1]]);
            let weights = v[0].tape().constant(&numbers(outer.shape().axes(), 0.9));
            (outer * outer * weights).sum()
        });
        assert!(worst.relative < 1e-9, "{a:?} {b:?}: {worst:?}");
    }
}

/// There are enough rows to be split over threads, and the gradient of one operand is summed over all of
/// them. The bits are the same for any number of threads.
#[test]
fn gradients_do_not_depend_on_threads() {
    let (x, y) = (numbers(&[3000, 3], 0.1).cast::<f32>(), numbers(&[4], 0.2).cast::<f32>());
    let run = |threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let tape = Tape::new();
            let (x, y) = (tape.variable(&x), tape.variable(&y));
            let g = tape.backward(Var::row_function(Outer, [&x, &y]).square().sum());
            [x, y].map(|v| {
                assert!(g.view(v).is_some());
                g.wrt(v).data().to_vec()
            })
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
#[should_panic(expected = "largest: this row function has no pullback, and a gradient was asked for")]
fn a_missing_pullback_is_named() {
    let tape = Tape::new();
    let x = tape.variable(&numbers(&[2, 3], 0.0));
    tape.backward(Var::scalar_function(Largest, [&x]).sum());
}

#[test]
fn a_missing_pullback_is_not_missed_where_no_gradient_flows() {
    let tape = Tape::new();
    let (x, y) = (tape.constant(&numbers(&[2, 3], 0.0)), tape.variable(&numbers(&[2], 1.0)));
    let gradients = tape.backward((Var::scalar_function(Largest, [&x]) * y).sum());
    assert!(gradients.view(y).is_some());
}

#[test]
#[should_panic(expected = "outer: a result of 6 elements is no number")]
fn a_row_is_no_number() {
    Row::scalar_function(Outer, [&Row::from([1.0, 2.0]), &Row::from([1.0, 2.0, 3.0])]);
}

#[test]
#[should_panic(expected = "outer: the rows of shapes [2, 3], [3, 3] do not broadcast")]
fn rows_that_do_not_broadcast_are_refused() {
    let (x, y) = (numbers(&[2, 3], 0.0), numbers(&[3, 3], 0.0));
    Tensor::row_function(Outer, [&x, &y]);
}

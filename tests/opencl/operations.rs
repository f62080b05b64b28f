//! Kernels that are not formulas, and operations of the tape.

use cotangent::engine::formulas::{EuclideanDistance, ScaledDot};
use cotangent::engine::{Elementwise, GradientView, Outcome, ShapeError, Sparsity, View, Weights};
use cotangent::prelude::*;
use rand::RngExt;

use crate::{assert_same, device, run, tensor};

#[test]
fn matmul_in_every_batching_and_transposition() {
    same!(8.0, [[7, 5], [5, 9]], |v| v[0].matmul(v[1]));
    same!(8.0, [[130, 70], [70, 67]], |v| v[0].matmul(v[1]));
    same!(8.0, [[3, 7, 5], [3, 9, 5]], |v| v[0].matmul_nt(v[1]));
    same!(8.0, [[3, 5, 7], [5, 9]], |v| v[0].matmul_tn(v[1]));
    same!(8.0, [[7, 5], [3, 5, 9]], |v| v[0].matmul(v[1]));
    same!(8.0, [[3, 7, 5], [5, 9]], |v| v[0].matmul(v[1]));
    same!(8.0, [[3, 7, 5], [9, 5], [9]], |v| v[0].linear(v[1], v[2]));
    same!(8.0, [[7, 5], [3, 9, 5], [9]], |v| v[0].linear(v[1], v[2]));
    same!(8.0, [[1, 70], [130, 70], [130]], |v| v[0].linear(v[1], v[2]));
}

#[test]
fn reductions_along_every_axis() {
    // All terms have one sign, because a sum that cancels has fewer correct digits.
    same!(4.0, [[3, 70, 5]], |v| v[0].square().sum());
    same!(4.0, [[3, 700, 5]], |v| v[0].square().mean());
    for axis in [0, 1, -1] {
        same!(4.0, [[3, 70, 5]], |v| v[0].square().sum_axis(axis));
        same!(4.0, [[3, 70, 5]], |v| v[0].square().mean_axis(axis));
        same!(4.0, [[3, 70, 5]], |v| v[0].max_axis(axis));
        same!(4.0, [[3, 70, 5]], |v| v[0].logsumexp(axis));
        same!(4.0, [[3, 70, 5]], |v| v[0].norm_axis(axis));
        same!(4.0, [[3, 70, 5]], |v| v[0].softmax(axis));
        same!(4.0, [[3, 70, 5]], |v| v[0].log_softmax(axis));
    }
    same!(0.0, [[2, 3]], |v| (v[0] * 0.0).norm_axis(-1));
    same!(0.0, [[2, 3]], |v| (v[0] * 0.0).max_axis(-1)); // equals: the first
    same!(0.0, [[2, 3]], |v| v[0]
        .masked_fill(v[0].tape().zeros([2, 3]) + 1.0, f64::NEG_INFINITY)
        .logsumexp(-1));
}

/// Norms and distances whose squares leave the range, and weights of scores that are all −∞.
#[test]
fn beyond_the_range_of_squares_and_exponentials() {
    for unit in [1e200, 1e-200] {
        for axis in [0, 1, -1] {
            same!(4.0, [[3, 70, 5]], |v| (v[0] * unit).norm_axis(axis));
        }
        same!(4.0, [[9, 5], [5]], |v| Euclidean.dist(&(v[0] * unit), &(v[1] * unit)));
        same!(4.0, [[9], [9]], |v| (v[0] * unit).hypot(v[1] * unit));
    }
    same!(0.0, [[4, 7], [7]], |v| (v[0] * 1e200).layer_norm(v[1], v[1], 1e-5));
    same!(4.0, [[9, 5], [9, 5]], |v| PoincareBall::new(-1.0).dist(&(v[0] * 1e-170), &(v[1] * 1e-170)));
    fn lowest<T: Float>(v: Var<'_, T>) -> Var<'_, T> {
        v.masked_fill(v.tape().constant(&Tensor::scalar(T::nearest(1.0))), f64::NEG_INFINITY)
    }
    let edges = std::sync::Arc::new(Sparsity::new(2, 3, &[(0, 0), (0, 2), (1, 1)]));
    assert_same(0.0, &[&[3, 40]], &|v| lowest(v[0]).softmax(-1), &|v| lowest(v[0]).softmax(-1));
    assert_same(0.0, &[&[3, 40]], &|v| lowest(v[0]).log_softmax(-1), &|v| lowest(v[0]).log_softmax(-1));
    assert_same(0.0, &[&[3]], &|v| lowest(v[0]).segment_softmax(&edges), &|v| {
        lowest(v[0]).segment_softmax(&edges)
    });
}

/// Lines of neighbouring elements are summed in the same order as on the processor. There are rows that fill
/// a group and its lanes and rows that do not, lines of one block and of several blocks, and long lines that
/// are summed in pieces.
#[test]
fn sums_of_lines_have_the_bits_of_the_processor() {
    for shape in [[1, 1], [3, 7], [32, 8], [33, 9], [65, 65], [3, 4095], [2, 4097], [2, 9000]] {
        same!(0.0, [shape], |v| v[0].sum_axis(-1));
        same!(0.0, [shape], |v| v[0].mean_axis(-1));
        same!(0.0, [shape], |v| v[0].norm_axis(-1));
        same!(0.0, [shape], |v| v[0].max_axis(-1));
        same!(0.0, [shape], |v| v[0].softmax(-1));
        same!(0.0, [shape], |v| v[0].sum());
    }
    for shape in [[1, 65_536], [7, 30_011]] {
        same!(0.0, [shape], |v| v[0].sum());
        same!(0.0, [shape], |v| v[0].mean());
    }
}

#[test]
fn layer_normalisation() {
    same!(16.0, [[40, 7], [7], [7]], |v| v[0].layer_norm(v[1], v[2], 1e-5));
    same!(16.0, [[2, 3, 65], [65], [65]], |v| v[0].layer_norm(v[1], v[2], 1e-5));
    // Gain and bias receive sums over the rows. The rows themselves have the bits of the processor.
    for shape in [[1, 1], [7, 3], [32, 8], [33, 9], [31, 16], [65, 65]] {
        same!(0.0, [shape], |v| {
            let gain = v[0].tape().zeros([shape[1]]) + 1.5;
            v[0].layer_norm(gain, gain, 1e-5)
        });
    }
}

#[test]
fn broadcasting_of_every_kind() {
    same!(4.0, [[3, 1, 5], [1, 4, 1]], |v| v[0] * v[1]);
    same!(4.0, [[6, 5], [5]], |v| v[0] / (v[1] + 3.0));
    same!(4.0, [[6, 5], [6, 1]], |v| v[0] - v[1] * 2.0);
    same!(16.0, [[300, 5], []], |v| v[0].square() * v[1]);
    let ball = || PoincareBall::new(-1.0);
    same!(64.0, [[3, 1, 5], [1, 4, 5]], |v| { ball().dist(&(v[0] * 0.3), &(v[1] * 0.3)) });
    same!(64.0, [[3, 2, 5], [5]], |v| { ball().add(&(v[0] * 0.3), &(v[1] * 0.3)) });
}

#[test]
fn points_that_rounding_put_outside_land_on_the_same_points_inside() {
    let Some(device) = device() else { return };
    let (x, v) = (tensor(&[300, 10], 0), tensor(&[300, 10], 1));
    for kappa in [-1.0, -2.5] {
        let ball = PoincareBall::new(kappa);
        let moved = |device: &Device| {
            let tape = Tape::with_device(device.clone());
            ball.exp(&(tape.constant(&x) * 0.1), &(tape.constant(&v) * 60.0)).to_tensor()
        };
        let (got, want) = (moved(&device), moved(&Device::cpu()));
        let margin = |row| cotangent::engine::domain::margin(row, kappa);
        let near = want.rows().map(margin).filter(|m| *m > 0.0 && *m < 1e-13).count();
        assert!(near > 250, "{near}");
        assert_eq!(got, want);
    }
}

#[test]
fn indexing() {
    same!(2.0, [[9, 4]], |v| v[0].gather(&[3, 3, 0, 8, 3, 1]));
    same!(2.0, [[9, 4]], |v| (v[0] * 2.0).gather(&[3, 3, 0, 8, 3, 1]));
    same!(2.0, [[9, 4]], |v| v[0].gather(&[3, 3, 0]).sum() * v[0].gather(&[8, 3, 5, 5]));
    same!(2.0, [[9, 4]], |v| v[0].gather(&[3, 3, 0]).sum() * v[0]);
    same!(2.0, [[9]], |v| v[0].gather(&[3, 3, 0]).sum() * v[0].gather(&[8, 3, 5, 5]));
    same!(2.0, [[4, 2, 3]], |v| v[0].gather(&[3, 3, 0]).sum() * v[0].gather(&[1, 3]));
    same!(2.0, [[5, 3]], |v| v[0].scatter_add(&[6, 2, 6, 0, 6], 7));
    same!(2.0, [[4, 5]], |v| v[0].take_along(&[0, 0, 4, 1, 2, 2, 3, 0]));
    same!(0.0, [[3, 6, 4]], |v| v[0].slice(1, 2..5));
    same!(0.0, [[3, 2, 4], [3, 5, 4], [3, 1, 4]], |v| Var::concat(v, 1));
    same!(0.0, [[3, 4], [3, 2]], |v| Var::concat(&[v[0], v[1], v[0]], -1));
    same!(0.0, [[2, 3, 4, 5]], |v| v[0].permute(&[2, 0, 3, 1]));
    same!(0.0, [[2, 3, 4]], |v| v[0].reshape([4, 6]).swap_axes(0, 1));
    same!(0.0, [[4, 9]], |v| v[0].top_k(3).0);
}

/// Equal elements come in the order of their positions, and NaN before all. Some numbers of rows fill the
/// groups of a GPU.
#[test]
fn the_largest_of_each_row_are_in_the_order_of_the_processor() {
    let Some(device) = device() else { return };
    for [n, width, k] in [[1, 1, 1], [33, 7, 7], [64, 70, 5], [3, 5, 0], [0, 5, 2], [2, 0, 0]] {
        let x = Tensor::<f32>::from_fn([n, width], |i| match i * 7 % 11 {
            0 => f32::NAN,
            1 => f32::NEG_INFINITY,
            k => (k / 3) as f32 * [1.0, -0.0][i % 2],
        });
        let largest = |device: &Device| Tape::with_device(device.clone()).constant(&x).top_k(k).1;
        assert_eq!(largest(&device), largest(&Device::cpu()), "{k} of {n} rows of {width}");
    }
}

#[test]
fn convolution_and_pooling() {
    same!(16.0, [[3, 2, 9, 7], [4, 2, 3, 3]], |v| v[0].conv2d(v[1], 1, 1));
    same!(16.0, [[3, 2, 9, 7], [4, 2, 2, 3]], |v| v[0].conv2d(v[1], 2, 0));
    same!(4.0, [[3, 2, 9, 7]], |v| v[0].max_pool2d(3, 2));
    same!(4.0, [[3, 2, 9, 7]], |v| v[0].mean_pool2d(2, 1));
}

#[test]
fn attention_in_tiles() {
    for causal in [false, true] {
        same!(32.0, [[2, 7, 4], [2, 9, 4], [2, 9, 3]], |v| v[0].attend(v[1], v[2], 0.5, causal));
        // More keys than one tile has, and queries that attend to nothing.
        same!(64.0, [[2, 300, 4], [2, 290, 4], [2, 290, 3]], |v| v[0].attend(v[1], v[2], 0.5, causal));
    }
    // Each entry of the last leading axis has a parameter of its own; more keys than one tile has.
    for m in [9, 290] {
        same!(64.0, [[3, 2, 7, 4], [3, 2, m, 4], [3, 2, m, 3], [2]], |v| {
            v[0].tape().pairs(ScaledDot, [v[0], v[1]], [], [], [v[3]]).attend(v[2], Weights::Softmax, false)
        });
    }
    same!(16.0, [[3, 2, 7, 4], [3, 2, 9, 4], [2]], |v| {
        v[0].tape().pairs(ScaledDot, [v[0], v[1]], [], [], [v[2]]).scores()
    });
    for weights in [Weights::Softmax, Weights::Sigmoid, Weights::NormalisedSigmoid] {
        same!(64.0, [[20, 4], [270, 4], [270, 3]], |v| {
            v[0].tape().pairs(EuclideanDistance, [v[0], v[1]], [], [], []).attend(v[2], weights, true)
        });
        // More keys than one tile has, dropped with their weights or before these are normalised.
        for keys in [false, true] {
            same!(64.0, [[2, 20, 4], [2, 270, 4], [2, 270, 3]], |v| {
                v[0].tape().training(rng::stream(2, 0, 0));
                let pairs = v[0].tape().pairs(EuclideanDistance, [v[0], v[1]], [], [], []);
                let pairs = if keys { pairs.drop_keys(0.4) } else { pairs.dropout(0.4) };
                pairs.attend(v[2], weights, true)
            });
        }
        // Scores down to -100, and queries that attend to nothing.
        same!(256.0, [[30, 4], [20, 4], [20, 3]], |v| {
            let scale = v[0].tape().scalar(20.0);
            v[0].tape().pairs(ScaledDot, [v[0], v[1]], [], [], [scale]).attend(v[2], weights, true)
        });
    }
}

#[test]
fn sparse_matrices() {
    use cotangent::layers::score::{Distance, UmbralCone};
    let pairs = [(3, 0), (0, 4), (0, 1), (2, 1), (3, 4), (0, 1), (3, 3), (2, 0)];
    let matrix = std::sync::Arc::new(Sparsity::new(4, 5, &pairs)); // a row and a column without elements
    same!(8.0, [[8], [5, 3]], |v| v[0].sparse_matmul(&matrix, v[1]));
    same!(8.0, [[8, 2], [5, 2, 3]], |v| v[0].sparse_matmul(&matrix, v[1]));
    same!(8.0, [[8]], |v| v[0].segment_softmax(&matrix));
    same!(8.0, [[8, 3]], |v| v[0].segment_softmax(&matrix));
    same!(16.0, [[4, 2, 3], [5, 2, 3], []], |v| {
        v[0].tape().pairs(ScaledDot, [v[0], v[1]], [], [], [v[2]]).along(&matrix)
    });
    same!(64.0, [[4, 2, 3], [5, 2, 3], [4, 2], [5, 2], [], []], |v| {
        let numbers = [v[2], v[3]].map(|x| x.square() + 0.3);
        let params = [v[4], v[5], v[0].tape().scalar(0.7)];
        v[0].tape()
            .pairs(UmbralCone::default(), [v[0], v[1]], [numbers[0]], [numbers[1]], params)
            .along(&matrix)
    });
    same!(64.0, [[4, 3], [5, 3], [4], [5]], |v| {
        let numbers = [v[2], v[3]].map(|x| x.square() + 0.3);
        let params = [1.0, 0.2].map(|x| v[0].tape().scalar(x));
        v[0].tape().pairs(Distance, [v[0], v[1]], [numbers[0]], [numbers[1]], params).along(&matrix)
    });
}

#[test]
fn losses() {
    use cotangent::engine::loss;
    same!(8.0, [[6, 5]], |v| loss::cross_entropy(v[0], &[0, 4, 2, 2, 1, 3], 0.1));
    same!(8.0, [[6, 5]], |v| loss::cross_entropy(v[0], &[0, loss::IGNORE, 2, 2, 1, 3], 0.0));
}

#[test]
fn row_sparse_gradients_list_the_same_rows() {
    let Some(device) = device() else { return };
    let table = tensor(&[50, 3], 0);
    let gradient = |device: Device| {
        let tape = Tape::with_device(device);
        let x = tape.variable(&table);
        let loss = x.gather(&[7, 3, 7, 9]).square().sum() + x.gather(&[3, 40, 7]).square().sum();
        let gradients = tape.backward(loss);
        match gradients.view(x) {
            Some(GradientView::Rows { rows, values, width }) => (rows.to_vec(), values.to_vec(), width),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(gradient(device), gradient(Device::cpu()));
}

/// The draws are those of the processor, from any position in the stream. Afterwards the stream continues
/// after them.
#[test]
fn dropout_draws_the_numbers_of_the_stream() {
    let Some(device) = device() else { return };
    for (before, n) in [(0, 1), (3, 200), (16, 7), (31, 1000), (64, 0)] {
        let dropped = |device: &Device| {
            let mut stream = rng::stream(5, 7, u64::MAX - 2);
            let _: Vec<u32> = (0..before).map(|_| stream.random()).collect();
            let tape = Tape::with_device(device.clone());
            tape.training(stream);
            let kept = tape.constant(&tensor(&[n], 0)).dropout(0.3).to_tensor();
            (kept, tape.evaluation().unwrap().random::<u64>())
        };
        assert_eq!(dropped(&device), dropped(&Device::cpu()), "{n} after {before}");
    }
}

/// An operation without a device form: running sums.
struct Cumsum;

impl Operation<f64> for Cumsum {
    fn name(&self) -> &'static str {
        "cumsum"
    }
    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        Ok(inputs[0].clone())
    }
    fn forward(&self, inputs: &[View<'_, f64>], out: &mut [f64], _: &mut [f64]) {
        let mut sum = 0.0;
        for (x, y) in inputs[0].data.iter().zip(out) {
            sum += x;
            *y = sum;
        }
    }
    fn backward(
        &self,
        _: &[View<'_, f64>],
        _: Outcome<'_, f64>,
        g: &[f64],
        grads: &mut [Option<&mut [f64]>],
    ) {
        let mut sum = 0.0;
        for (g, dx) in g.iter().zip(grads[0].as_deref_mut().expect("wanted")).rev() {
            sum += g;
            *dx = sum;
        }
    }
}

#[test]
fn operations_without_a_device_form_go_through_the_host() {
    let Some(device) = device() else { return };
    let x = tensor(&[5], 0);
    let [got, want] = [&device, &Device::cpu()].map(|d| {
        run(d, std::slice::from_ref(&x), None, &|v| v[0].tape().operation(&Cumsum, &[v[0].exp()]).square())
    });
    assert_eq!(got, want);
}

#[test]
fn row_functions_and_forward_mode_go_through_the_host() {
    use cotangent::manifolds::Spd;
    let Some(device) = device() else { return };
    let identity = |i: usize| f64::from(i.is_multiple_of(4));
    let x = Tensor::from_fn([2, 9], |i| identity(i % 9) * (2.0 + i as f64 * 0.1));
    let compute = |v: &[Var<'_, f64>]| v[0].square().sum().item();
    let log = |device: &Device| {
        let tape = Tape::with_device(device.clone());
        let (x, v) = (tape.variable(&x), tape.constant(&x));
        let y = Spd::affine_invariant(3).log(&(x * 0.5), &x);
        let slope = tape.jvp((x.tanh() * x).sum(), &[(x, v)]);
        let values = [compute(&[y]), slope.item()];
        let gradients = tape.backward(y.square().sum() + slope);
        assert!(gradients.view(x).is_some());
        (values, gradients.wrt(x))
    };
    assert_eq!(log(&device), log(&Device::cpu()));
}

#[test]
fn tensors_stay_on_the_device_until_they_are_written_to() {
    let Some(device) = device() else { return };
    let mut x = tensor(&[4], 0);
    let sum = |x: &Tensor<f64>| Tape::with_device(device.clone()).constant(x).sum().item();
    let before = sum(&x);
    assert_eq!(before, sum(&x.clone()));
    x.data_mut()[2] += 1.0;
    assert!((sum(&x) - before - 1.0).abs() < 1e-14);
}

/// A row that is written several times has the last values, as on the host.
#[test]
fn rows_that_are_written_twice_keep_the_last_values() {
    let Some(device) = device() else { return };
    let rows: Vec<u32> = (0..100_000).map(|i| i * 7919 % 11).collect();
    let values = Tensor::from_fn([rows.len(), 3], |i| i as f64);
    let mut want = Tensor::zeros([11, 4]);
    want.set_rows(Some(&rows), 1..4, &values);
    let tape = Tape::<f64>::with_device(device);
    let on_device = (tape.constant(&values) + 0.0).to_tensor();
    assert!(!on_device.device().is_cpu());
    for _ in 0..10 {
        let mut got = Tensor::zeros([11, 4]);
        got.set_rows(Some(&rows), 1..4, &on_device);
        assert_eq!(got, want);
    }
}

/// A tensor whose number of bytes overflows, although its number of elements does not, is refused before any
/// memory is taken on the device.
#[test]
fn more_elements_than_memory_can_hold_are_refused() {
    let Some(device) = device() else { return };
    let refused = std::panic::catch_unwind(|| {
        let tape = Tape::<f32>::with_device(device);
        let sides = [[1 << 21, 1, 1], [1, 1 << 21, 1], [1, 1, 1 << 20]].map(|axes| tape.zeros(axes));
        tape.elementwise(SumOfThree, &sides).shape()
    });
    let message = refused.expect_err("2^62 elements");
    let message = message.downcast_ref::<String>().expect("a message");
    assert!(message.starts_with("sum of three: shape [2097152, 2097152, 1048576]"), "{message}");
}

struct SumOfThree;
impl Elementwise for SumOfThree {
    fn name(&self) -> &'static str {
        "sum of three"
    }
    fn eval<S: Scalar>(&self, x: &[S]) -> S {
        x[0] + x[1] + x[2]
    }
}

#[test]
fn empty_tensors_are_no_obstacle() {
    same!(0.0, [[0, 3], [3]], |v| v[0] * v[1]);
    same!(0.0, [[0, 3]], |v| v[0].sum_axis(0));
    same!(0.0, [[0, 3], [3, 2]], |v| v[0].matmul(v[1]));
    same!(0.0, [[2, 5], [3, 5, 0]], |v| v[0].matmul(v[1]));
    same!(0.0, [[3, 2, 0], [0, 4]], |v| v[0].matmul(v[1]));
    same!(0.0, [[0, 3], [2, 3], [2]], |v| v[0].linear(v[1], v[2]));
    same!(0.0, [[3, 0], [2, 0], [2]], |v| v[0].linear(v[1], v[2]));
    same!(0.0, [[2, 3], [0, 3], [0]], |v| v[0].linear(v[1], v[2]));
    same!(0.0, [[4, 3]], |v| v[0].gather(&[]));
    same!(0.0, [[0, 3], [0, 3]], |v| PoincareBall::new(-1.0).add(&v[0], &v[1]));
    same!(0.0, [[0, 3]], |v| v[0].softmax(-1).sum_axis(-1));
    same!(0.0, [[3, 0]], |v| v[0].sum_axis(-1));
}

#[test]
fn two_runs_give_the_same_bits() {
    let Some(device) = device() else { return };
    let inputs = [tensor(&[2, 70, 8], 0), tensor(&[2, 300, 8], 1), tensor(&[2, 300, 8], 2)];
    let once = || run(&device, &inputs, None, &|v| v[0].attend(v[1], v[2], 0.3, false).layer_norm_of_ones());
    assert_eq!(once(), once());
}

trait LayerNormOfOnes {
    fn layer_norm_of_ones(self) -> Self;
}
impl LayerNormOfOnes for Var<'_, f64> {
    fn layer_norm_of_ones(self) -> Self {
        let ones = self.tape().zeros([self.shape().width()]) + 1.0;
        self.layer_norm(ones, ones, 1e-5).softmax(1)
    }
}

//! Error messages for shapes that do not fit.

use cotangent::engine::formulas::{EuclideanDistance, ScaledDot};
use cotangent::engine::{Elementwise, Sparsity, loss};
use cotangent::prelude::*;

use crate::common::{PLACES, sparsity};

type Bad = fn(&Tape<f64>);

/// The panic message of a bad computation.
fn message(bad: Bad) -> String {
    let panic = std::panic::catch_unwind(|| bad(&Tape::new())).unwrap_err();
    panic.downcast_ref::<String>().cloned().unwrap_or_else(|| (*panic.downcast_ref::<&str>().unwrap()).into())
}

fn zeros<'t>(tape: &'t Tape<f64>, shape: &[usize]) -> Var<'t, f64> {
    tape.zeros(shape)
}

/// Shapes whose number of elements or of bytes overflows are refused before a kernel sees them.
#[test]
fn more_elements_than_memory_can_hold_are_refused() {
    struct Sum;
    impl Elementwise for Sum {
        fn name(&self) -> &'static str {
            "sum of three"
        }
        fn eval<S: Scalar>(&self, x: &[S]) -> S {
            x[0] + x[1] + x[2]
        }
    }
    // Three times this number wraps around to 2 in 64 bits.
    const WRAPS: usize = 6_148_914_691_236_517_206;
    const LARGE: usize = 1 << 40;
    let cases: &[(Bad, &str)] = &[
        (|_| drop(Tensor::new([3, WRAPS], vec![0.0_f64; 2])), "shape [3, 6148914691236517206]"),
        (|_| drop(Tensor::<f64>::zeros([(1 << 61) + (1 << 18)])), "shape [2305843009213956096]"),
        (|_| drop(Tensor::<f64>::zeros([2, 0, LARGE, LARGE])), "shape [2, 0, 1099511627776, 1099511627776]"),
        (|t| drop(zeros(t, &[2]).reshape([3, WRAPS]).shape()), "shape [3, 6148914691236517206]"),
        (|t| drop(zeros(t, &[LARGE, LARGE]).shape()), "shape [1099511627776, 1099511627776]"),
        (
            |t| {
                let sides = [[1 << 21, 1, 1], [1, 1 << 21, 1], [1, 1, 1 << 20]].map(|axes| zeros(t, &axes));
                t.elementwise(Sum, &sides);
            },
            "sum of three: shape [2097152, 2097152, 1048576]",
        ),
        (
            |t| drop(zeros(t, &[LARGE, 0]).matmul(zeros(t, &[0, LARGE])).shape()),
            "matmul: shape [1099511627776, 1099511627776]",
        ),
        (
            |t| drop(zeros(t, &[0, LARGE, 1]).broadcast_to([0, LARGE, LARGE]).shape()),
            "shape [0, 1099511627776, 1099511627776]",
        ),
        (
            |t| drop(zeros(t, &[1, 1, 1, 1]).conv2d(zeros(t, &[1, 1, 1, 1]), 1, LARGE).shape()),
            "conv2d: images [1, 1, 1, 1] and filters [1, 1, 1, 1]: \
             shape [1, 1, 1, 1, 2199023255553, 2199023255553]",
        ),
        (
            |t| drop(zeros(t, &[1, 1, 1, 1]).conv2d(zeros(t, &[1, 1, 1, 1]), 1, usize::MAX).shape()),
            "conv2d: images [1, 1, 1, 1]",
        ),
        (
            |t| drop(zeros(t, &[1, 2]).scatter_add(&[0], usize::MAX).shape()),
            "scatter_add: shape [18446744073709551615, 2]",
        ),
        (|t| drop(t.one_hot(&[0], usize::MAX).shape()), "shape [1, 18446744073709551615]"),
        (
            |t| drop(Var::concat(&[zeros(t, &[1 << 59, 0]); 32], 0).shape()),
            "concat: shape [18446744073709551615, 0]",
        ),
    ];
    for (bad, want) in cases {
        let got = message(*bad);
        assert!(
            got.contains(want) && got.contains("more elements than memory can hold"),
            "{got:?}, {want:?}"
        );
    }
    // An empty tensor takes no memory, however large its other axes are.
    assert!(Tensor::<f64>::zeros([LARGE, 0]).is_empty());
}

/// The message of a panic for shapes that do not fit names the operation and the shapes.
#[test]
fn bad_shapes_are_named() {
    let cases: &[(Bad, &str)] = &[
        (|t| drop(zeros(t, &[2, 3]).matmul(zeros(t, &[4, 5])).shape()), "matmul: [2, 3] × [4, 5]: matrices"),
        (
            |t| drop(zeros(t, &[2, 3]).matmul_nt(zeros(t, &[3, 5])).shape()),
            "matmul: [2, 3] × [3, 5] transposed",
        ),
        (|t| drop(zeros(t, &[3]).matmul(zeros(t, &[3, 5])).shape()), "matmul: [3] × [3, 5]"),
        (
            |t| drop(zeros(t, &[2, 3]).linear(zeros(t, &[5, 3]), zeros(t, &[3])).shape()),
            "matmul: a product [2, 5] needs a bias [5], not [3]",
        ),
        (|t| drop(zeros(t, &[2, 3]).sum_axis(2).shape()), "sum: shape [2, 3] has no axis 2"),
        (|t| drop(zeros(t, &[2, 3]).softmax(-3).shape()), "softmax: shape [2, 3] has no axis -3"),
        (
            |t| drop(zeros(t, &[2, 3]).slice(1, 2..4).shape()),
            "slice: 2..4 of axis 1 of shape [2, 3], which has 3",
        ),
        (
            |t| drop(zeros(t, &[2, 3]).permute(&[0, 0]).shape()),
            "permute: [0, 0] is not an order of the axes of shape [2, 3]",
        ),
        (|t| drop(zeros(t, &[2, 3]).reshape([7]).shape()), "reshape: [2, 3] has 6 elements, [7] has 7"),
        (|t| drop(zeros(t, &[2, 3]).take_along(&[0, 3]).shape()), "take_along: position 3 of rows of 3"),
        (
            |t| drop(zeros(t, &[2, 3]).take_along(&[0]).shape()),
            "take_along: 1 positions for 2 rows of shape [2, 3]",
        ),
        (
            |t| drop(zeros(t, &[2, 3]).scatter_add(&[0, 9], 4).shape()),
            "scatter_add: row 9 of a table of 4 rows",
        ),
        (|t| drop(zeros(t, &[2, 3]).top_k(4).1), "top_k: 4 of rows of 3, shape [2, 3]"),
        (|t| drop(t.one_hot(&[4], 3).shape()), "one_hot: position 4 of 3"),
        (
            |t| drop(Var::concat(&[zeros(t, &[2, 3]), zeros(t, &[3, 2])], 0).shape()),
            "concat: shapes [2, 3], [3, 2] differ in more than axis 0",
        ),
        (
            |t| drop(zeros(t, &[2, 3]).layer_norm(zeros(t, &[2]), zeros(t, &[3]), 0.0).shape()),
            "layer_norm: rows of shape [2, 3] need a gain and a bias [3], not [2], [3]",
        ),
        (
            |t| drop(zeros(t, &[1, 2, 3, 3]).conv2d(zeros(t, &[1, 3, 2, 2]), 1, 0).shape()),
            "conv2d: images [batch, channels, h, w]",
        ),
        (
            |t| drop(zeros(t, &[1, 2, 3, 3]).conv2d(zeros(t, &[1, 2, 4, 4]), 1, 0).shape()),
            "conv2d: a window [4, 4] does not fit an image [3, 3]",
        ),
        (|t| drop(zeros(t, &[3, 3]).max_pool2d(2, 0).shape()), "max_pool2d: a window [2, 2] of stride 0"),
        (
            |t| {
                drop(
                    zeros(t, &[1, 2, 3])
                        .attend(zeros(t, &[1, 4, 3]), zeros(t, &[1, 5, 3]), 1.0, false)
                        .shape(),
                )
            },
            "attend: queries [1, 2, 3], keys [1, 4, 3] and values [1, 5, 3] do not fit",
        ),
        (
            |t| {
                let (q, k) = (zeros(t, &[1, 2, 3]), zeros(t, &[1, 0, 3]));
                q.attend(k, k, 1.0, false);
            },
            "attend: there is nothing to pair with: rows [1, 2, 3], [1, 0, 3]",
        ),
        (
            |t| {
                let (q, v) = (zeros(t, &[1, 2, 3]), zeros(t, &[1, 2, 0]));
                q.attend(q, v, 1.0, false);
            },
            "attend: values [1, 2, 0] of no elements",
        ),
        (
            |t| drop(t.jvp(zeros(t, &[2]), &[(zeros(t, &[2]), zeros(t, &[3]))]).shape()),
            "jvp: a tangent of shape [3] for a variable of shape [2]",
        ),
        (
            |t| drop(loss::cross_entropy(zeros(t, &[2, 3]), &[0, 3], 0.0).shape()),
            "cross_entropy: label 3 of row 1, of 3 classes",
        ),
        (
            |t| drop(zeros(t, &[8]).sparse_matmul(&sparsity(4, 5, &PLACES), zeros(t, &[4, 2])).shape()),
            "sparse_matmul: rows [5, d] or [5, heads, d] are needed, not [4, 2]",
        ),
        (
            |t| drop(zeros(t, &[8]).sparse_matmul(&sparsity(4, 5, &PLACES), zeros(t, &[5, 3, 2])).shape()),
            "sparse_matmul: 8 elements, for each head, are needed, not [8], for [5, 3, 2]",
        ),
        (
            |t| drop(zeros(t, &[7]).segment_softmax(&sparsity(4, 5, &PLACES)).shape()),
            "segment_softmax: scores [8, …] of the elements are needed, not [7]",
        ),
        (
            |t| {
                let rows = [zeros(t, &[4, 2]), zeros(t, &[5, 3])];
                t.pairs(EuclideanDistance, rows, [], [], []).along(&sparsity(4, 5, &PLACES));
            },
            "pairs.along: rows [4, 2] and [5, 3] do not go together",
        ),
        (
            |t| {
                let rows = [zeros(t, &[3, 2, 4, 2]), zeros(t, &[3, 2, 5, 2])];
                t.pairs(ScaledDot, rows, [], [], [zeros(t, &[3])]).scores();
            },
            "parameters must be single numbers, or one for each entry of the last leading axis: shapes \
             [3, 2, 4, 2], [3, 2, 5, 2], [3]",
        ),
        (
            |t| {
                let rows = [zeros(t, &[4, 2, 3]), zeros(t, &[5, 2, 3])];
                t.pairs(ScaledDot, rows, [], [], [zeros(t, &[2])]).along(&sparsity(4, 5, &PLACES));
            },
            "pairs.along: parameters must be single numbers",
        ),
        (
            |_| drop(Sparsity::new(2, 3, &[(0, 0), (1, 3)])),
            "element (1, 3) of a sparse matrix of 2 rows and 3 columns",
        ),
    ];
    for (bad, want) in cases {
        let got = message(*bad);
        assert!(got.contains(want), "{got:?} should contain {want:?}");
    }
}

#[test]
#[should_panic(expected = "broadcast_to: [3, 4] does not broadcast to [4]")]
fn a_broadcast_to_fewer_axes_is_refused() {
    zeros(&Tape::new(), &[3, 4]).broadcast_to([4]);
}

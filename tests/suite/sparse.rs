//! Sparse matrices: products, softmax of their rows, and pair formulas at their elements, compared with
//! dense matrices.

use std::sync::Arc;

use cotangent::engine::formulas::{EuclideanDistance, ScaledDot};
use cotangent::engine::{Sparsity, check};
use cotangent::layers::score::UmbralCone;
use cotangent::prelude::*;

use crate::common::{
    PLACES, assert_close, assert_derivatives, assert_gradients, product, sparsity, tensor, value, weigh,
};

/// The dense matrix of one head.
fn dense(sparsity: &Sparsity, elements: &Tensor<f64>, head: usize) -> Tensor<f64> {
    let heads = elements.len() / sparsity.pairs().len();
    let mut matrix = Tensor::zeros([sparsity.rows(), sparsity.columns()]);
    for (e, &(i, j)) in sparsity.pairs().iter().enumerate() {
        matrix.row_mut(i as usize)[j as usize] += elements.data()[e * heads + head];
    }
    matrix
}

#[test]
fn sparse_products_are_those_of_the_matrices() {
    let small = sparsity(4, 5, &PLACES);
    let many: Vec<(u32, u32)> = (0..20_000).map(|e| (e * 7919 % 700, e * 104_729 % 300)).collect();
    for (matrix, d) in [(small, 3), (sparsity(700, 300, &many), 17)] {
        let count = matrix.pairs().len();
        let (w, x) = (tensor(&[count], 1), tensor(&[matrix.columns(), d], 2));
        let want = product(&dense(&matrix, &w, 0), &x, false, false);
        assert_close(&value([&w, &x], |[w, x]| w.sparse_matmul(&matrix, x)), &want, 1e-12);
        // Each head has its own elements.
        let (w, x) = (tensor(&[count, 2], 3), tensor(&[matrix.columns(), 2, d], 4));
        let have = value([&w, &x], |[w, x]| w.sparse_matmul(&matrix, x).swap_axes(0, 1));
        for head in 0..2 {
            let part = Tensor::from_fn([matrix.columns(), d], |i| x.data()[(i / d * 2 + head) * d + i % d]);
            let want = product(&dense(&matrix, &w, head), &part, false, false);
            let size = want.len();
            let have =
                Tensor::new(want.shape().clone(), have.data()[head * size..(head + 1) * size].to_vec());
            assert_close(&have, &want, 1e-12);
        }
    }
    let matrix = sparsity(4, 5, &PLACES);
    assert_derivatives(&[tensor(&[8], 1), tensor(&[5, 3], 2)], |v| weigh(v[0].sparse_matmul(&matrix, v[1])));
    assert_derivatives(&[tensor(&[8, 2], 1), tensor(&[5, 2, 3], 2)], |v| {
        weigh(v[0].sparse_matmul(&matrix, v[1]))
    });
    // A matrix without elements.
    let none = sparsity(2, 3, &[]);
    assert_eq!(
        value([&tensor(&[0], 1), &tensor(&[3, 2], 2)], |[w, x]| w.sparse_matmul(&none, x)),
        Tensor::zeros([2, 2])
    );
}

#[test]
fn segment_softmax_is_softmax_of_the_elements_of_each_row() {
    let matrix = sparsity(4, 5, &PLACES);
    let x = tensor(&[8, 2], 1);
    let y = value([&x], |[x]| x.segment_softmax(&matrix));
    for head in 0..2 {
        for row in 0..4 {
            let row_positions = || (0..8).filter(|&e| matrix.pairs()[e].0 == row).map(|e| e * 2 + head);
            let total: f64 = row_positions().map(|p| x.data()[p].exp()).sum();
            for p in row_positions() {
                assert!((y.data()[p] - x.data()[p].exp() / total).abs() < 1e-15);
            }
        }
    }
    // Scores so large that exp alone would overflow.
    let large = value([&x], |[x]| (x * 0.0 + 1e4).segment_softmax(&matrix));
    assert!((large.data()[0] - 1.0 / 3.0).abs() < 1e-15);
    assert_derivatives(&[tensor(&[8], 3)], |v| weigh(v[0].segment_softmax(&matrix)));
    assert_derivatives(std::slice::from_ref(&x), |v| weigh(v[0].segment_softmax(&matrix)));
    // Enough elements that several threads share them. Each row sums to 1.
    let many: Vec<(u32, u32)> = (0..50_000).map(|e| (e * 7919 % 900, 0)).collect();
    let matrix = sparsity(1000, 1, &many);
    let ones = value([&tensor(&[1, 3], 2)], |[x]| {
        let scores = x.tape().constant(&tensor(&[50_000, 3], 4));
        scores.segment_softmax(&matrix).sparse_matmul(&matrix, (x * 0.0 + 1.0).reshape([1, 3, 1]))
    });
    let want = Tensor::from_fn([1000, 3, 1], |i| f64::from(u8::from(i < 2700)));
    assert_close(&ones, &want, 1e-12);
}

/// The scores at the elements of a sparse matrix equal those of the same pairs among all pairs.
#[test]
fn sparse_pairs_are_some_of_all_pairs() {
    let matrix = sparsity(4, 5, &PLACES);
    let (x, y) = (tensor(&[4, 2, 3], 1), tensor(&[5, 2, 3], 2));
    let heights = |n| Tensor::from_fn([n, 2], |i| 0.3 + 0.1 * i as f64);
    let inputs = [x, y, heights(4), heights(5), Tensor::new([], vec![0.8])];
    fn heads_first<'t>(x: Var<'t, f64>) -> Var<'t, f64> {
        x.swap_axes(0, 1)
    }
    type Score = for<'t> fn(&Arc<Sparsity>, &[Var<'t, f64>], bool) -> Var<'t, f64>;
    macro_rules! score {
        ($formula:expr, |$v:ident| $left:expr, $right:expr, $params:expr) => {
            |matrix, $v, sparse| {
                let tape = $v[0].tape();
                let (x, left, right) = ([$v[0], $v[1]], $left, $right);
                if sparse {
                    return tape.pairs($formula, x, left, right, $params).along(matrix);
                }
                let ([x, y], left, right) =
                    (x.map(heads_first), left.map(heads_first), right.map(heads_first));
                let all = tape.pairs($formula, [x, y], left, right, $params).scores().permute(&[1, 2, 0]);
                let places: Vec<u32> = matrix.pairs().iter().map(|(i, j)| i * 5 + j).collect();
                all.reshape([20, 2]).gather(&places)
            }
        };
    }
    let scores: [Score; 3] = [
        score!(ScaledDot, |v| [], [], [v[4]]),
        score!(EuclideanDistance, |v| [], [], []),
        score!(UmbralCone::default(), |v| [v[2]], [v[3]], [v[4], v[4] * 0.1, v[4] * 0.7]),
    ];
    for score in scores {
        let tape = Tape::new();
        let v: Vec<Var<'_, f64>> = inputs.iter().map(|x| tape.variable(x)).collect();
        assert_close(&score(&matrix, &v, true).to_tensor(), &score(&matrix, &v, false).to_tensor(), 1e-14);
        assert_gradients(&inputs, |v| weigh(score(&matrix, v, true)) + v[2].sum() + v[3].sum() + v[4]);
        let directions: Vec<Tensor<f64>> = inputs.iter().map(|t| tensor(t.shape().axes(), 77)).collect();
        let worst = check::forward_mode(&inputs, &directions, |v| weigh(score(&matrix, v, true)));
        assert!(worst < 1e-10, "forward mode differs by {worst:e}");
    }
    // Enough pairs that several threads share them, with numbers of rows and parameters.
    let many: Vec<(u32, u32)> = (0..20_000).map(|e| (e * 7919 % 70, e * 104_729 % 300)).collect();
    let matrix = sparsity(70, 300, &many);
    let run = |sparse: bool, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let tape = Tape::new();
            let [x, y] = [70, 300].map(|n| tape.variable(&tensor(&[n, 3, 9], 5)));
            let [a, b] =
                [70, 300].map(|n| tape.variable(&Tensor::from_fn([n, 3], |i| 0.3 + 1e-3 * i as f64)));
            let params = [0.7, 0.1, 0.4].map(|p| tape.variable(&Tensor::new([], vec![p])));
            let scores = if sparse {
                tape.pairs(UmbralCone::default(), [x, y], [a], [b], params).along(&matrix)
            } else {
                let [x, y, a, b] = [x, y, a, b].map(heads_first);
                let places: Vec<u32> = matrix.pairs().iter().map(|(i, j)| i * 300 + j).collect();
                let all =
                    tape.pairs(UmbralCone::default(), [x, y], [a], [b], params).scores().permute(&[1, 2, 0]);
                all.reshape([21_000, 3]).gather(&places)
            };
            let value = scores.to_tensor();
            let gradients = tape.backward((scores * scores).sum());
            let gradient = |x: Var<'_, f64>, n: usize, width: usize| {
                assert!(gradients.view(x).is_some());
                gradients.wrt(x).reshape([n, width])
            };
            let rows = [gradient(x, 70, 27), gradient(y, 300, 27), gradient(a, 70, 3), gradient(b, 300, 3)];
            [vec![value], rows.to_vec(), params.map(|p| gradient(p, 1, 1)).to_vec()].concat()
        })
    };
    let have = run(true, 2);
    for (have, want) in have.iter().zip(&run(false, 1)) {
        assert_close(have, want, 1e-11);
    }
    assert_eq!(run(true, 1), have);
}

//! Products, scores and softmax of sparse matrices on the tape.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::kernels::sparse::{SegmentSoftmax, SparseMatmul, SparsePairs};
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::operations::pair::Pairs;
use crate::tape::var::Var;
use crate::tensor::sparsity::Sparsity;

impl<'t, T: Float> Var<'t, T> {
    /// The product of a sparse matrix and a dense one. `self` has the elements of the sparse matrix, in the
    /// order of [`Sparsity::pairs`]: `[elements]` and `[columns, d]` give `[rows, d]`. With one matrix for
    /// each head, `[elements, heads]` and `[columns, heads, d]` give `[rows, heads, d]`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn sparse_matmul(self, sparsity: &Arc<Sparsity>, dense: impl Into<Self>) -> Self {
        let operation = SparseMatmul { sparsity: Arc::clone(sparsity) };
        self.tape().record(Op::SparseMatmul(operation), &[self, dense.into()])
    }

    /// Softmax over the elements of each row of a sparse matrix, separately for each head. The shape
    /// `[elements, …]` stays.
    ///
    /// # Panics
    /// If the first axis is not as long as the matrix has elements.
    #[track_caller]
    pub fn segment_softmax(self, sparsity: &Arc<Sparsity>) -> Self {
        let operation = SegmentSoftmax { sparsity: Arc::clone(sparsity) };
        self.tape().record(Op::SegmentSoftmax(operation), &[self])
    }
}

impl<'t, T: Float> Pairs<'t, T> {
    /// The scores of those pairs that are elements of a sparse matrix. Rows `[n, d]` and `[m, d]` give
    /// `[elements]`; `[n, heads, d]` and `[m, heads, d]` give `[elements, heads]`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn along(&self, sparsity: &Arc<Sparsity>) -> Var<'t, T> {
        let operation = SparsePairs { score: self.kernels.score, sparsity: Arc::clone(sparsity) };
        self.tape.record(Op::SparsePairs(operation), &self.inputs)
    }
}

impl<T: Float> Operation<T> for SparseMatmul {
    fn name(&self) -> &'static str {
        "sparse_matmul"
    }

    kernel_passes!(SparseMatmul);

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let of_weights = tangents[0].map(|w| w.sparse_matmul(&self.sparsity, inputs[1]));
        let of_dense = tangents[1].map(|x| inputs[0].sparse_matmul(&self.sparsity, x));
        Var::sum_of([of_weights, of_dense]).expect("at least one tangent")
    }
}

impl<T: Float> Operation<T> for SegmentSoftmax {
    fn name(&self) -> &'static str {
        "segment_softmax"
    }

    kernel_passes!(SegmentSoftmax);

    #[track_caller]
    fn jvp<'t>(&self, _: &[Var<'t, T>], out: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let dx = tangents[0].expect("one input, one tangent");
        let rows: Vec<u32> = self.sparsity.pairs().iter().map(|(i, _)| *i).collect();
        let sums = (out * dx).scatter_add(&rows, self.sparsity.rows());
        out * (dx - sums.gather(&rows))
    }
}

impl<T: Float> Operation<T> for SparsePairs<T> {
    fn name(&self) -> &'static str {
        "pairs.along"
    }

    kernel_passes!(SparsePairs<T>);

    /// Gathers the left and the right row of every element, scores these as a batch of single pairs, and
    /// takes the derivative of that.
    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], out: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let [l, r, _] = self.score.counts();
        let (left, right): (Vec<u32>, Vec<u32>) = self.sparsity.pairs().iter().copied().unzip();
        let side_by_side = inputs.iter().enumerate().map(|(k, x)| match k {
            0 | 1 => {
                let rows = x.gather(if k == 0 { &left } else { &right });
                let width = rows.shape().width();
                rows.reshape([rows.shape().elements() / width, 1, width])
            }
            k if k < 2 + l + r => {
                let numbers = x.gather(if k < 2 + l { &left } else { &right });
                numbers.reshape([numbers.shape().elements(), 1])
            }
            _ => *x,
        });
        let side_by_side: SmallVec<[Var<'t, T>; 6]> = side_by_side.collect();
        let tape = out.tape();
        let scores = tape.record(Op::Pair(self.score.kernels()), &side_by_side).reshape(out.shape());
        let given: SmallVec<[(Var<'t, T>, Var<'t, T>); 6]> =
            inputs.iter().zip(tangents).filter_map(|(x, tangent)| tangent.map(|t| (*x, t))).collect();
        tape.jvp(scores, &given)
    }
}

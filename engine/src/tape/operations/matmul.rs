//! Products of matrices on the tape.

use crate::kernels::matmul::Matmul;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;

impl<T: Float> Var<'_, T> {
    #[track_caller]
    fn product(self, b: Self, transpose_a: bool, transpose_b: bool) -> Self {
        self.tape().record(Op::Matmul(Matmul { transpose_a, transpose_b }), &[self, b])
    }

    /// `A B`: `[…, m, k] × […, k, n] → […, m, n]`. The leading axes are equal, or one factor has
    /// none and is used for the whole batch.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn matmul(self, b: impl Into<Self>) -> Self {
        self.product(b.into(), false, false)
    }

    /// `A Bᵀ`: `[…, m, k] × […, n, k] → […, m, n]`, without a copy. As [`matmul`](Self::matmul)
    /// otherwise.
    #[track_caller]
    pub fn matmul_nt(self, b: impl Into<Self>) -> Self {
        self.product(b.into(), false, true)
    }

    /// `Aᵀ B`: `[…, k, m] × […, k, n] → […, m, n]`, without a copy. As [`matmul`](Self::matmul)
    /// otherwise.
    #[track_caller]
    pub fn matmul_tn(self, b: impl Into<Self>) -> Self {
        self.product(b.into(), true, false)
    }

    /// A linear layer of rows: `x Wᵀ + b`, `[…, rows, n]` with a weight `[m, n]` and a bias `[m]`:
    /// `[…, rows, m]`. As `x.matmul_nt(weight) + bias` but for the last bits, without storing the
    /// product. The bias does not broadcast.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn linear(self, weight: impl Into<Self>, bias: impl Into<Self>) -> Self {
        let operation = Op::Matmul(Matmul { transpose_a: false, transpose_b: true });
        self.tape().record(operation, &[self, weight.into(), bias.into()])
    }
}

impl<T: Float> Operation<T> for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    kernel_passes!(Matmul);

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], y: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let product = |a: Var<'t, T>, b| a.product(b, self.transpose_a, self.transpose_b);
        let of_a = tangents[0].map(|da| product(da, inputs[1]));
        let of_b = tangents[1].map(|db| product(inputs[0], db));
        let of_bias = tangents.get(2).copied().flatten().map(|dc| dc.broadcast_to(y.shape()));
        Var::sum_of([of_a, of_b, of_bias]).expect("at least one tangent")
    }
}

//! Rows in sets: `[…, n, d]` holds n rows of d coordinates for each place on the leading axes.

use cotangent_engine::{Broadcast, Float, Rows, Shape, Tensor, Var};

/// Collections of rows that can be summed over sets: tensors and tape variables of at least two axes.
///
/// Numbers for each row of a set, such as weights, have shape `[…, n]`. The leading axes of weights and
/// rows are equal, or one of the two has none and applies to all sets.
pub trait Sets: Rows {
    /// The sum over each set: `[…, n] → […]`.
    ///
    /// # Panics
    /// If the numbers have no axis.
    fn total(numbers: &Self::Scalar) -> Self::Scalar;

    /// One number for each set, to stand beside the set's rows: `[…] → […, 1]`.
    fn beside(numbers: &Self::Scalar) -> Self::Scalar;

    /// The combination `Σ wᵢ xᵢ` of each set: weights `[…, n]` and rows `[…, n, d]` to `[…, d]`.
    /// On a tape it is a matrix product.
    ///
    /// # Panics
    /// If the shapes do not fit.
    fn combine(weights: &Self::Scalar, rows: &Self) -> Self;

    /// One row for each set, to stand beside the set's rows: `[…, d] → […, 1, d]`.
    fn row_beside(&self) -> Self;
}

/// Panics unless weights `[…, n]` fit rows `[…, n, d]`.
#[track_caller]
fn check(weights: &Shape, rows: &Shape) {
    let fits = weights.axes().last().is_some_and(|n| rows.axes().iter().rev().nth(1) == Some(n));
    assert!(fits, "combine: weights {weights} of rows {rows}: […, n] and […, n, d] are needed");
}

impl<T: Float> Sets for Tensor<T> {
    #[track_caller]
    fn total(numbers: &Tensor<f64>) -> Tensor<f64> {
        let shape = numbers.shape();
        assert!(!shape.axes().is_empty(), "total: numbers for each row of a set are needed, not one number");
        let n = shape.width();
        Tensor::from_fn(shape.rows(), |i| numbers.data()[i * n..(i + 1) * n].iter().sum())
    }
    fn beside(numbers: &Tensor<f64>) -> Tensor<f64> {
        numbers.reshape(numbers.shape().with_width(1))
    }
    #[track_caller]
    fn combine(weights: &Tensor<f64>, rows: &Self) -> Self {
        check(weights.shape(), rows.shape());
        let (sets, n, d) = (rows.shape().rows().rows(), weights.width(), rows.width());
        let of_weights = weights.shape().rows();
        let Some(common) = Broadcast::common(&[of_weights.axes(), sets.axes()]) else {
            panic!("combine: the sets of weights {} and rows {} differ", weights.shape(), rows.shape())
        };
        let [w, x] = [&of_weights, &sets]
            .map(|s| Broadcast::new(s.axes(), common.axes()).expect("a common shape fits all"));
        let mut out = Tensor::zeros(common.with_width(d));
        let mut sum = vec![0.0; d];
        for p in 0..common.elements() {
            sum.fill(0.0);
            for i in 0..n {
                let weight = weights.data()[w.at(p) * n + i];
                for (sum, x) in sum.iter_mut().zip(rows.row(x.at(p) * n + i)) {
                    *sum += weight * x.to_f64();
                }
            }
            for (out, &sum) in out.row_mut(p).iter_mut().zip(&sum) {
                *out = T::nearest(sum);
            }
        }
        out
    }
    #[track_caller]
    fn row_beside(&self) -> Self {
        let axis = self.shape().rank() - 1;
        self.reshape(self.shape().insert(axis))
    }
}

impl<T: Float> Sets for Var<'_, T> {
    #[track_caller]
    fn total(numbers: &Self) -> Self {
        numbers.sum_axis(-1)
    }
    #[track_caller]
    fn beside(numbers: &Self) -> Self {
        numbers.reshape(numbers.shape().with_width(1))
    }
    #[track_caller]
    fn combine(weights: &Self, rows: &Self) -> Self {
        check(&weights.shape(), &rows.shape());
        let product = weights.insert_axis(weights.shape().rank() - 1).matmul(*rows); // […, 1, d]
        let shape = product.shape();
        product.reshape(shape.without(shape.rank() - 2))
    }
    #[track_caller]
    fn row_beside(&self) -> Self {
        self.insert_axis(self.shape().rank() - 1)
    }
}

//! The attentive read with a value for each pair: Gulcehre et al. 2019, section 3.1, eq. 1; relation
//! networks, section 3.2.

use cotangent_engine::{Float, Tensor, Var};

/// Z, by which an attentive read divides: eq. 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normaliser {
    /// 1: the result is a sum, as in relation networks.
    One,
    /// The sum of a query's weights: the result is a mean. Where that sum is 0, the result is 0. For logistic
    /// weights [`Weights::NormalisedSigmoid`](cotangent_engine::Weights) with [`One`](Self::One) is the same,
    /// and does not underflow.
    Sum,
}

/// Reads values that depend on query and key, `v_ij`: `r_i = Σ_j f_ij v_ij / Z_i`.
///
/// The weights f, `[…, n, m]`, come from a score and a function to [0, 1], for example
/// [`Attend::weigh`](crate::Attend::weigh) with the logistic function; the values are `[…, n, m, e]`. The
/// result is `[…, n, e]`. With values of its own for each pair it takes memory for all of them.
/// [`Attend::forward`](crate::Attend::forward) does not, where the values are those of the keys. Gulcehre
/// et al. 2019, eq. 1.
///
/// A relation network (Santoro et al. 2017) is `h(Σ_i r_i)`, with the values g(o_i, o_j), f = 1 and Z = 1,
/// or with f learned:
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::{Normaliser, attentive_read};
/// let tape = Tape::<f64>::new();
/// let objects = tape.constant(&Tensor::new([3, 1], vec![1.0, 2.0, 4.0]));
/// // g: the difference of two objects.
/// let values = objects.insert_axis(0) - objects.insert_axis(1); // [3, 3, 1]
/// let ones = tape.constant(&Tensor::new([3, 3], vec![1.0; 9]));
/// let read = attentive_read(ones, values, Normaliser::One); // [3, 1]
/// assert_eq!(read.to_tensor().data(), [4.0, 1.0, -5.0]);
/// let mean = attentive_read(ones, values, Normaliser::Sum);
/// assert!((mean.to_tensor().data()[0] - 4.0 / 3.0).abs() < 1e-15);
/// ```
///
/// # Panics
/// If the shapes do not fit.
#[track_caller]
pub fn attentive_read<'t, T: Float>(
    weights: Var<'t, T>,
    values: Var<'t, T>,
    normaliser: Normaliser,
) -> Var<'t, T> {
    let (shape, of_values) = (weights.shape(), values.shape());
    let axes = of_values.rank();
    assert!(
        axes > 2 && shape.axes() == &of_values.axes()[..axes - 1],
        "attentive_read: weights of shape {shape}, values of shape {of_values}"
    );
    let read = weights.insert_axis(axes - 2).matmul(values);
    let mut of_read: Vec<usize> = of_values.axes()[..axes - 2].to_vec();
    of_read.push(of_values.width());
    let read = read.reshape(of_read.as_slice());
    match normaliser {
        Normaliser::One => read,
        Normaliser::Sum => {
            let sum = weights.sum_axis(-1).insert_axis(axes - 2);
            // Where all weights are 0, so is what was read.
            let found = sum.to_tensor();
            let empty = Tensor::from_fn(found.shape().clone(), |i| {
                if found.data()[i] == T::zero() { T::one() } else { T::zero() }
            });
            read / sum.masked_fill(weights.tape().constant(&empty), 1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use cotangent_engine::{Tape, Weights, check};

    use super::*;
    use crate::attention::attend::Attend;
    use crate::attention::score::Dot;

    fn sines(shape: impl Into<cotangent_engine::Shape>, start: f64) -> Tensor<f64> {
        Tensor::from_fn(shape, |i| (start + 1.7 * i as f64).sin())
    }

    /// With values of the keys alone it is attention: softmax with Z = 1, and the logistic function.
    #[test]
    fn with_the_values_of_keys_it_is_attention() {
        let tape = Tape::<f64>::new();
        let [q, k, v] = [([2, 3, 4], 0.0), ([2, 5, 4], 0.5), ([2, 5, 6], 0.9)]
            .map(|(shape, start)| tape.constant(&sines(shape, start)));
        let of_pairs = v.insert_axis(1) + tape.constant(&Tensor::zeros([2, 3, 5, 6]));
        for weights in [Weights::Softmax, Weights::Sigmoid] {
            let attend = Attend::new(&Dot).weights(weights);
            let want = attend.forward(q, k, v).to_tensor();
            let got = attentive_read(attend.weigh(q, k), of_pairs, Normaliser::One).to_tensor();
            assert_eq!(got.shape(), want.shape());
            assert!(got.data().iter().zip(want.data()).all(|(x, y)| (x - y).abs() < 1e-14));
        }
    }

    /// A query without weights reads 0, whatever the normaliser.
    #[test]
    fn means_and_sums_of_values() {
        let tape = Tape::<f64>::new();
        let weights = tape.constant(&Tensor::new([2, 2], vec![0.5, 0.25, 0.0, 0.0]));
        let values = tape.constant(&Tensor::new([2, 2, 1], vec![1.0, 4.0, 7.0, 9.0]));
        let read = |normaliser| attentive_read(weights, values, normaliser).to_tensor();
        assert_eq!(read(Normaliser::One).data(), [1.5, 0.0]);
        assert_eq!(read(Normaliser::Sum).data(), [2.0, 0.0]);
    }

    #[test]
    fn gradients_of_reads() {
        let inputs = [sines([2, 3, 4], 0.3), sines([2, 3, 4, 2], 0.8)];
        for normaliser in [Normaliser::One, Normaliser::Sum] {
            let worst = check::gradients(&inputs, |v| {
                let read = attentive_read(v[0].sigmoid(), v[1], normaliser);
                (read * read).sum()
            });
            assert!(worst.relative < 1e-7, "{worst:?}");
        }
    }

    #[test]
    #[should_panic(expected = "attentive_read: weights of shape [2, 3], values of shape [2, 4, 1]")]
    fn shapes_must_fit() {
        let tape = Tape::<f64>::new();
        let [weights, values] = [sines([2, 3], 0.0), sines([2, 4, 1], 0.0)].map(|t| tape.constant(&t));
        attentive_read(weights, values, Normaliser::One);
    }
}

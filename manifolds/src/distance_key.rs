//! Keys of distances: what compares the distances of points from one of them, without a root or a logarithm.

/// A point y as the key of its distance from a point x takes it. The key grows with the distance d, and is as
/// accurate:
///
/// ```text
/// (‖y − x‖² − t²)/w
/// ```
///
/// Here w is the divisor of y. On the hyperboloid t is the difference of the time coordinates,
/// ⟨y − x, y + x⟩/(y₀ + x₀); elsewhere it is 0. With c = |κ| and S = sinh²(√c d/2), or
/// sin²(√c d/2) on the sphere:
///
/// | model | w | key |
/// |---|---|---|
/// | stereographic | the margin m of y | `m_x S/c` |
/// | hyperboloid, sphere | 1 | the squared chord, `4S/c` |
/// | half-space | the height of y | `4 x_n S` |
/// | Euclidean space | 1 | `d²` |
///
/// ```
/// use cotangent_manifolds::{ConstantCurvature, DistanceKey, PoincareBall};
/// let y = PoincareBall::new(-1.0).distance_key(&[0.5, 0.0]).expect("the ball has keys");
/// let columns = y.space.iter().map(|&coordinate| [coordinate]);
/// let [numerator] = DistanceKey::numerators(&[0.0, 0.0], columns, None);
/// assert_eq!(numerator / y.divisor, 0.25 / 0.75); // sinh²(½ ln 3)
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistanceKey<'a> {
    /// The coordinates whose differences count.
    pub space: &'a [f64],
    /// The time coordinate, on the hyperboloid.
    pub time: Option<f64>,
    /// What the numerator is divided by.
    pub divisor: f64,
}

impl<'a> DistanceKey<'a> {
    /// A point without a time coordinate.
    pub(crate) fn new(space: &'a [f64], divisor: f64) -> Self {
        DistanceKey { space, time: None, divisor }
    }

    /// The numerators of N points, from the space coordinates of x and the columns of theirs; `times` are x's
    /// and theirs, on the hyperboloid. Sums run over the coordinates in their order, so that a point has the
    /// same key beside others and alone.
    #[inline(always)]
    pub fn numerators<const N: usize>(
        x: &[f64],
        columns: impl Iterator<Item = [f64; N]>,
        times: Option<(f64, [f64; N])>,
    ) -> [f64; N] {
        let (mut squares, mut products) = ([0.0; N], [0.0; N]);
        let Some((time, times)) = times else {
            for (x, column) in x.iter().zip(columns) {
                for l in 0..N {
                    let d = column[l] - x;
                    squares[l] += d * d;
                }
            }
            return squares;
        };
        for (x, column) in x.iter().zip(columns) {
            for l in 0..N {
                let d = column[l] - x;
                squares[l] += d * d;
                products[l] += d * (column[l] + x);
            }
        }
        for l in 0..N {
            let d = products[l] / (times[l] + time);
            squares[l] -= d * d;
        }
        squares
    }
}

//! All distances from some points to some others: a product of matrices and a formula of pairs, in place of a
//! distance for every pair. Here: from the first nodes of a batch to negative samples that all its pairs
//! share.

use cotangent::engine::compiled::{Compiled, Pair};
use cotangent::engine::formulas::EuclideanDistance;
use cotangent::engine::{PairFormula, Pairs};
use cotangent::layers::score;
use cotangent::prelude::*;

use crate::graph::Neighbours;

/// The formula of all distances between some points of a space and some others.
#[derive(Clone)]
pub(crate) struct AllPairs {
    pub(crate) space: SpaceForm,
    pub(crate) formula: &'static Compiled<Pair>,
    pub(crate) params: Vec<f64>,
    /// The formula gives this times the distance.
    pub(crate) sign: f64,
    /// It takes points, in the coordinates of the ball if the space is hyperbolic, times this.
    pub(crate) scale: f64,
    /// Whether it takes a number of each point: half of the factor λ of the unit ball.
    pub(crate) takes_lambda: bool,
}

impl AllPairs {
    /// `None` on the sphere, which has no such formula.
    pub(crate) fn new(space: SpaceForm) -> Option<Self> {
        let kappa = space.kappa();
        if kappa > 0.0 {
            return None;
        }
        if kappa == 0.0 {
            return Some(AllPairs {
                space,
                formula: EuclideanDistance::compiled(),
                params: Vec::new(),
                sign: 1.0,
                scale: 1.0,
                takes_lambda: false,
            });
        }
        // The score is that of the unit ball, of which the ball of curvature κ is 1/√−κ times as large.
        let scale = (-kappa).sqrt();
        Some(AllPairs {
            space,
            formula: <score::Distance as PairFormula<1, 1, 2>>::compiled(),
            params: vec![scale.recip(), 0.0],
            sign: -1.0,
            scale,
            takes_lambda: true,
        })
    }

    /// Whether points have other coordinates than the formula takes.
    pub(crate) fn converts(&self) -> bool {
        !matches!(self.space, SpaceForm::PoincareBall(_) | SpaceForm::Euclidean(_))
    }
}

/// The ball whose factor λ the formula takes.
pub(crate) fn unit_ball() -> PoincareBall {
    PoincareBall::new(-1.0)
}

/// Points `[n, width]` as the formula of all pairs takes them, `[n, width of the formula]`, and the number of
/// each, `[n]`, if it takes one.
pub(crate) fn operands<'t, T: Float>(
    all_pairs: &AllPairs,
    x: Var<'t, T>,
) -> (Var<'t, T>, Option<Var<'t, T>>) {
    let rows = all_pairs.space.onto_ball(&x).unwrap_or(x) * all_pairs.scale;
    (rows, all_pairs.takes_lambda.then(|| 0.5 * unit_ball().lambda(&rows)))
}

/// Distances from each of the rows x, `[n, width]`, to each of y, `[m, width]`, in a space form: `[n, m]`.
/// `None` on the sphere: see [`AllPairs`].
pub(crate) fn distances<'t, T: Float>(space: SpaceForm, [x, y]: [Var<'t, T>; 2]) -> Option<Var<'t, T>> {
    let all_pairs = AllPairs::new(space)?;
    let [(x, of_x), (y, of_y)] = [x, y].map(|points| operands(&all_pairs, points));
    let AllPairs { formula, params, sign, .. } = all_pairs;
    let params: Vec<Var<'t, T>> = params.into_iter().map(|value| x.tape().scalar(value)).collect();
    Some(Pairs::compiled(formula, [x, y], [of_x.as_slice(), of_y.as_slice()], &params).scores() * sign)
}

/// 1 where a negative is a neighbour of the head, or the head, else 0: `[heads, negatives]`.
pub(crate) fn mask<T: Float>(neighbours: &Neighbours, heads: &[u32], negatives: &[u32]) -> Vec<T> {
    // The negatives in ascending order, with their columns.
    let mut sorted: Vec<(u32, usize)> = negatives.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let mut mask = vec![T::zero(); heads.len() * negatives.len()];
    for (&head, mask) in heads.iter().zip(mask.chunks_exact_mut(negatives.len())) {
        for &node in neighbours.of(head).iter().chain([&head]) {
            let first = sorted.partition_point(|&(negative, _)| negative < node);
            for &(_, column) in sorted[first..].iter().take_while(|&&(negative, _)| negative == node) {
                mask[column] = T::one();
            }
        }
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_apps_common::geometry::{Geometry, SpaceModel};

    /// Distances, and the gradients of a weighted sum of them.
    fn differentiated(
        rows: [&Tensor<f64>; 2],
        distances: impl for<'t> Fn([Var<'t, f64>; 2]) -> Var<'t, f64>,
    ) -> [Vec<f64>; 3] {
        let tape = Tape::new();
        let rows = rows.map(|x| tape.variable(x));
        let distances = distances(rows);
        let values = distances.to_tensor().data().to_vec();
        let weights = tape.constant(&Tensor::from_fn(distances.shape(), |i| (i as f64).sin()));
        let gradients = tape.backward((distances * weights).sum());
        let [x, y] = rows.map(|x| gradients.wrt(x).data().to_vec());
        [values, x, y]
    }

    #[test]
    fn distances_are_those_of_the_manifold_with_their_gradients() {
        for (model, kappa) in [
            (SpaceModel::Poincare, -2.0),
            (SpaceModel::Lorentz, -0.5),
            (SpaceModel::HalfSpace, -2.0),
            (SpaceModel::Euclidean, 0.0),
        ] {
            let geometry = Geometry::new(model, Some(vec![kappa])).unwrap();
            let (m, mut rng) = (geometry.manifold(), rng::stream(1, 0, 0));
            let mut rows = |n: usize| {
                let rows: Vec<f64> =
                    (0..n).flat_map(|_| m.random_point::<f64>(3, 4.0, &mut rng).to_vec()).collect();
                Tensor::new([n, rows.len() / n], rows)
            };
            let (x, y) = (rows(4), rows(5));
            let width = x.width();
            let by_pairs =
                differentiated([&x, &y], |rows| distances(geometry.single().unwrap(), rows).unwrap());
            let by_rows = differentiated([&x, &y], |[x, y]| {
                m.dist(&x.reshape([4, 1, width]), &y.reshape([1, 5, width]))
            });
            for ((a, b), tolerance) in by_pairs.iter().zip(&by_rows).zip([1e-13, 1e-12, 1e-12]) {
                let scale = b.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
                for (a, b) in a.iter().zip(b) {
                    assert!((a - b).abs() < tolerance * scale, "{model}: {a} {b}");
                }
            }
        }
        let tape = Tape::<f64>::new();
        let x = tape.variable(&Tensor::new([1, 2], vec![1.0, 0.0]));
        let sphere = Geometry::new(SpaceModel::Sphere, None).unwrap().single().unwrap();
        assert!(distances(sphere, [x, x]).is_none());
    }

    #[test]
    fn neighbours_and_the_node_itself_are_masked() {
        let mut builder = crate::graph::Builder::default();
        [("a", "b"), ("a", "c"), ("b", "c"), ("d", "a")].iter().for_each(|(u, v)| builder.add(u, v, None));
        let neighbours = builder.finish().neighbours();
        // Nodes a, b, c, d are 0, 1, 2, 3; negatives may repeat.
        let mask = mask::<f64>(&neighbours, &[0, 1], &[2, 3, 0, 2, 1]);
        assert_eq!(mask, [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
    }
}

//! A geometry that is chosen at run time: same bits as the geometry itself.

use cotangent_engine::{Tape, Tensor, Var, rng};
use cotangent_layers::{
    AnyGeometry, AnySpace, Cell, Concat, Curvature, Embedding, FeedForward, Geometry, Gru, GyrovectorSpace,
    LogisticRegression, Lstm, Sequence, UnidirectionalRegression, into_space,
};
use cotangent_manifolds::{Euclidean, Module, PoincareBall, ProjectedSphere, SpaceForm};

use super::*;

/// A model that needs every operation of a geometry.
#[derive(Clone, Debug, Module)]
struct Model<G: Geometry<f64>> {
    geometry: G,
    words: Embedding<G::Learned, f64>,
    encoder: Gru<G::Learned, f64>,
    second: Lstm<G::Learned, f64>,
    join: Concat<G::Learned, f64>,
    hidden: FeedForward<G::Learned, f64>,
    classes: LogisticRegression<G::Learned, f64>,
    others: UnidirectionalRegression<f64>,
}

impl<G: Geometry<f64>> Model<G> {
    fn new(geometry: G) -> Self {
        let (rng, manifold) = (&mut rng::stream(3, 0, 0), geometry.manifold());
        let mut model = Model {
            words: Embedding::uniform("words", manifold, 5, 2, 0.5, rng),
            encoder: Gru::new(manifold, 2, 3, rng),
            second: Lstm::new(manifold, 3, 3, rng),
            join: Concat::new(manifold, &[3, 3], 1, 3, rng),
            hidden: FeedForward::new(manifold, &[3, 3], cotangent_layers::Activation::TANH, rng),
            classes: LogisticRegression::new(manifold, 3, 2, rng),
            others: UnidirectionalRegression::new(3, 2, rng),
            geometry,
        };
        model.join.bias.value_mut().data_mut().fill(0.15);
        model.others.offsets.value_mut().data_mut().fill(0.3);
        model
    }

    /// Logits of both regressions: `[2, 4]`.
    fn forward<'t>(&self, tape: &'t Tape<f64>) -> Var<'t, f64> {
        let space = self.geometry.on(tape);
        let words = space.points(self.words.forward(tape, &[0, 1, 2, 3, 4, 0]));
        let states = self.encoder.forward(Sequence::new(words.arrange([3, 2])).with_lengths(&[3, 2]));
        let states = self.second.forward(states);
        let (last, all) = (states.last(), *states.points().coordinates());
        let weights = tape.constant(&Tensor::from_fn([2, 3], |i| 1.0 + i as f64));
        let midpoint = space.gyromidpoint(all.permute(&[1, 0, 2]), weights);
        let summed = space.gyromidpoint_from_sum(*last.coordinates(), |rows| {
            rows * tape.constant(&Tensor::from_fn([2, 1], |_| 0.5))
        });
        let distance = space.dist(midpoint, summed).insert_axis(1);
        let joined = self.join.forward(&[last, Point::new(space, midpoint)], Some(distance));
        let learned = space.to_learned(*joined.coordinates());
        let hidden = self.hidden.forward(joined);
        let logits = [self.classes.forward(hidden), self.others.forward(hidden)];
        logits[0] + logits[1] + learned.sum()
    }
}

/// The logits, and the gradients of all parameters, flattened.
fn results<G: Geometry<f64>>(model: &Model<G>) -> Vec<u64> {
    let tape = Tape::new();
    let logits = model.forward(&tape);
    let mut numbers = logits.to_tensor().data().to_vec();
    let gradients = tape.backward(logits.square().sum());
    model.each(|_, param| {
        let (_, gradient) =
            gradients.tensor(param.id(), param.value().width()).expect("every parameter counts");
        numbers.extend_from_slice(gradient.data());
    });
    numbers.into_iter().map(f64::to_bits).collect()
}

/// The initial state is the same, and so are results and gradients.
fn same_bits<G: Geometry<f64> + Into<AnyGeometry<f64>>>(geometry: G) {
    let (one, any) = (Model::new(geometry.clone()), Model::new(geometry.clone().into()));
    assert_eq!(one.state(), any.state(), "{geometry:?}");
    let found = results(&any);
    assert!(found.iter().all(|x| f64::from_bits(*x).is_finite()) && found.len() > 100);
    assert_eq!(found, results(&one), "{geometry:?}");
}

#[test]
fn a_chosen_geometry_has_the_bits_of_the_geometry() {
    same_bits(Euclidean);
    same_bits(PoincareBall::new(-0.7));
    same_bits(ProjectedSphere::new(0.3));
    same_bits(Curvature::new(-0.7));
}

#[test]
fn a_chosen_geometry_knows_its_learned_curvature() {
    assert_eq!(AnyGeometry::from(Curvature::<f64>::new(-0.7)).learned_kappa(), Some(-0.7));
    assert_eq!(AnyGeometry::<f64>::from(PoincareBall::new(-0.7)).learned_kappa(), None);
}

/// Between two spaces points go by their logarithms; points of one curvature stay, if it is the same one.
#[test]
fn points_go_from_space_to_space() {
    let tape = Tape::new();
    let curvatures = [0, 1].map(|_| AnyGeometry::from(Curvature::<f64>::new(-2.0)));
    let [own, other] = [0, 1].map(|i| curvatures[i].on(&tape));
    let v = tape.constant(&Tensor::new([1, 2], vec![0.3, -0.1]));
    let x = Point::new(own, own.exp0(v));
    let bits = |x: Point<AnySpace<'_, f64>, Var<'_, f64>>| x.coordinates().to_tensor().data().to_vec();
    // Each layer asks for the space by itself.
    assert_eq!(bits(into_space(curvatures[0].on(&tape), x)), bits(x));
    // Another curvature of the same value is another space.
    assert!(into_space(other, x).manifold() != x.manifold());
    for kappa in [-0.5, -4.0] {
        let ball: AnySpace<'_, f64> = PoincareBall::new(kappa).into();
        let found = into_space(ball, x);
        let want = PoincareBall::new(kappa).exp0(&v).to_tensor();
        close(&found.coordinates().to_tensor(), &want, 1e-15);
    }
}

#[test]
#[should_panic(expected = "parameter \"points\" is on PoincareBall(PoincareBall { kappa: -1.0 }), layers in")]
fn a_parameter_of_another_space_is_rejected() {
    let tape = Tape::<f64>::new();
    let rng = &mut rng::stream(1, 0, 0);
    let ball: SpaceForm = PoincareBall::new(-1.0).into();
    let regression = LogisticRegression::new(ball, 2, 2, rng);
    let space: AnySpace<'_, f64> = Euclidean.into();
    let _ = regression.forward(Point::new(space, tape.constant(&Tensor::zeros([1, 2]))));
}

#[test]
#[should_panic(expected = "these points are on PoincareBall(PoincareBall { kappa: -1.0 }), layers in")]
fn points_of_another_space_are_rejected() {
    let tape = Tape::<f64>::new();
    let ball: SpaceForm = PoincareBall::new(-1.0).into();
    let words = Embedding::<_, f64>::uniform("words", ball, 2, 2, 0.5, &mut rng::stream(1, 0, 0));
    let space = AnyGeometry::from(Curvature::new(-1.0)).on(&tape);
    let _ = space.points(words.forward(&tape, &[0]));
}

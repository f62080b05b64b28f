//! Identity of parameters: which are the same and which are separate, and what optimisers keep for them.

use cotangent_engine::{Gradients, Tape, Tensor};
use cotangent_manifolds::{
    Euclidean, Lorentz, Module, Param, Path, PoincareBall, ProjectedSphere, SpaceForm, Steps, Visitor,
    VisitorMut,
};
use cotangent_optim::{
    Accumulated, Algorithm, Average, GradientSource, OptimError, Optimiser, RiemannianAdam, RiemannianSgd,
    clip,
};

/// A clone is a separate parameter: on a tape, for an optimiser and for an average.
#[test]
fn clones_are_parameters_of_their_own() {
    let teacher = Param::new("w", Euclidean, Tensor::new([1], vec![3.0_f64]));
    let mut student = teacher.clone();
    assert_eq!((student.value(), student.name()), (teacher.value(), teacher.name()));
    *student.value_mut() = Tensor::new([1], vec![30.0]);
    let tape = Tape::new();
    let [a, b] = [&teacher, &student].map(|param| *param.on(&tape));
    let loss = (2.0 * a + 5.0 * b).sum();
    assert_eq!(loss.item(), 156.0);
    let gradients = tape.backward(loss);
    let slopes = [&teacher, &student].map(|param| gradients.wrt(param).data()[0]);
    assert_eq!(slopes, [2.0, 5.0]);

    // Six clones of one: momenta, averages and steps are those of six parameters.
    let mut many = vec![Param::new("w", Euclidean, Tensor::new([1], vec![0.0_f64])); 6];
    let mut alone = many.clone();
    let mut together = RiemannianSgd::new(1.0).unwrap().momentum(0.5).unwrap();
    let mut each = [(); 6].map(|()| together.clone());
    let mut average = Average::uniform();
    for _ in 0..3 {
        let tape = Tape::new();
        let loss = |params: &[Param<Euclidean, f64>]| {
            let term = |(i, param): (usize, &Param<Euclidean, f64>)| (i as f64 - 2.5) * param.on(&tape);
            params.iter().enumerate().map(term).reduce(|a, b| a + b).unwrap().sum()
        };
        let gradients = tape.backward(loss(&many) + loss(&alone));
        together.step(&mut many, &gradients).unwrap();
        for (param, sgd) in alone.iter_mut().zip(&mut each) {
            sgd.step(param, &gradients).unwrap();
        }
        average.update(&many).unwrap();
    }
    let values = |params: &[Param<Euclidean, f64>]| -> Vec<f64> {
        params.iter().map(|param| param.value().data()[0]).collect()
    };
    assert_eq!(values(&many), values(&alone));
    assert_eq!(values(&many), [0, 1, 2, 3, 4, 5].map(|i| (2.5 - f64::from(i)) * (1.0 + 1.5 + 1.75)));
    average.swap(&mut many).unwrap();
    let mean = (1.0 + 2.5 + 4.25) / 3.0;
    for (i, value) in values(&many).into_iter().enumerate() {
        assert!((value - (2.5 - i as f64) * mean).abs() < 1e-14, "{i}: {value}");
    }
}

/// Matrices by Adam, points by Riemannian SGD with a rate of its own: each as that optimiser alone.
#[test]
fn sgd_on_curved_manifolds_beside_adam() {
    let new = || {
        let ball = PoincareBall::new(-1.0);
        (
            Param::new("points", ball, Tensor::new([2, 2], vec![0.0_f64, 0.1, 0.2, 0.3])),
            Param::new("matrix", Euclidean, Tensor::new([2, 2], vec![1.0, 2.0, 3.0, 4.0])),
        )
    };
    let (mut together, mut alone) = (new(), new());
    let mut mixed = RiemannianAdam::new(0.01).unwrap().sgd_on_curved(7.0).unwrap();
    let (mut adam, mut sgd) = (RiemannianAdam::new(0.01).unwrap(), RiemannianSgd::new(0.07).unwrap());
    for _ in 0..5 {
        let tape = Tape::new();
        let loss = |model: &(Param<PoincareBall, f64>, Param<Euclidean, f64>)| {
            (model.0.on(&tape).coordinates().matmul(*model.1.on(&tape)) - 1.0).square().sum()
        };
        let gradients = tape.backward(loss(&together) + loss(&alone));
        mixed.step(&mut together, &gradients).unwrap();
        sgd.step(&mut alone.0, &gradients).unwrap();
        adam.step(&mut alone.1, &gradients).unwrap();
        assert_eq!(together.state(), alone.state());
    }
    assert!(RiemannianAdam::<f32>::new(0.01).unwrap().sgd_on_curved(-1.0).is_err());
}

/// Restoring the best model's values keeps the parameters' identity, and so the optimiser's state.
#[test]
fn a_restored_state_keeps_momenta() {
    let mut x = Param::new("x", Euclidean, Tensor::new([1], vec![0.0_f64]));
    let mut sgd = RiemannianSgd::new(1.0).unwrap().momentum(0.5).unwrap();
    let mut step = |x: &mut Param<Euclidean, f64>| {
        let tape = Tape::new();
        sgd.step(x, &tape.backward(x.on(&tape).sum())).unwrap();
        x.value().data()[0]
    };
    assert_eq!(step(&mut x), -1.0);
    let best = x.state();
    assert_eq!(step(&mut x), -2.5);
    x.load_state(best).unwrap();
    assert_eq!(step(&mut x), -1.0 - 1.75);
}

/// A parameter that a module has in two places counts once. Its gradient is the sum over both places,
/// and it takes one step.
#[test]
fn tied_weights_are_stepped_once() {
    struct Tied(Param<Euclidean, f64>);
    impl Module<f64> for Tied {
        fn visit<V: Visitor<f64>>(&self, path: &mut Path, visitor: &mut V) {
            path.within("encoder", |path| self.0.visit(path, visitor));
            path.within("decoder", |path| self.0.visit(path, visitor));
        }
        fn visit_mut<V: VisitorMut<f64>>(&mut self, path: &mut Path, visitor: &mut V) {
            path.within("encoder", |path| self.0.visit_mut(path, visitor));
            path.within("decoder", |path| self.0.visit_mut(path, visitor));
        }
    }
    let start = || Param::new("w", Euclidean, Tensor::new([2], vec![3.0, 4.0]));
    fn gradients<'t>(tape: &'t Tape<f64>, param: &Param<Euclidean, f64>) -> Gradients<'t, f64> {
        let places = [(); 2].map(|()| *param.on(tape));
        tape.backward((places[0] * places[1]).sum())
    }
    let (mut tied, mut plain) = (Tied(start()), start());
    assert_eq!(tied.count(), 2);
    assert_eq!(tied.state(), [("encoder".to_owned(), start().value().clone())]);
    let optimiser = || RiemannianSgd::new(0.1).unwrap().momentum(0.5).unwrap().clip(5.0).unwrap();
    let (mut of_tied, mut of_plain) = (optimiser(), optimiser());
    let (mut average, mut sum) = (Average::uniform(), Accumulated::new());
    for _ in 0..3 {
        let tape = Tape::new();
        let found = gradients(&tape, &tied.0);
        assert_eq!(clip::norm(&tied, &found), clip::norm(&tied.0, &found));
        sum.clear();
        sum.add(&tied, &found, 1.0);
        assert_eq!(sum.gradient(tied.0.id()).unwrap().to_dense(1, 2), found.wrt(&tied.0).data().to_vec());
        of_tied.step(&mut tied, &found).unwrap();
        let tape = Tape::new();
        let found = gradients(&tape, &plain);
        of_plain.step(&mut plain, &found).unwrap();
        assert_eq!(tied.0.value(), plain.value());
        average.update(&tied).unwrap();
    }
    average.swap(&mut tied).unwrap();
    assert_ne!(tied.0.value(), plain.value());
    average.swap(&mut tied).unwrap();
    assert_eq!(tied.0.value(), plain.value());
}

/// The parameters themselves are finite: no gradient is to blame.
#[test]
fn an_average_that_overflows_says_so() {
    let at = |x: f32| Param::new("x", Euclidean, Tensor::new([2, 1], vec![0.0, x]));
    let (mut average, mut x) = (Average::uniform(), at(f32::MAX));
    average.update(&x).unwrap();
    x.value_mut().data_mut()[1] = -f32::MAX;
    let error = average.update(&x).unwrap_err();
    assert_eq!(error, OptimError::Average { param: "x".into(), row: 1 });
}

/// A manifold that is chosen at run time: the same bits as the manifold itself, with every kind of step.
#[test]
fn a_space_form_steps_as_its_model() {
    fn moved<M: Steps>(
        manifold: M,
        mut step: impl FnMut(&mut Param<M, f64>, &Gradients<'_, f64>),
    ) -> Vec<f64> {
        let start = manifold.random_point::<f64>(3, 0.8, &mut cotangent_engine::rng::stream(5, 0, 0));
        let mut x = Param::new("x", manifold, Tensor::new([1, start.len()], start.to_vec()));
        for i in 0..3 {
            let tape = Tape::new();
            let weights = tape.constant(&Tensor::from_fn([1, start.len()], |k| ((i + k) as f64).cos()));
            let gradients = tape.backward((*x.on(&tape).coordinates() * weights).sum());
            step(&mut x, &gradients);
        }
        x.value().data().to_vec()
    }
    fn same<M: Steps + Into<SpaceForm>, A: Algorithm + std::fmt::Debug>(
        manifold: M,
        optimiser: Optimiser<A, f64>,
    ) {
        let mut one = optimiser.clone();
        let want = moved(manifold, |x, gradients| one.step(x, gradients).unwrap());
        let mut chosen = optimiser;
        let found = moved(manifold.into(), |x, gradients| chosen.step(x, gradients).unwrap());
        assert_eq!(found, want, "{manifold:?}: {chosen:?}");
    }
    fn all_same(manifold: impl Steps + Into<SpaceForm>) {
        let adam = || RiemannianAdam::new(0.05).unwrap();
        let sgd = || RiemannianSgd::new(0.05).unwrap();
        same(manifold, adam());
        same(manifold, adam().amsgrad());
        same(manifold, adam().decay(0.1).unwrap());
        same(manifold, adam().sgd_on_curved(2.0).unwrap());
        same(manifold, adam().by_retraction());
        same(manifold, sgd());
        same(manifold, sgd().momentum(0.5).unwrap());
    }
    all_same(Euclidean);
    all_same(PoincareBall::new(-1.0));
    all_same(Lorentz::new(-0.5));
    all_same(ProjectedSphere::new(1.0));
}

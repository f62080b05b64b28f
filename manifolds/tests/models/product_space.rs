//! Spaces chosen at run time compute what the types compute.

use std::ops::Range;

use cotangent_engine::{Row, Tape, Tensor, rng};
use cotangent_manifolds::{
    Barycentre, ConstantCurvature, DistanceKey, EntailmentCones, Euclidean, FactorVisitor, HalfSpace,
    Hyperbolic, HyperbolicVisitor, Lorentz, Manifold, Module, OriginFrame, PoincareBall, Product,
    ProductSpace, ProjectedSphere, Sets, SpaceForm, Sphere, Steps,
};

/// The results of all operations at the same random points.
fn results<M: Steps>(m: M, dim: usize) -> Vec<Vec<f64>> {
    let mut rng = rng::stream(5, 0, 0);
    let [x, y] = [1.2, 0.4].map(|radius| m.random_point::<f64>(dim, radius, &mut rng));
    let [u, v] = [&x, &x].map(|x| m.random_tangent(x, &mut rng));
    let gradient = Row::from(vec![0.3; x.len()].as_slice());
    let numbers = vec![m.dist(&x, &y), m.squared_dist(&x, &y), m.inner(&x, &u, &v), m.norm(&x, &u)];
    let rows = [
        m.origin(dim),
        m.exp(&x, &u),
        m.log(&x, &y),
        m.transport(&x, &y, &v),
        m.egrad_to_rgrad(&x, &gradient),
        m.project_tangent(&x, &gradient),
        m.project(&gradient),
        m.retract(&x, &u),
        m.geodesic(&x, &y, &0.3),
        m.descend(&x, &gradient, &0.1),
    ];
    m.contains(&x).unwrap();
    m.contains_tangent(&x, &u).unwrap();
    let on_tape = |x: &Row<f64>| Tensor::new([1, x.len()], x.to_vec());
    let tape = Tape::new();
    let (a, b) = (tape.variable(&on_tape(&x)), tape.variable(&on_tape(&y)));
    let gradients = tape.backward(m.dist(&a, &b).sum());
    let slopes = [a, b].map(|x| gradients.wrt(x).data().to_vec());
    let sizes = vec![m.ambient(dim) as f64, m.dimension(x.len()) as f64];
    [numbers, sizes].into_iter().chain(rows.map(|row| row.to_vec())).chain(slopes).collect()
}

/// Barycentres of the same random points, and what frames make of them.
fn means_and_frames<M: Barycentre + OriginFrame>(m: M, dim: usize) -> Vec<Vec<f64>> {
    let mut rng = rng::stream(8, 0, 0);
    let [x, y, z] = [(); 3].map(|()| m.random_point::<f64>(dim, 0.5, &mut rng));
    let points = Tensor::new([3, x.len()], [&x[..], &y[..], &z[..]].concat());
    let weights = Tensor::new([3], vec![0.2, 0.5, 1.1]);
    let features = m.barycentre_features(&points);
    let from_sum = m.barycentre_from_sum(&Tensor::combine(&weights, &features));
    let tensors = [m.barycentre(&points, &weights), features, from_sum];
    let frame = m.frame(&Row::from(vec![0.3; dim].as_slice()));
    let rows = [m.in_frame(&frame), frame, m.log_in_frame(&x, &y), m.origins(&x)];
    let (distance, volume) = m.dist_and_log_volume(&x, &y);
    let tensors = tensors.iter().map(|tensor| tensor.data().to_vec());
    tensors.chain(rows.iter().map(|row| row.to_vec())).chain([vec![distance, volume]]).collect()
}

#[test]
fn a_space_form_is_its_model() {
    fn same<M: Steps + Barycentre + OriginFrame + Into<SpaceForm>>(m: M) {
        let space: SpaceForm = m.into();
        assert_eq!(results(space, 3), results(m, 3));
        assert_eq!(results(ProductSpace::from(space), 3), results(m, 3));
        assert_eq!(means_and_frames(space, 3), means_and_frames(m, 3));
        assert_eq!(means_and_frames(ProductSpace::from(space), 3), means_and_frames(m, 3));
        assert_eq!(Module::<f64>::count(&(space, ProductSpace::from(space))), 0);
    }
    same(PoincareBall::new(-0.7));
    same(Lorentz::new(-0.7));
    same(HalfSpace::new(-0.7));
    same(Sphere::new(0.7));
    same(ProjectedSphere::new(0.7));
    same(Euclidean);
}

/// The spaces of curvatures `negative` and `positive`, and Euclidean space.
fn spaces(negative: f64, positive: f64) -> [SpaceForm; 6] {
    [
        PoincareBall::new(negative).into(),
        Lorentz::new(negative).into(),
        HalfSpace::new(negative).into(),
        Sphere::new(positive).into(),
        ProjectedSphere::new(positive).into(),
        Euclidean.into(),
    ]
}

#[test]
fn keys_order_points_by_their_distance() {
    for space in spaces(-0.7, 0.7) {
        let mut rng = rng::stream(6, 0, 0);
        let rows: Vec<Row<f64>> = (0..40).map(|_| space.random_point(3, 3.0, &mut rng)).collect();
        let keys: Vec<DistanceKey<'_>> = rows.iter().map(|row| space.distance_key(row).unwrap()).collect();
        let mut by_distance: Vec<(f64, f64)> = (1..40)
            .map(|i| {
                let times = keys[0].time.zip(keys[i].time.map(|time| [time]));
                let columns = keys[i].space.iter().map(|&x| [x]);
                let [numerator] = DistanceKey::numerators(keys[0].space, columns, times);
                (space.dist(&rows[0], &rows[i]), numerator / keys[i].divisor)
            })
            .collect();
        by_distance.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(by_distance.is_sorted_by(|a, b| a.1 < b.1), "{space:?}");
    }
}

#[test]
fn a_scale_of_distances_changes_the_curvature() {
    let scale = 1.3;
    let scaled = spaces(-0.7 / (scale * scale), 0.7 / (scale * scale));
    for (space, scaled) in spaces(-0.7, 0.7).into_iter().zip(scaled) {
        let mut rng = rng::stream(7, 0, 0);
        let [x, y] = [(); 2].map(|()| space.random_point::<f64>(3, 1.5, &mut rng));
        let distance = space.dist(&x, &y);
        let [x, y] = [x, y].map(|mut row| {
            space.rescale(&mut row, scale);
            row
        });
        assert!((scaled.dist(&x, &y) / distance - scale).abs() < 1e-13, "{space:?}");
    }
}

#[test]
fn only_hyperbolic_models_are_in_the_ball() {
    struct Name;
    impl HyperbolicVisitor for Name {
        type Output = &'static str;
        fn visit<M: Hyperbolic>(self, _: M) -> &'static str {
            M::NAME
        }
    }
    let (x, ball) = (Row::from([0.3_f64, -0.2]), PoincareBall::new(-0.7));
    let names = spaces(-0.7, 0.7).map(|space| space.hyperbolic(Name));
    let found = [Some(PoincareBall::NAME), Some(Lorentz::NAME), Some(HalfSpace::NAME), None, None, None];
    assert_eq!(names, found);
    let lorentz = Lorentz::new(-0.7);
    let in_ball = SpaceForm::from(lorentz).onto_ball(&ball.onto_hyperboloid(&x)).unwrap();
    assert!(in_ball.iter().zip(x.iter()).all(|(a, b)| (a - b).abs() < 1e-15), "{in_ball:?}");
    assert_eq!(SpaceForm::from(Euclidean).onto_ball(&x), None);
}

#[test]
fn cones_are_those_of_the_model() {
    let (x, y) = (Row::from([0.3, 0.5]), Row::from([-0.2, 0.4]));
    let energies = |space: SpaceForm| {
        [
            space.entailment_energy(&x, &y, 0.1),
            space.umbral_energy(&x, &y, 1.0),
            space.penumbral_energy(&x, &y, 4.0),
        ]
    };
    let (ball, half_space) = (PoincareBall::new(-0.7), HalfSpace::new(-0.7));
    let shadows = [half_space.umbral_energy(&x, &y, 1.0), half_space.penumbral_energy(&x, &y, 4.0)];
    assert_eq!(energies(ball.into()), [Some(ball.cone_energy(&x, &y, 0.1)), None, None]);
    let entailment = half_space.cone_energy(&x, &y, 0.1);
    assert_eq!(energies(half_space.into()), [Some(entailment), Some(shadows[0]), Some(shadows[1])]);
    assert_eq!(energies(Euclidean.into()), [None; 3]);
}

#[test]
fn a_product_space_is_the_product_of_its_factors() {
    let (ball, sphere) = (PoincareBall::new(-2.0), Sphere::new(0.5));
    let product = Product::new(Product::new(ball, 2, sphere), 5, Euclidean);
    let space = ProductSpace::new(&[(ball.into(), 2), (sphere.into(), 3)], Euclidean.into());
    assert_eq!(results(space, 7), results(product, 7));
    assert_eq!(means_and_frames(space, 7), means_and_frames(product, 7));
}

#[test]
fn a_visitor_sees_the_models_of_a_product_space() {
    struct Seen(Vec<(&'static str, Range<usize>)>);
    impl FactorVisitor for Seen {
        fn factor<M: Steps>(&mut self, _: &M, coordinates: Range<usize>) {
            self.0.push((M::NAME, coordinates));
        }
    }
    let space = ProductSpace::new(
        &[(PoincareBall::new(-1.0).into(), 2), (Sphere::new(1.0).into(), 2)],
        Euclidean.into(),
    );
    let mut seen = Seen(Vec::new());
    space.factors(10..17, &mut seen);
    assert_eq!(seen.0, [(PoincareBall::NAME, 10..12), (Sphere::NAME, 12..15), (Euclidean::NAME, 15..17)]);
}

#[test]
fn a_point_is_off_by_the_factor_that_is_off() {
    let space = ProductSpace::new(&[(PoincareBall::new(-1.0).into(), 2)], Sphere::new(1.0).into());
    let error = |x: &[f64]| space.contains(x).unwrap_err().to_string();
    space.contains(&[0.1, 0.2, 1.0, 0.0]).unwrap();
    assert!(error(&[0.9, 0.9, 1.0, 0.0]).contains("Poincaré ball"), "{}", error(&[0.9, 0.9, 1.0, 0.0]));
    assert!(error(&[0.1, 0.2, 1.0, 0.5]).contains("sphere"));
    assert!(error(&[0.1]).contains("product space"));
}

#[test]
#[should_panic(expected = "each factor but the last needs a dimension of 1")]
fn a_factor_has_a_dimension() {
    ProductSpace::new(&[(Euclidean.into(), 0)], Euclidean.into());
}

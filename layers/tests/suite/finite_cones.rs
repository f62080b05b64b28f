//! Scores by cones of a finite light source: their ancestors, their limit, far and near rows.

use cotangent_engine::{Float, Row, Tape, Tensor, rng};
use cotangent_layers::score::{EntailmentCone, FiniteUmbralCone, Score};
use cotangent_layers::{Attend, Attention};
use cotangent_manifolds::{EntailmentCones, HalfSpace, Manifold, PoincareBall, Point};
use rand::RngExt;

/// The score of two rows with γ = 1: the depth of their ancestor.
fn depth(score: &dyn Score<f64>, rows: [&[f64]; 2]) -> f64 {
    let tape = Tape::new();
    let [q, k] = rows.map(|x| tape.constant(&Tensor::new([1, x.len()], x.to_vec())));
    Attention::new(score, q.shape().width()).scores(q, k).item()
}

/// The last coordinate of a point at the distance r from the origin, outside a ball of this radius.
fn coordinate(r: f64, radius: f64) -> f64 {
    (r - radius).exp_m1().ln()
}

/// The ancestor's cone contains both points in the order of [`EntailmentCones`], and no cone farther out
/// does. Without a common cone the depth is the distance of the geodesic between the points.
#[test]
fn the_ancestor_is_the_deepest() {
    let (ball, mut rng) = (PoincareBall::new(-1.0), rng::stream(1, 41, 0));
    let point = |r: f64, angle: f64| Row::from([angle.cos(), angle.sin()].map(|x| (0.5 * r).tanh() * x));
    let (mut ancestors, mut geodesics) = (0, 0);
    for _ in 0..60 {
        let light = rng.random_range(0.1..1.0);
        let [r, s] = [0, 1].map(|_| light + rng.random_range(0.05..2.0));
        let angle: f64 = rng.random_range(0.0..3.1);
        let (q, k) = ([1.0, 0.0, coordinate(r, light)], [angle.cos(), angle.sin(), coordinate(s, light)]);
        let depth = depth(&EntailmentCone { light }, [&q, &k]);
        let (x, y) = (point(r, 0.0), point(s, angle));
        // How far, as an angle, both are from being in one cone whose apex has this depth.
        let energy = |depth: f64| {
            let apexes = (0..=2000).map(|i| point(depth, angle * f64::from(i) / 2000.0));
            let energies = apexes.map(|apex| {
                let [a, b] = [&x, &y].map(|x| ball.cone_energy(&apex, x, 0.5 * light.sinh()));
                a.max(b)
            });
            energies.fold(f64::INFINITY, f64::min)
        };
        if depth > light {
            ancestors += 1;
            let (least, beyond) = (energy(depth), energy(depth + 0.02));
            assert!(least < 5e-3 && beyond > 1.5 * least && beyond > 2e-3, "{depth}: {least} {beyond}");
        } else {
            geodesics += 1;
            assert!(energy(light + 1e-9) > 1e-3, "{depth} {light}");
            let log = ball.log(&x, &y);
            let on_it = |i: i32| Row::from([log[0], log[1]].map(|v| v * f64::from(i) / 2000.0));
            let distance = |i| ball.dist(&ball.origin(2), &ball.exp(&x, &on_it(i)));
            let nearest = (0..=2000).map(distance).fold(f64::INFINITY, f64::min);
            assert!((nearest - depth).abs() < 1e-4, "{depth} {nearest}");
        }
    }
    assert!(ancestors > 10 && geodesics > 10, "{ancestors} {geodesics}");
}

/// From a light source that is far away, shadows are those of infinite light: a depth is minus the logarithm
/// of a height, but for a constant.
#[test]
fn distant_light_is_infinite_light() {
    let (space, mut rng) = (HalfSpace::new(-1.0), rng::stream(1, 42, 0));
    let (away, radius) = (9.0_f64, 0.5);
    for _ in 0..200 {
        let [x, y] = [0, 1].map(|_| {
            let [a, b] = [0, 1].map(|_| rng.random_range(-1.5..1.5));
            Row::from([a, b, rng.random_range(0.1..0.9)])
        });
        // The light is at the height e^away. There it is brought to the origin.
        let row = |x: &Row<f64>, size: f64| {
            let scaled = Row::from([0, 1, 2].map(|i| x[i] * (-away).exp()));
            let ball = Point::new(space, scaled).to::<PoincareBall>();
            let origin = PoincareBall::new(-1.0).origin(3);
            let r = PoincareBall::new(-1.0).dist(&origin, ball.coordinates());
            let direction = ball.coordinates();
            [direction[0], direction[1], direction[2], coordinate(r, size)]
        };
        let height =
            |score: &dyn Score<f64>, size| (away - depth(score, [&row(&x, size), &row(&y, size)])).exp();
        let (have, want) =
            (height(&EntailmentCone { light: away }, away), space.penumbral_ancestor(&x, &y, 1.0));
        assert!((have / want - 1.0).abs() < 1e-3, "penumbral {x:?} {y:?}: {have} {want}");
        let (have, want) =
            (height(&FiniteUmbralCone { radius }, radius), space.umbral_ancestor(&x, &y, radius));
        assert!((have / want - 1.0).abs() < 1e-3, "umbral {x:?} {y:?}: {have} {want}");
    }
}

/// Scores and their gradients are finite for rows of every length, equal, opposite and without a direction.
#[test]
fn far_and_near_rows_have_finite_scores() {
    fn check<T: Float>() {
        let lengths = (-6..=6).map(|exponent| 10.0_f64.powi(exponent)).chain([0.0]);
        let ups = [[1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], [-1.0, 0.0, -1.0], [0.6, 0.8, -1.0], [0.0, 0.0, 1.0]];
        let rows: Vec<T> =
            lengths.flat_map(|length| ups.map(|row| row.map(|x| T::nearest(length * x)))).flatten().collect();
        let rows = Tensor::new([rows.len() / 3, 3], rows);
        for score in [&EntailmentCone::default() as &dyn Score<T>, &FiniteUmbralCone::default()] {
            let tape = Tape::<T>::new();
            let x = tape.variable(&rows);
            let attend = Attend::new(score);
            let scores = attend.scores(x, x).to_tensor();
            assert!(scores.data().iter().all(|s| s.is_finite() && *s >= T::zero()), "{score:?}: {scores}");
            let gradients = tape.backward(attend.forward(x, x, tape.constant(&rows)).sum());
            let gradient = gradients.wrt(x);
            assert!(gradient.data().iter().all(|g| g.is_finite()), "{score:?}: {gradient}");
        }
    }
    check::<f32>();
    check::<f64>();
}

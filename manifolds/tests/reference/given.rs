//! Given points: the same point in other models, distances, and angles of cones, from exact arithmetic on the
//! `f64` coordinates of a point.

use super::*;
use cotangent_manifolds::Point;

/// Compares each of so many results of a table, by its case, its name and its value.
fn each(table: &str, count: usize, compare: impl Fn(&Case, &str, &[f64])) {
    let cases = read(table);
    assert_eq!(cases.iter().map(|case| case.results.len()).sum::<usize>(), count);
    for case in &cases {
        case.results.iter().for_each(|result| compare(case, &result.operation, &result.value));
    }
}

/// The coordinates of a point in another model.
fn converted<M, N>(m: M, x: Row<f64>) -> Row<f64>
where
    M: Isometric<N>,
    N: ConstantCurvature,
{
    Point::new(m, x).to::<N>().coordinates().clone()
}

/// 1 − √c‖x‖ from 0.7 down to 1e-12, also beside the pole that the half-space has at infinity.
#[test]
fn conversions_of_given_points_are_exact_to_a_few_units() {
    each(include_str!("conversions.txt"), 84, |case, model, want| {
        let (kappa, x) = (case.kappa, case.row("x"));
        let ball = PoincareBall::new;
        let got = match (case.kind.as_str(), model) {
            ("ball", "lorentz") => converted::<_, Lorentz>(ball(kappa), x),
            ("ball", "klein") => converted::<_, Klein>(ball(kappa), x),
            ("ball", "half_space") => converted::<_, HalfSpace>(ball(kappa), x),
            ("klein", "lorentz") => converted::<_, Lorentz>(Klein::new(kappa), x),
            ("klein", "ball") => converted::<_, PoincareBall>(Klein::new(kappa), x),
            ("klein", "half_space") => converted::<_, HalfSpace>(Klein::new(kappa), x),
            ("half_space", "lorentz") => converted::<_, Lorentz>(HalfSpace::new(kappa), x),
            ("half_space", "ball") => converted::<_, PoincareBall>(HalfSpace::new(kappa), x),
            ("lorentz", "half_space") => converted::<_, HalfSpace>(Lorentz::new(kappa), x),
            (from, to) => panic!("{from} to {to}"),
        };
        let what = format!("{} to {model}, {kappa}: {got:?}, not {want:?}", case.kind);
        if (case.kind.as_str(), model) == ("ball", "half_space") {
            assert!(got.iter().zip(want).all(|(g, w)| (g / w - 1.0).abs() < 4e-15), "{what}");
        } else {
            assert!(error(&got, want) <= 1e-15, "{what}");
        }
    });
}

#[test]
fn distances_of_given_points_are_exact_to_a_few_units() {
    each(include_str!("distances.txt"), 26, |case, _, want| {
        let [x, y] = ["x", "y"].map(|name| case.row::<f64>(name));
        let d = match case.kind.as_str() {
            "klein" => Klein::new(case.kappa).dist(&x, &y),
            "half_space" => HalfSpace::new(case.kappa).dist(&x, &y),
            kind => panic!("{kind}"),
        };
        let what = format!("{}, {}: {x:?} {y:?}: {d}, not {want:?}", case.kind, case.kappa);
        assert!((d / want[0] - 1.0).abs() < 2e-15, "{what}");
    });
}

/// Accurate to a few units. For tiny angles the limit is what the bivector's square has in twice the
/// precision: u² of the squared angle. Points of the hyperboloid are given by their space coordinates.
#[test]
fn angles_of_given_points_are_exact_to_their_conditioning() {
    let bound = |angle: f64| 4e-15 * angle + 32.0 * (f64::EPSILON / 2.0).powi(2) / angle;
    each(include_str!("angles.txt"), 34, |case, _, want| {
        let [x, y] = ["x", "y"].map(|name| case.row::<f64>(name));
        let angle = match case.kind.as_str() {
            "ball" => PoincareBall::new(case.kappa).cone_angle(&x, &y),
            "lorentz" => {
                let m = Lorentz::new(case.kappa);
                let [p, q] = [&x, &y].map(|space| m.project(&Row::from([0.0, space[0], space[1], space[2]])));
                m.cone_angle(&p, &q)
            }
            kind => panic!("{kind}"),
        };
        let what = format!("{}, {}: {x:?} {y:?}: {angle}, not {want:?}", case.kind, case.kappa);
        assert!((angle - want[0]).abs() < bound(want[0]), "{what}");
    });
}

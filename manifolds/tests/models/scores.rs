//! Attention scores.

use cotangent_engine::{Dual, PairFormula, Scalar};
use cotangent_manifolds::scores::PolarDistance;

/// The slope of the distance between two points by one's distance from the origin does not depend on how
/// far the other is.
#[test]
fn slopes_of_polar_distances_from_afar() {
    let slope = |r: f64, square: f64| {
        let c = Dual::<f64, 1>::constant;
        let s = Dual { value: 3.0, partials: [1.0] };
        let far = [c(r), c(Scalar::sinh(r.min(PolarDistance::NEAR)))];
        let score = PolarDistance::eval(c(square), far, [s, s.sinh()], [c(1.0), c(0.0)]);
        -score.partials[0]
    };
    for square in [1e-4, 0.01, 1.0, 4.0] {
        let near = slope(43.0, square);
        for r in [45.0, 1e3, 1e8, 1e15] {
            assert!((slope(r, square) - near).abs() < 1e-12, "{r} {square}: {} {near}", slope(r, square));
        }
    }
    assert!((slope(1e8, 0.0) + 1.0).abs() < 1e-12, "on one ray");
}

//! The maps from activations to points: pseudo-polar coordinates, ψ and ξ.

use cotangent_engine::{Float, Row, Tensor, check};
use cotangent_manifolds::{HalfSpace, Lorentz, Manifold};

use crate::weighted;

/// The radius is the distance from the origin, whatever the length of the direction. Gulcehre et al.
/// 2019, section 4.1.
#[test]
fn pseudo_polar_radius_is_distance() {
    for kappa in [-2.5, -1.0, -0.37] {
        let m = Lorentz::new(kappa);
        for scale in [1.0, 1e-150, 1e300, 1e-12] {
            for radius in [1e-9, 0.3, 2.0, 15.0, 100.0] {
                let d = [1.0, -2.0, 2.0].map(|d| d * scale);
                let x = m.pseudo_polar(&Row::from([d[0], d[1], d[2], radius]));
                m.contains(&x).unwrap();
                // Not by `dist`, whose chord cancels so far from the origin.
                let c = f64::sqrt(-kappa);
                let distance = x[1..].iter().fold(0.0, |m: f64, x| m.hypot(c * x)).asinh() / c;
                assert!((distance / radius - 1.0).abs() < 1e-14, "{kappa} {scale} {radius}: {x:?}");
                for (x, d) in x[1..].iter().zip(d) {
                    let want = (c * radius).sinh() / c * (d / scale / 3.0);
                    assert!((x / want - 1.0).abs() < 1e-13, "{kappa} {scale} {radius}: {x} {want}");
                }
                let mirrored = m.pseudo_polar(&Row::from([-d[0], -d[1], -d[2], -radius]));
                assert_eq!(mirrored, x);
            }
        }
    }
}

/// Every finite row has a point, in f64 and in f32.
#[test]
fn maps_of_activations_are_safe_for_any_finite_row() {
    fn all<T: Float>() {
        let extremes =
            [0.0, 1e-320, -1e-300, 1e-40, 1.0, -40.0, 90.0, -800.0, 720.0, 1e10, -1e30, 1e300, -f64::MAX];
        let largest = T::LARGEST;
        for (a, b, c) in extremes
            .iter()
            .flat_map(|a| extremes.iter().map(move |b| (a, b)))
            .flat_map(|(a, b)| extremes.map(|c| (*a, *b, c)))
        {
            let row = Row::from([a, b, c].map(|x: f64| T::nearest(x.max(-largest).min(largest))));
            for kappa in [-1.0, -1e-3, -40.0] {
                let l = Lorentz::new(kappa);
                l.contains(&l.pseudo_polar(&row)).unwrap_or_else(|e| panic!("{row:?} {kappa}: {e}"));
            }
            let h = HalfSpace::new(-1.0);
            h.contains(&h.psi(&row)).unwrap_or_else(|e| panic!("{row:?}: {e}"));
            h.contains(&h.xi(&row, 2.0)).unwrap_or_else(|e| panic!("{row:?}: {e}"));
        }
    }
    all::<f64>();
    all::<f32>();
}

/// Tseng et al. 2023, eq. 10 and 11.
#[test]
fn horospherical_maps() {
    let h = HalfSpace::new(-1.0);
    for last in [-30.0_f64, -1.0, 0.0, 0.5, 20.0] {
        let row = Row::from([1.5, -2.0, last]);
        let (psi, xi) = (h.psi(&row), h.xi(&row, 3.0));
        let f = 3.0 / (1.0 + (-last).exp());
        for (got, want) in psi.iter().zip([1.5 * last.exp(), -2.0 * last.exp(), last.exp()]) {
            assert!((got / want - 1.0).abs() < 1e-15, "{last}: {psi:?}");
        }
        for (got, want) in xi.iter().zip([1.5 * f, -2.0 * f, f]) {
            assert!((got / want - 1.0).abs() < 1e-15, "{last}: {xi:?}");
        }
    }
    assert_eq!(h.xi(&Row::from([0.0, 100.0]), 3.0)[1], 3.0);
}

#[test]
fn gradients_of_maps() {
    let x = Tensor::from_fn([4, 3], |i| (1.0 + 1.7 * i as f64).sin());
    let (l, h) = (Lorentz::new(-0.6), HalfSpace::new(-0.6));
    let x = std::slice::from_ref(&x);
    let pseudo_polar = check::gradients(x, |v| weighted(l.pseudo_polar(&v[0])));
    let (psi, xi) = (
        check::gradients(x, |v| weighted(h.psi(&v[0]))),
        check::gradients(x, |v| weighted(h.xi(&v[0], 2.0))),
    );
    for worst in [pseudo_polar, psi, xi] {
        assert!(worst.relative < 1e-8, "{worst:?}");
    }
}

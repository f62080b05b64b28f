use cotangent_engine::Domain;
use cotangent_engine::domain::margin;

#[test]
fn margin_is_exact_near_the_boundary() {
    // 0.6² + 0.8² in f64: the margin consists of the rounding errors of both coordinates.
    // Exact rationals: 0.6 = 5404319552844595/2^53, 0.8 = 3602879701896397/2^52.
    let (a, b) = (5_404_319_552_844_595_i128, 2 * 3_602_879_701_896_397_i128);
    let exact = ((1_i128 << 106) - a * a - b * b) as f64 / 2f64.powi(106);
    assert_eq!(margin(&[0.6_f64, 0.8], -1.0), exact);
    assert_eq!(margin(&[0.0_f64; 3], -1.0), 1.0);
    assert_eq!(margin(&[1.0_f32 - f32::EPSILON / 2.0], -1.0), 1.1920928955078125e-7 - 2f64.powi(-48));
}

#[test]
fn points_inside_are_untouched_and_points_outside_land_inside() {
    for kappa in [-1.0, -0.37, -2.5, -1e-12] {
        let scale = (-1.0_f64 / kappa).sqrt();
        let mut inside = [0.3 * scale, -0.4 * scale];
        let before = inside;
        Domain::Ball.settle(&mut inside, kappa);
        assert_eq!(inside, before);
        for outside in [[1.0, 0.0], [0.6, 0.8000001], [1e200, -1e200], [f64::INFINITY, 1.0], [1e-3, 5.0]] {
            let mut row = outside.map(|x| x * scale);
            Domain::Ball.settle(&mut row, kappa);
            let m = margin(&row, kappa);
            assert!(m > 0.0 && m < 1e-14, "{outside:?} {kappa}: {row:?} margin {m}");
            let mut row = outside.map(|x| (x * scale) as f32);
            Domain::Ball.settle(&mut row, kappa);
            let m = margin(&row, kappa);
            assert!(m > 0.0 && m < 1e-5, "{outside:?} {kappa}: {row:?} margin {m}");
        }
    }
    let mut nan = [f64::NAN, 1.0];
    Domain::Ball.settle(&mut nan, -1.0);
    assert!(nan[0].is_nan());
}

#[test]
fn hyperboloid_rows_satisfy_their_equation() {
    for kappa in [-1.0, -0.37] {
        let mut row = [7.0_f64, 3.0, 4.0];
        Domain::Hyperboloid.settle(&mut row, kappa);
        assert_eq!(row, [(25.0 - 1.0 / kappa).sqrt(), 3.0, 4.0]);
        let mut huge = [0.0_f32, f32::INFINITY, 1.0];
        Domain::Hyperboloid.settle(&mut huge, kappa);
        assert!(huge.iter().all(|x| x.is_finite()) && huge[0] == huge[1]);
        let before = huge;
        Domain::Hyperboloid.settle(&mut huge, kappa);
        assert_eq!(huge, before);
    }
}

#[test]
fn rows_whose_squares_overflow_land_on_the_sphere() {
    let mut row = [3e200_f64, -4e200];
    Domain::Sphere.settle(&mut row, 0.25);
    assert!((row[0] - 1.2).abs() < 1e-15 && (row[1] + 1.6).abs() < 1e-15, "{row:?}");
}

use cotangent_engine::{Float, Invariant, Metric, Row, RowFormula, Rows, Scalar, Vector};

/// The triples of basis vectors whose wedges are tested.
const VECTORS: [[usize; 3]; 7] =
    [[0, 1, 1], [1, 0, 0], [0, 2, 2], [1, 2, 2], [0, 1, 2], [2, 0, 0], [2, 1, 1]];

/// The wedge whose number in [`VECTORS`] is the parameter.
#[derive(Clone, Copy)]
struct Areas;
impl RowFormula<2, 3, 8, 1> for Areas {
    const NAME: &'static str = "areas";
    const VECTOR: bool = false;
    const METRIC: Metric = Metric::Space;
    const BASIS: [Vector; 3] = [Vector::Input(0), Vector::Input(1), Vector::Difference(1, 0)];
    const INVARIANTS: [Invariant; 8] = {
        let mut invariants = [Invariant::Param(0); 8];
        let mut k = 0;
        while k < 7 {
            let [a, b, c] = VECTORS[k];
            invariants[k] = Invariant::Wedge(a, b, c);
            k += 1;
        }
        invariants
    };
    fn eval<S: Scalar>([first, more @ .., number]: [S; 8]) -> [S; 1] {
        let mut area = first;
        for (k, wedge) in more.into_iter().enumerate() {
            area = S::select(S::constant(k as f64 + 0.5).lt(number), wedge, area);
        }
        [area]
    }
}

/// The wedges of the vectors a, b and b − a.
fn wedges<T: Float>(a: &[T], b: &[T]) -> impl Iterator<Item = ([usize; 3], f64)> {
    let rows = [a, b].map(Row::from);
    let area = move |k: usize| Row::scalar(Areas, rows.each_ref(), [&(k as f64)]);
    VECTORS.into_iter().enumerate().map(move |(k, vectors)| (vectors, area(k)))
}

/// Checks areas at all angles. The exact a₁b₂ − a₂b₁ is two products and their rounding errors.
fn check_angles<T: Float>() {
    for i in 1..1000 {
        let (direction, part) = (f64::from(i), f64::from(i) / 1000.0);
        // From 0 to π evenly, and small ones.
        let angle = std::f64::consts::PI * if i % 2 == 0 { part } else { 10f64.powf(-12.0 * part) };
        let vector =
            |length: f64, angle: f64| [0.0, length * angle.cos(), length * angle.sin()].map(T::nearest);
        let (a, b) = (vector(3.0, direction), vector(1.0, direction + angle));
        let exact = {
            let (a, b) = (a.map(T::to_f64), b.map(T::to_f64));
            let (p, q) = (a[1] * b[2], a[2] * b[1]);
            (p - q) + (a[1].mul_add(b[2], -p) - a[2].mul_add(b[1], -q))
        };
        for (vectors, got) in wedges(&a, &b) {
            let error = (got - exact.powi(2)).abs();
            // For parallel vectors, the difference is computed with twice the precision.
            let bound = 64.0 * f64::EPSILON * exact.powi(2) + 9.0 * f64::EPSILON.powi(2);
            assert!(error <= bound, "{vectors:?}, angle {angle:e}: {error:e} {bound:e}");
        }
    }
}

#[test]
fn areas_keep_their_digits_at_all_angles() {
    check_angles::<f32>();
    check_angles::<f64>();
}

#[test]
fn parallel_vectors_have_no_area_where_products_overflow() {
    let (a, b) = ([0.0, 1e80, 0.0], [0.0, -1e80, 0.0]);
    wedges(&a, &b).take(2).for_each(|(v, got)| assert_eq!(got, 0.0, "{v:?}"));
}

#[test]
fn areas_of_nearly_parallel_vectors_keep_their_digits() {
    // The first coordinate is time and not read; the area is a₁b₂ − a₂b₁.
    let (p, q) = (2f64.powi(-20), 2f64.powi(-30));
    let (a, b) = ([7.0, 1e3, 1.0], [9.0, 3e3 + q, 3.0 + p]);
    let area = 1e3 * p - q;
    for (vectors, got) in wedges(&a, &b) {
        assert!((got / area.powi(2) - 1.0).abs() < 1e-12, "{vectors:?}: {got} {}", area.powi(2));
    }
    // Smaller than the last bit of the products at twice the precision, and with differences whose rounding
    // errors matter.
    let (a, b) = ([0.0, 2f64.powi(50) + 1.0, 3.0], [0.0, 2f64.powi(50) + 2.0, 3.0]);
    for (vectors, got) in wedges(&a, &b) {
        assert!((got / 9.0 - 1.0).abs() < 1e-12, "{vectors:?}: {got}");
    }
    let (a, b) = ([0.0, 3e-9, 1.0], [0.0, 1.0, 3e9]);
    let (single, area) = ((a.map(|x| x as f32), b.map(|x| x as f32)), |a: f64, b: f64| (a * b - 1.0).powi(2));
    let want = area(f64::from(single.0[1]), f64::from(single.1[2]));
    for (vectors, got) in wedges(&single.0, &single.1) {
        assert!((got / want - 1.0).abs() < 1e-7, "{vectors:?}: {got} {want}");
    }
    let zeros =
        |pair: [&[f64]; 2]| wedges(pair[0], pair[1]).for_each(|(v, got)| assert_eq!(got, 0.0, "{v:?}"));
    zeros([&a, &a]);
    zeros([&[0.0; 3], &a]);
    zeros([&a, &[0.0; 3]]);
    wedges(&[1.0_f32; 9], &[1.0; 9]).for_each(|(v, got)| assert_eq!(got, 0.0, "{v:?}"));
}

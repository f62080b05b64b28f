//! Row formulas on rows side by side: the same values, gradients and steps as on a tape and on single rows.

use cotangent::engine::{
    ManyToMany, OneToMany, PairSide, RecordedNumber, RowNumbers, RowProgram, StraightLine, Tiles,
};
use cotangent::prelude::*;

/// `rows` random points at most `radius` from the origin, the first and the last at the same place.
fn points<M: Manifold, T: Float>(m: M, dim: usize, rows: usize, radius: f64) -> Tensor<T> {
    let mut rng = rng::stream(5, "tiles", rows as u64);
    let mut data = Vec::new();
    for _ in 1..rows.max(2) {
        data.extend_from_slice(&m.random_point::<T>(dim, radius, &mut rng));
    }
    data.extend_from_within(..m.ambient(dim));
    data.truncate(rows * m.ambient(dim));
    Tensor::new([rows, m.ambient(dim)], data)
}

/// Fails where a number differs by more than `bound` from the expected one.
#[track_caller]
fn assert_near<T: Float>(what: &str, found: &[T], expected: &[T], bound: f64) {
    for (found, expected) in found.iter().zip(expected) {
        let by = (found.to_f64() - expected.to_f64()).abs();
        assert!(by <= bound, "{what}: {found:?} in place of {expected:?}, off by {by:e}");
    }
}

/// The largest magnitude.
fn largest<T: Float>(row: &[T]) -> f64 {
    row.iter().fold(0.0, |largest: f64, x| largest.max(x.to_f64().abs()))
}

/// Compares distances with those of single rows, gradients with those of a tape, and steps with those of
/// single rows.
fn agrees<M: Steps, T: Float>(m: M, dim: usize, radius: f64) {
    let width = m.ambient(dim);
    let distance = StraightLine::number(width, |[x, y]| m.dist(x, y)).expect("a row formula");
    let step = StraightLine::vector(width, |[x, g]| m.descend(x, g, &x.constant(0.3))).expect("row formulas");
    let mut distances = OneToMany::<T>::new(distance);
    let mut steps = RowProgram::<T>::new(step);
    // One memory for all sizes: what a larger one leaves behind must not be read.
    let (mut tiles, mut gradients) = (Tiles::new(width), Tiles::new(width));
    for rows in [13, 1, 8, 9] {
        let what = format!("{} {}, dim {dim}, {rows} rows", M::NAME, T::NAME);
        let y = points::<M, T>(m, dim, rows, radius);
        let x = if rows == 1 { points::<M, T>(m, dim, 2, radius / 2.0) } else { y.clone() };
        let x = Row::from(x.row(0));
        tiles.clear();
        y.rows().for_each(|row| tiles.push(row));
        let numbers = distances.numbers(&x, &tiles).to_vec();
        let expected: Vec<f64> = y.rows().map(|row| m.dist(&x, &Row::from(row))).collect();
        assert_eq!(numbers.len(), rows);
        for (number, expected) in numbers.iter().zip(&expected) {
            assert_near(&what, &[*number], &[*expected], 4e-15 * expected.max(1.0));
        }

        let weights: Vec<f64> = (0..rows).map(|j| (j as f64 - 2.5) / 3.0).collect();
        let mut of_one = vec![0.0; width];
        distances.gradients(&tiles, &weights, &mut of_one, &mut gradients);
        let tape = Tape::<f64>::new();
        let wide = [Tensor::new([1, width], x.to_vec()).cast::<f64>(), y.cast::<f64>()];
        let [a, b] = wide.each_ref().map(|rows| tape.variable(rows));
        let weighted = m.dist(&a, &b) * tape.constant(&Tensor::new([rows], weights.clone()));
        let on_tape = tape.backward(weighted.sum());
        // A gradient can be a small difference of vectors as large as the points.
        let bound = |expected: &[f64]| 1e-13 * largest(expected).max(1.0) + 1e-15 * largest(y.data());
        let expected = on_tape.wrt(a);
        assert_near(&what, &of_one, expected.data(), rows as f64 * bound(on_tape.wrt(b).data()));
        let mut gradient = vec![0.0; width];
        for j in 0..rows {
            gradients.read(j, &mut gradient);
            let expected = on_tape.wrt(b);
            assert_near(&what, &gradient, expected.row(j), bound(expected.row(j)));
        }

        // The gradients of a step are rounded to the storage type, as an optimiser's are.
        let rounded: Vec<Row<T>> = (0..rows)
            .map(|j| {
                gradients.read(j, &mut gradient);
                let nearest: Vec<T> = gradient.iter().map(|&g| T::nearest(g)).collect();
                gradients.write(j, &nearest);
                Row::from(&nearest[..])
            })
            .collect();
        let moved = steps.run(&[&tiles, &gradients]).expect("finite steps");
        let mut row = vec![T::zero(); width];
        for (j, g) in rounded.iter().enumerate() {
            moved.read(j, &mut row);
            m.contains(&row).expect("a point");
            let expected = m.descend(&Row::from(y.row(j)), g, &0.3);
            let bound = 8.0 * T::EPSILON * largest(&expected).max(largest(y.row(j)));
            assert_near(&what, &row, &expected, bound);
        }
    }
}

#[test]
fn distances_gradients_and_steps_agree_with_the_tape() {
    for dim in [1, 2, 10] {
        for radius in [0.5, 6.0] {
            agrees::<_, f32>(PoincareBall::new(-1.0), dim, radius);
            agrees::<_, f32>(Lorentz::new(-1.0), dim, radius);
            agrees::<_, f32>(Euclidean, dim, radius);
        }
        for radius in [0.5, 10.0] {
            agrees::<_, f64>(PoincareBall::new(-1.0), dim, radius);
            agrees::<_, f64>(PoincareBall::new(-0.25), dim, radius);
            agrees::<_, f64>(Lorentz::new(-1.0), dim, radius);
            agrees::<_, f64>(HalfSpace::new(-1.0), dim, radius);
            agrees::<_, f64>(Euclidean, dim, radius);
        }
        agrees::<_, f64>(Sphere::new(1.0), dim, 1.0);
        agrees::<_, f64>(ProjectedSphere::new(0.5), dim, 1.0);
    }
}

/// Rows as tiles.
fn tiles_of<T: Float>(rows: &Tensor<T>) -> Tiles {
    let mut tiles = Tiles::new(rows.width());
    rows.rows().for_each(|row| tiles.push(row));
    tiles
}

/// Compares numbers of rows in pairs and of single rows, and their gradients, with those of a tape.
fn row_numbers_agree<M: Manifold>(m: M, dim: usize) {
    let width = m.ambient(dim);
    let distance = StraightLine::number(width, |[x, y]| m.dist(x, y)).expect("a row formula");
    let mut distances = RowNumbers::<f64>::new(distance);
    for rows in [13, 1, 8] {
        let what = format!("{}, dim {dim}, {rows} rows", M::NAME);
        let (x, y) = (points::<M, f64>(m, dim, rows, 3.0), points::<M, f64>(m, dim, rows + 1, 2.0));
        let y = Tensor::new([rows, width], y.data()[width..].to_vec());
        let [a, b] = [&x, &y].map(tiles_of);
        let weights: Vec<f64> = (0..rows).map(|j| (j as f64 - 2.5) / 3.0).collect();
        let tape = Tape::<f64>::new();
        let [u, v] = [&x, &y].map(|rows| tape.variable(rows));
        let expected = m.dist(&u, &v);
        let values = expected.to_tensor();
        assert_near(&what, distances.numbers(&[&a, &b]), values.data(), 1e-13);
        let gradients =
            tape.backward((expected * tape.constant(&Tensor::new([rows], weights.clone()))).sum());
        let (mut of_a, mut of_b) = (Tiles::new(width), Tiles::new(width));
        distances.gradients(&[&a, &b], &weights, &mut [&mut of_a, &mut of_b]);
        let mut row = vec![0.0; width];
        for (tiles, expected) in [(&of_a, gradients.wrt(u)), (&of_b, gradients.wrt(v))] {
            for j in 0..rows {
                tiles.read(j, &mut row);
                assert_near(&what, &row, expected.row(j), 1e-12 * largest(expected.row(j)).max(1.0));
            }
        }
    }
}

#[test]
fn numbers_of_rows_in_pairs_agree_with_the_tape() {
    for dim in [1, 2, 10] {
        row_numbers_agree(PoincareBall::new(-1.0), dim);
        row_numbers_agree(Lorentz::new(-1.0), dim);
        row_numbers_agree(HalfSpace::new(-1.0), dim);
        row_numbers_agree(Euclidean, dim);
    }
}

#[test]
#[should_panic(expected = "as many rows of the formula's width are needed everywhere")]
fn rows_in_pairs_are_as_many() {
    let distance = StraightLine::number(2, |[x, y]| Euclidean.dist(x, y)).unwrap();
    let [x, y] = [3, 4].map(|rows| tiles_of(&points::<_, f64>(Euclidean, 2, rows, 1.0)));
    RowNumbers::<f64>::new(distance).numbers(&[&x, &y]);
}

/// More left rows than one tile has, narrow and wide ones, with a row on both sides.
#[test]
fn all_pairs_agree_with_the_tape() {
    let ball = PoincareBall::new(-1.0);
    let params = [1.5, 0.25];
    let formula = <score::Distance as PairFormula<1, 1, 2>>::compiled();
    let mut pairs = ManyToMany::<f64>::new(formula, &params);
    let mut found = [PairSide::default(), PairSide::default()];
    // The second time there are fewer rows: what the first time left behind must not be read.
    for (dim, n, m) in [(3, 150, 70), (12, 140, 600), (12, 3, 1)] {
        let (x, y) = (points::<_, f64>(ball, dim, n, 4.0), points::<_, f64>(ball, dim, m, 4.0));
        let weight = |i: usize, j: usize| ((i * m + j) as f64).sin();
        let tape = Tape::<f64>::new();
        let rows = [&x, &y].map(|rows| tape.variable(rows));
        let numbers =
            [&x, &y].map(|rows| tape.variable(&(0.5 * ball.lambda(&tape.constant(rows))).to_tensor()));
        let [u, v] = rows;
        let [beta, c] = params.map(|value| tape.scalar(value));
        let scores = tape.pairs(score::Distance, [u, v], [numbers[0]], [numbers[1]], [beta, c]).scores();
        let (values, lambdas) = (scores.to_tensor(), numbers.map(|lambda| lambda.to_tensor()));
        let weights = Tensor::from_fn([n, m], |k| weight(k / m, k % m));
        let gradients = tape.backward((scores * tape.constant(&weights)).sum());
        let side = |rows: &Tensor<f64>, lambda: &Tensor<f64>| PairSide {
            rows: rows.data().to_vec(),
            numbers: [lambda.data().to_vec()].into_iter().collect(),
        };
        let sides = [side(&x, &lambdas[0]), side(&y, &lambdas[1])];
        let mut seen = 0;
        pairs.gradients([&sides[0], &sides[1]], dim, &mut found, &mut |i, scores, slopes| {
            assert_eq!((i, scores.len()), (seen, m));
            seen += 1;
            assert_near("scores", scores, values.row(i), 1e-12);
            slopes.iter_mut().enumerate().for_each(|(j, slope)| *slope = weight(i, j));
        });
        assert_eq!(seen, n);
        for ((found, rows), numbers) in found.iter().zip(rows).zip(numbers) {
            let expected = gradients.wrt(rows);
            assert_near("rows", &found.rows, expected.data(), 1e-11 * largest(expected.data()));
            let expected = gradients.wrt(numbers);
            assert_near("numbers", &found.numbers[0], expected.data(), 1e-11 * largest(expected.data()));
        }
    }
}

#[test]
fn what_is_no_row_formula_is_not_recorded() {
    let product = Product::new(Euclidean, 2, PoincareBall::new(-1.0));
    assert!(StraightLine::number(5, |[x, y]| product.dist(x, y)).is_none());
    let ball = PoincareBall::new(-1.0);
    // A constant, a parameter that is a number of its own for each row, a result before the last.
    assert!(StraightLine::number::<1>(2, |_| RecordedNumber::Constant(1.0)).is_none());
    assert!(StraightLine::vector(2, |[x, y]| ball.scale(&ball.dist(x, y), x)).is_none());
    assert!(StraightLine::vector(2, |[x, y]| [ball.exp(x, y), ball.log(x, y)][0].clone()).is_none());
    assert!(StraightLine::vector(2, |[x, _]: [_; 2]| x.clone()).is_none());
    assert!(StraightLine::vector(2, |[x, y]| ball.exp(x, &ball.log(x, y))).is_some());
}

#[test]
fn the_first_row_that_is_not_finite_is_named() {
    for (bad, at) in [(f64::NAN, 9), (f64::INFINITY, 2)] {
        let step = StraightLine::vector(2, |[x, g]| Euclidean.descend(x, g, &x.constant(1.0))).unwrap();
        let mut steps = RowProgram::<f64>::new(step);
        let (mut points, mut gradients) = (Tiles::new(2), Tiles::new(2));
        for j in 0..10 {
            points.push(&[0.1, 0.2]);
            gradients.push(&[if j >= at { bad } else { 0.0 }, 1.0]);
        }
        assert_eq!(steps.run(&[&points, &gradients]).err(), Some(at));
    }
    // The space has no boundary that a coordinate too large for `f32` could be moved to.
    let sphere = Stereographic::new(1e-300);
    let step = StraightLine::vector(2, |[x, g]| sphere.exp(x, g)).unwrap();
    let mut steps = RowProgram::<f32>::new(step);
    let (mut points, mut tangents) = (Tiles::new(2), Tiles::new(2));
    for length in [1.0, 1e39, 1e39] {
        points.push(&[0.1, 0.2]);
        tangents.push(&[length, 0.0]);
    }
    assert_eq!(steps.run(&[&points, &tangents]).err(), Some(1));
}

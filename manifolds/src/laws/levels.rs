//! A single row, a tensor of rows and a tape give the same results.

use cotangent_engine::{Float, Row, Rows, Tape, Tensor};
use rand::RngExt;

use super::Lawful;
use super::case::{Case, Draw};
use super::check::{Judge, law};

/// The number of operations.
pub(super) const OPERATIONS: usize = 12;

/// A number for each row, or a row.
pub(super) enum Outcome<R: Rows> {
    Number(R::Scalar),
    Row(R),
}

/// The operations of a manifold by number, applied to x and y, and to v and w at x.
pub(super) fn operation<M: Lawful, R: Rows>(
    m: &M,
    k: usize,
    [x, y, v, w]: [&R; 4],
) -> (&'static str, Outcome<R>) {
    use Outcome::{Number, Row};
    // Powers of ½ are the same in every type.
    let half = x.constant(0.5);
    match k {
        0 => ("dist", Number(m.dist(x, y))),
        1 => ("inner", Number(m.inner(x, v, w))),
        2 => ("norm", Number(m.norm(x, v))),
        3 => ("exp", Row(m.exp(x, v))),
        4 => ("log", Row(m.log(x, y))),
        5 => ("transport", Row(m.transport(x, y, v))),
        6 => ("egrad_to_rgrad", Row(m.egrad_to_rgrad(x, v))),
        7 => ("project_tangent", Row(m.project_tangent(x, v))),
        8 => ("retract", Row(m.retract(x, v))),
        9 => ("geodesic", Row(m.geodesic(x, y, &half))),
        10 => ("descend", Row(m.descend(x, v, &half))),
        11 => ("project", Row(m.project(x))),
        _ => unreachable!("operation {k}"),
    }
}

law! {
    /// A single row, a tensor and a tape give the same result bit for bit, whatever the number of rows:
    /// so a row does not depend on its neighbours. Numbers for rows of `f32` are `f64` off the tape. On
    /// the tape they are rounded, and may differ by 4 u where an operation is composed of several.
    levels within f64::INFINITY, |c, judge| {
        let mut rng = c.rng.clone();
        let n = rng.random_range(1..10);
        // One draw in eight is enough for what does not depend on the numbers.
        if rng.random_range(0..8) != 0 {
            return;
        }
        // Dimensions around the width of a panel of coordinates, and beyond several panels.
        let mut dimensions = c.m.dimensions();
        if c.m.fixed_dimension().is_none() {
            dimensions.extend([63, 65, 200]);
        }
        let dim = dimensions[rng.random_range(0..dimensions.len())];
        let cases: Vec<Case<'_, M, T>> =
            (0..n).map(|_| Case::new(c.m, Draw { dim, seed: rng.random(), size: 1.0 })).collect();
        levels_of(c.m, &cases, judge);
    }
}

fn levels_of<M: Lawful, T: Float>(m: &M, cases: &[Case<'_, M, T>], judge: &mut Judge) {
    let (n, width) = (cases.len(), cases[0].x.len());
    let table = |row: &dyn Fn(&Case<'_, M, T>) -> Row<T>| {
        Tensor::new([n, width], cases.iter().flat_map(|c| row(c).to_vec()).collect())
    };
    let tensors =
        [table(&|c| c.x.clone()), table(&|c| c.y.clone()), table(&|c| c.v.clone()), table(&|c| c.w.clone())];
    let tape = Tape::new();
    let variables = tensors.each_ref().map(|t| tape.constant(t));
    for k in 0..OPERATIONS {
        let (name, of_tensor) = operation(m, k, tensors.each_ref());
        let (_, on_tape) = operation(m, k, variables.each_ref());
        for (i, c) in cases.iter().enumerate() {
            let (_, of_row) = operation(m, k, [&c.x, &c.y, &c.v, &c.w]);
            match (of_row, &of_tensor, &on_tape) {
                (Outcome::Number(one), Outcome::Number(tensor), Outcome::Number(tape)) => {
                    judge.same(name, &[one], &[tensor.data()[i]]);
                    let tape = tape.with_data(|data| data[i].to_f64());
                    let one = T::nearest(one).to_f64();
                    // An inner product may be a difference, so its error is relative to the norms.
                    let size =
                        if name == "inner" { m.norm(&c.x, &c.v) * m.norm(&c.x, &c.w) } else { one.abs() };
                    // The last term is for subnormal numbers.
                    let bound = if T::COMPENSATED { 0.0 } else { 2.0 * T::EPSILON * size + 4.0 / T::LARGEST };
                    judge.holds(name, (tape - one).abs() <= bound, || format!("{tape:e} on a tape, {one:e}"));
                }
                (Outcome::Row(one), Outcome::Row(tensor), Outcome::Row(tape)) => {
                    judge.same(name, &one, tensor.row(i));
                    tape.with_data(|data| judge.same(name, &one, &data[i * width..(i + 1) * width]));
                }
                _ => unreachable!("an operation has one kind of result"),
            }
        }
    }
}

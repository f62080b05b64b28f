//! The reverse pass against finite differences.

use cotangent_engine::{Float, Row, Tape, Tensor};
use rand::RngExt;

use super::Lawful;
use super::case::{Case, difference, dot, scaled};
use super::check::{Judge, law};
use super::lawful::length;
use super::levels::{OPERATIONS, Outcome, operation};

law! {
    /// The gradient of every operation on the tape, along curves in the manifold, is that of central
    /// differences (extrapolated once; `f64`). This also holds at the origin, where points coincide, and
    /// at vectors of length 0, except for distance and norm, whose gradients need only be finite there.
    gradients within 3.0, |c, judge| {
        let mut rng = c.rng.clone();
        // A tape for each operation: one draw in four is enough.
        if rng.random_range(0..4) != 0 {
            return;
        }
        let scale = c.unit().min(c.m.radius::<T>());
        let [a, b, e] = [&c.x, &c.y, &c.x].map(|x| c.vector(x, 0.5 * scale, &mut rng));
        // All inputs at time h.
        let later = |h: f64| {
            let x = c.m.exp(&c.x, &scaled(&a, h));
            let y = c.m.exp(&c.y, &scaled(&b, h));
            let v = difference(&c.v, &scaled(&e, h));
            let [v, w] = [&v, &c.w].map(|v| c.m.transport(&c.x, &x, v));
            [x, y, v, w]
        };
        let h = 1.0 / 64.0;
        let inputs = [-h, -0.5 * h, 0.5 * h, h].map(later);
        for k in 0..OPERATIONS {
            derivative(c, k, h, &inputs, judge);
        }
    }
}

/// Central differences with both steps, and their extrapolation, of values at −h, −h/2, h/2 and h.
fn slopes([far_behind, behind, ahead, far_ahead]: [f64; 4], h: f64) -> [f64; 3] {
    let (coarse, fine) = ((far_ahead - far_behind) / (2.0 * h), (ahead - behind) / h);
    [coarse, fine, (4.0 * fine - coarse) / 3.0]
}

fn derivative<M: Lawful, T: Float>(
    c: &Case<'_, M, T>,
    k: usize,
    h: f64,
    inputs: &[[Row<T>; 4]; 4],
    judge: &mut Judge,
) {
    let here = [&c.x, &c.y, &c.v, &c.w];
    let weight = |i: usize| 0.4 + (i as f64).sin();
    let tape = Tape::<T>::new();
    let variables = here.map(|row| tape.variable(&Tensor::new([1, row.len()], row.to_vec())));
    let (name, outcome) = operation(c.m, k, variables.each_ref());
    let loss = match outcome {
        Outcome::Number(number) => number.sum(),
        Outcome::Row(row) => {
            let weights = Tensor::from_fn(row.shape(), |i| T::nearest(weight(i)));
            (row * tape.constant(&weights)).sum()
        }
    };
    let gradients = tape.backward(loss);
    let gradients = variables.map(|v| gradients.wrt(v).data().to_vec());
    // `descend` takes the vector as a gradient. Its step may lead to coordinates so large that their
    // derivatives are not finite.
    let radius_after = || length(&c.m.exp(&c.x, &scaled(&c.m.egrad_to_rgrad(&c.x, &c.v), -0.5)));
    let overflows = name == "descend" && radius_after() > 1e-6 * T::LARGEST.sqrt();
    if !overflows {
        gradients.iter().for_each(|g| judge.finite(name, g));
    }
    // Finite differences need more digits than `f32` has.
    let near = 0.1 * c.unit().min(c.m.radius::<T>());
    let rough = match name {
        "dist" => c.m.dist(&c.x, &c.y) < near,
        "norm" => c.m.norm(&c.x, &c.v) < near,
        // The vector is taken as a gradient, and its step may be long.
        "descend" => c.m.norm(&c.x, &c.m.egrad_to_rgrad(&c.x, &c.v)) > 2.0 * c.unit(),
        _ => false,
    };
    if !T::COMPENSATED || rough {
        return;
    }
    let values = inputs.each_ref().map(|rows| match operation(c.m, k, rows.each_ref()).1 {
        Outcome::Number(number) => number,
        Outcome::Row(row) => row.iter().enumerate().map(|(i, x)| weight(i) * x.to_f64()).sum(),
    });
    let [coarse, fine, want] = slopes(values, h);
    let (mut got, mut truncation) = (0.0, (fine - coarse).abs());
    // The size that multiplies the rounding of the operands and of the result, and the derivative's own
    // size.
    let (mut size, mut slope) = (values[0].abs(), want.abs());
    for (i, g) in gradients.iter().enumerate() {
        let [far_behind, behind, ahead, far_ahead] = inputs.each_ref().map(|rows| &rows[i]);
        let coarse = scaled(&difference(far_ahead, far_behind), 0.5 / h);
        let fine = scaled(&difference(ahead, behind), 1.0 / h);
        got += (4.0 * dot(g, &fine) - dot(g, &coarse)) / 3.0;
        truncation += dot(g, &difference(&fine, &coarse)).abs();
        size += length(g) * (length(here[i]) + h * length(&fine));
        slope += length(g) * length(&fine);
    }
    let distortion = c.m.distortion(&c.x) + c.m.distortion(&c.y);
    let bound = 0.02 * truncation + 16.0 * c.u * distortion * size / h;
    judge.number(name, (got - want) / (size + slope), bound / (size + slope));
}

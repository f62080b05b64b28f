//! Gradients and retractions.

use cotangent_engine::{Float, Row, Tape, Tensor, Var};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::Lawful;
use super::case::{Case, difference, dot, scaled};
use super::check::law;
use super::lawful::length;

const ALL: f64 = f64::INFINITY;

law! {
    /// `⟨egrad_to_rgrad(g), v⟩_x = Σ gᵢ vᵢ`, the derivative along v of a function with the gradient
    /// g in coordinates, within 16 u (distortion at x)² |g||v| in coordinates. The Riemannian gradient is
    /// tangent.
    conversion within ALL, |c, judge| {
        let mut rng = c.rng.clone();
        let mut g = c.x.clone();
        g.iter_mut().for_each(|g| *g = T::nearest(rng.sample(StandardNormal)));
        let v = c.m.random_tangent(&c.x, &mut rng);
        let gradient = c.m.egrad_to_rgrad(&c.x, &g);
        // The distortion counts once for each side of the metric.
        let bound = 16.0 * c.u * c.m.distortion(&c.x).powi(2);
        let size = length(&g) * length(&v);
        let error = c.m.inner(&c.x, &gradient, &v) - dot(&g, &v);
        judge.number("<grad f, v> = Df[v]", error, bound * size);
        let tangent = c.m.project_tangent(&c.x, &gradient);
        let error = length(&difference(&tangent, &gradient));
        judge.number("grad f is tangent", error, bound * (length(&gradient) + length(&g)));
        let rate = 0.25;
        let step = c.m.bounded(&c.m.exp(&c.x, &scaled(&gradient, -rate)));
        let moved = c.m.norm(&c.x, &gradient) * rate;
        if moved < c.m.radius::<T>() {
            let bound = 16.0 * c.u * c.spread(moved, [&c.x, &step]);
            let error = c.m.dist(&c.m.descend(&c.x, &g, &rate), &step);
            judge.length("descend = exp(-rate grad), bounded", error, bound);
        }
    }
}

law! {
    /// `R_x(0) = x`, `d/dt R_x(tv) = v` at 0 (central differences) and `d(R_x(tv), exp_x(tv)) = O(t²)`;
    /// the same derivative for exp.
    retraction within 3.0, |c, judge| {
        let at_rest = c.m.retract(&c.x, &scaled(&c.v, 0.0));
        judge.length("retract(0) = x", c.m.dist(&c.x, &at_rest), 8.0 * c.u * c.m.rounding(&c.x));
        let scale = c.unit().min(c.m.radius::<T>());
        let v = c.vector(&c.x, scale, &mut c.rng.clone());
        type Map<'a, T> = &'a dyn Fn(&Row<T>) -> Row<T>;
        let maps: [(&'static str, Map<'_, T>); 2] = [
            ("d/dt retract(tv) = v", &|v| c.m.retract(&c.x, v)),
            ("d/dt exp(tv) = v", &|v| c.m.exp(&c.x, v)),
        ];
        let h = if T::COMPENSATED { 1.0 / 256.0 } else { 1.0 / 16.0 };
        for (identity, map) in maps {
            let central = |h: f64| {
                let (ahead, behind) = (map(&scaled(&v, h)), map(&scaled(&v, -h)));
                scaled(&difference(&ahead, &behind), 0.5 / h)
            };
            let (coarse, fine) = (central(h), central(0.5 * h));
            // Extrapolated: what is left is far below the difference of the two.
            let slope = difference(&scaled(&fine, 4.0 / 3.0), &scaled(&coarse, 1.0 / 3.0));
            let truncation = 0.05 * c.gap(&c.x, &fine, &coarse);
            let rounding = 16.0 * c.u * (c.m.rounding(&c.x) + scale) * c.m.distortion(&c.x) / h;
            judge.number(identity, c.gap(&c.x, &slope, &v) / scale, (truncation + rounding) / scale);
        }
        let deviation = |t: f64| {
            let v = scaled(&v, t);
            c.m.dist(&c.m.retract(&c.x, &v), &c.m.exp(&c.x, &v))
        };
        // The deviation is of second order: four times less at half the length. The bound leaves room for
        // the next order.
        let rounding = 64.0 * c.u * (c.m.rounding(&c.x) + scale);
        judge.length("retract = exp to first order", deviation(0.125), 0.3 * deviation(0.25) + rounding);
    }
}

/// The Riemannian gradient at x of a function of the distance to y, on the tape.
fn gradient<M: Lawful, T: Float>(
    c: &Case<'_, M, T>,
    function: impl for<'t> Fn(Var<'t, T>) -> Var<'t, T>,
) -> Row<T> {
    let tape = Tape::new();
    let shape = [1, c.x.len()];
    let x = tape.variable(&Tensor::new(shape, c.x.to_vec()));
    let y = tape.constant(&Tensor::new(shape, c.y.to_vec()));
    let gradients = tape.backward(function(c.m.dist(&x, &y)).sum());
    c.m.egrad_to_rgrad(&c.x, &Row::from(gradients.wrt(x).data()))
}

law! {
    /// `‖grad_x d(x, y)‖ = 1` within 16 u ((1 + d) (distortion at x and y, cancellation) + off/d), and 0
    /// by definition at x = y.
    unit_gradient within ALL, |c, judge| {
        let norm = c.m.norm(&c.x, &gradient(c, |d| d));
        judge.finite("the gradient of the distance", &[norm]);
        if c.x == c.y {
            return judge.same("the gradient of the distance at x = y", &[norm], &[0.0]);
        }
        // Squares that underflow leave no direction.
        let d = c.m.dist(&c.x, &c.y);
        if d > 1e-140_f64.max(1e4 / T::LARGEST) * c.unit() {
            judge.number("|grad d| = 1", norm - 1.0, 16.0 * c.u * condition(c, d) / d);
        }
    }
}

/// The factor of rounding errors in the gradient of half the squared distance.
fn condition<M: Lawful, T: Float>(c: &Case<'_, M, T>, d: f64) -> f64 {
    let metric: f64 = [&c.x, &c.y].map(|x| c.m.distortion(x) * c.m.cancellation(x)).into_iter().sum();
    d * metric * c.turn(d) * c.long(d) + c.off([&c.x, &c.y])
}

law! {
    /// `grad_x ½d² = −log_x y` within 16 u (d (1 + d) (distortion at x and y, cancellation) + off): one
    /// step of gradient descent at rate 1 on half the squared distance lands on y, with the tolerance of
    /// [`exp_log`](super::exp_log) times the cancellation.
    one_step within ALL, |c, judge| {
        let half_square = gradient(c, |d| d.square() * 0.5);
        let (d, back) = (c.m.dist(&c.x, &c.y), scaled(&half_square, -1.0));
        let error = c.gap(&c.x, &back, &c.m.log(&c.x, &c.y));
        judge.length("grad d²/2 = -log y", error, 16.0 * c.u * condition(c, d));
        let landed = c.m.exp(&c.x, &back);
        let lost = c.m.cancellation(&c.x).max(c.m.cancellation(&c.y));
        let within = 8.0 * c.u * c.spread(d, [&c.x, &c.y]) * lost;
        judge.length("a step lands on y", c.m.dist(&c.y, &landed), within);
    }
}

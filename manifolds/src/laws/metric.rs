//! Distance, exponential map and logarithm.

use super::case::scaled;
use super::check::law;

const ALL: f64 = f64::INFINITY;

law! {
    /// `exp_x(log_x y) = y`, within 8 u (rounding of x and y) stretch (1 + √|κ| d).
    exp_log within ALL, |c, judge| {
        let d = c.m.dist(&c.x, &c.y);
        let back = c.m.exp(&c.x, &c.m.log(&c.x, &c.y));
        judge.point("exp(log y) is a point", c.m, &back);
        judge.length("exp(log y) = y", c.m.dist(&c.y, &back), 8.0 * c.u * c.spread(d, [&c.x, &c.y]));
    }
}

law! {
    /// `log_x(exp_x v) = v` and `d(x, exp_x v) = ‖v‖`, within 8 u (rounding of exp v + stretched
    /// rounding of x + length of v).
    log_exp within ALL, |c, judge| {
        let length = c.m.norm(&c.x, &c.v);
        let z = c.m.exp(&c.x, &c.v);
        judge.point("exp(v) is a point", c.m, &z);
        let points = c.m.rounding(&z) * c.long(length) + c.grow(length) * c.m.rounding(&c.x);
        let bound = 8.0 * c.u * (points + c.m.distortion(&c.x) * length);
        judge.length("d(x, exp v) = |v|", c.m.dist(&c.x, &z) - length, bound);
        let back = c.m.log(&c.x, &z);
        judge.length("log(exp v) = v", c.gap(&c.x, &back, &c.v), bound * c.long(length) * c.turn(length));
    }
}

law! {
    /// `‖log_x y‖ = d(x, y)`, within 8 u d (distortion at x and y).
    log_length within ALL, |c, judge| {
        let d = c.m.dist(&c.x, &c.y);
        let along = c.m.norm(&c.x, &c.m.log(&c.x, &c.y));
        let distortion = c.m.distortion(&c.x) + c.m.distortion(&c.y);
        judge.length("|log y| = d(x, y)", along - d, 8.0 * c.u * distortion * d * c.turn(d));
    }
}

law! {
    /// d is finite, not negative, 0 between equal points, symmetric (the last two exactly, if the
    /// manifold says so), and satisfies the triangle inequality, within 8 u d of `f64`.
    distance within ALL, |c, judge| {
        let d = c.m.dist(&c.x, &c.y);
        judge.finite("d is finite", &[d]);
        judge.holds("d >= 0", d >= 0.0, || format!("{d:e}"));
        let (zero, back) = (c.m.dist(&c.x, &c.x), c.m.dist(&c.y, &c.x));
        let wide = 0.5 * f64::EPSILON;
        let distortion = [&c.x, &c.y, &c.z].map(|p| c.m.distortion(p)).into_iter().sum::<f64>();
        // Points that storage puts off the manifold are points of another one.
        let off = 8.0 * c.u * c.off([&c.x, &c.y, &c.z]);
        let off = |d: f64| off * (d / c.unit() + c.u);
        if M::SYMMETRIC {
            judge.same("d(x, x) = 0", &[zero], &[0.0]);
            judge.same("d(x, y) = d(y, x)", &[d], &[back]);
        } else {
            // Only rounding separates equal points.
            judge.length("d(x, x) = 0", zero, 64.0 * c.u * c.m.rounding(&c.x));
            let within = 64.0 * wide * (c.spread(d, [&c.x, &c.y]) + distortion * d) + off(d);
            judge.length("d(x, y) = d(y, x)", d - back, within);
        }
        let (first, second) = (c.m.dist(&c.x, &c.z), c.m.dist(&c.z, &c.y));
        let excess = (d - first - second).max(0.0);
        let within = 8.0 * wide * distortion * (first + second) + off(first + second);
        judge.length("d(x, y) <= d(x, z) + d(z, y)", excess, within);
    }
}

law! {
    /// `γ(0) = x`, `γ(1) = y`, `d(γ(s), γ(t)) = |s − t| d(x, y)`, and the way back is the same:
    /// within 8 u (rounding of the four points) stretch (1 + √|κ| d).
    geodesic within ALL, |c, judge| {
        let d = c.m.dist(&c.x, &c.y);
        let s = 0.5 * c.t;
        let point = |t: f64| c.m.geodesic(&c.x, &c.y, &t);
        let (p, q) = (point(s), point(c.t));
        let bound = 8.0 * c.u * c.spread(d, [&c.x, &c.y, &p, &q]);
        judge.point("a geodesic stays on the manifold", c.m, &p);
        judge.length("geodesic(0) = x", c.m.dist(&c.x, &point(0.0)), bound);
        judge.length("geodesic(1) = y", c.m.dist(&c.y, &point(1.0)), bound);
        judge.length("d(geodesic(s), geodesic(t)) = |s - t| d", c.m.dist(&p, &q) - s * d, bound);
        let back = c.m.geodesic(&c.y, &c.x, &(1.0 - c.t));
        judge.length("the geodesic back is the same", c.m.dist(&q, &back), bound);
        let along = c.m.exp(&c.x, &scaled(&c.m.log(&c.x, &c.y), c.t));
        judge.length("geodesic(t) = exp(t log y)", c.m.dist(&q, &along), bound);
    }
}

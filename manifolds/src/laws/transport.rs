//! Parallel transport.

use super::Lawful;
use super::case::{Case, scaled};
use super::check::law;
use cotangent_engine::Float;

const ALL: f64 = f64::INFINITY;

/// How much rounding changes a transported vector, relatively, in units of u.
fn condition<M: Lawful, T: Float>(c: &Case<'_, M, T>) -> f64 {
    (c.m.distortion(&c.x) + c.m.distortion(&c.y)) * c.turn(c.m.dist(&c.x, &c.y))
}

law! {
    /// `g_y(Pv, Pw) = g_x(v, w)` within 16 u (distortion at x and y) ‖v‖‖w‖; what is transported is
    /// tangent, within that times the cancellation at y. For a transport that is not parallel only the
    /// latter is checked.
    transport_isometry within ALL, |c, judge| {
        let carry = |v| c.m.transport(&c.x, &c.y, v);
        let (v, w) = (carry(&c.v), carry(&c.w));
        let [a, b] = [&c.v, &c.w].map(|v| c.m.norm(&c.x, v));
        if M::PARALLEL {
            let error = c.m.inner(&c.y, &v, &w) - c.m.inner(&c.x, &c.v, &c.w);
            if a > 1e-70 * c.unit() && b > 1e-70 * c.unit() {
                judge.number("<Pv, Pw> = <v, w>", error / (a * b), 16.0 * c.u * condition(c));
            }
        }
        let bound = 16.0 * c.u * condition(c) * c.m.cancellation(&c.y) * c.m.norm(&c.y, &v);
        judge.length("Pv is tangent", c.gap(&c.y, &v, &c.m.project_tangent(&c.y, &v)), bound);
    }
}

law! {
    /// `P_{y→x} P_{x→y} v = v` within 16 u (distortion at x and y) ‖v‖.
    transport_inverse within ALL, |c, judge| {
        let carried = c.m.transport(&c.x, &c.y, &c.v);
        let back = c.m.transport(&c.y, &c.x, &carried);
        let bound = 16.0 * c.u * condition(c) * c.m.norm(&c.x, &c.v);
        if M::PARALLEL {
            judge.length("P back P v = v", c.gap(&c.x, &back, &c.v), bound);
        }
        let stay = c.m.transport(&c.x, &c.x, &c.v);
        judge.length("transport to x itself", c.gap(&c.x, &stay, &c.v), bound);
    }
}

law! {
    /// `P_{x→y} log_x y = −log_y x` within 16 u (d (distortion at x and y) + off). Transport through a
    /// point of the geodesic gives the same, within 16 u (rounding of that point) in addition.
    transport_geodesic within ALL, |c, judge| {
        if !M::PARALLEL {
            return judge.finite("not parallel", &[c.t]);
        }
        let d = c.m.dist(&c.x, &c.y);
        let carried = c.m.transport(&c.x, &c.y, &c.m.log(&c.x, &c.y));
        let arrived = scaled(&c.m.log(&c.y, &c.x), -1.0);
        let bound = 16.0 * c.u * (condition(c) * d + c.off([&c.x, &c.y]));
        judge.length("P log y = -log x", c.gap(&c.y, &carried, &arrived), bound);
        let p = c.m.geodesic(&c.x, &c.y, &c.t);
        let direct = c.m.transport(&c.x, &c.y, &c.v);
        let through = c.m.transport(&p, &c.y, &c.m.transport(&c.x, &p, &c.v));
        // The rounding of p turns the vector by the area of the triangle.
        let turn = c.spread(d, [&c.x, &c.y, &p]) / c.unit();
        let bound = 16.0 * c.u * (condition(c) + c.m.distortion(&p) + turn) * c.m.norm(&c.x, &c.v);
        judge.length("P through a point between", c.gap(&c.y, &through, &direct), bound);
    }
}

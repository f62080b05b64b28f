//! Results of valid operands are valid.

use cotangent_engine::{Float, Row};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::Lawful;
use super::case::{Case, difference, scaled};
use super::check::{Judge, law};
use super::lawful::length;

const ALL: f64 = f64::INFINITY;

law! {
    /// `project` returns valid points unchanged, bit for bit, and a point for any row.
    /// `project_tangent`, applied twice, gives a tangent vector according to
    /// [`contains_tangent`](crate::Manifold::contains_tangent), and it keeps tangent vectors, within
    /// 16 u (distortion at x)².
    projection within ALL, |c, judge| {
        judge.point("what is drawn is a point", c.m, &c.x);
        judge.same("project(x) = x", &c.m.project(&c.x), &c.x);
        let mut rng = c.rng.clone();
        let size = c.unit() * 10f64.powf(rng.random_range(-2.0..2.0));
        let mut row = c.x.clone();
        row.iter_mut().for_each(|x| *x = T::nearest(size * rng.sample::<f64, _>(StandardNormal)));
        let point = c.m.project(&row);
        judge.point("project(any row) is a point", c.m, &point);
        judge.same("project(project(row)) = project(row)", &c.m.project(&point), &point);
        let v = c.m.project_tangent(&c.x, &row);
        judge.tangent("what is drawn is a tangent vector", c.m, &c.x, &c.v);
        // Twice: what the first projection leaves off the tangent space is rounding of the longer row.
        let projected = c.m.project_tangent(&c.x, &v);
        judge.tangent("project_tangent of any row, twice, is a tangent vector", c.m, &c.x, &projected);
        let bound = 16.0 * c.u * c.m.distortion(&c.x).powi(2) * length(&row).max(length(&v));
        judge.length("the projection of a tangent vector", length(&difference(&v, &projected)), bound);
    }
}

law! {
    /// No operation on valid points returns a row off the manifold, NaN or infinity. This is tried with
    /// tangent vectors of any length (in positive curvature, up to the radius), and again at the points
    /// that those reach.
    closed within ALL, |c, judge| {
        // Many operations: one draw in three is enough.
        if c.rng.clone().random_range(0..3) != 0 {
            return;
        }
        every_operation(c, &c.x, &c.y, &c.v, judge);
        judge.finite("egrad_to_rgrad", &c.m.egrad_to_rgrad(&c.x, &c.v));
        let bounded = c.m.curvature_bounds()[1] > 0.0;
        let scales: &[f64] = if bounded { &[1e-30, 1.0] } else { &[1e-30, 1e10, 1e30] };
        for &scale in scales {
            let [v, w] = [&c.v, &c.w].map(|v| scaled(v, scale));
            if v.iter().chain(w.iter()).all(|c| c.is_finite()) {
                let (p, q) = (c.m.exp(&c.x, &v), c.m.exp(&c.x, &w));
                judge.point("exp of a long vector", c.m, &p);
                judge.point("descent along a long vector", c.m, &c.m.descend(&c.x, &v, &0.3));
                every_operation(c, &p, &q, &c.m.transport(&c.x, &p, &c.w), judge);
                every_operation(c, &p, &c.y, &c.m.log(&p, &c.y), judge);
            }
        }
    }
}

fn every_operation<M: Lawful, T: Float>(
    c: &Case<'_, M, T>,
    x: &Row<T>,
    y: &Row<T>,
    v: &Row<T>,
    judge: &mut Judge,
) {
    let m = c.m;
    judge.point("exp", m, &m.exp(x, &scaled(v, (c.unit() / m.norm(x, v).max(c.unit())).min(1.0))));
    judge.point("retract", m, &m.retract(x, v));
    judge.point("geodesic", m, &m.geodesic(x, y, &c.t));
    judge.same("project(x) = x", &m.project(x), x);
    judge.finite("dist", &[m.dist(x, y)]);
    judge.finite("norm", &[m.norm(x, v)]);
    // Beyond this, products of coordinates are not finite.
    if length(v) < 1e150 {
        judge.finite("inner", &[m.inner(x, v, v)]);
    }
    judge.finite("log", &m.log(x, y));
    judge.finite("transport", &m.transport(x, y, v));
    // Rounding may put a vector so far off the tangent space that its projection is not finite.
    if c.u * m.cancellation(x).powi(2) < 1.0 {
        judge.finite("project_tangent", &m.project_tangent(x, v));
    }
}

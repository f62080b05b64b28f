//! The laws of gyrogroups and gyrovector spaces. Ungar 2008, *A Gyrovector Space Approach to Hyperbolic
//! Geometry*; Ganea, Bécigneul, Hofmann 2018.

use cotangent_engine::domain::margin;
use cotangent_engine::{Float, Row};

use super::Lawful;
use super::case::{Case, difference, dot, scaled};
use super::check::law;
use super::lawful::length;
use crate::hyperbolic::stereographic::{KappaStereographic, Sign};
use crate::manifold::ConstantCurvature;

/// A manifold with the operations of a gyrovector space, here on single rows. The inverse is −x, and the
/// model is conformal about 0.
pub trait Gyrogroup: Lawful + ConstantCurvature {
    /// x ⊕ y.
    fn add<T: Float>(&self, x: &Row<T>, y: &Row<T>) -> Row<T>;
    /// r ⊗ x.
    fn scale<T: Float>(&self, r: f64, x: &Row<T>) -> Row<T>;
    /// gyr\[x, y\] w.
    fn gyration<T: Float>(&self, x: &Row<T>, y: &Row<T>, w: &Row<T>) -> Row<T>;
    /// x ⊞ y = x ⊕ gyr\[x, ⊖y\] y.
    fn coadd<T: Float>(&self, x: &Row<T>, y: &Row<T>) -> Row<T>;
}

impl<S: Sign> Gyrogroup for KappaStereographic<S> {
    fn add<T: Float>(&self, x: &Row<T>, y: &Row<T>) -> Row<T> {
        self.add(x, y)
    }
    fn scale<T: Float>(&self, r: f64, x: &Row<T>) -> Row<T> {
        self.scale(&r, x)
    }
    fn gyration<T: Float>(&self, x: &Row<T>, y: &Row<T>, w: &Row<T>) -> Row<T> {
        self.gyration(x, y, w)
    }
    fn coadd<T: Float>(&self, x: &Row<T>, y: &Row<T>) -> Row<T> {
        self.coadd(x, y)
    }
}

const ALL: f64 = f64::INFINITY;

fn neg<T: Float>(x: &Row<T>) -> Row<T> {
    scaled(x, -1.0)
}

/// 8 u times how far rounding moves these points. Translations are isometries, so errors add.
fn bound<M: Gyrogroup, T: Float, const N: usize>(c: &Case<'_, M, T>, points: [&Row<T>; N]) -> f64 {
    8.0 * c.u * points.into_iter().map(|x| c.m.rounding(x)).sum::<f64>()
}

/// How much a gyration of z turns when the points that it is made of are rounded.
fn turned_by<M: Gyrogroup, T: Float, const N: usize>(
    c: &Case<'_, M, T>,
    z: &Row<T>,
    points: [&Row<T>; N],
) -> f64 {
    (1.0 + bound(c, points) / (8.0 * c.u * c.unit())) * bound(c, [z])
}

/// On a sphere, whether sums of the three points may come near the point at infinity.
fn wraps<M: Gyrogroup, T: Float>(c: &Case<'_, M, T>) -> bool {
    wrap(c, [&c.x, &c.y, &c.z])
}

fn wrap<M: Gyrogroup, T: Float, const N: usize>(c: &Case<'_, M, T>, points: [&Row<T>; N]) -> bool {
    let origin = c.m.origin(c.m.dimension(c.x.len()));
    let total: f64 = points.map(|x| c.m.dist(&origin, x)).into_iter().sum();
    c.m.kappa().max(0.0).sqrt() * total > 2.5
}

law! {
    /// `0 ⊕ x = x = x ⊕ 0`, `⊖x ⊕ x = 0` and `⊖(x ⊕ y) = ⊖x ⊖ y`, within 8 u (rounding of x).
    inverse of Gyrogroup within ALL, |c, judge| {
        let zero = scaled(&c.x, 0.0);
        let within = bound(c, [&c.x]);
        judge.length("0 + x = x", c.m.dist(&c.m.add(&zero, &c.x), &c.x), within);
        judge.length("x + 0 = x", c.m.dist(&c.m.add(&c.x, &zero), &c.x), within);
        judge.length("-x + x = 0", c.m.dist(&c.m.add(&neg(&c.x), &c.x), &zero), within);
        let sum = c.m.add(&c.x, &c.y);
        judge.same("-(x + y) = -x - y", &neg(&sum), &c.m.add(&neg(&c.x), &neg(&c.y)));
    }
}

law! {
    /// `⊖x ⊕ (x ⊕ y) = y`, within 8 u (rounding of the points).
    left_cancellation of Gyrogroup within ALL, |c, judge| {
        if wraps(c) {
            return;
        }
        let sum = c.m.add(&c.x, &c.y);
        judge.point("x + y is a point", c.m, &sum);
        let back = c.m.add(&neg(&c.x), &sum);
        judge.length("-x + (x + y) = y", c.m.dist(&c.y, &back), bound(c, [&c.x, &c.y, &sum]));
    }
}

law! {
    /// `d(z ⊕ x, z ⊕ y) = d(x, y)`, within 8 u (rounding of the sums).
    left_translation of Gyrogroup within ALL, |c, judge| {
        if wraps(c) {
            return;
        }
        let (a, b) = (c.m.add(&c.z, &c.x), c.m.add(&c.z, &c.y));
        let error = c.m.dist(&a, &b) - c.m.dist(&c.x, &c.y);
        judge.length("d(z + x, z + y) = d(x, y)", error, bound(c, [&a, &b, &c.x, &c.y, &c.z]));
    }
}

law! {
    /// `x ⊕ (y ⊕ z) = (x ⊕ y) ⊕ gyr[x, y] z` and `(x ⊕ y) ⊕ z = x ⊕ (y ⊕ gyr[y, x] z)`,
    /// within 8 u (rounding of all points).
    associativity of Gyrogroup within ALL, |c, judge| {
        if wraps(c) {
            return;
        }
        let add = |x: &Row<T>, y: &Row<T>| c.m.add(x, y);
        let (xy, yz) = (add(&c.x, &c.y), add(&c.y, &c.z));
        let (left, turned) = (add(&c.x, &yz), c.m.gyration(&c.x, &c.y, &c.z));
        // Adding on the right is not an isometry: the sum's rounding turns what is added.
        let turn = turned_by(c, &c.z, [&c.x, &c.y, &xy]);
        let within = bound(c, [&c.x, &c.y, &c.z, &xy, &yz, &left, &turned]) + turn;
        judge.length("x + (y + z) = (x + y) + gyr[x, y] z", c.m.dist(&left, &add(&xy, &turned)), within);
        let turned = add(&c.y, &c.m.gyration(&c.y, &c.x, &c.z));
        let (left, right) = (add(&xy, &c.z), add(&c.x, &turned));
        let within = bound(c, [&c.x, &c.y, &c.z, &xy, &turned, &left, &right]) + turn;
        judge.length("(x + y) + z = x + (y + gyr[y, x] z)", c.m.dist(&left, &right), within);
    }
}

law! {
    /// `x ⊕ y = gyr[x, y](y ⊕ x)`, within 8 u (rounding of the points).
    commutativity of Gyrogroup within ALL, |c, judge| {
        if wraps(c) {
            return;
        }
        let (xy, yx) = (c.m.add(&c.x, &c.y), c.m.add(&c.y, &c.x));
        let turned = c.m.gyration(&c.x, &c.y, &yx);
        judge.length("x + y = gyr[x, y](y + x)", c.m.dist(&xy, &turned), bound(c, [&c.x, &c.y, &xy, &yx]));
    }
}

law! {
    /// A gyration is linear, preserves inner products and distances, respects ⊕ and ⊗, and is undone by
    /// `gyr[y, x]`; `gyr[⊖x, ⊖y] = gyr[x, y]`, and `gyr[r ⊗ x, s ⊗ x]` is the identity. Within 16 u
    /// (rounding of z) for each gyration, plus the turn that comes from rounding the points that it is
    /// made of.
    gyration of Gyrogroup within ALL, |c, judge| {
        if wraps(c) {
            return;
        }
        let turn = |w: &Row<T>| c.m.gyration(&c.x, &c.y, w);
        let (v, w) = (turn(&c.v), turn(&c.w));
        let size = length(&c.v) * length(&c.w);
        if size > 1e-200 {
            judge.number("<gyr v, gyr w> = <v, w>", (dot(&v, &w) - dot(&c.v, &c.w)) / size, 32.0 * c.u);
        }
        let sum = turn(&difference(&c.v, &c.w));
        let linear = length(&difference(&sum, &difference(&v, &w)));
        judge.length("gyr is linear", linear, 16.0 * c.u * (length(&c.v) + length(&c.w)));
        let (y, z, sum) = (turn(&c.y), turn(&c.z), c.m.add(&c.y, &c.z));
        let within = 2.0 * bound(c, [&c.y, &c.z, &sum]) + turned_by(c, &c.z, [&c.y]);
        judge.length("gyr(y + z) = gyr y + gyr z", c.m.dist(&turn(&sum), &c.m.add(&y, &z)), within);
        let multiple = c.m.scale(c.t, &c.z);
        let within = 2.0 * bound(c, [&c.z, &multiple]);
        judge.length("gyr(r * z) = r * gyr z", c.m.dist(&turn(&multiple), &c.m.scale(c.t, &z)), within);
        let back = c.m.gyration(&c.y, &c.x, &z);
        judge.length("gyr[y, x] gyr[x, y] z = z", c.m.dist(&back, &c.z), 4.0 * bound(c, [&c.z]));
        let same = c.m.gyration(&neg(&c.x), &neg(&c.y), &c.z);
        judge.length("gyr[-x, -y] = gyr[x, y]", c.m.dist(&same, &z), 4.0 * bound(c, [&c.z]));
        let (r, s) = (c.m.scale(c.t, &c.x), c.m.scale(-0.7, &c.x));
        let same = c.m.gyration(&r, &s, &c.z);
        judge.length("gyr[r * x, s * x] = id", c.m.dist(&same, &c.z), turned_by(c, &c.z, [&r, &s]));
    }
}

law! {
    /// `gyr[x ⊕ y, y] = gyr[x, y] = gyr[x, y ⊕ x]`: the loop properties, within the turn that comes from
    /// rounding the sums.
    loops of Gyrogroup within ALL, |c, judge| {
        if wrap(c, [&c.x, &c.x, &c.y, &c.y, &c.z]) {
            return;
        }
        let z = c.m.gyration(&c.x, &c.y, &c.z);
        let (xy, yx) = (c.m.add(&c.x, &c.y), c.m.add(&c.y, &c.x));
        let left = c.m.gyration(&xy, &c.y, &c.z);
        judge.length("gyr[x + y, y] = gyr[x, y]", c.m.dist(&left, &z), turned_by(c, &c.z, [&xy, &c.x, &c.y]));
        let right = c.m.gyration(&c.x, &yx, &c.z);
        let bound = turned_by(c, &c.z, [&yx, &c.x, &c.y]);
        judge.length("gyr[x, y + x] = gyr[x, y]", c.m.dist(&right, &z), bound);
    }
}

law! {
    /// `x ⊞ y = x ⊕ gyr[x, ⊖y] y`, `x ⊞ y = y ⊞ x` and `(x ⊞ y) ⊖ y = x`, within 8 u (rounding
    /// of the points). For the first, the turn that comes from rounding is added.
    coaddition of Gyrogroup within ALL, |c, judge| {
        if wraps(c) {
            return;
        }
        let sum = c.m.coadd(&c.x, &c.y);
        judge.point("the cosum is a point", c.m, &sum);
        let within = bound(c, [&c.x, &c.y, &sum]) + turned_by(c, &c.y, [&sum]);
        judge.length("the cosum is commutative", c.m.dist(&sum, &c.m.coadd(&c.y, &c.x)), within);
        let back = c.m.add(&sum, &neg(&c.y));
        judge.length("the cosum less y is x", c.m.dist(&back, &c.x), within);
        let turned = c.m.gyration(&c.x, &neg(&c.y), &c.y);
        let defined = c.m.add(&c.x, &turned);
        judge.length("the cosum is x + gyr[x, -y] y", c.m.dist(&sum, &defined), within);
    }
}

law! {
    /// `(r + s) ⊗ x = r ⊗ x ⊕ s ⊗ x`, `(rs) ⊗ x = r ⊗ (s ⊗ x)`, `1 ⊗ x = x`,
    /// `3 ⊗ x = x ⊕ (x ⊕ x)` and `½ ⊗ x = x/(1 + √(1 + κ‖x‖²))`, within 8 u (rounding of the
    /// points) (1 + d(0, x)).
    multiples of Gyrogroup within ALL, |c, judge| {
        let kappa = c.m.kappa();
        let radius = c.m.dist(&scaled(&c.x, 0.0), &c.x);
        let times = |r: f64, x: &Row<T>| c.m.scale(r, x);
        let (r, s) = (c.t, -0.4);
        let (rx, sx) = (times(r, &c.x), times(s, &c.x));
        let within = bound(c, [&c.x, &rx, &sx]) * c.long(radius);
        judge.length("1 * x = x", c.m.dist(&times(1.0, &c.x), &c.x), within);
        let sum = times(r + s, &c.x);
        judge.length("(r + s) * x = r * x + s * x", c.m.dist(&sum, &c.m.add(&rx, &sx)), within);
        judge.length("(r s) * x = r * (s * x)", c.m.dist(&times(r * s, &c.x), &times(r, &sx)), within);
        let half = times(0.5, &c.x);
        let closed = scaled(&c.x, (1.0 + margin(&c.x, kappa).sqrt()).recip());
        judge.length("x / 2", c.m.dist(&half, &closed), within);
        if kappa.max(0.0).sqrt() * radius < 0.9 {
            let (twice, thrice) = (c.m.add(&c.x, &c.x), times(3.0, &c.x));
            let within = 3.0 * bound(c, [&c.x, &twice, &thrice]) * c.long(radius);
            judge.length("3 * x = x + (x + x)", c.m.dist(&thrice, &c.m.add(&c.x, &twice)), within);
        }
    }
}

law! {
    /// `1 + κ‖x ⊕ y‖² = (1 + κ‖x‖²)(1 + κ‖y‖²)/(m_x m_y − κ‖x + y‖²)`, and
    /// where κ ≤ 0 the gyrotriangle inequality `d(0, x ⊕ y) ≤ d(0, x) + d(0, y)`, within 8 u (rounding
    /// of the sum).
    sums of Gyrogroup within ALL, |c, judge| {
        if wraps(c) {
            return;
        }
        let kappa = c.m.kappa();
        let sum = c.m.add(&c.x, &c.y);
        let [x, y, z] = [&c.x, &c.y, &sum].map(|p| margin(p, kappa));
        let euclidean_sum = length(&difference(&c.x, &neg(&c.y)));
        let ratio = z * (x * y - kappa * euclidean_sum * euclidean_sum) / (x * y);
        let edge = kappa.abs() * c.m.rounding(&sum) * length(&sum);
        judge.number("the margin of a sum", ratio - 1.0, 16.0 * c.u * (1.0 + edge));
        if kappa <= 0.0 {
            let zero = scaled(&c.x, 0.0);
            let [x, y, z] = [&c.x, &c.y, &sum].map(|p| c.m.dist(&zero, p));
            judge.length("|x + y| <= |x| + |y|", (z - x - y).max(0.0), bound(c, [&sum, &c.x, &c.y]));
        }
    }
}

law! {
    /// `P_{0→x} v = (1 + κ‖x‖²) v` and `x ⊕ exp₀ v = exp_x P_{0→x} v`, within 16 u ‖v‖ and
    /// 8 u (rounding of the points).
    transport_origin of Gyrogroup within ALL, |c, judge| {
        let origin = scaled(&c.x, 0.0);
        let longest = 0.5 * c.m.radius::<T>() * c.t;
        let v = c.vector(&origin, longest, &mut c.rng.clone());
        let carried = c.m.transport(&origin, &c.x, &v);
        let closed = scaled(&v, margin(&c.x, c.m.kappa()));
        let within = 16.0 * c.u * c.m.norm(&origin, &v);
        judge.length("P v = (1 + kappa |x|^2) v", c.gap(&c.x, &carried, &closed), within);
        if wrap(c, [&c.x]) {
            return;
        }
        let end = c.m.exp(&origin, &v);
        let sum = c.m.add(&c.x, &end);
        let within = bound(c, [&c.x, &end, &sum]) * c.long(longest);
        judge.length("x + exp_0 v = exp_x P v", c.m.dist(&sum, &c.m.exp(&c.x, &carried)), within);
    }
}

law! {
    /// Transport around the triangle 0, x, y turns as `gyr[y, ⊖x]` does:
    /// `P_{y→0} P_{x→y} P_{0→x} v = gyr[y, ⊖x] v`, within 64 u ‖v‖, stretched.
    holonomy of Gyrogroup within ALL, |c, judge| {
        if wraps(c) {
            return;
        }
        let origin = scaled(&c.x, 0.0);
        let v = c.vector(&origin, c.unit() * c.t, &mut c.rng.clone());
        let carried = c.m.transport(&c.x, &c.y, &c.m.transport(&origin, &c.x, &v));
        let around = c.m.transport(&c.y, &origin, &carried);
        let turned = c.m.gyration(&c.y, &neg(&c.x), &v);
        let within = 64.0 * c.u * c.m.norm(&origin, &v) * c.turn(c.m.dist(&c.x, &c.y));
        judge.length("around 0, x, y", c.gap(&origin, &around, &turned), within);
    }
}

law! {
    /// `d(Rx, Ry) = d(x, y)` for a reflection R, within 8 u (rounding of the points), and
    /// `Rx ⊕ Ry = R(x ⊕ y)`, within that of the sum.
    rotations of Gyrogroup within ALL, |c, judge| {
        if wraps(c) {
            return;
        }
        let mirror = c.vector(&scaled(&c.x, 0.0), 1.0, &mut c.rng.clone());
        let square = dot(&mirror, &mirror);
        let turn = |p: &Row<T>| {
            let along = 2.0 * dot(&mirror, p) / square;
            let mut turned = p.clone();
            for (p, n) in turned.iter_mut().zip(mirror.iter()) {
                *p = T::nearest(p.to_f64() - along * n.to_f64());
            }
            c.m.project(&turned)
        };
        let [x, y] = [&c.x, &c.y].map(turn);
        let within = 2.0 * bound(c, [&x, &y, &c.x, &c.y]);
        judge.length("d(Rx, Ry) = d(x, y)", c.m.dist(&x, &y) - c.m.dist(&c.x, &c.y), within);
        let (sum, moved) = (c.m.add(&c.x, &c.y), c.m.add(&x, &y));
        let within = within + 2.0 * bound(c, [&sum, &moved]) + turned_by(c, &c.y, [&c.x]);
        judge.length("Rx + Ry = R(x + y)", c.m.dist(&moved, &turn(&sum)), within);
    }
}

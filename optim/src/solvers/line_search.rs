//! Armijo's line search along a geodesic, with interpolation: Absil, Mahony, Sepulchre 2008, section
//! 4.2. Near the minimum, where rounding hides the decrease, it uses slopes as in Hager & Zhang 2005,
//! eq. 4.1.

use cotangent_engine::Row;
use cotangent_manifolds::Manifold;

use super::{Iterate, Run, scaled};

/// A step must achieve this part of the decrease that the slope promises.
const SUFFICIENT: f64 = 1e-4;

/// The largest number of trials. Steps after that many reductions are so short that only rounding is
/// left.
const TRIALS: usize = 60;

impl<M: Manifold, F: FnMut(&Row<f64>) -> (f64, Row<f64>)> Run<'_, M, F> {
    /// The point at time t, and the slope of the cost there.
    fn along(&mut self, from: &Iterate, direction: &Row<f64>, t: f64) -> (Iterate, f64) {
        let m = self.manifold();
        let velocity = scaled(t, direction);
        let iterate = self.evaluate(m.retract(&from.x, &velocity));
        let carried = m.transport(&from.x, &iterate.x, direction);
        let slope = m.inner(&iterate.x, &iterate.gradient, &carried);
        (iterate, slope)
    }

    /// Searches along a direction of the given slope for a point whose cost is low enough, starting with
    /// a step of time `t`. Returns the point and its time, or `None` if there is none.
    pub(super) fn line_search(
        &mut self,
        from: &Iterate,
        direction: &Row<f64>,
        slope: f64,
        mut t: f64,
    ) -> Option<(Iterate, f64)> {
        let rounding = 8.0 * f64::EPSILON * from.cost.abs();
        for trial in 0..TRIALS {
            let (iterate, end) = self.along(from, direction, t);
            let lower = iterate.cost <= from.cost + SUFFICIENT * t * slope
                || iterate.cost <= from.cost + rounding && end.abs() <= (2.0 * SUFFICIENT - 1.0) * slope;
            // The time at which the slope would vanish if it were linear.
            let flat = t * slope / (slope - end);
            if lower && iterate.is_finite() {
                // If the first trial was far from that time, try once more. This is exact on a
                // quadratic.
                if trial == 0 && flat.is_finite() && flat > 0.0 && !(0.5..2.0).contains(&(flat / t)) {
                    let further = flat.min(10.0 * t);
                    let (other, _) = self.along(from, direction, further);
                    if other.cost < iterate.cost && other.is_finite() {
                        return Some((other, further));
                    }
                }
                return Some((iterate, t));
            }
            // The minimum of the parabola through the known values, kept away from both ends.
            let parabola = -0.5 * slope * t * t / (iterate.cost - from.cost - slope * t);
            let shorter = if parabola.is_finite() { parabola } else { 0.0 };
            t = shorter.max(0.1 * t).min(0.5 * t);
        }
        None
    }
}

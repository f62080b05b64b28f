//! A step with momentum by one reading of its rows: points, momenta and gradients span all that comes out.

use cotangent_engine::{Domain, RowUpdate, Scalar};

use super::formulas::{flow, inverse_metric};
use crate::momentum::Rule;

/// The step of a rule.
pub(super) struct Step<'a, U> {
    pub(super) rule: &'a U,
    pub(super) kappa: f64,
}

impl<U: Rule<K>, const K: usize> RowUpdate<3, 2, K> for Step<'_, U> {
    const DOMAIN: Domain = Domain::Ball;

    fn kappa(&self) -> f64 {
        self.kappa
    }
    #[inline(always)]
    fn eval<S: Scalar>(
        &self,
        mx: S,
        [[xx, xm, xg], [_, mm, mg], [_, _, gg]]: [[S; 3]; 3],
        moments: [S; K],
    ) -> ([[S; 3]; 2], [S; K]) {
        let [keep, take] = self.rule.blend().map(S::constant);
        let kappa = S::constant(self.kappa);
        let inverse = inverse_metric(mx);
        let (length, moments) = self.rule.length(inverse * gg, moments);
        // The new momentum n = keep m + of_g g, and the velocity −length n.
        let of_g = take * inverse;
        let (xv, nn) = (
            -length * (keep * xm + of_g * xg),
            (keep.square() * mm + of_g * (S::constant(2.0) * keep * mg + of_g * gg)).max(S::zero()),
        );
        let vv = length.square() * nn;
        let area = (xx * vv - xv.square()).max(S::zero());
        let ([of_x, of_v], [bend, turn]) = flow(mx, xx, xv, vv, area, kappa);
        let of_n = -of_v * length;
        ([[of_x, of_n * keep, of_n * of_g], [-bend * length * nn, turn * keep, turn * of_g]], moments)
    }
}

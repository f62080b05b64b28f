//! Steps of optimisers that read their rows once: all results are combinations of points, momenta and
//! gradients.

use cotangent_engine::{Domain, RowUpdate, Scalar};

use super::formulas::{descent, flow, inverse_metric};
use crate::steps::Rule;

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
        [_, [_, beside_mm, beside_mg], [_, _, beside_gg]]: [[S; 3]; 3],
        moments: [S; K],
    ) -> ([[S; 3]; 2], [S; K]) {
        let [keep, take] = self.rule.blend().map(S::constant);
        let kappa = S::constant(self.kappa);
        let inverse = inverse_metric(mx);
        let (length, moments) = self.rule.length(inverse * gg, moments);
        // The new momentum n = keep m + of_g g, and the velocity −length n.
        let of_g = take * inverse;
        let (xv, nn) = (-length * (keep * xm + of_g * xg), square(keep, of_g, [mm, mg, gg]));
        let vv = length.square() * nn;
        // As accurate as the areas of m and of g; less where their parts orthogonal to x cancel.
        let area = length.square() * square(keep, of_g, [beside_mm, beside_mg, beside_gg]);
        let ([of_x, of_v], [bend, turn]) = flow(mx, xx, xv, vv, area, kappa);
        let of_n = -of_v * length;
        ([[of_x, of_n * keep, of_n * of_g], [-bend * length * nn, turn * keep, turn * of_g]], moments)
    }
}

/// `‖a m + b g‖²` from the products of m and g. NaN stays NaN.
#[inline(always)]
fn square<S: Scalar>(a: S, b: S, [mm, mg, gg]: [S; 3]) -> S {
    S::zero().max(a.square() * mm + b * (S::constant(2.0) * a * mg + b * gg))
}

/// A step of gradient descent.
pub(super) struct Descent {
    pub(super) kappa: f64,
    pub(super) rate: f64,
}

impl RowUpdate<2, 1, 0> for Descent {
    const DOMAIN: Domain = Domain::Ball;

    fn kappa(&self) -> f64 {
        self.kappa
    }
    #[inline(always)]
    fn eval<S: Scalar>(
        &self,
        mx: S,
        [[xx, xg], [_, gg]]: [[S; 2]; 2],
        [_, [_, area]]: [[S; 2]; 2],
        numbers: [S; 0],
    ) -> ([[S; 2]; 1], [S; 0]) {
        let [kappa, rate] = [self.kappa, self.rate].map(S::constant);
        ([descent(mx, xx, xg, gg, area, kappa, rate)], numbers)
    }
}

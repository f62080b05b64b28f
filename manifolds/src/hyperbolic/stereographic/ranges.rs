//! Ranges of the parameters, from which tests draw.

use cotangent_engine::registry::Range;

pub(super) const KAPPA: Range = Range(-1.5, 0.8);
pub(super) const NEGATIVE: Range = Range(-1.5, -0.5);
pub(super) const STEP: Range = Range(0.2, 0.9);

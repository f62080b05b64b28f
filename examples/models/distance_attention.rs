//! A transformer's block with attention by hyperbolic distance: Gulcehre et al. 2019, section 3.

use cotangent::engine::rng::Rng;
use cotangent::layers::{EncoderLayer, NormOrder, TransformerSizes};
use cotangent::prelude::*;

pub fn block(width: usize, heads: usize, hidden: usize, rng: &mut Rng) -> EncoderLayer<f64> {
    let head = [width / heads; 2];
    let sizes = TransformerSizes { width, heads, head, hidden, dropout: 0.0, order: NormOrder::Pre };
    EncoderLayer::new(&score::Distance, sizes, rng)
}

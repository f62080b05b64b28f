//! Poincaré embeddings: Nickel & Kiela 2017, eq. 6.

use cotangent::prelude::*;

/// The mean ranking loss of `heads`; `candidates` has for each its neighbour, then negatives.
pub fn loss<'t>(
    words: &Embedding<PoincareBall, f64>,
    tape: &'t Tape<f64>,
    [heads, candidates]: [&[u32]; 2],
) -> Var<'t, f64> {
    let u = words.forward(tape, heads).arrange([heads.len(), 1]);
    let v = words.forward(tape, candidates).arrange([heads.len(), candidates.len() / heads.len()]);
    loss::ranking(u.dist(&v)).mean()
}

//! Attention with every score, for comparison with its peers. Prints one JSON line per measurement, with
//! the names of the peers' script.
//!
//! `cargo bench --bench attention -- [--threads 1] [--only umbral/512/64]`
//! prints medians in milliseconds of the forward pass and of forward and backward together, for a batch
//! of 8 with 8 heads. It also prints by how many megabytes each raises the process's peak memory.
//! `--only one/` takes one head of one sequence, up to 16384 long, to show how memory grows. `padding` hides
//! the last quarter of the keys from a dot product, `dropout` drops a tenth of the weights;
//! `padding-stored` and `dropout-stored` are the same with stored weights.

mod common;
#[path = "common/timing.rs"]
mod timing;

use common::Options;
use cotangent::layers::{Aggregation, Dropout, Weights};
use cotangent::prelude::*;
use timing::{median_ms, uniform};

/// The peak memory of the process since [`forget_memory`], in megabytes.
fn memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

/// Resets the peak memory to the current one.
fn forget_memory() {
    // Only Linux has this file. Elsewhere there is no figure.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// By how many megabytes some work raises the peak memory.
fn rise(work: impl FnOnce()) -> f64 {
    forget_memory();
    let before = memory();
    work();
    memory().zip(before).map_or(f64::NAN, |(after, before)| after - before)
}

/// Attention of a case.
fn attend<'t>(
    name: &str,
    attention: &Attention<f32>,
    [q, k, v]: [Var<'t, f32>; 3],
    padding: &Tensor<f32>,
) -> Var<'t, f32> {
    let hidden = || Mask::Hidden(q.tape().constant(padding));
    match name {
        "padding" => attention.forward(q, k, v, hidden()),
        "padding-stored" => attention.weigh(q, k, hidden()).matmul(v),
        "dropout" | "dropout-stored" => {
            q.tape().training(rng::stream(42, "dropout", 0));
            let attention = Attention { dropout: Dropout { rate: 0.1 }, ..attention.clone() };
            if name == "dropout" {
                attention.forward(q, k, v, Mask::None)
            } else {
                attention.dropout.forward(attention.weigh(q, k, Mask::None)).matmul(v)
            }
        }
        _ => attention.forward(q, k, v, Mask::None),
    }
}

fn main() {
    common::run(|Options { threads, only }| {
        let barycentre = Aggregation::Barycentre;
        let cases: [(_, &dyn Score<f32>, _); 14] = [
            ("sdpa", &score::Dot, Aggregation::Sum),
            ("han", &score::Distance, barycentre),
            ("distance", &score::Distance, Aggregation::Sum),
            ("polar", &score::PolarDistance, Aggregation::Sum),
            ("half-space", &score::HalfSpaceDistance, Aggregation::Sum),
            ("penumbral", &score::PenumbralCone { light: 1.0 }, Aggregation::Sum),
            ("umbral", &score::UmbralCone { radius: 0.1 }, Aggregation::Sum),
            ("entailment", &score::EntailmentCone { light: 0.2 }, Aggregation::Sum),
            ("umbral-finite", &score::FiniteUmbralCone { radius: 0.1 }, Aggregation::Sum),
            ("laplacian", &score::Laplacian, Aggregation::Sum),
            ("padding", &score::Dot, Aggregation::Sum),
            ("padding-stored", &score::Dot, Aggregation::Sum),
            ("dropout", &score::Dot, Aggregation::Sum),
            ("dropout-stored", &score::Dot, Aggregation::Sum),
        ];
        for (name, score, aggregation) in cases {
            let batch = [(512, 16), (512, 64), (2048, 16), (2048, 64)].map(|(n, d)| (64, n, d));
            let one = [512, 1024, 2048, 4096, 8192, 16384].map(|n| (1, n, 64));
            for (heads, n, d) in batch.into_iter().chain(one) {
                let case = format!("{}{name}/{n}/{d}", if heads == 1 { "one/" } else { "" });
                if only.as_deref().is_some_and(|only| !case.starts_with(only)) {
                    continue;
                }
                let attention =
                    Attention { aggregation, weights: Weights::Softmax, ..Attention::<f32>::new(score, d) };
                let inputs = [1, 2, 3].map(|seed| uniform::<f32>(&[heads, n, d], -1.0, 1.0, seed));
                let padding = Tensor::from_fn([heads, 1, n], |i| f32::from(u8::from(4 * (i % n) >= 3 * n)));
                let forward = || {
                    let tape = Tape::new();
                    let inputs = [0, 1, 2].map(|i| tape.constant(&inputs[i]));
                    attend(name, &attention, inputs, &padding).with_data(|y| {
                        std::hint::black_box(y.len());
                    });
                };
                let forward_backward = || {
                    let tape = Tape::new();
                    let inputs = [0, 1, 2].map(|i| tape.variable(&inputs[i]));
                    let (q, y) = (inputs[0], attend(name, &attention, inputs, &padding));
                    std::hint::black_box(tape.backward(y.sum()).view(q).is_some());
                };
                let (rise_of_forward, rise_of_forward_backward) = (rise(forward), rise(forward_backward));
                let (fwd, fwdbwd) = (median_ms(forward), median_ms(forward_backward));
                println!(
                    "{{\"op\": \"{name}\", \"heads\": {heads}, \"n\": {n}, \"d\": {d}, \
                     \"threads\": {threads}, \"fwd_ms\": {fwd:.2}, \"fwdbwd_ms\": {fwdbwd:.2}, \
                     \"fwd_mb\": {rise_of_forward:.0}, \"fwdbwd_mb\": {rise_of_forward_backward:.0}}}"
                );
            }
        }
    });
}

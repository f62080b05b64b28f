//! All formulas of the registry, and random inputs for them.

use cotangent::engine::registry::{Formula, Kind, Range, Sample};
use cotangent::prelude::*;
use rand::RngExt;

/// Every formula of the engine, the manifolds and the scores of attention.
pub(crate) fn all() -> impl Iterator<Item = &'static Formula> {
    crate::limit::limit_time_on_device();
    let engine = cotangent::engine::formulas::ALL.into_iter();
    let manifolds = cotangent::manifolds::formulas::ALL.iter().copied();
    engine.chain(manifolds).chain([cotangent::layers::score::FORMULAS]).flatten()
}

/// A random number in a range.
pub(crate) fn draw(range: Range, rng: &mut rng::Rng) -> f64 {
    if range.0 == range.1 { range.0 } else { rng.random_range(range.0..range.1) }
}

/// Random vectors for a row formula.
pub(crate) fn vectors(
    sample: Sample,
    count: usize,
    width: usize,
    kappa: f64,
    rng: &mut rng::Rng,
) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<f64>> = Vec::new();
    for i in 0..count {
        let mut v: Vec<f64> = (0..width).map(|_| rng.random_range(-1.0..1.0)).collect();
        match sample {
            Sample::Free | Sample::HalfSpace | Sample::Sphere(_) => {}
            Sample::Ball => v.iter_mut().for_each(|x| *x *= 0.5 / (width as f64).sqrt()),
            Sample::Hyperboloid(points) if i < points => {
                let space: f64 = v[1..].iter().map(|x| x * x).sum();
                v[0] = (space - 1.0 / kappa).sqrt();
            }
            Sample::Hyperboloid(_) => {
                // ⟨x, v⟩_L = 0 fixes the time coordinate.
                let x = &all[0];
                v[0] = v[1..].iter().zip(&x[1..]).map(|(a, b)| a * b).sum::<f64>() / x[0];
            }
        }
        match sample {
            Sample::HalfSpace => v[width - 1] = 1.0 + 0.9 * v[width - 1],
            Sample::Sphere(points) => {
                // On the sphere, or tangent to it at the first point.
                let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
                let along =
                    all.first().map_or(0.0, |x| kappa * x.iter().zip(&v).map(|(a, b)| a * b).sum::<f64>());
                for c in 0..width {
                    if i < points {
                        v[c] /= norm * kappa.sqrt();
                    } else {
                        v[c] -= along * all[0][c];
                    }
                }
            }
            _ => {}
        }
        all.push(v);
    }
    all
}

/// Inputs of a formula's operation: `n` elements, rows or left rows.
pub(crate) fn inputs(formula: &Formula, n: usize, width: usize, rng: &mut rng::Rng) -> Vec<Tensor<f64>> {
    match formula.kind {
        Kind::Map(ranges) => ranges
            .iter()
            .enumerate()
            .map(|(k, &range)| {
                // One operand of several is a single number.
                let shape: &[usize] = if k == 2 { &[] } else { &[n] };
                Tensor::from_fn(shape, |_| draw(range, rng))
            })
            .collect(),
        Kind::Row { plan, params, sample } => {
            let count = plan().vectors;
            let params: Vec<f64> = params.iter().map(|&r| draw(r, rng)).collect();
            let kappa = params.first().copied().unwrap_or(0.0);
            let mut tables = vec![Vec::with_capacity(n * width); count];
            for _ in 0..n {
                for (table, row) in tables.iter_mut().zip(vectors(sample, count, width, kappa, rng)) {
                    table.extend(row);
                }
            }
            let tables = tables.into_iter().map(|t| Tensor::new([n, width], t));
            tables.chain(params.into_iter().map(Tensor::scalar)).collect()
        }
        Kind::Pair { ranges, counts: [l, r, _], .. } => {
            let m = n / 2 + 1;
            let mut all = vec![
                Tensor::from_fn([n, width], |_| rng.random_range(-1.0..1.0)),
                Tensor::from_fn([m, width], |_| rng.random_range(-1.0..1.0)),
            ];
            for (k, &range) in ranges[1..].iter().enumerate() {
                let shape: &[usize] = if k < l {
                    &[n]
                } else if k < l + r {
                    &[m]
                } else {
                    &[]
                };
                all.push(Tensor::from_fn(shape, |_| draw(range, rng)));
            }
            all
        }
    }
}

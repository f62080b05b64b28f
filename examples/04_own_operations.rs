//! Operations of your own, of four kinds: `cargo run --release --example 04_own_operations`
//!
//! An elementwise formula, a row formula, a score of pairs, and one with a hand-written reverse pass.

use cotangent::engine::{Outcome, ShapeError, View, Weights, check, row_formula};
use cotangent::prelude::*;

/// Elementwise: the value. Its derivatives, SIMD and all else come with it.
#[derive(Clone, Copy)]
struct Swish;

impl MapFormula<1> for Swish {
    const NAME: &'static str = "swish";
    fn eval<S: Scalar>([x]: [S; 1]) -> S {
        x * x.sigmoid()
    }
}

row_formula! {
    /// A row formula: the reflection of y in the hyperplane orthogonal to x, y − 2⟨x, y⟩/⟨x, x⟩ x.
    /// It is a function of inner products, so that is how it is written.
    Reflect = "reflect": vector [Input(0), Input(1)];
    xx = Dot(0, 0), xy = Dot(0, 1) => [S::constant(-2.0) * xy / xx, S::one()]
}

/// A score of pairs of rows, which attention can use: the negative squared distance.
#[derive(Clone, Copy)]
struct Nearness;

impl PairFormula<0, 0, 0> for Nearness {
    const NAME: &'static str = "nearness";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    fn eval<S: Scalar>(square: S, _: [S; 0], _: [S; 0], _: [S; 0]) -> S {
        -square
    }
}

/// The reversal of each row, with its reverse pass written out.
struct Reverse;

impl<T: Float> Operation<T> for Reverse {
    fn name(&self) -> &'static str {
        "reverse"
    }
    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        Ok(inputs[0].clone())
    }
    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let width = inputs[0].shape.width().max(1);
        for (x, y) in inputs[0].data.chunks(width).zip(out.chunks_mut(width)) {
            y.iter_mut().zip(x.iter().rev()).for_each(|(y, x)| *y = *x);
        }
    }
    fn backward(&self, inputs: &[View<'_, T>], _: Outcome<'_, T>, g: &[T], grads: &mut [Option<&mut [T]>]) {
        let width = inputs[0].shape.width().max(1);
        let Some(dx) = grads[0].as_deref_mut() else { return };
        for (g, dx) in g.chunks(width).zip(dx.chunks_mut(width)) {
            dx.iter_mut().zip(g.iter().rev()).for_each(|(dx, g)| *dx = *g);
        }
    }
}

fn main() {
    let tape = Tape::<f64>::new();
    let x = tape.variable(&Tensor::new([2, 2], vec![1.0, 0.0, 1.0, 1.0]));
    let y = tape.variable(&Tensor::new([2, 2], vec![3.0, 4.0, 3.0, 4.0]));
    println!("swish {}", tape.map(Swish, [y]).to_tensor());
    let reflected = Var::vector(Reflect, [&x, &y], []);
    println!("reflected {}", reflected.to_tensor());
    assert_eq!(reflected.to_tensor().row(0), [-3.0, 4.0]);
    let attended = tape.pairs(Nearness, [x, y], [], [], []).attend(y, Weights::Softmax, false);
    println!("attended {}", attended.to_tensor());
    println!("reversed {}", tape.operation(&Reverse, &[x]).to_tensor());

    // Every one has its gradient.
    let inputs =
        [Tensor::new([2, 2], vec![1.0, 0.3, 1.0, 1.2]), Tensor::new([2, 2], vec![0.5, 1.0, 0.2, 0.1])];
    let worst = check::gradients(&inputs, |v| {
        let tape = v[0].tape();
        let z = Var::vector(Reflect, [&tape.map(Swish, [v[0]]), &v[1]], []);
        (tape.pairs(Nearness, [z, v[0]], [], [], []).attend(v[1], Weights::Softmax, false)
            * tape.operation(&Reverse, &[z]))
        .sum()
    });
    println!("worst disagreement with finite differences {:.1e}", worst.relative);
    assert!(worst.relative < 1e-8);
}

//! Tensors, broadcasting and reductions: `cargo run --release --example 02_tensors`

use cotangent::prelude::*;

fn main() {
    let tape = Tape::<f64>::new();
    let x = tape.variable(&Tensor::from_fn([4, 3], |i| i as f64)); // [4, 3]
    let scale = tape.variable(&Tensor::new([4, 1], vec![1.0, 0.5, 2.0, -1.0])); // one for each row
    let shift = tape.variable(&Tensor::new([3], vec![10.0, 20.0, 30.0])); // one for each column
    let y = x * scale + shift; // [4, 3]
    println!("y = {}", y.to_tensor());
    println!("its column means {}", y.mean_axis(0).to_tensor()); // [3]
    println!("its softmax along rows {}", y.softmax(-1).to_tensor()); // [4, 3]

    // The gradient of a broadcast operand is summed over what it was repeated for.
    let gradients = tape.backward(y.sum());
    assert_eq!(gradients.wrt(shift).data(), [4.0; 3]);
    assert_eq!(gradients.wrt(scale).data(), [3.0, 12.0, 21.0, 30.0]);
}

//! Generic functions that other crates call, compiled here for both element types.
//!
//! A generic function is compiled in each crate that calls it; one that is marked `#[inline(never)]` is not compiled
//! again if a crate below has it for the same types. So it is called here once, in a function that never runs.

use crate::kernels::attend::Weights;
use crate::kernels::finite::first_not_finite;
use crate::kernels::pair::{ManyToMany, PairSide};
use crate::kernels::softmax::softmax_in_place;
use crate::kernels::tiles::{OneToMany, RowNumbers, RowProgram, Tiles};
use crate::tape::float::Float;
use crate::tape::{ParamId, Tape};
use crate::tensor::Tensor;

struct Values<T: Float> {
    program: RowProgram<T>,
    numbers: RowNumbers<T>,
    one: OneToMany<T>,
    many: ManyToMany<T>,
    sides: [PairSide<T>; 2],
    tiles: Tiles,
    tensor: Tensor<T>,
    tape: Tape<T>,
}

fn uses<T: Float>(values: &mut Values<T>, id: ParamId) {
    let Values { program, numbers, one, many, sides, tiles, tensor, tape } = values;
    let mut of_tiles = Tiles::new(1);
    let _ = program.run(&[tiles]);
    numbers.numbers(&[tiles]);
    numbers.gradients(&[tiles], &[], &mut [&mut of_tiles]);
    one.numbers(tensor.data(), tiles);
    one.gradients(tiles, &[], &mut [], &mut of_tiles);
    let [left, right] = &*sides;
    many.gradients([left, right], 1, &mut [PairSide::default(), PairSide::default()], &mut |_, _, _| {});
    softmax_in_place(tensor.data_mut());
    first_not_finite(tensor.data());
    let (x, y) = (tape.variable(tensor), tape.constant(tensor));
    let z = x + tape.parameter(id, tensor) * tape.scalar(0.0);
    let _ = Weights::Softmax.normalise(x, Some(y));
    let _ = (tape.jvp(z, &[(x, y)]), z.to_tensor(), tape.to_dot());
    drop((tape.backward(z), tape.backward_from(z, tensor)));
    tape.reset();
}

/// What is compiled here. Nobody needs to call it.
#[doc(hidden)]
#[inline(never)]
pub fn instances() {
    let of_f32: fn(&mut Values<f32>, ParamId) = uses;
    let of_f64: fn(&mut Values<f64>, ParamId) = uses;
    std::hint::black_box((of_f32, of_f64));
}

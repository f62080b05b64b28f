//! Generic functions that other crates call, compiled here for `f32` and `f64`.
//!
//! A generic function is compiled in each crate that calls it, unless it is marked `#[inline(never)]` and a
//! crate below has it for the same types. So this module calls them, in a function that never runs.

use crate::formula::pair::PairForm;
use crate::kernels::attend::Weights;
use crate::kernels::finite::first_not_finite;
use crate::kernels::pair::{ManyToMany, PairSide, interpreted};
use crate::kernels::softmax::softmax_in_place;
use crate::kernels::tiles::{OneToMany, RowNumbers, RowProgram, Tiles};
use crate::tape::float::Float;
use crate::tape::laws::registry::Formula;
use crate::tape::{ParamId, Tape};
use crate::tensor::Tensor;

struct Arguments<T: Float> {
    program: RowProgram<T>,
    numbers: RowNumbers<T>,
    one: OneToMany<T>,
    many: ManyToMany<T>,
    sides: [PairSide<T>; 2],
    tiles: Tiles,
    tensor: Tensor<T>,
    tape: Tape<T>,
    formula: Formula,
    form: PairForm,
}

fn call<T: Float>(arguments: &mut Arguments<T>, id: ParamId) {
    let Arguments { program, numbers, one, many, sides, tiles, tensor, tape, formula, form } = arguments;
    let mut gradients = Tiles::new(1);
    let _ = program.run(&[tiles]);
    numbers.numbers(&[tiles]);
    numbers.gradients(&[tiles], &[], &mut [&mut gradients]);
    one.numbers(tensor.data(), tiles);
    one.gradients(tiles, &[], &mut [], &mut gradients);
    let [left, right] = &*sides;
    many.gradients([left, right], 1, &mut [PairSide::default(), PairSide::default()], &mut |_, _, _| {});
    softmax_in_place(tensor.data_mut());
    first_not_finite(tensor.data());
    let (x, y) = (tape.variable(tensor), tape.constant(tensor));
    let z = x + tape.parameter(id, tensor) * tape.scalar(0.0);
    let _ = Weights::Softmax.normalise(x, Some(y));
    let _ = (tape.jvp(z, &[(x, y)]), z.to_tensor(), tape.to_dot());
    let _ = formula.as_operation::<T>().name();
    let _ = formula.as_interpreted_operation::<T>().name();
    interpreted::<T>(formula.name, *form);
    drop((tape.backward(z), tape.backward_from(z, tensor)));
    tape.reset();
}

/// Names the functions, so that they are compiled. Nobody needs to call it.
#[doc(hidden)]
#[inline(never)]
pub fn instances() {
    let f32: fn(&mut Arguments<f32>, ParamId) = call;
    let f64: fn(&mut Arguments<f64>, ParamId) = call;
    std::hint::black_box((f32, f64));
}

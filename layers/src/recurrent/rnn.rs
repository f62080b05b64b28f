//! The simple recurrent layer: Ganea, Bécigneul, Hofmann 2018, section 3.3.

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Var};
use cotangent_manifolds::{Euclidean, Module, Param, Point, Steps};

use crate::activation::Activation;
use crate::init;
use crate::recurrent::cell::Cell;
use crate::space::gyrovector_space::{GyrovectorSpace, origins};

/// `h ← φ^⊗(W ⊗ h ⊕ U ⊗ x ⊕ b)`. Run by [`Cell::forward`]. Eq. 27.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{Activation, Cell, Rnn};
/// use cotangent_manifolds::{Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let mut rnn = Rnn::new(ball, 1, 1, &mut rng::stream(1, 0, 0));
/// rnn.activation = Activation::IDENTITY;
/// *rnn.input.value_mut() = Tensor::new([1, 1], vec![1.0]);
/// *rnn.hidden.value_mut() = Tensor::new([1, 1], vec![1.0]);
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::from_fn([3, 1, 1], |_| 0.5))); // [len, batch, d]
/// let states = rnn.forward(x); // one for each element, [batch, m]
/// assert!((states.last().coordinates().item() - (3.0 * 0.5_f64.atanh()).tanh()).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, Module)]
pub struct Rnn<M, T: Float = f32> {
    /// U: `[m, d]`.
    pub input: Param<Euclidean, T>,
    /// W: `[m, m]`.
    pub hidden: Param<Euclidean, T>,
    /// b: a point, `[m]`.
    pub bias: Param<M, T>,
    /// φ.
    #[module(skip)]
    pub activation: Activation<T>,
}

impl<M: Steps, T: Float> Rnn<M, T> {
    /// A layer of d-dimensional inputs and m-dimensional states: U by [`init::glorot_uniform`], W by
    /// [`init::orthogonal`], the bias at the origin, φ = tanh.
    pub fn new(manifold: M, d: usize, m: usize, rng: &mut Rng) -> Self {
        Rnn {
            input: Param::new("input", Euclidean, init::glorot_uniform(m, d, rng)),
            hidden: Param::new("hidden", Euclidean, init::orthogonal(m, m, rng)),
            bias: Param::new("bias", manifold, origins(&manifold, &[], m)),
            activation: Activation::TANH,
        }
    }
}

impl<M: Steps, T: Float> Cell<M, T> for Rnn<M, T> {
    fn dims(&self) -> [usize; 2] {
        [self.input.value().shape()[1], self.hidden.value().shape()[1]]
    }

    #[track_caller]
    fn input_terms<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        x: Var<'t, T>,
    ) -> Var<'t, T> {
        let ux = space.matvec(*self.input.on(x.tape()), x);
        ux.insert_axis(x.shape().rank() - 1)
    }

    #[track_caller]
    fn step<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        h: Var<'t, T>,
        inputs: Var<'t, T>,
    ) -> Var<'t, T> {
        let tape = h.tape();
        let wh = space.matvec(*self.hidden.on(tape), h);
        let sum = space.add(space.add(wh, inputs.reshape(h.shape())), space.parameter(tape, &self.bias));
        *self.activation.forward(Point::new(*space, sum)).coordinates()
    }
}

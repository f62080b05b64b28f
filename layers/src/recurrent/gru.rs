//! Gated recurrent units: Ganea, Bécigneul, Hofmann 2018, section 3.3; in Euclidean space Cho et al. 2014.

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Var};
use cotangent_manifolds::{Euclidean, Module, Param, Point, Steps};

use crate::activation::Activation;
use crate::init;
use crate::recurrent::cell::{Cell, side_by_side};
use crate::space::gyrovector_space::{GyrovectorSpace, origins};

/// The gated recurrent unit. Run by [`Cell::forward`].
///
/// ```text
/// r = σ(log₀(Wʳ ⊗ h ⊕ Uʳ ⊗ x ⊕ bʳ))         z = σ(log₀(Wᶻ ⊗ h ⊕ Uᶻ ⊗ x ⊕ bᶻ))
/// h̃ = φ^⊗((W diag(r)) ⊗ h ⊕ U ⊗ x ⊕ b)      h ← h ⊕ diag(z) ⊗ (⊖h ⊕ h̃)
/// ```
///
/// The gates' points are stacked as rows, so that few products are needed: one for all inputs of a
/// sequence, and in each step one with the state for both gates and one for the candidate h̃.
/// Eq. 29 to 31.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{Cell, Gru};
/// use cotangent_manifolds::{Module, Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let mut gru = Gru::new(ball, 1, 1, &mut rng::stream(1, 0, 0));
/// *gru.input.value_mut() = Tensor::new([3, 1], vec![0.0, 0.0, 1.0]);
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::new([1, 1, 1], vec![0.5]))); // [len, batch, d]
/// let states = gru.forward(x);
/// let want = (0.5 * 0.5_f64.atanh().tanh()).tanh(); // z = ½: half of the distance from 0 to tanh^⊗ ½
/// assert!((states.last().coordinates().item() - want).abs() < 1e-15);
/// assert_eq!(gru.count(), 3 + 2 + 1 + 2 + 1);
/// ```
#[derive(Clone, Debug, Module)]
pub struct Gru<M, T: Float = f32> {
    /// Uʳ, Uᶻ, U: `[3m, d]`.
    pub input: Param<Euclidean, T>,
    /// Wʳ, Wᶻ: `[2m, m]`.
    pub gates: Param<Euclidean, T>,
    /// W: `[m, m]`.
    pub hidden: Param<Euclidean, T>,
    /// bʳ, bᶻ: points, `[2, m]`.
    pub gate_biases: Param<M, T>,
    /// b: a point, `[m]`.
    pub bias: Param<M, T>,
    /// φ.
    #[module(skip)]
    pub activation: Activation<T>,
}

impl<M: Steps, T: Float> Gru<M, T> {
    /// A layer of d-dimensional inputs and m-dimensional states: each U by [`init::glorot_uniform`],
    /// each W by [`init::orthogonal`], the biases at the origin, φ = tanh.
    pub fn new(manifold: M, d: usize, m: usize, rng: &mut Rng) -> Self {
        let input = init::stacked(3, || init::glorot_uniform(m, d, rng));
        let gates = init::stacked(2, || init::orthogonal(m, m, rng));
        Gru {
            input: Param::new("input", Euclidean, input),
            gates: Param::new("gates", Euclidean, gates),
            hidden: Param::new("hidden", Euclidean, init::orthogonal(m, m, rng)),
            gate_biases: Param::new("gate_biases", manifold, origins(&manifold, &[2], m)),
            bias: Param::new("bias", manifold, origins(&manifold, &[], m)),
            activation: Activation::TANH,
        }
    }
}

impl<M: Steps, T: Float> Cell<M, T> for Gru<M, T> {
    fn dims(&self) -> [usize; 2] {
        [self.input.value().shape()[1], self.hidden.value().shape()[1]]
    }

    #[track_caller]
    fn input_terms<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        x: Var<'t, T>,
    ) -> Var<'t, T> {
        let u = *self.input.on(x.tape());
        side_by_side(space, space.log0(x), u, 3)
    }

    #[track_caller]
    fn step<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        h: Var<'t, T>,
        inputs: Var<'t, T>,
    ) -> Var<'t, T> {
        let tape = h.tape();
        let [gates, w] = [&self.gates, &self.hidden].map(|param| *param.on(tape));
        let v = space.log0(h);
        let sums = space.add(side_by_side(space, v, gates, 2), inputs.slice(-2, 0..2)); // [batch, 2, m]
        let activations = space.log0(space.add(sums, space.parameter(tape, &self.gate_biases))).sigmoid();
        let [r, z] = [0, 1].map(|gate| activations.slice(-2, gate..gate + 1).reshape(h.shape()));

        let wh = space.exp0((r * v).matmul_nt(w));
        let candidate = space.add(wh, inputs.slice(-2, 2..3).reshape(h.shape()));
        let candidate = space.add(candidate, space.parameter(tape, &self.bias));
        let candidate = *self.activation.forward(Point::new(*space, candidate)).coordinates();
        space.add(h, space.map(space.add(-h, candidate), |v| z * v))
    }
}

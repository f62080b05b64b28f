//! Long short-term memory: Hochreiter & Schmidhuber 1997, with the forget gate of Gers, Schmidhuber,
//! Cummins 2000; in gyrovector spaces by the pattern of Ganea, Bécigneul, Hofmann 2018, section 3.3.

use std::ops::Range;

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Var};
use cotangent_manifolds::{Euclidean, FactorVisitor, Module, Param, Steps};

use crate::activation::Activation;
use crate::init;
use crate::recurrent::cell::{Cell, side_by_side};
use crate::space::gyrovector_space::{GyrovectorSpace, origins};

/// The long short-term memory. Run by [`Cell::forward`].
///
/// ```text
/// i = σ(log₀(Wⁱ ⊗ h ⊕ Uⁱ ⊗ x ⊕ bⁱ))      f = σ(log₀(Wᶠ ⊗ h ⊕ Uᶠ ⊗ x ⊕ bᶠ))
/// o = σ(log₀(Wᵒ ⊗ h ⊕ Uᵒ ⊗ x ⊕ bᵒ))      c̃ = φ^⊗(W ⊗ h ⊕ U ⊗ x ⊕ b)
/// c ← diag(f) ⊗ c ⊕ diag(i) ⊗ c̃          h ← diag(o) ⊗ φ^⊗(c)
/// ```
///
/// The state has two points: h, which is what [`Cell::forward`] returns, and the memory c. The gates'
/// points are stacked as rows, so that few products are needed: one for all inputs of a sequence, and one
/// with the state in each step. `diag(i) ⊗ φ^⊗` is one map, `exp₀(i φ(log₀ ·))`.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{Cell, Lstm};
/// use cotangent_manifolds::{Module, Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let mut lstm = Lstm::new(ball, 1, 1, &mut rng::stream(1, 0, 0));
/// *lstm.input.value_mut() = Tensor::new([4, 1], vec![0.0, 0.0, 0.0, 1.0]);
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::new([1, 1, 1], vec![0.5]))); // [len, batch, d]
/// let states = lstm.forward(x);
/// let c = 0.5 * 0.5_f64.atanh().tanh(); // log₀ of c: i = ½, and the memory was empty
/// let want = (0.5 * c.tanh()).tanh(); // o = ½
/// assert!((states.last().coordinates().item() - want).abs() < 1e-15);
/// assert_eq!(lstm.count(), 4 + 4 + 4);
/// ```
#[derive(Clone, Debug, Module)]
pub struct Lstm<M, T: Float = f32> {
    /// Uⁱ, Uᶠ, Uᵒ, U: `[4m, d]`.
    pub input: Param<Euclidean, T>,
    /// Wⁱ, Wᶠ, Wᵒ, W: `[4m, m]`.
    pub hidden: Param<Euclidean, T>,
    /// bⁱ, bᶠ, bᵒ, b: points, `[4, m]`.
    pub biases: Param<M, T>,
    /// φ.
    #[module(skip)]
    pub activation: Activation<T>,
}

/// Whether a manifold is Euclidean space. One that is chosen at run time is asked by its model.
fn is_flat<M: Steps>(manifold: &M, dim: usize) -> bool {
    struct Flat(bool);
    impl FactorVisitor for Flat {
        fn factor<M: Steps>(&mut self, _: &M, _: Range<usize>) {
            self.0 &= M::FLAT;
        }
    }
    let mut flat = Flat(true);
    manifold.factors(0..manifold.ambient(dim), &mut flat);
    flat.0
}

impl<M: Steps, T: Float> Lstm<M, T> {
    /// A layer of d-dimensional inputs and m-dimensional states: each U by [`init::glorot_uniform`], each
    /// W by [`init::orthogonal`], φ = tanh, the biases at the origin but for the forget gate's, which
    /// starts at 1, so that the memory lasts (Gers et al. 2000; Jozefowicz, Zaremba, Sutskever 2015).
    ///
    /// On a curved manifold that one starts at the origin too. The point with the same gate,
    /// exp₀(1, …, 1), is too far out: √m is 11 for 128 dimensions, and tanh 11 is 1 in `f32`. With a
    /// learned curvature biases are vectors, as in flat space, and it starts at 1. Unless m is small, go on
    /// with [`with_biases_at_the_origin`](Self::with_biases_at_the_origin) there.
    pub fn new(manifold: M, d: usize, m: usize, rng: &mut Rng) -> Self {
        let input = init::stacked(4, || init::glorot_uniform(m, d, rng));
        let hidden = init::stacked(4, || init::orthogonal(m, m, rng));
        let mut biases = origins(&manifold, &[4], m);
        if is_flat(&manifold, m) {
            biases.row_mut(FORGET).fill(T::one());
        }
        Lstm {
            input: Param::new("input", Euclidean, input),
            hidden: Param::new("hidden", Euclidean, hidden),
            biases: Param::new("biases", manifold, biases),
            activation: Activation::TANH,
        }
    }

    /// The layer with all biases at the origin, the forget gate's too: for a learned curvature.
    pub fn with_biases_at_the_origin(mut self) -> Self {
        let m = self.hidden.value().shape()[1];
        let biases = origins(self.biases.manifold(), &[4], m);
        *self.biases.value_mut() = biases;
        self
    }
}

/// The forget gate's number.
const FORGET: usize = 1;

impl<M: Steps, T: Float> Cell<M, T> for Lstm<M, T> {
    const POINTS: usize = 2;

    fn dims(&self) -> [usize; 2] {
        [self.input.value().shape()[1], self.hidden.value().shape()[1]]
    }

    #[track_caller]
    fn input_terms<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        x: Var<'t, T>,
    ) -> Var<'t, T> {
        side_by_side(space, space.log0(x), *self.input.on(x.tape()), 4)
    }

    #[track_caller]
    fn step<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        state: Var<'t, T>,
        inputs: Var<'t, T>,
    ) -> Var<'t, T> {
        let (tape, m) = (state.tape(), self.hidden.value().shape()[1]);
        let [h, c] = [0, m].map(|first| state.slice(-1, first..first + m));
        let sums = space.add(side_by_side(space, space.log0(h), *self.hidden.on(tape), 4), inputs);
        let sums = space.log0(space.add(sums, space.parameter(tape, &self.biases))); // [batch, 4, m]
        let gates = sums.slice(-2, 0..3).sigmoid();
        let [i, f, o] = [0, FORGET, 2].map(|gate| gates.slice(-2, gate..gate + 1).reshape(h.shape()));
        let candidate = self.activation.apply(sums.slice(-2, 3..4).reshape(h.shape()));
        let c = space.add(space.map(c, |v| f * v), space.exp0(i * candidate));
        let h = space.map(c, |v| o * self.activation.apply(v));
        Var::concat(&[h, c], -1)
    }
}

//! Layer normalisation on the tape.

use crate::kernels::layer_norm::LayerNorm;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;

impl<T: Float> Var<'_, T> {
    /// Layer normalisation over the last axis (Ba, Kiros, Hinton 2016): `(x − mean)/√(variance +
    /// epsilon) · gain + bias`, with `gain` and `bias` of shape `[width]`. The epsilon (1e-5 is usual)
    /// is part of the definition.
    ///
    /// # Panics
    /// If `gain` or `bias` does not have the shape `[width]`, or the rows are empty.
    #[track_caller]
    pub fn layer_norm(self, gain: impl Into<Self>, bias: impl Into<Self>, epsilon: f64) -> Self {
        self.tape().record(Op::LayerNorm(LayerNorm { epsilon }), &[self, gain.into(), bias.into()])
    }
}

impl<T: Float> Operation<T> for LayerNorm {
    fn name(&self) -> &'static str {
        "layer_norm"
    }

    kernel_passes!(LayerNorm);

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let shape = inputs[0].shape();
        let last = shape.rank() as isize - 1;
        let row = |v: Var<'t, T>| v.insert_axis(last as usize);
        let (x, gain) = (inputs[0], inputs[1]);
        let center = x - row(x.mean_axis(last));
        let variance = center.square().mean_axis(last) + self.epsilon;
        let unit = center / row(variance.sqrt());
        let of_x = tangents[0].map(|dx| {
            let dx = dx - row(dx.mean_axis(last));
            (dx - unit * row((unit * dx).mean_axis(last))) / row(variance.sqrt()) * gain
        });
        let of_gain = tangents[1].map(|dgain| unit * dgain);
        let of_bias = tangents[2].map(|dbias| dbias.broadcast_to(shape.clone()));
        Var::sum_of([of_x, of_gain, of_bias]).expect("at least one tangent")
    }
}

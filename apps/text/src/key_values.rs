//! Keys and values that outlive a tape, for models that make a text token by token.

use cotangent::layers::KeyValueCache;
use cotangent::prelude::*;

/// Keys and values of each layer, as tensors. The tape can be reset between two tokens, so its memory does
/// not grow with their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyValues(Vec<[Tensor<f32>; 2]>);

impl KeyValues {
    pub(crate) fn new(layers: &[KeyValueCache<'_, f32>]) -> Self {
        KeyValues(layers.iter().map(|layer| [layer.keys, layer.values].map(Var::to_tensor)).collect())
    }

    /// They on a tape.
    pub(crate) fn on<'t>(&self, tape: &'t Tape<f32>) -> Vec<KeyValueCache<'t, f32>> {
        self.map(|x| tape.constant(x))
    }

    /// Those of some sequences of the batch, on a tape.
    pub(crate) fn gather<'t>(&self, tape: &'t Tape<f32>, rows: &[u32]) -> Vec<KeyValueCache<'t, f32>> {
        self.map(|x| tape.constant(x).gather(rows))
    }

    fn map<'t>(&self, var: impl Fn(&Tensor<f32>) -> Var<'t, f32>) -> Vec<KeyValueCache<'t, f32>> {
        let layer = |[keys, values]: &[_; 2]| KeyValueCache { keys: var(keys), values: var(values) };
        self.0.iter().map(layer).collect()
    }

    /// Their bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().flatten().map(|x| size_of_val(x.data())).sum()
    }
}

//! What is minimised: binary cross-entropy over types. López & Strube 2020, sections 4.6 and 5.2; Choi et
//! al. 2018, section 4.2.

use cotangent::prelude::*;

use crate::config::{Loss, Reduction};
use crate::examples::Example;
use crate::types::{Granularity, Types};

/// The loss of a batch of logits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypingLoss<'a> {
    pub(crate) types: &'a Types,
    pub(crate) loss: Loss,
    pub(crate) reduction: Reduction,
}

impl TypingLoss<'_> {
    /// The loss of logits, `[batch, types]`, of these mentions: a single number.
    ///
    /// Multi-task: for each granularity the mean over the mentions that have a type of it, of the
    /// cross-entropies with its types, summed or averaged over these; then the sum over the granularities. A
    /// granularity of which no mention of the batch has a type counts nothing. Plain: the mean over all
    /// mentions of the cross-entropies with all types, summed or averaged.
    #[track_caller]
    pub(crate) fn compute<'t, T: Float>(&self, logits: Var<'t, T>, examples: &[&Example]) -> Var<'t, T> {
        let (tape, shape) = (logits.tape(), logits.shape());
        let width = self.types.len();
        let targets = tape.constant_with(shape.clone(), |targets| {
            targets.fill(T::zero());
            for (row, example) in targets.chunks_mut(width).zip(examples) {
                example.types.iter().for_each(|&number| row[number as usize] = T::one());
            }
        });
        let by_mention = self.weights(examples);
        let weights = tape.constant_with(shape, |weights| {
            for (row, by_level) in weights.chunks_mut(width).zip(&by_mention) {
                let levels = self.types.granularities();
                row.iter_mut().zip(levels).for_each(|(w, &level)| *w = T::nearest(by_level[level as usize]));
            }
        });
        (logits.binary_cross_entropy(targets) * weights).sum()
    }

    /// The weight of each mention's cross-entropies with coarse, fine and ultra-fine types.
    fn weights(&self, examples: &[&Example]) -> Vec<[f64; 3]> {
        let has = |example: &&Example| {
            Granularity::ALL.map(|level| example.types.iter().any(|&t| self.types.granularity(t) == level))
        };
        let mut sizes = [0.0; 3];
        self.types.granularities().iter().for_each(|&level| sizes[level as usize] += 1.0);
        let all = self.types.len() as f64;
        if self.loss == Loss::Plain {
            let share = if self.reduction == Reduction::Mean { all } else { 1.0 };
            return vec![[1.0 / (share * examples.len() as f64); 3]; examples.len()];
        }
        let has: Vec<[bool; 3]> = examples.iter().map(has).collect();
        let weight = [0, 1, 2].map(|level| {
            let mentions = has.iter().filter(|has| has[level]).count().max(1) as f64;
            1.0 / (mentions * if self.reduction == Reduction::Mean { sizes[level] } else { 1.0 })
        });
        let of_mention = |has: [bool; 3]| [0, 1, 2].map(|k| if has[k] { weight[k] } else { 0.0 });
        has.into_iter().map(of_mention).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Levels, Types};

    fn types() -> Types {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        std::fs::write(&path, "c\nf\ng\nu\n").unwrap();
        Types::read(&path, Levels { coarse: 1, fine: 2 }).unwrap()
    }

    /// Two mentions, one with the types c and f, the other with c alone.
    #[test]
    fn losses_by_hand() {
        let types = types();
        let example = |types: &[u32]| Example { types: types.to_vec(), ..Example::default() };
        let examples = [example(&[0, 1]), example(&[0])];
        let examples: Vec<&Example> = examples.iter().collect();
        let x = [[0.5, -1.0, 2.0, 0.25], [-0.5, 1.0, 0.0, -3.0]];
        let tape = Tape::<f64>::new();
        let logits = tape.constant(&Tensor::new([2, 4], x.concat()));
        let bce = |x: f64, target: f64| (1.0 + x.exp()).ln() - target * x;
        let loss =
            |loss, reduction| TypingLoss { types: &types, loss, reduction }.compute(logits, &examples).item();
        // Both mentions have a coarse type, only the first has a fine one, and none an ultra-fine one.
        let coarse = (bce(0.5, 1.0) + bce(-0.5, 1.0)) / 2.0;
        let fine = bce(-1.0, 1.0) + bce(2.0, 0.0);
        assert!((loss(Loss::MultiTask, Reduction::Sum) - (coarse + fine)).abs() < 1e-14);
        assert!((loss(Loss::MultiTask, Reduction::Mean) - (coarse + fine / 2.0)).abs() < 1e-14);
        let others = bce(0.25, 0.0) + bce(1.0, 0.0) + bce(0.0, 0.0) + bce(-3.0, 0.0);
        let plain = (2.0 * coarse + fine + others) / 2.0;
        assert!((loss(Loss::Plain, Reduction::Sum) - plain).abs() < 1e-14);
        assert!((loss(Loss::Plain, Reduction::Mean) - plain / 4.0).abs() < 1e-14);
    }
}

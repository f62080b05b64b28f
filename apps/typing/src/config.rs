//! Everything that determines the result of a run, except the data.

use clap::ValueEnum;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
pub use cotangent_apps_common::space::Space;
use serde::{Deserialize, Serialize};

use crate::words::VectorKind;

/// The sizes of the paper: López & Strube 2020, Table 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// 40 dimensions for mentions, 20 for characters, 20 for each direction of the context.
    Base,
    /// 100, 50, 50.
    Large,
    /// 200, 100, 100. Its encoder is Euclidean in the paper.
    Xlarge,
}

impl Size {
    /// d_M, d_C and d_S: dimensions of mentions, of characters, and of each direction of the context.
    pub fn dims(self) -> [usize; 3] {
        match self {
            Size::Base => [40, 20, 20],
            Size::Large => [100, 50, 50],
            Size::Xlarge => [200, 100, 100],
        }
    }
}

/// The geometry of each part: the ablations of section 6.1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spaces {
    /// Of mention words, character RNN and context GRU.
    pub encoder: Space,
    /// Of both distance attentions, and of the midpoint of the characters.
    pub attention: Space,
    /// Of the concatenation of mention, characters and context.
    pub concatenation: Space,
    /// Of the logistic regression.
    pub mlr: Space,
}

impl Spaces {
    /// All parts in one geometry.
    pub fn all(space: Space) -> Self {
        Spaces { encoder: space, attention: space, concatenation: space, mlr: space }
    }
}

/// How distances become the weights of the attention: f of eq. 17.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttentionWeights {
    /// A softmax over the sequence.
    Softmax,
    /// A logistic function of each; the midpoint divides by their sum.
    Sigmoid,
}

/// The form of the logistic regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regression {
    /// A point p and a normal a for each type: eq. 20. In Euclidean space its limit, eq. 21:
    /// 4⟨x − p, a⟩.
    Points,
    /// ⟨x − p, a⟩, as usual. For a Euclidean MLR.
    Usual,
    /// A direction and an offset for each type: Shimizu et al. 2021, eq. 6. Half the parameters. In
    /// Euclidean space its limit, with the same factor 4.
    Unidirectional,
}

/// What is minimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The sum of three binary cross-entropies, over coarse, fine and ultra-fine types, each over the
    /// mentions that have a type of that kind (Choi et al. 2018, section 4.2).
    MultiTask,
    /// One binary cross-entropy over all types: for OntoNotes (section 6.2).
    Plain,
}

/// How the cross-entropies of a mention's types become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reduction {
    /// Their mean, as in Choi et al.'s program: coarse, fine and ultra-fine types count the same.
    Mean,
    /// Their sum. Thousands of ultra-fine types then drive the text vectors so far from the origin that they
    /// can leave what f32 holds of the ball: take f64.
    Sum,
}

/// Everything that determines the result of a run, except the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The size that the dimensions come from, if all are its own.
    pub size: Option<Size>,
    /// The geometry of each part.
    pub spaces: Spaces,
    /// d_M: dimension of mentions.
    pub mention_dim: usize,
    /// d_C: dimension of characters.
    pub char_dim: usize,
    /// d_S: dimension of each direction of the context.
    pub context_dim: usize,
    /// m: dimension of the concatenation. In the paper it is d_M + d_C + 2 d_S.
    pub dim: usize,
    /// How distances become weights.
    pub attention_weights: AttentionWeights,
    /// Whether eq. 17 has its c.
    pub attention_offset: bool,
    /// The form of the logistic regression.
    pub regression: Regression,
    /// Where the word vectors live.
    pub vectors: VectorKind,
    /// Radius of the ball in which plain vectors become points.
    pub word_radius: f64,
    /// The largest number of words of a mention. The first ones are read.
    pub mention_words: usize,
    /// The largest number of words of mention and context together. Those around the mention are read.
    pub context_words: usize,
    /// The largest number of characters of a mention. The first ones are read.
    pub mention_chars: usize,
    /// What is minimised.
    pub loss: Loss,
    /// How the types' losses become one.
    pub reduction: Reduction,
    /// A type is predicted if its probability is above this.
    pub threshold: f64,
    /// Evaluations on the dev mentions.
    pub epochs: u64,
    /// Passes over the training mentions in an epoch: the crowd cycles of Table 8.
    pub cycles: u64,
    /// Number of mentions in a batch.
    pub batch: usize,
    /// Rate at which coordinates of words are dropped.
    pub input_dropout: f64,
    /// Rate at which coordinates of what is concatenated are dropped.
    pub concat_dropout: f64,
    /// Learning rate of Riemannian Adam.
    pub lr: f64,
    /// Final learning rate as a factor of the first one. The rate falls along half a cosine.
    pub lr_floor: f64,
    /// The largest norm of a step's gradient, over all parameters together.
    pub clip: f64,
    /// Floating-point type of all numbers.
    pub precision: Precision,
    /// Seed of all random draws.
    pub seed: u64,
    /// β of eq. 8 before the first step, in both attentions. Files of earlier versions have none: it was 1.
    #[serde(default = "one")]
    pub sharpness: f64,
}

/// β before the first step, if no other is asked for.
fn one() -> f64 {
    1.0
}

impl Config {
    /// The model of Table 8, in a size of the paper, and a training for the crowd data alone, which is not
    /// Table 8's.
    ///
    /// The paper trains 40 epochs on six million mentions besides the crowd's, in batches of 900, 350 or
    /// 160, at a learning rate of 5e-4. For 2,000 mentions alone that is too few steps. 100 passes (20 epochs
    /// of five) in batches of 100 at a rate of 2e-3 are a choice of this project, by results on dev: at 5e-4
    /// in batches of 32 the Euclidean model with usual logits was worse after 100 passes than with these
    /// settings after 40. So are the numbers of words and characters that are read, and the radius of plain
    /// word vectors. The paper computes in f64; f32 takes half the time, and its ball ends at a distance of
    /// 17.3 from the origin.
    pub fn for_crowd(size: Size, space: Space) -> Self {
        let [mention_dim, char_dim, context_dim] = size.dims();
        let encoder = if size == Size::Xlarge { Space::Euclidean } else { space };
        Config {
            size: Some(size),
            spaces: Spaces { encoder, ..Spaces::all(space) },
            mention_dim,
            char_dim,
            context_dim,
            dim: mention_dim + char_dim + 2 * context_dim,
            attention_weights: AttentionWeights::Softmax,
            attention_offset: false,
            regression: Regression::Points,
            vectors: VectorKind::Euclidean,
            word_radius: 0.5,
            mention_words: 5,
            context_words: 25,
            mention_chars: 10,
            loss: Loss::MultiTask,
            reduction: Reduction::Mean,
            threshold: 0.5,
            epochs: 20,
            cycles: 5,
            batch: 100,
            input_dropout: 0.2,
            concat_dropout: 0.1,
            lr: 2e-3,
            lr_floor: 1.0,
            clip: 5.0,
            precision: Precision::F32,
            seed: 42,
            sharpness: one(),
        }
    }

    /// The options that the number of parameters depends on. One that follows from others is 0.
    pub(crate) fn sizes(&self) -> [(&'static str, usize); 6] {
        let parts = [self.mention_dim, self.char_dim, self.context_dim, self.context_dim];
        let is_sum = self.dim == parts.into_iter().fold(0, usize::saturating_add);
        [
            ("mention-dim", self.mention_dim),
            ("char-dim", self.char_dim),
            ("context-dim", self.context_dim),
            ("dim", if is_sum { 0 } else { self.dim }),
            ("mention-words", self.mention_words),
            ("context-words", self.context_words),
        ]
    }

    /// A lower bound on the number of a model's parameters, for words of `width` dimensions and so many
    /// types. It is a float, because sizes that a user gives could overflow an integer.
    pub(crate) fn least_parameters(&self, width: usize, types: usize) -> f64 {
        let [mention, characters, context, dim, width, types] =
            [self.mention_dim, self.char_dim, self.context_dim, self.dim, width, types].map(|n| n as f64);
        let encoder = mention * width + 2.0 * characters * characters + 6.0 * context * (context + width);
        let positions = mention * self.mention_words as f64 + 2.0 * context * 2.0 * self.context_words as f64;
        let attention = positions + 2.0 * (mention * mention + 4.0 * context * context);
        encoder + attention + dim * (mention + characters + 2.0 * context + types)
    }

    /// Checks the values of options.
    ///
    /// # Errors
    /// If one is out of its range; the error names the option.
    pub fn check(&self) -> Result<()> {
        options::at_least_one(&[
            ("mention-dim", self.mention_dim as u64),
            ("char-dim", self.char_dim as u64),
            ("context-dim", self.context_dim as u64),
            ("dim", self.dim as u64),
            ("mention-words", self.mention_words as u64),
            ("context-words", self.context_words as u64),
            ("mention-chars", self.mention_chars as u64),
            ("epochs", self.epochs),
            ("cycles", self.cycles),
            ("batch", self.batch as u64),
        ])?;
        options::parameters(&self.sizes(), self.least_parameters(1, 1))?;
        options::positive(&[("word-radius", self.word_radius), ("lr", self.lr), ("clip", self.clip)])?;
        options::below_one(&[
            ("threshold", self.threshold),
            ("input-dropout", self.input_dropout),
            ("concat-dropout", self.concat_dropout),
        ])?;
        if !self.sharpness.is_finite() {
            return Err(AppError::usage(format!("--sharpness {}: a number is needed", self.sharpness)));
        }
        if self.word_radius > 1.0 {
            return Err(AppError::usage(format!("--word-radius {}: at most 1 fits", self.word_radius)));
        }
        if !(0.0..=1.0).contains(&self.lr_floor) {
            return Err(AppError::usage(format!("--lr-floor {}: from 0 to 1 is needed", self.lr_floor)));
        }
        if self.regression == Regression::Usual && self.spaces.mlr == Space::Hyperbolic {
            return Err(AppError::usage("--regression usual: it is of a Euclidean MLR: --mlr euclidean"));
        }
        if self.context_words < self.mention_words {
            let (context, mention) = (self.context_words, self.mention_words);
            let message =
                format!("--context-words {context}: the {mention} words of the mention are included");
            return Err(AppError::usage(message));
        }
        Ok(())
    }

    /// The name of the first option whose value differs from `other`'s, if any. A run can be resumed only if
    /// none does.
    pub(crate) fn difference(&self, other: &Config) -> Option<&'static str> {
        let differs = [
            ("encoder", self.spaces.encoder != other.spaces.encoder),
            ("attention", self.spaces.attention != other.spaces.attention),
            ("concatenation", self.spaces.concatenation != other.spaces.concatenation),
            ("mlr", self.spaces.mlr != other.spaces.mlr),
            ("mention-dim", self.mention_dim != other.mention_dim),
            ("char-dim", self.char_dim != other.char_dim),
            ("context-dim", self.context_dim != other.context_dim),
            ("dim", self.dim != other.dim),
            ("attention-weights", self.attention_weights != other.attention_weights),
            ("attention-offset", self.attention_offset != other.attention_offset),
            ("regression", self.regression != other.regression),
            ("vectors", self.vectors != other.vectors),
            ("word-radius", self.word_radius != other.word_radius),
            ("mention-words", self.mention_words != other.mention_words),
            ("context-words", self.context_words != other.context_words),
            ("mention-chars", self.mention_chars != other.mention_chars),
            ("loss", self.loss != other.loss),
            ("reduction", self.reduction != other.reduction),
            ("threshold", self.threshold != other.threshold),
            ("epochs", self.epochs != other.epochs),
            ("cycles", self.cycles != other.cycles),
            ("batch", self.batch != other.batch),
            ("input-dropout", self.input_dropout != other.input_dropout),
            ("concat-dropout", self.concat_dropout != other.concat_dropout),
            ("lr", self.lr != other.lr),
            ("lr-floor", self.lr_floor != other.lr_floor),
            ("clip", self.clip != other.clip),
            ("precision", self.precision != other.precision),
            ("seed", self.seed != other.seed),
            ("sharpness", self.sharpness != other.sharpness),
        ];
        options::first_true(&differs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_table_8() {
        for (size, m) in [(Size::Base, 100), (Size::Large, 250), (Size::Xlarge, 500)] {
            let config = Config::for_crowd(size, Space::Hyperbolic);
            config.check().unwrap();
            assert_eq!(config.dim, m);
        }
        let xlarge = Config::for_crowd(Size::Xlarge, Space::Hyperbolic);
        assert_eq!((xlarge.spaces.encoder, xlarge.spaces.mlr), (Space::Euclidean, Space::Hyperbolic));
    }

    #[test]
    fn wrong_values_name_their_option() {
        let base = || Config::for_crowd(Size::Base, Space::Hyperbolic);
        let error = |config: Config| config.check().unwrap_err().to_string();
        assert!(error(Config { char_dim: 0, ..base() }).starts_with("--char-dim 0"));
        assert!(error(Config { threshold: 1.0, ..base() }).starts_with("--threshold 1"));
        assert!(error(Config { word_radius: 1.5, ..base() }).starts_with("--word-radius 1.5"));
        assert!(error(Config { sharpness: f64::INFINITY, ..base() }).starts_with("--sharpness inf"));
        assert_eq!(base().difference(&Config { sharpness: 0.01, ..base() }), Some("sharpness"));
        let huge = error(Config { char_dim: usize::MAX, ..base() });
        assert!(huge.starts_with(&format!("--char-dim {}: a model of", usize::MAX)), "{huge}");
        assert!(huge.contains("GB of memory"), "{huge}");
        assert!(error(Config { context_words: usize::MAX, ..base() }).contains("GB of memory"));
        // A description of an earlier version.
        let mut text = serde_json::to_value(base()).unwrap();
        text.as_object_mut().unwrap().remove("sharpness");
        assert_eq!(serde_json::from_value::<Config>(text).unwrap(), base());
        assert!(error(Config { lr_floor: f64::NAN, ..base() }).starts_with("--lr-floor NaN"));
        assert!(error(Config { regression: Regression::Usual, ..base() }).contains("--mlr euclidean"));
        assert!(error(Config { context_words: 4, ..base() }).starts_with("--context-words 4"));
        assert_eq!(base().difference(&Config { clip: 4.0, ..base() }), Some("clip"));
        assert_eq!(base().difference(&base()), None);
    }
}

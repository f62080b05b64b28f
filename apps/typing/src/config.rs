//! Everything that determines the result of a run, except the data.

use clap::{Args, ValueEnum};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::precision::Precision;
pub use cotangent_apps_common::space::Space;
use cotangent_apps_common::training::TrainingConfig;
use cotangent_apps_common::{config, options};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spaces {
    /// Geometry of the encoder: of mention words, character RNN and context GRU [default: by --space].
    #[arg(long, value_enum, required = false, default_value_if("size", "xlarge", "euclidean"))]
    #[arg(default_value_ifs = by_space(), help_heading = "Model")]
    pub encoder: Space,
    /// Geometry of the attention, and of the midpoint of the characters [default: by --space].
    #[arg(long, value_enum, required = false, default_value_ifs = by_space(), help_heading = "Model")]
    pub attention: Space,
    /// Geometry of the concatenation of mention, characters and context [default: by --space].
    #[arg(long, value_enum, required = false, default_value_ifs = by_space(), help_heading = "Model")]
    pub concatenation: Space,
    /// Geometry of the logistic regression [default: by --space].
    #[arg(long, value_enum, required = false, default_value_ifs = by_space(), help_heading = "Model")]
    pub mlr: Space,
}

/// The default geometry of a part.
fn by_space() -> impl Iterator<Item = (&'static str, String, String)> {
    config::by("space", config::name::<Space>)
}

/// The default dimension of a part for each size: one of its [dimensions](Size::dims).
fn by_size(part: usize) -> impl Iterator<Item = (&'static str, String, String)> {
    config::by("size", move |size: Size| size.dims()[part])
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
///
/// By default the sizes are those of the paper's Table 8, but the training is for the crowd data alone. The
/// paper trains 40 epochs on six million mentions besides the crowd's, in batches of 900, 350 or 160, at a
/// learning rate of 5e-4. For 2,000 mentions alone that is too few steps. 100 passes (20 epochs of five) in
/// batches of 100 at a rate of 2e-3 are a choice of this project, by results on dev: at 5e-4 in batches of 32
/// the Euclidean model with usual logits was worse after 100 passes than with these settings after 40. So are
/// the numbers of words and characters that are read, and the radius of plain word vectors. The paper
/// computes in f64; f32 takes half the time, and its ball ends at a distance of 17.3 from the origin.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypingConfig {
    /// Dimensions of the paper's Table 8. The encoder of xlarge is Euclidean.
    // None if a dimension is not that of the size.
    #[arg(long, value_enum, default_value = "base", help_heading = "Model")]
    pub size: Option<Size>,
    /// Geometry of all parts that have no option of their own.
    #[arg(long, value_enum, default_value = "hyperbolic", help_heading = "Model")]
    #[serde(skip)]
    pub space: Option<Space>,
    /// The geometry of each part.
    #[command(flatten)]
    pub spaces: Spaces,
    /// Dimension of mentions, d_M in the paper [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(0), help_heading = "Model")]
    pub mention_dim: usize,
    /// Dimension of characters, d_C [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(1), help_heading = "Model")]
    pub char_dim: usize,
    /// Dimension of each direction of the context, d_S [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(2), help_heading = "Model")]
    pub context_dim: usize,
    /// Dimension of the concatenation and the logistic regression [default: the sum of the parts'
    /// dimensions, d_M + d_C + 2 d_S].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub dim: Option<usize>,
    /// How distances become the weights of the attention.
    #[arg(long, value_enum, default_value_t = AttentionWeights::Softmax, help_heading = "Model")]
    pub attention_weights: AttentionWeights,
    /// Subtract a learned number from the attention's scores, as the authors tried: c of eq. 17. In a softmax
    /// it cancels.
    #[arg(long, help_heading = "Model")]
    pub attention_offset: bool,
    /// Form of the logistic regression.
    #[arg(long, value_enum, default_value_t = Regression::Points, help_heading = "Model")]
    pub regression: Regression,
    /// Where the word vectors live: plain vectors enter a hyperbolic encoder by exp at the origin, points of
    /// the ball a Euclidean one by log. A Euclidean encoder under hyperbolic attention learns badly from
    /// plain vectors as long as those of GloVe; give it points of the ball.
    #[arg(long, value_enum, default_value_t = VectorKind::Euclidean, help_heading = "Data")]
    pub vectors: VectorKind,
    /// Radius of the ball in which plain vectors become points, up to 1.
    #[arg(long, default_value_t = 0.5, allow_negative_numbers = true, help_heading = "Data")]
    pub word_radius: f64,
    /// Number of words of a mention that are read, the first ones.
    #[arg(long, default_value_t = 5, help_heading = "Data")]
    pub mention_words: usize,
    /// Number of words that are read of a mention and the context around it, together.
    #[arg(long, default_value_t = 25, help_heading = "Data")]
    pub context_words: usize,
    /// Number of characters of a mention that are read, the first ones.
    #[arg(long, default_value_t = 10, help_heading = "Data")]
    pub mention_chars: usize,
    /// What is minimised.
    #[arg(long, value_enum, default_value_t = Loss::MultiTask, help_heading = "Training")]
    pub loss: Loss,
    /// How the cross-entropies of a mention's types become one number.
    #[arg(long, value_enum, default_value_t = Reduction::Mean, help_heading = "Training")]
    pub reduction: Reduction,
    /// A type is predicted if its probability is above this. If none is, the best one is predicted.
    #[arg(long, default_value_t = 0.5, allow_negative_numbers = true, help_heading = "Training")]
    pub threshold: f64,
    /// Number of epochs. After each the model is evaluated on the dev mentions.
    #[arg(long, default_value_t = 20, help_heading = "Training")]
    pub epochs: u64,
    /// Passes over the mentions of --train in an epoch: the crowd cycles of Table 8.
    #[arg(long, default_value_t = 5, help_heading = "Training")]
    pub cycles: u64,
    /// Number of mentions in a batch. The paper has 900 at base, 350 at large and 160 at xlarge, for many
    /// more mentions.
    #[arg(long, default_value_t = 100, help_heading = "Training")]
    pub batch: usize,
    /// Rate at which coordinates of words are dropped while training.
    #[arg(long, default_value_t = 0.2, allow_negative_numbers = true, help_heading = "Training")]
    pub input_dropout: f64,
    /// Rate at which coordinates of what is concatenated are dropped while training.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, help_heading = "Training")]
    pub concat_dropout: f64,
    /// Initial learning rate of Riemannian Adam. The paper has 5e-4, for many more mentions.
    #[arg(long, default_value_t = 2e-3, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Final learning rate as a factor of the initial one, from 0 to 1. The rate falls along half a cosine;
    /// 1 keeps it constant.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Training")]
    pub lr_floor: f64,
    /// Largest norm of a step's gradient, over all parameters together. Longer gradients are scaled down
    /// to it.
    #[arg(long, default_value_t = 5.0, allow_negative_numbers = true, help_heading = "Training")]
    pub clip: f64,
    /// Floating-point type of all numbers. The paper has f64, which takes twice the time.
    #[arg(long, value_enum, default_value_t = Precision::F32, help_heading = "Model")]
    pub precision: Precision,
    /// Seed of the initial model, of dropout and of the order of the mentions. Same seed, same result, for
    /// any number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
    /// Factor β of the attention's distances before the first step (eq. 8); it is learned. The authors'
    /// program starts within ±0.01.
    // Files of earlier versions have none: it was 1.
    #[arg(long, default_value_t = one(), allow_negative_numbers = true, help_heading = "Model")]
    #[serde(default = "one")]
    pub sharpness: f64,
}

/// β before the first step, if no other is asked for.
fn one() -> f64 {
    1.0
}

impl TypingConfig {
    /// The settings without other options than the size and the geometry.
    pub fn for_crowd(size: Size, space: Space) -> Self {
        let [size, space] = [config::name(size), config::name(space)];
        config::parse::<TypingConfig>(&["--size", &size, "--space", &space]).complete()
    }

    /// Fills in what follows from other options: the dimension of the concatenation, and whether all
    /// dimensions are those of the size.
    pub fn complete(mut self) -> Self {
        let parts = [self.mention_dim, self.char_dim, self.context_dim];
        let sum = self.parts_dim();
        let dim = *self.dim.get_or_insert(sum);
        self.size = self.size.filter(|size| parts == size.dims() && dim == sum);
        TypingConfig { space: None, ..self }
    }

    /// The sum of the parts' dimensions.
    fn parts_dim(&self) -> usize {
        let parts = [self.mention_dim, self.char_dim, self.context_dim, self.context_dim];
        parts.into_iter().fold(0, usize::saturating_add)
    }

    /// m: dimension of the concatenation and the logistic regression.
    pub fn dim(&self) -> usize {
        self.dim.unwrap_or_default()
    }

    /// The options that the number of parameters depends on. One that follows from others is 0.
    pub(crate) fn sizes(&self) -> [(&'static str, usize); 6] {
        [
            ("mention-dim", self.mention_dim),
            ("char-dim", self.char_dim),
            ("context-dim", self.context_dim),
            ("dim", if self.dim() == self.parts_dim() { 0 } else { self.dim() }),
            ("mention-words", self.mention_words),
            ("context-words", self.context_words),
        ]
    }

    /// A lower bound on the number of a model's parameters, for words of `width` dimensions and so many
    /// types. It is a float, because sizes that a user gives could overflow an integer.
    pub(crate) fn least_parameters(&self, width: usize, types: usize) -> f64 {
        let [mention, characters, context, dim, width, types] =
            [self.mention_dim, self.char_dim, self.context_dim, self.dim(), width, types].map(|n| n as f64);
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
            ("dim", self.dim() as u64),
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
}

impl TrainingConfig for TypingConfig {
    const DATA: &'static str = "mentions";

    fn epochs_and_seed(&self) -> (u64, u64) {
        (self.epochs, self.seed)
    }

    /// The dimensions say more than their size does.
    fn difference(theirs: &Value, ours: &Value) -> Option<String> {
        config::json_difference::<Self>(theirs, ours, &["size"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_apps_common::training::difference;

    #[test]
    fn sizes_are_those_of_table_8() {
        for (size, m) in [(Size::Base, 100), (Size::Large, 250), (Size::Xlarge, 500)] {
            let config = TypingConfig::for_crowd(size, Space::Hyperbolic);
            config.check().unwrap();
            assert_eq!(config.dim(), m);
        }
        let xlarge = TypingConfig::for_crowd(Size::Xlarge, Space::Hyperbolic);
        assert_eq!((xlarge.spaces.encoder, xlarge.spaces.mlr), (Space::Euclidean, Space::Hyperbolic));
    }

    #[test]
    fn wrong_values_name_their_option() {
        let base = || TypingConfig::for_crowd(Size::Base, Space::Hyperbolic);
        let error = |config: TypingConfig| config.check().unwrap_err().to_string();
        assert!(error(TypingConfig { char_dim: 0, ..base() }).starts_with("--char-dim 0"));
        assert!(error(TypingConfig { threshold: 1.0, ..base() }).starts_with("--threshold 1"));
        assert!(error(TypingConfig { word_radius: 1.5, ..base() }).starts_with("--word-radius 1.5"));
        assert!(error(TypingConfig { sharpness: f64::INFINITY, ..base() }).starts_with("--sharpness inf"));
        assert_eq!(
            difference(&base(), &TypingConfig { sharpness: 0.01, ..base() }),
            Some("sharpness".to_owned())
        );
        let huge = error(TypingConfig { char_dim: usize::MAX, ..base() });
        assert!(huge.starts_with(&format!("--char-dim {}: a model of", usize::MAX)), "{huge}");
        assert!(huge.contains("GB of memory"), "{huge}");
        assert!(error(TypingConfig { context_words: usize::MAX, ..base() }).contains("GB of memory"));
        // A description of an earlier version.
        let mut text = serde_json::to_value(base()).unwrap();
        text.as_object_mut().unwrap().remove("sharpness");
        assert_eq!(serde_json::from_value::<TypingConfig>(text).unwrap(), base());
        assert!(error(TypingConfig { lr_floor: f64::NAN, ..base() }).starts_with("--lr-floor NaN"));
        assert!(error(TypingConfig { regression: Regression::Usual, ..base() }).contains("--mlr euclidean"));
        assert!(error(TypingConfig { context_words: 4, ..base() }).starts_with("--context-words 4"));
        assert_eq!(difference(&base(), &TypingConfig { clip: 4.0, ..base() }), Some("clip".to_owned()));
        assert_eq!(difference(&base(), &base()), None);
    }
}

//! The settings of a network and its training.

use std::path::PathBuf;

use clap::{Arg, Args, ValueEnum};
use cotangent::layers::Score;
use cotangent_apps_common::attention::{AttentionOptions, Scores};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::training::TrainingConfig;
use cotangent_apps_common::{config, memory, options};
use serde::{Deserialize, Serialize};

use crate::clevr::MAX_OBJECTS;
use crate::sort_of_clevr::SIDE;

/// The data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Pictures of six objects, generated: Santoro et al. 2017.
    SortOfClevr,
    /// Lists of objects, or with --pixels pictures, with questions in English, in the form of CLEVR (Johnson
    /// et al. 2017): generated, or the published ones, from --path.
    Clevr,
}

/// Which questions are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kinds {
    /// Those whose answer depends on several objects.
    Relational,
    /// Those about a single object.
    #[value(name = "non-relational")]
    #[serde(rename = "non-relational")]
    Others,
    /// As many of each.
    All,
}

/// How objects match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matching {
    /// They do not: every pair has the weight 1 (Santoro et al. 2017).
    None,
    /// By the dot product.
    Euclidean,
    /// By the distance in hyperbolic space.
    Hyperbolic,
}

/// What queries and keys are functions of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchingInput {
    /// An object: the text of Gulcehre et al. 2019, section 3.2.
    Objects,
    /// An object and the question.
    Question,
}

/// Everything that determines the result of a run.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[command(mut_arg("aggregate", |arg| by_matching(arg, "euclidean", "barycentre")))]
#[command(mut_arg("learn_sharpness", |arg| by_matching(arg, "false", "true")))]
#[command(mut_arg("weights", |arg| arg.default_value("sigmoid")))]
pub struct ReasonConfig {
    /// What is asked about.
    #[arg(long, value_enum, default_value_t = Data::SortOfClevr, help_heading = "Data")]
    pub data: Data,
    /// Directory of the published scenes and questions: scenes/CLEVR_train_scenes.json,
    /// questions/CLEVR_train_questions.json, and the same for val; plain or gzip. With --pixels also
    /// images/train and images/val. Those of val are the test, the last --held-out scenes of train are the
    /// validation.
    #[arg(long, help_heading = "Data")]
    pub path: Option<PathBuf>,
    /// Read pictures of CLEVR's scenes in place of lists of their objects: those in images/ of --path, or
    /// drawn ones of generated scenes. While training they are moved and turned a little.
    #[arg(long, help_heading = "Data")]
    pub pixels: bool,
    /// Height and width of the pictures of --pixels; those in files are squeezed to it. Santoro et al. have
    /// 128.
    #[arg(long, default_value_t = 128, help_heading = "Data")]
    pub image_size: usize,
    /// Which questions are asked, of --data sort-of-clevr.
    #[arg(long, value_enum, default_value_t = Kinds::Relational, help_heading = "Data")]
    pub questions: Kinds,
    /// Number of scenes to train with [default: 9800, of clevr 70000].
    #[arg(
        long,
        default_value = "9800",
        default_value_if("data", "clevr", "70000"),
        hide_default_value = true
    )]
    #[arg(help_heading = "Data")]
    pub scenes: usize,
    /// Number of scenes for validation, and also for the test [default: 200, of clevr 1000].
    #[arg(long, default_value = "200", default_value_if("data", "clevr", "1000"), hide_default_value = true)]
    #[arg(help_heading = "Data")]
    pub held_out: usize,
    /// Questions about each scene, of each of the two kinds, of --data sort-of-clevr.
    #[arg(long, default_value_t = PER_SCENE, help_heading = "Data")]
    pub questions_per_scene: usize,
    /// Seed of the scenes and their questions.
    #[arg(long, default_value_t = 1, help_heading = "Data")]
    pub data_seed: u64,
    /// How objects match, which gives each pair its weight: hyperbolic is --attention polar-distance
    /// --learn-sharpness --aggregate barycentre, euclidean is --attention dot. Each can be given by itself.
    #[arg(long, value_enum, default_value_t = Matching::Hyperbolic, help_heading = "Model")]
    pub matching: Matching,
    /// Attention score: how well two objects match [default: by --matching].
    #[arg(long, required = false, help_heading = "Model")]
    #[arg(default_value_ifs = BY_MATCHING)]
    pub attention: String,
    /// The other options of the attention.
    #[command(flatten)]
    pub options: AttentionOptions,
    /// What queries and keys are functions of.
    #[arg(long, value_enum, default_value_t = MatchingInput::Question, help_heading = "Model")]
    pub matching_input: MatchingInput,
    /// Numbers of a query, and of a key.
    #[arg(long, default_value_t = 8, help_heading = "Model")]
    pub key_dim: usize,
    /// Units of each layer of the network g of pairs. Santoro et al. have 2000 for Sort-of-CLEVR, 256 for
    /// CLEVR [default: 32, of clevr 256].
    #[arg(long, default_value = "32", default_value_if("data", "clevr", "256"), hide_default_value = true)]
    #[arg(help_heading = "Model")]
    pub units: usize,
    /// Number of layers of g.
    #[arg(long, default_value_t = 4, help_heading = "Model")]
    pub relation_layers: usize,
    /// Units of the layers of the network h of sums, separated by commas; the layer of answers follows
    /// [default: 2000,1000,500,100, of clevr 256,256].
    #[arg(long, value_delimiter = ',', default_values = READ_OUT, hide_default_value = true)]
    #[arg(default_values_if("data", "clevr", ["256", "256"]), help_heading = "Model")]
    pub read_out: Vec<usize>,
    /// Channels of the convolutions that read pictures, separated by commas [default: 32,64,128,256, with
    /// --pixels 24,24,24,24].
    #[arg(long, value_delimiter = ',', default_values = ["32", "64", "128", "256"])]
    #[arg(hide_default_value = true)]
    #[arg(default_values_if("pixels", "true", ["24", "24", "24", "24"]), help_heading = "Model")]
    pub channels: Vec<usize>,
    /// Dimensions of a word of a question that is read as words.
    #[arg(long, default_value_t = 32, help_heading = "Model")]
    pub word_dim: usize,
    /// Units of the LSTM that reads such a question.
    #[arg(long, default_value_t = 128, help_heading = "Model")]
    pub question_dim: usize,
    /// Hide the scenes: what can be answered from the questions alone.
    #[arg(long, help_heading = "Model")]
    pub blind: bool,
    /// Dropout rate of the inputs of h's last layer, from 0 to below 1 [default: 0, of clevr 0.5].
    #[arg(long, default_value = "0", default_value_if("data", "clevr", "0.5"), hide_default_value = true)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    pub dropout: f64,
    /// Passes over the training scenes; each ends with a validation.
    #[arg(long, default_value_t = 20, help_heading = "Training")]
    pub epochs: u64,
    /// Scenes of a step, each with all its questions [default: 32, of clevr 8].
    #[arg(long, default_value = "32", default_value_if("data", "clevr", "8"), hide_default_value = true)]
    #[arg(help_heading = "Training")]
    pub batch: usize,
    /// Learning rate of Adam at the first step; it falls by a cosine to 0 at the last [default: 0.001, of
    /// clevr 0.00025].
    #[arg(
        long,
        default_value = "0.001",
        default_value_if("data", "clevr", "0.00025"),
        hide_default_value = true
    )]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Largest norm of a step's gradient, over all parameters together. Longer gradients are scaled down to
    /// it.
    #[arg(long, default_value_t = 10.0, allow_negative_numbers = true, help_heading = "Training")]
    pub clip: f64,
    /// Seed of initial weights, the order of scenes, dropout and how pictures are moved. Same seed, same
    /// result, for any number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
}

/// The default score of each matching.
const BY_MATCHING: [(&str, &str, &str); 3] = [
    ("matching", "none", "dot"),
    ("matching", "euclidean", "dot"),
    ("matching", "hyperbolic", "polar-distance"),
];

/// The argument with a default for hyperbolic matching, and another.
fn by_matching(arg: Arg, other: &'static str, hyperbolic: &'static str) -> Arg {
    config::decided_by(arg, "matching", [("none", other), ("euclidean", other), ("hyperbolic", hyperbolic)])
}

/// Units of h for Sort-of-CLEVR.
const READ_OUT: [&str; 4] = ["2000", "1000", "500", "100"];

/// The parts of a batch whose gradients are computed in parallel: their largest number, and the smallest
/// number of scenes of one.
pub(super) const PARTS: [usize; 2] = [2, 4];

impl ReasonConfig {
    /// Units of each layer of g.
    pub(super) fn relation(&self) -> Vec<usize> {
        vec![self.units; self.relation_layers]
    }

    /// Checks the settings, and returns the attention score.
    ///
    /// # Errors
    /// If a setting is wrong, or training does not fit in memory; the error names the option.
    pub fn check(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        options::at_least_one(&[
            ("scenes", self.scenes as u64),
            ("held-out", self.held_out as u64),
            ("questions-per-scene", self.questions_per_scene as u64),
            ("key-dim", self.key_dim as u64),
            ("units", self.units as u64),
            ("relation-layers", self.relation_layers as u64),
            ("word-dim", self.word_dim as u64),
            ("question-dim", self.question_dim as u64),
            ("epochs", self.epochs),
            ("batch", self.batch as u64),
            ("image-size", self.image_size as u64),
        ])?;
        for (name, list) in [("read-out", &self.read_out), ("channels", &self.channels)] {
            let units = list.iter().map(|&units| (name, units as u64)).collect::<Vec<_>>();
            options::at_least_one(&units)?;
        }
        options::positive(&[("lr", self.lr), ("clip", self.clip)])?;
        options::below_one(&[("dropout", self.dropout)])?;
        self.check_data()?;
        self.check_matching()?;
        options::steps(self.epochs, self.scenes.div_ceil(self.batch) as u64)?;
        self.check_memory()?;
        self.options.check_one_sharpness()?;
        self.options.score(&self.attention, scores, ("key-dim", self.key_dim), self.units)
    }

    /// Checks that no option is given that the data do not have.
    fn check_data(&self) -> Result<()> {
        let per_scene = self.questions_per_scene;
        let ReasonConfig { channels, word_dim, question_dim, image_size, .. } = config::parse(&[]);
        match self.data {
            Data::SortOfClevr if per_scene > QUESTIONS => {
                let message =
                    format!("--questions-per-scene {per_scene}: there are {QUESTIONS} of each kind");
                Err(AppError::usage(message))
            }
            Data::SortOfClevr if self.path.is_some() => {
                Err(AppError::usage("--path: --data sort-of-clevr is generated and has none"))
            }
            Data::SortOfClevr if [self.word_dim, self.question_dim] != [word_dim, question_dim] => {
                let option = if self.word_dim == word_dim { "question-dim" } else { "word-dim" };
                let message = format!("--{option}: questions of --data sort-of-clevr are not read as words");
                Err(AppError::usage(message))
            }
            Data::SortOfClevr if self.pixels => {
                Err(AppError::usage("--pixels: --data sort-of-clevr has pictures without it"))
            }
            Data::SortOfClevr if self.image_size != image_size => {
                let message = format!("--image-size: pictures of --data sort-of-clevr have {SIDE} pixels");
                Err(AppError::usage(message))
            }
            _ if self.image_size != image_size && !self.pixels => {
                Err(AppError::usage("--image-size: --pixels is needed"))
            }
            Data::Clevr if self.channels != channels && !self.pixels => {
                Err(AppError::usage("--channels: --data clevr has no pictures without --pixels"))
            }
            Data::Clevr if self.questions != Kinds::Relational => {
                Err(AppError::usage("--questions: --data clevr has no such kinds"))
            }
            Data::Clevr if per_scene != PER_SCENE => {
                Err(AppError::usage("--questions-per-scene: --data clevr has its own number"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that no option of the matching is given if objects do not match.
    fn check_matching(&self) -> Result<()> {
        let ReasonConfig { attention, options, matching_input, key_dim, .. } =
            config::parse(&["--matching", "none"]);
        let without = ReasonConfig { attention, options, matching_input, key_dim, ..self.clone() };
        match config::difference(&without, self, &[]) {
            Some(option) if self.matching == Matching::None => {
                Err(AppError::usage(format!("--{option}: --matching none has none")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the training fits in memory: the parameters, and the pairs of a step's scenes.
    fn check_memory(&self) -> Result<()> {
        let products =
            |units: &[usize]| -> f64 { units.windows(2).map(|pair| pair[0] as f64 * pair[1] as f64).sum() };
        let networks = products(&[&self.relation()[..], &self.read_out].concat());
        let largest = |list: &[usize]| list.iter().copied().max().unwrap_or(0);
        let sizes = [
            ("units", self.units),
            ("read-out", largest(&self.read_out)),
            ("channels", largest(&self.channels)),
            ("question-dim", self.question_dim),
        ];
        let reader = 4.0 * (self.question_dim as f64) * (self.word_dim + self.question_dim) as f64;
        let least = networks
            + match self.data {
                Data::SortOfClevr => 9.0 * products(&self.channels),
                Data::Clevr if self.pixels => reader + 9.0 * products(&self.channels),
                Data::Clevr => reader,
            };
        memory::training(&sizes, least, Precision::F32)?;
        // Each convolution halves the picture.
        let halved = |side: usize| (0..self.channels.len()).fold(side, |side, _| side.div_ceil(2)) as f64;
        let (objects, side) = match self.data {
            Data::SortOfClevr => (halved(SIDE).powi(2), SIDE),
            Data::Clevr if self.pixels => (halved(self.image_size).powi(2), self.image_size),
            Data::Clevr => (MAX_OBJECTS as f64, 0),
        };
        let places = self.questions_per_scene * if self.questions == Kinds::All { 2 } else { 1 };
        let layers = 4.0 * self.relation_layers as f64;
        let pairs = layers * memory::bytes::<f32>(&[self.batch, places, self.units]) * objects * objects;
        let named = [("batch", self.batch), ("units", self.units), ("image-size", side)];
        memory::check(&named[..if self.pixels { 3 } else { 2 }], "the pairs of a step's scenes", pairs)?;
        let first = self.channels.first().map_or(0.0, |&channels| channels as f64 / 4.0);
        let pictures = (3.0 + first) * memory::bytes::<f32>(&[self.batch, side, side]);
        memory::check(&[("batch", self.batch), ("image-size", side)], "the pictures of a step", pictures)
    }
}

/// Questions of each kind about a scene, as published.
const PER_SCENE: usize = 10;

/// Different questions of each kind about a scene.
const QUESTIONS: usize = 18;

impl TrainingConfig for ReasonConfig {
    const DATA: &'static str = "scenes";

    fn epochs_and_seed(&self) -> (u64, u64) {
        (self.epochs, self.seed)
    }
}

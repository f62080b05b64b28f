//! The settings of a model, its training and its lessons.

use std::fmt;
use std::str::FromStr;

use clap::{Arg, Args, ValueEnum};
use cotangent::layers::Score;
use cotangent_apps_attention::body::NormOption;
use cotangent_apps_common::attention::{AttentionOptions, Scores};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::space::Space;
use cotangent_apps_common::training::TrainingConfig;
use cotangent_apps_common::{config, memory, options};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::curriculum::Curriculum;
use super::disc::Disc;
use super::task::{Lesson, Task};

/// What the model is told of a node, and which nodes it attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// The node's row of the adjacency matrix through a linear layer, and a learned vector of its number.
    /// Nodes are numbered by angle, and each attends to all.
    Adjacency,
    /// The node's number of edges. Each node attends to its neighbours and itself: message passing.
    Neighbours,
}

/// A lesson on the command line: `ANGLE` or `ANGLE:NODES`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LessonOption {
    /// The angle of the slice in degrees.
    pub angle: f64,
    /// Number of points of the whole disc, if not that of --nodes.
    pub nodes: Option<usize>,
}

impl LessonOption {
    /// The lesson on graphs of this disc.
    pub(super) fn on(&self, disc: &Disc) -> Lesson {
        Lesson { angle: self.angle, nodes: self.nodes.unwrap_or(disc.nodes) }
    }
}

impl FromStr for LessonOption {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("{text:?}: a lesson is ANGLE or ANGLE:NODES, such as 30 or 30:500");
        let (angle, nodes) = text.split_once(':').map_or((text, None), |(angle, nodes)| (angle, Some(nodes)));
        let angle = angle.parse().map_err(|_| wrong())?;
        let nodes = nodes.map(str::parse).transpose().map_err(|_| wrong())?;
        Ok(LessonOption { angle, nodes })
    }
}

impl fmt::Display for LessonOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nodes {
            Some(nodes) => write!(f, "{}:{nodes}", self.angle),
            None => write!(f, "{}", self.angle),
        }
    }
}

impl TryFrom<String> for LessonOption {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        text.parse()
    }
}

impl From<LessonOption> for String {
    fn from(lesson: LessonOption) -> Self {
        lesson.to_string()
    }
}

/// Everything that determines the result of a run.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[command(mut_arg("aggregate", |arg| by_geometry(arg, ["euclidean", "barycentre"])))]
#[command(mut_arg("values", |arg| config::decided_by(arg, "aggregate", AS_POINTS)))]
#[command(mut_arg("learn_sharpness", |arg| by_geometry(arg, ["false", "true"])))]
pub struct GraphTasksConfig {
    /// What is asked of two nodes of a graph.
    #[arg(long, value_enum, help_heading = "Data")]
    pub task: Task,
    /// The disc that graphs are drawn from.
    #[command(flatten)]
    pub disc: Disc,
    /// Pairs of nodes that are asked about in each graph [default: 32, with --flags 1].
    #[arg(long, help_heading = "Data")]
    #[serde(with = "config::known")]
    pub pairs: Option<usize>,
    /// Graphs of each validation.
    #[arg(long, default_value_t = 20, help_heading = "Data")]
    pub validation_graphs: usize,
    /// Graphs of the test.
    #[arg(long, default_value_t = 100, help_heading = "Data")]
    pub test_graphs: usize,
    /// Seed of the graphs for validation and test.
    #[arg(long, default_value_t = 1, help_heading = "Data")]
    pub data_seed: u64,
    /// Geometry of the attention: hyperbolic is --attention polar-distance --learn-sharpness --aggregate
    /// barycentre --values polar, euclidean is --attention dot --aggregate euclidean. Each can be given by
    /// itself. Both have as many parameters: a point of d numbers is a direction of d − 1 and a radius.
    #[arg(long, value_enum, default_value_t = Space::Hyperbolic, help_heading = "Model")]
    pub geometry: Space,
    /// Attention score: how well a query and a key fit [default: by --geometry].
    #[arg(long, required = false, help_heading = "Model")]
    #[arg(default_value_ifs = BY_GEOMETRY)]
    pub attention: String,
    /// The other options of the attention.
    #[command(flatten)]
    pub options: AttentionOptions,
    /// What the model is told of a node, and which nodes it attends to.
    #[arg(long, value_enum, default_value_t = Input::Adjacency, help_heading = "Model")]
    pub input: Input,
    /// Ask one question of each graph, and mark its two nodes in the input.
    #[arg(long, help_heading = "Model")]
    pub flags: bool,
    /// How many times the attention block is applied, with the same weights.
    #[arg(long, default_value_t = 3, help_heading = "Model")]
    pub layers: usize,
    /// Number of attention heads.
    #[arg(long, default_value_t = 4, help_heading = "Model")]
    pub heads: usize,
    /// Numbers of a head's query, of its key and of its value.
    #[arg(long, default_value_t = 4, help_heading = "Model")]
    pub head_dim: usize,
    /// Width of a node's state [default: heads times numbers of a head].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub width: Option<usize>,
    /// Hidden units of the block's feed-forward network, and of the read-out [default: 4 times the width].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub hidden: Option<usize>,
    /// Where the block applies layer normalisation.
    #[arg(long, value_enum, default_value_t = NormOption::Pre, help_heading = "Model")]
    pub norm: NormOption,
    /// Dropout rate of each sublayer's result, from 0 to below 1.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Model")]
    pub dropout: f64,
    /// Number of epochs; each ends with a validation. A resumed run may have more than before.
    #[arg(long, default_value_t = 40, help_heading = "Training")]
    pub epochs: u64,
    /// Steps of an epoch.
    #[arg(long, default_value_t = 250, help_heading = "Training")]
    pub epoch_steps: u64,
    /// Graphs of a step. Their gradients are summed, and at most eight are in memory at once.
    #[arg(long, default_value_t = 4, help_heading = "Training")]
    pub batch: u64,
    /// Learning rate of Adam at the end of the warm-up, its largest value.
    #[arg(long, default_value_t = 0.003, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Steps in which the learning rate rises; then it falls with the inverse square root of the step.
    #[arg(long, default_value_t = 400, help_heading = "Training")]
    pub warm_up: u64,
    /// Largest norm of a step's gradient, over all parameters together. Longer gradients are scaled down
    /// to it.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Training")]
    pub clip: f64,
    /// Seed of initial weights, training graphs and dropout. Same seed, same result, for any number of
    /// threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
    /// Lessons before the whole disc of --nodes, separated by commas. A lesson is ANGLE or ANGLE:NODES: the
    /// largest connected component in a slice of ANGLE degrees of a disc of NODES points, by default --nodes.
    #[arg(long, value_delimiter = ',', default_value = "30,60,120,240", help_heading = "Curriculum")]
    pub curriculum: Vec<LessonOption>,
    /// Train with the whole disc from the first step.
    #[arg(long, conflicts_with = "curriculum", help_heading = "Curriculum")]
    pub no_curriculum: bool,
    /// Validation accuracy by which a lesson is passed [default: 0.8 for links, 0.4 for paths].
    #[arg(long, required = false, allow_negative_numbers = true, help_heading = "Curriculum")]
    #[arg(default_value_ifs = config::by("task", passed))]
    pub pass: f64,
    /// Number of last validations of a lesson whose mean accuracy must be as large as --pass.
    #[arg(long, default_value_t = 1, help_heading = "Curriculum")]
    pub pass_epochs: u64,
    /// Largest number of epochs of a lesson. If it is not passed by then, training stops with an error.
    #[arg(long, default_value_t = 20, help_heading = "Curriculum")]
    pub lesson_epochs: u64,
}

/// The default score of each geometry.
const BY_GEOMETRY: [(&str, &str, &str); 2] =
    [("geometry", "euclidean", "dot"), ("geometry", "hyperbolic", "polar-distance")];

/// The accuracy by which a lesson is passed.
fn passed(task: Task) -> f64 {
    if task == Task::Path { 0.4 } else { 0.8 }
}

/// The argument with a default for each geometry: Euclidean, hyperbolic.
fn by_geometry(arg: Arg, [euclidean, hyperbolic]: [&'static str; 2]) -> Arg {
    config::decided_by(arg, "geometry", [("euclidean", euclidean), ("hyperbolic", hyperbolic)])
}

/// The default of `values` for aggregations of points, under all their names.
const AS_POINTS: [(&str, &str); 2] = [("barycentre", "polar"), ("einstein", "polar")];

/// Pairs of nodes of a graph without [`GraphTasksConfig::flags`].
const PAIRS: usize = 32;

/// Numbers in memory for each unit of width of a node, in one application of the block.
const UNITS: f64 = 40.0;

impl GraphTasksConfig {
    /// The same with the attention of a geometry, as --geometry gives it.
    pub(super) fn in_space(self, space: Space) -> Self {
        let needed = ["--task", "link", "--nodes", "2", "--geometry"];
        let Self {
            geometry,
            attention,
            options: AttentionOptions { aggregate, values, learn_sharpness, .. },
            ..
        } = config::parse(&[&needed[..], &[&*config::name(space)]].concat());
        let options = AttentionOptions { aggregate, values, learn_sharpness, ..self.options };
        GraphTasksConfig { geometry, attention, options, ..self }
    }

    /// Fills in what follows from other options.
    pub(super) fn complete(mut self) -> Self {
        self.pairs.get_or_insert(if self.flags { 1 } else { PAIRS });
        let width = *self.width.get_or_insert(self.heads.saturating_mul(self.head_dim));
        self.hidden.get_or_insert(width.saturating_mul(4));
        self
    }

    /// Width of a node's state, and the hidden units.
    pub(super) fn sizes(&self) -> [usize; 2] {
        [self.width, self.hidden].map(Option::unwrap_or_default)
    }

    /// Pairs of nodes of each graph.
    pub(super) fn questions(&self) -> usize {
        self.pairs.unwrap_or_default()
    }

    /// All lessons; the last is the whole disc.
    pub(super) fn lessons(&self) -> Vec<Lesson> {
        let before: &[LessonOption] = if self.no_curriculum { &[] } else { &self.curriculum };
        let whole = Lesson { angle: 360.0, nodes: self.disc.nodes };
        before.iter().map(|lesson| lesson.on(&self.disc)).chain([whole]).collect()
    }

    /// The course of the lessons.
    pub(super) fn course(&self) -> Curriculum {
        Curriculum {
            lessons: self.lessons(),
            pass: self.pass,
            last: self.pass_epochs as usize,
            longest: self.lesson_epochs,
            epochs: self.epochs,
        }
    }

    /// A lower bound on the number of parameters.
    fn least_parameters(&self) -> f64 {
        let [width, hidden] = self.sizes().map(|size| size as f64);
        let rows = if self.input == Input::Adjacency { 2.0 * self.disc.nodes as f64 } else { 1.0 };
        let heads = 4.0 * self.heads as f64 * self.head_dim as f64;
        width * (rows + heads + 5.0 * hidden)
    }

    /// Checks the settings, and returns the attention score.
    ///
    /// # Errors
    /// If a setting is wrong, or training does not fit in memory; the error names the option.
    pub fn check(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        let [width, hidden] = self.sizes();
        options::at_least_one(&[
            ("pairs", self.questions() as u64),
            ("validation-graphs", self.validation_graphs as u64),
            ("test-graphs", self.test_graphs as u64),
            ("layers", self.layers as u64),
            ("heads", self.heads as u64),
            ("head-dim", self.head_dim as u64),
            ("width", width as u64),
            ("hidden", hidden as u64),
            ("epochs", self.epochs),
            ("epoch-steps", self.epoch_steps),
            ("batch", self.batch),
            ("warm-up", self.warm_up),
            ("pass-epochs", self.pass_epochs),
            ("lesson-epochs", self.lesson_epochs),
        ])?;
        options::layers(self.layers)?;
        if self.flags && self.questions() > 1 {
            let message = format!("--pairs {}: with --flags a graph has one", self.questions());
            return Err(AppError::usage(message));
        }
        options::positive(&[("lr", self.lr), ("clip", self.clip)])?;
        options::below_one(&[("dropout", self.dropout)])?;
        if !(0.0..=1.0).contains(&self.pass) {
            return Err(AppError::usage(format!("--pass {}: a number from 0 to 1 is needed", self.pass)));
        }
        if self.input == Input::Neighbours {
            self.options.check_one_sharpness()?;
        }
        self.check_lessons()?;
        self.check_memory()?;
        self.options.score(&self.attention, scores, ("head-dim", self.head_dim), self.head_dim)
    }

    /// Checks the disc and the lessons, and that the examples of a run have numbers.
    fn check_lessons(&self) -> Result<()> {
        self.disc.validate()?;
        for lesson in &self.curriculum {
            let nodes = lesson.on(&self.disc).nodes;
            let needed = if !(lesson.angle > 0.0 && lesson.angle <= 360.0) {
                "an angle above 0, up to 360,".to_owned()
            } else if nodes < 2 || nodes > self.disc.nodes {
                format!("a number of nodes from 2 to {}", self.disc.nodes)
            } else {
                continue;
            };
            return Err(AppError::usage(format!("--curriculum {lesson}: {needed} is needed")));
        }
        let steps = options::steps(self.epochs, self.epoch_steps)?;
        let graphs = steps.checked_mul(self.batch).filter(|graphs| u32::try_from(*graphs).is_ok());
        let message = || format!("--epochs {}: a run has less than 2³² graphs", self.epochs);
        graphs.map(drop).ok_or_else(|| AppError::usage(message()))
    }

    /// Checks that the training fits in memory: the parameters, and the states of a step's graphs.
    fn check_memory(&self) -> Result<()> {
        let ([width, hidden], least) = (self.sizes(), self.least_parameters());
        let sizes =
            [("nodes", self.disc.nodes), ("width", width), ("hidden", hidden), ("head-dim", self.head_dim)];
        memory::training(&sizes, least, Precision::F32)?;
        let options = [("nodes", self.disc.nodes), ("width", width), ("layers", self.layers)];
        let graphs = self.batch.min(8) as f64;
        let states = UNITS * graphs * memory::bytes::<f32>(&[self.disc.nodes, width, self.layers]);
        memory::check(&options, "the states of a step's graphs", states)
    }
}

impl TrainingConfig for GraphTasksConfig {
    const DATA: &'static str = "graphs";

    fn epochs_and_seed(&self) -> (u64, u64) {
        (self.epochs, self.seed)
    }

    /// A resumed run may have more epochs, and longer lessons.
    fn difference(theirs: &Value, ours: &Value) -> Option<String> {
        config::json_difference::<Self>(theirs, ours, &["epochs", "lesson_epochs"])
    }
}

//! The settings of a vision transformer and its training.

use clap::{Args, ValueEnum};
use cotangent::layers::Score;
use cotangent_apps_attention::body::{Body, NormOption, head_dims};
use cotangent_apps_common::attention::{AttentionOptions, Scores};
use cotangent_apps_common::error::Result;
use cotangent_apps_common::training::TrainingConfig;
use cotangent_apps_common::{config, options};
use cotangent_apps_pictures::{PictureData, Reading};
use serde::{Deserialize, Serialize};

use super::Augmentation;
use crate::PictureOptions;
use crate::patches::check_patch;

/// Named sizes of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    /// For pictures of 28 to 32 pixels: 4 layers, width 96, 4 heads, patches of 4.
    #[default]
    Small,
    /// DeiT-Ti (Touvron et al. 2021), for pictures of 224 pixels: 12 layers, width 192, 3 heads, patches of
    /// 16, with a batch of 256 pictures as Tseng et al. 2023 have it.
    DeitTiny,
}

/// The options that a size decides.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each is the option of its name")]
pub struct Defaults {
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    pub hidden: usize,
    pub patch: usize,
    pub image_size: usize,
    pub crop_padding: usize,
    pub crop_scale: f64,
    pub rand_augment: f64,
    pub erase: f64,
    pub repeats: usize,
    pub jitter: f64,
    pub mix: f64,
    pub epochs: u64,
    pub batch: usize,
    pub lr: f64,
    pub warm_up_epochs: u64,
    pub ema: f64,
}

impl Size {
    /// The options that it decides.
    pub fn defaults(self) -> Defaults {
        match self {
            Size::Small => Defaults {
                layers: 4,
                width: 96,
                heads: 4,
                hidden: 384,
                patch: 4,
                image_size: 32,
                crop_padding: 4,
                crop_scale: 0.0,
                rand_augment: 0.0,
                erase: 0.0,
                repeats: 1,
                jitter: 0.3,
                mix: 0.5,
                epochs: 10,
                batch: 128,
                lr: 0.001,
                warm_up_epochs: 1,
                ema: 0.99,
            },
            Size::DeitTiny => Defaults {
                layers: 12,
                width: 192,
                heads: 3,
                hidden: 768,
                patch: 16,
                image_size: 224,
                crop_padding: 0,
                crop_scale: 0.08,
                rand_augment: 9.0,
                erase: 0.25,
                repeats: 3,
                jitter: 0.0,
                mix: 1.0,
                epochs: 300,
                batch: 256,
                lr: 0.00025,
                warm_up_epochs: 5,
                ema: 0.99996,
            },
        }
    }
}

/// The default of an option for each size.
pub(super) fn by_size<D: ToString>(
    default: fn(Defaults) -> D,
) -> impl Iterator<Item = (&'static str, String, String)> {
    config::by("size", move |size: Size| default(size.defaults()))
}

/// Everything that determines the result of a run, except the pictures. Where nothing else is said, defaults
/// are those of Touvron et al. 2021, but for Adam's second β, which is 0.98, and for pictures: numbers are
/// from −1 to 1, resizing is linear, and a test sees the whole middle square.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VitConfig {
    /// Attention score: how well a query and a key fit.
    #[arg(long, default_value = "dot", help_heading = "Model")]
    pub attention: String,
    /// The other options of the attention.
    #[command(flatten)]
    pub options: AttentionOptions,
    /// A named choice of the model's sizes and of its training. Options override single numbers of it.
    #[arg(long, value_enum, default_value = "small", help_heading = "Model")]
    #[serde(skip)]
    pub size: Option<Size>,
    /// Number of layers [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.layers), help_heading = "Model")]
    pub layers: usize,
    /// Width of the layers [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.width), help_heading = "Model")]
    pub width: usize,
    /// Number of heads of each attention [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.heads), help_heading = "Model")]
    pub heads: usize,
    /// Dimensions of a head [default: the width divided by the number of heads].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub head_dim: Option<usize>,
    /// Dimensions of a head's queries and keys; its values keep those of --head-dim [default: as --head-dim].
    /// Tseng et al. 2023 have 64, and 16 in the study of few dimensions.
    #[arg(long, help_heading = "Model")]
    pub key_dim: Option<usize>,
    /// Number of hidden units of the feed-forward networks [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.hidden), help_heading = "Model")]
    pub hidden: usize,
    /// Side of the square patches that a picture is cut into, a divisor of --image-size [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.patch), help_heading = "Model")]
    pub patch: usize,
    /// Side of the pictures: they are brought to it, and their middle square is taken [default: of arrays,
    /// their own; of files 32, or 224 with --size deit-tiny].
    #[arg(long, help_heading = "Data")]
    #[serde(with = "config::known")]
    pub image_size: Option<usize>,
    /// Where the pictures are, and which are held out.
    #[command(flatten)]
    #[serde(flatten)]
    pub pictures: PictureOptions,
    /// Where residual blocks apply layer normalisation.
    #[arg(long, value_enum, default_value_t = NormOption::Pre, help_heading = "Model")]
    pub norm: NormOption,
    /// Probability with which the last layer's sublayers are left out, for each picture; it rises linearly
    /// from 0 in the first layer (stochastic depth).
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, help_heading = "Model")]
    pub stochastic_depth: f64,
    /// Dropout rate of embeddings and of each sublayer's result, from 0 to below 1.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Model")]
    pub dropout: f64,
    /// Dropout rate of attention weights, from 0 to below 1.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Model")]
    pub attention_dropout: f64,
    /// What is done to the pictures while training.
    #[command(flatten)]
    pub augmentation: Augmentation,
    /// Passes over the training pictures [default: by --size: 10, or 300].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.epochs), help_heading = "Training")]
    pub epochs: u64,
    /// Number of pictures in a batch [default: by --size: 128, or 256].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.batch), help_heading = "Training")]
    pub batch: usize,
    /// Learning rate of AdamW at the end of the warm-up, its largest value [default: by --size: 0.001, or
    /// 0.00025, which is DeiT's rate for a batch of 256].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.lr), allow_negative_numbers = true)]
    #[arg(help_heading = "Training")]
    pub lr: f64,
    /// Epochs in which the learning rate rises; then it falls to 0 along half a cosine [default: by --size:
    /// 1, or 5].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.warm_up_epochs))]
    #[arg(help_heading = "Training")]
    pub warm_up_epochs: u64,
    /// Weight decay, decoupled from the gradient (AdamW): each step shrinks the parameters by the learning
    /// rate times this number.
    #[arg(long, default_value_t = 0.05, allow_negative_numbers = true, help_heading = "Training")]
    pub decay: f64,
    /// Largest norm of a step's gradient, over all parameters together. Longer gradients are scaled down
    /// to it. DeiT has no limit.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Training")]
    pub clip: f64,
    /// The part of the parameters' average (EMA) that each step keeps, from 0 to below 1. The average is what
    /// is validated and tested; with 0 it is the last parameters [default: by --size: 0.99, or 0.99996].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.ema), allow_negative_numbers = true)]
    #[arg(help_heading = "Training")]
    pub ema: f64,
    /// Seed of initial weights, order, augmentation and dropout. Same seed, same result, for any number of
    /// threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
}

impl VitConfig {
    /// How pictures are read for a training.
    pub(super) fn reading(&self) -> Reading {
        self.pictures.reading(self.image_size, self.size.unwrap_or_default().defaults().image_size)
    }

    /// Fills in what follows from other options, the dimensions of the heads, and from the pictures, their
    /// size.
    pub(super) fn complete(mut self, data: Option<&PictureData>) -> Self {
        let sizes = [self.width, self.heads];
        [self.head_dim, self.key_dim] = head_dims(sizes, self.head_dim, self.key_dim);
        self.image_size = data.map(|data| data.train.side).or(self.image_size);
        self
    }

    /// Side of the pictures.
    pub fn side(&self) -> usize {
        self.image_size.unwrap_or_default()
    }

    /// Number of patches along a side.
    pub(super) fn grid(&self) -> usize {
        self.side() / self.patch
    }

    /// The layers.
    pub(super) fn body(&self) -> Body<'_> {
        cotangent_apps_attention::body!(self)
    }

    /// A lower bound on the number of a model's parameters: those of patches, positions and classes, and most
    /// of its layers'. It is a float, because sizes read from a file could overflow an integer.
    pub(super) fn least_parameters(&self, channels: usize, classes: usize) -> f64 {
        let [patch, grid, channels, classes] =
            [self.patch, self.grid(), channels, classes].map(|size| size as f64);
        let rows = patch * patch * channels + grid * grid + classes;
        self.width as f64 * rows + self.layers as f64 * self.body().layer_parameters()
    }

    /// The options that the number of parameters depends on. One that has no effect is 0.
    pub(super) fn sizes(&self) -> [(&'static str, usize); 8] {
        let [layers, width, heads, head_dim, key_dim, hidden] = self.body().options();
        let pictures = [("patch", self.patch), ("image-size", self.side())];
        [layers, width, heads, head_dim, key_dim, hidden, pictures[0], pictures[1]]
    }

    /// Checks the settings, and returns the attention score.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        let body = self.body();
        body.check_sizes()?;
        options::at_least_one(&[("epochs", self.epochs), ("batch", self.batch as u64)])?;
        check_patch(self.patch, self.image_size)?;
        options::parameters(&self.sizes(), self.least_parameters(1, 1))?;
        let score = body.score(scores)?;
        options::positive(&[("lr", self.lr), ("clip", self.clip)])?;
        self.pictures.check()?;
        options::below_one(&[("stochastic-depth", self.stochastic_depth), ("ema", self.ema)])?;
        options::not_negative(&[("decay", self.decay)])?;
        self.augmentation.check(self.batch)?;
        Ok(score)
    }
}

impl TrainingConfig for VitConfig {
    const DATA: &'static str = "pictures";

    fn epochs_and_seed(&self) -> (u64, u64) {
        (self.epochs, self.seed)
    }
}

//! The settings of a diffusion transformer and its training.

use clap::{Args, ValueEnum};
use cotangent::layers::Score;
use cotangent_apps_attention::body::{Body, NormOption, head_dims};
use cotangent_apps_common::attention::{AttentionOptions, Scores};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::training::TrainingConfig;
use cotangent_apps_common::{config, options};
use cotangent_apps_pictures::Reading;
use serde::{Deserialize, Serialize};

use super::DitData;
use super::model::FREQUENCIES;
use crate::PictureOptions;
use crate::patches::check_patch;
use crate::pictured::Ends;

/// Named sizes of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DitSize {
    /// For pictures of 8 pixels: 4 layers, width 96, 4 heads, patches of 2.
    Tiny,
    /// For pictures of 28 to 32 pixels: 6 layers, width 192, 6 heads, patches of 4.
    #[default]
    Small,
    /// DiT-S/4 (Peebles & Xie 2023), for latents of 32 numbers a side: 12 layers, width 384, 6 heads, patches
    /// of 4.
    DitS,
    /// DiT-B/4, which Tseng et al. 2023 have, with --learn-variances: 12 layers, width 768, 12 heads, patches
    /// of 4.
    DitB,
}

/// The options that a size decides.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each is the option of its name")]
pub struct DitDefaults {
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    pub hidden: usize,
    pub patch: usize,
    pub image_size: usize,
    pub epochs: u64,
    pub batch: usize,
    pub lr: f64,
    pub warm_up_epochs: u64,
    pub ema: f64,
}

impl DitSize {
    /// The options that it decides.
    pub fn defaults(self) -> DitDefaults {
        let published = DitDefaults {
            layers: 12,
            width: 768,
            heads: 12,
            hidden: 3072,
            patch: 4,
            image_size: 32,
            epochs: 80,
            batch: 256,
            lr: 0.0001,
            warm_up_epochs: 0,
            ema: 0.9999,
        };
        let own = DitDefaults { batch: 128, lr: 0.001, warm_up_epochs: 1, ema: 0.999, ..published };
        match self {
            DitSize::Tiny => DitDefaults {
                layers: 4,
                width: 96,
                heads: 4,
                hidden: 384,
                patch: 2,
                image_size: 8,
                epochs: 100,
                batch: 32,
                lr: 0.002,
                ema: 0.995,
                ..own
            },
            DitSize::Small => DitDefaults { layers: 6, width: 192, heads: 6, hidden: 768, epochs: 20, ..own },
            DitSize::DitS => DitDefaults { width: 384, heads: 6, hidden: 1536, ..published },
            DitSize::DitB => published,
        }
    }
}

/// The default of an option for each size.
fn by_size<D: ToString>(
    default: fn(DitDefaults) -> D,
) -> impl Iterator<Item = (&'static str, String, String)> {
    config::by("size", move |size: DitSize| default(size.defaults()))
}

/// Everything that determines the result of a run, except the data. Where nothing else is said, defaults are
/// those of Peebles & Xie 2023, who learn variances too.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DitConfig {
    /// Attention score: how well a query and a key fit.
    #[arg(long, default_value = "dot", help_heading = "Model")]
    pub attention: String,
    /// The other options of the attention.
    #[command(flatten)]
    pub options: AttentionOptions,
    /// A named choice of the model's sizes and of its training. Options override single numbers of it.
    #[arg(long, value_enum, default_value = "small", help_heading = "Model")]
    #[serde(skip)]
    pub size: Option<DitSize>,
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
    #[arg(long, help_heading = "Model")]
    pub key_dim: Option<usize>,
    /// Number of hidden units of the feed-forward networks [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.hidden), help_heading = "Model")]
    pub hidden: usize,
    /// Side of the square patches that a picture is cut into, a divisor of its side [default: by --size: 2
    /// with tiny, else 4].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.patch), help_heading = "Model")]
    pub patch: usize,
    /// Side of the pictures: they are brought to it, and their middle square is taken. Latents keep theirs
    /// [default: of arrays and rows, their own; of files 32, or 8 with --size tiny].
    #[arg(long, help_heading = "Data")]
    #[serde(with = "config::known")]
    pub image_size: Option<usize>,
    /// Where the pictures are, and which are held out.
    #[command(flatten)]
    #[serde(flatten)]
    pub pictures: PictureOptions,
    /// Probability with which a picture of a training batch is mirrored, left to right, from 0 to 1. Peebles
    /// & Xie 2023 have a half, before pictures become latents, which cannot be mirrored.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Training")]
    #[serde(default)]
    pub flip: f64,
    /// Probability with which a picture of a training batch has no class, from 0 to below 1. Guidance needs
    /// more than 0.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, help_heading = "Training")]
    pub class_dropout: f64,
    /// Learn the variances of steps from noise to a picture too, as Peebles & Xie 2023 do. The loss then has
    /// the bound on the likelihood (Nichol & Dhariwal 2021). `dit sample --eta 1` takes the variances.
    #[arg(long, help_heading = "Training")]
    #[serde(default)]
    pub learn_variances: bool,
    /// Passes over the training pictures [default: by --size: 100, 20, or 80].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.epochs), help_heading = "Training")]
    pub epochs: u64,
    /// Number of pictures in a batch [default: by --size: 32, 128, or 256].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.batch), help_heading = "Training")]
    pub batch: usize,
    /// Learning rate of AdamW after the warm-up [default: by --size: 0.002, 0.001, or
    /// 0.0001].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.lr), allow_negative_numbers = true)]
    #[arg(help_heading = "Training")]
    pub lr: f64,
    /// Epochs in which the learning rate rises; then it stays [default: by --size: 1, or 0].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.warm_up_epochs))]
    #[arg(help_heading = "Training")]
    pub warm_up_epochs: u64,
    /// Weight decay, decoupled from the gradient (AdamW): each step shrinks the parameters by the learning
    /// rate times this number.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Training")]
    pub decay: f64,
    /// Largest norm of a step's gradient, over all parameters together. Longer gradients are scaled down
    /// to it. DiT has no limit.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Training")]
    pub clip: f64,
    /// The part of the parameters' average (EMA) that each step keeps, from 0 to below 1. The average is what
    /// is validated, tested and sampled from; with 0 it is the last parameters [default: by --size: 0.995,
    /// 0.999, or 0.9999].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.ema), allow_negative_numbers = true)]
    #[arg(help_heading = "Training")]
    pub ema: f64,
    /// Seed of initial weights, order, noise, mirroring and dropped classes. Same seed, same result, for any
    /// number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
    /// Whether the data are latents, of any number of channels, and no pictures.
    #[arg(skip)]
    pub latents: bool,
}

impl DitConfig {
    /// How pictures are read for a training.
    pub(super) fn reading(&self) -> Reading {
        self.pictures.reading(self.image_size, self.size.unwrap_or_default().defaults().image_size)
    }

    /// Fills in what follows from other options, the dimensions of the heads, and from the data: their size,
    /// and whether they are latents.
    pub(super) fn complete(mut self, data: Option<&DitData>) -> Self {
        let sizes = [self.width, self.heads];
        [self.head_dim, self.key_dim] = head_dims(sizes, self.head_dim, self.key_dim);
        if let Some(data) = data {
            (self.image_size, self.latents) = (Some(data.pictures.train.side), data.latents);
        }
        self
    }

    /// Height and width of a picture, or of latents.
    pub fn side(&self) -> usize {
        self.image_size.unwrap_or_default()
    }

    /// Number of patches along a side.
    pub(super) fn grid(&self) -> usize {
        self.side() / self.patch
    }

    /// The layers. There is no dropout.
    pub(super) fn body(&self) -> Body<'_> {
        Body {
            attention: (&self.attention, &self.options),
            layers: self.layers,
            width: self.width,
            heads: self.heads,
            head_dim: self.head_dim.unwrap_or_default(),
            key_dim: self.key_dim,
            hidden: self.hidden,
            norm: NormOption::Pre,
            dropout: 0.0,
            attention_dropout: 0.0,
        }
    }

    /// A lower bound on the number of a model's parameters: those of patches, times and classes, and most of
    /// its layers'. It is a float, because sizes read from a file could overflow an integer.
    pub(super) fn least_parameters(&self, Ends { channels, classes }: Ends) -> f64 {
        let [patch, channels, classes, width] =
            [self.patch, channels, classes, self.width].map(|size| size as f64);
        // The numbers of a patch that go in, and those that come out.
        let ends = if self.learn_variances { 3.0 } else { 2.0 };
        let modulations = width * width * (6.0 * self.layers as f64 + 2.0);
        let rows = ends * patch * patch * channels + classes + FREQUENCIES as f64 + width;
        width * rows + modulations + self.layers as f64 * self.body().layer_parameters()
    }

    /// The options that the number of parameters depends on. One that has no effect is 0.
    pub(super) fn sizes(&self) -> [(&'static str, usize); 7] {
        let [layers, width, heads, head_dim, key_dim, hidden] = self.body().options();
        [layers, width, heads, head_dim, key_dim, hidden, ("patch", self.patch)]
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
        options::parameters(&self.sizes(), self.least_parameters(Ends { channels: 1, classes: 1 }))?;
        let score = body.score(scores)?;
        options::positive(&[("lr", self.lr), ("clip", self.clip)])?;
        self.pictures.check()?;
        options::below_one(&[("class-dropout", self.class_dropout), ("ema", self.ema)])?;
        options::not_negative(&[("decay", self.decay)])?;
        options::shares(&[("flip", self.flip)])?;
        if self.latents && self.flip > 0.0 {
            return Err(AppError::usage(format!("--flip {}: latents cannot be mirrored", self.flip)));
        }
        Ok(score)
    }

    /// Checks a guidance by a model of these settings.
    ///
    /// # Errors
    /// If guidance needs the prediction without a class, which was not trained.
    pub(super) fn check_guidance(&self, guidance: f64) -> Result<()> {
        if guidance == 1.0 || self.class_dropout > 0.0 {
            return Ok(());
        }
        let message = format!("--guidance {guidance}: the model was trained with --class-dropout 0");
        Err(AppError::usage(message))
    }
}

impl TrainingConfig for DitConfig {
    const DATA: &'static str = "pictures";

    fn epochs_and_seed(&self) -> (u64, u64) {
        (self.epochs, self.seed)
    }
}

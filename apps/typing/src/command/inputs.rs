//! What several commands read: a trained model, a file of mentions.

use std::path::{Path, PathBuf};

use clap::Args;
use cotangent::prelude::{Device, Float};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::threads::{Threads, ThreadsOption};

use crate::examples::Example;
use crate::readers::{self, Mentions};
use crate::typer::{Description, Typer};

/// Evaluates an expression in the precision of a model, which it can use as a type.
macro_rules! in_precision {
    ($precision:expr, $float:ident => $value:expr) => {
        match $precision {
            cotangent_apps_common::precision::Precision::F32 => {
                type $float = f32;
                $value
            }
            cotangent_apps_common::precision::Precision::F64 => {
                type $float = f64;
                $value
            }
        }
    };
}
pub(crate) use in_precision;

/// Which model a command is about.
#[derive(Args)]
pub(crate) struct ModelOption {
    /// Directory of a trained model, as `typing train` wrote it.
    #[arg(long, default_value = "runs/typing", help_heading = "Data")]
    model: PathBuf,
}

impl ModelOption {
    /// The precision of the model.
    pub(crate) fn precision(&self) -> Result<Precision> {
        Ok(Description::read(&self.model)?.config.precision)
    }

    /// The model without words.
    pub(crate) fn read_without_words<T: Float>(&self) -> Result<Typer<T>> {
        Typer::read_without_words(&self.model, &Device::cpu())
    }
}

/// Which model a command runs on mentions, and how.
#[derive(Args)]
pub(crate) struct ModelOptions {
    #[command(flatten)]
    pub(crate) model: ModelOption,
    /// File of word vectors [default: that of the training].
    #[arg(long, help_heading = "Data")]
    pub(crate) words: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
}

impl ModelOptions {
    /// The precision of the model.
    pub(crate) fn precision(&self) -> Result<Precision> {
        self.model.precision()
    }

    /// The threads to run in.
    pub(crate) fn threads(&self) -> Result<Threads> {
        self.threads.start()
    }

    /// The model with the words of some mentions.
    pub(crate) fn read<T: Float>(&self, mentions: &Mentions) -> Result<Typer<T>> {
        Typer::read(&self.model.model, self.words.as_deref(), &mentions.list, &self.device.choose()?)
    }

    /// The model, and the mentions of a file as it reads them.
    pub(crate) fn read_with_examples<T: Float>(&self, path: &Path) -> Result<(Typer<T>, Vec<Example>)> {
        let mentions = readers::read(path)?;
        let typer = self.read(&mentions)?;
        let examples = typer.examples(&mentions.list, |i| (path.to_owned(), mentions.lines[i]))?;
        Ok((typer, examples))
    }
}

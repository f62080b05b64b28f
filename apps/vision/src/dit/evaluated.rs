//! How well generated pictures have the distribution of real ones.

use std::path::Path;

use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::note;
use cotangent_apps_pictures::{PictureData, Reading};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::frechet::Gaussian;
use super::sampler::{DitSampling, Sampler};
use crate::vit::Classifier;

/// Fréchet distances of features: of generated pictures, and of real ones to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// From the generated pictures to those for training.
    pub train: f64,
    /// From the generated pictures to those for testing.
    pub test: f64,
    /// Between two halves of the training pictures.
    pub halves: f64,
    /// Between the training and the test pictures.
    pub real: f64,
}

/// The result of `dit evaluate`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DitEvaluated {
    /// How the pictures were made.
    pub sampling: DitSampling,
    /// Number of generated pictures.
    pub count: usize,
    /// Number of the classifier's features.
    pub features: usize,
    /// The distances.
    pub frechet: Distances,
    /// The share of generated pictures that the classifier gives the class they were made of, if it knows the
    /// same classes.
    pub recognised: Option<f64>,
}

/// The result of `dit distance`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DitDistance {
    /// Numbers of pictures.
    pub pictures: [usize; 2],
    /// Number of the classifier's features.
    pub features: usize,
    /// The Fréchet distance.
    pub frechet: f64,
}

/// The Fréchet distance of all PNG and JPEG files of one directory from those of another, by the features
/// of a classifier: for pictures that were made elsewhere, such as those decoded from latents.
///
/// # Errors
/// If a picture cannot be read, or a directory has fewer than two.
pub fn distance(classifier: &Classifier, directories: [&Path; 2]) -> Result<DitDistance> {
    let [first, second] = directories.map(|path| classifier.read_all(path));
    let pictures = [first?, second?];
    let (counts, features) = (pictures.each_ref().map(|all| all.len()), classifier.config().width);
    for (path, n) in directories.into_iter().zip(counts) {
        enough(&path.display().to_string(), n, features)?;
    }
    let [first, second] = pictures.map(|all| classifier.features(&all));
    let (first, second) = (first?, second?);
    let frechet = Gaussian::fitted(&first).frechet(&Gaussian::fitted(&second));
    Ok(DitDistance { pictures: counts, features, frechet })
}

/// Checks that so many pictures have a covariance; says so if they are few.
fn enough(what: &str, n: usize, features: usize) -> Result<()> {
    if n < 2 {
        return Err(AppError::usage(format!("{what}: {n} pictures have no covariance")));
    }
    if n <= features {
        note!("{what}: {n} pictures are few for {features} features, so distances are not accurate");
    }
    Ok(())
}

/// Makes `count` pictures, as many of each class, and compares their features with those of the real pictures
/// in a directory. Features are what the head of a trained `vit` takes, and the distance is that of
/// [`Gaussian::frechet`], so figures of different classifiers cannot be compared.
///
/// # Errors
/// As [`PictureData::read`] and [`Sampler::sample`]; if the model makes latents, the classifier has pictures
/// of another size, or there are fewer than two pictures of a kind.
pub fn evaluate(
    sampler: &Sampler,
    classifier: &Classifier,
    directory: &Path,
    count: usize,
    sampling: &DitSampling,
) -> Result<DitEvaluated> {
    let config = sampler.config();
    if config.latents {
        return Err(AppError::usage("the model makes latents, which no classifier of pictures takes"));
    }
    let ours = [config.side(), sampler.channels()];
    let theirs = [classifier.config().side(), classifier.channels()];
    if ours != theirs {
        let size = |[side, channels]: [usize; 2]| format!("{side} x {side} pixels with {channels} channels");
        let message = format!("--classifier: pictures of {}; the model's have {}", size(theirs), size(ours));
        return Err(AppError::usage(message));
    }
    let (side, white) = (config.side(), sampler.white());
    let reading = Reading { side: Some(side), folder_side: side, white, lazy: true, ..config.reading() };
    let data = PictureData::read(directory, &reading)?;
    data.has_classes(directory, sampler.classes())?;
    let [train, test] = [data.train, data.test].map(|part| part.in_channels(sampler.channels()));
    sampler.check_memory(count, 1, false)?;
    let classes: Vec<u32> = (0..sampler.classes().len() as u32).cycle().take(count).collect();
    // Before the long part: what is wrong with the real pictures.
    let (train, test) = (classifier.features(&train)?, classifier.features(&test)?);
    let half = train.shape()[0] / 2;
    let features = train.width();
    for (what, n) in [("--count", count), ("half of the training pictures", half), ("test", test.shape()[0])]
    {
        enough(what, n, features)?;
    }
    let generated = sampler.sample(&classes, sampling)?.to_bytes();
    let made = Gaussian::fitted(&classifier.features(&generated)?);
    let [first, second] = halves(&train);
    let (train, test) = (Gaussian::fitted(&train), Gaussian::fitted(&test));
    let frechet = Distances {
        train: made.frechet(&train),
        test: made.frechet(&test),
        halves: Gaussian::fitted(&first).frechet(&Gaussian::fitted(&second)),
        real: train.frechet(&test),
    };
    let knows = classifier.classes() == sampler.classes();
    let recognised = if knows { Some(classifier.test(&generated)?.top1) } else { None };
    Ok(DitEvaluated { sampling: *sampling, count, features, frechet, recognised })
}

/// Two random halves of rows.
fn halves(features: &Tensor<f64>) -> [Tensor<f64>; 2] {
    let mut rows: Vec<&[f64]> = features.rows().collect();
    rows.shuffle(&mut rng::stream(0, "halves", 0));
    let (first, second) = rows.split_at(rows.len() / 2);
    [first, second].map(|rows| Tensor::new([rows.len(), features.width()], rows.concat()))
}

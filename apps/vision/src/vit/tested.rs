//! How well a model classifies pictures.

use cotangent::engine::row_numbers;
use cotangent::optim::train::each_batch;
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_pictures::Pictures;
use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::model::VitModel;

/// The number of likeliest classes among which the right one counts, beside the likeliest itself.
const FIRST: usize = 5;

/// How a model classifies pictures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// Number of pictures.
    pub pictures: usize,
    /// The share of pictures whose class is the likeliest, from 0 to 1.
    pub top1: f64,
    /// The share of pictures whose class is among the five likeliest.
    pub top5: f64,
    /// The mean of −ln p of the classes.
    pub loss: f64,
    /// The same by class; a class without pictures is left out.
    pub classes: Vec<ClassTested>,
}

/// How a model classifies the pictures of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassTested {
    /// The name of the class.
    pub class: String,
    /// Number of pictures.
    pub pictures: usize,
    /// The share of pictures whose class is the likeliest, from 0 to 1.
    pub top1: f64,
    /// The share of pictures whose class is among the five likeliest.
    pub top5: f64,
}

/// Of a picture: its loss, and how many classes are likelier than its own.
type Outcome = (f64, usize);

/// Classifies pictures, in batches of this size.
///
/// # Errors
/// If a file cannot be read, or is no picture.
pub(super) fn test(
    model: &VitModel,
    pictures: &Pictures,
    names: &[String],
    batch: usize,
    tape: &mut Tape<f32>,
) -> Result<Tested> {
    let outcomes = each(pictures, batch, tape, |tape, batch| {
        let logs = model.logits(tape, &batch).log_softmax(-1).to_tensor();
        logs.rows().zip(&batch.labels[0]).map(|(logs, &label)| outcome(logs, label)).collect()
    })?;
    let mut by_class: Vec<Vec<Outcome>> = vec![Vec::new(); names.len()];
    outcomes.iter().zip(&pictures.labels).for_each(|(&it, &label)| by_class[label as usize].push(it));
    let of_class = |(name, outcomes): (&String, &Vec<Outcome>)| ClassTested {
        class: name.clone(),
        pictures: outcomes.len(),
        top1: share(outcomes, 1),
        top5: share(outcomes, FIRST),
    };
    Ok(Tested {
        pictures: pictures.len(),
        top1: share(&outcomes, 1),
        top5: share(&outcomes, FIRST),
        loss: outcomes.iter().map(|(loss, _)| loss).sum::<f64>() / outcomes.len() as f64,
        classes: names.iter().zip(&by_class).filter(|(_, of)| !of.is_empty()).map(of_class).collect(),
    })
}

/// The features of pictures, row by row, in batches of this size.
///
/// # Errors
/// If a file cannot be read, or is no picture.
pub(super) fn features(
    model: &VitModel,
    pictures: &Pictures,
    batch: usize,
    tape: &mut Tape<f32>,
) -> Result<Vec<f64>> {
    each(pictures, batch, tape, |tape, batch| {
        let features = model.features(tape, &batch).to_tensor();
        features.data().iter().map(|&x| f64::from(x)).collect()
    })
}

/// What `evaluate` returns for pictures as they are, in batches of this size.
fn each<R: Clone + Send>(
    pictures: &Pictures,
    batch: usize,
    tape: &mut Tape<f32>,
    evaluate: impl Fn(&Tape<f32>, Batch) -> Vec<R> + Sync,
) -> Result<Vec<R>> {
    let items: Vec<u32> = row_numbers(pictures.len()).collect();
    let batches: Vec<&[u32]> = items.chunks(batch).collect();
    let results =
        each_batch(tape, &batches, |tape, items| Ok(evaluate(tape, Batch::plain(pictures, items)?)));
    Ok(results.into_iter().collect::<Result<Vec<_>>>()?.concat())
}

/// Of equally likely classes, the first counts as the likeliest.
fn outcome(logs: &[f32], label: u32) -> Outcome {
    let own = logs[label as usize];
    let before = logs[..label as usize].iter().filter(|&&log| log >= own).count();
    (-f64::from(own), before + logs[label as usize..].iter().filter(|&&log| log > own).count())
}

/// The share of pictures whose class is among so many likeliest.
fn share(outcomes: &[Outcome], first: usize) -> f64 {
    let right = outcomes.iter().filter(|(_, likelier)| *likelier < first).count();
    right as f64 / outcomes.len() as f64
}

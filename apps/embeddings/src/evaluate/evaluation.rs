//! Quality of an embedding in the course of its training.

use std::borrow::Cow;
use std::path::Path;

use cotangent_apps_common::curves::{self, Series};
use cotangent_apps_common::error::Result;
use serde::{Deserialize, Serialize};

use crate::evaluate::link_prediction::Split;
use crate::evaluate::reconstruction::{self, Candidates, Sample, Score};
use crate::graph::Neighbours;

/// The reconstruction after some epochs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Number of epochs.
    pub epoch: u64,
    /// Seconds of training up to then, without evaluations.
    pub seconds: f64,
    /// Mean rank.
    pub mean_rank: f64,
    /// Mean average precision (MAP).
    pub map: f64,
    /// How well the pairs held out for validation are predicted; `None` if there are none.
    pub validation: Option<Score>,
}

impl Evaluation {
    pub(crate) fn new(epoch: u64, seconds: f64, score: &Score, validation: Option<Score>) -> Self {
        Evaluation { epoch, seconds, mean_rank: score.mean_rank, map: score.map, validation }
    }
}

/// How points are evaluated, in the course of the training and at its end.
pub(crate) struct Evaluator<'a> {
    pub(crate) split: &'a Split<'a>,
    /// The neighbours in the whole graph, if pairs are held out; else those in training are all.
    whole: Option<Neighbours>,
    sample: Sample,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(split: &'a Split<'a>, sample: Sample) -> Self {
        let whole = matches!(split.training, Cow::Owned(_)).then(|| split.whole.neighbours());
        Evaluator { split, whole, sample }
    }

    /// All neighbours, from those in training.
    pub(crate) fn known<'b>(&'b self, neighbours: &'b Neighbours) -> &'b Neighbours {
        self.whole.as_ref().unwrap_or(neighbours)
    }

    /// The scores of reconstruction, validation and test.
    pub(crate) fn scores(
        &self,
        candidates: Candidates<'_>,
        neighbours: &Neighbours,
    ) -> (Score, [Option<Score>; 2]) {
        let identity: Vec<u32> = (0..candidates.points.shape().rows().elements() as u32).collect();
        let known = self.known(neighbours);
        let score = reconstruction::rank(candidates, &identity, [neighbours, known], self.sample);
        (score, self.split.evaluate(candidates, known, self.sample))
    }
}

/// Draws the curves of mean rank and MAP. Epochs without an evaluation have no value.
pub(crate) fn plot(path: &Path, evaluations: &[Evaluation]) -> Result<()> {
    let epochs = evaluations.last().map_or(0, |last| last.epoch as usize);
    let values = |figure: fn(&Evaluation) -> f64| {
        let mut values = vec![f64::NAN; epochs];
        evaluations.iter().for_each(|e| values[e.epoch as usize - 1] = figure(e));
        values
    };
    let series = [
        Series { name: "mean rank", values: values(|e| e.mean_rank), better: f64::min },
        Series { name: "MAP", values: values(|e| e.map), better: f64::max },
    ];
    curves::plot(path, "Reconstruction in the course of the training", &series)
}

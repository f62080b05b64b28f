//! `poincare evaluate`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::hierarchy::Hierarchy;
use cotangent_apps_common::options;
use cotangent_apps_common::print;
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;
use serde::Serialize;

use crate::command::inputs::{EmbeddingOptions, Printed, SampleOption, read_edges};
use crate::evaluate::distortion::{Distortion, distortion};
use crate::evaluate::gold::{self, Agreement};
use crate::evaluate::is_a::{self, Classification, IsAScore};
use crate::evaluate::rank_correlation::{RankCorrelation, rank_correlation};
use crate::evaluate::reconstruction::{self, Sample, Score};
use crate::files::embeddings::Embeddings;
use crate::graph::edges::{EdgeOptions, ReadGraph};
use crate::graph::{Graph, Neighbours};

#[derive(Args)]
pub(crate) struct Evaluate {
    #[command(flatten)]
    embedding: EmbeddingOptions,
    /// Edge list that the embedding is compared with, in the format of `train --edges`.
    #[arg(long, help_heading = "Data")]
    edges: PathBuf,
    /// Edge lists that are true too: their nodes do not count as wrong neighbours.
    ///
    /// For link prediction --edges is the test.tsv of `train --test`, and --known the edges of that training.
    #[arg(long, num_args = 1.., value_name = "FILE", help_heading = "Data")]
    known: Vec<PathBuf>,
    /// Table of graded pairs, such as HyperLex: a word, a word that it may be a kind of, and how much it is
    /// one. The grades are compared with --score by rank correlation. A word without a point of its own has
    /// those of its senses (dog: dog.n.01 and so on).
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    graded: Option<PathBuf>,
    /// Table of nodes with a number each, such as ranks in an organisation. The numbers are compared with the
    /// distances from the origin by rank correlation.
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    values: Option<PathBuf>,
    #[command(flatten)]
    layout: EdgeOptions,
    /// Compare with the transitive closure of the edges. With --known, use the closure of the known edges
    /// instead.
    #[arg(long, help_heading = "Data")]
    closure: bool,
    /// Score of the is-a classification of a hierarchy: which pairs of nodes are edges.
    ///
    /// For each edge ten wrong pairs are drawn. The threshold that is best on half of the edges is applied to
    /// the other half.
    #[arg(long, value_enum, default_value_t = IsAScore::Norm, help_heading = RUN)]
    score: IsAScore,
    /// Factor of the difference of norms in --score norm. A smaller one gives the distance more weight
    /// [default: 1000, as in the paper].
    #[arg(long, allow_negative_numbers = true, help_heading = RUN)]
    alpha: Option<f64>,
    /// Size of the cones of --score cone, umbral or penumbral [default: as for `train`].
    #[arg(long, help_heading = RUN)]
    cone_size: Option<f64>,
    #[command(flatten)]
    sample: SampleOption,
    /// Seed of what is drawn: wrong pairs, and of a large graph the nodes that are evaluated and pairs for
    /// the distortion. `train` takes its own --seed.
    #[arg(long, default_value_t = 42, help_heading = RUN)]
    seed: u64,
    #[command(flatten)]
    threads: ThreadsOption,
}

/// What is printed with `--json`.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    reconstruction: Score,
    distortion: Option<Distortion>,
    /// These two are of a hierarchy only.
    rank_correlation: Option<RankCorrelation>,
    is_a: Option<Classification>,
    /// With --graded and --values.
    #[serde(skip_serializing_if = "Option::is_none")]
    graded: Option<Agreement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Agreement>,
}

/// The factor of the difference of norms: Nickel & Kiela 2017.
const ALPHA: f64 = 1000.0;

impl Evaluate {
    /// Checks that numbers are given for the score that they belong to.
    fn check_score(&self) -> Result<()> {
        let Evaluate { score, alpha, cone_size, .. } = self;
        let has_cones = matches!(score, IsAScore::Cone | IsAScore::Umbral | IsAScore::Penumbral);
        let given = [
            ("alpha", alpha.is_some() && *score != IsAScore::Norm),
            ("cone-size", cone_size.is_some() && !has_cones),
        ];
        match options::first_true(&given) {
            Some(option) => Err(AppError::usage(format!("--{option}: --score {score} has none"))),
            None => options::not_negative(&[("alpha", alpha.unwrap_or(ALPHA))]),
        }
    }
}

/// Compares an embedding with a graph.
pub(crate) fn evaluate(args: &Evaluate) -> Result<()> {
    let sample = Sample { nodes: args.sample.checked()?, seed: args.seed };
    args.check_score()?;
    let threads = args.threads.start()?;
    let embeddings = args.embedding.read()?;
    let closure = args.closure && args.known.is_empty();
    let ReadGraph { graph, read_as } = read_edges(&args.edges, closure, &args.layout)?;
    let mut whole = Graph { names: graph.names.clone(), pairs: graph.pairs.clone(), ..Graph::default() };
    for path in &args.known {
        whole = whole.union(&read_edges(path, args.closure, &args.layout)?.graph);
    }
    let points_of = embeddings.index(args.embedding.path(), &whole.names)?;
    let start = std::time::Instant::now();
    let report = threads.run(|| measured(args, &embeddings, &points_of, &graph, &whole, sample))?;
    say!(
        "{} points in {} (kappa {}), {} nodes with neighbours, {} pairs, {:.1} s",
        embeddings.names.len(),
        embeddings.geometry,
        embeddings.geometry.kappas(),
        report.reconstruction.nodes,
        report.reconstruction.pairs,
        start.elapsed().as_secs_f64()
    );
    if embeddings.translation.is_some() {
        say!("ranks are by distances from u + r, r the translation; all else is by distances of the points");
    }
    print::event("result", &Printed { result: &report, read_as: &read_as });
    if let Some(sampled) =
        reconstruction::sampled(report.reconstruction.nodes, report.reconstruction.all_nodes)
    {
        say!("{sampled}:");
    }
    show(&report);
    Ok(())
}

/// Measures the pairs of `graph`. Of the `whole` graph no pair counts as wrong; it has the same first nodes.
fn measured(
    args: &Evaluate,
    embeddings: &Embeddings,
    points_of: &[u32],
    graph: &Graph,
    whole: &Graph,
    sample: Sample,
) -> Result<Report> {
    let Embeddings { points, geometry, .. } = embeddings;
    let (nodes, known) = (whole.names.len(), whole.neighbours());
    let ranked = Neighbours::new(nodes, || graph.pairs.iter().copied());
    let reduction = known.reduction();
    let is_hierarchy = Hierarchy::find(nodes, &reduction, &vec![0.0; reduction.len()]).is_some();
    let edges = if is_hierarchy { &reduction } else { &whole.pairs };
    let &Evaluate { score, alpha, cone_size, seed, .. } = args;
    let options = is_a::Options { score, alpha: alpha.unwrap_or(ALPHA), cone_size, seed };
    let classify = || is_a::classify(points, *geometry, points_of, &graph.pairs, &known, options);
    Ok(Report {
        reconstruction: reconstruction::rank(embeddings.candidates(), points_of, [&ranked, &known], sample),
        distortion: distortion(points, *geometry, points_of, edges, args.seed),
        rank_correlation: is_hierarchy.then(|| rank_correlation(&embeddings.depths(points_of), &reduction)),
        is_a: if is_hierarchy { classify()? } else { None },
        graded: args.graded.as_deref().map(|path| gold::graded(embeddings, path, options)).transpose()?,
        values: args.values.as_deref().map(|path| gold::values(embeddings, path)).transpose()?,
    })
}

fn show(report: &Report) {
    let Report { reconstruction: Score { mean_rank, map, .. }, distortion, rank_correlation, is_a, .. } =
        report;
    say!("mean rank {mean_rank:.4}");
    say!("MAP {map:.5}");
    if let Some(RankCorrelation { depth, normalised_rank }) = rank_correlation {
        say!(
            "rank correlation of the distance from the origin with depth {depth:.4}, with normalised rank \
             {normalised_rank:.4}"
        );
    }
    if let Some(Distortion { pairs, average, scale, average_scaled, worst, .. }) = distortion {
        say!(
            "distortion {average:.4}; {average_scaled:.4} with distances times {scale:.4}; worst case \
             {worst:.2} ({pairs} pairs)"
        );
    }
    match is_a {
        Some(Classification { precision, recall, f1, true_pairs, wrong_pairs, score, .. }) => say!(
            "is-a by {score}: precision {precision:.4}, recall {recall:.4}, F1 {f1:.4} ({true_pairs} true \
             and {wrong_pairs} wrong pairs)"
        ),
        None if rank_correlation.is_none() => say!("no is-a classification: the graph is no hierarchy"),
        None => say!("no is-a classification: there are fewer than two edges"),
    }
    let agreements = [("graded pairs", &report.graded), ("values of nodes", &report.values)];
    for (what, found) in agreements {
        if let Some(Agreement { spearman, compared, without_points }) = found {
            say!(
                "rank correlation with {compared} {what} {spearman:.4}; {without_points} others have no point"
            );
        }
    }
}

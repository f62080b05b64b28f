//! The union of graphs, the measure, and short trainings on generated graphs.

use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::config;
use cotangent_apps_common::options::RunOptions;
use tempfile::TempDir;

use super::super::{GeneratedGraphs, GraphConfig, GraphData, GraphMetrics, Split, classify};
use super::*;

const GRAPHS: GeneratedGraphs =
    GeneratedGraphs { graphs: 4, held_out: 2, nodes: 30, degree: 6, features: 3, labels: 2, seed: 3 };

fn configured(more: &[&str]) -> GraphConfig {
    let sizes = ["--heads", "2", "--head-dim", "8", "--output-heads", "2"];
    config::parse(&[&sizes[..], more].concat())
}

fn run_in(out: &TempDir, resume: bool) -> RunOptions {
    let (out, device) = (out.path().to_owned(), Device::cpu());
    RunOptions { out, all_seeds: None, resume, checkpoint_every: 0, device, ranks: None }
}

fn trained(config: &GraphConfig, out: &TempDir, resume: bool) -> GraphMetrics {
    let data = GraphData::Graphs(GRAPHS.generate());
    classify(&data, config, &Scores::default(), &run_in(out, resume)).unwrap()
}

/// A union has the results of its graphs, whatever the score: no edge leads from one to another.
#[test]
fn a_union_has_the_results_of_its_graphs() {
    let graphs = GRAPHS.generate();
    let [one, two] = [&graphs.parts[0][0], &graphs.parts[0][1]];
    let union = MultiLabelGraph::union(&[one, two]);
    assert_eq!(union.nodes(), one.nodes() + two.nodes());
    assert_eq!(union.labels.data(), [one.labels.data(), two.labels.data()].concat());
    for score in Scores::default().iter() {
        let config = configured(&["--attention", score.name()]).complete(Split::Graphs);
        let model = GraphModel::new(graphs.widths(), &config, score, 1);
        let run = |graph: &MultiLabelGraph| logits(&model, &Tape::new(), graph).to_tensor().data().to_vec();
        let (together, alone) = (run(&union), [run(one), run(two)].concat());
        assert!(together.iter().any(|logit| logit.abs() > 0.01));
        assert_eq!(together, alone, "{}", score.name());
    }
}

/// Two labels found of three that are there, one false: F1 = 2·2/(2·2 + 1 + 1). A logit of 0 finds nothing.
#[test]
fn micro_f1_counts_all_labels_together() {
    let logits = [2.0, 0.1, 0.0, 3.0, -1.0, f32::NAN];
    let labels = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    let found = decisions(&logits, &labels);
    assert_eq!(found.counts, [[2, 1], [1, 2]]);
    assert!((found.f1(1) - 4.0 / 6.0).abs() < 1e-15);
    // Of two graphs together it is that of the sums, and no mean of the two.
    let mut together = found.clone();
    together.merge(&decisions(&[1.0], &[1.0]));
    assert!((together.f1(1) - 6.0 / 8.0).abs() < 1e-15);
}

/// Loss and F1 over several graphs are those of their union.
#[test]
fn graphs_are_evaluated_as_their_union() {
    let graphs = GRAPHS.generate();
    let config = configured(&[]).complete(Split::Graphs);
    let score = config.check(&Scores::default()).unwrap();
    let model = GraphModel::new(graphs.widths(), &config, &*score, 2);
    let union = MultiLabelGraph::union(&graphs.parts[1].iter().collect::<Vec<_>>());
    let (tape, found) = (Tape::new(), evaluate(&model, &graphs.parts[1], &mut Tape::new()));
    let whole = logits(&model, &tape, &union);
    let loss = loss::binary_cross_entropy(whole, &union.labels).item();
    assert!((found.loss - loss).abs() < 1e-6 * loss);
    assert_eq!(found.measure, decisions(whole.to_tensor().data(), union.labels.data()).f1(1));
    assert!(found.measure > 0.0);
}

/// Twenty steps: five epochs, each of eight graphs, two in a batch. The labels need attention: equal weights
/// of the neighbours do not find them.
#[test]
fn a_short_training_improves_and_is_tested_on_unseen_graphs() {
    let d = TempDir::new().unwrap();
    let graphs = GeneratedGraphs { graphs: 8, nodes: 100, degree: 8, labels: 1, seed: 42, ..GRAPHS };
    let data = GraphData::Graphs(graphs.generate());
    let short = |more: &[&str]| {
        let config = configured(&[&["--lr", "0.1", "--attention", "dot"], more].concat());
        classify(&data, &config, &Scores::default(), &run_in(&d, false)).unwrap().outcomes.remove(0)
    };
    let equal = short(&["--epochs", "5", "--sharpness", "1e-9"]);
    let (first, last) = (short(&["--epochs", "1"]), short(&["--epochs", "5"]));
    assert!(last.validation > first.validation + 0.1, "{first:?} {last:?}");
    assert!(last.test > 0.7 && last.test > equal.test + 0.1, "{equal:?} {last:?}");
    let curves = std::fs::read_to_string(d.path().join("curves.svg")).unwrap();
    assert!(curves.contains("validation micro-F1") && curves.contains("dot attention"));
    assert!((1..=3).all(|layer| d.path().join(format!("embeddings-{layer}.svg")).exists()));
}

/// The sizes of pytorch-GAT, whose program Tseng et al. 2023 used.
#[test]
fn the_defaults_are_those_of_the_program() {
    let d = TempDir::new().unwrap();
    let metrics = trained(&config::parse(&["--epochs", "1"]), &d, false);
    let decided = metrics.config.decided();
    assert_eq!(decided, super::super::Decided { epochs: 1, ..Split::Graphs.defaults() });
    // W, S, the two vectors, γ and c of each layer, without biases.
    let layer = |width: usize, heads: usize, d: usize| 2 * width * heads * d + 2 * heads * d + 2;
    let parameters = layer(3, 4, 256) + layer(1024, 4, 256) + layer(1024, 6, 2);
    assert_eq!(metrics.parameters, parameters);
    assert_eq!((metrics.graphs, metrics.sizes[2]), (Some([4, 2, 2]), 3));
}

/// Seeds that are done are not trained a second time, and only those of the same run.
#[test]
fn finished_seeds_are_reused() {
    let d = TempDir::new().unwrap();
    let config = GraphConfig { seeds: 2, ..configured(&["--epochs", "2"]) };
    let first = trained(&config, &d, false);
    assert_ne!(first.outcomes[0].validation, first.outcomes[1].validation);
    let model = std::fs::read(d.path().join("model.safetensors")).unwrap();
    let more = trained(&GraphConfig { seeds: 3, ..config.clone() }, &d, true);
    // Not a second time: the seconds are those of the first run.
    assert_eq!(more.outcomes[..2], first.outcomes);
    assert_eq!(std::fs::read(d.path().join("model.safetensors")).unwrap(), model);
    let other = GraphData::Graphs(GeneratedGraphs { seed: 4, ..GRAPHS }.generate());
    let refused = classify(&other, &config, &Scores::default(), &run_in(&d, true)).unwrap_err().to_string();
    assert!(refused.ends_with("seed-42.json: a seed of a run with other options or on another graph"));
}

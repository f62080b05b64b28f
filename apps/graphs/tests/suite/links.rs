//! `graph-tasks links` from the outside: results, files, and errors for bad input.

use std::fmt::Write;
use std::path::Path;

use cotangent_apps_graphs::graph_tasks::APP;
use cotangent_apps_graphs::graph_tasks::links::LinkMetrics;
use cotangent_apps_graphs::graph_tasks::links::link_graph::LinkGraph;

use crate::common::{App, Dir};
use crate::shared::scenarios::Training;

const TASKS: App = App(env!("CARGO_BIN_EXE_graph-tasks"));

/// A tree of 121 nodes, each with three children down to the fifth level. The features of a node are those of
/// its parent, and one of its own number among the first 13: neighbours have features in common.
fn tree(d: &Dir, name: &str) {
    let directory = d.path(name);
    std::fs::create_dir_all(&directory).unwrap();
    let (mut edges, mut features) = (String::new(), String::new());
    for node in 0..121_usize {
        if node > 0 {
            writeln!(edges, "{node}\t{}", (node - 1) / 3).unwrap();
        }
        let line = std::iter::successors(Some(node), |&node| (node > 0).then(|| (node - 1) / 3));
        let mut line: Vec<usize> = line.filter(|&node| node < 13).collect();
        line.sort_unstable();
        writeln!(features, "{}", line.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")).unwrap();
    }
    std::fs::write(Path::new(&directory).join("edges.tsv"), edges).unwrap();
    std::fs::write(Path::new(&directory).join("features.txt"), features).unwrap();
}

fn run(d: &Dir, name: &str, more: &str) -> (String, LinkMetrics, String) {
    let (data, out) = (d.path(""), d.path(name));
    let args = ["links", "--data-dir", &data, "--data", "tree", "--out", &out];
    let printed = TASKS.succeeds(&args.into_iter().chain(more.split_whitespace()).collect::<Vec<_>>());
    let metrics = crate::common::metrics::<LinkMetrics>(&out);
    (printed, metrics, out)
}

fn arguments(d: &Dir, name: Option<&str>) -> Vec<String> {
    let name = name.map_or("tree", |name| &name[..name.len().min(150)]);
    tree(d, name);
    ["links", "--data-dir", &d.path(""), "--data", name, "--epochs", "3"].map(str::to_owned).to_vec()
}

const TRAINING: Training = Training {
    arguments,
    long: &[["--epochs", "80"], ["--patience", "80"]],
    same: &["model.safetensors"],
    pictures: &[("curves.svg", &["tree: test ROC AUC", "validation ROC AUC"], &["a name that is"])],
};

scenarios!("graph-tasks", APP, TRAINING, resumes);

#[test]
fn every_space_and_aggregation_finds_the_edges_of_a_tree() {
    let d = Dir::new();
    tree(&d, "tree");
    for (name, more) in [
        ("tangent", ""),
        ("centroid", "--aggregation centroid"),
        ("learned", "--kappa learned:-0.5 --decay 0.0001 --precision f64"),
        ("learned-centroid", "--kappa learned --aggregation centroid --dropout 0.1"),
        ("euclidean", "--space euclidean"),
    ] {
        let (printed, metrics, _) = run(&d, name, &format!("{more} --epochs 60 --lr 0.02 --dim 8"));
        assert_eq!((metrics.sizes[..2].to_vec(), metrics.split), (vec![121, 120], [102, 6, 12]));
        assert!(
            metrics.training.epochs[59].loss < 0.9 * metrics.training.epochs[0].loss,
            "{name}: {:?}",
            metrics.training.epochs
        );
        assert!(metrics.validation > 0.8 && metrics.test > 0.7, "{name}: {printed}");
        let line = format!("{:>8.2}  this run", 100.0 * metrics.test);
        assert!(printed.contains(&line) && !printed.contains("Chami"), "{printed}");
        // A curvature for each layer and for the result, which moves with the first step.
        let learned = if name.starts_with("learned") { 3 } else { 0 };
        assert_eq!(metrics.learned_kappa.len(), learned);
        assert_eq!(printed.contains("learned curvatures"), learned > 0);
        assert!(metrics.learned_kappa.last().is_none_or(|kappa| ![-0.5, -1.0].contains(kappa)), "{printed}");
    }
}

#[test]
fn training_ends_when_the_validation_is_not_better() {
    let d = Dir::new();
    tree(&d, "tree");
    let (_, metrics, _) = run(&d, "out", "--patience 4 --epochs 400");
    assert!(
        metrics.training.epochs.len() == metrics.best_epoch + 4 && metrics.training.epochs.len() < 400,
        "{metrics:?}"
    );
    assert_eq!(metrics.validation, metrics.training.epochs[metrics.best_epoch - 1].validation);
}

/// Each seed has its own split, and the interval is over the seeds.
#[test]
fn several_seeds_give_an_interval() {
    let d = Dir::new();
    tree(&d, "tree");
    let (data, out) = (d.path(""), d.path("seeds"));
    let common = ["links", "--data-dir", &data, "--data", "tree", "--out", &out];
    let printed = TASKS.succeeds(&[&common[..], &["--epochs", "3", "--seeds", "3"]].concat());
    assert!(printed.contains("test ROC AUC in % of 3 seeds: mean "), "{printed}");
    let metrics = |seed: u64| crate::common::metrics::<LinkMetrics>(&format!("{out}/seed-{seed}"));
    let tests = [42, 43, 44].map(|seed| metrics(seed).test);
    assert!(tests[0] != tests[1] || tests[1] != tests[2], "{tests:?}");
    assert!(Path::new(&out).join("seeds.json").exists());
}

/// Reads the graphs of the paper, if they are installed.
#[test]
fn public_graphs_have_their_sizes() {
    use cotangent_apps_graphs::graph_tasks::links::{FeaturesOption, LinkConfig, published};
    for (data, folder, sizes) in [
        ("disease", "disease_lp", [2665, 2664, 11]),
        ("airport", "airport", [3188, 18630, 5]),
        ("cora", "cora", [2708, 5278, 1433]),
    ] {
        let path = Path::new("../../../shared/data");
        if !path.join(folder).exists() {
            cotangent::engine::skipped(format_args!("there is no {}", path.join(folder).display()));
            continue;
        }
        let graph = LinkGraph::read(&path.join(folder), FeaturesOption::Scaled).unwrap();
        let width = graph.features.iter().flatten().map(|(feature, _)| feature + 1).max().unwrap();
        assert_eq!([graph.nodes(), graph.edges.len(), width as usize], sizes);
        assert_eq!(published(&LinkConfig::of_data(data).complete()).len(), 2);
    }
    let (d, data) = (Dir::new(), "../../../shared/data");
    if Path::new(data).join("disease_lp").exists() {
        let out = d.path("out");
        let printed = TASKS.succeeds(&["links", "--data-dir", data, "--epochs", "2", "--out", &out]);
        // A run of two epochs does not have the settings of the paper.
        assert!(printed.contains("disease_lp: 2665 nodes, 2664 edges"), "{printed}");
        assert!(!printed.contains("HGCN"), "{printed}");
    }
}

#[test]
fn bad_input_gets_one_line() {
    let d = Dir::new();
    tree(&d, "tree");
    let (data, out) = (d.path(""), d.path("out"));
    let fails = |args: &[&str]| {
        let common = ["links", "--data-dir", &data, "--data", "tree", "--epochs", "1", "--out", &out];
        TASKS.fails(&[&common[..], args].concat())
    };
    for (args, message) in [
        (&["--seeds", "0"][..], "--seeds 0: from 1 to 1000000 is needed"),
        (&["--dropout", "1"], "--dropout 1: from 0 to below 1 is needed"),
        (&["--temperature", "0"], "--temperature 0: a positive number is needed"),
        (&["--radius=-1"], "--radius -1: a positive number is needed"),
        (&["--dim", "0"], "--dim 0: at least 1 is needed"),
        (&["--kappa", "1"], "--kappa 1: a number from -1e6 to -1e-6 is needed"),
        (&["--space", "euclidean", "--kappa", "-1"], "--kappa: --space euclidean has none"),
        (&["--resume"], "out/checkpoint.bin: No such file or directory (os error 2)"),
        (&["--data", "nowhere"], "nowhere/labels.txt.gz: No such file or directory (os error 2)"),
    ] {
        let args: Vec<&str> = args.to_vec();
        let found = if args[0] == "--data" {
            TASKS.fails(&["links", "--data-dir", &data, "--data", args[1], "--out", &out])
        } else {
            fails(&args)
        };
        assert!(found.ends_with(message), "{found}");
    }
    let file = |name: &str, text: &str| {
        let path = Path::new(&data).join("tree").join(name);
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, text).unwrap();
        let message = fails(&[]);
        std::fs::write(&path, before).unwrap();
        message
    };
    let message = file("edges.tsv", "0\t1\n2\t121\n");
    assert!(message.ends_with("tree/edges.tsv:2: node 121: there are 121 nodes"), "{message}");
    let message = file("edges.tsv", "0\t1\n1\t-2\n");
    assert!(message.ends_with("tree/edges.tsv:2: node \"-2\" is not a number"), "{message}");
    let few = "edges between different nodes: 20 are needed, to hold out one in 20";
    for (text, count) in [("", 0), ("3\t3\n", 0), ("1\t2\n2\t1\n4\t5\n", 2)] {
        let message = file("edges.tsv", text);
        assert!(message.ends_with(&format!("tree/edges.tsv: {count} {few}")), "{message}");
    }
    let message = file("features.txt", "1 2\n3 x\n");
    assert!(message.ends_with("tree/features.txt:2: feature \"x\" is not a number from 0"), "{message}");
    std::fs::remove_file(Path::new(&data).join("tree/edges.tsv")).unwrap();
    assert!(fails(&[]).ends_with("tree/edges.tsv.gz: No such file or directory (os error 2)"));
    tree(&d, "tree");
    std::fs::remove_file(Path::new(&data).join("tree/features.txt")).unwrap();
    assert!(fails(&[]).ends_with("tree/labels.txt.gz: No such file or directory (os error 2)"));
    // With features of different lengths.
    std::fs::write(Path::new(&data).join("tree/features.tsv"), "1\t2\n1\n").unwrap();
    assert!(fails(&[]).ends_with("tree/features.tsv:2: 1 features; the first line has 2"));
    // All nodes without a feature.
    std::fs::write(Path::new(&data).join("tree/features.tsv"), "0\n".repeat(121)).unwrap();
    let out = fails(&[]);
    assert!(out.ends_with("tree: its nodes have no features"), "{out}");
}

/// Without features each node is its own, and labels.txt says how many there are.
#[test]
fn nodes_without_features_are_their_own() {
    let d = Dir::new();
    tree(&d, "tree");
    std::fs::remove_file(d.path("tree/features.txt")).unwrap();
    d.write("tree/labels.txt", "0\n".repeat(121));
    let (_, metrics, _) = run(&d, "out", "--epochs 2");
    assert_eq!(metrics.sizes, [121, 120, 121]);
}

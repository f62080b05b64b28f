//! Spaces and losses of `poincare train` from the outside.

use cotangent_apps_embeddings::train::poincare::EmbeddingMetrics;

use crate::common::{App, Dir, bytes};

const POINCARE: App = App(env!("CARGO_BIN_EXE_poincare"));

/// The closure of a binary tree of 31 nodes, with weights.
fn tree(d: &Dir) -> String {
    let mut text = String::new();
    for i in 2..32_u32 {
        let ancestors = std::iter::successors(Some(i / 2), |a| Some(a / 2)).take_while(|&a| a > 0);
        ancestors.for_each(|a| text += &format!("n{i}\tn{a}\t{}\n", 1 + i % 2));
    }
    d.write("tree.tsv", text)
}

fn train(edges: &str, out: &str, options: &[&str]) {
    let common = ["train", "--edges", edges, "--out", out, "--negatives", "6", "--burn-in", "1", "--quiet"];
    POINCARE.succeeds(&[&common[..], options].concat());
}

/// The options of a run in each space and with each loss.
const RUNS: [&[&str]; 13] = [
    &["--model", "half-space", "--dim", "3"],
    &["--model", "sphere", "--dim", "3", "--kappa", "0.5"],
    &["--model", "poincare:2,sphere:1", "--kappa=-2,0.5"],
    &["--model", "poincare:2,euclidean:1", "--learn-kappa"],
    &["--model", "lorentz", "--learn-kappa"],
    &["--shared-negatives", "9", "--negative-power", "0.75"],
    &["--model", "half-space", "--shared-negatives", "9", "--precision", "f32"],
    &["--loss", "fermi-dirac", "--radius", "3", "--temperature", "0.5"],
    &["--loss", "fermi-dirac", "--model", "lorentz", "--learn-kappa"],
    &["--loss", "translation", "--model", "euclidean", "--precision", "f32"],
    &["--loss", "cones", "--lr", "0.005"],
    &["--loss", "umbral", "--model", "half-space"],
    &["--loss", "penumbral", "--model", "half-space", "--sample-by-weight"],
];

#[test]
fn each_space_and_loss_is_deterministic_and_resumes() {
    let d = Dir::new();
    let edges = tree(&d);
    for options in RUNS {
        let (whole, part) = (d.path("whole"), d.path("part"));
        let run = |out: &str, more: &[&str]| train(&edges, out, &[options, more].concat());
        run(&whole, &["--epochs", "4", "--threads", "1", "--batch", "20"]);
        run(&part, &["--epochs", "2", "--threads", "2", "--batch", "20"]);
        run(&part, &["--epochs", "4", "--threads", "2", "--batch", "20", "--resume"]);
        assert!(
            bytes(&whole, "embedding.safetensors") == bytes(&part, "embedding.safetensors"),
            "{options:?}"
        );
        let metrics: EmbeddingMetrics = crate::common::metrics(&whole);
        // Cones turn about for some epochs before they settle.
        let settles = !options.contains(&"--loss");
        assert!(!settles || metrics.loss[3] < metrics.loss[0], "{options:?}: {:?}", metrics.loss);
        assert_eq!(metrics.geometry != metrics.config.geometry, options.contains(&"--learn-kappa"));
        // Other commands read the embedding with its geometry.
        let near = POINCARE.succeeds(&["neighbours", "n1", "--embedding", &whole, "--count", "3"]);
        assert_eq!(near.lines().count(), 3);
        let text = POINCARE.succeeds(&["evaluate", "--embedding", &whole, "--edges", &edges]);
        assert!(text.contains(&format!("mean rank {:.4}", metrics.mean_rank)), "{options:?}: {text}");
    }
}

/// At a rate so high that points leave the range in which `f32` holds gradients on the hyperboloid, they
/// come back.
#[test]
fn points_of_the_hyperboloid_do_not_run_away() {
    let d = Dir::new();
    let (edges, out) = (tree(&d), d.path("out"));
    let steep = ["--model", "lorentz", "--dim", "2", "--precision", "f32", "--lr", "3", "--epochs", "200"];
    train(&edges, &out, &steep);
    let metrics: EmbeddingMetrics = crate::common::metrics(&out);
    // The first epoch has a small rate; after it the points run away. Single epochs differ by a third.
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    let (away, back) = (mean(&metrics.loss[1..6]), mean(&metrics.loss[180..]));
    assert!(back < 0.85 * away && metrics.map > 0.5, "{away} {back} {}", metrics.map);
}

#[test]
fn a_run_is_resumed_with_its_own_loss() {
    let d = Dir::new();
    let (edges, out) = (tree(&d), d.path("out"));
    train(&edges, &out, &["--epochs", "2", "--loss", "cones"]);
    let resumed =
        ["train", "--edges", &edges, "--out", &out, "--negatives", "6", "--burn-in", "1", "--resume"];
    for (option, named) in [
        (&["--loss", "ranking"][..], "--loss"),
        (&["--loss", "cones", "--margin", "0.5"], "--loss"),
        (&["--loss", "cones", "--sample-by-weight"], "--sample-by-weight"),
    ] {
        let message = POINCARE.fails(&[&resumed[..], option].concat());
        assert!(message.contains(named), "{message}");
    }
}

/// Nickel & Kiela 2017 move points by a retraction.
#[test]
fn points_learn_by_a_retraction() {
    let d = Dir::new();
    let (edges, out) = (tree(&d), d.path("out"));
    for options in [&[][..], &["--shared-negatives", "10", "--threads", "1", "--lock-free"]] {
        let [by_exp, by_retraction] = [&[][..], &["--retraction"]].map(|more| {
            train(&edges, &out, &[options, &["--dim", "3", "--epochs", "100"], more].concat());
            let metrics: EmbeddingMetrics = crate::common::metrics(&out);
            assert!(metrics.map > 0.8, "{options:?} {more:?}: {metrics:?}");
            bytes(&out, "embedding.safetensors")
        });
        assert!(by_exp != by_retraction, "{options:?}");
    }
    let resumed = ["train", "--edges", &edges, "--out", &out, "--dim", "3", "--epochs", "100", "--resume"];
    let options = ["--negatives", "6", "--burn-in", "1", "--shared-negatives", "10", "--lock-free"];
    let message = POINCARE.fails(&[&resumed[..], &options].concat());
    assert!(message.contains("--retraction"), "{message}");
}

#[test]
fn umbral_cones_classify_the_pairs_of_a_tree() {
    let d = Dir::new();
    let (edges, out) = (tree(&d), d.path("out"));
    train(&edges, &out, &["--loss", "umbral", "--model", "half-space", "--dim", "3", "--epochs", "150"]);
    let text = POINCARE.succeeds(&["evaluate", "--embedding", &out, "--edges", &edges, "--score", "umbral"]);
    let (_, f1) = text.split_once("F1 ").expect("there is a line of the classification");
    let f1: f64 = f1.split_whitespace().next().unwrap().parse().unwrap();
    assert!(f1 > 0.9, "{text}");
}

/// Nickel & Kiela 2017, section 4.2: after training the edges of a graph are nearer than other pairs.
#[test]
fn a_fermi_dirac_decoder_reconstructs_a_tree() {
    let d = Dir::new();
    let (edges, out) = (tree(&d), d.path("out"));
    train(&edges, &out, &["--loss", "fermi-dirac", "--dim", "3", "--epochs", "150"]);
    let metrics: EmbeddingMetrics = crate::common::metrics(&out);
    assert!(metrics.map > 0.8 && metrics.loss[149] < 0.6 * metrics.loss[0], "{metrics:?}");
    let text = POINCARE.succeeds(&["evaluate", "--embedding", &out, "--edges", &edges]);
    assert!(text.contains(&format!("mean rank {:.4}", metrics.mean_rank)), "{text}");
}

/// Nickel & Kiela 2017, section 4.1: in a chain each node has the next one as its only neighbour. A distance
/// cannot tell it from the node before, which is as near; a translation can.
#[test]
fn a_translation_tells_the_direction_of_edges() {
    let d = Dir::new();
    let chain: String = (0..12).map(|i| format!("n{i}\tn{}\n", i + 1)).collect();
    let edges = d.write("chain.tsv", chain);
    let rank = |name: &str, loss: &str, more: &[&str]| {
        let out = d.path(name);
        let options =
            ["--loss", loss, "--model", "euclidean", "--dim", "2", "--epochs", "300", "--lr", "0.1"];
        train(&edges, &out, &[&options[..], more].concat());
        let metrics: EmbeddingMetrics = crate::common::metrics(&out);
        (metrics.mean_rank, metrics.translation)
    };
    let (by_distance, none) = rank("distance", "squared-ranking", &[]);
    let (translated, r) = rank("translated", "translation", &[]);
    assert!(none.is_none() && r.is_some_and(|r| r.iter().any(|x| x.abs() > 0.1)));
    assert!(translated < 1.1 && by_distance > 1.3, "{translated} {by_distance}");
    // A batch of all pairs is the same, whatever the option says.
    let [all, more] = ["12", "100000"].map(|batch| rank("batch", "translation", &["--batch", batch]));
    assert_eq!(all, more);
    let (embedding, copy) = (d.path("translated"), d.path("copy.safetensors"));
    let evaluate = |path: &str| POINCARE.succeeds(&["evaluate", "--embedding", path, "--edges", &edges]);
    let text = evaluate(&embedding);
    let line = format!("mean rank {translated:.4}");
    assert!(text.contains(&line) && text.contains("by distances from u + r"), "{text}");
    POINCARE.succeeds(&["convert", "--embedding", &embedding, "--out", &copy]);
    assert!(evaluate(&copy).contains(&line));
    let said = POINCARE.succeeds(&["convert", "--embedding", &embedding, "--out", &d.path("copy.tsv")]);
    assert!(said.contains("the translation is left out"), "{said}");
    let more = d.write("more.tsv", "new\tn0\n");
    let args = ["place", "--embedding", &copy, "--edges", &more, "--out", &d.path("placed")];
    assert!(POINCARE.fails(&args).contains("has a translation, which place does not know"));
}

#[test]
fn options_that_do_not_fit_are_errors() {
    let d = Dir::new();
    let (edges, out) = (tree(&d), d.path("out"));
    for (options, message) in [
        (&["--model", "sphere", "--shared-negatives", "5"][..], "--shared-negatives: only for hyperbolic"),
        (&["--model", "poincare:2,sphere:1", "--lock-free"], "--lock-free: only"),
        (&["--learn-kappa", "--lock-free"], "--lock-free: only"),
        (&["--learn-kappa", "--retraction"], "--retraction: only for a loss of distances"),
        (&["--loss", "cones", "--retraction"], "--retraction: only for a loss of distances"),
        (&["--model", "lorentz", "--retraction"], "--retraction: only for --model poincare"),
        (&["--loss", "umbral"], "--model half-space"),
        (&["--loss", "cones", "--learn-kappa"], "--learn-kappa: only for --loss ranking"),
        (&["--loss", "cones", "--margin", "0"], "--margin 0"),
        (&["--loss", "fermi-dirac", "--temperature", "0"], "--temperature 0: a positive number is needed"),
        (&["--loss", "fermi-dirac", "--radius=-1"], "--radius -1: a positive number is needed"),
        (&["--loss", "fermi-dirac", "--margin", "1"], "--margin: only for --loss cones"),
        (&["--loss", "fermi-dirac", "--shared-negatives", "5"], "only for --loss ranking"),
        (&["--loss", "translation"], "a translation needs --model euclidean, not poincare"),
        (&["--loss", "translation", "--model", "euclidean", "--lock-free"], "--lock-free: only"),
        (&["--loss", "translation", "--model", "euclidean", "--learn-kappa"], "--learn-kappa: only for"),
        (
            &["--loss", "translation", "--model", "euclidean", "--memory", "1GB", "--work", &out],
            "--loss translation: not with --partitions",
        ),
        (&["--radius", "2"], "--radius: only for --loss fermi-dirac"),
        (&["--model", "poincare:2,sphere:1", "--dim", "4"], "--dim 4"),
        (&["--model", "poincare:2,sphere:1", "--kappa=-1"], "1 curvatures for 2 factors"),
        (&["--model", "sphere", "--kappa=-1"], "needs a positive curvature"),
        (&["--model", "klein"], "is no model"),
    ] {
        let common = ["train", "--edges", &edges, "--out", &out];
        let found = POINCARE.fails(&[&common[..], options].concat());
        assert!(found.contains(message) && found.trim_end().lines().count() == 1, "{options:?}: {found}");
    }
}

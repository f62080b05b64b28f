//! `poincare train --partitions` from the outside.

use std::path::Path;

use cotangent_apps_embeddings::train::poincare::EmbeddingMetrics;

use crate::common::{App, Dir, bytes};
use crate::shared::scenarios::Training;

const PROGRAM: App = App(env!("CARGO_BIN_EXE_poincare"));

/// The closure of a binary tree of 63 nodes, whose root has this name.
fn tree(d: &Dir, root: &str) -> String {
    let mut text = String::new();
    for i in 2..64_u32 {
        let ancestors = std::iter::successors(Some(i / 2), |a| Some(a / 2)).take_while(|&a| a > 0);
        let name = |node: u32| if node == 1 { root.to_owned() } else { format!("n{node}") };
        ancestors.for_each(|a| text += &format!("{}\t{}\n", name(i), name(a)));
    }
    d.write("tree.tsv", text)
}

const SHORT: [[&str; 2]; 4] =
    [["--epochs", "12"], ["--negatives", "10"], ["--burn-in", "2"], ["--lr", "0.2"]];

/// The arguments of a short training, where these do not say otherwise.
fn short<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let missing = SHORT.iter().filter(|[option, _]| !arguments.contains(option)).flatten();
    arguments.iter().chain(missing).copied().chain(["--quiet"]).collect()
}

fn arguments(d: &Dir, name: Option<&str>) -> Vec<String> {
    let edges = tree(d, name.unwrap_or("n1"));
    let data = ["train", "--edges", &edges, "--partitions", "3", "--write", "all"].map(str::to_owned);
    let model = ["--model", "lorentz", "--dim", "3"].map(str::to_owned);
    data.into_iter().chain(model).chain(SHORT.iter().flatten().map(|&word| word.to_owned())).collect()
}

const TRAINING: Training = Training {
    arguments,
    long: &[["--epochs", "40"]],
    same: &["embedding.tsv", "embedding.safetensors", "disk.svg", "view.html"],
    pictures: &[],
};

tests! { scenarios(&PROGRAM, &TRAINING):
    the_result_has_the_same_bits_for_any_number_of_threads
    directories_that_cannot_be_written_are_refused
    closed_outputs_end_nothing
    killed_at_any_moment_it_resumes
    a_bad_checkpoint_is_refused_and_nothing_is_lost
    a_loss_that_is_no_number_keeps_the_last_checkpoint
}

fn metrics(dir: &str) -> EmbeddingMetrics {
    crate::common::metrics(dir)
}

/// Trains in parts and returns the metrics.
fn train(edges: &str, out: &str, parts: &str, more: &[&str]) -> EmbeddingMetrics {
    let arguments = ["train", "--edges", edges, "--out", out, "--partitions", parts];
    PROGRAM.succeeds(&short(&[&arguments[..], more].concat()));
    metrics(out)
}

/// The points of several parts are trained about as well as those in memory.
#[test]
fn parts_are_trained_as_well_as_the_whole() {
    let d = Dir::new();
    let edges = tree(&d, "n1");
    let mean = |name: &str, more: &[&str]| {
        let score = |seed: &str| {
            let out = d.path(&format!("{name}-{seed}"));
            let arguments = ["train", "--edges", &edges, "--out", &out, "--seed", seed];
            PROGRAM.succeeds(&short(&[&arguments[..], &["--epochs", "60"], more].concat()));
            metrics(&out).map
        };
        ["1", "2"].map(score).iter().sum::<f64>() / 2.0
    };
    let whole = mean("whole", &[]);
    let in_parts = mean("parts", &["--partitions", "4"]);
    assert!((whole - in_parts).abs() < 0.06, "{in_parts}, in memory {whole}");
}

/// Spaces, losses and precisions, with another number of threads for a run that is resumed.
#[test]
fn each_space_and_loss_resumes_in_parts() {
    const RUNS: [&[&str]; 6] = [
        &["--model", "poincare:2,euclidean:1", "--learn-kappa"],
        &["--shared-negatives", "9", "--negative-power", "0.75", "--precision", "f32"],
        &["--negative-power", "0.75", "--start", "origin"],
        &["--loss", "fermi-dirac", "--model", "half-space"],
        &["--loss", "cones", "--lr", "0.005", "--precision", "f32"],
        &["--loss", "umbral", "--model", "half-space"],
    ];
    let d = Dir::new();
    let edges = d.write("edges.tsv", std::fs::read_to_string(tree(&d, "n1")).unwrap().replace('\n', "\t2\n"));
    for (i, options) in RUNS.iter().enumerate() {
        let run = |name: &str, more: &[&str]| {
            let (out, work) = (d.path(&format!("{name}{i}")), d.path(&format!("{name}{i}-work")));
            let common = ["--work", &work, "--write", "all", "--batch", "20"];
            let metrics = train(&edges, &out, "3", &[&common[..], options, more].concat());
            (bytes(&out, "embedding.safetensors"), metrics)
        };
        let mut options = ["--threads", "1"];
        let (whole, whole_metrics) = run("whole", &[&options[..], &["--epochs", "4"]].concat());
        options[1] = "2";
        run("part", &[&options[..], &["--epochs", "2"]].concat());
        let (resumed, metrics) = run("part", &[&options[..], &["--epochs", "4", "--resume"]].concat());
        assert!(whole == resumed, "{:?}", RUNS[i]);
        assert_eq!(whole_metrics.loss, metrics.loss);
        assert_eq!((whole_metrics.mean_rank, whole_metrics.map), (metrics.mean_rank, metrics.map));
        assert_eq!(metrics.geometry != metrics.config.geometry, RUNS[i].contains(&"--learn-kappa"));
    }
}

/// Other commands read the parts, and what they find is what they find of the whole embedding.
#[test]
fn parts_are_read_by_other_commands() {
    let d = Dir::new();
    let (edges, out, work) = (tree(&d, "n1"), d.path("out"), d.path("work"));
    let trained = train(&edges, &out, "4", &["--work", &work, "--lock-free"]);
    assert_eq!((trained.parts, trained.nodes, trained.pairs), (Some(4), 63, 258));
    assert!(trained.loss[11] < trained.loss[0], "{:?}", trained.loss);
    assert!(!Path::new(&out).join("embedding.tsv").exists());
    let whole = d.path("whole.tsv");
    let convert = |embedding: &str, out: &str| {
        PROGRAM.succeeds(&["convert", "--embedding", embedding, "--out", &d.path(out)]);
    };
    convert(&work, "whole.tsv");
    for extension in ["txt", "bin", "npy", "safetensors"] {
        let files = ["parts", "all"].map(|name| format!("{name}.{extension}"));
        [&work, &whole].into_iter().zip(&files).for_each(|(embedding, out)| convert(embedding, out));
        let [parts, all] = files.map(|file| std::fs::read(d.path(&file)).unwrap());
        assert!(parts == all, "{extension}");
    }
    let near =
        |embedding: &str| PROGRAM.succeeds(&["neighbours", "n5", "--count", "7", "--embedding", embedding]);
    assert_eq!(near(&work), near(&whole));
    assert_eq!(near(&work).lines().count(), 7);
    let text = PROGRAM.succeeds(&["evaluate", "--embedding", &work, "--edges", &edges]);
    assert!(text.contains(&format!("mean rank {:.4}", trained.mean_rank)), "{text}");
    assert!(text.contains(&format!("MAP {:.5}", trained.map)), "{text}");
    let new = d.write("new.tsv", "new\tn5\n");
    PROGRAM.succeeds(&["place", "--embedding", &work, "--edges", &new, "--out", &d.path("placed")]);
    let error = PROGRAM.fails(&["neighbours", "zebra", "--embedding", &work]);
    assert!(error.ends_with("no point is called \"zebra\""), "{error}");
}

/// A packed table with weights, repeated edges and self-loops has the graph that a training in memory reads,
/// however small the memory.
#[test]
fn a_table_is_the_same_graph_in_parts() {
    let d = Dir::new();
    let mut text = "source,target,weight\n".to_owned();
    (0..400).for_each(|i| text += &format!("n{},n{},{}\n", i % 90, (i * i) % 70, 1 + i % 3));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    let edges = d.write("edges.csv.gz", gzip.finish().unwrap());
    let (memory, parts) = (d.path("memory"), d.path("parts"));
    PROGRAM.succeeds(&short(&["train", "--edges", &edges, "--out", &memory]));
    let in_parts = train(&edges, &parts, "5", &[]);
    let in_memory = metrics(&memory);
    let counts = |m: &EmbeddingMetrics| (m.nodes, m.pairs, m.self_loops, m.duplicates, m.read_as.clone());
    assert_eq!(counts(&in_memory), counts(&in_parts));
    assert!(in_memory.self_loops > 0 && in_memory.duplicates > 0);
    // Edges that are prepared are not prepared a second time; the first training is set aside.
    let index = bytes(&parts, "graph.json");
    train(&edges, &parts, "5", &["--seed", "7"]);
    assert!(index == bytes(&parts, "graph.json"));
    assert!(Path::new(&parts).join("previous-1/checkpoint.bin").exists());
    // Other parts are.
    assert_eq!(train(&edges, &parts, "2", &[]).parts, Some(2));
}

#[test]
fn bad_input_of_a_training_in_parts_is_named() {
    let d = Dir::new();
    let (edges, out) = (tree(&d, "n1"), d.path("out"));
    let fails = |more: &[&str]| {
        let arguments = ["train", "--edges", &edges, "--out", &out];
        PROGRAM.fails(&short(&[&arguments[..], more].concat()))
    };
    for (options, message) in [
        (&["--partitions", "0"][..], "--partitions 0: at least 1 is needed"),
        (&["--partitions", "5000"], "--partitions 5000: at most 1024 are possible"),
        (&["--partitions", "64"], "--partitions 64: the graph has 63 nodes"),
        (&["--partitions", "2", "--seeds", "2"], "--seeds: not with --partitions or --memory"),
        (&["--partitions", "2", "--test", "0.1"], "--test: not with --partitions or --memory"),
        (&["--work", "x"], "--work: only with --partitions or --memory"),
        (&["--memory", "much"], "a size such as 4GB, 500MB or 64GiB is needed"),
        (
            &["--memory", "1MB"],
            "--memory 1.0 MB: two parts of 32, and what does not grow with the parts, need",
        ),
    ] {
        let error = fails(options);
        assert!(error.contains(message), "{error}");
    }
    let bad = d.write("bad.tsv", "a\tb\nb\tc\nc\n");
    let error = PROGRAM.fails(&["train", "--edges", &bad, "--partitions", "2", "--out", &d.path("bad")]);
    assert!(error.contains("bad.tsv:3: "), "{error}");
    train(&edges, &out, "2", &["--epochs", "2"]);
    let work = d.path("held");
    let _held = cotangent_apps_common::output::hold(Path::new(&work)).unwrap();
    let error = fails(&["--partitions", "2", "--work", &work]);
    assert!(error.ends_with("held: another run writes there; choose another --work"), "{error}");
    // A part that is cut, and one of another run; the checkpoint stays as it was.
    let before = bytes(&out, "checkpoint.bin");
    let mut files = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
    let part =
        files.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("part-0001")).unwrap();
    let whole = std::fs::read(&part).unwrap();
    let mut other = whole.clone();
    other[16] ^= 1;
    for (damaged, message) in [(&whole[..whole.len() - 8], "it is cut: "), (&other, "it is of another run")] {
        std::fs::write(&part, damaged).unwrap();
        let error = fails(&["--partitions", "2", "--resume"]);
        assert!(error.contains("part-0001") && error.contains(message), "{error}");
        assert!(before == bytes(&out, "checkpoint.bin"));
    }
    std::fs::write(&part, whole).unwrap();
    fails(&["--partitions", "3", "--resume"]);
    let arguments = ["train", "--edges", &edges, "--out", &out, "--partitions", "2", "--resume"];
    PROGRAM.succeeds(&short(&arguments));
    assert_eq!(metrics(&out).loss.len(), 12);
}

//! The application `graph` from the outside: results, files, and errors for bad input.

use std::fmt::Write;
use std::path::Path;

use cotangent_apps_common::attention::Scores;
use cotangent_apps_graphs::graph::labelled_graph::LabelledGraph;
use cotangent_apps_graphs::graph::{APP, Decided, GraphMetrics, Split, published};

use crate::common::{App, Dir, bytes};
use crate::shared::scenarios::Training;

const GRAPH: App = App(env!("CARGO_BIN_EXE_graph"));

/// A graph of three groups of thirty nodes, which are the classes. Three quarters of the edges are within a
/// group. Features are words: two of the group's ten words and one of all thirty. Each group has four nodes
/// for training and six for validation.
fn groups(d: &Dir, features: bool) -> String {
    let directory = d.path("groups");
    std::fs::create_dir_all(&directory).unwrap();
    let (mut labels, mut edges, mut split, mut words) =
        (String::new(), String::new(), String::new(), String::new());
    for i in 0..90_usize {
        let (group, k) = (i % 3, i / 3);
        writeln!(labels, "{}", if i == 89 { -1 } else { group as i32 }).unwrap();
        for step in [1, 5, 11] {
            writeln!(edges, "{i}\t{}", (k + step) % 30 * 3 + group).unwrap();
        }
        writeln!(edges, "{i}\t{}", (i * 7 + 1) % 90).unwrap();
        let part = ["train", "val", "test"][usize::from(k >= 4) + usize::from(k >= 10)];
        if i != 89 {
            writeln!(split, "{i}\t{part}").unwrap();
        }
        // One node has no words.
        let row = [group * 10 + k % 10, group * 10 + k * 7 % 10, i * 13 % 30];
        let row = row.map(|word| word.to_string()).join(" ");
        words += &if i == 40 { "\n".to_owned() } else { row + "\n" };
    }
    for (name, text) in [("labels.txt", labels), ("edges.tsv", edges), ("split.tsv", split)] {
        std::fs::write(Path::new(&directory).join(name), text).unwrap();
    }
    if features {
        std::fs::write(Path::new(&directory).join("features.txt"), words).unwrap();
    }
    directory
}

fn run(d: &Dir, path: &str, name: &str, more: &str) -> (String, GraphMetrics, String) {
    let out = d.path(name);
    let args = ["--path", path, "--out", &out];
    let more = more.split_whitespace();
    let printed = GRAPH.succeeds(&args.into_iter().chain(more).collect::<Vec<_>>());
    let metrics = crate::common::metrics::<GraphMetrics>(&out);
    (printed, metrics, out)
}

/// A name is that of the directory, and so of the graph.
fn arguments(d: &Dir, name: Option<&str>) -> Vec<String> {
    let mut path = groups(d, true);
    if let Some(name) = name {
        let named = d.path(&name[..name.len().min(150)]);
        std::fs::rename(path, &named).unwrap();
        path = named;
    }
    ["--path", &path, "--epochs", "2"].map(str::to_owned).to_vec()
}

const TRAINING: Training = Training {
    arguments,
    long: &[],
    same: &["model.safetensors"],
    pictures: &[
        ("curves.svg", &["additive attention"], &["a name that is"]),
        (
            "embeddings-1.svg",
            &["groups, layer 1, first head", "of the spread)"],
            &["a name that is", "layer 1, first head"],
        ),
        ("embeddings-2.svg", &["groups, layer 2, first head"], &["a name that is"]),
    ],
};

scenarios!("graph", APP, TRAINING);

/// Row numbers before the ends of an edge were a node, and its end was left out.
#[test]
fn a_header_names_the_columns_of_edges() {
    let d = Dir::new();
    let path = groups(&d, true);
    let plain = run(&d, &path, "plain", "--epochs 2");
    assert_eq!(plain.1.read_as[0], "edges.tsv: read as tab-separated, no header");
    assert!(plain.0.starts_with(&format!("{}\n{}\n", plain.1.read_as[0], plain.1.read_as[1])), "{}", plain.0);
    let file = Path::new(&path).join("edges.tsv");
    let edges = std::fs::read_to_string(&file).unwrap();
    let numbered = |(i, line): (usize, &str)| format!("{},{}\n", i % 90, line.replace('\t', ","));
    let numbered: String = edges.lines().enumerate().map(numbered).collect();
    std::fs::write(&file, format!("# groups\nid,source,target\n{numbered}")).unwrap();
    let named = run(&d, &path, "named", "--epochs 2").1;
    let sentence = "edges.tsv: read as comma-separated, header source/target; ignored: id; 1 comment line";
    assert_eq!(named.read_as[0], sentence);
    assert_eq!((named.sizes, named.test.mean), (plain.1.sizes, plain.1.test.mean));
}

#[test]
fn every_attention_learns_groups() {
    let d = Dir::new();
    let path = groups(&d, true);
    for score in Scores::default().iter().map(|score| score.name()) {
        let more = format!("--attention {score} --lr 0.05 --epochs 40 --dropout 0.3");
        let (printed, metrics, out) = run(&d, &path, score, &more);
        assert_eq!((metrics.sizes, metrics.split), ([90, 810, 30], [12, 18, 59]), "{printed}");
        assert!(metrics.test.mean > 0.9, "{score}: {:?}", metrics.outcomes);
        let outcome = &metrics.outcomes[0];
        assert!(0 < outcome.best_epoch && outcome.best_epoch <= outcome.epochs && outcome.epochs <= 40);
        // In polar coordinates, one of the coordinates is the distance: the ball has one dimension less.
        let dimensions = if score == "polar-distance" { [7, 2] } else { [8, 3] };
        let caption = |layer: usize| {
            format!("layer {layer}, first head: 180 nodes, {}-dimensional", dimensions[layer - 1])
        };
        for (picture, text) in [
            ("curves.svg", score.to_owned()),
            ("embeddings-1.svg", caption(1)),
            ("embeddings-2.svg", caption(2)),
        ] {
            let drawn = String::from_utf8(bytes(&out, picture)).unwrap().replace("\n", " ");
            assert!(drawn.contains(&text), "{score}, {picture}");
        }
        assert!(bytes(&out, "model.safetensors").len() > 30 * 64 * 4);
    }
}

#[test]
fn training_ends_when_neither_loss_nor_accuracy_improves() {
    let d = Dir::new();
    let path = groups(&d, true);
    let more = "--attention additive --lr 0.05 --patience 3 --epochs 200 --dropout 0.3";
    let outcome = &run(&d, &path, "out", more).1.outcomes[0];
    assert!(outcome.best_epoch + 3 <= outcome.epochs && outcome.epochs < 200, "{outcome:?}");
}

/// With --last the tested model is that of the last epoch, whatever the validation says; with --decay-biases
/// another one is trained. Both are said in metrics.json.
#[test]
fn the_last_model_is_tested_if_asked_for() {
    let d = Dir::new();
    let path = groups(&d, true);
    let more = "--lr 0.05 --patience 3 --epochs 200 --dropout 0.3";
    let (_, best, _) = run(&d, &path, "best", more);
    let (_, last, of_last) = run(&d, &path, "last", &format!("{more} --last"));
    let [outcome, of_best] = [&last.outcomes[0], &best.outcomes[0]];
    assert_eq!(outcome.best_epoch, outcome.epochs);
    assert!(outcome.epochs < 200 && of_best.best_epoch < of_best.epochs, "{outcome:?} {of_best:?}");
    assert!(last.config.last && !best.config.last);
    let (_, decayed, of_decayed) = run(&d, &path, "decayed", &format!("{more} --last --decay-biases"));
    assert!(decayed.config.decay_biases && !last.config.decay_biases);
    assert!(bytes(&of_last, "model.safetensors") != bytes(&of_decayed, "model.safetensors"));
}

/// A seed of an earlier version, whose last layer took values by exp, is none of a run that does not.
#[test]
fn seeds_with_other_values_in_the_last_layer_are_refused() {
    let d = Dir::new();
    let path = groups(&d, true);
    let more = "--attention distance --aggregate barycentre --values weierstrass --epochs 2";
    let (_, _, out) = run(&d, &path, "out", more);
    run(&d, &path, "out", &format!("{more} --resume"));
    let seed = Path::new(&out).join("seed-42.json");
    let text = std::fs::read_to_string(&seed).unwrap();
    let earlier: Vec<&str> = text.lines().filter(|line| !line.contains("output_values")).collect();
    std::fs::write(&seed, earlier.join("\n")).unwrap();
    let args = ["--path", &path, "--out", &out, "--resume"];
    let error = GRAPH.fails(&args.into_iter().chain(more.split_whitespace()).collect::<Vec<_>>());
    assert!(error.ends_with("a seed of a run with other options or on another graph"), "{error}");
}

#[test]
fn seeds_are_the_same_for_any_number_of_threads_and_are_not_done_twice() {
    let d = Dir::new();
    let path = groups(&d, false);
    let more = "--attention umbral --weights sigmoid --aggregate barycentre --learn-sharpness --epochs 15";
    let (_, one, out) = run(&d, &path, "one", &format!("{more} --seeds 3 --threads 1"));
    let (_, two, _) = run(&d, &path, "two", &format!("{more} --seeds 3 --threads 2"));
    let results = |m: &GraphMetrics| -> Vec<_> {
        m.outcomes.iter().map(|o| (o.seed, o.epochs, o.best_epoch, o.validation, o.test)).collect()
    };
    assert_eq!(results(&one), results(&two));
    assert!(one.test.half_width.is_some() && one.sizes[2] == 90);
    // A fourth seed is trained; the results of the others are reused.
    let (_, more_seeds, _) = run(&d, &path, "one", &format!("{more} --seeds 4 --resume"));
    assert_eq!(more_seeds.outcomes[..3], one.outcomes[..]);
    // The model is that of the first seed, also of one that was trained as a second one.
    let before = bytes(&out, "model.safetensors");
    run(&d, &path, "one", &format!("{more} --seed 43 --seeds 2 --resume"));
    let (_, _, fresh) = run(&d, &path, "fresh", &format!("{more} --seed 43"));
    assert_ne!(before, bytes(&out, "model.safetensors"));
    assert_eq!(bytes(&fresh, "model.safetensors"), bytes(&out, "model.safetensors"));
    let args = ["--path", &path, "--out", &out, "--seeds", "4", "--resume"];
    let other = "a seed of a run with other options or on another graph";
    assert!(GRAPH.fails(&args).contains(other));
    std::fs::write(Path::new(&path).join("features.txt"), "1\n2 3\n".repeat(45)).unwrap();
    let args: Vec<&str> = args.into_iter().chain(more.split(' ')).collect();
    assert!(GRAPH.fails(&args).contains(other));
}

/// What a run has written is not mixed with what the next one writes, and not replaced.
#[test]
fn a_new_run_sets_the_files_of_an_earlier_one_aside() {
    let d = Dir::new();
    let path = groups(&d, true);
    let (_, _, out) = run(&d, &path, "out", "--epochs 2 --seeds 2 --without-dropout");
    let files = ["metrics.json", "model.safetensors", "curves.svg", "seed-43.json", "embeddings-2.svg"];
    let first = files.map(|name| bytes(&out, name));
    let (printed, _, _) = run(&d, &path, "out", "--epochs 3 --seed 42");
    assert!(printed.contains("the files of an earlier run are now in"), "{printed}");
    let previous = Path::new(&out).join("previous-1");
    assert_eq!(files.map(|name| std::fs::read(previous.join(name)).unwrap()), first);
    assert!(previous.join("without-dropout/metrics.json").exists());
    for name in ["seed-43.json", "without-dropout"] {
        assert!(!Path::new(&out).join(name).exists(), "{name}");
    }
    run(&d, &path, "out", "--epochs 3 --seeds 2 --resume");
    assert!(!Path::new(&out).join("previous-2").exists(), "nothing is moved by --resume");
}

#[test]
fn a_device_learns_the_same() {
    if !GRAPH.has_opencl(&[]) {
        return;
    }
    let d = Dir::new();
    let path = groups(&d, true);
    let more = "--attention distance --lr 0.02 --epochs 40 --dropout 0.3";
    let (_, host, _) = run(&d, &path, "host", more);
    let (_, device, _) = run(&d, &path, "device", &format!("{more} --device opencl"));
    assert!(device.test.mean > 0.9 && (device.test.mean - host.test.mean).abs() < 0.06);
}

/// Published figures are printed only for runs with the settings of the paper.
#[test]
fn published_figures_are_for_the_papers_settings() {
    use cotangent_apps_common::attention::{AggregateOption, AttentionOptions, MapOption, ValuesOption};
    use cotangent_apps_common::config;
    use cotangent_apps_graphs::graph::GraphConfig;
    let protocol: GraphConfig = config::parse(&["--attention", "polar-distance", "--seeds", "20"]);
    let protocol = protocol.complete(Split::Nodes);
    let plain = AttentionOptions::default();
    let accuracies = |graph: &str, attention: &str, options: AttentionOptions| {
        let attention = attention.to_owned();
        let found = published(graph, &GraphConfig { attention, options, ..protocol.clone() });
        found.into_iter().map(|(accuracy, _)| accuracy).collect::<Vec<_>>()
    };
    let learn_sharpness = true;
    let with_sharpness = AttentionOptions { learn_sharpness, ..plain };
    let h_gat = AttentionOptions { aggregate: AggregateOption::Barycentre, ..with_sharpness };
    assert_eq!(accuracies("cora", "polar-distance", h_gat), [83.5]);
    assert_eq!(accuracies("citeseer", "polar-distance", h_gat), [72.9]);
    let polar_values = AttentionOptions { values: ValuesOption::Polar, ..h_gat };
    assert_eq!(accuracies("cora", "polar-distance", polar_values), [83.5]);
    let mapped = AttentionOptions { map: Some(MapOption::Exp), ..plain };
    assert!(accuracies("cora", "umbral", mapped).is_empty());
    for other in [plain, with_sharpness] {
        assert!(accuracies("cora", "polar-distance", other).is_empty());
    }
    assert!(accuracies("cora", "distance", h_gat).is_empty());
    assert_eq!(accuracies("cora", "additive", plain), [83.0, 83.1]);
    assert_eq!(accuracies("cora", "dot", plain), [83.4]);
    assert!(accuracies("cora", "dot", AttentionOptions { learn_sharpness, ..plain }).is_empty());
    assert!(accuracies("airport", "dot", plain).is_empty());
    let fewer = GraphConfig { attention: "dot".to_owned(), heads: Some(4), ..protocol.clone() };
    assert!(published("cora", &fewer).is_empty());
    // The protocol of Tseng et al. has their figures alone; half of it has none.
    let additive =
        GraphConfig { attention: "additive".to_owned(), last: true, patience: 1000, ..protocol.clone() };
    assert!(published("cora", &additive).is_empty());
    let found = published("cora", &GraphConfig { decay_biases: true, ..additive });
    assert_eq!(found, [(83.1, "Tseng et al. 2023")]);
    // On several graphs the paper's program tests the last model.
    let ppi: GraphConfig = config::parse(&["--attention", "penumbral", "--last"]);
    let ppi = ppi.complete(Split::Graphs);
    assert_eq!(published("ppi", &ppi), [(99.0, "Tseng et al. 2023")]);
    for other in [GraphConfig { last: false, ..ppi.clone() }, GraphConfig { heads: Some(2), ..ppi }] {
        assert!(published("ppi", &other).is_empty());
    }
}

/// Features may be a table of numbers. Zeros are left out, and rows are scaled.
#[test]
fn features_may_be_a_table() {
    let d = Dir::new();
    let path = groups(&d, false);
    let row =
        |i: usize| if i == 7 { "0\t0\t0\n".to_owned() } else { format!("{}\t0\t-{}\n", 1 + i % 3, i % 3) };
    std::fs::write(Path::new(&path).join("features.tsv"), (0..90).map(row).collect::<String>()).unwrap();
    let graph = LabelledGraph::read(Path::new(&path)).unwrap();
    assert_eq!((graph.features.columns(), graph.features.pairs().len()), (3, 89 + 60 - 1));
    assert_eq!(
        (graph.features.pairs()[..3].to_vec(), &graph.amounts[..3]),
        (vec![(0, 0), (1, 0), (1, 2)], &[1.0, 2.0 / 3.0, -1.0 / 3.0][..])
    );
    let (_, metrics, out) = run(&d, &path, "out", "--attention polar-distance --epochs 3");
    assert_eq!(metrics.sizes[2], 3);
    // The last of eight coordinates, and of three, is the distance from the origin.
    for (picture, text) in [
        ("embeddings-1.svg", "7-dimensional Poincaré ball"),
        ("embeddings-2.svg", "2-dimensional Poincaré ball"),
    ] {
        assert!(
            String::from_utf8(bytes(&out, picture)).unwrap().replace("\n", " ").contains(text),
            "{picture}"
        );
    }
    let large = format!("{}1e308\t-1e308\n{0}", "1\t2\n".repeat(44)) + "3\t4\n";
    std::fs::write(Path::new(&path).join("features.tsv"), large).unwrap();
    let message = GRAPH.fails(&["--path", &path, "--out", &d.path("out")]);
    let end = "features.tsv:45: the features are too large: their sum is not finite";
    assert!(message.ends_with(end), "{message}");
    std::fs::write(Path::new(&path).join("features.tsv"), "1\t2\n1\n").unwrap();
    let message = GRAPH.fails(&["--path", &path, "--out", &d.path("out")]);
    assert!(message.ends_with("features.tsv:2: 1 features; the first line has 2"), "{message}");
}

/// Reads the public graphs, if they are installed.
#[test]
fn cora_and_citeseer_are_read() {
    for (name, sizes) in
        [("cora", [2708, 2708 + 2 * 5278, 1433]), ("citeseer", [3327, 3327 + 2 * 4552, 3703])]
    {
        let path = Path::new("../../../shared/data").join(name);
        if !path.exists() {
            cotangent::engine::skipped(format_args!("no {}", path.display()));
            continue;
        }
        let d = Dir::new();
        let (printed, metrics, _) = run(&d, path.to_str().unwrap(), name, "--epochs 3 --attention dot");
        assert_eq!((metrics.sizes, metrics.split[1..].to_vec()), (sizes, vec![500, 1000]));
        // A run of three epochs does not have the settings of the paper.
        assert!(!printed.contains("Tseng"), "{printed}");
    }
}

#[test]
fn bad_input_gets_one_line() {
    let d = Dir::new();
    let path = groups(&d, true);
    let out = d.path("out");
    let fails = |args: &[&str]| GRAPH.fails(&[&["--path", &path, "--out", &out], args].concat());
    assert_eq!(fails(&["--seeds", "0"]), "--seeds 0: from 1 to 1000000 is needed");
    assert_eq!(fails(&["--dropout", "1"]), "--dropout 1: from 0 to below 1 is needed");
    assert_eq!(fails(&["--light", "-2"]), "--light -2: a positive number is needed");
    let message = fails(&["--attention", "umbral", "--head-dim", "1"]);
    assert_eq!(message, "--head-dim 1: --attention umbral needs 2 or more");
    let message = fails(&["--attention", "umbral", "--map", "polar", "--head-dim", "2"]);
    assert_eq!(message, "--head-dim 2: --attention umbral needs 3 or more");
    // Beyond all memory, and beyond that of any machine that this runs on.
    for number in ["18446744073709551615", "1000000000000"] {
        for option in ["--heads", "--head-dim", "--output-heads"] {
            // The graph is read first, and its line printed.
            let output = GRAPH.run(&["--path", &path, "--out", &out, option, number]);
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{error}");
            assert!(
                error.contains(&format!("{option} {number}")) && error.contains(" GB of memory"),
                "{error}"
            );
        }
    }
    let file = |name: &str, text: &str| {
        let path = Path::new(&path).join(name);
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, text).unwrap();
        let message = fails(&[]);
        std::fs::write(&path, before).unwrap();
        message
    };
    assert!(file("labels.txt", "0\n1\nx\n").ends_with("labels.txt:3: class \"x\" is not a number"));
    assert!(
        file("labels.txt", "0\n-2\n")
            .ends_with("labels.txt:2: class -2: a number from 0 is needed, or -1 for none")
    );
    assert!(file("edges.tsv", "").ends_with("edges.tsv: no edges"));
    assert!(file("labels.txt", "0\n3\n").ends_with("class 3 for 2 nodes: classes are numbered from 0"));
    assert!(file("labels.txt", "0\n0\n").ends_with("labels.txt: at least two classes are needed"));
    assert!(file("edges.tsv", "0\t1\n2\t90\n").ends_with("edges.tsv:2: node 90: there are 90 nodes"));
    assert!(file("split.tsv", "0\ttrain\n0\tval\n").ends_with("split.tsv:2: node 0 occurs twice"));
    assert!(file("split.tsv", "89\ttrain\n").ends_with("split.tsv:1: node 89 has no class"));
    assert!(file("split.tsv", "1\tdev\n").ends_with("the second column must be train, val or test"));
    assert!(file("split.tsv", "1\ttrain\n").ends_with("split.tsv: no val nodes"));
    assert!(
        file("features.txt", "1 2\n3 -4\n")
            .ends_with("features.txt:2: feature \"-4\" is not a number from 0")
    );
    let text = format!("{}1 16777215\n{0}", "1 2\n".repeat(44)) + "1\n";
    let message = file("features.txt", &text);
    let end = "features.txt:45: feature 16777215 is too large: in a file of 179 entries, the limit is 65536";
    assert!(message.ends_with(end), "{message}");
    assert!(file("features.txt", "1 2\n").ends_with("features.txt: 1 lines; labels.txt has 90 nodes"));
    let missing = GRAPH.fails(&["--path", &d.path("nowhere"), "--out", &out]);
    assert!(missing.contains("nowhere/labels.txt.gz: No such file"), "{missing}");
}

/// Sigmoid weights, pseudo-polar coordinates, learned β and c, and the Einstein midpoint together. The
/// pictures are those of Gulcehre et al. 2019, Figures 8 and 9: with dropout and without.
#[test]
fn pictures_with_and_without_dropout() {
    let d = Dir::new();
    let path = groups(&d, true);
    let h_gat = "--attention polar-distance --learn-sharpness --aggregate einstein --values polar";
    for weights in ["softmax", "sigmoid"] {
        let more = format!("{h_gat} --weights {weights} --lr 0.05 --dropout 0.3 --epochs 40");
        let more = format!("{more} --seeds 2 --without-dropout");
        let (printed, metrics, out) = run(&d, &path, weights, &more);
        assert!(metrics.test.mean > 0.8 && metrics.outcomes.len() == 2, "{printed}");
        let undropped = crate::common::metrics::<GraphMetrics>(&format!("{out}/without-dropout"));
        assert_eq!((undropped.config.dropout, undropped.outcomes.len()), (Some(0.0), 1));
        let picture = |folder: &str, layer: usize| {
            let drawn = bytes(&format!("{out}/{folder}"), &format!("embeddings-{layer}.svg"));
            String::from_utf8(drawn).unwrap().replace('\n', " ")
        };
        for layer in [1, 2] {
            let (with, without) = (picture(".", layer), picture("without-dropout", layer));
            assert!(
                with.contains("dropout 0.3, at most") && without.contains("dropout 0, at most"),
                "{with}"
            );
            assert_eq!(with.matches("<circle").count(), without.matches("<circle").count());
            let circles = |picture: &str| -> Vec<String> {
                picture.split("<circle").filter(|c| c.contains("cx=")).map(str::to_owned).collect()
            };
            assert!(circles(&without).len() >= 180 && circles(&without) != circles(&with));
        }
    }
}

/// `--table` trains with every attention in turn.
#[test]
fn every_attention_in_one_command() {
    let d = Dir::new();
    let (path, out) = (groups(&d, true), d.path("table"));
    let printed =
        GRAPH.succeeds(&["--path", &path, "--table", "--epochs", "2", "--seeds", "2", "--out", &out]);
    for score in Scores::default().iter().map(|score| score.name()) {
        let metrics = crate::common::metrics::<GraphMetrics>(&format!("{out}/{score}"));
        assert_eq!((metrics.config.attention.as_str(), metrics.outcomes.len()), (score, 2));
        let line = format!("{:>15}  this run, {score} attention", metrics.test.percent());
        assert!(printed.contains(&line), "{printed}");
    }
}

/// Graphs are generated, learned by batches, and tested on unseen ones. The form of the data is known by
/// their files, and decides the defaults.
#[test]
fn labels_of_unseen_graphs_are_learned() {
    let d = Dir::new();
    let (graphs, same) = (d.path("graphs"), d.path("same"));
    let small = "--graphs 5 --held-out 1 --nodes 20 --features 3 --labels 2 --seed 3";
    let generate = |out: &str| {
        let args = ["generate", "--out", out].into_iter().chain(small.split_whitespace());
        GRAPH.succeeds(&args.collect::<Vec<_>>())
    };
    let printed = generate(&graphs);
    assert!(printed.contains("3 features, 2 labels; 5 graphs for training, 1 for validation, 1 for testing"));
    generate(&same);
    for part in ["train", "valid", "test"] {
        for what in ["graph.json", "feats.npy", "labels.npy", "graph_id.npy"] {
            let file = format!("{part}_{what}");
            assert!(bytes(&graphs, &file) == bytes(&same, &file), "{file}");
        }
    }
    let more = "--heads 2 --head-dim 4 --epochs 3 --attention penumbral";
    let (printed, metrics, out) = run(&d, &graphs, "out", more);
    assert!(printed.contains("test micro-F1 in %, mean and 95 % interval of 1 seeds"), "{printed}");
    assert_eq!((metrics.graphs, metrics.sizes[2]), (Some([5, 1, 1]), 3));
    let decided = metrics.config.decided();
    let wanted = Decided { heads: 2, head_dim: 4, epochs: 3, ..Split::Graphs.defaults() };
    assert_eq!(decided, wanted);
    for layer in 1..=3 {
        let drawn = String::from_utf8(bytes(&out, &format!("embeddings-{layer}.svg"))).unwrap();
        assert!(drawn.replace('\n', " ").contains(&format!("layer {layer}, first head")), "{layer}");
    }
    let threads = |threads: &str| run(&d, &graphs, threads, &format!("{more} --threads {threads}")).2;
    assert!(bytes(&threads("1"), "model.safetensors") == bytes(&threads("2"), "model.safetensors"));
    let wrong = Path::new(&graphs).join("valid_graph.json");
    std::fs::write(wrong, "{\"nodes\": [{\"id\": 0}],\n\"links\": [{\"source\": 0}]}").unwrap();
    let error = GRAPH.fails(&["--path", &graphs, "--out", &out]);
    assert!(error.contains("valid_graph.json:2: column ") && error.contains("target"), "{error}");
}

/// One graph can have more layers, skip connections and no bias; its defaults are written as before.
#[test]
fn one_graph_takes_the_options_of_several() {
    let d = Dir::new();
    let path = groups(&d, true);
    let (_, plain, out) = run(&d, &path, "plain", "--epochs 2");
    assert_eq!(
        (plain.config.decided(), plain.graphs),
        (Decided { epochs: 2, ..Split::Nodes.defaults() }, None)
    );
    let written = String::from_utf8(bytes(&out, "metrics.json")).unwrap();
    assert!(!written.contains("stack") && !written.contains("graphs") && written.contains("\"heads\": 8"));
    let more = "--epochs 40 --lr 0.05 --dropout 0.3 --layers 3 --skip true --bias false";
    let (_, deep, out) = run(&d, &path, "deep", more);
    assert!(deep.test.mean > 0.8, "{:?}", deep.outcomes);
    // W, S, two vectors, γ and c of each layer: 30 features, heads of 8 by 8, 3 classes.
    assert_eq!(deep.parameters, 2 * (30 * 64 + 64 * 64 + 64 * 3) + 2 * (64 + 64 + 3) + 3 * 2);
    assert!(String::from_utf8(bytes(&out, "metrics.json")).unwrap().contains("\"skip\": true"));
    // W and those of queries and keys, two vectors, a bias, γ and c of each layer.
    let (_, own, _) = run(&d, &path, "own", "--epochs 2 --matrices --keep-values");
    assert_eq!(own.parameters, 3 * (30 * 64 + 64 * 3) + 3 * (64 + 3) + 2 * 2);
    let (_, kept, _) = run(&d, &path, "kept", "--epochs 2 --keep-values");
    assert!(own.outcomes != plain.outcomes && kept.outcomes != plain.outcomes);
    assert_eq!(kept.parameters, plain.parameters);
    let fails = |args: &[&str]| GRAPH.fails(&[&["--path", &path, "--out", &out], args].concat());
    assert_eq!(fails(&["--layers", "1"]), "--layers 1: at least 2 is needed");
    let message = GRAPH.run(&["--path", &path, "--out", &out, "--batch", "2"]);
    let message = String::from_utf8(message.stderr).unwrap();
    assert!(message.contains("--batch 2: there is one graph, whose nodes are split"), "{message}");
}

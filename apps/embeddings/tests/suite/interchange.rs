//! `poincare` and files of other programs: edge lists, embeddings, and graphs of any size.

use std::path::Path;
use std::process::Command;

use cotangent_apps_embeddings::train::poincare::EmbeddingMetrics;

use crate::common::{App, Dir, bytes, metrics};

const POINCARE: App = App(env!("CARGO_BIN_EXE_poincare"));

/// Trains for a moment. Coordinates in `f32` are the same in all formats.
fn train(edges: &str, out: &str, more: &[&str]) -> String {
    let args = ["train", "--edges", edges, "--out", out, "--epochs", "3", "--negatives", "5", "--lr", "0.3"];
    POINCARE.succeeds(&[&args[..], &["--burn-in", "0", "--precision", "f32"], more].concat())
}

/// The edges of a tree of 30 nodes.
fn tree(d: &Dir) -> String {
    let edges = d.path("tree.tsv");
    POINCARE.succeeds(&["tree", "--nodes", "30", "--branching", "3", "--out", &edges]);
    edges
}

#[test]
fn a_tree_has_its_edges() {
    let d = Dir::new();
    let edges = d.path("edges.tsv");
    let said = POINCARE.succeeds(&["tree", "--nodes", "6", "--out", &edges]);
    assert_eq!(said, format!("6 nodes, 5 edges; written to {edges}\n"));
    assert_eq!(std::fs::read_to_string(&edges).unwrap(), "1\t0\n2\t0\n3\t1\n4\t1\n5\t2\n");
    let error = POINCARE.fails(&["tree", "--nodes", "1", "--out", &edges]);
    assert_eq!(error, "--nodes 1: at least 2 are needed");
    let error = POINCARE.fails(&["tree", "--nodes", "3", "--branching", "0", "--out", &edges]);
    assert_eq!(error, "--branching 0: at least 1 is needed");
}

/// A sample is the same for the same seed, when training ends and later.
#[test]
fn a_sample_of_nodes_is_evaluated() {
    let d = Dir::new();
    let (edges, out) = (tree(&d), d.path("out"));
    let said = train(&edges, &out, &["--evaluate-nodes", "9", "--seed", "5"]);
    assert!(said.contains("mean rank and MAP of a sample of 9 of 29 nodes\n"), "{said}");
    let found: EmbeddingMetrics = metrics(&out);
    assert_eq!((found.evaluated_nodes, found.nodes_with_neighbours), (9, 29));
    assert!(String::from_utf8(bytes(&out, "disk.svg")).unwrap().contains("of a sample of 9 of 29 nodes"));
    let evaluate = |more: &[&str]| {
        POINCARE.succeeds(&[&["evaluate", "--embedding", &out, "--edges", &edges][..], more].concat())
    };
    let expected = format!("mean rank {:.4}\nMAP {:.5}\n", found.mean_rank, found.map);
    let sampled = evaluate(&["--evaluate-nodes", "9", "--seed", "5"]);
    assert!(sampled.contains(&format!("of a sample of 9 of 29 nodes:\n{expected}")), "{sampled}");
    let other = |seed: &str| !evaluate(&["--evaluate-nodes", "9", "--seed", seed]).contains(&expected);
    assert!(["6", "7", "8"].into_iter().any(other), "other seeds have other samples");
    let all = evaluate(&[]);
    assert!(!all.contains("sample") && all == evaluate(&["--evaluate-nodes", "29"]).as_str(), "{all}");
    let error =
        POINCARE.fails(&["evaluate", "--embedding", &out, "--edges", &edges, "--evaluate-nodes", "0"]);
    assert_eq!(error, "--evaluate-nodes 0: at least 1 is needed");
}

/// An edge list of other programs gives the embedding that a TSV gives.
#[test]
fn edges_of_other_programs_are_read() {
    let d = Dir::new();
    let plain = d.write("plain.tsv", "dog\tanimal\t2\ncat\tanimal\t1\nanimal\tcat\t1\npup\tdog\t1\n");
    let gephi = "Source,Target,Type,Id,Weight\ndog,animal,Directed,0,2\ncat,animal,Undirected,1,1\n\
                 pup,dog,Directed,2,1\n";
    let graphml = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="label" attr.type="string"/>
  <key id="d1" for="edge" attr.name="weight" attr.type="double"><default>1</default></key>
  <graph edgedefault="directed">
    <node id="n0"><data key="d0">dog</data></node> <node id="n1"><data key="d0">animal</data></node>
    <node id="n2"><data key="d0">cat</data></node> <node id="pup"/>
    <edge source="n0" target="n1"><data key="d1">2.0</data></edge>
    <edge source="n2" target="n1" directed="false"/>
    <edge source="pup" target="n0"/>
  </graph>
</graphml>
"#;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, graphml.as_bytes()).unwrap();
    let files = [
        plain,
        d.write("gephi.csv", gephi),
        d.write("a.graphml", graphml),
        d.write("b.graphml.gz", packed.finish().unwrap()),
    ];
    let trained = files.map(|edges| {
        let out = d.path("out");
        train(&edges, &out, &[]);
        bytes(&out, "embedding.tsv")
    });
    assert!(trained.iter().all(|embedding| *embedding == trained[0]));
    let bad = d.write("bad.graphml", graphml.replace("target=\"n0\"", "target=\"n9\""));
    let error = POINCARE.fails(&["train", "--edges", &bad, "--out", &d.path("out")]);
    assert!(error.ends_with("bad.graphml:10: no node \"n9\""), "{error}");
}

/// The first line of the output says how the edges were read, and so does `metrics.json`.
#[test]
fn how_a_table_was_read_is_said() {
    let d = Dir::new();
    let table = "# one\n# two\nsource\ttarget\tyear\tvalue\ndog\tanimal\t1990\t2\ncat\tanimal\t1991\t1\n";
    let (edges, out) = (d.write("edges.tsv", table), d.path("out"));
    let sentence = "read as tab-separated, header source/target, weights from 'value'; ignored: year; \
                    2 comment lines";
    let said = train(&edges, &out, &[]);
    assert_eq!(said.lines().next(), Some(format!("{edges}: {sentence}").as_str()));
    assert_eq!(metrics::<EmbeddingMetrics>(&out).read_as.as_deref(), Some(sentence));
    let evaluate = ["evaluate", "--embedding", &out, "--edges", &edges];
    assert_eq!(POINCARE.succeeds(&evaluate).lines().next(), Some(format!("{edges}: {sentence}").as_str()));
    assert!(POINCARE.succeeds(&[&evaluate[..], &["--json"]].concat()).contains("\"read_as\":\"read as tab-"));
    let measured = POINCARE.succeeds(&["hyperbolicity", "--edges", &edges, "--weight", "none"]);
    assert!(measured.contains("header source/target; ignored: year, value"), "{measured}");
    let new = d.write("new.csv", "child,parent,since\npup,dog,2001\n");
    let placed = d.path("placed");
    POINCARE.succeeds(&["place", "--embedding", &out, "--edges", &new, "--out", &placed]);
    let written: serde_json::Value = metrics(&placed);
    assert_eq!(written["read_as"], "read as comma-separated, header child/parent; ignored: since");
    // A run with other weights is another run.
    let resumed =
        ["train", "--edges", &edges, "--out", &out, "--epochs", "3", "--negatives", "5", "--lr", "0.3"];
    let resumed = [&resumed[..], &["--burn-in", "0", "--precision", "f32", "--resume"]].concat();
    POINCARE.succeeds(&resumed);
    for option in [["--weight", "none"], ["--weight", "year"], ["--columns", "target,source"]] {
        let error = POINCARE.fails(&[&resumed[..], &option].concat());
        assert!(error.ends_with("a run on other edges"), "{error}");
    }
}

/// The options are about the tables of users, also beside a list that `train` wrote.
#[test]
fn options_reach_every_table_of_edges() {
    let d = Dir::new();
    let parent = |&i: &u32| (i > 0).then(|| (i - 1) / 3);
    let ancestors = |i: u32| std::iter::successors(parent(&i), parent).map(move |a| (i, a));
    let pairs = (1..40).flat_map(ancestors);
    let table: String = pairs.map(|(i, above)| format!("{i},node {i},node {above}\n")).collect();
    let (edges, out) = (d.write("edges.csv", format!("no,what,above\n{table}")), d.path("out"));
    let columns = ["--columns", "what,above"];
    train(&edges, &out, &[&columns[..], &["--test", "0.3"]].concat());
    let test = format!("{out}/test.tsv");
    let evaluate = ["evaluate", "--embedding", &out, "--edges", &test, "--known", &edges];
    let said = POINCARE.succeeds(&[&evaluate[..], &columns].concat());
    assert!(said.contains("test.tsv: read as tab-separated, header id1/id2\n"), "{said}");
    assert!(said.contains("edges.csv: read as comma-separated, header what/above; ignored: no\n"), "{said}");
    for command in ["plot", "view"] {
        let picture = d.path("picture");
        let draw = [command, "--embedding", &out, "--edges", &edges, "--out", &picture];
        POINCARE.succeeds(&[&draw[..], &columns].concat());
        assert!(POINCARE.fails(&draw).contains("--header yes or --header no says which"));
    }
}

/// A pipe can be opened once only.
#[test]
fn an_embedding_is_read_from_a_pipe() {
    let d = Dir::new();
    for (name, content) in [("points.txt", "2 1\na 0.5\nb 0.25\n"), ("points.tsv", "a\t0.5\nb\t0.25\n")] {
        let (pipe, out) = (d.path(name), d.path("out.tsv"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::write(pipe, content).unwrap()
        });
        POINCARE.succeeds(&["convert", "--embedding", &pipe, "--out", &out]);
        writer.join().unwrap();
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "a\t0.5\nb\t0.25\n");
    }
}

#[test]
fn names_of_other_programs_are_kept() {
    let d = Dir::new();
    // A no-break space is a character of a name.
    let vectors = "3 1\nNew\u{a0}York 0.5\nNew_York 0.25\nc 0.125\n";
    let (points, text) = (d.write("p.vec", vectors), d.path("out.txt"));
    POINCARE.succeeds(&["convert", "--embedding", &points, "--out", &text]);
    assert_eq!(std::fs::read_to_string(&text).unwrap(), vectors);
    // A word that occurs twice.
    let points = d.write("twice.vec", "3 1\na 0.5\nb 0.25\na 0.125\n");
    let convert = ["convert", "--embedding", &points, "--out", &text];
    let error = POINCARE.fails(&convert);
    assert!(
        error.ends_with("\"a\" occurs twice, as points 1 and 3; --keep-first keeps the first"),
        "{error}"
    );
    let said = POINCARE.succeeds(&[&convert[..], &["--keep-first"]].concat());
    assert!(said.starts_with("left out: 1 points whose name occurs before\n2 points of 1"), "{said}");
    assert_eq!(std::fs::read_to_string(&text).unwrap(), "2 1\na 0.5\nb 0.25\n");
}

#[test]
fn every_format_is_the_same_embedding() {
    let d = Dir::new();
    let (edges, out) = (tree(&d), d.path("out"));
    for model in ["poincare", "lorentz"] {
        train(&edges, &out, &["--model", model]);
        let score = |embedding: &str| {
            let args = ["evaluate", "--embedding", embedding, "--edges", &edges, "--model", model];
            let printed = POINCARE.succeeds(&args);
            printed.lines().filter(|line| line.starts_with("m") || line.starts_with("M")).collect::<String>()
        };
        let near = |embedding: &str| {
            POINCARE.succeeds(&["neighbours", "4", "--embedding", embedding, "--model", model])
        };
        for name in ["e.tsv", "e.safetensors", "e.txt", "e.vec", "e.bin", "e.npy"] {
            let file = d.path(name);
            let said = POINCARE.succeeds(&["convert", "--embedding", &out, "--out", &file]);
            let width = if model == "lorentz" { 6 } else { 5 };
            assert_eq!(said, format!("30 points of {width} coordinates; written to {file}\n"));
            assert_eq!((score(&file), near(&file)), (score(&out), near(&out)), "{name}");
            POINCARE.succeeds(&["plot", "--embedding", &file, "--model", model, "--out", &d.path("p.svg")]);
        }
    }
    let unnamed = d.path("embedding");
    let convert = ["convert", "--embedding", &out, "--out", &unnamed];
    assert!(POINCARE.fails(&convert).ends_with("its extension names no format; --format is needed"));
    POINCARE.succeeds(&[&convert[..], &["--format", "word2vec"]].concat());
    let packed = d.path("points.tsv.gz");
    let convert = ["convert", "--embedding", &out, "--out", &packed];
    assert!(POINCARE.fails(&convert).ends_with("no packed files are written"));
    let packed = d.write("points.npy.gz", "");
    let error = POINCARE.fails(&["neighbours", "4", "--embedding", &packed]);
    assert!(error.ends_with("this format is not read packed; unpack it first"), "{error}");
    assert!(std::fs::read_to_string(&unnamed).unwrap().starts_with("30 6\n"));
}

#[test]
fn names_and_points_that_a_format_cannot_hold() {
    let d = Dir::new();
    let near_one = "a b\t0.999999999999\nc\t0.5\n";
    let points = d.write("p.tsv", near_one);
    let (text, binary) = (d.path("p.txt"), d.path("p.bin"));
    POINCARE.succeeds(&["convert", "--embedding", &points, "--out", &text]);
    assert_eq!(std::fs::read_to_string(&text).unwrap(), "2 1\na_b 0.999999999999\nc 0.5\n");
    let said = POINCARE.succeeds(&["convert", "--embedding", &points, "--out", &binary]);
    assert!(said.starts_with("1 points, rounded to f32, are none of poincare any more\n"), "{said}");
    let error = POINCARE.fails(&["neighbours", "c", "--embedding", &binary]);
    assert!(error.contains("p.bin: point 1 of 2: \"a_b\": not a point of the Poincaré ball"), "{error}");
    POINCARE.succeeds(&["neighbours", "c", "--embedding", &binary, "--model", "euclidean"]);
    let same = d.write("same.tsv", format!("{near_one}a_b\t0\n"));
    let error = POINCARE.fails(&["convert", "--embedding", &same, "--out", &text]);
    assert!(error.contains("p.txt: \"a b\" and \"a_b\" would be one name"), "{error}");
}

/// Reads both formats with gensim, and reads back what gensim writes. Python is `python3`, or the program
/// that the environment variable `COTANGENT_PYTHON` names.
#[test]
fn gensim_reads_and_writes_the_same_vectors() {
    const SCRIPT: &str = "
import sys
from gensim.models import KeyedVectors
for name, binary in (('e.txt', False), ('e.bin', True)):
    vectors = KeyedVectors.load_word2vec_format(sys.argv[1] + '/' + name, binary=binary)
    vectors.save_word2vec_format(sys.argv[1] + '/gensim-' + name, binary=binary)
    print(len(vectors), vectors.vector_size, repr([float(x) for x in vectors['4']]))
";
    let python = std::env::var_os("COTANGENT_PYTHON").unwrap_or_else(|| "python3".into());
    let has_gensim = Command::new(&python).args(["-c", "import gensim"]).output();
    if !has_gensim.is_ok_and(|output| output.status.success()) {
        cotangent::engine::skip!("{} has no gensim", Path::new(&python).display());
    }
    let d = Dir::new();
    let (edges, out) = (tree(&d), d.path("out"));
    train(&edges, &out, &[]);
    for name in ["e.txt", "e.bin"] {
        POINCARE.succeeds(&["convert", "--embedding", &out, "--out", &d.path(name)]);
    }
    let output = Command::new(&python).args(["-c", SCRIPT, &d.path("")]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(bytes(&out, "embedding.tsv")).unwrap();
    let row = text.lines().find_map(|line| line.strip_prefix("4\t")).unwrap();
    let row: Vec<f64> = row.split('\t').map(|x| f64::from(x.parse::<f32>().unwrap())).collect();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let vector = line.strip_prefix("30 5 [").and_then(|line| line.strip_suffix(']'));
        let vector = vector.unwrap_or_else(|| panic!("{line}"));
        assert_eq!(vector.split(", ").map(|x| x.parse().unwrap()).collect::<Vec<f64>>(), row);
    }
    // gensim's numbers have the digits of f32.
    let rounded = |from: &str, to: &str| {
        POINCARE.succeeds(&["convert", "--embedding", &d.path(from), "--out", &d.path(to)]);
        std::fs::read(d.path(to)).unwrap()
    };
    for name in ["e.txt", "e.bin"] {
        assert!(rounded(name, "a.bin") == rounded(&format!("gensim-{name}"), "b.bin"), "{name}");
    }
}

//! `poincare place` from the outside: results, files, and errors for bad input.

use std::path::Path;

use serde_json::Value;

use crate::common::{App, Dir, bytes};

const POINCARE: App = App(env!("CARGO_BIN_EXE_poincare"));

/// The edges of the closure of a binary tree of 63 nodes, and those of some of its leaves, in two files.
fn tree(d: &Dir) -> (String, String) {
    let (mut known, mut new) = (String::new(), String::new());
    for i in 2..64_u32 {
        let ancestors = std::iter::successors(Some(i / 2), |a| Some(a / 2)).take_while(|&a| a > 0);
        let edges = if [40, 51, 62].contains(&i) { &mut new } else { &mut known };
        ancestors.for_each(|a| *edges += &format!("n{i}\tn{a}\n"));
    }
    (d.write("known.tsv", known), d.write("new.tsv", new))
}

fn train(edges: &str, out: &str, more: &[&str]) {
    let args = ["train", "--edges", edges, "--epochs", "60", "--negatives", "10", "--burn-in", "2"];
    POINCARE.succeeds(&[&args[..], &["--lr", "0.2", "--out", out], more].concat());
}

fn place(embedding: &str, edges: &str, out: &str, more: &[&str]) -> String {
    POINCARE
        .succeeds(&[&["place", "--embedding", embedding, "--edges", edges, "--out", out][..], more].concat())
}

fn metrics(dir: &str) -> Value {
    crate::common::metrics(dir)
}

/// In each space and precision: the old points keep their digits, the new ones come after them, and the
/// result depends on the seed but not on the number of threads.
#[test]
fn leaves_of_a_tree_are_placed() {
    let d = Dir::new();
    let (known, new) = tree(&d);
    let trained = d.path("trained");
    for model in ["poincare", "lorentz", "euclidean"] {
        for precision in ["f32", "f64"] {
            train(&known, &trained, &["--model", model, "--precision", precision]);
            let run = |out: &str, more: &[&str]| {
                let out = d.path(out);
                place(&trained, &new, &out, more);
                (bytes(&out, "embedding.tsv"), bytes(&out, "embedding.safetensors"), metrics(&out))
            };
            let (tsv, tensors, one) = run("one", &["--threads", "1"]);
            let (tsv_two, tensors_two, two) = run("two", &["--threads", "2"]);
            assert!(tsv == tsv_two && tensors == tensors_two && one["from_new"] == two["from_new"]);
            assert!(tsv != run("other", &["--seed", "8"]).0);

            let old = bytes(&trained, "embedding.tsv");
            let placed = tsv.strip_prefix(&old[..]).expect("the old points come first, with all digits");
            let placed = std::str::from_utf8(placed).unwrap();
            let names: Vec<&str> = placed.lines().map(|line| line.split('\t').next().unwrap()).collect();
            assert_eq!(names, ["n40", "n51", "n62"]);
            let dtype = format!("\"dtype\":\"{}\"", precision.to_uppercase());
            assert!(String::from_utf8_lossy(&tensors).contains(&dtype), "{precision}");

            assert_eq!((&one["known"], &one["placed"], &one["pairs"]), (&60.into(), &3.into(), &15.into()));
            let score = &one["from_new"];
            assert_eq!((&score["nodes"], &score["pairs"]), (&3.into(), &15.into()));
            assert!(score["map"].as_f64().unwrap() > 0.8, "{model} {precision}: {score}");
            // The same score as that of the written embedding.
            let evaluated = POINCARE.succeeds(&["evaluate", "--embedding", &d.path("one"), "--edges", &new]);
            let want = format!("MAP {:.5}\n", score["map"].as_f64().unwrap());
            assert!(evaluated.contains(&want), "{evaluated} {want}");
        }
    }
}

/// An inner node is placed by its descendants, some of which are new too, and by its ancestors.
#[test]
fn an_inner_node_and_nodes_below_it() {
    let d = Dir::new();
    let (known, _) = tree(&d);
    let text = std::fs::read_to_string(&known).unwrap();
    let held = |line: &&str| line.split('\t').any(|name| ["n5", "n10", "n20"].contains(&name));
    let (new, kept): (Vec<&str>, Vec<&str>) = text.lines().partition(held);
    let kept = d.write("kept.tsv", kept.join("\n"));
    let new = d.write("inner.tsv", format!("{}\nn6\tn3\nleaf\tn20\n", new.join("\n")));
    let (trained, out) = (d.path("trained"), d.path("out"));
    train(&kept, &trained, &[]);
    let said = place(&trained, &new, &out, &["--known", &kept]);
    assert!(said.contains("57 known nodes, 4 new nodes"), "{said}");
    assert!(said.contains("not used: 1 edges between known nodes"), "{said}");
    let metrics = metrics(&out);
    assert_eq!((&metrics["rounds"], &metrics["ignored"]), (&2.into(), &1.into()));
    for score in ["from_new", "to_new"] {
        assert!(metrics[score]["map"].as_f64().unwrap() > 0.6, "{metrics}");
    }
    assert!(metrics["known_edges"].as_str().unwrap().ends_with("kept.tsv"));
    // Without the known edges, known nodes are not scored.
    place(&trained, &new, &out, &[]);
    assert!(crate::common::metrics::<Value>(&out)["to_new"].is_null());
    let said = place(&trained, &new, &out, &["--json", "--quiet"]);
    let last = said.lines().rev().find(|line| line.contains("\"result\"")).expect("a result");
    let event: Value = serde_json::from_str(last).unwrap();
    assert_eq!(event["placed"], 4);
}

/// With the known edges, new nodes do not come between known nodes and their neighbours.
#[test]
fn known_nodes_keep_their_neighbours() {
    let d = Dir::new();
    let (mut known, mut new) = (String::new(), String::new());
    for i in 2..128_u32 {
        let ancestors = std::iter::successors(Some(i / 2), |a| Some(a / 2)).take_while(|&a| a > 0);
        let edges = if i > 63 && i % 20 == 0 { &mut new } else { &mut known };
        ancestors.for_each(|a| *edges += &format!("n{i}\tn{a}\n"));
    }
    let all = d.write("all.tsv", format!("{known}{new}"));
    let (known, new) = (d.write("known.tsv", known), d.write("new.tsv", new));
    let (trained, out) = (d.path("trained"), d.path("out"));
    train(&known, &trained, &[]);
    let map = |more: &[&str]| {
        place(&trained, &new, &out, more);
        let said = POINCARE.succeeds(&["evaluate", "--embedding", &out, "--edges", &all]);
        let line = said.lines().find_map(|line| line.strip_prefix("MAP ")).unwrap();
        line.parse::<f64>().unwrap()
    };
    let (without, with) = (map(&[]), map(&["--known", &known]));
    assert!(with > without + 0.003, "{without} {with}");
}

#[test]
fn bad_input_gets_one_line() {
    let d = Dir::new();
    let (known, new) = tree(&d);
    let (trained, out) = (d.path("trained"), d.path("out"));
    train(&known, &trained, &[]);
    let fails = |embedding: &str, edges: &str, more: &[&str]| {
        let args = ["place", "--embedding", embedding, "--edges", edges, "--out", &out];
        POINCARE.fails(&[&args[..], more].concat())
    };
    let option = |more: &[&str]| fails(&trained, &new, more);
    assert_eq!(option(&["--steps", "0"]), "--steps 0: at least 1 is needed");
    assert_eq!(option(&["--negatives", "0"]), "--negatives 0: at least 1 is needed");
    assert_eq!(option(&["--lr", "-1"]), "--lr -1: a positive number is needed");
    assert_eq!(option(&["--threads", "0"]), "--threads 0: at least 1 is needed");
    let unplaced = option(&["--known", &new]);
    assert!(unplaced.ends_with("no point for node \"n40\" of the edge list"), "{unplaced}");

    assert!(fails(&d.path("none"), &new, &[]).contains("none: No such file"));
    assert!(fails(&trained, &d.path("none.tsv"), &[]).contains("none.tsv: No such file"));
    let edges = |text: &str| fails(&trained, &d.write("bad.tsv", text), &[]);
    assert!(edges("x\tn1\ny\n").contains("bad.tsv:2: two columns"));
    assert!(edges("n2\tn1\n").ends_with("bad.tsv: no new node: the embedding has a point for each"));
    let alone = edges("x\tn1\ny\tz\nx\tn2\n");
    assert!(alone.ends_with("bad.tsv: new node \"y\" has no path to a known node"), "{alone}");
    assert!(!Path::new(&out).exists(), "nothing is written for bad input");
    // The embedding and the metrics of the training stay.
    let error = POINCARE.fails(&["place", "--embedding", &trained, "--edges", &new, "--out", &trained]);
    assert!(error.contains("trained: a trained model is there"), "{error}");
    POINCARE.is_refused_in_a_held_directory(&["place", "--embedding", &trained, "--edges", &new], &trained);
}

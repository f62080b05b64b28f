//! Evaluation from the outside: link prediction, distortion, rank correlation, is-a classification.

use std::path::Path;

use cotangent_apps_embeddings::train::poincare::EmbeddingMetrics;
use serde_json::Value;

use crate::common::{App, Dir, bytes, metrics};

const POINCARE: App = App(env!("CARGO_BIN_EXE_poincare"));

const SHORT: [&str; 8] = ["--epochs", "12", "--negatives", "10", "--burn-in", "2", "--lr", "0.2"];

/// The direct edges of a binary tree of 63 nodes.
fn direct(d: &Dir) -> String {
    d.write("direct.tsv", (2..64).map(|i| format!("n{i}\tn{}\n", i / 2)).collect::<String>())
}

/// Trains on the closure of a tree and returns what is printed.
fn train(edges: &str, out: &str, more: &[&str]) -> String {
    let args = ["train", "--edges", edges, "--closure", "--dim", "3", "--out", out];
    POINCARE.succeeds(&[&args[..], &SHORT[..], more].concat())
}

/// The result that `evaluate --json` prints.
fn evaluated(args: &[&str]) -> Value {
    let printed = POINCARE.succeeds(&[&["evaluate", "--json"][..], args].concat());
    let events = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.into_iter().find(|event| event["event"] == "result").unwrap()
}

/// `evaluate` finds what `train` found for the lists that it wrote.
#[test]
fn held_out_edges_are_written_and_evaluated_later() {
    let d = Dir::new();
    let (tree, out) = (direct(&d), d.path("run"));
    let printed = train(&tree, &out, &["--validation", "0.1", "--test", "0.2"]);
    let found: EmbeddingMetrics = metrics(&out);
    // 68 pairs are between inner nodes that are not the root.
    let (validation, test) = (found.validation.unwrap(), found.test.unwrap());
    assert_eq!((validation.pairs, test.pairs, found.pairs), (7, 14, 258 - 21));
    assert!(
        printed.contains("  validation: 7 held-out pairs") && printed.contains("  test: 14 held-out pairs")
    );
    for (name, score) in [("validation.tsv", validation), ("test.tsv", test)] {
        let list = format!("{out}/{name}");
        let args = ["--embedding", &out, "--edges", &list, "--known", &tree, "--closure"];
        let later = evaluated(&args);
        assert_eq!(later["pairs"], score.pairs as u64);
        assert_eq!(later["mean_rank"].as_f64().unwrap(), score.mean_rank, "{name}");
        assert_eq!(later["map"].as_f64().unwrap(), score.map, "{name}");
        // Without the known edges, true neighbours count as wrong ones.
        let alone = evaluated(&["--embedding", &out, "--edges", &list]);
        assert!(alone["mean_rank"].as_f64().unwrap() > score.mean_rank, "{alone}");
    }
    let lists = ["validation.tsv", "test.tsv"].map(|name| String::from_utf8(bytes(&out, name)).unwrap());
    let held: Vec<&str> = lists.iter().flat_map(|list| list.lines().skip(1)).collect();
    assert_eq!(held.len(), 21);
    assert!(held.iter().all(|line| !line.ends_with("\tn1")), "no pair with the root: {held:?}");
    // Without shares the lists of the earlier run are gone.
    train(&tree, &out, &[]);
    assert!(!Path::new(&out).join("test.tsv").exists() && metrics::<EmbeddingMetrics>(&out).test.is_none());
}

#[test]
fn a_run_with_other_shares_is_not_resumed() {
    let d = Dir::new();
    let (tree, out) = (direct(&d), d.path("run"));
    train(&tree, &out, &["--test", "0.2"]);
    let resume = |more: &[&str]| {
        let args = ["train", "--edges", &tree, "--closure", "--dim", "3", "--out", &out, "--resume"];
        POINCARE.fails(&[&args[..], &SHORT[..], more].concat())
    };
    assert!(resume(&["--test", "0.1"]).ends_with("does not fit: a run with another --test"));
    let error = resume(&["--test", "0.2", "--validation", "0.1"]);
    assert!(error.ends_with("does not fit: a run with another --validation"), "{error}");
    train(&tree, &out, &["--test", "0.2", "--resume"]);
}

#[test]
fn the_best_seed_is_chosen_by_validation() {
    let d = Dir::new();
    let (tree, out) = (direct(&d), d.path("runs"));
    let printed = train(&tree, &out, &["--seeds", "3", "--validation", "0.2", "--test", "0.2"]);
    assert!(printed.contains("test MAP of 3 seeds: mean "), "{printed}");
    let maps = [42, 43, 44].map(|seed| {
        let run: EmbeddingMetrics = metrics(&format!("{out}/seed-{seed}"));
        (run.validation.unwrap().map, run.test.unwrap().map, seed)
    });
    let best = maps.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap();
    let written: Value = serde_json::from_slice(&bytes(&out, "seeds.json")).unwrap();
    let test = &written["figures"][3];
    assert_eq!((&test["figure"], &test["best_by"]), (&"test MAP".into(), &"validation MAP".into()));
    assert_eq!((test["best"].as_f64().unwrap(), test["best_seed"].as_u64().unwrap()), (best.1, best.2));
}

#[test]
fn bad_shares_are_refused_before_training() {
    let d = Dir::new();
    let (tree, out) = (direct(&d), d.path("out"));
    let fails =
        |more: &[&str]| POINCARE.fails(&[&["train", "--edges", &tree, "--out", &out][..], more].concat());
    assert_eq!(fails(&["--test", "1"]), "--test 1: from 0 to below 1 is needed");
    assert_eq!(fails(&["--validation", "-0.1"]), "--validation -0.1: from 0 to below 1 is needed");
    // Every node of the tree itself has one edge only.
    assert!(fails(&["--test", "0.1"]).contains("only 0 can be held out"));
    assert!(!Path::new(&out).exists(), "nothing is written for bad input");
}

/// The depths of a tree are values of its nodes; pairs one above the other are graded by hand.
#[test]
fn numbers_that_people_gave_are_compared() {
    let d = Dir::new();
    let (tree, out) = (direct(&d), d.path("run"));
    train(&tree, &out, &[]);
    let depths: String = (1..64_u32).map(|i| format!("n{i}\t{}\n", i.ilog2())).collect();
    let values = d.write("values.tsv", format!("node\tvalue\n{depths}"));
    // From a kind of its parent to its parent's kind.
    let grades = (4..32).map(|i| format!("n{i} n{} N 6\nn{} n{i} N 1\n", i / 2, i / 2)).collect::<String>();
    let graded = d.write("graded.txt", format!("WORD1 WORD2 POS AVG_SCORE\n{grades}nobody n1 N 6\n"));
    let args = ["--embedding", &out, "--edges", &tree, "--closure", "--values", &values, "--graded", &graded];
    let found = evaluated(&args);
    let depth = found["rank_correlation"]["depth"].as_f64().unwrap();
    assert!((found["values"]["spearman"].as_f64().unwrap() - depth).abs() < 1e-12, "{found}");
    assert_eq!((&found["values"]["compared"], &found["graded"]["compared"]), (&63.into(), &56.into()));
    assert_eq!(found["graded"]["without_points"], 1);
    assert!(found["graded"]["spearman"].as_f64().unwrap() > 0.5, "{found}");
    let said = POINCARE.succeeds(&[&["evaluate"][..], &args].concat());
    assert!(said.contains("rank correlation with 56 graded pairs 0."), "{said}");
    let bad = d.write("bad.tsv", "node\tvalue\nn1\t1\nn2\tmany\n");
    let error = POINCARE.fails(&["evaluate", "--embedding", &out, "--edges", &tree, "--values", &bad]);
    assert!(error.ends_with("bad.tsv:3: \"many\" is not a number"), "{error}");
}

#[test]
fn a_hierarchy_gets_all_figures_and_other_graphs_the_distortion() {
    let d = Dir::new();
    let (tree, out) = (direct(&d), d.path("run"));
    for model in ["poincare", "lorentz", "euclidean"] {
        train(&tree, &out, &["--model", model]);
        let args = ["--embedding", &out, "--edges", &tree, "--closure"];
        let found = evaluated(&args);
        let figure = |of: &str, name: &str| found[of][name].as_f64().unwrap_or_else(|| panic!("{found}"));
        assert!((0.0..=1.0).contains(&figure("rank_correlation", "depth")), "{found}");
        assert!(figure("distortion", "average_scaled") <= figure("distortion", "average"));
        // Distances are those of the tree, not of its closure.
        assert_eq!(found["distortion"]["pairs"], 63 * 62 / 2);
        assert_eq!((&found["distortion"]["exact"], &found["is_a"]["score"]), (&true.into(), &"norm".into()));
        assert_eq!(found["is_a"]["true_pairs"], 129);
        assert_eq!(evaluated(&[&args[..], &["--threads", "1"]].concat()), found, "another number of threads");
        let said = POINCARE.succeeds(&[&["evaluate"][..], &args].concat());
        for text in ["rank correlation of", "distortion ", "is-a by norm: precision "] {
            assert!(said.contains(text), "{said}");
        }
        let other = [&args[..], &["--score", "distance", "--seed", "7"]].concat();
        assert!(evaluated(&other)["is_a"]["f1"] != found["is_a"]["f1"], "another score");
        let cone = [&["evaluate"][..], &args, &["--score", "cone"]].concat();
        if model == "euclidean" {
            assert!(POINCARE.fails(&cone).starts_with("--score cone"));
        } else {
            assert!(POINCARE.succeeds(&cone).contains("is-a by cone"));
        }
    }
    // A cycle is no hierarchy.
    let cycle = d.write("cycle.tsv", "n2\tn3\nn3\tn4\nn4\tn2\n");
    let found = evaluated(&["--embedding", &out, "--edges", &cycle]);
    assert!(found["is_a"].is_null() && found["rank_correlation"].is_null(), "{found}");
    assert_eq!(found["distortion"]["pairs"], 3);
    let evaluate = ["evaluate", "--embedding", &out, "--edges", &cycle];
    let said = POINCARE.succeeds(&[&evaluate[..], &["--score", "distance"]].concat());
    assert!(said.ends_with("no is-a classification: the graph is no hierarchy\n"), "{said}");
    for (option, score) in [("alpha", "distance"), ("alpha", "cone"), ("cone-size", "norm")] {
        let more = ["--score", score, &format!("--{option}"), "1"];
        let error = POINCARE.fails(&[&evaluate[..], &more].concat());
        assert_eq!(error, format!("--{option}: --score {score} has none"));
    }
}

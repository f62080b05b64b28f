//! The application `tours` from the outside: results, files, and errors for bad input.

use std::path::Path;

use cotangent_apps_reasoning::tours::{APP, SolveMetrics, TourMetrics};

use crate::common::{App, Dir, bytes};
use crate::shared::pictures::text_fits;
use crate::shared::scenarios::Training;

const TOURS: App = App(env!("CARGO_BIN_EXE_tours"));

const SMALL: &str = "train --cities 5 --validation-instances 3 --test-instances 4 --samples 3 --batch 40 \
    --layers 2 --heads 2 --head-dim 3 --epoch-tours 6 --replay 10 --exploration 2";

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

const TRAINING: Training = Training {
    // The data have no names.
    arguments: |_, _| words(&format!("{SMALL} --epochs 2 --epoch-steps 2")),
    long: &[["--epochs", "10"]],
    same: &["model.safetensors"],
    pictures: &[
        ("curves.svg", &["5 cities, polar: mean gap", "gap of greedy tours"], &["training loss"]),
        ("tours.svg", &["nearest neighbour +", "greedy +", "best of 3 +", "shortest known"], &["greedy"]),
    ],
};

scenarios!("tours", APP, TRAINING, resumes);

fn succeeds(text: &str) -> String {
    TOURS.succeeds(&words(text).iter().map(String::as_str).collect::<Vec<_>>())
}

fn train(d: &Dir, name: &str, more: &str) -> (String, TourMetrics, String) {
    let out = d.path(name);
    let printed = succeeds(&format!("{SMALL} --epochs 1 --epoch-steps 2 --out {out} {more}"));
    (printed, crate::common::metrics(&out), out)
}

/// A row for each geometry, with equal references and numbers of parameters.
#[test]
fn a_table_compares_geometries_with_all_seeds() {
    let d = Dir::new();
    let out = d.path("out");
    let printed = succeeds(&format!("{SMALL} --epochs 1 --epoch-steps 2 --out {out} --table --seeds 2"));
    text_fits(&format!("{out}/curves.svg"), &["polar", "weierstrass", "euclidean", "epoch"]);
    let table: serde_json::Value = serde_json::from_slice(&bytes(&out, "table.json")).unwrap();
    let metrics = |geometry: &str, seed: u64| -> TourMetrics {
        crate::common::metrics(&format!("{out}/{geometry}/seed-{seed}"))
    };
    let first = metrics("polar", 42);
    for (row, geometry) in ["polar", "weierstrass", "euclidean"].into_iter().enumerate() {
        assert!(printed.lines().any(|line| line.starts_with(geometry)), "{printed}");
        for (place, seed) in [42, 43].into_iter().enumerate() {
            let found = metrics(geometry, seed);
            assert_eq!(
                (found.training.parameters, &found.reference_length),
                (first.training.parameters, &first.reference_length)
            );
            assert_eq!(found.gaps.nearest_neighbour, first.gaps.nearest_neighbour);
            assert_eq!(table[row]["greedy"][place].as_f64(), Some(found.gaps.greedy.mean));
            assert!(found.gaps.greedy.mean > -1e-9 && found.gaps.best_of_samples.mean > -1e-9);
        }
    }
    assert!(Path::new(&out).join("polar/seeds.json").exists());
}

/// More cities than Held-Karp takes are measured from 2-opt.
#[test]
fn many_cities_are_measured_from_two_opt() {
    let d = Dir::new();
    let out = d.path("out");
    let small = SMALL.replace("--cities 5", "--cities 13").replace("instances 4", "instances 1");
    let printed = succeeds(&format!("{small} --epochs 1 --epoch-steps 2 --out {out}"));
    let metrics: TourMetrics = crate::common::metrics(&out);
    assert_eq!(metrics.reference, "best of 2-opt from 100 random starts");
    assert!(printed.contains("1 instances of 13 cities; best of 2-opt"), "{printed}");
}

const CITIES: &str = "NAME : six\nTYPE : TSP\nDIMENSION : 6\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n\
    1 0 0\n2 200 100\n3 100 0\n4 0 100\n5 200 0\n6 100 100\nEOF\n";

/// By the agent, or the shortest; both are in the list.
#[test]
fn a_file_is_solved_with_and_without_a_model() {
    let d = Dir::new();
    let (_, _, model) = train(&d, "model", "");
    let file = d.write("six.tsp", CITIES);
    for (name, more, method) in
        [("alone", "".into(), "shortest (Held-Karp)"), ("agent", format!("--model {model} --samples 5"), "")]
    {
        let out = d.path(name);
        let printed = succeeds(&format!("solve {file} --out {out} {more}"));
        let solved: SolveMetrics = crate::common::metrics(&out);
        assert_eq!(solved.cities, 6);
        let length = |method: &str| solved.lengths.iter().find(|(name, _)| name == method).unwrap().1;
        assert_eq!(length("shortest (Held-Karp)"), 600.0);
        assert!(printed.contains("         600  shortest (Held-Karp)"), "{printed}");
        assert!(solved.lengths.iter().all(|(_, length)| *length >= 600.0));
        assert!(solved.method.starts_with(method) && solved.method == solved.lengths[0].0);
        let tour = String::from_utf8(bytes(&out, "tour.tsv")).unwrap();
        let lines: Vec<&str> = tour.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[1]), (7, "city\tx\ty", "1\t0\t0"));
        let named = lines[1..].iter().map(|line| line.split('\t').next().unwrap());
        assert!(named.eq(solved.tour.iter()), "{tour}");
        text_fits(&format!("{out}/tour.svg"), &["length", "six.tsp", "5"]);
    }
    // The results of the model stay.
    let error = TOURS.fails(&["solve", &file, "--out", &model]);
    assert!(error.contains("a trained model is there") && error.ends_with("choose another --out"), "{error}");
    let _: TourMetrics = crate::common::metrics(&model);
    // A tour is a table of cities, and the first one stays.
    let out = d.path("twice");
    succeeds(&format!("solve {}/tour.tsv --out {out}", d.path("alone")));
    let twice: SolveMetrics = crate::common::metrics(&out);
    assert_eq!((twice.lengths[0].1, &*twice.tour[0]), (600.0, "1"));
    // Pictures of other cities.
    let plots = d.path("plots");
    succeeds(&format!("plot --model {model} --samples 2 --out {plots}"));
    text_fits(&format!("{plots}/tours.svg"), &["5 cities, polar", "best of 2"]);
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let d = Dir::new();
    let out = d.path("out");
    let fails = |text: &str| {
        let error = TOURS.fails(&words(text).iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!Path::new(&out).exists(), "{text}: nothing is written");
        error
    };
    let options = [
        ("--cities 2", "--cities 2: from 3 to 1000 are needed"),
        ("--cities 4000000000", "--cities 4000000000: from 3 to 1000 are needed"),
        ("--layers 0", "--layers 0: at least 1 is needed"),
        ("--epsilon 2", "--epsilon 2: a number from 0 to 1 is needed"),
        ("--temperature 0", "--temperature 0: a positive number is needed"),
        ("--samples 0", "--samples 0: at least 1 is needed"),
        ("--epoch-tours 20 --replay 10", "--epoch-tours 20: --replay 10 is less"),
        ("--epochs 90000000", "--epochs 90000000: a run has less than 2³² decisions"),
        ("--replay 4000000000000", "--replay 4000000000000: the tours in memory"),
        ("--head-dim 1", "--head-dim 1: --attention polar-distance needs 2 or more"),
        ("--table --geometry euclidean", "cannot be used with"),
        ("--geometry round", "[possible values: polar, weierstrass, euclidean]"),
    ];
    for (more, message) in options {
        let error = fails(&format!("train {more} --out {out}"));
        assert!(error.contains(message), "{more}: {error}");
    }
    let wrong = d.write("wrong.tsp", CITIES.replace("3 100 0", "3 100 west"));
    let error = fails(&format!("solve {wrong} --out {out}"));
    assert!(error.ends_with("wrong.tsp:8: y is \"west\", not a number from -1e150 to 1e150"), "{error}");
    let none = d.path("none");
    assert!(fails(&format!("solve {none} --out {out}")).contains("none: No such file"));
    let six = d.write("six.tsp", CITIES);
    assert!(fails(&format!("solve {six} --samples 5 --out {out}")).contains("--model"));
    let error = fails(&format!("solve {six} --starts 5 --out {out}"));
    assert_eq!(error, "--starts: there are 6 cities, whose shortest tour is found");
    let error = fails(&format!("solve {six} --starts 65537 --out {out}"));
    assert_eq!(error, "--starts 65537: at most 2¹⁶ are possible");
    let error = fails(&format!("solve {six} --model {none} --out {out}"));
    assert!(error.contains("none/metrics.json: No such file"), "{error}");
    // The model of another run.
    let (_, _, model) = train(&d, "model", "");
    let other = train(&d, "other", "--seed 7").2;
    std::fs::copy(format!("{other}/model.safetensors"), format!("{model}/model.safetensors")).unwrap();
    let error = fails(&format!("plot --model {model} --out {out}"));
    assert!(error.contains("model.safetensors: the model of a run with other options"), "{error}");
}

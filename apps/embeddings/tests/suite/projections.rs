//! `poincare plot --projection`: pictures, what they say, and errors.

use serde_json::Value;

use crate::common::{App, Dir};

const POINCARE: App = App(env!("CARGO_BIN_EXE_poincare"));

/// The edges of a binary tree of 15 nodes, and its points in a plane of the ball of three dimensions: every
/// node at its depth, in the middle of its sector.
fn tree(d: &Dir) -> (String, String) {
    let (mut edges, mut points) = (String::new(), String::new());
    for i in 1..16_u32 {
        let depth = i.ilog2();
        let angle = std::f64::consts::PI * (f64::from(2 * i + 1) / f64::from(1 << depth) - 2.0);
        let norm = (0.5 * f64::from(depth)).tanh();
        let (y, x) = angle.sin_cos();
        points += &format!("n{i}\t{}\t{}\t{}\n", norm * x, 0.6 * norm * y, 0.8 * norm * y);
        if i > 1 {
            edges += &format!("n{i}\tn{}\n", i / 2);
        }
    }
    (d.write("edges.tsv", edges), d.write("points.tsv", points))
}

/// Draws a picture; returns it and the result printed as JSON, if there is one.
#[track_caller]
fn plot(d: &Dir, args: &[&str]) -> (String, Option<Value>) {
    let out = d.path("disk.svg");
    let printed = POINCARE.succeeds(&[&["plot", "--json", "--out", &out][..], args].concat());
    let events = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    (std::fs::read_to_string(out).unwrap(), events.into_iter().find(|event| event["event"] == "result"))
}

#[test]
fn every_projection_says_what_it_is_and_how_much_it_distorts() {
    let d = Dir::new();
    let (edges, points) = tree(&d);
    let args = |projection| ["--embedding", &points, "--edges", &edges, "--projection", projection];
    for (projection, caption) in [("tangent", "principal tangent directions"), ("horopca", "HoroPCA")] {
        let (picture, result) = plot(&d, &args(projection));
        assert!(picture.contains(caption), "{projection}: {picture}");
        // The boundary, the nodes, and the legend: two subtrees and the root.
        assert_eq!(picture.matches("<circle").count(), 1 + 15 + 3, "{projection}");
        let result = result.unwrap();
        assert_eq!((&result["projection"], &result["pairs"]), (&projection.into(), &(15 * 7).into()));
        let distortion = result["average_distortion"].as_f64().unwrap();
        // The points are in a plane, which the tangent directions keep. HoroPCA mirrors some.
        let largest = if projection == "tangent" { 1e-9 } else { 0.25 };
        assert!((0.0..largest).contains(&distortion), "{projection}: {distortion}");
        assert_eq!(plot(&d, &args(projection)).0, picture, "{projection}: the same for every run");
    }
    let (sectors, result) = plot(&d, &args("sectors"));
    assert!(sectors.contains("a sector of its own") && result.is_none());
    // The default.
    assert_eq!(plot(&d, &args("sectors")[..4]).0, sectors);
    let (tangent, _) = plot(&d, &args("tangent")[..2]);
    assert!(tangent.contains("principal tangent directions"));
}

/// Three branches in a geodesic plane that does not go through the origin, in the ball and the same ones on
/// the hyperboloid: HoroPCA keeps their distances, the tangent directions at the origin do not.
#[test]
fn horopca_keeps_the_distances_of_a_plane() {
    let d = Dir::new();
    let (mut ball, mut hyperboloid) = (String::new(), String::new());
    let (cosh, sinh) = (1.5_f64.cosh(), 1.5_f64.sinh());
    for i in 0..21_u32 {
        let (r, branch) = (0.2 * f64::from(i), f64::from(i % 3));
        let angle = std::f64::consts::TAU / 3.0 * branch + 0.1 * f64::from(i).sin();
        let time = r.cosh() * cosh;
        let space = [r.sinh() * angle.cos(), r.sinh() * angle.sin(), r.cosh() * sinh];
        let line = |space: [f64; 3]| space.map(|c| c.to_string()).join("\t");
        ball += &format!("p{i}\t{}\n", line(space.map(|c| c / (1.0 + time))));
        hyperboloid += &format!("p{i}\t{time}\t{}\n", line(space));
    }
    for (points, model) in [(ball, "poincare"), (hyperboloid, "lorentz")] {
        let points = d.write(&format!("{model}.tsv"), points);
        let distortion = |projection: &str| {
            let args = ["--embedding", &points, "--model", model, "--projection", projection];
            plot(&d, &args).1.unwrap()["average_distortion"].as_f64().unwrap()
        };
        let [horopca, tangent] = ["horopca", "tangent"].map(distortion);
        assert!(horopca < 1e-4 && tangent > 0.05, "{model}: {horopca} {tangent}");
    }
}

/// Two dimensions are drawn as they are.
#[test]
fn two_dimensions_are_not_projected() {
    let d = Dir::new();
    let flat = d.write("flat.tsv", "a\t0.1\t0.2\nb\t0.9\t0\nc\t-0.3\t0.4\n");
    let (plain, result) = plot(&d, &["--embedding", &flat]);
    assert!(result.is_none());
    for projection in ["tangent", "horopca"] {
        assert_eq!(plot(&d, &["--embedding", &flat, "--projection", projection]), (plain.clone(), None));
    }
}

#[test]
fn bad_projections_get_one_line() {
    let d = Dir::new();
    let solid = d.write("solid.tsv", "a\t0.1\t0.2\t0\nb\t0.9\t0\t0.1\n");
    let out = d.path("disk.svg");
    let fails = |args: &[&str]| {
        POINCARE.fails(&[&["plot", "--embedding", &solid, "--out", &out, "--projection"][..], args].concat())
    };
    assert_eq!(
        fails(&["horopca", "--model", "euclidean"]),
        "--projection horopca: the embedding is euclidean; horospheres need a hyperbolic one"
    );
    let needed = "--projection sectors: the edges of a hierarchy are needed";
    assert_eq!(fails(&["sectors"]), needed);
    let cycle = d.write("cycle.tsv", "a\tb\nb\ta\n");
    assert_eq!(fails(&["sectors", "--edges", &cycle]), needed);
    assert!(!std::path::Path::new(&out).exists());
}

//! `poincare plot --projection`: pictures, what they say, and errors.

use serde_json::Value;

use crate::common::{App, Dir};

const POINCARE: App = App(env!("CARGO_BIN_EXE_poincare"));

/// The edges of a binary tree of 63 nodes, and its points in a plane of the ball of three dimensions: every
/// node at its depth, in the middle of its sector.
fn tree(d: &Dir) -> (String, String) {
    let (mut edges, mut points) = (String::new(), String::new());
    for i in 1..64_u32 {
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
        assert_eq!(picture.matches("<circle").count(), 1 + 63 + 3, "{projection}");
        let result = result.unwrap();
        assert_eq!((&result["projection"], &result["pairs"]), (&projection.into(), &(63 * 31).into()));
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

/// Of three clusters in three dimensions that are not in a plane through the origin, HoroPCA keeps distances
/// better than the tangent directions, in the ball and, the same ones, on the hyperboloid.
#[test]
fn horopca_keeps_distances_better() {
    let d = Dir::new();
    let (mut ball, mut hyperboloid) = (String::new(), String::new());
    for i in 0..60_u32 {
        let (centre, t) = (f64::from(i % 3), f64::from(i));
        let angle = 2.0 * centre + 0.4 * t.sin();
        let [x, y, z] = [angle.cos(), angle.sin(), 0.3 * (3.0 * t).sin()];
        let r = (x * x + y * y + z * z).sqrt();
        let distance = 5.0 + (2.0 * t).cos();
        let at = |length: f64| [x, y, z].map(|c| c / r * length).map(|c| c.to_string()).join("\t");
        ball += &format!("p{i}\t{}\n", at((0.5 * distance).tanh()));
        hyperboloid += &format!("p{i}\t{}\t{}\n", distance.cosh(), at(distance.sinh()));
    }
    let ball = d.write("ball.tsv", ball);
    let hyperboloid = d.write("hyperboloid.tsv", hyperboloid);
    let distortion = |embedding: &str, model: &str, projection: &str| {
        let args = ["--embedding", embedding, "--model", model, "--projection", projection];
        plot(&d, &args).1.unwrap()["average_distortion"].as_f64().unwrap()
    };
    let horopca = distortion(&ball, "poincare", "horopca");
    let tangent = distortion(&ball, "poincare", "tangent");
    assert!(horopca < 0.7 * tangent, "{horopca} {tangent}");
    let other = distortion(&hyperboloid, "lorentz", "horopca");
    assert!((horopca - other).abs() < 1e-3, "{horopca} {other}");
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

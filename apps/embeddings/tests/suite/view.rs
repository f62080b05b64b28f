//! The page of `poincare view`: its content, and in headless Chromium what it does. The scripts that drive it
//! are in `browser/`.

use std::collections::HashMap;
use std::process::Command;

use cotangent_apps_embeddings::graph::edges::MAMMALS;
use serde_json::Value;

use crate::common::{App, Dir};

const POINCARE: App = App(env!("CARGO_BIN_EXE_poincare"));

const HEAD: &str = include_str!("browser/head.js");
const PRELUDE: &str = include_str!("browser/prelude.js");
const EXPLORE: &str = include_str!("browser/explore.js");
const VISIT: &str = include_str!("browser/visit.js");

/// The browser, or `None` with a message where it is missing.
fn chromium() -> Option<&'static str> {
    let found =
        Command::new("chromium").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        cotangent::engine::skipped(format_args!("no chromium (Debian package chromium)"));
    }
    found.then_some("chromium")
}

/// Opens a page, runs a script in it with `nodes` as names of nodes, and returns what the script found.
fn drive(browser: &str, page: &str, script: &str, nodes: &[&str], flags: &[&str]) -> Value {
    let dir = Dir::new();
    let text = std::fs::read_to_string(page).unwrap();
    let text = text.replacen("<head>", &format!("<head>\n<script>\n{HEAD}</script>"), 1);
    // As in the page, no name may end the script.
    let nodes = serde_json::to_string(nodes).unwrap().replace('<', "\\u003c");
    let driver = format!("<script type=\"module\">\nconst nodes = {nodes};\n{PRELUDE}{script}</script>\n");
    let page = dir.write("driven.html", text + &driver);
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--enable-unsafe-swiftshader", "--no-first-run", "--dump-dom"])
        .args(["--disable-quic", "--disable-background-networking", "--disable-component-update"])
        .args(["--disable-sync", "--window-size=1200,900", "--virtual-time-budget=120000"])
        .arg(format!("--user-data-dir={}", dir.path("profile")))
        .args(flags)
        .arg(format!("file://{page}"))
        .output()
        .unwrap();
    let dom = String::from_utf8(output.stdout).unwrap();
    let report =
        dom.rsplit_once("<pre id=\"report\" hidden=\"\">").and_then(|(_, text)| text.split_once("</pre>"));
    let (report, _) = report.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let found: Value =
        serde_json::from_slice(&unescaped(report)).unwrap_or_else(|_| panic!("no report: {report}"));
    assert_eq!(found["errors"], serde_json::json!([]));
    found
}

/// The bytes of a text in percent encoding.
fn unescaped(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(&part.as_bytes()[2..]);
    }
    bytes
}

/// The data of a page.
fn data(page: &str) -> Value {
    let (_, data) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

/// The bytes of a base64 text.
fn decoded(text: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for c in text.as_str().unwrap().bytes().filter(|c| *c != b'=') {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

fn floats(text: &Value) -> Vec<f32> {
    decoded(text).chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn names(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

/// The page of the mammals, after a training of one epoch. (The page does not depend on how good it is.)
fn mammals(d: &Dir) -> String {
    let out = d.path("mammals");
    POINCARE.succeeds(&["train", "--epochs", "2", "--burn-in", "1", "--negatives", "5", "--out", &out]);
    format!("{out}/view.html")
}

/// Points in general position: `[n, width]`, as a TSV of the ball, of radius at most 0.9.
fn scattered(n: usize, width: usize) -> String {
    let coordinate = |i: usize, k: usize| 0.9 * ((i * width + k) as f64 * 0.7331 + 1.0).sin();
    let row =
        |i| (0..width).map(|k| format!("\t{}", coordinate(i, k) / (width as f64).sqrt())).collect::<String>();
    (0..n).map(|i| format!("p{i}{}\n", row(i))).collect()
}

#[test]
fn names_are_data_whatever_they_contain() {
    let d = Dir::new();
    let odd = [
        "</script><b>",
        "\"quoted\"",
        "line\u{2028}separator",
        "<!--<script>",
        "a\\b",
        "&amp;",
        "/*data*/",
        "ü\0",
    ];
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let rows: String =
        odd.iter().enumerate().map(|(i, name)| format!("{}\t0.{i}1\t0.0\n", quoted(name))).collect();
    let (tsv, out) = (d.write("odd.tsv", rows), d.path("odd.html"));
    assert_eq!(
        POINCARE.succeeds(&["view", "--embedding", &tsv, "--out", &out]),
        format!("written to {out}\n")
    );
    let page = std::fs::read_to_string(&out).unwrap();
    // The data and the script end where they should.
    assert_eq!(page.matches("</script").count(), 2);
    assert_eq!(page.matches("<!--").count(), 1);
    let mut found = names(&data(&page)["names"]).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let mut want = odd.map(str::to_owned).to_vec();
    found.sort();
    want.sort();
    assert_eq!(found, want);
    if let Some(browser) = chromium() {
        let visits = drive(browser, &out, VISIT, &odd[..7], &[])["visits"].clone();
        for (visit, name) in visits.as_array().unwrap().iter().zip(odd) {
            assert!(number(&visit["missed"]) < 1e-9, "{name:?}: {visit}");
            assert_eq!(visit["title"], name);
            let near = names(&visit["names"]);
            assert!(near.len() == 7 && near.iter().all(|near| odd.contains(near)), "{name:?}: {visit}");
        }
    }
}

/// Nothing is loaded: there is no address in the page, and a policy that forbids it.
#[test]
fn the_page_of_the_mammals_is_small_and_alone() {
    let d = Dir::new();
    let page = std::fs::read_to_string(mammals(&d)).unwrap();
    assert!(page.len() <= 1_000_000, "{} bytes", page.len());
    for address in ["http:", "https:", "url(", "@import", "src=", "import(", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(address), "{address}");
    }
    assert!(page.contains("default-src 'none'"));
    let data = data(&page);
    let nodes: std::collections::HashSet<&str> =
        MAMMALS.split(['\t', '\n']).filter(|s| !s.is_empty()).collect();
    assert_eq!(names(&data["names"]).into_iter().collect::<std::collections::HashSet<_>>(), nodes);
    assert_eq!(data["near"]["form"], "listed");
    assert!(data["caption"].as_str().unwrap().contains("; mean rank "), "{}", data["caption"]);
}

/// The points of the page are those of the picture, in the same colours.
#[test]
fn the_page_opens_like_the_picture() {
    let d = Dir::new();
    let edges = d.write("tree.tsv", (1..40).map(|i| format!("p{i}\tp{}\n", (i - 1) / 2)).collect::<String>());
    let (tsv, svg, html) = (d.path("e.tsv"), d.path("disk.svg"), d.path("view.html"));
    for (width, edges) in [(2, None), (3, None), (3, Some(edges.as_str()))] {
        d.write("e.tsv", scattered(40, width));
        let more: Vec<&str> = edges.iter().flat_map(|edges| ["--edges", edges]).collect();
        for (command, out) in [("plot", &svg), ("view", &html)] {
            POINCARE.succeeds(&[&[command, "--embedding", &tsv, "--out", out][..], &more].concat());
        }
        let picture = std::fs::read_to_string(&svg).unwrap();
        let dots: Vec<(f64, f64, &str)> = picture
            .split("<circle ")
            .skip(2)
            .map(|tag| {
                let value =
                    |name: &str| tag.split_once(&format!("{name}=\"")).unwrap().1.split('"').next().unwrap();
                (value("cx").parse().unwrap(), value("cy").parse().unwrap(), value("fill"))
            })
            .collect();
        let page = std::fs::read_to_string(&html).unwrap();
        let data = data(&page);
        let (points, classes) = (floats(&data["points"]), decoded(&data["classes"]));
        let index: HashMap<&str, usize> = names(&data["names"]).into_iter().zip(0..).collect();
        assert_eq!(index.len(), 40);
        for (i, &(x, y, fill)) in dots[..40].iter().enumerate() {
            let node = index[format!("p{i}").as_str()];
            let [u, v] = [points[2 * node], points[2 * node + 1]].map(f64::from);
            let scale = 440.0 * (u.hypot(v) / 2.0).tanh() / u.hypot(v).max(f64::MIN_POSITIVE);
            let missed = (480.0 + scale * u - x).hypot(480.0 - scale * v - y);
            assert!(missed < 0.01, "{width} {edges:?}: p{i} is {missed} pixels off");
            assert_eq!(data["colours"][classes[node] as usize], fill, "{width} {edges:?}: p{i}");
        }
        let count = decoded(&data["edges"]).len() / 8;
        assert_eq!(count, if edges.is_some() { 39 } else { 0 });
    }
}

/// The whole of it, with WebGL and without.
#[test]
fn a_reader_explores_the_page() {
    let Some(browser) = chromium() else { return };
    let d = Dir::new();
    let page = mammals(&d);
    let nodes = ["dog.n.01", "tiger.n.02"];
    for (flags, renderer) in
        [(&["--blink-settings=preferredColorScheme=1"][..], None), (&["--disable-3d-apis"], Some("2d"))]
    {
        let found = drive(browser, &page, EXPLORE, &nodes, flags);
        let near = |value: &Value, want: f64, within: f64| {
            assert!((number(value) - want).abs() <= within, "{value} is not {want}: {found:#}");
        };
        let is = |value: &Value, want: bool| assert_eq!(value, want, "{found:#}");
        let start = &found["start"];
        assert_eq!((&start["nodes"], start["zoom"].as_f64()), (&Value::from(1182), Some(1.0)), "{start}");
        assert!(number(&start["edges"]) > 1100.0 && number(&start["labels"]) >= 10.0, "{start}");
        assert!(renderer.is_none_or(|renderer| start["renderer"] == renderer), "{start}");
        assert!(number(&found["frames"]) >= 1.0);
        numbers(&found["ink"]).iter().for_each(|&ink| assert!(ink > 1000.0, "{found:#}"));
        numbers(&found["dots"]).iter().for_each(|&dot| assert!(dot > 100.0, "{found:#}"));

        near(&found["drag"]["missed"], 0.0, 1e-6);
        near(&found["drag"]["stretched"], 0.0, 1e-9);
        near(&found["drag"]["undone"], 0.0, 1e-9);
        assert!(number(&found["drag"]["dot"]) > 100.0, "{found:#}");
        assert_eq!(found["drag"]["selected"], Value::Null, "a drag is no click");
        near(&found["wheel"]["missed"], 0.0, 1e-6);
        near(&found["wheel"]["zoom"], 0.9_f64.exp(), 1e-9);
        near(&found["pinch"], 3.0, 1e-9);
        for k in 0..2 {
            near(&found["home"]["centre"][k], 0.0, 1e-9);
        }
        near(&found["home"]["zoom"], 1.0, 0.0);
        let [right, up] = [&found["right"], &found["up"]].map(numbers);
        assert!(right[0] > 0.1 && right[1].abs() < 1e-9 && up[1] > 0.1, "{right:?} {up:?}");
        near(&found["plus"], 1.3, 1e-9);
        near(&found["minus"], 1.0, 1e-9);

        is(&found["focused"], true);
        assert!(number(&found["suggestions"]) >= 1.0);
        let search = &found["search"];
        is(&search["selected"], true);
        is(&found["departed"], true);
        is(&search["announced"], true);
        near(&search["disk"], 0.0, 1e-9);
        near(&search["missed"], 0.0, 1e-6);
        near(&search["centred"], 0.0, 1e-6);
        near(&search["stretched"], 0.0, 1e-9);
        assert_eq!(search["card"], format!("depth {:.3}", number(&search["depth"])));
        assert_eq!(names(&search["near"]).len(), 10);
        assert!(numbers(&search["distances"]).is_sorted(), "{search}");
        for what in ["cleared", "hovered", "clicked"] {
            is(&found[what], true);
        }
        near(&found["returned"], 0.0, 1e-9);
        is(&found["unknown"], false);

        let dark = |state: &Value| state[0].as_bool().unwrap();
        assert!(dark(&found["dark"]) != dark(&found["toggled"]), "{found:#}");
        assert_ne!(found["dark"][1], found["toggled"][1]);
        assert_eq!(found["colouring"], "depth");
        assert_eq!(found["unlabelled"], serde_json::json!([]));
    }
}

/// The colours follow the reader's preference.
#[test]
fn colours_follow_the_preference() {
    let Some(browser) = chromium() else { return };
    let d = Dir::new();
    let (tsv, out) = (d.write("e.tsv", scattered(3, 2)), d.path("view.html"));
    POINCARE.succeeds(&["view", "--embedding", &tsv, "--out", &out]);
    let look = "async function look() { found.dark = page.state().dark; }";
    for (scheme, dark) in [("0", true), ("1", false)] {
        let flag = format!("--blink-settings=preferredColorScheme={scheme}");
        assert_eq!(drive(browser, &out, look, &[], &[&flag])["dark"], dark);
    }
}

/// Neighbours of a few nodes, which the program computes, and of many, which the page does, are those that
/// `poincare neighbours` lists, in every space.
#[test]
fn neighbours_are_those_of_the_embedding() {
    let Some(browser) = chromium() else { return };
    let d = Dir::new();
    for (count, model, kappa, form) in [
        (30, "poincare", "-1", "listed"),
        (2_001, "poincare", "-2", "computed"),
        (2_001, "lorentz", "-0.5", "computed"),
        (2_001, "euclidean", "0", "computed"),
    ] {
        let rows = scattered(count, 3);
        let rows = match model {
            "lorentz" => rows.lines().map(|row| on_the_hyperboloid(row, 0.5)).collect(),
            "poincare" if kappa == "-2" => rows.lines().map(|row| scaled(row, 0.5_f64.sqrt())).collect(),
            _ => rows,
        };
        let (tsv, out) = (d.write("e.tsv", rows), d.path("view.html"));
        let embedding = ["--embedding", tsv.as_str(), "--model", model, "--kappa", kappa];
        POINCARE.succeeds(&[&["view", "--out", &out][..], &embedding].concat());
        let page = std::fs::read_to_string(&out).unwrap();
        assert_eq!(data(&page)["near"]["form"], form);
        let nodes = ["p7", "p29"];
        let visits = drive(browser, &out, VISIT, &nodes, &[])["visits"].clone();
        for (visit, name) in visits.as_array().unwrap().iter().zip(nodes) {
            assert!(number(&visit["missed"]) < 1e-9, "{visit}");
            let listed = POINCARE.succeeds(&[&["neighbours", name][..], &embedding].concat());
            let found = names(&visit["names"]).into_iter().zip(numbers(&visit["distances"]));
            for ((near, distance), line) in found.zip(listed.lines()) {
                let (want, want_name) = line.trim().split_once("  ").unwrap();
                let want: f64 = want.parse().unwrap();
                assert!((distance - want).abs() < 2e-3, "{model} {name}: {near} {distance}, {line}");
                assert!(
                    near == want_name || (distance - want).abs() < 1e-3,
                    "{model} {name}: {near}, {line}"
                );
            }
            assert_eq!(listed.lines().count(), names(&visit["names"]).len());
        }
    }
}

/// A row of a TSV with other coordinates.
fn changed(row: &str, change: impl Fn(Vec<f64>) -> Vec<f64>) -> String {
    let (name, numbers) = row.split_once('\t').unwrap();
    let numbers = change(numbers.split('\t').map(|x| x.parse().unwrap()).collect());
    format!("{name}\t{}\n", numbers.iter().map(f64::to_string).collect::<Vec<_>>().join("\t"))
}

fn scaled(row: &str, factor: f64) -> String {
    changed(row, |x| x.iter().map(|x| x * factor).collect())
}

/// Lifts coordinates to the hyperboloid of curvature −k: x₀² = 1/k + |x|².
fn on_the_hyperboloid(row: &str, k: f64) -> String {
    changed(row, |x| {
        let time = (1.0 / k + x.iter().map(|x| x * x).sum::<f64>()).sqrt();
        [&[time][..], &x].concat()
    })
}

/// Flights between points close to the boundary, on opposite sides, end at the point.
#[test]
fn flights_reach_the_deepest_points() {
    let Some(browser) = chromium() else { return };
    let d = Dir::new();
    let deep = 1.0 - 1e-9;
    let rows = format!("east\t{deep}\t0\nwest\t-{deep}\t0\nnorth\t0\t{deep}\norigin\t0\t0\n");
    let (tsv, out) = (d.write("e.tsv", rows), d.path("view.html"));
    POINCARE.succeeds(&["view", "--embedding", &tsv, "--out", &out]);
    let nodes = ["east", "west", "north", "west", "origin", "east"];
    let visits = drive(browser, &out, VISIT, &nodes, &[])["visits"].clone();
    assert_eq!(visits.as_array().unwrap().len(), nodes.len());
    for (visit, name) in visits.as_array().unwrap().iter().zip(nodes) {
        assert!(visit["known"] == true && number(&visit["missed"]) < 1e-6, "{name}: {visit}");
    }
}

#[test]
fn bad_input_gets_one_line() {
    let d = Dir::new();
    let (tsv, out) = (d.write("e.tsv", scattered(3, 2)), d.path("view.html"));
    let view = |more: &[&str]| POINCARE.fails(&[&["view", "--out", &out][..], more].concat());
    assert!(view(&["--embedding", &d.path("none.tsv")]).contains("none.tsv: No such file"));
    let edges = d.write("edges.tsv", "p0\tp1\np1\tq\n");
    let error = view(&["--embedding", &tsv, "--edges", &edges]);
    assert!(error.ends_with("e.tsv: no point for node \"q\" of the edge list"), "{error}");
    assert!(!std::path::Path::new(&out).exists());
    let error = POINCARE.fails(&["view", "--embedding", &tsv, "--out", &d.path("none/view.html")]);
    assert!(error.contains("none/view.html: "), "{error}");
}

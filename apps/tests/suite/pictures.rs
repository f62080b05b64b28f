//! Pictures: their text can be read.

use crate::common::{App, Dir};
use crate::{graph, gru, poincare, subtree};

/// The value of an attribute of an element.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = element.split_once(&format!(" {name}=\""))?;
    value.split('"').next()
}

/// Each line of text of a picture with where it begins and ends: at half the font's size for each character,
/// which is less than any font takes.
fn lines(svg: &str) -> Vec<(f64, f64, String)> {
    let mut groups = vec![(12.0, "start".to_owned())];
    let mut lines = Vec::new();
    for element in svg.split('<').skip(1) {
        let (tag, content) = element.split_once('>').unwrap();
        let (size, anchor) = groups.last().unwrap().clone();
        let size =
            attribute(tag, "font-size").map_or(size, |size| size.trim_end_matches("px").parse().unwrap());
        let anchor = attribute(tag, "text-anchor").map_or(anchor, str::to_owned);
        match tag.split_whitespace().next().unwrap() {
            "g" => groups.push((size, anchor)),
            "/g" => drop(groups.pop()),
            "text" => {
                let text = content.trim();
                let width = 0.5 * size * text.chars().count() as f64;
                let x: f64 = attribute(tag, "x").unwrap().parse().unwrap();
                let start = x - width
                    * match anchor.as_str() {
                        "start" => 0.0,
                        "middle" => 0.5,
                        _ => 1.0,
                    };
                lines.push((start, start + width, text.to_owned()));
            }
            _ => {}
        }
    }
    lines
}

#[track_caller]
fn text_fits(path: &str, contains: &[&str]) {
    let svg = std::fs::read_to_string(path).unwrap();
    let width: f64 = attribute(svg.split_once("<svg").unwrap().1, "width").unwrap().parse().unwrap();
    let lines = lines(&svg);
    for (start, end, text) in &lines {
        assert!(*start >= 0.0 && *end <= width, "{path}: {text:?} from {start} to {end} of {width}");
    }
    let all = lines.into_iter().map(|(_, _, text)| text).collect::<Vec<_>>().join(" ");
    contains.iter().for_each(|text| assert!(all.contains(text), "{path}: {text:?} is not in {all:?}"));
}

#[test]
fn text_is_within_its_picture() {
    let d = Dir::new();
    let (out, name) = (
        d.path("out"),
        "a name that is longer than half of any picture is wide, and then some more of it, ".repeat(2),
    );
    let file = |name: &str| format!("{out}/{name}");

    let text = std::fs::read_to_string(d.tree()).unwrap().replace("n1\n", &format!("{name}\n"));
    let tree = d.write("named.tsv", text);
    let args = ["train", "--edges", &tree, "--dim", "3", "--out", &out];
    App(env!("CARGO_BIN_EXE_poincare")).succeeds(&[&args[..], &poincare::SHORT[..]].concat());
    text_fits(&file("disk.svg"), &["63 nodes, 3-dimensional", "of the spread); mean rank", "a name that is"]);

    let pairs = std::fs::read_to_string(gru::echoes(&d)).unwrap().replace("yes\t", &format!("{name}\t"));
    let data = d.write(&name[..name.len().min(150)], pairs);
    let args = ["--data", &data, "--epochs", "1", "--dim", "2", "--out", &out];
    App(env!("CARGO_BIN_EXE_gru")).succeeds(&args);
    text_fits(&file("curves.svg"), &["training loss: best"]);
    text_fits(&file("sentences.svg"), &["test accuracy", "a name that is", "no"]);

    let path = graph::groups(&d, true);
    App(env!("CARGO_BIN_EXE_graph")).succeeds(&["--path", &path, "--epochs", "2", "--out", &out]);
    text_fits(&file("embeddings-1.svg"), &["groups, layer 1, first head", "of the spread)"]);
    text_fits(&file("curves.svg"), &["additive attention"]);

    let [edges, points] = subtree::hierarchy(&d).map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.replace("left\n", &format!("{name}\n")).replace("left\t", &format!("{name}\t"))
    });
    let (edges, points) = (d.write("edges.tsv", edges), d.write("points.tsv", points));
    let args = ["--embedding", &points, "--edges", &edges, "--root", &name, "--epochs", "1", "--out", &out];
    App(env!("CARGO_BIN_EXE_subtree")).succeeds(&args);
    text_fits(&file(&format!("{name}-log0.svg")), &["in two dimensions, log0: F1"]);
}

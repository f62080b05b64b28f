//! `graph-tasks generate` from the outside: files, pictures, and errors for bad input.

use cotangent_apps_graphs::graph_tasks::GraphSummary;

use crate::common::{App, Dir, bytes};
use crate::shared::pictures::text_fits;

const GRAPH_TASKS: App = App(env!("CARGO_BIN_EXE_graph-tasks"));

/// Generates a graph, and returns what was printed.
fn generate(out: &str, more: &str) -> String {
    let args = ["generate", "--out", out].into_iter().chain(more.split_whitespace());
    GRAPH_TASKS.succeeds(&args.collect::<Vec<_>>())
}

#[test]
fn a_graph_is_written_and_drawn() {
    let d = Dir::new();
    let out = d.path("disc");
    let printed = generate(&out, "--nodes 200 --seed 3 --curriculum 90:120,200:200,360:200");
    let summary: GraphSummary = crate::common::metrics(&out);
    let text = |name: &str| String::from_utf8(bytes(&out, name)).unwrap();
    let parsed = |line: &str| line.split('\t').map(|x| x.parse::<f64>().unwrap()).collect::<Vec<f64>>();

    let edges: Vec<Vec<f64>> = text("edges.tsv").lines().map(parsed).collect();
    assert!(edges.len() == summary.edges && edges.is_sorted(), "{summary:?}");
    assert!(edges.iter().all(|edge| edge.len() == 2 && edge[0] < edge[1] && edge[1] < 200.0));
    assert!(printed.contains(&format!(", {} edges, in ", edges.len())), "{printed}");

    let table = text("coordinates.tsv");
    let (head, rows) = table.split_once('\n').unwrap();
    assert_eq!(head, "node\tradius\tangle");
    let rows: Vec<Vec<f64>> = rows.lines().map(parsed).collect();
    assert!(rows.len() == 200 && rows.iter().zip(0..).all(|(row, node)| row[0] == f64::from(node)));
    // The coordinates are exact: they give the edges.
    let close = |u: &Vec<f64>, v: &Vec<f64>| {
        let [radial, turn] = [(0.5 * (u[1] - v[1])).sinh(), (0.5 * (u[2] - v[2])).sin()];
        let square = radial * radial + u[1].sinh() * v[1].sinh() * turn * turn;
        2.0 * square.sqrt().asinh() <= 0.35 * summary.radius
    };
    let count: usize = (0..200).map(|u| rows[..u].iter().filter(|v| close(&rows[u], v)).count()).sum();
    assert_eq!(count, edges.len());

    text_fits(&format!("{out}/disc.svg"), &["200 nodes", &format!("{} edges", edges.len()), "radius 4.18"]);
    let lessons = ["lesson 1: 90° of 120 nodes", "lesson 2: 200° of 200 nodes", "lesson 3: 360°"];
    text_fits(&format!("{out}/curriculum.svg"), &lessons);

    let same = d.path("same");
    generate(&same, "--nodes 200 --seed 3 --threads 1");
    assert!(bytes(&same, "edges.tsv") == bytes(&out, "edges.tsv"));
    assert!(text("curriculum.svg").contains("lesson 3") && !printed.contains("not drawn"), "{printed}");
}

/// Of a large graph some nodes are drawn, and the picture says so.
#[test]
fn the_picture_of_a_large_graph_says_what_is_left_out() {
    let d = Dir::new();
    let out = d.path("large");
    let printed = generate(&out, "--nodes 12000 --factor 0.1");
    assert!(printed.contains("longest path not searched for"), "{printed}");
    assert!(printed.contains("curriculum.svg is not drawn"), "{printed}");
    text_fits(&format!("{out}/disc.svg"), &["6000 nodes are drawn", "without edges"]);
    assert_eq!(crate::common::metrics::<GraphSummary>(&out).longest_path, None);
}

#[test]
fn impossible_graphs_are_refused() {
    let d = Dir::new();
    let out = d.path("out");
    for (options, message) in [
        ("--nodes 0", "--nodes 0: at least 2 are needed"),
        ("--nodes 1", "--nodes 1: at least 2 are needed"),
        ("--nodes 4294967296", "--nodes 4294967296: at most 4294967295 are possible"),
        ("--nodes 2000000000 --factor 1", "--nodes 2000000000: a graph of about "),
        ("--nodes -5", "invalid value '-5' for '--nodes <NODES>'"),
        ("--alpha 0", "--alpha 0: a positive number is needed"),
        ("--alpha nan", "--alpha NaN: a positive number is needed"),
        ("--factor -0.5", "--factor -0.5: a positive number is needed"),
        ("--factor inf", "--factor inf: a positive number is needed"),
        ("--disc-radius -1", "--disc-radius -1: a positive number is needed"),
        ("--disc-radius 1000", "--disc-radius 1000: from 0.001 to 350 is needed"),
        ("--curriculum 90:", "a lesson is ANGLE or ANGLE:NODES, such as 30 or 30:500"),
        ("--curriculum 400:100", "lesson 400:100: an angle above 0, of at most 360, is needed"),
        ("--curriculum 90:1", "lesson 90:1: --nodes 1: at least 2 are needed"),
        ("--threads 0", "--threads 0: at least 1 is needed"),
    ] {
        let args = ["generate", "--out", &out].into_iter().chain(options.split_whitespace());
        let error = GRAPH_TASKS.fails(&args.collect::<Vec<_>>());
        assert!(error.contains(message), "{options}: {error}");
    }
    assert!(!std::path::Path::new(&out).exists());
    GRAPH_TASKS.is_refused_in_a_held_directory(&["generate"], &out);
}

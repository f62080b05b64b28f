//! The files of several graphs: written and read, as distributed, and what is wrong with bad ones.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::super::GeneratedGraphs;
use super::*;

const SMALL: GeneratedGraphs =
    GeneratedGraphs { graphs: 3, held_out: 2, nodes: 8, degree: 3, features: 3, labels: 2, seed: 5 };

/// A directory with small graphs.
fn written() -> (TempDir, GraphCollection) {
    let (directory, graphs) = (TempDir::new().unwrap(), SMALL.generate());
    graphs.write(directory.path()).unwrap();
    (directory, graphs)
}

/// The error of reading a directory, without the directory.
#[track_caller]
fn fails(directory: &TempDir) -> String {
    let message = GraphCollection::read(directory.path()).unwrap_err().to_string();
    message.replace(&format!("{}/", directory.path().display()), "")
}

/// Writes a file of the directory anew while `fails` reads it.
#[track_caller]
fn with(directory: &TempDir, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = directory.path().join(name);
    let before = fs::read(&path).unwrap();
    fs::write(&path, content).unwrap();
    let message = fails(directory);
    fs::write(&path, before).unwrap();
    message
}

fn npy<N: Copy, const SIZE: usize>(
    kind: &str,
    shape: &str,
    numbers: &[N],
    bytes: fn(N) -> [u8; SIZE],
) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    let elements: Vec<u8> = numbers.iter().flat_map(|&number| bytes(number)).collect();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &elements].concat()
}

#[track_caller]
fn same(found: &MultiLabelGraph, wanted: &MultiLabelGraph) {
    assert_eq!(found.edges.pairs(), wanted.edges.pairs());
    assert_eq!((&found.features, &found.labels), (&wanted.features, &wanted.labels));
}

#[test]
fn what_is_written_is_read() {
    let (directory, graphs) = written();
    assert!(GraphCollection::is_in(directory.path()));
    let read = GraphCollection::read(directory.path()).unwrap();
    assert_eq!((read.parts.each_ref().map(Vec::len), read.widths()), ([3, 2, 2], [3, 2]));
    for (found, wanted) in read.parts.iter().flatten().zip(graphs.parts.iter().flatten()) {
        same(found, wanted);
    }
    assert_eq!(read.fingerprint(), graphs.fingerprint());
    let name = directory.path().file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!((read.name, read.read_as), (name, Vec::<String>::new()));
    let other = GeneratedGraphs { seed: 6, ..SMALL }.generate();
    assert_ne!(other.fingerprint(), graphs.fingerprint());
}

/// Element types as PPI is distributed, graphs that are mixed, links in one direction, twice, and between
/// graphs, and nodes in any order.
#[test]
fn files_of_other_programs_are_read() {
    let directory = TempDir::new().unwrap();
    let write = |name: &str, content: &[u8]| fs::write(directory.path().join(name), content).unwrap();
    let network = r#"{"directed": false, "graph": {"name": "disjoint_union( , )"}, "nodes":
        [{"id": 3, "test": false}, {"id": 0}, {"id": 1}, {"id": 2}, {"id": 4}], "multigraph": false,
        "links": [{"source": 0, "target": 2}, {"source": 2, "target": 0, "weight": 2.5},
        {"source": 4, "target": 2}, {"target": 4, "source": 1}, {"source": 3, "target": 3}]}"#;
    for part in PARTS {
        write(&format!("{part}_graph.json"), network.as_bytes());
        let features: Vec<f64> = (0..10).map(|i| 0.5 * f64::from(i)).collect();
        write(&format!("{part}_feats.npy"), &npy("<f8", "(5, 2)", &features, f64::to_le_bytes));
        let labels = [1_i64, 0, 0, 0, 0, 1, 1, 1, 0, 0];
        write(&format!("{part}_labels.npy"), &npy("<i8", "(5, 2)", &labels, i64::to_le_bytes));
        let numbers = [21_i64, 22, 21, 22, 21];
        write(&format!("{part}_graph_id.npy"), &npy("<i8", "(5,)", &numbers, i64::to_le_bytes));
    }
    let read = GraphCollection::read(directory.path()).unwrap();
    let [first, second] = &read.parts[2][..] else { panic!("{} graphs", read.parts[2].len()) };
    let edges = vec![(0, 1), (1, 2)];
    let features = Tensor::new([3, 2], vec![0.0, 0.5, 2.0, 2.5, 4.0, 4.5]);
    let labels = Tensor::new([3, 2], vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    same(first, &MultiLabelGraph::new(features, labels, edges));
    assert_eq!(first.edges.pairs(), [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)]);
    let features = Tensor::new([2, 2], vec![1.0, 1.5, 3.0, 3.5]);
    same(second, &MultiLabelGraph::new(features, Tensor::new([2, 2], vec![0.0, 0.0, 1.0, 1.0]), vec![]));
    assert_eq!(read.read_as[1], "valid_graph.json: 1 links between different graphs are left out");
    // Newer versions of NetworkX say "edges".
    let newer = network.replace("\"links\"", "\"edges\"");
    write("train_graph.json", newer.as_bytes());
    same(&GraphCollection::read(directory.path()).unwrap().parts[0][0], first);
}

#[test]
fn a_bad_file_gets_a_line_that_names_the_place() {
    let (directory, graphs) = written();
    let [nodes, validation] =
        [0, 1].map(|part: usize| graphs.parts[part].iter().map(MultiLabelGraph::nodes).sum::<usize>());
    let json = fs::read_to_string(directory.path().join("train_graph.json")).unwrap();
    let count = json.matches("\"source\"").count();
    let link = |ends: &str| json.replace("]}", &format!(",{{{ends}}}]}}"));
    assert_eq!(
        with(&directory, "train_graph.json", link(&format!("\"source\":0,\"target\":{nodes}"))),
        format!("train_graph.json: links[{count}]: node {nodes} is not there: there are {nodes} nodes")
    );
    assert_eq!(
        with(&directory, "train_graph.json", link("\"source\":-1,\"target\":0")),
        format!("train_graph.json: links[{count}]: node -1 is not there: there are {nodes} nodes")
    );
    let twice = with(&directory, "train_graph.json", json.replace("{\"id\":1}", "{\"id\":0}"));
    assert_eq!(twice, "train_graph.json: nodes[1]: id 0 occurs twice");
    let beyond = with(&directory, "train_graph.json", json.replace("{\"id\":1}", "{\"id\":1000}"));
    let last = nodes - 1;
    assert_eq!(beyond, format!("train_graph.json: nodes[1]: id 1000; ids of {nodes} nodes are 0 to {last}"));
    let broken = with(&directory, "train_graph.json", json.replace("\"nodes\"", "\n\"knots\""));
    assert!(broken.starts_with("train_graph.json:2: column ") && broken.contains("nodes"), "{broken}");
    let empty = with(&directory, "train_graph.json", "{\"nodes\":[],\"links\":[]}");
    assert_eq!(empty, "train_graph.json: 0 nodes");

    let rows = |count: usize, width: usize| vec![1.0_f32; count * width];
    let array = |count: usize, width: usize, numbers: &[f32]| {
        npy("<f4", &format!("({count}, {width})"), numbers, f32::to_le_bytes)
    };
    let short = array(nodes - 1, 3, &rows(nodes - 1, 3));
    let message = format!("train_feats.npy: {last} rows; train_graph.json has {nodes} nodes");
    assert_eq!(with(&directory, "train_feats.npy", short), message);
    let mut features = rows(nodes, 3);
    features[7] = f32::NAN;
    let message = "train_feats.npy: row 2, column 1, counted from 0: NaN is not finite";
    assert_eq!(with(&directory, "train_feats.npy", array(nodes, 3, &features)), message);
    let flat = npy("<f4", &format!("({nodes},)"), &rows(nodes, 1), f32::to_le_bytes);
    let message = format!("train_feats.npy: an array of shape [{nodes}]; [nodes, features] is needed");
    assert_eq!(with(&directory, "train_feats.npy", flat), message);
    let wide = array(validation, 4, &rows(validation, 4));
    let message = "valid_feats.npy: 4 features; nodes for training have 3";
    assert_eq!(with(&directory, "valid_feats.npy", wide), message);
    let narrow = array(validation, 1, &rows(validation, 1));
    let message = "valid_labels.npy: 1 labels; nodes for training have 2";
    assert_eq!(with(&directory, "valid_labels.npy", narrow), message);

    let mut labels = rows(nodes, 2);
    labels[5] = 2.0;
    let message = "train_labels.npy: row 2, column 1, counted from 0: 2 is neither 0 nor 1";
    assert_eq!(with(&directory, "train_labels.npy", array(nodes, 2, &labels)), message);
    labels[5] = f32::NAN;
    let message = "train_labels.npy: row 2, column 1, counted from 0: NaN is neither 0 nor 1";
    assert_eq!(with(&directory, "train_labels.npy", array(nodes, 2, &labels)), message);
    let short = array(nodes + 1, 2, &rows(nodes + 1, 2));
    let message = format!("train_labels.npy: {} rows; train_graph.json has {nodes} nodes", nodes + 1);
    assert_eq!(with(&directory, "train_labels.npy", short), message);
    let mut labels = rows(nodes, 2);
    labels[2 * graphs.parts[0][0].nodes()..].fill(0.0);
    let message = "train_labels.npy: graph 2 has no labels";
    assert_eq!(with(&directory, "train_labels.npy", array(nodes, 2, &labels)), message);
    assert_eq!(
        with(&directory, "train_labels.npy", array(nodes, 0, &[])),
        format!("train_labels.npy: an array of shape [{nodes}, 0]; [nodes, labels] is needed")
    );

    let numbers = |row: usize, number: f64| {
        let mut numbers: Vec<f64> = (0..nodes).map(|node| if node < 4 { 1.0 } else { 2.0 }).collect();
        numbers[row] = number;
        npy("<f8", &format!("({nodes},)"), &numbers, f64::to_le_bytes)
    };
    let message = "train_graph_id.npy: graph 3 has no nodes; graphs are 1 to 4";
    assert_eq!(with(&directory, "train_graph_id.npy", numbers(6, 4.0)), message);
    for (number, shown) in [(1.5, "1.5"), (f64::NAN, "NaN")] {
        let message = format!("train_graph_id.npy: row 6, counted from 0: {shown} is no graph's number");
        assert_eq!(with(&directory, "train_graph_id.npy", numbers(6, number)), message);
    }
    let short = npy("<i8", "(2,)", &[1_i64, 1], i64::to_le_bytes);
    let message = format!("train_graph_id.npy: 2 rows; train_graph.json has {nodes} nodes");
    assert_eq!(with(&directory, "train_graph_id.npy", short), message);

    assert!(GraphCollection::read(directory.path()).is_ok());
    fs::remove_file(directory.path().join("test_labels.npy")).unwrap();
    assert!(fails(&directory).starts_with("test_labels.npy.gz: No such file"), "{}", fails(&directory));
    assert!(!GraphCollection::is_in(Path::new("nowhere")));
}

/// The rule of the labels, by hand from edges and features.
#[test]
fn labels_are_those_that_the_opposite_neighbour_decides() {
    let options = GeneratedGraphs { labels: 3, features: 4, ..SMALL };
    let mut counts = [0, 0];
    for graph in options.generate().parts.iter().flatten() {
        assert!((4..=12).contains(&graph.nodes()));
        for node in 0..graph.nodes() {
            let own = graph.features.row(node);
            let neighbours = (0..graph.nodes())
                .filter(|&other| other != node && graph.edges.pairs().contains(&(node as u32, other as u32)));
            let products = neighbours.map(|other| {
                let theirs = graph.features.row(other);
                (own[0] * theirs[0] + own[1] * theirs[1], theirs)
            });
            let opposite = products.min_by(|a, b| a.0.total_cmp(&b.0));
            for (label, feature) in [(0, 2), (1, 3), (2, 2)] {
                let has = opposite.is_some_and(|(_, features)| features[feature] > 0.0);
                assert_eq!(graph.labels.row(node)[label] == 1.0, has, "node {node}, label {label}");
                counts[usize::from(has)] += 1;
            }
        }
    }
    assert!(counts[0] > 20 && counts[1] > 20, "{counts:?}");
}

#[test]
fn settings_of_generated_graphs_are_checked() {
    let wrong = |options: GeneratedGraphs| options.check().unwrap_err().to_string();
    assert_eq!(wrong(GeneratedGraphs { held_out: 0, ..SMALL }), "--held-out 0: at least 1 is needed");
    assert_eq!(wrong(GeneratedGraphs { features: 2, ..SMALL }), "--features 2: at least 3 is needed");
    assert_eq!(wrong(GeneratedGraphs { nodes: 7, ..SMALL }), "--nodes 7: at least 8 is needed");
    assert!(wrong(GeneratedGraphs { nodes: usize::MAX, ..SMALL }).contains("GB of memory"));
    assert!(SMALL.check().is_ok());
}

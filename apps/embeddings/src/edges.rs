//! Edge lists in files: two columns of names, an optional weight, an optional header; TSV or CSV; plain or
//! gzip.

use std::path::Path;

use crate::graph::{Builder, Graph};

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table;

/// The mammals of WordNet 3.0 as TSV: the transitive closure of hypernymy below mammal.n.01, 1,182 nodes and
/// 6,542 pairs. Under the licence in `data/LICENSE-WordNet.txt`.
pub const MAMMALS: &str = include_str!("../data/mammal_closure.tsv");

/// The graph of [`MAMMALS`].
pub fn mammals() -> Graph {
    let mut builder = Builder::default();
    for line in MAMMALS.lines() {
        let (u, v) = line.split_once('\t').expect("the embedded data has two columns");
        builder.add(u, v, None);
    }
    builder.finish()
}

/// Words that the first two columns of a header may have.
const HEADERS: [&str; 16] = [
    "id1", "id2", "u", "v", "source", "target", "src", "dst", "from", "to", "child", "parent", "node1",
    "node2", "head", "tail",
];

/// Whether the first line is a header: its first two columns are known header words, or its third is not
/// a number.
fn is_header(record: &csv::StringRecord) -> bool {
    let known =
        |i: usize| record.get(i).is_some_and(|name| HEADERS.contains(&name.trim().to_lowercase().as_str()));
    known(0) && known(1) || record.get(2).is_some_and(|w| w.trim().parse::<f64>().is_err())
}

/// Reads an edge list. Self-loops and repeated pairs are left out and counted.
///
/// # Errors
/// If the file cannot be read, is empty or is not UTF-8. If a line has fewer than two columns, an empty
/// name, or a weight that is not a positive number. If fewer than two nodes remain.
pub fn read(path: &Path) -> Result<Graph> {
    let mut builder = Builder::default();
    table::read(path, |number, record| {
        if number == 0 && is_header(record) {
            return Ok(());
        }
        let (Some(u), Some(v)) = (record.get(0), record.get(1)) else {
            return Err(
                "two columns (and an optional weight) are needed, split by tabs or commas; this line has one"
                    .to_owned(),
            );
        };
        if record.len() > 3 {
            return Err(format!("{} columns; at most three are expected", record.len()));
        }
        if u.is_empty() || v.is_empty() {
            return Err("an empty name".to_owned());
        }
        let weight = match record.get(2) {
            None => None,
            Some(text) => match text.trim().parse::<f64>() {
                Ok(w) if w > 0.0 && w.is_finite() => Some(w),
                _ => return Err(format!("weight {text:?} is not a positive number")),
            },
        };
        builder.add(u, v, weight);
        Ok(())
    })?;
    let graph = builder.finish();
    if graph.names.is_empty() {
        return Err(AppError::content(path, "no edges"));
    }
    if graph.names.len() < 2 || graph.pairs.is_empty() {
        return Err(AppError::content(path, "a graph of at least two connected nodes is needed"));
    }
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read_bytes(bytes: &[u8]) -> Result<Graph> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edges");
        std::fs::write(&path, bytes).unwrap();
        read(&path)
    }

    fn error(bytes: &[u8]) -> String {
        let message = read_bytes(bytes).unwrap_err().to_string();
        message.rsplit_once("/edges").unwrap().1.to_owned()
    }

    #[test]
    fn embedded_mammals_are_the_published_closure() {
        let g = mammals();
        assert_eq!((g.names.len(), g.pairs.len(), g.duplicates, g.self_loops), (1182, 6542, 0, 0));
    }

    #[test]
    fn tsv_csv_gzip_headers_and_weights_are_the_same_graph() {
        let plain = read_bytes(b"a\tb\nb\tc\n").unwrap();
        assert_eq!(plain.names, ["a", "b", "c"]);
        assert_eq!(read_bytes(b"a,b\nb,c").unwrap(), plain);
        assert_eq!(read_bytes(b"id1,id2\n\"a\",b\n\nb,c\n").unwrap(), plain);
        assert_eq!(read_bytes(b"parent of\tname\tweight\na\tb\t1\nb\tc\t2.5\n").unwrap().weights, [1.0, 2.5]);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"a\tb\nb\tc\n").unwrap();
        assert_eq!(read_bytes(&gzip.finish().unwrap()).unwrap(), plain);
        assert_eq!(read_bytes(b"\"a\tb\nb\tc\n").unwrap().names[0], "\"a");
    }

    #[test]
    fn every_bad_input_names_its_line() {
        assert_eq!(error(b""), ": no edges");
        assert_eq!(error(b"child\tparent\n"), ": no edges");
        assert_eq!(error(b"a\ta\n"), ": a graph of at least two connected nodes is needed");
        assert!(error(b"a\tb\n\nc\n").starts_with(":3: two columns"));
        assert_eq!(error(b"a\tb\t1\nb\tc\tx\n"), ":2: weight \"x\" is not a positive number");
        assert_eq!(error(b"a\tb\t1\nb\tc\t-1\n"), ":2: weight \"-1\" is not a positive number");
        assert_eq!(error(b"a\tb\nb\t\xff\n"), ":2: invalid UTF-8");
        assert_eq!(error(b"a\tb\nb\t\n"), ":2: an empty name");
        assert_eq!(error(b"a\tb\t1\t2\n"), ":1: 4 columns; at most three are expected");
        assert!(
            read(Path::new("no/such/file"))
                .unwrap_err()
                .to_string()
                .starts_with("no/such/file: No such file")
        );
        assert!(error(b"\x1f\x8b\x08nonsense").starts_with(": "));
    }
}

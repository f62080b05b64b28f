//! Edge lists in files: TSV or CSV with two columns of names and an optional weight, or with a header that
//! names its columns; or GraphML. Plain or gzip.

use std::path::Path;

use crate::graph::{Builder, Graph};
use crate::graphml;

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

/// Names of the columns of an edge's ends, in lower case: where it starts and where it ends.
const ENDS: [[&str; 2]; 8] = [
    ["source", "target"],
    ["src", "dst"],
    ["from", "to"],
    ["child", "parent"],
    ["id1", "id2"],
    ["node1", "node2"],
    ["u", "v"],
    ["head", "tail"],
];

/// The columns of a table of edges.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Columns {
    /// Start and end of the edge.
    ends: [usize; 2],
    weight: Option<usize>,
    /// Whether the edge is `Directed` or `Undirected`, as Gephi writes.
    kind: Option<usize>,
    /// Largest number of columns of a line.
    limit: usize,
}

/// The columns of a table without a header.
const UNNAMED: Columns = Columns { ends: [0, 1], weight: Some(2), kind: None, limit: 3 };

impl Columns {
    /// The columns, if the first line is a header. It is one if it has the names of both ends; other columns
    /// then do not matter. It is one too if its first two columns have any of these names, or its third is
    /// not a number; the columns then are those of a table without one.
    fn of_header(record: &csv::StringRecord) -> Option<Columns> {
        let names: Vec<String> = record.iter().map(|name| name.trim().to_lowercase()).collect();
        let find = |wanted: &str| names.iter().position(|name| name == wanted);
        let named = ENDS.iter().find_map(|[start, end]| Some([find(start)?, find(end)?]));
        if let Some(ends) = named {
            let kind = find("type");
            // Of three columns the third is the weight, whatever its name.
            let third = (names.len() == 3).then(|| 3 - ends[0] - ends[1]).filter(|&i| Some(i) != kind);
            return Some(Columns { ends, weight: find("weight").or(third), kind, limit: usize::MAX });
        }
        let known = |i: usize| names.get(i).is_some_and(|name| ENDS.as_flattened().contains(&name.as_str()));
        let no_number = || names.get(2).is_some_and(|weight| weight.parse::<f64>().is_err());
        (known(0) && known(1) || names.len() <= UNNAMED.limit && no_number()).then_some(UNNAMED)
    }

    /// Adds the edge of a line.
    fn add(&self, record: &csv::StringRecord, builder: &mut Builder) -> std::result::Result<(), String> {
        let [Some(u), Some(v)] = self.ends.map(|i| record.get(i).map(str::trim)) else {
            return Err(if *self == UNNAMED {
                "two columns (and an optional weight) are needed, split by tabs or commas; this line has one"
                    .to_owned()
            } else {
                format!("{} columns; the header has more", record.len())
            });
        };
        if record.len() > self.limit {
            return Err(format!(
                "{} columns; at most three are expected, if no header names them",
                record.len()
            ));
        }
        if u.is_empty() || v.is_empty() {
            return Err("an empty name".to_owned());
        }
        let weight = self.weight.and_then(|i| record.get(i)).map(parse_weight).transpose()?;
        let kind = self.kind.and_then(|i| record.get(i)).unwrap_or_default();
        builder.add(u, v, weight);
        match kind.trim().to_lowercase().as_str() {
            "undirected" if u != v => builder.add(v, u, weight),
            "undirected" | "directed" | "" => {}
            _ => return Err(format!("type {kind:?} is neither Directed nor Undirected")),
        }
        Ok(())
    }
}

/// A weight from its text.
pub(crate) fn parse_weight(text: &str) -> std::result::Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(w) if w > 0.0 && w.is_finite() => Ok(w),
        _ => Err(format!("weight {text:?} is not a positive number")),
    }
}

/// Reads an edge list, or a graph in GraphML if the file's name ends with `.graphml` or `.graphml.gz`.
/// Self-loops and repeated pairs are left out and counted. An undirected edge is two pairs.
///
/// # Errors
/// If the file cannot be read, is empty or is not UTF-8. If a line has too few columns, an empty name, or a
/// weight that is not a positive number. If fewer than two nodes remain.
pub fn read(path: &Path) -> Result<Graph> {
    let graph = if graphml::is_graphml(path) { graphml::read(path)? } else { read_table(path)? };
    if graph.names.is_empty() {
        return Err(AppError::content(path, "no edges"));
    }
    if graph.names.len() < 2 || graph.pairs.is_empty() {
        return Err(AppError::content(path, "a graph of at least two connected nodes is needed"));
    }
    Ok(graph)
}

fn read_table(path: &Path) -> Result<Graph> {
    let (mut builder, mut columns) = (Builder::default(), UNNAMED);
    table::read(path, |number, record| {
        if number == 0
            && let Some(named) = Columns::of_header(record)
        {
            columns = named;
            return Ok(());
        }
        columns.add(record, &mut builder)
    })?;
    Ok(builder.finish())
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
        assert_eq!(read_bytes(b"\"a\tb\nb\tc\n").unwrap().names, ["\"a", "b", "c"]);
    }

    /// As Gephi writes tables, and with columns in another order.
    #[test]
    fn a_header_names_the_columns() {
        let table =
            b"Source,Target,Type,Id,Label,timeset,Weight\na,b,Directed,0,,,1.0\nb,c,Undirected,1,,,2.5\n";
        let gephi = read_bytes(table).unwrap();
        assert_eq!(gephi.names, ["a", "b", "c"]);
        assert_eq!(gephi.pairs, [(0, 1), (1, 2), (2, 1)]);
        assert_eq!(gephi.weights, [1.0, 2.5, 2.5]);
        let swapped = read_bytes(b"Weight\tparent\tchild\n1\ta\tb\n2\tb\tc\n").unwrap();
        assert_eq!((swapped.names == ["b", "a", "c"], swapped.pairs), (true, vec![(0, 1), (2, 0)]));
        assert_eq!(swapped.weights, [1.0, 2.0]);
        // A third column is the weight, whatever its name.
        assert_eq!(read_bytes(b"source,target,value\na,b,3\n").unwrap().weights, [3.0]);
        let undirected = read_bytes(b"source,target,type\na,b,undirected\n").unwrap();
        assert_eq!((undirected.pairs, undirected.weights), (vec![(0, 1), (1, 0)], vec![]));
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
        assert_eq!(
            error(b"a\tb\t1\t2\n"),
            ":1: 4 columns; at most three are expected, if no header names them"
        );
        assert_eq!(error(b"target,source,weight\na,b,1\nc\n"), ":3: 1 columns; the header has more");
        assert_eq!(
            error(b"a,b,label,c\n"),
            ":1: 4 columns; at most three are expected, if no header names them"
        );
        assert_eq!(
            error(b"Source,Target,Type\na,b,Mutual\n"),
            ":2: type \"Mutual\" is neither Directed nor Undirected"
        );
        assert!(
            read(Path::new("no/such/file"))
                .unwrap_err()
                .to_string()
                .starts_with("no/such/file: No such file")
        );
        assert!(error(b"\x1f\x8b\x08nonsense").starts_with(": "));
    }
}

//! Edge lists in files: tables of the names of two nodes and an optional weight, or GraphML. Plain or gzip.

use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::{EDGE_ENDS, Row, Separator, Table, Wanted, is_number};

use crate::graph::graphml;
pub(crate) use crate::graph::graphml::is_graphml;
pub use crate::graph::options::{EdgeOptions, NodeNames, ReadGraph};
use crate::graph::options::{NONE, parse_weight};
use crate::graph::{Builder, Graph};

/// The mammals of WordNet 3.0 as TSV: the transitive closure of hypernymy below mammal.n.01, 1,182 nodes and
/// 6,542 pairs. Under the licence in `data/LICENSE-WordNet.txt`.
pub const MAMMALS: &str = include_str!("../../data/mammal_closure.tsv");

/// The graph of [`MAMMALS`].
pub fn mammals() -> Graph {
    let mut builder = Builder::default();
    for line in MAMMALS.lines() {
        let (u, v) = line.split_once('\t').expect("the embedded data has two columns");
        builder.add(u, v, None);
    }
    builder.finish()
}

/// Names of the column of weights, normalised.
const WEIGHTS: &[&str] =
    &["weight", "weights", "edgeweight", "w", "value", "count", "counts", "frequency", "freq", "strength"];

/// The name of the column that says whether an edge is `Directed` or `Undirected`, as Gephi writes it.
const KIND: &str = "type";

/// What is read of a table of edges.
const WANTED: Wanted = Wanted {
    needed: "two columns are needed, separated by tabs, commas, semicolons or spaces",
    count: 2,
    keys: 2,
    names: EDGE_ENDS,
    numbers: WEIGHTS,
    limit: 3,
    separators: &[Separator::Tab, Separator::Comma, Separator::Semicolon, Separator::Space],
    quotes: true,
    strict: true,
    written: &OWN_HEADERS,
};

/// The first line of the lists that [`Split::write`](crate::evaluate::link_prediction::Split::write)
/// writes, without weights and with them.
pub(crate) const OWN_HEADERS: [&str; 2] = ["id1\tid2", "id1\tid2\tweight"];

/// Reads an edge list, or a graph in GraphML if the file's name ends with `.graphml` or `.graphml.gz`.
/// Self-loops and repeated pairs are left out and counted. An undirected edge is two pairs.
///
/// # Errors
/// If the file cannot be read, is empty or is not UTF-8. If it may be read in several ways and the options do
/// not say which. If a line has too few columns, an empty name, or a weight that is not a positive number. If
/// fewer than two nodes remain.
pub fn read(path: &Path, options: &EdgeOptions) -> Result<ReadGraph> {
    let read =
        if graphml::is_graphml(path) { graphml::read(path, options)? } else { read_table(path, options)? };
    let graph = &read.graph;
    if graph.names.is_empty() {
        return Err(AppError::content(path, "no edges"));
    }
    if graph.names.len() < 2 || graph.pairs.is_empty() {
        return Err(AppError::content(path, "a graph of at least two connected nodes is needed"));
    }
    Ok(read)
}

/// The columns of a table of edges.
struct Columns {
    /// Start and end of the edge.
    ends: [usize; 2],
    weight: Option<usize>,
    /// Whether nothing but its place says that this column is the weight.
    is_third: bool,
    /// Whether the edge is `Directed` or `Undirected`.
    kind: Option<usize>,
}

impl Columns {
    fn find(path: &Path, table: &Table, options: &EdgeOptions) -> Result<Self> {
        let &[start, end] = table.columns() else { unreachable!("two columns are wanted") };
        let free = |column: &usize| ![start, end].contains(column);
        let kind = table.find(&[KIND]).filter(free);
        let given = !options.table.columns.is_empty();
        if !given && [start, end] == [0, 1] && table.width() > 2 && numbers_then_names(table)? {
            let message = "the first column has numbers and the next two have names: --columns 2,3 reads \
                           these, --columns 1,2 the first two";
            return Err(AppError::line(path, table.first_line(), message));
        }
        let third = || -> Result<Option<usize>> {
            if table.has_header() || table.width() != 3 || [start, end] != [0, 1] {
                return Ok(None);
            }
            // A third column that is no weight is an error of its line, unless --columns has left it out.
            let is_weight = !given || table.all(|row| parse_weight(row.field(2)).is_ok())?;
            Ok(is_weight.then_some(2))
        };
        let known = match options.weight.as_deref() {
            Some(NONE) => None,
            Some(column) if !table.is_own() => Some(table.named(column)?),
            _ => table.find(WEIGHTS).filter(free),
        };
        let is_third = known.is_none() && !options.no_weights();
        let weight = if is_third { third()? } else { known };
        let kind = kind.filter(|kind| Some(*kind) != weight);
        Ok(Columns { ends: [start, end], weight, is_third, kind })
    }

    /// Calls `add` with the edge of a row, or with both of an undirected one.
    fn add(
        &self,
        row: &Row,
        mut add: impl FnMut(&str, &str, Option<f64>) -> std::result::Result<(), String>,
    ) -> std::result::Result<(), String> {
        let [u, v] = self.ends.map(|i| row.field(i));
        if u.is_empty() || v.is_empty() {
            return Err("an empty name".to_owned());
        }
        let weight = self.weight.map(|i| parse_weight(row.get(i).unwrap_or_default())).transpose();
        let hint = if self.is_third { "; --weight none leaves the third column out" } else { "" };
        let weight = weight.map_err(|message| format!("{message}{hint}"))?;
        let kind = self.kind.map_or("", |i| row.field(i));
        add(u, v, weight)?;
        match kind.to_lowercase().as_str() {
            "undirected" if u != v => add(v, u, weight)?,
            "undirected" | "directed" | "" => {}
            _ => return Err(format!("type {kind:?} is neither Directed nor Undirected")),
        }
        Ok(())
    }
}

/// Whether the first column has numbers only, and neither the second nor the third has.
fn numbers_then_names(table: &Table) -> Result<bool> {
    let mut numbers = [true; 3];
    table.all(|row| {
        (0..3).for_each(|i| numbers[i] = numbers[i] && is_number(row.field(i)));
        numbers[0]
    })?;
    Ok(numbers == [true, false, false])
}

fn read_table(path: &Path, options: &EdgeOptions) -> Result<ReadGraph> {
    let mut builder = Builder::default();
    let (read_as, _) = stream(path, options, |u, v, weight| {
        builder.add(u, v, weight);
        Ok(())
    })?;
    Ok(ReadGraph { graph: builder.finish(), read_as })
}

/// Calls `edge` with the names and the weight of each edge of a table, from one line to the next: the table
/// may be larger than memory. Returns the sentence that says how it was read, and whether edges have weights.
///
/// # Errors
/// As [`read`], but for a graph that is too small; and those of `edge`, which get the line.
pub(crate) fn stream(
    path: &Path,
    options: &EdgeOptions,
    mut edge: impl FnMut(&str, &str, Option<f64>) -> std::result::Result<(), String>,
) -> Result<(String, bool)> {
    let others: Vec<&str> = options.weight.iter().map(String::as_str).filter(|name| *name != NONE).collect();
    let table = Table::open(path, &WANTED, &options.table, &others)?;
    let columns = Columns::find(path, &table, options)?;
    let read_as = table.describe(columns.weight.map(|column| ("weights", column)), columns.kind.as_slice());
    table.rows(|row| columns.add(row, &mut edge))?;
    Ok((read_as, columns.weight.is_some()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The options that a command line gives.
    fn options(arguments: &str) -> EdgeOptions {
        #[derive(clap::Parser)]
        struct Cli {
            #[command(flatten)]
            options: EdgeOptions,
        }
        let arguments = std::iter::once("test").chain(arguments.split_whitespace());
        <Cli as clap::Parser>::parse_from(arguments).options
    }

    fn read_with(bytes: &[u8], arguments: &str) -> Result<ReadGraph> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edges");
        std::fs::write(&path, bytes).unwrap();
        read(&path, &options(arguments))
    }

    fn read_bytes(bytes: &[u8]) -> Result<Graph> {
        read_with(bytes, "").map(|read| read.graph)
    }

    fn error_with(bytes: &[u8], arguments: &str) -> String {
        let message = read_with(bytes, arguments).unwrap_err().to_string();
        message.rsplit_once("/edges").map_or(message.as_str(), |(_, after)| after).to_owned()
    }

    fn error(bytes: &[u8]) -> String {
        error_with(bytes, "")
    }

    /// The edges as "u>v", the weights, and the sentence without "read as ".
    #[track_caller]
    fn parts(text: &str, arguments: &str) -> (String, Vec<f64>, String) {
        let ReadGraph { graph, read_as } = read_with(text.as_bytes(), arguments).unwrap();
        let name = |u: u32| &graph.names[u as usize];
        let pairs: Vec<String> =
            graph.pairs.iter().map(|&(u, v)| format!("{}>{}", name(u), name(v))).collect();
        (pairs.join(" "), graph.weights, read_as.strip_prefix("read as ").unwrap().to_owned())
    }

    /// Checks the edges and the sentence of a table without weights.
    #[track_caller]
    fn reads(text: &str, edges: &str, sentence: &str) {
        assert_eq!(parts(text, ""), (edges.to_owned(), Vec::new(), sentence.to_owned()), "{text:?}");
    }

    #[test]
    fn embedded_mammals_are_the_published_closure() {
        let g = mammals();
        assert_eq!((g.names.len(), g.pairs.len(), g.duplicates, g.self_loops), (1182, 6542, 0, 0));
        let read = read_with(MAMMALS.as_bytes(), "").unwrap();
        assert_eq!((read.graph, read.read_as.as_str()), (g, "read as tab-separated, no header"));
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
        assert_eq!(read_bytes(b"source,target,value\na,b,3\n").unwrap().weights, [3.0]);
        let undirected = read_bytes(b"source,target,type\na,b,undirected\n").unwrap();
        assert_eq!((undirected.pairs, undirected.weights), (vec![(0, 1), (1, 0)], vec![]));
    }

    /// Row numbers of R and pandas, years and times are no weights.
    #[test]
    fn a_column_is_the_weight_by_its_name_only_if_there_is_a_header() {
        let numbered = "\"\",\"from\",\"to\"\n\"1\",\"a\",\"b\"\n\"2\",\"b\",\"c\"\n";
        reads(numbered, "a>b b>c", "comma-separated, header from/to; ignored: column 1");
        let pandas = ",source,target\n0,a,b\n1,b,c\n";
        reads(pandas, "a>b b>c", "comma-separated, header source/target; ignored: column 1");
        let id = "id,source,target\n7,a,b\n8,b,c\n";
        reads(id, "a>b b>c", "comma-separated, header source/target; ignored: id");
        let year = "source,target,year\na,b,1990\nb,c,1991\n";
        reads(year, "a>b b>c", "comma-separated, header source/target; ignored: year");
        let time = "source\ttarget\ttimestamp\na\tb\t1082040961\nb\tc\t1082040962\n";
        reads(time, "a>b b>c", "tab-separated, header source/target; ignored: timestamp");
        let (_, weights, sentence) = parts("source\ttarget\tyear\tvalue\na\tb\t1990\t2\nb\tc\t1991\t3\n", "");
        assert_eq!(weights, [2.0, 3.0]);
        assert_eq!(sentence, "tab-separated, header source/target, weights from 'value'; ignored: year");
        let year = parts(year, "--weight year");
        assert_eq!(year.1, [1990.0, 1991.0]);
        assert_eq!(year.2, "comma-separated, header source/target, weights from 'year'");
        let count = "from;to;Count\na;b;2\nb;c;3\n";
        assert_eq!(parts(count, "").2, "semicolon-separated, header from/to, weights from 'Count'");
        let left_out = parts(count, "--weight none");
        assert_eq!(
            (left_out.1.len(), left_out.2.as_str()),
            (0, "semicolon-separated, header from/to; ignored: Count")
        );
    }

    /// What `write.table` of R writes: quotes, and a header without a name for the row numbers.
    #[test]
    fn quotes_and_row_numbers_of_r_are_read_with_every_separator() {
        for (separator, name) in [("\t", "tab"), (" ", "space"), (";", "semicolon")] {
            let text =
                "\"from\"\t\"to\"\n\"1\"\t\"the dog\"\t\"b\"\n\"2\"\t\"b\"\t\"c\"\n".replace('\t', separator);
            reads(&text, "the dog>b b>c", &format!("{name}-separated, header from/to; ignored: column 1"));
        }
        reads("\"a\"\t\"b\"\n\"b\"\t\"c\"\n", "a>b b>c", "tab-separated, no header");
        assert_eq!(error(b"a\tb\nb\tc\t2.5\n"), ":1: 2 columns; the other lines have 3");
    }

    /// Each was an edge.
    #[test]
    fn headers_of_other_programs_are_known() {
        for names in [
            "node_1,node_2",
            "id_1,id_2",
            "child_id,parent_id",
            "FromNodeId,ToNodeId",
            "citing,cited",
            "Source ID,Target ID",
        ] {
            let sentence = format!("comma-separated, header {}", names.replace(',', "/"));
            reads(&format!("{names}\na,b\nc,d\n"), "a>b c>d", &sentence);
        }
        // Names that are not known, before numbers.
        reads("paper,reference\n12,7\n9,3\n", "12>7 9>3", "comma-separated, header paper/reference");
    }

    /// Each was dropped as a header, or would be.
    #[test]
    fn a_first_line_whose_names_occur_again_is_data() {
        reads("u\tv\nv\tw\n", "u>v v>w", "tab-separated, no header");
        reads("head\ttail\nbody\ttail\n", "head>tail body>tail", "tab-separated, no header");
        reads("from\tto\nto\tbe\n", "from>to to>be", "tab-separated, no header");
        // Numbers are no names, and one line alone has nothing else to read.
        reads("1\t2\n3\t4\n", "1>2 3>4", "tab-separated, no header");
        reads("a\tb\n", "a>b", "tab-separated, no header");
    }

    #[test]
    fn a_first_line_with_another_number_of_columns_is_an_error() {
        assert_eq!(error(b"a\tb\tc\nb\td\nd\te\n"), ":1: 3 columns; the other lines have 2");
        // An adjacency list.
        assert_eq!(error(b"a b c d\nb e\n"), ":1: 4 columns; the other lines have 2");
        assert_eq!(error(b"a\tb\nb\tc\td\ne\tf\n"), ":3: 2 columns; line 2 has 3");
        // A separator at the end of a line adds no column.
        reads("a\tb\t\nb\tc\n", "a>b b>c", "tab-separated, no header");
        let three = error(b"a b c\nb c d\n");
        assert_eq!(
            three,
            ":1: weight \"c\" is not a positive number; --weight none leaves the third column out"
        );
    }

    #[test]
    fn a_first_line_that_may_be_a_header_or_data_stops() {
        let text = "parent name\tchild name\nmammal\tdog\nbird\tswan\n";
        assert_eq!(
            error(text.as_bytes()),
            ":1: the first line, \"parent name\" and \"child name\", may be a header or data: --header yes \
             or --header no says which"
        );
        assert_eq!(parts(text, "--header no").0, "parent name>child name mammal>dog bird>swan");
        let yes = parts(text, "--header yes");
        assert_eq!(
            (yes.0.as_str(), yes.2.as_str()),
            ("mammal>dog bird>swan", "tab-separated, header parent name/child name")
        );
        assert_eq!(parts(text, "--columns child-name,parent-name").0, "dog>mammal swan>bird");
        assert_eq!(parts("from\tto\na\tb\n", "--header no").0, "from>to a>b");
    }

    /// As SNAP and KONECT write tables.
    #[test]
    fn comments_before_the_data_are_counted() {
        let snap = "# Directed graph: web\n# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n";
        reads(snap, "0>1 1>2", "tab-separated, no header; 3 comment lines");
        reads("% source\ttarget\na\tb\nb\tc\n", "a>b b>c", "tab-separated, no header; 1 comment line");
        reads("% sym unweighted\n1 2 \n2 3 \n", "1>2 2>3", "space-separated, no header; 1 comment line");
        // Some files have spaces and tabs.
        let (edges, weights, sentence) = parts("% asym\n1 2\t5\n2 3\t6\n", "");
        assert_eq!((edges.as_str(), weights), ("1>2 2>3", vec![5.0, 6.0]));
        assert_eq!(sentence, "space-separated, no header, weights from column 3; 1 comment line");
        reads("#1\tC#\nC#\t%x\n", "#1>C# C#>%x", "tab-separated, no header");
        reads("\u{feff}# all\n\na\tb\nb\t# c\n", "a>b b># c", "tab-separated, no header; 1 comment line");
    }

    #[test]
    fn the_separator_fits_all_lines() {
        reads(
            "New York\tLos Angeles\nLos Angeles\tRome, Italy\n",
            "New York>Los Angeles Los Angeles>Rome, Italy",
            "tab-separated, no header",
        );
        reads("a,b\tc\nc\td,e\n", "a,b>c c>d,e", "tab-separated, no header");
        // A tab that other lines lack is a character of a name.
        reads("\"a\tb\",c\nc,d\n", "a\tb>c c>d", "comma-separated, no header");
        reads("dog  mammal\nmammal animal\n", "dog>mammal mammal>animal", "space-separated, no header");
        assert_eq!(parts("a b,c\nb,c d,e\n", "--separator space").0, "a>b,c b,c>d,e");
        assert_eq!(
            error(b"a\nb\n"),
            ":1: two columns are needed, separated by tabs, commas, semicolons or spaces; this line has one"
        );
    }

    #[test]
    fn options_name_columns_and_weights() {
        let table = "year,a,b,strength of it\n1990,x,y,2\n1991,y,z,3\n";
        let (edges, weights, sentence) = parts(table, "--columns b,a --weight strength-of-it");
        assert_eq!((edges.as_str(), weights), ("y>x z>y", vec![2.0, 3.0]));
        assert_eq!(sentence, "comma-separated, header b/a, weights from 'strength of it'; ignored: year");
        let (edges, weights, sentence) = parts("1,x,y,2\n2,y,z,3\n", "--columns 2,3 --weight 4");
        assert_eq!((edges.as_str(), weights), ("x>y y>z", vec![2.0, 3.0]));
        assert_eq!(
            sentence,
            "comma-separated, no header, columns 2/3, weights from column 4; ignored: column 1"
        );
        assert_eq!(
            error(b"1,dog,canine\n2,cat,feline\n"),
            ":1: the first column has numbers and the next two have names: --columns 2,3 reads these, \
             --columns 1,2 the first two"
        );
        assert_eq!(parts("1,dog,canine\n2,cat,feline\n", "--columns 2,3").0, "dog>canine cat>feline");
        assert_eq!(
            error_with(b"a,b\nb,c\n", "--columns a,d"),
            "no column \"d\"; the table has 2 columns: a, b"
        );
        assert_eq!(
            error_with(b"a,b\nb,c\n", "--columns 1,3"),
            "no column \"3\"; the table has 2 columns: a, b"
        );
        assert_eq!(error_with(b"a,b\nb,c\n", "--columns 1"), "--columns 1: 2 are needed");
        assert_eq!(error_with(b"a,b\nb,c\n", "--columns 1,1"), "--columns 1,1: a column occurs twice");
        assert_eq!(
            error_with(b"a,b\nb,c\n", "--header no --weight x"),
            "--header no: without a header no column is named \"x\""
        );
    }

    /// `evaluate --edges test.tsv --known FILE`: the options are about the user's file.
    #[test]
    fn lists_that_were_written_here_are_read_whatever_the_options_say() {
        for arguments in
            ["--columns child_id,parent_id", "--separator comma --header no", "--weight strength"]
        {
            let (edges, weights, _) = parts("id1\tid2\tweight\na\tb\t2\nb\tc\t3\n", arguments);
            assert_eq!((edges.as_str(), weights), ("a>b b>c", vec![2.0, 3.0]), "{arguments}");
        }
        assert_eq!(parts("id1\tid2\na\tb\n", "--columns id2,id1").0, "b>a");
    }

    #[test]
    fn every_bad_input_names_its_line() {
        assert_eq!(error(b""), ": no edges");
        assert_eq!(error(b"child\tparent\n"), ": no edges");
        assert_eq!(error(b"a\ta\n"), ": a graph of at least two connected nodes is needed");
        assert!(error(b"a\tb\n\nc\n").starts_with(":3: two columns"));
        let hint = "; --weight none leaves the third column out";
        assert_eq!(error(b"a\tb\t1\nb\tc\tx\n"), format!(":2: weight \"x\" is not a positive number{hint}"));
        assert_eq!(
            error(b"a\tb\t1\nb\tc\t-1\n"),
            format!(":2: weight \"-1\" is not a positive number{hint}")
        );
        assert_eq!(error(b"u,v,weight\na,b,x\n"), ":2: weight \"x\" is not a positive number");
        assert_eq!(error(b"a\tb\nb\t\xff\n"), ":2: invalid UTF-8");
        assert_eq!(error(b"a\tb\nb\t\n"), ":2: an empty name");
        let four = ":1: 4 columns and no header that is known: --columns names those to read";
        assert_eq!(error(b"a\tb\t1\t2\n"), four);
        assert_eq!(error(b"a,b,label,c\n"), four);
        assert!(error(b"target,source,weight\na,b,1\nc\n").starts_with(":3: two columns are needed"));
        assert_eq!(
            error(b"Source,Target,Type\na,b,Mutual\n"),
            ":2: type \"Mutual\" is neither Directed nor Undirected"
        );
        assert!(
            error(b"a,b\nb,\"c\n")
                .ends_with(":2: a quoted column does not end on this line; is a quote not closed?")
        );
        assert!(
            read(Path::new("no/such/file"), &EdgeOptions::default())
                .unwrap_err()
                .to_string()
                .starts_with("no/such/file: No such file")
        );
        assert!(error(b"\x1f\x8b\x08nonsense").starts_with(": "));
    }
}

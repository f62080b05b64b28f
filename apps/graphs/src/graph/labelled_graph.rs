//! Graphs whose nodes have features and classes, with a split into nodes for training, validation and
//! testing: Cora, Citeseer, and others in the same text files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::{
    EDGE_ENDS, Row, Separator, Table, TableOptions, Wanted, name_of, plain_or_packed, read_lines,
};

/// A graph with features, classes and a split.
#[derive(Clone, Debug)]
pub struct LabelledGraph {
    /// The name of the graph's directory.
    pub name: String,
    /// How its tables were read: a sentence for each, with the name of its file.
    pub read_as: Vec<String>,
    /// The edges, `[nodes, nodes]`: each in both directions, and one from each node to itself.
    pub edges: Arc<Sparsity>,
    /// The positions of the nonzero features, `[nodes, features]`.
    pub features: Arc<Sparsity>,
    /// The value of each nonzero feature, in the order of `features`. The absolute values of a row sum to 1.
    pub amounts: Vec<f64>,
    /// The class of each node; `None` for nodes without one.
    pub classes: Vec<Option<u32>>,
    /// Number of classes.
    pub class_count: usize,
    /// Nodes for training.
    pub train: Vec<u32>,
    /// Nodes for validation.
    pub validation: Vec<u32>,
    /// Nodes for testing.
    pub test: Vec<u32>,
}

impl LabelledGraph {
    /// A checksum of the whole graph except its name.
    pub fn fingerprint(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for (i, j) in self.edges.pairs().iter().chain(self.features.pairs()) {
            hasher.update(&i.to_le_bytes());
            hasher.update(&j.to_le_bytes());
        }
        self.amounts.iter().for_each(|amount| hasher.update(&amount.to_le_bytes()));
        self.classes.iter().for_each(|class| hasher.update(&class.unwrap_or(u32::MAX).to_le_bytes()));
        for nodes in [&self.train, &self.validation, &self.test] {
            nodes.iter().for_each(|node| hasher.update(&node.to_le_bytes()));
            hasher.update(&u32::MAX.to_le_bytes());
        }
        hasher.finalize()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.classes.len()
    }

    /// The classes of some nodes.
    ///
    /// # Panics
    /// If one of them has no class.
    pub fn classes_of(&self, nodes: &[u32]) -> Vec<u32> {
        nodes.iter().map(|&node| self.classes[node as usize].expect("a class")).collect()
    }

    /// Reads a graph from a directory. Its files may be plain or gzip (`.gz`). Nodes, features and classes
    /// are numbered from 0.
    ///
    /// - `labels.txt`: one line for each node, with its class, or -1 for none;
    /// - `edges.tsv`: two nodes per line; direction, repetitions and self-loops do not matter;
    /// - `split.tsv`: a node, then `train`, `val` or `test`;
    /// - `features.txt`: one line for each node, with the numbers of the features it has, separated by
    ///   spaces; or `features.tsv`: one line for each node, with the values of all features, separated by
    ///   tabs. With neither file, each node is its own feature. Each row is scaled so that its absolute
    ///   values sum to 1.
    ///
    /// # Errors
    /// If a file is missing or a line is wrong; the error names the file and the line.
    pub fn read(directory: &Path) -> Result<Self> {
        let (classes, class_count) = read_classes(&plain_or_packed(directory, "labels.txt"))?;
        let nodes = classes.len();
        let mut pairs: Vec<(u32, u32)> = (0..nodes as u32).map(|i| (i, i)).collect();
        let mut read_as = Vec::new();
        let edges = plain_or_packed(directory, "edges.tsv");
        read_table(&edges, &EDGES, &mut read_as, |row, [u, v]| {
            let (u, v) = (parse_node(row.field(u), nodes)?, parse_node(row.field(v), nodes)?);
            pairs.extend([(u, v), (v, u)]);
            Ok(())
        })?;
        if pairs.len() == nodes {
            return Err(AppError::content(&edges, "no edges"));
        }
        pairs.sort_unstable();
        pairs.dedup();

        let split = plain_or_packed(directory, "split.tsv");
        let [train, validation, test] = read_split(&split, &classes, &mut read_as)?;

        let (features, amounts) = read_features(directory, nodes)?;
        let edges = Arc::new(Sparsity::new(nodes, nodes, &pairs));
        Ok(LabelledGraph {
            name: name_of(directory),
            read_as,
            edges,
            features,
            amounts,
            classes,
            class_count,
            train,
            validation,
            test,
        })
    }
}

/// The class of each node, if it has one, and the number of classes.
fn read_classes(labels: &Path) -> Result<(Vec<Option<u32>>, usize)> {
    let mut classes = Vec::new();
    read_lines(labels, |_, line| {
        let class: i64 = line.trim().parse().map_err(|_| format!("class {line:?} is not a number"))?;
        if class >= 1 << 20 {
            return Err(format!("class {class} is too large: classes are numbered from 0"));
        }
        if class < -1 {
            return Err(format!("class {class}: a number from 0 is needed, or -1 for none"));
        }
        classes.push(u32::try_from(class).ok());
        Ok(())
    })?;
    let class_count = classes.iter().flatten().max().map_or(0, |max| *max as usize + 1);
    if class_count < 2 {
        return Err(AppError::content(labels, "at least two classes are needed"));
    }
    if class_count > classes.len() {
        let (last, nodes) = (class_count - 1, classes.len());
        let message = format!("class {last} for {nodes} nodes: classes are numbered from 0");
        return Err(AppError::content(labels, message));
    }
    Ok((classes, class_count))
}

/// The number of a node.
pub(crate) fn parse_node(text: &str, nodes: usize) -> std::result::Result<u32, String> {
    let node: usize = text.parse().map_err(|_| format!("node {text:?} is not a number"))?;
    if node < nodes { Ok(node as u32) } else { Err(format!("node {node}: there are {nodes} nodes")) }
}

/// The nodes for training, validation and testing; adds how the file was read.
fn read_split(split: &Path, classes: &[Option<u32>], read_as: &mut Vec<String>) -> Result<[Vec<u32>; 3]> {
    let mut parts: [Vec<u32>; 3] = Default::default();
    let mut seen = vec![false; classes.len()];
    read_table(split, &SPLIT, read_as, |row, [i, part]| {
        let i = parse_node(row.field(i), classes.len())?;
        let part = ["train", "val", "test"].iter().position(|name| *name == row.field(part));
        let part = part.ok_or_else(|| "the second column must be train, val or test".to_owned())?;
        if classes[i as usize].is_none() {
            return Err(format!("node {i} has no class"));
        }
        if std::mem::replace(&mut seen[i as usize], true) {
            return Err(format!("node {i} occurs twice"));
        }
        parts[part].push(i);
        Ok(())
    })?;
    for (part, name) in parts.iter().zip(["train", "val", "test"]) {
        if part.is_empty() {
            return Err(AppError::content(split, format!("no {name} nodes")));
        }
    }
    Ok(parts)
}

/// What is read of `edges.tsv`.
pub(crate) const EDGES: Wanted = Wanted {
    needed: "two columns are needed, separated by tabs, commas, semicolons or spaces",
    count: 2,
    keys: 2,
    names: EDGE_ENDS,
    numbers: &[],
    limit: usize::MAX,
    separators: &[Separator::Tab, Separator::Comma, Separator::Semicolon, Separator::Space],
    quotes: true,
    // Nodes are numbers: a header that is taken for data is an error.
    strict: false,
    written: &[],
};

/// What is read of `split.tsv`.
const SPLIT: Wanted = Wanted {
    needed: "two columns are needed: node, and train, val or test",
    keys: 1,
    names: &[&["node", "split"], &["node", "part"], &["id", "split"]],
    ..EDGES
};

/// Calls `row` with each row of a table and its two columns that are read, and adds how it was read.
pub(crate) fn read_table(
    path: &Path,
    wanted: &Wanted,
    read_as: &mut Vec<String>,
    mut row: impl FnMut(&Row, [usize; 2]) -> std::result::Result<(), String>,
) -> Result<()> {
    let table = Table::open(path, wanted, &TableOptions::default(), &[])?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    read_as.push(format!("{file}: {}", table.describe(None, &[])));
    let &[first, second] = table.columns() else { unreachable!("two columns are wanted") };
    table.rows(|fields| row(fields, [first, second]))
}

/// Feature numbers below this limit are always accepted. Larger ones must be below the number of entries in
/// `features.txt`.
const FEATURES: usize = 1 << 16;

/// The features that a node has, each with its value.
pub(crate) type FeatureRow = Vec<(u32, f64)>;

/// The rows of `features.txt`, whose features have the value 1.
fn read_feature_numbers(list: &Path) -> Result<Vec<FeatureRow>> {
    let mut rows: Vec<FeatureRow> = Vec::new();
    // The largest feature number, its line, and the number of entries in the file.
    let (mut largest, mut line_of_largest, mut count) = (0, 0, 0);
    read_lines(list, |number, line| {
        let features = line.split_whitespace().map(|text| {
            let feature =
                text.parse::<u32>().map_err(|_| format!("feature {text:?} is not a number from 0"))?;
            if feature > largest {
                (largest, line_of_largest) = (feature, number as u64 + 1);
            }
            count += 1;
            Ok::<_, String>((feature, 1.0))
        });
        rows.push(features.collect::<std::result::Result<_, _>>()?);
        Ok(())
    })?;
    // A model has weights for all feature numbers up to the largest, whether any node has that
    // feature or not.
    let limit = FEATURES.max(count);
    if largest as usize >= limit {
        let message =
            format!("feature {largest} is too large: in a file of {count} entries, the limit is {limit}");
        return Err(AppError::line(list, line_of_largest, message));
    }
    Ok(rows)
}

/// The rows of `features.tsv`, which have a value for every feature.
fn read_feature_values(table: &Path) -> Result<Vec<FeatureRow>> {
    let mut rows: Vec<FeatureRow> = Vec::new();
    read_lines(table, |_, line| {
        let amounts = line.split('\t').enumerate().map(|(feature, text)| {
            let amount: f64 = text.trim().parse().map_err(|_| format!("{text:?} is not a number"))?;
            if !amount.is_finite() {
                return Err(format!("{text:?} is not finite"));
            }
            Ok((feature as u32, amount))
        });
        let row: FeatureRow = amounts.collect::<std::result::Result<_, _>>()?;
        if let Some(first) = rows.first()
            && first.len() != row.len()
        {
            return Err(format!("{} features; the first line has {}", row.len(), first.len()));
        }
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

/// The rows of `features.txt` or else `features.tsv`, and the file they are in. `None` if there is neither.
pub(crate) fn read_feature_rows(directory: &Path) -> Result<Option<(Vec<FeatureRow>, PathBuf)>> {
    let (list, table) =
        (plain_or_packed(directory, "features.txt"), plain_or_packed(directory, "features.tsv"));
    if list.exists() {
        Ok(Some((read_feature_numbers(&list)?, list)))
    } else if table.exists() {
        Ok(Some((read_feature_values(&table)?, table)))
    } else {
        Ok(None)
    }
}

/// The features of the nodes, and the value of each.
fn read_features(directory: &Path, nodes: usize) -> Result<(Arc<Sparsity>, Vec<f64>)> {
    let (mut rows, path) = match read_feature_rows(directory)? {
        Some(found) => found,
        None => (own_features(nodes), directory.to_path_buf()),
    };
    if rows.len() != nodes {
        let message = format!("{} lines; labels.txt has {nodes} nodes", rows.len());
        return Err(AppError::content(&path, message));
    }
    scale_rows(&mut rows, &path)?;
    feature_matrix(&rows).ok_or_else(|| AppError::content(&path, "no features"))
}

/// Each node as its own feature.
pub(crate) fn own_features(nodes: usize) -> Vec<FeatureRow> {
    (0..nodes as u32).map(|node| vec![(node, 1.0)]).collect()
}

/// Scales each row so that its absolute values sum to 1. Row i is from line i + 1 of a file.
///
/// # Errors
/// If the sum of a row is not finite.
pub(crate) fn scale_rows(rows: &mut [FeatureRow], file: &Path) -> Result<()> {
    for (row, line) in rows.iter_mut().zip(1..) {
        let total: f64 = row.iter().map(|(_, amount)| amount.abs()).sum();
        if !total.is_finite() {
            return Err(AppError::line(file, line, "the features are too large: their sum is not finite"));
        }
        row.iter_mut().filter(|(_, amount)| *amount != 0.0).for_each(|(_, amount)| *amount /= total);
    }
    Ok(())
}

/// The rows as a matrix `[nodes, features]`: where it is not zero, and its values there. `None` if there are
/// no features.
pub(crate) fn feature_matrix(rows: &[FeatureRow]) -> Option<(Arc<Sparsity>, Vec<f64>)> {
    let width = rows.iter().flatten().map(|(feature, _)| *feature as usize + 1).max()?;
    let (mut pairs, mut amounts) = (Vec::new(), Vec::new());
    for (node, row) in rows.iter().enumerate() {
        for &(feature, amount) in row.iter().filter(|(_, amount)| *amount != 0.0) {
            pairs.push((node as u32, feature));
            amounts.push(amount);
        }
    }
    Some((Arc::new(Sparsity::new(rows.len(), width, &pairs)), amounts))
}

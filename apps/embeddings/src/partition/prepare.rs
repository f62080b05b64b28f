//! Brings edges to their buckets, in passes whose memory is bounded, however many there are.
//!
//! 1. The names of all ends go to files by their hashes. Each file is read alone: its different names are put
//!    in order by hash and name, which numbers them, and the number of each end goes to a file by the place
//!    of its edge.
//! 2. The nodes, whose order is one of chance, are cut into parts of equal cost.
//! 3. The ends come back in the order of the edges, and these go to their buckets.
//! 4. Each bucket is read alone; repeated pairs are left out.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use cotangent_apps_common::error::{AppError, Result};

use crate::graph::Graph;
use crate::graph::names;
use crate::partition::frame;
use crate::partition::schedule;
use crate::partition::spill::{Spill, Spilled};
use crate::partition::store::{self, Index, StoredGraph};
use crate::partition::survey::{EdgeSource, Identity, Survey, hash};

/// The directory of temporary files.
const SORTING: &str = "sorting";

/// The largest number of files that records are spread over.
const FILES: usize = 128;

/// Ends of edges whose places are filled together, at least.
const TOGETHER: u64 = 1 << 20;

/// No place: the name of a self-loop, which is no pair.
const NOWHERE: u64 = u64::MAX;

/// Writes the edges of a source into a directory, in so many parts. What an earlier attempt has left there is
/// replaced.
///
/// # Errors
/// If files cannot be read or written, or there are too many nodes.
pub(crate) fn prepare(
    source: &EdgeSource<'_>,
    survey: &Survey,
    identity: Identity,
    parts: usize,
    directory: &Path,
) -> Result<StoredGraph> {
    let together = TOGETHER.max((2 * survey.edges).div_ceil(FILES as u64)).next_multiple_of(2);
    prepare_by(source, survey, identity, parts, (directory, together))
}

/// Same as [`prepare`], where so many ends come to their places together: those of both ends of an edge.
fn prepare_by(
    source: &EdgeSource<'_>,
    survey: &Survey,
    identity: Identity,
    parts: usize,
    (directory, together): (&Path, u64),
) -> Result<StoredGraph> {
    let sorting = directory.join(SORTING);
    remove_sorting(directory)?;
    fs::create_dir(&sorting).map_err(AppError::io(&sorting))?;
    let fingerprint = crc32fast::hash(format!("{} {parts}", survey.fingerprint).as_bytes());
    let mut index = Index::new(identity, fingerprint, survey.read_as.clone());
    (index.weighted, index.self_loops) = (survey.weighted, survey.self_loops);
    let work = Work { directory, sorting: &sorting, survey, together };
    let (names, weights) = work.spread_names(source)?;
    let (degrees, ends) = work.number(&names)?;
    if degrees.len() < parts {
        let message = format!("--partitions {parts}: the graph has {} nodes", degrees.len());
        return Err(AppError::usage(message));
    }
    index.starts = cut(&degrees, parts);
    work.write_parts(&index, &degrees)?;
    drop(degrees);
    work.fill_buckets(&index, &ends, weights)?;
    work.finish_buckets(&mut index)?;
    remove_sorting(directory)?;
    StoredGraph::finish(directory, index)
}

/// Removes temporary files, if there are any.
fn remove_sorting(directory: &Path) -> Result<()> {
    let sorting = directory.join(SORTING);
    if sorting.exists() { fs::remove_dir_all(&sorting).map_err(AppError::io(&sorting)) } else { Ok(()) }
}

/// Cuts nodes into ranges. The cost of a node is its degree, but at most half a part's share, and the mean of
/// all degrees: so parts are balanced both by nodes and by edges, and one with a hub has other nodes too.
/// Returns the first node of each part, and the number of all.
fn cut(degrees: &[u32], parts: usize) -> Vec<u32> {
    let total: u64 = degrees.iter().map(|&degree| u64::from(degree)).sum();
    let mean = total.div_ceil(degrees.len() as u64).max(1);
    let most = (total / parts as u64).max(1);
    let cost = |degree: u32| mean + u64::from(degree).min(most);
    let all: u64 = degrees.iter().map(|&degree| cost(degree)).sum();
    let (mut starts, mut before) = (vec![0], 0_u64);
    for (node, &degree) in degrees.iter().enumerate() {
        let part = starts.len();
        let left = degrees.len() - node;
        // Every part has a node.
        let filled = before as u128 * parts as u128 >= part as u128 * u128::from(all);
        if part < parts && node > starts[part - 1] as usize && (filled || left <= parts - part) {
            starts.push(node as u32);
        }
        before += cost(degree);
    }
    starts.push(degrees.len() as u32);
    starts
}

/// What all passes need.
struct Work<'a> {
    directory: &'a Path,
    sorting: &'a Path,
    survey: &'a Survey,
    together: u64,
}

impl Work<'_> {
    /// Spreads the names of all ends by their hashes, each with its place. Weights go to a file in the order
    /// of the edges.
    fn spread_names(&self, source: &EdgeSource<'_>) -> Result<(Spilled, Option<Spilled>)> {
        let files = (self.survey.nodes / 1000).clamp(1, FILES as u64) as usize;
        let mut names = Spill::new(self.sorting, "names", files)?;
        let mut weights = self.survey.weighted.then(|| Spill::new(self.sorting, "weights", 1)).transpose()?;
        let (mut place, mut record) = (0, Vec::new());
        let mut add = |name: &str, place: u64| {
            record.clear();
            record.extend((name.len() as u32).to_le_bytes());
            record.extend(place.to_le_bytes());
            record.extend(name.as_bytes());
            // The first files have the lowest hashes.
            let file = (u128::from(hash(name)) * names.len() as u128) >> 64;
            names.write(file as usize, &record)
        };
        source.each(|u, v, weight| {
            if u == v {
                return add(u, NOWHERE);
            }
            add(u, place)?;
            add(v, place + 1)?;
            place += 2;
            match &mut weights {
                Some(weights) => weights.write(0, &weight.unwrap_or(1.0).to_le_bytes()),
                None => Ok(()),
            }
        })?;
        if place != 2 * self.survey.edges {
            return Err(AppError::content(self.directory, "the edges have changed while they were read"));
        }
        Ok((names.written()?, weights.map(Spill::written).transpose()?))
    }

    /// The file of all names in the order of their numbers.
    fn ordered(&self) -> PathBuf {
        self.sorting.join("ordered")
    }

    /// Numbers the names of all files, and spreads the numbers by their places. Returns the degrees.
    fn number(&self, names: &Spilled) -> Result<(Vec<u32>, Spilled)> {
        let together = self.together;
        let files = (2 * self.survey.edges).div_ceil(together) as usize;
        let mut ends = Spill::new(self.sorting, "ends", files)?;
        let path = self.ordered();
        let ordered = File::create(&path).map_err(AppError::io(&path))?;
        let mut ordered = std::io::BufWriter::new(ordered);
        let mut degrees: Vec<u32> = Vec::with_capacity(self.survey.nodes as usize);
        for file in 0..names.len() {
            let (mut list, mut index) = (names::Names::default(), names::Index::default());
            each_name(names, file, |name, _| {
                index.find_or_add(&mut list, name);
                Ok(())
            })?;
            let mut order: Vec<(u64, u32)> = list.iter().zip(0..).map(|(name, i)| (hash(name), i)).collect();
            let name = |i: u32| &list[i as usize];
            order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| name(a.1).cmp(name(b.1))));
            let first = degrees.len();
            if first + order.len() > u32::MAX as usize {
                let message = format!("more than {} nodes", u32::MAX);
                return Err(AppError::content(self.directory, message));
            }
            let mut numbers = vec![0; order.len()];
            for (number, &(_, i)) in (first as u32..).zip(&order) {
                numbers[i as usize] = number;
                let length = (name(i).len() as u32).to_le_bytes();
                ordered
                    .write_all(&length)
                    .and_then(|()| ordered.write_all(name(i).as_bytes()))
                    .map_err(AppError::io(&path))?;
            }
            degrees.resize(first + order.len(), 0);
            drop(order);
            each_name(names, file, |name, place| {
                if place == NOWHERE {
                    return Ok(());
                }
                let number = numbers[index.find(&list, name).expect("it was added") as usize];
                degrees[number as usize] += 1;
                let mut record = [0; 8];
                record[..4].copy_from_slice(&((place % together) as u32).to_le_bytes());
                record[4..].copy_from_slice(&number.to_le_bytes());
                ends.write((place / together) as usize, &record)
            })?;
            names.remove(file)?;
        }
        ordered.flush().map_err(AppError::io(&path))?;
        Ok((degrees, ends.written()?))
    }

    /// Writes the names and the degrees of each part's nodes.
    fn write_parts(&self, index: &Index, degrees: &[u32]) -> Result<()> {
        let path = self.ordered();
        let open = || File::open(&path).map(|file| std::io::BufReader::with_capacity(1 << 16, file));
        let mut lengths = open().map_err(AppError::io(&path))?;
        let mut names = open().map_err(AppError::io(&path))?;
        let mut name = Vec::new();
        for (part, nodes) in index.starts.windows(2).enumerate() {
            let (nodes, mut bytes) = (nodes[0] as usize..nodes[1] as usize, 0);
            for _ in nodes.clone() {
                bytes += read_name(&mut lengths, &mut name).map_err(AppError::io(&path))?;
            }
            let file = store::names_file(self.directory, part);
            frame::write(&file, (store::NAMES, index.fingerprint), bytes, |content| {
                nodes.clone().try_for_each(|_| {
                    read_name(&mut names, &mut name)?;
                    content.bytes(&(name.len() as u32).to_le_bytes())?;
                    content.bytes(&name)
                })
            })?;
            let file = store::degrees_file(self.directory, part);
            frame::write(&file, (store::DEGREES, index.fingerprint), 4 * nodes.len() as u64, |content| {
                content.elements(&degrees[nodes], |degree, bytes| bytes.extend(degree.to_le_bytes()))
            })?;
        }
        fs::remove_file(&path).map_err(AppError::io(&path))
    }

    /// The temporary file of a bucket's pairs.
    fn raw(&self, bucket: usize) -> PathBuf {
        self.sorting.join(format!("bucket-{bucket}"))
    }

    /// Brings the ends back to their places, and the edges to their buckets.
    fn fill_buckets(&self, index: &Index, ends: &Spilled, weights: Option<Spilled>) -> Result<()> {
        let starts = &index.starts;
        let parts = starts.len() - 1;
        let part = |node: u32| starts.partition_point(|&start| start <= node) - 1;
        let mut weights = weights.map(|weights| weights.read(0)).transpose()?;
        let mut numbers: Vec<u32> = Vec::new();
        for file in 0..ends.len() {
            let first = file as u64 * self.together;
            let count = self.together.min(2 * self.survey.edges - first) as usize;
            numbers.clear();
            numbers.resize(count, 0);
            let (mut records, mut record) = (ends.read(file)?, [0; 8]);
            while records.next(&mut record)? {
                let [place, number] = [&record[..4], &record[4..]].map(frame::u32_from);
                numbers[place as usize] = number;
            }
            let mut filled: Vec<(u32, u32)> = Vec::with_capacity(count / 2);
            let mut its_weights = Vec::new();
            for (i, pair) in (0..).zip(numbers.chunks_exact(2)) {
                let [i_part, j_part] = [part(pair[0]), part(pair[1])];
                let bucket = schedule::number([i_part.min(j_part), i_part.max(j_part)], parts);
                filled.push((bucket as u32, i));
                if let Some(weights) = &mut weights {
                    let mut weight = [0; 8];
                    weights.bytes(&mut weight)?;
                    its_weights.push(weight);
                }
            }
            filled.sort_unstable();
            for run in filled.chunk_by(|a, b| a.0 == b.0) {
                let mut bytes = Vec::new();
                for &(_, i) in run {
                    let pair = &numbers[2 * i as usize..][..2];
                    let [low, high] = [part(pair[0].min(pair[1])), part(pair[0].max(pair[1]))];
                    for &node in pair {
                        bytes.extend(local(starts, [low, high], node).to_le_bytes());
                    }
                    its_weights.get(i as usize).iter().for_each(|weight| bytes.extend(*weight));
                }
                let path = self.raw(run[0].0 as usize);
                let opened = File::options().create(true).append(true).open(&path);
                opened.and_then(|mut file| file.write_all(&bytes)).map_err(AppError::io(&path))?;
            }
            ends.remove(file)?;
        }
        Ok(())
    }

    /// Leaves repeated pairs out of each bucket, and writes it.
    fn finish_buckets(&self, index: &mut Index) -> Result<()> {
        for (number, bucket) in schedule::all(index.starts.len() - 1).enumerate() {
            let path = self.raw(number);
            let bytes =
                if path.exists() { fs::read(&path).map_err(AppError::io(&path))? } else { Vec::new() };
            let mut graph = Graph::default();
            for record in bytes.chunks_exact(if index.weighted { 16 } else { 8 }) {
                graph.pairs.push((frame::u32_from(&record[..4]), frame::u32_from(&record[4..8])));
                if index.weighted {
                    graph.weights.push(f64::from_le_bytes(record[8..].try_into().expect("eight bytes")));
                }
            }
            drop(bytes);
            graph.remove_duplicates();
            let Graph { pairs, weights, duplicates, .. } = graph;
            index.duplicates += duplicates as u64;
            index.buckets.push(pairs.len() as u64);
            let bytes = 8 * (pairs.len() + weights.len()) as u64;
            let file = store::bucket_file(self.directory, bucket);
            frame::write(&file, (store::PAIRS, index.fingerprint), bytes, |content| {
                content.elements(&pairs, |(u, v), bytes| {
                    bytes.extend(u.to_le_bytes());
                    bytes.extend(v.to_le_bytes());
                })?;
                content.elements(&weights, |weight, bytes| bytes.extend(weight.to_le_bytes()))
            })?;
            if path.exists() {
                fs::remove_file(&path).map_err(AppError::io(&path))?;
            }
        }
        Ok(())
    }
}

/// The number of a node among those of two parts, the lower one first.
fn local(starts: &[u32], [low, high]: [usize; 2], node: u32) -> u32 {
    if node < starts[low + 1] {
        node - starts[low]
    } else {
        node - starts[high] + starts[low + 1] - starts[low]
    }
}

/// Calls `each` with the names of a file of records, and their places.
fn each_name(names: &Spilled, file: usize, mut each: impl FnMut(&str, u64) -> Result<()>) -> Result<()> {
    let (mut records, mut head, mut name) = (names.read(file)?, [0; 12], Vec::new());
    while records.next(&mut head)? {
        name.resize(frame::u32_from(&head[..4]) as usize, 0);
        records.bytes(&mut name)?;
        let place = u64::from_le_bytes(head[4..].try_into().expect("eight bytes"));
        each(std::str::from_utf8(&name).expect("it was written as text"), place)?;
    }
    Ok(())
}

/// Reads a length and a name. Returns their bytes.
fn read_name(file: &mut impl std::io::Read, name: &mut Vec<u8>) -> std::io::Result<u64> {
    let mut length = [0; 4];
    file.read_exact(&mut length)?;
    name.resize(u32::from_le_bytes(length) as usize, 0);
    file.read_exact(name)?;
    Ok(4 + name.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Builder;

    /// A graph of some thousand nodes: with a hub, repeated edges, a self-loop, and weights.
    fn graph() -> (Graph, Vec<(String, String, f64)>) {
        let mut rng = cotangent::prelude::rng::stream(1, "edges", 0);
        let mut draw = |n: u32| rand::RngExt::random_range(&mut rng, 0..n);
        let mut edges: Vec<(String, String, f64)> = (0..9000)
            .map(|i| {
                (format!("n{}", draw(4000)), format!("n{}", draw(4000) % (1 + i % 3 * 2000)), f64::from(i))
            })
            .collect();
        edges.push(("alone".to_owned(), "alone".to_owned(), 1.0));
        edges.extend_from_within(..50);
        let mut builder = Builder::default();
        edges.iter().for_each(|(u, v, weight)| builder.add(u, v, Some(weight + 1.0)));
        (builder.finish(), edges)
    }

    /// Names, pairs and weights are those of the graph in memory. Records are spread over several files.
    #[test]
    fn the_graph_in_parts_is_the_graph() {
        let (whole, edges) = graph();
        let mut text = String::new();
        edges.iter().for_each(|(u, v, weight)| text += &format!("{u}\t{v}\t{}\n", weight + 1.0));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("edges.tsv");
        fs::write(&path, text).unwrap();
        let options = crate::graph::edges::EdgeOptions::default();
        let source = EdgeSource::Table(&path, &options);
        let survey = Survey::new(&source, &path).unwrap();
        assert!(survey.nodes > 3000 && survey.weighted);
        let identity = Identity::new("edges".to_owned(), Some(&path), &options).unwrap();
        let parts = 5;
        let stored = prepare_by(&source, &survey, identity, parts, (directory.path(), 1000)).unwrap();
        assert!(!directory.path().join(SORTING).exists());
        let mut names = Vec::new();
        (0..parts).for_each(|part| stored.each_name(part, |name| names.push(name.to_owned())).unwrap());
        assert!(names.is_sorted_by_key(|name| hash(name)));
        let counts =
            (stored.nodes(), stored.pairs() as usize, stored.index.self_loops, stored.index.duplicates);
        let own = (whole.names.len(), whole.pairs.len(), whole.self_loops as u64, whole.duplicates as u64);
        assert_eq!(counts, own);
        let mut found = Vec::new();
        for bucket in schedule::all(parts) {
            let [low, high] = bucket.map(|part| stored.part(part));
            let global = |node: u32| {
                let node = node as usize;
                if node < low.len() {
                    low.start as usize + node
                } else {
                    high.start as usize + node - low.len()
                }
            };
            let read = stored.bucket(bucket).unwrap();
            for (&(u, v), weight) in read.pairs.iter().zip(&read.weights) {
                found.push((names[global(u)].clone(), names[global(v)].clone(), *weight as u64));
            }
        }
        let name = |node: u32| whole.names[node as usize].to_owned();
        let mut wanted: Vec<_> = whole
            .pairs
            .iter()
            .zip(&whole.weights)
            .map(|(&(u, v), &w)| (name(u), name(v), w as u64))
            .collect();
        found.sort();
        wanted.sort();
        assert!(found == wanted);
        // Nodes and edges are balanced, although a third of the edges lead to one node.
        let sizes: Vec<usize> = (0..parts).map(|part| stored.part(part).len()).collect();
        assert!(sizes.iter().all(|&size| size > 300), "{sizes:?}");
        let degrees = |part| stored.degrees(part).unwrap().iter().sum::<u32>();
        assert!((0..parts).all(|part| degrees(part) > 1500));
    }

    #[test]
    fn every_part_has_a_node() {
        for (degrees, parts, starts) in [
            (&[1, 1, 1, 1][..], 2, &[0, 2, 4][..]),
            (&[100, 1, 1, 1], 4, &[0, 1, 2, 3, 4]),
            (&[1, 1, 1, 100], 4, &[0, 1, 2, 3, 4]),
            (&[0, 0], 2, &[0, 1, 2]),
        ] {
            assert_eq!(cut(degrees, parts), starts, "{degrees:?}");
        }
    }
}

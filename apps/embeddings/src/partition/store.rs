//! A graph on disk: the names and degrees of the nodes of each part, the pairs of each bucket.
//!
//! The nodes are numbered by the hashes of their names, so a part is a range of numbers. Pairs have the
//! numbers of their nodes among those of the bucket's two parts, one after the other.

use std::ops::Range;
use std::path::{Path, PathBuf};

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::metrics;
use serde::{Deserialize, Serialize};

use crate::graph::Neighbours;
use crate::partition::frame::{self, Holds, Reader};
use crate::partition::schedule::{self, Bucket};
use crate::partition::survey::Identity;

/// The index of a graph, which is written when all is written that it names.
pub(crate) const INDEX: &str = "graph.json";

/// Version of the index.
const VERSION: u32 = 1;

pub(crate) const NAMES: Holds = b"NAME";
pub(crate) const DEGREES: Holds = b"DEGR";
pub(crate) const PAIRS: Holds = b"PAIR";

/// The index of a graph on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Index {
    version: u32,
    /// Which edges these are.
    pub(crate) identity: Identity,
    /// The files of this graph have it.
    pub(crate) fingerprint: u32,
    /// The first node of each part, and the number of all.
    pub(crate) starts: Vec<u32>,
    /// Number of pairs of each bucket.
    pub(crate) buckets: Vec<u64>,
    /// Whether pairs have weights.
    pub(crate) weighted: bool,
    /// Number of self-loops that were left out.
    pub(crate) self_loops: u64,
    /// Number of repeated pairs that were left out.
    pub(crate) duplicates: u64,
    /// How the edges were read.
    pub(crate) read_as: Option<String>,
}

impl Index {
    /// Of a graph that is about to be written.
    pub(crate) fn new(identity: Identity, fingerprint: u32, read_as: Option<String>) -> Self {
        Index {
            version: VERSION,
            identity,
            fingerprint,
            starts: Vec::new(),
            buckets: Vec::new(),
            weighted: false,
            self_loops: 0,
            duplicates: 0,
            read_as,
        }
    }
}

/// A graph on disk.
#[derive(Clone, Debug)]
pub(crate) struct StoredGraph {
    directory: PathBuf,
    /// Its index.
    pub(crate) index: Index,
}

/// The pairs of a bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BucketPairs {
    /// The pairs.
    pub(crate) pairs: Vec<(u32, u32)>,
    /// Their weights; empty if all are the same.
    pub(crate) weights: Vec<f64>,
}

impl StoredGraph {
    /// Whether a directory has a graph.
    pub(crate) fn is_in(directory: &Path) -> bool {
        directory.join(INDEX).exists()
    }

    /// Whether a directory has the graph of these edges.
    pub(crate) fn is_prepared(directory: &Path, identity: &Identity) -> bool {
        StoredGraph::open(directory).is_ok_and(|graph| graph.index.identity == *identity)
    }

    /// A graph whose files are written; writes its index.
    ///
    /// # Errors
    /// If that cannot be written.
    pub(crate) fn finish(directory: &Path, index: Index) -> Result<Self> {
        metrics::write_json(&directory.join(INDEX), &index)?;
        Ok(StoredGraph { directory: directory.to_path_buf(), index })
    }

    /// The graph in a directory.
    ///
    /// # Errors
    /// If there is none, or of another version.
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        let path = directory.join(INDEX);
        let index: Index = metrics::read_json(&path)?;
        let parts = index.starts.len().saturating_sub(1);
        if index.version != VERSION || parts == 0 || index.buckets.len() != schedule::count(parts) {
            return Err(AppError::content(&path, "it is no index of a graph in parts of this version"));
        }
        Ok(StoredGraph { directory: directory.to_path_buf(), index })
    }

    /// Number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.index.starts.len() - 1
    }

    /// Number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.index.starts[self.parts()] as usize
    }

    /// Number of pairs.
    pub(crate) fn pairs(&self) -> u64 {
        self.index.buckets.iter().sum()
    }

    /// The numbers of the nodes of a part.
    pub(crate) fn part(&self, part: usize) -> Range<u32> {
        self.index.starts[part]..self.index.starts[part + 1]
    }

    /// Number of pairs of a bucket.
    pub(crate) fn pairs_of(&self, bucket: Bucket) -> usize {
        self.index.buckets[schedule::number(bucket, self.parts())] as usize
    }

    /// Number of nodes of a bucket.
    pub(crate) fn nodes_of(&self, [i, j]: Bucket) -> usize {
        self.part(i).len() + if i == j { 0 } else { self.part(j).len() }
    }

    /// The pairs of a bucket.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn bucket(&self, bucket: Bucket) -> Result<BucketPairs> {
        let (path, count) = (bucket_file(&self.directory, bucket), self.pairs_of(bucket));
        let mut reader = Reader::open(&path, (PAIRS, self.index.fingerprint))?;
        let mut read = BucketPairs::default();
        let BucketPairs { pairs, weights } = &mut read;
        pairs.reserve_exact(count);
        let nodes = self.nodes_of(bucket) as u32;
        let mut within = true;
        let mut add = |pair: (u32, u32)| {
            within &= pair.0.max(pair.1) < nodes;
            pairs.push(pair);
        };
        reader.elements(count, 8, &mut add, |bytes| {
            (frame::u32_from(&bytes[..4]), frame::u32_from(&bytes[4..]))
        })?;
        if self.index.weighted {
            weights.reserve_exact(count);
            let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            reader.elements(count, 8, |weight| weights.push(weight), number)?;
        }
        reader.finish()?;
        if !within {
            return Err(AppError::content(&path, "it is damaged: a node is not in its parts"));
        }
        Ok(read)
    }

    /// Calls `each` with all pairs, bucket by bucket, as numbers among all nodes.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn each_pair(&self, mut each: impl FnMut(u32, u32)) -> Result<()> {
        for bucket in schedule::all(self.parts()) {
            let [first, second] = bucket.map(|part| self.part(part));
            let size = first.len() as u32;
            let global = |node: u32| {
                if node < size { first.start + node } else { second.start + node - size }
            };
            self.bucket(bucket)?.pairs.iter().for_each(|&(u, v)| each(global(u), global(v)));
        }
        Ok(())
    }

    /// The neighbours of all nodes, in memory.
    ///
    /// # Errors
    /// If the pairs cannot be read.
    pub(crate) fn neighbours(&self) -> Result<Neighbours> {
        let mut pairs = Vec::new();
        self.each_pair(|u, v| pairs.push((u, v)))?;
        Ok(Neighbours::new(self.nodes(), || pairs.iter().copied()))
    }

    /// The degrees of a part's nodes in the whole graph.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn degrees(&self, part: usize) -> Result<Vec<u32>> {
        let mut reader =
            Reader::open(&degrees_file(&self.directory, part), (DEGREES, self.index.fingerprint))?;
        let mut degrees = Vec::with_capacity(self.part(part).len());
        reader.elements(self.part(part).len(), 4, |degree| degrees.push(degree), frame::u32_from)?;
        reader.finish().map(|()| degrees)
    }

    /// Calls `each` with the names of a part's nodes, in the order of their numbers.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn each_name(&self, part: usize, mut each: impl FnMut(&str)) -> Result<()> {
        let path = names_file(&self.directory, part);
        let mut reader = Reader::open(&path, (NAMES, self.index.fingerprint))?;
        let (mut length, mut name) = ([0; 4], Vec::new());
        for _ in self.part(part) {
            reader.bytes(&mut length)?;
            let bytes = u32::from_le_bytes(length) as usize;
            if bytes as u64 > reader.left() {
                return Err(AppError::content(&path, "it is damaged: a name is longer than the file"));
            }
            name.resize(bytes, 0);
            reader.bytes(&mut name)?;
            let name = std::str::from_utf8(&name);
            each(name.map_err(|_| AppError::content(&path, "it is damaged: invalid UTF-8"))?);
        }
        reader.finish()
    }
}

/// Whether a file is one of a graph in parts.
pub(crate) fn is_of_graph(name: &str) -> bool {
    name == INDEX || ["names-", "degrees-", "bucket-"].iter().any(|prefix| name.starts_with(prefix))
}

/// The file of a bucket's pairs.
pub(crate) fn bucket_file(directory: &Path, [i, j]: Bucket) -> PathBuf {
    directory.join(format!("bucket-{i:04}-{j:04}"))
}

/// The file of the names of a part's nodes.
pub(crate) fn names_file(directory: &Path, part: usize) -> PathBuf {
    directory.join(format!("names-{part:04}"))
}

/// The file of the degrees of a part's nodes.
pub(crate) fn degrees_file(directory: &Path, part: usize) -> PathBuf {
    directory.join(format!("degrees-{part:04}"))
}

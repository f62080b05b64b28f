//! Where edges come from, and a first pass over them: how many there are, before anything is written.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cotangent_apps_common::error::{AppError, Result};
use serde::{Deserialize, Serialize};

use crate::graph::Graph;
use crate::graph::edges::{self, EdgeOptions};

/// Edges that can be gone through several times.
pub(crate) enum EdgeSource<'a> {
    /// A table, which may be larger than memory.
    Table(&'a Path, &'a EdgeOptions),
    /// A graph in memory, and how it was read.
    Graph(&'a Graph, Option<String>),
}

/// What identifies edges, and how they are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The source, for the record.
    pub(crate) source: String,
    /// Length of the file and when it was modified, of a file.
    pub(crate) file: Option<[u64; 2]>,
    /// The options that say how it is read.
    pub(crate) options: String,
}

impl Identity {
    /// Of a file, if there is one.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be read twice.
    pub(crate) fn new(source: String, path: Option<&PathBuf>, options: &EdgeOptions) -> Result<Self> {
        let mut identity = Identity { source, file: None, options: format!("{options:?}") };
        if let Some(path) = path {
            let found = std::fs::metadata(path).map_err(AppError::io(path))?;
            if !found.is_file() {
                let message = "--partitions needs a file, which is read twice; this is none";
                return Err(AppError::content(path, message));
            }
            let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            identity.file = Some([found.len(), modified.map_or(0, |time| time.as_secs())]);
        }
        Ok(identity)
    }
}

impl EdgeSource<'_> {
    /// Calls `edge` with each edge, self-loops and repeated ones too. Returns how a table was read, and
    /// whether edges have weights.
    ///
    /// # Errors
    /// If the table cannot be read, and those of `edge`.
    pub(crate) fn each(
        &self,
        mut edge: impl FnMut(&str, &str, Option<f64>) -> Result<()>,
    ) -> Result<(Option<String>, bool)> {
        let mut failure = None;
        let mut add = |u: &str, v: &str, weight| {
            edge(u, v, weight).map_err(|error| {
                failure = Some(error);
                String::new()
            })
        };
        let read = match self {
            EdgeSource::Table(path, options) => {
                edges::stream(path, options, add).map(|(read_as, weighted)| (Some(read_as), weighted))
            }
            EdgeSource::Graph(graph, read_as) => {
                let name = |node: u32| &graph.names[node as usize];
                let weight = |i: usize| graph.weights.get(i).copied();
                let mut pairs = graph.pairs.iter().enumerate();
                let added = pairs.try_for_each(|(i, &(u, v))| add(name(u), name(v), weight(i)));
                let read = (read_as.clone(), !graph.weights.is_empty());
                added.map(|()| read).map_err(AppError::usage)
            }
        };
        match failure {
            Some(error) => Err(error),
            None => read,
        }
    }
}

/// What a first pass over edges finds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Survey {
    /// Number of edges without self-loops.
    pub(crate) edges: u64,
    /// Number of self-loops.
    pub(crate) self_loops: u64,
    /// Bytes of the names of both ends of all edges.
    pub(crate) name_bytes: u64,
    /// Number of nodes, estimated to a percent or two, not below 2.
    pub(crate) nodes: u64,
    /// Whether edges have weights.
    pub(crate) weighted: bool,
    /// How the table was read.
    pub(crate) read_as: Option<String>,
    /// A checksum of all names and weights, in their order.
    pub(crate) fingerprint: u32,
}

impl Survey {
    /// Goes through edges.
    ///
    /// # Errors
    /// If they cannot be read, or there are none.
    pub(crate) fn new(source: &EdgeSource<'_>, path: &Path) -> Result<Self> {
        let (mut edges, mut self_loops, mut name_bytes) = (0, 0, 0);
        let mut distinct = Distinct::new();
        let mut checksum = crc32fast::Hasher::new();
        let (read_as, weighted) = source.each(|u, v, weight| {
            for name in [u, v] {
                distinct.add(hash(name));
                checksum.update(name.as_bytes());
                checksum.update(&[0]);
            }
            weight.iter().for_each(|weight| checksum.update(&weight.to_le_bytes()));
            if u == v {
                self_loops += 1;
            } else {
                edges += 1;
                name_bytes += (u.len() + v.len()) as u64;
            }
            Ok(())
        })?;
        if edges == 0 {
            let message = match self_loops {
                0 => "no edges",
                _ => "a graph of at least two connected nodes is needed",
            };
            return Err(AppError::content(path, message));
        }
        let nodes = distinct.estimate().max(2);
        let fingerprint = checksum.finalize();
        Ok(Survey { edges, self_loops, name_bytes, nodes, weighted, read_as, fingerprint })
    }
}

/// A hash of a name, which orders the nodes: FNV-1a, and the last steps of MurmurHash3, so that all bits
/// depend on all letters.
pub(crate) fn hash(name: &str) -> u64 {
    let fnv = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash ^ (hash >> 33)
}

/// An estimate of how many different numbers there are: HyperLogLog (Flajolet et al. 2007).
struct Distinct {
    registers: Vec<u8>,
}

/// Logarithm of the number of registers.
const REGISTERS: u32 = 14;

impl Distinct {
    fn new() -> Self {
        Distinct { registers: vec![0; 1 << REGISTERS] }
    }

    fn add(&mut self, hash: u64) {
        let register = &mut self.registers[(hash >> (64 - REGISTERS)) as usize];
        let zeros = (hash << REGISTERS | 1).leading_zeros() as u8 + 1;
        *register = zeros.max(*register);
    }

    fn estimate(&self) -> u64 {
        let count = self.registers.len() as f64;
        let sum: f64 = self.registers.iter().map(|&zeros| (-f64::from(zeros)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / sum;
        let empty = self.registers.iter().filter(|&&zeros| zeros == 0).count();
        let estimate =
            if raw <= 2.5 * count && empty > 0 { count * (count / empty as f64).ln() } else { raw };
        estimate.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_names_is_estimated() {
        for count in [1_u64, 100, 30_000, 400_000] {
            let mut distinct = Distinct::new();
            for _ in 0..2 {
                (0..count).for_each(|i| distinct.add(hash(&i.to_string())));
            }
            let estimate = distinct.estimate();
            assert!(estimate.abs_diff(count) as f64 <= 0.03 * count as f64, "{count}: {estimate}");
        }
    }
}

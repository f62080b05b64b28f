//! What a turn of the training needs: the pairs of its bucket, and parts from the disk and from other ranks.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use cotangent::optim::exchange::Exchange;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};

use crate::partition::parts::DiskParts;
use crate::partition::schedule::{Bucket, Transfer, Turn, distinct};
use crate::partition::store::{BucketPairs, StoredGraph};

/// What has come for a turn.
pub(crate) struct Arrived<T> {
    /// Parts that were not held.
    pub(crate) parts: Vec<(usize, Vec<T>)>,
    pub(crate) pairs: BucketPairs,
    /// Other pairs of the bucket's nodes: those within each of two parts.
    pub(crate) known: Vec<(u32, u32)>,
}

/// Where the parts and pairs of a rank come from.
pub(crate) struct Supply<'a> {
    pub(crate) graph: &'a StoredGraph,
    pub(crate) store: &'a DiskParts,
    pub(crate) ranks: &'a dyn Exchange,
    /// Number of coordinates of a point.
    width: usize,
    /// Bytes of parts that were sent to other ranks.
    sent: AtomicU64,
}

impl<'a> Supply<'a> {
    pub(crate) fn new(
        graph: &'a StoredGraph,
        store: &'a DiskParts,
        ranks: &'a dyn Exchange,
        width: usize,
    ) -> Self {
        Supply { graph, store, ranks, width, sent: AtomicU64::new(0) }
    }

    /// Bytes of parts that this rank has sent to others.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Gets what a turn needs, except parts that are held: the pairs, and parts that nobody trains now. All
    /// ranks call it for the same turn.
    ///
    /// # Errors
    /// If a file cannot be read, or another rank has ended.
    pub(crate) fn fetch<T: Float>(&self, turn: &Turn, held: &[usize]) -> Result<Arrived<T>> {
        let send = |part| {
            let rows = self.store.load(part)?;
            self.store.forget(part)?;
            Ok(Cow::Owned(rows))
        };
        let mut parts = self.pass_on(&turn.resting, send)?;
        let Some(bucket) = turn.buckets[self.ranks.rank()] else {
            return Ok(Arrived { parts, pairs: BucketPairs::default(), known: Vec::new() });
        };
        let comes = |part: usize| turn.resting.iter().chain(&turn.trained).any(|go| go.part == part);
        for part in distinct(bucket) {
            if !held.contains(&part) && !comes(part) {
                parts.push((part, self.store.load(part)?));
            }
        }
        let (pairs, known) = self.pairs(bucket)?;
        Ok(Arrived { parts, pairs, known })
    }

    /// The pairs of a bucket, and those within each of its parts.
    fn pairs(&self, bucket: Bucket) -> Result<(BucketPairs, Vec<(u32, u32)>)> {
        let (mut known, [i, j]) = (Vec::new(), bucket);
        if i != j {
            let first = self.graph.part(i).len() as u32;
            known = self.graph.bucket([i, i])?.pairs;
            known.extend(self.graph.bucket([j, j])?.pairs.into_iter().map(|(u, v)| (u + first, v + first)));
        }
        Ok((self.graph.bucket(bucket)?, known))
    }

    /// Sends parts to other ranks, and returns those that come to this one. `rows` are those of a part that
    /// this rank has. All ranks call it with the same transfers.
    ///
    /// # Errors
    /// Those of `rows`, or if another rank has ended.
    pub(crate) fn pass_on<'r, T: Float>(
        &self,
        transfers: &[Transfer],
        rows: impl Fn(usize) -> Result<Cow<'r, [T]>>,
    ) -> Result<Vec<(usize, Vec<T>)>> {
        if transfers.is_empty() {
            return Ok(Vec::new());
        }
        let me = self.ranks.rank();
        let mut blocks: Vec<Vec<u8>> = vec![Vec::new(); self.ranks.size()];
        for go in transfers.iter().filter(|go| go.from == me) {
            blocks[go.to].extend_from_slice(bytemuck::cast_slice(&rows(go.part)?));
        }
        let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
        self.sent.fetch_add(blocks.iter().map(|block| block.len() as u64).sum(), Ordering::Relaxed);
        let received = self.ranks.all_to_all(&blocks)?;
        let mut left: Vec<&[u8]> = received.iter().map(Vec::as_slice).collect();
        let mut parts = Vec::new();
        for go in transfers.iter().filter(|go| go.to == me) {
            let bytes = self.elements(go.part) * size_of::<T>();
            let block = &mut left[go.from];
            let (taken, more) = block.split_at_checked(bytes).ok_or_else(|| self.cut(go.from))?;
            *block = more;
            parts.push((go.part, elements(taken)));
        }
        match left.iter().position(|block| !block.is_empty()) {
            Some(rank) => Err(self.cut(rank)),
            None => Ok(parts),
        }
    }

    /// Sends the rows of a part to rank 0, for a checkpoint.
    ///
    /// # Errors
    /// If another rank has ended.
    pub(crate) fn send<T: Float>(&self, rows: &[T]) -> Result<()> {
        self.sent.fetch_add(size_of_val(rows) as u64, Ordering::Relaxed);
        Ok(self.ranks.send(0, bytemuck::cast_slice(rows))?)
    }

    /// The rows of a part that another rank sends to rank 0.
    ///
    /// # Errors
    /// If that rank has ended.
    pub(crate) fn receive<T: Float>(&self, part: usize, from: usize) -> Result<Vec<T>> {
        let bytes = self.ranks.receive(from)?;
        if bytes.len() != self.elements(part) * size_of::<T>() {
            return Err(self.cut(from));
        }
        Ok(elements(&bytes))
    }

    /// Number of coordinates of a part.
    fn elements(&self, part: usize) -> usize {
        self.graph.part(part).len() * self.width
    }

    fn cut(&self, rank: usize) -> AppError {
        self.ranks.error(&format!("rank {rank} has sent parts of another size")).into()
    }
}

fn elements<T: Float>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

//! Messages between the ranks of a job: several processes, often on several machines, that train one model.
//!
//! | what | file |
//! |---|---|
//! | [`Exchange`]: what a rank needs of the others | `mod.rs` |
//! | [`Threads`]: ranks as threads of one process | `threads.rs` |
//! | [`Alone`]: one rank without others | `alone.rs` |
//! | the sum of all parts' gradients, the same on every rank | `sum.rs` |
//!
//! The ranks of a cluster are in the crate `cotangent-mpi`, which needs a library of MPI.

mod alone;
mod sum;
mod threads;

pub use alone::Alone;
pub(crate) use sum::RankSum;
pub use threads::Threads;

/// Why ranks could not exchange messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} of {size}: {message}")]
pub struct ExchangeError {
    /// The rank that saw it, from 0.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
    /// What happened.
    pub message: String,
}

/// What a rank needs of the others. All ranks call the same functions in the same order, each from one thread
/// at a time. Blocks of bytes may be empty and of any length.
///
/// There is no sum: numbers are added in the order of ranks by whoever needs them, so that the result depends
/// on nothing else.
///
/// ```
/// use cotangent_optim::exchange::{Exchange, Threads};
/// let sums = Threads::run(3, |ranks| {
///     let mine = [ranks.rank() as u8; 2];
///     let all = ranks.all_gather(&mine)?;
///     Ok(all.concat())
/// });
/// assert_eq!(sums, vec![Ok(vec![0, 0, 1, 1, 2, 2]); 3]);
/// # let _: Result<Vec<u8>, cotangent_optim::exchange::ExchangeError> = sums[0].clone();
/// ```
pub trait Exchange: Send + Sync + std::fmt::Debug {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Sends a block to each rank, also to this one, and returns the block that each has sent here.
    ///
    /// # Errors
    /// If another rank has ended, or the library of messages fails.
    ///
    /// # Panics
    /// If there is not one block for each rank.
    fn all_to_all(&self, blocks: &[&[u8]]) -> Result<Vec<Vec<u8>>, ExchangeError>;

    /// Sends a block to another rank, which must [`receive`](Self::receive) it.
    ///
    /// # Errors
    /// As [`all_to_all`](Self::all_to_all).
    fn send(&self, to: usize, block: &[u8]) -> Result<(), ExchangeError>;

    /// The next block that another rank sends to this one.
    ///
    /// # Errors
    /// As [`all_to_all`](Self::all_to_all).
    fn receive(&self, from: usize) -> Result<Vec<u8>, ExchangeError>;

    /// Ends all ranks with this exit code.
    fn abort(&self, code: i32) -> !;

    /// The blocks of all ranks, in their order.
    ///
    /// # Errors
    /// As [`all_to_all`](Self::all_to_all).
    fn all_gather(&self, block: &[u8]) -> Result<Vec<Vec<u8>>, ExchangeError> {
        self.all_to_all(&vec![block; self.size()])
    }

    /// The blocks of all ranks, in their order, at the rank `root`; nothing elsewhere.
    ///
    /// # Errors
    /// As [`all_to_all`](Self::all_to_all).
    fn gather(&self, root: usize, block: &[u8]) -> Result<Option<Vec<Vec<u8>>>, ExchangeError> {
        let mut blocks: Vec<&[u8]> = vec![&[]; self.size()];
        blocks[root] = block;
        let all = self.all_to_all(&blocks)?;
        Ok((self.rank() == root).then_some(all))
    }

    /// The block of the rank `root`. The others' blocks have no effect.
    ///
    /// # Errors
    /// As [`all_to_all`](Self::all_to_all).
    fn broadcast(&self, root: usize, block: &[u8]) -> Result<Vec<u8>, ExchangeError> {
        let block = if self.rank() == root { block } else { &[] };
        let mut blocks = self.all_gather(block)?;
        Ok(std::mem::take(&mut blocks[root]))
    }

    /// Waits for all ranks.
    ///
    /// # Errors
    /// As [`all_to_all`](Self::all_to_all).
    fn barrier(&self) -> Result<(), ExchangeError> {
        self.all_gather(&[]).map(drop)
    }

    /// Checks that all ranks have the same fingerprint of what they train.
    ///
    /// # Errors
    /// If one has not; the error names it. Or as [`all_to_all`](Self::all_to_all).
    fn agree(&self, fingerprint: u64) -> Result<(), ExchangeError> {
        let all = self.all_gather(&fingerprint.to_le_bytes())?;
        match all.iter().position(|other| *other != all[0]) {
            Some(other) => Err(self.error(&format!(
                "rank {other} has another version, other settings, data or weights than rank 0"
            ))),
            None => Ok(()),
        }
    }

    /// An error that this rank saw.
    fn error(&self, message: &str) -> ExchangeError {
        ExchangeError { rank: self.rank(), size: self.size(), message: message.to_owned() }
    }
}

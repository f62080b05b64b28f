//! Ranks that are processes under MPI. Nothing else here knows the library.

use cotangent::optim::exchange::{Exchange, ExchangeError};
use ferrompi::{Communicator, Mpi, ThreadLevel};

/// The largest number of bytes that one call sends or receives: counts of MPI are 32-bit.
const PIECE: usize = 1 << 30;

/// All processes of a job. One thread at a time may use it, whichever it is.
pub(crate) struct World(Communicator);

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "World(rank {} of {})", self.rank(), self.size())
    }
}

impl World {
    /// Starts MPI. The first value ends it when it is dropped: after an error it must not be, because it
    /// would wait for the others.
    ///
    /// # Errors
    /// If the library cannot be started, or lets only one thread send messages.
    pub(crate) fn start() -> Result<(Mpi, World), String> {
        let mpi = Mpi::init_thread(ThreadLevel::Serialized).map_err(|error| error.to_string())?;
        let world = World(mpi.world());
        if mpi.thread_level() < ThreadLevel::Serialized {
            return Err("this library of MPI lets only its first thread send messages".to_owned());
        }
        Ok((mpi, world))
    }

    fn checked<R>(&self, result: Result<R, ferrompi::Error>) -> Result<R, ExchangeError> {
        result.map_err(|error| self.error(&error.to_string()))
    }

    /// One number from each rank to each.
    fn numbers(&self, numbers: &[u64]) -> Result<Vec<usize>, ExchangeError> {
        let mut received = vec![0_u64; numbers.len()];
        self.checked(self.0.alltoall(numbers, &mut received))?;
        Ok(received.into_iter().map(|n| usize::try_from(n).expect("a size in memory")).collect())
    }

    /// The bytes of a round of [`all_to_all`](Exchange::all_to_all): of each block at most `piece`.
    fn round(
        &self,
        round: usize,
        piece: usize,
        blocks: &[&[u8]],
        received: &mut [Vec<u8>],
    ) -> Result<(), ExchangeError> {
        let part = |len: usize| (round * piece).min(len)..((round + 1) * piece).min(len);
        let counts = |lens: &mut dyn Iterator<Item = usize>| {
            let counts: Vec<i32> = lens.map(|len| part(len).len() as i32).collect();
            let starts = counts.iter().scan(0, |sum, count| {
                *sum += count;
                Some(*sum - count)
            });
            (starts.collect::<Vec<i32>>(), counts.iter().sum::<i32>() as usize, counts.clone())
        };
        let (starts, _, sizes) = counts(&mut blocks.iter().map(|block| block.len()));
        let (from, total, got) = counts(&mut received.iter().map(Vec::len));
        let sent = blocks.iter().map(|block| &block[part(block.len())]).collect::<Vec<_>>().concat();
        let mut all = vec![0_u8; total];
        self.checked(self.0.alltoallv(&sent, &sizes, &starts, &mut all, &got, &from))?;
        for ((block, start), count) in received.iter_mut().zip(from).zip(got) {
            let part = part(block.len());
            block[part].copy_from_slice(&all[start as usize..][..count as usize]);
        }
        Ok(())
    }
}

/// What a message from one rank to another is called.
const LENGTH: i32 = 1;
const BYTES: i32 = 2;

impl Exchange for World {
    fn rank(&self) -> usize {
        self.0.rank() as usize
    }

    fn size(&self) -> usize {
        self.0.size() as usize
    }

    fn all_to_all(&self, blocks: &[&[u8]]) -> Result<Vec<Vec<u8>>, ExchangeError> {
        assert_eq!(blocks.len(), self.size(), "a block for each rank");
        let lens: Vec<u64> = blocks.iter().map(|block| block.len() as u64).collect();
        let mut received: Vec<Vec<u8>> = self.numbers(&lens)?.into_iter().map(|len| vec![0; len]).collect();
        // As many rounds as the longest block of any rank needs.
        let piece = PIECE / self.size();
        let longest = lens.iter().copied().max().unwrap_or(0);
        let longest = self.numbers(&vec![longest; self.size()])?.into_iter().max().unwrap_or(0);
        for round in 0..longest.div_ceil(piece) {
            self.round(round, piece, blocks, &mut received)?;
        }
        Ok(received)
    }

    fn send(&self, to: usize, block: &[u8]) -> Result<(), ExchangeError> {
        let to = to as i32;
        self.checked(self.0.send(&[block.len() as u64], to, LENGTH))?;
        block.chunks(PIECE).try_for_each(|piece| self.checked(self.0.send(piece, to, BYTES)))
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, ExchangeError> {
        let (from, mut len) = (from as i32, [0_u64]);
        self.checked(self.0.recv(&mut len, from, LENGTH))?;
        let mut block = vec![0; usize::try_from(len[0]).expect("a size in memory")];
        for piece in block.chunks_mut(PIECE) {
            self.checked(self.0.recv(piece, from, BYTES))?;
        }
        Ok(block)
    }

    fn abort(&self, code: i32) -> ! {
        self.0.abort(code)
    }
}

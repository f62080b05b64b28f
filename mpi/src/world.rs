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
}

/// What a message from one rank to another is called.
const LENGTH: i32 = 1;
const BYTES: i32 = 2;
const BLOCK: i32 = 3;

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
        let me = self.rank();
        received[me].copy_from_slice(blocks[me]);
        // Each message goes from its own memory to its own memory.
        let exchanged = ferrompi::scope(|scope| {
            for (from, block) in received.iter_mut().enumerate().filter(|(rank, _)| *rank != me) {
                for piece in block.chunks_mut(PIECE) {
                    let _ = self.0.irecv(scope, piece, from as i32, BLOCK)?;
                }
            }
            for (to, block) in blocks.iter().enumerate().filter(|(rank, _)| *rank != me) {
                for piece in block.chunks(PIECE) {
                    let _ = self.0.isend(scope, piece, to as i32, BLOCK)?;
                }
            }
            Ok(())
        });
        self.checked(exchanged)?;
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

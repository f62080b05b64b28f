//! Ranks as threads of one process.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use crate::exchange::{Exchange, ExchangeError};

/// A rank that is a thread, for tests and for programs that have no library of MPI.
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    to: Vec<Mutex<Sender<Vec<u8>>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Threads {
    /// Runs a function as each of `size` ranks and returns the results in their order. Where one rank ends
    /// early, the others' exchanges with it are errors.
    ///
    /// # Panics
    /// If a rank panics.
    pub fn run<R: Send>(size: usize, run: impl Fn(Arc<dyn Exchange>) -> R + Sync) -> Vec<R> {
        let mut ranks: Vec<Threads> =
            (0..size).map(|rank| Threads { rank, to: Vec::new(), from: Vec::new() }).collect();
        for from in 0..size {
            for to in 0..size {
                let (sender, receiver) = channel();
                ranks[from].to.push(Mutex::new(sender));
                ranks[to].from.push(Mutex::new(receiver));
            }
        }
        std::thread::scope(|scope| {
            // Each thread owns its rank: when it ends, its channels close, and nobody waits for it.
            let run = &run;
            let threads: Vec<_> =
                ranks.into_iter().map(|rank| scope.spawn(move || run(Arc::new(rank)))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a rank panicked")).collect()
        })
    }

    fn ended(&self, other: usize) -> ExchangeError {
        self.error(&format!("rank {other} has ended"))
    }
}

impl Exchange for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn all_to_all(&self, blocks: &[&[u8]]) -> Result<Vec<Vec<u8>>, ExchangeError> {
        assert_eq!(blocks.len(), self.size(), "a block for each rank");
        (0..).zip(blocks).try_for_each(|(to, block)| self.send(to, block))?;
        (0..self.size()).map(|from| self.receive(from)).collect()
    }

    fn send(&self, to: usize, block: &[u8]) -> Result<(), ExchangeError> {
        let sender = self.to[to].lock().map_err(|_| self.ended(to))?;
        sender.send(block.to_vec()).map_err(|_| self.ended(to))
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, ExchangeError> {
        let receiver = self.from[from].lock().map_err(|_| self.ended(from))?;
        receiver.recv().map_err(|_| self.ended(from))
    }

    /// A process cannot end a single thread: this panics.
    fn abort(&self, code: i32) -> ! {
        panic!("rank {} ends the job with code {code}", self.rank)
    }
}

//! One rank without others.

use crate::exchange::{Exchange, ExchangeError};

/// The only rank of a job.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Exchange for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn all_to_all(&self, blocks: &[&[u8]]) -> Result<Vec<Vec<u8>>, ExchangeError> {
        assert_eq!(blocks.len(), 1, "a block for each rank");
        Ok(vec![blocks[0].to_vec()])
    }

    fn send(&self, to: usize, _: &[u8]) -> Result<(), ExchangeError> {
        Err(self.error(&format!("there is no rank {to}")))
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, ExchangeError> {
        Err(self.error(&format!("there is no rank {from}")))
    }

    fn abort(&self, code: i32) -> ! {
        std::process::exit(code)
    }
}

//! Seeded random streams.
//!
//! Every use of chance has its own stream, found from the seed, a purpose and a number. The draws of
//! epoch 7 do not depend on what epoch 6 drew, so a resumed run and a run on more threads see the same
//! draws. A stream that is in use can be stored in a checkpoint, and goes on from where it was.

use rand::SeedableRng;
pub use rand_chacha::ChaCha8Rng as Rng;

/// The stream of a purpose (any fixed number for each use of chance) and an index within it (an epoch, a
/// chunk of the data).
///
/// ```
/// use cotangent_engine::rng;
/// use rand::RngExt;
/// let draw = |index| rng::stream(42, 0, index).random::<u64>();
/// assert_eq!(draw(3), draw(3));
/// assert_ne!(draw(3), draw(4));
/// ```
pub fn stream(seed: u64, purpose: u64, index: u64) -> Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&purpose.to_le_bytes());
    let mut rng = Rng::from_seed(key);
    rng.set_stream(index);
    rng
}

//! Seeded random streams.
//!
//! Each use of randomness has its own stream, determined by the seed, a purpose and an index. The draws of
//! epoch 7 do not depend on what epoch 6 drew, so a resumed run and a run on more threads see the same
//! draws. A stream can be stored in a checkpoint and continues where it stopped.

use rand::SeedableRng;
pub use rand_chacha::ChaCha8Rng as Rng;

/// What a stream is for: a name, such as `"dropout"`, or any fixed number. Each purpose
/// has its own stream.
pub trait Purpose {
    /// A number's key is `[number, 0]`, a name's `[0, hash]`.
    fn key(&self) -> [u64; 2];
}

impl Purpose for u64 {
    fn key(&self) -> [u64; 2] {
        [*self, 0]
    }
}

/// The hash is FNV-1a of 64 bits.
impl Purpose for &str {
    fn key(&self) -> [u64; 2] {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        [0, self.bytes().fold(0xcbf2_9ce4_8422_2325, mix)]
    }
}

/// The stream of a seed, a purpose, and an index within the purpose, such as an epoch or a chunk of the data.
///
/// A ChaCha generator with 8 rounds: seed and purpose are its key, the index is its stream number.
///
/// ```
/// use cotangent_engine::rng;
/// use rand::RngExt;
/// let draw = |purpose, index| rng::stream(42, purpose, index).random::<u64>();
/// assert_eq!(draw("dropout", 3), draw("dropout", 3));
/// assert!(draw("dropout", 3) != draw("dropout", 4) && draw("dropout", 3) != draw("order", 3));
/// ```
pub fn stream(seed: u64, purpose: impl Purpose, index: u64) -> Rng {
    let mut key = [0; 32];
    let [number, name] = purpose.key();
    for (bytes, part) in key.chunks_exact_mut(8).zip([seed, number, name]) {
        bytes.copy_from_slice(&part.to_le_bytes());
    }
    let mut rng = Rng::from_seed(key);
    rng.set_stream(index);
    rng
}

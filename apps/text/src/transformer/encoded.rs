//! Training and validation text as tokens.

use super::batches::Pair;
use super::bpe::Bpe;
use super::parallel_text::{ParallelText, Sentences};

/// Training and validation text as tokens.
pub(super) struct Encoded {
    pub(super) train: Vec<Pair>,
    pub(super) validation: Vec<Pair>,
    pub(super) left_out: [usize; 2],
    pub(super) fingerprint: u32,
}

impl Encoded {
    /// Encodes a text, without pairs of which one sentence has more than `longest` tokens.
    pub(super) fn new(text: &ParallelText, bpe: &Bpe, longest: usize) -> Self {
        let encode = |sentences: &[Sentences]| -> Vec<Pair> {
            sentences
                .iter()
                .map(|(source, target)| Pair { source: bpe.encode(source), target: bpe.encode(target) })
                .filter(|pair| pair.source.len().max(pair.target.len()) <= longest)
                .collect()
        };
        let (train, validation) = (encode(&text.train), encode(&text.validation));
        let mut hasher = crc32fast::Hasher::new();
        for pair in train.iter().chain(&validation) {
            for tokens in [&pair.source, &pair.target] {
                tokens.iter().for_each(|n| hasher.update(&n.to_le_bytes()));
                hasher.update(&u32::MAX.to_le_bytes());
            }
        }
        let left_out = [text.train.len() - train.len(), text.validation.len() - validation.len()];
        Encoded { train, validation, left_out, fingerprint: hasher.finalize() }
    }
}

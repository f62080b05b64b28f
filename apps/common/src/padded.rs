//! Sentences side by side.

/// A batch of sentences, padded to equal length for recurrent layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Padded {
    /// The words, `[longest, batch]`: column b is sentence b, padded with 0 at the end.
    pub words: Vec<u32>,
    /// Number of words of each sentence.
    pub lengths: Vec<usize>,
}

impl Padded {
    /// Pads some sentences.
    pub fn new<'a>(sentences: impl Iterator<Item = &'a [u32]> + Clone) -> Self {
        let lengths: Vec<usize> = sentences.clone().map(<[u32]>::len).collect();
        let (longest, batch) = (lengths.iter().copied().max().unwrap_or(0), lengths.len());
        let mut words = vec![0; longest * batch];
        for (b, sentence) in sentences.enumerate() {
            sentence.iter().enumerate().for_each(|(t, &word)| words[t * batch + b] = word);
        }
        Padded { words, lengths }
    }

    /// The shape of `words`: `[longest, batch]`.
    pub fn shape(&self) -> [usize; 2] {
        let batch = self.lengths.len();
        [self.words.len() / batch.max(1), batch]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_columns() {
        let sentences: [&[u32]; 3] = [&[5, 6], &[7], &[8, 9, 4]];
        let padded = Padded::new(sentences.into_iter());
        assert_eq!((padded.shape(), &padded.lengths[..]), ([3, 3], &[2, 1, 3][..]));
        assert_eq!(padded.words, [5, 7, 8, 6, 0, 9, 0, 0, 4]);
        assert_eq!(Padded::new([].into_iter()).shape(), [0, 0]);
    }
}

//! A text as one sequence of tokens, in blocks and windows.

use std::ops::Range;
use std::path::PathBuf;

use cotangent_apps_common::error::{AppError, Result};

use super::text::Lines;
use super::vocabulary::Vocabulary;

/// A text as one sequence of tokens, each line with its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    /// The tokens to predict. Before them is the end of a line, from which the first one is predicted.
    tokens: Vec<u32>,
    /// How many of them are not in the vocabulary.
    pub(super) unknown: usize,
    path: PathBuf,
}

/// Tokens from which the following ones are predicted. The last ones of those count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) given: Range<usize>,
    pub(super) counted: usize,
}

/// Windows of one length, as a model takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// `[n, len]`: the input at each position.
    pub(super) given: Vec<u32>,
    pub(super) len: usize,
    /// `[n, counted]`: the expected outputs at the last positions of each window.
    pub(super) next: Vec<u32>,
    pub(super) counted: usize,
}

impl Stream {
    pub(super) fn new(text: &Lines, vocabulary: &Vocabulary) -> Self {
        let mut tokens = vec![vocabulary.end()];
        for line in &text.lines {
            tokens.extend(vocabulary.encode(line));
            tokens.push(vocabulary.end());
        }
        let unknown = tokens.iter().filter(|&&token| Some(token) == vocabulary.unknown()).count();
        Stream { tokens, unknown, path: text.path.clone() }
    }

    /// Number of tokens to predict.
    pub(super) fn len(&self) -> usize {
        self.tokens.len() - 1
    }

    /// Number of whole blocks.
    ///
    /// # Errors
    /// If there is none; the error names the file.
    pub(super) fn blocks(&self, block: usize) -> Result<usize> {
        match self.len() / block {
            0 => {
                let message = format!("{} tokens are less than a block; see --block {block}", self.len());
                Err(AppError::content(&self.path, message))
            }
            count => Ok(count),
        }
    }

    /// A block, counted from 0, all of whose tokens count.
    pub(super) fn block(&self, number: u32, block: usize) -> Window {
        let start = number as usize * block;
        Window { given: start..start + block, counted: block }
    }

    /// Windows in which every token is predicted once, from at least `context` tokens if so many are before
    /// it. They have at most `block` tokens.
    pub(super) fn windows(&self, block: usize, context: usize) -> Vec<Window> {
        let step = block - context;
        let window = |start: usize| {
            let end = (start + step).min(self.len());
            Window { given: start.saturating_sub(context)..end, counted: end - start }
        };
        (0..self.len()).step_by(step).map(window).collect()
    }

    /// Windows in batches of at most `size`, each of windows of one length.
    pub(super) fn batches<'a>(&self, windows: &'a [Window], size: usize) -> Vec<&'a [Window]> {
        let same = |a: &Window, b: &Window| a.given.len() == b.given.len() && a.counted == b.counted;
        windows.chunk_by(same).flat_map(|windows| windows.chunks(size)).collect()
    }

    /// Windows of one length, as a model takes them.
    ///
    /// # Panics
    /// If there is no window.
    pub(super) fn batch(&self, windows: &[Window]) -> Batch {
        let Window { given, counted } = &windows[0];
        let tokens = |part: fn(&Window) -> Range<usize>| {
            windows.iter().flat_map(|window| &self.tokens[part(window)]).copied().collect()
        };
        Batch {
            given: tokens(|window| window.given.clone()),
            len: given.len(),
            next: tokens(|window| window.given.end - window.counted + 1..window.given.end + 1),
            counted: *counted,
        }
    }

    /// A checksum.
    pub(super) fn fingerprint(&self, hasher: &mut crc32fast::Hasher) {
        self.tokens.iter().for_each(|token| hasher.update(&token.to_le_bytes()));
        hasher.update(&u32::MAX.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens 1 to n, after 0.
    fn stream(n: u32) -> Stream {
        Stream { tokens: (0..=n).collect(), unknown: 0, path: "text".into() }
    }

    #[test]
    fn every_token_is_predicted_once_from_enough_tokens() {
        for (n, block, context) in [(50, 8, 0), (50, 8, 6), (50, 8, 7), (8, 8, 4), (5, 8, 3), (64, 8, 0)] {
            let stream = stream(n);
            let mut predicted = Vec::new();
            for window in stream.windows(block, context) {
                assert!(window.given.len() <= block);
                let batch = stream.batch(std::slice::from_ref(&window));
                for (i, &next) in batch.next.iter().enumerate() {
                    let last = batch.len - batch.counted + i;
                    assert_eq!(batch.given[last] + 1, next);
                    assert!(last + 1 >= (context + 1).min(next as usize), "{window:?}");
                    predicted.push(next);
                }
            }
            assert_eq!(predicted, (1..=n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn batches_have_windows_of_one_length() {
        let stream = stream(50);
        let windows = stream.windows(8, 6);
        let batches = stream.batches(&windows, 4);
        assert_eq!(batches.concat(), windows);
        assert!(batches.iter().all(|batch| batch.len() <= 4) && batches.len() < windows.len() / 2);
        let batch = stream.batch(&windows[10..12]);
        assert_eq!(batch.given, [14, 15, 16, 17, 18, 19, 20, 21, 16, 17, 18, 19, 20, 21, 22, 23]);
        assert_eq!((batch.next, batch.counted), (vec![21, 22, 23, 24], 2));
    }

    #[test]
    fn blocks_are_side_by_side() {
        let stream = stream(50);
        assert_eq!(stream.blocks(16).unwrap(), 3);
        assert_eq!(stream.block(2, 16), Window { given: 32..48, counted: 16 });
        let error = stream.blocks(51).unwrap_err().to_string();
        assert_eq!(error, "text: 50 tokens are less than a block; see --block 51");
    }
}

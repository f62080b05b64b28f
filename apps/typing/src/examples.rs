//! Mentions as numbers: of words, positions, characters and types.

use std::collections::{BTreeMap, HashMap, HashSet};

use cotangent_apps_common::error::{AppError, Result};
use serde::{Deserialize, Serialize};

use crate::config::TypingConfig;
use crate::mention::Mention;
use crate::types::Types;
use crate::words::{Words, forms};

/// The number of a character that is not in the list.
const UNKNOWN_CHARACTER: u32 = 0;

/// The characters of mentions. Number 0 stands for all that are not in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Characters {
    list: String,
    #[serde(skip)]
    numbers: HashMap<char, u32>,
}

impl Characters {
    /// The characters that occur at least twice in training mentions. Those that occur once are unknown ones,
    /// so that the point of unknown characters is trained.
    pub fn from_mentions<'a>(mentions: impl IntoIterator<Item = &'a Mention>) -> Self {
        let mut counts = BTreeMap::new();
        for mention in mentions {
            mention.text().chars().for_each(|c| *counts.entry(c).or_insert(0) += 1);
        }
        Characters::new(counts.into_iter().filter(|&(_, count)| count > 1).map(|(c, _)| c).collect())
    }

    fn new(list: String) -> Self {
        let numbers = list.chars().zip(UNKNOWN_CHARACTER + 1..).collect();
        Characters { list, numbers }
    }

    /// After the list was read from JSON: builds the index that JSON does not have.
    pub(crate) fn indexed(self) -> Self {
        Characters::new(self.list)
    }

    /// Number of points that an embedding of them needs: one more than there are.
    pub fn places(&self) -> usize {
        self.numbers.len() + 1
    }

    /// Adds the list to a checksum.
    pub(crate) fn hash(&self, hasher: &mut crc32fast::Hasher) {
        hasher.update(&(self.list.len() as u64).to_le_bytes());
        hasher.update(self.list.as_bytes());
    }

    fn number(&self, character: char) -> u32 {
        self.numbers.get(&character).copied().unwrap_or(UNKNOWN_CHARACTER)
    }
}

/// A mention as numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// The words of the context, the mention among them: at least one.
    pub context: Vec<u32>,
    /// The position of each of these words: see [`context_positions`].
    pub positions: Vec<u32>,
    /// The words of the mention: at least one.
    pub mention: Vec<u32>,
    /// The characters of the mention: at least one.
    pub characters: Vec<u32>,
    /// The types, in ascending order.
    pub types: Vec<u32>,
}

/// Number of positions of a context with at most `words` words: a word of the mention is at position
/// `words`, the k-th word to its left at `words − k`, the k-th to its right at `words + k`.
pub fn context_positions(words: usize) -> usize {
    2 * words + 1
}

/// The words of some mentions, in all [forms] in which a vector may be found.
pub fn wanted<'a>(mentions: impl IntoIterator<Item = &'a Mention>) -> HashSet<String> {
    let mut wanted = HashSet::new();
    for mention in mentions {
        for token in [&mention.left, &mention.words, &mention.right].into_iter().flatten() {
            if !wanted.contains(token) {
                wanted.extend(forms(token).into_iter().flatten());
            }
        }
    }
    wanted
}

impl Example {
    /// A mention as numbers.
    ///
    /// The first `mention_words` words and the first `mention_chars` characters of a mention are read. Its
    /// context is its first `context_words` words and, as far as they leave room, words before and after it:
    /// half of the room for those before it, rounded down, the rest for those after it. What one side does
    /// not fill goes to the other.
    ///
    /// # Errors
    /// If a type is not in the list.
    pub fn new(
        mention: &Mention,
        words: &Words,
        characters: &Characters,
        types: &Types,
        config: &TypingConfig,
    ) -> std::result::Result<Self, String> {
        let numbers =
            |tokens: &[String]| tokens.iter().map(|token| words.number(token)).collect::<Vec<u32>>();
        let span = &mention.words[..mention.words.len().min(config.context_words)];
        let [before, after] =
            around(mention.left.len(), mention.right.len(), config.context_words - span.len());
        let left = &mention.left[mention.left.len() - before..];
        let context = [left, span, &mention.right[..after]].concat();
        let middle = config.context_words;
        let positions = (0..context.len())
            .map(|i| {
                let right = (i + 1).saturating_sub(before + span.len());
                (middle + right - before.saturating_sub(i)) as u32
            })
            .collect();
        let text = mention.text();
        let mut numbers_of_types = mention
            .types
            .iter()
            .map(|name| types.number(name))
            .collect::<std::result::Result<Vec<_>, _>>()?;
        numbers_of_types.sort_unstable();
        numbers_of_types.dedup();
        Ok(Example {
            context: numbers(&context),
            positions,
            mention: numbers(&mention.words[..mention.words.len().min(config.mention_words)]),
            characters: text.chars().take(config.mention_chars).map(|c| characters.number(c)).collect(),
            types: numbers_of_types,
        })
    }

    /// Mentions as numbers. `place` says in which file and line a mention is, for the error.
    ///
    /// # Errors
    /// If a type is not in the list. The error names the line.
    pub fn all(
        mentions: &[Mention],
        place: impl Fn(usize) -> (std::path::PathBuf, u64),
        words: &Words,
        characters: &Characters,
        types: &Types,
        config: &TypingConfig,
    ) -> Result<Vec<Self>> {
        let example = |(i, mention)| {
            Example::new(mention, words, characters, types, config).map_err(|message| {
                let (path, line) = place(i);
                AppError::line(&path, line, message)
            })
        };
        mentions.iter().enumerate().map(example).collect()
    }
}

/// How many of the words before and after a mention are read, if `room` words are.
fn around(before: usize, after: usize, room: usize) -> [usize; 2] {
    let left = before.min((room / 2).max(room.saturating_sub(after)));
    [left, after.min(room - left)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Size, Space};
    use crate::types::Types;
    use crate::words::VectorKind;

    fn mention(left: &str, words: &str, right: &str, types: &str) -> Mention {
        let [left, words, right, types] =
            [left, words, right, types].map(|text| text.split_whitespace().map(str::to_owned).collect());
        Mention::new(left, words, right, types).unwrap()
    }

    fn encode(mention: &Mention, config: &TypingConfig) -> std::result::Result<Example, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.txt");
        std::fs::write(&path, "a 1\nb 2\nc 3\nd 4\ne 5\n").unwrap();
        let words = Words::read(&path, VectorKind::Euclidean, &wanted([mention])).unwrap();
        let list = crate::mention::Mention { types: vec!["x".into(), "y".into()], ..mention.clone() };
        let types = Types::from_mentions([&list]).unwrap();
        let characters = Characters::new("abcde ".to_owned());
        let mut example = Example::new(mention, &words, &characters, &types, config)?;
        // Numbers of words depend on which are wanted; their vectors tell them apart.
        let points = words.points::<f64>(VectorKind::Euclidean, Space::Euclidean, 1.0);
        for list in [&mut example.context, &mut example.mention] {
            list.iter_mut()
                .filter(|word| **word > 0)
                .for_each(|word| *word = points.row(*word as usize)[0] as u32);
        }
        Ok(example)
    }

    #[test]
    fn words_positions_characters_and_types_by_hand() {
        let config = TypingConfig {
            context_words: 5,
            mention_words: 1,
            mention_chars: 2,
            ..TypingConfig::for_crowd(Size::Base, Space::Euclidean)
        };
        let example = encode(&mention("e a b", "c D", "z a", "y x y"), &config).unwrap();
        // Three words fit beside the mention: one before, two after it.
        assert_eq!(example.context, [2, 3, 4, 0, 1]);
        assert_eq!(example.positions, [4, 5, 5, 6, 7]);
        assert_eq!(example.mention, [3]);
        assert_eq!(example.characters, [3, 6]);
        assert_eq!(example.types, [0, 1]);
        let error = encode(&mention("", "a", "", "z"), &config).unwrap_err();
        assert_eq!(error, "the type \"z\" is not in the list of 2 types");
    }

    #[test]
    fn a_longer_side_takes_the_others_room() {
        assert_eq!(around(10, 10, 4), [2, 2]);
        assert_eq!(around(10, 10, 5), [2, 3]);
        assert_eq!(around(1, 10, 5), [1, 4]);
        assert_eq!(around(10, 1, 5), [4, 1]);
        assert_eq!(around(1, 1, 5), [1, 1]);
        assert_eq!(around(3, 3, 0), [0, 0]);
    }

    #[test]
    fn long_contexts_and_mentions_are_cut() {
        let config = TypingConfig::for_crowd(Size::Base, Space::Euclidean);
        let long = "a ".repeat(10_000);
        let example = encode(&mention(&long, "b", &long, "x"), &config).unwrap();
        assert_eq!((example.context.len(), example.context[12]), (25, 2));
        assert_eq!(example.positions, (13..38).collect::<Vec<u32>>());
        let example = encode(&mention("c", &long, "c", "x"), &config).unwrap();
        assert_eq!((example.context.len(), example.mention.len(), example.characters.len()), (25, 5, 10));
        assert!(example.positions.iter().all(|&position| position == 25));
        assert!(context_positions(25) == 51);
    }

    #[test]
    fn rare_characters_are_unknown() {
        let characters = Characters::from_mentions(&[mention("", "aab b", "", "x")]);
        assert_eq!(characters.places(), 3);
        let numbers: Vec<u32> = "ab c".chars().map(|c| characters.number(c)).collect();
        assert_eq!(numbers, [1, 2, 0, 0]);
        let json = serde_json::to_string(&characters).unwrap();
        assert_eq!(serde_json::from_str::<Characters>(&json).unwrap().indexed(), characters);
    }
}

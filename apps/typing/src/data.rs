//! The data of a training: mentions to train on, to select by and to test on, words, characters and types.

use std::path::{Path, PathBuf};

use cotangent_apps_common::error::{AppError, Result};

use crate::config::TypingConfig;
use crate::examples::{Characters, Example, wanted};
use crate::readers::{self, Mentions};
use crate::types::{Levels, Types};
use crate::words::Words;

/// Where the data are.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Mentions whose types people did not give, to train on before those of `train`.
    pub distant: Option<PathBuf>,
    /// Mentions to train on.
    pub train: PathBuf,
    /// Mentions to select the model by.
    pub dev: PathBuf,
    /// Mentions to test on.
    pub test: Option<PathBuf>,
    /// Word vectors.
    pub words: PathBuf,
    /// The list of types. Without it, the types are those of all mentions.
    pub types: Option<PathBuf>,
    /// How many types of the list are coarse and fine.
    pub levels: Levels,
}

/// The data of a training, as numbers.
#[derive(Clone, Debug)]
pub struct Data {
    /// The words that occur, with their vectors.
    pub words: Words,
    /// The file that they are from.
    pub word_file: PathBuf,
    /// The characters of training mentions.
    pub characters: Characters,
    /// The types.
    pub types: Types,
    /// Mentions to train on, to select by, and to test on; the last may be empty.
    pub parts: [Vec<Example>; 3],
    /// The number of mentions at the front of the first part that are distant ones.
    pub distant: usize,
    /// In each part the number of mentions without types, which are left out.
    pub untyped: [usize; 3],
}

impl Data {
    /// Reads all files. Mentions without types are left out and counted.
    ///
    /// # Errors
    /// If a file cannot be read or has a wrong line, a type is not in the list of types, or all training or
    /// dev mentions are without types.
    pub fn read(sources: &Sources, config: &TypingConfig) -> Result<Self> {
        let Sources { distant, train, dev, test, .. } = sources;
        let paths = [distant.as_ref(), Some(train), Some(dev), test.as_ref()];
        let (mut untyped, mut read) = ([0; 3], Vec::new());
        // Distant mentions and the others to train on are one part.
        for (path, part) in paths.into_iter().zip([0, 0, 1, 2]) {
            let mentions = path.map(|path| readers::read(path)).transpose()?.unwrap_or_default();
            let (typed, left_out) = typed(mentions);
            untyped[part] += left_out;
            if typed.list.is_empty() && path.is_some() {
                let path = path.map_or(Path::new(""), |path| path);
                return Err(AppError::content(path, format!("all {left_out} mentions are without types")));
            }
            read.push(typed);
        }
        let mentions = || read.iter().flat_map(|part| &part.list);
        let types = match &sources.types {
            Some(path) => Types::read(path, sources.levels)?,
            None => Types::from_mentions(mentions())?,
        };
        let words = Words::read(&sources.words, config.vectors, &wanted(mentions()))?;
        let characters = Characters::from_mentions(read[..2].iter().flat_map(|part| &part.list));
        let examples = |i: usize| {
            let place = |mention: usize| {
                let path = paths[i].expect("a part with mentions has a file");
                (path.clone(), read[i].lines[mention])
            };
            Example::all(&read[i].list, place, &words, &characters, &types, config)
        };
        let distant = read[0].list.len();
        let parts = [[examples(0)?, examples(1)?].concat(), examples(2)?, examples(3)?];
        Ok(Data { words, word_file: sources.words.clone(), characters, types, parts, distant, untyped })
    }

    /// A checksum of everything that the result depends on: types, the vectors of all words that occur,
    /// characters, and which mentions are distant or in which part.
    pub fn fingerprint(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        self.types.fingerprint(&mut hasher);
        hasher.update(&self.words.fingerprint().to_le_bytes());
        self.words.hash(&mut hasher);
        self.characters.hash(&mut hasher);
        self.parts.iter().for_each(|part| hasher.update(&(part.len() as u64).to_le_bytes()));
        hasher.update(&(self.distant as u64).to_le_bytes());
        for example in self.parts.iter().flatten() {
            let lists = [&example.context, &example.positions, &example.mention, &example.characters];
            for list in lists.into_iter().chain([&example.types]) {
                list.iter().chain([&u32::MAX]).for_each(|number| hasher.update(&number.to_le_bytes()));
            }
        }
        hasher.finalize()
    }
}

/// The mentions with types, and the number of the others.
fn typed(mentions: Mentions) -> (Mentions, usize) {
    let all = mentions.list.len();
    let kept = mentions.list.into_iter().zip(mentions.lines).filter(|(mention, _)| !mention.types.is_empty());
    let (list, lines): (Vec<_>, Vec<_>) = kept.unzip();
    let left_out = all - list.len();
    (Mentions { list, lines }, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Size, Space};

    const MENTIONS: [&str; 3] = ["0\t\tabab\tzz\tx\n", "1\t\tbaab\tz\tx\n", "2\t\ta\tz\ty\n"];

    /// The checksum for mentions of the three parts, and the last vector of a file of many words.
    fn fingerprint(parts: [&[&str]; 3], last: f32) -> u32 {
        let dir = tempfile::tempdir().unwrap();
        let [train, dev, test, words] = ["train", "dev", "test", "words"].map(|name| dir.path().join(name));
        for (path, lines) in [&train, &dev, &test].into_iter().zip(parts) {
            std::fs::write(path, lines.concat()).unwrap();
        }
        let many: String = (0..2000).map(|i| format!("w{i} 1\n")).collect();
        std::fs::write(&words, format!("{many}z {last}\n")).unwrap();
        let levels = Levels { coarse: 0, fine: 0 };
        let sources = Sources { distant: None, train, dev, test: Some(test), words, types: None, levels };
        let read = |sources: &Sources| {
            Data::read(sources, &TypingConfig::for_crowd(Size::Base, Space::Euclidean)).unwrap()
        };
        // Distant mentions come first, and are told apart.
        let plain = read(&sources);
        let more = read(&Sources { distant: Some(sources.dev.clone()), ..sources });
        assert_eq!(more.parts[0], [&more.parts[1][..], &plain.parts[0][..]].concat());
        assert_eq!((more.distant, plain.distant), (plain.parts[1].len(), 0));
        assert!(more.fingerprint() != plain.fingerprint());
        plain.fingerprint()
    }

    #[test]
    fn the_checksum_has_parts_vectors_and_characters() {
        let [a, b, c] = MENTIONS;
        let whole = fingerprint([&[a, b], &[c], &[c]], 1.0);
        assert_eq!(whole, fingerprint([&[a, b], &[c], &[c]], 1.0));
        // A vector behind those of the words' own checksum.
        assert!(whole != fingerprint([&[a, b], &[c], &[c]], 2.0));
        // The same mentions in the same order, divided elsewhere.
        assert!(fingerprint([&[b, b], &[b], &[b]], 1.0) != fingerprint([&[b], &[b, b], &[b]], 1.0));
        // As many characters, with the same numbers.
        let other = a.replace("abab", "acac");
        let other: &[&str] = &[&other];
        assert!(fingerprint([&[a], &[c], &[c]], 1.0) != fingerprint([other, &[c], &[c]], 1.0));
    }
}

//! The tokens of a language model: its words or, by byte-pair encoding, words and parts of words.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent_apps_attention::saved::TOKENIZER;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::read_lines;

use super::{LmConfig, TokensOption};
use crate::transformer::bpe::{self, Bpe};

/// The words, one a line, by falling frequency.
pub(super) const WORDS: &str = "vocabulary.txt";
/// The end of a line.
const END: &str = "<eos>";
/// A word that is not in the vocabulary.
const UNKNOWN: &str = "<unk>";
/// The size of a byte-pair encoding for which none is given.
const BPE_SIZE: usize = 8000;

/// Words by falling frequency. They include `<eos>` and `<unk>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    words: Vec<String>,
    numbers: HashMap<String, u32>,
    end: u32,
    unknown: u32,
}

impl Words {
    /// The `largest` most frequent words of a text among those that occur at least `min_count` times; all
    /// others count as `<unk>`. Words are separated by white space, and every line ends with `<eos>`. Of
    /// equally frequent words the one that is first in the order of bytes comes first.
    pub fn count(lines: &[String], min_count: u64, largest: usize) -> Self {
        let mut counts: HashMap<&str, u64> = HashMap::new();
        for line in lines {
            line.split_whitespace().chain([END]).for_each(|word| *counts.entry(word).or_default() += 1);
        }
        let end = counts.remove(END).unwrap_or_default();
        let mut unknown = counts.remove(UNKNOWN).unwrap_or_default();
        let order = |&(word, count): &(&str, u64)| (Reverse(count), word.to_owned());
        let mut words: Vec<(&str, u64)> = counts.into_iter().collect();
        words.sort_by_key(order);
        let frequent = words.iter().take_while(|(_, count)| *count >= min_count).count();
        let left_out = words.split_off(frequent.min(largest.saturating_sub(2)));
        unknown += left_out.iter().map(|(_, count)| count).sum::<u64>();
        words.extend([(END, end), (UNKNOWN, unknown)]);
        words.sort_by_key(order);
        Self::numbered(words.into_iter().map(|(word, _)| word.to_owned()).collect())
            .expect("every word once, and both special ones")
    }

    /// Words in this order, or what is wrong with them and where.
    fn numbered(words: Vec<String>) -> std::result::Result<Self, (Option<usize>, String)> {
        let mut numbers = HashMap::with_capacity(words.len());
        for (number, word) in words.iter().enumerate() {
            if word.is_empty() || word.contains(char::is_whitespace) {
                return Err((Some(number), "one word is needed".to_owned()));
            }
            let new = u32::try_from(number).is_ok_and(|n| numbers.insert(word.clone(), n).is_none());
            if !new {
                return Err((Some(number), format!("{word} is there twice")));
            }
        }
        let special = |word: &str| numbers.get(word).copied().ok_or((None, format!("no word {word}")));
        let (end, unknown) = (special(END)?, special(UNKNOWN)?);
        Ok(Words { words, numbers, end, unknown })
    }

    /// Reads a file of one word a line.
    ///
    /// # Errors
    /// If it cannot be read, a line is not one word, or a word is there twice or missing.
    pub fn load(path: &Path) -> Result<Self> {
        let mut words = Vec::new();
        read_lines(path, |_, line| {
            words.push(line.to_owned());
            Ok(())
        })?;
        Self::numbered(words).map_err(|(line, message)| match line {
            Some(line) => AppError::line(path, line as u64 + 1, message),
            None => AppError::content(path, message),
        })
    }

    /// Writes one word a line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        atomic::write(path, |w| self.words.iter().try_for_each(|word| writeln!(w, "{word}")))
            .map_err(AppError::io(path))
    }
}

/// The tokens of a language model.
#[derive(Clone, Debug)]
pub enum Vocabulary {
    /// Words.
    Words(Words),
    /// Words and parts of words.
    Bpe(Box<Bpe>),
}

impl Vocabulary {
    /// Learns the vocabulary of a training text.
    ///
    /// # Errors
    /// If a byte-pair encoding is to have fewer than 300 tokens.
    pub fn learn(lines: &[String], config: &LmConfig) -> Result<Self> {
        Ok(match config.tokens {
            TokensOption::Words => {
                let largest = config.vocabulary.unwrap_or(usize::MAX);
                Vocabulary::Words(Words::count(lines, config.min_count, largest))
            }
            TokensOption::Bpe => {
                let size = config.vocabulary.unwrap_or(BPE_SIZE);
                Vocabulary::Bpe(Box::new(Bpe::train(lines.iter().map(String::as_str), size)?))
            }
        })
    }

    /// The file of a vocabulary in the directory of a run.
    pub(super) fn file(tokens: TokensOption) -> &'static str {
        match tokens {
            TokensOption::Words => WORDS,
            TokensOption::Bpe => TOKENIZER,
        }
    }

    /// Reads the vocabulary in the directory of a run that is resumed.
    ///
    /// # Errors
    /// If it cannot be read, or is one of other tokens.
    pub(super) fn of_run(directory: &Path, tokens: TokensOption) -> Result<Self> {
        let other = match tokens {
            TokensOption::Words => TokensOption::Bpe,
            TokensOption::Bpe => TokensOption::Words,
        };
        let [path, other] = [tokens, other].map(|tokens| directory.join(Vocabulary::file(tokens)));
        if !path.exists() && other.exists() {
            return Err(AppError::content(&other, "a run with another --tokens"));
        }
        Vocabulary::load(&path, tokens)
    }

    /// Reads a file that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// If it cannot be read, or is not such a file.
    pub fn load(path: &Path, tokens: TokensOption) -> Result<Self> {
        Ok(match tokens {
            TokensOption::Words => Vocabulary::Words(Words::load(path)?),
            TokensOption::Bpe => Vocabulary::Bpe(Box::new(Bpe::load(path)?)),
        })
    }

    /// Writes the vocabulary.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        match self {
            Vocabulary::Words(words) => words.save(path),
            Vocabulary::Bpe(bpe) => bpe.save(path),
        }
    }

    /// Number of tokens.
    pub fn size(&self) -> usize {
        match self {
            Vocabulary::Words(words) => words.words.len(),
            Vocabulary::Bpe(bpe) => bpe.size(),
        }
    }

    /// A checksum.
    pub fn fingerprint(&self) -> u32 {
        match self {
            Vocabulary::Words(words) => crc32fast::hash(words.words.join("\n").as_bytes()),
            Vocabulary::Bpe(bpe) => bpe.fingerprint(),
        }
    }

    /// The token that ends a line.
    pub fn end(&self) -> u32 {
        match self {
            Vocabulary::Words(words) => words.end,
            Vocabulary::Bpe(_) => bpe::END,
        }
    }

    /// The token of words that are not in the vocabulary. A byte-pair encoding has none.
    pub fn unknown(&self) -> Option<u32> {
        match self {
            Vocabulary::Words(words) => Some(words.unknown),
            Vocabulary::Bpe(_) => None,
        }
    }

    /// The tokens of a line, without its end.
    pub fn encode(&self, line: &str) -> Vec<u32> {
        match self {
            Vocabulary::Words(words) => {
                let number = |word| words.numbers.get(word).copied().unwrap_or(words.unknown);
                line.split_whitespace().map(number).collect()
            }
            Vocabulary::Bpe(bpe) => bpe.encode(line),
        }
    }

    /// The text of tokens. A line ends where its token says so.
    pub fn decode(&self, tokens: &[u32]) -> String {
        let line = |tokens: &[u32]| match self {
            Vocabulary::Words(words) => {
                let all: Vec<&str> =
                    tokens.iter().map(|&token| words.words[token as usize].as_str()).collect();
                all.join(" ")
            }
            Vocabulary::Bpe(bpe) => bpe.decode(tokens),
        };
        let lines: Vec<String> = tokens.split(|&token| token == self.end()).map(line).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[&str]) -> Vec<String> {
        text.iter().map(|&line| line.to_owned()).collect()
    }

    #[test]
    fn words_are_numbered_by_frequency() {
        let text = lines(&["b a  b", "", "c b a"]);
        let all = Words::count(&text, 1, usize::MAX);
        assert_eq!(all.words, ["<eos>", "b", "a", "c", "<unk>"]);
        // <unk> counts what is left out.
        assert_eq!(Words::count(&text, 2, usize::MAX).words, ["<eos>", "b", "a", "<unk>"]);
        assert_eq!(Words::count(&text, 1, 3).words, ["<eos>", "<unk>", "b"]);
        let vocabulary = Vocabulary::Words(all);
        assert_eq!(vocabulary.encode(" c  a x"), [3, 2, 4]);
        assert_eq!(vocabulary.decode(&[3, 2, 0, 0, 1]), "c a\n\nb");
    }

    #[test]
    fn bad_vocabularies_name_their_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(WORDS);
        let words = Words::count(&lines(&["a b", "ä"]), 1, usize::MAX);
        words.save(&path).unwrap();
        assert_eq!(Words::load(&path).unwrap(), words);
        for (text, message) in [
            ("<eos>\n<unk>\na b\n", "vocabulary.txt:3: one word is needed"),
            ("<eos>\n<unk>\na\n\nb\n", "vocabulary.txt:4: one word is needed"),
            ("<eos>\n<unk>\na\na\n", "vocabulary.txt:4: a is there twice"),
            ("<eos>\na\n", "vocabulary.txt: no word <unk>"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Words::load(&path).unwrap_err().to_string();
            assert!(error.ends_with(message), "{error}");
        }
    }
}

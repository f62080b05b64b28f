//! Questions as numbers of words.

use std::collections::{BTreeSet, HashMap};

/// The number of every word that is not in the vocabulary.
pub const UNKNOWN: u32 = 0;

/// The words of questions, each with a number from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// In alphabetical order, so that it does not depend on the order of the questions.
    words: Vec<String>,
    numbers: HashMap<String, u32>,
}

/// The words of a question in lower case. `;` and `,` are words of their own; `?` and `.` are left out, as in
/// the preprocessing of Johnson et al. 2017.
pub fn tokens(text: &str) -> Vec<String> {
    let spaced = text.to_lowercase().replace(';', " ; ").replace(',', " , ").replace(['?', '.'], " ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

impl Vocabulary {
    /// The words of these questions, which are those for training.
    pub fn new<'t>(questions: impl IntoIterator<Item = &'t str>) -> Self {
        let words: BTreeSet<String> = questions.into_iter().flat_map(tokens).collect();
        Vocabulary::from_words(words.into_iter().collect())
    }

    /// The vocabulary of a list of words, in the order of their numbers, as [`Vocabulary::words`] has them.
    pub fn from_words(words: Vec<String>) -> Self {
        let numbers = words.iter().cloned().zip(UNKNOWN + 1..).collect();
        Vocabulary { words, numbers }
    }

    /// The words, from number 1 on.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Number of numbers, that of unknown words included: the rows of a table of word vectors.
    pub fn size(&self) -> usize {
        self.words.len() + 1
    }

    /// The numbers of a question's words.
    ///
    /// # Errors
    /// If it has no words.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, String> {
        let number = |word: &String| self.numbers.get(word).copied().unwrap_or(UNKNOWN);
        let numbers: Vec<u32> = tokens(text).iter().map(number).collect();
        if numbers.is_empty() { Err(format!("the question {text:?} has no words")) } else { Ok(numbers) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbered_in_alphabetical_order() {
        let vocabulary = Vocabulary::new(["There is a Cube; is it red?", "Is there a big thing?"]);
        assert_eq!(vocabulary.words(), [";", "a", "big", "cube", "is", "it", "red", "there", "thing"]);
        let reversed = Vocabulary::new(["Is there a big thing?", "There is a Cube; is it red?"]);
        assert_eq!(reversed, vocabulary);
        assert_eq!(Vocabulary::from_words(vocabulary.words().to_vec()), vocabulary);
        assert_eq!(vocabulary.encode("a cube;it?"), Ok(vec![2, 4, 1, 6]));
        assert_eq!(vocabulary.encode("A ball, THERE."), Ok(vec![2, UNKNOWN, UNKNOWN, 8]));
        assert_eq!(vocabulary.size(), 10);
    }

    #[test]
    fn a_question_without_words_is_an_error() {
        let vocabulary = Vocabulary::new(["a cube"]);
        assert_eq!(vocabulary.encode(" ?"), Err("the question \" ?\" has no words".to_owned()));
        assert_eq!(Vocabulary::new(["?"]).size(), 1);
    }
}

//! A mention of an entity in its sentence, with its types.

/// A mention and its context, as tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mention {
    /// The words before the mention; may be empty.
    pub left: Vec<String>,
    /// The words of the mention: at least one.
    pub words: Vec<String>,
    /// The words after the mention; may be empty.
    pub right: Vec<String>,
    /// The names of its types; may be empty.
    pub types: Vec<String>,
}

impl Mention {
    /// A mention.
    ///
    /// # Errors
    /// If the mention has no words, or the name of a type is empty.
    pub fn new(
        left: Vec<String>,
        words: Vec<String>,
        right: Vec<String>,
        types: Vec<String>,
    ) -> Result<Self, String> {
        // A token of blanks alone is not a word.
        let words: Vec<String> = words.into_iter().filter(|word| !word.trim().is_empty()).collect();
        if words.is_empty() {
            return Err("an empty mention".to_owned());
        }
        if types.iter().any(|name| name.trim().is_empty()) {
            return Err("an empty name of a type".to_owned());
        }
        Ok(Mention { left, words, right, types })
    }

    /// The text of the mention: its words with spaces between them.
    pub fn text(&self) -> String {
        self.words.join(" ")
    }
}

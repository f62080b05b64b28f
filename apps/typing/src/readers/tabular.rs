//! Tab-separated mentions: number, left context, mention, right context, types. Tokens and types have single
//! spaces between them, and there is no quoting.

use crate::mention::Mention;

/// The mention of a line. Its last column, the types, may be empty.
///
/// # Errors
/// If there are not five columns, or the mention is empty.
pub fn parse(line: &str) -> Result<Mention, String> {
    let columns: Vec<&str> = line.split('\t').collect();
    let &[_, left, mention, right, types] = &columns[..] else {
        return Err(format!(
            "{} columns; five are needed: number, left context, mention, right context, types",
            columns.len()
        ));
    };
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    Mention::new(words(left), words(mention), words(right), words(types))
}

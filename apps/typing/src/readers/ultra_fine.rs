//! The JSON lines of Ultra-Fine (Choi et al. 2018): one mention a line.
//!
//! `left_context_token` and `right_context_token` are lists of tokens, `mention_span` is a text of tokens
//! with spaces between them, `y_str` a list of types. The same corpus's version of OntoNotes has types such
//! as `/person/artist`. Other entries are ignored.

use serde_json::Value;

use super::texts;
use crate::mention::Mention;

/// The mention of a line. Without `y_str` it has no types.
///
/// # Errors
/// If an entry is missing or not of its kind, or the mention is empty.
pub fn parse(value: &Value) -> Result<Mention, String> {
    let left = texts(value, "left_context_token")?;
    let right = texts(value, "right_context_token")?;
    let span = value.get("mention_span").and_then(Value::as_str);
    let span = span.ok_or("the entry \"mention_span\" must be a text")?;
    let types = if value.get("y_str").is_some() { texts(value, "y_str")? } else { Vec::new() };
    Mention::new(left, span.split_whitespace().map(str::to_owned).collect(), right, types)
}

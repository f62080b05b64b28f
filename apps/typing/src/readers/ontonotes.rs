//! The JSON lines in which OntoNotes with the types of Gillick et al. 2014 is passed on: a sentence a line,
//! with several mentions. `tokens` is a list of tokens; `mentions` a list of objects with `start` (the first
//! token, from 0), `end` (the token after the last) and `labels` (types such as `/person/artist`).

use serde_json::Value;

use super::texts;
use crate::mention::Mention;

/// The mentions of a line.
///
/// # Errors
/// If an entry is missing or not of its kind, or a mention is empty or not within its sentence.
pub fn parse(value: &Value) -> Result<Vec<Mention>, String> {
    let tokens = texts(value, "tokens")?;
    let mentions = value.get("mentions").and_then(Value::as_array);
    let mentions = mentions.ok_or("the entry \"mentions\" must be a list of mentions")?;
    mentions.iter().map(|mention| parse_mention(&tokens, mention)).collect()
}

fn parse_mention(tokens: &[String], mention: &Value) -> Result<Mention, String> {
    let number = |name: &str| {
        let number = mention.get(name).and_then(Value::as_u64);
        number.ok_or_else(|| format!("the entry {name:?} of a mention must be a number of a token"))
    };
    let (start, end) = (number("start")?, number("end")?);
    if start > end || end > tokens.len() as u64 {
        let sentence = tokens.len();
        return Err(format!("a mention from token {start} to {end} in a sentence of {sentence} tokens"));
    }
    let (start, end) = (start as usize, end as usize);
    let part = |part: &[String]| part.to_vec();
    let types = texts(mention, "labels")?;
    Mention::new(part(&tokens[..start]), part(&tokens[start..end]), part(&tokens[end..]), types)
}

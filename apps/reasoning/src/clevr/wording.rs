//! The words of a question: a text of a template with its parameters and optional parts filled in.

use cotangent::prelude::rng::Rng;
use rand::RngExt;

use super::attribute::Attribute;
use super::function::Constant;
use super::metadata::ValueType;
use super::published;

/// Names of two descriptions' parameters, by which a text may say `other`.
const DESCRIPTIONS: [[&str; 4]; 2] = [["<Z>", "<C>", "<M>", "<S>"], ["<Z2>", "<C2>", "<M2>", "<S2>"]];

/// The number of alternatives below which one is drawn.
fn draw(rng: &mut Rng, count: usize) -> usize {
    rng.random_range(0..count)
}

/// Checks that the names in angle brackets are parameters, and that square brackets are in pairs.
///
/// # Errors
/// Otherwise.
pub(super) fn check(text: &str, parameters: &[(String, ValueType)]) -> Result<(), String> {
    let mut left = text;
    while let Some(start) = left.find(['<', '>']) {
        let name = left[start..].find('>').map_or(&left[start..], |end| &left[start..=start + end]);
        if !parameters.iter().any(|(other, _)| other == name) {
            return Err(format!("the text {text:?} has an unknown parameter {name}"));
        }
        left = &left[start + name.len()..];
    }
    let mut open = false;
    for bracket in text.chars().filter(|c| ['[', ']'].contains(c)) {
        if open == (bracket == '[') {
            return Err(format!("the text {text:?} has an unmatched bracket"));
        }
        open = !open;
    }
    if open { Err(format!("the text {text:?} has an unmatched bracket")) } else { Ok(()) }
}

/// The question of one of the texts, drawn at random, as is one of the synonyms of each value. `values` has
/// the value of each parameter; an attribute without one is left out, and a shape without one is a thing.
/// Parts in square brackets are dropped half of the time.
pub(super) fn word(
    texts: &[String],
    parameters: &[(String, ValueType)],
    values: &[Option<Constant>],
    rng: &mut Rng,
) -> String {
    let mut text = texts[draw(rng, texts.len())].clone();
    for ((name, kind), value) in parameters.iter().zip(values) {
        let word = plain_word(*kind, *value);
        let word = match published::SYNONYMS.get(word) {
            Some(synonyms) => &synonyms[draw(rng, synonyms.len())],
            None => word,
        };
        text = text.replace(name, word);
    }
    let text = without_other(drop_options(text, rng), parameters, values);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The word of a value before synonyms.
fn plain_word(kind: ValueType, value: Option<Constant>) -> &'static str {
    match value {
        Some(constant) => constant.name(),
        None if kind == ValueType::Attribute(Attribute::Shape) => "thing",
        None => "",
    }
}

/// The text without the brackets, and without what is in them half of the time.
fn drop_options(mut text: String, rng: &mut Rng) -> String {
    while let Some((before, (option, after))) =
        text.split_once('[').and_then(|(before, tail)| Some((before, tail.split_once(']')?)))
    {
        let option = if rng.random() { option } else { "" };
        text = format!("{before}{option}{after}");
    }
    text
}

/// Leaves out `other` in "how many other red cubes are as large as the blue ball?", as the published
/// generator does where two descriptions differ in a word. A shape without a value counts as the word
/// `thing`.
fn without_other(text: String, parameters: &[(String, ValueType)], values: &[Option<Constant>]) -> String {
    let word = |name: &str| {
        let number = parameters.iter().position(|(other, _)| other == name)?;
        Some(plain_word(parameters[number].1, values[number]))
    };
    let words = DESCRIPTIONS.map(|names| names.map(word));
    let only_these = parameters.len() == 8 && words.as_flattened().iter().all(Option::is_some);
    let differ = |(a, b): (&Option<&str>, &Option<&str>)| a != b && *a != Some("") && *b != Some("");
    if only_these && words[0].iter().zip(&words[1]).any(differ) {
        return text.replace(" other ", " ").replace(" another ", " a ");
    }
    text
}

//! Plain text as the tokens that word vectors are made from: those of the Penn Treebank, as GloVe's.

/// Endings that are tokens of their own: `'s` of `it's`.
const CLITICS: [&str; 6] = ["'s", "'re", "'ve", "'ll", "'d", "'m"];

/// Words whose full stop is part of them, besides those with two of them: titles and names of companies.
const ABBREVIATIONS: [&str; 26] = [
    "mr", "mrs", "ms", "dr", "st", "jr", "sr", "prof", "gen", "sen", "rep", "gov", "rev", "col", "lt", "sgt",
    "capt", "inc", "corp", "co", "ltd", "bros", "vs", "etc", "mt", "ft",
];

/// Marks at which a word is always split. Others (`.`, `'`, `,`, `:`) are split at its end only.
const MARKS: &str = "()[]{}\"!?;,:…“”«»<>%$€£&*=+/|";

/// Splits text at white space, marks off punctuation, and separates `'s`, `n't` and the like. A full stop
/// stays with a word that has another one (`U.S.`), a single letter (`J.`) or an abbreviation (`Mr.`).
///
/// ```
/// let tokens = cotangent_apps_typing::tokens::tokenise("Don't panic, (said) Mr. Dent's U.S. friend.");
/// let want = ["Do", "n't", "panic", ",", "(", "said", ")", "Mr.", "Dent", "'s", "U.S.", "friend", "."];
/// assert_eq!(tokens, want);
/// ```
pub fn tokenise(text: &str) -> Vec<String> {
    let text = text.replace(['’', '‘'], "'");
    text.split_whitespace().flat_map(split_word).collect()
}

/// The tokens of a word without white space.
fn split_word(word: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut start = 0;
    for (i, mark) in word.char_indices().filter(|&(_, c)| MARKS.contains(c)) {
        // A comma or a colon between digits is part of a number or a time.
        let (before, after) = (word[..i].chars().next_back(), word[i + mark.len_utf8()..].chars().next());
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if ",:/".contains(mark) && digit(before) && digit(after) {
            continue;
        }
        split_end(&word[start..i], &mut tokens);
        tokens.push(mark.to_string());
        start = i + mark.len_utf8();
    }
    split_end(&word[start..], &mut tokens);
    tokens
}

/// Adds a piece of a word: quotes before and after it, full stops after it, and clitics are tokens.
fn split_end(piece: &str, tokens: &mut Vec<String>) {
    let mut piece = piece;
    let mut ends = Vec::new();
    while piece.len() > 1 && piece.starts_with('\'') && !CLITICS.contains(&piece.to_lowercase().as_str()) {
        tokens.push("'".to_owned());
        piece = &piece[1..];
    }
    loop {
        let clitic = CLITICS.into_iter().find(|end| ends_in(piece, end));
        let cut = match clitic {
            Some(end) => Some(end.len()),
            None if ends_in(piece, "n't") => Some(3),
            None if piece.len() > 1 && piece.ends_with('\'') => Some(1),
            None if piece.len() > 1 && piece.ends_with('.') && !is_abbreviation(piece) => Some(1),
            None => None,
        };
        let Some(cut) = cut else { break };
        let (before, end) = piece.split_at(piece.len() - cut);
        ends.push(end.to_owned());
        piece = before;
    }
    if !piece.is_empty() {
        tokens.push(piece.to_owned());
    }
    tokens.extend(ends.into_iter().rev());
}

/// Whether a word is longer than `end`, and ends in it, in small letters or capitals.
fn ends_in(word: &str, end: &str) -> bool {
    let start = word.len().saturating_sub(end.len());
    start > 0 && word.get(start..).is_some_and(|last| last.eq_ignore_ascii_case(end))
}

/// Whether a word's full stop is part of it.
fn is_abbreviation(word: &str) -> bool {
    let stem = &word[..word.len() - 1];
    let listed = ABBREVIATIONS.contains(&stem.to_lowercase().as_str());
    listed || (stem.contains('.') && !stem.ends_with('.')) || (stem.chars().count() == 1 && stem != "I")
}

/// A token of the Penn Treebank as it is written elsewhere: `(` for `-LRB-`, `"` for two quotes.
pub fn plain(token: &str) -> Option<&'static str> {
    let plain = match token.to_ascii_uppercase().as_str() {
        "-LRB-" => "(",
        "-RRB-" => ")",
        "-LSB-" => "[",
        "-RSB-" => "]",
        "-LCB-" => "{",
        "-RCB-" => "}",
        "``" | "''" | "“" | "”" => "\"",
        "`" | "‘" | "’" => "'",
        "—" | "–" => "--",
        _ => return None,
    };
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_and_clitics_are_tokens() {
        let tokens = |text: &str| tokenise(text).join(" ");
        assert_eq!(tokens("He's gone."), "He 's gone .");
        assert_eq!(tokens("\"Stop!\", she’d said"), "\" Stop ! \" , she 'd said");
        assert_eq!(
            tokens("J. R. R. Tolkien's e.g. 3,000 at 10:30"),
            "J. R. R. Tolkien 's e.g. 3,000 at 10:30"
        );
        assert_eq!(tokens("CAN'T 'quoted' players'"), "CA N'T ' quoted ' players '");
        assert_eq!(tokens("wait... (Ünïversität)"), "wait . . . ( Ünïversität )");
        assert_eq!(tokens(" \t\n"), "");
        assert_eq!(tokens("İ's 'S ' ."), "İ 's 'S ' .");
    }

    #[test]
    fn brackets_of_the_treebank_have_plain_forms() {
        assert_eq!((plain("-LRB-"), plain("-rrb-"), plain("a")), (Some("("), Some(")"), None));
    }
}

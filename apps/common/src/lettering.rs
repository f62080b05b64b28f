//! Estimates the width of text in pictures, to wrap or shorten text that does not fit. The viewer's font is
//! unknown, so the widths are those of a wide font, DejaVu Sans. All widths are in the unit of the font size.

/// The width of a character, as a multiple of the font size.
fn advance(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | '\'' | '|' => 0.34,
        ' ' | '.' | ',' | ':' | ';' | 'I' | 'f' | 't' | '(' | ')' | '[' | ']' | '/' | '-' | '!' => 0.42,
        'r' | 's' | 'c' | 'k' | 'v' | 'x' | 'y' | 'z' | 'J' | '"' | '*' => 0.6,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '—' | '…' => 1.01,
        'A'..='Z' | '+' | '=' | '<' | '>' | '#' | '&' | '~' | '±' | '≤' | '→' => 0.84,
        // Characters of other scripts are taken to be as wide as they are high.
        '\u{1100}'.. => 1.0,
        _ => 0.66,
    }
}

/// An upper estimate of the width of a text at font size `size`.
pub fn width(text: &str, size: f64) -> f64 {
    size * text.chars().map(advance).sum::<f64>()
}

/// The text with U+FFFD for each character that XML, and so SVG, does not allow.
pub fn allowed(text: &str) -> String {
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|c| if is_allowed(c) { c } else { '\u{fffd}' }).collect()
}

/// Splits a text into lines of width at most `room`. Words that are wider than a line are broken.
pub fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in allowed(text).split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        let longer = format!("{line} {word}");
        if line.is_empty() {
            line.push_str(word);
        } else if width(&longer, size) <= room {
            *line = longer;
        } else {
            lines.push(word.to_owned());
        }
        while let Some(line) = lines.pop() {
            let cut = fitting(&line, size, room).max(1);
            match line.char_indices().nth(cut) {
                Some((at, _)) => lines.extend([line[..at].to_owned(), line[at..].to_owned()]),
                None => {
                    lines.push(line);
                    break;
                }
            }
        }
    }
    lines
}

/// Shortens a text to width at most `room`, with an ellipsis in place of its end.
pub fn shorten(text: &str, size: f64, room: f64) -> String {
    let text = &*allowed(text);
    if width(text, size) <= room {
        return text.to_owned();
    }
    let kept = fitting(text, size, room - width("…", size));
    text.chars().take(kept).chain(['…']).collect()
}

/// The number of characters from the start of a text that fit into width `room`.
fn fitting(text: &str, size: f64, room: f64) -> usize {
    let ends = text.chars().scan(0.0, |end, character| {
        *end += size * advance(character);
        Some(*end)
    });
    ends.take_while(|&end| end <= room).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_svg_does_not_allow_are_replaced() {
        assert_eq!(shorten("a\u{1}b\tc\u{ffff}<犬𝛼", 1.0, 99.0), "a\u{fffd}b\tc\u{fffd}<犬𝛼");
        assert_eq!(wrap("a\u{1f} b", 1.0, 99.0), ["a\u{fffd} b"]);
    }

    #[test]
    fn lines_fit_and_have_all_words() {
        let text = "some words, an extraordinarylongonethatfitsnoline, 犬犬犬犬犬犬犬 WWWWWWWW";
        for room in [20.0, 75.0, 110.0, 1e4] {
            let lines = wrap(text, 14.0, room);
            assert!(lines.iter().all(|line| width(line, 14.0) <= room && !line.is_empty()), "{lines:?}");
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            assert_eq!(letters(&lines.concat()), letters(text));
            let short = shorten(text, 14.0, room);
            assert!(width(&short, 14.0) <= room && (short == text) == (room > 1e3), "{short}");
        }
        assert_eq!(wrap("", 14.0, 10.0), [""]);
        assert_eq!(wrap("two lines", 10.0, 55.0), ["two lines"]);
        assert_eq!(wrap("two lines", 10.0, 35.0), ["two", "lines"]);
        // A width of 0 must not loop forever.
        assert_eq!(wrap("ab", 10.0, 0.0), ["a", "b"]);
    }
}

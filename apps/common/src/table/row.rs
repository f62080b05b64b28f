//! A row of a table: the fields of a line.

use clap::ValueEnum;

/// What separates the columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Separator {
    /// A tab.
    Tab,
    /// A comma.
    Comma,
    /// A semicolon.
    Semicolon,
    /// Any number of spaces and tabs; those at the ends of a line do not count.
    Space,
}

impl Separator {
    /// The name in options and messages.
    pub fn name(self) -> &'static str {
        ["tab", "comma", "semicolon", "space"][self as usize]
    }

    /// Whether a character separates columns.
    fn is(self, c: char) -> bool {
        match self {
            Separator::Tab => c == '\t',
            Separator::Comma => c == ',',
            Separator::Semicolon => c == ';',
            Separator::Space => c == ' ' || c == '\t',
        }
    }
}

/// The fields of a line. It is filled again for each line, which needs no new memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    text: String,
    /// For each field the position in `text` after it.
    ends: Vec<usize>,
}

impl Row {
    /// Number of fields.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A field; `None` if the row has fewer.
    pub fn get(&self, i: usize) -> Option<&str> {
        let end = *self.ends.get(i)?;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        Some(&self.text[start..end])
    }

    /// The fields in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|i| self.get(i))
    }

    /// Number of fields up to the last one that is not blank.
    pub(super) fn filled(&self) -> usize {
        (0..self.len()).rev().find(|&i| !self.field(i).is_empty()).map_or(0, |last| last + 1)
    }

    /// A field without white space around it; empty if the row has fewer.
    pub fn field(&self, i: usize) -> &str {
        self.get(i).unwrap_or_default().trim()
    }

    /// Splits a line. A field in quotes may contain separators, and quotes that are doubled. If `quotes` is
    /// false, quotes are characters like any other.
    ///
    /// # Errors
    /// If a quote is not closed. But with tabs, such a quote and one whose field goes on after the closing
    /// quote are characters like any other: texts may begin with a quote.
    pub(super) fn fill(
        &mut self,
        line: &str,
        separator: Separator,
        quotes: bool,
    ) -> std::result::Result<(), String> {
        self.text.clear();
        self.ends.clear();
        let mut left = line;
        loop {
            if separator == Separator::Space {
                left = left.trim_start_matches([' ', '\t']);
                if left.is_empty() {
                    return Ok(());
                }
            }
            let quoted = if quotes && left.starts_with('"') { self.quoted(left, separator)? } else { None };
            let end = quoted.unwrap_or_else(|| {
                let end = left.find(|c| separator.is(c)).unwrap_or(left.len());
                self.text.push_str(&left[..end]);
                end
            });
            self.ends.push(self.text.len());
            if end == left.len() {
                return Ok(());
            }
            left = &left[end + 1..];
        }
    }

    /// Adds the text of the field in quotes that a line begins with, and returns where the field ends. `None`
    /// if the quote is a character like any other.
    fn quoted(&mut self, line: &str, separator: Separator) -> std::result::Result<Option<usize>, String> {
        let (start, mut at) = (self.text.len(), 1);
        while let Some(length) = line[at..].find('"') {
            self.text.push_str(&line[at..at + length]);
            at += length + 1;
            match line[at..].chars().next() {
                Some('"') => {
                    self.text.push('"');
                    at += 1;
                }
                None => return Ok(Some(at)),
                Some(c) if separator.is(c) => return Ok(Some(at)),
                Some(_) if separator == Separator::Tab => break,
                Some(_) => {
                    let end = line[at..].find(|c| separator.is(c)).map_or(line.len(), |length| at + length);
                    self.text.push_str(&line[at..end]);
                    return Ok(Some(end));
                }
            }
        }
        self.text.truncate(start);
        match separator {
            Separator::Tab => Ok(None),
            _ => Err("a quoted column does not end on this line; is a quote not closed?".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str, separator: Separator) -> Vec<String> {
        let mut row = Row::default();
        row.fill(line, separator, true).unwrap();
        row.iter().map(str::to_owned).collect()
    }

    #[test]
    fn quotes_count_with_every_separator() {
        assert_eq!(split("\"a\tb\"\t\"say \"\"c\"\"\"\td", Separator::Tab), ["a\tb", "say \"c\"", "d"]);
        assert_eq!(split("\"a,b\",c,", Separator::Comma), ["a,b", "c", ""]);
        assert_eq!(split("\"a;b\";\"\"", Separator::Semicolon), ["a;b", ""]);
        assert_eq!(split(" \"New York\"  b \t3 ", Separator::Space), ["New York", "b", "3"]);
        assert_eq!(split("\"a\"b,c", Separator::Comma), ["ab", "c"]);
    }

    /// A text in a table with tabs may begin with a quote.
    #[test]
    fn with_tabs_a_quote_may_be_a_character() {
        assert_eq!(split("\"a\tb", Separator::Tab), ["\"a", "b"]);
        assert_eq!(split("\"Go\" he said\tb", Separator::Tab), ["\"Go\" he said", "b"]);
        let mut row = Row::default();
        row.fill("\"a\"\tb", Separator::Tab, false).unwrap();
        assert_eq!(row.iter().collect::<Vec<_>>(), ["\"a\"", "b"]);
        for (line, separator) in [("a,\"b", Separator::Comma), ("a \"b", Separator::Space)] {
            assert!(row.fill(line, separator, true).unwrap_err().contains("is a quote not closed?"));
        }
    }
}

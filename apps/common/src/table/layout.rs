//! How a table is laid out, read off its lines: comments, separator, header, columns.

use std::path::{Path, PathBuf};

use super::options::{Header, TableOptions};
use super::row::{Row, Separator};
use super::text::{Place, Text};
use super::trial::{Trial, choose};
use crate::error::{AppError, Result};

/// What an application reads of a table.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// What a table needs, for the error.
    pub needed: &'static str,
    /// Number of columns that are read.
    pub count: usize,
    /// How many of them, the first ones, have values that occur again and again: names of nodes, classes.
    /// They tell a header from data.
    pub keys: usize,
    /// Names that a header gives to the columns, as [`normalise`] returns them: each entry names all of them.
    pub names: &'static [&'static [&'static str]],
    /// Names that a header gives to a column of numbers that may be read too, normalised.
    pub numbers: &'static [&'static str],
    /// Number of columns that a table may have if neither a header nor an option names those that are read.
    pub limit: usize,
    /// What may separate the columns, the likeliest first.
    pub separators: &'static [Separator],
    /// Whether fields may be in quotes.
    pub quotes: bool,
    /// Whether a first line that may be a header or data is an error; otherwise it is data.
    pub strict: bool,
    /// First lines, with tabs, of the tables that this project writes. Options that do not fit one of these
    /// are not about it: they are about the other tables of the same command.
    pub written: &'static [&'static str],
}

/// The name of a column as it is compared: letters and digits only, in lower case.
pub fn normalise(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a text is a finite number.
pub fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok_and(f64::is_finite)
}

impl Wanted {
    /// The columns that a header with these names has, in the order in which they are needed. A header that
    /// names the first ones as some known columns are named has them in that order.
    fn find(&self, names: &[String]) -> Option<Vec<usize>> {
        let names: Vec<String> = names.iter().map(|name| normalise(name)).collect();
        let place = |wanted: &&str| names.iter().position(|name| name == wanted);
        let known = self.names.iter().find_map(|list| list.iter().map(place).collect());
        let is_key = |name: &String| self.names.iter().any(|list| list[..self.keys].contains(&name.as_str()));
        let first = || {
            let keys = names.len() >= self.count && names[..self.keys].iter().all(is_key);
            keys.then(|| (0..self.count).collect())
        };
        known.or_else(first)
    }
}

/// A table that is about to be read.
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    text: Text,
    /// Where the first line begins that is neither blank nor a comment.
    start: Place,
    comments: u64,
    separator: Separator,
    quotes: bool,
    /// Number of columns.
    width: usize,
    /// The names of all columns, if there is a header.
    header: Option<Vec<String>>,
    columns: Vec<usize>,
    guess: Option<Guess>,
    /// Whether the options are not about this table.
    own: bool,
}

/// What made a first line a header. Lines that were not looked at may contradict.
#[derive(Debug)]
struct Guess {
    /// The columns that the line was compared in, and their names: these may not occur as values.
    keys: Vec<usize>,
    names: Vec<String>,
    /// Whether all values in these columns are to be numbers.
    numbers: bool,
}

impl Guess {
    /// Checks a line of data.
    fn check(&self, row: &Row) -> std::result::Result<(), String> {
        for &key in &self.keys {
            let value = row.field(key);
            if self.names.iter().any(|name| name == value) {
                return Err(format!(
                    "{value:?} is a name in the first line too, which was taken for a header: --header \
                     yes|no says what it is"
                ));
            }
            if self.numbers && !is_number(value) {
                return Err(format!(
                    "{value:?} is not a number, as all before it are, so the first line was taken for a \
                     header: --header yes|no says what it is"
                ));
            }
        }
        Ok(())
    }
}

impl Table {
    /// Opens a table and finds out how it is laid out: by all of its lines; by the first 10,000 of a pipe and
    /// of a plain file above 64 MiB, and by those in the first 64 MiB that a gzip file unpacks to.
    /// `others` are columns that options name beside those in `options`.
    ///
    /// # Errors
    /// If the file cannot be read or is not UTF-8, no separator gives all lines the same number of columns,
    /// the first line may be a header or data, or the options do not fit.
    pub fn open(path: &Path, wanted: &Wanted, options: &TableOptions, others: &[&str]) -> Result<Self> {
        let text = Text::open(path)?;
        let (start, comments) = text.start();
        let mut table = Table {
            path: path.into(),
            text,
            start,
            comments,
            separator: wanted.separators[0],
            quotes: wanted.quotes,
            width: 0,
            header: None,
            columns: (0..wanted.count).collect(),
            guess: None,
            own: false,
        };
        let Some((first, line)) = table.first()? else { return Ok(table) };
        let line = line.to_owned();
        table.own = wanted.written.contains(&line.as_str()) && !fits(options, others, &line);
        let default = TableOptions::default();
        let (options, others) = if table.own { (&default, &[][..]) } else { (options, others) };
        let candidates: Vec<Separator> = match options.separator {
            Some(separator) => vec![separator],
            None => wanted.separators.to_vec(),
        };
        let trials = table.try_separators(&candidates, wanted, &line)?;
        (table.separator, table.width) = choose(&trials, wanted)
            .map_err(|(number, message)| AppError::line(path, number.unwrap_or(first), message))?;
        let mut row = Row::default();
        row.fill(&line, table.separator, table.quotes)
            .map_err(|message| AppError::line(path, first, message))?;
        let mut names: Vec<String> = row.iter().map(|name| name.trim().to_owned()).collect();
        // R names the columns but not the row numbers before them.
        let without_first = names.len() + 1 == table.width;
        if without_first {
            names.insert(0, String::new());
        }
        if without_first && wanted.find(&names).is_none() && options.header != Some(Header::Yes) {
            let message = format!("{} columns; the other lines have {}", row.len(), table.width);
            return Err(AppError::line(path, first, message));
        }
        if table.find_columns(wanted, options, others, &names, first)? {
            table.header = Some(names);
        } else if table.width > wanted.limit && options.columns.is_empty() {
            let message =
                format!("{} columns and no header that is known: --columns names those to read", table.width);
            return Err(AppError::line(path, first, message));
        }
        Ok(table)
    }

    /// The first line of the table, and its number.
    fn first(&self) -> Result<Option<(u64, &str)>> {
        self.text.head_lines(self.start).next().transpose().map_err(|error| error.at(&self.path))
    }

    /// Tries each separator on all lines that decide.
    fn try_separators(&self, candidates: &[Separator], wanted: &Wanted, first: &str) -> Result<Vec<Trial>> {
        let mut row = Row::default();
        let mut trials: Vec<Trial> = candidates.iter().map(|&separator| Trial::new(separator)).collect();
        for trial in &mut trials {
            match row.fill(first, trial.separator, self.quotes) {
                Ok(()) => trial.first = [row.filled(), row.len()],
                Err(message) => trial.failed = Some((None, message)),
            }
        }
        for line in self.text.head_lines(self.start).skip(1) {
            let (number, line) = line.map_err(|error| error.at(&self.path))?;
            if is_blank(line) {
                continue;
            }
            for trial in trials.iter_mut().filter(|trial| trial.failed.is_none()) {
                trial.add(number, line, wanted, &mut row);
                if candidates.len() > 1 && trial.has_tab(line, &row) {
                    let name = trial.separator.name();
                    let message = format!("a tab as well as a {name}: --separator says which counts");
                    trial.failed = Some((Some(number), message));
                }
            }
        }
        Ok(trials)
    }

    /// Finds the columns that are read, and whether the first line is a header with these `names`.
    fn find_columns(
        &mut self,
        wanted: &Wanted,
        options: &TableOptions,
        others: &[&str],
        names: &[String],
        first: u64,
    ) -> Result<bool> {
        let Wanted { count, keys, .. } = *wanted;
        let given = &options.columns;
        if !given.is_empty() && given.len() != count {
            return Err(AppError::usage(format!("--columns {}: {count} are needed", given.join(","))));
        }
        let is_name = |column: &str| column.parse::<usize>().is_err();
        let named = given.iter().map(String::as_str).chain(others.iter().copied()).find(|name| is_name(name));
        if let (Some(name), Some(Header::No)) = (named, options.header) {
            return Err(AppError::usage(format!(
                "--header no: without a header no column is named {name:?}"
            )));
        }
        let known = wanted.find(names);
        let header = match (options.header, named) {
            (Some(header), _) => Some(header == Header::Yes),
            (None, Some(_)) => Some(true),
            (None, None) => None,
        };
        let explicit = (!given.is_empty())
            .then(|| given.iter().map(|column| find_column(column, names)).collect::<Result<Vec<usize>>>())
            .transpose()?;
        if let Some(columns) = &explicit
            && (1..columns.len()).any(|i| columns[..i].contains(&columns[i]))
        {
            return Err(AppError::usage(format!("--columns {}: a column occurs twice", given.join(","))));
        }
        let default = || (0..count).collect::<Vec<usize>>();
        let candidates = explicit.clone().or_else(|| known.clone()).unwrap_or_else(default);
        let is_header = match header {
            Some(is_header) => is_header,
            None => {
                let is_known = known.is_some();
                self.guess_header(wanted, &candidates[..keys], names, is_known, first)?
            }
        };
        self.columns = explicit.unwrap_or_else(|| if is_header { candidates } else { default() });
        Ok(is_header)
    }

    /// Whether the first line, which has these `names`, is a header: see [`TableOptions::header`].
    fn guess_header(
        &mut self,
        wanted: &Wanted,
        keys: &[usize],
        names: &[String],
        known: bool,
        first: u64,
    ) -> Result<bool> {
        let keys_of_first: Vec<&str> = keys.iter().map(|&key| names[key].as_str()).collect();
        let (mut rows, mut again, mut numbers) = (0_u64, false, true);
        let numbered = |name: &String| wanted.numbers.contains(&normalise(name).as_str());
        let mut measures: Vec<usize> = (0..names.len()).filter(|&i| numbered(&names[i])).collect();
        self.head_rows(1, |row| {
            rows += 1;
            for &key in keys {
                let value = row.field(key);
                again |= keys_of_first.contains(&value);
                numbers = numbers && is_number(value);
            }
            measures.retain(|&column| is_number(row.field(column)));
            !again
        })?;
        if again {
            return Ok(false);
        }
        if !known {
            // Numbers are no names of columns, and a table of one line has nothing else to read.
            if rows == 0 || names.iter().any(|name| is_number(name)) {
                return Ok(false);
            }
            if !numbers && measures.is_empty() {
                if !wanted.strict {
                    return Ok(false);
                }
                let ends: Vec<String> = keys_of_first.iter().map(|key| format!("{key:?}")).collect();
                let message = format!(
                    "the first line, {}, may be a header or data: --header yes or --header no says which",
                    ends.join(" and ")
                );
                return Err(AppError::line(&self.path, first, message));
            }
        }
        let (keys, names) = (keys.to_vec(), keys_of_first.into_iter().map(str::to_owned).collect());
        self.guess = Some(Guess { keys, names, numbers: !known && numbers });
        Ok(true)
    }

    /// Calls `row` with each row that decides, after so many, until it returns false.
    fn head_rows(&self, skip: usize, mut row: impl FnMut(&Row) -> bool) -> Result<()> {
        let mut fields = Row::default();
        for line in self.text.head_lines(self.start).skip(skip) {
            let (number, line) = line.map_err(|error| error.at(&self.path))?;
            if is_blank(line) {
                continue;
            }
            let filled = fields.fill(line, self.separator, self.quotes);
            filled.map_err(|message| AppError::line(&self.path, number, message))?;
            if !row(&fields) {
                break;
            }
        }
        Ok(())
    }

    /// Whether a condition holds for all rows that decide. A header is none.
    ///
    /// # Errors
    /// If a line cannot be read.
    pub fn all(&self, mut condition: impl FnMut(&Row) -> bool) -> Result<bool> {
        let mut all = true;
        self.head_rows(usize::from(self.header.is_some()), |row| {
            all = all && condition(row);
            all
        })?;
        Ok(all)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The columns that are read, in the order in which they are needed.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Number of columns of the table.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether the first line names the columns.
    pub fn has_header(&self) -> bool {
        self.header.is_some()
    }

    /// Whether the options are not about this table, which this project wrote: see [`Wanted::written`].
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// Number of the line that the first row is in, header or not.
    pub fn first_line(&self) -> u64 {
        self.start.line + 1
    }

    /// The column that a header gives the first of these names, which are normalised.
    pub fn find(&self, names: &[&str]) -> Option<usize> {
        let header: Vec<String> = self.header.iter().flatten().map(|name| normalise(name)).collect();
        names.iter().find_map(|wanted| header.iter().position(|name| name == wanted))
    }

    /// The column that an option names: by a name in the header, or by a number from 1.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn named(&self, column: &str) -> Result<usize> {
        let unnamed = vec![String::new(); self.width];
        find_column(column, self.header.as_ref().unwrap_or(&unnamed))
    }

    /// A sentence that says how the table is read. `numbers` says what is read of which other column, such as
    /// weights; `others` are more columns that are used.
    pub fn describe(&self, numbers: Option<(&str, usize)>, others: &[usize]) -> String {
        let name = |&column: &usize| match &self.header {
            Some(names) if !names[column].is_empty() => names[column].clone(),
            _ => format!("column {}", column + 1),
        };
        let list = |columns: &[usize]| columns.iter().map(name).collect::<Vec<_>>();
        let mut text = format!("read as {}-separated", self.separator.name());
        match &self.header {
            Some(_) => text += &format!(", header {}", list(&self.columns).join("/")),
            None => text += ", no header",
        }
        if self.header.is_none() && self.columns.iter().enumerate().any(|(i, &column)| i != column) {
            let numbers: Vec<String> = self.columns.iter().map(|column| (column + 1).to_string()).collect();
            text += &format!(", columns {}", numbers.join("/"));
        }
        if let Some((what, column)) = numbers {
            let column = match self.header {
                Some(_) => format!("'{}'", name(&column)),
                None => name(&column),
            };
            text += &format!(", {what} from {column}");
        }
        let used = |column: &usize| {
            self.columns.contains(column)
                || others.contains(column)
                || numbers.is_some_and(|(_, number)| number == *column)
        };
        let ignored: Vec<usize> = (0..self.width).filter(|column| !used(column)).collect();
        if !ignored.is_empty() {
            text += &format!("; ignored: {}", list(&ignored).join(", "));
        }
        match self.comments {
            0 => {}
            1 => text += "; 1 comment line",
            lines => text += &format!("; {lines} comment lines"),
        }
        text
    }

    /// Calls `row` with each row; a header is none. Blank lines are skipped.
    ///
    /// # Errors
    /// If the file cannot be read or is not UTF-8, a line contradicts those that decided how the table is
    /// laid out, or `row` returns an error. The error names the line.
    pub fn rows(self, mut row: impl FnMut(&Row) -> std::result::Result<(), String>) -> Result<()> {
        let Table { path, text, start, separator, quotes, width, header, guess, .. } = self;
        let mut fields = Row::default();
        let mut skip = header.is_some();
        text.lines(&path, start, |line| {
            if std::mem::take(&mut skip) || is_blank(line) {
                return Ok(());
            }
            fields.fill(line, separator, quotes)?;
            if fields.len() < width || fields.filled() > width {
                return Err(format!("{} columns; the lines before have {width}", fields.len()));
            }
            if let Some(guess) = &guess {
                guess.check(&fields)?;
            }
            row(&fields)
        })
    }
}

/// Whether options fit a table with this header, whose names are separated by tabs.
fn fits(options: &TableOptions, others: &[&str], header: &str) -> bool {
    let names: Vec<String> = header.split('\t').map(str::to_owned).collect();
    let mut columns = options.columns.iter().map(String::as_str).chain(others.iter().copied());
    options.separator.is_none_or(|separator| separator == Separator::Tab)
        && options.header != Some(Header::No)
        && columns.all(|column| find_column(column, &names).is_ok())
}

/// Whether a line has nothing but spaces.
fn is_blank(line: &str) -> bool {
    line.trim_matches(' ').is_empty()
}

/// The number of a column that an option names, of a table whose columns have these names.
fn find_column(column: &str, names: &[String]) -> Result<usize> {
    let exact = || names.iter().position(|name| !name.is_empty() && name == column.trim());
    let numbered =
        || column.parse::<usize>().ok().filter(|number| (1..=names.len()).contains(number)).map(|i| i - 1);
    let similar = || {
        let wanted = normalise(column);
        names.iter().position(|name| !wanted.is_empty() && normalise(name) == wanted)
    };
    numbered().or_else(exact).or_else(similar).ok_or_else(|| {
        let named = names.iter().any(|name| !name.is_empty());
        let list = if named { format!(": {}", names.join(", ")) } else { String::new() };
        AppError::usage(format!("no column {column:?}; the table has {} columns{list}", names.len()))
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    const EDGES: Wanted = Wanted {
        needed: "two columns are needed",
        count: 2,
        keys: 2,
        names: &[&["source", "target"]],
        numbers: &["weight"],
        limit: 3,
        separators: &[Separator::Tab, Separator::Comma, Separator::Semicolon, Separator::Space],
        quotes: true,
        strict: true,
        written: &[],
    };

    /// Reads a text from a named pipe, which can be opened and read once: the sentence and the number of
    /// rows.
    fn read_pipe(text: String) -> std::result::Result<(String, usize), String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let writer = std::thread::spawn({
            let path = path.clone();
            // The reader may stop before the end.
            move || drop(std::fs::write(path, text))
        });
        let mut rows = 0;
        let read = Table::open(&path, &EDGES, &TableOptions::default(), &[]).and_then(|table| {
            let sentence = table.describe(None, &[]);
            table.rows(|_| {
                rows += 1;
                Ok(())
            })?;
            Ok(sentence)
        });
        writer.join().unwrap();
        let error = |error: AppError| error.to_string().rsplit_once("pipe:").unwrap().1.to_owned();
        read.map(|sentence| (sentence, rows)).map_err(error)
    }

    /// Lines of names, or of numbers.
    fn lines(first: &str, prefix: &str, count: usize) -> String {
        (0..count).fold(format!("{first}\n"), |mut text, i| {
            writeln!(text, "{prefix}{i}\t{prefix}{}", i + 1).unwrap();
            text
        })
    }

    #[test]
    fn a_pipe_is_read_once() {
        let read = read_pipe(lines("source\ttarget", "n", 30_000)).unwrap();
        assert_eq!(read, ("read as tab-separated, header source/target".to_owned(), 30_000));
        let comments = lines("# source\ttarget", "n", 20_000);
        let sentence = "read as tab-separated, no header; 1 comment line";
        assert_eq!(read_pipe(comments).unwrap(), (sentence.to_owned(), 20_000));
    }

    /// The first 10,000 lines decide. What contradicts later is an error of its line.
    #[test]
    fn a_later_line_that_contradicts_is_an_error() {
        let after = |first: &str, prefix: &str, last: &str| {
            read_pipe(format!("{}{last}\n", lines(first, prefix, 12_000))).unwrap_err()
        };
        let columns = after("source\ttarget", "n", "a\tb\tc");
        assert_eq!(columns, "12002: 3 columns; the lines before have 2");
        let name = after("source\ttarget", "n", "a\tsource");
        assert!(name.starts_with("12002: \"source\" is a name in the first line too"), "{name}");
        let number = after("paper\treference", "1", "12\tx");
        assert!(number.starts_with("12002: \"x\" is not a number, as all before it are"), "{number}");
        // With 9,000 lines there is nothing later: the whole text decides.
        let short = read_pipe(format!("{}a\tsource\n", lines("source\ttarget", "n", 9_000))).unwrap();
        assert_eq!(short, ("read as tab-separated, no header".to_owned(), 9_002));
    }
}

//! Labelled pairs of sentences: PREFIX, SNLI, and the user's own files.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use cotangent::engine::rng::{self, Rng};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::memory;
use cotangent_apps_common::table::{self, Separator, Table, TableOptions, Wanted};
use rand::RngExt;
use rand::seq::SliceRandom;

/// The number of a word that is not in the vocabulary.
pub const UNKNOWN: u32 = 0;

/// Two sentences, each as the numbers of its words, and the number of their class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// The first sentence; it has at least one word.
    pub first: Vec<u32>,
    /// The second sentence; it has at least one word.
    pub second: Vec<u32>,
    /// The number of the class.
    pub class: u32,
}

/// Pairs for training, validation and testing.
#[derive(Clone, Debug, PartialEq)]
pub struct SentencePairs {
    /// The name of the data, for the record.
    pub name: String,
    /// A sentence that says how a file of the user was read; `None` for PREFIX and SNLI.
    pub read_as: Option<String>,
    /// The words, by number. The first one, [`UNKNOWN`], stands for all other words.
    pub words: Vec<String>,
    /// The names of the classes. If there are two, the second is the positive one.
    pub classes: Vec<String>,
    /// Pairs for training.
    pub train: Vec<Pair>,
    /// Pairs for validation.
    pub validation: Vec<Pair>,
    /// Pairs for testing.
    pub test: Vec<Pair>,
}

/// How PREFIX-Z% is generated: Ganea et al. 2018, section 4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix {
    /// Z: the percentage of a prefix's words that are replaced.
    pub noise: u32,
    /// Number of words in the vocabulary: 100 in the paper.
    pub vocabulary: u32,
    /// Number of words of the longest sentence: 20 in the paper.
    pub longest: usize,
    /// Number of pairs for training, validation and testing, all even: 500,000, 10,000 and 10,000 in the
    /// paper.
    pub sizes: [usize; 3],
}

impl Prefix {
    /// The settings of the paper, with this noise.
    pub fn paper(noise: u32) -> Self {
        Prefix { noise, vocabulary: 100, longest: 20, sizes: [500_000, 10_000, 10_000] }
    }

    /// Generates two pairs for each random first sentence, with second sentences of equal length. The second
    /// sentence of the pair of class 1 is a prefix of the first sentence, with Z% of its words (rounded down)
    /// replaced by random ones. That of the pair of class 0 is a random sentence.
    ///
    /// The length of the prefix is uniform between 1 and `longest`, that of the first sentence between the
    /// prefix's length and `longest`, as in the authors' own generator.
    ///
    /// # Errors
    /// If the noise is above 100, a size is odd, 0 or above 100 million, or `vocabulary` or `longest` is 0.
    pub fn generate(&self, seed: u64) -> Result<SentencePairs> {
        let Prefix { noise, vocabulary, longest, sizes } = *self;
        if noise > 100 {
            return Err(AppError::usage(format!("--noise {noise}: a percentage from 0 to 100 is needed")));
        }
        if let Some(size) = sizes.iter().find(|&&size| size == 0 || !size.is_multiple_of(2)) {
            return Err(AppError::usage(format!(
                "{size} pairs: --pairs and --held-out must be even and positive"
            )));
        }
        if let Some(size) = sizes.iter().find(|&&size| size > LARGEST) {
            return Err(AppError::usage(format!(
                "{size} pairs: --pairs and --held-out are at most {LARGEST}"
            )));
        }
        if vocabulary == 0 || longest == 0 {
            return Err(AppError::usage("PREFIX: the vocabulary and the sentences need at least one word"));
        }
        // Both sentences of a pair have 5/4 of the longest one's words on average.
        let words = memory::bytes::<u32>(&[sizes.iter().sum(), longest]) * 1.25;
        let [pairs, held_out, _] = sizes;
        let options = [("pairs", pairs), ("held-out", held_out)];
        memory::check(&options, "all pairs", memory::bytes::<Pair>(&[sizes.iter().sum()]) + words)?;
        let part = |index: usize| {
            let mut rng = rng::stream(seed, "prefix", index as u64);
            (0..sizes[index] / 2).flat_map(|_| self.pairs(&mut rng)).collect::<Vec<_>>()
        };
        let names = (1..=vocabulary).map(|w| format!("w{w}"));
        Ok(SentencePairs {
            name: format!("PREFIX-{noise}%"),
            read_as: None,
            words: std::iter::once("<unknown>".to_owned()).chain(names).collect(),
            classes: vec!["random".to_owned(), "prefix".to_owned()],
            train: part(0),
            validation: part(1),
            test: part(2),
        })
    }

    fn pairs(&self, rng: &mut Rng) -> [Pair; 2] {
        let sentence = |rng: &mut Rng, len: usize| -> Vec<u32> {
            (0..len).map(|_| rng.random_range(1..=self.vocabulary)).collect()
        };
        let len = rng.random_range(1..=self.longest);
        let whole = rng.random_range(len..=self.longest);
        let first = sentence(rng, whole);
        let random = sentence(rng, len);
        let mut noisy = first[..len].to_vec();
        let mut positions: Vec<usize> = (0..len).collect();
        let replaced = len * self.noise as usize / 100;
        for &mut at in positions.partial_shuffle(rng, replaced).0 {
            noisy[at] = rng.random_range(1..=self.vocabulary);
        }
        [Pair { first: first.clone(), second: random, class: 0 }, Pair { first, second: noisy, class: 1 }]
    }
}

/// The largest number of generated pairs.
const LARGEST: usize = 100_000_000;

/// The largest number of classes. A first column with more different values is hardly a column of labels,
/// and the size of the confusion matrix is the square of this number.
const CLASSES: usize = 1000;

/// A pair as text.
struct Text {
    label: String,
    first: Vec<String>,
    second: Vec<String>,
}

/// Reads SNLI from a directory with `train.tsv`, `test.tsv` and the pairs to validate on, for example `val`
/// for `val.tsv`, each plain or gzip (`.tsv.gz`). The columns are label, premise and hypothesis. There are
/// two classes: entailment, and all other labels (Ganea et al. 2018, section 4). Pairs whose annotators did
/// not agree, labelled `-` in the published files, are left out. Words that are not in the training pairs
/// are [`UNKNOWN`].
///
/// # Errors
/// If a file is missing, a line does not have three columns, a sentence is empty, or a label is not one of
/// SNLI's.
pub fn snli(directory: &Path, validation: &str) -> Result<SentencePairs> {
    const POSITIVE: &str = "entailment";
    const LABELS: [&str; 4] = [POSITIVE, "neutral", "contradiction", "not_entailment"];
    let part = |name: &str| {
        let table = Table::open(
            &table::plain_or_packed(directory, &format!("{name}.tsv")),
            &SNLI,
            &TableOptions::default(),
            &[],
        )?;
        read(table, |label| match LABELS.contains(&label) {
            true => Ok(true),
            false if label == "-" => Ok(false),
            false => Err(format!("unknown label {label:?}")),
        })
    };
    let [train, validation, test] = [part("train")?, part(validation)?, part("test")?];
    let classes = vec!["rest".to_owned(), POSITIVE.to_owned()];
    let class = |label: &str| u32::from(label == POSITIVE);
    Ok(numbered("SNLI".to_owned(), [train, validation, test], classes, class))
}

/// Reads labelled pairs from a file, TSV or CSV, plain or gzip. The columns are label, first sentence
/// and second sentence, unless a header or the options name others. Words are separated by white space. The
/// classes are the labels in alphabetical order. A tenth of the lines, drawn by seed, is for validation, and
/// another tenth for testing.
///
/// # Errors
/// If the file cannot be read, or may be read in several ways and the options do not say which. If a line
/// does not have three columns or has an empty one, there are fewer than two classes or more than a
/// thousand, or fewer than ten lines.
pub fn read_file(path: &Path, options: &TableOptions, seed: u64) -> Result<SentencePairs> {
    let mut classes = BTreeSet::new();
    let table = Table::open(path, &PAIRS, options, &[])?;
    let read_as = table.describe(None, &[]);
    let mut texts = read(table, |label| {
        if label.is_empty() {
            return Err("an empty label".to_owned());
        }
        if !classes.contains(label) {
            if classes.len() == CLASSES {
                return Err(format!(
                    "label {label:?} would be class {}; at most {CLASSES} classes are possible",
                    CLASSES + 1
                ));
            }
            classes.insert(label.to_owned());
        }
        Ok(true)
    })?;
    let classes: Vec<String> = classes.into_iter().collect();
    if classes.len() < 2 || texts.len() < 10 {
        let message =
            format!("{} classes, {} pairs: at least 2 and 10 are needed", classes.len(), texts.len());
        return Err(AppError::content(path, message));
    }
    texts.shuffle(&mut rng::stream(seed, "split", 0));
    let tenth = texts.len() / 10;
    let test = texts.split_off(texts.len() - tenth);
    let validation = texts.split_off(texts.len() - tenth);
    let at: HashMap<String, u32> = classes.iter().cloned().zip(0..).collect();
    let name = path.display().to_string();
    let numbered = numbered(name, [texts, validation, test], classes, |label| at[label]);
    Ok(SentencePairs { read_as: Some(read_as), ..numbered })
}

/// What is read of a table of labelled pairs.
const PAIRS: Wanted = Wanted {
    needed: "three columns are needed: label, first sentence, second sentence",
    count: 3,
    keys: 1,
    names: &[
        &["label", "sentence1", "sentence2"],
        &["goldlabel", "sentence1", "sentence2"],
        &["label", "premise", "hypothesis"],
        &["label", "text1", "text2"],
    ],
    numbers: &[],
    limit: 3,
    separators: &[Separator::Tab, Separator::Comma, Separator::Semicolon],
    quotes: true,
    strict: true,
    written: &[],
};

/// The layout of SNLI's files: tabs, and no quotes around fields. Labels are known, so a header that is taken
/// for data is an error.
const SNLI: Wanted = Wanted { separators: &[Separator::Tab], quotes: false, strict: false, ..PAIRS };

/// Reads the rows of a table: a label and two sentences. `check` says whether a row with that label counts.
fn read(table: Table, mut check: impl FnMut(&str) -> std::result::Result<bool, String>) -> Result<Vec<Text>> {
    let (mut texts, path) = (Vec::new(), table.path().to_owned());
    let &[label, first, second] = table.columns() else { unreachable!("three columns are wanted") };
    table.rows(|row| {
        let label = row.field(label);
        if !check(label)? {
            return Ok(());
        }
        let words = |i| row.field(i).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let [first, second] = [first, second].map(words);
        if first.is_empty() || second.is_empty() {
            return Err("a sentence without words".to_owned());
        }
        texts.push(Text { label: label.to_owned(), first, second });
        Ok(())
    })?;
    if texts.is_empty() {
        return Err(AppError::content(&path, "no pairs"));
    }
    Ok(texts)
}

/// Converts texts to pairs. Words are numbered in the order of their first appearance in the training pairs.
fn numbered(
    name: String,
    [train, validation, test]: [Vec<Text>; 3],
    classes: Vec<String>,
    class: impl Fn(&str) -> u32,
) -> SentencePairs {
    let mut words = vec!["<unknown>".to_owned()];
    let mut at: HashMap<String, u32> = HashMap::new();
    for word in train.iter().flat_map(|text| text.first.iter().chain(&text.second)) {
        at.entry(word.clone()).or_insert_with(|| {
            words.push(word.clone());
            words.len() as u32 - 1
        });
    }
    let number = |word: &String| at.get(word).copied().unwrap_or(UNKNOWN);
    let pairs = |texts: Vec<Text>| -> Vec<Pair> {
        let pair = |text: Text| Pair {
            first: text.first.iter().map(number).collect(),
            second: text.second.iter().map(number).collect(),
            class: class(&text.label),
        };
        texts.into_iter().map(pair).collect()
    };
    let [train, validation, test] = [pairs(train), pairs(validation), pairs(test)];
    SentencePairs { name, read_as: None, words, classes, train, validation, test }
}

impl SentencePairs {
    /// The same pairs without the words that the training pairs have fewer than `least` times: these become
    /// [`UNKNOWN`], so that the vector of unknown words is trained.
    pub fn without_rare_words(mut self, least: usize) -> Self {
        let mut counts = vec![0_usize; self.words.len()];
        for pair in &self.train {
            pair.first.iter().chain(&pair.second).for_each(|&word| counts[word as usize] += 1);
        }
        let mut numbers = vec![UNKNOWN; counts.len()];
        let (mut kept, mut next) = (Vec::new(), 0..);
        for (i, word) in std::mem::take(&mut self.words).into_iter().enumerate() {
            if i == UNKNOWN as usize || counts[i] >= least {
                numbers[i] = next.next().expect("fewer words than before");
                kept.push(word);
            }
        }
        self.words = kept;
        for pair in [&mut self.train, &mut self.validation, &mut self.test].into_iter().flatten() {
            pair.first.iter_mut().chain(&mut pair.second).for_each(|word| *word = numbers[*word as usize]);
        }
        self
    }

    /// A checksum of words, classes and pairs.
    pub fn fingerprint(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for name in self.words.iter().chain([&String::new()]).chain(&self.classes) {
            hasher.update(name.as_bytes());
            hasher.update(&[0]);
        }
        for pair in [&self.train, &self.validation, &self.test].into_iter().flatten() {
            let words =
                pair.first.iter().chain([&u32::MAX]).chain(&pair.second).chain([&pair.class, &u32::MAX]);
            words.for_each(|w| hasher.update(&w.to_le_bytes()));
        }
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_as_noisy_as_asked() {
        for noise in [0, 10, 30, 50, 100] {
            let prefix = Prefix { sizes: [4000, 2, 2], ..Prefix::paper(noise) };
            let data = prefix.generate(7).unwrap();
            let (mut words, mut replaced) = (0, 0);
            for [negative, positive] in data.train.as_chunks().0 {
                assert_eq!((negative.class, positive.class), (0, 1));
                assert_eq!(negative.first, positive.first);
                let len = positive.second.len();
                assert!(negative.second.len() == len && (1..=20).contains(&len));
                assert!(positive.first.len() >= len && positive.first.len() <= 20);
                let differ = positive.first.iter().zip(&positive.second).filter(|(a, b)| a != b).count();
                let drawn = len * noise as usize / 100;
                assert!(differ <= drawn);
                (words, replaced) = (words + drawn, replaced + differ);
                assert!(negative.second.iter().chain(&positive.first).all(|w| (1..=100).contains(w)));
            }
            // A word is replaced by itself once in a hundred times.
            assert!(replaced as f64 >= 0.985 * words as f64, "{replaced} of {words}");
            assert!(data == prefix.generate(7).unwrap() && data.train != prefix.generate(8).unwrap().train);
        }
        assert!(Prefix::paper(101).generate(1).is_err());
    }

    #[test]
    fn files_are_read_or_refused_by_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.tsv");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_file(&path, &TableOptions::default(), 1)
        };
        let error =
            |text: &str| read(text).unwrap_err().to_string().rsplit_once("p.tsv").unwrap().1.to_owned();
        assert_eq!(
            error("a\tx\ty\nb\tx\n"),
            ":2: three columns are needed: label, first sentence, second sentence; this line has 2"
        );
        assert_eq!(error("a\tx\t \n"), ":1: a sentence without words");
        assert_eq!(
            error("a,x,y\n\nb,\"x,y\n"),
            ":3: a quoted column does not end on this line; is a quote not closed?"
        );
        assert_eq!(error("a\tx\ty\na\tx\ty\n\tx\ty\n"), ":3: an empty label");
        assert_eq!(error(""), ": no pairs");
        assert_eq!(error("a\tx\ty\n"), ": 1 classes, 1 pairs: at least 2 and 10 are needed");
        let many: String = (1..500_000).map(|i| format!("n{i}\tx\ty\n")).collect();
        assert_eq!(
            error(&format!("n0\tx\ty\nn0\tx\ty\n{many}")),
            ":1002: label \"n1000\" would be class 1001; at most 1000 classes are possible"
        );
        let lines: String = (0..20).map(|i| format!("{}\tx{i} y\tz\n", ["no", "yes"][i % 2])).collect();
        let data = read(&lines).unwrap();
        assert_eq!(data.classes, ["no", "yes"]);
        assert_eq!([data.train.len(), data.validation.len(), data.test.len()], [16, 2, 2]);
        assert!(data.train.iter().all(|pair| !pair.first.contains(&UNKNOWN)));
        assert!(data.test.iter().all(|pair| pair.first[0] == UNKNOWN && pair.first[1] != UNKNOWN));
    }

    /// The header of a table of pairs was a class of one pair if its name was not known. Quotes count with
    /// tabs too.
    #[test]
    fn the_layout_of_a_file_is_said_or_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.tsv");
        let lines: String =
            (0..20).map(|i| format!("{i}\t\"x{i} y\"\tz\t{}\n", ["no", "yes"][i % 2])).collect();
        let read = |header: &str, options: &TableOptions| {
            std::fs::write(&path, format!("{header}{lines}")).unwrap();
            read_file(&path, options, 1).map_err(|error| error.to_string())
        };
        let default = TableOptions::default();
        let data = read("id\tsentence1\tsentence2\tgold_label\n", &default).unwrap();
        assert_eq!(data.classes, ["no", "yes"]);
        assert_eq!(
            data.read_as.as_deref(),
            Some("read as tab-separated, header gold_label/sentence1/sentence2; ignored: id")
        );
        assert!(data.words.contains(&"y".to_owned()), "{:?}", data.words);
        let columns = |names: &str| TableOptions {
            columns: names.split(',').map(str::to_owned).collect(),
            ..TableOptions::default()
        };
        assert_eq!(read("", &columns("4,2,3")).unwrap().train, data.train);
        assert_eq!(read("a\tb\tc\td\n", &columns("d,b,c")).unwrap().train, data.train);
        let error = read("a\tb\tc\td\n", &columns("4,2,3")).unwrap_err();
        assert!(
            error.ends_with(
                ":1: the first line, \"d\", may be a header or data: --header yes or --header no says which"
            ),
            "{error}"
        );
        let error = read("", &default).unwrap_err();
        assert!(
            error.ends_with(":1: 4 columns and no header that is known: --columns names those to read"),
            "{error}"
        );
    }

    /// Number of words that training pairs have twice or more.
    fn repeated(data: &SentencePairs) -> usize {
        let words: Vec<u32> =
            data.train.iter().flat_map(|pair| pair.first.iter().chain(&pair.second)).copied().collect();
        let times = |word: u32| words.iter().filter(|&&other| other == word).count();
        (1..data.words.len() as u32).filter(|&word| times(word) >= 2).count()
    }

    /// There are two classes. Words that no training pair has are unknown. Packed files are read like
    /// plain ones.
    #[test]
    fn snli_is_entailment_against_the_rest() {
        use std::io::Write;
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("train.tsv", "neutral\ta man\tsleeps\nentailment\ta dog\ta pet\n");
        write("test.tsv", "contradiction\ta cat\tsleeps\nnot_entailment\tthe dog\ta dog\n");
        let file = std::fs::File::create(dir.path().join("val.tsv.gz")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        packed.write_all(b"entailment\ta man\ta man\n-\ta cat\tno label\n").unwrap();
        packed.finish().unwrap();
        let data = snli(dir.path(), "val").unwrap();
        assert_eq!(data.words, ["<unknown>", "a", "man", "sleeps", "dog", "pet"]);
        let common = data.clone().without_rare_words(2);
        assert_eq!(common.words.len(), 1 + repeated(&data));
        let texts = |data: &SentencePairs| -> Vec<Vec<String>> {
            let pairs = data.train.iter().chain(&data.validation).chain(&data.test);
            let words = pairs.map(|pair| pair.first.iter().chain(&pair.second));
            words.map(|words| words.map(|&word| data.words[word as usize].clone()).collect()).collect()
        };
        for (before, after) in texts(&data).concat().iter().zip(texts(&common).concat()) {
            let wanted = if common.words.contains(before) { before } else { "<unknown>" };
            assert_eq!(after, wanted);
        }
        assert_eq!(data.classes, ["rest", "entailment"]);
        let pair =
            |first: &[u32], second: &[u32], class| Pair { first: first.into(), second: second.into(), class };
        assert_eq!(data.train, [pair(&[1, 2], &[3], 0), pair(&[1, 4], &[1, 5], 1)]);
        assert_eq!(data.validation, [pair(&[1, 2], &[1, 2], 1)]);
        assert_eq!(data.test, [pair(&[1, UNKNOWN], &[3], 0), pair(&[UNKNOWN, 4], &[1, 4], 0)]);
        write("test.tsv", "neutral\ta\tb\nyes\ta\tb\n");
        let error = snli(dir.path(), "val").unwrap_err().to_string();
        assert!(error.ends_with("test.tsv:2: unknown label \"yes\""), "{error}");
    }
}

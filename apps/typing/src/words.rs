//! Word vectors: files of them, and their points in the space of the encoder.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use cotangent::engine::files::npy;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{table, word_vectors};
use serde::{Deserialize, Serialize};

use crate::config::Space;
use crate::tokens::plain;

/// The number of a word without a vector.
pub const UNKNOWN: u32 = 0;

/// Where the vectors of a file live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VectorKind {
    /// In Euclidean space, as GloVe's. A hyperbolic encoder takes exp₀ of them in a ball of its own radius.
    Euclidean,
    /// In the Poincaré ball, as those of Poincaré GloVe. A Euclidean encoder takes log₀ of them.
    Hyperbolic,
}

/// Some words and their vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    /// The number of each word, from 1; 0 is [`UNKNOWN`].
    numbers: HashMap<String, u32>,
    /// The vectors by number, end to end; the first is that of all unknown words.
    vectors: Vec<f32>,
    width: usize,
    /// A checksum of the words and vectors that were read.
    fingerprint: u32,
}

/// The forms of a token that may have a vector, the best one first: as it is, in lower case, and without
/// the Penn Treebank's way to write brackets and quotes.
pub fn forms(token: &str) -> [Option<String>; 3] {
    let lower = token.to_lowercase();
    let lower = (lower != token).then_some(lower);
    [Some(token.to_owned()), lower, plain(token).map(str::to_owned)]
}

/// Collects the vectors of words that are wanted.
struct Collector<'a> {
    wanted: &'a HashSet<String>,
    words: Words,
    hasher: crc32fast::Hasher,
    kind: VectorKind,
    read: usize,
    /// The sum of the first vectors of the file that are not 0, and their number: see [`FIRST`].
    first: (Vec<f64>, usize),
}

/// So many of a file's words are in its fingerprint, besides their number. The vector of unknown words is
/// the mean of theirs. Neither depends on which words are wanted.
const FIRST: usize = 1000;

impl Collector<'_> {
    fn add(
        &mut self,
        name: &str,
        row: impl ExactSizeIterator<Item = f32>,
    ) -> std::result::Result<(), String> {
        let words = &mut self.words;
        if words.width == 0 {
            words.width = row.len();
            // The place of unknown words, which is filled at the end.
            words.vectors.resize(words.width, 0.0);
        }
        if row.len() != words.width || row.len() == 0 {
            return Err(format!("{} numbers after the word; the first has {}", row.len(), words.width));
        }
        self.read += 1;
        let start = words.vectors.len();
        words.vectors.extend(row);
        let row = &words.vectors[start..];
        let square: f64 = row.iter().map(|&x| f64::from(x).powi(2)).sum();
        if !square.is_finite() {
            return Err(format!("the vector of {name:?} is not finite"));
        }
        if self.kind == VectorKind::Hyperbolic && square >= 1.0 {
            let norm = square.sqrt();
            return Err(format!("the vector of {name:?} has norm {norm}: not a point of the Poincaré ball"));
        }
        if self.read <= FIRST {
            self.hasher.update(name.as_bytes());
            row.iter().for_each(|x| self.hasher.update(&x.to_le_bytes()));
            if square > 0.0 {
                let row: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
                let row = Row::from(row.as_slice());
                let row = if self.kind == VectorKind::Hyperbolic { ball(1.0).log0(&row) } else { row };
                let (sum, count) = &mut self.first;
                sum.resize(row.len(), 0.0);
                sum.iter_mut().zip(row.iter()).for_each(|(sum, x)| *sum += x);
                *count += 1;
            }
        }
        if self.wanted.contains(name) && !words.numbers.contains_key(name) {
            words.numbers.insert(name.to_owned(), (start / words.width) as u32);
        } else {
            words.vectors.truncate(start);
        }
        Ok(())
    }

    fn add_text(&mut self, name: &str, fields: &str) -> std::result::Result<(), String> {
        let number = |field: &str| field.parse::<f32>().map_err(|_| format!("{field:?} is not a number"));
        let row: Vec<f32> = fields.split(' ').map(number).collect::<std::result::Result<_, _>>()?;
        self.add(name, row.into_iter())
    }

    fn finish(mut self, path: &Path) -> Result<Words> {
        if self.read == 0 {
            return Err(AppError::content(path, "no word vectors"));
        }
        self.hasher.update(&(self.read as u64).to_le_bytes());
        self.fill_unknown();
        self.words.fingerprint = self.hasher.finalize();
        Ok(self.words)
    }

    /// The vector of unknown words: the mean of the file's [`FIRST`] ones that are not 0, of points in the
    /// ball of their logarithms. A choice of this project; the paper is silent.
    fn fill_unknown(&mut self) {
        let (mut mean, count) = std::mem::take(&mut self.first);
        mean.iter_mut().for_each(|x| *x /= count as f64);
        let mean = Row::from(mean.as_slice());
        let mean = if self.kind == VectorKind::Hyperbolic { ball(1.0).exp0(&mean) } else { mean };
        self.words.vectors.iter_mut().zip(mean.iter()).for_each(|(x, mean)| *x = *mean as f32);
    }
}

impl Words {
    /// Reads the vectors of the words that are wanted.
    ///
    /// | file | format |
    /// |---|---|
    /// | a directory | `words.txt`, a word a line, and `vectors.npy` or the largest `*.npy`, a row a word |
    /// | `*.npy` | the same, with `words.txt` beside it |
    /// | `*.bin` | word2vec, binary |
    /// | any other whose first line is two numbers | word2vec, text |
    /// | any other | GloVe: a word and numbers a line, split by single spaces; a word may have spaces |
    ///
    /// Files may be packed with gzip or be pipes, but not those of NumPy. Of a word that occurs twice the
    /// first vector counts.
    ///
    /// # Errors
    /// If a file cannot be read or is not in its format, the vectors have mixed widths, or any, wanted or
    /// not, is not finite or, of hyperbolic ones, not in the ball. The error names the line.
    pub fn read(path: &Path, kind: VectorKind, wanted: &HashSet<String>) -> Result<Self> {
        let words = Words { numbers: HashMap::new(), vectors: Vec::new(), width: 0, fingerprint: 0 };
        let (hasher, first) = (crc32fast::Hasher::new(), Default::default());
        let mut words = Collector { wanted, words, hasher, kind, read: 0, first };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        if path.is_dir() {
            read_array(&array_of(path)?, &mut words)?;
        } else if name.ends_with(".npy") {
            read_array(path, &mut words)?;
        } else if name.ends_with(".bin") {
            word_vectors::read_binary(path, |name, row| {
                words.add(name, row.iter().map(|&x| f32::from_le_bytes(x)))
            })?;
        } else {
            word_vectors::read_any_text(path, |name, fields| words.add_text(name, fields))?;
        }
        words.finish(path)
    }

    /// No words, but vectors of this dimension.
    pub(crate) fn none(width: usize) -> Self {
        Words { numbers: HashMap::new(), vectors: vec![0.0; width], width, fingerprint: 0 }
    }

    /// The number of a token: that of the first of its [forms] that has a vector, else [`UNKNOWN`].
    pub fn number(&self, token: &str) -> u32 {
        let found = forms(token).into_iter().flatten().find_map(|form| self.numbers.get(&form).copied());
        found.unwrap_or(UNKNOWN)
    }

    /// Number of words with a vector.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether no word has a vector.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The dimension of the vectors.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A checksum of the file's first words and the number of its words.
    pub fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// Adds the vectors of all words that were wanted to a checksum.
    pub(crate) fn hash(&self, hasher: &mut crc32fast::Hasher) {
        self.vectors.iter().for_each(|x| hasher.update(&x.to_le_bytes()));
    }

    /// The points of all words in the space of the encoder, `[words + 1, width]`. Vectors of the space stay
    /// as they are. Points of the ball become log₀ of them for a Euclidean encoder (López & Strube 2020,
    /// section 5.3). Plain vectors become `r tanh(‖v‖/r) v/‖v‖` for a hyperbolic one: exp₀ in a
    /// ball of radius r (section 6.1.1 and appendix F).
    pub fn points<T: Float>(&self, kind: VectorKind, space: Space, radius: f64) -> Tensor<T> {
        let rows: Vec<f64> = self.vectors.iter().map(|&x| f64::from(x)).collect();
        let rows = Tensor::new([self.vectors.len() / self.width, self.width], rows);
        match (kind, space) {
            (VectorKind::Euclidean, Space::Hyperbolic) => ball(radius).exp0(&rows).cast(),
            (VectorKind::Hyperbolic, Space::Euclidean) => ball(1.0).log0(&rows).cast(),
            _ => rows.cast(),
        }
    }
}

/// The Poincaré ball of this radius.
fn ball(radius: f64) -> PoincareBall {
    PoincareBall::new(-1.0 / (radius * radius))
}

/// The array of a directory: `vectors.npy`, else the largest file `*.npy`, which has the widest vectors.
fn array_of(directory: &Path) -> Result<PathBuf> {
    let vectors = directory.join("vectors.npy");
    if vectors.exists() {
        return Ok(vectors);
    }
    let entries = std::fs::read_dir(directory).map_err(AppError::io(directory))?;
    let arrays = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let size = path.metadata().ok()?.len();
        path.extension().is_some_and(|extension| extension == "npy").then_some((size, path))
    });
    let largest = arrays.max().ok_or_else(|| AppError::content(directory, "no file .npy with word vectors"));
    Ok(largest?.1)
}

fn read_array(path: &Path, words: &mut Collector<'_>) -> Result<()> {
    let array: Tensor<f32> = npy::read(path)?;
    let &[count, _] = array.shape().axes() else {
        let message = format!("an array of shape {}; two axes are needed: words, numbers", array.shape());
        return Err(AppError::content(path, message));
    };
    let names = path.with_file_name("words.txt");
    let mut rows = array.rows();
    table::read_lines(&names, |_, name| {
        let row =
            rows.next().ok_or_else(|| format!("a word after the {count} rows of {}", path.display()))?;
        words.add(name, row.iter().copied())
    })?;
    match rows.len() {
        0 => Ok(()),
        more => Err(AppError::content(&names, format!("{} words for {count} vectors", count - more))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn wanted(words: &[&str]) -> HashSet<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn read_bytes(name: &str, bytes: &[u8], kind: VectorKind) -> std::result::Result<Words, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let words = Words::read(&path, kind, &wanted(&["a", "b", "("]));
        words.map_err(|error| error.to_string().rsplit_once(name).unwrap().1.to_owned())
    }

    fn row(words: &Words, name: &str) -> Vec<f32> {
        words.vectors[words.width * words.numbers[name] as usize..][..words.width].to_vec()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn all_formats_give_the_same_words() {
        let glove = b"a 0.5 0.25\nc 1 1\nb -0.5 0\n( 0 0\n";
        let text = [&b"4 2\n"[..], glove].concat();
        let mut binary = b"4 2\n".to_vec();
        for (name, row) in [("a", [0.5_f32, 0.25]), ("c", [1.0, 1.0]), ("b", [-0.5, 0.0]), ("(", [0.0, 0.0])]
        {
            binary.extend(format!("{name} ").bytes());
            row.iter().for_each(|x| binary.extend(x.to_le_bytes()));
        }
        let plain = read_bytes("e.txt", glove, VectorKind::Euclidean).unwrap();
        for (name, bytes) in
            [("e.txt", &text), ("e.vec.gz", &gzip(&text)), ("e.gz", &gzip(glove)), ("e.bin", &binary)]
        {
            assert_eq!(read_bytes(name, bytes, VectorKind::Euclidean).unwrap(), plain, "{name}");
        }
        let dir = tempfile::tempdir().unwrap();
        let array = Tensor::new([4, 2], vec![0.5_f32, 0.25, 1.0, 1.0, -0.5, 0.0, 0.0, 0.0]);
        npy::write(&dir.path().join("v.npy"), &array).unwrap();
        std::fs::write(dir.path().join("words.txt"), "a\nc\nb\n(\n").unwrap();
        let read = Words::read(dir.path(), VectorKind::Euclidean, &wanted(&["a", "b", "("])).unwrap();
        assert_eq!(read, plain);
        assert_eq!((plain.len(), plain.width()), (3, 2));
        // The mean of the three vectors that are not 0.
        assert_eq!(plain.vectors[..2], [1.0 / 3.0, 1.25 / 3.0]);
    }

    /// Whatever is wanted, unknown words have the mean of the file's first vectors.
    #[test]
    fn the_vector_of_unknown_words_is_one_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.txt");
        let rows = (0..FIRST).map(|i| format!("w{i} 0.{} 0\n", i % 2)).collect::<String>() + "z 0 0.5\n";
        std::fs::write(&path, rows).unwrap();
        for kind in [VectorKind::Euclidean, VectorKind::Hyperbolic] {
            let unknown = |words: &[&str]| {
                let read = Words::read(&path, kind, &wanted(words)).unwrap();
                (read.vectors[..2].to_vec(), read.len())
            };
            let (vector, count) = unknown(&[]);
            assert_eq!(count, 0);
            assert!((vector[0] - 0.1).abs() < 1e-7 && vector[1] == 0.0, "{vector:?}");
            assert_eq!(unknown(&["z", "w1"]), (vector, 2));
        }
    }

    /// A pipe can be read only once.
    #[cfg(target_os = "linux")]
    #[test]
    fn pipes_are_read() {
        use std::os::fd::AsRawFd;
        for text in ["a 0.5 0.25\nb 1 2\n", "2 2\na 0.5 0.25\nb 1 2\n"] {
            let (reader, mut writer) = std::io::pipe().unwrap();
            writer.write_all(text.as_bytes()).unwrap();
            drop(writer);
            let path = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
            let words = Words::read(&path, VectorKind::Euclidean, &wanted(&["a"])).unwrap();
            assert_eq!((words.len(), row(&words, "a")), (1, vec![0.5, 0.25]));
        }
    }

    #[test]
    fn words_may_have_spaces() {
        let text = b"a 0.5 0.25\n. . . 1 1\nat a@b.c 2 2\nb 3 4\n";
        let words = read_bytes("e.txt", text, VectorKind::Euclidean).unwrap();
        assert_eq!((words.len(), row(&words, "b")), (2, vec![3.0, 4.0]));
        assert_eq!(words.vectors[..2], [6.5 / 4.0, 7.25 / 4.0]);
    }

    #[test]
    fn tokens_are_found_in_several_forms() {
        let words = read_bytes("e.txt", b"a 1\nb 2\n( 3\n", VectorKind::Euclidean).unwrap();
        let numbers = ["a", "A", "b", "-LRB-", "c"].map(|token| words.number(token));
        assert_eq!(numbers, [1, 1, 2, 3, UNKNOWN]);
    }

    #[test]
    fn vectors_enter_the_encoders_space() {
        let words = read_bytes("e.txt", b"a 0.6 0\nb 0 0.8\n", VectorKind::Hyperbolic).unwrap();
        let points = words.points::<f64>(VectorKind::Hyperbolic, Space::Hyperbolic, 0.5);
        assert_eq!(points.row(1), [f64::from(0.6_f32), 0.0]);
        let flat = words.points::<f64>(VectorKind::Hyperbolic, Space::Euclidean, 0.5);
        assert!((flat.row(1)[0] - f64::from(0.6_f32).atanh()).abs() < 1e-12);
        let plain = read_bytes("e.txt", b"a 3 0\nb 0 4\n", VectorKind::Euclidean).unwrap();
        let points = plain.points::<f64>(VectorKind::Euclidean, Space::Hyperbolic, 0.5);
        assert!((points.row(1)[0] - 0.5 * 6_f64.tanh()).abs() < 1e-12 && points.row(2)[1] < 0.5);
        let flat = plain.points::<f64>(VectorKind::Euclidean, Space::Euclidean, 0.5);
        assert_eq!(flat.row(0), [1.5, 2.0]);
    }

    #[test]
    fn bad_files_name_the_line() {
        let error = |bytes: &[u8]| read_bytes("e.txt", bytes, VectorKind::Euclidean).unwrap_err();
        assert_eq!(error(b"a 1 2\nb 1\n"), ":2: 1 numbers after the word; the first has 2");
        assert_eq!(error(b"2 2\na 1 2\nb 1\n"), ":3: 1 numbers after the name; the first line announces 2");
        assert_eq!(error(b"a 1 2\nb 1 x\n"), ":2: \"x\" is not a number");
        assert_eq!(error(b"a\n"), ":1: a word without numbers");
        assert_eq!(error(b"a 1 nan\n"), ":1: the vector of \"a\" is not finite");
        assert_eq!(error(b"a 1 2\nb 1 2 3\n"), ":2: 3 numbers after the word; the first has 2");
        // The same of a word that is not wanted, behind those of the fingerprint.
        let many = "a 1\n".repeat(FIRST) + "c inf\n";
        assert_eq!(error(many.as_bytes()), ":1001: the vector of \"c\" is not finite");
        assert_eq!(error(b""), ":1: a word without numbers");
        let outside = read_bytes("e.txt", b"a 0.6 0.8\n", VectorKind::Hyperbolic).unwrap_err();
        assert!(outside.starts_with(":1: the vector of \"a\" has norm 1"), "{outside}");
    }

    #[test]
    fn arrays_need_as_many_words() {
        let dir = tempfile::tempdir().unwrap();
        npy::write(&dir.path().join("vectors.npy"), &Tensor::new([2, 1], vec![1.0_f32, 2.0])).unwrap();
        let names = dir.path().join("words.txt");
        let error = |text: &str| {
            std::fs::write(&names, text).unwrap();
            Words::read(dir.path(), VectorKind::Euclidean, &wanted(&[])).unwrap_err().to_string()
        };
        assert!(error("a\n").ends_with("words.txt: 1 words for 2 vectors"));
        assert!(error("a\nb\nc\n").contains("words.txt:3: a word after the 2 rows of "));
    }
}

//! Agreement with numbers that people gave: how much a word is a kind of another (HyperLex; Nickel & Kiela
//! 2017, section 4.3), and values of nodes such as ranks in an organisation (Nickel & Kiela 2018). Both are
//! Spearman's rank correlations.

use std::collections::HashMap;
use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::{Row, Separator, Table, TableOptions, Wanted};
use serde::Serialize;

use crate::evaluate::is_a::{Options, Scorer};
use crate::evaluate::rank_correlation::spearman;
use crate::files::embeddings::Embeddings;

/// The agreement of an embedding with given numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Spearman's rank correlation. NaN if all numbers are equal.
    pub spearman: f64,
    /// How many pairs or nodes it is of.
    pub compared: usize,
    /// How many others have no point.
    pub without_points: usize,
}

/// What is read of a table of graded pairs. HyperLex has more columns, separated by spaces.
const GRADED: Wanted = Wanted {
    needed: "three columns are needed: a word, the word that it may be a kind of, and a number",
    count: 3,
    keys: 2,
    names: &[&["word1", "word2", "avgscore"], &["word1", "word2", "score"], &["id1", "id2", "score"]],
    numbers: &[],
    limit: 3,
    separators: &[Separator::Tab, Separator::Comma, Separator::Semicolon, Separator::Space],
    quotes: true,
    strict: true,
    written: &[],
};

/// What is read of a table of nodes' values.
const VALUES: Wanted = Wanted {
    needed: "two columns are needed: a node and a number",
    count: 2,
    keys: 1,
    names: &[&["node", "value"], &["id", "value"], &["name", "value"], &["node", "rank"], &["name", "rank"]],
    limit: 2,
    ..GRADED
};

/// The rows of a table: the names in the first `K` columns, and the finite number in the next.
fn read<const K: usize>(path: &Path, wanted: &Wanted) -> Result<Vec<([String; K], f64)>> {
    let table = Table::open(path, wanted, &TableOptions::default(), &[])?;
    let columns = table.columns().to_vec();
    let mut rows = Vec::new();
    table.rows(|row: &Row| {
        let number = row.field(columns[K]);
        let value = number.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| format!("{number:?} is not a number"))?;
        rows.push((std::array::from_fn(|i| row.field(columns[i]).to_owned()), value));
        Ok(())
    })?;
    Ok(rows)
}

/// The points of each word: that of its name, or else those of its senses, as `dog.n.01` is one of "dog".
struct Senses<'a>(HashMap<&'a str, Vec<u32>>);

impl<'a> Senses<'a> {
    fn new(embeddings: &'a Embeddings) -> Self {
        let mut senses: HashMap<&str, Vec<u32>> = HashMap::new();
        for (number, name) in (0..).zip(embeddings.names.iter()) {
            if let Some(word) = word_of(name) {
                senses.entry(word).or_default().push(number);
            }
        }
        for (number, name) in (0..).zip(embeddings.names.iter()) {
            senses.insert(name, vec![number]);
        }
        Senses(senses)
    }

    /// The points of a word; spaces and underscores are the same. None if there are none.
    fn find(&self, word: &str) -> Option<&[u32]> {
        let found = self.0.get(word).or_else(|| self.0.get(word.replace(' ', "_").as_str()));
        found.map(Vec::as_slice)
    }
}

/// The word of a synset's name: `dog` of `dog.n.01`.
fn word_of(name: &str) -> Option<&str> {
    let (stem, sense) = name.rsplit_once('.')?;
    let (word, part) = stem.rsplit_once('.')?;
    let is_sense = !sense.is_empty() && sense.bytes().all(|byte| byte.is_ascii_digit());
    (is_sense && part.len() == 1 && !word.is_empty()).then_some(word)
}

/// How the scores of pairs agree with a table of graded ones. Of a word's senses the pair with the best score
/// counts.
///
/// # Errors
/// If the file cannot be read, a number is none, fewer than two pairs have points, or the geometry has no
/// such score.
pub fn graded(embeddings: &Embeddings, path: &Path, options: Options) -> Result<Agreement> {
    let scorer = Scorer::new(&embeddings.points, embeddings.geometry, options)?;
    let senses = Senses::new(embeddings);
    let rows = read::<2>(path, &GRADED)?;
    let (mut scores, mut given) = (Vec::new(), Vec::new());
    for ([below, above], value) in &rows {
        let (Some(below), Some(above)) = (senses.find(below), senses.find(above)) else { continue };
        let pairs = below.iter().flat_map(|&u| above.iter().map(move |&v| [u, v]));
        scores.push(scorer.scores(pairs).into_iter().fold(f64::NEG_INFINITY, f64::max));
        given.push(*value);
    }
    agreement(path, [&scores, &given], rows.len(), "pairs")
}

/// How the distance from the origin agrees with a table of nodes' values.
///
/// # Errors
/// If the file cannot be read, a number is none, or fewer than two nodes have points.
pub fn values(embeddings: &Embeddings, path: &Path) -> Result<Agreement> {
    let index = embeddings.index_of_names(path)?;
    let rows = read::<1>(path, &VALUES)?;
    let found =
        rows.iter().filter_map(|([node], value)| Some((index.find(&embeddings.names, node)?, *value)));
    let (points, given): (Vec<u32>, Vec<f64>) = found.unzip();
    agreement(path, [&embeddings.depths(&points), &given], rows.len(), "nodes")
}

fn agreement(path: &Path, [found, given]: [&[f64]; 2], all: usize, what: &str) -> Result<Agreement> {
    if found.len() < 2 {
        let message = format!("{} of {all} {what} have points; two are needed", found.len());
        return Err(AppError::content(path, message));
    }
    let spearman = spearman(found, given);
    Ok(Agreement { spearman, compared: found.len(), without_points: all - found.len() })
}

#[cfg(test)]
mod tests {
    use cotangent::prelude::*;
    use cotangent_apps_common::geometry::{Geometry, SpaceModel};

    use super::*;
    use crate::evaluate::is_a::IsAScore;

    /// Entity is at the origin, then animal, dog's two senses, and rex farther out in one direction.
    fn embeddings() -> Embeddings {
        let names = ["entity.n.01", "animal.n.01", "dog.n.01", "dog.n.02", "rex.n.01", "hot dog"];
        let data = vec![0.0, 0.0, 0.3, 0.0, 0.6, 0.1, -0.6, 0.0, 0.8, 0.1, 0.0, 0.9];
        let geometry = Geometry::new(SpaceModel::Poincare, None).unwrap();
        Embeddings {
            names: names.into_iter().collect(),
            points: Tensor::new([6, 2], data),
            geometry,
            translation: None,
        }
    }

    const OPTIONS: Options = Options { score: IsAScore::Norm, alpha: 1000.0, cone_size: None, seed: 1 };

    #[test]
    fn words_have_senses() {
        assert_eq!(word_of("dog.n.01"), Some("dog"));
        assert_eq!(word_of("u.s.a.n.01"), Some("u.s.a"));
        for name in ["dog", "dog.n", "dog.n.x", ".n.01", "dog.noun.01"] {
            assert_eq!(word_of(name), None, "{name}");
        }
        let embeddings = embeddings();
        let senses = Senses::new(&embeddings);
        assert_eq!(senses.find("dog"), Some(&[2, 3][..]));
        assert_eq!(senses.find("dog.n.02"), Some(&[3][..]));
        assert_eq!((senses.find("hot dog"), senses.find("cat")), (Some(&[5][..]), None));
    }

    #[test]
    fn graded_pairs_are_compared_by_the_best_senses() {
        let (embeddings, dir) = (embeddings(), tempfile::tempdir().unwrap());
        let path = dir.path().join("graded.txt");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        write(
            "WORD1 WORD2 POS AVG_SCORE\nrex dog N 5.9\ndog animal N 4.0\nrex entity N 2.0\nanimal dog N 0.5\n\
             cat animal N 6\n",
        );
        let found = graded(&embeddings, &path, OPTIONS).unwrap();
        assert_eq!((found.compared, found.without_points), (4, 1));
        let scorer = Scorer::new(&embeddings.points, embeddings.geometry, OPTIONS).unwrap();
        let best =
            |pairs: &[[u32; 2]]| scorer.scores(pairs.iter().copied()).into_iter().fold(f64::MIN, f64::max);
        let scores =
            [best(&[[4, 2], [4, 3]]), best(&[[2, 1], [3, 1]]), best(&[[4, 0]]), best(&[[1, 2], [1, 3]])];
        assert_eq!(found.spearman, spearman(&scores, &[5.9, 4.0, 2.0, 0.5]));
        assert!(scores[3] < scores[1], "an animal is no dog");
        write("dog\tanimal\tmuch\n");
        let error = graded(&embeddings, &path, OPTIONS).unwrap_err().to_string();
        assert!(error.contains("graded.txt:1: "), "{error}");
        write("dog\tanimal\t1\ncat\tanimal\t2\n");
        let error = graded(&embeddings, &path, OPTIONS).unwrap_err().to_string();
        assert!(error.ends_with("1 of 2 pairs have points; two are needed"), "{error}");
    }

    #[test]
    fn values_are_compared_with_the_distance_from_the_origin() {
        let (embeddings, dir) = (embeddings(), tempfile::tempdir().unwrap());
        let path = dir.path().join("values.tsv");
        std::fs::write(&path, "node\tvalue\nrex.n.01\t9\nentity.n.01\t1\nanimal.n.01\t3\nnobody\t4\n")
            .unwrap();
        let found = values(&embeddings, &path).unwrap();
        assert_eq!(found, Agreement { spearman: 1.0, compared: 3, without_points: 1 });
    }
}

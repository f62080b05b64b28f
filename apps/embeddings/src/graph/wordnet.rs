//! The transitive closure of WordNet's nouns or verbs, from its own database files (Debian package
//! `wordnet-base`).
//!
//! Format: the manual page wndb(5WN). Hypernym (`@`) and instance-hypernym (`@i`) pointers are followed.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};

/// What has hypernyms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum PartOfSpeech {
    /// Nouns.
    #[default]
    Noun,
    /// Verbs.
    Verb,
}

impl PartOfSpeech {
    /// As it is written in the names of files, and in the names of synsets.
    fn names(self) -> [&'static str; 2] {
        match self {
            PartOfSpeech::Noun => ["noun", "n"],
            PartOfSpeech::Verb => ["verb", "v"],
        }
    }
}

/// Synsets and their direct hypernyms. A synset is given by its index in `names`.
pub struct Synsets {
    /// Names such as `mammal.n.01`: first lemma, part of speech, sense number of that lemma.
    pub names: Vec<String>,
    /// The direct hypernyms of each synset.
    pub parents: Vec<Vec<u32>>,
}

/// Reads `data.noun` and `index.noun` in a directory, or those of verbs.
///
/// # Errors
/// If a file cannot be read, or a line is not in WordNet's format.
pub fn read(directory: &Path, part: PartOfSpeech) -> Result<Synsets> {
    let [part, letter] = part.names();
    let index = format!("index.{part}");
    let senses = read_senses(&directory.join(&index))?;
    let path = directory.join(format!("data.{part}"));
    let text = read_latin1(&path)?;
    let mut names = Vec::new();
    let mut ids = HashMap::new();
    let mut pointers = Vec::new();
    for (number, line) in entries(&text) {
        let bad = |what: &str| AppError::line(&path, number, format!("not a WordNet data line: {what}"));
        let fields: Vec<&str> = line.split(" | ").next().unwrap_or_default().split(' ').collect();
        let field = |i: usize| fields.get(i).copied().ok_or_else(|| bad("too few fields"));
        let offset = field(0)?;
        // The word count is two hexadecimal digits.
        let words: usize = u8::from_str_radix(field(3)?, 16).map_err(|_| bad("no word count"))?.into();
        let lemma = field(4)?.to_lowercase();
        let sense =
            senses.get(&(lemma.clone(), offset.to_owned())).ok_or_else(|| bad(&format!("not in {index}")))?;
        let start = 4 + 2 * words;
        let count: usize = field(start)?.parse().map_err(|_| bad("no pointer count"))?;
        let mut up = Vec::new();
        for p in 0..count {
            let at = start + 1 + 4 * p;
            if matches!(field(at)?, "@" | "@i") && field(at + 2)? == letter {
                up.push(field(at + 1)?.to_owned());
            }
        }
        ids.insert(offset.to_owned(), names.len() as u32);
        names.push(format!("{lemma}.{letter}.{sense:02}"));
        pointers.push((number, up));
    }
    if names.is_empty() {
        return Err(AppError::content(&path, format!("no {part}s")));
    }
    let mut parents = Vec::with_capacity(names.len());
    for (number, up) in pointers {
        let find = |offset: String| {
            ids.get(&offset).copied().ok_or_else(|| {
                AppError::line(&path, number, format!("pointer to {offset}, which is missing"))
            })
        };
        parents.push(up.into_iter().map(find).collect::<Result<Vec<u32>>>()?);
    }
    Ok(Synsets { names, parents })
}

/// WordNet's files are Latin-1: every byte is a character.
fn read_latin1(path: &Path) -> Result<String> {
    Ok(std::fs::read(path).map_err(AppError::io(path))?.into_iter().map(char::from).collect())
}

/// The lines with their numbers (from 1), without the licence at the top, whose lines begin with a space.
fn entries(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with(' ') && !line.is_empty())
}

/// The sense number of each lemma and offset.
fn read_senses(path: &Path) -> Result<HashMap<(String, String), usize>> {
    let text = read_latin1(path)?;
    let mut senses = HashMap::new();
    for (number, line) in entries(&text) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let count = fields.get(2).and_then(|n| n.parse::<usize>().ok()).filter(|&n| n < fields.len());
        let Some(count) = count else {
            return Err(AppError::line(path, number, "not a WordNet index line: no sense count"));
        };
        for (i, offset) in fields[fields.len() - count..].iter().enumerate() {
            senses.insert((fields[0].to_owned(), (*offset).to_owned()), i + 1);
        }
    }
    Ok(senses)
}

impl Synsets {
    /// Number of direct hypernym edges.
    pub fn edges(&self) -> usize {
        self.parents.iter().map(Vec::len).sum()
    }

    /// All pairs (synset, proper ancestor), sorted by name. With a root, only pairs inside its subtree, the
    /// root included.
    ///
    /// # Errors
    /// If there is no synset with the root's name.
    pub fn closure(&self, root: Option<&str>) -> Result<Vec<(&str, &str)>> {
        let mut ancestors: Vec<Option<BTreeSet<u32>>> = vec![None; self.names.len()];
        for i in 0..self.names.len() {
            self.visit(i, &mut ancestors);
        }
        let root = match root {
            None => None,
            Some(name) => {
                let known = self.names.iter().position(|n| n == name);
                Some(known.ok_or_else(|| AppError::usage(format!("--root {name}: no such synset")))? as u32)
            }
        };
        let above = |i: u32| ancestors[i as usize].as_ref().expect("all were visited");
        let inside = |i: u32| root.is_none_or(|root| i == root || above(i).contains(&root));
        let mut pairs = Vec::new();
        for i in (0..self.names.len() as u32).filter(|&i| inside(i)) {
            for &a in above(i).iter().filter(|&&a| inside(a)) {
                pairs.push((self.names[i as usize].as_str(), self.names[a as usize].as_str()));
            }
        }
        pairs.sort_unstable();
        Ok(pairs)
    }

    /// Computes the ancestors of a synset and of all above it, without recursion.
    fn visit(&self, start: usize, ancestors: &mut [Option<BTreeSet<u32>>]) {
        let mut stack = vec![start];
        while let Some(&i) = stack.last() {
            // A parent on the stack is part of a cycle and is not visited twice; otherwise the loop would not
            // end.
            let pending = self.parents[i]
                .iter()
                .map(|&p| p as usize)
                .find(|p| ancestors[*p].is_none() && !stack.contains(p));
            if let Some(parent) = pending {
                stack.push(parent);
                continue;
            }
            let mut all = BTreeSet::new();
            for &p in &self.parents[i] {
                all.insert(p);
                all.extend(ancestors[p as usize].iter().flatten());
            }
            all.remove(&(i as u32));
            ancestors[i] = Some(all);
            stack.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "  1 licence\nanimal n 1 1 ~ 1 0 00000001  \ndog n 2 1 @ 2 1 00000003 00000002  \nrex n 1 1 @i 1 0 00000004  \n";
    const DATA: &str = "  1 licence\n00000001 03 n 02 animal 0 beast 0 001 ~ 00000002 n 0000 | a living thing  \n\
        00000002 05 n 01 dog 0 001 @ 00000001 n 0000 | a dog  \n\
        00000003 05 n 01 Dog 0 000 | another sense  \n\
        00000004 18 n 01 Rex 0 002 @i 00000002 n 0000 + 00000009 v 0101 | an instance  \n";

    fn write(index: &str, data: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("index.noun"), index).unwrap();
        std::fs::write(dir.path().join("data.noun"), data).unwrap();
        dir
    }

    #[test]
    fn closure_of_a_small_dictionary() {
        let dir = write(INDEX, DATA);
        let nouns = read(dir.path(), PartOfSpeech::Noun).unwrap();
        assert_eq!(nouns.names, ["animal.n.01", "dog.n.02", "dog.n.01", "rex.n.01"]);
        assert_eq!(nouns.edges(), 2);
        let all = [("dog.n.02", "animal.n.01"), ("rex.n.01", "animal.n.01"), ("rex.n.01", "dog.n.02")];
        assert_eq!(nouns.closure(None).unwrap(), all);
        assert_eq!(nouns.closure(Some("dog.n.02")).unwrap(), [("rex.n.01", "dog.n.02")]);
        assert_eq!(
            nouns.closure(Some("cat.n.01")).unwrap_err().to_string(),
            "--root cat.n.01: no such synset"
        );
    }

    /// Verbs have frames after their pointers. Pointers to nouns are not followed. Two verbs that are above
    /// each other are not above themselves.
    #[test]
    fn verbs_have_files_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let index =
            "inhibit v 1 1 @ 1 0 00000001  \nrestrain v 1 1 @ 1 0 00000002  \nkeep v 1 0 1 0 00000003  \n";
        let data = "00000001 30 v 01 inhibit 0 002 @ 00000002 v 0000 @ 00000009 n 0000 01 + 08 00 | x  \n\
            00000002 30 v 01 restrain 0 002 @ 00000001 v 0000 @ 00000003 v 0000 01 + 08 00 | y  \n\
            00000003 30 v 01 keep 0 000 01 + 08 00 | z  \n";
        std::fs::write(dir.path().join("index.verb"), index).unwrap();
        std::fs::write(dir.path().join("data.verb"), data).unwrap();
        let verbs = read(dir.path(), PartOfSpeech::Verb).unwrap();
        assert_eq!(verbs.names, ["inhibit.v.01", "restrain.v.01", "keep.v.01"]);
        assert_eq!(verbs.parents, [vec![1], vec![0, 2], vec![]]);
        let closure = verbs.closure(None).unwrap();
        let is_there = |pair: (&str, &str)| closure.contains(&pair);
        assert!(is_there(("inhibit.v.01", "keep.v.01")) && is_there(("restrain.v.01", "inhibit.v.01")));
        assert!(closure.iter().all(|(verb, above)| verb != above), "{closure:?}");
        let error = read(dir.path(), PartOfSpeech::Noun).err().unwrap().to_string();
        assert!(error.contains("index.noun"), "{error}");
    }

    #[test]
    fn bad_dictionaries_name_the_line() {
        let error = |index: &str, data: &str| {
            read(write(index, data).path(), PartOfSpeech::Noun).err().unwrap().to_string()
        };
        assert!(error("dog n x", DATA).ends_with("index.noun:1: not a WordNet index line: no sense count"));
        assert!(
            error(INDEX, "00000001 03 n").ends_with("data.noun:1: not a WordNet data line: too few fields")
        );
        assert!(
            error(INDEX, "00000002 05 n 01 dog 0 001 @ 00000077 n 0000 | x").contains("pointer to 00000077")
        );
        let words = "00000002 05 n 7fffffffffffffff dog 0 000 | a dog";
        assert!(error(INDEX, words).ends_with("data.noun:1: not a WordNet data line: no word count"));
        assert!(error(INDEX, "").ends_with("no nouns"));
        assert!(read(Path::new("nowhere"), PartOfSpeech::Noun).is_err());
    }
}

//! The list of types, and the granularity of each.

use std::collections::HashMap;
use std::path::Path;

use clap::ValueEnum;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table;
use serde::{Deserialize, Serialize};

use crate::mention::Mention;

/// How fine a type is. Choi et al. 2018, section 2; López & Strube 2020, section 5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    /// A general type: person, location.
    Coarse,
    /// A type of fine-grained entity recognition: artist, city.
    Fine,
    /// Any other noun phrase.
    UltraFine,
}

impl Granularity {
    /// All, from coarse to ultra-fine.
    pub const ALL: [Granularity; 3] = [Granularity::Coarse, Granularity::Fine, Granularity::UltraFine];

    /// The name, as in a file of types.
    pub fn name(self) -> &'static str {
        ["coarse", "fine", "ultra-fine"][self as usize]
    }

    /// The granularity of a path such as `/person/artist`: its depth.
    fn from_path(name: &str) -> Self {
        Granularity::ALL[name.matches('/').count().clamp(1, 3) - 1]
    }
}

/// The first so many types of a list are coarse, the next so many fine, the others ultra-fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Number of coarse types: 9 in Ultra-Fine.
    pub coarse: usize,
    /// Number of fine types: 121 in Ultra-Fine.
    pub fine: usize,
}

/// The types that a model tells apart. A type's number is its place in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Types {
    names: Vec<String>,
    granularities: Vec<Granularity>,
    #[serde(skip)]
    numbers: HashMap<String, u32>,
}

impl Types {
    /// A list of names and granularities.
    ///
    /// # Errors
    /// If there are none, or a name is empty or occurs twice. The number of the name comes with the error.
    fn new(list: Vec<(String, Granularity)>) -> std::result::Result<Self, (usize, String)> {
        if list.is_empty() {
            return Err((0, "no types".to_owned()));
        }
        let (names, granularities): (Vec<_>, Vec<_>) = list.into_iter().unzip();
        let mut types = Types { names, granularities, numbers: HashMap::new() };
        for (i, name) in types.names.iter().enumerate() {
            if name.is_empty() {
                return Err((i, "an empty name of a type".to_owned()));
            }
            if let Some(first) = types.numbers.insert(name.clone(), i as u32) {
                return Err((i, format!("the type {name:?} occurs twice, also in line {}", first + 1)));
            }
        }
        Ok(types)
    }

    /// Reads a file with a type a line. A second column, after a tab, says how fine the type is: coarse,
    /// fine or ultra-fine. Without it, [`Levels`] or the depth of paths (`/person/artist`) decide.
    ///
    /// # Errors
    /// If the file cannot be read, has no types, or a type occurs twice. The error names the line.
    pub fn read(path: &Path, levels: Levels) -> Result<Self> {
        let mut list = Vec::new();
        table::read_lines(path, |number, line| {
            let (name, level) =
                line.split_once('\t').map_or((line, None), |(name, level)| (name, Some(level)));
            let granularity = match level {
                Some(level) => Granularity::ALL
                    .into_iter()
                    .find(|granularity| granularity.name() == level.trim())
                    .ok_or_else(|| format!("{level:?} is none of coarse, fine, ultra-fine"))?,
                None if name.starts_with('/') => Granularity::from_path(name),
                None if number < levels.coarse => Granularity::Coarse,
                None if number < levels.coarse.saturating_add(levels.fine) => Granularity::Fine,
                None => Granularity::UltraFine,
            };
            list.push((name.trim().to_owned(), granularity));
            Ok(())
        })?;
        Types::new(list).map_err(|(line, message)| AppError::line(path, line as u64 + 1, message))
    }

    /// The types that occur in mentions, sorted by name. The depth of a path says how fine it is; a type that
    /// is not a path is ultra-fine.
    ///
    /// # Errors
    /// If there are none.
    pub fn from_mentions<'a>(mentions: impl IntoIterator<Item = &'a Mention>) -> Result<Self> {
        let mut names: Vec<&String> = mentions.into_iter().flat_map(|mention| &mention.types).collect();
        names.sort();
        names.dedup();
        let granularity = |name: &String| match name.starts_with('/') {
            true => Granularity::from_path(name),
            false => Granularity::UltraFine,
        };
        let list = names.into_iter().map(|name| (name.clone(), granularity(name))).collect();
        Types::new(list).map_err(|_| AppError::usage("--train: no mention has a type"))
    }

    /// After the list was read from JSON: builds the index that JSON does not have.
    ///
    /// # Errors
    /// If the list is not one of [`Types`].
    pub(crate) fn indexed(self) -> std::result::Result<Self, String> {
        if self.names.len() != self.granularities.len() {
            return Err(format!("{} types with {} levels", self.names.len(), self.granularities.len()));
        }
        let list = self.names.into_iter().zip(self.granularities).collect();
        Types::new(list).map_err(|(_, message)| message)
    }

    /// Number of types.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none; never true.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of a type.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }

    /// The names, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How fine a type is.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn granularity(&self, number: u32) -> Granularity {
        self.granularities[number as usize]
    }

    /// How fine each type is, by number.
    pub fn granularities(&self) -> &[Granularity] {
        &self.granularities
    }

    /// The number of a type, if it is in the list.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The number of a type that an option or a file names.
    ///
    /// # Errors
    /// If it is not in the list; the message names it, and a type that differs only in capitals or in `_`.
    pub fn number(&self, name: &str) -> std::result::Result<u32, String> {
        self.find(name).ok_or_else(|| {
            let plain = |name: &str| name.to_lowercase().replace([' ', '-'], "_");
            let near = self.names.iter().find(|other| plain(other) == plain(name));
            let hint = near.map_or(String::new(), |near| format!("; there is {near:?}"));
            format!("the type {name:?} is not in the list of {} types{hint}", self.len())
        })
    }

    /// A checksum of the list.
    pub(crate) fn fingerprint(&self, hasher: &mut crc32fast::Hasher) {
        for (name, granularity) in self.names.iter().zip(&self.granularities) {
            hasher.update(name.as_bytes());
            hasher.update(&[0, *granularity as u8]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: Levels = Levels { coarse: 1, fine: 2 };

    fn read(text: &str) -> std::result::Result<Types, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("types.txt");
        std::fs::write(&path, text).unwrap();
        Types::read(&path, LEVELS).map_err(|e| e.to_string().rsplit_once("types.txt").unwrap().1.to_owned())
    }

    #[test]
    fn granularity_is_by_line_by_column_or_by_depth() {
        let types = read("person\nartist\ncity\npainter\n").unwrap();
        let levels: Vec<&str> = types.granularities().iter().map(|level| level.name()).collect();
        assert_eq!(levels, ["coarse", "fine", "fine", "ultra-fine"]);
        let types = read("painter\tultra-fine\nperson\tcoarse\r\n/a\n/a/b\n/a/b/c\n").unwrap();
        let levels: Vec<&str> = types.granularities().iter().map(|level| level.name()).collect();
        assert_eq!(levels, ["ultra-fine", "coarse", "coarse", "fine", "ultra-fine"]);
        assert_eq!((types.find("person"), types.find("Person")), (Some(1), None));
        let error = types.number("Person").unwrap_err();
        assert_eq!(error, "the type \"Person\" is not in the list of 5 types; there is \"person\"");
    }

    #[test]
    fn bad_lists_name_the_line() {
        assert_eq!(read("a\nb\na\n").unwrap_err(), ":3: the type \"a\" occurs twice, also in line 1");
        assert_eq!(read("a\n\nb\n").unwrap_err(), ":2: an empty name of a type");
        assert_eq!(read("a\tcrude\n").unwrap_err(), ":1: \"crude\" is none of coarse, fine, ultra-fine");
        assert_eq!(read("").unwrap_err(), ":1: an empty name of a type");
    }

    /// Their sum has no number.
    #[test]
    fn there_may_be_more_levels_than_types() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("types.txt");
        std::fs::write(&path, "person\nartist\n").unwrap();
        let types = Types::read(&path, Levels { coarse: 1, fine: usize::MAX }).unwrap();
        assert_eq!(types.granularities(), [Granularity::Coarse, Granularity::Fine]);
    }

    #[test]
    fn a_list_survives_json() {
        let types = read("person\nartist\n").unwrap();
        let json = serde_json::to_string(&types).unwrap();
        let read: Types = serde_json::from_str(&json).unwrap();
        assert_eq!(read.indexed().unwrap(), types);
    }
}

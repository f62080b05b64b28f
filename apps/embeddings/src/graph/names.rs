//! Names, end to end in one text, and their numbers.

use std::fmt;
use std::hash::BuildHasher;
use std::ops;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list of names. It takes the bytes of the names and 8 more for each.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    /// For each name the position in `text` after it.
    ends: Vec<usize>,
}

impl Names {
    /// Number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds a name at the end.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// Gives memory that is not needed back.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// The names in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.len()).map(|i| &self[i])
    }
}

impl ops::Index<usize> for Names {
    type Output = str;
    fn index(&self, number: usize) -> &str {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }
}

impl<S: AsRef<str>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut all = Names::default();
        names.into_iter().for_each(|name| all.push(name.as_ref()));
        all
    }
}

impl<S: AsRef<str>, const N: usize> PartialEq<[S; N]> for Names {
    fn eq(&self, other: &[S; N]) -> bool {
        self.iter().eq(other.iter().map(AsRef::as_ref))
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Names;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of names")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
                let mut names = Names::default();
                while let Some(name) = list.next_element::<String>()? {
                    names.push(&name);
                }
                Ok(names)
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// Finds the number of a name in a list. The list is not stored here; every call must be given the same one.
#[derive(Default)]
pub struct Index {
    numbers: HashTable<u32>,
    hasher: std::hash::RandomState,
}

impl Index {
    /// The index of a list of names.
    ///
    /// # Errors
    /// If a name occurs twice: the numbers of both places.
    pub fn new(names: &Names) -> Result<Self, [usize; 2]> {
        let mut index = Index::default();
        for (i, name) in names.iter().enumerate() {
            match index.entry(names, name) {
                Entry::Occupied(first) => return Err([*first.get() as usize, i]),
                Entry::Vacant(free) => free.insert(i as u32),
            };
        }
        Ok(index)
    }

    fn entry(&mut self, names: &Names, name: &str) -> Entry<'_, u32> {
        let Index { numbers, hasher } = self;
        let same = |&number: &u32| names[number as usize] == *name;
        numbers.entry(hasher.hash_one(name), same, |&number| hasher.hash_one(&names[number as usize]))
    }

    /// The number of a name, if it is in the list.
    pub fn find(&self, names: &Names, name: &str) -> Option<u32> {
        let same = |&number: &u32| names[number as usize] == *name;
        self.numbers.find(self.hasher.hash_one(name), same).copied()
    }

    /// The number of a name, which is added to the list if it is new.
    ///
    /// # Panics
    /// If there are 2³² names.
    pub fn find_or_add(&mut self, names: &mut Names, name: &str) -> u32 {
        match self.entry(names, name) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(free) => {
                let number = u32::try_from(names.len()).expect("fewer than 2^32 names");
                free.insert(number);
                names.push(name);
                number
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_number_and_numbers_by_name() {
        let (mut names, mut index) = (Names::default(), Index::default());
        // Enough that the table grows several times.
        let name = |i: u32| if i == 3 { String::new() } else { format!("ü{i}") };
        for round in 0..2 {
            for i in 0..1000 {
                assert_eq!(index.find_or_add(&mut names, &name(i)), i, "round {round}");
            }
        }
        assert_eq!(names.len(), 1000);
        assert!(names.iter().enumerate().all(|(i, found)| found == name(i as u32) && names[i] == *found));
        assert_eq!((index.find(&names, "ü999"), index.find(&names, "ü")), (Some(999), None));
    }

    #[test]
    fn a_name_that_occurs_twice_is_an_error() {
        let names: Names = ["a", "b", "ab", "b"].into_iter().collect();
        assert_eq!(Index::new(&names).err(), Some([1, 3]));
        let names: Names = ["a", "b", "ab", ""].into_iter().collect();
        assert_eq!(Index::new(&names).unwrap().find(&names, ""), Some(3));
    }

    #[test]
    fn names_are_a_list_in_json() {
        let names: Names = ["a", "", "\"ü\n"].into_iter().collect();
        let json = serde_json::to_string(&names).unwrap();
        assert_eq!(json, r#"["a","","\"ü\n"]"#);
        assert_eq!(serde_json::from_str::<Names>(&json).unwrap(), names);
    }
}

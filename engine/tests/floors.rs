//! The floors of the engine: a file uses its own floor and those below it.
//!
//! ```text
//! numbers <- tensor <- formula <- kernels <- opencl <- tape <- files
//! ```
//!
//! `numbers` is a crate of its own, `cotangent-numbers`: the compiler keeps that floor.
//!
//! The paths in the sources are read, in `use` lines and within code. Exceptions are listed here with
//! their reason. The list may only shrink: an exception that is no longer needed fails too.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the lowest to the highest.
const FLOORS: [&str; 7] = ["numbers", "tensor", "formula", "kernels", "opencl", "tape", "files"];

/// Files outside the floors: they may use every floor, and no floor uses them.
const OUTSIDE: [&str; 4] = ["lib.rs", "instances.rs", "internal.rs", "skip.rs"];

/// Macros of this crate, which are named at its root.
const MACROS: [&str; 2] = ["compiled_here", "skipped"];

/// A file, the higher floor that it uses, and why.
const EXCEPTIONS: [(&str, &str, &str); 3] = [
    (
        "formula/map.rs",
        "kernels",
        "`MapFormula::compiled` has a default: the kernels that are compiled where it is used",
    ),
    ("formula/pair.rs", "kernels", "`PairFormula::compiled` has such a default too"),
    (
        "formula/plan.rs",
        "kernels",
        "`RowPlan::compiled` holds the kernels that are compiled for one formula alone",
    ),
];

/// What is wrong with one path of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// It names a higher floor.
    Higher(String),
    /// It names no floor: what the crate exports for others, or a file outside the floors.
    NoFloor(String),
}

fn rank(name: &str) -> Option<usize> {
    FLOORS.iter().position(|&floor| floor == name)
}

/// The source without comments. A `//` within a string also ends the line; no path is lost by that.
fn code(source: &str) -> String {
    let line = |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    source.lines().map(line).collect()
}

/// The identifier at the start of a text.
fn identifier(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}

/// The first names of a path's continuation: one, or those of a group in braces.
fn first_names(text: &str) -> Vec<String> {
    let text = text.trim_start();
    let Some(group) = text.strip_prefix('{') else { return vec![identifier(text).to_owned()] };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(identifier(group[start..i].trim_start()).to_owned());
                start = i + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The names below the root of the crate that a file's paths start with. `depth` is the number of
/// modules that the file is in, its own included.
fn roots(source: &str, depth: usize) -> Vec<String> {
    let code = code(source);
    let mut names = Vec::new();
    for word in ["crate::", "super::"] {
        for (at, _) in code.match_indices(word) {
            // `$crate::` names what other crates see too; `super::` after `super::` is counted with the
            // first.
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | ':')) {
                continue;
            }
            let mut path = &code[at..];
            let mut up = 0;
            while let Some(after) = path.strip_prefix("super::") {
                (path, up) = (after, up + 1);
            }
            match path.strip_prefix("crate::") {
                Some(path) => names.extend(first_names(path)),
                // The path leaves the floor. (Within an inline module it would need one more `super::`.)
                None if up >= depth => names.extend(first_names(path)),
                None => {}
            }
        }
    }
    names
}

/// What is wrong with a file, given by its path below `src`.
fn faults(file: &str, source: &str) -> BTreeSet<Fault> {
    let parts: Vec<&str> = file.split('/').collect();
    let own = rank(parts[0]).expect("a file on a floor");
    let depth = parts.len() - usize::from(parts.last() == Some(&"mod.rs"));
    roots(source, depth)
        .into_iter()
        .filter_map(|name| match rank(&name) {
            Some(floor) if floor <= own => None,
            Some(_) => Some(Fault::Higher(name)),
            None if MACROS.contains(&name.as_str()) => None,
            None => Some(Fault::NoFloor(name)),
        })
        .collect()
}

/// All Rust files below a folder.
fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
}

#[test]
fn a_file_uses_its_own_floor_and_those_below() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&src, &mut all);
    assert!(all.len() > 100, "only {} files in {}", all.len(), src.display());
    let (mut wrong, mut needed) = (Vec::new(), BTreeSet::new());
    for path in all {
        let below = path.strip_prefix(&src).unwrap();
        let file = below.iter().map(|part| part.to_str().unwrap()).collect::<Vec<_>>().join("/");
        if OUTSIDE.contains(&file.as_str()) {
            continue;
        }
        if !file.contains('/') || rank(file.split('/').next().unwrap()).is_none() {
            wrong.push(format!("{file} is on no floor"));
            continue;
        }
        for fault in faults(&file, &fs::read_to_string(&path).unwrap()) {
            let listed = EXCEPTIONS
                .iter()
                .find(|(listed, floor, _)| *listed == file && fault == Fault::Higher((*floor).to_owned()));
            match (listed, fault) {
                (Some(exception), _) => {
                    needed.insert(exception);
                }
                (None, Fault::Higher(floor)) => wrong.push(format!("{file} uses {floor}, a higher floor")),
                (None, Fault::NoFloor(name)) => {
                    wrong.push(format!(
                        "{file} names crate::{name}: a path within the engine names its floor"
                    ));
                }
            }
        }
    }
    for exception in EXCEPTIONS.iter().filter(|exception| !needed.contains(exception)) {
        wrong
            .push(format!("{} no longer uses {}: take the exception off the list", exception.0, exception.1));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn a_wrong_path_is_found() {
    let higher = |name: &str| BTreeSet::from([Fault::Higher(name.to_owned())]);
    let none = BTreeSet::new();
    for (file, source, found) in [
        ("kernels/line.rs", "use crate::tape::var::Var;", higher("tape")),
        ("kernels/line.rs", "use crate::numbers::lanes::Lanes; // not crate::tape::Tape", none.clone()),
        ("kernels/gram/mod.rs", "fn f() -> crate::opencl::Queue {", higher("opencl")),
        ("kernels/gram/mod.rs", "use super::{pair, gemm};", none.clone()),
        ("kernels/gram/mod.rs", "use super::super::tape::Tape;", higher("tape")),
        ("kernels/line.rs", "use super::super::tape::Tape;", higher("tape")),
        ("tensor/mod.rs", "pub(crate) use super::{formula::row::Vector};", higher("formula")),
        ("tensor/pool.rs", "use crate::{numbers::{lanes, dual}, formula::row};", higher("formula")),
        ("opencl/form.rs", "use crate :: tape;\nuse crate::tape;", higher("tape")),
        ("tape/mod.rs", "use crate::files::npy;", higher("files")),
        ("files/npy.rs", "use crate::tape::float::Float;", none.clone()),
        (
            "tape/compiled.rs",
            "$crate::RowPlan::of::<Self>(); compiled_here!(map); use crate::compiled_here;",
            none.clone(),
        ),
        ("tape/var.rs", "use crate::Float;", BTreeSet::from([Fault::NoFloor("Float".to_owned())])),
        ("tape/var.rs", "use crate::skip::skipped;", BTreeSet::from([Fault::NoFloor("skip".to_owned())])),
    ] {
        assert_eq!(faults(file, source), found, "{file}: {source}");
    }
}

/// The guide's picture shows the floors from the highest to the lowest, below the other crates.
#[test]
fn the_picture_has_these_floors() {
    let picture =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../guide/floors.svg")).unwrap();
    let names = picture.split("class=\"name\"").skip(1).filter_map(|text| Some(text.split_once('>')?.1));
    let shown: Vec<&str> = names.map(identifier).filter(|name| rank(name).is_some()).collect();
    assert!(shown.into_iter().eq(FLOORS.into_iter().rev()), "{picture}");
}

/// The variants of invariants and basis vectors that a file names: arms of matches, mostly.
fn variants(source: &str) -> usize {
    let code = code(source);
    let named = |name: &str| {
        code.match_indices(name)
            .filter(|(at, _)| !code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
            .filter(|(at, _)| {
                code[at + name.len()..].starts_with(|c: char| c.is_uppercase() || c == '{' || c == '*')
            })
            .count()
    };
    named("Invariant::") + named("Vector::")
}

#[test]
fn one_file_says_what_invariants_and_basis_vectors_are_made_of() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&src, &mut all);
    all.retain(|path| variants(&fs::read_to_string(path).unwrap()) > 0);
    all.sort();
    // The macro `row_formula!` brings the variants into the scope of a formula.
    assert_eq!(all, ["formula/row.rs", "formula/sums.rs"].map(|file| src.join(file)));
    for (source, count) in [
        ("match v { Vector::Input(i) => i, crate::formula::row::Invariant::Dot(..) => 0 }", 2),
        ("let k = Invariant::kept(i); // Invariant::Dot\nMyVector::Input; [Vector::flips]", 0),
        ("use crate::formula::row::Vector::{Input, Sum};", 1),
    ] {
        assert_eq!(variants(source), count, "{source}");
    }
}

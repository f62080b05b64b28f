//! Pictures as the rows of a table: the values of a square grey picture, row by row, then its class,
//! separated by tabs.

use std::fs;
use std::path::{Path, PathBuf};

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::read_lines;

use crate::reading::Parts;
use crate::{Reading, arrays};

/// The part of the rows that is for testing, from the end: a fifth, rounded up.
const FIFTH: usize = 5;

/// Reads a table, or the only table of a directory, if there is one. With a side, pictures are brought to it.
pub(crate) fn read(path: &Path, reading: &Reading) -> Result<Option<Parts>> {
    let Some(file) = find(path)? else { return Ok(None) };
    let (mut values, mut names, mut width) = (Vec::new(), Vec::new(), 0);
    read_lines(&file, |_, line| {
        let (row, class) = line.rsplit_once('\t').ok_or("one column; values and a class are needed")?;
        let before = values.len();
        for value in row.split('\t') {
            let number = value.trim().parse::<f32>().ok().filter(|x| x.is_finite() && *x >= 0.0);
            values.push(number.ok_or_else(|| format!("{value:?} is no number from 0 on"))?);
        }
        let own = values.len() - before;
        width = if names.is_empty() { own } else { width };
        if own != width || own.isqrt().pow(2) != own {
            let needed = if own == width { "a square number is".into() } else { format!("{width} are") };
            return Err(format!("{own} values; {needed} needed"));
        }
        if class.trim().is_empty() {
            return Err("a class without a name".to_owned());
        }
        names.push(class.trim().to_owned());
        Ok(())
    })?;
    let own = width.isqrt();
    let white = reading.white.unwrap_or_else(|| values.iter().copied().fold(0.0, f32::max));
    let white = white.max(f32::MIN_POSITIVE);
    let bytes: Vec<u8> = values.iter().map(|value| (255.0 * value / white).round() as u8).collect();
    let (classes, labels) = number(&names);
    let pictures = arrays::resized(bytes, [names.len(), own, own, 1], reading.side)?;
    let pictures = pictures.with_labels(labels);
    let first = names.len() - names.len().div_ceil(FIFTH);
    if first == 0 {
        return Err(AppError::content(&file, "a single row; the last fifth is for testing"));
    }
    let rows: Vec<u32> = (0..).take(names.len()).collect();
    let [train, test] = [&rows[..first], &rows[first..]].map(|rows| pictures.select(rows));
    Ok(Some(Parts { classes, train, others: [None, Some(test)], white: Some(white) }))
}

/// The table that a path is, or the only one in a directory.
fn find(path: &Path) -> Result<Option<PathBuf>> {
    let is_table = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".tsv") || name.ends_with(".tsv.gz")
    };
    if path.is_file() {
        return if is_table(path) {
            Ok(Some(path.to_owned()))
        } else {
            Err(AppError::content(path, "neither a directory nor a table, .tsv or .tsv.gz"))
        };
    }
    let Ok(entries) = fs::read_dir(path) else { return Ok(None) };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()).map_err(AppError::io(path)));
    let mut tables = paths.filter(|path| path.as_ref().map_or(true, |path| path.is_file() && is_table(path)));
    let first = tables.next().transpose()?;
    Ok(if tables.next().transpose()?.is_some() { None } else { first })
}

/// The names of classes, and the number of each row's. Names that are all integers are in their order.
fn number(names: &[String]) -> (Vec<String>, Vec<u32>) {
    let mut classes = names.to_vec();
    classes.sort_by_cached_key(|name| (name.parse::<u64>().unwrap_or(u64::MAX), name.clone()));
    classes.dedup();
    let place = |name: &String| classes.iter().position(|class| class == name).expect("it is listed") as u32;
    let labels = names.iter().map(place).collect();
    (classes, labels)
}

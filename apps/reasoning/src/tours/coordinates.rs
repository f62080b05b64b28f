//! Files of cities: TSPLIB's (Reinelt 1991) with NODE_COORD_SECTION and EUC_2D, and tables of coordinates.

use std::collections::HashMap;
use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table;
use serde::{Deserialize, Serialize};

use super::config::CITIES;
use super::instance::{City, Distances};

/// How tours are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// By Euclidean distances.
    Euclidean,
    /// By Euclidean distances rounded to integers: EUC_2D of TSPLIB.
    Rounded,
}

/// The cities of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates {
    /// Their names: those in the file, or the numbers from 1.
    pub names: Vec<String>,
    /// Where they are.
    pub cities: Vec<City>,
    /// How tours are measured.
    pub metric: Metric,
}

/// A coordinate of a larger absolute value would have squares that overflow.
const LARGEST: f64 = 1e150;

type Parsed<T> = std::result::Result<T, String>;

/// The cities read so far.
#[derive(Default)]
struct Cities {
    names: Vec<String>,
    cities: Vec<City>,
    /// The line of each place and of each name, from 1.
    places: HashMap<[u64; 2], usize>,
    named: HashMap<String, usize>,
}

impl Cities {
    fn add(&mut self, name: String, [x, y]: [&str; 2], line: usize) -> Parsed<()> {
        let city: City = [number("x", x)?, number("y", y)?];
        // Zeros are equal whatever their sign.
        let place = city.map(|coordinate| (coordinate + 0.0).to_bits());
        if let Some(first) = self.places.insert(place, line) {
            return Err(format!("the place {x}, {y} is that of line {first}; cities must be apart"));
        }
        if let Some(first) = self.named.insert(name.clone(), line) {
            return Err(format!("the city {name:?} is in line {first} already"));
        }
        if self.cities.len() == CITIES {
            return Err(format!("more than {CITIES} cities"));
        }
        self.names.push(name);
        self.cities.push(city);
        Ok(())
    }

    /// All cities of a file.
    fn finish(self, path: &Path, lines: usize, metric: Metric) -> Result<Coordinates> {
        if self.cities.len() < 3 {
            let message = format!("a tour needs 3 cities or more; the file has {}", self.cities.len());
            return Err(AppError::line(path, lines as u64, message));
        }
        Ok(Coordinates { names: self.names, cities: self.cities, metric })
    }
}

fn number(name: &str, text: &str) -> Parsed<f64> {
    let value: Option<f64> = text.parse().ok();
    let value = value.filter(|value| value.abs() <= LARGEST);
    value.ok_or_else(|| format!("{name} is {text:?}, not a number from -1e150 to 1e150"))
}

impl Coordinates {
    /// Reads a file. One that has a line `NODE_COORD_SECTION`, or begins with `NAME`, `TYPE`, `COMMENT`,
    /// `DIMENSION` or `EDGE_WEIGHT_TYPE`, or is called `*.tsp`, is in TSPLIB's format. Any other is a table
    /// of `x` and `y`, or of a name, `x` and `y`, separated by tabs, commas, semicolons or spaces; its first
    /// line may be a head, and lines that begin with `#` are left out.
    ///
    /// # Errors
    /// If it cannot be read, or its content is wrong: the error names the line.
    pub fn read(path: &Path) -> Result<Self> {
        let text = table::content(path)?;
        let mut is_tsplib = path.extension().is_some_and(|extension| extension == "tsp");
        let mut lines = 0;
        table::parse_lines(path, &text, |number, line| {
            let key = line.split([':', ' ', '\t']).next().unwrap_or_default();
            is_tsplib |= key == SECTION || (number == 0 && KEYS.contains(&key));
            lines = number + 1;
            Ok(())
        })?;
        if is_tsplib { tsplib(path, &text, lines) } else { plain(path, &text, lines) }
    }

    /// The distances that tours are measured by.
    pub fn distances(&self) -> Distances {
        match self.metric {
            Metric::Euclidean => Distances::new(&self.cities),
            Metric::Rounded => Distances::rounded(&self.cities),
        }
    }
}

/// The fields of a line: between tabs, commas or semicolons, or if it has none of these, between spaces.
fn fields(line: &str) -> Vec<&str> {
    match ['\t', ',', ';'].into_iter().find(|&separator| line.contains(separator)) {
        Some(separator) => line.split(separator).map(str::trim).collect(),
        None => line.split_whitespace().collect(),
    }
}

/// A table of coordinates.
fn plain(path: &Path, text: &[u8], lines: usize) -> Result<Coordinates> {
    let mut cities = Cities::default();
    let mut columns = None;
    table::parse_lines(path, text, |line, row| {
        if row.trim().is_empty() || row.starts_with('#') {
            return Ok(());
        }
        let fields = fields(row);
        let is_first = columns.is_none();
        let expected = *columns.get_or_insert(fields.len());
        let (name, place) = match fields[..] {
            _ if fields.len() != expected => {
                return Err(format!("{} columns, where the first line has {expected}", fields.len()));
            }
            [x, y] => ((cities.cities.len() + 1).to_string(), [x, y]),
            [name, x, y] => (name.to_owned(), [x, y]),
            _ => return Err(format!("{} columns; x and y, or a name, x and y, are needed", fields.len())),
        };
        let is_head = is_first && place.iter().all(|text| text.parse::<f64>().is_err());
        if is_head { Ok(()) } else { cities.add(name, place, line + 1) }
    })?;
    cities.finish(path, lines, Metric::Euclidean)
}

/// The section of coordinates.
const SECTION: &str = "NODE_COORD_SECTION";

/// What a file of TSPLIB begins with.
const KEYS: [&str; 5] = ["NAME", "TYPE", "COMMENT", "DIMENSION", "EDGE_WEIGHT_TYPE"];

/// Keys whose value must be this one.
const VALUES: [(&str, &str); 3] =
    [("TYPE", "TSP"), ("EDGE_WEIGHT_TYPE", "EUC_2D"), ("NODE_COORD_TYPE", "TWOD_COORDS")];

/// The parts of a TSPLIB file: each follows the one before.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Head,
    Section,
    End,
}

/// A file of TSPLIB.
fn tsplib(path: &Path, text: &[u8], lines: usize) -> Result<Coordinates> {
    let mut cities = Cities::default();
    let mut part = Part::Head;
    let (mut dimension, mut is_euclidean) = (None, false);
    table::parse_lines(path, text, |line, row| {
        let row = row.trim();
        if row.is_empty() || part == Part::End {
            return Ok(());
        }
        if row == "EOF" {
            part = if part == Part::Head { Part::Head } else { Part::End };
            return Ok(());
        }
        if part == Part::Section {
            if dimension == Some(cities.cities.len()) {
                return Err(format!("more cities than DIMENSION {}", cities.cities.len()));
            }
            return match row.split_whitespace().collect::<Vec<_>>()[..] {
                [name, x, y] => cities.add(name.to_owned(), [x, y], line + 1),
                _ => Err(format!("{row:?}: a city is a number, x and y")),
            };
        }
        if row == SECTION {
            part = Part::Section;
            return match dimension {
                None => Err(format!("{SECTION} before DIMENSION")),
                Some(_) if !is_euclidean => Err(format!("{SECTION} before EDGE_WEIGHT_TYPE : EUC_2D")),
                Some(_) => Ok(()),
            };
        }
        let (key, value) = row.split_once(':').ok_or_else(|| format!("{row:?}: only {SECTION} is read"))?;
        let (key, value) = (key.trim(), value.trim());
        if let Some((_, wanted)) = VALUES.iter().find(|(name, _)| *name == key)
            && *wanted != value
        {
            return Err(format!("{key} is {value:?}; only {wanted} is read"));
        }
        is_euclidean |= key == "EDGE_WEIGHT_TYPE";
        if key == "DIMENSION" {
            dimension = Some(value.parse().map_err(|_| format!("DIMENSION is {value:?}, not a number"))?);
        }
        Ok(())
    })?;
    let last = |message: String| Err(AppError::line(path, lines as u64, message));
    match dimension {
        _ if part == Part::Head => last(format!("the file ends without {SECTION}")),
        Some(dimension) if dimension != cities.cities.len() => {
            last(format!("the file ends after {} cities; DIMENSION is {dimension}", cities.cities.len()))
        }
        _ => cities.finish(path, lines, Metric::Rounded),
    }
}

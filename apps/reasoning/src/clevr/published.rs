//! The files of CLEVR's generator that are built in, parsed at first use: see `data/clevr/README.md`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use cotangent_apps_common::json;
use serde::Deserialize;

use super::attribute::AttributeValue;

/// `metadata.json`.
pub(super) const METADATA: &str = include_str!("../../data/clevr/metadata.json");

macro_rules! templates {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../data/clevr/templates/", $name)))),*]
    };
}

/// The name and content of each file of templates, by name.
pub(super) const TEMPLATES: [(&str, &str); 9] = templates!(
    "compare_integer.json" "comparison.json" "one_hop.json" "same_relate.json" "single_and.json"
    "single_or.json" "three_hop.json" "two_hop.json" "zero_hop.json"
);

/// `synonyms.json`: for some words of questions, those that may stand there instead.
pub(super) static SYNONYMS: LazyLock<BTreeMap<String, Vec<String>>> =
    LazyLock::new(|| parse("synonyms.json", include_str!("../../data/clevr/synonyms.json")));

/// `properties.json`.
static PROPERTIES: LazyLock<Properties> =
    LazyLock::new(|| parse("properties.json", include_str!("../../data/clevr/properties.json")));

#[derive(Deserialize)]
struct Properties {
    colors: BTreeMap<String, [f32; 3]>,
    sizes: BTreeMap<String, f32>,
}

/// Parses a built-in file.
///
/// # Panics
/// If it is damaged.
pub(super) fn parse<V: for<'d> Deserialize<'d>>(name: &str, text: &'static str) -> V {
    json::parse(Path::new(name), text.as_bytes()).unwrap_or_else(|error| panic!("built in: {error}"))
}

/// Red, green and blue of a colour, from 0 to 1.
///
/// # Panics
/// If the value is no colour.
pub(super) fn rgb(colour: AttributeValue) -> [f32; 3] {
    PROPERTIES.colors[colour.name()].map(|level| level / 255.0)
}

/// The radius of objects of a size.
///
/// # Panics
/// If the value is no size.
pub(super) fn radius(size: AttributeValue) -> f32 {
    PROPERTIES.sizes[size.name()]
}

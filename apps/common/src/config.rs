//! The configuration of a run: one struct that clap fills and serde prints.
//!
//! ```
//! use cotangent_apps_common::config;
//! #[derive(clap::Args, serde::Serialize)]
//! struct Config {
//!     /// Passes over the data.
//!     #[arg(long, default_value_t = 10)]
//!     epochs: u64,
//!     /// Largest norm of a step's gradient.
//!     #[arg(long, default_value_t = 1.0)]
//!     clip: f64,
//! }
//! let [one, two] = [&[][..], &["--clip", "2"]].map(config::parse::<Config>);
//! assert_eq!((one.epochs, two.clip), (10, 2.0));
//! assert_eq!(config::difference(&one, &two, &[]).as_deref(), Some("clip"));
//! ```
//!
//! A default that another option decides is a condition: [`by`]. One that must be computed is an `Option`,
//! filled after parsing and printed as its value: [`known`].

use clap::{Arg, Args, Command, ValueEnum};
use serde::Serialize;
use serde_json::{Map, Value};

/// The configuration of a command line that has only these arguments.
///
/// # Panics
/// If an argument is wrong.
#[track_caller]
pub fn parse<C: Args>(arguments: &[&str]) -> C {
    let command = C::augment_args(Command::new("config").no_binary_name(true));
    let parsed = command.try_get_matches_from(arguments).and_then(|found| C::from_arg_matches(&found));
    parsed.unwrap_or_else(|error| panic!("{error}"))
}

/// The name of the first option whose value differs between two configurations, if any. Fields of nested
/// structs count as options of their own; fields that are no options come last. Those in `except` may differ.
/// A run can be resumed only if nothing else does.
///
/// # Panics
/// If a configuration cannot be written as JSON.
pub fn difference<C: Args + Serialize>(theirs: &C, ours: &C, except: &[&str]) -> Option<String> {
    let [theirs, ours] = [theirs, ours].map(|config| serde_json::json!(config));
    json_difference::<C>(&theirs, &ours, except)
}

/// Same as [`difference`], of configurations as JSON.
pub fn json_difference<C: Args>(theirs: &Value, ours: &Value, except: &[&str]) -> Option<String> {
    let command = C::augment_args(Command::new("config"));
    let [theirs, ours] = [theirs, ours].map(|value| {
        let mut fields = Map::new();
        flatten(value.clone(), &mut fields);
        fields
    });
    let differs = |name: &&str| !except.contains(name) && theirs.get(*name) != ours.get(*name);
    let options = command.get_arguments().map(|option| option.get_id().as_str());
    let fields = theirs.keys().chain(ours.keys()).map(String::as_str);
    options.chain(fields).find(differs).map(|name| name.replace('_', "-"))
}

/// Adds the fields of a JSON object, those of objects within it in place of these.
fn flatten(value: Value, fields: &mut Map<String, Value>) {
    let Value::Object(object) = value else { return };
    for (name, value) in object {
        match value {
            Value::Object(_) => flatten(value, fields),
            value => drop(fields.insert(name, value)),
        }
    }
}

/// The name of a value on the command line.
///
/// # Panics
/// If the command line leaves it out.
pub fn name<V: ValueEnum>(value: V) -> String {
    value.to_possible_value().expect("a value of the command line").get_name().to_owned()
}

/// For `default_value_ifs`: the default value of an option for each value of the option `decides`, which
/// must stand before it.
pub fn by<V: ValueEnum + 'static, D: ToString>(
    decides: &'static str,
    default: impl Fn(V) -> D,
) -> impl Iterator<Item = (&'static str, String, String)> {
    let values = V::value_variants().iter().cloned();
    values.map(move |value| (decides, name(value.clone()), default(value).to_string()))
}

/// For `mut_arg`: an option of a flattened struct gets defaults that another option decides, as pairs of its
/// value and the default. Its help says so. The option that `decides` must stand before it.
pub fn decided_by<const N: usize>(
    arg: Arg,
    decides: &'static str,
    defaults: [(&'static str, &'static str); N],
) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let (text, _) = help.split_once(" [default: ").unwrap_or((&help, ""));
    let help = format!("{text} [default: by --{decides}]");
    let defaults = defaults.map(|(value, default)| (decides, value, default));
    let takes_value = arg.get_action().takes_values();
    let arg = arg.default_value_ifs(defaults).help(help);
    if takes_value { arg.hide_default_value(true) } else { arg }
}

/// For `#[serde(with = ..)]`: an option whose default follows from others. It is `None` only until that is
/// filled in, so it is written and read as its value.
pub mod known {
    use serde::ser::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the value.
    ///
    /// # Errors
    /// If there is none yet.
    pub fn serialize<V: Serialize, S: Serializer>(value: &Option<V>, to: S) -> Result<S::Ok, S::Error> {
        value.as_ref().ok_or_else(|| S::Error::custom("a value is not filled in"))?.serialize(to)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// If it is none.
    pub fn deserialize<'d, V: Deserialize<'d>, D: Deserializer<'d>>(from: D) -> Result<Option<V>, D::Error> {
        V::deserialize(from).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use cotangent::engine::rng;
    use rand::RngExt;

    use super::*;
    use crate::space::Space;

    #[derive(Args, Serialize)]
    struct Parts {
        #[arg(long, default_value_t = 3)]
        head_dim: usize,
        #[arg(long)]
        radius: Option<f64>,
    }

    #[derive(Args, Serialize)]
    struct Config {
        #[serde(skip)]
        #[arg(long, value_enum, default_value = "hyperbolic")]
        space: Space,
        #[arg(long, required = false, default_value_ifs = by("space", name::<Space>))]
        name: String,
        #[arg(long, default_value_t = 1)]
        epochs: u64,
        #[command(flatten)]
        parts: Parts,
        #[arg(long)]
        #[serde(with = "known")]
        dim: Option<usize>,
        #[arg(skip)]
        learned: bool,
    }

    fn config(arguments: &[&str]) -> Config {
        let config: Config = parse(arguments);
        Config { dim: config.dim.or(Some(2 * config.parts.head_dim)), ..config }
    }

    #[test]
    fn the_first_option_that_differs_is_named() {
        let base = config(&[]);
        let found = |arguments: &[&str]| difference(&base, &config(arguments), &["epochs"]);
        assert_eq!(found(&["--epochs", "2"]), None);
        assert_eq!(found(&["--dim", "6"]), None);
        assert_eq!(found(&["--dim", "5"]).as_deref(), Some("dim"));
        assert_eq!(found(&["--head-dim", "2"]).as_deref(), Some("head-dim"));
        assert_eq!(found(&["--radius", "0.5"]).as_deref(), Some("radius"));
        assert_eq!(found(&["--space", "euclidean", "--radius", "1"]).as_deref(), Some("name"));
        let learned = Config { learned: true, ..config(&[]) };
        assert_eq!(difference(&base, &learned, &[]).as_deref(), Some("learned"));
    }

    #[test]
    fn a_default_may_follow_from_an_option() {
        let names = ["hyperbolic", "euclidean"].map(|space| config(&["--space", space]).name);
        assert_eq!(names, ["hyperbolic", "euclidean"]);
        assert_eq!(config(&["--space", "euclidean", "--name", "x"]).name, "x");
        assert_eq!(serde_json::json!(config(&[]))["dim"], 6);
        assert!(serde_json::to_value(parse::<Config>(&[])).is_err());
    }

    /// Metrics and settings are read again by later runs, which compare them.
    #[test]
    fn numbers_are_read_back_exactly() {
        let mut rng = rng::stream(1, "numbers", 0);
        for x in (0..10_000).map(|_| rng.random::<f64>()) {
            let written = serde_json::to_string(&x).unwrap();
            assert_eq!(serde_json::from_str::<f64>(&written).unwrap(), x, "{written}");
        }
    }
}

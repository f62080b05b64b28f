//! Translation by transformers, from the command line.

use cotangent_apps_attention::attention::Scores;
use cotangent_apps_attention::transformer;

fn main() -> std::process::ExitCode {
    transformer::run(&Scores::default())
}

//! Node classification by graph attention, from the command line.

use cotangent_apps_attention::attention::Scores;
use cotangent_apps_attention::graph;

fn main() -> std::process::ExitCode {
    graph::run(&Scores::default())
}

//! The application `transformer`, with one more score to choose.

use cotangent_apps_text::attention::Scores;
use cotangent_apps_text::transformer;
use downstream::score::Gaussian;

fn main() -> std::process::ExitCode {
    transformer::run(&Scores::default().with(&Gaussian))
}

//! The command line of `reason`.

use clap::Parser;
use cotangent_apps_common::application::Application;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::command_line::parse_app_with;
use cotangent_apps_common::error::{Result, exit_code};
use cotangent_apps_common::say;
use cotangent_apps_common::task::{self, Reported};
use cotangent_apps_common::training::TrainingOptions;

use super::dataset::Dataset;
use super::{Data, Kinds, Matching, ReasonConfig, ReasonMetrics, train};

/// The application `reason`.
pub const APP: Application = Application {
    name: "reason",
    about: "Answers questions about several objects by a relation network (Santoro et al. 2017), whose \
        objects match in hyperbolic or Euclidean space (Gulcehre et al. 2019, section 3.2).\n\nWithout \
        options: makes pictures of six objects and relational questions about them (Sort-of-CLEVR), trains \
        a network with hyperbolic matching, and prints its accuracy by kind of question.",
    examples: [
        "reason --matching none --units 2 --epochs 10 --seeds 2",
        "reason --matching hyperbolic --aggregate euclidean --units 64",
        "reason --data clevr --pixels --image-size 64 --scenes 4000 --units 64",
    ],
    needs: &[],
    commands: &[
        (
            "`reason --matching none\\|euclidean\\|hyperbolic --units N …`",
            "answers relational questions about pictures of six objects, which it makes (Sort-of-CLEVR), by \
             a relation network; `--seeds N` for an interval",
        ),
        (
            "`reason --data clevr [--path DIR] …`",
            "the same about lists of objects, with questions in English: CLEVR's own, or others in its form, \
             which it makes; `--pixels` about their pictures",
        ),
    ],
    writes: "`model.safetensors` (the best by validation), `curves.svg`, `accuracy.svg` (by kind of \
        question), `answers.svg` (scenes with questions, answers and attention)",
};

#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    config: ReasonConfig,
    #[command(flatten)]
    training: TrainingOptions,
}

/// Runs the command `reason` with the process's arguments. `--attention` offers these scores, so a program
/// can add a score of its own by [`Scores::with`]. Returns the exit code of the process: 0, or 2 after an
/// error.
pub fn run(scores: &Scores) -> std::process::ExitCode {
    let cli: Cli = parse_app_with(&APP, |command| scores.offer(command));
    exit_code(cli.run(scores))
}

impl Cli {
    fn run(self, scores: &Scores) -> Result<()> {
        let device = self.training.device.choose()?;
        self.config.check(scores)?;
        let threads = self.training.threads.start()?;
        let data = threads.run(|| Dataset::new(&self.config))?;
        let [train_sizes, validation, test] = data.sizes();
        let sizes = |[scenes, questions]: [usize; 2]| format!("{scenes} with {questions}");
        say!(
            "{}: {} scenes with {} questions for training, {} for validation, {} for the test",
            data.name,
            train_sizes[0],
            train_sizes[1],
            sizes(validation),
            sizes(test)
        );
        let reported = Reported::<ReasonMetrics> {
            name: "test accuracy in %",
            digits: 2,
            figures: |run| [100.0 * run.accuracy, run.validation],
        };
        task::run(&self.training, &threads, &device, self.config.seed, reported, |seed, run| {
            let metrics = train(&data, &ReasonConfig { seed, ..self.config.clone() }, scores, run)?;
            report(&metrics);
            Ok(metrics)
        })
    }
}

fn report(metrics: &ReasonMetrics) {
    let ReasonMetrics {
        config, sizes: [[scenes, _], ..], relation_parameters, validation, best_epoch, ..
    } = metrics;
    let training = metrics.training.text(*scenes, "scenes");
    say!("{training}; {relation_parameters} parameters are of pairs of objects");
    say!("best validation accuracy {:.2} %, after epoch {best_epoch}", 100.0 * validation);
    say!("{:<16} {:>10} {:>14} {:>20}", "kind", "questions", "accuracy in %", "most common answer");
    for kind in &metrics.test.kinds {
        let [correct, constant] =
            [kind.correct, kind.constant].map(|count| 100.0 * count as f64 / kind.questions as f64);
        say!("{:<16} {:>10} {correct:>14.2} {constant:>20.2}", kind.kind, kind.questions);
    }
    say!("test accuracy");
    say!("{:>8.2} %  this run", 100.0 * metrics.accuracy);
    say!("{:>8.2} %  most common answer of each kind", 100.0 * metrics.constant);
    if let Some((accuracy, source)) = published(config) {
        say!("{accuracy:>8.2} %  {source}");
    }
}

/// The published accuracy on relational questions of Sort-of-CLEVR, and where it is from.
fn published(config: &ReasonConfig) -> Option<(f64, &'static str)> {
    match (config.data, config.questions, config.matching) {
        (Data::SortOfClevr, Kinds::Relational, Matching::None) => {
            Some((96.0, "relation network, 2000 units (Gulcehre et al. 2019)"))
        }
        (Data::SortOfClevr, Kinds::Relational, Matching::Hyperbolic) => {
            Some((99.2, "hyperbolic, best method (Gulcehre et al. 2019)"))
        }
        _ => None,
    }
}

//! The command line of `poincare`: `train`, `evaluate`, `neighbours`, `distance`, `place`,
//! `plan`, `plot`, `view`, `convert`, `hyperbolicity`, `tree` and `wordnet`.

mod convert;
mod evaluate;
mod hyperbolicity;
mod inputs;
mod neighbours;
mod place;
mod plan;
mod plot;
mod train;
mod tree;
mod view;
mod wordnet;

use clap::{Parser, Subcommand};
use cotangent_apps_common::application::Application;
use cotangent_apps_common::command_line::parse_app_or;
use cotangent_apps_common::error::exit_code;

/// The application `poincare`.
pub const APP: Application = Application {
    name: "poincare",
    about: "Poincaré embeddings of hierarchies (Nickel & Kiela 2017, 2018).\n\nWithout a command: same as \
        `poincare train`, which embeds the mammals of WordNet in 5 dimensions and prints mean rank and MAP \
        (mean average precision) beside the published figures.",
    examples: [
        "poincare train --edges edges.tsv --dim 10 --out runs/mine",
        "poincare neighbours dog.n.01 --embedding runs/mine",
        "poincare plot --embedding runs/mine --edges edges.tsv --out disk.svg",
    ],
    needs: &["train"],
    commands: &[
        ("`poincare`", "embeds the mammals of WordNet, which are built in, and evaluates the result"),
        (
            "`poincare train --edges FILE …`",
            "embeds any graph: a table with tabs, commas or spaces, or GraphML, plain or gzip, and says \
             how it read it; for a hierarchy list each child with its parent, and add `--closure`. \
             `--model` names a space or a product (`poincare:5,sphere:3`), `--learn-kappa` learns \
             curvatures, `--loss` takes cones, a Fermi-Dirac decoder and a translation, `--test` holds edges \
             out",
        ),
        (
            "`poincare train --edges FILE --memory SIZE --work DIR`; `plan`; `tree`",
            "the same for a graph larger than memory, in parts on the disk (PyTorch-BigGraph's buckets); \
             what that takes of memory, disk and time; a tree of any size, for trials",
        ),
        (
            "`poincare evaluate --edges FILE`; `neighbours NAME`; `distance A B`",
            "exact mean rank and MAP, distortion, is-a classification; the nearest points; how far two \
             are apart. The nouns of WordNet are built in: `neighbours dog.n.01 --embedding nouns` needs no \
             training",
        ),
        (
            "`poincare wordnet --dict DIR --out FILE`; `hyperbolicity --edges FILE`",
            "the closure of nouns or verbs from WordNet's own files; how close a graph is to a tree \
             (Gromov's δ)",
        ),
        (
            "`poincare plot --out disk.svg`; `view --out page.html`",
            "a picture: two dimensions in the Poincaré disk, a hierarchy of more as a layout by distance \
             and subtree; a page to move, zoom and search in it",
        ),
        (
            "`poincare place --edges NEW --known OLD --out DIR`; `convert --out FILE`",
            "points for new nodes, all others fixed; word2vec, NumPy, safetensors, TSV",
        ),
    ],
    writes: "`embedding.tsv`, `embedding.safetensors`, `disk.svg`, `view.html` (the page), held-out edges; \
        with `--evaluate-every` `course.svg` and `course.json`",
};

#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Trains an embedding of a graph, given as an edge list.
    Train(Box<train::Train>),
    /// Computes mean rank and MAP of an embedding.
    Evaluate(evaluate::Evaluate),
    /// Lists the points that are nearest to one.
    Neighbours(neighbours::Neighbours),
    /// Prints the distance between two points.
    Distance(neighbours::Distance),
    /// Measures how close a graph is to a tree (Gromov's delta), and suggests curvature and dimension.
    Hyperbolicity(hyperbolicity::HyperbolicityArgs),
    /// Places nodes that an embedding does not know by their edges. All other points stay.
    Place(place::Place),
    /// Draws an embedding: two dimensions in the Poincaré disk, a hierarchy of more as a layout.
    ///
    /// In the layout each subtree has a sector, and distances from the origin are drawn linearly: its circle
    /// is not the ideal boundary. Other embeddings are projected onto two dimensions.
    Plot(plot::Plot),
    /// Writes a page to explore an embedding: move, zoom, search.
    View(view::View),
    /// Writes an embedding in another format: word2vec, NumPy, safetensors, TSV.
    Convert(convert::Convert),
    /// Predicts what a training in parts takes of memory, disk and time.
    Plan(Box<plan::Plan>),
    /// Writes the edge list of a tree of any size, for trials.
    Tree(tree::Tree),
    /// Writes the transitive closure of WordNet's nouns or verbs, from WordNet's own files.
    Wordnet(wordnet::Wordnet),
}

/// Runs the command `poincare` with the process's arguments. Returns the exit code of the process: 0, or 2
/// after an error.
pub fn run() -> std::process::ExitCode {
    let Cli { command } = parse_app_or(&APP, "train", |command| {
        // A pass over a large graph takes long, and a checkpoint little.
        command.mut_subcommand("train", |train| {
            train.mut_arg("checkpoint_every", |seconds| seconds.default_value("10"))
        })
    });
    exit_code(match command {
        Command::Train(args) => train::train(&args),
        Command::Evaluate(args) => evaluate::evaluate(&args),
        Command::Neighbours(args) => neighbours::neighbours(&args),
        Command::Distance(args) => neighbours::distance(&args),
        Command::Hyperbolicity(args) => hyperbolicity::measure_hyperbolicity(&args),
        Command::Place(args) => place::place(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Plot(args) => plot::plot(&args),
        Command::Convert(args) => convert::convert(&args),
        Command::Tree(args) => tree::write_tree(&args),
        Command::View(args) => view::view(&args),
        Command::Wordnet(args) => wordnet::build_wordnet(&args),
    })
}

//! `poincare neighbours` and `poincare distance`.

use clap::Args;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::print;
use cotangent_apps_common::say;

use crate::command::inputs::EmbeddingOptions;
use crate::evaluate::neighbours::Neighbour;

#[derive(Args)]
pub(crate) struct Neighbours {
    /// The name of a point, for example dog.n.01.
    name: String,
    /// How many points are listed, the nearest first.
    #[arg(long, default_value_t = 10, help_heading = "Data")]
    count: usize,
    #[command(flatten)]
    embedding: EmbeddingOptions,
}

#[derive(Args)]
pub(crate) struct Distance {
    /// The name of one point.
    from: String,
    /// The name of the other.
    to: String,
    #[command(flatten)]
    embedding: EmbeddingOptions,
}

/// Lists the nearest points.
pub(crate) fn neighbours(args: &Neighbours) -> Result<()> {
    let near = match args.embedding.parts()? {
        Some(parts) => parts.neighbours(&args.name, args.count)?,
        None => {
            let embeddings = args.embedding.read()?;
            let at = embeddings.find(args.embedding.path(), &args.name)?;
            embeddings.neighbours(at, args.count)
        }
    };
    for neighbour in near {
        print::event("result", &neighbour);
        say!("{:>10.4}  {}", neighbour.distance, neighbour.name);
    }
    Ok(())
}

/// Prints a distance.
pub(crate) fn distance(args: &Distance) -> Result<()> {
    let embeddings = args.embedding.read()?;
    let from = embeddings.find(args.embedding.path(), &args.from)?;
    let to = embeddings.find(args.embedding.path(), &args.to)?;
    let to = Neighbour { name: args.to.clone(), distance: embeddings.dist(from, to) };
    print::event("result", &to);
    // The event has the number.
    if !print::style().json {
        say!("{}", to.distance);
    }
    Ok(())
}

//! What a picture of an embedding shows: a point for each node, colours, and which nodes matter.

use cotangent::prelude::*;

use super::layout::{Layout, lengths, placed, project, tangents};
use super::projection::{Distortion, Projection, horopca};
use super::sheet::length;
use crate::error::{AppError, Result};
use crate::geometry::Geometry;
use crate::hierarchy::Hierarchy;

/// Colour of a node where there are no subtrees.
const NODE: &str = "#c0392b";
/// Colours of the subtrees.
const SUBTREES: [&str; 8] =
    ["#3563c9", "#d98c00", "#c8432b", "#23907a", "#7d4fc4", "#c2478f", "#5d8a1e", "#3f8fb5"];
/// Colour of nodes that are in none of these subtrees.
const OTHERS: &str = "#8a8a8a";

/// The picture of an embedding, without its edges.
pub struct Picture {
    /// The points in the disk.
    pub layout: Layout,
    /// All nodes, the most important first: this is the order in which they are labelled.
    pub order: Vec<usize>,
    /// Colour of each node, and of the edges that start at it.
    pub colour: Vec<&'static str>,
    /// Colours and their names.
    pub legend: Vec<(&'static str, String)>,
    /// How edges are drawn.
    pub(super) lines: Lines,
}

impl Picture {
    /// Lays out named points, one per row. In a hierarchy an edge (u, v) says that u is below v. Hierarchies
    /// of more than two dimensions are drawn in sectors, other embeddings by their principal tangent
    /// directions.
    ///
    /// # Errors
    /// If the principal directions cannot be found.
    pub fn new(
        names: &[String],
        points: &Tensor<f64>,
        geometry: Geometry,
        edges: &[(u32, u32)],
    ) -> Result<Self> {
        Ok(Picture::projected(names, points, geometry, edges, None)?.0)
    }

    /// Points of these colours, without labels; edges are straight.
    pub fn chords(layout: Layout, colour: Vec<&'static str>) -> Self {
        Picture { layout, order: Vec::new(), colour, legend: Vec::new(), lines: Lines::Chords }
    }

    /// Same as [`new`](Self::new), by a projection if one is chosen. Also returns the distortion, unless
    /// distances are not meant to be kept or nothing was projected.
    ///
    /// # Errors
    /// If the principal directions cannot be found; for HoroPCA if the embedding is not in hyperbolic space;
    /// for sectors if the graph is no hierarchy.
    pub fn projected(
        names: &[String],
        points: &Tensor<f64>,
        geometry: Geometry,
        edges: &[(u32, u32)],
        projection: Option<Projection>,
    ) -> Result<(Self, Option<Distortion>)> {
        let tangents = tangents(points, geometry);
        let dim = tangents.first().map_or(0, Vec::len);
        let hyperbolic = geometry.single().is_some_and(|space| space.kappa() < 0.0);
        // Two dimensions without a choice are drawn without the colours of subtrees.
        let tree = (dim > 2 || projection.is_some())
            .then(|| Hierarchy::find(tangents.len(), edges, &lengths(points, geometry, edges)))
            .flatten();
        let usual = if tree.is_some() { Projection::Sectors } else { Projection::Tangent };
        let chosen = projection.unwrap_or(usual);
        let (layout, distortion) = match (chosen, &tree) {
            (Projection::Sectors, Some(tree)) => (sectors(&tangents, geometry, tree)?, None),
            (Projection::Sectors, None) => {
                return Err(AppError::usage("--projection sectors: the edges of a hierarchy are needed"));
            }
            _ => {
                let (flat, how) = match chosen {
                    Projection::Horopca if dim > 2 || !hyperbolic => horopca(points, geometry)?,
                    _ => project(&tangents, dim)?,
                };
                let distortion = Distortion::new(chosen, points, geometry, &flat).filter(|_| dim > 2);
                (placed(&flat, &tangents, geometry, &how), distortion)
            }
        };
        let lines = match chosen {
            Projection::Sectors => Lines::Radial,
            _ if hyperbolic => Lines::Geodesics,
            _ => Lines::Chords,
        };
        let picture = match &tree {
            Some(tree) => subtrees(layout, names, tree, lines),
            None => plain(layout, lines),
        };
        Ok((picture, distortion))
    }
}

/// How an edge is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// As a geodesic of the disk.
    Geodesics,
    /// As a chord.
    Chords,
    /// As a curve that leaves both ends along the radius.
    Radial,
}

/// The picture of nodes in one colour, those nearest the origin first.
fn plain(layout: Layout, lines: Lines) -> Picture {
    let mut order: Vec<usize> = (0..layout.points.len()).collect();
    order.sort_by(|&a, &b| layout.depth[a].total_cmp(&layout.depth[b]).then(a.cmp(&b)));
    Picture { colour: vec![NODE; order.len()], layout, order, legend: Vec::new(), lines }
}

/// The picture of a hierarchy: colours of subtrees, and the nodes with the most leaves below them first.
fn subtrees(layout: Layout, names: &[String], tree: &Hierarchy, lines: Lines) -> Picture {
    let depth = &layout.depth;
    let mut order: Vec<usize> = (0..depth.len()).collect();
    order.sort_by(|&a, &b| tree.leaves[b].cmp(&tree.leaves[a]).then(depth[a].total_cmp(&depth[b])));
    let (tops, subtree) = tree.subtrees(SUBTREES.len());
    let colour = subtree.iter().map(|subtree| subtree.map_or(OTHERS, |i| SUBTREES[i])).collect();
    let count = |i| subtree.iter().filter(|subtree| **subtree == i).count();
    let mut legend: Vec<(&str, String)> = tops
        .iter()
        .enumerate()
        .map(|(i, &u)| (SUBTREES[i], format!("{} ({})", readable(&names[u as usize]), count(Some(i)))))
        .collect();
    if count(None) > 0 {
        legend.push((OTHERS, format!("others ({})", count(None))));
    }
    Picture { layout, order, colour, legend, lines }
}

/// Lays out a hierarchy: every node at its distance from the origin, every subtree in a sector of its own.
fn sectors(tangents: &[Vec<f64>], geometry: Geometry, tree: &Hierarchy) -> Result<Layout> {
    let dim = tangents.first().map_or(0, Vec::len);
    let (flat, _) = project(tangents, dim)?;
    let angle = tree.angles(&flat.iter().map(|p| p[1].atan2(p[0])).collect::<Vec<f64>>());
    let depth: Vec<f64> = tangents.iter().map(|v| length(v)).collect();
    let farthest = depth.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let place = |(r, angle): (&f64, &f64)| [angle.cos(), angle.sin()].map(|x| 0.98 * x * r / farthest);
    let points: Vec<[f64; 2]> = depth.iter().zip(&angle).map(place).collect();
    let caption = format!(
        "{} nodes at their distances from the origin of the {}; every subtree in a sector of its own",
        points.len(),
        geometry.words(dim)
    );
    Ok(Layout { points, depth, caption })
}

/// The words of a WordNet name: `even-toed ungulate` for `even-toed_ungulate.n.01`. Any other name as it is.
pub fn readable(name: &str) -> String {
    let words = || {
        let (before, number) = name.rsplit_once('.')?;
        let (words, kind) = before.rsplit_once('.')?;
        // Nouns, verbs, adjectives, satellite adjectives, adverbs.
        let wordnet = ["n", "v", "a", "s", "r"].contains(&kind)
            && number.len() == 2
            && number.bytes().all(|byte| byte.is_ascii_digit());
        wordnet.then(|| words.replace('_', " "))
    };
    words().unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_wordnet_are_readable() {
        assert_eq!(readable("even-toed_ungulate.n.01"), "even-toed ungulate");
        assert_eq!(readable("u._s._air_force.n.01"), "u. s. air force");
        for name in ["v.1.10", "a.b.c", "x.q.01", "snake_case", "file.n.1", "..", ""] {
            assert_eq!(readable(name), name);
        }
    }
}

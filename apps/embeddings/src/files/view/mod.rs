//! A page to explore an embedding: one HTML file, which needs no network.
//!
//! The page shows the points of the [picture](disk::Picture) in the Poincaré disk and moves them by
//! isometries. Its script is plain JavaScript, a file for each concern:
//!
//! | file | what |
//! |---|---|
//! | `geometry.js` | isometries of the disk, distances, flights |
//! | `data.js` | what this module writes, decoded; search and neighbours |
//! | `camera.js` | isometry, zoom and offset; from the disk to pixels |
//! | `detail.js` | which nodes, labels and edges are shown |
//! | `draw.js`, `points.js` | the layers: lines, points (WebGL or two-dimensional), labels |
//! | `panel.js` | search, the selected node, legend, colours |
//! | `interact.js` | pointers, wheel, keyboard |
//! | `page.js` | puts them together; frames; `window.cotangent` |

mod base64;

use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent::prelude::*;
use cotangent_apps_common::disk::{self, Picture};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{self, Geometry, SpaceModel};
use rayon::prelude::*;
use serde::Serialize;

use crate::files::embeddings::Embeddings;

/// The page, with marks where style, data and script are put.
const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// The parts of the script, which is one module: they see each other's names.
const SCRIPTS: [&str; 9] = [
    include_str!("geometry.js"),
    include_str!("data.js"),
    include_str!("camera.js"),
    include_str!("detail.js"),
    include_str!("points.js"),
    include_str!("draw.js"),
    include_str!("panel.js"),
    include_str!("interact.js"),
    include_str!("page.js"),
];

/// Number of neighbours that the page lists for a node.
const NEIGHBOURS: usize = 10;
/// Largest number of nodes whose neighbours are computed here. For more, the page computes those of a node
/// when it is asked for them: all of them would take long, and more room than the coordinates.
const LISTED: usize = 2_000;

/// What the page is given, as JSON. Arrays are base64 of little-endian values. Nodes are numbered by
/// importance, the most important first.
#[derive(Serialize)]
struct Data<'a> {
    caption: String,
    names: Vec<&'a str>,
    /// What is written beside a node, where it is not the name. Empty if it is the name everywhere.
    labels: Vec<Option<String>>,
    /// The logarithm at the origin of each point of the disk (curvature −1), as f32: `[n, 2]`. Close to
    /// the boundary it keeps digits that the point itself would lose.
    points: String,
    /// Distance of each node from the origin in the embedding, as f32: `[n]`.
    depths: String,
    /// The index of each node's colour in `colours`, as u8: `[n]`.
    classes: String,
    colours: Vec<&'static str>,
    /// The name of each colour; empty if they have none.
    legend: Vec<&'a str>,
    /// Start and end of each edge, as u32: `[edges, 2]`.
    edges: String,
    near: Near,
}

/// How the page finds the neighbours of a node.
#[derive(Serialize)]
#[serde(tag = "form", rename_all = "lowercase")]
enum Near {
    /// The nearest nodes of each node, nearest first, as u32, and their distances, as f32: `[n, count]`.
    Listed { count: usize, nodes: String, distances: String },
    /// The logarithm of each node at the origin, as f32: `[n, dim]`. Its length is the distance in multiples
    /// of `unit`. Distances between nodes are those of curvature −1 if `curved`, else of Euclidean space.
    Computed { count: usize, dim: usize, tangents: String, unit: f64, curved: bool },
}

/// Writes the page of an embedding. In a hierarchy an edge (u, v), of indices of points, says that u is below
/// v. The page opens with the layout of [`disk::plot`]; `title` is added to its caption if it is not empty.
///
/// # Errors
/// Those of [`Picture::new`], or if the file cannot be written.
pub fn write(path: &Path, embeddings: &Embeddings, edges: &[(u32, u32)], title: &str) -> Result<()> {
    let Embeddings { names, points, geometry, .. } = embeddings;
    let names: Vec<String> = names.iter().map(str::to_owned).collect();
    let picture = Picture::new(&names, points, *geometry, edges)?;
    let data = data(embeddings, &picture, edges, title);
    // JSON escapes control characters. A `<` could end the script element, or open a comment in it.
    let json = serde_json::to_string(&data).map_err(|error| AppError::content(path, error.to_string()))?;
    let json = json.replace('<', "\\u003c");
    let mut page = PAGE;
    atomic::write(path, |w| {
        for (mark, parts) in
            [("/*style*/", &[STYLE][..]), ("/*data*/", &[json.as_str()]), ("/*script*/", &SCRIPTS)]
        {
            let (before, after) = page.split_once(mark).expect("the page has the mark");
            w.write_all(before.as_bytes())?;
            parts.iter().try_for_each(|part| w.write_all(part.as_bytes()))?;
            page = after;
        }
        w.write_all(page.as_bytes())
    })
    .map_err(AppError::io(path))
}

fn data<'a>(embeddings: &'a Embeddings, picture: &'a Picture, edges: &[(u32, u32)], title: &str) -> Data<'a> {
    let Picture { layout, order, colour, legend, .. } = picture;
    let Embeddings { names, points, geometry, .. } = embeddings;
    let mut rank = vec![0; order.len()];
    (0..).zip(order).for_each(|(new, &old)| rank[old] = new);
    let unit_disk = Geometry::new(SpaceModel::Poincare, None).expect("it is a geometry");
    let flat = Tensor::new([order.len(), 2], layout.points.concat());
    let unit = unit(*geometry);
    let mut colours: Vec<&str> = legend.iter().map(|(colour, _)| *colour).collect();
    if colours.is_empty() {
        colours.extend(colour.first());
    }
    let class = |node: &usize| colours.iter().position(|known| *known == colour[*node]).unwrap_or(0) as u8;
    let label = |node: &usize| Some(disk::readable(&names[*node])).filter(|label| *label != names[*node]);
    let labels: Vec<Option<String>> = order.iter().map(label).collect();
    let caption = [layout.caption.as_str(), title].into_iter().filter(|text| !text.is_empty());
    Data {
        caption: caption.collect::<Vec<_>>().join("; "),
        names: order.iter().map(|&node| &names[node]).collect(),
        labels: if labels.iter().any(Option::is_some) { labels } else { Vec::new() },
        points: rows(&disk::tangents(&flat, unit_disk), order),
        depths: floats(order.iter().map(|&node| unit * layout.depth[node])),
        classes: base64::encode(order.iter().map(class)),
        colours,
        legend: legend.iter().map(|(_, name)| name.as_str()).collect(),
        edges: indices(edges.iter().flat_map(|&(u, v)| [rank[u as usize], rank[v as usize]])),
        near: match geometry.single().filter(|space| space.kappa() <= 0.0) {
            // The page has the distances of hyperbolic and of Euclidean space.
            Some(space) if names.len() > LISTED => {
                let tangents = disk::tangents(points, *geometry);
                let (dim, curved) = (tangents[0].len(), space.kappa() < 0.0);
                Near::Computed { count: NEIGHBOURS, dim, tangents: rows(&tangents, order), unit, curved }
            }
            _ => listed(embeddings, order, &rank),
        },
    }
}

/// The length of a tangent vector of [`disk::tangents`] of length 1; in a product, as if each curvature were
/// −1, 0 or 1.
fn unit(geometry: Geometry) -> f64 {
    geometry.single().map_or(1.0, |space| 1.0 / geometry::unit(space))
}

/// The neighbours of all nodes. Nodes are numbered by `rank`.
fn listed(embeddings: &Embeddings, order: &[usize], rank: &[u32]) -> Near {
    let keys = embeddings.keys();
    let near: Vec<Vec<(usize, f64)>> =
        order.par_iter().map(|&node| embeddings.nearest(&keys, node, NEIGHBOURS)).collect();
    Near::Listed {
        count: NEIGHBOURS.min(order.len().saturating_sub(1)),
        nodes: indices(near.iter().flatten().map(|&(node, _)| rank[node])),
        distances: floats(near.iter().flatten().map(|&(_, distance)| distance)),
    }
}

/// Rows of numbers, in an order of rows, as f32.
fn rows(rows: &[Vec<f64>], order: &[usize]) -> String {
    floats(order.iter().flat_map(|&row| rows[row].iter().copied()))
}

fn floats(values: impl IntoIterator<Item = f64>) -> String {
    base64::encode(values.into_iter().flat_map(|x| (x as f32).to_le_bytes()))
}

fn indices(values: impl IntoIterator<Item = u32>) -> String {
    base64::encode(values.into_iter().flat_map(u32::to_le_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A binary tree in which the root is not the first node: nodes are numbered by importance, and edges,
    /// depths and neighbours with them.
    #[test]
    fn the_most_important_nodes_come_first() {
        let heap = [4, 2, 7, 1, 6, 3, 5_u32];
        let points = Tensor::from_fn([7, 3], |i| {
            let node = f64::from(heap[i / 3]);
            0.1 * node.log2().floor() * (node + (i % 3) as f64).sin()
        });
        let geometry = Geometry::new(SpaceModel::Poincare, Some(vec![-4.0])).unwrap();
        let points = Tensor::new([7, 3], points.data().iter().map(|x| 0.5 * x).collect());
        let texts: Vec<String> = heap.iter().map(|node| format!("n{node}")).collect();
        let index = |node: u32| heap.iter().position(|known| *known == node).unwrap();
        let edges: Vec<(u32, u32)> =
            (2..8).map(|node| (index(node) as u32, index(node / 2) as u32)).collect();
        let embeddings = Embeddings { names: texts.iter().collect(), points, geometry, translation: None };
        let picture = Picture::new(&texts, &embeddings.points, geometry, &edges).unwrap();
        let data = data(&embeddings, &picture, &edges, "a title");
        assert_eq!(data.names[0], "n1");
        assert!(data.caption.ends_with("; a title") && data.labels.is_empty());
        let place = |name: &str| data.names.iter().position(|known| *known == name).unwrap() as u32;
        let ends = (2..8).flat_map(|node: u32| [node, node / 2].map(|node| place(&format!("n{node}"))));
        assert_eq!(data.edges, indices(ends));
        let origin = Row::from([0.0; 3]);
        let ball = PoincareBall::new(-4.0);
        let original = |name: &&str| index(name[1..].parse().unwrap());
        let depth = |name| ball.dist(&origin, &Row::from(embeddings.points.row(original(name))));
        assert_eq!(data.depths, floats(data.names.iter().map(depth)));
        let Near::Listed { count: 6, nodes, distances } = data.near else {
            panic!("6 neighbours are listed")
        };
        let near = |name| embeddings.neighbours(original(name), NEIGHBOURS);
        let all: Vec<_> = data.names.iter().flat_map(near).collect();
        assert_eq!(nodes, indices(all.iter().map(|near| place(&near.name))));
        assert_eq!(distances, floats(all.iter().map(|near| near.distance)));
    }
}

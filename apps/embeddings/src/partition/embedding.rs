//! A trained embedding in parts. What looks at all points reads them part by part.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use cotangent::optim::train::CHECKPOINT;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Geometry;
use cotangent_apps_common::precision::Precision;
use rayon::prelude::*;

use crate::evaluate::keys::Keys;
use crate::evaluate::neighbours::Neighbour;
use crate::evaluate::reconstruction::{Ranking, Sample, Score, TOGETHER, count_among};
use crate::files::embeddings::{Blocks, Embeddings};
use crate::graph::names::Names;
use crate::partition::course::State;
use crate::partition::parts::DiskParts;
use crate::partition::store::StoredGraph;
use crate::train::parameters::Parameters;

/// An embedding in parts, as a training has left it or keeps it at its last checkpoint.
pub(crate) struct PartEmbedding {
    directory: PathBuf,
    pub(crate) graph: StoredGraph,
    state: State,
    parts: DiskParts,
}

impl PartEmbedding {
    /// Whether a directory has one.
    pub(crate) fn is_in(directory: &Path) -> bool {
        StoredGraph::is_in(directory) && directory.join(CHECKPOINT).exists()
    }

    /// Opens that of a directory.
    ///
    /// # Errors
    /// If there is none, or its files do not belong together.
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        let (graph, state) = (StoredGraph::open(directory)?, State::read(directory)?);
        if state.graph != graph.index.fingerprint || state.parts.len() != graph.parts() {
            let path = directory.join(CHECKPOINT);
            return Err(AppError::content(&path, "the checkpoint does not fit: a run on other edges"));
        }
        let parts = disk_parts(directory, &graph, &state).resumed(&state.parts);
        Ok(PartEmbedding { directory: directory.to_path_buf(), graph, state, parts })
    }

    /// Space and curvature of the points; the curvature may be learned.
    pub(crate) fn geometry(&self) -> Geometry {
        let manifold = self.state.config.geometry.manifold();
        let nothing = Tensor::<f64>::zeros([0, manifold.ambient(self.state.config.dim)]);
        self.learned(nothing).1
    }

    /// The points of a part.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn points(&self, part: usize) -> Result<Tensor<f64>> {
        match self.state.config.precision {
            Precision::F32 => self.points_in::<f32>(part),
            Precision::F64 => self.points_in::<f64>(part),
        }
    }

    fn points_in<T: Float>(&self, part: usize) -> Result<Tensor<f64>> {
        let rows: Vec<T> = self.parts.load(part)?;
        let nodes = self.graph.part(part).len();
        Ok(self.learned(Tensor::new([nodes, rows.len() / nodes], rows)).0.cast())
    }

    /// The points that were learned, of those that were trained, and their geometry.
    fn learned<T: Float>(&self, points: Tensor<T>) -> (Tensor<T>, Geometry) {
        let State { config, scales, .. } = &self.state;
        let mut parameters =
            Parameters::new(Param::new("embedding", config.geometry.manifold(), points), config, usize::MAX);
        if !scales.is_empty() {
            parameters.set_scales(scales);
        }
        parameters.learned_points(config)
    }

    /// The names of a part's nodes.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn names(&self, part: usize) -> Result<Names> {
        let mut names = Names::default();
        self.graph.each_name(part, |name| names.push(name))?;
        Ok(names)
    }

    /// All points in memory.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn all(&self) -> Result<Embeddings> {
        let (mut names, mut rows, mut width) = (Names::default(), Vec::new(), 1);
        for part in 0..self.graph.parts() {
            self.graph.each_name(part, |name| names.push(name))?;
            let points = self.points(part)?;
            width = points.width();
            rows.extend_from_slice(points.data());
        }
        let points = Tensor::new([names.len(), width], rows);
        Ok(Embeddings { names, points, geometry: self.geometry(), translation: None })
    }

    /// The `count` points that are nearest to the point of a name, nearest first: see
    /// [`Embeddings::neighbours`].
    ///
    /// # Errors
    /// If parts cannot be read, or there is no such name.
    pub(crate) fn neighbours(&self, name: &str, count: usize) -> Result<Vec<Neighbour>> {
        let place = self.find(name)?;
        let geometry = self.geometry();
        let origin = gathered(&self.points(place.0)?, &[place.1]);
        let from = Keys::new(&origin, geometry).origin(0);
        let mut nearest: Vec<(f64, usize, usize, Vec<f64>)> = Vec::new();
        for part in 0..self.graph.parts() {
            let points = self.points(part)?;
            let keys = Keys::new(&points, geometry).all(&from);
            let mut order: Vec<usize> = (0..keys.len()).filter(|&i| (part, i) != place).collect();
            let nearer = |i: &usize, j: &usize| keys[*i].total_cmp(&keys[*j]).then(i.cmp(j));
            if count < order.len() {
                order.select_nth_unstable_by(count, nearer);
                order.truncate(count);
            }
            nearest.extend(order.into_iter().map(|i| (keys[i], part, i, points.row(i).to_vec())));
            nearest.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            nearest.truncate(count);
        }
        let mut wanted: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
        for (rank, &(_, part, i, _)) in nearest.iter().enumerate() {
            wanted.entry(part).or_default().push((i, rank));
        }
        let mut names = vec![String::new(); nearest.len()];
        for (part, places) in wanted {
            let list = self.names(part)?;
            places.into_iter().for_each(|(i, rank)| list[i].clone_into(&mut names[rank]));
        }
        let (manifold, from) = (geometry.manifold(), Row::from(origin.row(0)));
        let distance = |row: &[f64]| manifold.dist(&from, &Row::from(row));
        let named = names.into_iter().zip(&nearest);
        Ok(named.map(|(name, (.., row))| Neighbour { name, distance: distance(row) }).collect())
    }

    /// The part of a name and its place there.
    fn find(&self, wanted: &str) -> Result<(usize, usize)> {
        for part in 0..self.graph.parts() {
            let (mut place, mut found) = (0, None);
            self.graph.each_name(part, |name| {
                if name == wanted {
                    found = Some((part, place));
                }
                place += 1;
            })?;
            if let Some(found) = found {
                return Ok(found);
            }
        }
        Err(AppError::content(&self.directory, format!("no point is called {wanted:?}")))
    }

    /// How well the points reconstruct the graph that they were trained on: see
    /// [`rank`](crate::evaluate::reconstruction::rank). Of the points of a sample and their neighbours the
    /// ranks are counted part by part.
    ///
    /// # Errors
    /// If parts or pairs cannot be read.
    pub(crate) fn score(&self, sample: Sample) -> Result<Score> {
        let (nodes, geometry) = (self.graph.nodes(), self.geometry());
        let mut has_neighbours = vec![0_u64; nodes.div_ceil(64)];
        self.graph.each_pair(|u, _| has_neighbours[u as usize / 64] |= 1 << (u % 64))?;
        let all_nodes = has_neighbours.iter().map(|bits| bits.count_ones() as usize).sum();
        let drawn = sample.places(nodes, all_nodes);
        let sources = (0..nodes as u32).filter(|&u| has_neighbours[u as usize / 64] >> (u % 64) & 1 == 1);
        let sources: Vec<u32> = match drawn {
            None => sources.collect(),
            Some(places) => {
                let mut places = places.into_iter().peekable();
                let is_drawn = |(i, _): &(usize, u32)| places.next_if_eq(i).is_some();
                sources.enumerate().filter(is_drawn).map(|(_, u)| u).collect()
            }
        };
        let mut near: Vec<Vec<u32>> = vec![Vec::new(); sources.len()];
        self.graph.each_pair(|u, v| {
            if let Ok(place) = sources.binary_search(&u) {
                near[place].push(v);
            }
        })?;
        let mut rankings = self.rankings(&sources, &near, geometry)?;
        for part in 0..self.graph.parts() {
            let keys = Keys::new(&self.points(part)?, geometry);
            rankings.par_chunks_mut(TOGETHER).for_each(|rankings| count_among(&keys, rankings));
        }
        let results: Vec<(f64, usize, f64)> = rankings.iter().map(Ranking::result).collect();
        Ok(Score::of_nodes(&results, all_nodes))
    }

    /// The rankings of some nodes' neighbours, before other points are counted.
    fn rankings(&self, sources: &[u32], near: &[Vec<u32>], geometry: Geometry) -> Result<Vec<Ranking>> {
        let mut wanted: Vec<u32> = sources.iter().chain(near.iter().flatten()).copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        let (mut rows, mut width) = (Vec::new(), 1);
        for part in 0..self.graph.parts() {
            let nodes = self.graph.part(part);
            let first = wanted.partition_point(|&node| node < nodes.start);
            let last = wanted.partition_point(|&node| node < nodes.end);
            if first == last {
                continue;
            }
            let points = self.points(part)?;
            width = points.width();
            let local = wanted[first..last].iter().map(|&node| (node - nodes.start) as usize);
            local.for_each(|i| rows.extend_from_slice(points.row(i)));
        }
        let keys = Keys::new(&Tensor::new([wanted.len(), width], rows), geometry);
        let place = |node: &u32| wanted.binary_search(node).expect("it is wanted");
        let ranking = |(u, near): (&u32, &Vec<u32>)| {
            let near = near.iter().map(place);
            Ranking::new(&keys, place(u), near.clone(), near)
        };
        Ok(sources.par_iter().zip(near).map(ranking).collect())
    }
}

impl Blocks for PartEmbedding {
    fn shape(&self) -> [usize; 2] {
        let config = &self.state.config;
        [self.graph.nodes(), config.geometry.manifold().ambient(config.dim)]
    }

    fn geometry(&self) -> Geometry {
        self.geometry()
    }

    fn each(&self, write: &mut dyn FnMut(&Names, &Tensor<f64>) -> io::Result<()>) -> io::Result<()> {
        let unread = |error: AppError| io::Error::other(error.to_string());
        (0..self.graph.parts()).try_for_each(|part| {
            write(&self.names(part).map_err(unread)?, &self.points(part).map_err(unread)?)
        })
    }

    fn all(&self) -> Result<Cow<'_, Embeddings>> {
        self.all().map(Cow::Owned)
    }
}

/// The parts of a run in a directory, of which nothing is stored yet.
pub(crate) fn disk_parts(directory: &Path, graph: &StoredGraph, state: &State) -> DiskParts {
    let width = state.config.geometry.manifold().ambient(state.config.dim);
    let elements = (0..graph.parts()).map(|part| graph.part(part).len() * width).collect();
    DiskParts::new(directory, elements, state.run)
}

/// Some rows, in this order.
fn gathered(points: &Tensor<f64>, rows: &[usize]) -> Tensor<f64> {
    let data = rows.iter().flat_map(|&i| points.row(i)).copied().collect();
    Tensor::new([rows.len(), points.width()], data)
}

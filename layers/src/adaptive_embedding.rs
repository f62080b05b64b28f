//! Adaptive input embeddings. Baevski & Auli 2019, section 3.

use std::ops::Range;

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Tape, Var};
use cotangent_manifolds::{Euclidean, Module, Param};

use crate::init;

/// A vocabulary in bands. Words are numbered by falling frequency, so the first band has the most frequent
/// ones. Grave et al. 2017, section 4.2, call them clusters.
///
/// ```
/// use cotangent_layers::Bands;
/// let bands = Bands::new(&[10, 30], 100);
/// assert_eq!(bands.ranges().collect::<Vec<_>>(), [0..10, 10..30, 30..100]);
/// assert_eq!([0, 9, 10, 99].map(|word| bands.band(word)), [0, 0, 1, 2]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bands {
    /// The end of each band.
    ends: Vec<u32>,
}

impl Bands {
    /// Words `0..vocabulary`, cut before each of these words: one band more than cut-offs.
    ///
    /// # Panics
    /// If a band is empty.
    #[track_caller]
    pub fn new(cutoffs: &[u32], vocabulary: u32) -> Self {
        let ends = [cutoffs, &[vocabulary]].concat();
        let ascends = ends[0] > 0 && ends.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(ascends, "Bands: cut-offs {cutoffs:?} of {vocabulary} words leave a band empty");
        Bands { ends }
    }

    /// The number of bands.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The words of each band.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| start..end)
    }

    /// The band of a word.
    ///
    /// # Panics
    /// If there is no such word.
    #[track_caller]
    pub fn band(&self, word: u32) -> usize {
        let band = self.ends.partition_point(|&end| end <= word);
        assert!(band < self.count(), "Bands: word {word} of {}", self.ends[self.count() - 1]);
        band
    }

    /// For each band that occurs: its number, the places of its words, and these as numbers within the band.
    #[track_caller]
    pub(crate) fn occurring(&self, words: &[u32]) -> Vec<(usize, Vec<u32>, Vec<u32>)> {
        let mut bands: Vec<_> = (0..self.count()).map(|band| (band, Vec::new(), Vec::new())).collect();
        let starts: Vec<u32> = self.ranges().map(|range| range.start).collect();
        for (place, &word) in (0..).zip(words) {
            let band = self.band(word);
            bands[band].1.push(place);
            bands[band].2.push(word - starts[band]);
        }
        bands.retain(|(_, places, _)| !places.is_empty());
        bands
    }
}

/// Vectors of words, with fewer numbers for rarer words: those of band i have `width/factorⁱ` numbers,
/// which a matrix takes to the common width. Baevski & Auli 2019, section 3.
///
/// The first band has no matrix, so one band is an ordinary table. Rows as output weights of an
/// [`AdaptiveSoftmax`](crate::AdaptiveSoftmax) tie the two (Press & Wolf 2017).
///
/// ```
/// use cotangent_engine::{Tape, rng};
/// use cotangent_layers::{AdaptiveEmbedding, Bands};
/// // 10 words of 8 numbers, 90 of 2.
/// let words = AdaptiveEmbedding::<f32>::new(Bands::new(&[10], 100), 8, 4, &mut rng::stream(1, 0, 0));
/// let tape = Tape::new();
/// assert_eq!(words.forward(&tape, &[3, 50, 3]).shape(), [3, 8].into());
/// ```
#[derive(Clone, Debug, Module)]
pub struct AdaptiveEmbedding<T: Float = f32> {
    /// For each band `[words, width/factorⁱ]`.
    pub tables: Vec<Param<Euclidean, T>>,
    /// For each band but the first `[width/factorⁱ, width]`.
    pub projections: Vec<Param<Euclidean, T>>,
    /// The bands.
    #[module(skip)]
    pub bands: Bands,
}

impl<T: Float> AdaptiveEmbedding<T> {
    /// Normal vectors of variance 1/width. Band i has `width/factorⁱ` numbers a word, but at least one.
    ///
    /// # Panics
    /// If the width or the factor is 0.
    #[track_caller]
    pub fn new(bands: Bands, width: usize, factor: usize, rng: &mut Rng) -> Self {
        assert!(width > 0 && factor > 0, "AdaptiveEmbedding: width {width}, factor {factor}");
        let mut normal = |name: &str, rows: usize, columns: usize, variance: f64| {
            Param::new(name, Euclidean, init::normal(rows, columns, variance.sqrt(), rng))
        };
        let (mut tables, mut projections) = (Vec::new(), Vec::new());
        for (band, (words, columns)) in bands.ranges().zip(band_widths(width, factor)).enumerate() {
            // The variance of a word's vector, a sum of `columns` products, is the same in every band.
            tables.push(normal("words", words.len(), columns, 1.0 / columns as f64));
            if band > 0 {
                projections.push(normal("projection", columns, width, 1.0 / width as f64));
            }
        }
        AdaptiveEmbedding { tables, projections, bands }
    }

    /// The vectors of words: `[words.len(), width]`. Only bands that occur are computed.
    ///
    /// # Panics
    /// If there are no words, or a number is not one of a word.
    #[track_caller]
    pub fn forward<'t>(&self, tape: &'t Tape<T>, words: &[u32]) -> Var<'t, T> {
        let occurring = self.bands.occurring(words);
        assert!(!occurring.is_empty(), "AdaptiveEmbedding: no words");
        let mut order = vec![0; words.len()];
        let mut vectors = Vec::with_capacity(occurring.len());
        let mut before = 0;
        for (band, places, of_band) in &occurring {
            let rows = self.tables[*band].on(tape).gather(of_band);
            vectors.push(match band.checked_sub(1) {
                None => rows,
                Some(matrix) => rows.matmul(*self.projections[matrix].on(tape)),
            });
            (before..).zip(places).for_each(|(row, &place)| order[place as usize] = row);
            before += places.len() as u32;
        }
        match vectors[..] {
            [one] => one,
            _ => Var::concat(&vectors, 0).gather(&order),
        }
    }

    /// The inner products of rows `[n, width]` with the vectors of a band's words: `[n, words]`.
    #[track_caller]
    pub(crate) fn logits<'t>(&self, band: usize, x: Var<'t, T>) -> Var<'t, T> {
        let x = match band.checked_sub(1) {
            None => x,
            Some(matrix) => x.matmul_nt(*self.projections[matrix].on(x.tape())),
        };
        x.matmul_nt(*self.tables[band].on(x.tape()))
    }
}

/// The numbers of a word's vector in each band: `width/factorⁱ`, at least 1.
pub fn band_widths(width: usize, factor: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(width), move |columns| Some((columns / factor).max(1)))
}

//! Adaptive softmax. Grave, Joulin, Cissé, Grangier, Jégou 2017 (*Efficient softmax approximation for
//! GPUs*).

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Var, loss};
use cotangent_manifolds::{Euclidean, Module, Param};

use crate::adaptive_embedding::AdaptiveEmbedding;
use crate::init;

/// A softmax over the words of the first band and the other bands as wholes, and a softmax within each other
/// band: the probability of a word of band i is `p(band i) p(word | band i)`. A loss computes only the bands
/// whose words occur. Grave et al. 2017, section 4.
///
/// The vectors of words are an [`AdaptiveEmbedding`]: that of the input, which ties input and output weights
/// (Baevski & Auli 2019, section 3), or another one. The layer itself has the vectors of the bands.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{AdaptiveEmbedding, AdaptiveSoftmax, Bands};
/// let mut rng = rng::stream(1, 0, 0);
/// let words = AdaptiveEmbedding::new(Bands::new(&[10], 100), 8, 4, &mut rng);
/// let softmax = AdaptiveSoftmax::new(&words, &mut rng);
/// let tape = Tape::<f64>::new();
/// let x = tape.constant(&Tensor::from_fn([3, 8], |i| (i as f64).sin()));
/// let logs = softmax.log_probabilities(&words, x); // [3, 100]
/// assert!(logs.logsumexp(-1).to_tensor().data().iter().all(|sum| sum.abs() < 1e-12));
/// let loss = softmax.loss(&words, x, &[3, 50, 99]);
/// assert!((loss.item() + logs.take_along(&[3, 50, 99]).mean().item()).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, Module)]
pub struct AdaptiveSoftmax<T: Float = f32> {
    /// The vectors of all bands but the first, `[bands − 1, width]`, if there are several.
    pub bands: Option<Param<Euclidean, T>>,
}

impl<T: Float> AdaptiveSoftmax<T> {
    /// For the bands of these words. The vectors of bands are normal, of variance 1/width.
    pub fn new(words: &AdaptiveEmbedding<T>, rng: &mut Rng) -> Self {
        let (others, width) = (words.bands.count() - 1, words.tables[0].value().width());
        let deviation = (width as f64).powf(-0.5);
        let bands =
            (others > 0).then(|| Param::new("bands", Euclidean, init::normal(others, width, deviation, rng)));
        AdaptiveSoftmax { bands }
    }

    /// The mean of `−ln p(word)` over rows `[n, width]`, each with the word that follows.
    ///
    /// # Panics
    /// If there are not as many words as rows, or none.
    #[track_caller]
    pub fn loss<'t>(&self, words: &AdaptiveEmbedding<T>, x: Var<'t, T>, next: &[u32]) -> Var<'t, T> {
        assert_eq!(next.len(), x.shape()[0], "AdaptiveSoftmax: {} words for {}", next.len(), x.shape());
        let occurring = words.bands.occurring(next);
        // What the first softmax must tell: the word, or the band.
        let first = words.bands.ranges().next().expect("a band").end;
        let mut labels = vec![0; next.len()];
        for (band, places, of_band) in &occurring {
            for (&place, &word) in places.iter().zip(of_band) {
                labels[place as usize] = if *band == 0 { word } else { first + *band as u32 - 1 };
            }
        }
        let mut total = loss::cross_entropy(self.head(words, x), &labels, 0.0);
        for (band, places, of_band) in occurring.iter().filter(|(band, ..)| *band > 0) {
            let logits = words.logits(*band, x.gather(places));
            let share = places.len() as f64 / next.len() as f64;
            total = total + loss::cross_entropy(logits, of_band, 0.0) * share;
        }
        total
    }

    /// The logarithms of the probabilities of all words, `[n, vocabulary]`, for rows `[n, width]`.
    ///
    /// # Panics
    /// If the rows have another width.
    #[track_caller]
    pub fn log_probabilities<'t>(&self, words: &AdaptiveEmbedding<T>, x: Var<'t, T>) -> Var<'t, T> {
        let head = self.head(words, x).log_softmax(-1);
        let first = words.tables[0].value().shape()[0];
        let mut parts = vec![head.slice(-1, 0..first)];
        for band in 1..words.bands.count() {
            let of_band = head.slice(-1, first + band - 1..first + band);
            parts.push(words.logits(band, x).log_softmax(-1) + of_band);
        }
        Var::concat(&parts, -1)
    }

    /// The logits of the first band's words and of the other bands.
    #[track_caller]
    fn head<'t>(&self, words: &AdaptiveEmbedding<T>, x: Var<'t, T>) -> Var<'t, T> {
        let of_words = words.logits(0, x);
        match &self.bands {
            None => of_words,
            Some(bands) => Var::concat(&[of_words, x.matmul_nt(*bands.on(x.tape()))], -1),
        }
    }
}

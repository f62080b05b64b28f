//! Adaptive embeddings and the adaptive softmax.

use cotangent_engine::loss;
use cotangent_layers::{AdaptiveEmbedding, AdaptiveSoftmax, Bands};

use super::gradients::agrees;
use super::*;

const WIDTH: usize = 8;

fn model(cutoffs: &[u32]) -> (AdaptiveEmbedding<f64>, AdaptiveSoftmax<f64>) {
    let mut rng = rng::stream(1, 51, 0);
    let words = AdaptiveEmbedding::new(Bands::new(cutoffs, 30), WIDTH, 2, &mut rng);
    let softmax = AdaptiveSoftmax::new(&words, &mut rng);
    (words, softmax)
}

fn rows(n: usize) -> Tensor<f64> {
    uniform(&[n, WIDTH], 1.5, &mut rng::stream(2, 51, 0))
}

#[test]
fn one_band_is_the_plain_softmax() {
    let (words, softmax) = model(&[]);
    let (tape, next) = (Tape::new(), [3, 29, 0, 17, 3]);
    let (x, table) = (tape.constant(&rows(5)), *words.tables[0].on(&tape));
    let plain = x.matmul_nt(table);
    assert_eq!(softmax.loss(&words, x, &next).item(), loss::cross_entropy(plain, &next, 0.0).item());
    close(&softmax.log_probabilities(&words, x).to_tensor(), &plain.log_softmax(-1).to_tensor(), 1e-15);
    assert_eq!(words.forward(&tape, &next).to_tensor(), table.gather(&next).to_tensor());
}

/// Rarer words have shorter vectors, of the same variance at the full width.
#[test]
fn words_have_the_vectors_of_their_bands() {
    let (words, _) = model(&[4, 12]);
    let shapes: Vec<_> = words.tables.iter().map(|table| table.value().shape().axes().to_vec()).collect();
    assert_eq!(shapes, [[4, 8], [8, 4], [18, 2]]);
    let tape = Tape::new();
    let asked = [20, 1, 5, 29, 1, 12];
    let vectors = words.forward(&tape, &asked).to_tensor();
    for (&word, vector) in asked.iter().zip(vectors.rows()) {
        let band = words.bands.band(word);
        let start = words.bands.ranges().nth(band).unwrap().start;
        let row = words.tables[band].value().row((word - start) as usize);
        let want: Vec<f64> = match band {
            0 => row.to_vec(),
            _ => {
                let matrix = words.projections[band - 1].value();
                (0..WIDTH).map(|j| row.iter().enumerate().map(|(i, x)| x * matrix.row(i)[j]).sum()).collect()
            }
        };
        assert!(vector.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-14), "{word}");
    }
    let bands = Bands::new(&[500, 1500], 3000);
    let many = AdaptiveEmbedding::<f64>::new(bands, 64, 4, &mut rng::stream(3, 51, 0));
    for range in many.bands.ranges() {
        let all: Vec<u32> = range.collect();
        let vectors = many.forward(&tape, &all).to_tensor();
        let variance = vectors.data().iter().map(|x| x * x).sum::<f64>() / all.len() as f64;
        assert!((variance - 1.0).abs() < 0.2, "{variance}");
    }
}

#[test]
fn probabilities_sum_to_one_and_are_those_of_the_loss() {
    let (words, softmax) = model(&[4, 12]);
    let tape = Tape::new();
    let x = tape.constant(&rows(6));
    let logs = softmax.log_probabilities(&words, x);
    assert_eq!(logs.shape(), [6, 30].into());
    assert!(logs.logsumexp(-1).to_tensor().data().iter().all(|sum| sum.abs() < 1e-12));
    for next in [[0, 5, 29, 12, 3, 11], [1, 1, 1, 1, 1, 1], [15, 16, 15, 29, 28, 15]] {
        let want = -logs.take_along(&next).mean().item();
        assert!((softmax.loss(&words, x, &next).item() - want).abs() < 1e-12);
    }
}

/// Input and output, tied.
#[derive(Clone, Module)]
struct Tied {
    words: AdaptiveEmbedding<f64>,
    softmax: AdaptiveSoftmax<f64>,
}

#[test]
fn gradients_agree() {
    for cutoffs in [&[][..], &[4, 12]] {
        let (words, softmax) = model(cutoffs);
        agrees(&Tied { words, softmax }, &rows(5), |model, x| {
            let x = x + model.words.forward(x.tape(), &[3, 14, 5, 29, 0]);
            model.softmax.loss(&model.words, x, &[14, 5, 29, 0, 8])
        });
    }
}

/// Bands whose words do not occur are not computed: their parameters are not on the tape.
#[test]
fn absent_bands_cost_nothing() {
    let (words, softmax) = model(&[4, 12]);
    let tape = Tape::new();
    let x = tape.constant(&rows(3)) + words.forward(&tape, &[1, 5, 2]);
    let gradients = tape.backward(softmax.loss(&words, x, &[2, 11, 4]));
    let has = |params: &[Param<_, f64>]| -> Vec<bool> {
        params.iter().map(|param| gradients.param(param.id()).is_some()).collect()
    };
    assert_eq!((has(&words.tables), has(&words.projections)), (vec![true, true, false], vec![true, false]));
}

#[test]
#[should_panic(expected = "Bands: cut-offs [10, 10] of 30 words leave a band empty")]
fn bands_are_not_empty() {
    let _ = Bands::new(&[10, 10], 30);
}

#[test]
#[should_panic(expected = "Bands: word 30 of 30")]
fn words_are_of_the_vocabulary() {
    let _ = model(&[4]).0.forward(&Tape::new(), &[2, 30]);
}

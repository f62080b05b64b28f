//! The area under the receiver operating characteristic.

/// The area under the ROC curve: the probability that a positive has a higher score than a negative, where a
/// tie counts half. It is the rank statistic of Mann & Whitney 1947, `(R − n(n + 1)/2)/(n m)`: R is the sum
/// of the ranks of the n positives among all scores, tied ones at their mean rank; m is the number of
/// negatives. `None` without positives or negatives, or if a score is NaN.
///
/// ```
/// use cotangent_apps_graphs::graph_tasks::links::roc_auc::roc_auc;
/// assert_eq!(roc_auc(&[2.0, 1.0], &[1.0, 0.0]), Some(0.875)); // 3 of 4 pairs, and a tie
/// ```
pub fn roc_auc(positives: &[f64], negatives: &[f64]) -> Option<f64> {
    let (n, m) = (positives.len() as f64, negatives.len() as f64);
    let labelled = |scores: &[f64], positive: bool| -> Vec<(f64, bool)> {
        scores.iter().map(|&score| (score, positive)).collect()
    };
    let mut scores = [labelled(positives, true), labelled(negatives, false)].concat();
    if n * m == 0.0 || scores.iter().any(|(score, _)| score.is_nan()) {
        return None;
    }
    scores.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut before, mut ranks) = (0.0, 0.0);
    // −0 and 0 are a tie: `total_cmp` puts them side by side.
    for tied in scores.chunk_by(|a, b| a.0 == b.0) {
        let count = tied.len() as f64;
        let positive = tied.iter().filter(|(_, positive)| *positive).count() as f64;
        ranks += positive * (before + (count + 1.0) / 2.0);
        before += count;
    }
    Some((ranks - n * (n + 1.0) / 2.0) / (n * m))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By its definition: the share of pairs, ties by half.
    fn by_pairs(positives: &[f64], negatives: &[f64]) -> f64 {
        let pairs = positives.iter().flat_map(|p| negatives.iter().map(move |n| (p, n)));
        let wins: f64 = pairs.map(|(p, n)| if p > n { 1.0 } else { f64::from(u8::from(p == n)) / 2.0 }).sum();
        wins / (positives.len() * negatives.len()) as f64
    }

    #[test]
    fn it_is_the_share_of_pairs_in_the_right_order() {
        let score = |i: u32| f64::from(i * 7 % 11) - f64::from(i % 3);
        for (n, m) in [(1, 1), (5, 9), (40, 17)] {
            let positives: Vec<f64> = (0..n).map(|i| score(i) + 1.0).collect();
            let negatives: Vec<f64> = (0..m).map(|i| score(i + 5)).collect();
            let found = roc_auc(&positives, &negatives).unwrap();
            assert!((found - by_pairs(&positives, &negatives)).abs() < 1e-14, "{found}");
        }
    }

    #[test]
    fn ends_and_ties() {
        assert_eq!(roc_auc(&[1.0, 2.0], &[0.0, -f64::INFINITY]), Some(1.0));
        assert_eq!(roc_auc(&[-1.0], &[0.0, f64::INFINITY]), Some(0.0));
        assert_eq!(roc_auc(&[3.0; 4], &[3.0; 7]), Some(0.5));
        assert_eq!(roc_auc(&[0.0], &[-0.0]), Some(0.5));
        assert_eq!(roc_auc(&[], &[1.0]), None);
        assert_eq!(roc_auc(&[1.0], &[f64::NAN]), None);
    }
}

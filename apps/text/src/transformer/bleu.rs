//! BLEU (Papineni et al. 2002) as sacreBLEU (Post 2018) computes it: one reference, tokenisation 13a,
//! exponential smoothing.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// The largest n of the n-grams that are counted.
const ORDER: usize = 4;

/// This variant of BLEU in sacreBLEU's notation.
pub const SIGNATURE: &str = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp";

/// The BLEU score of a corpus. It is printed in sacreBLEU's format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bleu {
    /// BLEU, from 0 to 100.
    pub score: f64,
    /// For n = 1 to 4, the share of the translations' n-grams that the references have, in percent, smoothed.
    pub precisions: [f64; ORDER],
    /// The factor, at most 1, that penalises translations shorter than the references.
    pub brevity_penalty: f64,
    /// Number of words of the translations.
    pub words: usize,
    /// Number of words of the references.
    pub reference_words: usize,
}

impl fmt::Display for Bleu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.precisions;
        let ratio =
            if self.reference_words > 0 { self.words as f64 / self.reference_words as f64 } else { 0.0 };
        write!(f, "BLEU = {:.2} {a:.1}/{b:.1}/{c:.1}/{d:.1} ", self.score)?;
        write!(f, "(BP = {:.3} ratio = {ratio:.3} ", self.brevity_penalty)?;
        write!(f, "hyp_len = {} ref_len = {})", self.words, self.reference_words)
    }
}

/// The words of a sentence, by the rules of NIST's mteval-v13a. Punctuation marks are words of their own,
/// except points and commas within numbers.
pub fn words(sentence: &str) -> Vec<String> {
    static RULES: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
        let rule = |pattern, by| (Regex::new(pattern).expect("a pattern"), by);
        [
            rule(r"([{-~\[-` -&(-+:-@/])", " $1 "),
            rule(r"([^0-9])([.,])", "$1 $2 "),
            rule(r"([.,])([^0-9])", " $1 $2"),
            rule(r"([0-9])(-)", "$1 $2 "),
        ]
    });
    let mut text = sentence.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    for (code, character) in [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")] {
        text = text.replace(code, character);
    }
    text = format!(" {text} ");
    for (pattern, by) in RULES.iter() {
        text = pattern.replace_all(&text, *by).into_owned();
    }
    text.split_whitespace().map(str::to_owned).collect()
}

/// The BLEU score of translations, each with one reference.
///
/// # Panics
/// If the number of references differs from that of translations.
pub fn corpus(translations: &[String], references: &[String]) -> Bleu {
    assert_eq!(translations.len(), references.len(), "a reference for each translation is needed");
    let (mut matched, mut total) = ([0_usize; ORDER], [0_usize; ORDER]);
    let mut bleu = Bleu::default();
    for (translation, reference) in translations.iter().zip(references) {
        let [translation, reference] = [translation, reference].map(|text| words(text.trim_end()));
        bleu.words += translation.len();
        bleu.reference_words += reference.len();
        for n in 1..=ORDER {
            let mut unmatched: HashMap<&[String], usize> = HashMap::new();
            reference.windows(n).for_each(|ngram| *unmatched.entry(ngram).or_default() += 1);
            for ngram in translation.windows(n) {
                total[n - 1] += 1;
                // Each n-gram of the reference is matched at most once.
                if let Some(count) = unmatched.get_mut(ngram).filter(|count| **count > 0) {
                    *count -= 1;
                    matched[n - 1] += 1;
                }
            }
        }
    }
    bleu.brevity_penalty = if bleu.words >= bleu.reference_words {
        1.0
    } else if bleu.words > 0 {
        (1.0 - bleu.reference_words as f64 / bleu.words as f64).exp()
    } else {
        0.0
    };
    if matched == [0; ORDER] {
        return bleu;
    }
    let mut smoothing = 1.0;
    for (precision, (&matched, &total)) in bleu.precisions.iter_mut().zip(matched.iter().zip(&total)) {
        if total == 0 {
            break;
        }
        *precision = if matched == 0 {
            smoothing *= 2.0;
            100.0 / (smoothing * total as f64)
        } else {
            100.0 * matched as f64 / total as f64
        };
    }
    let logs: f64 = bleu.precisions.iter().map(|p| p.ln()).sum();
    bleu.score = bleu.brevity_penalty * (logs / ORDER as f64).exp();
    bleu
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const TRANSLATIONS: [&str; 7] = [
        "The dog bit the man.",
        "It wasn't surprising, was it?",
        "The man had just bitten him for 1,000.50 dollars (on 3-4 days)",
        "",
        "&quot;Quoted&quot; & 5 / 7 - a.b,c 3.14. 2-1",
        "the the the the the the",
        "Äpfel über 12,5 % … «so» [x] {y} ~z^ a_b`",
    ];
    const REFERENCES: [&str; 7] = [
        "The dog bit the man.",
        "It was not unexpected, was it?",
        "The man had bitten him first for 1,000.50 dollars (in 3-4 days).",
        "Nothing at all.",
        "\"Quoted\" & 5 / 7 - a.b,c 3.14. 2-1",
        "the cat is on the mat",
        "Äpfel über 12,5 % … «so» [x] {y} ~z^ a_b` !",
    ];

    fn owned(text: &[&str]) -> Vec<String> {
        text.iter().map(|line| (*line).to_owned()).collect()
    }

    /// Compares with the output of sacreBLEU 2.6.0.
    #[test]
    fn figures_of_sacrebleu() {
        let (all, references) = (owned(&TRANSLATIONS), owned(&REFERENCES));
        assert_eq!(corpus(&all, &references).to_string(), GOLDEN[0]);
        assert_eq!(corpus(&all[1..2], &references[1..2]).to_string(), GOLDEN[1]);
        assert_eq!(corpus(&all[3..4], &references[3..4]).to_string(), GOLDEN[2]);
        assert_eq!(corpus(&all[..1], &references[..1]).to_string(), GOLDEN[3]);
        assert_eq!(corpus(&owned(&["a b"]), &owned(&["c d e"])).to_string(), GOLDEN[4]);
    }

    const GOLDEN: [&str; 5] = [
        "BLEU = 71.09 88.9/80.3/75.0/70.4 (BP = 0.907 ratio = 0.911 hyp_len = 72 ref_len = 79)",
        "BLEU = 37.68 71.4/50.0/40.0/25.0 (BP = 0.867 ratio = 0.875 hyp_len = 7 ref_len = 8)",
        "BLEU = 0.00 0.0/0.0/0.0/0.0 (BP = 0.000 ratio = 0.000 hyp_len = 0 ref_len = 4)",
        "BLEU = 100.00 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len = 6)",
        "BLEU = 0.00 0.0/0.0/0.0/0.0 (BP = 0.607 ratio = 0.667 hyp_len = 2 ref_len = 3)",
    ];

    /// Compares with sacreBLEU itself, if it is installed.
    #[test]
    fn as_sacrebleu_says() {
        let d = tempfile::tempdir().unwrap();
        let files = [("translations", TRANSLATIONS), ("references", REFERENCES)].map(|(name, text)| {
            let path = d.path().join(name);
            std::fs::write(&path, text.join("\n") + "\n").unwrap();
            path
        });
        const PROGRAM: &str = "import sys, sacrebleu\n\
            a, b = (open(f, encoding='utf-8').read().split('\\n')[:-1] for f in sys.argv[1:3])\n\
            print(sacrebleu.corpus_bleu(a, [b]))";
        let run = Command::new("python3").arg("-c").arg(PROGRAM).args(&files).output();
        let Some(output) = run.ok().filter(|output| output.status.success()) else {
            cotangent::engine::skip!("no Python with sacrebleu (pip install sacrebleu)");
        };
        let want = String::from_utf8(output.stdout).unwrap();
        assert_eq!(corpus(&owned(&TRANSLATIONS), &owned(&REFERENCES)).to_string(), want.trim_end());
    }

    #[test]
    fn the_rules_of_words() {
        let joined = |text: &str| words(text).join(" ");
        assert_eq!(joined("Hello, world."), "Hello , world .");
        assert_eq!(joined("1,000.50 - 3-4 a.b"), "1,000.50 - 3 - 4 a . b");
        assert_eq!(joined("&lt;x&gt; don't"), "< x > don't");
    }
}

//! Sentences as tokens: byte-pair encoding (Sennrich, Haddow, Birch 2016), by the crate `tokenizers`. A token
//! is a word or a part of a word; it is given by its number in the vocabulary.

use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent_apps_common::error::{AppError, Result};
use tokenizers::decoders::byte_level::ByteLevel;
use tokenizers::models::bpe::{BPE, BpeTrainerBuilder};
use tokenizers::{
    AddedToken, DecoderWrapper, ModelWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper,
    Tokenizer, TokenizerBuilder,
};

/// The token that pads shorter sentences of a batch.
pub const PAD: u32 = 0;
/// The token before a sentence.
pub const BEGIN: u32 = 1;
/// The token after a sentence.
pub const END: u32 = 2;

/// A byte-pair encoding. Every text can be encoded; decoding gives it back, except that line breaks become
/// spaces, and white space at both ends is removed.
#[derive(Clone, Debug)]
pub struct Bpe(Tokenizer);

/// The texts of [`PAD`], [`BEGIN`] and [`END`].
fn special_tokens() -> [AddedToken; 3] {
    ["<pad>", "<s>", "</s>"].map(|text| AddedToken::from(text, true))
}

/// The complete tokenizer for a vocabulary and its merges.
fn whole(model: BPE) -> Tokenizer {
    let mut whole = Tokenizer::new(ModelWrapper::from(model));
    whole.with_pre_tokenizer(Some(PreTokenizerWrapper::ByteLevel(ByteLevel::default())));
    whole.with_decoder(Some(DecoderWrapper::ByteLevel(ByteLevel::default())));
    whole.add_special_tokens(&special_tokens());
    whole
}

/// A tokenizer's settings: its file without vocabulary and merges.
fn settings(tokenizer: &Tokenizer) -> std::result::Result<serde_json::Value, String> {
    let json = tokenizer.to_string(false).map_err(|e| e.to_string())?;
    let mut settings: serde_json::Value = serde_json::from_str(&json).map_err(|e| e.to_string())?;
    for part in ["vocab", "merges"] {
        settings["model"][part].take();
    }
    Ok(settings)
}

/// Whether every text can be encoded: the settings are those of [`whole`], every byte is a token, and the
/// tokens are numbered from 0 without gaps.
fn encodes_all(tokenizer: &Tokenizer) -> std::result::Result<bool, String> {
    let vocabulary = tokenizer.get_vocab(true);
    let mut numbers: Vec<u32> = vocabulary.values().copied().collect();
    numbers.sort_unstable();
    let whole = settings(&whole(BPE::default()))?;
    Ok(settings(tokenizer)? == whole
        && numbers.iter().copied().eq(0..numbers.len() as u32)
        && ByteLevel::alphabet().into_iter().all(|byte| vocabulary.contains_key(&byte.to_string())))
}

impl Bpe {
    /// Learns a vocabulary of at most `size` tokens from sentences of all languages. It includes the 256
    /// bytes and three special tokens.
    ///
    /// # Errors
    /// If `size` is below 300.
    pub fn train<'a>(sentences: impl Iterator<Item = &'a str> + Send, size: usize) -> Result<Self> {
        if size < 300 {
            return Err(AppError::usage(format!("--vocabulary {size}: 300 or more are needed")));
        }
        let failed = |error: tokenizers::Error| AppError::usage(format!("byte-pair encoding: {error}"));
        let mut trainer = BpeTrainerBuilder::new()
            .vocab_size(size)
            .show_progress(false)
            .special_tokens(special_tokens().to_vec())
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .build();
        let mut tokenizer =
            TokenizerBuilder::<_, NormalizerWrapper, ByteLevel, PostProcessorWrapper, ByteLevel>::new()
                .with_model(BPE::default())
                .with_pre_tokenizer(Some(ByteLevel::default()))
                .with_decoder(Some(ByteLevel::default()))
                .build()
                .map_err(failed)?;
        tokenizer.train(&mut trainer, sentences).map_err(failed)?;
        Ok(Bpe::from_tokenizer(whole(tokenizer.get_model().clone())))
    }

    /// Special tokens that occur in a text are encoded as text.
    fn from_tokenizer(mut tokenizer: Tokenizer) -> Self {
        tokenizer.set_encode_special_tokens(true);
        Bpe(tokenizer)
    }

    /// Number of tokens in the vocabulary.
    pub fn size(&self) -> usize {
        self.0.get_vocab_size(true)
    }

    /// A checksum of the encoding.
    pub fn fingerprint(&self) -> u32 {
        crc32fast::hash(self.0.to_string(false).expect("it is JSON").as_bytes())
    }

    /// The tokens of a sentence, without special tokens.
    pub fn encode(&self, sentence: &str) -> Vec<u32> {
        let encoding = self.0.encode_fast(sentence, false).expect("every byte is a token");
        encoding.get_ids().to_vec()
    }

    /// The sentence of these tokens, on one line. Special tokens are left out.
    pub fn decode(&self, tokens: &[u32]) -> String {
        let sentence = self.0.decode(tokens, true).expect("tokens are decoded byte by byte");
        sentence.trim().replace(['\n', '\r'], " ")
    }

    /// The text of each token, for display.
    pub fn parts(&self, tokens: &[u32]) -> Vec<String> {
        tokens
            .iter()
            .map(|&token| match token {
                PAD => "<pad>".to_owned(),
                BEGIN => "<s>".to_owned(),
                END => "</s>".to_owned(),
                token => self.0.decode(&[token], true).expect("a token").trim().to_owned(),
            })
            .collect()
    }

    /// Writes `tokenizer.json`, which other programs can read.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let json = self.0.to_string(false).map_err(|e| AppError::content(path, e.to_string()))?;
        atomic::write(path, |w| w.write_all(json.as_bytes())).map_err(AppError::io(path))
    }

    /// Reads a file that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// If it cannot be read, or is not such a file.
    pub fn load(path: &Path) -> Result<Self> {
        let json = std::fs::read(path).map_err(AppError::io(path))?;
        let tokenizer = Tokenizer::from_bytes(json).map_err(|e| AppError::content(path, e.to_string()))?;
        if encodes_all(&tokenizer).map_err(|message| AppError::content(path, message))? {
            Ok(Bpe::from_tokenizer(tokenizer))
        } else {
            Err(AppError::content(path, "not a byte-pair encoding that this program wrote"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_come_back() {
        let text =
            ["Der Hund läuft schnell.", "Die Hunde laufen schneller!", "The dogs run faster, don't they?"];
        let bpe = Bpe::train(text.iter().copied().cycle().take(300), 320).unwrap();
        // Three sentences may not have enough merges for all 320 tokens.
        assert!((300..=320).contains(&bpe.size()), "{}", bpe.size());
        for sentence in text.iter().copied().chain(["Unseen: 3 €, 犬 …", "a </s> b <pad>"]) {
            let numbers = bpe.encode(sentence);
            assert_eq!(bpe.decode(&numbers), sentence);
            assert!(numbers.iter().all(|&n| n > END && n < 320));
        }
        assert!(bpe.encode(text[0]).len() < text[0].len() - 5);
        let d = tempfile::tempdir().unwrap();
        let path = d.path().join("tokenizer.json");
        bpe.save(&path).unwrap();
        let loaded = Bpe::load(&path).unwrap();
        assert_eq!(loaded.encode(text[1]), bpe.encode(text[1]));
        assert_eq!(
            bpe.decode(&[BEGIN, bpe.encode("Hund")[0], END, PAD]),
            bpe.parts(&bpe.encode("Hund")[..1])[0]
        );
        std::fs::write(&path, "{}").unwrap();
        assert!(Bpe::load(&path).unwrap_err().to_string().contains("tokenizer.json: "));
        assert!(Bpe::train(text.iter().copied(), 200).is_err());
        // Tokenizers of other kinds, each with the three special tokens.
        bpe.save(&path).unwrap();
        let ours = std::fs::read_to_string(&path).unwrap();
        let mut other: serde_json::Value = serde_json::from_str(&ours).unwrap();
        let refused = |change: fn(&mut serde_json::Value)| {
            let mut json = other.clone();
            change(&mut json);
            std::fs::write(&path, json.to_string()).unwrap();
            let error = Bpe::load(&path).unwrap_err().to_string();
            assert!(
                error.ends_with("tokenizer.json: not a byte-pair encoding that this program wrote"),
                "{error}"
            );
        };
        refused(|json| json["pre_tokenizer"] = serde_json::json!({"type": "Whitespace"}));
        refused(|json| json["normalizer"] = serde_json::json!({"type": "Lowercase"}));
        refused(|json| json["model"]["dropout"] = 0.5.into());
        refused(|json| {
            let words = serde_json::json!({"<pad>": 0, "<s>": 1, "</s>": 2, "a": 3});
            json["model"] = serde_json::json!({"type": "WordLevel", "vocab": words, "unk_token": "<s>"});
        });
        refused(|json| {
            json["model"]["vocab"] = serde_json::json!({"<pad>": 0, "<s>": 1, "</s>": 2, "a": 3});
            json["model"]["merges"] = serde_json::json!([]);
        });
        let last = bpe.size();
        let vocabulary = other["model"]["vocab"].as_object_mut().unwrap();
        vocabulary.values_mut().filter(|n| **n == last - 1).for_each(|n| *n = 1_000_000.into());
        std::fs::write(&path, other.to_string()).unwrap();
        assert!(Bpe::load(&path).is_err());
    }
}

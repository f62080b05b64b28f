//! Scenes with questions and answers, as a network reads them.

use std::path::{Path, PathBuf};

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_pictures::codec;
use crc32fast::Hasher;
use rayon::prelude::*;

use super::config::{Data, Kinds, ReasonConfig};
use crate::clevr::questions::BLOCK;
use crate::clevr::{self, Answer, Generator, QuestionKind, Vocabulary};
use crate::sort_of_clevr::{self, Image, Question as ImageQuestion, Subject};

/// What a question is about.
#[derive(Clone, Debug)]
pub enum Scene {
    /// A picture.
    Image(Image),
    /// Objects, each with its place and attributes.
    Objects(clevr::Scene),
    /// A picture of such objects.
    Picture(clevr::Picture),
}

/// A question as a network reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// As numbers.
    Bits(Vec<f32>),
    /// As the numbers of its words.
    Words(Vec<u32>),
}

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    /// As a network reads it.
    pub reading: Reading,
    /// In English.
    pub text: String,
    /// The number of its kind.
    pub kind: u32,
    /// The number of its answer.
    pub answer: u32,
}

/// A scene with questions about it.
#[derive(Clone, Debug)]
pub struct Example {
    /// The scene.
    pub scene: Scene,
    /// The questions.
    pub questions: Vec<Question>,
}

/// The examples of a training and its tests.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Its name.
    pub name: String,
    /// The names of the answers.
    pub answers: Vec<String>,
    /// The names of the kinds of questions.
    pub kinds: Vec<String>,
    /// The words of the questions, if they are read as words.
    pub words: Vec<String>,
    /// The number of bits of a question, if they are read as bits.
    pub bits: usize,
    /// Whether scenes are pictures.
    pub pictures: bool,
    /// Examples to train with.
    pub train: Vec<Example>,
    /// Examples to choose the best epoch by.
    pub validation: Vec<Example>,
    /// Examples to test with.
    pub test: Vec<Example>,
}

impl Dataset {
    /// The data of a configuration.
    ///
    /// # Errors
    /// If files cannot be read or understood.
    pub fn new(config: &ReasonConfig) -> Result<Self> {
        match config.data {
            Data::SortOfClevr => Ok(sort_of_clevr(config)),
            Data::Clevr => clevr(config),
        }
    }

    /// Numbers of scenes and of questions: for training, validation and test.
    pub fn sizes(&self) -> [[usize; 2]; 3] {
        let questions = |part: &[Example]| part.iter().map(|example| example.questions.len()).sum();
        [&self.train, &self.validation, &self.test].map(|part| [part.len(), questions(part)])
    }

    /// A number that differs for other scenes or questions.
    pub fn fingerprint(&self) -> u32 {
        let mut hasher = Hasher::new();
        for example in [&self.train, &self.validation, &self.test].into_iter().flatten() {
            if let Scene::Objects(scene) | Scene::Picture(clevr::Picture { scene, .. }) = &example.scene {
                scene.objects.iter().for_each(|object| hasher.update(format!("{object:?}").as_bytes()));
            }
            if let Scene::Picture(clevr::Picture { file: Some((_, checksum)), .. }) = &example.scene {
                hasher.update(&checksum.to_le_bytes());
            }
            for question in &example.questions {
                hasher.update(question.text.as_bytes());
                hasher.update(&question.answer.to_le_bytes());
            }
        }
        hasher.finalize()
    }

    /// The answer that most questions of each kind have in training.
    pub fn most_common_answers(&self) -> Vec<u32> {
        let mut counts = vec![vec![0_usize; self.answers.len()]; self.kinds.len()];
        for question in self.train.iter().flat_map(|example| &example.questions) {
            counts[question.kind as usize][question.answer as usize] += 1;
        }
        let common = |counts: &Vec<usize>| {
            (0..counts.len()).rev().max_by_key(|&answer| counts[answer]).expect("there are answers") as u32
        };
        counts.iter().map(common).collect()
    }
}

/// Pictures and questions of Sort-of-CLEVR: those for validation follow those for training, then come those
/// for the test.
fn sort_of_clevr(config: &ReasonConfig) -> Dataset {
    let kinds: &[bool] = match config.questions {
        Kinds::Relational => &[true],
        Kinds::Others => &[false],
        Kinds::All => &[true, false],
    };
    let seed = config.data_seed;
    let example = |number: u64| {
        let image = Image::random(seed, number);
        let of_kind = |&kind: &bool| ImageQuestion::random(seed, number, kind, config.questions_per_scene);
        let question = |question: ImageQuestion| Question {
            reading: Reading::Bits(question.bits().to_vec()),
            text: question.text(),
            kind: question.subject as u32,
            answer: question.answer(&image),
        };
        let questions = kinds.iter().flat_map(of_kind).map(question).collect();
        Example { questions, scene: Scene::Image(image) }
    };
    let part = |first: usize, count: usize| -> Vec<Example> {
        (first as u64..(first + count) as u64).into_par_iter().map(example).collect()
    };
    let (train, held_out) = (config.scenes, config.held_out);
    Dataset {
        name: "Sort-of-CLEVR".to_owned(),
        answers: sort_of_clevr::ANSWERS.map(str::to_owned).to_vec(),
        kinds: Subject::ALL.map(|subject| subject.name().to_owned()).to_vec(),
        words: Vec::new(),
        bits: ImageQuestion::BITS,
        pictures: true,
        train: part(0, train),
        validation: part(train, held_out),
        test: part(train + held_out, held_out),
    }
}

/// Scenes and questions in CLEVR's form: generated, or read from the directory of the published ones.
fn clevr(config: &ReasonConfig) -> Result<Dataset> {
    let [train, validation, test] = match &config.path {
        Some(path) => published(path, config)?,
        None => generated(config),
    };
    let texts = train.questions.iter().map(|question| &question.text[..]);
    let vocabulary = Vocabulary::new(texts);
    let examples = |part: &clevr::Dataset, split: &str| {
        let examples = examples(part, &vocabulary).map_err(|message| match &config.path {
            Some(path) => {
                let file = published_file(path, split, "questions");
                AppError::usage(format!("{}: {message}", file.display()))
            }
            None => AppError::usage(message),
        })?;
        if config.pixels { with_pictures(examples, config, split) } else { Ok(examples) }
    };
    let words = ["unknown".to_owned()].into_iter().chain(vocabulary.words().iter().cloned());
    Ok(Dataset {
        name: match (config.path.is_some(), config.pixels) {
            (true, false) => "CLEVR",
            (true, true) => "CLEVR in pictures",
            (false, false) => "generated CLEVR",
            (false, true) => "generated CLEVR in pictures",
        }
        .to_owned(),
        answers: Answer::all().map(|answer| answer.to_string()).collect(),
        kinds: QuestionKind::ALL.map(|kind| kind.to_string()).to_vec(),
        words: words.collect(),
        bits: 0,
        pictures: config.pixels,
        train: examples(&train, "train")?,
        validation: examples(&validation, "train")?,
        test: examples(&test, "val")?,
    })
}

/// Generated scenes and questions for training, validation and test, of different blocks.
fn generated(config: &ReasonConfig) -> [clevr::Dataset; 3] {
    let blocks = |scenes: usize| scenes.div_ceil(BLOCK) as u64;
    let (scenes, held_out) = (config.scenes, config.held_out);
    let part = |split: &str, first: u64, scenes: usize| {
        Generator::new(config.data_seed, split).generate(first, scenes)
    };
    [
        part("train", 0, scenes),
        part("val", blocks(scenes), held_out),
        part("test", blocks(scenes) + blocks(held_out), held_out),
    ]
}

/// The published scenes and questions, as their archive has them. Those of the published test have no
/// answers: the published validation is the test here, and the last scenes for training are the validation.
fn published(path: &Path, config: &ReasonConfig) -> Result<[clevr::Dataset; 3]> {
    let read = |split: &str| {
        let file = |what: &str| published_file(path, split, what);
        clevr::Dataset::read(&file("scenes"), &file("questions"))
    };
    let (train, test) = (read("train")?, read("val")?);
    let (found, held_out) = (train.scenes.len(), config.held_out);
    if found <= held_out {
        let message = format!("--held-out {held_out}: {} has {found} scenes to train with", path.display());
        return Err(AppError::usage(message));
    }
    let first = found - held_out;
    let [for_training, validation] = [0..first.min(config.scenes), first..found].map(|scenes| {
        let inside = train.questions.iter().filter(|question| scenes.contains(&question.scene));
        let moved = inside
            .map(|question| clevr::Question { scene: question.scene - scenes.start, ..question.clone() });
        clevr::Dataset { questions: moved.collect(), scenes: train.scenes[scenes.clone()].to_vec() }
    });
    let file = published_file(path, "train", "questions");
    for (part, what) in [(&for_training, "to train with"), (&validation, "of the validation, the last")] {
        if part.questions.is_empty() {
            let message = format!(
                "no question is about the {} scenes {what}; --held-out {held_out} says which",
                part.scenes.len()
            );
            return Err(AppError::content(&file, message));
        }
    }
    Ok([for_training, validation, test])
}

/// The same examples with pictures of their scenes: the published ones of `split`, or drawn ones.
fn with_pictures(examples: Vec<Example>, config: &ReasonConfig, split: &str) -> Result<Vec<Example>> {
    let directory = config.path.as_ref().map(|path| path.join("images").join(split));
    let picture = |example: Example| {
        let Scene::Objects(scene) = example.scene else { return Ok(example) };
        let file = directory.as_ref().map(|directory| directory.join(&scene.filename));
        let known = |file: PathBuf| codec::read_header(&file).map(|header| (file, header.checksum));
        let file = file.map(known).transpose()?;
        let picture = clevr::Picture { scene, file, side: config.image_size };
        Ok(Example { scene: Scene::Picture(picture), questions: example.questions })
    };
    // The first error by the order of scenes, whatever thread meets one first.
    let examples: Vec<Result<Example>> = examples.into_par_iter().map(picture).collect();
    examples.into_iter().collect()
}

/// The place of a published file in its directory, plain or gzip.
fn published_file(directory: &Path, split: &str, what: &str) -> PathBuf {
    let plain = directory.join(what).join(format!("CLEVR_{split}_{what}.json"));
    let zipped = plain.with_extension("json.gz");
    if zipped.exists() && !plain.exists() { zipped } else { plain }
}

/// The scenes that have questions, with these; or what is missing of a question.
fn examples(part: &clevr::Dataset, vocabulary: &Vocabulary) -> std::result::Result<Vec<Example>, String> {
    let mut questions: Vec<Vec<Question>> = vec![Vec::new(); part.scenes.len()];
    for question in &part.questions {
        let missing = |what: &str| format!("the question {:?} has no {what}", question.text);
        let answer = question.answer.ok_or_else(|| missing("answer"))?;
        let kind = question.kind().ok_or_else(|| missing("program of a known kind"))?;
        questions[question.scene].push(Question {
            reading: Reading::Words(vocabulary.encode(&question.text)?),
            text: question.text.clone(),
            kind: kind as u32,
            answer: answer.number() as u32,
        });
    }
    let scenes = part.scenes.iter().zip(questions).filter(|(_, questions)| !questions.is_empty());
    Ok(scenes.map(|(scene, questions)| Example { scene: Scene::Objects(scene.clone()), questions }).collect())
}

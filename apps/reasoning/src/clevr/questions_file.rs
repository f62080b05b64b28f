//! The file of questions, as published: `CLEVR_train_questions.json`. Those to test with have neither answers
//! nor programs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{json, table};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::answer::Answer;
use super::dataset::Dataset;
use super::program::{FileNode, Program};
use super::questions::Question;
use super::scene::Scene;
use super::scenes_file::Info;

#[derive(Deserialize)]
struct File {
    questions: Vec<Parsed>,
}

#[derive(Serialize, Deserialize)]
struct FileQuestion<'a> {
    #[serde(default)]
    question_index: usize,
    #[serde(default)]
    split: Cow<'a, str>,
    image_index: u64,
    #[serde(default)]
    image_filename: Cow<'a, str>,
    question: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<Vec<FileNode<'a>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question_family_index: Option<usize>,
}

/// A question of a file, which does not know the scenes. It takes less memory than what it is made from.
#[derive(Deserialize)]
#[serde(from = "FileQuestion<'_>")]
struct Parsed {
    image_index: u64,
    text: String,
    answer: std::result::Result<Option<Answer>, String>,
    program: std::result::Result<Option<Program>, String>,
    family: Option<usize>,
}

impl From<FileQuestion<'_>> for Parsed {
    fn from(question: FileQuestion<'_>) -> Self {
        let program = question.program.map(|nodes| Program::parse(&nodes)).transpose();
        Parsed {
            image_index: question.image_index,
            text: question.question.into_owned(),
            answer: question.answer.as_ref().map(parse_answer).transpose(),
            program: program.map_err(|cause| format!("its program: {cause}")),
            family: question.question_family_index,
        }
    }
}

/// The answer of the published files, which are texts, or of their generator.
fn parse_answer(value: &Value) -> std::result::Result<Answer, String> {
    let answer = match value {
        Value::Bool(yes) => Some(Answer::Bool(*yes)),
        Value::Number(number) => Answer::find(&number.to_string()),
        Value::String(word) => Answer::find(word),
        _ => None,
    };
    answer.ok_or_else(|| format!("the answer {value} is none of the {}", Answer::COUNT))
}

/// Reads a file of questions about these scenes, plain or gzip. Each program is run, so an answer that it
/// contradicts is found.
///
/// # Errors
/// If the file cannot be read, is not JSON in the published format, or has no questions. If there is no scene
/// of a question's `image_index`, its text is empty, its answer unknown, its program wrong (see
/// [`Program::parse`]) or one that fails on the scene, or the answer is not that of the program. The error
/// names the question, from 0.
pub fn read(path: &Path, scenes: &[Scene]) -> Result<Vec<Question>> {
    let content = table::content(path)?;
    let file: File = json::parse(path, &content)?;
    if file.questions.is_empty() {
        return Err(AppError::content(path, "no questions"));
    }
    let places: HashMap<u64, usize> =
        scenes.iter().enumerate().map(|(place, scene)| (scene.index, place)).collect();
    let question = |(number, question): (usize, Parsed)| {
        question
            .check(&places, scenes)
            .map_err(|cause| AppError::content(path, format!("question {number}: {cause}")))
    };
    file.questions.into_iter().enumerate().map(question).collect()
}

impl Parsed {
    fn check(self, places: &HashMap<u64, usize>, scenes: &[Scene]) -> std::result::Result<Question, String> {
        let index = self.image_index;
        let &scene = places.get(&index).ok_or_else(|| format!("there is no scene {index}"))?;
        if self.text.trim().is_empty() {
            return Err("an empty text".to_owned());
        }
        let (answer, program) = (self.answer?, self.program?);
        if let Some(program) = &program {
            let found = program.run(&scenes[scene]);
            let found = found.map_err(|error| format!("its program on scene {index}: {error}"))?;
            if let Some(answer) = answer.filter(|answer| *answer != found) {
                return Err(format!("its answer is {answer}; its program finds {found} on scene {index}"));
            }
        }
        Ok(Question { scene, text: self.text, answer, program, family: self.family })
    }
}

/// Writes a file of questions.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, data: &Dataset) -> Result<()> {
    #[derive(Serialize)]
    struct Content<'a> {
        info: Info<'a>,
        #[serde(serialize_with = "questions")]
        questions: &'a Dataset,
    }
    fn questions<S: Serializer>(data: &Dataset, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_seq(data.questions.iter().enumerate().map(|(number, question)| {
            let scene = &data.scenes[question.scene];
            FileQuestion {
                question_index: number,
                split: scene.split.as_str().into(),
                image_index: scene.index,
                image_filename: scene.filename.as_str().into(),
                question: question.text.as_str().into(),
                answer: question.answer.map(|answer| answer.to_string().into()),
                program: question.program.as_ref().map(Program::file_nodes),
                question_family_index: question.family,
            }
        }))
    }
    let content = Content { info: Info::new(&data.scenes), questions: data };
    let write = |writer: &mut dyn io::Write| Ok(serde_json::to_writer(writer, &content)?);
    atomic::write(path, write).map_err(AppError::io(path))
}

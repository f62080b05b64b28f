//! Pictures of a trained model as SVG: accuracy by kind of question, and scenes with answers and attention.

use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent::prelude::*;
use cotangent_apps_common::chart::{Bars, Frame, round, text};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::lettering;
use cotangent_apps_pictures::{Raster, codec};
use svg::node::element::{Circle, Group, Rectangle};

use super::answers::Answers;
use super::dataset::{Dataset, Example, Scene};
use super::model::Reasoner;
use crate::clevr;
use crate::clevr::attribute::{Attribute, AttributeValue};
use crate::sort_of_clevr::{COLOURS, Image, SIDE, Shape};

/// Draws the accuracy by kind of question, beside that of the most common answer of the kind.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn accuracy(path: &Path, title: &str, answers: &Answers) -> Result<()> {
    let shares = |count: fn(&super::KindAnswers) -> usize| {
        answers.kinds.iter().map(|kind| count(kind) as f64 / kind.questions as f64).collect()
    };
    let bars = Bars {
        title,
        axis: "kind of question",
        labels: answers.kinds.iter().map(|kind| kind.kind.clone()).collect(),
        series: vec![
            ("accuracy", shares(|kind| kind.correct)),
            ("most common answer of the kind", shares(|kind| kind.constant)),
        ],
        dashed: Some(("accuracy of all questions", answers.accuracy())),
    };
    bars.draw(path)
}

/// Columns and rows of the sheet of scenes.
const SHEET: [usize; 2] = [4, 2];
/// Width and height of a cell, and the side of the scene in it, in pixels.
const CELL: [f64; 2] = [240.0, 372.0];
const SCENE: f64 = 208.0;
const TOP: f64 = 62.0;

/// Draws some scenes of the test, each with a question, the model's answer and how much each object is read:
/// the sum of its weights over all objects that read it, beside the largest such sum.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn answers(
    path: &Path,
    title: &str,
    model: &Reasoner,
    data: &Dataset,
    tape: &mut Tape<f32>,
) -> Result<()> {
    let [columns, rows] = SHEET;
    let size = [CELL[0] * columns as f64 + 16.0, CELL[1] * rows as f64 + TOP];
    let frame = Frame { size, across: [0.0, size[0]], down: [0.0, size[1]] };
    let mut document = frame.sheet(title);
    let legend = "the model's answer; darker: the object at this place is read more";
    document = document.add(text(legend, size[0] / 2.0, 48.0, "middle"));
    for (number, example) in data.test.iter().take(columns * rows).enumerate() {
        let answered = Answered::new(model, example, number, tape)?;
        let [column, row] = [number % columns, number / columns].map(|place| place as f64);
        let place = format!("translate({} {})", 16.0 + CELL[0] * column, TOP + CELL[1] * row);
        document = document.add(answered.cell(data)?.set("transform", place));
    }
    atomic::write(path, |w| svg::write(w, &document)).map_err(AppError::io(path))
}

/// A question about a scene, and what the model makes of it.
struct Answered<'a> {
    example: &'a Example,
    /// The number of the question.
    question: usize,
    /// The number of the model's answer.
    answer: u32,
    /// How much each object is read, from 0 to 1; empty if there are no weights.
    read: Vec<f64>,
}

impl<'a> Answered<'a> {
    /// The answer to one of the questions, which `number` chooses.
    fn new(model: &Reasoner, example: &'a Example, number: usize, tape: &mut Tape<f32>) -> Result<Self> {
        tape.reset();
        let examples = [example];
        let batch = model.batch(&examples, None)?;
        let question = number % example.questions.len();
        let answer = model.logits(tape, &batch).top_k(1).1[question];
        let read = model.weights(tape, &batch).map_or(Vec::new(), |weights| {
            let shape = weights.shape();
            let (places, n) = (shape[1], shape.width());
            let sums = weights.sum_axis(-2).to_tensor(); // [1, questions or 1, n]
            let sums = &sums.data()[(question % places) * n..][..n];
            let largest = sums.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
            sums.iter().map(|&sum| f64::from(sum / largest)).collect()
        });
        Ok(Answered { example, question, answer, read })
    }

    /// The scene, and below it question and answer.
    fn cell(&self, data: &Dataset) -> Result<Group> {
        let question = &self.example.questions[self.question];
        let mut group = match &self.example.scene {
            Scene::Image(image) => self.picture(image),
            Scene::Objects(scene) => self.plan(scene),
            Scene::Picture(picture) => self.read_over(photograph(&picture.raster()?)),
        };
        let mut y = SCENE + 20.0;
        for line in lettering::wrap(&question.text, 13.0, SCENE) {
            group = group.add(text(&line, 0.0, y, "start"));
            y += 17.0;
        }
        let names = [self.answer, question.answer].map(|answer| &data.answers[answer as usize]);
        let (line, colour) = match names[0] == names[1] {
            true => (format!("{} (right)", names[0]), "#2a7a2a"),
            false => (format!("{} (wrong: {})", names[0], names[1]), "#b02020"),
        };
        let answer = text(&line, 0.0, y + 2.0, "start").set("fill", colour);
        Ok(group.add(answer.set("font-weight", "bold")))
    }

    /// The picture, and over it the attention.
    fn picture(&self, image: &Image) -> Group {
        let scale = SCENE / SIDE as f64;
        let mut group =
            Group::new().add(square(0.0, 0.0, SCENE).set("fill", "white").set("stroke", "#888888"));
        for (object, (_, [red, green, blue])) in image.objects.iter().zip(COLOURS) {
            let [x, y] = object.centre.map(|place| (f64::from(place) + 0.5) * scale);
            let (fill, radius) = (format!("rgb({red},{green},{blue})"), 5.5 * scale);
            group = match object.shape {
                Shape::Square => group.add(square(x - radius, y - radius, 2.0 * radius).set("fill", fill)),
                Shape::Circle => group.add(circle(x, y, radius).set("fill", fill)),
            };
        }
        self.read_over(group)
    }

    /// A picture, and over it the attention to its places.
    fn read_over(&self, mut group: Group) -> Group {
        let grid = (self.read.len() as f64).sqrt().round();
        let side = SCENE / grid;
        for (place, &read) in self.read.iter().enumerate() {
            let [x, y] = [place as f64 % grid, (place as f64 / grid).floor()].map(|place| place * side);
            let shade = square(x, y, side).set("fill", "black").set("stroke", "#cccccc");
            group = group.add(shade.set("fill-opacity", (0.45 * read * 100.0).round() / 100.0));
        }
        group
    }

    /// The objects seen from above, cubes as squares, cylinders with a second circle, metal with a black
    /// edge; behind each a disc as dark as it is read.
    fn plan(&self, scene: &clevr::Scene) -> Group {
        let scale = SCENE / PLAN;
        let mut group =
            Group::new().add(square(0.0, 0.0, SCENE).set("fill", "white").set("stroke", "#888888"));
        for (number, object) in scene.objects.iter().enumerate() {
            let [x, y, _] = object.position.map(f64::from);
            let ([x, y], radius) = ([PLAN / 2.0 + x, PLAN / 2.0 - y], f64::from(object.radius()));
            let [x, y, radius] = [x, y, radius].map(|length| length * scale);
            let halo = self.read.get(number).map_or(0.0, |read| (0.6 * read * 100.0).round() / 100.0);
            group = group.add(circle(x, y, radius + 6.0).set("fill", "black").set("fill-opacity", halo));
            let [red, green, blue] = object.colour().map(|level| (255.0 * level).round());
            let fill = format!("rgb({red},{green},{blue})");
            let edge =
                if object.value(Attribute::Material) == AttributeValue::Metal { "black" } else { "none" };
            let shape = object.value(Attribute::Shape);
            if shape == AttributeValue::Cube {
                let cube = square(x - radius, y - radius, 2.0 * radius);
                group = group.add(cube.set("fill", fill).set("stroke", edge).set("stroke-width", 2));
            } else {
                let round = circle(x, y, radius).set("fill", fill).set("stroke", edge);
                group = group.add(round.set("stroke-width", 2));
            }
            if shape == AttributeValue::Cylinder {
                let inner = circle(x, y, 0.6 * radius).set("fill", "none").set("stroke", "white");
                group = group.add(inner.set("stroke-width", 1.5));
            }
        }
        group
    }
}

/// A picture as large as a scene is drawn.
fn photograph(picture: &Raster) -> Group {
    let image = svg::node::element::Image::new().set("href", codec::data_url(picture));
    Group::new().add(image.set("width", SCENE).set("height", SCENE).set("preserveAspectRatio", "none"))
}

/// Width of the floor that a plan shows, in the units of the scene.
const PLAN: f64 = 7.6;

fn square(x: f64, y: f64, side: f64) -> Rectangle {
    let square = Rectangle::new().set("x", round(x)).set("y", round(y));
    square.set("width", round(side)).set("height", round(side))
}

fn circle(x: f64, y: f64, radius: f64) -> Circle {
    Circle::new().set("cx", round(x)).set("cy", round(y)).set("r", round(radius))
}

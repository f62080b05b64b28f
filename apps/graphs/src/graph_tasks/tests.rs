//! The model, and the options that a geometry decides.

use cotangent::layers::score::{Dot, PolarDistance};
use cotangent::prelude::*;
use cotangent_apps_common::attention::{AggregateOption, Scores, ValuesOption};
use cotangent_apps_common::config;
use cotangent_apps_common::space::Space;
use cotangent_apps_common::training::difference;

use super::answers::answer;
use super::config::GraphTasksConfig;
use super::disc::DiscGraph;
use super::model::{Questions, RecursiveTransformer};
use super::task::{Example, Lesson};

fn config(more: &str) -> GraphTasksConfig {
    let task: &[&str] = if more.contains("--task") { &[] } else { &["--task", "link"] };
    let needed = [task, &["--nodes", "8"]].concat();
    let more: Vec<&str> = more.split_whitespace().collect();
    config::parse::<GraphTasksConfig>(&[&needed[..], &more].concat()).complete()
}

/// A graph of six nodes, numbered by `order`, with two questions.
fn example(order: [u32; 6]) -> Example {
    let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 4)];
    let edges = edges.map(|(i, j): (usize, usize)| (order[i], order[j]));
    let points: Vec<(f64, f64)> = (0..6).map(|i| (1.0, f64::from(i))).collect();
    let pairs = [[0, 1], [2, 5]].map(|pair: [usize; 2]| pair.map(|node| order[node]));
    Example { graph: DiscGraph::new(&points, &edges), pairs: pairs.to_vec(), labels: vec![1, 0] }
}

const PLAIN: [u32; 6] = [0, 1, 2, 3, 4, 5];
const LESSON: Lesson = Lesson { angle: 360.0, nodes: 8 };

fn questions(order: [u32; 6], config: &GraphTasksConfig) -> Questions {
    Questions::new(&example(order), &LESSON, config)
}

fn model(config: &GraphTasksConfig) -> RecursiveTransformer<f64> {
    let score: &dyn Score<f64> = if config.geometry == Space::Hyperbolic { &PolarDistance } else { &Dot };
    RecursiveTransformer::new(config, score)
}

fn logits(model: &RecursiveTransformer<f64>, questions: &Questions) -> Tensor<f64> {
    model.logits(&Tape::new(), questions).to_tensor()
}

fn largest_difference(a: &Tensor<f64>, b: &Tensor<f64>) -> f64 {
    a.data().iter().zip(b.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The two nodes of a question may change places: no bit changes.
#[test]
fn questions_are_symmetric() {
    for more in ["", "--input neighbours --geometry euclidean", "--norm post"] {
        let config = config(more);
        let (mut swapped, plain) = (example(PLAIN), questions(PLAIN, &config));
        swapped.pairs.iter_mut().for_each(|pair| pair.reverse());
        let (model, swapped) = (model(&config), Questions::new(&swapped, &LESSON, &config));
        assert_eq!(logits(&model, &plain), logits(&model, &swapped), "{more}");
    }
}

/// Message passing does not see the nodes' numbers; the adjacency rows do.
#[test]
fn numbers_of_nodes_matter_to_adjacency_rows_alone() {
    for (more, matters) in [("--input neighbours", false), ("--input adjacency", true)] {
        for geometry in ["hyperbolic", "euclidean"] {
            let config = config(&format!("{more} --geometry {geometry}"));
            let model = model(&config);
            let answers = [PLAIN, [3, 0, 5, 1, 2, 4]].map(|order| logits(&model, &questions(order, &config)));
            let difference = largest_difference(&answers[0], &answers[1]);
            assert_eq!(difference > 1e-9, matters, "{more} {geometry}: {difference}");
            // Without marks, message passing sees that the questions differ in their nodes.
            assert!(answers[0].row(0) != answers[0].row(1));
        }
    }
}

/// The block is applied as often as asked for, with one set of weights. Marks of nodes change the answers.
#[test]
fn weights_are_shared_and_nodes_are_marked() {
    let counts = ["--layers 1", "--layers 3", "--layers 3 --geometry euclidean"].map(|more| {
        let config = config(more);
        (model(&config).count(), logits(&model(&config), &questions(PLAIN, &config)))
    });
    assert!(counts.iter().all(|(count, _)| *count == counts[0].0), "equal parameters");
    assert!(counts[0].1 != counts[1].1 && counts[1].1 != counts[2].1);
    let config = config("--flags --input neighbours");
    let mut example = example(PLAIN);
    (example.pairs, example.labels) = (vec![[0, 2]], vec![0]);
    let marked = model(&config);
    // Nodes 0 and 2 are asked about, while others are marked.
    let mut unmarked = marked.clone();
    let mut state = unmarked.state();
    let flag = state.iter_mut().find(|(name, _)| name == "flag").unwrap();
    flag.1.data_mut().fill(0.0);
    unmarked.load_state(state).unwrap();
    let questions = Questions::new(&example, &LESSON, &config);
    assert!(logits(&marked, &questions) != logits(&unmarked, &questions));
}

/// Row i of the table is for the same angle, whatever the number of nodes of the whole disc.
#[test]
fn rows_of_the_table_are_stretched() {
    let config = config("");
    let model = model(&config);
    let answers = [8, 8, 6].map(|nodes| {
        let lesson = Lesson { angle: 360.0, nodes };
        logits(&model, &Questions::new(&example(PLAIN), &lesson, &config))
    });
    assert!(answers[0] == answers[1] && answers[0] != answers[2]);
}

/// The derivative along a random direction of all parameters is that by finite differences.
#[test]
fn gradients_of_models() {
    for more in ["", "--input neighbours --weights sigmoid", "--geometry euclidean --norm post"] {
        let config = config(more);
        let (model, questions) = (model(&config), questions(PLAIN, &config));
        let direction: Vec<f64> = (0..model.count()).map(|i| (1.7 * i as f64).sin()).collect();
        let tape = Tape::new();
        let gradients = tape.backward(model.loss(&tape, &questions));
        let (mut along, mut directions) = (0.0, direction.iter());
        model.each(|_, param| {
            let (len, width) = (param.value().len(), param.value().width());
            let direction: Vec<&f64> = directions.by_ref().take(len).collect();
            let Some(gradient) = gradients.param(param.id()) else { return };
            let products = gradient.to_dense(len / width, width).into_iter().zip(direction);
            along += products.map(|(g, d)| g * d).sum::<f64>();
        });
        let loss_at = |h: f64| {
            let (mut moved, mut steps) = (model.clone(), direction.iter());
            let mut state = moved.state();
            for (name, value) in &mut state {
                let h = if name.ends_with("sharpness") && !config.options.learn_sharpness { 0.0 } else { h };
                value.data_mut().iter_mut().zip(steps.by_ref()).for_each(|(x, d)| *x += h * d);
            }
            moved.load_state(state).unwrap();
            moved.loss(&Tape::new(), &questions).item()
        };
        let h = 1e-6;
        let finite = (loss_at(h) - loss_at(-h)) / (2.0 * h);
        assert!((along / finite - 1.0).abs() < 1e-6, "{more}: {along} {finite}");
    }
}

#[test]
fn a_geometry_decides_the_parts_of_attention() {
    let (hyperbolic, euclidean) = (config(""), config("--geometry euclidean"));
    assert_eq!((&*hyperbolic.attention, &*euclidean.attention), ("polar-distance", "dot"));
    assert_eq!(hyperbolic.options.aggregate, AggregateOption::Barycentre);
    assert_eq!(euclidean.options.aggregate, AggregateOption::Euclidean);
    assert_eq!([&hyperbolic, &euclidean].map(|c| c.options.learn_sharpness), [true, false]);
    assert_eq!(hyperbolic.options.values, ValuesOption::Polar);
    assert_eq!(euclidean.clone().in_space(Space::Hyperbolic), hyperbolic);
    assert_eq!(hyperbolic.clone().in_space(Space::Euclidean), euclidean);
    // Each part by itself.
    for more in ["--aggregate euclidean", "--geometry euclidean --aggregate einstein", "--attention dot"] {
        config(more).check(&Scores::default()).unwrap();
    }
    assert_eq!(config("--aggregate euclidean").options.values, ValuesOption::Exp);
    assert_eq!(config("--task path").pass, 0.4);
    assert_eq!(config("--flags").questions(), 1);
}

/// The lessons end with the whole disc. A resumed run may have more epochs.
#[test]
fn lessons_are_parsed_and_checked() {
    let lessons = |more: &str| -> Vec<(f64, usize)> {
        config(more).lessons().iter().map(|lesson| (lesson.angle, lesson.nodes)).collect()
    };
    assert_eq!(lessons("--curriculum 30:4,90"), [(30.0, 4), (90.0, 8), (360.0, 8)]);
    assert_eq!(lessons("--no-curriculum"), [(360.0, 8)]);
    for (wrong, message) in [("0", "an angle above 0"), ("400", "up to 360"), ("30:9", "from 2 to 8")] {
        let error = config(&format!("--curriculum {wrong}")).check(&Scores::default()).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
    let (base, longer) = (config("--curriculum 30"), config("--curriculum 30 --epochs 50 --lesson-epochs 9"));
    assert_eq!(difference(&base, &longer), None);
    assert_eq!(difference(&base, &config("--curriculum 60")).as_deref(), Some("curriculum"));
    let read: GraphTasksConfig = serde_json::from_value(serde_json::json!(longer)).unwrap();
    assert_eq!(read, longer);
}

/// An answer is the class with the largest logit.
#[test]
fn answers_are_counted_by_class() {
    let config = config("");
    let (model, mut asked) =
        (RecursiveTransformer::<f32>::new(&config, &PolarDistance), questions(PLAIN, &config));
    let logits = model.logits(&Tape::new(), &asked).to_tensor();
    let largest = |row: &[f32]| (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap() as u32;
    asked.labels = logits.rows().map(largest).collect();
    let classes = config.task.classes();
    let right = answer(&model, classes, &[asked.clone(), asked.clone()], &mut Tape::new());
    assert_eq!((right.questions(), right.accuracy(), right.not_finite), (4, 1.0, 0));
    assert_eq!(
        right.classes[asked.labels[0] as usize].correct,
        right.classes[asked.labels[0] as usize].questions
    );
    asked.labels[1] = (asked.labels[1] + 1) % classes as u32;
    assert_eq!(answer(&model, classes, &[asked], &mut Tape::new()).accuracy(), 0.5);
}

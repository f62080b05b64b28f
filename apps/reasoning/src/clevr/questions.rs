//! Questions, and how they are generated: blocks of scenes with about ten questions each.
//!
//! The rules are those of the published generator: Johnson et al. 2017, section 3.3, and its program at
//! commit f0ce2c81. Only a `relate` that a template has by itself must change the answer; one that it has
//! together with a filter may make no difference in a tenth of the options. `OUT_NEQ` compares what nodes
//! return: two `filter_count` differ if their numbers do, so the first template of `compare_integer.json` is
//! always answered no, and has one question in a block.
//!
//! What is ours: descriptions that fit nothing are drawn without repetition, and the options of a node once
//! for each input.

use cotangent::prelude::rng::{self, Rng};
use rayon::prelude::*;

use super::answer::Answer;
use super::balance::Balance;
use super::dataset::Dataset;
use super::instance;
use super::kind::QuestionKind;
use super::options::Descriptions;
use super::placement::random_scene;
use super::program::Program;
use super::scene::Scene;
use super::template::{self, Template};
use super::wording;

/// Number of scenes after which the counts of templates and answers begin anew.
pub const BLOCK: usize = 250;

/// Number of questions of a scene, each of another template, unless fewer are found.
pub const TEMPLATES_PER_SCENE: usize = 10;

/// A question about a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The place of its scene in [`Dataset::scenes`].
    pub scene: usize,
    /// The question in English.
    pub text: String,
    /// The answer; `None` in files of questions to test with, which keep it back.
    pub answer: Option<Answer>,
    /// The program that finds the answer; `None` where the file keeps it back.
    pub program: Option<Program>,
    /// The number of its template; `None` where the file keeps it back.
    pub family: Option<usize>,
}

impl Question {
    /// Its kind, if its program is known.
    pub fn kind(&self) -> Option<QuestionKind> {
        self.program.as_ref().and_then(QuestionKind::find)
    }
}

/// Generates scenes and questions. They have CLEVR's form and are none of the published ones.
#[derive(Clone, Debug)]
pub struct Generator {
    /// The seed.
    pub seed: u64,
    /// The name of the part of the data, which changes nothing else.
    pub split: String,
    /// The templates. A question's family is the place of its template here.
    pub templates: Vec<Template>,
}

impl Generator {
    /// A generator with the published templates.
    pub fn new(seed: u64, split: &str) -> Self {
        Generator { seed, split: split.to_owned(), templates: template::published().to_vec() }
    }

    /// So many scenes with their questions, from the beginning of a block on. Blocks are made side by side,
    /// and depend on the seed and their numbers alone. Parts of the data that must differ begin at blocks
    /// that the others do not reach.
    pub fn generate(&self, first_block: u64, scenes: usize) -> Dataset {
        let block = |number: usize| {
            let count = BLOCK.min(scenes - number * BLOCK);
            self.block(first_block + number as u64, count)
        };
        let blocks: Vec<Dataset> = (0..scenes.div_ceil(BLOCK)).into_par_iter().map(block).collect();
        let mut all = Dataset::default();
        blocks.into_iter().for_each(|block| all.append(block));
        all
    }

    /// The first `scenes` of the [`BLOCK`] scenes of a block, with their questions.
    ///
    /// For each scene the templates are tried in the order of how many questions they have in the block so
    /// far, the fewest first, until [`TEMPLATES_PER_SCENE`] have one.
    ///
    /// # Panics
    /// If a block has fewer scenes.
    pub fn block(&self, number: u64, scenes: usize) -> Dataset {
        assert!(scenes <= BLOCK, "{scenes} scenes of a block of {BLOCK}");
        let mut rng = rng::stream(self.seed, "clevr questions", number);
        let mut tallies: Vec<Tally> = self.templates.iter().map(Tally::new).collect();
        let mut block = Dataset::default();
        for place in 0..scenes {
            let scene = random_scene(self.seed, number * BLOCK as u64 + place as u64, &self.split);
            block.questions.extend(self.ask(&scene, place, &mut tallies, &mut rng));
            block.scenes.push(scene);
        }
        block
    }

    /// The questions about a scene.
    fn ask(&self, scene: &Scene, place: usize, tallies: &mut [Tally], rng: &mut Rng) -> Vec<Question> {
        let descriptions = Descriptions::new(scene);
        let mut order: Vec<usize> = (0..tallies.len()).collect();
        order.sort_by_key(|&family| tallies[family].questions);
        let mut questions = Vec::with_capacity(TEMPLATES_PER_SCENE);
        for family in order {
            let (template, tally) = (&self.templates[family], &mut tallies[family]);
            let found = instance::find(template, scene, &descriptions, &tally.balance, rng);
            let Some(instance) = found else { continue };
            tally.questions += 1;
            tally.balance.add(instance.answer);
            questions.push(Question {
                scene: place,
                text: wording::word(&template.texts, &template.parameters, &instance.values, rng),
                answer: Some(instance.answer),
                program: Some(instance.program),
                family: Some(family),
            });
            if questions.len() == TEMPLATES_PER_SCENE {
                break;
            }
        }
        questions
    }
}

/// The questions of a template in a block so far.
struct Tally {
    questions: u32,
    balance: Balance,
}

impl Tally {
    fn new(template: &Template) -> Self {
        Tally { questions: 0, balance: Balance::new(template.answer) }
    }
}

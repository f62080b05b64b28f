//! A question of a template on a scene: a search over the values of its parameters.
//!
//! The search goes through the nodes of the template, and tries the options of each in random order. It
//! remembers with which results of nodes it found no question, and does not search there twice.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use cotangent::prelude::rng::Rng;
use rand::seq::SliceRandom;

use super::answer::Answer;
use super::balance::Balance;
use super::function::{Constant, Value};
use super::options::Descriptions;
use super::program::{Program, ProgramNode};
use super::scene::Scene;
use super::template::{Choice, Template};

/// What a node returns: first as it is, then once for each `relate` of the template's own, as if that
/// returned all objects. `None` where a `unique` fails.
type Results = Vec<Option<Value>>;

/// The values that the search has found.
pub(super) struct Instance {
    /// The program, in plain functions.
    pub(super) program: Program,
    /// The value of each parameter; `None` where it has none.
    pub(super) values: Vec<Option<Constant>>,
    pub(super) answer: Answer,
}

/// Searches for a question with an answer that the balance accepts, and to which each `relate` of the
/// template's own matters: leaving it out changes the answer, or makes the program fail.
pub(super) fn find(
    template: &Template,
    scene: &Scene,
    descriptions: &Descriptions,
    balance: &Balance,
    rng: &mut Rng,
) -> Option<Instance> {
    let relates = (0..template.nodes.len()).filter(|&node| template.is_raw_relate(node)).collect();
    let live = (0..template.nodes.len()).map(|node| template.live(node)).collect();
    let mut search = Search {
        template,
        scene,
        descriptions,
        balance,
        rng,
        relates,
        live,
        options: HashMap::new(),
        failed: HashSet::new(),
        choices: Vec::new(),
        results: Vec::new(),
    };
    search.next().then(|| search.instance())
}

struct Search<'a> {
    template: &'a Template,
    scene: &'a Scene,
    descriptions: &'a Descriptions,
    balance: &'a Balance,
    rng: &'a mut Rng,
    /// The nodes that are a `relate` of their own.
    relates: Vec<usize>,
    /// For each node, the earlier ones whose results matter from there on.
    live: Vec<Vec<usize>>,
    /// The options of a node with an input, drawn once.
    options: HashMap<(usize, Option<Value>), Rc<[Choice]>>,
    /// Nodes, and the results that matter, with which no question was found.
    failed: HashSet<(usize, Results)>,
    /// What was chosen for the nodes so far.
    choices: Vec<Choice>,
    /// What the nodes so far return.
    results: Vec<Results>,
}

impl Search<'_> {
    /// Chooses values for the next node and those after it, or returns false if there are none.
    fn next(&mut self) -> bool {
        let node = self.results.len();
        if node == self.template.nodes.len() {
            return self.accepts();
        }
        let live = self.live[node].iter().flat_map(|&earlier| self.results[earlier].iter().copied());
        let state = (node, live.collect());
        if self.failed.contains(&state) {
            return false;
        }
        let options = self.options(node);
        let mut order: Vec<usize> = (0..options.len()).collect();
        order.shuffle(self.rng);
        for option in order {
            let results = self.results(node, &options[option]);
            if results[0].is_none() || self.equals_another(node, &results) {
                continue;
            }
            self.choices.push(options[option]);
            self.results.push(results);
            if self.next() {
                return true;
            }
            self.choices.pop();
            self.results.pop();
        }
        self.failed.insert(state);
        false
    }

    fn options(&mut self, node: usize) -> Rc<[Choice]> {
        let Search { template, scene, descriptions, .. } = *self;
        let wanted = &template.nodes[node];
        let input = wanted.inputs.first().and_then(|&input| self.results[input][0]);
        let draw = || descriptions.options(scene, wanted, &template.parameters, input, self.rng).into();
        self.options.entry((node, input)).or_insert_with(draw).clone()
    }

    /// What a node returns with this choice.
    fn results(&self, node: usize, choice: &Choice) -> Results {
        let template = &self.template.nodes[node];
        let all = Value::Objects(self.scene.all());
        let result = |world: usize| {
            if world > 0 && self.relates[world - 1] == node {
                return Some(all);
            }
            let mut inputs = [all; 2];
            for (place, &input) in inputs.iter_mut().zip(&template.inputs) {
                *place = self.results[input][world]?;
            }
            let mut count = template.inputs.len();
            for (function, constant) in template.call.steps(choice) {
                inputs[0] = function.apply(self.scene, &inputs[..count], constant).ok()?;
                count = 1;
            }
            Some(inputs[0])
        };
        (0..=self.relates.len()).map(result).collect()
    }

    /// Whether a node's results equal those of an earlier node that they must differ from.
    fn equals_another(&self, node: usize, results: &Results) -> bool {
        let pairs = self.template.different.iter().filter(|pair| pair.iter().max() == Some(&node));
        let mut others = pairs.flatten().filter(|&&other| other != node);
        others.any(|&other| self.results[other][0] == results[0])
    }

    fn accepts(&self) -> bool {
        let results = &self.results[self.results.len() - 1];
        let matters = results[1..].iter().all(|without| *without != results[0]);
        matters && self.balance.accepts(answer(results))
    }

    /// The question of the choices.
    fn instance(self) -> Instance {
        let template = self.template;
        let mut values = vec![None; template.parameters.len()];
        let mut program = Vec::new();
        // For each node of the template, the node of the program that returns its result.
        let mut last: Vec<usize> = Vec::new();
        for (node, choice) in template.nodes.iter().zip(&self.choices) {
            for (&parameter, value) in node.parameters.iter().zip(choice) {
                values[parameter] = *value;
            }
            let mut inputs: Vec<usize> = node.inputs.iter().map(|&input| last[input]).collect();
            for (function, constant) in node.call.steps(choice) {
                program.push(ProgramNode::new(function, &inputs, constant));
                inputs = vec![program.len() - 1];
            }
            last.push(inputs[0]);
        }
        let answer = answer(&self.results[self.results.len() - 1]);
        Instance { program: Program::trusted(program), values, answer }
    }
}

/// The answer that the last node returns.
fn answer(results: &Results) -> Answer {
    match results[0] {
        Some(Value::Answer(answer)) => answer,
        other => panic!("a template with the result {other:?}"),
    }
}

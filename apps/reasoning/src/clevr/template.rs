//! Question templates: a program with parameters, and wordings of the question.
//!
//! The files are JSON, a list of templates with the entries `params`, `nodes`, `text` and `constraints`:
//! Johnson et al. 2017, section 3.2, and the README of their generator's questions. Eight functions stand for
//! several: `relate_filter_unique` is a `relate`, a filter for each attribute that has a value, and `unique`.

use std::path::Path;
use std::sync::LazyLock;

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::json;
use serde::Deserialize;

use super::answer::Answer;
use super::function::{Constant, Function};
use super::metadata::{Signature, ValueType};
use super::program::Program;
use super::published;
use super::wording;

/// The largest number of parameters that a node takes: a relation and four attributes.
const MAX_PARAMETERS: usize = 5;

/// The largest number of nodes. Each stands for at most six of a program: one for each parameter, and the
/// last.
const MAX_NODES: usize = Program::LONGEST / (MAX_PARAMETERS + 1);

/// The values of a node's parameters, in their order; an attribute without a value is not asked for.
pub(super) type Choice = [Option<Constant>; MAX_PARAMETERS];

/// A template.
#[derive(Clone, Debug)]
pub struct Template {
    /// The name of its file.
    pub file: String,
    /// Its place in the file, from 0.
    pub index: usize,
    /// The wordings, with parameters such as `<Z2>` and optional parts in brackets.
    pub texts: Vec<String>,
    /// The name of each parameter, such as `<Z2>`, and its type.
    pub parameters: Vec<(String, ValueType)>,
    /// The nodes, each after those whose results it takes.
    pub(super) nodes: Vec<TemplateNode>,
    /// The type of the answer.
    pub answer: ValueType,
    /// Pairs of nodes whose results must differ (`OUT_NEQ`).
    pub(super) different: Vec<[usize; 2]>,
}

/// A node of a template.
#[derive(Clone, Debug)]
pub(super) struct TemplateNode {
    pub(super) call: Call,
    /// The nodes whose results it takes.
    pub(super) inputs: Vec<usize>,
    /// Its parameters, by number.
    pub(super) parameters: Vec<usize>,
    /// For each of these, whether it must have no value (`NULL`).
    pub(super) empty: Vec<bool>,
}

/// What a node of a template does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// One function.
    Plain(Function),
    /// A `relate` if there is one, the filters that have values, and the last function if there is one.
    Filter { relate: bool, last: Option<Function> },
}

impl Call {
    /// The call of a name in `metadata.json`.
    fn find(name: &str) -> Option<Call> {
        if let Some(function) = Function::find(name) {
            return Some(Call::Plain(function));
        }
        let (relate, filter) = name.strip_prefix("relate_").map_or((false, name), |filter| (true, filter));
        match filter.strip_prefix("filter")? {
            "" => Some(Call::Filter { relate, last: None }),
            last => {
                Function::find(last.strip_prefix('_')?).map(|last| Call::Filter { relate, last: Some(last) })
            }
        }
    }

    /// The plain functions that the call stands for: the first takes the node's inputs, every other one what
    /// the one before it returns.
    pub(super) fn steps(self, choice: &Choice) -> impl Iterator<Item = (Function, Option<Constant>)> {
        let (plain, last, constants) = match self {
            Call::Plain(function) => (Some((function, choice[0])), None, [None; MAX_PARAMETERS]),
            Call::Filter { last, .. } => (None, last.map(|last| (last, None)), *choice),
        };
        let step = |constant| match constant {
            Constant::Relation(_) => (Function::Relate, Some(constant)),
            Constant::Value(value) => (Function::Filter(value.attribute()), Some(constant)),
        };
        plain.into_iter().chain(constants.into_iter().flatten().map(step)).chain(last)
    }
}

impl Template {
    /// Whether a node is a `relate` without a filter.
    pub(super) fn is_raw_relate(&self, node: usize) -> bool {
        self.nodes[node].call == Call::Plain(Function::Relate)
    }

    /// The nodes before `node` whose results the nodes from there on read, or are compared with.
    pub(super) fn live(&self, node: usize) -> Vec<usize> {
        let read = |earlier: &usize| {
            let taken = self.nodes[node..].iter().any(|later| later.inputs.contains(earlier));
            let compared = |pair: &[usize; 2]| pair.contains(earlier) && pair.iter().any(|&end| end >= node);
            taken || self.different.iter().any(compared)
        };
        (0..node).filter(read).collect()
    }
}

/// The 90 published templates, in the order of the names of their files.
pub fn published() -> &'static [Template] {
    static LIST: LazyLock<Vec<Template>> = LazyLock::new(|| {
        let parsed = |(name, text): (&str, &str)| {
            parse(Path::new(name), text.as_bytes()).unwrap_or_else(|error| panic!("built in: {error}"))
        };
        published::TEMPLATES.into_iter().flat_map(parsed).collect()
    });
    &LIST
}

/// Parses a file of templates. `path` is for the error, and its last part for [`Template::file`].
///
/// # Errors
/// If the content is not JSON in the format of the templates, or has none. If a template has no texts, no
/// nodes or more than 42, its program is wrong by `metadata.json` or finds no answer, a text has an unknown
/// parameter or an unmatched bracket, a parameter is not used by exactly one node, or a constraint is not
/// `NULL` of a parameter or `OUT_NEQ` of two nodes of one type. The error names the template, from 0.
pub fn parse(path: &Path, content: &[u8]) -> Result<Vec<Template>> {
    let list: Vec<FileTemplate> = json::parse(path, content)?;
    if list.is_empty() {
        return Err(AppError::content(path, "no templates"));
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let template = |(index, template): (usize, FileTemplate)| {
        let checked = template.check(&file, index);
        checked.map_err(|cause| AppError::content(path, format!("template {index}: {cause}")))
    };
    list.into_iter().enumerate().map(template).collect()
}

#[derive(Deserialize)]
struct FileTemplate {
    params: Vec<FileParameter>,
    nodes: Vec<FileTemplateNode>,
    text: Vec<String>,
    constraints: Vec<FileConstraint>,
}

#[derive(Deserialize)]
struct FileParameter {
    name: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct FileTemplateNode {
    #[serde(rename = "type")]
    function: String,
    inputs: Vec<usize>,
    #[serde(default)]
    side_inputs: Vec<String>,
}

#[derive(Deserialize)]
struct FileConstraint {
    #[serde(rename = "type")]
    kind: String,
    params: Vec<serde_json::Value>,
}

type Checked<V> = std::result::Result<V, String>;

impl FileTemplate {
    fn check(self, file: &str, index: usize) -> Checked<Template> {
        let parameters = self.parameters()?;
        if self.nodes.is_empty() || self.nodes.len() > MAX_NODES {
            return Err(format!("{} nodes; 1 to {MAX_NODES} are needed", self.nodes.len()));
        }
        let (mut nodes, mut outputs) = (Vec::new(), Vec::new());
        for (number, node) in self.nodes.iter().enumerate() {
            let (node, output) = node
                .check(&outputs, &parameters)
                .map_err(|cause| format!("node {number} ({}): {cause}", node.function))?;
            nodes.push(node);
            outputs.push(output);
        }
        let answer = outputs[outputs.len() - 1];
        if Answer::with_type(answer).is_empty() {
            return Err(format!("the last node returns a value of type {answer}, which is no answer"));
        }
        check_uses(&nodes, &parameters)?;
        if self.text.is_empty() {
            return Err("no text".to_owned());
        }
        self.text.iter().try_for_each(|text| wording::check(text, &parameters))?;
        let mut template = Template {
            file: file.to_owned(),
            index,
            texts: self.text,
            parameters,
            nodes,
            answer,
            different: vec![],
        };
        self.constraints.iter().try_for_each(|constraint| constraint.add(&mut template, &outputs))?;
        Ok(template)
    }

    fn parameters(&self) -> Checked<Vec<(String, ValueType)>> {
        let mut parameters: Vec<(String, ValueType)> = Vec::new();
        for FileParameter { name, kind } in &self.params {
            let known = ValueType::find(kind).filter(|&kind| !Constant::with_type(kind).is_empty());
            let known = known.ok_or_else(|| format!("parameter {name}: no type {kind:?} of parameters"))?;
            if !(name.starts_with('<') && name.ends_with('>'))
                || parameters.iter().any(|(other, _)| other == name)
            {
                return Err(format!("parameter {name}: a name of its own in angle brackets is needed"));
            }
            parameters.push((name.clone(), known));
        }
        Ok(parameters)
    }
}

/// Checks that each parameter is used by one node.
fn check_uses(nodes: &[TemplateNode], parameters: &[(String, ValueType)]) -> Checked<()> {
    for (number, (name, _)) in parameters.iter().enumerate() {
        let uses = nodes.iter().flat_map(|node| &node.parameters).filter(|&&used| used == number).count();
        if uses != 1 {
            return Err(format!("parameter {name}: {uses} nodes use it; exactly one must"));
        }
    }
    Ok(())
}

impl FileTemplateNode {
    /// The node, and the type of what it returns. `outputs` has the types of the nodes before it.
    fn check(
        &self,
        outputs: &[ValueType],
        parameters: &[(String, ValueType)],
    ) -> Checked<(TemplateNode, ValueType)> {
        let signature = Signature::find(&self.function).ok_or("an unknown function")?;
        let call = Call::find(&self.function).expect("each function of the metadata has a call");
        signature.check(&self.inputs, outputs, self.side_inputs.len())?;
        let mut numbers = Vec::new();
        for (name, &wanted) in self.side_inputs.iter().zip(&signature.constants) {
            let number = parameters.iter().position(|(other, _)| other == name);
            let number = number.ok_or_else(|| format!("an unknown parameter {name}"))?;
            let found = parameters[number].1;
            if found != wanted {
                return Err(format!("its parameter {name} is of type {found}; it takes {wanted}"));
            }
            numbers.push(number);
        }
        let empty = vec![false; numbers.len()];
        let inputs = self.inputs.clone();
        Ok((TemplateNode { call, inputs, parameters: numbers, empty }, signature.output))
    }
}

impl FileConstraint {
    fn add(&self, template: &mut Template, outputs: &[ValueType]) -> Checked<()> {
        let wrong = |needed: &str| Err(format!("constraint {}: {needed}", self.kind));
        match self.kind.as_str() {
            "NULL" => {
                let attribute = |name: &str| {
                    let is =
                        |(other, kind): &(String, ValueType)| other == name && *kind != ValueType::Relation;
                    template.parameters.iter().position(is)
                };
                let [serde_json::Value::String(name)] = &self.params[..] else {
                    return wrong("one parameter is needed");
                };
                let Some(number) = attribute(name) else {
                    return wrong(&format!("no parameter {name} that may be empty"));
                };
                for node in &mut template.nodes {
                    let places = node.parameters.iter().zip(&mut node.empty);
                    places.filter(|(used, _)| **used == number).for_each(|(_, empty)| *empty = true);
                }
            }
            "OUT_NEQ" => {
                let node = |value: &serde_json::Value| value.as_u64().map(|node| node as usize);
                let pair: Option<Vec<usize>> = self.params.iter().map(node).collect();
                match pair.as_deref() {
                    Some(&[a, b])
                        if a != b && outputs.get(a).is_some_and(|kind| outputs.get(b) == Some(kind)) =>
                    {
                        template.different.push([a, b]);
                    }
                    _ => return wrong("two nodes that return values of one type are needed"),
                }
            }
            _ => return wrong("an unknown constraint; NULL and OUT_NEQ are known"),
        }
        Ok(())
    }
}

//! Functional programs: how a question is answered, step by step, on a scene.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::function::{Constant, Function, Value};
use super::metadata::{Signature, ValueType};
use super::scene::Scene;

/// A node of a program as the published files write it, or the files of their generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileNode<'a> {
    /// The name of the function.
    #[serde(alias = "type")]
    pub function: Cow<'a, str>,
    /// The numbers of the nodes whose results it takes.
    pub inputs: Vec<usize>,
    /// The values and relations that it takes.
    #[serde(default, alias = "side_inputs")]
    pub value_inputs: Vec<Cow<'a, str>>,
}

/// A node of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramNode {
    /// The function.
    pub function: Function,
    /// The nodes whose results it takes.
    inputs: [Option<u8>; 2],
    /// The value or relation that it takes.
    pub constant: Option<Constant>,
}

impl ProgramNode {
    /// A node. Its inputs are checked by [`Program::parse`].
    ///
    /// # Panics
    /// If there are more than two inputs, or one is above 255.
    pub fn new(function: Function, inputs: &[usize], constant: Option<Constant>) -> Self {
        let mut node = ProgramNode { function, inputs: [None; 2], constant };
        for (place, &input) in inputs.iter().enumerate() {
            node.inputs[place] = Some(u8::try_from(input).expect("a node of a program"));
        }
        node
    }

    /// The numbers of the nodes whose results it takes.
    pub fn inputs(&self) -> impl Iterator<Item = usize> {
        self.inputs.into_iter().flatten().map(usize::from)
    }
}

/// A program whose types are right. Its last node returns the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(Vec<ProgramNode>);

/// A node that is wrong, or fails on a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeError {
    /// The number of the node, from 0.
    pub node: usize,
    /// The name of its function.
    pub function: String,
    /// What is wrong.
    pub cause: String,
}

impl std::error::Error for NodeError {}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} ({}): {}", self.node, self.function, self.cause)
    }
}

impl Program {
    /// The largest number of nodes.
    pub const LONGEST: usize = 256;

    /// Checks the functions, their inputs and their constants against `metadata.json`.
    ///
    /// # Errors
    /// If there is no node or more than [`Program::LONGEST`], a function is unknown or only templates have
    /// it, the number or type of its inputs is wrong, an input is not before its node (a cycle), a constant
    /// is none of its type, or the last node returns no answer.
    pub fn parse(nodes: &[FileNode<'_>]) -> Result<Program, String> {
        if nodes.is_empty() || nodes.len() > Self::LONGEST {
            return Err(format!("{} nodes; 1 to {} are needed", nodes.len(), Self::LONGEST));
        }
        let (mut outputs, mut parsed) = (Vec::new(), Vec::new());
        for (number, node) in nodes.iter().enumerate() {
            let (node, output) = parse_node(node, &outputs)
                .map_err(|cause| NodeError { node: number, function: node.function.to_string(), cause })
                .map_err(|error| error.to_string())?;
            outputs.push(output);
            parsed.push(node);
        }
        let last = outputs[outputs.len() - 1];
        if Answer::with_type(last).is_empty() {
            return Err(format!("the last node returns a value of type {last}, which is no answer"));
        }
        Ok(Program(parsed))
    }

    /// The program of nodes that are known to be right.
    pub(super) fn trusted(nodes: Vec<ProgramNode>) -> Program {
        Program(nodes)
    }

    /// The nodes, each after those whose results it takes.
    pub fn nodes(&self) -> &[ProgramNode] {
        &self.0
    }

    /// The last function, which decides the kind of question.
    pub fn last(&self) -> Function {
        self.0[self.0.len() - 1].function
    }

    /// The answer on a scene.
    ///
    /// # Errors
    /// If a `unique` does not find exactly one object.
    pub fn run(&self, scene: &Scene) -> Result<Answer, NodeError> {
        let mut values: Vec<Value> = Vec::with_capacity(self.0.len());
        for (number, node) in self.0.iter().enumerate() {
            let mut inputs = [Value::Object(0); 2];
            let count = node.inputs().zip(&mut inputs).map(|(input, place)| *place = values[input]).count();
            let value = node.function.apply(scene, &inputs[..count], node.constant);
            values.push(value.map_err(|found| NodeError {
                node: number,
                function: node.function.name().to_owned(),
                cause: format!("{found} objects; exactly one is needed"),
            })?);
        }
        match values.last() {
            Some(Value::Answer(answer)) => Ok(*answer),
            other => panic!("a program with the result {other:?}"),
        }
    }

    /// The nodes in the form of the published files.
    pub(super) fn file_nodes(&self) -> Vec<FileNode<'static>> {
        let file_node = |node: &ProgramNode| FileNode {
            function: node.function.name().into(),
            inputs: node.inputs().collect(),
            value_inputs: node.constant.iter().map(|constant| constant.name().into()).collect(),
        };
        self.0.iter().map(file_node).collect()
    }
}

/// The node, and the type of what it returns. `outputs` has the types of the nodes before it.
fn parse_node(node: &FileNode<'_>, outputs: &[ValueType]) -> Result<(ProgramNode, ValueType), String> {
    let signature = Signature::find(&node.function).ok_or("an unknown function")?;
    let function = Function::find(&node.function).ok_or("a function that only templates have")?;
    signature.check(&node.inputs, outputs, node.value_inputs.len())?;
    let constant = signature.constants.iter().zip(&node.value_inputs).map(|(&kind, name)| {
        Constant::find(kind, name).ok_or_else(|| format!("{name:?} is not of type {kind}"))
    });
    let constant = constant.collect::<Result<Vec<_>, _>>()?.pop();
    Ok((ProgramNode::new(function, &node.inputs, constant), signature.output))
}

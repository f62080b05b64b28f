//! Expressions as programs that run on columns of numbers.
//!
//! A formula is traced once, as an [`Expression`]; a [`Program`] is the list of its operations, and which
//! column each reads and writes. It runs block by block: one operation goes over all numbers of a block,
//! then the next one. A block of every column together fits the first-level cache. The kernels of single
//! operations are compiled in this crate, so a formula costs its users no time of a compiler.
//!
//! Results have the bits of the formula evaluated on a number of the type. What is simplified does not change
//! them: operations on constants are computed beforehand, `1·x`, `x/1` and `x − 0` are x, equal operations
//! are one. `0·x` stays, as x may be infinite.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::simd::columns::{self, Arithmetic, Operands, Operation, Step};
pub use crate::simd::session::Session;
use crate::storage::Storage;
use crate::trace::{Expression, Node};

/// A formula as a list of operations on columns of numbers.
#[derive(Debug)]
pub struct Program<T> {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) constants: Vec<T>,
    pub(crate) steps: Vec<Step<T>>,
    /// How many columns hold intermediate results.
    pub(crate) columns: usize,
}

/// An input of a program.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a, T> {
    /// A number for each of the outputs'.
    Column(&'a [T]),
    /// The same number for all.
    Number(T),
}

impl<T> std::fmt::Debug for Step<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.operands)
    }
}

impl<T: Storage> Program<T> {
    /// The program of an expression.
    pub fn new(expression: &Expression) -> Self {
        Lowering::new(simplified::<T>(expression)).program()
    }

    /// Calls `work` with memory to run in.
    pub fn session<R>(&self, work: impl FnOnce(&mut Session<'_, T>) -> R) -> R {
        Session::with(self, work)
    }

    /// Runs the program once: see [`Session::run`].
    pub fn run(&self, inputs: &[Input<'_, T>], outputs: &mut [&mut [T]]) {
        self.session(|session| session.run(inputs, outputs));
    }
}

/// The value of an operation on constants, if it is one on constants alone.
fn folded<T: Storage>(node: Node, constant: impl Fn(u32) -> Option<T>) -> Option<T> {
    Some(match node {
        Node::Constant(bits) => T::nearest(f64::from_bits(bits)),
        Node::Neg(a) => -constant(a)?,
        Node::Add(a, b) => constant(a)? + constant(b)?,
        Node::Sub(a, b) => constant(a)? - constant(b)?,
        Node::Mul(a, b) => constant(a)? * constant(b)?,
        Node::Div(a, b) => constant(a)? / constant(b)?,
        Node::Function(function, a) => function.apply(constant(a)?),
        Node::Input(_) | Node::Less(..) | Node::Unordered(..) | Node::Select(..) => return None,
    })
}

/// The expression in the type T, with fewer operations and the same bits.
fn simplified<T: Storage>(expression: &Expression) -> Expression {
    let mut nodes: Vec<Node> = Vec::with_capacity(expression.nodes.len());
    let mut known: HashMap<Node, u32> = HashMap::new();
    let mut places: Vec<u32> = Vec::with_capacity(expression.nodes.len());
    for &node in &expression.nodes {
        let node = node.map(|operand| places[operand as usize]);
        let constant = |id: u32| match nodes[id as usize] {
            Node::Constant(bits) => Some(T::nearest(f64::from_bits(bits))),
            _ => None,
        };
        let is = |id: u32, value: f64| constant(id).is_some_and(|x| x.to_f64().to_bits() == value.to_bits());
        let same = match node {
            Node::Mul(a, b) if is(b, 1.0) => Some(a),
            Node::Mul(a, b) if is(a, 1.0) => Some(b),
            Node::Div(a, b) if is(b, 1.0) => Some(a),
            Node::Sub(a, b) if is(b, 0.0) => Some(a),
            Node::Add(a, b) if is(b, -0.0) => Some(a),
            Node::Add(a, b) if is(a, -0.0) => Some(b),
            Node::Select(_, a, b) if a == b => Some(a),
            Node::Select(mask, a, b) => match nodes[mask as usize] {
                Node::Less(x, y) => constant(x).zip(constant(y)).map(|(x, y)| if x < y { a } else { b }),
                Node::Unordered(x, y) => {
                    constant(x).zip(constant(y)).map(|(x, y)| if x.is_nan() || y.is_nan() { a } else { b })
                }
                _ => None,
            },
            _ => None,
        };
        let node = folded::<T>(node, constant).map_or(node, |x| Node::Constant(x.to_f64().to_bits()));
        let place = same.unwrap_or_else(|| {
            *known.entry(node).or_insert_with(|| {
                nodes.push(node);
                (nodes.len() - 1) as u32
            })
        });
        places.push(place);
    }
    let outputs = expression.outputs.iter().map(|&output| places[output as usize]).collect();
    Expression { nodes, inputs: expression.inputs, outputs }.pruned()
}

/// An operation before its operands have columns: which node it computes (and a second one), and of which.
struct Plan {
    operation: Operation,
    operands: SmallVec<[u32; 5]>,
    results: SmallVec<[u32; 2]>,
}

impl Plan {
    fn new(operation: Operation, operands: &[u32], result: u32) -> Self {
        let results = SmallVec::from_slice(&[result]);
        Plan { operation, operands: SmallVec::from_slice(operands), results }
    }
}

/// From an expression to a program.
struct Lowering {
    expression: Expression,
    /// How often a node is used, as operand or output.
    uses: Vec<usize>,
}

impl Lowering {
    fn new(expression: Expression) -> Self {
        let mut uses = vec![0; expression.nodes.len()];
        for &node in &expression.nodes {
            node.map(|operand| {
                uses[operand as usize] += 1;
                operand
            });
        }
        expression.outputs.iter().for_each(|&output| uses[output as usize] += 1);
        Lowering { expression, uses }
    }

    fn node(&self, id: u32) -> Node {
        self.expression.nodes[id as usize]
    }

    /// An operand that is used once, and so can be computed together with its user.
    fn absorbed(&self, id: u32) -> Option<Node> {
        (self.uses[id as usize] == 1).then(|| self.node(id))
    }

    fn product(&self, id: u32) -> Option<[u32; 2]> {
        match self.absorbed(id)? {
            Node::Mul(a, b) => Some([a, b]),
            _ => None,
        }
    }

    /// The operands of [`Arithmetic::Choose`], if a node is a choice by the order of two numbers that is made
    /// only where neither is NaN.
    fn choice(&self, id: u32) -> Option<[u32; 5]> {
        let Node::Select(outer, unordered, inner) = self.node(id) else { return None };
        let Node::Unordered(x, y) = self.node(outer) else { return None };
        let Node::Select(mask, c, d) = self.absorbed(inner)? else { return None };
        let Node::Less(a, b) = self.node(mask) else { return None };
        ([a, b] == [x, y] || [a, b] == [y, x]).then_some([a, b, c, d, unordered])
    }

    /// The operation that computes a node, and the nodes that are computed with it.
    fn plan(&self, id: u32) -> Option<(Plan, SmallVec<[u32; 2]>)> {
        use Arithmetic::*;
        let with = |operation, operands: &[u32], absorbed: &[u32]| {
            let plan = Plan::new(Operation::Arithmetic(operation), operands, id);
            Some((plan, SmallVec::from_slice(absorbed)))
        };
        match self.node(id) {
            Node::Input(_) | Node::Constant(_) | Node::Less(..) | Node::Unordered(..) => None,
            Node::Function(function, a) => Some((Plan::new(function.into(), &[a], id), SmallVec::new())),
            Node::Neg(a) => with(Neg, &[a], &[]),
            Node::Div(a, b) => with(Div, &[a, b], &[]),
            Node::Add(a, b) => match (self.product(a), self.product(b)) {
                (Some([p, q]), Some([r, s])) => with(MulAddMul, &[p, q, r, s], &[a, b]),
                (Some([p, q]), _) => with(MulAdd, &[p, q, b], &[a]),
                (_, Some([p, q])) => with(MulAdd, &[p, q, a], &[b]),
                _ => with(Add, &[a, b], &[]),
            },
            Node::Sub(a, b) => match (self.product(a), self.product(b)) {
                (Some([p, q]), Some([r, s])) => with(MulSubMul, &[p, q, r, s], &[a, b]),
                (Some([p, q]), _) => with(MulSub, &[p, q, b], &[a]),
                (_, Some([p, q])) => with(SubMul, &[p, q, a], &[b]),
                _ => with(Sub, &[a, b], &[]),
            },
            Node::Mul(a, b) => {
                let factor = |node: Option<Node>| match node? {
                    Node::Mul(p, q) => Some((MulMul, [p, q])),
                    Node::Add(p, q) => Some((AddMul, [p, q])),
                    Node::Sub(p, q) => Some((DifferenceMul, [p, q])),
                    _ => None,
                };
                match (factor(self.absorbed(a)), factor(self.absorbed(b))) {
                    (Some((operation, [p, q])), _) => with(operation, &[p, q, b], &[a]),
                    (_, Some((operation, [p, q]))) => with(operation, &[p, q, a], &[b]),
                    _ => with(Mul, &[a, b], &[]),
                }
            }
            Node::Select(mask, a, b) => match (self.node(mask), self.choice(id)) {
                (_, Some(choice)) => with(Choose, &choice, &[b]),
                (Node::Less(x, y), _) => with(SelectLess, &[x, y, a, b], &[]),
                (Node::Unordered(x, y), _) => with(SelectUnordered, &[x, y, a, b], &[]),
                _ => unreachable!("a truth value"),
            },
        }
    }

    /// The operations in the order in which they run.
    fn plans(&self) -> Vec<Plan> {
        let count = self.expression.nodes.len();
        let mut absorbed = vec![false; count];
        let mut plans: Vec<Plan> = Vec::new();
        // From the results backwards, so that an operation absorbs those before it.
        for id in (0..count as u32).rev().filter(|&id| self.uses[id as usize] > 0) {
            if absorbed[id as usize] {
                continue;
            }
            if let Some((plan, with)) = self.plan(id) {
                with.iter().for_each(|&id| absorbed[id as usize] = true);
                plans.push(plan);
            }
        }
        plans.reverse();
        self.paired(plans)
    }

    /// Computes two functions of one argument together where there are such.
    fn paired(&self, mut plans: Vec<Plan>) -> Vec<Plan> {
        for (functions, operation) in columns::PAIRS {
            let [first, second] = functions.map(Operation::from);
            let mut at = 0;
            while at < plans.len() {
                let (this, argument) = (plans[at].operation, plans[at].operands[0]);
                let other = if this == first { second } else { first };
                let is_other = |plan: &Plan| plan.operation == other && plan.operands[0] == argument;
                if (this == first || this == second)
                    && let Some(partner) = plans[at + 1..].iter().position(is_other)
                {
                    let result = plans.remove(at + 1 + partner).results[0];
                    let plan = &mut plans[at];
                    plan.operation = Operation::Elementary(operation);
                    plan.results.insert(usize::from(this == first), result);
                }
                at += 1;
            }
        }
        plans
    }

    fn program<T: Storage>(self) -> Program<T> {
        let inputs = self.expression.inputs;
        let outputs = self.expression.outputs.len();
        let count = self.expression.nodes.len();
        let mut columns: Vec<Option<u16>> = vec![None; count];
        let mut constants = Vec::new();
        for (id, node) in self.expression.nodes.iter().enumerate() {
            match *node {
                Node::Input(i) => columns[id] = Some(i as u16),
                Node::Constant(bits) => {
                    columns[id] = Some((inputs + outputs + constants.len()) as u16);
                    constants.push(T::nearest(f64::from_bits(bits)));
                }
                _ => {}
            }
        }
        let plans = self.plans();
        // An output is computed where it goes, unless it goes to several places.
        let mut copies: Vec<(usize, u32)> = Vec::new();
        for (k, &output) in self.expression.outputs.iter().enumerate() {
            match columns[output as usize] {
                None => columns[output as usize] = Some((inputs + k) as u16),
                Some(_) => copies.push((k, output)),
            }
        }
        let mut last_use = vec![0; count];
        for (at, plan) in plans.iter().enumerate() {
            plan.operands.iter().for_each(|&operand| last_use[operand as usize] = at);
        }
        let first_column = inputs + outputs + constants.len();
        let (mut free, mut used): (Vec<u16>, usize) = (Vec::new(), 0);
        let mut steps = Vec::new();
        for (at, plan) in plans.iter().enumerate() {
            let mut operands: Operands = [0; 6];
            let results = plan.operation.results();
            for (k, &operand) in plan.operands.iter().enumerate() {
                operands[results + k] = columns[operand as usize].expect("computed before");
            }
            // A result may take the place of an operand: each number is read before it is written.
            for (k, &operand) in plan.operands.iter().enumerate() {
                let column = columns[operand as usize].expect("computed before");
                let first = plan.operands[..k].iter().all(|&other| other != operand);
                let is_intermediate = usize::from(column) >= first_column;
                if first && is_intermediate && last_use[operand as usize] == at {
                    free.push(column);
                }
            }
            for (k, &result) in plan.results.iter().enumerate() {
                let column = *columns[result as usize].get_or_insert_with(|| {
                    free.pop().unwrap_or_else(|| {
                        used += 1;
                        (first_column + used - 1) as u16
                    })
                });
                operands[k] = column;
            }
            debug_assert_eq!(plan.results.len(), results);
            steps.push(Step { kernel: T::kernel_of(plan.operation), operands });
        }
        for (k, output) in copies {
            let from = columns[output as usize].expect("computed before");
            let kernel = T::kernel_of(Operation::Arithmetic(Arithmetic::Copy));
            steps.push(Step { kernel, operands: [(inputs + k) as u16, from, 0, 0, 0, 0] });
        }
        Program { inputs, outputs, constants, steps, columns: used }
    }
}

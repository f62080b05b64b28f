//! Formulas as expressions: a recording scalar, an interpreter, and a printer of OpenCL C.
//!
//! [`Expression::trace`] evaluates a formula on [`Trace`] scalars. Each operation becomes a node of a
//! graph, and equal operations become one node (hash-consing), so a derivative by dual numbers of traces
//! shares the nodes that the value computes too. The graph can be evaluated on any other scalar, and
//! printed as a function in the common subset of C99 and OpenCL C.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::elementary::Element;
use crate::scalar::{Scalar, sigmoid_with_slope, softplus};

/// An operation of an expression; the numbers are positions of earlier nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Input(u32),
    /// The bits of an `f64`.
    Constant(u64),
    Neg(u32),
    Add(u32, u32),
    Sub(u32, u32),
    Mul(u32, u32),
    Div(u32, u32),
    /// Truth values: whether the first is less, and whether one is NaN.
    Less(u32, u32),
    Unordered(u32, u32),
    /// The second operand where the first is true, else the third.
    Select(u32, u32, u32),
    Function(Function, u32),
}

impl Node {
    /// The same operation on other operands.
    pub(crate) fn map(self, mut operand: impl FnMut(u32) -> u32) -> Self {
        match self {
            Node::Input(_) | Node::Constant(_) => self,
            Node::Neg(a) => Node::Neg(operand(a)),
            Node::Add(a, b) => Node::Add(operand(a), operand(b)),
            Node::Sub(a, b) => Node::Sub(operand(a), operand(b)),
            Node::Mul(a, b) => Node::Mul(operand(a), operand(b)),
            Node::Div(a, b) => Node::Div(operand(a), operand(b)),
            Node::Less(a, b) => Node::Less(operand(a), operand(b)),
            Node::Unordered(a, b) => Node::Unordered(operand(a), operand(b)),
            Node::Select(mask, a, b) => Node::Select(operand(mask), operand(a), operand(b)),
            Node::Function(function, a) => Node::Function(function, operand(a)),
        }
    }
}

/// A scalar that records what is done to it, in place of an `E`. Exists within [`Expression::trace`] only.
#[derive(Clone, Copy, Debug)]
pub struct Trace<E = f64>(u32, PhantomData<E>);

/// The truth value of a comparison of [`Trace`]s.
#[derive(Clone, Copy, Debug)]
pub struct TraceMask(u32);

#[derive(Default)]
struct Recorder {
    nodes: Vec<Node>,
    known: HashMap<Node, u32>,
}

thread_local! {
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
}

impl<E> Trace<E> {
    fn new(node: Node) -> Self {
        Trace(record(node), PhantomData)
    }
}

/// Not inlined: a formula has hundreds of operations.
#[inline(never)]
fn record(node: Node) -> u32 {
    RECORDER.with_borrow_mut(|recorder| {
        let recorder = recorder.as_mut().expect("a Trace exists within Expression::trace only");
        *recorder.known.entry(node).or_insert_with(|| {
            recorder.nodes.push(node);
            (recorder.nodes.len() - 1) as u32
        })
    })
}

/// A recorded formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: usize,
    pub(crate) outputs: Vec<u32>,
}

impl Expression {
    /// Records a formula of `inputs` arguments.
    ///
    /// ```
    /// use cotangent_engine::{Dual, Expression, Scalar};
    /// // The value and the derivative of x tanh(x): tanh is computed once.
    /// let expression = Expression::trace(1, |x| {
    ///     let [x] = Dual::variables([x[0]]);
    ///     let y = x * x.tanh();
    ///     vec![y.value, y.partials[0]]
    /// });
    /// assert_eq!(expression.evaluate(&[0.5_f64])[0], 0.5 * Scalar::tanh(0.5_f64));
    /// assert_eq!(expression.to_c("f", "double").matches("tanh(").count(), 1);
    /// ```
    ///
    /// # Panics
    /// If recordings are nested.
    pub fn trace(inputs: usize, formula: impl FnOnce(&[Trace]) -> Vec<Trace>) -> Self {
        Expression::trace_as(inputs, formula)
    }

    /// As [`trace`](Self::trace), for evaluation in another type: some formulas take shorter series in `f32`.
    pub fn trace_as<E: Element>(inputs: usize, formula: impl FnOnce(&[Trace<E>]) -> Vec<Trace<E>>) -> Self {
        /// Ends the recording, also where the formula panics.
        struct End;
        impl Drop for End {
            fn drop(&mut self) {
                RECORDER.with_borrow_mut(Option::take);
            }
        }
        let is_nested = RECORDER.with_borrow(Option::is_some);
        assert!(!is_nested, "recordings of expressions cannot be nested");
        RECORDER.set(Some(Recorder::default()));
        let _end = End;
        let arguments: Vec<Trace<E>> = (0..inputs).map(|i| Trace::new(Node::Input(i as u32))).collect();
        let outputs = formula(&arguments).into_iter().map(|Trace(id, _)| id).collect();
        let recorder = RECORDER.with_borrow_mut(Option::take).expect("set above");
        Expression { nodes: recorder.nodes, inputs, outputs }.pruned()
    }

    /// Removes the nodes that no output depends on.
    pub(crate) fn pruned(self) -> Self {
        let mut needed = vec![false; self.nodes.len()];
        self.outputs.iter().for_each(|&output| needed[output as usize] = true);
        let mut position = vec![0; self.nodes.len()];
        let mut nodes = Vec::new();
        for id in (0..self.nodes.len()).rev() {
            if needed[id] {
                self.nodes[id].map(|operand| {
                    needed[operand as usize] = true;
                    operand
                });
            }
        }
        for (id, node) in self.nodes.iter().enumerate().filter(|(id, _)| needed[*id]) {
            position[id] = nodes.len() as u32;
            nodes.push(node.map(|operand| position[operand as usize]));
        }
        let outputs = self.outputs.iter().map(|&output| position[output as usize]).collect();
        Expression { nodes, inputs: self.inputs, outputs }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The value of an output, if it is a constant.
    pub fn constant(&self, output: usize) -> Option<f64> {
        match self.nodes[self.outputs[output] as usize] {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// The expression with its constants turned into further arguments, and the constants. Expressions
    /// that differ only in constants thus become one function.
    pub fn with_arguments_for_constants(&self) -> (Self, Vec<f64>) {
        let (mut expression, mut constants) = (self.clone(), Vec::new());
        for node in &mut expression.nodes {
            if let Node::Constant(bits) = *node {
                *node = Node::Input((self.inputs + constants.len()) as u32);
                constants.push(f64::from_bits(bits));
            }
        }
        expression.inputs += constants.len();
        (expression, constants)
    }

    /// The expression with each output multiplied by one more argument.
    pub fn times_input(mut self) -> Self {
        let factor = self.nodes.len() as u32;
        self.nodes.push(Node::Input(self.inputs as u32));
        self.inputs += 1;
        for output in &mut self.outputs {
            self.nodes.push(Node::Mul(*output, factor));
            *output = self.nodes.len() as u32 - 1;
        }
        self
    }

    /// A hash: the same number for equal expressions.
    pub fn fingerprint(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (&self.nodes, self.inputs, &self.outputs).hash(&mut hasher);
        hasher.finish()
    }

    /// The outputs at some arguments, computed in any scalar.
    ///
    /// # Panics
    /// If there are more or fewer arguments than the expression has.
    pub fn evaluate<S: Scalar>(&self, arguments: &[S]) -> Vec<S> {
        assert_eq!(arguments.len(), self.inputs, "the number of arguments");
        // A truth value takes a place among the numbers too, so that positions agree with those of the
        // nodes.
        let mut values: Vec<S> = Vec::with_capacity(self.nodes.len());
        for &node in &self.nodes {
            let value = |i: u32| values[i as usize];
            values.push(match node {
                Node::Input(i) => arguments[i as usize],
                Node::Constant(bits) => S::constant(f64::from_bits(bits)),
                Node::Neg(a) => -value(a),
                Node::Add(a, b) => value(a) + value(b),
                Node::Sub(a, b) => value(a) - value(b),
                Node::Mul(a, b) => value(a) * value(b),
                Node::Div(a, b) => value(a) / value(b),
                Node::Less(..) | Node::Unordered(..) => S::zero(),
                Node::Select(mask, a, b) => {
                    let mask = match self.nodes[mask as usize] {
                        Node::Less(x, y) => value(x).lt(value(y)),
                        Node::Unordered(x, y) => value(x).unordered(value(y)),
                        _ => unreachable!("a truth value"),
                    };
                    S::select(mask, value(a), value(b))
                }
                Node::Function(function, a) => function.apply(value(a)),
            });
        }
        self.outputs.iter().map(|&id| values[id as usize]).collect()
    }

    /// The expression as a function `void name(const real in[], real out[])`, in the common subset of C99 and
    /// OpenCL C, for the floating-point type `real`. Its functions are those of [`prelude`].
    pub fn to_c(&self, name: &str, real: &str) -> String {
        self.print(name, real, false)
    }

    /// As [`to_c`](Self::to_c), for a type whose arithmetic is done by the functions of
    /// `compensated.cl`.
    pub fn to_compensated_c(&self, name: &str, real: &str) -> String {
        self.print(name, real, true)
    }

    fn print(&self, name: &str, real: &str, calls: bool) -> String {
        let binary = |function: &str, operator: &str, a: &u32, b: &u32| {
            if calls { format!("{function}(t{a}, t{b})") } else { format!("t{a} {operator} t{b}") }
        };
        let expression = Expression::trace(self.inputs, |x| self.evaluate(x));
        let mut c = format!("void {name}(const {real} *in, {real} *out) {{\n");
        for (id, node) in expression.nodes.iter().enumerate() {
            let value = match node {
                Node::Input(i) => format!("in[{i}]"),
                Node::Constant(bits) if calls => pair(f64::from_bits(*bits), real),
                Node::Constant(bits) => number(f64::from_bits(*bits), real),
                Node::Neg(a) => format!("-t{a}"),
                Node::Add(a, b) => binary("add", "+", a, b),
                Node::Sub(a, b) => binary("sub", "-", a, b),
                Node::Mul(a, b) => binary("mul", "*", a, b),
                Node::Div(a, b) => binary("div", "/", a, b),
                Node::Less(a, b) => binary("less", "<", a, b),
                Node::Unordered(a, b) if calls => format!("isunordered(t{a}.hi, t{b}.hi)"),
                Node::Unordered(a, b) => format!("isunordered(t{a}, t{b})"),
                Node::Select(mask, a, b) => format!("t{mask} ? t{a} : t{b}"),
                Node::Function(function, a) => {
                    format!("{}{}(t{a})", function.c_name(), if calls { "_of" } else { "" })
                }
            };
            let c_type = if matches!(node, Node::Less(..) | Node::Unordered(..)) { "int" } else { real };
            writeln!(c, "    const {c_type} t{id} = {value};").expect("writing to a string");
        }
        for (i, id) in expression.outputs.iter().enumerate() {
            writeln!(c, "    out[{i}] = t{id};").expect("writing to a string");
        }
        c.push_str("}\n");
        c
    }
}

/// A number as the sum of two `f32`, of which the first is the nearest one. Beyond the range of `f32` it
/// becomes infinite or 0.
pub fn parts(x: f64) -> [f32; 2] {
    let high = x as f32;
    [high, if high.is_finite() { (x - f64::from(high)) as f32 } else { 0.0 }]
}

/// A constant of the vector type of two `float`s, the lower one first. Constants beyond the range of
/// `f32` are limits by which formulas keep `f64` from overflow and underflow. They are replaced by
/// limits for `f32`, at the same fraction of its range of exponents.
fn pair(x: f64, real: &str) -> String {
    const EXPONENTS: f64 = (f32::MIN_EXP - 1) as f64 / (f64::MIN_EXP - 1) as f64;
    let range = f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX);
    let is_limit = x.is_finite() && x != 0.0 && !range.contains(&x.abs());
    let x = if is_limit { x.abs().powf(EXPONENTS).copysign(x) } else { x };
    let [high, low] = parts(x).map(|part| number(part.into(), "float"));
    format!("({real})({low}, {high})")
}

/// A number as a constant of C.
fn number(x: f64, real: &str) -> String {
    if x.is_nan() {
        "NAN".into()
    } else if x.is_infinite() {
        if x > 0.0 { "INFINITY".into() } else { "-INFINITY".into() }
    } else {
        // Seventeen digits are exact; the type's name makes the constant one of that type.
        format!("({real}){x:.17e}")
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident;)*) => { $(
        impl<E: Element> $trait for Trace<E> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                Trace::new(Node::$trait(self.0, other.0))
            }
        }
    )* };
}

operator! { Add add; Sub sub; Mul mul; Div div; }

impl<E: Element> Neg for Trace<E> {
    type Output = Self;
    fn neg(self) -> Self {
        Trace::new(Node::Neg(self.0))
    }
}

macro_rules! functions {
    ($($variant:ident $method:ident $c:literal;)*) => {
        /// The elementary functions of expressions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Function { $($variant,)* TanhSlope, GeluSlope, Secant, Sigmoid, SigmoidSlope, Softplus }

        impl Function {

            pub(crate) fn apply<S: Scalar>(self, x: S) -> S {
                match self {
                    $(Function::$variant => x.$method(),)*
                    Function::TanhSlope => x.tanh_with_slope().1,
                    Function::GeluSlope => x.gelu_with_slope().1,
                    Function::Secant => x.tanc_secant().1,
                    // Step by step: for a trace, these are other nodes.
                    Function::Sigmoid => sigmoid_with_slope(x, S::exp).0,
                    Function::SigmoidSlope => sigmoid_with_slope(x, S::exp).1,
                    Function::Softplus => softplus(x, |x| x.exp().ln_1p()),
                }
            }
            fn c_name(self) -> &'static str {
                match self {
                    $(Function::$variant => $c,)*
                    Function::TanhSlope => "tanh_slope",
                    Function::GeluSlope => "gelu_slope",
                    Function::Secant => "secant",
                    Function::Sigmoid | Function::SigmoidSlope | Function::Softplus => {
                        unreachable!("printed step by step")
                    }
                }
            }
        }

        impl<E: Element> Scalar for Trace<E> {
            type Mask = TraceMask;
            const EPSILON: f64 = E::EPSILON;

            fn constant(value: f64) -> Self {
                Trace::new(Node::Constant(value.to_bits()))
            }
            fn lt(self, other: Self) -> TraceMask {
                TraceMask(record(Node::Less(self.0, other.0)))
            }
            fn unordered(self, other: Self) -> TraceMask {
                TraceMask(record(Node::Unordered(self.0, other.0)))
            }
            fn select(mask: TraceMask, a: Self, b: Self) -> Self {
                Trace::new(Node::Select(mask.0, a.0, b.0))
            }
            fn sin_cos(self) -> (Self, Self) {
                (self.sin(), self.cos())
            }
            fn sinh_cosh(self) -> (Self, Self) {
                (self.sinh(), self.cosh())
            }
            fn sinc_cosc(self) -> (Self, Self) {
                (self.sinc(), self.cosc())
            }
            fn tanh_with_slope(self) -> (Self, Self) {
                (self.tanh(), Trace::new(Node::Function(Function::TanhSlope, self.0)))
            }
            fn tanc_secant(self) -> (Self, Self) {
                (self.tanc(), Trace::new(Node::Function(Function::Secant, self.0)))
            }
            fn sigmoid(self) -> Self {
                Trace::new(Node::Function(Function::Sigmoid, self.0))
            }
            fn sigmoid_with_slope(self) -> (Self, Self) {
                (self.sigmoid(), Trace::new(Node::Function(Function::SigmoidSlope, self.0)))
            }
            fn softplus(self) -> Self {
                Trace::new(Node::Function(Function::Softplus, self.0))
            }
            fn gelu_with_slope(self) -> (Self, Self) {
                (self.gelu(), Trace::new(Node::Function(Function::GeluSlope, self.0)))
            }
            $(
                fn $method(self) -> Self {
                    Trace::new(Node::Function(Function::$variant, self.0))
                }
            )*
        }
    };
}

functions! {
    Abs abs "fabs";
    Sqrt sqrt "sqrt";
    Exp exp "exp";
    ExpM1 exp_m1 "expm1";
    Ln ln "log";
    Ln1p ln_1p "log1p";
    Sin sin "sin";
    Cos cos "cos";
    Tan tan "tan";
    Asin asin "asin";
    Atan atan "atan";
    Sinh sinh "sinh";
    Cosh cosh "cosh";
    Tanh tanh "tanh";
    Asinh asinh "asinh";
    Acosh acosh "acosh";
    Atanh atanh "atanh";
    Erf erf "erf";
    Gelu gelu "gelu";
    Tanc tanc "tanc";
    Arctanc arctanc "arctanc";
    Sinc sinc "sinc";
    Cosc cosc "cosc";
    Arcsinc arcsinc "arcsinc";
}

/// The elementary functions that printed expressions call, in the common subset of C99 and OpenCL C.
/// They take the same operations and constants as those of [`elementary`](crate::elementary), so that
/// they give the same bits. They are written for a type named `real`, which is `E`.
pub fn prelude<E: Element>() -> String {
    E::constants() + include_str!("elementary/elementary.cl")
}

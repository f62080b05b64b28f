//! The sums of a row as OpenCL C.

use std::cell::RefCell;
use std::ops::{Add, Mul, Sub};

use crate::formula::row::Metric;
use crate::formula::sums::{End, RowSums, Sum};
use crate::numbers::compensated::{Compensated, Fused};

/// The source of a number.
#[derive(Clone)]
pub(super) struct Text(pub(super) String);

macro_rules! operations {
    ($($operation:ident $function:ident),*) => {$(
        impl $operation for Text {
            type Output = Self;
            fn $function(self, b: Self) -> Self {
                Text(format!("{}({}, {})", stringify!($function), self.0, b.0))
            }
        }
    )*};
}

operations!(Add add, Sub sub, Mul mul);

impl Fused for Text {
    fn splat(x: f64) -> Self {
        Text(format!("scalar_of({x:?})"))
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        Text(format!("multiply_add({}, {}, {})", self.0, b.0, c.0))
    }
}

/// Whether coordinate `c` is at an end of the row.
pub(super) fn is_end(end: End) -> &'static str {
    match end {
        End::First => "c == 0",
        End::Last => "c + 1 == width",
    }
}

/// Coordinate `c` of a unit vector.
pub(super) fn unit(end: End) -> Text {
    Text(format!("scalar_of({} ? 1.0 : 0.0)", is_end(end)))
}

/// The coordinate `x` with its index `c` lowered by the metric. The basis of the horizontal metric is
/// horizontal itself.
pub(super) fn lower(metric: Metric, x: &str) -> String {
    match metric {
        Metric::Euclidean | Metric::Horizontal => x.to_owned(),
        _ => format!("{x} * ({} ? {}.0 : 1.0)", is_end(metric.end()), metric.end_factor()),
    }
}

/// The sums of invariant `k`, from what was summed over coordinates, and the statements that find them.
pub(super) struct Found {
    pub(super) k: usize,
    pub(super) sum: Sum,
    pub(super) statements: RefCell<String>,
}

impl Found {
    fn by(&self, statements: String, names: [&str; 2]) -> [Text; 2] {
        self.statements.borrow_mut().push_str(&statements);
        names.map(|name| Text(name.to_owned()))
    }
}

impl RowSums for Found {
    type Number = Text;

    fn plain(&self, a: usize, b: usize) -> Text {
        if let Sum::Products([i, j, l]) = self.sum {
            let q = [(i, i), (i, j), (i, l), (j, l)].iter().position(|&pair| pair == (a, b));
            return Text(format!("products[{}]", q.expect("a product of the wedge")));
        }
        let [sum, _] = self.by(format!("const scalar sum = sum_of(dot{}, team);", self.k), ["sum", ""]);
        sum
    }

    fn exact(&self, _: usize, _: usize, _: Metric) -> Compensated<Text> {
        let found = format!("scalar error; const scalar sum = total(&dot{}, team, &error);", self.k);
        let [sum, error] = self.by(found, ["sum", "error"]);
        Compensated { sum, error }
    }

    fn scaled(&self, a: usize, b: usize) -> [Text; 2] {
        let found = format!(
            "const scalar length = sqrt_of(sum_of(norm{k}, team)), dot = sum_of(dot{k}, team);\n\
             const scalar norm = mul(length, scalar_of(units[{b}]));\n\
             const scalar along =\n\
             rounded(length) > 0 ? mul(div(dot, length), scalar_of(units[{a}])) : length;",
            k = self.k
        );
        self.by(found, ["norm", "along"])
    }

    fn norm(&self, _: usize) -> [Text; 2] {
        let found = format!(
            "scalar slope; const scalar square = sum_of(dot{k}, team);\n\
             const scalar norm = ITEM == 0 ? extreme{k}(x, width, square, &slope) : ZERO;",
            k = self.k
        );
        self.by(found, ["slope", "norm"])
    }

    fn entry(&self, input: usize, end: End) -> Text {
        let c = if end == End::First { "0" } else { "width - 1" };
        Text(format!("scalar_of(x[{input}][{c}])"))
    }

    fn wedge(&self, _: [usize; 3], _: &[Text; 4]) -> Text {
        let k = self.k;
        let found = format!("scalar products[4]; const scalar wedge = wedge{k}(x, width, team, products);");
        let [wedge, _] = self.by(found, ["wedge", ""]);
        wedge
    }

    fn param(&self, p: usize) -> Text {
        Text(format!("params[{p}]"))
    }

    fn epsilon(&self) -> Text {
        Text("scalar_of(EPSILON)".into())
    }
}

//! The `gram` kernel: row formulas.

use std::cell::RefCell;
use std::fmt::Write;
use std::sync::Arc;

use smallvec::SmallVec;

use super::fold::{Broadcasted, SUM, WIDE_SUM};
use super::form::{Array, Forward, OnDevice, Reverse};
use super::row_sums::{Found, Text, is_end, lower, unit};
use super::team::Team;
use crate::formula::domain::{Domain, bounded_time, largest_time, least_height};
use crate::formula::plan::{PARAMS, RowPlan};
use crate::formula::row::Metric;
use crate::formula::sums::{BODY, END, Sum, Terms, has_scaled};
use crate::kernels::gram::shares::{Shares, Surveyed};
use crate::kernels::operands::row_shape;
use crate::kernels::wedge::{WIDE, is_area};
use crate::numbers::storage::Storage;
use crate::numbers::trace::{Expression, Trace};
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::Key;
use crate::tensor::device::queue::{Launch, Queue};
use crate::tensor::shape::{Broadcast, Shape};

/// The head of a work-item's loop over its coordinates `c` of a row, up to a multiple of the lanes.
const EACH: &str = "for (ulong c0 = 0; c0 < width; c0 += LANES) for (int l = 0; l < OWN; l++) {\n\
                    const ulong c = c0 + LANE(l);";

impl RowPlan {
    /// The [`Shares`] as an expression. Its arguments are the invariants, four products for each, the
    /// upstream cotangents, and the parameters.
    fn shares(&self) -> Expression {
        let (v, b, i, o) = (self.vectors, self.basis.len(), self.invariants.len(), self.outputs);
        let reverse = self.cotangents();
        Expression::trace(5 * i + o + PARAMS, |x| {
            let products: Vec<[Trace; 4]> =
                (0..i).map(|k| std::array::from_fn(|product| x[i + 4 * k + product])).collect();
            let arguments: Vec<Trace> = x[..i].iter().chain(&x[5 * i..][..o]).copied().collect();
            let results = reverse.evaluate(&arguments);
            let (outputs, cotangents) = results.split_at(o);
            let rows =
                Surveyed { values: &x[..i], products: &products, kappa: x[5 * i + o], outputs, cotangents };
            let mut shares = Shares::new();
            shares.compute(self, rows);
            let of_basis =
                shares.of_basis.iter().flat_map(|region| region[..v].iter().flat_map(|input| &input[..b]));
            let of_upstream = shares.of_upstream.iter().flat_map(|region| &region[..v]);
            let of_ends = shares.received.ends.iter().flat_map(|end| &end[..v]);
            of_basis.chain(of_upstream).chain(of_ends).chain(&shares.received.params).copied().collect()
        })
    }

    /// `basis(x, c, width, b)`: writes coordinate `c` of the basis vectors to `b`. Beyond the row's width,
    /// the inputs count as 0.
    fn basis_source(&self) -> String {
        let mut c = String::from(
            "static void basis(__global const elem *const *x, ulong c, ulong width, scalar *b) {\n",
        );
        for i in 0..self.vectors {
            let flat = if self.metric == Metric::Horizontal { " * (c + 1 == width ? 0.0 : 1.0)" } else { "" };
            let _ = writeln!(c, "const scalar v{i} = (c < width ? scalar_of(x[{i}][c]) : ZERO){flat};");
        }
        for (b, vector) in self.basis.iter().enumerate() {
            let Text(value) = vector.coordinate(
                |i| Text(format!("v{i}")),
                |Text(x)| Text(format!("{x} * (c == 0 ? -1.0 : 1.0)")),
                unit,
            );
            let _ = writeln!(c, "b[{b}] = {value};");
        }
        c + "}\n"
    }

    /// The indices of the arguments that the expression takes from a row: the invariants and, for the
    /// reverse pass, also their products, the upstream cotangents and the parameters.
    fn inputs(&self, params: usize, forward: bool) -> Vec<usize> {
        let i = self.invariants.len();
        let mut inputs: Vec<usize> = (0..i).collect();
        if !forward {
            for (k, invariant) in self.invariants.iter().enumerate() {
                inputs.extend((0..invariant.kept()).map(|product| i + 4 * k + product));
            }
            inputs.extend((0..self.outputs).map(|o| 5 * i + o));
            inputs.extend((0..params).map(|q| 5 * i + self.outputs + q));
        }
        inputs
    }

    /// How many arguments and results the expression has.
    fn sizes(&self, forward: bool) -> [usize; 2] {
        let (v, b, i, o) = (self.vectors, self.basis.len(), self.invariants.len(), self.outputs);
        if forward { [i, o] } else { [5 * i + o + PARAMS, 2 * v * b + 4 * v + PARAMS] }
    }

    /// How many numbers of each row its team shares.
    fn numbers(&self, params: usize, forward: bool) -> usize {
        self.inputs(params, forward).len().max(self.sizes(forward)[1])
    }

    /// `survey(x, params, width, g, team, numbers)`: writes the expression's arguments of a row to `numbers`.
    fn survey_source(&self, params: usize, forward: bool) -> String {
        let b = self.basis.len();
        let mut c = String::from(
            "INLINE void survey(__global const elem *const *x, const scalar *params, ulong width, \
             __global const elem *g, SHARED scalar *team, SHARED scalar *numbers) {\n",
        );
        let each = |text: String| format!("{EACH} scalar b[{b}]; basis(x, c, width, b);\n{text}}}\n");
        if has_scaled(self.invariants) {
            // The largest coordinates, so that no square overflows.
            let _ = writeln!(c, "wide units[{b}]; for (int i = 0; i < {b}; i++) units[i] = LEAST;");
            let largest = |i| {
                let x = lower(self.metric, &format!("b[{i}]"));
                format!("units[{i}] = fmax(units[{i}], fabs(rounded({x})));\n")
            };
            c += &each((0..b).map(largest).collect());
            let _ = writeln!(c, "for (int i = 0; i < {b}; i++) units[i] = largest_of(units[i], team);");
        }
        let mut sums = String::new();
        for (k, invariant) in self.invariants.iter().enumerate() {
            let lowered = |j: usize, metric| lower(metric, &format!("b[{j}]"));
            let mut plain = |i: usize, j: usize| {
                let _ = writeln!(c, "scalar dot{k}[OWN] = ZEROS;");
                let lowered = lowered(j, self.metric);
                let _ = writeln!(sums, "dot{k}[l] = add(dot{k}[l], mul(b[{i}], {lowered}));");
            };
            match invariant.sum() {
                Sum::Plain(i, j) => plain(i, j),
                Sum::Norm(i) => plain(i, i),
                Sum::Exact(i, j, own) => {
                    let _ = writeln!(c, "Compensated dot{k} = {{ZEROS, ZEROS}};");
                    let lowered = lowered(j, own.unwrap_or(self.metric));
                    let _ = writeln!(sums, "add_product(&dot{k}, l, b[{i}], {lowered});");
                }
                Sum::Scaled(i, j) => {
                    let _ = writeln!(c, "scalar dot{k}[OWN] = ZEROS, norm{k}[OWN] = ZEROS;");
                    let lowered = lowered(j, self.metric);
                    let _ = writeln!(
                        sums,
                        "{{ const scalar along = div({lowered}, scalar_of(units[{j}]));\n\
                         dot{k}[l] = add(dot{k}[l], mul(div(b[{i}], scalar_of(units[{i}])), along));\n\
                         norm{k}[l] = add(norm{k}[l], mul(along, along)); }}"
                    );
                }
                Sum::Products(_) | Sum::Entry(..) | Sum::Nothing => {}
            }
        }
        if self.vector && !forward {
            let _ = writeln!(
                c,
                "scalar up[{b}][OWN];\n\
                 for (int i = 0; i < {b}; i++) for (int l = 0; l < OWN; l++) up[i][l] = ZERO;"
            );
            let _ = writeln!(
                sums,
                "const scalar of_g = c < width ? scalar_of(g[c]) : ZERO;\n\
                 for (int i = 0; i < {b}; i++) up[i][l] = add(up[i][l], mul(b[i], of_g));"
            );
        }
        if !sums.is_empty() {
            c += &each(sums);
        }
        let inputs = self.inputs(params, forward);
        // Only arguments that the expression takes are stored.
        let put = |argument: usize, value: &str| match inputs.iter().position(|&input| input == argument) {
            Some(at) => format!("if (ITEM == 0) numbers[{at} * ROWS] = {value};\n"),
            None => String::new(),
        };
        let i = self.invariants.len();
        for (k, invariant) in self.invariants.iter().enumerate() {
            let found = Found { k, sum: invariant.sum(), statements: RefCell::default() };
            let (Text(value), parts) = invariant.find(self.metric, &found);
            c += &format!("{{ {}\n", found.statements.into_inner());
            for (part, Text(value)) in parts.iter().take(invariant.kept()).enumerate() {
                c += &put(i + 4 * k + part, value);
            }
            c += &(put(k, &value) + "}\n");
        }
        if !forward {
            for o in 0..self.outputs {
                let sum =
                    if self.vector { format!("sum_of(up[{o}], team)") } else { "scalar_of(g[0])".into() };
                c += &format!("{{ const scalar of_g = {sum};\n{}}}\n", put(5 * i + o, "of_g"));
            }
            for q in 0..params {
                c += &put(5 * i + self.outputs + q, &format!("params[{q}]"));
            }
        }
        c + "}\n"
    }

    /// `extremeK(x, width, square, slope)` for invariant K: the norm of a basis vector whose square
    /// overflows or underflows and its slope, as in [`crate::kernels::gram::basis::extreme`].
    fn extreme_source(&self, k: usize, i: usize) -> String {
        let (b, x) = (self.basis.len(), lower(self.metric, &format!("b[{i}]")));
        let each =
            |text: String| format!("for (ulong c = 0; c < width; c++) {{ basis(x, c, width, b); {text} }}\n");
        let largest = each(format!(
            "const wide size = fabs(rounded({x})); if (size > largest || isnan(size)) largest = size;"
        ));
        let sum = each(format!("const scalar scaled = div({x}, unit); sum = add(sum, mul(scaled, scaled));"));
        format!(
            "static scalar extreme{k}(__global const elem *const *x, ulong width, scalar square, \
             scalar *slope) {{\n\
             *slope = ZERO;\n\
             if (rounded(square) >= LEAST_SQUARE && rounded(square) < INFINITY) return ZERO;\n\
             scalar b[{b}], sum = ZERO; wide largest = 0;\n{largest}\
             if (largest != 0 && !isfinite(largest)) *slope = scalar_of(NAN);\n\
             if (largest == 0 || !isfinite(largest)) return scalar_of(largest);\n\
             const scalar unit = scalar_of(ldexp((wide)1, ilogb(largest)));\n{sum}\
             const scalar norm = mul(sqrt_of(sum), unit);\n\
             *slope = scalar_of(isfinite(rounded(norm)) ? 1 : NAN);\n\
             *slope = div(*slope, norm);\n\
             return norm;\n}}\n"
        )
    }

    /// `wedgeK(x, width, team, products)` for invariant K: the wedge of three basis vectors as in
    /// [`crate::kernels::wedge`], and the products that its reverse pass needs.
    fn wedge_source(&self, k: usize, vectors: [usize; 3]) -> String {
        let mut read = String::new();
        for i in 0..self.vectors {
            let _ = writeln!(read, "const scalar v{i} = c < width ? scalar_of(x[{i}][c]) : ZERO;");
        }
        for (name, b) in ["a", "b", "d"].into_iter().zip(vectors) {
            let two = |i, sign, j| {
                format!("scalar {name}_low; const scalar {name} = two_sum(v{i}, {sign}v{j}, &{name}_low);")
            };
            let one = |value: &str| format!("const scalar {name} = {value}, {name}_low = ZERO;");
            let exact = match self.basis[b].terms() {
                Terms::One(i, false) => one(&format!("v{i}")),
                Terms::One(i, true) => one(&format!("c == 0 ? -v{i} : v{i}")),
                Terms::Sum(i, j) => two(i, "", j),
                Terms::Difference(i, j) => two(i, "-", j),
                Terms::Unit(end) => one(&unit(end).0),
            };
            read += &exact;
            read.push('\n');
        }
        let each = |sums: &[(String, String)]| {
            let mut c = format!("{EACH}\n{read}");
            for (s, (x, y)) in sums.iter().enumerate() {
                let _ = writeln!(c, "s{s}[l] = add(s{s}[l], mul({x}, {y}));");
            }
            c + "}\n"
        };
        let pair = |x: &str, y: &str| (x.to_owned(), lower(self.metric, &format!("({y})")));
        let is_wide = if is_area(self.metric, vectors) {
            format!("less(mul(aa, products[3]), mul(scalar_of({WIDE:e}), area))")
        } else {
            "0".into()
        };
        let first = each(&[pair("a", "a"), pair("a", "b"), pair("a", "d"), pair("b", "d")]);
        // The vectors less their components along a.
        let left = |p, vector| {
            format!("add(multiply_add({p}, a, neg({vector})), multiply_add({p}, a_low, neg({vector}_low)))")
        };
        let [b, d] = [left("p", "b"), left("q", "d")];
        let second = each(&[pair(&b, &d), pair(&b, "a"), pair(&d, "a")]);
        format!(
            "INLINE scalar wedge{k}(__global const elem *const *x, ulong width, SHARED scalar *team, \
             scalar *products) {{\n\
             scalar s0[OWN] = ZEROS, s1[OWN] = ZEROS, s2[OWN] = ZEROS, s3[OWN] = ZEROS;\n{first}\
             const scalar aa = sum_of(s0, team), ab = sum_of(s1, team), ad = sum_of(s2, team);\n\
             products[0] = aa; products[1] = ab; products[2] = ad; products[3] = sum_of(s3, team);\n\
             const scalar area = sub(mul(aa, products[3]), mul(ab, ad)), p = div(ab, aa), q = div(ad, aa);\n\
             const int is_wide = {is_wide};\n\
             for (int l = 0; l < OWN; l++) s0[l] = s1[l] = s2[l] = ZERO;\n\
             if (!is_wide && rounded(aa) != 0) {second}\
             const scalar bd_left = sum_of(s0, team), b_left = sum_of(s1, team), d_left = sum_of(s2, team);\n\
             if (is_wide) return area;\n\
             return rounded(aa) == 0 ? mul(neg(ab), ad) : sub(mul(aa, bd_left), mul(b_left, d_left));\n}}\n"
        )
    }

    /// The loop that writes the gradients of the vectors. Shares that are the constant 0 are left out.
    fn store_vectors(&self, shares: &Expression) -> String {
        let (v, b) = (self.vectors, self.basis.len());
        let of_ends = 2 * v * b + 2 * v;
        let out = |k: usize| format!("out[{k} * ROWS]");
        let terms = |region: usize, i: usize| {
            // The order of the sum is that of the processor.
            let mut terms = String::from("ZERO");
            if self.layout.reads_ends {
                let (first, last) = (out(of_ends + i), out(of_ends + v + i));
                terms = format!("add(c == 0 ? {first} : ZERO, c + 1 == width ? {last} : ZERO)");
            }
            let mut add = |term: String| terms = format!("add({terms}, {term})");
            for a in 0..b {
                let share = (region * v + i) * b + a;
                if shares.constant(share) != Some(0.0) {
                    add(format!("mul({}, b[{a}])", out(share)));
                }
            }
            if self.vector {
                add(format!("mul({}, scalar_of(g[p * width + c]))", out(2 * v * b + region * v + i)));
            }
            terms
        };
        let is_end = is_end(self.metric.end());
        let mut c = String::from(
            "for (ulong c = ITEM; c < width; c += ITEMS) { scalar b[B]; basis(x, c, width, b); ",
        );
        for i in 0..v {
            let mut value = terms(BODY, i);
            if self.layout.has_end {
                value = format!("{is_end} ? {} : {value}", terms(END, i));
            }
            let _ = write!(c, "if (d{i}) d{i}[p * width + c] = (elem)rounded({value}); ");
        }
        c + "}"
    }

    fn source<T: Storage>(&self, queue: &Queue, team: Team, params: usize, forward: bool) -> String {
        let (v, b) = (self.vectors, self.basis.len());
        let expression = if forward { ("value", self.value().clone()) } else { ("shares", self.shares()) };
        let mut c = String::new();
        let mut define = |name: &str, text: String| {
            let _ = writeln!(c, "#define {name} {}", text.replace('\n', " "));
        };
        let of_vectors = (0..v).map(|i| format!("__global const elem *x{i}, ulong4 r{i}"));
        let of_params = (0..params).map(|q| format!("__global const elem *p{q}, scalar c{q}, ulong4 s{q}"));
        define("OPERANDS", of_vectors.chain(of_params).collect::<Vec<_>>().join(", "));
        define(
            "LOAD(p)",
            format!(
                "__global const elem *x[V] = {{{}}}; const scalar params[P + 1] = {{{}}}",
                (0..v).map(|i| format!("x{i} + at(r{i}, p) * width, ")).collect::<String>(),
                (0..params)
                    .map(|q| format!("p{q} ? scalar_of(p{q}[at(s{q}, p)]) : c{q}, "))
                    .collect::<String>()
                    + "ZERO",
            ),
        );
        let [inputs, outputs] = self.sizes(forward);
        for (name, size) in [
            ("V", v),
            ("P", params),
            ("B", b),
            ("O", self.outputs),
            ("INPUTS", inputs),
            ("OUTPUTS", outputs),
            ("NUMBERS", self.numbers(params, forward)),
        ] {
            define(name, size.to_string());
        }
        for (name, on) in [
            ("FORWARD", forward),
            ("VECTOR", self.vector),
            ("BALL", self.domain == Domain::Ball),
            ("COMPENSATED", T::COMPENSATED),
        ] {
            if on {
                define(name, String::new());
            }
        }
        let take = self.inputs(params, forward).into_iter().enumerate();
        let take = take.map(|(at, input)| format!("in[{input}] = (numbers)[{at} * ROWS]"));
        define("TAKE(in, numbers)", take.collect::<Vec<_>>().join("; "));
        let largest_time = match self.domain {
            Domain::BoundedHyperboloid => format!("({:e} / sqrt(-rounded(kappa)))", bounded_time::<T>(-1.0)),
            _ => format!("{:e}", largest_time::<T>()),
        };
        define("LARGEST_TIME", largest_time);
        define("LARGEST", format!("{:e}", T::LARGEST));
        define("LEAST_HEIGHT", format!("{:e}", least_height::<T>()));
        let settle = match self.domain {
            Domain::Free | Domain::Ball => "",
            Domain::Hyperboloid | Domain::BoundedHyperboloid => "settle_hyperboloid",
            Domain::HalfSpace => "settle_half_space",
            Domain::Sphere => "settle_sphere",
        };
        let arguments = "(row, width, kappa, here, team)";
        define(
            &format!("SETTLE{arguments}"),
            if settle.is_empty() { "".into() } else { settle.to_owned() + arguments },
        );
        if !forward {
            define("G_WIDTH(width)", if self.vector { "width" } else { "1" }.into());
            let of_vectors = (0..v).map(|i| format!("__global elem *d{i}"));
            let of_params = (0..params).map(|q| format!("__global wide *e{q}"));
            define("GRADS", of_vectors.chain(of_params).collect::<Vec<_>>().join(", "));
            let first = outputs - PARAMS;
            let store = (0..params).map(|q| format!("if (e{q}) e{q}[p] = rounded(out[{}])", first + q));
            define("STORE_PARAMS(p)", store.collect::<Vec<_>>().join("; "));
            define("STORE_VECTORS(p)", self.store_vectors(&expression.1));
        }
        let wedges = self.invariants.iter().enumerate().filter_map(|(k, invariant)| match invariant.sum() {
            Sum::Products(vectors) => Some(self.wedge_source(k, vectors)),
            Sum::Norm(i) => Some(self.extreme_source(k, i)),
            _ => None,
        });
        [
            queue.row_scalars(),
            queue.row_function(expression.0, &expression.1),
            team.source(),
            c,
            include_str!("rows.cl").to_owned(),
            self.basis_source(),
            wedges.collect(),
            self.survey_source(params, forward),
            include_str!("gram.cl").to_owned(),
        ]
        .concat()
    }

    /// How each operand is read over the common rows, and the number of these rows.
    fn reads<T: Storage>(&self, inputs: &[Array<'_, T>]) -> (SmallVec<[Broadcast; 6]>, usize) {
        let shapes: SmallVec<[&Shape; 6]> = inputs.iter().map(|input| input.shape).collect();
        let rows = row_shape(&shapes, &|i| i < self.vectors, false).expect("checked");
        let own =
            |(i, shape): (usize, &&Shape)| if i < self.vectors { shape.rows() } else { (*shape).clone() };
        let reads = shapes.iter().enumerate().map(own);
        let read = |own: Shape| Broadcast::new(own.axes(), rows.axes()).expect("checked");
        (reads.map(read).collect(), rows.elements())
    }

    fn operands<'q, T: Storage>(
        &self,
        mut launch: Launch<'q>,
        queue: &Queue,
        inputs: &[Array<'_, T>],
        reads: &[Broadcast],
    ) -> Launch<'q> {
        for (i, (input, &read)) in inputs.iter().zip(reads).enumerate() {
            launch = if i < self.vectors {
                launch.keep(input.on(queue)).broadcast(read)
            } else {
                let memory = input.constant.is_none().then(|| input.on(queue));
                launch.keep_optional(memory).scalar(input.constant.unwrap_or(0.0)).broadcast(read)
            };
        }
        launch
    }
}

impl<T: Storage> OnDevice<T> for RowPlan {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, out, .. } = forward;
        let key = Key::new::<T>("gram forward", Some((self.functions.formula)()));
        let params = inputs.len() - self.vectors;
        let team = queue.team(self.numbers(params, true));
        let program = queue.program::<T>(key, || self.source::<T>(queue, team, params, true));
        let (reads, n) = self.reads(inputs);
        let launch = queue.launch(&program, "forward").size(n).size(inputs[0].shape.width()).memory(out);
        self.operands(launch, queue, inputs, &reads).over_rows(team, n);
    }

    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let inputs = reverse.inputs;
        let key = Key::new::<T>("gram backward", Some((self.functions.formula)()));
        let params = inputs.len() - self.vectors;
        let team = queue.team(self.numbers(params, false));
        let program = queue.program::<T>(key, || self.source::<T>(queue, team, params, false));
        let ((reads, n), width) = (self.reads(inputs), inputs[0].shape.width());
        let launch = queue.launch(&program, "backward").size(n).size(width).memory(reverse.g);
        let mut launch = self.operands(launch, queue, inputs, &reads);
        // The gradient of a vector that is read in full is written in place. The others are written for each
        // row and then summed.
        let mut sums: SmallVec<[(usize, Arc<Memory>, &Memory); 6]> = SmallVec::new();
        for (i, grad) in reverse.grads.iter().enumerate() {
            let is_vector = i < self.vectors;
            match grad {
                Some(grad) if !is_vector || !reads[i].is_full(n) => {
                    let all =
                        if is_vector { queue.take_for::<T>(&[n, width]) } else { queue.take_wide(&[n]) };
                    launch = launch.keep(Arc::clone(&all));
                    sums.push((i, all, grad));
                }
                grad => launch = launch.optional(grad.as_deref()),
            }
        }
        launch.over_rows(team, n);
        for (i, all, grad) in sums {
            let (sum, width) = if i < self.vectors { (&SUM, width) } else { (&WIDE_SUM, 1) };
            sum.run::<T>(queue, &all, Broadcasted { read: reads[i], n, width }, None, grad);
        }
    }
}

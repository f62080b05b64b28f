//! Row formulas compute the same bits for a single row and for a row among others, and in each of the ways in
//! which they can be run.

use cotangent_engine::{
    Device, Domain, Float, Invariant, Metric, Row, RowFormula, RowPlan, Rows, Scalar, Tape, Tensor, Var,
    Vector, rng,
};
use rand::RngExt;

use crate::simd::{Digest, bits};

/// Every kind of invariant, in a definite or an indefinite metric.
#[derive(Clone, Copy)]
struct Everything<const DEFINITE: bool>;

impl<const DEFINITE: bool> RowFormula<2, 3, 10, 3> for Everything<DEFINITE> {
    const NAME: &'static str = "everything";
    const VECTOR: bool = true;
    const METRIC: Metric = if DEFINITE { Metric::Space } else { Metric::Minkowski };
    const BASIS: [Vector; 3] = [Vector::Input(0), Vector::Difference(1, 0), Vector::Flip(1)];
    const DOMAIN: Domain = Domain::Ball;
    const INVARIANTS: [Invariant; 10] = [
        Invariant::Margin(0),
        Invariant::Dot(1, 0),
        Invariant::Accurate(1, 2),
        Invariant::Along(1, 2),
        Invariant::Wedge(0, 1, 1),
        Invariant::Wedge(1, 0, 2),
        Invariant::First(1),
        Invariant::Last(0),
        Invariant::Param(1),
        Invariant::Epsilon,
    ];
    fn eval<S: Scalar>([m, dot, square, along, area, wedge, x, y, t, e]: [S; 10]) -> [S; 3] {
        [m * dot + area, (square.square() + e).sqrt() / (t + x.square()), wedge - along * y * t]
    }
}

/// The ways in which a formula can be run.
pub(crate) const INTERPRETED: u8 = 0;
pub(crate) const COMPILED: u8 = 1;
pub(crate) const SPECIALISED: u8 = 2;

/// A formula that is run in one of these ways.
#[derive(Clone, Copy)]
pub(crate) struct By<F, const WAY: u8>(pub(crate) F);

impl<F, const WAY: u8, const V: usize, const B: usize, const I: usize, const O: usize> RowFormula<V, B, I, O>
    for By<F, WAY>
where
    F: RowFormula<V, B, I, O>,
{
    const NAME: &'static str = F::NAME;
    const VECTOR: bool = F::VECTOR;
    const BASIS: [Vector; B] = F::BASIS;
    const INVARIANTS: [Invariant; I] = F::INVARIANTS;
    const METRIC: Metric = F::METRIC;
    const DOMAIN: Domain = F::DOMAIN;
    const SPECIALISED: bool = WAY == SPECIALISED;
    fn plan() -> &'static RowPlan {
        const {
            match WAY {
                INTERPRETED => RowPlan::interpreted::<Self, V, B, I, O>(),
                _ => RowPlan::compiled::<Self, V, B, I, O>(),
            }
        }
    }
    #[inline(always)]
    fn eval<S: Scalar>(invariants: [S; I]) -> [S; O] {
        F::eval(invariants)
    }
}

struct Case<T: Float> {
    /// Left rows, right rows (as many, or a single one), κ, and a number for each right row.
    inputs: [Tensor<T>; 4],
    /// The gradient of the result.
    g: Tensor<T>,
}

/// The result, and the gradients of the inputs.
type Outcome<T> = [Vec<T>; 5];

impl<T: Float> Case<T> {
    fn new(n: usize, width: usize, single: bool) -> Self {
        let mut rng = rng::stream(n as u64, width as u64, 0);
        let mut draw = |axes: &[usize]| Tensor::from_fn(axes, |_| T::nearest(rng.random_range(-0.5..0.5)));
        let m = if single { 1 } else { n };
        let [x, y, t] = [draw(&[n, width]), draw(&[m, width]), draw(&[m])];
        let inputs = [x, y, Tensor::new([1], vec![T::nearest(-1.0)]), t];
        Case { inputs, g: draw(&[n, width]) }
    }

    /// The case of row `i` alone.
    fn row(&self, i: usize) -> Self {
        let part = |table: &Tensor<T>| {
            let row = if table.shape()[0] == 1 { 0 } else { i };
            let size = table.len() / table.shape()[0];
            let mut axes = table.shape().axes().to_vec();
            axes[0] = 1;
            Tensor::new(&axes[..], table.data()[row * size..][..size].to_vec())
        };
        Case { inputs: self.inputs.each_ref().map(part), g: part(&self.g) }
    }

    fn on(&self, tape: &mut Tape<T>, formula: impl RowFormula<2, 3, 10, 3>) -> Outcome<T> {
        tape.reset();
        let [x, y, kappa, t] = self.inputs.each_ref().map(|input| tape.variable(input));
        let out = Var::vector(formula, [&x, &y], [&kappa, &t]);
        let result = out.to_tensor().data().to_vec();
        let gradients = tape.backward_from(out, &self.g);
        let gradient = |input: Var<'_, T>| {
            assert!(gradients.view(input).is_some());
            gradients.wrt(input).data().to_vec()
        };
        [result, gradient(x), gradient(y), gradient(kappa), gradient(t)]
    }
}

/// Calls `work` with the sizes that are tested: number of rows, width, whether there is a single right row.
fn sizes(mut work: impl FnMut(usize, usize, bool)) {
    for n in (0..=9).chain([15, 16, 17, 33]) {
        // At the last width, rows are too wide for several groups in the reverse pass.
        for width in [1, 2, 5, 8, 9, 16, 24, 72] {
            [false, true].into_iter().for_each(|single| work(n, width, single));
        }
    }
}

#[test]
fn rows_side_by_side_compute_the_bits_of_single_ones() {
    fn same<T: Float, const DEFINITE: bool>(tape: &mut Tape<T>, n: usize, width: usize, single: bool) {
        let case = Case::<T>::new(n, width, single);
        let formula = By::<_, COMPILED>(Everything::<DEFINITE>);
        let many = case.on(tape, formula);
        for i in 0..n {
            let alone = case.row(i);
            let [x, y, _, t] = &alone.inputs;
            let number = t.data()[0].to_f64();
            let rows = [x, y].map(|x| Row::from(x.data()));
            let row = Row::vector(formula, rows.each_ref(), [&-1.0, &number]);
            let name = format!("row {i} of {n}, of {width}");
            assert_eq!(bits(&many[0][i * width..][..width]), bits(&row), "{name}");
            let [result, dx, dy, _, dt] = alone.on(tape, formula);
            assert_eq!(bits(&result), bits(&row), "{name}");
            assert_eq!(bits(&many[1][i * width..][..width]), bits(&dx), "{name}, gradient of x");
            // The gradient of a single right row is a sum over the left rows.
            if !single {
                assert_eq!(bits(&many[2][i * width..][..width]), bits(&dy), "{name}, gradient of y");
                assert_eq!(bits(&many[4][i..][..1]), bits(&dt), "{name}, gradient of t");
            }
        }
    }
    let (mut narrow, mut wide) = (Tape::with_device(Device::cpu()), Tape::with_device(Device::cpu()));
    sizes(|n, width, single| {
        same::<f32, true>(&mut narrow, n, width, single);
        same::<f32, false>(&mut narrow, n, width, single);
        same::<f64, true>(&mut wide, n, width, single);
        same::<f64, false>(&mut wide, n, width, single);
    });
}

#[test]
fn a_formula_has_the_same_bits_interpreted_compiled_and_with_kernels_of_its_own() {
    fn same<T: Float, const DEFINITE: bool>(tape: &mut Tape<T>, case: &Case<T>, name: &str) {
        let formula = Everything::<DEFINITE>;
        let compiled = case.on(tape, By::<_, COMPILED>(formula));
        let interpreted = case.on(tape, By::<_, INTERPRETED>(formula));
        // Leaves NaN in all memory that the kernels do not clear.
        let mut poison = Case::<T>::new(33, 5, false);
        poison.inputs.iter_mut().for_each(|input| input.data_mut().fill(T::nearest(f64::NAN)));
        poison.on(tape, By::<_, SPECIALISED>(formula));
        let specialised = case.on(tape, By::<_, SPECIALISED>(formula));
        for (part, compiled) in compiled.iter().enumerate() {
            let name = format!("{name}, definite: {DEFINITE}, part {part}");
            assert_eq!(bits(&interpreted[part]), bits(compiled), "{name}, interpreted");
            assert_eq!(bits(&specialised[part]), bits(compiled), "{name}, specialised");
        }
    }
    let (mut narrow, mut wide) = (Tape::with_device(Device::cpu()), Tape::with_device(Device::cpu()));
    sizes(|n, width, single| {
        let name = format!("{n} rows of {width}, a single right one: {single}");
        let (f32, f64) = (Case::<f32>::new(n, width, single), Case::<f64>::new(n, width, single));
        same::<_, true>(&mut narrow, &f32, &name);
        same::<_, false>(&mut narrow, &f32, &name);
        same::<_, true>(&mut wide, &f64, &name);
        same::<_, false>(&mut wide, &f64, &name);
    });
}

/// Results and gradients of all sizes, then of rows with special numbers in them.
pub(crate) fn digest<T: Float>(digest: &mut Digest) {
    let mut tape = Tape::with_device(Device::cpu());
    let mut line = |case: &Case<T>, name: String| {
        let definite = case.on(&mut tape, By::<_, COMPILED>(Everything::<true>));
        digest.line(format_args!("{name}, a definite metric"), &definite);
        let indefinite = case.on(&mut tape, By::<_, COMPILED>(Everything::<false>));
        digest.line(format_args!("{name}, an indefinite one"), &indefinite);
    };
    sizes(|n, width, single| {
        let name = format!("{n} rows of {width} {}, {}", T::NAME, if single { "and one" } else { "each" });
        line(&Case::new(n, width, single), name);
    });
    for width in 1..=9 {
        for special in [0.5, f64::NAN, f64::INFINITY, -0.0] {
            let mut case = Case::new(5, width, false);
            case.inputs[0].data_mut()[3] = T::nearest(special);
            line(&case, format!("5 rows of {width} {} with {special}", T::NAME));
        }
    }
}

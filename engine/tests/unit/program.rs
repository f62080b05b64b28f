//! Programs have the bits of the expressions that they are made of.

use cotangent_engine::program::Input;
use cotangent_engine::{Dual, Expression, Float, Program, Scalar, Trace, formulas};

/// Numbers that are all different, with the special ones among them.
fn numbers<T: Float>(count: usize, seed: usize) -> Vec<T> {
    let special = [
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e-300,
        -1e-40,
        1.0,
        -1.0,
        1e30,
        -0.9,
        -0.3,
        -1e-9,
        1e-30,
        0.2,
        0.7,
        0.99,
        -1e3,
        1e300,
    ];
    (0..count)
        .map(|i| match (i + seed) % 7 {
            0 => T::nearest(special[(i / 7 + seed) % special.len()]),
            k => T::nearest((k as f64 - 3.2) * (1.0 + 0.37 * ((i * 31 + seed * 17) % 101) as f64 / 101.0)),
        })
        .collect()
}

/// Bits, of which all NaN have the same.
fn bits<T: Float>(x: T) -> u64 {
    if x.is_nan() { u64::MAX } else { x.to_f64().to_bits() }
}

fn agrees<T: Float>(name: &str, expression: &Expression, inputs: usize, outputs: usize) {
    let program = Program::<T>::new(expression);
    // Whole pieces, less than one, and what is left of several blocks.
    for count in [1, 15, 16, 17, 256, 257, 600] {
        let columns: Vec<Vec<T>> = (0..inputs).map(|k| numbers(count, k)).collect();
        for number in [false, true] {
            // The first input as a column, and as a single number.
            let first = if number { Input::Number(columns[0][0]) } else { Input::Column(&columns[0]) };
            let given: Vec<Input<'_, T>> =
                [first].into_iter().chain(columns[1..].iter().map(|column| Input::Column(column))).collect();
            let mut results = vec![vec![T::zero(); count]; outputs];
            let mut slices: Vec<&mut [T]> = results.iter_mut().map(|result| &mut result[..]).collect();
            program.run(&given, &mut slices);
            for i in 0..count {
                let at = |k: usize| if k == 0 && number { columns[0][0] } else { columns[k][i] };
                let arguments: Vec<T> = (0..inputs).map(at).collect();
                for (k, want) in expression.evaluate(&arguments).into_iter().enumerate() {
                    let got = results[k][i];
                    assert_eq!(
                        bits(got),
                        bits(want),
                        "{name}, output {k} at {arguments:?}: {got}, not {want}"
                    );
                }
            }
        }
    }
}

/// Values and derivatives of all functions that expressions know.
#[test]
fn programs_have_the_bits_of_their_expressions() {
    for formula in formulas::ALL.into_iter().flatten() {
        let expression = (formula.trace)();
        agrees::<f64>(formula.name, &expression, formula.arguments, 1);
        agrees::<f32>(formula.name, &expression, formula.arguments, 1);
    }
    fn slopes(x: &[Trace]) -> Vec<Trace> {
        let [x, y] = Dual::variables([x[0], x[1]]);
        let values = [
            x.tanh() * y.gelu(),
            (x.sin() - y.cos()) * x,
            x.sinh() / (y.cosh() + x),
            x.tanc().max(y.sinc()) - x.cosc() * y,
            x.sigmoid() * y.softplus() + x * y,
            (x * y - x.abs()).min(y.atan() * x * y),
            x.arctanc() * (y + x) - y.arcsinc() * (y - x),
        ];
        values.iter().flat_map(|v| [v.value, v.partials[0], v.partials[1]]).collect()
    }
    let expression = Expression::trace(2, slopes);
    agrees::<f64>("slopes", &expression, 2, 21);
    agrees::<f32>("slopes", &expression, 2, 21);
}

#[test]
fn every_function_has_the_bits_of_single_numbers() {
    macro_rules! all {
        ($($f:ident)*) => { [$((stringify!($f), Expression::trace(1, |x| vec![x[0].$f()]))),*] };
    }
    let functions = all!(
        abs sqrt exp exp_m1 ln ln_1p sin cos tan asin atan sinh cosh tanh asinh acosh atanh erf gelu
        tanc arctanc sinc cosc arcsinc sigmoid softplus log_sigmoid
    );
    for (name, expression) in &functions {
        agrees::<f64>(name, expression, 1, 1);
        agrees::<f32>(name, expression, 1, 1);
    }
}

/// Outputs that are inputs, constants, or one another.
#[test]
fn outputs_may_be_anything() {
    let expression = Expression::trace(2, |x| {
        let sum = x[0] + x[1];
        let three = Trace::constant(3.0);
        vec![x[1], three, sum, sum, three * Trace::constant(0.5), sum * sum]
    });
    agrees::<f64>("outputs", &expression, 2, 6);
}

#[test]
#[should_panic(expected = "inputs and outputs of one length")]
fn columns_of_other_lengths_are_refused() {
    let program = Program::<f64>::new(&Expression::trace(1, |x| vec![-x[0]]));
    program.run(&[Input::Column(&[1.0, 2.0])], &mut [&mut [0.0]]);
}

#[test]
fn a_formula_that_panics_ends_its_recording() {
    let fails = || Expression::trace(1, |_| panic!("a fault of the formula"));
    assert!(std::panic::catch_unwind(fails).is_err());
    assert_eq!(Expression::trace(1, |x| vec![x[0] + x[0]]).evaluate(&[2.0_f64]), [4.0]);
    let nested = || {
        Expression::trace(1, |x| {
            Expression::trace(1, |y| y.to_vec());
            x.to_vec()
        })
    };
    assert!(std::panic::catch_unwind(nested).is_err());
    assert_eq!(Expression::trace(1, |x| vec![x[0] + x[0]]).evaluate(&[2.0_f64]), [4.0]);
}

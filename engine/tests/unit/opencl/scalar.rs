use cotangent_engine::internal::{Key, Queue, parts};
use cotangent_engine::{Dual, Expression, Scalar};

/// Arithmetic and elementary functions of two numbers.
fn functions_of<S: Scalar>(x: &[S]) -> Vec<S> {
    let [x, y] = [x[0], x[1]];
    let mut all = vec![-x, x + y, x - y, x * y, x / y, S::select(x.lt(y), x, y), x.sqrt()];
    all.extend([x.exp(), x.exp_m1(), x.ln(), x.ln_1p(), x.sinh(), x.cosh(), x.tanh()]);
    all.extend([x.sin(), x.cos(), x.tan(), x.asin(), x.atan(), x.asinh(), x.acosh(), x.atanh()]);
    all.extend([x.sinc(), x.cosc(), x.tanc(), x.tanc_secant().1, x.arctanc(), x.arcsinc()]);
    // Without circular functions, which have no digits for large arguments.
    let large = x * S::constant(1e6);
    all.extend([large.ln(), large.ln_1p(), large.asinh(), large.exp()]);
    all
}

#[test]
fn constants_keep_their_digits_and_limits_stay_limits() {
    let [high, low] = parts(0.1);
    assert!((f64::from(high) + f64::from(low) - 0.1).abs() < 2f64.powi(-49) * 0.1);
    assert_eq!(parts(1e300), [f32::INFINITY, 0.0]);
    let limits = [1e300, -1e300, f64::MIN_POSITIVE];
    let expression = Expression::trace(0, |_| limits.map(Scalar::constant).to_vec());
    let c = expression.to_compensated_c("f", "scalar");
    for limit in ["(float)9.68", "(float)-9.68", "(float)1.17549435082228751e-38)"] {
        assert!(c.contains(limit), "{c}");
    }
}

/// The error is at most 2⁻⁴⁰ of the value in `f64`, plus the change of the value when the arguments
/// change by 2⁻⁴⁰ of themselves.
#[test]
fn compensated_scalars_have_forty_bits() {
    let queue = match Queue::new(0, true) {
        Ok(queue) => queue,
        Err(error) => cotangent_engine::skip!("{error}"),
    };
    let expression = Expression::trace(2, functions_of);
    let count = functions_of(&[0.0; 2]).len();
    let source = || {
        queue.row_scalars()
            + &queue.row_function("value", &expression)
            + &format!(
                "__kernel void evaluate(ulong n, __global const scalar *x, __global scalar *y) {{\n\
                 const ulong p = get_global_id(0);\nif (p >= n) return;\n\
                 scalar in[2] = {{x[2 * p], x[2 * p + 1]}}, out[{count}];\nvalue(in, out);\n\
                 for (int i = 0; i < {count}; i++) y[{count} * p + i] = out[i];\n}}\n"
            )
    };
    let program = queue.program::<f32>(Key::new::<f32>("evaluate", None), source);
    // Near 0, 1 and -1 from both sides, over the range of exponentials, and special numbers.
    let mut numbers = vec![0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for k in 0..400 {
        let (small, sign) = (2f64.powf(-0.05 * f64::from(k)), f64::from(1 - k % 2 * 2));
        numbers.extend([1.0 - small, small - 1.0, 1.0 + small, sign * small, sign * 80.0 * small]);
        numbers.extend([sign * 1e4 * small, sign / small, -6000.0 * small]);
    }
    let pairs: Vec<[f32; 2]> = numbers.iter().map(|&x| parts(x)).collect();
    let n = pairs.len();
    let arguments: Vec<[[f32; 2]; 2]> = (0..n).map(|i| [pairs[i], pairs[(i * 7 + 3) % n]]).collect();
    // The lower part comes first.
    let given: Vec<f32> = arguments.as_flattened().iter().flat_map(|&[high, low]| [low, high]).collect();
    let (x, y) = (queue.upload(bytemuck::cast_slice(&given)), queue.take(n * count * 8));
    queue.launch(&program, "evaluate").size(n).memory(&x).memory(&y).over(n);
    let mut results = vec![0_f32; 2 * n * count];
    queue.read(&y, bytemuck::cast_slice_mut(&mut results));
    let number = |[high, low]: [f32; 2]| f64::from(high) + f64::from(low);
    for (at, arguments) in arguments.iter().enumerate() {
        let arguments = arguments.map(number);
        let want = functions_of(&Dual::variables(arguments));
        for (i, want) in want.iter().enumerate() {
            let pair = &results[2 * (at * count + i)..][..2];
            let (got, slope) = (number([pair[1], pair[0]]), want.partials);
            let changes: f64 = (0..2).map(|k| (arguments[k] * slope[k]).abs()).sum();
            let (want, name) = (want.value, format!("function {i} of {arguments:?}"));
            if !(want.abs() < 1e30) {
                let same = want.is_nan() == got.is_nan() && !(got.abs() < 1e29);
                assert!(same, "{name}: {got:e} for {want:e}");
            } else if want == 0.0 || want.abs() > 1e-25 {
                let bound = 2f64.powi(-40) * (want.abs() + changes.min(1e6 * want.abs()));
                assert!((got - want).abs() <= bound, "{name}: {got:e} for {want:e}, {bound:e}");
            }
        }
    }
}

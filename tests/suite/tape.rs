//! The tape: deep graphs, reuse, and the messages of programmer errors.

use cotangent::prelude::*;

use crate::pairs::Bump;

#[test]
fn a_million_nodes_neither_recurse_nor_overflow() {
    let tape = Tape::<f64>::new();
    let x = tape.variable(&Tensor::new([2], vec![1.0, -1.0]));
    let mut y = x;
    for i in 0..500_000 {
        y = if i % 2 == 0 { -y } else { y.reshape([2, 1]).reshape([2]) };
    }
    let loss = (y * y * y).sum();
    assert_eq!(loss.item(), 0.0);
    let g = tape.backward(loss);
    assert_eq!(g.wrt(x).data(), [3.0, 3.0]);
}

#[test]
fn a_reset_tape_gives_the_same_bits_again() {
    let ball = PoincareBall::new(-1.0);
    let mut rng = rng::stream(1, 0, 0);
    let embedding: Embedding<_, f32> = Embedding::uniform("e", ball, 50, 3, 0.3, &mut rng);
    let mut tape = Tape::new();
    let mut step = || {
        tape.reset();
        let (u, v) = (embedding.forward(&tape, &[1, 2, 3, 1]), embedding.forward(&tape, &[4, 1, 3, 9]));
        let loss = u.dist(&v).square().sum();
        let value = loss.item();
        let gradients = tape.backward(loss);
        let GradientView::Rows { rows, values, width } = gradients.param(embedding.points.id()).unwrap()
        else {
            panic!("a gathered table has a row-sparse gradient")
        };
        assert_eq!(width, 3);
        (value, rows.to_vec(), values.to_vec())
    };
    let first = step();
    assert_eq!(first.1.len(), 5); // 1, 2, 3, 4, 9: each once
    // The pair (3, 3) has distance 0, whose gradient is 0, not NaN.
    let at = first.1.iter().position(|&r| r == 3).unwrap();
    assert_eq!(first.2[3 * at..3 * at + 3], [0.0; 3]);
    assert_eq!(step(), first);
}

#[test]
fn a_parameter_put_on_the_tape_twice_is_one_variable() {
    let p = Param::new("p", Euclidean, Tensor::new([1, 2], vec![1.0_f64, 2.0]));
    let tape = Tape::new();
    let (a, b) = (*p.on(&tape), *p.on(&tape));
    let g = tape.backward((a * b).sum());
    assert_eq!(g.wrt(&p).data(), [2.0, 4.0]);
}

#[test]
#[should_panic(expected = "add: shapes [[2, 3], [4]] do not broadcast")]
fn shapes_that_do_not_fit_are_named() {
    let tape = Tape::<f32>::new();
    let _ = tape.constant(&Tensor::zeros([2, 3])) + tape.constant(&Tensor::zeros([4]));
}

#[test]
#[should_panic(expected = "stereographic.dist: vectors of one width are needed, not [2, 3], [2, 4]")]
fn widths_that_do_not_fit_are_named() {
    let tape = Tape::<f32>::new();
    let (x, y) = (tape.constant(&Tensor::zeros([2, 3])), tape.constant(&Tensor::zeros([2, 4])));
    let _ = PoincareBall::new(-1.0).dist(&x, &y);
}

#[test]
#[should_panic(expected = "mul: the variables are on different tapes")]
fn variables_of_two_tapes_do_not_mix() {
    let (a, b) = (Tape::<f32>::new(), Tape::<f32>::new());
    let (x, y) = (a.scalar(1.0), b.scalar(2.0));
    let _ = x * y;
}

/// Every operation that takes a variable refuses one of another tape.
#[test]
fn variables_of_another_tape_are_refused() {
    type Use = for<'t> fn(&'t Tape<f64>, Var<'t, f64>, Var<'t, f64>);
    let uses: [(&str, Use); 7] = [
        ("wrt", |tape, own, other| {
            let gradients = tape.backward(own.sum());
            let _ = gradients.wrt(other);
        }),
        ("backward", |tape, _, other| drop(tape.backward(other))),
        ("backward_from", |tape, _, other| drop(tape.backward_from(other, &Tensor::zeros([3])))),
        ("jvp", |tape, own, other| _ = tape.jvp(other, &[(own, own)])),
        ("jvp", |tape, own, other| _ = tape.jvp(own, &[(other, own)])),
        ("jvp", |tape, own, other| _ = tape.jvp(own, &[(own, other)])),
        ("bump", |tape, _, other| {
            let [rows, numbers] = [other.reshape([3, 1]), other];
            let params = [other.slice(0, 0..1).reshape([])];
            let _ = tape.pairs(Bump, [rows, rows], [numbers; 2], [numbers; 3], params).scores();
        }),
    ];
    for (name, with) in uses {
        let message = panic_message(move || {
            let (a, b) = (Tape::new(), Tape::new());
            with(&a, a.variable(&Tensor::zeros([3])), b.variable(&Tensor::zeros([3])));
        });
        assert_eq!(message, format!("{name}: the variables are on different tapes"));
    }
}

#[test]
#[should_panic(expected = "gather: row 5 of a table of 5 rows")]
fn rows_out_of_range_are_named() {
    let tape = Tape::<f32>::new();
    let _ = tape.constant(&Tensor::zeros([5, 2])).gather(&[0, 5]);
}

#[test]
#[should_panic(expected = "backward: the loss must be a single number, not [3]")]
fn only_a_number_can_be_differentiated() {
    let tape = Tape::<f32>::new();
    let x = tape.variable(&Tensor::zeros([3]));
    let _ = tape.backward(x);
}

#[test]
#[should_panic(expected = "was released by the backward pass")]
fn reading_a_released_value_says_why() {
    let tape = Tape::<f32>::new();
    let x = tape.variable(&Tensor::zeros([3]));
    let y = x.exp();
    let _ = tape.backward(y.sum());
    let _ = y.to_tensor();
}

/// A loss that is another shape of a sum shows the sum's elements, which stay.
#[test]
fn a_reshaped_loss_keeps_its_value() {
    let tape = Tape::<f64>::new();
    let x = tape.variable(&Tensor::new([2], vec![1.0, 2.0]));
    let loss = (x * x).sum().reshape([1]).insert_axis(0);
    let gradients = tape.backward(loss);
    assert_eq!((gradients.wrt(x).data(), loss.item()), (&[2.0, 4.0][..], 5.0));
}

/// A backward pass releases the values of a graph, so the graph has no derivatives afterwards.
#[test]
fn a_graph_has_no_derivatives_after_a_backward_pass() {
    type Loss = for<'t> fn(Var<'t, f64>) -> Var<'t, f64>;
    // Also operations whose derivatives do not need the values.
    let losses: [(&str, Loss); 3] = [
        ("sum", |x| (x * x * x).sum()),
        ("sum", |x| x.gather(&[0, 1]).sum()),
        ("slice", |x| x.slice(0, 1..2).reshape([])),
    ];
    for (last, loss) in losses {
        let tape = Tape::new();
        let leaves = || {
            let x = tape.variable(&Tensor::new([2, 1], vec![1.0, 2.0]));
            (x, tape.constant(&Tensor::new([2, 1], vec![0.5, -1.0])))
        };
        let (x, v) = leaves();
        let f = loss(x);
        let slope = tape.jvp(f, &[(x, v)]);
        let first = tape.backward(f).wrt(x).data().to_vec();
        assert_eq!(slope.item(), 0.5 * first[0] - first[1]);
        let message = |f: &dyn Fn()| panic_message(std::panic::AssertUnwindSafe(f));
        let said = message(&|| _ = tape.jvp(f, &[(x, v)]));
        assert!(said.contains("jvp through ") && said.contains("released by the backward pass"), "{said}");
        let said = message(&|| drop(tape.backward(f)));
        assert!(said.contains(&format!("backward through {last}: ")), "{said}");
        // Computations that are recorded later have derivatives.
        let (x, v) = leaves();
        let f = loss(x);
        assert_eq!(tape.jvp(f, &[(x, v)]).item(), 0.5 * first[0] - first[1]);
        assert_eq!(tape.backward(f).wrt(x).data().to_vec(), first);
    }
}

/// The value of `x` is kept, that of `y` is not: its rows are forgotten with it.
#[test]
fn a_released_node_has_no_second_derivative() {
    let tape = Tape::new();
    let x = tape.variable(&Tensor::new([2, 1], vec![1.0, 2.0]));
    let (y, r) = (x.gather(&[1]), x.reshape([2]));
    let ones = |shape: &[usize]| Tensor::from_fn(shape, |_| 1.0);
    assert_eq!(tape.backward_from(r, &ones(&[2])).wrt(x).data(), [1.0, 1.0]);
    let said = panic_message(std::panic::AssertUnwindSafe(|| drop(tape.backward_from(y, &ones(&[1, 1])))));
    assert!(said.contains("released by the backward pass"), "{said}");
}

#[test]
fn a_jvp_that_panics_leaves_the_tape_whole() {
    let tape = Tape::new();
    let x = tape.variable(&Tensor::new([2], vec![1.0, 2.0]));
    let v = tape.constant(&Tensor::new([2], vec![1.0, 1.0]));
    let (square, f) = (x * x, (x * x).max());
    for _ in 0..2 {
        let said = panic_message(std::panic::AssertUnwindSafe(|| _ = tape.jvp(f, &[(x, v)])));
        assert_eq!(said, "max: forward mode is not offered for this operation");
    }
    assert_eq!(tape.jvp(square, &[(x, v)]).to_tensor().data(), [2.0, 4.0]);
    assert_eq!(tape.backward(f).wrt(x).data(), [0.0, 4.0]);
}

/// The backward pass of a deep network releases each node as soon as it is done with it.
#[test]
fn memory_in_use_falls_during_the_backward_pass() {
    let mut tape = Tape::<f32>::new();
    let x = Tensor::from_fn([64, 64], |i| (i as f32).sin());
    let mut peaks = Vec::new();
    for _ in 0..2 {
        tape.reset();
        assert_eq!(tape.memory().in_use, 0);
        let v = tape.variable(&x);
        let mut y = v;
        for _ in 0..100 {
            y = y.tanh();
        }
        let loss = y.sum();
        let forward = tape.memory().in_use;
        let gradients = tape.backward(loss);
        let after = tape.memory();
        peaks.push(after.peak);
        // The gradient of x and the loss are left. The pass needed two cotangents beyond the forward
        // values.
        assert!(after.in_use <= 2 * x.len() * 4, "{after:?}");
        assert!(after.peak <= forward + 3 * x.len() * 4, "{after:?} after {forward}");
        drop(gradients);
    }
    assert_eq!(peaks[0], peaks[1]);
}

fn panic_message(f: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(f).unwrap_err();
    panic.downcast_ref::<String>().cloned().unwrap_or_else(|| (*panic.downcast_ref::<&str>().unwrap()).into())
}

#[test]
fn a_checked_tape_names_the_first_operation_that_is_not_finite() {
    let x = Tensor::new([3], vec![1.0_f64, 0.0, -1.0]);
    let message = panic_message({
        let x = x.clone();
        move || {
            let tape = Tape::checked();
            let y = tape.variable(&x).square().ln() + 1.0;
            let _ = y.exp();
        }
    });
    assert_eq!(message, "ln: the result of shape [3] is -inf at element 1; inputs of shapes [3]");
    // A finite result with an infinite derivative: the reverse pass names the line that recorded the
    // operation.
    let message = panic_message(move || {
        let tape = Tape::checked();
        let v = tape.variable(&x);
        let loss = v.asin().sum();
        let _ = tape.backward(loss);
    });
    assert!(
        message.starts_with("asin: the gradient of input 0 is inf at element 0; recorded at "),
        "{message}"
    );
    assert!(message.contains("tape.rs"), "{message}");
}

/// A process reads the environment once, so this test runs itself in child processes.
#[test]
fn the_environment_checks_all_tapes() {
    const CHILD: &str = "COTANGENT_TEST_CHECKED";
    if std::env::var_os(CHILD).is_some() {
        let tape = Tape::<f64>::with_device(Device::cpu());
        let _ = tape.scalar(0.0).ln();
        return;
    }
    for (value, says) in [
        ("1", Some("ln: the result of shape [] is -inf at element 0")),
        ("0", None),
        ("yes", Some("COTANGENT_CHECKED=yes: 0 or 1 is needed")),
    ] {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "tape::the_environment_checks_all_tapes"]).env(CHILD, "1");
        child.env("COTANGENT_CHECKED", value);
        let output = child.output().unwrap();
        assert_eq!(output.status.success(), says.is_none(), "{value}");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(says.is_none_or(|says| printed.contains(says)), "{value}: {printed}");
    }
}

#[test]
fn panics_show_the_callers_line() {
    use std::sync::{Arc, Mutex};
    let seen = Arc::new(Mutex::new(String::new()));
    let hook = std::panic::take_hook();
    let location = Arc::clone(&seen);
    std::panic::set_hook(Box::new(move |info| {
        *location.lock().unwrap() = info.location().map(ToString::to_string).unwrap_or_default();
    }));
    let refused = std::panic::catch_unwind(|| {
        let tape = Tape::<f32>::new();
        let _ = tape.zeros([2, 3]).matmul(tape.zeros([2, 3]));
    });
    std::panic::set_hook(hook);
    assert!(refused.is_err());
    let line = seen.lock().unwrap().clone();
    assert!(line.contains("tests/suite/tape.rs"), "{line}");
}

/// The gradient has the shape of the variable, parameter or point. Rows that were not read have zeros, and so
/// has a parameter that the loss does not depend on.
#[test]
fn gradients_have_the_shape_of_their_variable() {
    let value = || Tensor::new([3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let table = Param::new("table", Euclidean, value());
    let idle = Param::new("idle", Euclidean, value());
    let tape = Tape::new();
    let x = table.on(&tape);
    let unread = idle.on(&tape);
    let gradients = tape.backward(x.gather(&[2, 2]).sum());
    let want = Tensor::new([3, 2], vec![0.0, 0.0, 0.0, 0.0, 2.0, 2.0]);
    assert_eq!(gradients.wrt(&table), want);
    assert_eq!(gradients.wrt(x), want);
    assert_eq!(gradients.wrt(*x), want);
    assert!(matches!(gradients.view(x), Some(GradientView::Rows { .. })));
    assert_eq!(gradients.wrt(&idle), Tensor::zeros([3, 2]));
    assert!(gradients.view(&idle).is_none() && gradients.view(unread).is_none());
}

/// A Euclidean point on a tape has the operators of its variable, on either side.
#[test]
fn euclidean_points_calculate_like_variables() {
    let param = Param::new("p", Euclidean, Tensor::new([2], vec![3.0, 5.0]));
    let tape = Tape::new();
    let (p, v) = (param.on(&tape), tape.constant(&Tensor::new([2], vec![2.0, 4.0])));
    let results = [p + p, p - v, v - p, p * v, v / p, p / 2.0, 2.0 - p, 15.0 / p, -p, 1.0 + p, v + p, v * p];
    let want = [[6.0, 10.0], [1.0, 1.0], [-1.0, -1.0], [6.0, 20.0], [2.0 / 3.0, 4.0 / 5.0], [1.5, 2.5]];
    let more = [[-1.0, -3.0], [5.0, 3.0], [-3.0, -5.0], [4.0, 6.0], [5.0, 9.0], [6.0, 20.0]];
    for (i, (result, want)) in results.iter().zip(want.iter().chain(&more)).enumerate() {
        assert_eq!(result.to_tensor().data(), want, "result {i}");
    }
    let square = p.reshape([1, 2]).matmul_nt(p.reshape([1, 2]));
    assert_eq!(square.item(), 34.0);
}

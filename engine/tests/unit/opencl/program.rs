use cotangent_engine::internal::{Key, Queue, complaints, names_double};

#[test]
fn a_kernel_that_does_not_compile_shows_the_line_and_the_log() {
    let queue = match Queue::new(0, false) {
        Ok(queue) => queue,
        Err(error) => cotangent_engine::skip!("{error}"),
    };
    let source = || "__kernel void broken(__global elem *x) {\n    x[0] = no_such_thing;\n}\n".to_owned();
    let compile = || drop(queue.program::<f32>(Key::new::<f32>("broken", None), source));
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(compile)).expect_err("broken");
    let message = refused.downcast_ref::<String>().expect("a message");
    for part in ["the kernel broken does not compile", ": x[0] = no_such_thing;", "undeclared identifier"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn programs_that_need_f64_are_known_by_their_words() {
    for source in ["double x;", "float y = (double)x;", "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"] {
        assert!(names_double(source), "{source}");
    }
    assert!(!names_double("float twice_double = as_double2(x);"));
}

#[test]
fn complaints_name_the_line() {
    let source = "int a;\nint b = ;\nint c;";
    assert_eq!(complaints(source, "<source>:2:9: error: expected expression"), "line 2: int b = ;\n");
    assert_eq!(complaints(source, "error: /tmp/x.cl:2:9: expected"), "line 2: int b = ;\n");
    assert_eq!(complaints(source, "no line"), "");
}

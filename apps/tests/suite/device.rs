//! The option `--device` of every application.

use std::path::Path;
use std::process::Command;

use crate::common::{App, Dir};

const APPS: [(&str, &[&str]); 5] = [
    (env!("CARGO_BIN_EXE_poincare"), &["train"]),
    (env!("CARGO_BIN_EXE_gru"), &[]),
    (env!("CARGO_BIN_EXE_graph"), &["--path", "none"]),
    (env!("CARGO_BIN_EXE_subtree"), &["--embedding", "none", "--edges", "none"]),
    (env!("CARGO_BIN_EXE_transformer"), &["train", "--path", "none"]),
];

/// As on a computer without a driver, whatever there is here: exit code, and both outputs.
fn without_drivers(app: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(app).args(args).env("OCL_ICD_VENDORS", "/nonexistent").output().unwrap();
    let [out, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), out, error)
}

#[track_caller]
fn says_what_to_install(error: &str) {
    let [line] = error.lines().collect::<Vec<_>>()[..] else { panic!("not one line: {error}") };
    let parts: &[&str] = if cfg!(feature = "opencl") {
        &[
            "error: --device: no OpenCL device was found (",
            "install the driver of your GPU, or PoCL",
            "pocl-opencl-icd",
        ]
    } else {
        &["error: --device: OpenCL is not in this build: build with --features opencl"]
    };
    assert!(parts.iter().all(|part| line.contains(part)), "{line}");
}

#[test]
fn without_a_driver_the_error_says_what_to_install() {
    for (app, needed) in APPS {
        let (code, _, error) = without_drivers(app, &[needed, &["--device", "opencl"]].concat());
        says_what_to_install(&error);
        assert_eq!(code, Some(2), "{app}");
    }
}

/// The processor is listed first, and no other option is needed.
#[test]
fn devices_are_listed_whatever_else_is_missing() {
    for (app, needed) in APPS {
        let command = needed.first().filter(|word| !word.starts_with('-'));
        let args: Vec<&str> = command.copied().into_iter().chain(["--device", "list"]).collect();
        let (code, out, error) = without_drivers(app, &args);
        assert_eq!(out, "cpu       the processor\n", "{app}: {error}");
        says_what_to_install(&error);
        assert_eq!(code, Some(2), "{app}");
    }
}

/// By `COTANGENT_DEVICE_F64=0`: what computes in `f64` says so before anything is written.
#[test]
fn a_device_without_f64_is_refused_by_what_computes_in_it() {
    let poincare = env!("CARGO_BIN_EXE_poincare");
    if !App(poincare).has_opencl(&["train"]) {
        return;
    }
    let dir = Dir::new();
    let out = dir.path("out");
    let output = Command::new(poincare)
        .args(["train", "--device", "opencl", "--precision", "f64", "--out", &out])
        .env("COTANGENT_DEVICE_F64", "0")
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("has no f64: a computation in f32, or another device, is needed"), "{error}");
    assert_eq!(output.status.code(), Some(2));
    assert!(!Path::new(&out).exists());
}

//! The option `--device` of every application.

use std::process::Command;

/// Runs an application as on a computer without OpenCL drivers. Returns the exit code and both outputs.
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
            "error: --device: no OpenCL device was found (no driver is installed)",
            "install the driver of your GPU, or PoCL",
            "pocl-opencl-icd",
        ]
    } else {
        &["error: --device: OpenCL is not in this build: build with --features opencl"]
    };
    assert!(parts.iter().all(|part| line.contains(part)), "{line}");
}

pub(crate) fn without_a_driver_the_error_says_what_to_install(app: &str, needed: &[&str]) {
    let (code, _, error) = without_drivers(app, &[needed, &["--device", "opencl"]].concat());
    says_what_to_install(&error);
    assert_eq!(code, Some(2), "{app}");
}

/// The processor is listed first. `--device list` needs no other option.
pub(crate) fn devices_are_listed_whatever_else_is_missing(app: &str, needed: &[&str]) {
    let command = needed.first().filter(|word| !word.starts_with('-'));
    let args: Vec<&str> = command.copied().into_iter().chain(["--device", "list"]).collect();
    let (code, out, error) = without_drivers(app, &args);
    assert_eq!(out, "cpu       the processor\n", "{app}: {error}");
    says_what_to_install(&error);
    assert_eq!(code, Some(2), "{app}");
}

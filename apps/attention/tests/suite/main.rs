//! The applications `transformer` and `graph` from the outside.

#[path = "../../../tests/common.rs"]
mod common;
#[path = "../../../tests/device.rs"]
mod device;
mod graph;
#[path = "../../../tests/help.rs"]
mod help;
#[path = "../../../tests/pictures.rs"]
mod pictures;
mod transformer;

/// Each application with the arguments that it requires.
const APPS: [(&str, &[&str]); 2] = [
    (env!("CARGO_BIN_EXE_transformer"), &["train", "--path", "none"]),
    (env!("CARGO_BIN_EXE_graph"), &["--path", "none"]),
];

//! The applications `poincare` and `subtree` from the outside.

mod arguments;
#[path = "../../../tests/common.rs"]
mod common;
#[path = "../../../tests/device.rs"]
mod device;
mod evaluation;
#[path = "../../../tests/help.rs"]
mod help;
mod interchange;
mod models;
#[path = "../../../tests/pictures.rs"]
mod pictures;
mod place;
mod poincare;
mod projections;
mod subtree;
mod view;

/// Each application with the arguments that it requires.
const APPS: [(&str, &[&str]); 2] = [
    (env!("CARGO_BIN_EXE_poincare"), &["train"]),
    (env!("CARGO_BIN_EXE_subtree"), &["--embedding", "none", "--edges", "none"]),
];

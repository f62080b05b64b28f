//! The application `gru` from the outside.

#[path = "../../../tests/common.rs"]
mod common;
#[path = "../../../tests/device.rs"]
mod device;
mod gru;
#[path = "../../../tests/help.rs"]
mod help;
#[path = "../../../tests/pictures.rs"]
mod pictures;

/// Each application with the arguments that it requires.
const APPS: [(&str, &[&str]); 1] = [(env!("CARGO_BIN_EXE_gru"), &[])];

//! The application `gru` from the outside.

#[path = "../../../tests/common.rs"]
mod common;
#[path = "../../../tests/device.rs"]
mod device;
mod gru;
#[path = "../../../tests/pictures.rs"]
mod pictures;

/// Each with the arguments that it cannot do without.
const APPS: [(&str, &[&str]); 1] = [(env!("CARGO_BIN_EXE_gru"), &[])];

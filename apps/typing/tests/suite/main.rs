//! The application `typing` from the outside.

#[path = "../../../tests/common.rs"]
mod common;
#[path = "../../../tests/device.rs"]
mod device;
#[path = "../../../tests/help.rs"]
mod help;
#[path = "../../../tests/pictures.rs"]
mod pictures;
mod typing;

/// Each application with the arguments that it requires.
const APPS: [(&str, &[&str]); 1] =
    [(env!("CARGO_BIN_EXE_typing"), &["train", "--train", "none", "--dev", "none", "--words", "none"])];

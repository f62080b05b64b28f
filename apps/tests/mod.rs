//! What the tests of all applications share. Each package's test binary has this folder as a module:
//!
//! | module | what |
//! |---|---|
//! | [`common`] | running and killing a binary, temporary directories |
//! | [`scenarios`] | what every training must stand: `scenarios!` |
//! | [`help`], [`device`] | the options that every command line has: `command_line!` |
//! | [`readme`] | the lines of an application in apps/README.md |
//! | [`pictures`] | whether text is within its picture |
#![allow(dead_code, reason = "no package uses all of it")]

pub(crate) mod common;
pub(crate) mod device;
pub(crate) mod help;
pub(crate) mod pictures;
pub(crate) mod readme;
pub(crate) mod scenarios;

/// A test for each of these functions of a module, called with the arguments.
macro_rules! tests {
    ($module:ident $arguments:tt: $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                crate::shared::$module::$name $arguments;
            }
        )*
    };
}

/// Tests of an application's command line: the name of its binary, and the arguments that it needs.
macro_rules! command_line {
    ($binary:literal, $needs:expr) => {
        tests! { help(env!(concat!("CARGO_BIN_EXE_", $binary)), $needs):
            help_groups_its_options_and_ends_with_three_examples
            wrong_arguments_are_refused_in_one_line
            manual_pages_and_completions_are_written
        }
        tests! { device(env!(concat!("CARGO_BIN_EXE_", $binary)), $needs):
            without_a_driver_the_error_says_what_to_install
            devices_are_listed_whatever_else_is_missing
        }
    };
}

/// Tests that every application passes: the name of its binary, its `APP`, and how it is trained. With
/// `resumes` also those of a training that writes checkpoints.
#[allow(unused_macros, reason = "a package without a training has none")]
macro_rules! scenarios {
    ($binary:literal, $app:expr, $training:expr) => {
        mod scenarios {
            use super::*;
            use crate::shared::common::App;

            const PROGRAM: App = App(env!(concat!("CARGO_BIN_EXE_", $binary)));
            command_line!($binary, $app.needs);
            tests! { readme(&$app): readme_has_its_lines }
            tests! { scenarios(&PROGRAM, &$training):
                the_result_has_the_same_bits_for_any_number_of_threads
                a_second_run_in_one_directory_is_refused
                directories_that_cannot_be_written_are_refused
                closed_outputs_end_nothing
                a_loss_that_is_no_number_stops_training
                text_is_within_its_picture
            }
        }
    };
    ($binary:literal, $app:expr, $training:expr, resumes) => {
        scenarios!($binary, $app, $training);

        mod resuming {
            use super::*;
            use crate::shared::common::App;

            const PROGRAM: App = App(env!(concat!("CARGO_BIN_EXE_", $binary)));
            tests! { scenarios(&PROGRAM, &$training):
                killed_at_any_moment_it_resumes
                a_bad_checkpoint_is_refused_and_nothing_is_lost
                a_loss_that_is_no_number_keeps_the_last_checkpoint
            }
        }
    };
}

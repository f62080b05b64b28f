//! What every command line has: `--quiet`, `--json`, `--generate`, and examples at the end of the help.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches, value_parser};
use clap_complete::Shell;
use cotangent::engine::files::atomic;

use crate::application::Application;
use crate::error::{AppError, Result, report};
use crate::print::{self, Style};
use crate::ranks;

/// The heading of options that say where and how an application runs, but not what it computes.
pub const RUN: &str = "Run";

/// The default output directory of an application, which has its name in place of the last word.
pub const OUT: &str = "runs/NAME";

/// Parses the arguments of the process for an application, whose name and description it takes, and sets how
/// the process prints. Exits with an error of one line if they are wrong, and after `--help`, `--version` and
/// `--generate`.
pub fn parse_app<C: CommandFactory + FromArgMatches>(app: &Application) -> C {
    parse_app_with(app, |command| command)
}

/// Same as [`parse_app`], after a change to the clap command: for example other possible values.
pub fn parse_app_with<C: CommandFactory + FromArgMatches>(
    app: &Application,
    change: impl FnOnce(Command) -> Command,
) -> C {
    parse_command(change(described(C::command(), app)), None)
}

/// The command with the description of an application. Its main subcommand has the same examples, and every
/// subcommand the same default output directory.
fn described(command: Command, app: &Application) -> Command {
    let (first, more) = app.about.split_once("\n\n").unzip();
    let first = first.unwrap_or(app.about).trim_end_matches('.');
    let command = command.name(app.name).about(first).long_about(more.map(|_| app.about));
    let out = |argument: Arg| match argument.get_default_values() {
        [default] if default == OUT => argument.default_value(OUT.replace("NAME", app.name)),
        _ => argument,
    };
    let detailed = |command: Command| command.after_help(app.help_end());
    let command = detailed(command).mut_args(out).mut_subcommands(|command| command.mut_args(out));
    match app.subcommand() {
        Some(name) => command.mut_subcommand(name, detailed),
        None => command,
    }
}

/// Same as [`parse_app_with`]; without a subcommand it is as if `default` were given.
pub fn parse_app_or<C: CommandFactory + FromArgMatches>(
    app: &Application,
    default: &'static str,
    change: impl FnOnce(Command) -> Command,
) -> C {
    // A command whose subcommands are not optional would print its help.
    parse_command(change(described(C::command(), app)).arg_required_else_help(false), Some(default))
}

fn parse_command<C: FromArgMatches>(command: Command, default: Option<&'static str>) -> C {
    let command = with_common_options(command);
    let matches =
        command.clone().try_get_matches_from(ranks::arguments()).unwrap_or_else(|error| exit(&error));
    if let Some(directory) = matches.get_one::<PathBuf>("generate") {
        std::process::exit(report(generate(command, directory)).into());
    }
    let quiet = matches.get_flag("quiet") || ranks::is_silent();
    print::set_style(Style { quiet, json: matches.get_flag("json") });
    let matches = match default {
        Some(default) if matches.subcommand_name().is_none() => {
            let name = command.get_name().to_owned();
            command.try_get_matches_from([&name, default]).unwrap_or_else(|error| exit(&error))
        }
        _ => matches,
    };
    C::from_arg_matches(&matches).unwrap_or_else(|error| exit(&error))
}

/// Ends the process: after an error in the arguments, or with what `--help` or `--version` asks for.
fn exit(error: &clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    // Arguments that cannot be parsed have not said how to print.
    let json = ranks::arguments().iter().any(|argument| argument == "--json");
    print::set_style(Style { quiet: false, json });
    std::process::exit(report(Err(AppError::usage(one_line(&error.to_string())))).into())
}

/// Clap's message in one line: what is wrong and the values that are possible, without the usage.
fn one_line(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let cause = ["\n\nUsage:", "\n\nFor more information"]
        .iter()
        .fold(message, |text, end| text.split_once(end).map_or(text, |(before, _)| before));
    let words: Vec<&str> = cause.split_whitespace().collect();
    words.join(" ") + "; see --help"
}

fn with_common_options(command: Command) -> Command {
    let flag = |name| Arg::new(name).long(name).action(ArgAction::SetTrue).global(true).help_heading(RUN);
    command
        .max_term_width(100)
        // `--generate` needs no subcommand. If one is missing otherwise, `from_arg_matches` reports it.
        .subcommand_required(false)
        .arg(flag("quiet").help("Show no progress"))
        .arg(flag("json").help("Print JSON, one object per line: texts, progress, metrics"))
        .arg(
            Arg::new("generate")
                .long("generate")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .exclusive(true)
                .help_heading(RUN)
                .help("Write manual pages and shell completions to this directory, then exit"),
        )
}

/// Writes a manual page of the command and of each of its subcommands, and completions for five shells.
fn generate(command: Command, directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).map_err(AppError::io(directory))?;
    let write = |name: &str, content: &[u8]| {
        let path = directory.join(name);
        atomic::write(&path, |file| file.write_all(content)).map_err(AppError::io(&path))
    };
    let name = command.get_name().to_owned();
    let (mut pages, mut command) = (command.clone().disable_help_subcommand(true), command);
    for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, &name, &mut script);
        write(&clap_complete::Generator::file_name(&shell, &name), &script)?;
    }
    pages.build();
    for command in std::iter::once(&pages).chain(pages.get_subcommands()) {
        let page = clap_mangen::Man::new(command.clone());
        let mut text = Vec::new();
        page.render(&mut text).map_err(AppError::io(directory))?;
        write(&page.get_filename(), &text)?;
    }
    crate::say!("written to {}", directory.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message for arguments that are wrong.
    fn message(arguments: &[&str]) -> String {
        let model = Arg::new("model").long("model").value_parser(["flat", "round"]).required(true);
        let dim = Arg::new("dim").long("dim").value_parser(value_parser!(u8));
        let command = with_common_options(Command::new("app").arg(model).arg(dim));
        one_line(&command.try_get_matches_from(arguments).unwrap_err().to_string())
    }

    #[test]
    fn errors_are_one_line_with_what_is_possible() {
        let wrong = message(&["app", "--model", "a\nb"]);
        assert_eq!(
            wrong,
            "invalid value 'a b' for '--model <model>' [possible values: flat, round]; see --help"
        );
        let wrong = message(&["app", "--model", "flat", "--dim", "x"]);
        assert_eq!(wrong, "invalid value 'x' for '--dim <dim>': invalid digit found in string; see --help");
        let missing = message(&["app"]);
        assert!(missing.ends_with("were not provided: --model <model>; see --help"), "{missing}");
        let unknown = message(&["app", "--modl", "flat"]);
        assert!(unknown.starts_with("unexpected argument '--modl' found"), "{unknown}");
        assert!(unknown.contains("'--model'") && unknown.ends_with("; see --help"), "{unknown}");
    }
}

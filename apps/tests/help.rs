//! The help of every application, and the options that all of them have.

use std::path::Path;
use std::process::Command;

use super::common::{App, Dir};

/// The name of an application, and the subcommand that its required arguments begin with, if any.
fn command(app: &'static str, needed: &[&'static str]) -> (&'static str, Vec<&'static str>) {
    let name = Path::new(app).file_stem().unwrap().to_str().unwrap();
    (name, needed.first().copied().filter(|word| !word.starts_with('-')).into_iter().collect())
}

pub(crate) fn help_groups_its_options_and_ends_with_three_examples(
    app: &'static str,
    needed: &[&'static str],
) {
    let (name, command) = command(app, needed);
    for arguments in [vec!["--help"], [command, vec!["--help"]].concat()] {
        let help = App(app).succeeds(&arguments);
        let (options, examples) =
            help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{name}: {help}"));
        let examples: Vec<&str> = examples.lines().collect();
        assert_eq!(examples.len(), 3, "{name}: {examples:?}");
        for example in examples {
            let more = example.trim().strip_prefix(name).unwrap_or_else(|| panic!("{name}: {example}"));
            // With `--help` at the end, the example is parsed but not run.
            let output = Command::new("sh").args(["-c", &format!("'{app}' {more} --help")]).output().unwrap();
            assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
        }
        // All options except these two are under other headings.
        let (_, others) = options.split_once("\nOptions:\n").unwrap();
        let others = others.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
        let flags: Vec<&str> =
            others.flat_map(str::split_whitespace).filter(|word| word.starts_with("--")).collect();
        assert!(flags.iter().all(|flag| ["--help", "--version"].contains(flag)), "{name}: {flags:?}");
        for flag in ["--quiet", "--json"] {
            assert!(help.contains(flag), "{name}: {help}");
        }
    }
}

pub(crate) fn wrong_arguments_are_refused_in_one_line(app: &'static str, needed: &[&'static str]) {
    let (name, command) = command(app, needed);
    let refused = |arguments: &[&str]| {
        let error = App(app).fails(arguments);
        assert!(error.ends_with("; see --help"), "{name}: {error}");
        error
    };
    let unknown = refused(&[&command, &["--no-such-option"][..]].concat());
    assert!(unknown.starts_with("unexpected argument '--no-such-option' found"), "{name}: {unknown}");
    assert!(refused(&["--generate"]).contains("'--generate <DIR>'"), "{name}");
    assert!(refused(&[needed, &["--device"][..]].concat()).contains("'--device"), "{name}");
    if needed.contains(&"none") {
        // What is missing is named by the parser or, of several options, by the application.
        let missing = App(app).fails(&command);
        let named = ["required arguments were not provided: --", "is needed"];
        assert!(
            named.iter().any(|text| missing.contains(text)) && missing.contains("--"),
            "{name}: {missing}"
        );
    }
    let output = App(app).run(&["--json", "--no-such-option"]);
    let event = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), event.lines().count()), (Some(2), 1), "{name}: {event}");
    assert!(event.starts_with("{\"event\":\"error\",") && event.contains("'--no-such-option'"), "{event}");
}

pub(crate) fn manual_pages_and_completions_are_written(app: &'static str, needed: &[&'static str]) {
    let (name, command) = command(app, needed);
    let dir = Dir::new();
    let out = dir.path("texts");
    App(app).succeeds(&["--generate", &out]);
    let text = |file: String| std::fs::read_to_string(Path::new(&out).join(file)).unwrap();
    let mut pages = vec![format!("{name}.1")];
    pages.extend(command.first().map(|command| format!("{name}-{command}.1")));
    for page in pages {
        let page = text(page);
        assert!(page.contains(".SH SYNOPSIS") && page.contains("quiet"), "{page}");
    }
    assert!(!Path::new(&out).join(format!("{name}-help.1")).exists());
    for script in [format!("{name}.bash"), format!("_{name}"), format!("{name}.fish")] {
        assert!(text(script).contains("generate"), "{name}");
    }
    // `--generate` excludes all other options.
    let output = App(app).run(&["--generate", &out, "--json"]);
    assert_eq!(output.status.code(), Some(2), "{name}");
}

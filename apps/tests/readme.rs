//! The lines of an application in apps/README.md: its rows in the table of commands, its line in the list of
//! outputs.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cotangent_apps_common::application::Application;

/// Two tests of one binary must not write the file at the same time.
static FILE: Mutex<()> = Mutex::new(());

/// Puts lines in place of those that begin with `own` and then a quote or a space; if there are none, after
/// the last line that begins with `kind`.
fn replaced(text: &str, kind: &str, own: &str, lines: &[String]) -> String {
    let is_own = |line: &&str| line.strip_prefix(own).is_some_and(|more| more.starts_with(['`', ' ']));
    let mut old: Vec<&str> = text.lines().collect();
    let first = old.iter().position(is_own);
    let place = first.or_else(|| Some(old.iter().rposition(|line| line.starts_with(kind))? + 1));
    let place = place.unwrap_or_else(|| panic!("apps/README.md has no line that begins with {kind}"));
    old.retain(|line| !is_own(line));
    let (before, after) = old.split_at(place);
    let lines = lines.iter().map(String::as_str);
    let all = before.iter().copied().chain(lines).chain(after.iter().copied());
    all.map(|line| format!("{line}\n")).collect()
}

/// With `COTANGENT_WRITE=1` in the environment it writes them.
pub(crate) fn readme_has_its_lines(app: &Application) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let _alone = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let present = std::fs::read_to_string(&path).unwrap();
    let (rows, line) = app.readme();
    let (command, output) = (format!("| `{}", app.name), format!("- of `{}", app.name));
    let wanted = replaced(&present, "| `", &command, &rows);
    let wanted = replaced(&wanted, "- of `", &output, &[line]);
    if std::env::var_os("COTANGENT_WRITE").is_some() {
        std::fs::write(&path, wanted).unwrap();
        return;
    }
    let write = format!("COTANGENT_WRITE=1 cargo test -p {} readme", env!("CARGO_PKG_NAME"));
    for (found, wanted) in present.lines().zip(wanted.lines()) {
        assert_eq!(found, wanted, "apps/README.md is not what `APP` says; to write it: {write}");
    }
    assert_eq!(present.len(), wanted.len(), "apps/README.md is not what `APP` says; to write it: {write}");
}

//! What an application says of itself: its help, its lines in apps/README.md, and what its tests begin with.

/// An application. Each has a constant `APP` beside its model, from which help, apps/README.md and tests are
/// made.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    /// The name of its command.
    pub name: &'static str,
    /// What it does: the beginning of its help. The first paragraph is the short form.
    pub about: &'static str,
    /// Command lines that end its help. The tests try them.
    pub examples: [&'static str; 3],
    /// The subcommand and the options without which it does not run, with data that are not there:
    /// `["train", "--path", "none"]`. Empty if there are none.
    pub needs: &'static [&'static str],
    /// Its rows in apps/README.md: commands, and what they do.
    pub commands: &'static [(&'static str, &'static str)],
    /// What its output directory holds beside `metrics.json`, in apps/README.md: one line of Markdown.
    pub writes: &'static str,
}

impl Application {
    /// The subcommand that the arguments it needs begin with, if any.
    pub fn subcommand(&self) -> Option<&'static str> {
        self.needs.first().copied().filter(|word| !word.starts_with('-'))
    }

    /// The end of its help.
    pub(crate) fn help_end(&self) -> String {
        let lines = self.examples.map(|example| format!("\n  {example}")).concat();
        format!("Examples:{lines}")
    }

    /// Its rows in the table of commands of apps/README.md, and its line in the list of outputs.
    pub fn readme(&self) -> (Vec<String>, String) {
        let rows = self.commands.iter().map(|(commands, what)| format!("| {commands} | {what} |"));
        (rows.collect(), format!("- of `{}`: {}", self.name, self.writes))
    }
}

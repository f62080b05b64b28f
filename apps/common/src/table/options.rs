//! The options that say how a table is laid out, where the table itself leaves it open.

use clap::{Args, ValueEnum};

use super::row::Separator;

/// Whether the first line of a table names its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Header {
    /// It does.
    Yes,
    /// It is data.
    No,
}

/// How a table is laid out. What is not said here is read off the table's lines.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// What separates the columns of a table [default: that by which all lines have the same number of
    /// columns].
    #[arg(long, value_enum, help_heading = "Data")]
    pub separator: Option<Separator>,
    /// Whether the first line names the columns [default: yes if it has known names, such as source and
    /// target, or words above columns of numbers; no if one of its names occurs again below; else an error
    /// asks].
    #[arg(long, value_enum, help_heading = "Data")]
    pub header: Option<Header>,
    /// The columns to read, in the order in which they are needed: names of the header, or numbers from 1
    /// [default: those that the header names, else the first].
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',', help_heading = "Data")]
    pub columns: Vec<String>,
}

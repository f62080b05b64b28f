//! The applications `graph` and `graph-tasks` from the outside.

#[macro_use]
#[path = "../../../tests/mod.rs"]
mod shared;

use shared::common;

mod graph;
mod graph_tasks;
mod graph_tasks_generate;
mod links;

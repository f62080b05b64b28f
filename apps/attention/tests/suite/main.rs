//! The applications `transformer`, `lm`, `vit`, `dit`, `graph` and `graph-tasks` from the outside.

#[macro_use]
#[path = "../../../tests/mod.rs"]
mod shared;

use shared::common;

mod dit;
mod graph;
mod graph_tasks;
mod graph_tasks_generate;
mod links;
mod lm;
mod transformer;
mod vit;

//! The application `graph-tasks`.

fn main() -> std::process::ExitCode {
    cotangent_apps_graphs::graph_tasks::run(&Default::default())
}

//! The application `graph`.

fn main() -> std::process::ExitCode {
    cotangent_apps_graphs::graph::run(&Default::default())
}

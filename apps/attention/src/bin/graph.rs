//! The application `graph`.

fn main() -> std::process::ExitCode {
    cotangent_apps_attention::graph::run(&Default::default())
}

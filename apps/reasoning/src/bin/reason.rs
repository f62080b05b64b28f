//! The application `reason`.

fn main() -> std::process::ExitCode {
    cotangent_apps_reasoning::reason::run(&Default::default())
}

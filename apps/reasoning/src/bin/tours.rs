//! The application `tours`.

fn main() -> std::process::ExitCode {
    cotangent_apps_reasoning::tours::run(&Default::default())
}

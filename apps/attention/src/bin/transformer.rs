//! The application `transformer`.

fn main() -> std::process::ExitCode {
    cotangent_apps_attention::transformer::run(&Default::default())
}

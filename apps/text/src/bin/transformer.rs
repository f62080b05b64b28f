//! The application `transformer`.

fn main() -> std::process::ExitCode {
    cotangent_apps_text::transformer::run(&Default::default())
}

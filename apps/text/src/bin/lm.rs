//! The application `lm`.

fn main() -> std::process::ExitCode {
    cotangent_apps_text::lm::run(&Default::default())
}

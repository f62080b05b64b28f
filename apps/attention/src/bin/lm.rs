//! The application `lm`.

fn main() -> std::process::ExitCode {
    cotangent_apps_attention::lm::run(&Default::default())
}

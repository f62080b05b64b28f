//! The application `dit`.

fn main() -> std::process::ExitCode {
    cotangent_apps_attention::dit::run(&Default::default())
}

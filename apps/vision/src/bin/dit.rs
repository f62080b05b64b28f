//! The application `dit`.

fn main() -> std::process::ExitCode {
    cotangent_apps_vision::dit::run(&Default::default())
}

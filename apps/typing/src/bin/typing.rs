//! The application `typing`.

fn main() -> std::process::ExitCode {
    cotangent_apps_typing::run()
}

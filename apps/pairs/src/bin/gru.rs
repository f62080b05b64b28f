//! The application `gru`.

fn main() -> std::process::ExitCode {
    cotangent_apps_pairs::gru::run()
}

//! The application `vit`.

fn main() -> std::process::ExitCode {
    cotangent_apps_vision::vit::run(&Default::default())
}

//! The application `vit`.

fn main() -> std::process::ExitCode {
    cotangent_apps_attention::vit::run(&Default::default())
}

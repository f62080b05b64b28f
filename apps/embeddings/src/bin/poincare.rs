//! The application `poincare`.

fn main() -> std::process::ExitCode {
    cotangent_apps_embeddings::command::run()
}

//! The application `subtree`.

fn main() -> std::process::ExitCode {
    cotangent_apps_embeddings::subtree::run()
}

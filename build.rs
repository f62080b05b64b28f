//! The pages of the documentation, README.md and guide/*.md, as `src/lib.rs` and `src/guide.rs` include them.
//! Their links and pictures are those of the repository. Rustdoc has other addresses: here pages of the guide
//! become modules, pictures become data, and other files become addresses in the repository.

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=README.md");
    println!("cargo::rerun-if-changed=guide");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::create_dir_all(out.join("guide"))?;
    fs::write(out.join("README.md"), translated(Path::new("README.md"))?)?;
    for entry in fs::read_dir("guide")? {
        let page = entry?.path();
        if page.extension().is_some_and(|kind| kind == "md") {
            fs::write(out.join(&page), translated(&page)?)?;
        }
    }
    Ok(())
}

/// A page with the addresses of its links translated; those in blocks of code are code.
fn translated(page: &Path) -> io::Result<String> {
    let folder = page.parent().unwrap_or(Path::new(""));
    let (mut text, mut code) = (String::new(), false);
    for line in fs::read_to_string(page)?.split_inclusive('\n') {
        code ^= line.trim_start().starts_with("```");
        let mut parts = line.split("](");
        text += parts.next().unwrap_or("");
        for part in parts {
            let (link, after) = part.split_once(')').filter(|_| !code).unwrap_or(("", part));
            let address = if link.is_empty() { String::new() } else { address(folder, link)? + ")" };
            text += &format!("]({address}{after}");
        }
    }
    Ok(text)
}

/// Where rustdoc finds what a page in `folder` links to.
fn address(folder: &Path, link: &str) -> io::Result<String> {
    if link.starts_with('#') || link.contains("://") {
        return Ok(link.into());
    }
    let (file, section) = link.split_at(link.find('#').unwrap_or(link.len()));
    let mut path = PathBuf::new();
    for component in folder.join(file).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            component => path.push(component),
        }
    }
    let kind = path.extension().and_then(|kind| kind.to_str());
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("").replace('-', "_");
    Ok(match (path.parent().and_then(Path::to_str), kind) {
        (Some("guide"), Some("md")) if name == "README" => format!("crate::guide{section}"),
        (Some("guide"), Some("md")) => format!("crate::guide::{name}{section}"),
        (Some(""), Some("md")) if name == "README" => format!("crate{section}"),
        (_, Some("svg")) => picture(&path)?,
        _ => format!("{}/blob/main/{}{section}", env!("CARGO_PKG_REPOSITORY"), path.display()),
    })
}

/// A picture as an address that holds it.
fn picture(path: &Path) -> io::Result<String> {
    let mut address = String::from("data:image/svg+xml,");
    for byte in fs::read(path)? {
        match byte {
            b'-' | b'.' | b',' | b'/' | b':' | b'=' | b';' => address.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => address.push(byte.into()),
            byte => write!(address, "%{byte:02X}").expect("a string can be written"),
        }
    }
    Ok(address)
}

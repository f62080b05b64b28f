//! Formats of embeddings in files.

use std::path::Path;

use clap::ValueEnum;

/// A format of named points in a file. Its extension names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// .tsv: a line of name and coordinates for each point, split by tabs.
    Tsv,
    /// .safetensors: one tensor; names and geometry as metadata.
    Safetensors,
    /// .txt or .vec: the text format of word2vec.
    #[value(name = "word2vec")]
    Text,
    /// .bin: the binary format of word2vec, in f32.
    #[value(name = "word2vec-binary")]
    Binary,
    /// .npy: an array of NumPy; the names are in a text file beside it.
    Npy,
}

impl Format {
    /// The format that a file's extension names, if it is one of these; `.gz` at its end does not count.
    pub fn named_by(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?;
        let (_, extension) = name.strip_suffix(".gz").unwrap_or(name).rsplit_once('.')?;
        match extension {
            "tsv" => Some(Format::Tsv),
            "safetensors" => Some(Format::Safetensors),
            "txt" | "vec" => Some(Format::Text),
            "bin" => Some(Format::Binary),
            "npy" => Some(Format::Npy),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_names_the_format() {
        let named = |path: &str| Format::named_by(Path::new(path));
        assert_eq!(named("a.b/c.d.tsv"), Some(Format::Tsv));
        assert_eq!(named("wiki.vec.gz"), Some(Format::Text));
        assert_eq!(named("words.bin"), Some(Format::Binary));
        assert_eq!((named("a.bin/b"), named("bin"), named("a.csv"), named("..")), (None, None, None, None));
    }
}

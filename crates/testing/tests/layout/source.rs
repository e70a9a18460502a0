//! The files that are checked.

use std::fs;
use std::path::Path;

/// A file with its path from the workspace's root, written with `/`.
#[derive(Debug)]
pub struct SourceFile {
    pub path: String,
    pub text: String,
}

/// The text of a file.
///
/// # Panics
/// If it cannot be read.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The directories below `crates`, in order.
pub fn crates(root: &Path) -> Vec<String> {
    entries(&root.join("crates"))
}

/// All Rust files of the workspace and of the fuzz targets.
pub fn rust_files(root: &Path) -> Vec<SourceFile> {
    let mut files = Vec::new();
    for directory in ["crates", "fuzz"] {
        collect(root, directory, &mut files);
    }
    assert!(files.len() > 100, "only {} files below {}", files.len(), root.display());
    files
}

fn collect(root: &Path, directory: &str, files: &mut Vec<SourceFile>) {
    for name in entries(&root.join(directory)) {
        let path = format!("{directory}/{name}");
        if root.join(&path).is_dir() {
            if name != "target" {
                collect(root, &path, files);
            }
        } else if name.ends_with(".rs") {
            files.push(SourceFile { text: read(&root.join(&path)), path });
        }
    }
}

fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry of a directory").file_name())
        .map(|name| name.into_string().expect("a name in UTF-8"))
        .collect();
    names.sort();
    names
}

//! Checks the layout of this workspace: the size of files, import cycles, the diagram and the questions in
//! ARCHITECTURE.md. Each check is a function from texts to violations, with unit tests on small made-up inputs beside
//! it.

// The tree is the same on every system, and programs for Windows are tested without it.
#![cfg(unix)]

mod diagram;
mod imports;
mod length;
mod profile;
mod questions;
mod source;

use std::collections::BTreeSet;
use std::path::Path;

use source::SourceFile;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The violations that are not `expected`, and the expected ones that did not occur; nothing if all is as expected.
fn unexpected(found: &[(String, String)], expected: &[&str]) -> String {
    let keys: BTreeSet<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    let new = found.iter().filter(|(key, _)| !expected.contains(&key.as_str()));
    let new = new.map(|(_, message)| format!("{message}\n"));
    let gone = expected.iter().filter(|key| !keys.contains(*key));
    new.chain(gone.map(|key| format!("{key} violates no longer: remove it from the list\n")))
        .collect()
}

#[test]
fn files_are_short() {
    let found: Vec<(String, String)> = source::rust_files(root())
        .iter()
        .filter_map(|file| Some((file.path.clone(), length::too_long(file)?)))
        .collect();
    let bad = unexpected(&found, &[]);
    assert!(bad.is_empty(), "\n{bad}");
}

#[test]
fn the_release_profile_optimises_what_is_measured_for_speed() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let bad = profile::differences(&manifest, &diagram::packages(root()));
    assert!(bad.is_empty(), "\n{}", bad.join("\n"));
}

#[test]
fn no_files_import_each_other_in_a_cycle() {
    let files = source::rust_files(root());
    let mut found = Vec::new();
    for package in source::crates(root()) {
        let prefix = format!("crates/{package}/src/");
        let of_package: Vec<&SourceFile> =
            files.iter().filter(|file| file.path.starts_with(&prefix)).collect();
        let cycles = imports::cycles(&of_package, &prefix);
        let ways = cycles.into_iter().flat_map(|cycle| cycle.ways);
        found.extend(ways.map(|way| (package.clone(), format!("import cycle: {way}"))));
    }
    let bad = unexpected(&found, &[]);
    assert!(bad.is_empty(), "\n{bad}");
}

#[test]
fn the_diagram_shows_the_real_dependencies() {
    let text = source::read(&root().join("ARCHITECTURE.md"));
    let bad = diagram::differences(&text, &diagram::packages(root()));
    assert!(bad.is_empty(), "\n{}", bad.join("\n"));
}

#[test]
fn the_questions_have_right_answers() {
    let text = source::read(&root().join("ARCHITECTURE.md"));
    let read = |path: &str| {
        let path = root().join("crates").join(path);
        if path.is_dir() { Some(String::new()) } else { std::fs::read_to_string(path).ok() }
    };
    let bad = questions::wrong_answers(&text, read);
    assert!(bad.is_empty(), "\n{}", bad.join("\n"));
}

#[test]
fn an_expected_violation_must_occur() {
    let found = [("a".to_owned(), "a is bad".to_owned())];
    assert_eq!(unexpected(&found, &["a"]), "");
    assert_eq!(unexpected(&found, &[]), "a is bad\n");
    assert_eq!(unexpected(&[], &["a"]), "a violates no longer: remove it from the list\n");
}

//! The names of metrics occur only in the definition of their area, not as strings in other crates.

// The sources are the same on every system, so that one system suffices.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Tests have the areas of the program.
#[ctor::ctor(unsafe)]
fn install_areas() {
    cases::install();
}

/// All Rust files below a folder, except folders and files of tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the source tree") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The names of `names` that occur in `code` as whole string literals.
fn literals<'a>(code: &str, names: &BTreeSet<&'a str>) -> Vec<&'a str> {
    names.iter().copied().filter(|name| code.contains(&format!("\"{name}\""))).collect()
}

#[test]
fn a_literal_is_found_and_a_longer_text_is_none() {
    let names = BTreeSet::from(["server-cpu", "reply-p99"]);
    assert_eq!(literals("let x = \"server-cpu\";", &names), ["server-cpu"]);
    assert!(literals("// server-cpu\nlet x = \"the server-cpu of\";", &names).is_empty());
}

#[test]
fn no_other_crate_has_names_of_metrics_as_texts() {
    // Names of one word, such as `rate`, also occur with other meanings.
    let names: BTreeSet<&str> = catalog::all()
        .iter()
        .flat_map(|case| case.metrics)
        .map(|metric| metric.name)
        .filter(|name| name.contains('-'))
        .collect();
    assert!(names.len() > 50, "{names:?}");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut copies = Vec::new();
    for package in fs::read_dir(crates).expect("the folder of crates") {
        let package = package.expect("an entry").path();
        let name = package.file_name().expect("a name").to_string_lossy().into_owned();
        // `measure` defines the metrics of its groups of workers.
        if ["cases", "measure"].contains(&name.as_str()) || !package.join("src").is_dir() {
            continue;
        }
        let mut files = Vec::new();
        sources(&package.join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).expect("readable");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let found = literals(code, &names);
            copies.extend(found.into_iter().map(|name| format!("{}: {name}", file.display())));
        }
    }
    assert!(copies.is_empty(), "{copies:#?}");
}

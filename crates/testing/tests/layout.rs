//! Checks the layout of this workspace: the size of files, import cycles, and the diagram and the questions in ARCHITECTURE.md.

// The source tree is the same on every system, and programs for Windows are tested without it.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Maximum lines of a file before its tests; a file of tests only has at most as many in all.
const LINES_AT_MOST: usize = 600;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn architecture() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md")
}

/// The Rust files below a directory: their paths from the root, and texts.
fn rust_files(directory: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(root().join(directory)).expect("a directory") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name in UTF-8");
        let path = format!("{directory}/{name}");
        if root().join(&path).is_dir() {
            if name != "target" {
                files.extend(rust_files(&path));
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(root().join(&path)).expect("a text");
            files.insert(path, text);
        }
    }
    files
}

/// The lines before the module of tests.
fn before_tests(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    let is_tests = |pair: &[&str]| pair[0].trim() == "#[cfg(test)]" && pair[1].contains("mod ");
    lines.truncate(lines.windows(2).position(is_tests).unwrap_or(lines.len()));
    lines
}

#[test]
fn files_are_short() {
    for (path, text) in rust_files("crates").into_iter().chain(rust_files("fuzz")) {
        let lines = before_tests(&text).len();
        assert!(lines <= LINES_AT_MOST, "{path}: {lines} lines before its tests");
    }
}

#[test]
fn files_do_not_import_each_other_in_a_cycle() {
    for package in packages().keys() {
        let files = rust_files(&format!("crates/{package}/src"));
        let cycle = cyclic(imports(package, &files));
        assert!(cycle.is_empty(), "{package}: import cycle among {cycle:?}");
    }
}

/// The imports of a crate's modules, such as `clock/tsc`: the modules that paths from `crate::` on name.
fn imports(package: &str, files: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let start = format!("crates/{package}/src/");
    let module = |path: &String| {
        let path = path[start.len()..].trim_end_matches(".rs");
        path.strip_suffix("/mod").unwrap_or(path).to_owned()
    };
    let names: BTreeSet<String> = files.keys().map(module).collect();
    let imported = |text: &str| -> BTreeSet<String> {
        let code = before_tests(text).into_iter().filter(|line| !line.trim().starts_with("//"));
        let code: Vec<&str> = code.collect();
        let code = code.join("\n");
        let paths = code.split("crate::").skip(1).map(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
            rest[..end.unwrap_or(rest.len())].trim_end_matches(':').replace("::", "/")
        });
        let longest = |path: String| {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            ends.rev().map(|end| path[..end].to_owned()).find(|name| names.contains(name))
        };
        paths.filter_map(longest).collect()
    };
    let of_file = |(path, text): (&String, &String)| {
        let mut imported = imported(text);
        imported.remove(&module(path));
        (module(path), imported)
    };
    files.iter().filter(|(path, _)| !path.contains("tests")).map(of_file).collect()
}

/// The modules that are in import cycles, or between two of them.
fn cyclic(mut imports: BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    loop {
        let importers: BTreeSet<String> = imports.keys().cloned().collect();
        let imported: BTreeSet<String> = imports.values().flatten().cloned().collect();
        imports.retain(|name, others| imported.contains(name) && !others.is_disjoint(&importers));
        if imports.len() == importers.len() {
            return importers.into_iter().collect();
        }
    }
}

#[test]
fn a_cycle_is_found() {
    let file = |name: &str, text: &str| (format!("crates/x/src/{name}.rs"), text.to_owned());
    let files = [
        file("lib", "use crate::a::A;"),
        file("a", "// crate::d\nuse crate::b::c::C;"),
        file("b/c", "fn f() { crate::d::g() }"),
        file("d", "use crate::a::{A, B};\n#[cfg(test)]\nmod tests {\nuse crate::lone;"),
        file("lone", "use crate::a::A;"),
    ];
    assert_eq!(cyclic(imports("x", &files.into())), ["a", "b/c", "d"]);
    let chain = [file("a", "use crate::b::B;"), file("b", "use crate::c::C;"), file("c", "")];
    assert!(cyclic(imports("x", &chain.into())).is_empty());
}

/// The crates of the workspace by their directories, each with the crates that it is built with, and that its tests use.
fn packages() -> BTreeMap<String, [BTreeSet<String>; 2]> {
    let cargo = std::env::var_os("CARGO").expect("cargo runs this test");
    let command = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new(cargo).args(command).current_dir(root()).output();
    let metadata: Value =
        serde_json::from_slice(&output.expect("cargo metadata").stdout).expect("JSON");
    let directory = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("packages").iter().map(|package| {
        let manifest = package["manifest_path"].as_str().expect("a path");
        let mut uses = [BTreeSet::new(), BTreeSet::new()];
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            if let Some(path) = dependency["path"].as_str() {
                uses[usize::from(dependency["kind"] == "dev")].insert(directory(path));
            }
        }
        (directory(manifest.trim_end_matches("/Cargo.toml")), uses)
    });
    packages.collect()
}

/// A line of the diagram has a crate's name, indented by two columns for each step, and its purpose; the next line may be
/// an arrow with the crates that it uses.
#[test]
fn the_diagram_shows_the_real_dependencies() {
    let text = architecture();
    let block = text.split("```").nth(1).expect("a diagram");
    let mut drawn: Vec<(&str, usize, BTreeSet<String>)> = Vec::new();
    for line in block.lines().filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        match words.next().expect("a word") {
            "->" => drawn.last_mut().expect("a crate").2 = words.map(str::to_owned).collect(),
            name => drawn.push((name, (line.len() - line.trim_start().len()) / 2, BTreeSet::new())),
        }
    }
    let packages = packages();
    let names: Vec<&str> = drawn.iter().map(|(name, _, _)| *name).collect();
    let known: BTreeSet<&str> = packages.keys().map(String::as_str).collect();
    assert_eq!(names.iter().copied().collect::<BTreeSet<&str>>(), known);
    assert_eq!(names.len(), known.len(), "a crate is drawn twice");
    for (at, (name, step, uses)) in drawn.iter().enumerate() {
        let [used, used_by_tests] = &packages[*name];
        assert_eq!(uses, used, "what {name} uses");
        let users = drawn.iter().filter(|(_, _, uses)| uses.contains(*name));
        let deepest = users.map(|(_, step, _)| step + 1).max().unwrap_or(0);
        assert_eq!(*step, deepest, "the indentation of {name}");
        // A test must not use a crate that is built on the crate under test: cargo allows it, but the two then exist twice.
        // The areas are only installed, in the catalog, of which there is one.
        let above = |other: &&String| names[..at].contains(&other.as_str());
        let of_tests = used_by_tests.iter().filter(|other| *other != "cases");
        let upwards: Vec<&String> = used.iter().chain(of_tests).filter(above).collect();
        assert!(upwards.is_empty(), "{name} uses {upwards:?}, which stand above it");
    }
}

#[test]
fn the_files_that_answer_the_questions_have_the_names_that_are_given() {
    let text = architecture();
    let table = text.lines().skip_while(|line| !line.starts_with("## Fifteen questions"));
    let rows: Vec<&str> = table.filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), 15);
    for row in rows {
        let answer = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let (paths, names): (Vec<&str>, Vec<&str>) =
            answer.split('`').skip(1).step_by(2).partition(|span| span.contains('/'));
        assert!(!paths.is_empty(), "no file in: {row}");
        let paths = paths.iter().map(|path| root().join("crates").join(path));
        let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
        let read = |path| fs::read_to_string(&path).unwrap_or_else(|_| panic!("no file {path:?}"));
        let text: String = files.into_iter().map(read).collect();
        assert!(!text.is_empty() || !folders.is_empty());
        for name in names.iter().filter(|name| !name.starts_with('-')) {
            let last = name.rsplit("::").next().unwrap_or(name);
            assert!(text.contains(last), "`{name}` is in none of the files of: {row}");
        }
    }
}

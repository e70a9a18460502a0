//! Checks the layout of this workspace: the size of files, import cycles, conditions on systems, and the diagram and the
//! questions in ARCHITECTURE.md.

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

/// Conditions that depend on the operating system.
const SYSTEMS: [&str; 4] = ["target_os", "target_vendor", "unix", "windows"];

#[test]
fn no_function_differs_inside_between_systems() {
    for (path, text) in rust_files("crates") {
        let is_test = ["tests", "benches"].iter().any(|of| path.split('/').any(|part| part == *of));
        if is_test || path.ends_with("/tests.rs") {
            continue;
        }
        let text = code_of(&before_tests(&text).join("\n"));
        let conditions = conditions_in_functions(&text);
        assert!(conditions.is_empty(), "{path}: make a function for each system: {conditions:?}");
        let values = if path.starts_with("crates/platform/") { Vec::new() } else { values(&text) };
        assert!(values.is_empty(), "{path}: use the constants of platform: {values:?}");
    }
}

/// The text without comments, and without braces and semicolons in literals.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hashes = rest
            .strip_prefix('r')
            .map_or(0, |rest| rest.len() - rest.trim_start_matches('#').len());
        let raw_end = format!("\"{}", "#".repeat(hashes));
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == 'r' && rest[1 + hashes..].starts_with('"') {
            let start = 2 + hashes;
            rest[start..].find(&raw_end).map_or(rest.len(), |end| start + end + raw_end.len())
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if first == '\'' {
            // A lifetime has no second quote.
            let letters: Vec<(usize, char)> = rest.char_indices().take(4).collect();
            match letters[..] {
                [_, (_, '\\'), (_, _), ..] => rest[3..].find('\'').map_or(1, |end| end + 4),
                [_, _, (at, '\''), ..] => at + 1,
                _ => 1,
            }
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        code.push_str(if length > 1 { "_" } else { "'" });
        rest = &rest[length..];
    }
    code
}

/// The conditions on operating systems, `#[cfg(..)]`, within the bodies of functions.
fn conditions_in_functions(code: &str) -> Vec<String> {
    let (mut conditions, mut blocks, mut start) = (Vec::new(), Vec::new(), 0);
    for (at, letter) in code.char_indices() {
        match letter {
            '{' => {
                let words: Vec<&str> =
                    code[start..at].split(|c: char| !c.is_alphanumeric() && c != '_').collect();
                let has = |word: &str| words.contains(&word);
                let is_item = ["impl", "mod", "trait"].iter().any(|word| has(word));
                // What is nested in a function, such as a loop, is part of it; an item begins anew.
                let in_function = has("fn") || !is_item && blocks.last() == Some(&true);
                blocks.push(in_function);
            }
            '}' => _ = blocks.pop(),
            '#' if blocks.last() == Some(&true) && code[at..].starts_with("#[cfg(") => {
                let condition = code[at..].split(']').next().unwrap_or_default();
                if SYSTEMS.iter().any(|system| condition.contains(system)) {
                    conditions.push(format!("{condition}]"));
                }
                continue;
            }
            ';' => {}
            _ => continue,
        }
        start = at + 1;
    }
    conditions
}

/// The uses of `cfg!` for an operating system.
fn values(code: &str) -> Vec<&str> {
    let uses = code
        .split("cfg!(")
        .skip(1)
        .map(|rest| rest.split(['\n', ';', '{']).next().unwrap_or_default());
    uses.filter(|condition| SYSTEMS.iter().any(|system| condition.contains(system))).collect()
}

#[test]
fn a_condition_in_a_function_is_found() {
    let text = r##"
        #[cfg(unix)]
        fn of_one_system(c: char) {
            let brace = ['{', '\'', '\u{7b}'];
            let text = (r#"" {"#, "\"{", b"{"); // {
        }
        #[cfg(windows)]
        mod os { impl<'a> X<'a> { #[cfg(target_os = "linux")] fn f(&'a self) { loop {} } } }
        fn with_an_item() { #[cfg(debug_assertions)] check(); impl X { #[cfg(unix)] const A: u8 = 1; } }
    "##;
    assert!(conditions_in_functions(&code_of(text)).is_empty());
    let text = "fn f() -> u8 { loop { #[cfg(not(windows))] return 1; } }\n\
                fn g() { match x { #[cfg(target_os = \"macos\")] X::Y => {} } }\n\
                fn h() { #[cfg(unix)] fn inner() {} }";
    assert_eq!(
        conditions_in_functions(&code_of(text)),
        ["#[cfg(not(windows))]", "#[cfg(target_os = _)]", "#[cfg(unix)]"]
    );
    let text = "const A: bool = cfg!(target_arch = \"x86_64\"); const B: bool = cfg!(unix);";
    assert_eq!(values(&code_of(text)), ["unix)"]);
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

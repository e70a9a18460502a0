//! Checks the layout of this workspace: the size of files, cycles of use, conditions on systems, and the diagram and the
//! questions in ARCHITECTURE.md.

// The source tree is the same on every system, and programs for Windows are tested without it.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[path = "layout/places.rs"]
mod places;

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
    let is_tests = |pair: &[&str]| {
        ["#[cfg(test)]", "#[cfg(all(test,"].iter().any(|start| pair[0].trim().starts_with(start))
            && pair[1].contains("mod ")
    };
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
fn files_do_not_use_each_other_in_a_cycle() {
    let mut cycles = Vec::new();
    for (name, package) in packages() {
        let source = format!("{}/src", package.folder);
        let files = rust_files(&source).into_iter();
        let files = files.map(|(path, text)| (path[source.len() + 1..].to_owned(), text));
        let uses = Uses::new(&name, &files.collect()).of_files();
        let found = [cyclic(&uses), cyclic(&of_siblings(&uses))];
        let found =
            found.into_iter().flatten().map(|(from, to)| format!("{name}: {from} -> {to:?}"));
        cycles.extend(found);
    }
    assert!(cycles.is_empty(), "{cycles:#?}");
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

/// What modules use, by their names, such as `clock/tsc`; that of a crate's root is empty.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The modules of a crate and what they use of each other.
///
/// A file uses another if its code names an item that the other defines, by whatever path: re-exports are followed to the
/// definition, and to declare a module or to re-export an item is no use of it. Neither files may use each other in a cycle, nor
/// modules of one parent, each with all that is below it.
struct Uses<'a> {
    /// The crate's name in its own paths.
    package: &'a str,
    modules: BTreeMap<String, Module>,
}

/// A module of a crate: a file, or a block in one.
#[derive(Default)]
struct Module {
    /// The module that is the whole file.
    file: String,
    /// The names of its items.
    items: BTreeSet<String>,
    /// The paths that `use` gives a name; those that end in `*` have this name.
    imports: BTreeMap<String, BTreeSet<Vec<String>>>,
    /// The paths that it names, and imports for itself.
    named: BTreeSet<Vec<String>>,
}

/// The name of a module in another.
fn below(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}/{name}") }
}

fn parent(module: &str) -> &str {
    module.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl<'a> Uses<'a> {
    /// Reads the files of a crate, whose paths are given from its folder of sources.
    fn new(package: &'a str, files: &BTreeMap<String, String>) -> Self {
        let mut uses = Self { package, modules: BTreeMap::new() };
        for (path, text) in files.iter().filter(|(path, _)| !path.contains("tests")) {
            let module = path.trim_end_matches(".rs");
            let module = module.strip_suffix("/mod").unwrap_or(module);
            let module = if ["lib", "main"].contains(&module) { "" } else { module };
            uses.read(module, &code_of(&before_tests(text).join("\n")));
        }
        uses
    }

    fn module(&mut self, name: &str, file: &str) -> &mut Module {
        let module = self.modules.entry(name.to_owned()).or_default();
        module.file = file.to_owned();
        module
    }

    fn read(&mut self, file: &str, code: &str) {
        let words = words_of(code);
        let mut blocks = vec![file.to_owned()];
        let mut at = 0;
        self.module(file, file);
        while at < words.len() {
            let here = blocks.last().cloned().unwrap_or_default();
            let module = self.module(&here, file);
            let before = if at == 0 { "" } else { words[at - 1] };
            match words[at] {
                "use" => {
                    let is_public = before == "pub" || before == ")";
                    let mut paths = Vec::new();
                    at = tree(&words, at + 1, &[], &mut paths);
                    for (name, path) in paths {
                        if !is_public {
                            module.named.insert(path.clone());
                        }
                        module.imports.entry(name).or_default().insert(path);
                    }
                    continue;
                }
                "{" if at > 1 && words[at - 2] == "mod" => {
                    blocks.push(below(&here, before));
                    self.module(&below(&here, before), file);
                }
                "{" => blocks.push(here),
                "}" => _ = blocks.pop(),
                word if is_name(word) => {
                    if DEFINING.contains(&before) {
                        module.items.insert(word.to_owned());
                    }
                    let mut path = vec![word.to_owned()];
                    while words.get(at + 1) == Some(&"::")
                        && words.get(at + 2).is_some_and(|w| is_name(w))
                    {
                        path.push(words[at + 2].to_owned());
                        at += 2;
                    }
                    // A field, a method or a variable is no path.
                    let is_field = before == "." || words.get(at + 1) == Some(&":");
                    if path.len() > 1 || !is_field && !["let", "fn", "mut"].contains(&before) {
                        module.named.insert(path);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The files that define what a path means in a module: none if that is a module, or of another crate.
    fn definers(&self, module: &str, path: &[String], steps: usize) -> BTreeSet<String> {
        let first = path.first().map_or("", String::as_str);
        let (start, mut rest) = match first {
            "crate" => ("", &path[1..]),
            "self" => (module, &path[1..]),
            _ if first == self.package => ("", &path[1..]),
            _ => (module, path),
        };
        let is_absolute = rest.len() < path.len() || first == "super";
        let mut at = start.to_owned();
        while let Some((name, after)) = rest.split_first() {
            let Some(here) = self.modules.get(&at).filter(|_| steps > 0) else { break };
            if name == "super" || name == "self" {
                at = if name == "super" { parent(&at).to_owned() } else { at };
            } else if self.modules.contains_key(&below(&at, name)) {
                at = below(&at, name);
            } else if here.items.contains(name) {
                return [here.file.clone()].into();
            } else {
                let renamed = here.imports.get(name).into_iter().flatten().map(|path| (path, 1));
                let globs = here.imports.get("*").into_iter().flatten().map(|path| (path, 0));
                let found: BTreeSet<String> = renamed
                    .chain(globs)
                    .flat_map(|(path, from)| {
                        let path: Vec<String> = path.iter().chain(&rest[from..]).cloned().collect();
                        self.definers(&at, &path, steps - 1)
                    })
                    .collect();
                let is_elsewhere = !found.is_empty()
                    || here.imports.contains_key("*")
                    || !is_absolute && rest.len() == path.len();
                return if is_elsewhere { found } else { [here.file.clone()].into() };
            }
            rest = after;
        }
        BTreeSet::new()
    }

    /// The files that each file uses, by the names of their modules.
    fn of_files(&self) -> Graph {
        let mut used = Graph::new();
        for (name, module) in &self.modules {
            let of_file = used.entry(module.file.clone()).or_default();
            of_file.extend(module.named.iter().flat_map(|path| self.definers(name, path, 8)));
            of_file.remove(&module.file);
        }
        used
    }
}

/// The keywords before the name of an item.
const DEFINING: [&str; 10] =
    ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules", "safe"];

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The words of code, `::`, and each other sign on its own.
fn words_of(code: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let length = if end > 0 {
            end
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

/// Reads what stands after `use`, or one part of it in braces, up to its end: adds the paths with the names that they get, and
/// returns the place of the end.
fn tree(
    words: &[&str],
    mut at: usize,
    start: &[String],
    paths: &mut Vec<(String, Vec<String>)>,
) -> usize {
    let mut path = start.to_vec();
    let mut name = None;
    while let Some(&word) = words.get(at) {
        match word {
            "::" => {}
            "{" => {
                while words[at] != "}" {
                    at = tree(words, at + 1, &path, paths);
                }
                path.clear();
            }
            "as" => {
                name = words.get(at + 1).map(|name| (*name).to_owned());
                at += 1;
            }
            "*" => name = Some(word.to_owned()),
            _ if is_name(word) => path.push(word.to_owned()),
            _ => break,
        }
        at += 1;
    }
    if path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    if let Some(last) = path.last() {
        paths.push((name.unwrap_or_else(|| last.clone()), path.clone()));
    }
    at
}

/// The uses between modules of one parent, each with all that is below it.
fn of_siblings(uses: &Graph) -> Graph {
    let mut siblings = Graph::new();
    for (from, to) in uses.iter().flat_map(|(from, used)| used.iter().map(move |to| (from, to))) {
        let (from, to) = (format!("{from}/"), format!("{to}/"));
        let same = from.bytes().zip(to.bytes()).take_while(|(a, b)| a == b).count();
        let start = from[..same].rfind('/').map_or(0, |slash| slash + 1);
        let sibling = |path: &str| path[..start + path[start..].find('/').unwrap_or(0)].to_owned();
        // Otherwise one is above the other.
        if ![&from, &to].iter().any(|path| [start, 1].contains(&path.len())) {
            siblings.entry(sibling(&from)).or_default().insert(sibling(&to));
        }
    }
    siblings
}

/// The modules that are in cycles, or between two of them, with what they use of each other.
fn cyclic(uses: &Graph) -> Graph {
    let mut uses = uses.clone();
    loop {
        let users: BTreeSet<String> = uses.keys().cloned().collect();
        let used: BTreeSet<String> = uses.values().flatten().cloned().collect();
        uses.values_mut().for_each(|others| others.retain(|other| users.contains(other)));
        uses.retain(|name, others| used.contains(name) && !others.is_empty());
        if uses.len() == users.len() {
            return uses;
        }
    }
}

#[test]
fn a_cycle_is_found() {
    let cycles = |files: &[(&str, &str)]| {
        let file = |(name, text): &(&str, &str)| (format!("{name}.rs"), (*text).to_owned());
        let uses = Uses::new("x", &files.iter().map(file).collect()).of_files();
        let names = |graph: Graph| graph.into_keys().collect::<Vec<String>>().join(" ");
        [names(cyclic(&uses)), names(cyclic(&of_siblings(&uses)))]
    };
    let files = [
        ("lib", "use crate::a::A;"),
        ("a", "// crate::d\nuse crate::b::c::C; pub struct A; pub struct B;"),
        ("b", "pub mod c;"),
        ("b/c", "fn f() { x::d::g() } pub struct C;"),
        ("d", "use crate::a::{A, B}; pub fn g() {}\n#[cfg(test)]\nmod tests {\nuse crate::lone;"),
        ("lone", "use crate::a::A;"),
    ];
    assert_eq!(cycles(&files), ["a b/c d", "a b d"]);
    let chain =
        [("a", "use crate::b::B;"), ("b", "use crate::c::C; struct B;"), ("c", "struct C;")];
    assert_eq!(cycles(&chain), ["", ""]);
    // Re-exports are followed, by whatever path.
    let files = [
        ("lib", "mod a; mod b; pub use a::{inner::*, A as First}; pub(crate) use b::B;"),
        ("a/mod", "mod os { use super::super::B; fn f() -> B {} } pub struct A;"),
        ("a/inner", "pub struct C;"),
        ("b", "use super::{self as root, C}; pub struct B; fn f(_: C, _: root::First) {}"),
    ];
    assert_eq!(cycles(&files), ["a b", "a b"]);
    // A parent may declare and re-export its children, but not use them, if they use it.
    let child = ("a/b", "pub fn g(_: super::A) {}");
    assert_eq!(cycles(&[("a", "mod b; pub use b::g; pub struct A;"), child]), ["", ""]);
    assert_eq!(cycles(&[("a", "mod b; pub struct A; fn f() { b::g(A) }"), child]), ["a a/b", ""]);
    assert_eq!(
        cycles(&[("a", "mod b; pub use self::b::g; pub struct A; fn f() { g(A) }"), child]),
        ["a a/b", ""]
    );
    // No two files use each other, but modules with what is below them.
    let files = [
        ("lib", "mod a; mod c;"),
        ("a", "mod b; mod e;"),
        ("a/b", "use crate::c::d::D;"),
        ("a/e", "pub struct E;"),
        ("c", "mod d; mod f;"),
        ("c/d", "pub struct D;"),
        ("c/f", "use super::super::a::e::E;"),
    ];
    assert_eq!(cycles(&files), ["", "a c"]);
}

/// A crate of the workspace.
struct Package {
    /// Its folder, from the root.
    folder: String,
    /// The crates that it is built with.
    uses: BTreeSet<String>,
    /// Further crates that its tests use.
    tests_use: BTreeSet<String>,
}

/// The crates of the workspace by their names, which are those of their folders.
fn packages() -> BTreeMap<String, Package> {
    let cargo = std::env::var_os("CARGO").expect("cargo runs this test");
    let command = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new(cargo).args(command).current_dir(root()).output();
    let metadata: Value =
        serde_json::from_slice(&output.expect("cargo metadata").stdout).expect("JSON");
    let root = metadata["workspace_root"].as_str().expect("a path");
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("packages").iter().map(|package| {
        let manifest = package["manifest_path"].as_str().expect("a path");
        let folder = manifest[root.len() + 1..].trim_end_matches("/Cargo.toml").to_owned();
        let dependencies = package["dependencies"].as_array().expect("dependencies").iter();
        let (of_tests, own): (Vec<&Value>, Vec<_>) =
            dependencies.partition(|dependency| dependency["kind"] == "dev");
        let names =
            |of: Vec<&Value>| of.iter().filter_map(|of| of["path"].as_str()).map(name).collect();
        (name(&folder), Package { folder, uses: names(own), tests_use: names(of_tests) })
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
        let package = &packages[*name];
        assert_eq!(*uses, package.uses, "what {name} uses");
        let users = drawn.iter().filter(|(_, _, uses)| uses.contains(*name));
        let deepest = users.map(|(_, step, _)| step + 1).max().unwrap_or(0);
        assert_eq!(*step, deepest, "the indentation of {name}");
        // A test must not use a crate that is built on the crate under test: cargo allows it, but the two then exist twice.
        let above = |other: &&String| names[..at].contains(&other.as_str());
        let of_tests = package.tests_use.iter();
        let upwards: Vec<&String> = package.uses.iter().chain(of_tests).filter(above).collect();
        assert!(upwards.is_empty(), "{name} uses {upwards:?}, which stand above it");
    }
}

#[test]
fn the_files_that_answer_the_questions_have_the_names_that_are_given() {
    let text = architecture();
    let table = text.lines().skip_while(|line| !line.starts_with("## Fifteen questions"));
    let rows: Vec<&str> = table.filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), 15);
    let packages = packages();
    for row in rows {
        let answer = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let (paths, names): (Vec<&str>, Vec<&str>) =
            answer.split('`').skip(1).step_by(2).partition(|span| span.contains('/'));
        assert!(!paths.is_empty(), "no file in: {row}");
        // The first part of a path is the name of a crate.
        let paths = paths.iter().map(|path| {
            let (name, rest) = path.split_once('/').unwrap_or_default();
            root().join(packages.get(name).map_or("crates", |of| &of.folder)).join(rest)
        });
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

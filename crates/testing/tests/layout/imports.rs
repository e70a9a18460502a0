//! Files within a crate do not import each other in a cycle.
//!
//! A file imports another if it uses an item that is defined there, by `use` or by a path. That a module declares or
//! re-exports (`pub use`) what is in its children is no import; that it uses the name itself is one.

mod modules;
mod resolve;
mod tokens;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::source::SourceFile;

/// Files that import each other.
#[derive(Debug, PartialEq, Eq)]
pub struct Cycle {
    /// All that can reach each other.
    pub files: Vec<String>,
    /// For each of them a shortest way back to itself, written as `a -> b -> a`; each way once.
    pub ways: BTreeSet<String>,
}

/// The cycles among the files of one crate, whose paths begin with `prefix`.
pub fn cycles(files: &[&SourceFile], prefix: &str) -> Vec<Cycle> {
    let modules = modules::Modules::of(files, prefix);
    cycles_in(&resolve::imports(&modules))
}

/// The cycles of a graph of imports: from each file to those that it imports.
fn cycles_in(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<Cycle> {
    let mut graph = DiGraph::<&str, ()>::new();
    let mut nodes: BTreeMap<&str, NodeIndex> = BTreeMap::new();
    let mut node = |graph: &mut DiGraph<_, _>, name| {
        *nodes.entry(name).or_insert_with(|| graph.add_node(name))
    };
    for (file, imported) in imports {
        for other in imported {
            let edge = (node(&mut graph, file.as_str()), node(&mut graph, other.as_str()));
            graph.add_edge(edge.0, edge.1, ());
        }
    }
    let components = tarjan_scc(&graph).into_iter().filter(|component| component.len() > 1);
    let mut cycles: Vec<Cycle> = components
        .map(|component| {
            let mut files: Vec<String> = component.iter().map(|&at| graph[at].to_owned()).collect();
            files.sort();
            let ways = files.iter().map(|file| written(shortest_cycle(imports, file))).collect();
            Cycle { files, ways }
        })
        .collect();
    cycles.sort_by(|a, b| a.files.cmp(&b.files));
    cycles
}

/// A way from a file back to it, beginning with the first of its files.
fn written(mut way: Vec<String>) -> String {
    way.pop();
    let first = (0..way.len()).min_by_key(|&at| &way[at]).unwrap_or(0);
    way.rotate_left(first);
    way.push(way[0].clone());
    way.join(" -> ")
}

/// A shortest way from `start`, which is part of a cycle, back to it.
fn shortest_cycle(imports: &BTreeMap<String, BTreeSet<String>>, start: &str) -> Vec<String> {
    let mut ways = VecDeque::from([vec![start.to_owned()]]);
    let mut reached = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let last = way.last().expect("a way has its start");
        for next in imports.get(last).into_iter().flatten() {
            let on = || way.iter().cloned().chain([next.clone()]).collect();
            if next == start {
                return on();
            }
            if reached.insert(next) {
                ways.push_back(on());
            }
        }
    }
    unreachable!("{start} is part of a cycle")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cycles of a crate with these files, by their shortest ways.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<SourceFile> = files
            .iter()
            .map(|&(path, text)| SourceFile { path: path.to_owned(), text: text.to_owned() })
            .collect();
        let cycles = cycles(&files.iter().collect::<Vec<_>>(), "");
        cycles.into_iter().flat_map(|cycle| cycle.ways).collect()
    }

    const ROOT: (&str, &str) = ("lib.rs", "mod a;\nmod b;");

    #[test]
    fn a_cycle_is_found() {
        let files = [
            ROOT,
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use super::a::A; pub struct B;"),
        ];
        assert_eq!(found(&files), ["a.rs -> b.rs -> a.rs"]);
    }

    #[test]
    fn a_chain_is_none() {
        let files =
            [ROOT, ("a.rs", "use crate::b::{B, C};"), ("b.rs", "pub struct B; pub struct C;")];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn a_path_imports_as_a_use_does() {
        let files = [
            ROOT,
            ("a.rs", "fn f() { crate::b::g(super::b::X) }"),
            ("b.rs", "fn g() { super::a::f() }"),
        ];
        assert_eq!(found(&files), ["a.rs -> b.rs -> a.rs"]);
        let in_macro = [ROOT, ("a.rs", "fn f() { println!(\"{}\", crate::b::g()) }"), files[2]];
        assert_eq!(found(&in_macro), ["a.rs -> b.rs -> a.rs"]);
        let through_module = [ROOT, ("a.rs", "use crate::b;\nfn f() { b::g() }"), files[2]];
        assert_eq!(found(&through_module), ["a.rs -> b.rs -> a.rs"]);
    }

    #[test]
    fn comments_texts_and_tests_import_nothing() {
        let b = ("b.rs", "use crate::a::A; pub struct B;");
        for text in [
            "pub struct A; // crate::b::B",
            "/// [`crate::b::B`]\npub struct A;",
            "pub struct A; const T: &str = \"crate::b::B\";",
            "pub struct A;\n#[cfg(test)]\nuse crate::b::B;",
            "pub struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; }",
            "pub struct A;\n#[cfg(test)]\nmod tests;",
        ] {
            assert!(
                found(&[ROOT, ("a.rs", text), ("a/tests.rs", "use crate::b::B;"), b]).is_empty(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_re_export_is_none_and_is_followed_to_the_definition() {
        let a = ("a.rs", "use crate::B; pub struct A;");
        let root = ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;");
        assert!(found(&[root, a, ("b.rs", "pub struct B;")]).is_empty());
        assert_eq!(
            found(&[root, a, ("b.rs", "use super::A; pub struct B;")]),
            ["a.rs -> b.rs -> a.rs"]
        );
        let renamed = ("lib.rs", "mod a;\nmod b;\npub use a::A as C;\npub use b::*;");
        assert_eq!(
            found(&[renamed, a, ("b.rs", "use super::C; pub struct B;")]),
            ["a.rs -> b.rs -> a.rs"]
        );
    }

    #[test]
    fn a_parent_that_uses_its_child_is_one_if_the_child_uses_the_parent() {
        let child = ("a.rs", "use super::Common; pub fn f() {}");
        let declares = "mod a;\npub struct Common;\n";
        assert!(found(&[("lib.rs", &format!("{declares}pub use a::f;")), child]).is_empty());
        for uses in [
            "pub use a::f; fn g() { f() }",
            "use a::f;",
            "fn g() { a::f() }",
            "use self::a::{f as h};",
        ] {
            let text = format!("{declares}{uses}");
            assert_eq!(found(&[("lib.rs", &text), child]), ["a.rs -> lib.rs -> a.rs"], "{uses}");
        }
        let field = format!("{declares}pub use a::f;\nfn g(x: X) {{ x.f() }}");
        assert!(found(&[("lib.rs", &field), child]).is_empty());
    }

    #[test]
    fn modules_in_folders_and_in_files_are_known() {
        let files = [
            ("main.rs", "mod a;"),
            ("a/mod.rs", "mod c;\nmod inner { pub fn g() { super::c::f() } }\npub struct A;"),
            ("a/c.rs", "mod d;\npub use d::f;\nuse super::A;"),
            ("a/c/d.rs", "pub fn f() {}"),
        ];
        assert!(found(&files).is_empty(), "f is defined in d.rs, which imports nothing");
        let mut cyclic = files;
        cyclic[3].1 = "use crate::a::A; pub fn f() {}";
        assert_eq!(found(&cyclic), ["a/c/d.rs -> a/mod.rs -> a/c/d.rs"]);
    }

    #[test]
    fn each_component_is_reported_once() {
        let edge = |from: &str, to: &[&str]| {
            (from.to_owned(), to.iter().map(|&to| to.to_owned()).collect())
        };
        let graph = BTreeMap::from([
            edge("a", &["b"]),
            edge("b", &["c"]),
            edge("c", &["a", "b", "d"]),
            edge("d", &["e"]),
        ]);
        let cycles = cycles_in(&graph);
        assert_eq!(cycles.len(), 1);
        assert_eq!(cycles[0].files, ["a", "b", "c"]);
        let ways: Vec<&String> = cycles[0].ways.iter().collect();
        assert_eq!(ways, ["a -> b -> c -> a", "b -> c -> b"]);
    }
}

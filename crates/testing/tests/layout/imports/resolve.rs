//! From the paths in modules to the files in which the items are defined.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Module, Modules};

/// More re-exports than this are not followed.
const DEEPEST: usize = 16;

/// What a path leads to.
enum Found {
    /// A module itself: naming it imports nothing.
    Module(usize),
    /// An item that is defined in this module.
    Item(usize),
    /// Something of another crate.
    Elsewhere,
}

/// The files that each file imports.
pub fn imports(modules: &Modules) -> BTreeMap<String, BTreeSet<String>> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (at, module) in modules.0.iter().enumerate() {
        let imported = imports.entry(module.file.clone()).or_default();
        for path in paths_of(module) {
            if let Found::Item(defining) = find(modules, at, path, DEEPEST) {
                let file = &modules.0[defining].file;
                if *file != module.file {
                    imported.insert(file.clone());
                }
            }
        }
    }
    imports
}

/// The paths by which a module uses something; a re-export is one if the module has the name in its code.
fn paths_of(module: &Module) -> impl Iterator<Item = &[String]> {
    let starts = |name: &String| {
        module.words.contains(name) || module.paths.iter().any(|path| path.first() == Some(name))
    };
    let used = module.uses.iter().filter(move |used| !used.is_public || starts(&used.name));
    let imported = used.map(|used| used.path.as_slice());
    // Words that `use x::*` may have brought in.
    let words = module.words.iter().filter(|word| !module.globs.is_empty() && !module.knows(word));
    let words = words.map(std::slice::from_ref);
    imported.chain(words).chain(module.paths.iter().map(Vec::as_slice))
}

/// Where a path that is written in module `at` leads.
fn find(modules: &Modules, at: usize, path: &[String], deepest: usize) -> Found {
    let module = &modules.0[at];
    let Some((first, rest)) = path.split_first() else { return Found::Module(at) };
    match first.as_str() {
        "crate" => below(modules, 0, rest, deepest),
        "self" => below(modules, at, rest, deepest),
        "super" => match module.parent {
            Some(parent) => match rest.first().map(String::as_str) {
                Some("super") => find(modules, parent, rest, deepest),
                _ => below(modules, parent, rest, deepest),
            },
            None => Found::Elsewhere,
        },
        name if module.knows(name) || !module.globs.is_empty() => below(modules, at, path, deepest),
        _ => Found::Elsewhere,
    }
}

/// Where `path` leads from the inside of module `at`.
fn below(modules: &Modules, at: usize, path: &[String], deepest: usize) -> Found {
    let module = &modules.0[at];
    let Some((first, rest)) = path.split_first() else { return Found::Module(at) };
    let Some(deepest) = deepest.checked_sub(1) else { return Found::Item(at) };
    if let Some(&child) = module.children.get(first) {
        return below(modules, child, rest, deepest);
    }
    if module.items.contains(first) {
        return Found::Item(at);
    }
    if let Some(used) = module.import(first) {
        // A name of another crate, imported under its own name.
        if used.path.len() == 1 && used.path.first() == Some(first) {
            return Found::Elsewhere;
        }
        let path: Vec<String> = used.path.iter().chain(rest).cloned().collect();
        return find(modules, at, &path, deepest);
    }
    for glob in &module.globs {
        // What begins with a name that is unknown here is of another crate.
        let first_known = glob.first().is_some_and(|first| {
            ["crate", "self", "super"].contains(&first.as_str()) || module.knows(first)
        });
        if first_known
            && let Found::Module(other) = find(modules, at, glob, deepest)
            && other != at
            && modules.0[other].knows(first)
        {
            return below(modules, other, path, deepest);
        }
    }
    // Made by a macro, perhaps.
    Found::Item(at)
}

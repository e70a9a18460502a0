//! The modules of a crate: what each defines, imports and uses.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenTree};

use super::tokens::{self, is_punct, is_separator, name};
use crate::source::SourceFile;

/// A path as it is written, such as `super::a::B`.
pub type Written = Vec<String>;

/// What a `use` brings into a module.
#[derive(Debug)]
pub struct Use {
    /// Its name here.
    pub name: String,
    /// Where it comes from.
    pub path: Written,
    /// Whether it has `pub`, of whatever extent.
    pub is_public: bool,
}

/// A module: a file, or a block within one.
#[derive(Debug, Default)]
pub struct Module {
    /// The path of its file.
    pub file: String,
    /// The module around it; none for the crate itself.
    pub parent: Option<usize>,
    pub children: BTreeMap<String, usize>,
    /// What `use` brings in; a name can be there several times, for different systems.
    pub uses: Vec<Use>,
    /// Modules and enums of which `use` brings in all.
    pub globs: Vec<Written>,
    /// Names of the items that are defined here.
    pub items: BTreeSet<String>,
    /// Paths in the code, of two words at least.
    pub paths: BTreeSet<Written>,
    /// Single words in the code.
    pub words: BTreeSet<String>,
}

/// All modules of a crate; the first is the crate itself.
#[derive(Debug, Default)]
pub struct Modules(pub Vec<Module>);

/// Words after which a name is that of an item, and those that may stand in between.
const DEFINING: [&str; 9] =
    ["struct", "enum", "union", "fn", "const", "static", "type", "trait", "macro_rules"];
const BETWEEN: [&str; 5] = ["async", "extern", "fn", "mut", "unsafe"];

impl Modules {
    /// The modules of the crate whose files have paths that begin with `prefix`.
    pub fn of(files: &[&SourceFile], prefix: &str) -> Self {
        let files: BTreeMap<&str, &SourceFile> = files
            .iter()
            .map(|file| (file.path.strip_prefix(prefix).unwrap_or(&file.path), *file))
            .collect();
        let root = ["lib.rs", "main.rs"].into_iter().find(|name| files.contains_key(name));
        let root = root.unwrap_or_else(|| panic!("{prefix} has neither lib.rs nor main.rs"));
        let mut modules = Self::default();
        modules.add_file(&files, root, "", None);
        modules
    }

    /// Adds the module in the file at `path`, whose children are in `folder` (empty, or with a `/` at its end).
    fn add_file(
        &mut self,
        files: &BTreeMap<&str, &SourceFile>,
        path: &str,
        folder: &str,
        parent: Option<usize>,
    ) -> usize {
        let file = files[path];
        let tokens = tokens::of(&file.path, &file.text);
        let module = self.add(&file.path, parent);
        self.read(files, folder, module, &tokens, true);
        module
    }

    fn add(&mut self, file: &str, parent: Option<usize>) -> usize {
        self.0.push(Module { file: file.to_owned(), parent, ..Module::default() });
        self.0.len() - 1
    }

    /// Takes in tokens of a module; `is_outer` if they are its items, not within one of them.
    fn read(
        &mut self,
        files: &BTreeMap<&str, &SourceFile>,
        folder: &str,
        module: usize,
        tokens: &[TokenTree],
        is_outer: bool,
    ) {
        let mut at = 0;
        let mut is_public = false;
        let mut other_file = None;
        while at < tokens.len() {
            let word = match &tokens[at] {
                TokenTree::Ident(word) => word.to_string(),
                TokenTree::Group(group) => {
                    let inner = tokens::without_tests(group.stream());
                    other_file = path_attribute(&inner).or(other_file);
                    self.read(files, folder, module, &inner, false);
                    // The extent of `pub(crate)`.
                    is_public &= group.delimiter() == Delimiter::Parenthesis;
                    at += 1;
                    continue;
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            match word.as_str() {
                "pub" => is_public = true,
                "use" => {
                    at = self.read_use(module, tokens, at + 1, is_public);
                    is_public = false;
                    continue;
                }
                "mod" if is_outer => {
                    at = self.read_module(files, folder, module, tokens, at + 1, other_file.take());
                    is_public = false;
                    continue;
                }
                _ => {
                    is_public = false;
                    if is_outer && DEFINING.contains(&word.as_str()) {
                        let mut names =
                            tokens[at + 1..].iter().take(3).filter_map(|token| name(Some(token)));
                        let named = names.find(|name| !BETWEEN.contains(&name.as_str()));
                        self.0[module].items.extend(named);
                    }
                    at = self.read_path(module, tokens, at);
                    continue;
                }
            }
            at += 1;
        }
    }

    /// Reads `name;` or `name { ... }` after `mod`; returns where it ends.
    fn read_module(
        &mut self,
        files: &BTreeMap<&str, &SourceFile>,
        folder: &str,
        parent: usize,
        tokens: &[TokenTree],
        at: usize,
        other_file: Option<String>,
    ) -> usize {
        let Some(child) = name(tokens.get(at)) else { return at };
        let below = format!("{folder}{child}/");
        let module = match tokens.get(at + 1) {
            Some(TokenTree::Group(body)) => {
                let file = self.0[parent].file.clone();
                let module = self.add(&file, Some(parent));
                let body = tokens::without_tests(body.stream());
                self.read(files, &below, module, &body, true);
                module
            }
            _ => {
                let candidates = match other_file {
                    // Relative to the folder of the file that has the attribute.
                    Some(file) => {
                        let of_parent = files.iter().find(|(_, f)| f.path == self.0[parent].file);
                        let parent = of_parent.map_or("", |(path, _)| path);
                        let folder = parent.rfind('/').map_or("", |end| &parent[..=end]);
                        vec![format!("{folder}{file}")]
                    }
                    None => vec![format!("{folder}{child}.rs"), format!("{below}mod.rs")],
                };
                let path = candidates.iter().find(|path| files.contains_key(path.as_str()));
                let path = path.unwrap_or_else(|| panic!("no file for the module {folder}{child}"));
                self.add_file(files, path, &below, Some(parent))
            }
        };
        self.0[parent].children.insert(child, module);
        at + 2
    }

    /// Reads a path or a word of the code; returns where it ends.
    fn read_path(&mut self, module: usize, tokens: &[TokenTree], start: usize) -> usize {
        let mut path: Written = name(tokens.get(start)).into_iter().collect();
        let mut at = start + 1;
        while is_separator(tokens, at) {
            let Some(next) = name(tokens.get(at + 2)) else { break };
            path.push(next);
            at += 3;
        }
        match path.as_slice() {
            _ if is_part(&tokens[..start]) => {}
            // The name of a field, or of a function that is defined here.
            [_] if tokens.get(at).is_some_and(|token| is_punct(token, ':')) => {}
            [_] if start > 0 && name(tokens.get(start - 1)).is_some_and(|word| word == "fn") => {}
            [word] => drop(self.0[module].words.insert(word.clone())),
            _ => drop(self.0[module].paths.insert(path)),
        }
        at
    }

    /// Reads a tree of imports after `use`; returns the position after its `;`.
    fn read_use(
        &mut self,
        module: usize,
        tokens: &[TokenTree],
        start: usize,
        is_public: bool,
    ) -> usize {
        let length = tokens[start..].iter().position(|token| is_punct(token, ';'));
        // `use<'a>` in a type is no import.
        let Some(length) = length.filter(|_| !is_punct(&tokens[start], '<')) else { return start };
        // What begins with `::` is of another crate.
        if !is_separator(tokens, start) {
            self.read_tree(module, &tokens[start..start + length], &[], is_public);
        }
        start + length + 1
    }

    fn read_tree(
        &mut self,
        module: usize,
        tokens: &[TokenTree],
        prefix: &[String],
        is_public: bool,
    ) {
        let mut path = prefix.to_vec();
        let mut renamed = None;
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Ident(word) if word == "as" => {
                    renamed = name(tokens.get(at + 1));
                    break;
                }
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for tree in
                        inner.split(|token| is_punct(token, ',')).filter(|tree| !tree.is_empty())
                    {
                        self.read_tree(module, tree, &path, is_public);
                    }
                    return;
                }
                token if is_punct(token, '*') => {
                    self.0[module].globs.push(path);
                    return;
                }
                _ => {}
            }
            at += 1;
        }
        // `a::{self}` is `a`.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let Some(last) = path.last() else { return };
        let name = renamed.unwrap_or_else(|| last.clone());
        self.0[module].uses.push(Use { name, path, is_public });
    }
}

impl Module {
    /// The `use` that brings in `name`.
    pub fn import(&self, name: &str) -> Option<&Use> {
        self.uses.iter().find(|used| used.name == name)
    }

    /// Whether `name` is a child, an item, or brought in by name.
    pub fn knows(&self, name: &str) -> bool {
        self.children.contains_key(name) || self.items.contains(name) || self.import(name).is_some()
    }
}

/// Whether what follows `before` is a method or a field, or a path that begins with `::`.
fn is_part(before: &[TokenTree]) -> bool {
    match before {
        [.., first, last] if is_punct(last, '.') => !is_punct(first, '.'),
        [.., first, last] if is_punct(last, ':') => is_punct(first, ':'),
        _ => false,
    }
}

/// The file that `path = "..."` in an attribute names.
fn path_attribute(tokens: &[TokenTree]) -> Option<String> {
    match tokens {
        [TokenTree::Ident(word), _, TokenTree::Literal(file)] if word == "path" => {
            Some(file.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    }
}

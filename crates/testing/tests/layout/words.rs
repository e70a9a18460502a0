//! Names that were replaced by the field's terms do not return.

use std::collections::BTreeSet;
use std::fmt;

use proc_macro2::{TokenStream, TokenTree};

use crate::source::SourceFile;

/// Identifiers that no longer exist. In documents they are looked for in code spans of one word.
const RETIRED_NAMES: &[&str] = &[
    "Bell",
    "Board",
    "Crew",
    "Desk",
    "Fate",
    "Ground",
    "Hand",
    "House",
    "Means",
    "NotANumber",
    "Office",
    "Refusal",
    "Stage",
    "Told",
    "Way",
    "Witness",
    "alike",
    "conduct",
    "crowded",
    "forgive",
    "handicap",
    "heard",
    "leftovers",
    "rung",
    "tell",
    "thrives",
    "told",
    "troubled",
    "turn_ns",
];

/// Words that are not in any text either, comments and messages included.
const RETIRED_WORDS: &[&str] = &["fell over", "falls over", "handicap", "mailengine", "turn_ns"];

/// Where a retired name stays, as `crate: name`. (The published parameter `place` is not a retired name: what was
/// renamed is the place of a recipient, now its index.)
pub const ALLOWED: &[&str] = &[
    // Documents of schema 1 call an injected slowdown so.
    "analysis: handicap",
    // The lists above.
    "testing: fell over",
    "testing: falls over",
    "testing: handicap",
    "testing: mailengine",
    "testing: turn_ns",
];

/// A retired name in a file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    path: String,
    name: &'static str,
}

impl Found {
    /// As [`ALLOWED`] has it: the crate's directory, or the file outside of `crates`, and the name.
    pub fn key(&self) -> String {
        let within = self.path.strip_prefix("crates/").and_then(|path| path.split('/').next());
        format!("{}: {}", within.unwrap_or(&self.path), self.name)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: the retired name `{}`", self.path, self.name)
    }
}

/// The retired names in a file, each once.
pub fn retired(file: &SourceFile) -> Vec<Found> {
    let mut names = BTreeSet::new();
    if file.path.ends_with(".rs") {
        let tokens: TokenStream =
            file.text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.path));
        identifiers(tokens, &mut names);
    } else {
        let spans = file.text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        for span in spans.filter(|span| !span.contains(' ')) {
            // `cannot-tell` is a word of its own.
            let words = span.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
            names.extend(words.filter_map(retired_name));
        }
    }
    let has = |phrase: &str| occurs(&file.text, phrase);
    names.extend(RETIRED_WORDS.iter().filter(|phrase| has(phrase)));
    names.into_iter().map(|name| Found { path: file.path.clone(), name }).collect()
}

fn identifiers(tokens: TokenStream, names: &mut BTreeSet<&'static str>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => names.extend(retired_name(&name.to_string())),
            TokenTree::Group(group) => identifiers(group.stream(), names),
            _ => {}
        }
    }
}

fn retired_name(name: &str) -> Option<&'static str> {
    RETIRED_NAMES.iter().find(|retired| **retired == name).copied()
}

/// Whether `phrase` is in `text` as whole words; a line end counts as a blank.
fn occurs(text: &str, phrase: &str) -> bool {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.windows(phrase.len()).any(|window| window == phrase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<&'static str> {
        let file = SourceFile { path: path.into(), text: text.into() };
        retired(&file).into_iter().map(|found| found.name).collect()
    }

    #[test]
    fn a_retired_name_is_found_in_code_not_in_prose() {
        assert_eq!(found("a.rs", "struct Desk { told: u8 } // a Witness"), ["Desk", "told"]);
        assert!(
            found(
                "a.rs",
                "/// Means nothing to a Crew.\nfn retold(x: DeskTop) -> &str { \"told\" }"
            )
            .is_empty()
        );
    }

    #[test]
    fn a_retired_word_is_found_anywhere() {
        assert_eq!(found("a.rs", "// the server fell\n// over"), ["fell over"]);
        assert_eq!(found("a.md", "use --handicap 1%"), ["handicap"]);
        assert!(found("a.md", "handicapped").is_empty());
    }

    #[test]
    fn names_are_counted_by_crate() {
        let of = |path: &str| Found { path: path.into(), name: "Desk" }.key();
        assert_eq!(of("crates/report/src/a/b.rs"), "report: Desk");
        assert_eq!(of("docs/a.md"), "docs/a.md: Desk");
    }

    #[test]
    fn a_document_is_searched_in_its_code_spans() {
        assert_eq!(found("a.md", "the `Crew::new` of a Desk"), ["Crew"]);
        assert!(found("a.md", "`cannot tell` and `cannot-tell`").is_empty());
    }
}

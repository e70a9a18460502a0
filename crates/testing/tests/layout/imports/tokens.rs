//! The tokens of a file, without what only tests are built with.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The tokens of Rust source; comments and texts are none.
///
/// # Panics
/// If `text` is not Rust.
pub fn of(path: &str, text: &str) -> Vec<TokenTree> {
    let stream: TokenStream = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
    without_tests(stream)
}

/// `stream` without the items that have `#[cfg(test)]`, or a condition that names `test`.
pub fn without_tests(stream: TokenStream) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut tokens = stream.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if !is_punct(&token, '#') {
            kept.push(token);
            continue;
        }
        let is_for_tests =
            matches!(tokens.peek(), Some(TokenTree::Group(group)) if names_test(group.stream()));
        if !is_for_tests {
            kept.push(token);
            continue;
        }
        // The attribute, and the item up to its semicolon or its body.
        for token in tokens.by_ref() {
            let ends = match &token {
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                token => is_punct(token, ';'),
            };
            if ends {
                break;
            }
        }
    }
    kept
}

/// Whether an attribute is `cfg` with `test` in its condition, not negated.
fn names_test(attribute: TokenStream) -> bool {
    let mut tokens = attribute.into_iter();
    let is_cfg = matches!(tokens.next(), Some(TokenTree::Ident(name)) if name == "cfg");
    is_cfg
        && matches!(tokens.next(), Some(TokenTree::Group(condition))
            if has_word(condition.stream(), "test") && !has_word(condition.stream(), "not"))
}

fn has_word(stream: TokenStream, word: &str) -> bool {
    stream.into_iter().any(|token| match token {
        TokenTree::Ident(name) => name == word,
        TokenTree::Group(group) => has_word(group.stream(), word),
        _ => false,
    })
}

/// Whether a token is this character.
pub fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// The name that a token is.
pub fn name(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(name)) => Some(name.to_string()),
        _ => None,
    }
}

/// Whether `::` is at this position.
pub fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    tokens.get(at..at + 2).is_some_and(|pair| pair.iter().all(|token| is_punct(token, ':')))
}

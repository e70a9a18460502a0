//! Cases and parameters from the names that other tools use.

use std::collections::BTreeMap;

use crate::point::PointKey;

/// Maximum length of the name of a case that is made from a tool's name, in bytes.
const LONGEST_NAME: usize = 60;

/// The point of a tool's result: the case is the tool's area with the name, in which characters that names of cases do not have
/// become `-`. If that changes the name, the parameter `key` has the name as the tool writes it.
pub fn point(area: &str, name: &str, key: &str) -> PointKey {
    let mut plain = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || "_.+".contains(c) {
            plain.push(c);
        } else if !plain.ends_with('-') {
            plain.push('-');
        }
    }
    plain.truncate(LONGEST_NAME);
    let plain = plain.trim_matches('-');
    let plain = if plain.is_empty() { "unnamed" } else { plain };
    let mut params = BTreeMap::new();
    if plain != name {
        params.insert(key.to_owned(), name.to_owned());
    }
    PointKey { case: format!("{area}/{plain}"), params }
}

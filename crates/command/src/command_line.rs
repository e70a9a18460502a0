//! Commands that are suggested to the user, as a shell reads them.

use std::path::Path;

use crate::options::StoreArg;

/// The option that names the store, if the user gave it.
pub fn store_option(store: &StoreArg) -> Vec<String> {
    let named = store.store.iter();
    let shown = |path: &Path| match path.to_str().filter(|url| shared_store::is_url(url)) {
        Some(url) if shared_store::has_password(url) => shared_store::shown(url),
        _ => path.display().to_string(),
    };
    named.flat_map(|path| ["--store".to_owned(), shown(path)]).collect()
}

/// The words of a command in one line.
pub fn in_one_line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,%+-@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

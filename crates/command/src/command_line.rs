//! Commands that are suggested to the user, as a shell reads them.

use crate::options::StoreArg;

/// The option that names the store, if the user gave it.
pub fn store_option(store: &StoreArg) -> Vec<String> {
    let named = store.store.iter();
    named.flat_map(|path| ["--store".to_owned(), path.display().to_string()]).collect()
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

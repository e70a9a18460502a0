use crate::document::Document;

/// A text format of documents; formats of different names differ.
#[derive(Debug)]
pub struct TextFormat {
    /// Its name in `oscost export --format`.
    pub name: &'static str,
    /// What it contains or which program reads it, in one line.
    pub about: &'static str,
    /// Writes a document.
    pub write: fn(&Document) -> String,
}

impl PartialEq for TextFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TextFormat {}

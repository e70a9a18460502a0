use crate::document::Document;

/// A text format of documents, identified by its name.
#[derive(Debug)]
pub struct TextFormat {
    /// Name in `oscost export --format`.
    pub name: &'static str,
    /// The content, or the program that reads it, in one line.
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

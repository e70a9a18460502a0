use crate::document::Document;

/// A text format of documents, identified by its name.
#[derive(Debug)]
pub struct TextFormat {
    /// Name in `oscost export --format`.
    pub name: &'static str,
    /// The content, or the program that reads it, in one line.
    pub about: &'static str,
    /// The results that `oscost export` writes unless the user chooses some.
    pub extent: Extent,
    /// Writes a document.
    pub write: fn(&Document) -> String,
}

/// The results that a format has by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All results of the run.
    All,
    /// The results on the first page of a run: readers of the format keep a series for each result.
    FirstPage,
}

impl PartialEq for TextFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TextFormat {}

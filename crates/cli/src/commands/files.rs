//! Files to which results are written in addition to the tables.

use std::path::Path;

use results::Document;

use crate::args::Files;
use crate::ending::Usage;
use crate::output::print;

impl Files {
    /// Checks before a run that the files can be created.
    pub fn check(&self) -> Result<(), Usage> {
        let named = [&self.csv, &self.xlsx];
        named.into_iter().flatten().try_for_each(|path| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let problem = match folder {
                _ if path.is_dir() => "it is a folder",
                Some(folder) if !folder.is_dir() => "there is no such folder",
                _ => return Ok(()),
            };
            Err(Usage(format!("cannot write {}: {problem}", path.display())))
        })
    }

    /// Whether the user named any file.
    pub fn are_given(&self) -> bool {
        self.csv.is_some() || self.xlsx.is_some()
    }

    /// Whether one of the files is printed instead of the tables.
    pub fn are_printed(&self) -> bool {
        self.csv.as_deref().is_some_and(is_stdout)
    }

    /// Writes the files that the user named.
    pub fn write(&self, document: &Document) -> anyhow::Result<()> {
        match &self.csv {
            Some(path) if is_stdout(path) => print(&results::to_csv(document))?,
            Some(path) => write(path, results::to_csv(document).as_bytes())?,
            None => {}
        }
        if let Some(path) = &self.xlsx {
            write(path, &report::workbook(document)?)?;
        }
        Ok(())
    }
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Usage> {
    std::fs::write(path, bytes).map_err(|e| Usage(format!("cannot write {}: {e}", path.display())))
}

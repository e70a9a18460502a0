//! Options of several commands: the store, labels, and files to which results are written in addition to the tables.

use std::path::{Path, PathBuf};

use clap::Args;
use platform::process::inherited::end_when_asked;
use results::Document;

use crate::ending::Usage;
use crate::output::print_document;

/// The store of the runs.
#[derive(Debug, Clone, Args)]
pub struct StoreArg {
    /// File that holds the saved runs, or postgres://USER@HOST/DATABASE [default: $OSCOST_STORE, or a file in your data directory]
    #[arg(long, value_name = "PATH", global = true)]
    pub store: Option<PathBuf>,
}

/// Files that a run is also written to.
#[derive(Debug, Clone, Args)]
pub struct Files {
    /// Also write the results as CSV, one row per metric; `-` prints them instead of the tables
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write an Excel workbook with summary, raw values and charts
    #[arg(long, value_name = "FILE")]
    pub xlsx: Option<PathBuf>,
}

/// Labels, and formats of output.
#[derive(Debug, Clone, Args)]
pub struct Output {
    /// Label the run, as in kernel=patched; commands accept the label as the run's name (may be repeated)
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    pub tags: Vec<(String, String)>,
    /// Print the run as a JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Also print how long each area took
    #[arg(long)]
    pub verbose: bool,
    /// Files that the run is also written to.
    #[command(flatten)]
    pub files: Files,
}

/// A label: a key and a value.
///
/// # Errors
/// What is wrong with the text.
pub fn tag(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err("it is not KEY=VALUE, as in kernel=patched".into()),
    }
}

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
            Some(path) if is_stdout(path) => print_document(&results::to_csv(document))?,
            Some(path) => write(path, results::to_csv(document).as_bytes())?,
            None => {}
        }
        if let Some(path) = &self.xlsx {
            write(path, &report::workbook(document)?)?;
        }
        Ok(())
    }
}

/// Whether the path stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes a whole file; `-` is standard output.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Usage> {
    use std::io::Write;
    // A FIFO may wait for its reader for ever.
    end_when_asked();
    if is_stdout(path) {
        let mut output = std::io::stdout().lock();
        let written = output.write_all(bytes).and_then(|()| output.flush());
        return written.map_err(|e| Usage(format!("cannot write to standard output: {e}")));
    }
    std::fs::write(path, bytes).map_err(|e| Usage(format!("cannot write {}: {e}", path.display())))
}

/// Writes a whole file by renaming, so that a reader finds the old content or the new one; what is no regular file, such as a
/// FIFO, is written like any other by [`write`].
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Usage> {
    let is_regular = std::fs::symlink_metadata(path).map_or(true, |known| known.is_file());
    let Some(name) = path.file_name().filter(|_| is_regular && !is_stdout(path)) else {
        return write(path, bytes);
    };
    // Readers look for files by the end of their names, such as `*.prom`.
    let part = format!(".{}.{}.part", name.to_string_lossy(), std::process::id());
    let part = path.with_file_name(part);
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    written.map_err(|e| {
        // The error is reported, whether or not there is anything to remove.
        let _ = std::fs::remove_file(&part);
        Usage(format!("cannot write {}: {e}", path.display()))
    })
}

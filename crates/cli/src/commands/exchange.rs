//! `oscost export` and `oscost import`.

use std::io::Read;
use std::path::Path;

use command::ending::{Ending, Usage};
use command::options::write;
use command::output::{note, print_document};
use command::store::{store_to_read, store_to_write};
use results::{Document, Imported, parse_document};

use crate::args::{Export, Format, Import};

/// Maximum size of a document in bytes.
const BYTES_AT_MOST: u64 = 65 << 20;

/// Writes a run in one format.
pub fn export(args: &Export) -> anyhow::Result<Ending> {
    let store = store_to_read(&args.store)?;
    let document = store.document(&store.resolve(&args.run)?)?;
    let bytes = match args.format {
        Format::Text(text) => (text.write)(&document).into_bytes(),
        Format::Workbook => report::workbook(&document)?,
    };
    match &args.output {
        None if args.format == Format::Workbook => {
            return Err(Usage("a workbook is written to a file: --output run.xlsx".into()).into());
        }
        None => print_document(&String::from_utf8_lossy(&bytes))?,
        Some(path) => write(path, &bytes)?,
    }
    Ok(Ending::Done)
}

/// Adds a document to the store.
pub fn import(args: &Import) -> anyhow::Result<Ending> {
    let document = read_document(&args.file)?;
    let mut store = store_to_write(&args.store)?;
    let id = &document.run.id;
    match store.import(&document)? {
        Imported::Added => note(&format!("run {id} is imported")),
        Imported::AlreadyThere => note(&format!("run {id} is already in the store, unchanged")),
    }
    Ok(Ending::Done)
}

/// Reads a document from a file, or from stdin for `-`.
pub fn read_document(path: &Path) -> anyhow::Result<Document> {
    let text = read_text(path)?;
    Ok(parse_document(&text).map_err(|e| Usage(format!("{}: {e}", path.display())))?)
}

/// Reads a text file, or stdin for `-`.
pub fn read_text(path: &Path) -> Result<String, Usage> {
    let name = path.display();
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(BYTES_AT_MOST).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(BYTES_AT_MOST).read_to_end(&mut bytes))
    };
    read.map_err(|e| Usage(format!("cannot read {name}: {e}")))?;
    String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = before.split(|&b| b == b'\n').count();
        let of_line = before.rsplit(|&b| b == b'\n').next().unwrap_or_default();
        let column = 1 + String::from_utf8_lossy(of_line).chars().count();
        Usage(format!("{name}: line {line}, column {column}: not UTF-8 text"))
    })
}

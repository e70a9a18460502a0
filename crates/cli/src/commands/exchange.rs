//! `oscost export` and `oscost import`.

use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use analysis::{is_same_machine, nuisances};
use command::ending::{Ending, Usage};
use command::options::write;
use command::output::{note, print_document};
use command::store::{store_to_read, store_to_write};
use results::{
    CaseResult, Document, Extent, Imported, Outcome, Store, ToolFormat, parse_document, to_otava,
};

use crate::args::{Export, Format, Import};

/// Maximum size of a document in bytes.
const BYTES_AT_MOST: u64 = 65 << 20;

/// Writes a run in one format, or all runs of its machine.
pub fn export(args: &Export) -> anyhow::Result<Ending> {
    let store = store_to_read(&args.store)?;
    let id = store.resolve(&args.run)?;
    let bytes = match args.format {
        Format::Otava => return export_for_otava(&store, &id, args),
        Format::Text(text) => {
            let document = chosen(store.document(&id)?, text.extent, args)?;
            let written = (text.write)(&document);
            if written.trim() == "[]" {
                let (all, format) = (document.results.len(), text.name);
                note(&format!(
                    "run {id} has no figure for {format} among its {all} results: the list is empty"
                ));
            }
            written.into_bytes()
        }
        Format::Workbook => report::workbook(&chosen(store.document(&id)?, Extent::All, args)?)?,
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

/// The document with the results that the user chose, or the format has by default.
fn chosen(mut document: Document, extent: Extent, args: &Export) -> anyhow::Result<Document> {
    let id = document.run.id.clone();
    if !args.only.is_empty() {
        document.results.retain(|result| is_chosen(result, args));
        if document.results.is_empty() {
            let filters = args.only.join(" ");
            return Err(Usage(format!("run {id} has no results for {filters}")).into());
        }
    } else if extent == Extent::FirstPage && !args.all && document.other_tool().is_none() {
        document.results = report::first_page(&document.results, catalog::areas());
        if document.results.is_empty() {
            let why = format!(
                "run {id} has none of the points of the first page, which this format has: --all or --only"
            );
            return Err(Usage(why).into());
        }
    }
    Ok(document)
}

/// Whether the filters of `--only`, if there are any, name the result's case.
fn is_chosen(result: &CaseResult, args: &Export) -> bool {
    let names = |filter: &String| catalog::matches_filter(filter, &result.case);
    args.only.is_empty() || args.only.iter().any(names)
}

/// Writes all finished runs of the machine and system of the run `id`, up to that run, into a folder.
fn export_for_otava(store: &Store, id: &str, args: &Export) -> anyhow::Result<Ending> {
    let Some(folder) = &args.output else {
        return Err(Usage("runs for Otava are written to a folder: --output DIR".into()).into());
    };
    let last = chosen(store.document(id)?, Extent::All, args)?;
    let mut runs = Vec::new();
    for run in store.runs()?.into_iter().filter(|run| run.finished.is_some() && run.results > 0) {
        let mut earlier = store.document(&run.id)?;
        let is_of_series = earlier.run.started_seconds() <= last.run.started_seconds()
            && earlier.other_tool() == last.other_tool()
            && earlier.system() == last.system()
            && is_same_machine(&earlier.machine, &last.machine)
            && nuisances(&earlier, &last, &[]).is_empty();
        if is_of_series {
            earlier.results.retain(|result| is_chosen(result, args));
            runs.push(earlier);
        }
    }
    runs.sort_by(|a, b| a.run.started_seconds().total_cmp(&b.run.started_seconds()));
    let cannot =
        |error: std::io::Error| Usage(format!("cannot write {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(cannot)?;
    // Otava resolves the paths in its configuration from where it is started.
    let full = std::fs::canonicalize(folder).map_err(cannot)?;
    for (name, content) in to_otava(&runs, &full) {
        write(&folder.join(name), content.as_bytes())?;
    }
    let count = runs.len();
    let are = if count == 1 { "1 run is".to_owned() } else { format!("{count} runs are") };
    note(&format!("{are} in {}", folder.display()));
    Ok(Ending::Done)
}

/// Adds a document, or the results of another tool, to the store.
pub fn import(args: &Import) -> anyhow::Result<Ending> {
    let (document, left_out) = match args.from {
        Some(tool) => read_of_tool(tool, &args.file)?,
        None => (read_document(&args.file).map_err(with_hint)?, Vec::new()),
    };
    if document.run.is_ahead_of(seconds_now()) {
        let started = &document.run.started;
        let why = format!(
            "the run is dated {started}, more than a day ahead of this clock: it would be the newest night until then"
        );
        return Err(Usage(why).into());
    }
    let mut store = store_to_write(&args.store)?;
    let id = &document.run.id;
    // The file of another tool may have another time each time it is copied.
    let known = args.from.and_then(|_| store.document(id).ok());
    if known.is_some_and(|known| known.results == document.results) {
        note(&format!("run {id} is already in the store, unchanged"));
        return Ok(Ending::Done);
    }
    match store.import(&document)? {
        Imported::Added => note(&format!("run {id} is imported{}", without_figures(&document))),
        Imported::AlreadyThere => note(&format!("run {id} is already in the store, unchanged")),
    }
    if !left_out.is_empty() {
        let entries = match left_out.len() {
            1 => "1 entry that is".to_owned(),
            count => format!("{count} entries that are"),
        };
        note(&format!("left out: {entries} no benchmark: {}", named(left_out)));
    }
    Ok(Ending::Done)
}

/// How many points have no figure, which, and why; empty if all have one.
fn without_figures(document: &Document) -> String {
    let without = document.results.iter().filter(|result| result.outcome != Outcome::Measured);
    let names: Vec<String> = without
        .map(|result| {
            let reason = result.reason.as_deref().unwrap_or_default();
            format!("{} ({}: {reason})", result.label(), result.outcome.word())
        })
        .collect();
    match names.len() {
        0 => String::new(),
        count => {
            let all = document.results.len();
            format!("; {count} of {all} results have no figure: {}", named(names))
        }
    }
}

/// The first few names, and the number of the others.
fn named(mut names: Vec<String>) -> String {
    const NAMED: usize = 6;
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// This machine's clock, in seconds since 1970.
pub fn seconds_now() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

/// The error, with advice if the file is no document of oscost.
fn with_hint(error: anyhow::Error) -> anyhow::Error {
    let said = error.to_string();
    match said.contains("not an oscost document") {
        true => Usage(format!("{said}; --from TOOL reads results of other tools")).into(),
        false => error,
    }
}

/// Reads the results of another tool, and the names of what is left out.
fn read_of_tool(tool: &ToolFormat, path: &Path) -> anyhow::Result<(Document, Vec<String>)> {
    let name = path.display();
    let (is_folder, from) = (path.is_dir(), tool.name);
    match (tool.is_folder(), is_folder) {
        (true, false) => {
            return Err(Usage(format!("{name} is not a folder, which {from} writes")).into());
        }
        (false, true) => {
            return Err(Usage(format!("{name} is a folder, not a file of {from}")).into());
        }
        _ => {}
    }
    let text = if is_folder { String::new() } else { read_text(path)? };
    let modified = std::fs::metadata(path).and_then(|file| file.modified()).ok();
    let written = modified.filter(|_| path.as_os_str() != "-").unwrap_or_else(SystemTime::now);
    Ok(tool.document(path, &text, written).map_err(|error| Usage(error.to_string()))?)
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

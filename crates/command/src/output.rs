//! Output: results on stdout, everything else on stderr.

use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::Context;
use platform::process::inherited::end_when_asked;
use report::Page;
use report::text::{visible, visible_page};
use serde::Serialize;

/// Prints text for people to stdout: characters that steer a terminal, or reorder the text around them, become visible. A closed pipe
/// is no error: its reader needs no more.
///
/// # Errors
/// The error of writing.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_document(&visible_page(text))
}

/// Prints text for programs to stdout, as it is; on a terminal like [`print`]. A closed pipe is no error: its reader needs no more.
///
/// # Errors
/// The error of writing.
pub fn print_document(text: &str) -> anyhow::Result<()> {
    // Nothing is measured any more: a request to stop ends a command whose output nobody reads.
    end_when_asked();
    let text = match std::io::stdout().is_terminal() {
        true => visible_page(text),
        false => text.into(),
    };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    match write((text.into_owned() + end).as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Prints a document as JSON.
///
/// # Errors
/// The error of writing.
pub fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    print_document(&serde_json::to_string_pretty(document)?)
}

/// Prints a file's content to stdout: text like [`print_document`], anything else only where no terminal reads it.
///
/// # Errors
/// The error of writing, or that stdout is a terminal.
pub fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(text) => print_document(text),
        Err(_) if std::io::stdout().is_terminal() => {
            anyhow::bail!("a file that is no text is not written to a terminal")
        }
        Err(_) => write(bytes).context("cannot write to standard output"),
    }
}

fn write(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Prints a message to stderr, in which nothing is invisible; an error of writing is ignored.
pub fn note(text: &str) {
    let lines: Vec<_> = text.split('\n').map(visible).collect();
    let _ = writeln!(std::io::stderr(), "oscost: {}", lines.join("\n"));
}

/// The page for stdout: as wide as its terminal, or 100 columns in a pipe; colour only on a terminal and without
/// `NO_COLOR`.
pub fn page() -> Page {
    let terminal = std::io::stdout().is_terminal();
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = match terminal_width().filter(|_| terminal).or(columns) {
        Some(width) => width.clamp(60, 200),
        None => 100,
    };
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Page { width, colour, unicode: has_unicode(), this_run: false }
}

fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into())
}

/// Whether the locale supports Unicode: all do except `C` and `POSIX`.
fn has_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    !matches!(locale.as_deref(), Some("C" | "POSIX"))
}

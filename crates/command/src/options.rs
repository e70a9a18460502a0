//! Options of several commands: the store, labels, and files to which results are written in addition to the tables.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use platform::cleanup::random_name;
use platform::file::private::sync_directory;
use platform::process::inherited::end_when_asked;
use results::Document;

use crate::ending::Usage;
use crate::output::{print_bytes, print_document};

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

/// Refuses the first address that is not this machine's loopback, unless `--beyond-this-machine` was given. `why` is what could
/// happen there.
///
/// # Errors
/// The address, with the reason and the option.
pub fn check_beyond_this_machine(
    addresses: impl IntoIterator<Item = SocketAddr>,
    is_allowed: bool,
    why: &str,
) -> Result<(), Usage> {
    match addresses.into_iter().find(|address| !address.ip().is_loopback()) {
        Some(address) if !is_allowed => Err(Usage(format!(
            "{address} is not a loopback address: {why}; --beyond-this-machine allows it"
        ))),
        _ => Ok(()),
    }
}

/// Whether the path stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes a whole file; `-` is standard output. A reader finds the old content or the new one, also when the disk is full or the
/// program is killed: the file is written under another name and renamed. What is no regular file, such as a FIFO, and a file in
/// a folder where none can be made, is written in place.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Usage> {
    // A FIFO may wait for its reader for ever.
    end_when_asked();
    if is_stdout(path) {
        return print_bytes(bytes).map_err(|e| Usage(format!("{e:#}")));
    }
    replaced(path, bytes).map_err(|e| Usage(format!("cannot write {}: {e}", path.display())))
}

fn replaced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let known = fs::metadata(path).ok();
    if known.as_ref().is_some_and(|known| !known.is_file()) {
        return fs::write(path, bytes);
    }
    // A symbolic link stays, and the file that it names is replaced.
    let path = if known.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
    // Readers look for files by the end of their names, such as `*.prom`.
    let part = path.with_file_name(random_name(".oscost-") + ".part");
    let mut file = match File::create_new(&part) {
        Err(error) if known.is_some() && error.kind() == ErrorKind::PermissionDenied => {
            return fs::write(path, bytes);
        }
        created => created?,
    };
    let permissions = known.map_or(Ok(()), |known| file.set_permissions(known.permissions()));
    let written = permissions.and_then(|()| file.write_all(bytes)).and_then(|()| file.sync_all());
    drop(file);
    written.and_then(|()| fs::rename(&part, &path)).inspect_err(|_| {
        // The error is reported, whether or not there is anything to remove.
        let _ = fs::remove_file(&part);
    })?;
    path.parent().map_or(Ok(()), sync_directory)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_with_its_permissions_and_a_link_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, link] = ["kept", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "old").expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("ours");
        symlink(&file, &link).expect("a link");
        let reader = File::open(&file).expect("open");
        write(&link, b"new").expect("written");
        assert_eq!(fs::read_to_string(&link).expect("read"), "new");
        assert!(link.is_symlink());
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o640);
        // Who had it open reads all of what it was.
        assert_eq!(io::read_to_string(reader).expect("read"), "old");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
        let plain = File::create(folder.path().join("plain")).expect("made");
        write(&folder.path().join("made"), b"").expect("written");
        let mode = |file: fs::Metadata| file.permissions().mode();
        let made = fs::metadata(folder.path().join("made")).expect("there");
        assert_eq!(mode(made), mode(plain.metadata().expect("there")), "as any new file");
    }

    #[test]
    fn what_cannot_be_written_says_why_in_the_words_of_the_system() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = write(&folder.path().join("none/x"), b"").expect_err("no folder").to_string();
        assert!(error.ends_with("none/x: No such file or directory (os error 2)"), "{error}");
        write(Path::new("/dev/full"), b"x").expect_err("full");
        let name = folder.path().join("x".repeat(300));
        write(&name, b"x").expect_err("too long a name");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}

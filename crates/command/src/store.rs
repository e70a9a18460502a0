//! Opens the store that the user named, or the default one: a file, or a database that several machines share.

use std::path::{Path, PathBuf};

use results::store::Sending;
use results::{Store, StoreError};
use shared_store::Access;

use crate::options::StoreArg;
use crate::output::note;

fn store_path(arg: &StoreArg) -> Result<PathBuf, StoreError> {
    match arg.store.as_deref().and_then(url_of).filter(|url| shared_store::has_password(url)) {
        None => arg.store.clone().map_or_else(Store::default_path, Ok),
        Some(url) => Err(StoreError::Server {
            store: shared_store::shown(url),
            what: "every user of this machine sees a password in a command line; set PGPASSWORD, or PGPASSFILE to a file \
                   with it, and leave it out of the URL"
                .to_owned(),
        }),
    }
}

/// The URL of a shared store, if the path is one.
fn url_of(path: &Path) -> Option<&str> {
    path.to_str().filter(|place| shared_store::is_url(place))
}

/// The URL of the shared store that the user named; `None` if it is a file.
///
/// # Errors
/// An error if there is no default, or the URL has a password that was typed.
pub fn shared_url(arg: &StoreArg) -> Result<Option<String>, StoreError> {
    Ok(url_of(&store_path(arg)?).map(str::to_owned))
}

/// Opens the store for writing, and creates it if it does not exist. Runs into a shared store have journals on this machine.
///
/// # Errors
/// The error of opening the store.
pub fn store_to_write(arg: &StoreArg) -> Result<Store, StoreError> {
    let path = store_path(arg)?;
    let Some(url) = url_of(&path) else {
        let store = Store::open(&path)?;
        if store.was_open_to_others() {
            note(&format!("{}: other users could read it; now its mode is 600", path.display()));
        }
        return Ok(store);
    };
    let folder = Store::journals_folder()?.join(file_name(&shared_store::shown(url)));
    let store = shared_store::open_now_or_later(url)?.for_machine(platform::machine::id());
    Ok(store.with_journals(folder, Sending::default()))
}

/// Opens the store for reading.
///
/// # Errors
/// An error if the store does not exist or cannot be opened.
pub fn store_to_read(arg: &StoreArg) -> Result<Store, StoreError> {
    let path = store_path(arg)?;
    match url_of(&path) {
        Some(url) => {
            Ok(shared_store::open(url, Access::Read)?.for_machine(platform::machine::id()))
        }
        None => Store::open_read_only(&path),
    }
}

/// A name of a folder for a URL: each store has its own.
fn file_name(url: &str) -> String {
    let mut name = String::new();
    for byte in url.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'@' => {
                name.push(byte.into());
            }
            other => name.push_str(&format!("%{other:02X}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shared_store_has_a_folder_of_its_own() {
        let of = |url| file_name(&shared_store::shown(url));
        let name = of("postgres://ann@db.example/perf");
        assert_eq!(name, "postgres%3A%2F%2Fann@db.example%2Fperf");
        assert_eq!(of("postgresql://ann@db.example:5432/perf?sslmode=disable"), name);
        assert_ne!(of("postgres://ann@db.example/other"), name);
    }

    #[test]
    fn a_password_in_the_command_line_is_refused_without_showing_it() {
        for url in [
            "postgres://ann:hunter2@db.example/perf",
            "postgres://ann@db.example/perf?password=hunter2",
        ] {
            let arg = StoreArg { store: Some(url.into()) };
            for error in [store_to_read(&arg), store_to_write(&arg)].map(Result::err) {
                let error = error.expect("refused");
                let text = format!("{error} {error:?}");
                assert!(text.contains("PGPASSWORD") && !text.contains("hunter2"), "{text}");
            }
        }
    }
}

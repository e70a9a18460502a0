//! Chooses the oscost binary for a system: this program, or a static one.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::SystemError;
use crate::libraries::{Linkage, Program, linkage};
use crate::options::Settings;

/// The environment variable with the path of a static binary to be used instead of this program.
const VARIABLE: &str = "OSCOST_STATIC";

/// The path of the oscost to start in a system that has this one's libraries: the option `binary`, else this program.
///
/// # Errors
/// If the option's file does not exist, or the path of this program is unknown.
pub fn own(settings: &Settings) -> Result<PathBuf, SystemError> {
    match settings.path("binary") {
        Some(path) => existing(path, "the option `binary`"),
        None => this_program(),
    }
}

/// The oscost to start in a system that has none of this one's files, with the libraries that it needs: the option `binary`, else
/// the variable `OSCOST_STATIC`, else this program.
///
/// # Errors
/// If a file does not exist or is no program for Linux, or a library is missing.
pub fn with_libraries(settings: &Settings) -> Result<Program, SystemError> {
    match named(settings)? {
        Some(path) => Program::of(path),
        None => Program::of(this_program()?),
    }
}

/// The path of the oscost to start in a system into which no libraries can be brought: as [`with_libraries`], but static, as this
/// program is if released.
///
/// # Errors
/// If there is no such binary; the message says how to get one.
pub fn without_libraries(settings: &Settings) -> Result<PathBuf, SystemError> {
    match named(settings)? {
        Some(path) => checked(path),
        None => if_static(this_program()?),
    }
}

/// The static binary that the user named for all systems, if any.
///
/// # Errors
/// If the file of the variable does not exist, or is no static program.
pub fn of_variable() -> Result<Option<PathBuf>, SystemError> {
    let path = env::var_os(VARIABLE).filter(|path| !path.is_empty());
    path.map(|path| existing(Path::new(&path), VARIABLE).and_then(checked)).transpose()
}

fn named(settings: &Settings) -> Result<Option<PathBuf>, SystemError> {
    match settings.path("binary") {
        Some(path) => existing(path, "the option `binary`").map(Some),
        None => of_variable(),
    }
}

/// This program, if it is static.
fn if_static(own: PathBuf) -> Result<PathBuf, SystemError> {
    match linkage(&own) {
        Ok(Linkage::Static) => Ok(own),
        _ => Err(SystemError::Unsupported(format!(
            "this system needs a static oscost, and this program is linked with libraries: use a released oscost, or build \
             one with scripts/static-build and name it by {VARIABLE}=FILE"
        ))),
    }
}

fn this_program() -> Result<PathBuf, SystemError> {
    env::current_exe().map_err(|e| SystemError::from_io("the path of this program", &e))
}

fn existing(path: &Path, from: &str) -> Result<PathBuf, SystemError> {
    let found = path.canonicalize();
    found.map_err(|e| SystemError::from_io(format!("{from}: {}", path.display()), &e))
}

fn checked(path: PathBuf) -> Result<PathBuf, SystemError> {
    match linkage(&path).map_err(|e| SystemError::from_io(path.display().to_string(), &e))? {
        Linkage::Static => Ok(path),
        _ => Err(SystemError::Unsupported(format!(
            "{} is not a static program for Linux, as a released oscost is, or one built by scripts/static-build",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_env = "gnu")]
    fn a_static_program_serves_itself_and_another_says_what_to_get() {
        let directory = tempfile::tempdir().unwrap();
        let released = directory.path().join("oscost");
        std::fs::write(&released, crate::libraries::elf(&[])).unwrap();
        assert_eq!(if_static(released.clone()).unwrap(), released);
        let error = if_static(env::current_exe().unwrap()).unwrap_err().to_string();
        assert!(error.contains("use a released oscost") && error.contains(VARIABLE), "{error}");
    }

    #[test]
    fn an_option_that_names_no_file_is_an_error() {
        let mut settings = Settings::default();
        settings.set("binary", crate::options::Value::Path("/nosuch/oscost".into()));
        let errors = [own(&settings).err(), without_libraries(&settings).err()];
        for error in errors.into_iter().chain([with_libraries(&settings).err()]) {
            let error = error.unwrap().to_string();
            assert!(error.starts_with("the option `binary`: /nosuch/oscost: "), "{error}");
        }
    }
}

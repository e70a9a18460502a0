//! Finds programs, and the last words of those that failed.

use std::path::{Path, PathBuf};

use crate::error::SystemError;

/// The path of a program, searched in PATH and the directories of system administration, unless its name has a slash.
pub fn find(name: &str) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let administration = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let directories = std::env::split_paths(&path).chain(administration);
    let suffix = std::env::consts::EXE_SUFFIX;
    let mut candidates =
        directories.flat_map(|at| [at.join(name), at.join(format!("{name}{suffix}"))]);
    candidates.find(|path| path.is_file())
}

/// The path of a program that a launcher needs.
///
/// # Errors
/// If the program is not installed; the message names the Debian package.
pub fn need(launcher: &'static str, name: &str, package: &str) -> Result<PathBuf, SystemError> {
    find(name).ok_or_else(|| SystemError::Missing {
        launcher,
        program: name.to_owned(),
        remedy: format!("apt-get install {package}"),
    })
}

/// The program at a given path.
///
/// # Errors
/// If it does not exist.
pub fn existing(launcher: &'static str, path: &Path) -> Result<PathBuf, SystemError> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    Err(SystemError::Missing {
        launcher,
        program: path.display().to_string(),
        remedy: "there is no such file".to_owned(),
    })
}

/// The path of a program: `given`, else the one in a variable, else the one in PATH.
///
/// # Errors
/// If there is no such program; the message has the `remedy`.
pub fn given_or_found(
    launcher: &'static str,
    given: Option<&PathBuf>,
    variable: &str,
    name: &str,
    remedy: &str,
) -> Result<PathBuf, SystemError> {
    let named = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    match given.cloned().or(named) {
        Some(path) => existing(launcher, &path),
        None => find(name).ok_or_else(|| SystemError::Missing {
            launcher,
            program: name.to_owned(),
            remedy: remedy.to_owned(),
        }),
    }
}

/// The last line that is not blank, without control characters.
pub fn last_line(bytes: &[u8]) -> String {
    const LONGEST: usize = 400;
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split(['\n', '\r']).map(str::trim);
    let last = lines.rfind(|line| !line.is_empty()).unwrap_or_default();
    last.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn programs_are_found_by_name_and_by_path() {
        let shell = find("sh").unwrap();
        assert_eq!(find(shell.to_str().unwrap()), Some(shell));
        assert_eq!(find("nosuch-program"), None);
        assert_eq!(find("/nosuch/program"), None);
        let error = need("qemu", "nosuch-program", "some-package").unwrap_err();
        assert_eq!(
            error.to_string(),
            "qemu needs the program nosuch-program: apt-get install some-package"
        );
    }

    #[test]
    fn the_last_line_is_plain_text() {
        assert_eq!(last_line(b"a\nrunsc: \x1b[1mno\x1b[0m way\r\n\n  \n"), "runsc: [1mno[0m way");
        assert_eq!(last_line(b""), "");
        assert_eq!(last_line(&[0xff; 10_000]).chars().count(), 400);
    }
}

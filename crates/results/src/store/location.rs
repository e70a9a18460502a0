//! The default location of the store, from the environment alone.

use std::ffi::OsString;
use std::path::PathBuf;

use super::StoreError;

/// See [`Store::default_path`](super::Store::default_path).
pub(super) fn default_path(
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, StoreError> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = set("OSCOST_STORE") {
        return Ok(path);
    }
    data_folder(&variable).map(|data| data.join("store.sqlite")).ok_or(StoreError::NoPlace)
}

/// See [`Store::journals_folder`](super::Store::journals_folder).
pub(super) fn journals_folder(
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, StoreError> {
    if let Some(path) = variable("OSCOST_JOURNALS").filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(path));
    }
    data_folder(&variable).map(|data| data.join("journals")).ok_or(StoreError::NoPlaceForJournals)
}

/// See [`Store::data_folder`](super::Store::data_folder).
pub(super) fn data_folder(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A relative path would mean another store in each folder, and the XDG specification says to ignore it.
    let folder = |name: &str| set(name).filter(|path| path.is_absolute());
    // LOCALAPPDATA precedes HOME: Unix shells on Windows set HOME, other shells do not, and both must find the same store.
    folder("XDG_DATA_HOME")
        .or_else(|| folder("LOCALAPPDATA"))
        .or_else(|| folder("HOME").map(|home| home.join(".local").join("share")))
        .map(|data| data.join("oscost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<PathBuf, StoreError> {
        default_path(|name| {
            let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from(value))
        })
    }

    /// An absolute path on the system the test runs on.
    fn absolute(name: &str) -> String {
        std::env::temp_dir().join(name).to_str().expect("a plain path").to_owned()
    }

    #[test]
    fn oscost_store_takes_precedence_and_may_be_relative() {
        let path = with(&[("OSCOST_STORE", "here.sqlite"), ("HOME", &absolute("home"))]);
        assert_eq!(path.expect("a path"), PathBuf::from("here.sqlite"));
    }

    #[test]
    fn folders_are_tried_in_order_except_empty_or_relative_ones() {
        let (data, local, home) = (absolute("data"), absolute("local"), absolute("home"));
        let all = [
            ("OSCOST_STORE", ""),
            ("XDG_DATA_HOME", &data),
            ("LOCALAPPDATA", &local),
            ("HOME", &home),
        ];
        assert_eq!(with(&all).expect("a path"), PathBuf::from(&data).join("oscost/store.sqlite"));
        assert_eq!(
            with(&all[2..]).expect("a path"),
            PathBuf::from(&local).join("oscost/store.sqlite")
        );
        let odd = [("XDG_DATA_HOME", "data"), ("LOCALAPPDATA", ""), ("HOME", home.as_str())];
        let expected = PathBuf::from(&home).join(".local/share/oscost/store.sqlite");
        assert_eq!(with(&odd).expect("a path"), expected);
    }

    #[test]
    fn journals_are_beside_the_default_store_or_where_the_user_says() {
        let data = absolute("data");
        let of = |variables: &[(&str, &str)]| {
            journals_folder(|name| {
                let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
                Some(OsString::from(value))
            })
        };
        let usual = of(&[("XDG_DATA_HOME", &data), ("OSCOST_STORE", "postgres://h/d")]);
        assert_eq!(usual.expect("a path"), PathBuf::from(&data).join("oscost/journals"));
        let named = of(&[("XDG_DATA_HOME", &data), ("OSCOST_JOURNALS", "/var/lib/oscost")]);
        assert_eq!(named.expect("a path"), PathBuf::from("/var/lib/oscost"));
        let error = of(&[]).expect_err("no place").to_string();
        assert!(error.contains("set OSCOST_JOURNALS"), "{error}");
    }

    #[test]
    fn without_any_variable_the_error_names_the_one_to_set() {
        let error = with(&[("HOME", "")]).expect_err("no place");
        assert!(error.to_string().contains("set OSCOST_STORE"), "{error}");
    }
}

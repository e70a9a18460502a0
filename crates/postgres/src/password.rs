//! The password of a user: `PGPASSWORD`, or a file in libpq's format
//! (<https://www.postgresql.org/docs/15/libpq-pgpass.html>).

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::path::PathBuf;

/// Whose password is wanted.
pub(crate) struct Wanted<'a> {
    pub host: &'a str,
    pub port: u16,
    pub database: &'a str,
    pub user: &'a str,
}

/// Finds a password; `None` if there is none, which some servers do not ask for.
///
/// # Errors
/// A file that was named and cannot be read, or one that others can read.
pub(crate) fn find(
    wanted: &Wanted<'_>,
    file: Option<PathBuf>,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Option<String>, String> {
    if let Some(password) = variable("PGPASSWORD").filter(|password| !password.is_empty()) {
        let password = password.into_string();
        return password.map(Some).map_err(|_| "PGPASSWORD is not UTF-8".to_owned());
    }
    let named =
        file.or_else(|| variable("PGPASSFILE").filter(|path| !path.is_empty()).map(PathBuf::from));
    let is_named = named.is_some();
    let usual = || match platform::IS_WINDOWS {
        true => variable("APPDATA").map(|data| PathBuf::from(data).join("postgresql/pgpass.conf")),
        false => variable("HOME").map(|home| PathBuf::from(home).join(".pgpass")),
    };
    let Some(path) = named.or_else(usual) else { return Ok(None) };
    let shown = path.display();
    let metadata = match fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if !is_named && error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read the passwords in {shown}: {error}")),
    };
    if is_open_to_others(&metadata) {
        return Err(format!(
            "others can read the passwords in {shown}: chmod 600 it, as every client of PostgreSQL requires"
        ));
    }
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("cannot read the passwords in {shown}: {error}"))?;
    Ok(text.lines().find_map(|line| of_line(line, wanted)))
}

#[cfg(unix)]
fn is_open_to_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.is_file() && metadata.permissions().mode() & 0o077 != 0
}

/// Access lists are not looked at, as no client does there.
#[cfg(not(unix))]
fn is_open_to_others(_: &Metadata) -> bool {
    false
}

/// The password of a line `host:port:database:user:password` that fits.
pub(crate) fn of_line(line: &str, wanted: &Wanted<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let count = fields.len();
        let field = fields.last_mut().expect("at least one");
        match c {
            '\\' => field.extend(chars.next()),
            ':' if count < 5 => fields.push(String::new()),
            c => field.push(c),
        }
    }
    let [host, port, database, user, password] = <[String; 5]>::try_from(fields).ok()?;
    // A socket's folder is written as it is, or as `localhost`.
    let socket = wanted.host.replace("%2F", "/");
    let hosts = match socket.starts_with('/') {
        true => vec![socket.as_str(), "localhost"],
        false => vec![wanted.host],
    };
    let fits = |field: &str, value: &str| field == "*" || field == value;
    let is_it = hosts.iter().any(|wanted| fits(&host, wanted))
        && fits(&port, &wanted.port.to_string())
        && fits(&database, wanted.database)
        && fits(&user, wanted.user);
    is_it.then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Wanted = Wanted { host: "db", port: 5432, database: "perf", user: "ann" };

    fn in_file(text: &str) -> Result<Option<String>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("passwords");
        fs::write(&path, text).expect("written");
        restrict(&path);
        find(&WANTED, Some(path), &|_| None)
    }

    #[cfg(unix)]
    fn restrict(path: &std::path::Path) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("set");
    }

    #[cfg(not(unix))]
    fn restrict(_: &std::path::Path) {}

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# db:5432:perf:ann:comment\ndb:1:perf:ann:port\nother:*:*:*:host\n*:*:perf:ann:a\\:b\\\\c:d\n*:*:*:*:later\n";
        assert_eq!(in_file(text), Ok(Some("a:b\\c:d".to_owned())));
        assert_eq!(in_file("db:5432:perf\n"), Ok(None));
        let socket = Wanted { host: "%2Frun%2Fpg", ..WANTED };
        assert_eq!(of_line("localhost:*:*:*:x", &socket).as_deref(), Some("x"));
        assert_eq!(of_line("/run/pg:*:*:*:x", &socket).as_deref(), Some("x"));
    }

    #[test]
    fn the_variable_precedes_the_file_and_a_file_that_was_named_must_be_there() {
        let known = |name: &str| (name == "PGPASSWORD").then(|| OsString::from("secret"));
        let missing = PathBuf::from("/nonexistent/passwords");
        assert_eq!(find(&WANTED, Some(missing.clone()), &known), Ok(Some("secret".to_owned())));
        let error = find(&WANTED, Some(missing), &|_| None).expect_err("no file");
        assert!(error.contains("/nonexistent/passwords"), "{error}");
        let home = |name: &str| (name == "HOME").then(|| OsString::from("/nonexistent"));
        assert_eq!(find(&WANTED, None, &home), Ok(None));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("passwords");
        fs::write(&path, "*:*:*:*:secret").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        let error = find(&WANTED, Some(path), &|_| None).expect_err("readable");
        assert!(error.contains("chmod 600") && !error.contains("secret"), "{error}");
    }
}

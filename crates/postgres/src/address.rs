//! The URL of a store: `postgres://user@host:port/database?sslmode=...&sslrootcert=...&passfile=...`.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use results::StoreError;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::password::{self, Wanted};

const PREFIXES: [&str; 2] = ["postgres://", "postgresql://"];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_PORT: u16 = 5432;

/// Whether the place of a store is a URL of a server, not a path.
pub fn is_url(place: &str) -> bool {
    PREFIXES.iter().any(|prefix| place.starts_with(prefix))
}

/// A URL as it may be shown: without its password, whatever else is wrong with it.
pub fn shown(url: &str) -> String {
    Address::parsed(url, &nothing_set)
        .map_or_else(|_| "the store".to_owned(), |address| address.name)
}

/// An environment without variables, except for the user: nothing is looked up to show a URL.
fn nothing_set(name: &str) -> Option<OsString> {
    matches!(name, "PGUSER" | "USER" | "USERNAME").then(|| env::var_os(name)).flatten()
}

/// Whether the URL itself has a password, which lists of processes show if it is typed. False for a URL that
/// cannot be read: opening it says what is wrong.
pub fn has_password(url: &str) -> bool {
    Address::parsed(url, &nothing_set).is_ok_and(|address| address.has_password)
}

/// Where a store is, and how it is reached.
pub(crate) struct Address {
    /// The URL without password and options, for messages.
    pub name: String,
    pub config: Config,
    /// Whether the URL itself has a password, which a list of processes shows if it was typed.
    pub has_password: bool,
    /// Whether the connection is encrypted, and the server verified.
    pub uses_tls: bool,
    /// The file with certificates of authorities, instead of the system's.
    pub root_certificates: Option<PathBuf>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.name).finish()
    }
}

/// The URL's options that this program reads itself.
#[derive(Default)]
struct Options {
    mode: Option<String>,
    root_certificates: Option<PathBuf>,
    password_file: Option<PathBuf>,
    /// The others.
    rest: Vec<String>,
}

impl Address {
    /// The address of a URL, with the password that belongs to it.
    pub fn of(url: &str) -> Result<Self, StoreError> {
        Self::parsed(url, &|name| env::var_os(name))
    }

    pub(crate) fn parsed(
        url: &str,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, StoreError> {
        let refused = |what: String| StoreError::Server { store: "--store".to_owned(), what };
        let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
        if after_scheme.split_once(['/', '?']).is_some_and(|(_, rest)| rest.contains('@')) {
            // Otherwise a part of a password would be taken for the host, or for an option.
            let what = "the URL has @ after / or ?; write %40 for @, %2F for / and %3F for ? in a password, a name or an option";
            return Err(refused(what.to_owned()));
        }
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let options = Options::of(query).map_err(refused)?;
        let rest = options.rest.join("&");
        let mark = if rest.is_empty() { "" } else { "?" };
        // The error names an option, never its value.
        let mut config = Config::from_str(&format!("{place}{mark}{rest}")).map_err(|error| {
            refused(format!(
                "the URL cannot be read ({error}); write postgres://USER@HOST/DATABASE, with %XX for other \
                 characters than letters and digits"
            ))
        })?;
        let is_odd = |host: &Host| {
            let name = name_of(host);
            name.contains(['@', ':']) && !is_address(&name)
        };
        if config.get_hosts().is_empty() || config.get_hosts().iter().any(is_odd) {
            let what = "the URL has no host that can be read; write postgres://USER@HOST/DATABASE, with %40 for @ in a name";
            return Err(refused(what.to_owned()));
        }
        if config.get_user().is_none() {
            let named = ["PGUSER", "USER", "USERNAME"].into_iter().find_map(variable);
            let named = named.and_then(|user| user.into_string().ok());
            let missing =
                || refused("the URL names no user; write postgres://USER@HOST/DATABASE".into());
            config.user(named.ok_or_else(missing)?);
        }
        let user = config.get_user().unwrap_or_default().to_owned();
        let database = config.get_dbname().unwrap_or(&user).to_owned();
        config.dbname(&database);
        let port = config.get_ports().first().copied().unwrap_or(DEFAULT_PORT);
        let host_name = name_of(&config.get_hosts()[0]);
        // Where there is an address, the name is not looked up.
        let is_local = match config.get_hostaddrs() {
            [] => config.get_hosts().iter().all(is_local),
            addresses => addresses.iter().all(IpAddr::is_loopback),
        };
        // What follows a colon may be a password that was written in the wrong place.
        let shown_user = user.split(':').next().unwrap_or_default();
        let name = match port {
            DEFAULT_PORT => format!("postgres://{shown_user}@{host_name}/{database}"),
            port => format!("postgres://{shown_user}@{host_name}:{port}/{database}"),
        };
        let uses_tls = match options.mode.as_deref() {
            None => !is_local,
            Some("disable") => false,
            Some("verify-full") => true,
            Some(_) => {
                let what = "sslmode is verify-full (the default, except on this machine) or disable: oscost verifies the \
                            server, or does not encrypt";
                return Err(StoreError::Server { store: name, what: what.to_owned() });
            }
        };
        config.ssl_mode(if uses_tls { SslMode::Require } else { SslMode::Disable });
        config.connect_timeout(CONNECT_TIMEOUT).application_name("oscost");
        let has_password = config.get_password().is_some();
        if !has_password {
            let wanted = Wanted { host: &host_name, port, database: &database, user: &user };
            let found = password::find(&wanted, options.password_file, variable)
                .map_err(|what| StoreError::Server { store: name.clone(), what })?;
            if let Some(found) = found {
                config.password(found);
            }
        }
        let root_certificates = options.root_certificates;
        Ok(Self { name, config, has_password, uses_tls, root_certificates })
    }
}

impl Options {
    fn of(query: &str) -> Result<Self, String> {
        let mut options = Self::default();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match name {
                "sslmode" => options.mode = Some(value.to_owned()),
                "sslrootcert" => options.root_certificates = Some(decoded(value)?),
                "passfile" => options.password_file = Some(decoded(value)?),
                _ => options.rest.push(option.to_owned()),
            }
        }
        Ok(options)
    }
}

/// A path with `%XX` for some bytes.
fn decoded(value: &str) -> Result<PathBuf, String> {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next().unwrap_or_default(), rest.next().unwrap_or_default()];
                let digits = str::from_utf8(&digits).unwrap_or_default();
                u8::from_str_radix(digits, 16)
                    .map_err(|_| "an option of the URL has a % without two digits")?
            }
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).map_err(|_| "an option of the URL is not UTF-8")?;
    Ok(PathBuf::from(text))
}

fn is_address(name: &str) -> bool {
    name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

/// The name or address of a host; the folder of its socket with `%2F`, as in a URL.
#[cfg(unix)]
fn name_of(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string().replace('/', "%2F"),
    }
}

/// The name or address of a host.
#[cfg(not(unix))]
fn name_of(host: &Host) -> String {
    let Host::Tcp(name) = host;
    name.clone()
}

/// The name of a host that is no Unix socket.
#[cfg(unix)]
fn looked_up(host: &Host) -> Option<&str> {
    match host {
        Host::Tcp(name) => Some(name),
        Host::Unix(_) => None,
    }
}

/// The name of a host.
#[cfg(not(unix))]
fn looked_up(host: &Host) -> Option<&str> {
    let Host::Tcp(name) = host;
    Some(name)
}

/// Whether the server is on this machine.
fn is_local(host: &Host) -> bool {
    // A name that only looks like the path of a socket is looked up.
    let Some(name) = looked_up(host) else { return true };
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<Address, String> {
        let none = |_: &str| None;
        Address::parsed(url, &none).map_err(|error| error.to_string())
    }

    #[test]
    fn a_server_elsewhere_is_verified_unless_the_url_says_otherwise() {
        for [url, name, tls] in testing::rows(
            "
            postgres://ann@db.example/perf | postgres://ann@db.example/perf | TLS
            postgresql://ann@db.example:6000/perf?sslmode=disable | postgres://ann@db.example:6000/perf | none
            postgres://ann@localhost/perf | postgres://ann@localhost/perf | none
            postgres://ann@127.0.0.1/perf?sslmode=verify-full | postgres://ann@127.0.0.1/perf | TLS
            postgres://ann@[2001:db8::1]/perf | postgres://ann@2001:db8::1/perf | TLS
            postgres://ann@%252Ftmp/perf | postgres://ann@%2Ftmp/perf | TLS
            postgres://ann@localhost/perf?hostaddr=192.0.2.1 | postgres://ann@localhost/perf | TLS
            postgres://ann@db.example/perf?hostaddr=127.0.0.1 | postgres://ann@db.example/perf | none
            postgres://ann@localhost/perf?hostaddr=127.0.0.2 | postgres://ann@localhost/perf | none
            postgres://ann@localhost/perf?hostaddr=::1 | postgres://ann@localhost/perf | none
            postgres://ann@localhost,localhost/perf?hostaddr=127.0.0.1,192.0.2.1 | postgres://ann@localhost/perf | TLS
            ",
        ) {
            let uses_tls = tls == "TLS";
            let address = parsed(url).expect(url);
            assert_eq!((address.name.as_str(), address.uses_tls), (name, uses_tls), "{url}");
            let mode = if uses_tls { SslMode::Require } else { SslMode::Disable };
            assert_eq!(address.config.get_ssl_mode(), mode);
        }
        for mode in ["prefer", "require", "allow", "verify-ca"] {
            let error =
                parsed(&format!("postgres://ann@db.example/perf?sslmode={mode}")).expect_err(mode);
            assert!(error.contains("verify-full"), "{error}");
        }
    }

    #[test]
    fn no_message_shows_the_password_of_a_url() {
        for url in [
            "postgres://ann:hunter2@db.example/perf",
            "postgres://ann:hunter2@db.example/perf?sslmode=prefer",
            "postgres://ann:hun@hunter2@db.example/perf",
            "postgres://ann:hunter2",
            "postgres://ann:hunter2@db.example:port/perf",
            "postgres://ann:hunter2@db.example/perf?nonsense=1",
            "postgres://ann:hunter2%ZZ@db.example/perf",
            "postgres://ann:hun@hunter2/x@db.example/perf",
            "postgres://ann:hunter2/x@db.example/perf",
            "postgres://ann:x/hunter2@db.example/perf",
            "postgres://ann:x?hunter2@db.example/perf",
            "postgres://ann:x?y@hunter2/z@db.example/perf",
            "postgres://ann:x?y@hunter2",
            "postgres://ann:x#hunter2@db.example/perf",
            "postgres://ann:x&hunter2@db.example/perf",
            "postgres://:hunter2@db.example/perf",
            "postgres://ann:hunter2@",
            "postgres://ann:hunter2@/perf",
            "postgres://ann:hunter2@:5432/perf",
            "postgres://ann:hunter2@db.example:5432,other:hunter2/perf",
            "postgres://ann:hunter2@db.example,b:hunter2@c/perf",
            "postgres://ann:x:hunter2@db.example/perf",
            "postgres://ann:[hunter2@db.example/perf",
            "postgres://ann:x%40hunter2@db.example/perf?hostaddr=hunter2",
            "postgres://ann:%68unter2@db.example/perf?port=hunter2",
            "postgres://ann@db.example/perf?password=hunter2&port=x",
            "postgres://ann@db.example/perf?user=ann&password=hunter2@x/y",
            "postgres://ann@db.example/perf?passfile=%ZZhunter2",
            "postgres://ann:hunter2@db.example/perf#more",
            "postgres://ann%3Ahunter2@db.example/perf",
            "postgres://db.example/perf?user=ann:hunter2",
            "postgres://ann:hunter2 @db.example/perf",
            "postgres://ann:hunter2\\@db.example/perf",
            "postgres:///perf?host=ann:hunter2@db.example",
            "postgres://postgres://ann:hunter2@db.example/perf",
            "postgresql://ann:hunter2@[::1/perf",
        ] {
            let text = match Address::parsed(url, &|_| None) {
                Ok(address) => format!("{address:?} {}", address.name),
                Err(error) => format!("{error:?} {error}"),
            };
            assert!(!text.contains("hunter2"), "{url}: {text}");
            assert!(!shown(url).contains("hunter2"), "{url}");
        }
        assert!(parsed("postgres://ann:hunter2@db.example/perf").expect("an address").has_password);
    }

    #[test]
    fn a_path_in_an_option_may_have_any_character() {
        let address =
            parsed("postgres://ann@h/p?sslrootcert=/etc/my%20ca.pem").expect("an address");
        assert_eq!(address.root_certificates, Some(PathBuf::from("/etc/my ca.pem")));
    }
}

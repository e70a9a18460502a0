//! What the fuzz targets need of this crate: URLs, and the file of passwords.

use crate::address::Address;
use crate::password::{Wanted, of_line};

/// Everything that messages and `Debug` show of a store at this URL. Nothing is looked up in the environment.
pub fn shown_of(url: &str) -> String {
    match Address::parsed(url, &|_| None) {
        Ok(address) => format!("{address:?} {}", address.name),
        Err(error) => format!("{error:?} {error}"),
    }
}

/// Whether the connection to the server of this URL is encrypted, and the addresses and names of its hosts; `None` if it is refused.
pub fn encrypted(url: &str) -> Option<(bool, Vec<String>)> {
    let address = Address::parsed(url, &|_| None).ok()?;
    let config = &address.config;
    let addresses = config.get_hostaddrs().iter().map(ToString::to_string);
    let names = config.get_hosts().iter().map(|host| format!("{host:?}"));
    Some((address.uses_tls, addresses.chain(names).collect()))
}

/// The password that a line of the file has for this user.
pub fn password_in(line: &str, host: &str, database: &str, user: &str) -> Option<String> {
    of_line(line, &Wanted { host, port: 5432, database, user })
}

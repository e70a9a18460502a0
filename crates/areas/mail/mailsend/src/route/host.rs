//! Parses a server: a name or an address, with an optional port.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use super::error::RouteError;
use super::target::{PORT, Target};

/// Maximum bytes of a name (RFC 1035, section 2.3.4, without the final dot).
const NAME_AT_MOST: usize = 253;
/// Maximum bytes of a label, between two dots of a name.
const LABEL_AT_MOST: usize = 63;

/// A host name or address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// An address.
    Address(IpAddr),
    /// A name, in lower case.
    Name(String),
}

/// A server and its port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// The server.
    pub host: Host,
    /// The port, 25 if none was given.
    pub port: u16,
}

impl HostPort {
    /// The target with this preference. The system resolves a name, which may take a while.
    ///
    /// # Errors
    ///
    /// If a name has no address.
    pub fn resolve(&self, preference: u16) -> Result<Target, RouteError> {
        let name = match &self.host {
            Host::Address(address) => {
                let addresses = vec![SocketAddr::new(*address, self.port)];
                return Ok(Target { name: address.to_string(), addresses, preference });
            }
            Host::Name(name) => name,
        };
        let unresolvable = |cause: String| RouteError::Unresolvable { host: name.clone(), cause };
        let found = (name.as_str(), self.port).to_socket_addrs();
        let mut addresses: Vec<_> = found.map_err(|e| unresolvable(e.to_string()))?.collect();
        addresses.dedup();
        if addresses.is_empty() {
            return Err(unresolvable("it has none".to_owned()));
        }
        Ok(Target { name: name.clone(), addresses, preference })
    }
}

impl FromStr for HostPort {
    type Err = &'static str;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = given.parse() {
            return Ok(Self { host: Host::Address(address), port: PORT });
        }
        if let Some(inner) = given.strip_prefix('[') {
            let (address, rest) = inner.split_once(']').ok_or("the bracket is not closed")?;
            let address: IpAddr = address.parse().map_err(|_| "no address is in brackets")?;
            let port = match rest.strip_prefix(':') {
                Some(port) => port_of(port)?,
                None if rest.is_empty() => PORT,
                None => return Err("after the brackets comes a colon and the port"),
            };
            return Ok(Self { host: Host::Address(address), port });
        }
        let (host, port) = match given.split_once(':') {
            Some((host, port)) => (host, port_of(port)?),
            None => (given, PORT),
        };
        let host = match host.parse() {
            Ok(address) => Host::Address(address),
            Err(_) => Host::Name(name_of(host)?),
        };
        Ok(Self { host, port })
    }
}

fn port_of(given: &str) -> Result<u16, &'static str> {
    match given.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err("its port is no number from 1 to 65535"),
    }
}

/// A domain or host name in the form for look-ups: A-labels in lower case without a final dot (RFC 5890).
pub(super) fn name_of(given: &str) -> Result<String, &'static str> {
    let name = if given.is_ascii() {
        given.to_ascii_lowercase()
    } else {
        idna::domain_to_ascii(given).map_err(|_| "it is no name, nor one that IDNA allows")?
    };
    let name = name.strip_suffix('.').unwrap_or(&name);
    if name.is_empty() {
        return Err("the name is missing");
    }
    if name.len() > NAME_AT_MOST {
        return Err("its name is longer than 253 bytes");
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err("a part of its name is empty");
        }
        if label.len() > LABEL_AT_MOST {
            return Err("a part of its name is longer than 63 bytes");
        }
        if !label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Err("a name has letters, digits, hyphens and dots only");
        }
    }
    Ok(name.to_owned())
}

//! Routes, mail servers and address literals.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The port of SMTP (RFC 5321, section 4.5.4.2).
pub const PORT: u16 = 25;

/// A mail server of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Name, or the address if that was given; the server's certificate must be valid for it.
    pub name: String,
    /// Addresses, in the order in which they are tried; at least one.
    pub addresses: Vec<SocketAddr>,
    /// Preference of the server: lower values are preferred. Connections are distributed over targets of the same
    /// preference (RFC 5321, section 5.1).
    pub preference: u16,
}

/// The route of a domain's mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Delivery to these servers, in this order; at least one.
    To(Vec<Target>),
    /// The mail is permanently undeliverable, for this reason.
    Never(String),
    /// The look-up failed temporarily, for this reason.
    Later(String),
}

/// Whether all servers of a route are on this machine.
pub(super) fn is_loopback(route: &Route) -> bool {
    match route {
        Route::To(targets) => targets
            .iter()
            .flat_map(|target| &target.addresses)
            .all(|address| address.ip().to_canonical().is_loopback()),
        Route::Never(_) | Route::Later(_) => true,
    }
}

/// The address in a literal such as `[127.0.0.1]` or `[IPv6:::1]` (RFC 5321, section 4.1.3). `None` if `domain` is not in
/// brackets; an error if the address is invalid.
pub(super) fn literal(domain: &str) -> Option<Result<IpAddr, String>> {
    let inner = domain.strip_prefix('[')?;
    let address = inner.strip_suffix(']').and_then(|inner| match inner.split_once(':') {
        Some((tag, address)) if tag.eq_ignore_ascii_case("IPv6") => {
            address.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
        }
        _ => inner.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    });
    Some(address.ok_or_else(|| format!("{domain} is no address that mail can be sent to")))
}

//! Parses listening addresses and ranges of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use crate::parse::ParseOptionError;

/// One address, or a range of addresses that differ in the last octet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses(pub Vec<SocketAddr>);

impl FromStr for Addresses {
    type Err = ParseOptionError;

    /// Parses `127.0.0.1:2525`, `[::1]:2525`, or `127.0.0.1-200:2525` for two hundred addresses.
    fn from_str(text: &str) -> Result<Self, ParseOptionError> {
        if let Ok(address) = text.parse() {
            return Ok(Self(vec![address]));
        }
        range(text).map(Self).ok_or_else(|| {
            ParseOptionError(format!(
                "{text} is no address such as 127.0.0.1:2525, [::1]:2525 or 127.0.0.1-200:2525"
            ))
        })
    }
}

fn range(text: &str) -> Option<Vec<SocketAddr>> {
    let (ips, port) = text.rsplit_once(':')?;
    let (first, last) = ips.split_once('-')?;
    let (first, last): (Ipv4Addr, u8) = (first.parse().ok()?, last.parse().ok()?);
    let port: u16 = port.parse().ok()?;
    let [a, b, c, from] = first.octets();
    let all = (from..=last).map(|d| SocketAddr::new(IpAddr::from([a, b, c, d]), port));
    (from <= last).then(|| all.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ranges_are_read() {
        let all = |text: &str| text.parse::<Addresses>().map(|all| all.0);
        assert_eq!(all("[::1]:25"), Ok(vec!["[::1]:25".parse().unwrap()]));
        let many = all("127.0.0.1-200:2525").unwrap();
        assert_eq!((many.len(), many[199]), (200, "127.0.0.200:2525".parse().unwrap()));
        assert_eq!(all("127.0.0.3-3:1").unwrap().len(), 1);
        for wrong in ["127.0.0.1", "127.0.0.9-1:25", "127.0.0.1-256:25", "x:1", "1.2.3.4-5:", ""] {
            assert!(all(wrong).unwrap_err().to_string().contains("no address"), "{wrong}");
        }
    }
}

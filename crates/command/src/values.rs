//! Parsers of values that several commands take.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use measure::count::{ParseUnitError, parse_count, parse_duration, parse_percentage, parse_size};

/// The problem with a value, without the value, which clap names.
fn problem(error: ParseUnitError) -> String {
    format!("it {}", error.problem())
}

/// A whole number, as in 64 or 1k, which is 1000.
pub fn count(text: &str) -> Result<u64, String> {
    parse_count(text).map_err(problem)
}

/// A number of bytes, as in 512, 64k or 1m.
pub fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(problem)
}

/// A share, as in 5%. A number below 1 without the sign may be meant as a share or as a percentage.
pub fn share(text: &str) -> Result<f64, String> {
    let share = parse_percentage(text).map_err(problem)?;
    match text.ends_with('%') || share >= 0.01 {
        true => Ok(share),
        false => {
            let percent = (share * 1e6).round() / 1e4;
            let hundredfold = (share * 1e8).round() / 1e4;
            Err(format!("{hundredfold}% or {percent}%? Give the percentage with its sign"))
        }
    }
}

/// The address of a server, as in localhost:8080, [::1]:2525 or http://localhost:8080/. The system's resolver finds the addresses
/// of a name, of which one of IPv4 is preferred.
pub fn endpoint(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (authority, default_port) = match text.split_once("://") {
        None => (text, None),
        Some(("http", rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            if !path.is_empty() {
                return Err(format!("all requests are for /: leave out the path /{path}"));
            }
            (authority, Some(HTTP))
        }
        Some((scheme, _)) => return Err(format!("{scheme} is not spoken, only http")),
    };
    let (host, port) = match authority.rsplit_once(':') {
        // The colons of an IPv6 address in brackets are not that of a port.
        Some((host, port)) if !port.contains(']') => {
            let port: u16 = port.parse().map_err(|_| format!("{port:?} is no port"))?;
            (host, Some(port))
        }
        _ => (authority, None),
    };
    let port = port.or(default_port).ok_or("it has no port, as in localhost:8080")?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() {
        return Err("it has no host, as in localhost:8080".to_owned());
    }
    let found = (host, port).to_socket_addrs();
    let found: Vec<SocketAddr> =
        found.map_err(|error| format!("the host {host:?} is not found: {error}"))?.collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| format!("the host {host:?} has no address"))
}

/// The port of HTTP unless another is given.
const HTTP: u16 = 80;

/// The number of a CPU.
pub fn cpu(text: &str) -> Result<usize, String> {
    usize::try_from(count(text)?).map_err(|_| "there is no such CPU".to_owned())
}

/// A time of at least 100 ms.
pub fn budget(text: &str) -> Result<Duration, String> {
    let budget = parse_duration(text).map_err(problem)?;
    if budget < Duration::from_millis(100) {
        return Err("it is too short to measure anything: at least 100ms".into());
    }
    Ok(budget)
}

/// An age in days, as in 90d.
pub fn days(text: &str) -> Result<u32, String> {
    const DAYS_AT_MOST: u32 = 36_500;
    let number = text.strip_suffix('d').and_then(|number| number.parse::<u32>().ok());
    let number = number.filter(|&days| days <= DAYS_AT_MOST);
    number.ok_or_else(|| format!("it is a number of days, such as 90d, of at most {DAYS_AT_MOST}"))
}

/// A number from `LOW` to `HIGH`.
pub fn from_to<const LOW: usize, const HIGH: usize>(text: &str) -> Result<usize, String> {
    let number = usize::try_from(count(text)?).ok();
    let number = number.filter(|number| (LOW..=HIGH).contains(number));
    number.ok_or_else(|| format!("it must be {LOW} to {HIGH}"))
}

/// Largest number of connections, whatever the limit of descriptors.
const CONNECTIONS_AT_MOST: u64 = 1_000_000;

/// A number of connections.
pub fn connections(text: &str) -> Result<usize, String> {
    match count(text)? {
        number @ 1..=CONNECTIONS_AT_MOST => Ok(number as usize),
        _ => Err(format!("there can be 1 to {CONNECTIONS_AT_MOST} connections")),
    }
}

/// A range of numbers of connections, as in 1..5000.
pub fn connection_range(text: &str) -> Result<(usize, usize), String> {
    let (from, to) =
        text.split_once("..").ok_or("it is not a range of connections, such as 1..5000")?;
    match (connections(from)?, connections(to)?) {
        (from, to) if from <= to => Ok((from, to)),
        _ => Err("the end of the range is below its start".into()),
    }
}

/// A time above zero.
pub fn time(text: &str) -> Result<Duration, String> {
    match parse_duration(text).map_err(problem)? {
        Duration::ZERO => Err("it is no time at all".into()),
        time => Ok(time),
    }
}
/// The port of DNS servers unless another is given.
const DNS: u16 = 53;

/// The address of a name server.
pub fn nameserver(text: &str) -> Result<SocketAddr, String> {
    let with_port = text.parse::<SocketAddr>();
    let found = with_port.or_else(|_| text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, DNS)));
    match found {
        Ok(address) if address.port() > 0 => Ok(address),
        _ => Err("it is not an IP address with or without a port, as in 127.0.0.1:5300".into()),
    }
}
/// Numbers of connections in a ramp.
const RAMP: [usize; 16] = [
    1, 10, 100, 500, 1_000, 1_500, 2_500, 5_000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000,
    200_000, 500_000,
];

/// The numbers of connections of a ramp between two of them, both included.
pub fn ramp(from: usize, to: usize) -> Vec<usize> {
    let mut steps: Vec<usize> = RAMP.into_iter().filter(|n| (from..=to).contains(n)).collect();
    steps.extend([from, to]);
    steps.sort_unstable();
    steps.dedup();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_without_a_sign_must_not_be_taken_for_another() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.05%"), Ok(0.0005));
        assert_eq!(share("5"), Ok(0.05));
        let problem = share("0.05").unwrap_err();
        assert!(problem.starts_with("5% or 0.05%?"), "{problem}");
        assert!(share("0").is_err() && share("100%").is_err());
    }

    #[test]
    fn endpoints_are_addresses_names_and_urls() {
        let address = |text: &str| endpoint(text).map(|address| address.to_string());
        for (text, expected) in [
            ("127.0.0.1:2525", "127.0.0.1:2525"),
            ("[::1]:2525", "[::1]:2525"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("http://localhost:8080/", "127.0.0.1:8080"),
            ("http://localhost", "127.0.0.1:80"),
            ("http://[::1]/", "[::1]:80"),
            ("http://[::1]:8080", "[::1]:8080"),
        ] {
            assert_eq!(address(text).as_deref(), Ok(expected), "{text}");
        }
        for (text, words) in [
            ("localhost", "it has no port"),
            (":80", "it has no host"),
            ("localhost:http", "\"http\" is no port"),
            ("localhost:70000", "\"70000\" is no port"),
            ("https://localhost/", "https is not spoken"),
            ("http://localhost/api", "leave out the path /api"),
            ("no-such-host.invalid:80", "the host \"no-such-host.invalid\" is not found"),
        ] {
            let problem = address(text).unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }
}

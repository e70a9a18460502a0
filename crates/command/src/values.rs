//! Parsers of values that several commands take.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use measure::count::{ParseUnitError, parse_count, parse_duration, parse_percentage};

/// The problem with a value, without the value, which clap names.
fn problem(error: ParseUnitError) -> String {
    format!("it {}", error.problem())
}

/// A whole number, as in 64 or 1k.
pub fn count(text: &str) -> Result<u64, String> {
    parse_count(text).map_err(problem)
}

/// A share, as in 5% or 0.05.
pub fn share(text: &str) -> Result<f64, String> {
    parse_percentage(text).map_err(problem)
}

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

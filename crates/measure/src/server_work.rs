//! The kind of work that a server does for each request, between reading it and writing the reply.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::count::{format_duration, parse_duration, parse_size};

/// Maximum length of the work `cpu`, so that no reply takes longer than clients wait.
const LONGEST: Duration = Duration::from_secs(1);
/// Maximum size of the work `file`, in bytes.
const LARGEST: u64 = 1 << 20;

/// The kind of work for each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Work {
    /// No work.
    #[default]
    None,
    /// Computes for a time that it would take on a quiet CPU.
    Cpu(Duration),
    /// Opens a file that is in the page cache, reads this number of bytes, and closes it.
    File(u64),
    /// Opens a file, overwrites 512 bytes, waits until they are on the storage device (fsync(2)), and closes it.
    Fsync,
    /// Asks a name server for the address of a name, over UDP.
    Dns,
}

/// The text names no work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no work {0:?}: there are none, cpu:TIME (at most 1s), file:SIZE (at most 1m), fsync and dns"
)]
pub struct NoSuchWork(String);

impl FromStr for Work {
    type Err = NoSuchWork;

    fn from_str(text: &str) -> Result<Self, NoSuchWork> {
        let wrong = || NoSuchWork(text.to_owned());
        match (text, text.split_once(':')) {
            ("none", _) => Ok(Self::None),
            ("fsync", _) => Ok(Self::Fsync),
            ("dns", _) => Ok(Self::Dns),
            (_, Some(("cpu", time))) => match parse_duration(time) {
                Ok(time) if !time.is_zero() && time <= LONGEST => Ok(Self::Cpu(time)),
                _ => Err(wrong()),
            },
            (_, Some(("file", size))) => match parse_size(size) {
                Ok(size @ 1..=LARGEST) => Ok(Self::File(size)),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Cpu(time) => write!(f, "cpu:{}", format_duration(*time)),
            Self::File(size) if size.is_multiple_of(1024) => write!(f, "file:{}k", size / 1024),
            Self::File(size) => write!(f, "file:{size}"),
            Self::Fsync => f.write_str("fsync"),
            Self::Dns => f.write_str("dns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_printed_as_it_is_read() {
        for text in ["none", "cpu:20us", "cpu:1s", "file:4k", "file:100", "fsync", "dns"] {
            assert_eq!(text.parse::<Work>().map(|work| work.to_string()), Ok(text.to_owned()));
        }
        for text in
            ["", "cpu", "cpu:", "cpu:0us", "cpu:2s", "cpu:-1us", "file:0", "file:2m", "dns:", "Dns"]
        {
            assert_eq!(text.parse::<Work>(), Err(NoSuchWork(text.to_owned())));
        }
    }
}

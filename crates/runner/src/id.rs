//! Ids, seeds and times of runs.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// A random seed for a plan, short enough to be typed.
pub fn random_seed() -> u64 {
    u64::from(random() as u32)
}

/// A random number, from the random keys of the standard library's hash tables.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// An id for a run: date, time and four random digits, such as `20261121-203655-4f2a`.
pub fn new_id() -> String {
    let date: String = now_rfc3339()
        .chars()
        .take_while(|&c| c != '.' && c != 'Z')
        .filter(char::is_ascii_digit)
        .collect();
    let (day, time) = date.split_at(date.len().min(8));
    format!("{day}-{time}-{:04x}", random() as u16)
}

/// The current time in ms since 1970.
pub(crate) fn unix_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// The current time in UTC, in the format of RFC 3339.
pub(crate) fn now_rfc3339() -> String {
    jiff::Timestamp::from_millisecond(unix_ms())
        .map_or_else(|_| "unknown".into(), |t| t.to_string())
}

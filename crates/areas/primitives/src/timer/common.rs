//! Shared by the cases of timers that are only armed.

/// Expiry of these timers in seconds: late enough never to expire.
#[allow(dead_code, reason = "not on every system")]
pub(super) const AN_HOUR_S: i64 = 3_600;

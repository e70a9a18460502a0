//! What the cases of arming timers share.

/// When timers are set to expire that only arming is measured of, in seconds: late enough never to expire.
#[allow(dead_code, reason = "not on every system")]
pub const AN_HOUR_S: i64 = 3_600;

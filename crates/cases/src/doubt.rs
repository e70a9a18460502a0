//! The texts of doubts about servers under load, by which reports recognise saturation and failures.

/// The load generator was the bottleneck: a rate is a lower bound of the server's.
pub const CLIENT_SATURATED: &str = "client-saturated: the load generator was the bottleneck";

/// The receiver of mail was the bottleneck: a rate is a lower bound of the sender's.
pub const RECEIVER_SATURATED: &str = "receiver-saturated: the sink was the bottleneck";

/// The server had too few processes or threads.
pub const NO_PROCESS: &str = "the server could not start another process or thread";
/// The server had too few descriptors.
pub const NO_DESCRIPTOR: &str = "the server had no descriptor for another connection";
/// The server had too little memory.
pub const NO_MEMORY: &str = "the server had no memory for another connection";
/// The work for a request failed.
pub const WORK_FAILED: &str = "the work for some requests failed";
/// The server closed connections of slow clients.
pub const CLIENTS_SLOW: &str = "the server closed connections of clients that were too slow";
/// The server accepted too slowly.
pub const QUEUE_FULL: &str =
    "the accept queue was full (net.core.somaxconn): the system dropped connections";
/// Clients could not connect.
pub const REFUSED: &str = "connections were refused";
/// Clients lost their connection.
pub const RESET: &str = "connections were reset";
/// Clients timed out.
pub const TIMED_OUT: &str = "connects or replies timed out";
/// The server ended too early.
pub const CLOSED_EARLY: &str = "connections were closed before the reply";
/// The generator had too few ports.
pub const NO_PORT: &str = "the generator had no local port for another connection";
/// The generator had too few descriptors.
pub const CLIENT_NO_DESCRIPTOR: &str = "the generator had no descriptor for another connection";

/// The sender of mail lacked a port, descriptor, thread or process.
pub const NO_ROOM: &str =
    "the sender had no port, descriptor, thread or process for another connection";
/// The sender of mail lost connections.
pub const BROKE: &str = "connections failed or were lost";

/// All doubts that report a failure under load.
const GAVE_WAY: [&str; 14] = [
    WORK_FAILED,
    NO_PROCESS,
    NO_DESCRIPTOR,
    NO_MEMORY,
    CLIENTS_SLOW,
    QUEUE_FULL,
    REFUSED,
    RESET,
    TIMED_OUT,
    CLOSED_EARLY,
    NO_PORT,
    CLIENT_NO_DESCRIPTOR,
    NO_ROOM,
    BROKE,
];

/// The texts of these failures in runs that older builds have stored.
const GAVE_WAY_BEFORE: [&str; 10] = [
    "the server could start no further process or thread",
    "the server had no descriptor for a further connection",
    "the server had no memory for a further connection",
    "clients kept the server waiting too long",
    "more connections waited to be accepted than may (net.core.somaxconn): the system dropped some",
    "connections or replies did not come in time",
    "the generator had no local port for a further connection",
    "the generator had no descriptor for a further connection",
    "there was no port, descriptor, thread or process for a further connection",
    "connections could not be made, or broke",
];

/// Whether a doubt means that the load generator limited a rate; only its first word is compared.
pub fn is_client_saturated(doubt: &str) -> bool {
    doubt.split(':').next() == CLIENT_SATURATED.split(':').next()
}

/// Whether a doubt means that the load generator or the receiver limited a rate.
pub fn is_saturated(doubt: &str) -> bool {
    is_client_saturated(doubt) || doubt.split(':').next() == RECEIVER_SATURATED.split(':').next()
}

/// Whether a doubt reports a failure under load.
pub fn is_giving_way(doubt: &str) -> bool {
    GAVE_WAY.contains(&doubt) || GAVE_WAY_BEFORE.contains(&doubt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_older_runs_are_recognised() {
        assert!(is_giving_way("connections could not be made, or broke"));
        assert!(GAVE_WAY.iter().chain(&GAVE_WAY_BEFORE).all(|doubt| is_giving_way(doubt)));
        assert!(!is_giving_way(CLIENT_SATURATED));
    }
}

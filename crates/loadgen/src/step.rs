//! What was seen during one step of load.

use std::fmt;
use std::io;
use std::time::Duration;

use hdrhistogram::Histogram;

/// Longer times than this are counted as this, in ns: ten minutes.
const LONGEST: u64 = 600_000_000_000;
/// The share of the time from which on a thread is called busy all the time.
const SATURATED: f64 = 0.95;

/// One step: so many connections in flight, or so many requests a second, for a time.
#[derive(Debug, Clone)]
pub struct Step {
    /// Connections asked for; in an open loop the most that were allowed.
    pub concurrency: usize,
    /// Requests a second asked for, in an open loop.
    pub rate: Option<f64>,
    /// Connections there really were at the end: fewer where descriptors or ports ran short, or the
    /// server refuses. In an open loop those that were needed.
    pub open: usize,
    /// The counted time. What came before, while connections were opened and a while longer, is in
    /// none of the figures.
    pub elapsed: Duration,
    /// Connections established in that time.
    pub connections: u64,
    /// Replies that came in that time, whole and right.
    pub replies: u64,
    /// Times in ns from asking for a connection until it was established.
    pub connect: Histogram<u64>,
    /// Times in ns until the reply was whole: from sending the request (closed loop), from asking for the
    /// connection where the server begins, or from the planned moment (open loop).
    pub reply: Histogram<u64>,
    /// Times in ns until the server had closed, from the same beginning as `reply`.
    pub close: Histogram<u64>,
    /// What went wrong in that time.
    pub errors: Errors,
    /// What was asked and had no reply at the end.
    pub unfinished: Unfinished,
    /// CPU time of the generator's thread; where the system tells no thread's, of its process.
    pub cpu: Option<Duration>,
    /// CPU time of the server and its children, where [`Load::server`](crate::Load::server) names it or
    /// [`Generator::step_watched`](crate::Generator::step_watched) measures it.
    pub server_cpu: Option<Duration>,
    /// Whether the server had no other CPU than the generator's.
    pub shares_cpu: bool,
    /// How long the generator's thread had nothing to do. The rest it worked, or was kept from working
    /// by other programs.
    pub waiting: Duration,
}

/// Why an exchange came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nobody listens there.
    Refused,
    /// The server broke the connection.
    Reset,
    /// There was no answer in time.
    TimedOut,
    /// The reply was another than it must be.
    WrongReply,
    /// The server closed the connection before the reply was whole.
    ClosedEarly,
    /// No local port was left towards the server.
    NoPort,
    /// No descriptor, or no memory for a socket, was left.
    NoDescriptor,
    /// Anything else the system says.
    Other,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Refused,
        Self::Reset,
        Self::TimedOut,
        Self::WrongReply,
        Self::ClosedEarly,
        Self::NoPort,
        Self::NoDescriptor,
        Self::Other,
    ];

    /// As documents call it: `wrong-reply`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::TimedOut => "timed-out",
            Self::WrongReply => "wrong-reply",
            Self::ClosedEarly => "closed-early",
            Self::NoPort => "no-port",
            Self::NoDescriptor => "no-descriptor",
            Self::Other => "other",
        }
    }

    /// Whether it is this machine that cannot open one more connection.
    pub fn is_shortage(self) -> bool {
        matches!(self, Self::NoPort | Self::NoDescriptor)
    }

    /// The kind of a socket's error.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::Reset,
            io::ErrorKind::TimedOut => Self::TimedOut,
            _ if platform::client_socket::is_port_shortage(error) => Self::NoPort,
            _ if platform::socket_io::is_shortage(error) => Self::NoDescriptor,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.name().replace('-', " "))
    }
}

/// How often what went wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Errors {
    counts: [u64; ErrorKind::ALL.len()],
    /// What the first wrong reply was, and what it should have been, shortened.
    pub first_wrong: Option<String>,
    /// What the system said the first time it said something else.
    pub first_other: Option<String>,
}

impl Errors {
    /// How often this went wrong.
    pub fn count(&self, kind: ErrorKind) -> u64 {
        self.counts[kind as usize]
    }

    /// How often anything went wrong.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(crate) fn add(&mut self, kind: ErrorKind) {
        self.counts[kind as usize] += 1;
    }
}

/// What was asked and not yet answered when a step ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Exchanges under way and, in an open loop, requests that were due and had no connection yet.
    pub count: u64,
    /// How long the oldest of them had been waiting.
    pub oldest: Duration,
}

impl Step {
    /// Nothing seen yet. Its three histograms take 700 kB together.
    pub(crate) fn empty(concurrency: usize, rate: Option<f64>) -> Self {
        Self {
            concurrency,
            rate,
            open: 0,
            elapsed: Duration::ZERO,
            connections: 0,
            replies: 0,
            connect: histogram(),
            reply: histogram(),
            close: histogram(),
            errors: Errors::default(),
            unfinished: Unfinished::default(),
            cpu: None,
            server_cpu: None,
            shares_cpu: false,
            waiting: Duration::ZERO,
        }
    }

    /// Exchanges that have ended: with a reply, or with an error.
    pub(crate) fn ended(&self) -> u64 {
        self.replies + self.errors.total()
    }

    /// Replies a second.
    pub fn replies_per_s(&self) -> f64 {
        self.replies as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Connections a second.
    pub fn connections_per_s(&self) -> f64 {
        self.connections as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The share of the time that the generator had something to do, or was kept from it: at 1 it could
    /// not have asked for more.
    pub fn generator_busy(&self) -> f64 {
        1.0 - self.share(self.waiting).min(1.0)
    }

    /// The share of the time that other programs kept the generator from working, at least: it was busy and
    /// used no CPU. Its times are too long by that. `None` where its CPU time is unknown.
    pub fn generator_held_up(&self) -> Option<f64> {
        Some((self.generator_busy() - self.share(self.cpu?)).max(0.0))
    }

    /// A time as a share of the counted time.
    pub fn share(&self, time: Duration) -> f64 {
        time.as_secs_f64() / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Whether the generator was the bottleneck: it was busy for 95 % of the time or more, and the server was not.
    /// The figures are then the generator's, not the server's.
    pub fn client_saturated(&self) -> bool {
        self.generator_busy() >= SATURATED && !self.server_busy()
    }

    /// Whether the server had no CPU time left: it used 95 % of a CPU or more; where its only CPU is the generator's,
    /// the two together did. A server of which nothing is known is taken to have had time left.
    pub fn server_busy(&self) -> bool {
        let beside = self.cpu.filter(|_| self.shares_cpu).unwrap_or_default();
        self.server_cpu.is_some_and(|cpu| self.share(cpu + beside) >= SATURATED)
    }
}

/// For times in ns, exact to three digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, 3).expect("the bounds are sound")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_bottleneck_only_if_the_server_is_not() {
        let second = Duration::from_secs(1);
        let step = |waited, server_cpu| {
            let mut step = Step::empty(1, None);
            (step.elapsed, step.server_cpu) = (second, server_cpu);
            step.waiting = Duration::from_millis(waited);
            step
        };
        assert!(step(20, None).client_saturated());
        assert!(step(20, Some(second / 2)).client_saturated());
        assert!(!step(20, Some(second)).client_saturated());
        assert!(!step(100, None).client_saturated());
        // On one CPU each has what the other leaves.
        let half = Step { cpu: Some(second / 2), ..step(0, Some(second / 2)) };
        assert!(half.client_saturated());
        assert!(!Step { shares_cpu: true, ..half }.client_saturated());
        let held_up = Step { cpu: Some(second / 4), ..step(250, None) };
        assert_eq!(held_up.generator_held_up(), Some(0.5));
    }

    #[test]
    fn errors_are_counted_by_kind() {
        let mut errors = Errors::default();
        for (nth, kind) in ErrorKind::ALL.into_iter().enumerate() {
            (0..=nth).for_each(|_| errors.add(kind));
        }
        assert_eq!(errors.count(ErrorKind::TimedOut), 3);
        assert_eq!(errors.total(), 36);
        assert_eq!(ErrorKind::WrongReply.to_string(), "wrong reply");
    }
}

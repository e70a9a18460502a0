//! The result of a step of load.

use std::fmt;
use std::io;
use std::time::Duration;

use hdrhistogram::Histogram;
use strum::{IntoStaticStr, VariantArray};

/// Maximum recorded latency, in ns: ten minutes.
const LONGEST: u64 = 600_000_000_000;
/// Minimum busy share of a saturated thread.
const SATURATED: f64 = 0.95;

/// The result of a step: a number of connections, or a rate of requests, for a time.
#[derive(Debug, Clone)]
pub struct Step {
    /// Requested number of connections; in an open loop the maximum number.
    pub concurrency: usize,
    /// Requested rate of an open loop, per second.
    pub rate: Option<f64>,
    /// Number of open connections at the end: fewer than requested after a shortage of descriptors or ports, or if the
    /// server refuses them; in an open loop as many as were needed.
    pub open: usize,
    /// Counted time. No figure includes the time before, in which connections are opened and the load settles.
    pub elapsed: Duration,
    /// Number of requests scheduled in the counted time of an open loop; 0 for a closed loop. Each has a reply, an error,
    /// or is unfinished.
    pub planned: u64,
    /// Number of connections established in the counted time.
    pub connections: u64,
    /// Number of complete and correct replies in the counted time.
    pub replies: u64,
    /// Times in ns from connect(2) until the connection was established.
    pub connect: Histogram<u64>,
    /// Times in ns until the reply was complete: since sending the request (closed loop), since connect(2) if the server
    /// sends first, or since the scheduled time (open loop).
    pub reply: Histogram<u64>,
    /// Times in ns until the server had closed, counted from the same time as `reply`.
    pub close: Histogram<u64>,
    /// Errors in the counted time.
    pub errors: Errors,
    /// Requests without a reply at the end.
    pub unfinished: Unfinished,
    /// Number of threads of the generator.
    pub threads: usize,
    /// CPU time of the generator's threads, or of its process where the system does not report threads.
    pub cpu: Option<Duration>,
    /// CPU time of the server and its children, if [`Load::server`](crate::Load::server) is set or
    /// [`Generator::step_watched`](crate::Generator::step_watched) measures it.
    pub server_cpu: Option<Duration>,
    /// Whether the generator's CPU was the server's only one.
    pub shares_cpu: bool,
    /// Number of CPUs that the server can use at the same time.
    pub server_cpus: usize,
    /// Time that the generator's threads waited for events, summed. In the rest of the time they were busy, or preempted by
    /// other programs.
    pub waiting: Duration,
}

/// The reason why an exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ErrorKind {
    /// The connection was refused.
    Refused,
    /// The server reset the connection.
    Reset,
    /// The timeout passed.
    TimedOut,
    /// The reply was wrong.
    WrongReply,
    /// The server closed the connection before the reply was complete.
    ClosedEarly,
    /// No local port was free.
    NoPort,
    /// No descriptor, or no memory for a socket, was available.
    NoDescriptor,
    /// Any other error.
    Other,
}

impl ErrorKind {
    /// Name in documents, such as `wrong-reply`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the error is a shortage of this machine, not a failure of the server.
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
            _ if platform::socket::client::is_port_shortage(error) => Self::NoPort,
            _ if platform::socket::transfer::is_shortage(error) => Self::NoDescriptor,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.name().replace('-', " "))
    }
}

/// Numbers of errors, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Errors {
    counts: [u64; ErrorKind::VARIANTS.len()],
    /// The first wrong reply and the expected one, shortened.
    pub first_wrong: Option<String>,
    /// The message of the first other error.
    pub first_other: Option<String>,
}

impl Errors {
    /// The number of errors of a kind.
    pub fn count(&self, kind: ErrorKind) -> u64 {
        self.counts[kind as usize]
    }

    /// The numbers of errors of the kinds that occurred, such as `3 timed out`.
    pub fn in_words(&self) -> Vec<String> {
        let counts = ErrorKind::VARIANTS.iter().map(|&kind| (kind, self.count(kind)));
        counts.filter(|(_, n)| *n > 0).map(|(kind, n)| format!("{n} {kind}")).collect()
    }

    /// The number of all errors.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(crate) fn add(&mut self, kind: ErrorKind) {
        self.counts[kind as usize] += 1;
    }

    fn merge(&mut self, other: Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.first_wrong = self.first_wrong.take().or(other.first_wrong);
        self.first_other = self.first_other.take().or(other.first_other);
    }
}

/// Requests without a reply at the end of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Number of exchanges in progress; in an open loop those scheduled in the counted time, and due requests without a
    /// connection.
    pub count: u64,
    /// Age of the oldest one, whenever it was scheduled.
    pub oldest: Duration,
}

impl Step {
    /// An empty result. Its three histograms take 700 kB together.
    pub(crate) fn empty(concurrency: usize, rate: Option<f64>) -> Self {
        Self {
            concurrency,
            rate,
            open: 0,
            elapsed: Duration::ZERO,
            planned: 0,
            connections: 0,
            replies: 0,
            connect: histogram(),
            reply: histogram(),
            close: histogram(),
            errors: Errors::default(),
            unfinished: Unfinished::default(),
            threads: 1,
            cpu: None,
            server_cpu: None,
            shares_cpu: false,
            server_cpus: 1,
            waiting: Duration::ZERO,
        }
    }

    /// Number of exchanges that have ended, with a reply or an error.
    pub(crate) fn ended(&self) -> u64 {
        self.replies + self.errors.total()
    }

    /// Number of replies per second.
    pub fn replies_per_s(&self) -> f64 {
        self.replies as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Number of connections per second.
    pub fn connections_per_s(&self) -> f64 {
        self.connections as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The share of the time that the generator was busy or preempted; at 1 it could not have sent more.
    pub fn generator_busy(&self) -> f64 {
        1.0 - (self.share(self.waiting) / self.threads as f64).min(1.0)
    }

    /// A lower bound of the share of the time that the generator was preempted: it neither waited nor used CPU time. This
    /// prolongs its latencies. `None` if its CPU time is unknown.
    pub fn generator_held_up(&self) -> Option<f64> {
        let ran = self.share(self.cpu?) / self.threads as f64;
        Some((self.generator_busy() - ran).max(0.0))
    }

    /// Merges the results of a generator's threads in the same counted time.
    pub(crate) fn merged(steps: Vec<Self>) -> Option<Self> {
        let threads = steps.len();
        let mut steps = steps.into_iter();
        let mut all = steps.next()?;
        all.threads = threads;
        for step in steps {
            all.concurrency += step.concurrency;
            all.rate = all.rate.zip(step.rate).map(|(a, b)| a + b);
            all.open += step.open;
            all.elapsed = all.elapsed.max(step.elapsed);
            all.planned += step.planned;
            all.connections += step.connections;
            all.replies += step.replies;
            for (histogram, other) in [
                (&mut all.connect, &step.connect),
                (&mut all.reply, &step.reply),
                (&mut all.close, &step.close),
            ] {
                histogram.add(other).expect("all have the same bounds");
            }
            all.errors.merge(step.errors);
            all.unfinished.count += step.unfinished.count;
            all.unfinished.oldest = all.unfinished.oldest.max(step.unfinished.oldest);
            all.cpu = all.cpu.zip(step.cpu).map(|(a, b)| a + b);
            all.server_cpu = all.server_cpu.or(step.server_cpu);
            all.waiting += step.waiting;
        }
        Some(all)
    }

    /// A time as a share of the counted time.
    pub fn share(&self, time: Duration) -> f64 {
        time.as_secs_f64() / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Whether the generator was the bottleneck: it was busy for 95 % of the time or more, and the server was not. The
    /// figures are then lower bounds.
    pub fn client_saturated(&self) -> bool {
        self.generator_busy() >= SATURATED && !self.server_busy()
    }

    /// Whether the server had no CPU time left: it used 95 % of its CPUs or more; on the generator's CPU, both together
    /// did. A server of unknown CPU time counts as having had time left.
    pub fn server_busy(&self) -> bool {
        let beside = self.cpu.filter(|_| self.shares_cpu).unwrap_or_default();
        let full = SATURATED * self.server_cpus as f64;
        self.server_cpu.is_some_and(|cpu| self.share(cpu + beside) >= full)
    }
}

/// A histogram of times in ns, with three significant digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, 3).expect("valid bounds")
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
        // On a shared CPU each side has the time that the other one leaves.
        let half = Step { cpu: Some(second / 2), ..step(0, Some(second / 2)) };
        assert!(half.client_saturated());
        assert!(!Step { shares_cpu: true, ..half }.client_saturated());
        let on_two = Step { server_cpus: 2, ..step(20, Some(second)) };
        assert!(on_two.client_saturated());
        let held_up = Step { cpu: Some(second / 4), ..step(250, None) };
        assert_eq!(held_up.generator_held_up(), Some(0.5));
    }

    #[test]
    fn the_threads_of_a_generator_are_one() {
        let mut step = Step::empty(10, Some(50.0));
        (step.elapsed, step.planned, step.replies) = (Duration::from_secs(1), 50, 40);
        step.waiting = Duration::from_millis(500);
        step.cpu = Some(Duration::from_millis(400));
        step.unfinished = Unfinished { count: 10, oldest: Duration::from_millis(7) };
        step.reply.record(1_000).unwrap();
        let mut other = step.clone();
        other.errors.add(ErrorKind::Reset);
        other.waiting = Duration::from_millis(300);
        let all = Step::merged(vec![step, other]).unwrap();
        assert_eq!(
            (all.concurrency, all.rate, all.planned, all.replies),
            (20, Some(100.0), 100, 80)
        );
        assert_eq!((all.threads, all.errors.total(), all.unfinished.count), (2, 1, 20));
        assert_eq!((all.reply.len(), all.replies_per_s()), (2, 80.0));
        assert!((all.generator_busy() - 0.6).abs() < 1e-9);
        assert!((all.generator_held_up().unwrap() - 0.2).abs() < 1e-9);
        assert!(Step::merged(Vec::new()).is_none());
    }

    #[test]
    fn errors_are_counted_by_kind() {
        let mut errors = Errors::default();
        for (nth, &kind) in ErrorKind::VARIANTS.iter().enumerate() {
            (0..=nth).for_each(|_| errors.add(kind));
        }
        assert_eq!(errors.count(ErrorKind::TimedOut), 3);
        assert_eq!(errors.total(), 36);
        assert_eq!(ErrorKind::WrongReply.to_string(), "wrong reply");
    }
}

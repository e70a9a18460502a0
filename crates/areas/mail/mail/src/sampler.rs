//! Reads the counters of a delivery at the beginning and the end of the counted time, in a separate thread.

use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use mailsend::Delivery;
use mailsink::hosted::{Hosted, SinkReport};
use measure::CaseError;
use platform::counters::ProcessCounter;
use platform::process::tree::ProcessTree;
use platform::process::usage::{ProcessUsage, thread_cpu_time};

/// Interval at which the sampler checks whether the delivery has begun.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Times the counted time is lengthened by its own length while no recipient has been settled in it: replies of a slow sink, or a
/// busy CPU, can make one transaction longer than it.
const LENGTHENED: usize = 20;

/// All counters at one moment.
#[derive(Debug, Clone)]
pub struct Moment {
    at: Instant,
    /// Recipients whose delivery has ended.
    pub settled: u32,
    /// Resource usage of all processes of the sender.
    pub sender: ProcessUsage,
    /// System calls of all processes of the sender; `None` if they are not counted.
    pub syscalls: Option<u64>,
    /// Counters and resource usage of the sink.
    pub sink: SinkReport,
}

/// Reads the counters of the sender and the sink.
pub struct Sampler<'a> {
    /// The sink, which counts the accepted recipients.
    pub sink: &'a mut Hosted,
    /// Counter of the sender's system calls, if they are counted.
    pub counter: &'a OnceLock<Option<ProcessCounter>>,
}

impl Sampler<'_> {
    /// Reads the counters. `settled` is the number of recipients whose delivery has ended; `aside` is CPU time of this process
    /// not spent on sending.
    ///
    /// # Errors
    /// `Failed` if the sink has ended.
    pub fn now(&mut self, settled: u32, aside: Duration) -> Result<Moment, CaseError> {
        let at = Instant::now();
        let counter = self.counter.get().and_then(Option::as_ref);
        let syscalls = counter.and_then(ProcessCounter::syscalls);
        let sink = self.sink.report()?;
        let own = ProcessUsage::now();
        // The sender's usage includes that of the sink, which is a child too and has one thread besides the one that reports.
        let of_sink = ProcessUsage {
            cpu: Duration::from_nanos(sink.cpu_ns),
            voluntary_switches: sink.voluntary_switches,
            involuntary_switches: sink.involuntary_switches,
        };
        let children = ProcessUsage::of_running_children().since(of_sink);
        let cpu = own.cpu.saturating_sub(aside);
        let sender = ProcessUsage { cpu, ..own }.plus(children);
        Ok(Moment { at, settled, sender, syscalls, sink })
    }
}

impl Moment {
    /// The time since `earlier`.
    pub fn since(&self, earlier: &Self) -> Duration {
        self.at.saturating_duration_since(earlier.at)
    }

    /// Resource usage of the sender since `earlier`.
    pub fn spent_since(&self, earlier: &Self) -> ProcessUsage {
        self.sender.since(earlier.sender)
    }
}

/// Counters at the beginning and the end of the counted time.
#[derive(Debug)]
pub struct SampledDelivery {
    /// Counters at the beginning of the counted time; `None` if the delivery ended before.
    pub first: Option<Moment>,
    /// Counters at the end of the counted time; `None` if the delivery ended before.
    pub last: Option<Moment>,
    /// Memory of all processes of the sender at the end, in bytes; `None` if the system does not report it.
    pub memory: Option<u64>,
    /// CPU time of the sampler's thread, which is not spent on sending.
    pub cost: Duration,
}

/// Samples a delivery, and stops it after the counted time. `over` is closed when the delivery ends earlier.
///
/// # Errors
/// `Failed` if the sink has ended.
pub fn watch(
    delivery: &Delivery,
    sampler: &mut Sampler,
    over: &Receiver<()>,
    [warm_up, counted]: [Duration; 2],
) -> Result<SampledDelivery, CaseError> {
    let seen = look(delivery, sampler, over, [warm_up, counted]);
    // The delivery is stopped also after an error, since nothing else ends it.
    delivery.signals().stop();
    seen.map(|seen| SampledDelivery { cost: own_time(), ..seen })
}

/// The CPU time of this thread, which only samples.
fn own_time() -> Duration {
    thread_cpu_time().unwrap_or_default()
}

fn look(
    delivery: &Delivery,
    sampler: &mut Sampler,
    over: &Receiver<()>,
    [warm_up, counted]: [Duration; 2],
) -> Result<SampledDelivery, CaseError> {
    let mut seen = SampledDelivery { first: None, last: None, memory: None, cost: Duration::ZERO };
    while !delivery.has_begun() {
        if over.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
            return Ok(seen);
        }
    }
    let Some(settled) = settled_after(delivery, over, warm_up) else { return Ok(seen) };
    seen.first = Some(sampler.now(settled, own_time())?);
    if let Some(settled) = first_settled_after(delivery, over, counted, settled) {
        seen.last = Some(sampler.now(settled, own_time())?);
        seen.memory = memory(sampler.sink.pid());
    }
    Ok(seen)
}

/// The number of settled recipients after `time`, or after the first of its multiples in which there are more than `before`; `None`
/// if the delivery ends before.
fn first_settled_after(
    delivery: &Delivery,
    over: &Receiver<()>,
    time: Duration,
    before: u32,
) -> Option<u32> {
    let mut settled = settled_after(delivery, over, time)?;
    for _ in 0..LENGTHENED {
        if settled > before {
            break;
        }
        settled = settled_after(delivery, over, time)?;
    }
    Some(settled)
}

/// The number of settled recipients after `time`; `None` if the delivery ends before.
fn settled_after(delivery: &Delivery, over: &Receiver<()>, time: Duration) -> Option<u32> {
    let is_on = over.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    let progress = delivery.progress();
    let settled = progress.count.all();
    (is_on && (settled as usize) < progress.of).then_some(settled)
}

/// Memory of this process and its children, except the sink.
fn memory(sink: u32) -> Option<u64> {
    let all = ProcessTree::of(std::process::id()).ok()?.memory?;
    let of_sink = ProcessTree::of(sink).ok().and_then(|tree| tree.memory);
    Some(all.saturating_sub(of_sink.unwrap_or(0)))
}

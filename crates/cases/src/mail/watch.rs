//! Looks on while a delivery is made: what it has come to at the beginning and at the end of the counted time.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use mailengine::send::Office;
use mailengine::sink::hosted::{Hosted, Told};
use measure::Refusal;
use platform::tree::ProcessTree;
use platform::usage::{ProcessUsage, thread_cpu_time};

/// How often it is looked whether it has begun.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// What was seen at one moment.
#[derive(Debug, Clone)]
pub struct Moment {
    at: Instant,
    /// Recipients whose fate is known.
    pub settled: u32,
    /// What the sender and those of its processes that have ended have spent.
    pub sender: ProcessUsage,
    /// What the sink has counted and spent.
    pub sink: Told,
}

impl Moment {
    /// Now, with so many settled.
    ///
    /// # Errors
    /// Where the sink has ended.
    pub fn now(settled: u32, sink: &mut Hosted) -> Result<Self, Refusal> {
        // Asking takes its time: what is counted is what there was before.
        let (at, sender) = (Instant::now(), ProcessUsage::now());
        Ok(Self { at, settled, sender, sink: sink.told()? })
    }

    /// The time since `earlier`.
    pub fn since(&self, earlier: &Self) -> Duration {
        self.at.saturating_duration_since(earlier.at)
    }
}

/// What was seen of a delivery while it went on.
#[derive(Debug)]
pub struct Seen {
    /// When the counted time began; `None` if it was all over before.
    pub first: Option<Moment>,
    /// When it ended; `None` if it was all over before.
    pub last: Option<Moment>,
    /// Memory of the sender and all its processes then, in bytes; `None` where the system does not tell.
    pub memory: Option<u64>,
    /// What looking on has cost: it is no part of sending.
    pub cost: Duration,
}

/// Looks on, and has the delivery stop after the counted time. `over` is closed when it ends before.
///
/// # Errors
/// Where the sink has ended.
pub fn watch(
    office: &Office,
    sink: &mut Hosted,
    over: &Receiver<()>,
    [warm_up, counted]: [Duration; 2],
) -> Result<Seen, Refusal> {
    let seen = look(office, sink, over, [warm_up, counted]);
    // However it went: nobody else ends the delivery.
    office.signals().stop();
    let cost = thread_cpu_time().unwrap_or_default();
    seen.map(|seen| Seen { cost, ..seen })
}

fn look(
    office: &Office,
    sink: &mut Hosted,
    over: &Receiver<()>,
    [warm_up, counted]: [Duration; 2],
) -> Result<Seen, Refusal> {
    let mut seen = Seen { first: None, last: None, memory: None, cost: Duration::ZERO };
    // It has no list before it begins.
    while office.progress().of == 0 {
        if over.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
            return Ok(seen);
        }
    }
    let Some(settled) = settled_after(office, over, warm_up) else { return Ok(seen) };
    seen.first = Some(Moment::now(settled, sink)?);
    if let Some(settled) = settled_after(office, over, counted) {
        seen.last = Some(Moment::now(settled, sink)?);
        seen.memory = memory(sink.pid());
    }
    Ok(seen)
}

/// How many are settled after so long; `None` if nobody is left, or it is over.
fn settled_after(office: &Office, over: &Receiver<()>, time: Duration) -> Option<u32> {
    let is_on = over.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    let progress = office.progress();
    let settled = progress.count.all();
    (is_on && (settled as usize) < progress.of).then_some(settled)
}

/// Memory of this process and those it started, but for the sink.
fn memory(sink: u32) -> Option<u64> {
    let all = ProcessTree::of(std::process::id()).ok()?.memory?;
    let of_sink = ProcessTree::of(sink).ok().and_then(|tree| tree.memory);
    Some(all.saturating_sub(of_sink.unwrap_or(0)))
}

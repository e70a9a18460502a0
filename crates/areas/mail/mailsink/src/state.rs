//! State that all sessions of a sink share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::counts::Counters;
use crate::extension::Extension;
use crate::fault::{self, Fault, FaultKind, SinkPhase};
use crate::greylist::Greylist;
use crate::latency::Latencies;
use crate::offer::Offer;
use crate::options::SinkOptions;
use crate::record::Recorder;
use serving::SplitMix64;

/// State that all sessions of a sink share.
#[derive(Debug)]
pub struct SinkState {
    pub offer: Offer,
    pub counters: Arc<Counters>,
    pub recorder: Recorder,
    /// Beginning of the current iteration of the event loop.
    pub now: Instant,
    /// Whether replies have enhanced status codes (RFC 2034).
    pub enhanced: bool,
    seed: u64,
    faults: Vec<Fault>,
    latencies: Latencies,
    tarpit: Option<Duration>,
    greylist: Option<Greylist>,
    /// Whether there are faults, delays or a tarpit.
    misbehaves: bool,
    warn: fn(&str),
    has_warned: bool,
}

impl SinkState {
    pub fn new(options: &SinkOptions, recorder: Recorder, counters: Arc<Counters>) -> Self {
        let late = !options.latencies.is_empty() || options.tarpit.is_some();
        Self {
            offer: Offer::new(options),
            counters,
            recorder,
            now: Instant::now(),
            enhanced: !options.without.contains(&Extension::EnhancedStatusCodes),
            seed: options.seed,
            faults: options.faults.clone(),
            latencies: Latencies::new(&options.latencies),
            tarpit: options.tarpit,
            greylist: options.greylist.map(Greylist::new),
            misbehaves: late || !options.faults.is_empty(),
            warn: options.warn,
            has_warned: false,
        }
    }

    /// The random number generator of a connection.
    pub fn random(&self, connection: u64) -> SplitMix64 {
        SplitMix64::new(self.seed, connection)
    }

    /// Draws the fault that occurs now, if any.
    #[inline]
    pub fn fault(&self, phase: SinkPhase, random: &mut SplitMix64) -> Option<FaultKind> {
        if !self.misbehaves {
            return None;
        }
        let drawn = fault::draw(&self.faults, phase, random)?;
        self.counters.note_fault(phase, drawn);
        Some(drawn)
    }

    /// The delay before a reply and before each of its bytes; `None` if the reply is sent at once.
    #[inline]
    pub fn delay(
        &self,
        phase: SinkPhase,
        random: &mut SplitMix64,
    ) -> Option<(Duration, Option<Duration>)> {
        if !self.misbehaves {
            return None;
        }
        let after = self.latencies.draw(phase, random);
        (!after.is_zero() || self.tarpit.is_some()).then_some((after, self.tarpit))
    }

    /// Whether greylisting defers a recipient now.
    pub fn defers(&mut self, recipient: &str) -> bool {
        let now = self.now;
        self.greylist.as_mut().is_some_and(|greylist| greylist.defers(recipient, now))
    }

    /// Counts a message that could not be written; reports the first one to the user.
    pub fn write_failed(&mut self, error: &std::io::Error) {
        self.counters.unwritten.add(1);
        if !std::mem::replace(&mut self.has_warned, true) {
            (self.warn)(&format!(
                "a message cannot be kept ({error}): such are refused with 452, and counted, from now on"
            ));
        }
    }
}

//! Shared by the cases of memory: parameters, and a thread on a second CPU, which the kernel must notify of each change of a
//! mapping.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use measure::{CaseError, Params, Round};
use platform::cpu::pin_thread;
use platform::machine::reported_caches;
use platform::memory::{Pages, Region};

use crate::{Param, Takes, size_of, value_of};

/// Maximum number of bytes that a parameter accepts.
pub const SIZE_AT_MOST: u64 = 64 << 30;
/// Parameter value that stands for four times the last-level cache.
pub const FOUR_LLCS: &str = "4xllc";

/// Meaning of the parameter `pages`.
pub const PAGES_MEANING: &str =
    "the pages that back the memory: of the usual size, or huge (the system is asked for either)";

/// The parameter `others`: whether another CPU runs a thread of the process.
pub const OTHERS: Param = Param::new("others", &["0", "1"]).meaning(
    "how many threads of the process compute on another CPU meanwhile, whose TLB \
     the kernel must flush too",
);

/// The parameter `others`, without another thread by default.
pub const OTHERS_IF_FULL: Param = Param { default: &["0"], ..OTHERS };

/// The parameter `size` of an operation on mappings.
pub const fn size(default: &'static [&'static str], full: &'static [&'static str]) -> Param {
    let meaning = "bytes of memory, in pages of the usual size";
    Param::new("size", default).meaning(meaning).full(full).takes(Takes::Footprint(SIZE_AT_MOST))
}

/// The value of a parameter that is a number of bytes.
///
/// # Errors
/// `Unsupported` if the value depends on the last-level cache and its size is unknown.
pub fn bytes_of(params: &Params, name: &str, round: &Round) -> Result<usize, CaseError> {
    if value_of(params, name)? != FOUR_LLCS {
        return size_of(params, name);
    }
    let cpu = round.order().cpus.last().copied().unwrap_or(0);
    let llc = reported_caches(cpu).last_level();
    let bytes = llc.and_then(|bytes| usize::try_from(bytes).ok()?.checked_mul(4));
    bytes
        .ok_or_else(|| CaseError::Unsupported("the size of the last-level cache is unknown".into()))
}

/// A region of this size, in pages of the usual size, all of which are populated.
///
/// # Errors
/// `Unsupported` if the system has less memory available.
pub fn populated(bytes: usize) -> Result<Region, CaseError> {
    platform::memory::require(bytes as u64)?;
    let region = Region::new(bytes, Pages::Base)?;
    region.populate();
    Ok(region)
}

/// A thread of this process that computes on another CPU until it is dropped.
pub struct Other {
    stop: std::sync::Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Other {
    /// Starts the thread that the parameter `others` requests, and waits until it runs on the other CPU.
    ///
    /// # Errors
    /// `Unsupported` if there is no second CPU, or threads cannot be pinned.
    pub fn asked_for(params: &Params, round: &Round) -> Result<Option<Self>, CaseError> {
        if value_of(params, "others")? == "0" {
            return Ok(None);
        }
        match round.order().cpus[..] {
            [other, .., _] => Self::start(other).map(Some),
            _ => Err(CaseError::Unsupported(
                "needs a second CPU; this process may use only one".into(),
            )),
        }
    }

    fn start(cpu: usize) -> Result<Self, CaseError> {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let (ready_tx, ready_rx) = std::sync::mpsc::channel();
        let compute = {
            let stop = stop.clone();
            move || {
                let pinned = pin_thread(cpu);
                let runs = pinned.is_ok();
                let _ = ready_tx.send(pinned);
                while runs && !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let started = std::thread::Builder::new().spawn(compute);
        let thread = started.map_err(|e| CaseError::from_io("a second thread", &e))?;
        let other = Self { stop, thread: Some(thread) };
        let ready = ready_rx.recv();
        ready.map_err(|_| CaseError::Failed("the second thread ended".into()))??;
        Ok(other)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The result is ignored: the thread only computes, and cannot panic.
            let _ = thread.join();
        }
    }
}

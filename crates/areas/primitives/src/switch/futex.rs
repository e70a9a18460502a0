use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use platform::memory::address_wait::{Sharing, wait_while, wake_one};
use platform::memory::shared::Shared;

use super::{EITHER, METRICS, THREADS, TokenEnd, measure_pair};
use crate::{Case, Only, value_of};

/// A token passed as a word in shared memory, by futex(2).
pub const FUTEX: Case = Case {
    operation: "One hand-over of a token to another task, which waits for it: one store to a word in shared memory, one \
                FUTEX_WAKE, and FUTEX_WAIT on a second word until it holds a token, without spinning, per task and \
                hand-over. Half of the way there and back.",
    comparable_to: "`perf bench futex wake` wakes many waiters and counts only the waking.",
    only: Only::Linux("exists only on Linux; see switch/wait-on-address for Windows"),
    params: EITHER,
    metrics: METRICS,
    run: |params, round| {
        let processes = value_of(params, "as")? == "processes";
        let sharing = if processes { Sharing::Processes } else { Sharing::Threads };
        // Each word has its own page.
        let (there, back) =
            (Shared::new(AtomicU32::new(NONE))?, Shared::new(AtomicU32::new(NONE))?);
        let first = FutexEnd { own: back, next: there, sharing };
        let second = FutexEnd { own: there, next: back, sharing };
        measure_pair(params, round, vec![first, second], None)
    },
    ..Case::new("switch", "futex")
};

/// A token passed as a word in shared memory, by WaitOnAddress.
pub const WAIT_ON_ADDRESS: Case = Case {
    name: "wait-on-address",
    operation: "One hand-over of a token to another thread, which waits for it: one store to a word, one \
                WakeByAddressSingle, and WaitOnAddress on a second word until it holds a token. Half of the way there \
                and back.",
    comparable_to: "The counterpart of switch/futex, but only between threads.",
    params: THREADS,
    ..FUTEX.on_windows()
};

/// Value of a word that holds no token.
const NONE: u32 = u32::MAX - 1;

struct FutexEnd {
    own: Shared<AtomicU32>,
    next: Shared<AtomicU32>,
    sharing: Sharing,
}

impl TokenEnd for FutexEnd {
    #[inline(always)]
    fn pass(&mut self, token: u32) -> io::Result<()> {
        self.next.store(token, Ordering::Release);
        wake_one(&self.next, self.sharing)
    }

    #[inline(always)]
    fn take(&mut self) -> io::Result<u32> {
        loop {
            let token = self.own.swap(NONE, Ordering::Acquire);
            if token != NONE {
                return Ok(token);
            }
            wait_while(&self.own, NONE, self.sharing)?;
        }
    }
}

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

/// A thread that waits for work of other threads.
///
/// The thread yields for a few microseconds, then parks. Yielding lets the awaited threads run on a single CPU, and avoids
/// a sleep and a wake-up on several.
#[repr(align(128))]
pub(crate) struct Waiter {
    /// Set while the thread is parked or about to park, and has not been woken.
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

/// Number of checks before the thread yields: some 200 ns, about the latency of a store on another CPU.
const LOOKS: usize = 16;
/// Number of yields before the thread parks. Without other runnable threads, each takes 200 ns too.
const YIELDS: usize = 20;

impl Waiter {
    pub fn new() -> Self {
        Self { asleep: AtomicBool::new(false), thread: OnceLock::new() }
    }

    /// Waits until `is_done`, which must use sequentially consistent loads. Must always be called by the same thread.
    /// Returns whether the thread slept.
    pub fn wait_until(&self, mut is_done: impl FnMut() -> bool) -> bool {
        let slept = !wait_briefly(&mut is_done);
        if slept {
            self.sleep_until(is_done);
        }
        slept
    }

    /// The second part of [`Waiter::wait_until`].
    pub fn sleep_until(&self, mut is_done: impl FnMut() -> bool) {
        self.thread.get_or_init(thread::current);
        loop {
            self.asleep.store(true, Ordering::SeqCst);
            if is_done() {
                self.asleep.store(false, Ordering::Relaxed);
                return;
            }
            thread::park();
        }
    }

    /// Wakes the thread, if it sleeps and has not been woken; returns whether it did.
    ///
    /// The caller must have stored the awaited value before, sequentially consistent: then either the thread's sleep is
    /// visible here, or the stored value is visible to the thread.
    pub fn wake(&self) -> bool {
        // The first access is a load, which keeps the cache line shared by all readers.
        let wakes = self.asleep.load(Ordering::SeqCst) && self.asleep.swap(false, Ordering::SeqCst);
        if wakes {
            self.thread.get().expect("it is known before it sleeps").unpark();
        }
        wakes
    }
}

/// The first part of [`Waiter::wait_until`]: returns whether `is_done` within a few microseconds, or longer if other
/// threads run after a yield.
pub fn wait_briefly(mut is_done: impl FnMut() -> bool) -> bool {
    (0..YIELDS).any(|_| {
        look(LOOKS, &mut is_done) || {
            thread::yield_now();
            false
        }
    })
}

/// Checks `is_done` `looks` times, about 15 ns each; returns whether it was.
pub fn look(looks: usize, mut is_done: impl FnMut() -> bool) -> bool {
    (0..looks).any(|_| {
        is_done() || {
            std::hint::spin_loop();
            false
        }
    })
}

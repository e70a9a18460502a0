use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

/// One thread that waits for work of other threads.
///
/// It parks, after a few microseconds of yielding: on one CPU the threads it waits for then run, on several CPUs that
/// avoids a sleep and a wake-up.
#[repr(align(128))]
pub(crate) struct Waiter {
    /// Set while it is parked, or about to park, and has not been woken.
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

/// Number of checks before it yields: some 200 ns, about the latency of a store on another CPU.
const LOOKS: usize = 16;
/// Number of yields before it parks. Without other runnable threads, each takes 200 ns too.
const YIELDS: usize = 20;

impl Waiter {
    pub fn new() -> Self {
        Self { asleep: AtomicBool::new(false), thread: OnceLock::new() }
    }

    /// Waits until `is_done`, by sequentially consistent loads. Always called by the same thread. Returns whether it
    /// slept.
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

    /// Wakes it, if it sleeps and has not been woken; returns whether it did.
    ///
    /// The awaited value is stored before, sequentially consistent: either its sleep is visible here, or the stored
    /// value is visible to it.
    pub fn wake(&self) -> bool {
        // A load keeps the cache line shared by all readers.
        let wakes = self.asleep.load(Ordering::SeqCst) && self.asleep.swap(false, Ordering::SeqCst);
        if wakes {
            self.thread.get().expect("it is known before it sleeps").unpark();
        }
        wakes
    }
}

/// The first part of [`Waiter::wait_until`]: whether it is done within a few microseconds, or the time that others use
/// after a yield.
pub fn wait_briefly(mut is_done: impl FnMut() -> bool) -> bool {
    (0..YIELDS).any(|_| {
        look(LOOKS, &mut is_done) || {
            thread::yield_now();
            false
        }
    })
}

/// Whether it is done at one of a number of checks, of about 15 ns each.
pub fn look(looks: usize, mut is_done: impl FnMut() -> bool) -> bool {
    (0..looks).any(|_| {
        is_done() || {
            std::hint::spin_loop();
            false
        }
    })
}

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

/// One thread that waits for what others do.
///
/// It parks, after a few microseconds in which it mostly lets others run: on one CPU these are
/// often the very threads it waits for, on several it saves the way into sleep and back.
#[repr(align(128))]
pub(crate) struct Waiter {
    /// Set while it is parked, or about to park, and nobody has woken it.
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

/// How often it looks before it lets others run: some 200 ns, about what news from another CPU take.
const LOOKS: usize = 16;
/// How often it lets others run before it parks. Where there are none, each time takes 200 ns too.
const YIELDS: usize = 20;

impl Waiter {
    pub fn new() -> Self {
        Self { asleep: AtomicBool::new(false), thread: OnceLock::new() }
    }

    /// Waits until `is_done`, by sequentially consistent loads. It is always the same thread that
    /// waits here. Tells whether it slept.
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

    /// Wakes it, if it sleeps and nobody else has woken it; tells whether so.
    ///
    /// What it waits for is stored before, sequentially consistent: either its sleep is seen here,
    /// or it sees what was stored.
    pub fn wake(&self) -> bool {
        // The load alone leaves the cache line with all who look at it.
        let wakes = self.asleep.load(Ordering::SeqCst) && self.asleep.swap(false, Ordering::SeqCst);
        if wakes {
            self.thread.get().expect("it is known before it sleeps").unpark();
        }
        wakes
    }
}

/// The first part of [`Waiter::wait_until`]: whether it is done within a few microseconds, or the
/// time that others use when they are let run.
pub fn wait_briefly(mut is_done: impl FnMut() -> bool) -> bool {
    (0..YIELDS).any(|_| {
        look(LOOKS, &mut is_done) || {
            thread::yield_now();
            false
        }
    })
}

/// Whether it is done at one of so many looks, of about 15 ns each.
pub fn look(looks: usize, mut is_done: impl FnMut() -> bool) -> bool {
    (0..looks).any(|_| {
        is_done() || {
            std::hint::spin_loop();
            false
        }
    })
}

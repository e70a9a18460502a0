//! Keeps a CPU from idling with a thread of idle priority, which runs only while no other thread does.
//!
//! An idle virtual CPU gives its core back to the host, which resumes it wherever there is room, often beside another
//! virtual machine on the same core. An idle physical CPU lowers its frequency. A busy CPU keeps its core and frequency,
//! and the host moves other virtual machines away from it.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::Thread;

use platform::cpu::pin_thread;

const RESTS: u8 = 0;
const BUSY: u8 = 1;
const TO_REST: u8 = 2;
const ENDING: u8 = 3;

/// A CPU that is kept busy on request.
pub struct KeptAwake {
    cpu: usize,
    /// The CPU to which the thread is moved to rest.
    rest: usize,
    wanted: Arc<AtomicU8>,
    thread: Thread,
    id: os::ThreadId,
}

impl KeptAwake {
    /// Prepares to keep `cpu` busy with `work`, which is called repeatedly and should take less than a millisecond. The
    /// thread rests on the CPU `rest`, which should be another one. `None` where no thread can be pinned and given the idle
    /// priority.
    pub fn new(cpu: usize, rest: usize, work: impl FnMut() + Send + 'static) -> Option<Self> {
        let wanted = Arc::new(AtomicU8::new(RESTS));
        let (ready, is_ready) = mpsc::sync_channel(1);
        let state = Arc::clone(&wanted);
        let run = move || {
            let prepared = os::take_idle_priority() && pin_thread(cpu).is_ok();
            let _ = ready.send(prepared.then(os::current_thread));
            if prepared {
                work_on_request(&state, work);
            }
        };
        let started = std::thread::Builder::new().name("kept-awake".into()).spawn(run).ok()?;
        let id = is_ready.recv().ok().flatten()?;
        Some(Self { cpu, rest, wanted, thread: started.thread().clone(), id })
    }

    /// Keeps the CPU busy from now on.
    pub fn keep_busy(&self) {
        // The thread was moved away, and on a busy machine may not have run since.
        os::pin(&self.id, self.cpu);
        self.wanted.store(BUSY, Ordering::Release);
        self.thread.unpark();
    }

    /// Leaves the CPU alone from now on. If `rest` is another CPU, moves the thread there at once: it may not run for long
    /// while another thread does, and would be found waiting in the run queue.
    pub fn leave_alone(&self) {
        // A resting thread needs no request.
        let _ = self.wanted.compare_exchange(BUSY, TO_REST, Ordering::AcqRel, Ordering::Relaxed);
        if self.rest != self.cpu {
            os::pin(&self.id, self.rest);
        }
    }

    /// Whether the thread has finished its last call of `work` since it was to leave the CPU alone.
    #[cfg(test)]
    pub fn is_resting(&self) -> bool {
        self.wanted.load(Ordering::Acquire) == RESTS
    }
}

impl Drop for KeptAwake {
    /// Tells the thread to end, without waiting for it: on a busy machine it seldom runs.
    fn drop(&mut self) {
        self.wanted.store(ENDING, Ordering::Release);
        self.thread.unpark();
    }
}

fn work_on_request(wanted: &AtomicU8, mut work: impl FnMut()) {
    loop {
        match wanted.load(Ordering::Acquire) {
            ENDING => return,
            BUSY => work(),
            RESTS => std::thread::park(),
            _ => {
                let _ =
                    wanted.compare_exchange(TO_REST, RESTS, Ordering::AcqRel, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod os {
    /// The kernel's id of a thread.
    pub type ThreadId = libc::pid_t;

    pub fn current_thread() -> ThreadId {
        // SAFETY: takes nothing and cannot fail.
        unsafe { libc::gettid() }
    }

    pub fn take_idle_priority() -> bool {
        // SAFETY: an all-zero sched_param is the one that SCHED_IDLE wants; 0 is the calling thread.
        unsafe {
            let parameters: libc::sched_param = std::mem::zeroed();
            libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) == 0
        }
    }

    /// Pins another thread, whether it runs or not.
    pub fn pin(thread: &ThreadId, cpu: usize) {
        // A thread that cannot be moved rests where it is.
        let _ = platform::cpu::pin_other(*thread, cpu);
    }
}

#[cfg(windows)]
mod os {
    use windows_sys::Win32::System::Threading::{
        GetCurrentThread, GetCurrentThreadId, SetThreadPriority, THREAD_PRIORITY_IDLE,
    };

    pub type ThreadId = u32;

    pub fn current_thread() -> ThreadId {
        // SAFETY: takes nothing and cannot fail.
        unsafe { GetCurrentThreadId() }
    }

    /// Returns false on Wine, which accepts priorities and ignores them.
    pub fn take_idle_priority() -> bool {
        // SAFETY: the pseudo handle is that of the calling thread and needs no closing.
        let taken = unsafe { SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_IDLE) != 0 };
        taken && !platform::machine::is_wine()
    }

    /// Does nothing: Windows reports no run queue in which the thread would be found waiting.
    pub fn pin(_thread: &ThreadId, _cpu: usize) {}
}

#[cfg(not(any(target_os = "linux", windows)))]
mod os {
    pub type ThreadId = ();

    pub fn current_thread() -> ThreadId {}

    /// Returns false: FreeBSD requires privileges for the idle priority, and macOS pins no threads.
    pub fn take_idle_priority() -> bool {
        false
    }

    pub fn pin(_thread: &ThreadId, _cpu: usize) {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::{Duration, Instant};

    use super::*;

    /// Waits until `is_so` holds, for at most two minutes.
    fn wait_until(is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(120), "it does not happen");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    #[cfg(any(target_os = "linux", windows))]
    fn its_thread_works_when_wanted_only() {
        let cpus = platform::cpu::allowed();
        let (first, last) = (cpus[0], *cpus.last().unwrap());
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let work = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_micros(50));
        };
        let awake = KeptAwake::new(last, first, work);
        #[cfg(windows)]
        if platform::machine::is_wine() {
            assert!(awake.is_none(), "Wine has no priorities");
            return testing::not_applicable("Wine has no priorities");
        }
        let awake = awake.expect("a thread of idle priority");
        assert_eq!(calls.load(Ordering::Relaxed), 0, "it rests at first");
        for _ in 0..3 {
            assert!(awake.is_resting());
            let before = calls.load(Ordering::Relaxed);
            awake.keep_busy();
            assert!(!awake.is_resting());
            wait_until(|| calls.load(Ordering::Relaxed) > before + 2);
            awake.leave_alone();
            wait_until(|| awake.is_resting());
            awake.leave_alone(); // a second call changes nothing
            assert!(awake.is_resting());
            let before = calls.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(calls.load(Ordering::Relaxed), before);
        }
        awake.keep_busy();
        drop(awake);
        wait_until(|| Arc::strong_count(&calls) == 1); // the thread has ended
    }

    /// A thread that had not run since it was told to rest went on working on the CPU where it was to rest.
    #[test]
    #[cfg(target_os = "linux")]
    fn it_returns_to_its_cpu_even_if_it_has_not_rested() {
        let cpus = platform::cpu::allowed();
        let (first, last) = (cpus[0], *cpus.last().unwrap());
        let elsewhere = Arc::new(AtomicUsize::new(0));
        let calls = Arc::new(AtomicUsize::new(0));
        let (counted, strayed) = (Arc::clone(&calls), Arc::clone(&elsewhere));
        let work = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let is_away = platform::cpu::current().is_some_and(|cpu| cpu != last);
            strayed.store(usize::from(is_away), Ordering::Relaxed);
        };
        let awake = KeptAwake::new(last, first, work).expect("a thread of idle priority");
        for _ in 0..200 {
            awake.keep_busy();
            awake.leave_alone();
        }
        awake.keep_busy();
        let before = calls.load(Ordering::Relaxed);
        wait_until(|| calls.load(Ordering::Relaxed) > before + 10);
        assert_eq!(elsewhere.load(Ordering::Relaxed), 0);
    }

    /// Another thread on the same CPU must get nearly all of its time.
    #[test]
    #[cfg(target_os = "linux")]
    fn it_leaves_the_cpu_to_others() {
        let cpus = platform::cpu::allowed();
        let last = *cpus.last().unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let turn = || std::hint::black_box(platform::cpu::chain::multiply(3, 1_000));
        let work = move || {
            turn();
            counted.fetch_add(1, Ordering::Relaxed);
        };
        let awake = KeptAwake::new(last, cpus[0], work).expect("a thread of idle priority");
        awake.keep_busy();
        std::thread::scope(|scope| {
            let busy = scope.spawn(|| {
                pin_thread(last).unwrap();
                let (began, before) = (Instant::now(), calls.load(Ordering::Relaxed));
                let mut turns = 0;
                while began.elapsed() < Duration::from_millis(300) {
                    turn();
                    turns += 1;
                }
                (turns, calls.load(Ordering::Relaxed) - before)
            });
            let (turns, beside) = busy.join().unwrap();
            assert!(beside * 5 < turns, "{beside} beside {turns}");
        });
    }
}

//! Several threads that make the same operation at the same time, and work of a given length between its parts.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::calls::{pin, switches_of_thread};
use crate::setting::{Setting, Timed};

/// Time for which workers contend before they are timed.
const WARM_UP: Duration = Duration::from_millis(50);
/// Number of operations of a worker between two checks of the flags.
const BETWEEN_LOOKS: u64 = 16;

/// Runs `count` threads, each on a separate CPU, that repeat `operation`, which gets the number of its thread. The time of an
/// operation is that of one worker: the sum of all workers' times divided by all operations.
pub fn together(setting: &Setting, count: usize, operation: impl Fn(usize) + Sync) -> Timed {
    let (start, timed, stop) =
        (Barrier::new(count + 1), AtomicBool::new(false), AtomicBool::new(false));
    let work = |number: usize| {
        pin(&[setting.cpu_of_worker(number)]);
        start.wait();
        let (mut operations, mut switches) = (0, None);
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..BETWEEN_LOOKS {
                operation(number);
            }
            if timed.load(Ordering::Relaxed) {
                switches.get_or_insert_with(switches_of_thread);
                operations += BETWEEN_LOOKS;
            }
        }
        (operations, switches.map_or(0, |before| switches_of_thread() - before))
    };
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || work(number))).collect();
        start.wait();
        std::thread::sleep(WARM_UP);
        timed.store(true, Ordering::Relaxed);
        let began = Instant::now();
        std::thread::sleep(setting.length());
        let elapsed = began.elapsed();
        stop.store(true, Ordering::Relaxed);
        let done: Vec<(u64, u64)> = threads
            .into_iter()
            .map(|thread| thread.join().expect("a worker does not panic"))
            .collect();
        let operations = done.iter().map(|(operations, _)| operations).sum();
        let switches = done.iter().map(|(_, switches)| switches).sum();
        Timed::new(elapsed * count as u32, operations, switches)
    })
}

/// A loop that keeps the CPU busy for a length.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    iterations: u64,
}

impl Work {
    /// Finds the number of iterations that take this long on the present CPU: the least time of several attempts counts, so that
    /// an interrupt does not.
    pub fn of(length: Duration) -> Self {
        const TRIED: Work = Work { iterations: 200_000 };
        let attempt = |_| {
            let began = Instant::now();
            TRIED.carry_out();
            began.elapsed().as_nanos() as f64
        };
        let least = (0..100).map(attempt).fold(f64::INFINITY, f64::min);
        let iterations = length.as_nanos() as f64 * TRIED.iterations as f64 / least;
        Self { iterations: iterations as u64 }
    }

    /// Runs the loop.
    pub fn carry_out(self) {
        let mut value = 1u64;
        for _ in 0..self.iterations {
            value = std::hint::black_box(value.wrapping_mul(3));
        }
    }
}

use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use measure::CaseError;
use platform::cpu::pin_thread;

use super::CacheLine;
use crate::{Case, Param, Takes, value_of};

/// The value that ends the second thread.
const END: u64 = u64::MAX;

/// Transfer of a cache line to another CPU and back.
pub const CASE: Case = Case {
    operation: "One transfer of a cache line to another CPU and back: this thread stores a number, a thread on the \
                other CPU, which waits for it actively, answers with the next number, for which this thread waits.",
    comparable_to: "The `core-to-core-latency` programs divide by two. With --full it is the matrix of all pairs of CPUs. \
                    lmbench's `lat_ctx` and pipes wake a thread as well.",
    params: &[Param::new("pair", &["first-last"])
        .meaning("the two CPUs; first-last: the first and the last that this process may use")
        .full(&["each-pair"])
        .takes(Takes::CpuPair)],
    run: |params, round| {
        let [there, here] = pair(value_of(params, "pair")?, &round.order().cpus)?;
        let _ = pin_thread(here);
        let line = CacheLine::default();
        let line = &line.0;
        std::thread::scope(|scope| {
            let (ready_tx, ready_rx) = std::sync::mpsc::channel();
            let other = move || {
                let pinned = pin_thread(there);
                let runs = pinned.is_ok();
                let _ = ready_tx.send(pinned);
                if runs {
                    answer(line);
                }
            };
            let started = std::thread::Builder::new().spawn_scoped(scope, other);
            started.map_err(|e| CaseError::from_io("a second thread", &e))?;
            ready_rx.recv().map_err(|_| CaseError::Failed("the second thread ended".into()))??;
            let ended = EndOnDrop(line);
            round.expect_syscalls(0.0);
            let mut number = 0;
            let timed = round.time_on(Some(here), || number = transfer(line, number));
            drop(ended);
            timed
        })
    },
    ..Case::new("atomic", "handoff")
};

/// Ends the second thread when dropped, also if this thread fails.
struct EndOnDrop<'a>(&'a AtomicU64);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(END, Release);
    }
}

/// Hands the line to the second thread and waits until it is back. Returns the number that the line then holds.
#[inline(always)]
fn transfer(line: &AtomicU64, number: u64) -> u64 {
    line.store(number + 1, Release);
    while line.load(Acquire) != number + 2 {
        spin_loop();
    }
    number + 2
}

/// Answers each odd number with the next, until the value is `END`.
fn answer(line: &AtomicU64) {
    loop {
        match line.load(Acquire) {
            END => return,
            // A compare-and-swap does not overwrite `END`, which may have been stored meanwhile.
            odd if odd % 2 == 1 => {
                let _ = line.compare_exchange(odd, odd + 1, Release, Relaxed);
            }
            _ => spin_loop(),
        }
    }
}

/// The two CPUs; the second one measures.
fn pair(asked_for: &str, cpus: &[usize]) -> Result<[usize; 2], CaseError> {
    let unsupported = |text: String| Err(CaseError::Unsupported(text));
    if cpus.len() < 2 {
        return unsupported("needs two CPUs; this process may use only one".into());
    }
    if asked_for == "first-last" {
        return Ok([cpus[0], cpus[cpus.len() - 1]]);
    }
    let numbers = asked_for.split_once('-').map(|(one, other)| (one.parse(), other.parse()));
    match numbers {
        Some((Ok(one), Ok(other))) if one != other => {
            match [one, other].into_iter().find(|cpu| !cpus.contains(cpu)) {
                None => Ok([one, other]),
                Some(cpu) => unsupported(format!("this process may not use CPU {cpu}")),
            }
        }
        _ => Err(CaseError::Failed(format!("{asked_for} is not a pair of CPUs, such as 0-1"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back_with_the_next_number() {
        let line = CacheLine::default();
        std::thread::scope(|scope| {
            scope.spawn(|| answer(&line.0));
            let ended = EndOnDrop(&line.0);
            let number = (0..1_000).fold(0, |number, _| transfer(&line.0, number));
            assert_eq!(number, 2_000);
            drop(ended);
        });
        assert_eq!(line.0.load(Acquire), END);
    }

    #[test]
    fn a_pair_is_of_two_usable_cpus() {
        assert_eq!(pair("first-last", &[2, 5, 7]), Ok([2, 7]));
        assert_eq!(pair("5-2", &[2, 5, 7]), Ok([5, 2]));
        let unsupported =
            |text, cpus: &[usize]| matches!(pair(text, cpus), Err(CaseError::Unsupported(_)));
        assert!(unsupported("first-last", &[3]));
        assert!(unsupported("2-4", &[2, 5]));
        assert!(matches!(pair("2-2", &[2, 5]), Err(CaseError::Failed(_))));
        assert!(matches!(pair("2", &[2, 5]), Err(CaseError::Failed(_))));
    }
}

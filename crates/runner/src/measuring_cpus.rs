//! The CPUs of measurements, kept awake between rounds and watched for quiet moments.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::survey::ClockFacts;
use measure::watch::{Watch, Watcher};
use platform::cpu::pin_thread;
use platform::cpu::topology::CpuLocation;

use crate::kept_awake::KeptAwake;

/// Maximum number of CPUs kept awake: those of single measurements and pairs, and all CPUs of small machines. More would
/// slow down a large machine, since its cores share their power budget.
const AWAKE_AT_MOST: usize = 4;
/// The measuring CPUs of a run.
pub(crate) struct MeasuringCpus {
    /// The watched CPUs; the CPU of single measurements comes last.
    watched: Vec<Watched>,
    /// Whether CPUs are kept awake also during rounds that do not need them: an idle virtual CPU is soon disturbed, and a
    /// busy one takes no power from this machine's cores.
    others_stay: bool,
    /// Whether a round is in progress.
    is_measured: Cell<bool>,
}

struct Watched {
    awake: KeptAwake,
    watch: Watch,
}

/// The CPUs that a round needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The CPU of single measurements.
    OneCpu,
    /// Several CPUs; also for a trial, which may use all.
    SeveralCpus,
}

impl MeasuringCpus {
    /// Keeps `cpus` (at least one) awake from now on, one hardware thread of each core, unless that would use up a quota of
    /// CPU time. Pins the calling thread to the first.
    pub(crate) fn of(cpus: &[usize], clock: &ClockFacts) -> Self {
        let own = cpus.first().copied().unwrap_or(0);
        let kept = match platform::machine::environment::has_cpu_quota() {
            true => Vec::new(),
            false => on_cores_of_their_own(platform::cpu::topology::here(cpus).cpus()),
        };
        let watched = kept.into_iter().filter_map(|cpu| {
            let mut watcher = Watcher::new(clock)?;
            let watch = watcher.watch();
            let awake = KeptAwake::new(cpu, own, move || watcher.look())?;
            Some(Watched { awake, watch })
        });
        let watched = watched.collect();
        let others_stay = platform::machine::is_virtual();
        let measuring = Self { watched, others_stay, is_measured: Cell::new(true) };
        if cpus.len() > 1 {
            let _ = pin_thread(own);
        }
        measuring.ended();
        measuring
    }

    /// Waits until the CPUs that a round needs are quiet, at most `longest`; returns the time waited.
    pub(crate) fn await_quiet(
        &self,
        needs: Needs,
        longest: Duration,
        stop: &AtomicBool,
    ) -> Duration {
        const LOOK_EVERY: Duration = Duration::from_micros(300);
        let Some(single) = self.watched.last() else { return Duration::ZERO };
        let is_quiet = || match needs {
            Needs::OneCpu => single.watch.is_quiet(),
            Needs::SeveralCpus => self.watched.iter().all(|watched| watched.watch.is_quiet()),
        };
        let began = Instant::now();
        while !is_quiet() && began.elapsed() < longest && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY.min(longest));
        }
        began.elapsed()
    }

    /// Leaves the CPUs that a round needs to it when it begins to measure. Its worker was started on this process's CPU and
    /// moves by itself: started on the measuring CPU, beside other programs, reading a CPU-time clock had a second mode, 60
    /// % slower.
    pub(crate) fn started(&self, needs: Needs) {
        self.is_measured.set(true);
        let left = match needs {
            Needs::OneCpu if self.others_stay => {
                &self.watched[self.watched.len().saturating_sub(1)..]
            }
            Needs::OneCpu | Needs::SeveralCpus => &self.watched,
        };
        left.iter().for_each(|watched| watched.awake.leave_alone());
    }

    /// Keeps the CPUs awake again when a round has ended, if there was one.
    pub(crate) fn ended(&self) {
        if self.is_measured.replace(false) {
            for watched in &self.watched {
                watched.watch.forget();
                watched.awake.keep_busy();
            }
        }
    }
}

/// The last of `cpus`, in their order, without CPUs that share their core with a later one.
fn on_cores_of_their_own(cpus: &[CpuLocation]) -> Vec<usize> {
    let mut kept: Vec<CpuLocation> = Vec::new();
    for at in cpus.iter().rev() {
        let shares_core = |other: &CpuLocation| at.core.is_some() && other.core == at.core;
        if kept.len() < AWAKE_AT_MOST && !kept.iter().any(shares_core) {
            kept.push(*at);
        }
    }
    kept.iter().rev().map(|at| at.cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measuring() -> MeasuringCpus {
        let clock = measure::survey::survey().remove(0);
        let measuring = MeasuringCpus::of(&platform::cpu::allowed(), &clock);
        measuring.started(Needs::SeveralCpus);
        for watched in &measuring.watched {
            while !watched.awake.is_resting() {
                std::thread::sleep(Duration::from_millis(1));
            }
            watched.watch.forget(); // forgets what was seen until then
        }
        measuring
    }

    /// Waiting only for the CPU of single measurements left one end or the other of most trials disturbed.
    #[test]
    fn a_round_on_several_cpus_waits_for_all_of_them() {
        let (measuring, stop) = (measuring(), AtomicBool::new(false));
        let [.., another, single] = &measuring.watched[..] else {
            return testing::not_applicable("there is no second CPU to keep awake");
        };
        for (needs, quiet, has_to_wait) in [
            (Needs::OneCpu, [false, true], false),
            (Needs::SeveralCpus, [false, true], true),
            (Needs::SeveralCpus, [true, false], true),
            (Needs::OneCpu, [true, false], true),
            (Needs::SeveralCpus, [true, true], false),
        ] {
            for (watched, is_quiet) in [another, single].into_iter().zip(quiet) {
                watched.watch.forget();
                (0..10).for_each(|_| watched.watch.see(is_quiet));
            }
            const LONGEST: Duration = Duration::from_millis(5);
            let waited = measuring.await_quiet(needs, LONGEST, &stop);
            assert_eq!(waited >= LONGEST, has_to_wait, "{needs:?} {quiet:?}");
        }
    }

    /// While rounds of one CPU were made, the other CPU idled, and was disturbed in most later trials.
    #[test]
    fn what_a_round_does_not_need_stays_awake_in_a_virtual_machine() {
        let mut measuring = measuring();
        let [.., _, _] = &measuring.watched[..] else {
            return testing::not_applicable("there is no second CPU to keep awake");
        };
        for (others_stay, needs, single_only) in [
            (true, Needs::OneCpu, true),
            (true, Needs::SeveralCpus, false),
            (false, Needs::OneCpu, false),
        ] {
            measuring.others_stay = others_stay;
            measuring.ended();
            measuring.started(needs);
            let (single, others) = measuring.watched.split_last().unwrap();
            let rests = |watched: &Watched| {
                // Beside other programs it may take long until the thread runs.
                let mut looks = 0..60_000;
                looks.any(|_| {
                    std::thread::sleep(Duration::from_millis(1));
                    watched.awake.is_resting()
                })
            };
            assert!(rests(single));
            let is_awake = |watched: &Watched| !watched.awake.is_resting();
            match single_only {
                true => assert!(others.iter().all(is_awake), "{needs:?}"),
                false => assert!(others.iter().all(rests), "{needs:?} {others_stay}"),
            }
        }
    }

    #[test]
    fn one_hardware_thread_of_a_core_is_kept_awake() {
        let at = |cpu, core| CpuLocation { cpu, core, cache: None, socket: None };
        let kept = |cpus: &[(usize, Option<usize>)]| {
            on_cores_of_their_own(
                &cpus.iter().map(|&(cpu, core)| at(cpu, core)).collect::<Vec<_>>(),
            )
        };
        assert_eq!(kept(&[(3, None)]), [3]);
        assert_eq!(kept(&[(0, Some(0)), (1, Some(0))]), [1]);
        assert_eq!(kept(&[(0, None), (1, None), (2, None)]), [0, 1, 2]);
        // The CPU of single measurements is the last in the list, whatever its number.
        let cores: Vec<_> = (0..16).map(|cpu| (cpu, Some(cpu % 8))).collect();
        let wanted_last: Vec<_> =
            cores.iter().copied().filter(|one| one.0 != 2).chain([(2, Some(2))]).collect();
        assert_eq!(kept(&wanted_last), [13, 14, 15, 2]);
    }

    #[test]
    fn a_request_to_stop_ends_the_wait() {
        let (measuring, stop) = (measuring(), AtomicBool::new(true));
        const LONGEST: Duration = Duration::from_secs(3_600);
        assert!(measuring.await_quiet(Needs::OneCpu, LONGEST, &stop) < LONGEST);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_coordinator_is_beside_the_measuring_cpu() {
        let cpus = platform::cpu::allowed();
        let [first, .., _] = cpus[..] else {
            return testing::not_applicable("there is one CPU only");
        };
        std::thread::spawn(move || {
            let clock = measure::survey::survey().remove(0);
            let _measuring = MeasuringCpus::of(&cpus, &clock);
            assert_eq!(platform::cpu::allowed(), [first]);
        })
        .join()
        .unwrap();
    }
}

//! Tests all architectures of servers by the same scenarios.
//!
//! `cargo test -p oscost-servers --test conformance -- epoll::slow` runs the scenarios whose names, `architecture::scenario`,
//! contain this filter. With `OSCOST_SOAK=1000000` the scenario `leaks` makes this number of connections and prints the
//! server's resources before and after; `scripts/soak-net` does so for one architecture after the other.
//!
//! Servers run in child processes, which execute this program, so there is no default test harness.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod crowd;
#[cfg(target_os = "linux")]
mod hosting;
#[cfg(target_os = "linux")]
mod scenarios;
#[cfg(target_os = "linux")]
mod scripts;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("the resources of a process can be inspected only on Linux: nothing tested");
    ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use libtest_mimic::Arguments;

    if let Some(code) = hosting::serve_if_requested() {
        return if code == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    platform::process::limits::raise_descriptors();
    let mut arguments = Arguments::from_args();
    // Waiting scenarios need little CPU time.
    arguments.test_threads.get_or_insert(AT_ONCE);
    hosting::set_up();
    let conclusion = libtest_mimic::run(&arguments, trials());
    hosting::clean_up();
    conclusion.exit_code()
}

/// Number of scenarios that run in parallel.
#[cfg(target_os = "linux")]
const AT_ONCE: usize = 11;

/// All scenarios of all architectures, in the order in which the harness starts them: waiting ones in parallel, then ones
/// with time limits, a few at a time, then busy ones one by one.
#[cfg(target_os = "linux")]
fn trials() -> Vec<libtest_mimic::Trial> {
    use std::sync::{PoisonError, RwLock};

    use libtest_mimic::Trial;
    use servers::ARCHITECTURES;

    /// A lock, read by scenarios that run in parallel, written by one that runs alone.
    static RUNNING: RwLock<()> = RwLock::new(());

    let (mut in_parallel, mut timed, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    for architecture in ARCHITECTURES.iter().filter(|one| one.check().is_ok()) {
        // A program started for each client keeps the machine busy.
        let is_busy = architecture.name == "exec";
        let waiting = scenarios::WAITING.iter().map(|scenario| (scenario, is_busy));
        let waiting = waiting.chain([(&scenarios::SLOW, is_busy)]);
        let busy = scenarios::BUSY.iter().map(|scenario| (scenario, true));
        for (&(scenario, check), runs_alone) in waiting.chain(busy) {
            let name = format!("{}::{scenario}", architecture.name);
            if runs_alone {
                alone.push(Trial::test(name, move || {
                    let _alone = RUNNING.write().unwrap_or_else(PoisonError::into_inner);
                    check(architecture);
                    Ok(())
                }));
            } else {
                let trials =
                    if scenario == scenarios::SLOW.0 { &mut timed } else { &mut in_parallel };
                trials.push(Trial::test(name, move || {
                    let _in_parallel = RUNNING.read().unwrap_or_else(PoisonError::into_inner);
                    check(architecture);
                    Ok(())
                }));
            }
        }
    }
    in_parallel.extend(timed.into_iter().chain(alone));
    in_parallel
}

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
    if let Some(code) = hosting::serve_if_requested() {
        return if code == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    platform::process::limits::raise_descriptors();
    hosting::set_up();
    let exit_code = testing::together(AT_ONCE, trials());
    hosting::clean_up();
    exit_code
}

/// Number of scenarios that run in parallel: waiting ones need little CPU time.
#[cfg(target_os = "linux")]
const AT_ONCE: usize = 11;

/// All scenarios of all architectures, in the order in which the harness starts them: waiting ones in parallel, then busy ones
/// one by one.
#[cfg(target_os = "linux")]
fn trials() -> Vec<testing::Trial> {
    use std::sync::{PoisonError, RwLock};

    /// A lock, read by scenarios that run in parallel, written by one that runs alone.
    static RUNNING: RwLock<()> = RwLock::new(());

    let (mut in_parallel, mut alone) = (Vec::new(), Vec::new());
    for architecture in servers::ARCHITECTURES.iter().filter(|one| one.check().is_ok()) {
        let name = |scenario| format!("{}::{scenario}", architecture.name);
        in_parallel.extend(scenarios::WAITING.map(|(scenario, check)| {
            testing::test(name(scenario), move || {
                let _in_parallel = RUNNING.read().unwrap_or_else(PoisonError::into_inner);
                check(architecture);
            })
        }));
        alone.extend(scenarios::BUSY.map(|(scenario, check)| {
            testing::test(name(scenario), move || {
                let _alone = RUNNING.write().unwrap_or_else(PoisonError::into_inner);
                check(architecture);
            })
        }));
    }
    in_parallel.extend(alone);
    in_parallel
}

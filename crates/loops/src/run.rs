//! Running one plain loop in this process.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::answer::Answer;
use crate::calls::{must, pin};
use crate::operations;
use crate::setting::Setting;
use crate::tasks::fork;

/// A loop that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Name of the operation, as `Operation` displays it.
    pub operation: String,
    /// Time for which operations are timed.
    pub length: Duration,
    /// Time for which operations are repeated before that.
    pub warm_up: Duration,
    /// Whether other processes keep all CPUs busy meanwhile: they compute, at the lowest priority.
    pub awake: bool,
}

/// Runs a loop in this process, which has one thread, with the working directory as its folder. `program` is the file that
/// operations open. A call that fails ends the process.
///
/// # Errors
/// An error if there is no such operation, or none was made.
pub fn run(ask: &Ask, program: PathBuf) -> anyhow::Result<Answer> {
    // SAFETY: takes two numbers.
    must("prctl", unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong) });
    let operation = operations::named(&ask.operation)
        .with_context(|| format!("no operation is called {:?}", ask.operation))?;
    let setting = Setting::new(ask.length, ask.warm_up, std::env::current_dir()?, program);
    if ask.awake {
        setting.cpus().iter().for_each(|&cpu| keep_awake(cpu));
    }
    let timed = (operation.plain)(&setting);
    ensure!(timed.operations > 0, "no operation was made");
    Ok(timed.answer())
}

/// Starts a process that computes on this CPU whenever no other thread wants to run there, until this process ends.
fn keep_awake(cpu: usize) {
    fork(|| {
        pin(&[cpu]);
        let lowest = libc::sched_param { sched_priority: 0 };
        // SAFETY: the parameters are valid.
        must("sched_setscheduler", unsafe {
            libc::sched_setscheduler(0, libc::SCHED_IDLE, &lowest)
        });
        loop {
            std::hint::spin_loop();
        }
    });
}

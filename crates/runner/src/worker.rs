//! The worker process, which executes one order: a round, or a task of an area, such as to run a server. A round needs only the
//! system calls of the case, a clock, write and exit.

use std::io::{BufWriter, Write};
use std::process::Command;

use catalog::worker::worker;
use measure::{CaseError, Round, RoundOrder};

/// The task of a worker that runs one round of one case, and prints its records as JSON Lines.
pub(crate) const ROUND: &str = "round";
/// The task of a worker that was started only to check that workers can be started.
const PROBE: &str = "probe";
/// Output of such a worker.
pub(crate) const PROBED: &str = "started";

/// The command that starts a worker which prints [`PROBED`].
pub(crate) fn probe_worker() -> Command {
    worker(PROBE, &())
}

/// The reason why an order is not executed.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// No area has the task.
    #[error("this is not a worker's order: there is no task {0:?}")]
    Task(String),
    /// The order cannot be understood.
    #[error("this is not a worker's order: {0}")]
    Order(#[from] serde_json::Error),
    /// A server, sink or connection failed.
    #[error(transparent)]
    Failed(#[from] CaseError),
}

/// Executes `order`, which is JSON, for the task. Output goes to standard output.
///
/// # Errors
/// If the order cannot be understood, or the task of an area fails. A failed round is no error.
pub fn work(task: &str, order: &str) -> Result<(), WorkerError> {
    match task {
        ROUND => make_round(&serde_json::from_str(order)?),
        PROBE => writeln!(std::io::stdout(), "{PROBED}").map_err(CaseError::from)?,
        _ => {
            let unknown = || WorkerError::Task(task.to_owned());
            (catalog::task(task).ok_or_else(unknown)?.run)(order)?;
        }
    }
    Ok(())
}

/// Makes a round, and prints its records and its end.
fn make_round(order: &RoundOrder) {
    platform::process::end_with_parent(order.parent);
    match &order.user {
        // Standard output is locked for rounds only: a server's thread prints its reports.
        None => print_round(order, &mut std::io::stdout().lock(), Ok(())),
        Some(library) => {
            platform::process::end_children_with_me();
            let (mut out, contained) = contain(library.memory);
            print_round(order, &mut out, contained);
        }
    }
}

/// Makes a round in this process, which continues afterwards.
pub(crate) fn write_round(order: &RoundOrder, out: &mut dyn Write) {
    let contained = match order.user {
        None => Ok(()),
        Some(_) => {
            let reason = "code of the user runs only in a process of its own";
            Err(CaseError::Unsupported(reason.to_owned()))
        }
    };
    print_round(order, out, contained);
}

/// Makes a round if `ready` is no error, else reports the error.
fn print_round(order: &RoundOrder, out: &mut dyn Write, ready: Result<(), CaseError>) {
    let mut round = Round::new(order, out);
    let result = ready.and_then(|()| match catalog::find(&order.case) {
        None => Err(CaseError::Unsupported(format!("this worker knows no case {}", order.case))),
        Some(case) => match case.missing_here() {
            Some(reason) => Err(CaseError::Unsupported(reason.to_owned())),
            None => (case.run)(&order.params, &mut round),
        },
    });
    round.end(result);
}

/// Limits the memory of the user's code, and keeps its output out of the worker's records. Returns the output for records,
/// and whether this succeeded.
///
/// # Errors
/// In the second value: limiting or diverting failed.
pub fn contain(memory: u64) -> (Box<dyn Write>, Result<(), CaseError>) {
    let limited = crate::memory_limit::limit_growth(memory);
    match platform::process::divert_standard_output() {
        Ok(output) => (Box::new(BufWriter::new(output)), limited),
        Err(e) => {
            let diverted = Err(CaseError::from_io("diverting standard output", &e));
            (Box::new(std::io::stdout()), limited.and(diverted))
        }
    }
}

//! The worker process, which executes one order: a round, a server, a sink, or one connection of a server. A round needs
//! only the system calls of the case, a clock, write and exit.

use std::io::{BufWriter, Write};
use std::time::Duration;

use cases::op::library::OpLibrary;
use cases::order::{NameOrder, PROBED, ServeOrder, SinkOrder, StdioOrder, WorkerOrder};
use mailsink::{Sink, SinkOptions};
use measure::user_code::UserCode;
use measure::{CaseError, Round, RoundOrder};
use platform::process::limits::raise_descriptors;
use servers::{Architecture, ServerOptions};

/// The reason why an order is not executed.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The order cannot be understood.
    #[error("this is not a worker's order: {0}")]
    Order(#[from] serde_json::Error),
    /// A server, sink or connection failed.
    #[error(transparent)]
    Failed(#[from] CaseError),
}

/// Executes `order`, which is JSON. Output goes to standard output.
///
/// # Errors
/// If the order cannot be understood, or a server, sink or connection fails. A failed round is no error.
pub fn work(order: &str) -> Result<(), WorkerError> {
    match serde_json::from_str(order)? {
        WorkerOrder::Stdio(order) => serve_stdio(&order)?,
        WorkerOrder::Round(order) => make_round(&order),
        WorkerOrder::Serve(order) => serve(&order)?,
        WorkerOrder::Sink(order) => sink(&order)?,
        WorkerOrder::Name(order) => name(&order)?,
        WorkerOrder::Probe => writeln!(std::io::stdout(), "{PROBED}").map_err(CaseError::from)?,
    }
    Ok(())
}

/// Makes a round, and prints its records and its end.
fn make_round(order: &RoundOrder) {
    platform::process::end_with_parent(order.parent);
    match &order.user {
        // Standard output is locked for rounds only: a server's thread prints its reports.
        None => print_round(order, &mut std::io::stdout().lock(), Ok(())),
        Some(UserCode::Command(_)) => {
            platform::process::end_children_with_me();
            print_round(order, &mut std::io::stdout().lock(), Ok(()));
        }
        Some(UserCode::Library(library)) => {
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
fn contain(memory: u64) -> (Box<dyn Write>, Result<(), CaseError>) {
    let limited = crate::memory_limit::limit_growth(memory);
    match platform::process::divert_standard_output() {
        Ok(output) => (Box::new(BufWriter::new(output)), limited),
        Err(e) => {
            let diverted = Err(CaseError::from_io("diverting standard output", &e));
            (Box::new(std::io::stdout()), limited.and(diverted))
        }
    }
}

/// Prints the name of the user's function.
fn name(order: &NameOrder) -> Result<(), CaseError> {
    platform::process::end_with_parent(Some(order.parent));
    platform::process::end_children_with_me();
    let (mut out, contained) = contain(order.library.memory);
    contained?;
    let library = OpLibrary::load(&order.library)?;
    writeln!(out, "{}", library.name())?;
    Ok(out.flush()?)
}

fn serve(order: &ServeOrder) -> Result<(), CaseError> {
    let ServeOrder { protocol, timeout_ms, .. } = *order;
    let unknown = || CaseError::Failed(format!("no architecture {}", order.architecture));
    let architecture = Architecture::find(&order.architecture).ok_or_else(unknown)?;
    raise_descriptors();
    keep_to(&order.cpus)?;
    let task = order.task.clone();
    let stdio = StdioOrder { protocol, timeout_ms, task, server: std::process::id() };
    let options = ServerOptions {
        protocol,
        timeout: Duration::from_millis(timeout_ms),
        workers: order.workers,
        cpus: platform::cpu::allowed(),
        stdio_arguments: WorkerOrder::Stdio(stdio).arguments().into(),
        task: order.task.clone(),
        memory: order.memory,
        backlog: order.backlog,
    };
    let server = architecture.bind(order.listen, &options)?;
    servers::hosted::host(&server, order.tracepoint)
        .map_err(|e| CaseError::from_io("the server failed", &e))
}

fn sink(order: &SinkOrder) -> Result<(), CaseError> {
    raise_descriptors();
    keep_to(&order.cpus)?;
    let options = SinkOptions {
        listen: order.listen.clone(),
        latencies: order.latencies.clone(),
        ..SinkOptions::default()
    };
    let sink = Sink::bind(&options).map_err(|e| CaseError::Failed(e.to_string()))?;
    mailsink::hosted::host(sink, order.tracepoint)
        .map(drop)
        .map_err(|e| CaseError::from_io("the sink failed", &e))
}

/// Restricts this process to these CPUs, if there are any.
fn keep_to(cpus: &[usize]) -> Result<(), CaseError> {
    if cpus.is_empty() { Ok(()) } else { platform::cpu::keep_process_to(cpus) }
}

#[cfg(unix)]
fn serve_stdio(order: &StdioOrder) -> Result<(), CaseError> {
    let timeout = Duration::from_millis(order.timeout_ms);
    let task = order.task.clone();
    servers::architecture::exec::serve_stdio(order.protocol, timeout, task, order.server)
}

#[cfg(not(unix))]
fn serve_stdio(_: &StdioOrder) -> Result<(), CaseError> {
    Err(CaseError::Unsupported("no program serves a connection on stdio on this system".to_owned()))
}

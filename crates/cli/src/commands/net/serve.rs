//! `oscost net serve`: runs a server of one architecture.

use anyhow::Context;
use cases::order::{StdioOrder, WorkerOrder};
use platform::CaseError;
use platform::limits::raise_descriptors;
use platform::process::on_termination;
use report::definition_list;
use servers::hosted::host;
use servers::{ARCHITECTURES, Architecture, Server, ServerOptions};

use crate::args::Serve;
use crate::ending::{Ending, Usage};
use crate::output::{note, page, print};

/// Serves until Ctrl-C or SIGTERM, then until all connected clients are served.
///
/// # Errors
/// If this system lacks the architecture, or the server cannot listen at the address.
pub fn serve(args: &Serve) -> anyhow::Result<Ending> {
    if args.list {
        return print(&architectures()).map(|()| Ending::Done);
    }
    raise_descriptors();
    if !args.bind_cpu.is_empty() {
        platform::cpu::keep_process_to(&args.bind_cpu)
            .map_err(|case_error| Usage(format!("--bind-cpu: {}", case_error)))?;
    }
    let stdio = WorkerOrder::Stdio(StdioOrder {
        protocol: args.protocol,
        timeout_ms: args.timeout.as_millis() as u64,
        server: std::process::id(),
    });
    let options = ServerOptions {
        protocol: args.protocol,
        timeout: args.timeout,
        workers: args.workers,
        cpus: platform::cpu::allowed(),
        stdio_arguments: stdio.arguments().into(),
    };
    let server = args.arch.bind(args.listen, &options).map_err(of_refusal)?;
    if args.report {
        host(&server, None).context("the server failed")?;
    } else {
        let (name, address) = (args.arch.name, server.address());
        note(&format!("{name} serves {} at {address}; Ctrl-C ends it", args.protocol));
        let stop = server.stop();
        let request = move || stop.request_and_wake(address);
        if on_termination(request).is_err() {
            ctrlc::set_handler(request).context("cannot handle Ctrl-C")?;
        }
        server.serve().context("the server failed")?;
        shortages(&server).iter().for_each(|line| note(line));
    }
    Ok(Ending::Done)
}

fn of_refusal(case_error: CaseError) -> anyhow::Error {
    match case_error {
        CaseError::Unsupported(reason) => anyhow::anyhow!("unsupported on this system: {reason}"),
        other => Usage(other.to_string()).into(),
    }
}

/// The timeouts and shortages of a server, as messages.
fn shortages(server: &Server) -> Vec<String> {
    use std::sync::atomic::Ordering::Relaxed;
    let counters = server.counters();
    let shortages = &counters.shortages;
    let all = [
        (counters.timed_out.load(Relaxed), "clients timed out"),
        (shortages.no_descriptor.load(Relaxed), "connections waited for a descriptor"),
        (shortages.no_memory.load(Relaxed), "connections waited for memory"),
        (counters.no_process.load(Relaxed), "failures to start a process or thread"),
    ];
    let met = all.into_iter().filter(|&(times, _)| times > 0);
    met.map(|(times, what)| format!("{times} {what}")).collect()
}

/// The architectures, with the reasons why some are unsupported.
fn architectures() -> String {
    let meaning = |architecture: &Architecture| match architecture.missing_here() {
        Some(reason) => format!("{} (unsupported here: {reason})", architecture.meaning),
        None => architecture.meaning.to_owned(),
    };
    let all = ARCHITECTURES.iter().map(|one| (one.name, meaning(one)));
    definition_list(&all.collect::<Vec<_>>(), &page())
}

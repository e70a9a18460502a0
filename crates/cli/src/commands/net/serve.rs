//! `oscost net serve`: a server of one architecture, by hand.

use std::fmt::Write;

use anyhow::Context;
use platform::CaseError;
use platform::limits::raise_descriptors;
use platform::process::on_termination;
use servers::hosted::host;
use servers::{ARCHITECTURES, Server, ServerOptions};

use crate::args::Serve;
use crate::ending::{Ending, Usage};
use crate::output::{note, print};

/// Serves until a termination signal, then serves the remaining clients.
///
/// # Errors
/// If this system lacks the architecture, or the server cannot listen there.
pub fn serve(args: &Serve) -> anyhow::Result<Ending> {
    if args.list {
        return print(&architectures()).map(|()| Ending::Done);
    }
    raise_descriptors();
    if !args.bind_cpu.is_empty() {
        platform::cpu::keep_process_to(&args.bind_cpu)
            .map_err(|case_error| Usage(format!("--bind-cpu: {}", case_error)))?;
    }
    let options = ServerOptions {
        protocol: args.protocol,
        timeout: args.timeout,
        workers: args.workers,
        cpus: platform::cpu::allowed(),
    };
    let server = args.arch.bind(args.listen, &options).map_err(of_refusal)?;
    if args.report {
        host(&server, args.count).context("the server failed")?;
    } else {
        let (name, address) = (args.arch.name, server.address());
        note(&format!("{name} serves {} at {address}; Ctrl-C ends it", args.protocol));
        let stop = server.stop();
        let request = move || stop.request_and_wake(address);
        if on_termination(request).is_err() {
            ctrlc::set_handler(request).context("cannot handle Ctrl-C")?;
        }
        server.serve().context("the server failed")?;
        troubles(&server).iter().for_each(|line| note(line));
    }
    Ok(Ending::Done)
}

/// What a server with a process for each connection starts for each: talks with the client on standard
/// input and output. `None` if that is not what we were started for.
pub fn answer_on_stdio() -> Option<Ending> {
    #[cfg(unix)]
    match servers::architecture::exec::answer(std::env::args().skip(1)) {
        Ok(true) => return Some(Ending::Done),
        Ok(false) => {}
        Err(case_error) => return Some(Ending::of_error(&Usage(case_error.to_string()).into())),
    }
    None
}

fn of_refusal(case_error: CaseError) -> anyhow::Error {
    match case_error {
        CaseError::Unsupported(reason) => anyhow::anyhow!("not on this system: {reason}"),
        other => Usage(other.to_string()).into(),
    }
}

/// The server's timeouts and shortages, one line each.
fn troubles(server: &Server) -> Vec<String> {
    use std::sync::atomic::Ordering::Relaxed;
    let counters = server.counters();
    let all = [
        (counters.timed_out.load(Relaxed), "clients kept it waiting too long"),
        (
            counters.shortages.no_descriptor.load(Relaxed),
            "times there was no descriptor for a connection",
        ),
        (counters.shortages.no_memory.load(Relaxed), "times there was no memory for a connection"),
        (counters.no_process.load(Relaxed), "times no process or thread could be started"),
    ];
    let met = all.into_iter().filter(|&(times, _)| times > 0);
    met.map(|(times, what)| format!("{times} {what}")).collect()
}

fn architectures() -> String {
    let mut text = String::new();
    for architecture in ARCHITECTURES {
        let _ = writeln!(text, "{:14} {}", architecture.name, architecture.meaning);
        if let Some(reason) = architecture.missing_here() {
            let _ = writeln!(text, "{:14} not here: {reason}", "");
        }
    }
    text
}

//! `oscost net serve`: runs a server of one architecture.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::worker::StdioOrder;
use anyhow::Context;
use command::ending::{Ending, Usage, of_option, of_server};
use command::interrupt::on_request_to_stop;
use command::options::check_beyond_this_machine;
use command::output::{note, page, print};
use platform::cleanup::Recorded;
use platform::process::limits::raise_descriptors;
use report::definition_list;
use servers::hosted::host;
use servers::remote::report_at;
use servers::work::{Task, WorkResources};
use servers::{ARCHITECTURES, Architecture, Server, ServerOptions, Work};

use super::args::Serve;

/// Time for connected clients after a request to stop; a second request ends it.
const DRAIN_WITHIN: Duration = Duration::from_millis(500);

/// Serves until Ctrl-C or SIGTERM, then until all connected clients are served, for half a second at most.
///
/// # Errors
/// An error if this system lacks the architecture, or the server cannot listen at the address.
pub fn serve(args: &Serve) -> anyhow::Result<Ending> {
    if args.list {
        return print(&architectures()).map(|()| Ending::Done);
    }
    let addresses = [Some(args.listen), args.report_at].into_iter().flatten();
    let why = "other machines could connect";
    check_beyond_this_machine(addresses, args.beyond_this_machine, why)?;
    raise_descriptors();
    if !args.bind_cpu.is_empty() {
        platform::cpu::keep_process_to(&args.bind_cpu)
            .map_err(|case_error| of_option("--bind-cpu", &case_error))?;
    }
    let scratch = (args.work == Work::Fsync).then(Recorded::file).transpose()?;
    let resources = WorkResources {
        computing: None,
        scratch: scratch.as_ref().map(Recorded::path),
        name_server: args.nameserver,
    };
    if args.work == Work::Dns && args.nameserver.is_none() {
        return Err(Usage("--work dns asks a name server: --nameserver ADDRESS".into()).into());
    }
    let task = Task::prepare(args.work, &resources)?;
    let stdio = StdioOrder {
        protocol: args.protocol,
        timeout_ms: args.timeout.as_millis() as u64,
        task: task.clone(),
        server: std::process::id(),
    };
    let options = ServerOptions {
        protocol: args.protocol,
        timeout: args.timeout,
        workers: args.workers,
        cpus: platform::cpu::allowed(),
        stdio_arguments: stdio.arguments(),
        task,
        memory: args.memory,
        backlog: args.backlog,
    };
    let server = Arc::new(args.arch.bind(args.listen, &options).map_err(of_server)?);
    // The reporting thread starts after signal handling is set up: threads that were started before would not take part in it.
    let report = || match args.report_at.map(|address| report_at(&server, address)) {
        Some(Ok(bound)) => {
            note(&format!("reports at {bound}"));
            Ok(())
        }
        Some(Err(case_error)) => Err(of_server(case_error)),
        None => Ok(()),
    };
    if args.report {
        report()?;
        host(&server, None).context("the server failed")?;
    } else {
        let (name, address) = (args.arch.name, server.address());
        let (stop, (events_tx, events_rx)) = (server.stop(), mpsc::channel());
        let asked = events_tx.clone();
        let request = move || {
            let _ = asked.send(None); // the process ends if nobody receives it
            stop.request_and_wake(address);
        };
        on_request_to_stop(request)?;
        note(&format!("{name} serves {} at {address}; Ctrl-C ends it", args.protocol));
        report()?;
        let served = Arc::clone(&server);
        let serve = move || drop(events_tx.send(Some(served.serve())));
        std::thread::Builder::new().spawn(serve).context("cannot start a thread that serves")?;
        // The process ends with this thread, whatever clients do, and however long the work for their requests takes.
        let ended = match events_rx.recv() {
            Ok(None) => events_rx.recv_timeout(DRAIN_WITHIN).ok().flatten(),
            ended => ended.ok().flatten(),
        };
        ended.unwrap_or(Ok(())).context("the server failed")?;
        shortages(&server).iter().for_each(|line| note(line));
    }
    Ok(Ending::Done)
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
        (counters.work_failed.load(Relaxed), "failures of the work for a request"),
        (counters.no_process.load(Relaxed), "failures to start a process or thread"),
    ];
    let met = all.into_iter().filter(|&(times, _)| times > 0);
    met.map(|(times, what)| format!("{times} {what}")).collect()
}

/// A list of the architectures, with the reasons why some are unsupported.
fn architectures() -> String {
    let meaning = |architecture: &Architecture| match architecture.check() {
        Err(reason) => format!("{} (unsupported here: {reason})", architecture.meaning),
        Ok(()) => architecture.meaning.to_owned(),
    };
    let all = ARCHITECTURES.iter().map(|one| (one.name, meaning(one)));
    definition_list(&all.collect::<Vec<_>>(), &page())
}

//! `oscost net load`: generates load on a server, step by step.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use command::ending::{Ending, Usage, of_option};
use command::interrupt::stop_on_interrupt;
use command::options::check_beyond_this_machine;
use command::output::{note, page, print, print_json};
use command::values::ramp;
use loadgen::{ErrorKind, Errors, Generator, Generators, Held, Load, Offer, Step, Window};
use measure::count::format_duration;
use platform::CaseError;
use platform::process::tree::ProcessTree;
use platform::socket::client::check_source;
use report::{LoadLine, load_table};
use servers::remote::RemoteReports;

use super::args::{Connections, NetLoad};
use super::document::{held_json, steps_json};
use super::taken::{Taken, growth};

/// Number of descriptors for other purposes than connections.
const SPARE_DESCRIPTORS: u64 = 32;
/// Share of the requested rate below which a step has a note.
const AS_ASKED: f64 = 0.99;
/// Share of the generator's time taken by other programs above which a step has a note.
const HELD_UP: f64 = 0.1;

/// Generates the load and prints the results.
pub fn load(args: &NetLoad) -> anyhow::Result<Ending> {
    platform::socket::check(args.to.is_ipv6())?;
    check(args)?;
    let asked = steps(args)?;
    let (numbers, limit) = within_limit(&asked)?;
    let stop = stop_on_interrupt()?;
    let unread = |case_error| of_option("--server-pid", &case_error);
    let before = args.server_pid.map(ProcessTree::of).transpose().map_err(unread)?;
    let unreachable = |case_error| of_option("--server-report", &case_error);
    let reports = args.server_report.map(RemoteReports::connect).transpose();
    let reports = reports.map_err(unreachable)?;
    let mut generators = Generators::new(&load_of(args, stop), &cpus(args))?;
    let cut = numbers.len() < asked.len() || numbers.last() < asked.last();
    if args.idle {
        return hold(generators.first(), args, numbers[numbers.len() - 1], before, cut);
    }
    let mut taken = Vec::new();
    for &number in &numbers {
        let mut unknown = None;
        let mut server_cpu = || match (&reports, args.server_pid) {
            (Some(reports), _) => match reports.report() {
                Ok(report) => Some(Duration::from_nanos(report.cpu_ns)),
                Err(case_error) => {
                    unknown = Some(case_error);
                    None
                }
            },
            (None, pid) => ProcessTree::cpu_of(pid?).ok().map(|tree| tree.cpu),
        };
        let step = match args.rate {
            Some(rate) => generators.offer(&offer(rate, number, args.duration), &mut server_cpu),
            None => generators.step_watched(number, Window::of(args.duration), &mut server_cpu),
        };
        if let Some(case_error) = unknown {
            return Err(case_error.into());
        }
        match step {
            Ok(step) => taken.push(Taken { step, server: server(args) }),
            Err(CaseError::Interrupted(_)) => break,
            Err(case_error) => return Err(case_error.into()),
        }
        if taken.last().is_some_and(|last| is_refused(&last.step)) {
            break;
        }
    }
    let all = taken.len() == numbers.len() && !cut;
    match args.json {
        true => print_json(&steps_json(args, &taken, before, limit))?,
        false => print(&text(args, &taken, before))?,
    }
    Ok(ending(&taken, all, args.max_errors))
}

/// The CPU of each thread of the generator.
fn cpus(args: &NetLoad) -> Vec<Option<usize>> {
    let threads = args.threads.unwrap_or(args.bind_cpu.len().max(1));
    let cpus: Vec<Option<usize>> = match args.bind_cpu[..] {
        [] => vec![None],
        _ => args.bind_cpu.iter().copied().map(Some).collect(),
    };
    cpus.into_iter().cycle().take(threads).collect()
}

/// An open loop that settles for a tenth of its time.
fn offer(per_second: f64, most: usize, duration: Duration) -> Offer {
    const SETTLING_AT_MOST: Duration = Duration::from_millis(500);
    let settling = (duration / 10).min(SETTLING_AT_MOST);
    Offer { per_second, most, settling, duration, awaits_all: false }
}

/// Rejects options that contradict each other or the machine.
fn check(args: &NetLoad) -> Result<(), Usage> {
    let NetLoad { to, protocol, .. } = args;
    let why = "a load is an attack on a server whose owner does not expect it";
    check_beyond_this_machine([*to], args.beyond_this_machine, why)?;
    if args.status.is_some() && protocol.kind != servers::ExchangeKind::Http {
        return Err(Usage(format!("--status is for http, not for {protocol}")));
    }
    if let Some(source) = args.sources.iter().find(|source| source.is_ipv4() != to.is_ipv4()) {
        return Err(Usage(format!(
            "--source {source} cannot connect to {to}: one is IPv4, the other IPv6"
        )));
    }
    for source in &args.sources {
        if let Err(e) = check_source(*source) {
            return Err(Usage(format!("--source {source}: cannot connect from this address: {e}")));
        }
    }
    let allowed = platform::cpu::allowed();
    if let Some(cpu) = args.bind_cpu.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(Usage(format!("--bind-cpu {cpu}: this CPU is not available to this process")));
    }
    if args.idle && protocol.requests == Some(1) {
        return Err(Usage(format!(
            "--idle: with {protocol} the server closes each connection after its reply"
        )));
    }
    Ok(())
}

/// The numbers of connections, one for each step.
fn steps(args: &NetLoad) -> Result<Vec<usize>, Usage> {
    let (from, to) = match (&args.concurrency, args.ramp) {
        (Connections::Each(numbers), false) => return Ok(numbers.clone()),
        (Connections::Each(numbers), true) if numbers.len() == 1 => (1, numbers[0]),
        (Connections::Each(_), true) => {
            return Err(Usage("--ramp needs a range, such as 1..10000, not a list".into()));
        }
        (&Connections::Range(from, to), true) => (from, to),
        (Connections::Range(from, to), false) => {
            return Err(Usage(format!(
                "{from}..{to} is a range: add --ramp to go through it in steps, or list the steps, such as 1,10,100"
            )));
        }
    };
    Ok(ramp(from, to))
}

/// The steps that the limit of descriptors permits, after raising it, and the limit. Prints the steps that are left out, and the
/// remedy.
///
/// # Errors
/// If the limit permits no connection.
fn within_limit(asked: &[usize]) -> anyhow::Result<(Vec<usize>, Option<u64>)> {
    let limit = platform::process::limits::raise_descriptors();
    let most = limit.map_or(usize::MAX, |limit| limit.saturating_sub(SPARE_DESCRIPTORS) as usize);
    let wanted = asked.iter().copied().max().unwrap_or(0);
    if wanted <= most {
        return Ok((asked.to_vec(), limit));
    }
    if most == 0 {
        anyhow::bail!(
            "this process may have {} descriptors and needs {SPARE_DESCRIPTORS} for other purposes than connections: \
             `ulimit -Hn {}` as root allows {wanted} connections",
            limit.unwrap_or(0),
            wanted as u64 + SPARE_DESCRIPTORS
        );
    }
    let mut numbers: Vec<usize> = asked.iter().map(|&number| number.min(most)).collect();
    numbers.dedup();
    note(&format!(
        "this process may have {} descriptors: no step goes beyond {most} connections; `ulimit -Hn {}` as \
         root allows {wanted}",
        limit.unwrap_or(0),
        wanted as u64 + SPARE_DESCRIPTORS
    ));
    Ok((numbers, limit))
}

fn load_of(args: &NetLoad, stop: &'static AtomicBool) -> Load {
    Load {
        status: args.status,
        timeout: args.timeout,
        sources: args.sources.clone(),
        stop: Some(stop),
        ..Load::new(args.to, args.protocol)
    }
}

/// The present state of the server's processes.
fn server(args: &NetLoad) -> Option<ProcessTree> {
    ProcessTree::of(args.server_pid?).ok()
}

/// Whether all connections of a step were refused, so that those of further steps would be, too.
fn is_refused(step: &Step) -> bool {
    step.replies == 0 && step.errors.total() > 0 && step.connections == 0
}

/// Whether the server was gone at the end of a step: there were errors, and no connection was open any more. Wrong
/// replies come from a server that is there: after each, its connection rests for a while.
fn is_gone(step: &Step) -> bool {
    let errors = &step.errors;
    step.open == 0 && errors.total() > 0 && errors.count(ErrorKind::WrongReply) == 0
}

/// Share of a step's requests that failed.
fn failed(step: &Step) -> f64 {
    let errors = step.errors.total() as f64;
    errors / (errors + step.replies as f64).max(1.0)
}

fn ending(taken: &[Taken], all: bool, most: Option<f64>) -> Ending {
    let wrong = |taken: &Taken| taken.step.errors.count(ErrorKind::WrongReply) > 0;
    let above = |taken: &Taken| most.is_some_and(|most| failed(&taken.step) > most);
    if taken.iter().any(|taken| is_gone(&taken.step)) {
        note("no connection was open at the end of a step: the server was gone");
        Ending::NotMeasured
    } else if taken.iter().any(|taken| wrong(taken) || above(taken)) {
        Ending::CheckFailed
    } else if all && taken.iter().all(|taken| taken.step.replies > 0) {
        Ending::Done
    } else {
        Ending::NotMeasured
    }
}

/// The steps as a table with notes.
fn text(args: &NetLoad, taken: &[Taken], before: Option<ProcessTree>) -> String {
    let each = format_duration(args.duration);
    let what = match args.rate {
        Some(rate) => format!("{rate} requests per second planned, for {each}"),
        None => format!("closed loop, {each} per step"),
    };
    let head = format!("{} to {}: {what}\n\n", args.protocol, args.to);
    let lines: Vec<LoadLine> = taken.iter().map(line).collect();
    let mut text = head + &load_table(&lines, &page());
    let longest: Vec<String> = taken.iter().filter_map(longest_reply).collect();
    if !longest.is_empty() {
        text += &page().hanging("", &format!("longest reply: {}", longest.join(", ")));
    }
    if args.server_pid.is_none() && args.server_report.is_none() {
        text += "server's CPU time unknown: specify its process with --server-pid, or --server-report\n";
    }
    if let Some((most, bytes)) = per_connection(taken, before) {
        text += &format!("server's memory with {most} connections: {} each\n", in_bytes(bytes));
    }
    text
}

/// The longest time to a reply of a step: percentiles hide a server that stood still for a second.
fn longest_reply(taken: &Taken) -> Option<String> {
    let reply = &taken.step.reply;
    let longest = || report::quantity::format_time(reply.max() as f64, reply.max() as f64 * 0.01);
    (!reply.is_empty()).then(|| format!("{} at {}", longest(), taken.step.open))
}

/// The server's memory for each connection, in the step with the most connections.
fn per_connection(taken: &[Taken], before: Option<ProcessTree>) -> Option<(usize, f64)> {
    let largest = taken.iter().max_by_key(|taken| taken.step.open)?;
    let open = largest.step.open;
    growth(before, largest.server, open).filter(|_| open >= 100).map(|bytes| (open, bytes))
}

fn in_bytes(bytes: f64) -> String {
    report::quantity::figure(bytes.round(), bytes * 0.01, "bytes").to_string()
}

fn line(taken: &Taken) -> LoadLine {
    let step = &taken.step;
    let times = |histogram: &hdrhistogram::Histogram<u64>| {
        (!histogram.is_empty())
            .then(|| [50.0, 99.0].map(|percent| histogram.value_at_percentile(percent)))
    };
    LoadLine {
        in_flight: step.open,
        connections_per_s: step.connections_per_s(),
        replies_per_s: step.replies_per_s(),
        connect: times(&step.connect),
        reply: times(&step.reply),
        close: times(&step.close),
        errors: step.errors.total(),
        client_cpu: step.cpu.map(|cpu| step.share(cpu)),
        server_cpu: step.server_cpu.map(|cpu| step.share(cpu)),
        notes: notes(step),
    }
}

/// Notes on the figures of a step.
fn notes(step: &Step) -> Vec<String> {
    let mut notes = Vec::new();
    if step.client_saturated() {
        let what = "client-saturated: the generator used all its CPU time; the rate is its limit, not the server's";
        notes.push(what.into());
    }
    if step.generator_held_up().is_some_and(|share| share >= HELD_UP) {
        let what = "other programs kept the generator from its CPU for a tenth of the time or more: times \
                    are too long by that";
        notes.push(what.into());
    }
    if step.rate.is_none() && step.open < step.concurrency {
        notes.push(format!("{} connections were requested", step.concurrency));
    }
    if let Some(rate) = step.rate.filter(|rate| step.replies_per_s() < AS_ASKED * rate) {
        notes.push(format!(
            "{:.0} of {rate} requests per second were answered",
            step.replies_per_s()
        ));
    }
    if step.planned > step.replies {
        notes.push(format!(
            "of {} requests planned, {} were answered, {} failed or timed out, and {} had no outcome at the end",
            step.planned,
            step.replies,
            step.errors.total(),
            step.unfinished.count
        ));
    }
    notes.extend(errors(&step.errors));
    let longest = Duration::from_nanos(step.reply.max());
    if step.unfinished.count > 0 && step.unfinished.oldest > longest {
        notes.push(format!(
            "{} had no reply at the end, the oldest for {}",
            step.unfinished.count,
            report::quantity::format_time(step.unfinished.oldest.as_nanos() as f64, 1e6)
        ));
    }
    notes
}

/// The errors as text.
fn errors(errors: &Errors) -> Vec<String> {
    let kinds = errors.in_words();
    let mut notes = Vec::new();
    if !kinds.is_empty() {
        notes.push(kinds.join(", "));
    }
    notes.extend(errors.first_wrong.iter().map(|how| format!("the first wrong reply: {how}")));
    notes.extend(errors.first_other.iter().map(|what| format!("the first other error: {what}")));
    notes
}

/// Opens connections, leaves them idle, and prints the memory of each.
fn hold(
    generator: &mut Generator,
    args: &NetLoad,
    number: usize,
    before: Option<ProcessTree>,
    cut: bool,
) -> anyhow::Result<Ending> {
    let own = || ProcessTree::of(std::process::id()).ok();
    let own_before = own();
    let held = generator.hold(number)?;
    std::thread::sleep(args.duration);
    let (client, server) =
        (growth(own_before, own(), held.open), growth(before, server(args), held.open));
    let text = match args.json {
        true => serde_json::to_string_pretty(&held_json(args, &held, number, client, server))?,
        false => held_text(&held, number, client, server),
    };
    print(&text)?;
    let done = held.open == number && !cut;
    Ok(if done { Ending::Done } else { Ending::NotMeasured })
}

fn held_text(held: &Held, asked: usize, client: Option<f64>, server: Option<f64>) -> String {
    let took = report::quantity::format_duration(held.took);
    let mut text = format!("{} of {asked} connections idle, opened in {took}\n", held.open);
    for (name, bytes) in [("generator", client), ("server", server)] {
        let each = bytes.map_or("unknown".to_owned(), |bytes| format!("{} each", in_bytes(bytes)));
        text += &format!("memory of the {name}: {each}\n");
    }
    for error in errors(&held.errors) {
        text += &format!("{error}\n");
    }
    text
}

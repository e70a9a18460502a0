//! `oscost mail sink`: an SMTP server that discards mail.

use std::net::SocketAddr;

use anyhow::Context;
use command::ending::{Ending, Usage, of_server};
use command::interrupt::on_request_to_stop;
use command::options::check_beyond_this_machine;
use command::output::{note, page, print, print_json};
use mailsink::hosted::host;
use mailsink::identity::{CertificateError, Identity};
use mailsink::{Counts, Sink, SinkOptions};
use platform::process::limits::raise_descriptors;
use report::counter_table;

use super::sink_args::MailSink;

/// Serves until Ctrl-C or SIGTERM, then until the messages in progress are received, for half a second at most. Prints the
/// counters.
///
/// # Errors
/// An error if the server cannot listen, has no certificate, or cannot write a file.
pub fn sink(args: &MailSink) -> anyhow::Result<Ending> {
    let listen: Vec<SocketAddr> =
        args.listen.iter().flat_map(|some| some.0.iter().copied()).collect();
    check(args, &listen)?;
    raise_descriptors();
    super::options::bind(&args.bind_cpu)?;
    let sink = Sink::bind(&options(args, listen)?).map_err(|e| of_server(e.into()))?;
    if args.report {
        host(sink, None).context("the sink failed")?;
        return Ok(Ending::Done);
    }
    let stop = sink.stop();
    let request = move || stop.request();
    on_request_to_stop(request)?;
    note(&format!("mail is discarded at {}; Ctrl-C ends it", shortened(sink.addresses())));
    let counts = sink.serve().context("the sink failed")?;
    match args.json {
        true => print_json(&counts)?,
        false => print(&table(&counts))?,
    }
    Ok(Ending::Done)
}

/// Rejects options that contradict each other.
fn check(args: &MailSink, listen: &[SocketAddr]) -> Result<(), Usage> {
    let why = "others could send mail there, which would be discarded";
    check_beyond_this_machine(listen.iter().copied(), args.beyond_this_machine, why)?;
    if args.write_ca.is_some() && !args.tls && args.tls_certificate.is_none() {
        return Err(Usage("--write-ca: there is no certificate without --tls".into()));
    }
    Ok(())
}

fn options(args: &MailSink, listen: Vec<SocketAddr>) -> Result<SinkOptions, Usage> {
    let identity = identity(args, &listen).map_err(|e| Usage(e.to_string()))?;
    if let (Some(identity), Some(path)) = (&identity, &args.write_ca) {
        identity.write_for_clients(path).map_err(|e| Usage(e.to_string()))?;
    }
    let tls = identity.map(|identity| identity.configuration()).transpose();
    Ok(SinkOptions {
        listen,
        timeout: args.timeout,
        size: args.size,
        without: args.without.clone(),
        helo_only: args.helo_only,
        tls: tls.map_err(|e| Usage(e.to_string()))?,
        login: args.user.clone(),
        faults: args.faults.clone(),
        latencies: args.latencies.clone(),
        seed: args.seed,
        greylist: args.greylist,
        tarpit: args.tarpit,
        window: args.window,
        read_rate: args.read_rate,
        log: args.log.clone(),
        capture: args.capture.clone(),
        warn: note,
        ..SinkOptions::default()
    })
}

/// The certificate, if the options require one.
fn identity(args: &MailSink, listen: &[SocketAddr]) -> Result<Option<Identity>, CertificateError> {
    if let (Some(certificate), Some(key)) = (&args.tls_certificate, &args.tls_key) {
        return Identity::of_files(certificate, key).map(Some);
    }
    if !args.tls {
        return Ok(None);
    }
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    for address in listen {
        let ip = address.ip().to_string();
        if !names.contains(&ip) {
            names.push(ip);
        }
    }
    Identity::made_for(names).map(Some)
}

/// The addresses as a short text.
fn shortened(addresses: &[SocketAddr]) -> String {
    match addresses {
        [first, .., last] if addresses.len() > 3 => {
            format!("{first} ... {last} ({} addresses)", addresses.len())
        }
        few => few.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "),
    }
}

/// A table of the counters; counters of rare events only if they are not zero.
fn table(counts: &Counts) -> String {
    let always = [
        ("connections", counts.connections),
        ("transactions", counts.transactions),
        ("messages accepted", counts.messages),
        ("recipients accepted", counts.recipients),
        ("bytes accepted", counts.bytes),
        ("commands", counts.commands),
    ];
    let rare = [
        ("connections with TLS", counts.tls),
        ("failed TLS handshakes", counts.tls_failed),
        ("connections ended without QUIT", counts.cut_off),
        ("clients timed out", counts.timed_out),
        ("invalid commands", counts.bad_commands),
        ("messages not written", counts.unwritten),
        ("shortages of descriptors", counts.no_descriptor),
        ("shortages of memory", counts.no_memory),
    ];
    let rare = rare.into_iter().filter(|&(_, number)| number > 0);
    let named = always.into_iter().chain(rare).map(|(name, number)| (name.to_owned(), number));
    let rejected = counts.refusals.iter().map(|(phase, &n)| (format!("rejected at {phase}"), n));
    let faults = counts.faults.iter().map(|(fault, &n)| (format!("fault {fault}"), n));
    counter_table(&named.chain(rejected).chain(faults).collect::<Vec<_>>(), &page())
}

//! `oscost mail sink`: an SMTP server that throws mail away.

use std::fmt::Write;
use std::net::SocketAddr;

use anyhow::Context;
use mailsink::hosted::host;
use mailsink::identity::{CertificateError, Identity};
use mailsink::{Counts, Sink, SinkOptions};
use platform::limits::raise_descriptors;
use platform::process::on_termination;

use crate::args::MailSink;
use crate::ending::{Ending, Usage};
use crate::output::{note, print};

/// Serves until told to end, then until the messages under way are taken; tells what it has counted.
///
/// # Errors
/// Where it cannot listen there, or has no certificate, or cannot write what it is to.
pub fn sink(args: &MailSink) -> anyhow::Result<Ending> {
    let listen: Vec<SocketAddr> =
        args.listen.iter().flat_map(|some| some.0.iter().copied()).collect();
    check(args, &listen)?;
    raise_descriptors();
    super::send::bind(&args.bind_cpu)?;
    let sink = Sink::bind(&options(args, listen)?).map_err(|e| Usage(e.to_string()))?;
    if args.report {
        host(sink, args.count).context("the sink failed")?;
        return Ok(Ending::Done);
    }
    note(&format!("mail is thrown away at {}; Ctrl-C ends it", places(sink.addresses())));
    let stop = sink.stop();
    let request = move || stop.request();
    if on_termination(request.clone()).is_err() {
        ctrlc::set_handler(request).context("cannot take note of Ctrl-C")?;
    }
    let counts = sink.serve().context("the sink failed")?;
    match args.json {
        true => print(&serde_json::to_string_pretty(&counts)?)?,
        false => print(&table(&counts))?,
    }
    Ok(Ending::Done)
}

/// Refuses what cannot be meant.
fn check(args: &MailSink, listen: &[SocketAddr]) -> Result<(), Usage> {
    let outside = listen.iter().find(|address| !address.ip().is_loopback());
    if let Some(address) = outside.filter(|_| !args.beyond_this_machine) {
        return Err(Usage(format!(
            "{address} is not this machine's loopback: whoever reaches it could send mail that nobody ever \
             gets; --beyond-this-machine if that is meant"
        )));
    }
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
    })
}

/// The certificate to show, if any.
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

/// Where it listens, in few words.
fn places(addresses: &[SocketAddr]) -> String {
    match addresses {
        [first, .., last] if addresses.len() > 3 => {
            format!("{first} ... {last} ({} addresses)", addresses.len())
        }
        few => few.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "),
    }
}

/// What was counted, as people read it.
fn table(counts: &Counts) -> String {
    let always = [
        ("connections", counts.connections),
        ("transactions", counts.transactions),
        ("messages accepted", counts.messages),
        ("recipients accepted", counts.recipients),
        ("bytes accepted", counts.bytes),
        ("commands", counts.commands),
    ];
    let if_any = [
        ("connections with TLS", counts.tls),
        ("TLS failed", counts.tls_failed),
        ("ended without QUIT", counts.cut_off),
        ("kept it waiting too long", counts.timed_out),
        ("wrong commands", counts.bad_commands),
        ("messages it could not write", counts.unwritten),
        ("times without a descriptor", counts.no_descriptor),
        ("times without memory", counts.no_memory),
    ];
    let mut text = String::new();
    let mut line = |name: &str, number: u64| {
        let _ = writeln!(text, "{name:28}{number:>14}");
    };
    always.into_iter().for_each(|(name, number)| line(name, number));
    let some = if_any.into_iter().filter(|&(_, number)| number > 0);
    some.for_each(|(name, number)| line(name, number));
    counts.refusals.iter().for_each(|(phase, &n)| line(&format!("refused at {phase}"), n));
    counts.faults.iter().for_each(|(fault, &n)| line(&format!("fault {fault}"), n));
    text
}

//! `oscost mail send`: delivers a message to all recipients of a list.

use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mailsend::credentials;
use mailsend::journal::{About, Journal, journal_beside};
use mailsend::list::List;
use mailsend::message::{self, Heads, Signer, Template};
use mailsend::queue::{Limits, Retry};
use mailsend::route::{MxOptions, Router};
use mailsend::tls::ClientTls;
use mailsend::{Delivery, DeliveryOptions, Progress, Signals, Summary, Transport, deliver};
use platform::limits::raise_descriptors;
use platform::process::on_termination;
use platform::readiness::PollBackend;
use smtp::address::{Address, verp};
use smtp::auth::Credentials;
use smtp::security::Security;
use smtp::session::SessionOptions;

use super::document::document;
use super::summary::{self, counted};
use crate::args::{MailArch, MailSend, TlsMode};
use crate::ending::{Ending, Usage};
use crate::output::{note, page, print};

/// Descriptors that are not for connections.
const SPARE_DESCRIPTORS: u64 = 64;
/// Largest message, which is held in memory.
const MESSAGE_AT_MOST: u64 = 256 << 20;
/// The exit code of [`Ending::NotMeasured`].
const ENDED_AT_ONCE: i32 = 3;
/// Lines of the list with wrong addresses that are shown.
const BAD_SHOWN: usize = 10;
/// Interval of the progress display.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// Delivers the message and prints the result.
///
/// # Errors
/// If the delivery cannot begin or continue. A recipient that cannot be reached is no error.
pub fn send(args: &MailSend) -> anyhow::Result<Ending> {
    let signals = Arc::new(Signals::default());
    let mut options = options(args, &signals)?;
    let (about, path) = (about(args, &options)?, journal_path(args));
    let journal = match (&path, args.resume) {
        (None, _) => None,
        (Some(path), true) => Some(Journal::resume(path, &about).map_err(usage)?),
        (Some(path), false) => Some(Journal::create(path, &about, &options.run).map_err(usage)?),
    };
    if let Some(journal) = &journal {
        journal.run().clone_into(&mut options.run);
    }
    announce(args, &options);
    stop_on_request(&signals)?;
    let delivery = Delivery::new(&options, journal, signals)?;
    let summary = watched(&delivery, || deliver(&delivery))?;
    match args.json {
        true => print(&serde_json::to_string_pretty(&document(&options, &summary))?)?,
        false => print(&summary::text(&options, &summary, &page()))?,
    }
    Ok(ending(args, &summary, path.as_deref()))
}

/// Handles Ctrl-C and SIGTERM: the first finishes the messages in progress, the second ends the process at once.
fn stop_on_request(signals: &Arc<Signals>) -> anyhow::Result<()> {
    let signals = Arc::clone(signals);
    let is_asked = Arc::new(AtomicBool::new(false));
    let stop = move || {
        if is_asked.swap(true, Ordering::SeqCst) {
            note("ended at once; --resume continues, and counts the messages in progress");
            std::process::exit(ENDED_AT_ONCE);
        }
        note("finishing the messages in progress; a second request ends at once");
        signals.stop_soon();
    };
    if on_termination(stop.clone()).is_err() {
        ctrlc::set_handler(stop).context("cannot handle Ctrl-C")?;
    }
    Ok(())
}

/// The delivery's options. All wrong options are found here, before anything begins.
fn options(args: &MailSend, signals: &Arc<Signals>) -> anyhow::Result<DeliveryOptions> {
    let list = List::open(&args.list, args.address_column.as_deref()).map_err(usage)?;
    let from = match args.from.as_str() {
        "" | "<>" => None,
        text => Some(Address::parse(text).map_err(|e| Usage(format!("--from {text}: {e}")))?),
    };
    if args.verp {
        let Some(from) = &from else {
            return Err(Usage("--verp needs a --from that is not empty".into()).into());
        };
        let shortest = Address::parse("a@b.c").expect("an address");
        verp(from, &shortest).map_err(|e| Usage(format!("--verp: {e}")))?;
    }
    let hello = hello(args)?;
    let template = template(args, &list, from.as_ref(), &hello)?;
    let router = router(args, signals)?;
    let credentials = credentials(args)?;
    let security = match (args.way.tls, &credentials) {
        (Some(TlsMode::Off), Some(_)) => {
            return Err(Usage("--tls off: a password is sent over TLS only".into()).into());
        }
        (Some(TlsMode::Off), None) => Security::Off,
        (Some(TlsMode::Offered), _) | (None, None) => Security::Offered,
        // Otherwise a server that poses as the relay would receive the password.
        (Some(TlsMode::Required), _) | (None, Some(_)) => Security::Required,
    };
    let is_personal = template.is_personal() || args.verp;
    let dry = args.dry || !(router.is_loopback() || args.really_send);
    let session = SessionOptions {
        hello,
        security,
        credentials,
        dry,
        pipelining: !args.way.no_pipelining,
        chunking: !args.way.no_chunking,
    };
    let per_destination = if args.way.relay.is_some() { args.connections } else { args.per_domain };
    Ok(DeliveryOptions {
        tls: ClientTls::new(security, args.way.ca.as_deref()).map_err(usage)?,
        limits: Limits {
            connections: within_limit(args.connections),
            per_destination,
            per_transaction: if is_personal { 1 } else { args.recipients },
        },
        per_connection: u32::try_from(args.transactions).unwrap_or(u32::MAX),
        retry: Retry {
            after: args.retry_after,
            at_most: args.retry_at_most,
            give_up: args.give_up,
        },
        timeout: args.timeout,
        sources: sources(args)?,
        transport: transport(args)?,
        time: None,
        run: runner::new_id(),
        date: message::date(jiff::Timestamp::now())?,
        verp: args.verp,
        signer: signer(args, from.as_ref())?,
        is_relayed: args.way.relay.is_some(),
        list,
        template,
        from,
        router,
        session,
    })
}

/// User and password for the relay. No other server receives a password.
fn credentials(args: &MailSend) -> anyhow::Result<Option<Credentials>> {
    Ok(match (&args.way.auth_file, &args.way.relay) {
        (Some(path), Some(_)) => Some(credentials::from_file(path).map_err(usage)?),
        (Some(_), None) => {
            let why = "--auth-file needs --relay: no other server receives a password";
            return Err(Usage(why.into()).into());
        }
        (None, Some(_)) => credentials::from_environment().map_err(usage)?,
        (None, None) => None,
    })
}

fn template(
    args: &MailSend,
    list: &List,
    from: Option<&Address>,
    hello: &str,
) -> anyhow::Result<Template> {
    let path = args.message.display();
    let of_file = |e: std::io::Error| Usage(format!("--message {path}: {e}"));
    let size = std::fs::metadata(&args.message).map_err(of_file)?.len();
    if size > MESSAGE_AT_MOST {
        return Err(Usage(format!("--message {path}: it has {size} bytes, 256 MiB at most")).into());
    }
    let raw = std::fs::read(&args.message).map_err(of_file)?;
    let heads = Heads {
        list_unsubscribe: args.list_unsubscribe.clone(),
        one_click: args.one_click,
        message_id_domain: from.map_or(hello, Address::domain).to_owned(),
    };
    let template = Template::parse(&raw, list.columns(), &heads);
    let template = template.map_err(|e| Usage(format!("--message {path}: {e}")))?;
    template.notes().iter().for_each(|text| note(text));
    Ok(template)
}

fn signer(args: &MailSend, from: Option<&Address>) -> anyhow::Result<Option<Signer>> {
    let (Some(key), Some(selector)) = (&args.dkim_key, &args.dkim_selector) else {
        return Ok(None);
    };
    let Some(domain) = args.dkim_domain.as_deref().or(from.map(Address::domain)) else {
        return Err(Usage("--dkim-key needs --dkim-domain where --from is empty".into()).into());
    };
    Ok(Some(Signer::from_file(key, domain, selector).map_err(usage)?))
}

fn router(args: &MailSend, signals: &Arc<Signals>) -> anyhow::Result<Router> {
    let way = &args.way;
    let router = match (&way.relay, &way.route) {
        (Some(relay), _) => Router::relay(relay),
        (None, Some(file)) => Router::file(file),
        (None, None) => {
            let signals = Arc::clone(signals);
            let options =
                MxOptions { nameserver: way.nameserver, port: way.port, ..MxOptions::default() };
            Router::mx(options, Box::new(move || signals.route_is_known()))
        }
    };
    Ok(router.map_err(usage)?)
}

fn transport(args: &MailSend) -> anyhow::Result<Transport> {
    bind(&args.bind_cpu)?;
    let loops = args.loops.unwrap_or_else(|| platform::cpu::allowed().len());
    Ok(match args.arch {
        MailArch::Loop => Transport::Loops(loops, PollBackend::BEST),
        MailArch::Poll => Transport::Loops(loops, PollBackend::Poll),
        MailArch::Threads => Transport::Threads,
        MailArch::Processes => Transport::Processes,
    })
}

/// Keeps the process to these CPUs, if any.
pub fn bind(cpus: &[usize]) -> Result<(), Usage> {
    if cpus.is_empty() {
        return Ok(());
    }
    let allowed = platform::cpu::allowed();
    if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let allowed = allowed.join(",");
        return Err(Usage(format!("--bind-cpu: there is no CPU {cpu} to be used, but {allowed}")));
    }
    platform::cpu::keep_process_to(cpus).map_err(|refusal| Usage(format!("--bind-cpu: {refusal}")))
}

/// The name for EHLO: this machine's name, or an address if servers would reject the name.
fn hello(args: &MailSend) -> anyhow::Result<String> {
    let is_name = |name: &str| Address::parse(&format!("x@{name}")).is_ok();
    match &args.way.hello {
        Some(name) if is_name(name) => Ok(name.clone()),
        Some(name) => Err(Usage(format!("--hello {name}: it is not a domain name")).into()),
        None => Ok(platform::machine::host_name()
            .filter(|name| is_name(name))
            .unwrap_or_else(|| "[127.0.0.1]".to_owned())),
    }
}

/// The number of connections that the limit of descriptors allows; reports if that is fewer than wanted.
fn within_limit(asked: usize) -> usize {
    let Some(limit) = raise_descriptors() else { return asked };
    let possible = usize::try_from(limit.saturating_sub(SPARE_DESCRIPTORS)).unwrap_or(asked);
    if possible < asked {
        note(&format!(
            "the limit of descriptors allows {possible} connections, not {asked}; to raise it: ulimit -Hn {}",
            (asked as u64).saturating_add(SPARE_DESCRIPTORS)
        ));
    }
    asked.min(possible.max(1))
}

/// The identity of the delivery, which the journal records.
fn about(args: &MailSend, options: &DeliveryOptions) -> anyhow::Result<About> {
    let raw = std::fs::read(&args.message)?;
    let unsubscribe = args.list_unsubscribe.as_deref().unwrap_or_default();
    let message =
        format!("{:08x} {} {} {}", crc32fast::hash(&raw), args.verp, args.one_click, unsubscribe);
    Ok(About {
        list: options.list.fingerprint().to_owned(),
        message,
        from: args.from.clone(),
        dry: options.session.dry,
    })
}

fn journal_path(args: &MailSend) -> Option<std::path::PathBuf> {
    let beside = || journal_beside(&args.list);
    (!args.no_journal).then(|| args.journal.clone().unwrap_or_else(beside))
}

/// Reports the list, its invalid addresses, and test mode.
fn announce(args: &MailSend, options: &DeliveryOptions) {
    let (all, domains) = (options.list.deliverable(), options.list.domains());
    note(&format!("{} in {}", counted(all, "recipient"), counted(domains, "domain")));
    let path = options.list.path().display();
    for (_, line, why) in options.list.bad().take(BAD_SHOWN) {
        note(&format!("{path}, line {line}: invalid address: {why}"));
    }
    if options.list.bad_numbers().len() > BAD_SHOWN {
        note(&format!("and {} like these", options.list.bad_numbers().len() - BAD_SHOWN));
    }
    if options.list.duplicates() > 0 {
        let again = counted(options.list.duplicates(), "more line");
        note(&format!(
            "{again} of the list with an address that occurs before: each address receives one message"
        ));
    }
    if options.session.dry && !args.dry {
        note("test mode: nobody receives anything; --really-send delivers");
    } else if options.session.dry {
        note("test mode: nobody receives anything");
    }
}

/// Shows progress on a terminal during `work`.
fn watched<T>(delivery: &Delivery, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| show(delivery, &is_over));
        let done = work();
        is_over.store(true, Ordering::SeqCst);
        done
    })
}

fn show(delivery: &Delivery, is_over: &AtomicBool) {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(5));
    let style = ProgressStyle::with_template("{bar:12} {percent:>3} %  {wide_msg}")
        .expect("the template is well formed");
    bar.set_style(style.progress_chars("━╸─"));
    let mut last = (Instant::now(), 0);
    let mut rate = 0.0;
    while !is_over.load(Ordering::SeqCst) {
        let now = delivery.progress();
        let seconds = last.0.elapsed().as_secs_f64();
        if seconds >= 1.0 {
            rate = f64::from(now.count.all().saturating_sub(last.1)) / seconds;
            last = (Instant::now(), now.count.all());
        }
        bar.set_length(now.of.max(1) as u64);
        bar.set_position(u64::from(now.count.all()));
        bar.set_message(line(&now, rate));
        std::thread::sleep(SHOWN_EVERY);
    }
    bar.finish_and_clear();
}

/// The text beside the progress bar, short enough for 80 columns.
fn line(now: &Progress, rate: f64) -> String {
    let mut line = format!("{rate:.0}/s, {} open: {} delivered", now.open, now.count.delivered);
    let missed = now.count.failed + now.count.given_up;
    for (count, what) in [(u64::from(missed), "failed"), (now.waiting as u64, "waiting")] {
        if count > 0 {
            line.push_str(&format!(", {count} {what}"));
        }
    }
    line
}

/// How the delivery ended; reports recipients that are left.
fn ending(args: &MailSend, summary: &Summary, journal: Option<&Path>) -> Ending {
    if summary.unsettled > 0 {
        let how = match journal {
            Some(_) if args.resume => "the same command continues",
            Some(_) => "the same command with --resume continues",
            None => "without a journal it is unknown which",
        };
        note(&format!("stopped with {} left: {how}", counted(summary.unsettled, "recipient")));
        return Ending::NotMeasured;
    }
    let missed = summary.count.failed + summary.count.given_up;
    if missed > 0 { Ending::CheckFailed } else { Ending::Done }
}

/// The error with its causes, except those that its text contains.
fn usage(error: impl std::error::Error) -> Usage {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let why = error.to_string();
        if !text.contains(&why) {
            text = format!("{text}: {why}");
        }
        cause = error.source();
    }
    Usage(text)
}

/// Rejects source addresses that this machine cannot connect from.
fn sources(args: &MailSend) -> Result<Vec<IpAddr>, Usage> {
    for source in &args.way.sources {
        let bound = std::net::TcpListener::bind((*source, 0));
        bound.map_err(|e| {
            Usage(format!("--source {source}: mail cannot be sent from there: {e}"))
        })?;
    }
    Ok(args.way.sources.clone())
}

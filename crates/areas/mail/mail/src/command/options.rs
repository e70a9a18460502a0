//! The options of a delivery, from those of the command line.

use std::net::IpAddr;
use std::sync::Arc;

use command::ending::{Usage, of_option};
use command::output::note;
use mailsend::credentials;
use mailsend::list::List;
use mailsend::message::{self, Heads, Signer, Template};
use mailsend::queue::{Limits, Retry};
use mailsend::route::{MxOptions, Router, Target};
use mailsend::tls::ClientTls;
use mailsend::{DeliveryOptions, Signals, Transport};
use platform::process::limits::raise_descriptors;
use platform::socket::client::check_source;
use platform::socket::readiness::PollBackend;
use smtp::address::{Address, verp};
use smtp::auth::Credentials;
use smtp::security::Security;
use smtp::session::SessionOptions;

use super::args::{MailArch, MailSend, TlsMode};
use super::summary::counted;

/// Number of descriptors for other purposes than connections.
const SPARE_DESCRIPTORS: u64 = 64;
/// Connections to a server before it has admitted any: fewer than many servers permit for one client.
const CONNECTIONS_AT_FIRST: usize = 10;
/// Maximum size of a message in bytes: it is held in memory.
const MESSAGE_AT_MOST: u64 = 256 << 20;

/// The options of the delivery. All wrong options are detected here, before anything begins.
pub fn options(args: &MailSend, signals: &Arc<Signals>) -> anyhow::Result<DeliveryOptions> {
    let list = List::open(&args.list, args.address_column.as_deref()).map_err(usage)?;
    let from = return_path(args)?;
    let hello = hello(args)?;
    let template = template(args, &list, from.as_ref(), &hello)?;
    let router = router(args, signals)?;
    let sources = sources(args, &router)?;
    let credentials = credentials(args)?;
    let security = security(args, credentials.is_some())?;
    let is_personal = template.is_personal() || args.verp;
    let dry = args.dry || !(router.is_loopback() || args.really_send);
    let session = SessionOptions {
        hello,
        security,
        credentials,
        dry,
        pipelining: !args.transport.no_pipelining,
        chunking: !args.transport.no_chunking,
    };
    let per_destination =
        if args.transport.relay.is_some() { args.connections } else { args.per_domain };
    Ok(DeliveryOptions {
        tls: ClientTls::new(security, args.transport.ca.as_deref()).map_err(usage)?,
        limits: Limits {
            connections: within_limit(args.connections),
            per_destination,
            per_transaction: if is_personal { 1 } else { args.recipients },
            at_first: CONNECTIONS_AT_FIRST,
        },
        per_connection: u32::try_from(args.transactions).unwrap_or(u32::MAX),
        retry: Retry {
            after: args.retry_after,
            at_most: args.retry_at_most,
            give_up: args.give_up,
        },
        timeout: args.timeout,
        sources,
        transport: transport(args)?,
        time: None,
        run: runner::new_id(),
        date: message::date(jiff::Timestamp::now())?,
        verp: args.verp,
        signer: signer(args, from.as_ref())?,
        is_relayed: args.transport.relay.is_some(),
        list,
        template,
        from,
        router,
        session,
    })
}

/// The return path, which VERP must be able to extend.
fn return_path(args: &MailSend) -> Result<Option<Address>, Usage> {
    let from = match args.from.as_str() {
        "" | "<>" => None,
        text => Some(Address::parse(text).map_err(|e| Usage(format!("--from {text}: {e}")))?),
    };
    if args.verp {
        let Some(from) = &from else {
            return Err(Usage("--verp needs a --from that is not empty".into()));
        };
        let shortest = Address::parse("a@b.c").expect("an address");
        verp(from, &shortest).map_err(|e| Usage(format!("--verp: {e}")))?;
    }
    Ok(from)
}

/// The use of TLS, which must be on where a password is sent.
fn security(args: &MailSend, with_password: bool) -> Result<Security, Usage> {
    match (args.transport.tls, with_password) {
        (Some(TlsMode::Off), true) => {
            Err(Usage("--tls off: a password is sent over TLS only".into()))
        }
        (Some(TlsMode::Off), false) => Ok(Security::Off),
        (Some(TlsMode::Offered), _) | (None, false) => Ok(Security::Offered),
        // TLS is required with a password: otherwise a server that poses as the relay would receive it.
        (Some(TlsMode::Required), _) | (None, true) => Ok(Security::Required),
    }
}

/// User and password for the relay. No other server receives a password.
fn credentials(args: &MailSend) -> anyhow::Result<Option<Credentials>> {
    Ok(match (&args.transport.auth_file, &args.transport.relay) {
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
        return Err(
            Usage(format!("--message {path}: it has {size} bytes, the limit is 256 MiB")).into()
        );
    }
    let raw = std::fs::read(&args.message).map_err(of_file)?;
    let heads = Heads {
        list_unsubscribe: args.list_unsubscribe.clone(),
        one_click: args.one_click,
        message_id_domain: match (from, hello) {
            (Some(from), _) => from.domain().to_owned(),
            (None, "") => "[127.0.0.1]".to_owned(),
            (None, hello) => hello.to_owned(),
        },
    };
    let template = Template::parse(&raw, list.columns(), &heads);
    let template = template.map_err(|e| Usage(format!("--message {path}: {e}")))?;
    template.notes().iter().for_each(|text| note(text));
    if template.is_personal() && template.notes().is_empty() {
        let mut reader = list.reader();
        let records = list.longest().iter().filter_map(|&number| reader.record(number).ok());
        if let Some(text) = records.filter_map(|recipient| template.note_for(&recipient)).next() {
            note(&text);
        }
    }
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
    let transport = &args.transport;
    let router = match (&transport.relay, &transport.route) {
        (Some(relay), _) => Router::relay(relay),
        (None, Some(file)) => Router::file(file),
        (None, None) => {
            let signals = Arc::clone(signals);
            let options = MxOptions {
                nameserver: transport.nameserver,
                port: transport.port,
                ..MxOptions::default()
            };
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

/// Pins the process to these CPUs, if there are any.
pub fn bind(cpus: &[usize]) -> anyhow::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let allowed = platform::cpu::allowed();
    if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let allowed = allowed.join(",");
        let why = format!("CPU {cpu} is not available to this process, which may use {allowed}");
        return Err(Usage(format!("--bind-cpu: {why}")).into());
    }
    platform::cpu::keep_process_to(cpus).map_err(|refusal| of_option("--bind-cpu", &refusal))
}

/// The name for EHLO, in ASCII (RFC 6531, section 3.7.1): this machine's name if it is a whole one. Else it is empty, and
/// each session says its address.
fn hello(args: &MailSend) -> anyhow::Result<String> {
    match &args.transport.hello {
        Some(name) => match ascii_name(name) {
            Some(ascii) => Ok(ascii),
            None => Err(Usage(format!("--hello {name}: it is not a domain name")).into()),
        },
        None => Ok(own_name(platform::machine::host_name())),
    }
}

/// The name of a machine with this host name. A name without a dot is known in its own network only, and many servers
/// reject it.
fn own_name(host_name: Option<String>) -> String {
    host_name
        .and_then(|name| ascii_name(&name))
        .filter(|name| name.contains('.'))
        .unwrap_or_default()
}

/// A domain in A-labels, or an address literal.
fn ascii_name(name: &str) -> Option<String> {
    Address::parse(&format!("x@{name}")).ok().map(|address| address.domain().to_owned())
}

/// The number of connections that the limit of descriptors permits. Prints a note if that is fewer than requested.
pub fn within_limit(asked: usize) -> usize {
    let Some(limit) = raise_descriptors() else { return asked };
    let possible = usize::try_from(limit.saturating_sub(SPARE_DESCRIPTORS)).unwrap_or(asked);
    let possible = possible.max(1);
    if possible < asked {
        note(&format!(
            "the limit of descriptors allows {}, not {asked}; to raise it: ulimit -Hn {}",
            counted(possible, "connection"),
            (asked as u64).saturating_add(SPARE_DESCRIPTORS)
        ));
    }
    asked.min(possible)
}

/// Rejects source addresses that this machine cannot connect from, or from which no server can be reached.
fn sources(args: &MailSend, router: &Router) -> Result<Vec<IpAddr>, Usage> {
    let sources = &args.transport.sources;
    let is_reached = |server: &Target| {
        let mut addresses = server.addresses.iter();
        addresses.any(|to| sources.iter().any(|from| from.is_ipv6() == to.is_ipv6()))
    };
    let targets = if sources.is_empty() { Vec::new() } else { router.targets() };
    if let Some(server) = targets.iter().find(|server| !is_reached(server)) {
        let address = server.addresses[0];
        let family = if address.is_ipv6() { "IPv6" } else { "IPv4" };
        return Err(Usage(format!(
            "--source: none of the addresses is {family}, as the server {address} is"
        )));
    }
    for source in sources {
        check_source(*source).map_err(|e| {
            Usage(format!("--source {source}: cannot connect from this address: {e}"))
        })?;
    }
    Ok(sources.clone())
}

/// Converts an error with its causes, except those that its text contains.
pub fn usage(error: impl std::error::Error) -> Usage {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_for_ehlo_are_ascii_and_whole() {
        // RFC 3492, section 7.1, has such labels; this one is by idn2 of GNU libidn.
        assert_eq!(ascii_name("bücher.example").as_deref(), Some("xn--bcher-kva.example"));
        assert_eq!(ascii_name("[127.0.0.1]").as_deref(), Some("[127.0.0.1]"));
        assert_eq!(ascii_name("a b"), None);
        assert_eq!(own_name(Some("mx.example.org".into())), "mx.example.org");
        assert_eq!(own_name(Some("vm".into())), "");
        assert_eq!(own_name(None), "");
    }
}

//! `oscost mail send`: delivers a message to all recipients of a list.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use command::ending::Ending;
use command::interrupt::on_request_to_stop;
use command::output::{note, page, print, print_json};
use mailsend::journal::{About, Journal, journal_beside};
use mailsend::{Delivery, DeliveryOptions, Signals, Summary, deliver};

use super::args::MailSend;
use super::document::document;
use super::options::{options, usage};
use super::progress::watched;
use super::summary::{self, counted};

/// Exit code of [`Ending::NotMeasured`].
const ENDED_AT_ONCE: i32 = 3;
/// Maximum number of lines with invalid addresses that are shown.
const BAD_SHOWN: usize = 10;

/// Delivers the message and prints the result.
///
/// # Errors
/// An error if the delivery cannot begin or continue. A recipient that cannot be reached is no error.
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
    let summary = watched(&delivery, || deliver(&delivery))??;
    match args.json {
        true => print_json(&document(&options, &summary))?,
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
    on_request_to_stop(stop)
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

/// Prints the list, its invalid addresses, and test mode.
fn announce(args: &MailSend, options: &DeliveryOptions) {
    let (all, domains) = (options.list.deliverable(), options.list.domains());
    note(&format!("{} in {}", counted(all, "recipient"), counted(domains, "domain")));
    let path = options.list.path().display();
    for (_, line, why) in options.list.bad().take(BAD_SHOWN) {
        note(&format!("{path}, line {line}: invalid address: {why}"));
    }
    if options.list.bad_numbers().len() > BAD_SHOWN {
        note(&format!("and {} more", options.list.bad_numbers().len() - BAD_SHOWN));
    }
    if options.list.duplicates() > 0 {
        let duplicates = counted(options.list.duplicates(), "duplicate");
        note(&format!("{duplicates} in the list: each address receives one message"));
    }
    if options.session.dry && !args.dry {
        note("test mode: no message is sent; --really-send delivers");
    } else if options.session.dry {
        note("test mode: no message is sent");
    }
}

/// The ending of the delivery. Prints the number of remaining recipients.
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
    let most = args.max_failed.unwrap_or_default() * f64::from(summary.count.all());
    if f64::from(missed) > most { Ending::CheckFailed } else { Ending::Done }
}

//! The progress of a delivery.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use command::output::note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Zoned;
use mailsend::{Delivery, Notice, NoticeKind, Progress};
use measure::CaseError;
use platform::process::spawn_scoped;

/// Interval of the progress display.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// Prints the notices of a delivery during `work`, and on a terminal shows the progress.
///
/// # Errors
/// If the thread that does so cannot be started.
pub fn watched<T>(delivery: &Delivery, work: impl FnOnce() -> T) -> Result<T, CaseError> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let shown = spawn_scoped(scope, "a thread", || show(delivery, &is_over))?;
        let done = work();
        is_over.store(true, Ordering::SeqCst);
        shown.thread().unpark();
        Ok(done)
    })
}

fn show(delivery: &Delivery, is_over: &AtomicBool) {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr_with_hz(5),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(1), target);
    let style = ProgressStyle::with_template("{bar:12} {percent:>3} %  {wide_msg}")
        .expect("the template is well formed");
    bar.set_style(style.progress_chars("━╸─"));
    let mut last = (Instant::now(), 0);
    let mut rate = 0.0;
    while !is_over.load(Ordering::SeqCst) {
        announce(delivery, &bar);
        let now = delivery.progress();
        let seconds = last.0.elapsed().as_secs_f64();
        if seconds >= 1.0 {
            rate = f64::from(now.count.all().saturating_sub(last.1)) / seconds;
            last = (Instant::now(), now.count.all());
        }
        bar.set_length(now.of.max(1) as u64);
        bar.set_position(u64::from(now.count.all()));
        bar.set_message(line(&now, rate));
        std::thread::park_timeout(SHOWN_EVERY);
    }
    bar.finish_and_clear();
    announce(delivery, &bar);
}

/// Prints the notices so far.
fn announce(delivery: &Delivery, bar: &ProgressBar) {
    let notices = delivery.take_notices();
    if !notices.is_empty() {
        bar.suspend(|| notices.iter().for_each(|notice| note(&sentence(notice, &Zoned::now()))));
    }
}

/// A notice as a sentence.
fn sentence(notice: &Notice, now: &Zoned) -> String {
    let reason = &notice.reason;
    match notice.kind {
        NoticeKind::TriedAgain(at_most) => {
            let until = jiff::SignedDuration::try_from(at_most).ok();
            let until = until.and_then(|time| now.checked_add(time).ok());
            let until = until.map(|at| at.strftime("%Y-%m-%d %H:%M:%S").to_string());
            format!("{reason}; trying again until {}", until.as_deref().unwrap_or("it works"))
        }
        // The number is still being found out.
        NoticeKind::Limited(_) => format!(
            "{reason}; continuing with the connections that work, and trying one more now and then"
        ),
        NoticeKind::InClear => format!(
            "{reason}; TLS has failed repeatedly: for 10 minutes this server gets mail in clear text where no other takes it"
        ),
        NoticeKind::NoMoreNotices => {
            "further servers have trouble; the journal has all reasons".to_owned()
        }
    }
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
    if let Some(reason) = &now.reason {
        line.push_str(&format!(": {}", report::text::clean(reason)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_beside_the_numbers() {
        let reason = Some("127.0.0.1:1: Connection refused".into());
        let now = Progress { of: 2, waiting: 2, reason, ..Progress::default() };
        let expected = "0/s, 0 open: 0 delivered, 2 waiting: 127.0.0.1:1: Connection refused";
        assert_eq!(line(&now, 0.0), expected);
    }

    #[test]
    fn notices_say_what_follows() {
        let now = jiff::civil::date(2026, 1, 2).at(3, 4, 5, 0);
        let now = now.to_zoned(jiff::tz::TimeZone::UTC).expect("a time");
        let notice = |kind| sentence(&Notice { reason: "a:25: no".into(), kind }, &now);
        assert_eq!(
            notice(NoticeKind::TriedAgain(Duration::from_secs(4 * 60 * 60))),
            "a:25: no; trying again until 2026-01-02 07:04:05"
        );
        assert!(notice(NoticeKind::TriedAgain(Duration::MAX)).ends_with("until it works"));
        assert!(notice(NoticeKind::Limited(3)).contains("connections that work"));
    }
}

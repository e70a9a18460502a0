//! The progress of a delivery.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mailsend::{Delivery, Progress};

/// Interval of the progress display.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// Shows the progress on a terminal during `work`.
pub fn watched<T>(delivery: &Delivery, work: impl FnOnce() -> T) -> T {
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

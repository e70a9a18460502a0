//! Lower bounds of the time of jobs that depend on each other or share a lock, in sentences.

use std::time::Duration;

use crate::limits::Limits;

use report::page::Page;
use report::quantity::{format_share, format_time};

/// Relative difference below which two times are equal in the output.
const EQUAL: f64 = 0.001;

/// The limits in sentences, and how close `best` comes to them: the elapsed time of the fastest candidate in ns.
pub fn limits_text(limits: &Limits, best: Option<f64>, page: &Page) -> String {
    let sentences = sentences(limits, best).join(" ");
    String::from("\n") + &page.hanging("", &page.signs(&sentences))
}

fn sentences(limits: &Limits, best: Option<f64>) -> Vec<String> {
    let at_least = ns(limits.at_least);
    let on = match limits.cpus {
        1 => String::from("1 CPU"),
        cpus => format!("{cpus} CPUs"),
    };
    let mut sentences = vec![format!(
        "One after the other these jobs take {}; on {on} no executor can take less than {}, so the speed-up is at most {}.",
        time(limits.serial),
        time(limits.at_least),
        factor(limits.speed_up()),
    )];
    let serial = |part: Duration| format_share(part.as_secs_f64() / limits.serial.as_secs_f64());
    let most = |part: Duration| factor(limits.serial.as_secs_f64() / part.as_secs_f64());
    if !limits.critical_path.is_zero() {
        let path = limits.critical_path;
        sentences.push(format!(
            "The critical path, the longest chain of dependent jobs or the longest job alone, takes {}: on any number of \
             CPUs the speed-up is at most {}, that of a serial share of {} by Amdahl's law.",
            time(path),
            most(path),
            serial(path),
        ));
    }
    if !limits.lock_held.is_zero() {
        let held = limits.lock_held;
        sentences.push(format!(
            "The lock is held for {} in all, which limits the speed-up to {} (a serial share of {}).",
            time(held),
            most(held),
            serial(held),
        ));
    }
    sentences.extend(best.map(|best| match best / at_least - 1.0 {
        above if above < EQUAL => {
            format!("The fastest candidate takes this minimum of {}.", time(limits.at_least))
        }
        above => {
            format!("The fastest candidate takes {} longer than this minimum.", format_share(above))
        }
    }));
    sentences.push(String::from(
        "Turnaround is divided by the shortest possible time of a job, with the jobs that it depends on.",
    ));
    sentences
}

fn ns(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// A time without an interval.
fn time(time: Duration) -> String {
    format_time(ns(time), 0.0)
}

fn factor(factor: f64) -> String {
    match factor {
        factor if factor < 10.0 => format!("{factor:.1}"),
        factor => format!("{factor:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Page = Page { width: 80, colour: false, unicode: true, this_run: false };

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn text(limits: &Limits, best: Option<f64>) -> String {
        limits_text(limits, best, &PAGE).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_limits_are_stated_with_the_speed_up_that_they_allow() {
        let limits = Limits {
            cpus: 2,
            serial: ms(400),
            critical_path: ms(120),
            lock_held: ms(0),
            at_least: ms(200),
        };
        assert_eq!(
            text(&limits, Some(210e6)),
            "One after the other these jobs take 400 ms; on 2 CPUs no executor can take less than 200 ms, so the \
             speed-up is at most 2.0. The critical path, the longest chain of dependent jobs or the longest job \
             alone, takes 120 ms: on any number of CPUs the speed-up is at most 3.3, that of a serial share of 30 % by Amdahl's law. \
             The fastest candidate takes 5 % longer than this minimum. Turnaround is divided by the shortest possible \
             time of a job, with the jobs that it depends on."
        );
        let locked = Limits { cpus: 1, lock_held: ms(10), at_least: ms(400), ..limits };
        let locked = text(&locked, None);
        assert!(locked.contains("on 1 CPU no executor"), "{locked}");
        assert!(
            locked.contains("held for 10 ms in all, which limits the speed-up to 40"),
            "{locked}"
        );
        assert!(!locked.contains("fastest"), "{locked}");
    }

    #[test]
    fn lines_fit_the_page() {
        let limits = Limits {
            cpus: 64,
            serial: ms(3_600_000),
            critical_path: ms(1),
            lock_held: ms(7),
            at_least: ms(123_456),
        };
        for width in 60..100 {
            let text = limits_text(&limits, Some(1e18), &Page { width, ..PAGE });
            assert!(text.lines().all(|line| report::text::width(line) <= width), "{text}");
        }
    }
}

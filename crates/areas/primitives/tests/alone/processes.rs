//! Runs every case of processes in real rounds: children start, end with the expected code and are reaped, and deviations are
//! detected.
//!
//! These cases wait for any child, and a process has one temporary file.

use catalog::{Case, Extent};
use measure::record::Line;
use measure::round::Mode;
use measure::{CaseError, Params};
use primitives::process;
use rehearsal::params;

use crate::assert_no_children;

pub fn every_case_gives_samples_and_counts_as_declared() {
    rehearsal::check(process::AREA.cases);
    assert_no_children("a round");
}

fn case(name: &str) -> &'static Case {
    rehearsal::case(&[&process::AREA], &format!("process/{name}"))
}

pub fn no_file_is_left() {
    for name in ["posix-spawn", "fork-exec", "vfork-exec"] {
        let _ = rehearsal::run(case(name), &params(&[("program", "static")]), Mode::CountRest);
        assert!(!platform::cleanup::has_things(), "{name}");
    }
}

pub fn further_programs_can_be_measured() {
    for name in ["posix-spawn", "fork-exec", "vfork-exec"] {
        let (_, result) =
            rehearsal::run(case(name), &params(&[("program", "true")]), Mode::CountRest);
        let fine = matches!(result, Ok(()) | Err(CaseError::Unsupported(_)));
        assert!(fine, "{name}: {result:?}");
    }
}

pub fn memory_reports_forks_and_spawns() {
    for pages in ["base", "huge"] {
        let params = params(&[("memory", "32m"), ("pages", pages)]);
        let (lines, result) = rehearsal::run(case("memory"), &params, Mode::Sample);
        match result {
            Err(CaseError::Unsupported(reason)) => println!("{pages}: {reason}"),
            other => {
                assert_eq!(other, Ok(()), "{pages}");
                let spawns = rehearsal::metrics(&lines).filter(|metric| metric.name == "spawn");
                let spawns: Vec<f64> = spawns.map(|metric| metric.value).collect();
                assert!(matches!(spawns[..], [spawn] if spawn > 0.0), "{lines:?}");
            }
        }
    }
}

pub fn memory_forks_for_longer_while_the_host_is_counted() {
    let params = params(&[("memory", "1m"), ("pages", "base")]);
    let forks = [1, 2].map(|times| {
        let (lines, result) = rehearsal::run(case("memory"), &params, Mode::Lengthened(times));
        match result {
            Err(CaseError::Unsupported(reason)) => println!("{reason}"),
            other => assert_eq!(other, Ok(())),
        }
        lines.iter().find_map(|line| match line {
            Line::Repeated(repeated) => Some(repeated.operations),
            Line::Metric(metric) => panic!("{metric:?} of a round that is not timed"),
            _ => None,
        })
    });
    let [once, twice] = forks;
    assert_eq!(once.map(|forks| forks * 2), twice);
    assert!(once.is_some() || cfg!(windows));
}

fn round_of(ends: impl FnMut() -> std::io::Result<i32>) -> rehearsal::Outcome {
    let order = rehearsal::order("process/x", &Params::new(), Mode::Sample);
    rehearsal::round(&order, |round| process::time(round, "a child", 7, ends))
}

pub fn children_that_end_otherwise_are_noticed() {
    let first = round_of(|| Ok(127)).1;
    assert_eq!(first, Err(CaseError::Failed("a child: exit code 127 instead of 7".into())));
    let mut number = 0;
    let later = round_of(|| {
        platform::cpu::null_call();
        number += 1;
        Ok(if number == 20 { 1 } else { 7 })
    })
    .1;
    let noticed = "a child worked at first, then failed 1 times";
    assert_eq!(later, Err(CaseError::Failed(noticed.into())));
}

pub fn children_that_are_not_started_are_noticed() {
    let short = std::io::Error::from(std::io::ErrorKind::WouldBlock);
    assert!(matches!(round_of(|| Err(short.kind().into())).1, Err(CaseError::Unsupported(_))));
    let nothing = round_of(|| Ok(7)).1;
    assert!(matches!(nothing, Err(CaseError::Implausible(_))), "{nothing:?}");
}

pub fn a_quick_run_has_a_point_of_each_case() {
    for case in process::AREA.cases {
        let points = rehearsal::default_points(case);
        let quick = points.iter().filter(|point| catalog::includes(case, point, Extent::Quick));
        assert!(quick.count() >= 1, "{}", case.name);
    }
}

#[cfg(unix)]
pub mod unix {
    use std::cell::Cell;

    use platform::process::program::reap;

    use super::*;

    pub fn as_many_children_are_reaped_as_operations_were_made() {
        let (started, reaped) = (Cell::new(0), Cell::new(0));
        let (lines, result) = round_of(|| {
            // SAFETY: the child ends at once.
            let ended = match unsafe { libc::fork() } {
                -1 => Err(std::io::Error::last_os_error()),
                // SAFETY: ends the child.
                0 => unsafe { libc::_exit(7) },
                pid => {
                    started.set(started.get() + 1);
                    reap(pid)
                }
            };
            reaped.set(reaped.get() + u32::from(ended.is_ok()));
            ended
        });
        assert_eq!((result, &started), (Ok(()), &reaped));
        let timed = lines.iter().map(|line| match line {
            Line::Series(series) => series.batch * series.samples.len() as u64,
            other => panic!("{other:?}"),
        });
        let timed: u64 = timed.sum();
        assert!(timed >= 1 && u64::from(reaped.get()) > timed, "{reaped:?} reaped, {timed} timed");
        assert_no_children("a round");
    }

    /// Runs in a separate process that has the limit; root is not subject to it.
    #[cfg(target_os = "linux")]
    pub fn too_many_children_are_unsupported() {
        if testing::skip_unless_root("to become a user of its own with few processes") {
            return;
        }
        let mut limited = platform::process::fork(|| {
            // SAFETY: the calls take numbers and a valid limit. The process becomes a user other than root, who has no other
            // process here.
            unsafe {
                let limit = libc::rlimit { rlim_cur: 3, rlim_max: 3 };
                if libc::setrlimit(libc::RLIMIT_NPROC, &limit) != 0 {
                    return 0;
                }
                if libc::setuid(61_234) != 0 {
                    return 0;
                }
            }
            let (_, result) =
                rehearsal::run(case("wait"), &params(&[("children", "10")]), Mode::CountRest);
            assert_no_children("a round");
            match result {
                Err(CaseError::Unsupported(reason)) if reason.contains("10 child processes") => 0,
                other => {
                    eprintln!("{other:?}");
                    1
                }
            }
        })
        .unwrap();
        assert_eq!(limited.wait(), Ok(()));
    }
}

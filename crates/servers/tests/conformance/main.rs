//! What every server must do, whatever its architecture: the same scenarios for each.
//!
//! `cargo test -p servers --test conformance -- epoll slow` runs the scenarios whose names contain one of the
//! words. `OSCOST_SOAK=1000000` has the scenario `leaks` take so many connections and tell what the server held
//! before and after; `scripts/soak-net` does that for one after the other.
//!
//! Servers run in processes of their own: this program, started anew. Hence no test harness.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod crowd;
#[cfg(target_os = "linux")]
mod hosting;
#[cfg(target_os = "linux")]
mod scenarios;
#[cfg(target_os = "linux")]
mod scripts;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("what a process holds is known only of Linux: nothing tested");
    ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use std::time::Duration;

    use scenarios::Scenario;
    use servers::ARCHITECTURES;

    if let Some(code) = hosting::serve_if_asked() {
        return if code == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    platform::limits::raise_descriptors();
    std::panic::set_hook(Box::new(|panic| println!("{panic}")));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let (mut passed, mut failed) = (0, Vec::new());
    for architecture in ARCHITECTURES.iter().filter(|one| one.missing_here().is_none()) {
        let is_wanted = |(scenario, _): &&Scenario| {
            let is_part = |word: &&String| [architecture.name, scenario].contains(&word.as_str());
            let is_name = |word: &&String| format!("{}::{scenario}", architecture.name) == **word;
            wanted.is_empty() || wanted.iter().any(|word| is_part(word) || is_name(word))
        };
        let mut note = |scenario: &str, (is_ok, took): (bool, Duration)| {
            let name = format!("{}::{scenario}", architecture.name);
            let verdict = if is_ok { "ok" } else { "FAILED" };
            println!("test {name} ... {verdict} ({:.1} s)", took.as_secs_f64());
            if is_ok { passed += 1 } else { failed.push(name) }
        };
        let waiting: Vec<_> = scenarios::WAITING.iter().filter(is_wanted).collect();
        // Programs started for so many clients at once would keep the machine busy, too.
        let at_once = if architecture.name == "exec" { 1 } else { waiting.len().max(1) };
        for group in waiting.chunks(at_once) {
            std::thread::scope(|scope| {
                let begin = |(name, check): &&'static Scenario| {
                    (*name, scope.spawn(|| outcome_of(*check, architecture)))
                };
                let begun: Vec<_> = group.iter().map(begin).collect();
                for (name, outcome) in begun {
                    note(name, outcome.join().expect("panics are caught"));
                }
            });
        }
        for (name, check) in scenarios::BUSY.iter().filter(is_wanted) {
            note(name, outcome_of(*check, architecture));
        }
    }
    hosting::clean_up();
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {passed} passed; {} failed; 0 ignored", failed.len());
    failed.iter().for_each(|name| println!("failed: {name}"));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether it passed, and how long it took.
#[cfg(target_os = "linux")]
fn outcome_of(
    check: fn(&servers::Architecture),
    architecture: &servers::Architecture,
) -> (bool, std::time::Duration) {
    let began = std::time::Instant::now();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(architecture)));
    (outcome.is_ok(), began.elapsed())
}

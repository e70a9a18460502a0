//! Systems whose calls are slow at first, or answered by a helper: what is measured in them is what their users see.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::common::{Bench, figure, finish, needs, of_repository, skip_unless};

/// What these options and this source file, beside this one, are compiled to.
fn compiled(bench: &Bench, options: &[&str], source: &str) -> PathBuf {
    let output = bench.path(source.trim_end_matches(".c"));
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-O2", "-pthread"]).args(options).arg("-o");
    compiler.arg(&output).arg(of_repository("crates/cli/tests/alone").join(source));
    finish(&mut compiler).with(0);
    output
}

/// The documents of a run of getppid on these systems.
fn measured(bench: &Bench, systems: &[&str]) -> Vec<Value> {
    let mut command = bench.command("run syscall/getppid --quick --budget 24s --json");
    for system in systems {
        command.args(["--on", system]);
    }
    let said = finish(&mut command).with(0).json();
    said.as_array().expect("one for each system").clone()
}

/// A round of 15 ms in a fresh process never saw how the calls go on.
#[test]
fn calls_that_become_cheap_after_a_while_are_measured_then() {
    skip_unless!(needs::compilers(&["cc"]));
    let bench = Bench::new();
    let slow = format!("slow={} {{oscost}} agent", compiled(&bench, &[], "traced.c").display());
    let [native, slow] = &measured(&bench, &["native", &slow])[..] else { panic!("two systems") };
    let (here, there) = (figure(native, "time", &[]), figure(slow, "time", &[]));
    assert!(there < here * 2.0, "{there} ns, natively {here} ns");
    for metric in ["first-1ms", "first-10ms"] {
        let first = figure(slow, metric, &[]);
        assert!(first > there * 5.0, "{metric}: {first} ns, then {there} ns");
    }
    let native = native["results"].as_array().expect("results");
    assert!(native.iter().all(|result| result["metric"] != "first-1ms"), "as before, here");
}

#[test]
fn a_helper_has_a_cpu_of_its_own_unless_all_is_on_one() {
    skip_unless!(needs::compilers(&["cc"]));
    if platform::cpu::allowed().len() < 2 {
        return testing::not_applicable("there is one CPU only");
    }
    let bench = Bench::new();
    let library = compiled(&bench, &["-shared", "-fPIC"], "helped.c");
    let command = format!("env LD_PRELOAD={} {{oscost}} agent", library.display());
    let [free, confined] = ["helped", "helped@one-cpu"].map(|name| format!("{name}={command}"));
    // A system that has one CPU only does not confine the others.
    let systems = measured(&bench, &["native@one-cpu", &free, &confined]);
    let [native, free, confined] = &systems[..] else { panic!("three systems") };
    let fact = |document: &Value, name: &str| document["machine"][name].clone();
    let placements = systems.iter().map(|document| fact(document, "placement"));
    assert_eq!(placements.collect::<Vec<_>>(), ["one CPU", "helpers free", "one CPU"]);
    assert_eq!(fact(confined, "system"), "helped@one-cpu");
    let cpus =
        |document: &Value| fact(document, "host_cpus").as_str().map(|l| l.split(',').count());
    assert_eq!([native, confined].map(cpus), [Some(1), Some(1)]);
    assert!(cpus(free) > Some(1));
    let (free, confined) = (figure(free, "time", &[]), figure(confined, "time", &[]));
    assert!(confined > free * 3.0, "{confined} ns on one CPU, else {free} ns");
}

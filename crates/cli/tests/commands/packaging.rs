//! What a release is made of besides the program: the systemd units, and what the program says of its build.

use std::path::Path;
use std::process::Command;

use crate::common::{Bench, CASE, PROGRAM, run, text_of};

/// The settings of a unit's file with this name, in their order.
fn settings<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    let values = unit.lines().filter_map(|line| line.split_once('='));
    values.filter(|(key, _)| *key == name).map(|(_, value)| value).collect()
}

#[test]
fn the_nightly_services_run_is_stored_with_its_tag() {
    let bench = Bench::new();
    let unit = text_of("packaging/systemd/oscost-nightly.service");
    let [start] = settings(&unit, "ExecStart")[..] else { panic!("one command") };
    let arguments = start.strip_prefix("/usr/bin/oscost ").expect("the program of the package");
    // systemd splits such a variable into words.
    let arguments = arguments.replace("$OSCOST_RUN", &format!("{CASE} --quick"));
    bench.oscost(&arguments).with(0);
    let [export] = settings(&unit, "ExecStartPost")[..] else { panic!("one command") };
    let words: Vec<&str> = export.split(' ').collect();
    assert_eq!(words[..2], ["/usr/bin/oscost", "export"]);
    let document = bench.oscost(&format!("export {} --json", words[2])).with(0).json();
    assert_eq!(document["results"][0]["case"], CASE);
    // What sysusers.d and the service say must agree, and so must the folders that the service may write.
    let [user] = settings(&unit, "User")[..] else { panic!("one user") };
    let users = text_of("packaging/systemd/oscost.conf");
    assert!(users.contains(&format!("\nu {user} ")), "{users}");
    let folders: Vec<&str> = settings(&unit, "StateDirectory")[0].split(' ').collect();
    let output = Path::new(words.last().expect("a path")).parent().expect("a folder");
    let in_state = output.strip_prefix("/var/lib").expect("a folder for state");
    assert!(folders.iter().any(|folder| Path::new(folder) == in_state), "{output:?}");
}

#[test]
fn env_names_the_build() {
    let bench = Bench::new();
    let facts = bench.oscost("env --json").with(0).json();
    let target = facts["oscost_target"].as_str().expect("a target");
    let words: Vec<&str> = target.split(", ").collect();
    let [triple, linkage, profile] = words[..] else { panic!("{target}") };
    // The dynamic linker's name is in a program that is linked with libraries, and nowhere else.
    let headers =
        run(Command::new("readelf").args(["--wide", "--program-headers", PROGRAM])).with(0).out;
    assert!(headers.contains("LOAD"), "{headers}");
    assert_eq!(linkage, if headers.contains("INTERP") { "dynamic" } else { "static" });
    assert_eq!(profile, if cfg!(debug_assertions) { "debug" } else { "release" });
    assert!(triple.starts_with(std::env::consts::ARCH) && triple.contains("-linux-"), "{triple}");
    // A build from a developer's tree does not know its commit, unless it was told.
    let commit = facts["oscost_commit"].as_str().expect("a commit");
    let said = option_env!("OSCOST_COMMIT").filter(|commit| !commit.is_empty());
    assert_eq!(commit, said.unwrap_or("unknown"));
    let page = bench.oscost("env").with(0).out;
    let version = env!("CARGO_PKG_VERSION");
    let named = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("oscost") && words.next().is_some_and(|word| word.starts_with(version))
    };
    assert!(page.lines().any(|line| named(line) && line.ends_with(target)), "{page}");
}

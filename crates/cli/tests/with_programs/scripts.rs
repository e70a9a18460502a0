//! The scripts that compare oscost with other programs report the packages to install if these are missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Bench, PROGRAM, Said, needs, of_repository, run, skip_unless};

/// Scripts, each with the packages of the programs that it needs besides those of [`PRESENT`].
const JUDGES: [(&str, &[&str]); 3] = [
    ("judge", &[]),
    (
        "judge-peers",
        &["linux-perf", "stress-ng", "sysbench", "gcc", "fio", "nginx-light", "wrk", "postfix"],
    ),
    ("judge-report", &["nodejs", "chromium"]),
];

/// The only programs that can be found in PATH.
const PRESENT: [&str; 4] = ["bash", "dirname", "python3", "realpath"];

/// Path of a program of this machine: preferably in the system's folder, since other folders may have wrappers that need more
/// programs.
fn found(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").expect("a PATH");
    let folders = std::iter::once(PathBuf::from("/usr/bin")).chain(std::env::split_paths(&path));
    let mut places = folders.map(|folder| folder.join(program));
    places.find(|place| place.exists()).unwrap_or_else(|| panic!("{program} is not installed"))
}

/// Runs one of [`JUDGES`] on this program: one takes it as an argument, the others from the environment.
fn judge(bench: &Bench, script: &str, program: &Path) -> Said {
    let arguments: &[&Path] = match script {
        "judge" => &[Path::new("equal")],
        "judge-peers" => &[],
        _ => &[program],
    };
    run_script(bench, script, arguments, program)
}

/// Runs a script with only [`PRESENT`] in PATH.
fn run_script(bench: &Bench, script: &str, arguments: &[&Path], program: &Path) -> Said {
    let folder = bench.path("bin");
    if !folder.exists() {
        std::fs::create_dir(&folder).expect("a folder");
        for program in PRESENT {
            let link = folder.join(program);
            std::os::unix::fs::symlink(found(program), link).expect("a link");
        }
    }
    let mut command = Command::new(of_repository("scripts").join(script));
    command.args(arguments).env("PATH", folder).env("OSCOST", program);
    command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(bench.path("."));
    run(command.env("TMPDIR", bench.temp()))
}

/// Checks for exit code 2 and one line that contains all these texts.
#[track_caller]
fn tells(said: Said, script: &str, words: &[&str]) {
    let said = said.with(2);
    assert_eq!((said.err.lines().count(), said.out.as_str()), (1, ""), "{}", said.err);
    assert!(said.err.starts_with(&format!("{script}: ")), "{}", said.err);
    said.notes(words);
}

#[test]
fn judges_say_what_to_install() {
    skip_unless!(needs::python());
    let bench = Bench::new();
    let program = Path::new(PROGRAM);
    for (script, packages) in JUDGES.iter().filter(|(_, packages)| !packages.is_empty()) {
        let words = [&["apt-get install"], *packages].concat();
        tells(judge(&bench, script, program), script, &words);
    }
}

#[test]
fn judges_say_that_oscost_is_not_built() {
    skip_unless!(needs::python());
    let bench = Bench::new();
    for (script, _) in JUDGES {
        let nowhere = bench.path("nowhere");
        let said = judge(&bench, script, &nowhere);
        tells(said, script, &["nowhere", "cargo build --release"]);
    }
}

#[test]
fn nothing_is_said_where_all_is_there() {
    skip_unless!(needs::python());
    let bench = Bench::new();
    let arguments = ["judge", "bash=bash", "/bin/sh=dash"].map(Path::new);
    let program = Path::new(PROGRAM);
    let said = run_script(&bench, "need", &arguments, program).with(0);
    assert!(said.out.is_empty() && said.err.is_empty(), "{}", said.err);
}

#[test]
fn the_faults_of_public_reports_do_not_come_back() {
    skip_unless!(needs::python());
    let mut command = Command::new(of_repository("scripts/reproductions"));
    run(command.arg(PROGRAM).env("PYTHONDONTWRITEBYTECODE", "1"))
        .with(0)
        .says(&[" reproductions: 0 failed"]);
}

/// Checks that the page has the answers that the recorded runs give today.
#[test]
fn the_answers_of_the_studies_page_are_those_of_the_recorded_runs() {
    skip_unless!(needs::python());
    let mut command = Command::new(of_repository("scripts/study-reports"));
    run(command.args(["--answers", "check", PROGRAM])).with(0);
}

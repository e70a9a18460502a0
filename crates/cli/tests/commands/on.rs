//! Runs on several systems in turn, with agents in processes of this system.

use std::process::Command;

use crate::common::{Bench, CASE, SHORT, Said, are_measured, codes_of_doubts, finish, times};
use serde_json::Value;

/// A run on these systems.
fn command(bench: &Bench, arguments: &str, systems: &[&str]) -> Command {
    let mut command = bench.command(&format!("run {arguments}"));
    for system in systems {
        command.args(["--on", system]);
    }
    command
}

fn run(bench: &Bench, arguments: &str, systems: &[&str]) -> Said {
    finish(&mut command(bench, arguments, systems))
}

/// The documents of a run with `--json`, one for each system.
#[track_caller]
fn documents(said: &Said) -> Vec<Value> {
    said.json().as_array().expect("one document for each system").clone()
}

#[test]
fn each_system_has_a_run_and_each_point_a_value_or_a_reason() {
    let bench = Bench::new();
    let systems = ["native", "again=native"];
    let arguments = format!("{CASE} lock/parking-lot-mutex --param workers=1 {SHORT} --json");
    let said = run(&bench, &arguments, &systems).ended();
    let documents = documents(&said);
    assert!(
        documents.iter().map(|d| d["machine"]["system"].as_str()).eq(["native", "again"].map(Some))
    );
    let group = &documents[0]["run"]["id"];
    for document in &documents {
        assert_eq!(&document["run"]["asked"]["group"], group);
        assert!(document["run"]["finished"].is_string());
        let points: Vec<&Value> = times(document).iter().map(|result| &result["case"]).collect();
        assert_eq!(points.len(), 2, "{document}");
    }
    for document in &documents {
        are_measured(document);
        assert!(document["machine"]["clock"].is_string());
        assert_eq!(document["machine"]["agent_lacks"].as_str().map(str::is_empty), Some(false));
    }
    // One run of a group cannot be resumed.
    let id = group.as_str().expect("an id");
    bench.oscost(&format!("run --resume {id}")).with(2).complains(&[id, "finished"]);
}

#[test]
fn nothing_is_measured_or_stored_unless_all_systems_start() {
    let bench = Bench::new();
    // `last` is a run with figures.
    let last = bench.oscost(&format!("run {CASE} --quick --budget 1s")).ended().saved();
    // Windows has no program of this name.
    let ended = if cfg!(windows) { "needs the program false" } else { "nothing was measured" };
    let claim =
        format!("[[claim]]\nname = 'a'\nsentence = 'a'\na.case = '{CASE}'\nrelation = '< 1 s'\n");
    for (system, words) in [
        ("none=./no-such-program {oscost} agent", &["cannot start none: "][..]),
        ("none=false {oscost} agent", &["cannot start none: ", ended]),
        ("qemu:/no/such/kernel", &["cannot start qemu:kernel: "]),
        ("chroot:/no/such/directory", &["cannot start chroot:directory: "]),
    ] {
        let said = run(&bench, &format!("{CASE} --quick"), &["native", system]).with(2);
        said.complains(words);
        bench.write("claims.toml", &claim);
        let mut check = bench.command("check claims.toml --quick --on native --on");
        finish(check.arg(system)).with(2);
        assert_eq!(bench.oscost("runs --json").with(0).json().as_array().map(Vec::len), Some(1));
    }
    // A run whose points are all unsupported, or fail, is printed and not stored.
    let unsupported = if cfg!(windows) { "syscall/getppid" } else { "lock/srwlock" };
    let nothing = format!("{unsupported} --quick");
    for systems in [&[][..], &["native"]] {
        let said = run(&bench, &nothing, systems).with(3).says(&["unsupported"]);
        said.notes(&["no figure was measured, and nothing is saved"]);
    }
    assert_eq!(bench.oscost("export").with(0).json()["run"]["id"], last.as_str());
}

#[test]
fn a_tag_names_the_newest_group() {
    let bench = Bench::new();
    for _ in 0..2 {
        let arguments = format!("{CASE} --quick --budget 3s --tag night=1");
        run(&bench, &arguments, &["native", "again=native"]).ended();
    }
    let compared = bench.oscost("compare night=1 --by system --json").with(0).json();
    assert_eq!(compared["columns"], serde_json::json!(["native", "again"]));
    let newest = bench.oscost("compare last --by system --json").with(0).json();
    assert_eq!(compared["runs"], newest["runs"]);
}

#[test]
fn starts_are_observations_also_of_an_agent_in_one_process() {
    let bench = Bench::new();
    let systems = ["native", "one={oscost} agent --one-process"];
    let arguments = format!("{CASE} --quick --boots 2 --json");
    let said = run(&bench, &arguments, &systems).ended();
    for document in documents(&said) {
        for result in times(&document) {
            let starts = result["round_values"].as_array().map_or(0, Vec::len);
            // All rounds after one of the starts may have been disturbed.
            let fewer = codes_of_doubts(result).contains(&"few-starts");
            assert!(starts == 2 || starts == 1 && fewer, "{result}");
        }
    }
}

#[test]
fn a_dry_run_prints_what_would_be_measured_and_stores_nothing() {
    let bench = Bench::new();
    run(&bench, &format!("{CASE} --dry-run"), &["native", "again=native"])
        .with(0)
        .says(&["1 point on 2 systems (native, again): 2 cells"]);
    let unknown = run(&bench, &format!("{CASE} --dry-run"), &["native", "qemu:/no/kernel"]);
    unknown.with(2).complains(&["cannot start qemu:kernel"]);
    assert!(bench.oscost("env").with(0).out.contains("KVM"));
    let all = bench.oscost("run lock --quick --dry-run").with(0);
    let as_json = bench.oscost("run lock --quick --dry-run --json").with(0).json();
    let points = as_json["points"].as_array().expect("points").len();
    assert!(points > 10 && all.out.contains(&format!("\n{points} points; takes up to ")));
    assert_eq!(as_json["cells"], points);
    assert!(!bench.store().exists());
}

#[test]
fn options_of_systems_need_systems() {
    let bench = Bench::new();
    bench.refuses(&[
        ("run --fresh", &["--on"]),
        ("run --boots 3", &["--on"]),
        ("run --systems x.toml", &["--on"]),
        ("run --on native --boots 1", &["2 to 20"]),
        ("run --on native --boots 2 --fresh", &["--fresh"]),
        ("run --on native --slow-down 1%", &["--slow-down"]),
        ("run --on native --on native", &["native"]),
        ("run --on nativ", &["native"]),
        ("run --on native --on again=native --csv x.csv", &["oscost export"]),
        ("run --on native --systems none.toml", &["none.toml"]),
    ]);
}

/// However it is linked, the program measures where there are no files but those that it brings.
#[test]
#[cfg(target_os = "linux")]
fn a_program_brings_its_libraries() {
    let bench = Bench::new();
    let has_bwrap = Command::new("bwrap").arg("--version").output().is_ok();
    if testing::skip_unless(has_bwrap, "systems: needs bubblewrap")
        || testing::skip_unless(testing::is_root(), "root: needed by chroot")
    {
        return;
    }
    let root = bench.path("root");
    std::fs::create_dir_all(root.join("proc")).expect("a folder");
    let systems = ["native", "bwrap", &format!("chroot:{}", root.display())];
    let arguments = format!("syscall/getppid {SHORT} --json");
    let documents = documents(&run(&bench, &arguments, &systems).ended());
    for document in &documents {
        let [result] = times(document)[..] else { panic!("{document}") };
        assert_eq!(result["outcome"], "measured", "{result}");
        for form in ["oscost_build", "oscost_target", "libc"] {
            assert_eq!(document["machine"][form], documents[0]["machine"][form]);
        }
    }
    assert_eq!(std::fs::read_dir(&root).expect("a folder").count(), 1, "something is left");
}

/// Agents and coordinators killed at random moments.
#[cfg(target_os = "linux")]
mod killed {
    use std::process::Child;

    use super::*;
    use crate::common::linux::{
        descendants, nobody_is_left, nothing_is_left, signal_descendant, started_apart, users_of,
    };
    use crate::common::{kill, run_on, said_by, until};

    fn spawn(bench: &Bench, arguments: &str) -> Child {
        started_apart(&mut command(bench, arguments, &["native", "again=native"]))
    }

    fn arguments_of(pid: u32) -> String {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    }

    fn agents(coordinator: u32) -> Vec<u32> {
        let all = descendants(coordinator).into_iter();
        all.filter(|&pid| arguments_of(pid).trim().ends_with(" agent")).collect()
    }

    /// The names of the control groups of systems that a coordinator started.
    fn control_groups(coordinator: u32) -> Vec<String> {
        let path = platform::process::control_group::ControlGroup::path_of("x").ok();
        let entries = path.and_then(|path| std::fs::read_dir(path.parent()?).ok());
        let names = entries.into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.contains(&format!("oscost-system-{coordinator}-"))).collect()
    }

    #[test]
    fn a_killed_or_stopped_agent_is_started_again() {
        let bench = Bench::new();
        let run = spawn(&bench, &format!("{CASE} syscall/getppid --quick --budget 10s --json"));
        let coordinator = run.id();
        until("both agents run", || agents(coordinator).len() == 2);
        let rounds = || {
            let store = results::Store::open_read_only(&bench.store());
            let runs = store.and_then(|store| store.runs()).unwrap_or_default();
            runs.iter().map(|run| run.rounds).sum::<u64>()
        };
        for _ in 0..3 {
            let before = rounds();
            until("rounds were made, or the run has ended", || {
                rounds() > before + 1 || users_of(&bench.temp()).is_empty()
            });
            if let [first, ..] = agents(coordinator)[..] {
                signal_descendant(coordinator, first, libc::SIGKILL);
            }
        }
        let said = said_by(run).ended();
        for document in documents(&said) {
            are_measured(&document);
        }
        nothing_is_left(&bench);
    }

    #[test]
    fn a_killed_coordinator_leaves_no_agent() {
        for wait_ms in [500, 2_500] {
            let bench = Bench::new();
            let mut run = spawn(&bench, "lock/sysv-sem lock/futex --quick");
            run_on(wait_ms);
            kill(&mut run);
            let coordinator = run.id();
            nobody_is_left(&bench);
            // The next start removes what is left of files and objects.
            bench.oscost(&format!("run {CASE} --quick --budget 1s --on native")).ended();
            nothing_is_left(&bench);
            assert_eq!(control_groups(coordinator), Vec::<String>::new());
        }
    }
}

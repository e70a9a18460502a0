use super::*;
use crate::claim::{ClaimFile, ClaimVerdict, judge_runs};
use crate::history::{HistoryRun, series_of};
use crate::{Compared, Dimension, Question, Settings, compare, compare_columns, tabulate};

fn run(machine: &[(&str, &str)]) -> Document {
    let machine = machine.iter().map(|(key, value)| ((*key).to_owned(), (*value).into()));
    Document { machine: machine.collect(), ..simulated::document("a", Vec::new()) }
}

fn shown(differences: &[Difference]) -> Vec<String> {
    differences.iter().map(|d| format!("{}: {}", d.key, d.values.join(" > "))).collect()
}

#[test]
fn file_systems_that_differ_are_listed_and_how_full_they_are_is_not() {
    let on = |kind: &'static str, free: &'static str| {
        run(&[
            ("filesystem./srv/a.b.type", kind),
            ("filesystem./srv/a.b.options", "rw"),
            ("filesystem./srv/a.b.free_bytes", free),
            ("lsm", "none"),
        ])
    };
    let (ext4, xfs) = (on("ext4", "1"), on("xfs", "2"));
    assert_eq!(shown(&also_differs(&[&ext4, &xfs])), ["filesystem./srv/a.b.type: ext4 > xfs"]);
    assert_eq!(shown(&also_differs(&[&ext4, &on("ext4", "3")])), [""; 0]);
    let elsewhere = run(&[("filesystem./mnt.type", "xfs"), ("lsm", "none")]);
    assert_eq!(shown(&also_differs(&[&ext4, &elsewhere])), [""; 0]);
}

#[test]
fn facts_of_the_kernel_and_the_core_are_listed() {
    let base = [
        ("kernel_command_line", "quiet"),
        ("tick_hz", "250"),
        ("preempt", "full"),
        ("lsm", "none"),
        ("audit", "off"),
        ("conntrack", "none"),
        ("congestion_control", "cubic"),
        ("core_type", "performance"),
        ("cpu_flags", "3 flags, 0"),
    ];
    let new = base.map(|(key, _)| (key, "other"));
    assert_eq!(also_differs(&[&run(&base), &run(&new)]).len(), base.len());
    // Facts that were not recorded are unknown, and so no difference.
    assert_eq!(also_differs(&[&run(&[]), &run(&new)]), []);
}

#[test]
fn what_a_sandbox_hides_is_no_difference() {
    let host = run(&[("governor", "performance"), ("lsm", "none"), ("tick_hz", "250")]);
    let hidden = run(&[("governor", "unknown"), ("lsm", "none"), ("tick_hz", "unknown")]);
    let other = run(&[("governor", "powersave"), ("lsm", "none"), ("tick_hz", "250")]);
    assert_eq!(shown(&also_differs(&[&host, &hidden])), [""; 0]);
    let shown = shown(&also_differs(&[&host, &hidden, &other]));
    assert_eq!(shown, ["governor: performance > unknown > powersave"]);
}

#[test]
fn only_the_mitigations_that_differ_are_shown() {
    let with = |text: &'static str| run(&[("mitigations", text)]);
    let base = with("mds=Clear CPU buffers; SMT vulnerable | meltdown=PTI | srbds=Microcode");
    let new = with("mds=Clear CPU buffers; SMT disabled | meltdown=PTI | srbds=Microcode");
    let fewer = with("meltdown=PTI | srbds=Microcode");
    let before = "mitigations: mds=Clear CPU buffers; SMT vulnerable >";
    for (other, after) in [(new, "mds=Clear CPU buffers; SMT disabled"), (fewer, "none of these")] {
        assert_eq!(shown(&also_differs(&[&base, &other])), [format!("{before} {after}")]);
    }
}

/// Two runs that are alike but for one thing, which the second has changed.
fn pair(change: impl Fn(&mut Document)) -> [Document; 2] {
    simulated::areas::install();
    let facts = platform::machine::describe();
    let known = facts.iter().map(|fact| (fact.key, "1"));
    let further = FURTHER.iter().map(|(key, _)| (*key, "1"));
    let files = ["filesystem./srv.type", "filesystem./srv.free_bytes"].map(|key| (key, "1"));
    let known: Vec<(&str, &str)> = known.chain(further).chain(files).collect();
    let mut base = run(&known);
    // It was measured alone.
    base.run.asked.clear();
    // An emulated system is not judged for another reason.
    base.machine.remove(results::EMULATED);
    base.results = vec![simulated::rounds_of("syscall/getppid", &[100.0; 12])];
    let mut new = base.clone();
    new.run.id = "b".to_owned();
    let slower = simulated::rounds_of("syscall/getppid", &[2_000.0; 12]);
    new.results = vec![slower];
    change(&mut new);
    [base, new]
}

/// What the deciding commands make of two runs, of which the second takes twenty times as long.
fn decided(runs: &[Document; 2], across_machines: bool) -> [bool; 4] {
    let [base, new] = runs;
    let settings = Settings { across_machines, ..Settings::default() };
    let is_judged = |row: &Compared| {
        assert!(row.ratio.is_some(), "the ratio is shown");
        row.verdict.is_decided()
    };
    let by_run = tabulate(runs, &Dimension::Run, &Question::default()).expect("a table");
    let columns = compare_columns(by_run, &settings).rows;
    let claims = "[[claim]]\nname = \"x\"\nsentence = \"x\"\na = { case = \"syscall/getppid\", system = \"one\" }\n\
                  b = { case = \"syscall/getppid\", system = \"two\" }\nrelation = \"ratio < 0.9\"\n";
    let claims = ClaimFile::parse(claims).expect("a claim").claims;
    let named = |run: &Document, system: &str| {
        let mut run = run.clone();
        run.machine.insert(SYSTEM.to_owned(), system.into());
        // Otherwise these are two systems of one host, which may show its programs another processor.
        if base.machine.get("machine_id") == new.machine.get("machine_id") {
            run.machine.remove("machine_id");
        }
        run
    };
    let claimed = [named(base, "one"), named(new, "two")];
    let claim = judge_runs(&claims, &claimed, across_machines).remove(0);
    let history = runs.each_ref().map(HistoryRun::of);
    [
        is_judged(&compare(base, new, &settings)[0]),
        columns.iter().flatten().flatten().all(is_judged),
        claim.verdict != ClaimVerdict::Undecided,
        series_of(&history, None, across_machines).len() == 1,
    ]
}

/// Every fact, option and tag, changed alone, is what the table of docs/compare.md says, and each deciding command treats it so.
#[test]
fn each_fact_is_nuisance_or_subject_as_documented() {
    let mut documented = BTreeMap::new();
    for line in include_str!("../../../../docs/compare.md").lines() {
        let mut cells = line.split('|').map(str::trim);
        let (Some(""), Some(role), Some(_), Some(facts)) =
            (cells.next(), cells.next(), cells.next(), cells.next())
        else {
            continue;
        };
        let role = match role {
            "nuisance" => Role::Nuisance,
            "subject" => Role::Subject,
            "neither" => Role::State,
            _ => continue,
        };
        for fact in facts.split('`').skip(1).step_by(2) {
            assert_eq!(documented.insert(fact.to_owned(), role), None, "{fact} twice");
        }
    }
    let facts: Vec<String> = platform::machine::describe()
        .iter()
        .map(|fact| fact.key)
        .chain(FURTHER.map(|(key, _)| key))
        .map(str::to_owned)
        .collect();
    let options = OPTIONS.map(|(key, _)| format!("asked {key}"));
    let tags = [NODE_TAG, JOB_TAG, CONFIRMS].map(|key| format!("tag {key}"));
    let all: Vec<String> =
        facts.into_iter().chain(options).chain(tags).chain(["oscost".to_owned()]).collect();
    for key in &all {
        let role =
            *documented.get(key).unwrap_or_else(|| panic!("{key} is not in docs/compare.md"));
        let of = |run: &mut Document| match key.split_once(' ') {
            Some(("asked", key)) => drop(run.run.asked.insert(key.to_owned(), "2".to_owned())),
            Some((_, key)) => drop(run.run.tags.insert(key.to_owned(), "2".to_owned())),
            None if key == "oscost" => run.run.oscost = "2".to_owned(),
            // Only one of several systems has it, and it is a reason of its own.
            None if key == results::EMULATED => {}
            None => drop(run.machine.insert(key.clone(), "2".into())),
        };
        let mut runs = pair(of);
        if key == &format!("tag {NODE_TAG}") {
            runs[0].run.tags.insert(NODE_TAG.to_owned(), "1".to_owned());
        }
        let is_nuisance = role == Role::Nuisance;
        let [compared, columns, claim, _] = decided(&runs, false);
        assert_eq!([compared, columns, claim], [!is_nuisance; 3], "{key}");
        let one_series = decided(&runs, false)[3];
        // Systems, builds and other tools have series of their own as well.
        assert!(!is_nuisance || !one_series, "{key}");
        let [compared, columns, claim, _] = decided(&runs, true);
        assert_eq!([compared, columns, claim], [true; 3], "{key} across machines");
        let shown = also_differs(&[&runs[0], &runs[1]]);
        let is_shown = shown.iter().any(|one| one.key == *key && one.role == role);
        let is_announced = role != Role::State && key != results::EMULATED;
        assert_eq!(is_shown, is_announced, "{key}");
    }
    let undocumented: Vec<&String> = documented.keys().filter(|key| !all.contains(key)).collect();
    let known = ["filesystem.*", "tag.KEY", "asked budget"];
    assert!(undocumented.iter().all(|key| known.contains(&key.as_str())), "{undocumented:?}");
}

/// A run of one figure on a system with this processor; `None` hides it.
fn on(name: &'static str, cpu: Option<&'static str>) -> Document {
    let mut run = run(&[(SYSTEM, name)]);
    run.machine.extend(cpu.map(|cpu| ("cpu".to_owned(), cpu.into())));
    run.run.asked.clear();
    run.run.id = name.to_owned();
    run.results = vec![simulated::rounds_of("syscall/getppid", &[100.0; 12])];
    run
}

/// A sandbox that hides its processor differs from no other run in it; two others still do.
#[test]
fn a_claim_compares_the_machines_of_each_two_of_its_runs() {
    simulated::areas::install();
    let claims = "[[claim]]\nname = \"x\"\nsentence = \"x\"\na = { case = \"syscall/getppid\", system = \"best\" }\n\
                  b = { case = \"syscall/getppid\", system = \"worst\" }\nrelation = \"ratio < 20\"\n";
    let claims = ClaimFile::parse(claims).expect("a claim").claims;
    let verdict = |last: &'static str| {
        let runs = [on("hidden", None), on("old", Some("x")), on("new", Some(last))];
        judge_runs(&claims, &runs, false).remove(0)
    };
    let alike = verdict("x");
    assert_eq!((alike.verdict, alike.note.as_str()), (ClaimVerdict::Holds, ""));
    let apart = verdict("y");
    assert_eq!(apart.verdict, ClaimVerdict::Undecided);
    assert!(apart.note.contains("another machine (cpu)"), "{}", apart.note);
}

/// The base may be named: the others are compared with it, not with the first run.
#[test]
fn columns_of_other_machines_than_the_named_base_are_announced() {
    let runs = [on("a", Some("x")), on("b", Some("y")), on("c", Some("y"))];
    let announced = |base: Option<&str>| {
        let question = Question { base: base.map(str::to_owned), ..Question::default() };
        let table = tabulate(&runs, &Dimension::System, &question).expect("three systems");
        let lines = crate::announcements(&table, &Settings::default());
        let name = |line: &String| {
            ["a", "b", "c"].into_iter().find(|n| line.contains(&format!("{n} is not judged")))
        };
        lines.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(announced(None), [Some("b"), Some("c")]);
    assert_eq!(announced(Some("b")), [Some("a")]);
}

#[test]
fn systems_of_one_host_may_show_their_programs_another_processor() {
    let facts = |system: &'static str, cpu: &'static str, id: &'static str| {
        run(&[("system", system), ("cpu", cpu), ("cpus", "1"), ("machine_id", id)])
    };
    let roles = |one: &Document, other: &Document| -> Vec<Role> {
        also_differs(&[one, other]).into_iter().map(|difference| difference.role).collect()
    };
    let alone = |mut run: Document| {
        run.run.asked.clear();
        run
    };
    let (host, guest) =
        (alone(facts("native", "EPYC", "a")), alone(facts("qemu", "QEMU CPU", "a")));
    assert_eq!(roles(&host, &guest), [Role::Subject; 2]);
    let elsewhere = alone(facts("qemu", "QEMU CPU", "b"));
    assert!(roles(&host, &elsewhere).contains(&Role::Nuisance));
    let mut in_turn = [host, elsewhere];
    for (nth, run) in in_turn.iter_mut().enumerate() {
        run.run.id = nth.to_string();
        run.run.asked.insert(GROUP.to_owned(), "0".to_owned());
    }
    assert_eq!(nuisances(&in_turn[0], &in_turn[1], &[]), []);
    // Kernels keep more or less of the memory for themselves.
    let [one, other] = [8_000_000_000_u64, 8_010_000_000].map(|bytes| {
        let mut run = run(&[]);
        run.machine.insert("memory_bytes".to_owned(), bytes.into());
        run
    });
    assert_eq!(also_differs(&[&one, &other]), []);
}

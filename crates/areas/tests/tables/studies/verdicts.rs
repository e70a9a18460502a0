//! Figures and verdicts of the included studies, by runs of one system and of several.

use analysis::claim::ClaimVerdict;

use super::*;

fn rate(case: &str, params: &[(&str, &str)], value: f64) -> CaseResult {
    CaseResult { better: Direction::Higher, ..result(case, params, "rate", "/s", value) }
}

/// Parameters of a server of 1,000 connections.
fn server(arch: &str) -> [(&str, &str); 4] {
    [("arch", arch), ("connections", "1000"), ("cpus", "1"), ("work", "none")]
}

fn windows_timers(ns: f64) -> Vec<CaseResult> {
    vec![
        result("clock/query-performance-counter", &[], "time", "ns/op", ns),
        result("clock/get-tick-count-64", &[], "granularity", "ns", 10e6),
    ]
}

fn verdict(study: &Study, runs: &[Document], claim: &str) -> ClaimVerdict {
    let judged = StudyFindings::of(study, runs).claims;
    judged.into_iter().find(|judged| judged.claim.name == claim).unwrap().verdict
}

#[test]
fn claims_are_judged_by_one_system_or_by_two() {
    use ClaimVerdict::{Fails, Holds, NotMeasurable};
    let study = parsed("timers", Size::Default);
    let linux = document("Linux", None, linux_timers(740.0));
    let one = [linux.clone()];
    // gettimeofday takes 740 ns by the library and 2,220 ns by a system call: the claim is about both.
    assert_eq!(verdict(&study, &one, "linux-below-1us"), Fails);
    assert_eq!(verdict(&study, &one, "share-of-a-millisecond"), Fails);
    assert_eq!(verdict(&study, &one, "windows-much-slower"), NotMeasurable);
    let fast = [document("Linux", None, linux_timers(100.0))];
    assert_eq!(verdict(&study, &fast, "linux-below-1us"), Holds);
    let two = [linux.clone(), document("Windows", Some("wine"), windows_timers(1945.0))];
    let meant = [("linux", &two[0]), ("windows", &two[1])];
    let meant = meant.map(|(name, run)| (name.to_owned(), run.run.id.clone()));
    let found = StudyFindings::of(&study, &two);
    assert_eq!(found.named, meant);
    let of_wine = found.claims.iter().find(|judged| judged.claim.name == "windows-below-2us");
    assert_eq!(of_wine.unwrap().claim.on, ["wine"], "Wine is shown as what it is");
    assert_eq!(verdict(&study, &two, "windows-below-2us"), Holds);
    assert_eq!(verdict(&study, &two, "windows-much-slower"), Holds);
    assert_eq!(verdict(&study, &two, "windows-2.6-times"), Holds);
    assert_eq!(verdict(&study, &two, "tick-count-10ms"), Holds);
    assert_eq!(verdict(&study, &two, "smp-slower"), NotMeasurable);
    let two = [
        document("Linux", Some("up"), linux_timers(243.0)),
        document("Linux", Some("smp"), linux_timers(243.0 * 1.106)),
    ];
    assert_eq!(verdict(&study, &two, "smp-slower"), Holds);
}

#[test]
fn a_claim_about_an_operating_system_is_judged_by_each_system_on_it() {
    use ClaimVerdict::{Fails, Holds, NotMeasurable};
    let study = parsed("timers", Size::Default);
    let mut qemu = document("Linux", Some("qemu"), linux_timers(300.0));
    qemu.machine.insert(results::EMULATED.to_owned(), "no KVM".into());
    let runs = [
        document("Linux", Some("native"), linux_timers(100.0)),
        document("Linux", Some("uml"), linux_timers(14_800.0)),
        qemu,
        document("Windows", Some("wine"), windows_timers(400.0)),
    ];
    let found = StudyFindings::of(&study, &runs);
    let verdicts = |name: &str| -> Vec<(String, ClaimVerdict)> {
        let of_claim = found.claims.iter().filter(|judged| judged.claim.name == name);
        of_claim.map(|judged| (judged.claim.on.join("/"), judged.verdict)).collect()
    };
    let named = |all: &[(&str, ClaimVerdict)]| -> Vec<(String, ClaimVerdict)> {
        all.iter().map(|(name, verdict)| ((*name).to_owned(), *verdict)).collect()
    };
    let below = [("native", Holds), ("uml", Fails), ("qemu", NotMeasurable)];
    assert_eq!(verdicts("linux-below-1us"), named(&below));
    assert_eq!(verdicts("windows-below-2us"), named(&[("wine", Holds)]));
    let slower = [("wine/native", Holds), ("wine/uml", Fails), ("wine/qemu", NotMeasurable)];
    assert_eq!(verdicts("windows-much-slower"), named(&slower));
    assert_eq!(verdicts("smp-slower"), named(&[("", NotMeasurable)]));
    // Each system has its own figures.
    let table = &found.tables[0];
    assert_eq!(table.systems, ["native", "uml", "qemu", "wine"]);
    let here = |row: usize| -> Vec<Option<f64>> {
        table.rows[row].cells[0].here.iter().map(|here| here.value.map(|it| it.value)).collect()
    };
    assert_eq!(here(3)[1], Some(14.8));
    assert_eq!(here(4), [None, None, None, Some(0.4)]);
}

#[test]
fn the_event_loop_of_windows_is_compared_with_that_of_unix() {
    use ClaimVerdict::{Fails, Holds};
    let study = parsed("network", Size::Default);
    let rate = |arch, value| rate("net/answer", &server(arch), value);
    let linux = [rate("threads", 1e4), rate("epoll", 4e4)].to_vec();
    let on_windows = |value| {
        let lacking = CaseResult {
            outcome: results::Outcome::Unsupported,
            reason: Some("Linux only".to_owned()),
            estimate: None,
            ..rate("epoll", 1.0)
        };
        document("Windows", Some("wine"), vec![rate("threads", 2e3), lacking, rate("iocp", value)])
    };
    let runs = |value| [document("Linux", Some("native"), linux.clone()), on_windows(value)];
    let claim = "architecture-over-system";
    assert_eq!(verdict(&study, &runs(2e4), claim), Holds);
    assert_eq!(verdict(&study, &runs(5e3), claim), Fails, "the system matters more");
    let claim = "architecture-over-windows-and-linux";
    assert_eq!(verdict(&study, &runs(2e4), claim), Holds);
}

#[test]
fn any_two_systems_give_claims_about_ranks_a_verdict() {
    use ClaimVerdict::{Fails, Holds, NotMeasurable};
    let study = parsed("network", Size::Default);
    let mail = [("arch", "loop"), ("connections", "1500"), ("delay", "10ms")];
    let of = |system, rates: [f64; 3], time| {
        let results = vec![
            rate("mail/send", &mail, rates[0]),
            rate("net/answer", &server("threads"), rates[1]),
            rate("net/answer", &server("epoll"), rates[2]),
            result("file/small", &[("size", "32k")], "create-read", "ns", time),
        ];
        document("Linux", Some(system), results)
    };
    let claims = [
        "architecture-over-system",
        "spread-75-percent",
        "linux-35-percent-ahead",
        "files-6-times-the-third",
    ];
    let verdicts = |runs: &[Document]| claims.map(|claim| verdict(&study, runs, claim));
    let (native, sandbox) =
        (of("native", [2e4, 1e4, 4e4], 1e5), of("sandbox", [1e4, 5e3, 2e4], 8e5));
    assert_eq!(verdicts(std::slice::from_ref(&native)), [NotMeasurable; 4]);
    assert_eq!(verdicts(&[native.clone(), sandbox]), [Holds; 4]);
    let like_native = of("sandbox", [2.1e4, 3e4, 4e4], 1.1e5);
    let slow_loop = of("slow", [1.9e4, 1e4, 2e4], 1.2e5);
    assert_eq!(verdicts(&[native, like_native, slow_loop]), [Fails; 4]);
}

#[test]
fn systems_with_names_of_their_own_keep_them() {
    let study = parsed("timers", Size::Default);
    let run = |os, name| document(os, Some(name), Vec::new());
    let runs = [run("Linux", "linux"), run("Linux", "gvisor"), run("Windows", "windows")];
    let meant = StudyFindings::of(&study, &runs).named;
    // The user's name goes before the operating system.
    let expected = [("linux", &runs[0]), ("windows", &runs[2])];
    assert_eq!(meant, expected.map(|(name, run)| (name.to_owned(), run.run.id.clone())));
}

#[test]
fn measured_figures_take_the_layout_of_the_published_table() {
    let study = parsed("timers", Size::Default);
    let runs = [document("Linux", None, linux_timers(74.0))];
    let table = &StudyFindings::of(&study, &runs).tables[0];
    let cell = |row: usize| &table.rows[row].cells[0].here[0];
    assert!((cell(0).value.unwrap().value - 0.222).abs() < 1e-9);
    assert!((cell(0).ratio.unwrap() - 0.3).abs() < 1e-9);
    assert!((cell(3).value.unwrap().value - 0.074).abs() < 1e-9);
    assert!(cell(4).value.is_none() && cell(4).reason.as_ref().unwrap().contains("windows"));

    let study = parsed("syscall", Size::Default);
    let runs =
        [document("Linux", None, vec![result("syscall/read-0", &[], "time", "ns/op", 100.0)])];
    let table = &StudyFindings::of(&study, &runs).tables[0];
    let here: Vec<f64> =
        table.rows.iter().filter_map(|row| Some(row.cells[0].here[0].value?.value)).collect();
    let rounds: Vec<f64> =
        runs[0].results[0].round_values[..10].iter().map(|ns| ns * 1e-3).collect();
    assert_eq!(here, rounds, "each row is a round");

    let study = parsed("locks", Size::Default);
    let lock = |case, workers, ms| {
        result(
            case,
            &[("workers", workers), ("work", "9us"), ("as", "threads")],
            "million-pairs",
            "ms",
            ms,
        )
    };
    let results = vec![
        lock("lock/sysv-sem", "1", 9_593.0),
        lock("lock/sysv-sem", "10", 126_403.0),
        lock("lock/posix-sem-shared", "10", 112_752.0),
    ];
    let runs = [document("Linux", None, results)];
    let table = &StudyFindings::of(&study, &runs).tables[0];
    assert!((table.rows[0].cells[0].here[0].ratio.unwrap() - 1.0).abs() < 1e-9);
    assert!((table.rows[0].cells[5].here[0].value.unwrap().value - 126_403.0).abs() < 1e-6);
    assert!((table.rows[1].cells[5].here[0].ratio.unwrap() - 1.0).abs() < 1e-9);
    assert!(table.rows[1].cells[0].here[0].reason.is_some());
    let ratio = &StudyFindings::of(&study, &runs).tables[1].rows[0].cells[5].here[0];
    assert!((ratio.value.unwrap().value - 1.121).abs() < 1e-3, "{ratio:?}");
}

//! The interface for users of SQL.

use results::{CaseResult, Document, Outcome, RunInfo, SCHEMA};
use shared_store::{Access, open};
use testing::postgres::Server;

use super::battery::{machine, measured, run, strings};
use super::unix::new_store;

type Test = (&'static str, fn(&Server));

pub const TESTS: [Test; 3] = [
    ("views_have_what_the_document_has", views_have_what_the_document_has),
    ("what_is_no_json_for_postgresql_hides_no_other_run", odd_json),
    ("last_is_a_run_of_one_machine", last_of_a_machine),
];

fn document(id: &str, tags: &[(&str, &str)]) -> Document {
    let unsupported = CaseResult {
        outcome: Outcome::Unsupported,
        reason: Some("no such call".to_owned()),
        estimate: None,
        cycles: None,
        rounds: 0,
        ..measured("lock/sysv-sem", 1.0)
    };
    let finished = Some("2026-11-21T20:37:55Z".to_owned());
    let run = RunInfo { finished, tags: strings(tags), ..run(id, "2026-11-21T20:36:55.25Z") };
    Document {
        schema: SCHEMA,
        run,
        machine: machine(),
        results: vec![measured("lock/futex", 20.5), unsupported],
    }
}

fn views_have_what_the_document_has(server: &Server) {
    let (mut store, _, name) = new_store(server);
    store.import(&document("a", &[("kernel", "new")])).expect("imported");
    let runs = "SELECT run, started AT TIME ZONE 'UTC', finished AT TIME ZONE 'UTC', version, writer, machine, facts ->> 'cpu',
                       tags ->> 'kernel', asked ->> 'precision', rounds, results FROM oscost.oscost_runs";
    assert_eq!(
        server.sql(&name, runs),
        "a|2026-11-21 20:36:55.25|2026-11-21 20:37:55|0.1.0|owner|Linux 6.1.0 x86_64, A CPU, 2 CPUs|A CPU|new|0.5%|0|2"
    );
    let points = "SELECT run, case_name, params ->> 'as', metric, unit, better, outcome, reason, value, low, high, cycles, rounds,
                         is_doubtful, tags ->> 'kernel' FROM oscost.oscost_points ORDER BY case_name";
    assert_eq!(
        server.sql(&name, points),
        "a|lock/futex|threads|time|ns/op|lower|measured||20.5|19.5|22.5|61.5|9|f|new\n\
         a|lock/sysv-sem|threads|time|ns/op|lower|unsupported|no such call|||||0|f|new"
    );
    store.put_results("a", &[measured("lock/futex", 21.5)]).expect("replaced");
    assert_eq!(server.sql(&name, "SELECT value FROM oscost.oscost_points"), "21.5");
    store.delete_run("a").expect("deleted");
    assert_eq!(server.sql(&name, "SELECT count(*) FROM oscost.points"), "0");
}

/// JSON may have a NUL character, and PostgreSQL's JSON may not: only texts that are no JSON there have it.
fn odd_json(server: &Server) {
    let (mut store, _, name) = new_store(server);
    let mut odd = document("odd", &[]);
    odd.results[1].reason = Some("a\0b".to_owned());
    store.import(&odd).expect("imported");
    store.import(&document("plain", &[])).expect("imported");
    assert_eq!(store.document("odd").expect("as it was"), odd);
    let points = "SELECT count(*) FROM oscost.oscost_points";
    assert_eq!(server.sql(&name, points), "4");
    let put_nul: [fn(&mut Document); 5] = [
        |run| run.run.asked = strings(&[("group", "a\0b")]),
        |run| run.run.tags = strings(&[("a\0", "b")]),
        |run| drop(run.machine.insert("cpu".to_owned(), "a\0b".into())),
        |run| run.results[0].params = strings(&[("as", "a\0b")]),
        |run| run.results[0].unit = "a\0b".to_owned(),
    ];
    for put in put_nul {
        let mut odder = document("odder", &[]);
        put(&mut odder);
        let error = store.import(&odder).expect_err("refused").to_string();
        assert!(error.contains("NUL"), "{error}");
        store.document("odder").expect_err("nothing of it is there");
    }
    // The machine of a run is its node, unless a tag names that.
    let nodes = "SELECT run, node FROM oscost.oscost_runs ORDER BY run";
    assert_eq!(server.sql(&name, nodes), "odd|\nplain|");
    for (id, tags, node) in [("one", &[][..], "m1"), ("two", &[("node", "n2")], "n2")] {
        let mut run = document(id, tags);
        run.machine.insert("machine_id".to_owned(), "m1".into());
        store.import(&run).expect("imported");
        let nodes = format!("SELECT DISTINCT node FROM oscost.oscost_points WHERE run = '{id}'");
        assert_eq!(server.sql(&name, &nodes), node);
    }
}

/// In a store of two machines `last` is a run of one of them.
fn last_of_a_machine(server: &Server) {
    let (mut store, url, _) = new_store(server);
    for (id, machine) in [("a1", "a"), ("b1", "b"), ("a2", "a"), ("b2", "b")] {
        let mut run = document(id, &[]);
        run.machine.insert("machine_id".to_owned(), machine.into());
        store.import(&run).expect("imported");
    }
    for (machine, last, before) in [("a", "a2", "a1"), ("b", "b2", "b1"), ("c", "b2", "b1")] {
        let store =
            open(&url, Access::Read).expect("a store").for_machine(Some(machine.to_owned()));
        assert_eq!(store.resolve("last").expect("a run"), last, "{machine}");
        assert_eq!(store.resolve("last~1").expect("a run"), before, "{machine}");
        assert!(store.resolve("last~2").expect_err("no third").to_string().contains("one machine"));
    }
}

//! The interface for users of SQL.

use results::{CaseResult, Document, Outcome, RunInfo, SCHEMA};
use testing::postgres::Server;

use super::battery::{machine, measured, run, strings};
use super::unix::new_store;

type Test = (&'static str, fn(&Server));

pub const TESTS: [Test; 2] = [
    ("views_have_what_the_document_has", views_have_what_the_document_has),
    ("what_is_no_json_for_postgresql_hides_no_other_run", odd_json),
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

/// JSON may have a NUL character, and PostgreSQL's JSON may not.
fn odd_json(server: &Server) {
    let (mut store, _, name) = new_store(server);
    let mut odd = document("odd", &[]);
    odd.run.asked = strings(&[("group", "a\0b")]);
    odd.results[1].reason = Some("a\0b".to_owned());
    store.import(&odd).expect("imported");
    store.import(&document("plain", &[])).expect("imported");
    assert_eq!(store.document("odd").expect("as it was"), odd);
    let points = "SELECT count(*) FROM oscost.oscost_points";
    assert_eq!(server.sql(&name, points), "4");
    let runs = "SELECT run, asked FROM oscost.oscost_runs ORDER BY run";
    assert_eq!(server.sql(&name, runs), "odd|\nplain|{\"precision\": \"0.5%\"}");
    odd.run.id = "odder".to_owned();
    odd.run.tags = strings(&[("a\0", "b")]);
    let error = store.import(&odd).expect_err("a tag is a text of PostgreSQL").to_string();
    assert!(error.contains("NUL"), "{error}");
    store.document("odder").expect_err("nothing of it is there");
}

//! The area `mail` as a user runs it: every architecture delivers, limits are reported, and nothing is left in any case of
//! termination.
//!
//! `OSCOST_KILLS=50 cargo test -p oscost --test commands mail_runs::` kills more often than a default test.

use crate::common::hosted::Listening;
use crate::common::linux::{nobody_is_left, nothing_is_left, with_descriptors};
use crate::common::{
    Bench, calls_counted, entries, figure, finish, is_limited, killed_halfway, kills, needs, short,
    skip_unless, times,
};

/// Parameters of a list that is quickly written and read.
const SMALL: &str = "--param recipients=3000 --param domains=300";

#[test]
fn every_architecture_delivers_to_the_same_list() {
    let bench = Bench::new();
    // The case has checked that the sink accepted each recipient and no message.
    let document =
        bench.measured(&format!("mail --param connections=30 --param delay=10ms {SMALL}"));
    for arch in ["loop", "poll", "threads", "processes"] {
        let of = |metric| figure(&document, metric, &[("arch", arch)]);
        assert!(of("rate") >= of("transactions") && of("transactions") > 1.0, "{arch}");
        assert!((1.0..=40.0).contains(&of("open")), "{arch} {}", of("open"));
        // There are at least EHLO and a transaction.
        assert!((1.0..10.0).contains(&of("round-trips")), "{arch} {}", of("round-trips"));
        assert!(of("greeting-p50") >= 10e6 && of("ehlo-p50") >= 10e6, "{arch}");
        assert!(of("greeting-p50") <= of("greeting-p99"), "{arch}");
        assert!(of("sender-cpu") > 100.0 && of("sink-cpu") > 100.0, "{arch}");
        assert!((0.0..1.2).contains(&of("sender-busy")), "{arch} {}", of("sender-busy"));
    }
    nothing_is_left(&bench);
}

#[test]
fn a_message_is_delivered_and_a_list_is_swept() {
    let bench = Bench::new();
    // The case has checked that the sink accepted each recipient, and messages.
    let run = "mail --param arch=loop --param connections=30 --param delay=0 --param message=4k";
    assert!(figure(&bench.measured(&format!("{run} {SMALL}")), "rate", &[]) > 1.0);
    let list: String = (0..300).map(|nth| format!("r{nth}@d{}.example\n", nth % 30)).collect();
    let list = bench.write("list.csv", &format!("email\n{list}"));
    let message = bench.write("message.eml", "From: a@b.example\n\nHello\n");
    let sink = Listening::start(&mut bench.command("mail sink --listen 127.0.0.1:0 --json"));
    let at = sink.address;
    let files = format!("--list {} --message {}", list.display(), message.display());
    let sweep =
        format!("mail send {files} --from a@b.example --relay {at} --sweep 1..12 --passes 2");
    let document = bench.oscost(&format!("{sweep} --json")).with(0).json();
    let steps = document["steps"].as_array().expect("steps");
    let numbers: Vec<u64> = steps.iter().filter_map(|s| s["connections"].as_u64()).collect();
    assert_eq!(numbers, [1, 10, 12]);
    for step in steps {
        assert_eq!(step["recipients_per_s"].as_array().map(Vec::len), Some(2), "{step}");
        assert_eq!(step["not_accepted"], 0);
    }
    bench.oscost(&sweep).with(0).says(&["the rate is"]);
    let elsewhere = format!("mail send {files} --from a@b.example --sweep 1..9");
    bench.oscost(&elsewhere).with(2).complains(&["--sweep", "--relay"]);
    let counted = sink.stop().json();
    assert_eq!(counted["messages"], 0, "{counted}");
}

#[test]
fn the_untimed_pass_counts_what_the_sender_calls() {
    skip_unless!(needs::root("to count by tracepoints"));
    let bench = Bench::new();
    let document = bench.measured(&format!(
        "mail --param arch=loop,processes --param connections=1 --param delay=10ms {SMALL}"
    ));
    for time in times(&document) {
        let Some(calls) = calls_counted(time) else { return };
        // A connection with a transaction takes some twenty to sixty calls, for two recipients or many.
        assert!((0.1..100.0).contains(&calls), "{time}");
    }
}

#[test]
fn a_transaction_longer_than_the_counted_time_is_measured() {
    let bench = Bench::new();
    let document = bench.measured(&format!(
        "mail --param arch=loop --param connections=1 --param delay=200ms {SMALL}"
    ));
    // A transaction has several replies, of 200 ms each, and at most 100 recipients; there is one connection.
    let rates: Vec<_> =
        times(&document).iter().filter_map(|time| time["estimate"]["median"].as_f64()).collect();
    assert!(!rates.is_empty(), "{document}");
    assert!(rates.iter().all(|&ns| ns > 200e6 / 100.0), "{rates:?}");
}

#[test]
fn its_tables_say_what_was_the_limit() {
    let bench = Bench::new();
    let run = format!(
        "run mail --quick --precision 50% --budget 60s --param arch=loop,threads --param connections=1,20 --param delay=10ms {SMALL}"
    );
    let said = bench.oscost(&run).with(0);
    let title = "mail/send (delay=10ms, recipients=3000, domains=300): recipients accepted per";
    assert!(said.out.contains(title), "{}", said.out);
    // With one connection neither CPU is busy, except by other programs.
    let legends = ["~: neither CPU", "?: the machine was disturbed"];
    assert!(legends.iter().any(|legend| said.out.contains(legend)), "{}", said.out);
}

#[test]
fn impossible_parameters_are_rejected_with_the_reason() {
    let bench = Bench::new();
    let run = "mail --param arch=loop --param connections=10,400 --param delay=0 --param recipients=3000 --param domains=300";
    let mut command = bench.command(&short(run));
    let said = finish(with_descriptors(&mut command, 256)).with(0).notes(&["ulimit"]);
    is_limited(&said.json(), ["10", "400"], "256");

    let few = "run mail --quick --param recipients=5 --param domains=6 --json";
    let document = bench.oscost(few).with(3).json();
    let why = times(&document)[0]["reason"].as_str().map(str::to_owned);
    assert_eq!(why.as_deref(), Some("5 recipients cannot be in 6 domains"));
    bench.oscost("run mail --param arch=fork").with(2).complains(&["fork", "processes"]);
    bench.oscost("run mail --param delay=soon").with(2).complains(&["soon", "10ms"]);
}

#[test]
fn however_it_is_killed_no_sender_sink_or_list_is_left() {
    for nth in 0..kills(3) {
        let bench = Bench::new();
        let arch = ["processes", "threads", "loop"][nth % 3];
        let run = format!(
            "run mail --quick --param arch={arch} --param connections=50 --param delay=10ms"
        );
        killed_halfway(&bench, &run, 2_100, nth);
        nobody_is_left(&bench);
        // The next run removes the list.
        bench.oscost("run clock/time --quick --budget 2s").ended();
        assert_eq!(entries(&bench.temp()), Vec::<String>::new());
    }
}

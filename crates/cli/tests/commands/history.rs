//! `oscost history`, `oscost watch` and `oscost runs --thin`, on nights that are simulated, and predicted as after a real run.

use crate::common::nights::{GOOD, Matter, Nights, SLOW, scale};
use crate::common::{Bench, Says};
use results::Store;
use serde_json::{Value, json};

/// The states of all watched figures.
fn states(watched: &Value) -> Vec<&str> {
    let figures = watched["figures"].as_array().expect("figures");
    figures.iter().map(|figure| figure["state"].as_str().expect("a state")).collect()
}

#[test]
fn a_step_is_suspect_once_then_an_alarm_until_it_is_accepted() {
    const WATCH: &str = "watch --all --worse-than 3%";
    let bench = Bench::new();
    let mut nights = Nights::new(&bench);
    for night in 0..40 {
        // A spike of all figures, which is none of the system's.
        let matter = match night {
            15 => Matter { cycles: 40.0, memory: 1.3, ..GOOD },
            _ => GOOD,
        };
        nights.run(matter);
        if night == 15 {
            let watched = bench.oscost("watch --all --worse-than 3% --json").with(0).json();
            assert!(states(&watched).contains(&"suspect"), "{watched}");
        }
    }
    bench.oscost(WATCH).with(0).says(&["4 figures of run 20261012-020000-0001"]);

    let first = nights.run(SLOW);
    let watched = bench.oscost("watch syscall --worse-than 3% --json").with(0).json();
    assert_eq!(states(&watched), ["suspect"; 3], "{watched}");
    nights.run(SLOW);
    let alarm = bench.oscost(WATCH).with(1).says(&["since 2026-10-13: syscall/call-0 +"]).out;
    let first_words = "ALARM    3 figures (entries into the kernel) for 2 visits";
    assert!(alarm.starts_with(first_words), "{alarm}");

    nights.run_many(8, SLOW);
    bench.oscost(WATCH).with(1);
    let told = bench.oscost("history --json").with(0).json();
    let events = told["series"][0]["events"].as_array().expect("events").clone();
    assert_eq!(events.len(), 1, "{events:?}");
    let event = &events[0];
    assert_eq!(event["id"], format!("{first}/entries-into-the-kernel/worse"));
    assert_eq!(event["figures"].as_array().expect("figures").len(), 3);
    assert_eq!(event["facts"]["release"], json!(["6.12.3", "6.12.4"]));
    let cycles = event["cycles_per_entry"].as_f64().expect("a number");
    assert!((cycles - 24.0).abs() < 1.5, "{cycles}");

    let id = event["id"].as_str().expect("an id");
    let other = "history --accept 20261013-020000-0001/entries/worse --why known";
    bench.oscost(other).complains(&["no event"]);
    bench.oscost(&format!("history --accept {id} --why known")).with(0);
    bench.oscost(WATCH).with(0);
    bench.oscost("history").with(0).says(&["accepted  +24 cycles per entry (+", "accepted: known"]);
    // What is worse than what was accepted is an alarm again.
    nights.run_many(2, Matter { cycles: 60.0, ..SLOW });
    bench.oscost(WATCH).with(1);
}

#[test]
fn a_history_has_its_changes_and_plots_one_point() {
    let bench = Bench::new();
    let mut nights = Nights::new(&bench);
    nights.run_many(30, GOOD);
    nights.run_many(12, SLOW);
    let text = bench.oscost("history").with(0).out;
    assert!(text.contains("2026-10-03  worse     +24 cycles per entry"), "{text}");
    text.says(&["release 6.12.3 → 6.12.4", "1 figure has no change"]);
    bench.oscost("history syscall/call-0").with(0).says(&["a visit", "30 and 12 visits"]);
    let by = bench.oscost("history syscall/call-0 --by kernel --json").with(0).json();
    let by: Vec<&Value> =
        by["series"].as_array().expect("series").iter().map(|s| &s["by"]).collect();
    assert_eq!(by, ["6.12.3", "6.12.4"]);
    bench.oscost("history nothing").complains(&["no run has figures of \"nothing\""]);
    bench.oscost("history --by week").complains(&["day, kernel, commit, or tag.KEY"]);
}

/// Nothing can be judged by a single run: that is neither good nor bad.
#[test]
fn a_first_run_cannot_be_judged() {
    let bench = Bench::new();
    bench.oscost("watch --all").complains(&["no store"]);
    let mut nights = Nights::new(&bench);
    nights.run(GOOD);
    bench.oscost("watch --all").with(3).says(&["4 without a prediction"]);
    bench.oscost("watch").complains(&["name what to watch"]);
}

#[test]
fn thinning_removes_samples_and_no_figure() {
    let bench = Bench::new();
    bench.oscost("run std-instant --precision 50% --budget 60s").with(0);
    let before = bench.oscost("export last").with(0).out;
    bench.oscost("runs --thin 1d").with(0);
    assert!(bench.oscost("show --plot").with(0).out.contains("distribution"));
    bench.oscost("runs --thin 0d").with(0).notes(&["the samples of 1 run are removed"]);
    assert_eq!(bench.oscost("export last").with(0).out, before);
    assert!(bench.oscost("show --plot").with(0).out.contains("nothing to plot"));
    bench.oscost("history std-instant").with(0);
    bench.oscost("runs --thin 90").complains(&["such as 90d"]);
}

/// Nights with the figures of a real run times a factor; the newest one has a factor of its own.
fn nights_of_real(bench: &Bench, factor: f64, newest: f64) {
    const NIGHTS: usize = 20;
    bench.oscost("run std-instant --precision 50% --budget 60s").with(0);
    let mut store = Store::open(&bench.store()).expect("a store");
    let measured = store.document(&store.resolve("last").expect("a run")).expect("a document");
    store.delete_run(&measured.run.id).expect("deleted");
    for night in 1..=NIGHTS {
        let mut run = measured.clone();
        run.run.id = format!("202610{night:02}-020000-0001");
        run.run.started = format!("2026-10-{night:02}T02:00:00Z");
        run.run.finished = Some(format!("2026-10-{night:02}T02:01:00Z"));
        let factor = if night == NIGHTS { newest } else { factor };
        for result in &mut run.results {
            scale(result, factor);
            let median = result.estimate.expect("a figure").median;
            let next_run = json!({
                "low": 0.98 * median, "high": 1.02 * median, "level": 0.95, "deviation": 0.01, "degrees": 20.0,
                "visits": night, "boots": 1, "days": night, "source": "visits",
            });
            result.next_run = Some(serde_json::from_value(next_run).expect("a prediction"));
        }
        store.import(&run).expect("imported");
    }
}

/// A suspect figure is measured again: what is then as good as before stays suspect, and what is as bad is an alarm.
#[test]
fn a_fresh_measurement_decides_about_a_suspect() {
    for (factor, newest, code, said) in
        [(2.0, 4.0, 0, "not confirmed by a fresh run"), (0.25, 1.0, 1, "confirmed by a fresh run")]
    {
        let bench = Bench::new();
        nights_of_real(&bench, factor, newest);
        let before = bench.oscost("watch std-instant").with(0).out;
        assert!(before.starts_with("suspect  clock/std-instant"), "{before}");
        bench.oscost("watch std-instant --confirm").with(code).says(&[said]);
        let runs = bench.oscost("runs --json").with(0).json();
        let fresh = runs.as_array().and_then(|runs| runs.last()).expect("a run");
        assert_eq!(fresh["tags"]["confirms"], "20261020-020000-0001");
        assert_eq!(fresh["asked"], json!({ "filters": "clock/std-instant" }));
        // The fresh measurement is evidence about the night, and no visit of its own.
        assert_eq!(bench.oscost("watch std-instant").with(0).out, before);
    }
}

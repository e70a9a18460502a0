//! Two runs of the same program on the same machine differ. Which differences mean something?
//!
//! The interval of a ratio comes from the spread between rounds, that is between fresh processes, of
//! both runs. All comparisons with one run share one chance of error (Bonferroni). And no verdict
//! falls below the noise floor: what the machine itself was seen to change by, in the course of these
//! runs, in its own speed from one to the other, from one steady mode of the operation to another, and
//! in earlier checks of equal against equal.

use std::collections::{BTreeMap, BTreeSet};

use measure::doubt::is_client_saturated;
use measure::stats::{LEVEL, RoundMedian, interval_of, median, t_quantile};
use results::{CaseResult, Document, Estimate, Outcome};

use crate::noise::NoiseCheck;
use crate::overtaking::SERVERS;
use crate::verdict::Verdict;

/// No difference below this share is called one, however sure the rounds are: where a program and
/// its data happen to lie in memory changes a figure by that much.
pub(crate) const FLOOR_AT_LEAST: f64 = 0.01;
/// The sentinel's calls come in steady modes of their own so far apart, which say nothing of others.
const CALLS_MODES: f64 = 0.05;
/// Metrics that verdicts are given on: the others are properties, or follow from these. See also [`is_compared`].
const COMPARED_METRICS: [&str; 4] = ["time", "rate", "turnaround", "server-cpu"];

/// How runs are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// A difference certainly within this share is called `same`.
    pub margin: f64,
    /// The chance of any wrong verdict among all comparisons with one run.
    pub chance: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { margin: 0.02, chance: 1.0 - LEVEL }
    }
}

/// One metric of one case, in the base run and another.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The case with its parameters.
    pub label: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The base's figure, if it has one.
    pub base: Option<Estimate>,
    /// The other run's figure, if it has one.
    pub new: Option<Estimate>,
    /// The other's by the base's; `None` where there is nothing to divide.
    pub ratio: Option<Ratio>,
    /// The smallest difference that could be told here, as a share.
    pub floor: f64,
    /// What can be said for certain.
    pub verdict: Verdict,
    /// What would settle it, or why it cannot be compared; may be empty.
    pub note: String,
}

/// A ratio with the interval on which the verdict stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio of the medians.
    pub mid: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// Something besides the measured things that differs between runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The fact's key.
    pub key: String,
    /// Each run's value, the base's first.
    pub values: Vec<String>,
}

/// Compares `new` with `base`, one row for each of the compared metrics that either has. What both runs found
/// unsupported is left out.
pub fn compare(
    base: &Document,
    new: &Document,
    noise: &NoiseCheck,
    settings: &Settings,
) -> Vec<Compared> {
    let mut rows: Vec<(Option<&CaseResult>, Option<&CaseResult>)> = pairs(base, new)
        .into_iter()
        .filter(|(base, new)| !(is_unsupported(base) && new.is_some_and(is_unsupported)))
        .map(|(base, new)| (Some(base), new))
        .collect();
    let only_new = pairs(new, base).into_iter().filter(|(_, base)| base.is_none());
    rows.extend(only_new.map(|(new, _)| (None, Some(new))));
    let held_back = held_back(&[base, new]);
    let comparable = rows.iter().filter(|(base, new)| change(*base, *new).is_some()).count();
    let chance = settings.chance / comparable.max(1) as f64;
    let judged = rows.into_iter().map(|(base, new)| {
        let row = judge(base, new, chance, noise, settings);
        let held_back = base.or(new).is_some_and(|r| held_back.contains(&(&r.case, &r.params)));
        if held_back { without_verdict(row) } else { row }
    });
    judged.collect()
}

/// The points at which, in any of the runs, the load generator was the bottleneck.
fn held_back<'a>(runs: &[&'a Document]) -> BTreeSet<(&'a String, &'a BTreeMap<String, String>)> {
    let results = runs.iter().flat_map(|run| &run.results);
    results.filter(|r| is_saturated(r)).map(|r| (&r.case, &r.params)).collect()
}

/// Whether the doubts say that a rate is the load generator's, not the server's.
pub(crate) fn is_saturated(result: &CaseResult) -> bool {
    result.doubts.iter().any(|doubt| is_client_saturated(doubt))
}

/// The row where the load generator was the bottleneck: its time says nothing of the server, whose CPU time does.
fn without_verdict(row: Compared) -> Compared {
    if row.ratio.is_none() || row.metric != "time" {
        return row;
    }
    let note = "the load generator was the bottleneck: `server-cpu` tells more".to_owned();
    Compared { verdict: Verdict::CannotTell, note, ..row }
}

/// The facts among `keys`, and the ways of measuring, in which the runs do not all agree.
pub fn also_differs(runs: &[&Document], keys: &[&str]) -> Vec<Difference> {
    let fact = |run: &Document, key: &str| match run.machine.get(key) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "unknown".to_owned(),
    };
    let asked = |run: &Document, key: &str| match run.run.asked.get(key) {
        Some(text) => text.clone(),
        None => "none".to_owned(),
    };
    let mut all: Vec<Difference> = Vec::new();
    let mut add = |key: &str, values: Vec<String>| {
        if values.windows(2).any(|pair| pair[0] != pair[1]) {
            all.push(Difference { key: key.to_owned(), values });
        }
    };
    for key in keys {
        add(key, runs.iter().map(|run| fact(run, key)).collect());
    }
    add("oscost", runs.iter().map(|run| run.run.oscost.clone()).collect());
    for key in ["handicap", "cpu", "size", "precision"] {
        let name = format!("asked {key}");
        add(&name, runs.iter().map(|run| asked(run, key)).collect());
    }
    all
}

/// The compared results of `base`, each with its counterpart in `new`.
pub(crate) fn pairs<'a>(
    base: &'a Document,
    new: &'a Document,
) -> Vec<(&'a CaseResult, Option<&'a CaseResult>)> {
    let identity = |r: &'a CaseResult| (&r.case, &r.params, &r.metric);
    let known: BTreeMap<_, _> = new.results.iter().map(|r| (identity(r), r)).collect();
    let compared = base.results.iter().filter(|r| is_compared(r));
    compared.map(|r| (r, known.get(&identity(r)).copied())).collect()
}

/// Whether a verdict is given on it. A server's rate is no more than how many of its times go into a second.
fn is_compared(result: &CaseResult) -> bool {
    let says_the_same = result.metric == "rate" && SERVERS.contains(&result.case.as_str());
    COMPARED_METRICS.contains(&result.metric.as_str()) && !says_the_same
}

/// The logarithms of both medians, where both are measured and positive.
pub(crate) fn log_medians(base: &CaseResult, new: &CaseResult) -> Option<(f64, f64)> {
    let log = |r: &CaseResult| r.estimate.map(|e| e.median).filter(|&m| m > 0.0).map(f64::ln);
    Some((log(base)?, log(new)?))
}

fn is_unsupported(result: &CaseResult) -> bool {
    result.outcome == Outcome::Unsupported
}

/// A change of the logarithm, and how sure it is.
struct Change {
    log_ratio: f64,
    error: f64,
    degrees: f64,
    drift: f64,
}

fn change(base: Option<&CaseResult>, new: Option<&CaseResult>) -> Option<Change> {
    let (base, new) = (base?, new?);
    if base.unit != new.unit {
        return None;
    }
    let (base_log, new_log) = log_medians(base, new)?;
    let (base_spread, new_spread) = (Spread::of(base)?, Spread::of(new)?);
    let (error, degrees) =
        welch((base_spread.error, base_spread.degrees), (new_spread.error, new_spread.degrees));
    Some(Change {
        log_ratio: new_log - base_log,
        error,
        degrees,
        drift: [
            base_spread.drift,
            new_spread.drift,
            speed_shift(base, new),
            modes(base),
            modes(new),
        ]
        .into_iter()
        .fold(0.0, f64::max),
    })
}

/// The error of a difference and its degrees of freedom, from those of either side (Welch 1947,
/// Satterthwaite 1946).
pub(crate) fn welch((a, a_degrees): (f64, f64), (b, b_degrees): (f64, f64)) -> (f64, f64) {
    let (a, b) = (a.powi(2), b.powi(2));
    let below = a.powi(2) / a_degrees + b.powi(2) / b_degrees;
    let degrees = if below > 0.0 { (a + b).powi(2) / below } else { a_degrees };
    ((a + b).sqrt(), degrees)
}

/// How the rounds of one run lie about their median, in logarithms.
struct Spread {
    /// Standard error of the median.
    error: f64,
    degrees: f64,
    /// What the second half of the run differs from the first by, beyond its own error.
    drift: f64,
}

impl Spread {
    /// `None` if there are fewer than two rounds, or values that have no logarithm.
    fn of(result: &CaseResult) -> Option<Self> {
        let logs: Vec<f64> = result.round_values.iter().map(|value| value.ln()).collect();
        if logs.len() < 2 || !logs.iter().all(|log| log.is_finite()) {
            return None;
        }
        let degrees = logs.len() as f64 - 1.0;
        let rounds: Vec<RoundMedian> = logs.iter().map(|&log| RoundMedian::exact(log)).collect();
        let interval = interval_of(&rounds, 1);
        let half = (interval.high - interval.low) / 2.0;
        let error = half / t_quantile(1.0 - (1.0 - LEVEL) / 2.0, degrees);
        let (first, second) = logs.split_at(logs.len() / 2);
        let between = (median(&mut first.to_vec()) - median(&mut second.to_vec())).abs();
        // Halves differ by twice the whole's error for no reason; what is more is the machine's.
        Some(Self { error, degrees, drift: (between / 2.0 - 2.0 * error).max(0.0) })
    }
}

/// What the sentinel says the machine's own speed differed by, from one run to the other.
fn speed_shift(base: &CaseResult, new: &CaseResult) -> f64 {
    let (Some(base), Some(new)) = (base.reference, new.reference) else { return 0.0 };
    let shift = |base: f64, new: f64| match base > 0.0 && new > 0.0 {
        true => (new / base).ln().abs(),
        false => 0.0,
    };
    let calls = shift(base.calls.unwrap_or(0.0), new.calls.unwrap_or(0.0));
    let beyond_modes = if calls > CALLS_MODES { calls } else { 0.0 };
    shift(base.alu, new.alu).max(shift(base.chase, new.chase)).max(beyond_modes)
}

/// How far apart the middle half of the quiet samples lies. Where an operation comes in two steady
/// modes, the median is one or the other, and a small shift between them moves it all the way.
fn modes(result: &CaseResult) -> f64 {
    match result.quiet_quartiles {
        Some([lower, upper]) if lower > 0.0 => (upper / lower).ln(),
        _ => 0.0,
    }
}

fn judge(
    base: Option<&CaseResult>,
    new: Option<&CaseResult>,
    chance: f64,
    noise: &NoiseCheck,
    settings: &Settings,
) -> Compared {
    let any = base.or(new).expect("a row has a result");
    let mut row = Compared {
        label: any.label(),
        metric: any.metric.clone(),
        unit: any.unit.clone(),
        base: base.and_then(|r| r.estimate),
        new: new.and_then(|r| r.estimate),
        ratio: None,
        floor: 0.0,
        verdict: Verdict::NotComparable,
        note: String::new(),
    };
    let Some(change) = change(base, new) else {
        row.note = why_no_pair(base, new);
        return row;
    };
    let half = t_quantile(1.0 - chance / 2.0, change.degrees) * change.error;
    let (low, high) = (change.log_ratio - half, change.log_ratio + half);
    row.ratio = Some(Ratio { mid: change.log_ratio.exp(), low: low.exp(), high: high.exp() });
    let checked = noise.of(&row.label, &row.metric).unwrap_or(0.0);
    row.floor = FLOOR_AT_LEAST.max(checked).max(change.drift.exp_m1());
    let (floor, margin) = (row.floor.ln_1p(), settings.margin.ln_1p());
    let disturbed = [base, new].into_iter().flatten().any(|result| result.disturbed);
    row.verdict = if disturbed {
        row.note = "disturbed nearly throughout: a quieter machine would settle it".to_owned();
        Verdict::CannotTell
    } else if low > floor || high < -floor {
        Verdict::of_change(&row.metric, any.better, low > floor)
    } else if low > -margin && high < margin {
        Verdict::Same
    } else {
        row.note = what_would_settle(&change, half, &row, settings);
        Verdict::CannotTell
    };
    row
}

fn why_no_pair(base: Option<&CaseResult>, new: Option<&CaseResult>) -> String {
    let missing = |which: &str, result: Option<&CaseResult>| match result {
        None => Some(format!("the {which} run did not measure it")),
        Some(result) if result.outcome != Outcome::Measured => {
            let reason = result.reason.as_deref().unwrap_or("no reason given");
            Some(format!("{} in the {which} run: {reason}", result.outcome.word()))
        }
        Some(_) => None,
    };
    let units = || match (base, new) {
        (Some(base), Some(new)) if base.unit != new.unit => {
            format!("measured in {} and in {}", base.unit, new.unit)
        }
        _ => "too few rounds".to_owned(),
    };
    missing("base", base).or_else(|| missing("new", new)).unwrap_or_else(units)
}

/// How many times the rounds would do, or that the machine has to become quieter.
fn what_would_settle(change: &Change, half: f64, row: &Compared, settings: &Settings) -> String {
    let (distance, floor) = (change.log_ratio.abs(), row.floor.ln_1p());
    let room = if distance > floor { distance - floor } else { settings.margin.ln_1p() - distance };
    // An interval shrinks with the root of the number of rounds.
    let times = (half / room).powi(2);
    if room <= 0.0 {
        let floor = row.floor * 100.0;
        format!("the machine itself varies by {floor:.1} %: a quieter one would settle it")
    } else if times > 1_000.0 {
        "no number of rounds would settle it: it varies too much from round to round".to_owned()
    } else {
        format!("about {:.0} times as many rounds would settle it", times.max(2.0).ceil())
    }
}

#[cfg(test)]
mod tests {
    use results::Better;

    use super::*;

    fn result(case: &str, round_values: Vec<f64>) -> CaseResult {
        let mut sorted = round_values.clone();
        let median = median(&mut sorted);
        let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
        CaseResult {
            estimate: Some(Estimate { median, low, high, level: 0.95 }),
            rounds: round_values.len() as u32,
            round_values,
            ..CaseResult::blank(case, BTreeMap::new(), "time", "ns/op", Better::Lower)
        }
    }

    fn run(results: Vec<CaseResult>) -> Document {
        let mut document = results::parse_document(
            r#"{"schema":1,"run":{"id":"x","started":"2026-11-21T00:00:00Z","seed":1,"oscost":"0"},
                "machine":{"release":"6.1"},"results":[]}"#,
        )
        .unwrap();
        document.results = results;
        document
    }

    /// Rounds about `center`, a share of `spread` apart, the same for the same `salt`.
    fn rounds(center: f64, spread: f64, n: usize, salt: usize) -> Vec<f64> {
        (0..n)
            .map(|i| {
                let noise = ((i * 7919 + salt * 104_729) % 1009) as f64 / 1009.0 - 0.5;
                center * (1.0 + spread * noise)
            })
            .collect()
    }

    fn verdict(base: Vec<f64>, new: Vec<f64>) -> Verdict {
        let (base, new) = (run(vec![result("a/b", base)]), run(vec![result("a/b", new)]));
        compare(&base, &new, &NoiseCheck::default(), &Settings::default())[0].verdict
    }

    #[test]
    fn three_percent_is_found_and_chance_is_not() {
        let base = rounds(165.0, 0.01, 12, 1);
        assert_eq!(verdict(base.clone(), rounds(165.0 * 1.03, 0.01, 12, 2)), Verdict::Slower);
        assert_eq!(verdict(base.clone(), rounds(165.0 * 0.97, 0.01, 12, 2)), Verdict::Faster);
        assert_eq!(verdict(base.clone(), rounds(165.0, 0.01, 12, 2)), Verdict::Same);
        assert_eq!(verdict(base, rounds(165.0, 0.5, 12, 2)), Verdict::CannotTell);
    }

    #[test]
    fn what_says_the_same_is_compared_once() {
        let metrics = |case: &str| {
            let all = ["time", "rate", "server-cpu", "reply-p99"].map(|metric| CaseResult {
                metric: metric.to_owned(),
                ..result(case, rounds(100.0, 0.01, 6, 1))
            });
            let run = run(all.to_vec());
            let rows = compare(&run, &run, &NoiseCheck::default(), &Settings::default());
            rows.into_iter().map(|row| row.metric).collect::<Vec<_>>()
        };
        assert_eq!(metrics("net/requests"), ["time", "server-cpu"]);
        assert_eq!(metrics("lock/mutex"), ["time", "rate", "server-cpu"]);
    }

    #[test]
    fn no_verdict_falls_below_the_floor() {
        // Half a percent, told apart beyond doubt, and still not called a difference.
        let (base, new) = (rounds(100.0, 1e-5, 12, 1), rounds(100.5, 1e-5, 12, 2));
        assert_eq!(verdict(base, new), Verdict::Same);
        // A difference that equal runs have shown before.
        let (base, new) = (
            run(vec![result("a/b", rounds(100.0, 1e-3, 12, 1))]),
            run(vec![result("a/b", rounds(104.0, 1e-3, 12, 2))]),
        );
        let mut noise = NoiseCheck::default();
        noise.add(&run(vec![result("a/b", vec![100.0])]), &run(vec![result("a/b", vec![105.0])]));
        let row = &compare(&base, &new, &noise, &Settings::default())[0];
        assert_eq!(row.verdict, Verdict::CannotTell);
        assert!((row.floor - 0.05).abs() < 1e-9);
    }

    #[test]
    fn a_machine_that_ran_at_another_speed_is_no_verdict() {
        let with_speed = |time: f64, alu: f64, calls: f64| {
            let mut result = result("a/b", rounds(time, 1e-3, 12, 1));
            result.reference =
                Some(results::Reference { alu, chase: 700.0, calls: Some(calls), chain: None });
            run(vec![result])
        };
        let base = with_speed(85.5, 665.0, 363.0);
        let compared = |new: &Document| {
            compare(&base, new, &NoiseCheck::default(), &Settings::default()).remove(0)
        };
        let row = compared(&with_speed(75.5, 583.0, 363.0));
        assert_eq!(row.verdict, Verdict::CannotTell);
        assert!(row.note.contains("varies by 14.1 %"), "{}", row.note);
        assert_eq!(compared(&with_speed(89.0, 665.0, 390.0)).verdict, Verdict::CannotTell);
        assert_eq!(compared(&with_speed(89.0, 665.0, 375.0)).verdict, Verdict::Slower);
    }

    #[test]
    fn another_steady_mode_of_the_same_operation_is_no_verdict() {
        let with_modes = |time: f64| {
            let mut result = result("a/b", rounds(time, 1e-3, 12, 1));
            result.quiet_quartiles = Some([3.9, 5.0]);
            run(vec![result])
        };
        let (base, new) = (with_modes(3.9), with_modes(4.18));
        let row = &compare(&base, &new, &NoiseCheck::default(), &Settings::default())[0];
        assert_eq!(row.verdict, Verdict::CannotTell);
    }

    #[test]
    fn a_time_that_the_generator_held_back_is_no_verdict() {
        let of = |metric: &str, value: f64| CaseResult {
            metric: metric.to_owned(),
            better: if metric == "rate" { Better::Higher } else { Better::Lower },
            ..result("net/answer", rounds(value, 1e-3, 12, 1))
        };
        let all = |rate: f64, cpu: f64| {
            vec![of("time", 1e9 / rate), of("rate", rate), of("server-cpu", cpu)]
        };
        let verdicts = |base: Vec<CaseResult>, new: Vec<CaseResult>| {
            let compared =
                compare(&run(base), &run(new), &NoiseCheck::default(), &Settings::default());
            compared.into_iter().map(|row| row.verdict).collect::<Vec<_>>()
        };
        let (base, mut new) = (all(50e3, 10e3), all(60e3, 8e3));
        let [faster, better] = [Verdict::Faster, Verdict::Better];
        assert_eq!(verdicts(base.clone(), new.clone()), [faster, better]);
        new[0].doubts.push("client-saturated: the generator could not ask for more".to_owned());
        assert_eq!(verdicts(base, new), [Verdict::CannotTell, better]);
    }

    #[test]
    fn what_was_disturbed_throughout_is_no_verdict() {
        let of_rate = |rate: f64| result("a/b", rounds(rate, 1e-3, 12, 1));
        let (base, mut new) = (of_rate(100.0), of_rate(300.0));
        new.disturbed = true;
        let settings = Settings::default();
        let row = &compare(&run(vec![base]), &run(vec![new]), &NoiseCheck::default(), &settings)[0];
        assert_eq!(row.verdict, Verdict::CannotTell);
        assert!(row.note.starts_with("disturbed"), "{}", row.note);
    }

    #[test]
    fn a_run_that_drifted_is_no_verdict() {
        let mut drifted = rounds(100.0, 1e-3, 6, 1);
        drifted.extend(rounds(110.0, 1e-3, 30, 2));
        let row_verdict = verdict(drifted, rounds(100.0, 1e-3, 12, 3));
        assert_ne!(row_verdict, Verdict::Same);
    }

    /// Many cases, all equal but for chance: the error rate is that of the whole family.
    #[test]
    fn wrong_verdicts_stay_within_the_promised_chance() {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let uniform = |key: (usize, usize, usize)| {
            let mut hasher = DefaultHasher::new();
            key.hash(&mut hasher);
            hasher.finish() as f64 / u64::MAX as f64
        };
        const FAMILIES: usize = 60;
        let mut wrong = 0;
        for family in 0..FAMILIES {
            let document = |which: usize| {
                run((0..40)
                    .map(|case| {
                        let values = (0..6)
                            .map(|round| {
                                let key = (family * 2 + which, case, round);
                                let sum: f64 =
                                    (0..12).map(|k| uniform((key.0, key.1, round * 100 + k))).sum();
                                100.0 * (0.03 * (sum - 6.0)).exp()
                            })
                            .collect();
                        result(&format!("a/c{case}"), values)
                    })
                    .collect())
            };
            let rows =
                compare(&document(0), &document(1), &NoiseCheck::default(), &Settings::default());
            wrong += usize::from(rows.iter().any(|row| row.verdict.is_difference()));
        }
        // 5 % of 60 families is 3; 6 would be beyond two standard errors.
        assert!(wrong <= 6, "{wrong} of {FAMILIES} families");
    }

    #[test]
    fn what_cannot_be_paired_says_why() {
        let mut unsupported = result("a/b", vec![1.0, 2.0]);
        unsupported.outcome = Outcome::Unsupported;
        unsupported.estimate = None;
        unsupported.reason = Some("no such call".into());
        let missing = run(vec![unsupported]);
        let measured = run(vec![result("a/b", vec![1.0, 2.0])]);
        let settings = Settings::default();
        let row = &compare(&measured, &missing, &NoiseCheck::default(), &settings)[0];
        assert_eq!(row.verdict, Verdict::NotComparable);
        assert_eq!(row.note, "unsupported in the new run: no such call");
        assert_eq!(compare(&missing, &missing, &NoiseCheck::default(), &settings), []);
        let row = &compare(&run(vec![]), &measured, &NoiseCheck::default(), &settings)[0];
        assert_eq!(row.note, "the base run did not measure it");
    }

    #[test]
    fn facts_in_which_runs_differ_are_listed() {
        let (base, mut new) = (run(vec![]), run(vec![]));
        new.machine.insert("release".into(), "6.2".into());
        new.machine.insert("load".into(), "9".into());
        let found = also_differs(&[&base, &new], &["release", "cpu"]);
        assert_eq!(
            found,
            [Difference { key: "release".into(), values: vec!["6.1".into(), "6.2".into()] }]
        );
    }
}

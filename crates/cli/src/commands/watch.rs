//! `oscost watch`: whether the newest run is worse than those before it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use analysis::history::{Again, HistoryRun, RunSeries, State, Trend, Watch, Watched, series_of};
use analysis::{Settings, Verdict, compare};
use command::ending::{Ending, Usage};
use command::interrupt::stop_on_interrupt;
use command::output::{note, page, print, print_json};
use command::store::{store_to_read, store_to_write};
use rayon::prelude::*;
use report::{WatchPage, watch_text};
use results::{CONFIRMS, Document, PointKey, Store};
use runner::Options;
use serde_json::{Value, json};

use super::again::{alone, asked_for, options_for};
use super::exchange::seconds_now;
use super::history::{Told, metrics_of, own_last, runs_of};
use super::on::{measure_on, systems_of};
use crate::args::{OnSystems, WatchArgs};

const DAY: f64 = 86_400.0;

/// Judges the newest run.
pub fn watch(args: &WatchArgs) -> anyhow::Result<Ending> {
    if args.filters.is_empty() && !args.all {
        let why = "name what to watch, such as `oscost watch syscall`, or --all for all points";
        return Err(Usage(why.to_owned()).into());
    }
    let store = match args.confirm {
        true => store_to_write(&args.store)?,
        false => store_to_read(&args.store)?,
    };
    let runs = runs_of(&store)?;
    let mut all_series = series_of(&runs, None, args.across_machines);
    own_last(&mut all_series, &runs, &store)?;
    let newest = all_series.last().ok_or_else(|| Usage("no run to judge".to_owned()))?;
    let metrics = metrics_of(&store, &runs, &args.filters)?;
    let told = Told::of(newest, &runs, &metrics, &store.accepted_events()?);
    let last = newest.visits.len() - 1;
    let is_judged = |trend: &Trend| {
        trend.better != results::Direction::Neither
            && trend.visits.last().is_some_and(|visit| visit.number == last)
    };
    let judged: Vec<usize> =
        (0..told.trends.len()).filter(|&nth| is_judged(&told.trends[nth])).collect();
    let watch = Watch::new(args.worse_than, judged.len());
    let judge = |again: &BTreeMap<usize, Again>| -> Vec<Watched> {
        let one = |nth: usize| {
            watch.judge(nth, &told.trends[nth], &told.events, again.get(&nth).copied())
        };
        judged.par_iter().map(|&nth| one(nth)).collect()
    };
    let mut found = judge(&BTreeMap::new());
    let suspects: Vec<usize> = found
        .iter()
        .filter(|watched| watched.state == State::Suspect)
        .map(|watched| watched.trend)
        .collect();
    if args.confirm && !suspects.is_empty() {
        let Some(again) = confirmed(args, store, &told, &suspects, &runs, newest)? else {
            return Ok(Ending::NotMeasured);
        };
        found = judge(&again);
    }
    found.sort_by_key(|watched| (watched.state, watched.trend));
    let now = seconds_now();
    let shown = WatchPage { history: told.page(&runs), watch, watched: &found, now };
    match args.json {
        true => print_json(&document(&shown, &runs))?,
        false => print(&watch_text(&shown, &page()))?,
    }
    let age = shown.age().unwrap_or_default();
    if let Some(days) = args.max_age.filter(|&days| age > f64::from(days) * DAY) {
        note(&format!(
            "the newest run is older than {days} days (--max-age): nothing new to judge"
        ));
        return Ok(Ending::NotMeasured);
    }
    let any = |state: State| found.iter().any(|watched| watched.state == state);
    Ok(match found.iter().all(|watched| watched.state == State::Unknown) {
        true => Ending::NotMeasured,
        false if any(State::Alarm) => Ending::CheckFailed,
        false => Ending::Done,
    })
}

/// Measures the suspect points again, and says what came of it for each trend; `None` if nothing could be measured.
fn confirmed(
    args: &WatchArgs,
    mut store: Store,
    told: &Told,
    suspects: &[usize],
    runs: &[HistoryRun],
    newest: &RunSeries,
) -> anyhow::Result<Option<BTreeMap<usize, Again>>> {
    let run = newest.visits.last().and_then(|visit| visit.last()).map(|&run| &runs[run]);
    let Some(run) = run else { return Ok(None) };
    let points: Vec<&PointKey> = suspects.iter().map(|&nth| &told.trends[nth].point).collect();
    let options = options_for(&points, run);
    let tags = BTreeMap::from([(CONFIRMS.to_owned(), run.summary.id.clone())]);
    let asked = asked_for(&options, run);
    let count = points.iter().collect::<BTreeSet<_>>().len();
    let points =
        if count == 1 { "1 suspect point".to_owned() } else { format!("{count} suspect points") };
    note(&format!("measuring {points} again"));
    let stop = stop_on_interrupt()?;
    let measured = match &args.against {
        None => alone(&options, asked, tags, &mut store, stop)?.map(|now| [None, Some(now)]),
        Some(old) => in_turns(old, &options, asked, tags, &mut store, stop)?,
    };
    let Some([old, now]) = measured else { return Ok(None) };
    let again = |nth: usize| {
        let trend = &told.trends[nth];
        match (&old, &now) {
            (Some(old), Some(now)) => in_turns_says(old, now, trend).map(Again::InTurns),
            (None, Some(now)) => figure(now, trend).map(Again::Figure),
            _ => None,
        }
    };
    Ok(Some(suspects.iter().filter_map(|&nth| Some((nth, again(nth)?))).collect()))
}

/// Runs on an old system and on this one, in turns.
fn in_turns(
    old: &str,
    options: &Options,
    asked: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    store: &mut Store,
    stop: &AtomicBool,
) -> anyhow::Result<Option<[Option<Document>; 2]>> {
    let on = vec![old.to_owned(), "native".to_owned()];
    let systems = systems_of(&OnSystems { on, systems: None })?;
    let (ended, _) = measure_on(&systems, options, asked, tags, None, store, stop)?;
    let is_whole = ended.len() == 2
        && ended.iter().all(|one| one.ending != runner::Ending::Stopped && one.unsaved.is_none());
    match is_whole {
        false => Ok(None),
        true => {
            Ok(Some([Some(store.document(&ended[0].id)?), Some(store.document(&ended[1].id)?)]))
        }
    }
}

/// Whether a metric is certainly worse now than on the old system; `None` if that cannot be told.
fn in_turns_says(old: &Document, now: &Document, trend: &Trend) -> Option<bool> {
    let rows = compare(old, now, &Settings::default());
    let row = rows.iter().find(|row| row.point == trend.point && row.metric == trend.metric)?;
    match row.verdict {
        Verdict::Slower | Verdict::Worse => Some(true),
        Verdict::Faster | Verdict::Better | Verdict::Same => Some(false),
        _ => None,
    }
}

/// The figure of a metric in the unit of its trend.
fn figure(run: &Document, trend: &Trend) -> Option<f64> {
    let is_it = |result: &&results::CaseResult| {
        result.case == trend.point.case
            && result.params == trend.point.params
            && result.metric == trend.metric
    };
    let result = run.results.iter().find(is_it)?;
    match trend.unit.starts_with("cycles") {
        true => Some(result.cycles?.median),
        false => Some(result.estimate?.median),
    }
}

fn document(page: &WatchPage, runs: &[HistoryRun]) -> Value {
    let rows = page.watched.iter().map(|watched| {
        let trend = &page.history.trends[watched.trend];
        json!({
            "case": trend.point.to_string(),
            "metric": trend.metric,
            "unit": trend.unit,
            "state": watched.state,
            "baseline": watched.baseline,
            "newest": watched.newest,
            "ratio": watched.ratio,
            "detectable": Some(watched.detectable).filter(|share| share.is_finite()),
            "worse_visits": watched.worse,
            "since": watched.since.map(|run| runs[run].summary.id.clone()),
            "visits": watched.visits,
            "confirmed": watched.confirmed,
        })
    });
    let newest = page.history.series.visits.last().and_then(|visit| visit.last());
    json!({
        "schema": 1,
        "run": newest.map(|&run| runs[run].summary.id.clone()),
        "started": newest.map(|&run| runs[run].summary.started.clone()),
        "age_days": page.age().map(|age| age / DAY),
        "days_since_the_visit_before": page.gap().map(|gap| gap / DAY),
        "worse_than": page.watch.worse_than,
        "figures": rows.collect::<Vec<_>>(),
    })
}

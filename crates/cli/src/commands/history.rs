//! `oscost history`: what changed over the runs of the store, and when.

use std::collections::BTreeMap;

use analysis::history::{By, Event, HistoryRun, RunSeries, Trend, events, series_of};
use catalog::matches_filter;
use command::ending::{Ending, Usage};
use command::options::StoreArg;
use command::output::{note, page, print, print_json};
use command::store::{store_to_read, store_to_write};
use jiff::Timestamp;
use rayon::prelude::*;
use report::{HistoryOfSeries, history_html, history_plot, history_text};
use results::{MACHINE_ID, MetricSeries, Store, is_ahead};
use serde_json::{Value, json};

use super::exchange::seconds_now;
use crate::args::History;

/// Shows the history, or accepts an event.
pub fn history(args: &History) -> anyhow::Result<Ending> {
    if let Some(event) = &args.accept {
        return accept(args, event);
    }
    let store = store_to_read(&args.store)?;
    let runs = runs_of(&store)?;
    let mut series = series_of(&runs, args.by.as_ref(), args.across_machines);
    own_last(&mut series, &runs, &store)?;
    let histories = told_of(&store, &runs, &series, &args.filters)?;
    if args.json {
        let all: Vec<Value> = histories.iter().map(|told| told.json(&runs)).collect();
        print_json(&json!({ "schema": 1, "series": all }))?;
        return Ok(Ending::Done);
    }
    // The newest series is what one asks for; values of a dimension stay in their order.
    let ordered: Vec<&Told> = match args.by {
        Some(_) => histories.iter().collect(),
        None => histories.iter().rev().collect(),
    };
    if let Some(trend) = the_one_trend(&ordered, &args.filters) {
        let plots: Vec<String> = ordered
            .iter()
            .map(|told| history_plot(&told.page(&runs), trend(told), &page()))
            .collect();
        print(&plots.join("\n"))?;
    }
    let pages: Vec<HistoryOfSeries> = ordered.iter().map(|told| told.page(&runs)).collect();
    print(&history_text(&pages, args.all || !args.filters.is_empty(), &page()))?;
    Ok(Ending::Done)
}

/// The history as a page.
///
/// # Errors
/// If a filter names nothing in the store, or the store cannot be read.
pub fn history_page(
    filters: &[String],
    by: Option<&By>,
    title: Option<&str>,
    store: &StoreArg,
) -> anyhow::Result<String> {
    let store = store_to_read(store)?;
    let runs = runs_of(&store)?;
    let mut series = series_of(&runs, by, false);
    own_last(&mut series, &runs, &store)?;
    if by.is_none() {
        series.reverse();
    }
    let told = told_of(&store, &runs, &series, filters)?;
    let pages: Vec<HistoryOfSeries> = told.iter().map(|told| told.page(&runs)).collect();
    Ok(history_html(&pages, title))
}

/// What the series say of the figures that the filters name; series without any are left out.
fn told_of<'a>(
    store: &Store,
    runs: &[HistoryRun],
    series: &'a [RunSeries],
    filters: &[String],
) -> anyhow::Result<Vec<Told<'a>>> {
    let metrics = metrics_of(store, runs, filters)?;
    let accepted = store.accepted_events()?;
    let told = series.iter().map(|series| Told::of(series, runs, &metrics, &accepted));
    Ok(told.filter(|told| !told.trends.is_empty()).collect())
}

/// Which trend is plotted: that of the only point and metric that is shown, if there is more than one visit to see.
fn the_one_trend<'a>(
    histories: &[&'a Told<'a>],
    filters: &[String],
) -> Option<impl Fn(&'a Told<'a>) -> &'a Trend> {
    let is_one = !filters.is_empty()
        && !histories.is_empty()
        && histories.iter().all(|told| matches!(&told.trends[..], [one] if one.visits.len() > 1));
    is_one.then_some(|told: &'a Told<'a>| &told.trends[0])
}

/// One series with what it says.
pub struct Told<'a> {
    pub series: &'a RunSeries,
    pub trends: Vec<Trend>,
    pub events: Vec<Event>,
}

impl<'a> Told<'a> {
    /// The trends and events of a series.
    pub fn of(
        series: &'a RunSeries,
        runs: &[HistoryRun],
        metrics: &[MetricSeries],
        accepted: &BTreeMap<String, String>,
    ) -> Self {
        let trends: Vec<Trend> = metrics
            .par_iter()
            .filter_map(|metric| Trend::of(metric, series, metrics.len()))
            .collect();
        let events = events(&trends, series, runs, accepted);
        Self { series, trends, events }
    }

    /// The series in the form that the pages take.
    pub fn page<'p>(&'p self, runs: &'p [HistoryRun]) -> HistoryOfSeries<'p> {
        HistoryOfSeries { series: self.series, runs, trends: &self.trends, events: &self.events }
    }

    fn json(&self, runs: &[HistoryRun]) -> Value {
        let visits = self.series.visits.iter().map(|visit| {
            let ids: Vec<&str> = visit.iter().map(|&run| runs[run].summary.id.as_str()).collect();
            json!({ "began": runs[visit[0]].summary.started, "runs": ids })
        });
        let trends = self.trends.iter().map(|trend| {
            json!({
                "case": trend.point.to_string(),
                "metric": trend.metric,
                "unit": trend.unit,
                "better": trend.better,
                "cause": trend.cause.to_string(),
                "judged": trend.can_show_changes(),
                "visits": trend.visits.iter().map(|visit| json!({
                    "visit": visit.number,
                    "figure": visit.figure,
                    "predicted": visit.predicted.map(|(low, high)| [low, high]),
                    "doubtful": visit.is_doubtful,
                })).collect::<Vec<_>>(),
                "segments": trend.segments.iter().map(|segment| json!({
                    "from": trend.visits[segment.from].number,
                    "to": trend.visits[segment.to - 1].number,
                    "mean": segment.mean,
                })).collect::<Vec<_>>(),
                "changes": trend.changes.iter().map(|change| json!({
                    "visit": trend.visits[change.at].number,
                    "ratio": change.ratio,
                    "by": change.by,
                    "before": change.before,
                    "after": change.after,
                    "gradual": change.kind == analysis::history::Kind::Creep,
                    "worse": change.is_worse,
                })).collect::<Vec<_>>(),
            })
        });
        let events = self.events.iter().map(|event| {
            let facts = event
                .facts
                .iter()
                .map(|change| (change.fact.clone(), json!([change.before, change.after])));
            json!({
                "id": event.id,
                "visit": event.visit,
                "run": runs[event.run].summary.id,
                "cause": event.cause.to_string(),
                "worse": event.is_worse,
                "ratio": event.ratio,
                "cycles_per_entry": event.cycles_per_entry,
                "figures": event.members.iter().map(|&(of, _)| {
                    json!([self.trends[of].point.to_string(), self.trends[of].metric])
                }).collect::<Vec<_>>(),
                "facts": facts.collect::<serde_json::Map<_, _>>(),
                "accepted": event.accepted,
            })
        });
        json!({
            "series": self.series.name,
            "by": self.series.by,
            "visits": visits.collect::<Vec<_>>(),
            "trends": trends.collect::<Vec<_>>(),
            "events": events.collect::<Vec<_>>(),
        })
    }
}

/// Puts the newest series of the machine that the store means by `last` at the end.
///
/// # Errors
/// If the store cannot be read.
pub fn own_last(
    series: &mut [RunSeries],
    runs: &[HistoryRun],
    store: &Store,
) -> anyhow::Result<()> {
    let Some(machine) = store.machine_meant()? else { return Ok(()) };
    let is_own = |one: &RunSeries| {
        let newest = one.visits.last().and_then(|visit| visit.last());
        newest
            .is_some_and(|&run| runs[run].machine.get(MACHINE_ID) == Some(&machine.as_str().into()))
    };
    if let Some(own) = series.iter().rposition(|one| one.by.is_none() && is_own(one)) {
        series[own..].rotate_left(1);
    }
    Ok(())
}

/// All finished runs, in the order of time, without those that are dated more than a day ahead.
///
/// # Errors
/// If there are none, or the store cannot be read.
pub fn runs_of(store: &Store) -> anyhow::Result<Vec<HistoryRun>> {
    let runs: Vec<HistoryRun> = store
        .finished_runs()?
        .into_iter()
        .map(|(summary, machine)| HistoryRun { began: summary.started_seconds(), summary, machine })
        .collect();
    let now = seconds_now();
    let (ahead, runs): (Vec<_>, Vec<_>) =
        runs.into_iter().partition(|run| is_ahead(run.began, now));
    for run in &ahead {
        let (id, started) = (&run.summary.id, &run.summary.started);
        note(&format!("run {id} is dated {started}, more than a day ahead: it is ignored"));
    }
    match runs.is_empty() {
        true => Err(Usage("no run in the store is finished and has results".to_owned()).into()),
        false => Ok(runs),
    }
}

/// The figures of all runs that the filters name.
///
/// # Errors
/// If a filter names nothing in the store, or the store cannot be read.
pub fn metrics_of(
    store: &Store,
    runs: &[HistoryRun],
    filters: &[String],
) -> anyhow::Result<Vec<MetricSeries>> {
    let case_of = |filter: &str| filter.split('{').next().unwrap_or_default().to_owned();
    let cases: Vec<String> = filters.iter().map(|filter| case_of(filter)).collect();
    let is_wanted =
        |case: &str| cases.is_empty() || cases.iter().any(|filter| matches_filter(filter, case));
    let ids: Vec<&str> = runs.iter().map(|run| run.summary.id.as_str()).collect();
    let mut metrics = store.figures(&ids, is_wanted)?;
    let names = |filter: &String, metric: &MetricSeries| match filter.contains('{') {
        true => *filter == metric.point.to_string(),
        false => matches_filter(filter, &metric.point.case),
    };
    for filter in filters {
        if !metrics.iter().any(|metric| names(filter, metric)) {
            let why = format!(
                "no run has figures of {filter:?}; `oscost show` lists those of the last run"
            );
            return Err(Usage(why).into());
        }
    }
    metrics
        .retain(|metric| filters.is_empty() || filters.iter().any(|filter| names(filter, metric)));
    Ok(metrics)
}

fn accept(args: &History, event: &str) -> anyhow::Result<Ending> {
    let why = args.why.as_deref().unwrap_or_default().trim();
    if why.is_empty() {
        return Err(Usage("--why: an accepted event needs a reason".to_owned()).into());
    }
    let mut store = store_to_write(&args.store)?;
    let runs = runs_of(&store)?;
    let series = series_of(&runs, None, false);
    let told = told_of(&store, &runs, &series, &[])?;
    let known: Vec<String> =
        told.into_iter().flat_map(|told| told.events).map(|event| event.id).collect();
    if !known.iter().any(|id| id == event) {
        let why = format!(
            "no event {event:?}; `oscost history` names {}",
            match known.len() {
                0 => "none now".to_owned(),
                1 => "one".to_owned(),
                count => format!("{count}"),
            }
        );
        return Err(Usage(why).into());
    }
    store.accept_event(event, why, &Timestamp::now().to_string())?;
    note(&format!("event {event} is accepted"));
    Ok(Ending::Done)
}

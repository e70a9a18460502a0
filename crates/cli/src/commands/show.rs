//! `oscost show` and `oscost runs`: the runs in the store.

use std::collections::{BTreeMap, BTreeSet};

use command::ending::{Ending, Usage};
use command::measure::{Form, how_to_resume, is_summarised, show_area_times, show_results};
use command::output::{note, page, print, print_json};
use command::store::{store_to_read, store_to_write};
use jiff::{SignedDuration, Timestamp};
use report::labels::LONGEST_VALUE;
use report::text::{clean, shortened};
use report::{Page, ReportRun, RunLine, chart_svg, is_marked, plots, runs_table};
use results::{Document, RunSummary, Store, StoreError, Thinned};
use runner::{PlanError, recorded};
use serde_json::{Value, json};

use crate::args::{Runs, Show, ShownColumn};

/// Shows one run again.
pub fn show(args: &Show) -> anyhow::Result<Ending> {
    args.files.check()?;
    let store = store_to_read(&args.store)?;
    let (id, filters) = run_and_filters(&store, args)?;
    let mut document = store.document(&id)?;
    if document.run.finished.is_none() && store.plan(&id)?.is_some() {
        note(&format!(
            "run {id} is not finished; to continue: {}",
            how_to_resume(&id, &args.store)
        ));
    }
    if let Some(point) = &args.svg {
        return svg(&document, point);
    }
    if !filters.is_empty() {
        let chosen = runner::choose(&filters)?;
        let labels: Vec<String> = chosen.iter().map(|case| case.label()).collect();
        document.results.retain(|result| labels.contains(&result.case));
        if document.results.is_empty() {
            let filters = filters.join(" ");
            return Err(Usage(format!("run {id} has no results for {filters}")).into());
        }
    }
    if args.doubtful {
        document.results.retain(is_marked);
        if document.results.is_empty() && !args.json {
            print("No figure may lie beyond its interval.\n")?;
            return Ok(Ending::Done);
        }
    }
    if args.plot {
        let recorded = recorded(&store, &document)?;
        let run = ReportRun { document: &document, recorded: recorded.as_ref() };
        print(&plots(&run, &page()))?;
        return Ok(Ending::Done);
    }
    args.files.write(&document)?;
    if args.files.are_printed() {
        return Ok(Ending::Done);
    }
    let form = Form::of(args.json, args.tables || args.doubtful || !filters.is_empty());
    if !args.json && !is_summarised(&document, form) {
        let machine = document.machine_line();
        let on = if machine.is_empty() { machine } else { format!(" on {machine}") };
        print(&format!("Run {}{on}\n", document.run.id))?;
    }
    let this_run = args.columns.contains(&ShownColumn::ThisRun);
    show_results(&document, form, None, &Page { this_run, ..page() })?;
    show_area_times(&document, form, args.verbose)?;
    Ok(Ending::Done)
}

/// Prints the chart of a point as SVG.
fn svg(document: &Document, point: &str) -> anyhow::Result<Ending> {
    let run = ReportRun { document, recorded: None };
    let Some(chart) = chart_svg(&run, point) else {
        let id = &document.run.id;
        let why = format!(
            "run {id} has no measured time of {point:?}, a case or a point as in `oscost show`"
        );
        return Err(Usage(why).into());
    };
    print(&chart)?;
    Ok(Ending::Done)
}

/// The id of the run to show, and the filters. The first argument is a run if it is a complete id, `last`, `last~N` or a tag;
/// otherwise a filter if it names an area or a case; otherwise the beginning of an id.
fn run_and_filters(store: &Store, args: &Show) -> anyhow::Result<(String, Vec<String>)> {
    let Some(first) = &args.run else { return Ok((store.resolve("last")?, Vec::new())) };
    if let Some(id) = store.resolve_whole_name(first)? {
        return Ok((id, args.filters.clone()));
    }
    let hint = match runner::choose(std::slice::from_ref(first)) {
        Ok(_) => {
            let filters = std::iter::once(first).chain(&args.filters).cloned().collect();
            return Ok((store.resolve("last")?, filters));
        }
        Err(PlanError::UnknownCase { hint, .. }) => hint,
        Err(error) => return Err(error.into()),
    };
    match store.resolve(first) {
        Ok(id) => Ok((id, args.filters.clone())),
        Err(StoreError::UnknownRun { .. }) => Err(Usage(format!(
            "{first:?} is neither a run nor an area or case{hint}; \
             `oscost runs` lists the runs, `oscost list` the cases"
        ))
        .into()),
        Err(error) => Err(error.into()),
    }
}

/// Lists the runs, removes one, or removes the samples of old ones.
pub fn runs(args: &Runs) -> anyhow::Result<Ending> {
    if let Some(days) = args.thin {
        return thin(args, days);
    }
    if let Some(name) = &args.delete {
        let mut store = store_to_write(&args.store)?;
        let id = store.resolve(name)?;
        store.delete_run(&id)?;
        note(&format!("run {id} is removed"));
        return Ok(Ending::Done);
    }
    let store = store_to_read(&args.store)?;
    let runs = store.runs()?;
    if args.names {
        return print(&names(&runs)).map(|()| Ending::Done);
    }
    match args.json {
        true => print_json(&runs.iter().map(run_json).collect::<Vec<_>>())?,
        false => print(&runs_table(&runs.into_iter().map(run_line).collect::<Vec<_>>(), &page()))?,
    }
    Ok(Ending::Done)
}

fn thin(args: &Runs, days: u32) -> anyhow::Result<Ending> {
    // A store that does not exist is not created for this.
    drop(store_to_read(&args.store)?);
    let before = Timestamp::now() - SignedDuration::from_hours(24 * i64::from(days));
    let Thinned { runs, before, after } =
        store_to_write(&args.store)?.thin(before.as_microsecond())?;
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    let (before, after) = (megabytes(before), megabytes(after));
    note(&format!("the samples of {runs} are removed; the store had {before} and has {after}"));
    Ok(Ending::Done)
}

/// Names of runs, one a line: the newest first, then each tag once.
fn names(runs: &[RunSummary]) -> String {
    let mut names = vec!["last".to_owned()];
    names.extend((runs.len() > 1).then(|| "last~1".to_owned()));
    names.extend(runs.iter().rev().map(|run| run.id.clone()));
    let tags: BTreeSet<String> = runs
        .iter()
        .flat_map(|run| &run.tags)
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    names.extend(tags);
    names.iter().map(|name| format!("{name}\n")).collect()
}

fn pairs(map: &BTreeMap<String, String>) -> String {
    let short = |value: &str| shortened(&clean(value), LONGEST_VALUE);
    map.iter().map(|(k, v)| format!("{k}={}", short(v))).collect::<Vec<_>>().join(" ")
}

fn state(run: &RunSummary) -> &'static str {
    if run.finished.is_some() { "done" } else { "unfinished" }
}

fn run_line(run: RunSummary) -> RunLine {
    RunLine {
        state: state(&run).to_owned(),
        figures: run.results,
        rounds: run.rounds,
        tags: pairs(&run.tags),
        asked: pairs(&run.asked),
        id: run.id,
        started: run.started,
        machine: run.machine,
    }
}

/// A run in the list of runs.
fn run_json(run: &RunSummary) -> Value {
    json!({
        "id": run.id,
        "started": run.started,
        "finished": run.finished,
        "state": state(run),
        "oscost": run.oscost,
        "tags": run.tags,
        "asked": run.asked,
        "rounds": run.rounds,
        "results": run.results,
        "machine": run.machine,
    })
}

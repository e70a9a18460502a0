//! Shared by comparisons of runs and of the columns of another dimension.

use std::path::Path;

use analysis::{Compared, Renaming, Settings, difference, is_same_machine, merged, nuisances};
use command::ending::{Ending, Usage};
use command::options::StoreArg;
use command::output::note;
use command::store::store_to_read;
use report::{Cell, CompareCell};
use results::{Document, Estimate, NextRun, Source};

use crate::args::Compare;
use crate::commands::exchange::read_document;
use crate::commands::gate::JudgedRows;

/// Prints the last line of a comparison, writes its files, and returns its ending: that of a gate if there is a limit.
///
/// # Errors
/// The error of writing.
pub fn ending(judged: &JudgedRows, args: &Compare) -> anyhow::Result<Ending> {
    let tally = judged.tally();
    tally.print(args.json)?;
    judged.write(&args.gate)?;
    Ok(match args.fail_above {
        Some(_) => tally.ending(args.gate.undecided),
        None => Ending::Done,
    })
}

/// The pairs of names as the user wrote them.
pub fn pairs(map: &[Renaming]) -> Vec<String> {
    map.iter().map(|Renaming { old, new }| format!("{old}={new}")).collect()
}

/// Keeps the results that the filters name, if there are any.
///
/// # Errors
/// If a filter names no case, or no run has results that the filters name.
pub fn keep_only(filters: &[String], runs: &mut [Document]) -> anyhow::Result<()> {
    if filters.is_empty() {
        return Ok(());
    }
    let labels: Vec<String> = runner::choose(filters)?.iter().map(|case| case.label()).collect();
    runs.iter_mut().for_each(|run| run.results.retain(|result| labels.contains(&result.case)));
    if runs.iter().all(|run| run.results.is_empty()) {
        let filters = filters.join(" ");
        return Err(Usage(format!("no run has results for {filters}")).into());
    }
    Ok(())
}

/// Whether a run is named by the path of its document.
pub fn is_document(name: &str) -> bool {
    // Ids of runs never look like a path, but tags may.
    let looks_like_path = name.contains(['/', '\\']) || name.ends_with(".json");
    let is_path = looks_like_path && !name.contains('=');
    name == "-" || is_path || Path::new(name).is_file()
}

/// Finds a run in the store, or a document in a file.
pub fn find(name: &str, store: &StoreArg) -> anyhow::Result<Document> {
    if is_document(name) {
        return read_document(Path::new(name));
    }
    let store = store_to_read(store)?;
    Ok(store.document(&store.resolve(name)?)?)
}

/// Finds what is compared: a run, a document in a file, or all runs of a tag on one machine as one.
pub fn find_merged(name: &str, store: &StoreArg) -> anyhow::Result<Document> {
    let Some((key, value)) = name.split_once('=').filter(|_| !is_document(name)) else {
        return find(name, store);
    };
    let store = store_to_read(store)?;
    let newest = store.document(&store.resolve(name)?)?;
    let mut runs = Vec::new();
    let mut left_out = 0;
    for (_, id) in store.tagged(key)?.into_iter().filter(|(of_run, _)| of_run == value) {
        let run = store.document(&id)?;
        let is_whole = run.run.finished.is_some() && !run.results.is_empty();
        let is_alike = is_same_machine(&run.machine, &newest.machine)
            && nuisances(&run, &newest, &[]).is_empty();
        match run.system() == newest.system() && is_alike {
            true if is_whole => runs.push(run),
            true => {}
            false => left_out += usize::from(run.system() == newest.system()),
        }
    }
    if left_out > 0 {
        let runs = if left_out == 1 { "1 run".to_owned() } else { format!("{left_out} runs") };
        note(&format!(
            "{runs} of {name} on another machine, in another state of it, or measured in another way, left out"
        ));
    }
    Ok(if runs.is_empty() { newest } else { merged(&runs, name) })
}

/// The id, the tags and the machine of a run.
pub fn words(run: &Document) -> String {
    let tags: Vec<String> = run.run.tags.iter().map(|(k, v)| format!(" {k}={v}")).collect();
    let (id, machine) = (&run.run.id, run.machine_line());
    let measured_by = run.other_tool().map(|tool| format!(", measured by {tool}"));
    let on = if machine.is_empty() { machine } else { format!(" on {machine}") };
    format!("{id}{}{}{on}", tags.concat(), measured_by.unwrap_or_default())
}

/// Lines with the smallest detectable difference, and the number of visits from which it is known.
pub fn floor_lines<'r>(
    compared: &[Vec<Compared>],
    runs: impl IntoIterator<Item = &'r Document>,
    settings: &Settings,
) -> Vec<String> {
    let judged = compared.iter().flatten().filter(|row| row.verdict.is_judged());
    let mut least: Vec<f64> = judged.filter_map(difference).collect();
    if least.is_empty() {
        return Vec::new();
    }
    let largest = least.iter().copied().fold(0.0, f64::max) * 100.0;
    let median = measure::stats::median(&mut least) * 100.0;
    let margin = settings.margin * 100.0;
    let percent = |percent: f64| match percent {
        few if few <= 1_000.0 => format!("{few:.1} %"),
        // Beyond this the rows are too few or vary too much for any statement.
        _ => "more than 1,000 %".to_owned(),
    };
    let (median, largest) = (percent(median), percent(largest));
    let mut lines =
        vec![format!("smallest detectable difference: {median} (median; largest {largest})")];
    lines.extend(basis(&runs.into_iter().collect::<Vec<_>>()));
    lines.push(format!(
        "same: certainly within {margin:.1} %; intervals hold for all rows together at 95 %"
    ));
    lines
}

/// The source of the variance from run to run, in words; `None` for one run, or systems in turn.
fn basis(runs: &[&Document]) -> Option<String> {
    if runs.windows(2).all(|pair| pair[0].run.is_in_turn_with(&pair[1].run)) {
        return None;
    }
    let known = runs.iter().flat_map(|run| &run.results).filter_map(|result| result.next_run);
    let words = match known.max_by_key(|next| next.visits) {
        Some(NextRun { visits, source: Source::Visits, .. }) => {
            format!("by {visits} visits of this machine; more of them narrow the intervals")
        }
        _ => "differences from run to run here are not known yet; `oscost noise` finds them"
            .to_owned(),
    };
    Some(words)
}

/// The cell of a table for a compared row.
pub fn compared_cell(row: &Compared) -> CompareCell {
    CompareCell {
        figure: row.new.map(|estimate| cell(estimate, &row.unit)),
        ratio: row.ratio,
        floor: row.floor,
        verdict: row.verdict,
        note: row.note.clone(),
    }
}

/// An estimate as a cell of a table.
pub fn cell(estimate: Estimate, unit: &str) -> Cell {
    let Estimate { median, low, high, .. } = estimate;
    Cell { median, low, high, unit: unit.to_owned() }
}

//! Functions shared by the commands that measure.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use measure::survey::ClockFacts;
use report::{
    Page, area_times_line, below_tables, closing_lines, conclusions, results_tables, summary,
};
use results::{Document, Store, StoreError, announcement_of};
use runner::{Ended, Event, Options, Plan, Request, RunError};
use serde_json::Value;

use crate::command_line::{in_one_line, store_option};
use crate::ending::Ending;
use crate::options::{Output, StoreArg};
use crate::output::{note, page, print, print_document, print_json};
use crate::progress::Progress;
use crate::store::store_to_write;

/// The key under which the requested areas and cases are stored with a run.
pub const FILTERS: &str = "filters";
/// The key under which the names of the user's own functions are stored with a run.
pub const OP: &str = "op";
/// Message about a run without any figure.
pub const NOTHING_SAVED: &str = "no figure was measured, and nothing is saved";

/// Format in which a run is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A run of all areas as a summary, other runs as tables.
    Usual,
    /// All tables.
    Tables,
    /// The JSON document.
    Json,
}

impl Form {
    /// The format that the flags select.
    pub fn of(json: bool, tables: bool) -> Self {
        match (json, tables) {
            (true, _) => Self::Json,
            (false, true) => Self::Tables,
            (false, false) => Self::Usual,
        }
    }
}

/// Plans the requested measurements for this machine.
pub fn plan_of(options: &Options) -> anyhow::Result<Plan> {
    Ok(runner::plan(options, &platform::cpu::allowed(), runner::random_seed())?)
}

/// The clock for timing.
pub fn best_clock() -> anyhow::Result<ClockFacts> {
    runner::best_clock().context("this system has no clock to time with")
}

/// Measures a new run, stores it and shows its results.
pub fn measure(
    plan: &Plan,
    asked: BTreeMap<String, String>,
    form: Form,
    output: &Output,
    store_arg: &StoreArg,
    stop: &AtomicBool,
) -> anyhow::Result<Ending> {
    measured(plan, asked, form, output, store_arg, stop).map(|(ending, _)| ending)
}

/// Measures a new run, stores it, shows its results, and returns them.
pub fn measured(
    plan: &Plan,
    asked: BTreeMap<String, String>,
    form: Form,
    output: &Output,
    store_arg: &StoreArg,
    stop: &AtomicBool,
) -> anyhow::Result<(Ending, Document)> {
    let clock = best_clock()?;
    let mut store = store_to_write(store_arg)?;
    let tags = output.tags.iter().cloned().collect();
    let request = Request { plan, asked, tags, clock: &clock, questions: None };
    let (ended, took) = watched(|watch| runner::begin(request, &mut store, stop, watch))?;
    show_ended(&store, &ended, Some(took), form, output, store_arg)
}

/// Shows the progress of a run during `work`. Returns the result and the duration.
pub fn watched(
    work: impl FnOnce(&mut dyn FnMut(Event<'_>)) -> Result<Ended, RunError>,
) -> Result<(Ended, Duration), RunError> {
    in_progress(work)
}

/// Shows the progress of several runs during `work`.
pub fn in_progress<T>(
    work: impl FnOnce(&mut dyn FnMut(Event<'_>)) -> Result<T, RunError>,
) -> Result<(T, Duration), RunError> {
    let progress = Progress::new();
    let ended = work(&mut |event| progress.show(event));
    let took = progress.finish();
    Ok((ended?, took))
}

/// Shows a run that has just ended, in all requested formats. Returns its ending and its results.
pub fn show_ended(
    store: &Store,
    ended: &Ended,
    took: Option<Duration>,
    form: Form,
    output: &Output,
    store_arg: &StoreArg,
) -> anyhow::Result<(Ending, Document)> {
    let document = ended.document(store)?;
    let shown = match output.files.are_printed() {
        true => Ok(()),
        false => show_results(&document, form, took, &page())
            .and_then(|()| show_area_times(&document, form, output.verbose)),
    };
    let written = output.files.write(&document);
    // The id is printed even if the results could not be shown.
    let id = &ended.id;
    let ending = match ended.ending {
        _ if ended.unsaved.is_some() && !can_be_resumed(store, id)? => {
            note(NOTHING_SAVED);
            Ending::NotMeasured
        }
        runner::Ending::Stopped => {
            note(&format!("stopped; to continue: {}", how_to_resume(id, store_arg)));
            Ending::NotMeasured
        }
        ending => {
            if let Some(why) = store.undelivered(id) {
                let sync =
                    in_one_line(&[words(["oscost", "sync"]), store_option(store_arg)].concat());
                note(&format!("run {id} is saved on this machine only: {why}; to send it: {sync}"));
                return shown.and(written).map(|()| (Ending::NotMeasured, document));
            }
            note(&format!("saved as run {id}"));
            if ending == runner::Ending::Complete { Ending::Done } else { Ending::NotMeasured }
        }
    };
    shown.and(written).map(|()| (ending, document))
}

/// Whether the run is stored, as one without a figure is only if it can be resumed.
fn can_be_resumed(store: &Store, id: &str) -> anyhow::Result<bool> {
    match store.plan(id) {
        Ok(_) => Ok(true),
        Err(StoreError::UnknownRun { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Prints the run as a JSON document, an answer, a summary or tables.
pub fn show_results(
    document: &Document,
    form: Form,
    took: Option<Duration>,
    page: &Page,
) -> anyhow::Result<()> {
    let conclusions = conclusions(document, page);
    if form == Form::Json {
        let text = results::to_json(document);
        if conclusions.is_empty() {
            return print_document(&text);
        }
        let mut whole: Value = serde_json::from_str(&text)?;
        conclusions.into_iter().for_each(|conclusion| whole[conclusion.key] = conclusion.json);
        return print_json(&whole);
    }
    print_announcement("figures", [document])?;
    conclusions.iter().try_for_each(|conclusion| print(&conclusion.text))?;
    if !conclusions.iter().any(|conclusion| conclusion.replaces_tables) {
        if is_summarised(document, form) {
            return print(&summary(document, catalog::areas(), took, page));
        }
        print(&results_tables(&document.results, page))?;
        print(&below_tables(&document.results, &document.machine, page))?;
    }
    match conclusions.iter().any(|conclusion| conclusion.is_all) {
        true => Ok(()),
        false => print(&closing_lines(document, took, page)),
    }
}

/// Prints how long each area took, if that was requested.
///
/// # Errors
/// The error of writing.
pub fn show_area_times(document: &Document, form: Form, verbose: bool) -> anyhow::Result<()> {
    let line = area_times_line(document, &page());
    match verbose && form != Form::Json && !line.is_empty() {
        true => print(&line),
        false => Ok(()),
    }
}

/// Announces emulated systems before their figures.
///
/// # Errors
/// The error of writing.
pub fn print_announcement<'a>(
    what: &str,
    runs: impl IntoIterator<Item = &'a Document>,
) -> anyhow::Result<()> {
    match announcement_of(what, runs) {
        Some(line) => print(&format!("{line}\n\n")),
        None => Ok(()),
    }
}

/// Whether a run is shown as a summary, which includes the machine: a run of all areas that is not an answer.
pub fn is_summarised(document: &Document, form: Form) -> bool {
    let mut of_some = catalog::commands().filter_map(|command| command.asked).chain([FILTERS, OP]);
    let is_of_some = of_some.any(|key| document.run.asked.contains_key(key));
    form == Form::Usual && !is_of_some && document.other_tool().is_none()
}

/// The command that resumes an unfinished run.
pub fn how_to_resume(id: &str, store: &StoreArg) -> String {
    in_one_line(&[words(["oscost", "run", "--resume", id]), store_option(store)].concat())
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

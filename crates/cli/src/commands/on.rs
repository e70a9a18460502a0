//! `oscost run --on`: several systems in turn.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use command::ending::{Ending, Usage};
use command::interrupt::stop_on_interrupt;
use command::measure::{
    Form, NOTHING_SAVED, in_progress, print_announcement, show_area_times, show_results,
};
use command::output::{note, page, print, print_document};
use command::store::store_to_write;
use report::{failures_lines, systems_summary};
use results::{Document, Store};
use runner::{Ended, OnRequest, Options, Questions, RunError, Starts, Timeouts};
use systems::{System, SystemsFile};

use crate::args::{OnSystems, Run};

/// The systems that the user named, if any. What they require is there.
pub fn systems_of(args: &OnSystems) -> anyhow::Result<Vec<System>> {
    if args.on.is_empty() {
        return Ok(Vec::new());
    }
    let wrong = |error: systems::SystemError| Usage(error.to_string());
    let file = SystemsFile::find(args.systems.as_deref()).map_err(wrong)?;
    let systems = System::parse_all(&args.on, &file).map_err(wrong)?;
    System::check_all(&systems).map_err(wrong)?;
    if let Some(path) = file.used_by(&args.on) {
        note(&format!("systems of {}", path.display()));
    }
    Ok(systems)
}

/// Measures on these systems in turn, and stores one run for each. Returns the runs and the duration.
pub fn measure_on(
    systems: &[System],
    options: &Options,
    asked: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    questions: Option<Questions>,
    store: &mut Store,
    stop: &AtomicBool,
) -> Result<(Vec<Ended>, Duration), RunError> {
    let mut systems = systems.to_vec();
    // A static program cannot load a user's library.
    if options.user.is_empty() {
        System::share_static_binary(&mut systems);
    }
    let request = OnRequest {
        options,
        asked,
        tags,
        systems: systems.iter().map(|system| system as &dyn Starts).collect(),
        timeouts: Timeouts::default(),
        seed: runner::random_seed(),
        questions,
    };
    in_progress(|watch| runner::begin_on(request, store, stop, watch))
}

/// Reports runs on several systems that were stopped. Returns whether there are any.
pub fn note_if_stopped(ended: &[Ended]) -> bool {
    let is_stopped = ended.iter().any(|one| one.ending == runner::Ending::Stopped);
    if is_stopped {
        note("stopped; a run on several systems cannot be continued");
    }
    is_stopped
}

/// Measures on all systems in turn, stores one run for each and shows their results.
pub fn run_on(args: &Run, form: Form) -> anyhow::Result<Ending> {
    if args.output.files.are_given() && args.on.on.len() > 1 {
        let problem = "--csv and --xlsx write one run: use `oscost export` for each system's";
        return Err(Usage(problem.to_owned()).into());
    }
    let systems = systems_of(&args.on)?;
    let options = args.options()?;
    let mut store = store_to_write(&args.store)?;
    let tags = args.output.tags.iter().cloned().collect();
    let stop = stop_on_interrupt()?;
    let (ended, took) = measure_on(&systems, &options, args.asked(), tags, None, &mut store, stop)?;
    let documents = ended.iter().map(|ended| ended.document(&store));
    let documents: Vec<Document> = documents.collect::<Result<_, _>>()?;
    if form == Form::Json {
        let all = serde_json::to_string_pretty(&documents)?;
        print_document(&all)?;
    } else if !args.output.files.are_printed() {
        show(&documents, form, args.output.verbose)?;
    }
    documents.iter().try_for_each(|document| args.output.files.write(document))?;
    let saved = ended.iter().filter(|ended| ended.unsaved.is_none());
    let ids: Vec<&str> = saved.map(|ended| ended.id.as_str()).collect();
    let seconds = took.as_secs();
    match ids.is_empty() {
        true => note(&format!("{NOTHING_SAVED} after {seconds} s")),
        false => note(&format!("saved as runs {} after {seconds} s", ids.join(", "))),
    }
    Ok(ending_of(&ended))
}

/// Prints the verdict; also the tables of each system if they were requested or there is no verdict.
fn show(documents: &[Document], form: Form, verbose: bool) -> anyhow::Result<()> {
    let verdict = systems_summary(documents, &page());
    if !verdict.is_empty() {
        print_announcement("ratios", documents)?;
        print(&verdict)?;
        for document in documents {
            let failures = failures_lines(document, &page());
            if !failures.is_empty() {
                print(&format!("failed on {}:\n{failures}", document.system().unwrap_or("?")))?;
            }
        }
        if form != Form::Tables {
            return print(
                "`oscost compare last --by system` prints each point, `--tables` each system.",
            );
        }
    }
    for document in documents {
        print(&format!("\nOn {}:\n", document.system().unwrap_or("?")))?;
        show_results(document, Form::Tables, None, &page())?;
        show_area_times(document, Form::Tables, verbose)?;
    }
    Ok(())
}

fn ending_of(ended: &[Ended]) -> Ending {
    note_if_stopped(ended);
    match ended.iter().all(|one| one.ending == runner::Ending::Complete) {
        true => Ending::Done,
        false => Ending::NotMeasured,
    }
}

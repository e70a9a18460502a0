//! `oscost run --on`: several systems in turn.

use std::sync::atomic::AtomicBool;

use analysis::NoiseCheck;
use report::systems_summary;
use results::Document;
use runner::{Ended, OnRequest, Starts, Timeouts};
use systems::{System, SystemsFile};

use super::measure::{Form, in_progress, show_results};
use crate::args::Run;
use crate::ending::{Ending, Usage};
use crate::output::{note, page, print};
use crate::store::store_to_write;

/// The systems that the user named.
pub fn systems_of(args: &Run) -> anyhow::Result<Vec<System>> {
    let wrong = |error: systems::SystemError| Usage(error.to_string());
    let file = SystemsFile::find(args.systems.as_deref()).map_err(wrong)?;
    Ok(System::parse_all(&args.on, &file).map_err(wrong)?)
}

/// Measures on all systems in turn, stores one run for each and shows their results.
pub fn run_on(args: &Run, form: Form, stop: &AtomicBool) -> anyhow::Result<Ending> {
    if args.output.files.are_given() && args.on.len() > 1 {
        let problem = "--csv and --xlsx write one run: use `oscost export` for each system's";
        return Err(Usage(problem.to_owned()).into());
    }
    let systems = systems_of(args)?;
    let options = args.options()?;
    let mut store = store_to_write(&args.store)?;
    let request = OnRequest {
        options: &options,
        asked: args.asked(),
        tags: args.output.tags.iter().cloned().collect(),
        systems: systems.iter().map(|system| system as &dyn Starts).collect(),
        timeouts: Timeouts::default(),
        seed: runner::random_seed(),
    };
    let (ended, took) = in_progress(|watch| runner::begin_on(request, &mut store, stop, watch))?;
    let documents = ended.iter().map(|ended| store.document(&ended.id));
    let documents: Vec<Document> = documents.collect::<Result<_, _>>()?;
    if form == Form::Json {
        let all = serde_json::to_string_pretty(&documents)?;
        print(&all)?;
    } else if !args.output.files.are_printed() {
        show(&documents, form)?;
    }
    documents.iter().try_for_each(|document| args.output.files.write(document))?;
    let ids: Vec<&str> = ended.iter().map(|ended| ended.id.as_str()).collect();
    let seconds = took.as_secs();
    note(&format!("saved as runs {} after {seconds} s", ids.join(", ")));
    Ok(ending_of(&ended))
}

/// Prints the verdict, and the tables of each system if they were asked for or there is no verdict.
fn show(documents: &[Document], form: Form) -> anyhow::Result<()> {
    let verdict = systems_summary(documents, &NoiseCheck::default(), &page());
    if !verdict.is_empty() {
        print(&verdict)?;
        if form != Form::Tables {
            return print(
                "`oscost compare last --by system` prints each point, `--tables` each system.",
            );
        }
    }
    for document in documents {
        print(&format!("\nOn {}:\n", document.system().unwrap_or("?")))?;
        show_results(document, Form::Tables, None)?;
    }
    Ok(())
}

fn ending_of(ended: &[Ended]) -> Ending {
    if ended.iter().any(|one| one.ending == runner::Ending::Stopped) {
        note("stopped; a run on several systems cannot be continued");
    }
    match ended.iter().all(|one| one.ending == runner::Ending::Complete) {
        true => Ending::Done,
        false => Ending::NotMeasured,
    }
}

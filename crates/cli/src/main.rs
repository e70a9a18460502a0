//! The `oscost` command.
//!
//! Arguments are parsed, one command is executed, and its ending becomes the exit code: 0 done,
//! 1 a check failed, 2 wrong usage, 3 something could not be measured.

mod args;
mod commands;

use std::process::ExitCode;

use command::ending::of_error;

use args::Command;

fn main() -> ExitCode {
    platform::process::inherited::reset_signals();
    areas::install();
    let command = args::parse();
    if !matches!(command, Ok(Command::Worker { .. })) {
        platform::process::inherited::share_heap_where_limited();
    }
    let outcome = match command {
        Err(ending) => return ending.into(),
        Ok(Command::Worker { task, order }) => commands::worker(&task, &order),
        Ok(Command::Agent(agent)) => commands::agent(&agent),
        Ok(Command::Run(run)) => commands::run(&run),
        Ok(Command::List(list)) => commands::list(&list),
        Ok(Command::Env(env)) => commands::env(&env),
        Ok(Command::Show(show)) => commands::show(&show),
        Ok(Command::Runs(runs)) => commands::runs(&runs),
        Ok(Command::OfArea(command)) => command.run(),
        Ok(Command::Compare(compare)) => commands::compare(&compare),
        Ok(Command::History(history)) => commands::history(&history),
        Ok(Command::Watch(watch)) => commands::watch(&watch),
        Ok(Command::Check(check)) => commands::check(&check),
        Ok(Command::Study(study)) => commands::study(&study),
        Ok(Command::Report(report)) => commands::report(&report),
        Ok(Command::Noise(noise)) => commands::noise(&noise),
        Ok(Command::Fleet(fleet)) => commands::fleet(&fleet),
        Ok(Command::Export(export)) => commands::export(&export),
        Ok(Command::Import(import)) => commands::import(&import),
        Ok(Command::Store(store)) => commands::store(&store),
        Ok(Command::Sync(sync)) => commands::sync(&sync),
        Ok(Command::Completions { shell }) => commands::completions(shell),
        Ok(Command::Man { dir }) => commands::man(&dir),
    };
    outcome.unwrap_or_else(|error| of_error(&error)).into()
}

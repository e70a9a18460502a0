//! The request of the command line.

use command::command_line::{in_one_line, store_option};
use command::ending::Usage;
use command::store::store_to_read;
use runner::{Options, PlanError, RunError};

use crate::args::Check;
use crate::commands::compare::is_document;

/// The command that judges the given runs, with names that remain valid after later runs.
pub fn again(args: &Check) -> anyhow::Result<String> {
    let mut words = vec!["oscost".to_owned(), "check".to_owned()];
    words.extend(store_option(&args.store));
    words.push(args.file.display().to_string());
    for name in &args.runs {
        words.push(match is_document(name) {
            true => name.clone(),
            false => store_to_read(&args.store)?.resolve(name)?,
        });
    }
    Ok(in_one_line(&words))
}

/// Options for measuring, without claims.
pub fn options_of(args: &Check) -> Options {
    Options {
        quick: args.quick,
        precision: args.precision,
        budget: args.budget,
        ..Options::default()
    }
}

/// Adds the name of the file to a mistake in a claim.
pub fn in_file(error: anyhow::Error, args: &Check) -> anyhow::Error {
    let of_plan = match error.downcast_ref() {
        Some(RunError::NoPlan(of_plan)) => Some(of_plan),
        _ => error.downcast_ref(),
    };
    match of_plan {
        Some(PlanError::Claim(mistake)) => {
            Usage(format!("{}: {mistake}", args.file.display())).into()
        }
        _ => error,
    }
}

//! What the command line asks for.

use runner::{Options, PlanError, RunError};

use crate::args::Check;
use crate::commands::command_line::{in_one_line, store_option};
use crate::commands::compare::is_document;
use crate::ending::Usage;
use crate::store::store_to_read;

/// The command that judges the given runs, by names that later runs do not change.
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

/// The options of measuring, without claims.
pub fn options_of(args: &Check) -> Options {
    Options {
        quick: args.quick,
        precision: args.precision,
        budget: args.budget,
        ..Options::default()
    }
}

/// A mistake in a claim, with the name of the file.
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

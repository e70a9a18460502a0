use measure::CaseError;

use super::library::OpLibrary;
use catalog::{Case, Param, value_of};

/// The parameter `name`: name of the user's function. Builds with the same name are compared with each other.
pub const NAME: &str = "name";

pub const CASE: Case = Case {
    operation: "One of the n operations that the user's oscost_operation(n) carries out.",
    comparable_to: "What the library's author defines; sampled as all cases are, with one call for each batch.",
    params: &[Param::new(NAME, &["oscost_name()"]).meaning("what the library calls its function")],
    runs_user_code: true,
    run: |params, round| {
        let Some(file) = round.order().user.clone() else {
            return Err(CaseError::Failed("no library was given: oscost run --op FILE".to_owned()));
        };
        let library = OpLibrary::load(&file)?;
        library.check_is(value_of(params, NAME)?, &file)?;
        library.set_up()?;
        if let Some(calls) = library.expected_syscalls() {
            round.expect_syscalls(calls);
        }
        let mut outcome = Ok(());
        let timed = round.time_batches(|n| {
            let done = library.operate(n);
            if done.is_err() {
                outcome = done;
            }
        });
        library.tear_down();
        // Operations that failed have no time: their error comes first.
        outcome.and(timed)
    },
    ..Case::new("op", "function")
};

//! The worker process: one round of one case, printed as JSON Lines. It needs nothing but the
//! case's own calls, a clock, write and exit.

use std::io::Write;

use measure::{CaseError, Round, RoundOrder};

/// Does the round that `order` (JSON) describes, printing to `out`.
///
/// # Errors
/// Only if the order cannot be understood; how the round ended is printed.
pub fn work(order: &str, out: &mut dyn Write) -> Result<(), String> {
    let order: RoundOrder =
        serde_json::from_str(order).map_err(|e| format!("this is not a worker's order: {e}"))?;
    platform::process::end_with_parent(order.parent);
    measure::round::use_all_cpus(&order);
    let mut round = Round::new(&order, out);
    let result = match cases::find(&order.case) {
        None => Err(CaseError::Unsupported(format!("this worker knows no case {}", order.case))),
        Some(case) => match case.missing_here() {
            Some(reason) => Err(CaseError::Unsupported(reason.to_owned())),
            None => (case.run)(&order.params, &mut round),
        },
    };
    round.end(result);
    Ok(())
}

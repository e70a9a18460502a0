//! Moves the end of the heap in real rounds. An allocation by another thread would move it too, so this test runs on the main
//! thread without the usual test harness.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use measure::record::{Line, parse_lines};
use measure::round::Mode;
use measure::survey::survey;
use measure::{CaseError, Params, Round, RoundOrder};
use primitives::memory;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let test = Trial::test("brk_moves_the_end_of_the_heap_and_back", || {
        brk_moves_the_end_of_the_heap_and_back();
        Ok(())
    });
    libtest_mimic::run(&arguments, vec![test]).exit_code()
}

fn round(size: &str, mode: Mode) -> (Vec<Line>, Result<(), CaseError>) {
    let params = Params::from([("size".to_owned(), size.to_owned())]);
    let order = RoundOrder {
        case: "memory/brk".to_owned(),
        params: params.clone(),
        core_bound: false,
        mode,
        clock: survey().remove(0),
        cpus: platform::cpu::allowed(),
        level: None,
        ns_per_iteration: None,
        quiet_samples: 5,
        limit_ms: 20,
        slow_down: 0.0,
        partner_batches: 1.0,
        parent: None,
        is_here: false,
        user: None,
    };
    let mut out = Vec::new();
    let case = rehearsal::case(&[&memory::AREA], &order.case);
    let result = (case.run)(&params, &mut Round::new(&order, &mut out));
    (parse_lines(std::str::from_utf8(&out).expect("text")), result)
}

fn brk_moves_the_end_of_the_heap_and_back() {
    let (lines, result) = round("4k", Mode::Sample);
    if let Err(CaseError::Unsupported(reason)) = &result {
        return println!("unsupported: {reason}");
    }
    assert_eq!(result, Ok(()));
    assert!(lines.iter().any(|line| matches!(line, Line::Series(_))), "{lines:?}");
    let (lines, result) = round("64k", Mode::CountRest);
    assert_eq!(result, Ok(()));
    let [Line::Counts(counts)] = &lines[..] else { panic!("{lines:?}") };
    let faults = counts.page_faults.expect("faults are counted") as f64 / counts.operations as f64;
    assert!((16.0..16.5).contains(&faults), "{faults}");
}

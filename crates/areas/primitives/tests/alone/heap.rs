//! Moves the end of the heap in real rounds. An allocation by another thread would move it too.

use measure::record::Line;
use measure::round::Mode;
use measure::{CaseError, Params};
use primitives::memory;

fn round(size: &str, mode: Mode) -> rehearsal::Outcome {
    let params: Params = rehearsal::params(&[("size", size)]);
    let case = rehearsal::case(&[&memory::AREA], "memory/brk");
    let order = rehearsal::order(&case.label(), &params, mode);
    rehearsal::round(&order, |round| (case.run)(&params, round))
}

pub fn brk_moves_the_end_of_the_heap_and_back() {
    let (lines, result) = round("4k", Mode::Sample);
    if let Err(CaseError::Unsupported(reason)) = &result {
        return println!("unsupported: {reason}");
    }
    assert_eq!(result, Ok(()));
    assert!(lines.iter().any(|line| matches!(line, Line::Series(_))), "{lines:?}");
    let (lines, result) = round("64k", Mode::CountRest);
    assert_eq!(result, Ok(()));
    let counts = rehearsal::counts(&lines);
    let faults = counts.page_faults.expect("faults are counted") as f64 / counts.operations as f64;
    assert!((16.0..16.5).contains(&faults), "{faults}");
}

//! What the fuzz targets need of this crate: frames of an agent, and rounds of any worker or foreign store.

use std::time::Duration;

use analysis::Recorded;
use measure::cycles::Latency;
use measure::estimate::Levels;
use platform::CaseError;
use results::{CaseResult, RoundRow};

use crate::evidence::Evidence;
use crate::figures::Core;
use crate::launch::RoundEnd;
use crate::plan::{Options, Point, plan_of};
use crate::recorded;
use crate::schedule::RunTime;
use crate::stored_round::{Began, KIND_ROUND};
use crate::wire::{Deframer, FrameWriter};

/// Numbers and messages of the frames in an agent's output that arrives in pieces, and the last line of other text. Each message,
/// written again, must be found again.
pub fn frames(bytes: &[u8], piece: usize) -> (Vec<(u64, String)>, String) {
    let mut deframer = Deframer::default();
    let mut all = Vec::new();
    for piece in bytes.chunks(piece) {
        for (number, message) in deframer.push(piece) {
            let mut line = Vec::new();
            FrameWriter::new(&mut line).write(&message).expect("as short as it was");
            let again = Deframer::default().push(&line);
            assert!(again.len() == 1 && again[0].0 == 0, "{message:?}");
            all.push((number, format!("{message:?}")));
        }
    }
    (all, deframer.noise().to_owned())
}

/// The distributions of a run with these rounds, as reports show them.
pub fn recorded_of(rounds: &[&str]) -> Option<Recorded> {
    let outcome = serde_json::to_string(&RoundEnd::Reported(Ok(()))).expect("it can be written");
    let row = |(seq, lines): (u64, &&str)| RoundRow {
        seq,
        case: "area/case".to_owned(),
        params: Default::default(),
        kind: KIND_ROUND.to_owned(),
        outcome: outcome.clone(),
        started_ms: seq as i64 * 20,
        lines: (*lines).to_owned(),
    };
    let rows: Vec<RoundRow> = (0..).zip(rounds).map(row).collect();
    recorded::of_rows(&rows, Levels::default(), Some(3.0))
}

/// The results of a point of one of the installed areas, the first round being the untimed pass.
pub fn results_of(case: &str, rounds: &[&str]) -> Vec<CaseResult> {
    let point = Point { case: case.to_owned(), params: Default::default() };
    let plan = plan_of(vec![point.clone()], &Options::default(), &[0], 7).expect("a plan");
    let (mut evidence, mut levels) = (Evidence::new(point), Levels::default());
    for (number, lines) in (0..).zip(rounds) {
        let end = RoundEnd::Reported(match lines.len() % 7 {
            6 => Err(CaseError::TimedOut("late".to_owned())),
            _ => Ok(()),
        });
        if number == 0 {
            evidence.add_count(lines, &end);
            continue;
        }
        let began = Began { at: RunTime(Duration::from_millis(number)), unix_ms: number as i64 };
        evidence.add_round(lines, &end, began);
        evidence.latest_series().iter().for_each(|series| levels.observe(series));
        evidence.update_precision(&plan, &levels, true);
    }
    let core = Core::of(&levels, &Latency::Cycles(3)).with_clock_step(1.0);
    evidence.results(&plan, &core)
}

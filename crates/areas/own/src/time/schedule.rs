//! Decides which commands are run next, and how often.

use std::time::Duration;

/// Time that runs of a short command take in a row, before it is another command's turn.
const TURN: Duration = Duration::from_millis(20);
/// Number of turns that an interval needs, where the number of runs is limited.
const TURNS: usize = 12;
/// Number of turns after which commands are compared for the first time, if there are several.
const FIRST_LOOK: usize = 10;

/// How much is to be run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Minimum number of runs of each command.
    pub at_least: usize,
    /// Maximum number of runs of each command.
    pub at_most: usize,
    /// Time that each command's runs may take together, beyond the minimum number.
    pub time: Duration,
}

/// What was run of a command so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Done {
    /// Number of turns.
    pub turns: usize,
    /// Number of runs.
    pub runs: usize,
    /// Time of these runs, with what prepares and follows them.
    pub took: Duration,
    /// Whether it is not run any more.
    pub is_over: bool,
}

/// The commands of the next pass, each with a number of runs; empty when nothing is left to do. `is_answered`: the figures
/// are precise, or the comparison of the commands has a result.
pub fn next_pass(all: &[Done], effort: &Effort, is_answered: bool) -> Vec<(usize, usize)> {
    let running = || all.iter().enumerate().filter(|(_, done)| !done.is_over);
    let lacks = |done: &Done| done.runs < effort.at_least || lacks_turns(done, effort);
    let wants_more = |done: &Done| !is_answered && done.took < effort.time;
    // Commands are compared by neighbouring turns, so that all get another one.
    if !running().any(|(_, done)| lacks(done) || wants_more(done)) {
        return Vec::new();
    }
    let of = |(which, done): (usize, &Done)| {
        let runs = turn_of(done, effort).min(effort.at_most.saturating_sub(done.runs));
        (runs > 0).then_some((which, runs))
    };
    running().filter_map(of).collect()
}

/// Whether the commands are to be compared after this number of turns, to find out whether the comparison has a result. This
/// is done seldom, since a comparison of many runs takes time.
pub fn is_look(turns: usize) -> bool {
    turns >= FIRST_LOOK
        && turns.is_multiple_of(FIRST_LOOK)
        && (turns / FIRST_LOOK).is_power_of_two()
}

fn lacks_turns(done: &Done, effort: &Effort) -> bool {
    done.turns < FIRST_LOOK && done.runs < effort.at_most
}

/// The number of runs of the command's next turn. The first one shows how long a run takes.
fn turn_of(done: &Done, effort: &Effort) -> usize {
    if done.runs == 0 {
        return 1;
    }
    let each =
        (done.took / u32::try_from(done.runs).unwrap_or(u32::MAX)).max(Duration::from_micros(1));
    let by_time = (TURN.as_nanos() / each.as_nanos()) as usize;
    by_time.min(effort.at_most.div_ceil(TURNS)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Runs commands of these durations to the end; returns their numbers of turns and runs.
    fn rehearsed(
        durations: &[Duration],
        effort: Effort,
        answered_after: usize,
    ) -> Vec<(usize, usize)> {
        let mut all = vec![Done::default(); durations.len()];
        let mut passes = 0;
        loop {
            let pass = next_pass(&all, &effort, passes >= answered_after);
            if pass.is_empty() {
                return all.iter().map(|done| (done.turns, done.runs)).collect();
            }
            for (which, runs) in pass {
                let done = &mut all[which];
                (done.turns, done.runs) = (done.turns + 1, done.runs + runs);
                done.took += durations[which] * runs as u32;
            }
            passes += 1;
            assert!(passes < 100_000);
        }
    }

    #[test]
    fn a_given_number_of_runs_is_made_in_enough_turns() {
        for runs in [1, 5, 10, 100, 1_000] {
            let effort = Effort { at_least: runs, at_most: runs, time: Duration::ZERO };
            for each in [Duration::from_micros(500), SECOND] {
                let [(turns, made)] = rehearsed(&[each], effort, 0)[..] else { panic!() };
                assert_eq!(made, runs);
                assert!(turns >= runs.min(TURNS), "{turns} turns of {runs} runs");
                assert!(each < SECOND || turns == runs);
            }
        }
    }

    #[test]
    fn usually_the_answer_ends_it_and_else_the_time() {
        let effort = Effort { at_least: 10, at_most: usize::MAX, time: 3 * SECOND };
        let short = Duration::from_millis(1);
        assert_eq!(rehearsed(&[SECOND], effort, 0), [(10, 10)], "the minimum");
        let [(turns, runs)] = rehearsed(&[short], effort, 0)[..] else { panic!() };
        assert!(turns == 10 && (150..=200).contains(&runs), "{turns} {runs}");
        let [(_, runs)] = rehearsed(&[short], effort, usize::MAX)[..] else { panic!() };
        assert!((2_990..=3_040).contains(&runs), "{runs}");
        // A short command is run as long as the other one is.
        let both = rehearsed(&[short, SECOND / 2], effort, 20);
        assert_eq!(both[0].0, both[1].0, "{both:?}");
    }

    #[test]
    fn what_has_failed_is_not_run_again() {
        let effort = Effort { at_least: 10, at_most: 10, time: Duration::ZERO };
        let over = Done { is_over: true, ..Done::default() };
        assert_eq!(next_pass(&[over, Done::default()], &effort, false), [(1, 1)]);
        assert!(next_pass(&[over], &effort, false).is_empty());
    }

    #[test]
    fn looks_become_rarer() {
        let looks: Vec<usize> = (0..2_000).filter(|&turns| is_look(turns)).collect();
        assert_eq!(looks, [10, 20, 40, 80, 160, 320, 640, 1_280]);
    }
}

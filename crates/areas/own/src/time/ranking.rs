//! Commands of one run compared with one of them, by the rules by which runs are compared.

use std::collections::BTreeMap;

use super::command::{CASE_NAME, COMMAND};
use measure::TIME;
use results::{CaseResult, Document, GROUP, Outcome};

use analysis::compare;
use analysis::{Compared, Settings, Verdict};

/// The commands of a run, compared with one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Name of the fastest command, or of the one that the user chose.
    pub base: String,
    /// The other commands, the fastest first.
    pub others: Vec<Ranked>,
}

/// A command compared with the base.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Name of the command.
    pub command: String,
    /// Time of the command divided by that of the base, with the verdict.
    pub compared: Compared,
}

/// The key under which the command is kept that others are compared with, if the user chose it.
pub const REFERENCE: &str = "reference";

/// Compares the elapsed times of a run's commands with the fastest, or with the command that the user chose; `None` if fewer
/// than two were measured. All comparisons share one chance of error. Selecting the fastest command from the same data does
/// not raise that chance (see `crate::concurrency::choice`).
pub fn rank_commands(document: &Document) -> Option<Ranking> {
    let measured = |result: &&CaseResult| {
        result.case == CASE_NAME
            && result.metric == TIME.name
            && result.outcome == Outcome::Measured
            && result.estimate.is_some()
    };
    let mut times: Vec<&CaseResult> = document.results.iter().filter(measured).collect();
    let median = |result: &CaseResult| result.estimate.map_or(f64::INFINITY, |e| e.median);
    times.sort_by(|a, b| median(a).total_cmp(&median(b)));
    let chosen = document.run.asked.get(REFERENCE);
    let chosen = times.iter().position(|time| time.params.get(COMMAND) == chosen);
    let base_at = chosen.filter(|_| document.run.asked.contains_key(REFERENCE)).unwrap_or(0);
    if times.len() < 2 {
        return None;
    }
    let names = names(&times);
    let usual = Settings::default();
    let settings = Settings { chance: usual.chance / (times.len() - 1) as f64, ..usual };
    let base = alone(document, times[base_at], &names[base_at]);
    let others = times.iter().zip(&names).enumerate().filter(|(at, _)| *at != base_at);
    let ranked = others.filter_map(|(_, (other, name))| {
        let rows = compare(&base, &alone(document, other, name), &settings);
        let compared = rows.into_iter().next()?;
        Some(Ranked { command: name.clone(), compared })
    });
    Some(Ranking { base: names[base_at].clone(), others: ranked.collect() })
}

/// Whether the comparison of the commands has a result, so that no more runs are needed. The intervals of runs in turn hold at
/// every look at the growing data.
pub fn is_answered(document: &Document) -> bool {
    let is_known = |ranked: &Ranked| ranked.compared.verdict != Verdict::CannotTell;
    rank_commands(document).is_none_or(|ranking| ranking.others.iter().all(is_known))
}

/// A run that has only this result, at a point that all commands share, measured in turn with the other commands.
fn alone(document: &Document, result: &CaseResult, name: &str) -> Document {
    let result = CaseResult { params: BTreeMap::new(), ..result.clone() };
    let mut alone = Document { results: vec![result], ..document.clone() };
    alone.run.asked.insert(GROUP.to_owned(), document.run.id.clone());
    alone.run.id.push_str(&format!(" {name}"));
    alone
}

/// The command lines, with their other parameters if two lines are the same.
fn names(times: &[&CaseResult]) -> Vec<String> {
    let line = |result: &CaseResult| result.params.get(COMMAND).cloned().unwrap_or_default();
    let lines: Vec<String> = times.iter().map(|result| line(result)).collect();
    let is_shared = |name: &String| lines.iter().filter(|other| *other == name).count() > 1;
    let name = |(result, line): (&&CaseResult, &String)| {
        if !is_shared(line) {
            return line.clone();
        }
        let others = result.params.iter().filter(|(key, _)| *key != COMMAND);
        let others: Vec<String> = others.map(|(key, value)| format!("{key}={value}")).collect();
        format!("{line} ({})", others.join(", "))
    };
    times.iter().zip(&lines).map(name).collect()
}

#[cfg(test)]
mod tests {
    use simulated::{document, rounds_of};

    use super::*;

    fn time(command: &str, round_values: Vec<f64>) -> CaseResult {
        rounds_of((CASE_NAME, [(COMMAND, command)]), &round_values)
    }

    fn around(median: f64) -> Vec<f64> {
        (0..11).map(|n| median * (1.0 + 0.001 * f64::from(n - 5))).collect()
    }

    #[test]
    fn the_fastest_comes_first_and_the_others_have_a_verdict() {
        let all = [("slow", 2e8), ("fast", 1e8), ("alike", 1.001e8)];
        let results = all.map(|(name, ns)| time(name, around(ns)));
        let ranking = rank_commands(&document("here", results.to_vec())).unwrap();
        assert_eq!(ranking.base, "fast");
        let others: Vec<(&str, Verdict)> = ranking
            .others
            .iter()
            .map(|ranked| (ranked.command.as_str(), ranked.compared.verdict))
            .collect();
        assert_eq!(others, [("alike", Verdict::Same), ("slow", Verdict::Slower)]);
        let ratio = ranking.others[1].compared.ratio.unwrap();
        assert!(ratio.low < 2.0 && 2.0 < ratio.high && ratio.high < 2.02, "{ratio:?}");
    }

    /// Checks the comparison of two commands that both became slower by a third in the course of the run.
    #[test]
    fn commands_are_compared_by_runs_next_to_each_other() {
        let drifting = |name: &str, factor: f64, from: i64| {
            let values = (0..12).map(|n| 1e8 * factor * (1.0 + 0.03 * f64::from(n)));
            let round_starts_ms = (0..12).map(|n| from + 1_000 * n).collect();
            CaseResult { round_starts_ms, ..time(name, values.collect()) }
        };
        let results = vec![drifting("one", 1.0, 0), drifting("other", 1.02, 300)];
        let ranking = rank_commands(&document("here", results)).unwrap();
        let compared = &ranking.others[0].compared;
        assert_eq!(compared.verdict, Verdict::Slower, "{compared:?}");
        let ratio = compared.ratio.unwrap();
        assert!(ratio.low > 1.01 && ratio.high < 1.03, "{ratio:?}");
    }

    #[test]
    fn the_user_can_choose_the_command_to_compare_with() {
        let all = [("slow", 2e8), ("fast", 1e8), ("slowest", 4e8)];
        let results = all.map(|(name, ns)| time(name, around(ns))).to_vec();
        let mut document = document("here", results);
        document.run.asked.insert(REFERENCE.to_owned(), "slow".to_owned());
        let ranking = rank_commands(&document).unwrap();
        assert_eq!(ranking.base, "slow");
        let verdicts: Vec<_> = ranking
            .others
            .iter()
            .map(|ranked| (ranked.command.as_str(), ranked.compared.verdict))
            .collect();
        assert_eq!(verdicts, [("fast", Verdict::Faster), ("slowest", Verdict::Slower)]);
    }

    /// Two commands in turn on a machine whose speed changes now and then, for both, and on which a third of the runs take long.
    fn in_turn(rng: &mut rand::rngs::StdRng, slower: f64) -> [CaseResult; 2] {
        use rand::RngExt;
        let mut values = [Vec::new(), Vec::new()];
        let mut is_fast = false;
        for _ in 0..160 {
            is_fast ^= rng.random::<f64>() < 0.2;
            let machine = if is_fast { 1.0 } else { 1.3 };
            for (values, ns) in values.iter_mut().zip([1e8, 1e8 * slower]) {
                let run = if rng.random::<f64>() < 0.3 { 1.7 } else { 1.0 };
                values.push(ns * machine * run * (1.0 + 0.02 * rng.random::<f64>()));
            }
        }
        let of = |name: &str, values: Vec<f64>, from: i64| {
            let round_starts_ms = (0..160).map(|run| from + 100 * run).collect();
            CaseResult { round_starts_ms, ..time(name, values) }
        };
        let [a, b] = values;
        [of("a", a, 0), of("b", b, 30)]
    }

    /// The verdict at the first look that has one, as in a session.
    fn at_looks(a: &CaseResult, b: &CaseResult) -> Verdict {
        let first = |result: &CaseResult, turns: usize| CaseResult {
            round_values: result.round_values[..turns].to_vec(),
            round_starts_ms: result.round_starts_ms[..turns].to_vec(),
            ..result.clone()
        };
        let of_look = |turns: usize| {
            let document = document("here", vec![first(a, turns), first(b, turns)]);
            rank_commands(&document).unwrap().others[0].compared.verdict
        };
        let looks = (1..=160).filter(|&turns| super::super::schedule::is_look(turns));
        let mut known = looks.map(of_look).filter(|&verdict| verdict != Verdict::CannotTell);
        known.next().unwrap_or(Verdict::CannotTell)
    }

    /// Checks how often looks at equal commands end their runs with a difference, and at a command that is slower by 3 %.
    #[test]
    fn looks_seldom_find_a_difference_between_equal_commands_and_often_a_small_one() {
        use rand::SeedableRng;
        let mut rng = rand::rngs::StdRng::seed_from_u64(11);
        const TRIES: usize = 100;
        let mut tell_apart = |slower: f64| {
            let tries = (0..TRIES).map(|_| {
                let [a, b] = in_turn(&mut rng, slower);
                at_looks(&a, &b)
            });
            tries.filter(|verdict| matches!(verdict, Verdict::Slower | Verdict::Faster)).count()
        };
        let (equal, slower) = (tell_apart(1.0), tell_apart(1.03));
        assert!(equal * 20 <= TRIES && slower * 10 >= TRIES * 7, "{equal} {slower} of {TRIES}");
    }

    #[test]
    fn one_command_is_compared_with_nothing() {
        assert_eq!(rank_commands(&document("here", vec![time("only", around(1e6))])), None);
    }

    #[test]
    fn few_runs_are_evidence_only_beyond_a_factor_of_two() {
        for (slower, verdict) in [(1.9e6, Verdict::CannotTell), (3e6, Verdict::Slower)] {
            let results = vec![time("a", vec![1e6; 3]), time("b", vec![slower; 3])];
            let ranking = rank_commands(&document("here", results)).unwrap();
            assert_eq!(ranking.others[0].compared.verdict, verdict, "{slower}");
        }
    }
}

//! Chooses the best of several ways to carry out the same jobs for a goal.
//!
//! Each candidate is compared with the one that has the best median. All comparisons share one chance of error (Bonferroni).
//! Selecting the best from the same data does not raise that chance: a wrong answer needs some other candidate to seem
//! significantly better than the truly best one, and there are no more such pairs than comparisons.

mod gap;

use std::collections::BTreeMap;

use super::metrics::{FOREGROUND_DELAY_P90, TURNAROUND, TURNAROUND_WORST};
use measure::{Doubt, TIME};
use results::{CaseResult, Estimate, Outcome};

use analysis::Settings;
use analysis::{FLOOR_AT_LEAST, Ratio};
use gap::{Gap, gaps};

/// Full name of the case by which candidates are measured.
pub const CASE: &str = "concurrency/answer";
/// Minimum number of rounds that is recommended.
const FEWEST_ROUNDS: u32 = 6;
/// Maximum number of rounds that is recommended.
const MOST_ROUNDS: f64 = 1_000.0;

/// The figure to minimise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// The time until the last job is complete.
    Elapsed,
    /// The mean over the jobs of completion time divided by length.
    Turnaround,
    /// The largest turnaround of any job.
    WorstTurnaround,
    /// The wake-up delay of a foreground task while the jobs run, at 90 % of its wake-ups: half of them may meet a CPU
    /// that is idle at that moment, and the worst ones are too few in a trial to tell candidates apart.
    ForegroundDelay,
}

impl Goal {
    /// Name of the goal's metric in the results.
    pub fn metric(self) -> &'static str {
        match self {
            Goal::Elapsed => TIME.name,
            Goal::Turnaround => TURNAROUND.name,
            Goal::WorstTurnaround => TURNAROUND_WORST.name,
            Goal::ForegroundDelay => FOREGROUND_DELAY_P90.name,
        }
    }
}

/// One way to carry out the jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// All parameters: `executor`, `degree`, `order`, and those of the jobs.
    pub params: BTreeMap<String, String>,
    /// The time until the last job is complete, in ns.
    pub elapsed: Option<Estimate>,
    /// Mean turnaround over the jobs, in lengths of the job.
    pub turnaround: Option<Estimate>,
    /// The largest turnaround.
    pub worst: Option<Estimate>,
    /// The wake-up delay of the foreground task at 90 % of its wake-ups, in ns; `None` if there was no such task.
    pub foreground_delay: Option<Estimate>,
    /// The candidate's figure for the goal divided by that of the first candidate; `None` for the first candidate, and if one of
    /// the figures has no interval. The intervals of all candidates are simultaneous.
    pub against_best: Option<Ratio>,
    /// Outcome and reason, if the candidate has no figure for the goal.
    pub ending: Option<(Outcome, String)>,
    /// Doubts about the figure for the goal.
    pub doubts: Vec<Doubt>,
}

/// The candidates, and the recommended one.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The goal.
    pub goal: Goal,
    /// Candidates in the order of their medians, the best first; those without a figure last.
    pub candidates: Vec<Candidate>,
    /// The best candidate, if there is one.
    pub answer: Answer,
}

/// The significant result.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The first candidate is better than any other, by more than the noise floor of 1 %.
    Best {
        /// Figure of the second candidate divided by that of the first; `None` if no other has a figure.
        by: Option<Ratio>,
    },
    /// Several candidates may be the best.
    CannotTell {
        /// Positions of these candidates; the first candidate is one of them.
        among: Vec<usize>,
        /// A remedy that would decide between them.
        settled_by: SettledBy,
    },
    /// No candidate has a figure.
    NoFigure,
}

/// A remedy that would decide an open choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettledBy {
    /// No decision is needed: all are significantly within this share of the first, at most 2 %.
    DoesNotMatter {
        /// The share.
        within: f64,
        /// Position of the simplest candidate among them.
        simplest: usize,
    },
    /// This total number of rounds would decide.
    Rounds(u32),
    /// No number of rounds would decide: the variance between rounds is too large.
    Nothing,
}

impl Choice {
    /// The position of the recommended candidate: the best, or the simplest of those that are as good.
    pub fn advised(&self) -> Option<usize> {
        match &self.answer {
            Answer::Best { .. } => Some(0),
            Answer::CannotTell {
                settled_by: SettledBy::DoesNotMatter { simplest, .. }, ..
            } => Some(*simplest),
            _ => None,
        }
    }

    /// The total number of rounds that would decide an open choice; `None` if no number would.
    pub fn rounds_that_would_settle(&self) -> Option<u32> {
        match self.answer {
            Answer::CannotTell { settled_by: SettledBy::Rounds(rounds), .. } => Some(rounds),
            _ => None,
        }
    }
}

/// The candidates beside which the foreground task is delayed by at most a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Within {
    /// Positions of the candidates whose whole interval is within the limit.
    pub surely: Vec<usize>,
    /// Positions of the candidates whose interval contains the limit, or that have no interval.
    pub perhaps: Vec<usize>,
    /// Position of the candidate among `surely` with the shortest elapsed time.
    pub fastest: Option<usize>,
}

impl Choice {
    /// The candidates whose delay of the foreground task is within a limit in ns; those without that figure are left out.
    pub fn within(&self, limit_ns: f64) -> Within {
        let delays = || {
            let delay = |candidate: &Candidate| candidate.foreground_delay;
            (0..).zip(&self.candidates).filter_map(move |(at, c)| Some((at, delay(c)?)))
        };
        // The figure of a single trial has no interval.
        let is_sure = |delay: &Estimate| delay.low < delay.high && delay.high <= limit_ns;
        let surely: Vec<usize> =
            delays().filter(|(_, delay)| is_sure(delay)).map(|(at, _)| at).collect();
        let perhaps = delays().filter(|(_, delay)| delay.low <= limit_ns && !is_sure(delay));
        let elapsed = |at: &usize| Some((*at, self.candidates[*at].elapsed?.median));
        let fastest = surely.iter().filter_map(elapsed).min_by(|(_, a), (_, b)| a.total_cmp(b));
        Within {
            perhaps: perhaps.map(|(at, _)| at).collect(),
            fastest: fastest.map(|(at, _)| at),
            surely,
        }
    }
}

/// Chooses among the candidates of `concurrency/answer` in `results`, which must be of the same jobs.
pub fn choose(results: &[CaseResult], goal: Goal) -> Choice {
    let mut rows: BTreeMap<&BTreeMap<String, String>, Vec<&CaseResult>> = BTreeMap::new();
    for result in results.iter().filter(|result| result.case == CASE) {
        rows.entry(&result.params).or_default().push(result);
    }
    let mut judged: Vec<(Candidate, Vec<f64>)> =
        rows.into_iter().map(|(params, rows)| candidate(params, &rows, goal)).collect();
    let rank = |candidate: &Candidate| match candidate.figure(goal) {
        Some(figure) if candidate.ending.is_none() => figure.median,
        _ => f64::INFINITY,
    };
    // Candidates that are equal or have no figure are sorted by simplicity.
    judged.sort_by(|(a, _), (b, _)| {
        rank(a).total_cmp(&rank(b)).then_with(|| simplicity(a).cmp(&simplicity(b)))
    });
    let with_figures = judged.iter().filter(|(it, _)| it.ending.is_none()).count();
    let (mut candidates, values): (Vec<Candidate>, Vec<Vec<f64>>) = judged.into_iter().unzip();
    if with_figures == 0 {
        return Choice { goal, candidates, answer: Answer::NoFigure };
    }
    let gaps = gaps(&values[..with_figures]);
    for (candidate, gap) in candidates[1..].iter_mut().zip(&gaps) {
        candidate.against_best = gap.as_ref().map(Gap::ratio);
    }
    let answer = answer(&candidates, &gaps);
    Choice { goal, candidates, answer }
}

impl Candidate {
    /// The figure for `goal`.
    pub fn figure(&self, goal: Goal) -> Option<Estimate> {
        match goal {
            Goal::Elapsed => self.elapsed,
            Goal::Turnaround => self.turnaround,
            Goal::WorstTurnaround => self.worst,
            Goal::ForegroundDelay => self.foreground_delay,
        }
    }
}

/// A candidate from its rows, and the rounds' values for the goal.
fn candidate(
    params: &BTreeMap<String, String>,
    rows: &[&CaseResult],
    goal: Goal,
) -> (Candidate, Vec<f64>) {
    let row = |metric: &str| rows.iter().find(|row| row.metric == metric).copied();
    let estimate = |goal: Goal| row(goal.metric()).and_then(|row| row.estimate);
    let usable = estimate(goal).is_some_and(|e| e.median.is_finite() && e.median > 0.0);
    let ended = |row: &&&CaseResult| row.outcome != Outcome::Measured;
    let ending =
        match row(goal.metric()).filter(|row| ended(&row)).or(rows.iter().find(ended).copied()) {
            _ if usable => None,
            Some(row) => Some((
                row.outcome,
                row.reason.clone().unwrap_or_else(|| "no reason given".to_owned()),
            )),
            None => Some((Outcome::Failed, format!("it has no {} above zero", goal.metric()))),
        };
    let of_goal = row(goal.metric()).filter(|_| usable);
    let candidate = Candidate {
        params: params.clone(),
        elapsed: estimate(Goal::Elapsed),
        turnaround: estimate(Goal::Turnaround),
        worst: estimate(Goal::WorstTurnaround),
        foreground_delay: estimate(Goal::ForegroundDelay),
        against_best: None,
        ending,
        doubts: of_goal.map(|row| row.doubts.clone()).unwrap_or_default(),
    };
    (candidate, of_goal.map(|row| row.round_values.clone()).unwrap_or_default())
}

/// Sort key of simplicity, the simplest first: serial, threads, a pool, async; few at once before many; the given order before a
/// sorted one.
fn simplicity(candidate: &Candidate) -> (usize, u64, usize, &BTreeMap<String, String>) {
    const EXECUTORS: [&str; 4] = ["serial", "threads", "pool", "tokio"];
    const ORDERS: [&str; 2] = ["given", "shortest"];
    let param = |name: &str| candidate.params.get(name).map_or("", String::as_str);
    let place =
        |known: &[&str], value: &str| known.iter().position(|k| *k == value).unwrap_or(known.len());
    let degree = param("degree").parse().unwrap_or(u64::MAX);
    (
        place(&EXECUTORS, param("executor")),
        degree,
        place(&ORDERS, param("order")),
        &candidate.params,
    )
}

fn answer(candidates: &[Candidate], gaps: &[Option<Gap>]) -> Answer {
    let may_be_best =
        |gap: &Option<Gap>| gap.is_none_or(|gap| !gap.certainly_above(FLOOR_AT_LEAST));
    let rivals: Vec<(usize, Option<Gap>)> =
        (1..).zip(gaps.iter().copied()).filter(|(_, gap)| may_be_best(gap)).collect();
    if rivals.is_empty() {
        return Answer::Best { by: candidates.get(1).and_then(|next| next.against_best) };
    }
    let among: Vec<usize> = [0].into_iter().chain(rivals.iter().map(|(at, _)| *at)).collect();
    let settled_by = settled_by(candidates, &among, &rivals);
    Answer::CannotTell { among, settled_by }
}

fn settled_by(
    candidates: &[Candidate],
    among: &[usize],
    rivals: &[(usize, Option<Gap>)],
) -> SettledBy {
    let margin = Settings::default().margin;
    let Some(gaps) = rivals.iter().map(|(_, gap)| *gap).collect::<Option<Vec<Gap>>>() else {
        return SettledBy::Rounds(FEWEST_ROUNDS);
    };
    if gaps.iter().all(|gap| gap.certainly_below(margin)) {
        let within = gaps.iter().map(Gap::at_most).fold(0.0, f64::max);
        let simplest = among.iter().copied().min_by_key(|&at| simplicity(&candidates[at]));
        return SettledBy::DoesNotMatter { within, simplest: simplest.unwrap_or(0) };
    }
    let rounds = gaps.iter().filter(|gap| !gap.certainly_below(margin)).map(Gap::rounds_to_settle);
    match rounds.fold(0.0, f64::max) {
        rounds if rounds <= MOST_ROUNDS => SettledBy::Rounds((rounds as u32).max(FEWEST_ROUNDS)),
        _ => SettledBy::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use results::Direction;

    use super::*;
    use simulated::{figure_of, noise, outlier};

    fn row(executor: &str, degree: &str, metric: &str, round_values: Vec<f64>) -> CaseResult {
        let params =
            [("executor", executor), ("degree", degree), ("order", "given"), ("jobs", "40")];
        figure_of((CASE, params), (metric, "ns/op", Direction::Lower), round_values)
    }

    const NAMES: [(&str, &str); 6] = [
        ("tokio", "2"),
        ("threads", "4"),
        ("threads", "2"),
        ("pool", "2"),
        ("serial", "1"),
        ("pool", "4"),
    ];

    /// Six candidates with the given true ratios to the first, measured in turn on a machine whose rounds differ by `common`,
    /// whose trials differ by `own`, and where some trials are delayed much.
    fn measured(
        times: [f64; 6],
        rounds: usize,
        common: f64,
        own: f64,
        rng: &mut StdRng,
    ) -> Vec<CaseResult> {
        let mut values = vec![Vec::new(); 6];
        for _ in 0..rounds {
            let of_round = common * noise(rng);
            for (values, time) in values.iter_mut().zip(times) {
                values.push(1e6 * time * (of_round + own * noise(rng)).exp() * outlier(rng));
            }
        }
        let rows = NAMES.iter().zip(values);
        rows.map(|((executor, degree), values)| row(executor, degree, "time", values)).collect()
    }

    /// The share of choices that name the first candidate as best, another one, and a set of candidates without the
    /// first.
    fn shares(times: [f64; 6], rounds: usize, common: f64, own: f64) -> [f64; 3] {
        const TRIALS: usize = 300;
        let mut rng = StdRng::seed_from_u64(21);
        let mut counts = [0; 3];
        for _ in 0..TRIALS {
            let choice = choose(&measured(times, rounds, common, own, &mut rng), Goal::Elapsed);
            let is_first = |at: usize| choice.candidates[at].params["executor"] == "tokio";
            match &choice.answer {
                Answer::Best { .. } => counts[usize::from(!is_first(0))] += 1,
                Answer::CannotTell { among, .. } => {
                    counts[2] += usize::from(!among.iter().any(|&at| is_first(at)));
                }
                Answer::NoFigure => unreachable!("all have figures"),
            }
        }
        let shares = counts.map(|count| count as f64 / TRIALS as f64);
        let [right, wrong, excluded] = shares.map(|share| share * 100.0);
        println!(
            "{rounds} rounds that differ by {common}, trials by {own}, {times:?}: \
             right {right:.1} %, wrong {wrong:.1} %, left out {excluded:.1} %"
        );
        shares
    }

    #[test]
    fn a_wrong_answer_is_rare() {
        for rounds in [6, 10] {
            for (common, own) in [(0.0, 0.005), (0.0, 0.02), (0.03, 0.005), (0.01, 0.01)] {
                // All candidates are equal: none may be called best, and the first one must rarely be left out.
                let [right, wrong, excluded] = shares([1.0; 6], rounds, common, own);
                assert!(right + wrong <= 0.05, "{rounds} {common} {own}: {right} {wrong}");
                assert!(wrong + excluded <= 0.05, "{rounds} {common} {own}: {wrong} {excluded}");
                // One candidate is better by less than the floor.
                let [_, wrong, excluded] =
                    shares([1.0, 1.01, 1.01, 1.01, 1.2, 2.0], rounds, common, own);
                assert!(wrong + excluded <= 0.05, "{rounds} {common} {own}: {wrong} {excluded}");
            }
        }
    }

    /// Checks that all intervals of a choice are simultaneous.
    #[test]
    fn ratios_hold_together() {
        const TRIALS: usize = 300;
        let times = [1.0, 1.1, 1.2, 1.5, 2.0, 3.0];
        let mut rng = StdRng::seed_from_u64(22);
        for (rounds, common, own) in
            [(6, 0.0, 0.005), (10, 0.0, 0.005), (6, 0.0, 0.02), (10, 0.0, 0.02), (10, 0.03, 0.005)]
        {
            let held = (0..TRIALS).filter(|_| {
                let choice = choose(&measured(times, rounds, common, own, &mut rng), Goal::Elapsed);
                let truth = |candidate: &Candidate| {
                    let params = &candidate.params;
                    let name = (params["executor"].as_str(), params["degree"].as_str());
                    times[NAMES.iter().position(|known| *known == name).unwrap()]
                };
                let best = truth(&choice.candidates[0]);
                choice.candidates[1..].iter().all(|candidate| {
                    let (ratio, truth) = (candidate.against_best.unwrap(), truth(candidate) / best);
                    ratio.low <= truth && truth <= ratio.high
                })
            });
            let share = held.count() as f64 / TRIALS as f64;
            println!("{rounds} rounds that differ by {common}, trials by {own}: {share}");
            assert!(share >= 0.9, "{rounds} {common} {own}: {share}");
        }
    }

    #[test]
    fn a_difference_of_three_percent_is_detected() {
        let times = [1.0, 1.03, 1.03, 1.2, 1.5, 2.0];
        for (rounds, common, at_least) in
            [(6, 0.0, 0.65), (8, 0.0, 0.75), (10, 0.0, 0.85), (10, 0.03, 0.5)]
        {
            let [right, wrong, _] = shares(times, rounds, common, 0.005);
            assert!(right >= at_least && wrong == 0.0, "{rounds} {common}: {right}");
        }
    }

    /// Deterministic rounds for each salt.
    fn rounds(center: f64, spread: f64, salt: u64) -> Vec<f64> {
        let mut rng = StdRng::seed_from_u64(salt);
        (0..10).map(|_| center * (1.0 + spread * noise(&mut rng))).collect()
    }

    #[test]
    fn the_best_is_reported_with_its_gain() {
        let results = [
            row("serial", "1", "time", rounds(200.0, 0.005, 1)),
            row("serial", "1", "turnaround", rounds(9.0, 0.005, 2)),
            row("threads", "2", "time", rounds(103.0, 0.005, 3)),
            row("threads", "2", "turnaround", rounds(2.0, 0.005, 4)),
            row("pool", "2", "time", rounds(100.0, 0.005, 5)),
            row("pool", "2", "turnaround", rounds(3.6, 0.005, 6)),
        ];
        let choice = choose(&results, Goal::Turnaround);
        let names: Vec<&str> =
            choice.candidates.iter().map(|c| c.params["executor"].as_str()).collect();
        assert_eq!(names, ["threads", "pool", "serial"]);
        let Answer::Best { by: Some(by) } = choice.answer else { panic!("{:?}", choice.answer) };
        assert!(by.low < 1.8 && 1.8 < by.high && by.high / by.low < 1.03, "{by:?}");
        assert_eq!(choice.candidates[0].against_best, None);
        assert!((choice.candidates[0].elapsed.unwrap().median / 103.0 - 1.0).abs() < 0.01);
        assert_eq!((choice.advised(), choice.rounds_that_would_settle()), (Some(0), None));
        assert_eq!(choose(&results, Goal::Elapsed).candidates[0].params["executor"], "pool");
    }

    #[test]
    fn of_those_that_tie_the_simplest_is_advised() {
        let results = [
            row("tokio", "2", "time", rounds(100.0, 0.002, 1)),
            row("threads", "4", "time", rounds(100.3, 0.002, 2)),
            row("threads", "2", "time", rounds(100.4, 0.002, 3)),
            row("serial", "1", "time", rounds(200.0, 0.002, 4)),
        ];
        let choice = choose(&results, Goal::Elapsed);
        let Answer::CannotTell { among, settled_by: SettledBy::DoesNotMatter { within, simplest } } =
            &choice.answer
        else {
            panic!("{:?}", choice.answer)
        };
        assert_eq!(among, &[0, 1, 2]);
        assert!((0.004..0.02).contains(within), "{within}");
        let advised = &choice.candidates[*simplest].params;
        assert_eq!((advised["executor"].as_str(), advised["degree"].as_str()), ("threads", "2"));
    }

    #[test]
    fn the_recommended_number_of_rounds_decides() {
        let noisy = |count: usize| {
            let values = |center: f64, salt: u64| -> Vec<f64> {
                let mut rng = StdRng::seed_from_u64(salt);
                (0..count).map(|_| center * (1.0 + 0.03 * noise(&mut rng))).collect()
            };
            [
                row("serial", "1", "time", values(104.0, 1)),
                row("pool", "2", "time", values(100.0, 2)),
            ]
        };
        let choice = choose(&noisy(6), Goal::Elapsed);
        let Answer::CannotTell { among, .. } = &choice.answer else {
            panic!("{:?}", choice.answer)
        };
        assert_eq!((among.len(), choice.advised()), (2, None));
        let asked = choice.rounds_that_would_settle().unwrap();
        assert!((7..=400).contains(&asked), "{asked}");
        let settled = choose(&noisy(asked as usize * 2), Goal::Elapsed);
        assert!(settled.advised().is_some(), "{asked}: {:?}", settled.answer);
        // One round has no spread.
        let once = choose(&noisy(1), Goal::Elapsed);
        assert_eq!(once.rounds_that_would_settle(), Some(FEWEST_ROUNDS));
    }

    #[test]
    fn failed_candidates_are_kept_with_their_reason() {
        let mut failed = row("tokio", "2", "time", vec![1.0]);
        failed.outcome = Outcome::TimedOut;
        failed.reason = Some("time was up".to_owned());
        failed.estimate = None;
        failed.round_values.clear();
        let measured = row("serial", "1", "time", rounds(100.0, 0.01, 1));
        let choice = choose(&[failed.clone(), measured.clone()], Goal::Elapsed);
        assert_eq!(choice.answer, Answer::Best { by: None });
        let ending = choice.candidates[1].ending.clone().unwrap();
        assert_eq!(ending, (Outcome::TimedOut, "time was up".to_owned()));
        assert_eq!(choose(&[failed], Goal::Elapsed).answer, Answer::NoFigure);
        assert_eq!(choose(&[], Goal::Elapsed).answer, Answer::NoFigure);
        let choice = choose(&[measured], Goal::Turnaround);
        let said = "it has no turnaround above zero".to_owned();
        assert_eq!(choice.candidates[0].ending, Some((Outcome::Failed, said)));
    }

    #[test]
    fn lost_rounds_are_no_obstacle() {
        let mut fewer = row("pool", "2", "time", rounds(100.0, 0.002, 1));
        fewer.round_values.truncate(7);
        let choice =
            choose(&[fewer, row("serial", "1", "time", rounds(110.0, 0.002, 2))], Goal::Elapsed);
        assert!(matches!(choice.answer, Answer::Best { by: Some(by) } if by.low > 1.09));
    }

    #[test]
    fn candidates_are_within_a_limit_by_their_intervals() {
        let figures = |executor: &str, elapsed: f64, low: f64, high: f64| {
            let mut delay = row(executor, "2", "foreground-delay-p90", vec![(low + high) / 2.0; 6]);
            delay.estimate = delay.estimate.map(|e| Estimate { low, high, ..e });
            [row(executor, "2", "time", vec![elapsed; 6]), delay]
        };
        let rows = [
            figures("serial", 9e6, 10.0, 20.0),
            figures("pool", 5e6, 30.0, 40.0),
            figures("threads", 4e6, 35.0, 60.0),
            figures("tokio", 3e6, 80.0, 90.0),
            figures("rayon", 3e6, 95.0, 95.0),
        ]
        .concat();
        let choice = choose(&rows, Goal::ForegroundDelay);
        let names: Vec<&str> =
            choice.candidates.iter().map(|c| c.params["executor"].as_str()).collect();
        assert_eq!(names, ["serial", "pool", "threads", "tokio", "rayon"]);
        let of = |surely: &[usize], perhaps: &[usize], fastest| Within {
            surely: surely.to_vec(),
            perhaps: perhaps.to_vec(),
            fastest,
        };
        assert_eq!(choice.within(50.0), of(&[0, 1], &[2], Some(1)));
        assert_eq!(choice.within(5.0), of(&[], &[], None));
        assert_eq!(choice.within(100.0), of(&[0, 1, 2, 3], &[4], Some(3)));
        // Other goals have no such figure.
        let others = [row("serial", "1", "time", vec![1e6; 6])];
        assert_eq!(choose(&others, Goal::Elapsed).within(1e12), of(&[], &[], None));
    }

    proptest! {
        #[test]
        fn any_rows_give_an_answer(
            rows in prop::collection::vec(simulated::any_row(CASE, "time"), 0..12)
        ) {
            let choice = choose(&rows, Goal::Elapsed);
            let figures = choice.candidates.iter().take_while(|c| c.ending.is_none()).count();
            prop_assert!(choice.candidates[figures..].iter().all(|c| c.ending.is_some()));
            prop_assert!(choice.advised().is_none_or(|at| at < figures));
            if let Answer::CannotTell { among, .. } = &choice.answer {
                prop_assert!(among.len() > 1 && among[0] == 0 && among.iter().all(|at| *at < figures));
            }
        }
    }
}

//! Questions of a run: which of its points are compared with each other, and which need more rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use analysis::claim::{Claim, compared_points, undecided_points};
use results::{CaseResult, Document, Estimate, PointKey};

use crate::plan::{Plan, Point};
use crate::schedule::PointState;

/// Maximum number of points that are measured next to each other: with more, the first round would be too long ago for the
/// last.
const GROUP_AT_MOST: usize = 12;
/// Divisor of the maximum share of time that looks at the figures take.
const SHARE_OF_LOOKS: u32 = 20;

/// Claims about the figures of a run, or of several runs on systems in turn.
#[derive(Clone, Copy)]
pub struct Questions<'a> {
    /// The claims as runs of these systems judge them.
    pub claims: &'a dyn Fn(&[Document]) -> Vec<Claim>,
}

/// The questions of runs in progress, and their state.
pub(crate) struct Asked {
    /// The claims as these runs judge them.
    claims: Vec<Claim>,
    /// The runs, without results.
    runs: Vec<Document>,
    /// The number of the group of each point that is compared with others.
    groups: BTreeMap<PointKey, usize>,
    /// The points that need more rounds, each with the number of its run.
    open: BTreeSet<(usize, PointKey)>,
    /// Whether counts per operation may be part of an answer.
    are_counts_asked: bool,
    looked: Instant,
    took: Duration,
}

impl Asked {
    /// The questions before any of these runs, with these points, has a round.
    pub(crate) fn of(questions: Questions, mut runs: Vec<Document>, points: &[Vec<Point>]) -> Self {
        for (run, points) in runs.iter_mut().zip(points) {
            run.results = points.iter().flat_map(expected).collect();
        }
        let claims = (questions.claims)(&runs);
        let groups = grouped(&compared_points(&claims, &runs));
        let mut open = BTreeSet::new();
        for (number, run) in runs.iter_mut().enumerate() {
            let compared = run.results.iter().map(CaseResult::point);
            open.extend(
                compared.filter(|point| groups.contains_key(point)).map(|point| (number, point)),
            );
            run.results.clear();
        }
        Self {
            are_counts_asked: claims.iter().any(Claim::is_about_counts),
            claims,
            runs,
            groups,
            open,
            looked: Instant::now(),
            took: Duration::ZERO,
        }
    }

    /// The group of a point that is compared with others.
    pub(crate) fn group_of(&self, point: &Point) -> Option<usize> {
        self.groups.get(&key(point)).copied()
    }

    /// Changes a point's state for the schedule: the questions that it is part of decide how many rounds it gets, and counts of
    /// trials come last unless a question is about counts.
    pub(crate) fn state(&self, state: PointState, point: &Point, plan: &Plan) -> PointState {
        let is_trial = || catalog::trials_of(&point.case, &point.params).is_some();
        let counts_last = !self.are_counts_asked && is_trial();
        let state = PointState { counts_last, ..state };
        let key = key(point);
        if !self.groups.contains_key(&key) || plan.has_boots() {
            return state;
        }
        PointState {
            is_asked: true,
            is_precise: !self.open.contains(&(state.system, key)),
            at_most: state.at_most.max(plan.rounds_of_question(point)),
            ..state
        }
    }

    /// Whether the next look at the figures is due.
    pub(crate) fn is_due(&self) -> bool {
        self.looked.elapsed() >= self.took * SHARE_OF_LOOKS
    }

    /// Determines which questions are open, from the results of each run so far. Computing the results takes most of the
    /// time.
    pub(crate) fn look(&mut self, results: impl Iterator<Item = Vec<CaseResult>>) {
        let began = Instant::now();
        for (run, results) in self.runs.iter_mut().zip(results) {
            run.results = results;
        }
        self.open = undecided_points(&self.claims, &self.runs);
        self.looked = Instant::now();
        self.took = self.looked - began;
    }
}

fn key(point: &Point) -> PointKey {
    PointKey { case: point.case.clone(), params: point.params.clone() }
}

/// The results that a point will have.
fn expected(point: &Point) -> Vec<CaseResult> {
    let Some(case) = catalog::find(&point.case) else { return Vec::new() };
    let exact = Some(Estimate { median: 1.0, low: 1.0, high: 1.0, level: measure::stats::LEVEL });
    let of_metric = |metric: &measure::Metric| CaseResult {
        estimate: exact,
        ..CaseResult::of(&point.case, point.params.clone(), metric)
    };
    std::iter::once(&measure::TIME).chain(case.metrics).map(of_metric).collect()
}

/// Groups points that are compared with each other, directly or through others of the group, up to the maximum size.
fn grouped(compared: &[Vec<PointKey>]) -> BTreeMap<PointKey, usize> {
    let mut groups: Vec<BTreeSet<&PointKey>> = Vec::new();
    for points in compared {
        let own: BTreeSet<&PointKey> = points.iter().collect();
        let (touched, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| !group.is_disjoint(&own));
        groups = others;
        let known: BTreeSet<&PointKey> = touched.iter().flatten().copied().collect();
        let together: BTreeSet<&PointKey> = own.union(&known).copied().collect();
        if together.len() <= GROUP_AT_MOST {
            groups.push(together);
        } else {
            groups.extend(touched);
            let new: BTreeSet<&PointKey> = own.difference(&known).copied().collect();
            let new: Vec<&PointKey> = new.into_iter().collect();
            groups.extend(new.chunks(GROUP_AT_MOST).map(|part| part.iter().copied().collect()));
        }
    }
    let numbered = groups.into_iter().enumerate();
    numbered
        .flat_map(|(number, group)| group.into_iter().map(move |point| (point.clone(), number)))
        .collect()
}

#[cfg(test)]
mod tests {
    use analysis::claim::ClaimFile;
    use measure::Params;

    use super::*;

    fn key(name: usize) -> PointKey {
        PointKey { case: format!("a/{name}"), params: Params::new() }
    }

    #[test]
    fn groups_are_what_is_compared_unless_that_is_too_much() {
        let of = |compared: &[&[usize]]| {
            let keys = |points: &&[usize]| points.iter().map(|&point| key(point)).collect();
            grouped(&compared.iter().map(keys).collect::<Vec<Vec<PointKey>>>())
        };
        let groups = of(&[&[1, 2], &[3, 4], &[2, 5]]);
        assert!(groups[&key(1)] == groups[&key(5)] && groups[&key(1)] != groups[&key(3)]);
        let chain: Vec<[usize; 2]> = (0..40).map(|n| [n, n + 1]).collect();
        let chain: Vec<&[usize]> = chain.iter().map(|pair| &pair[..]).collect();
        let groups = of(&chain);
        let numbers: BTreeSet<usize> = groups.values().copied().collect();
        assert_eq!(groups.len(), 41);
        for number in numbers {
            let size = groups.values().filter(|other| **other == number).count();
            assert!(size <= GROUP_AT_MOST, "{size}");
        }
    }

    #[test]
    fn a_point_that_only_systems_are_compared_by_is_asked_and_counts_of_trials_come_last() {
        simulated::areas::install();
        let options = crate::plan::Options {
            filters: vec!["file/small".into(), "mail/send".into(), "syscall/getppid".into()],
            ..crate::plan::Options::default()
        };
        let plan = crate::plan(&options, &[0, 1], 7).unwrap();
        for (metric, are_counts_asked) in [("create-read", false), ("syscalls", true)] {
            let text = format!(
                r#"
                [[claim]]
                name = "other-more"
                sentence = "s"
                a = {{ case = "file/small", metric = "{metric}", system = "other" }}
                b.system = "here"
                relation = "ratio > 1"
                scope = "for all""#
            );
            let claims = ClaimFile::parse(&text).unwrap().claims;
            let questions = Questions { claims: &|_| claims.clone() };
            let points = vec![plan.points.clone(); 2];
            let asked = Asked::of(
                questions,
                ["here", "other"].map(|name| simulated::document(name, Vec::new())).to_vec(),
                &points,
            );
            for point in &plan.points {
                let state = crate::evidence::Evidence::new(point.clone()).state(&plan, 1, 0);
                let state = asked.state(state, point, &plan);
                let is_trial = point.case != "syscall/getppid";
                assert_eq!(state.counts_last, is_trial && !are_counts_asked, "{}", point.label());
                let is_compared = point.case == "file/small" && !are_counts_asked;
                assert_eq!(state.is_asked, is_compared, "{}", point.label());
            }
        }
    }

    #[test]
    fn a_question_is_open_until_its_claim_is_decided() {
        simulated::areas::install();
        let text = r#"
            [[claim]]
            name = "sysv-slower"
            sentence = "s"
            a = { case = "lock/sysv-sem", params = { workers = "1", as = "threads", work = "none" } }
            b.case = "lock/futex"
            relation = "> 1""#;
        let claims = ClaimFile::parse(text).unwrap().claims;
        let questions = Questions { claims: &|_| claims.clone() };
        let params = |work: &str| {
            let all = [("workers", "1"), ("as", "threads"), ("work", work), ("place", "spread")];
            simulated::params(&all)
        };
        let point = |case: &str, work: &str| Point { case: case.to_owned(), params: params(work) };
        let points = [("lock/sysv-sem", "none"), ("lock/futex", "none"), ("lock/futex", "1us")]
            .map(|(case, work)| point(case, work));
        let here = vec![simulated::document("here", Vec::new())];
        let mut asked = Asked::of(questions, here, &[points.to_vec()]);
        let is_open = |asked: &Asked| {
            points.each_ref().map(|point| asked.open.contains(&(0, super::key(point))))
        };
        assert_eq!(is_open(&asked), [true, true, false]);
        let [sysv, futex, other] = points.each_ref().map(|point| asked.group_of(point));
        assert!(sysv.is_some() && sysv == futex && other.is_none(), "{sysv:?} {futex:?} {other:?}");
        let measured = |slower: f64| {
            let of = |point: &Point, factor: f64| {
                let rounds: Vec<f64> =
                    (0..8).map(|n| factor * (100.0 + f64::from(n % 3))).collect();
                let mut time = simulated::rounds_of(&super::key(point), &rounds);
                time.round_starts_ms = (0..8).map(|n| 100 * n).collect();
                time
            };
            vec![of(&points[0], slower), of(&points[1], 1.0)]
        };
        asked.look([measured(1.0)].into_iter());
        assert_eq!(is_open(&asked), [true, true, false], "equal sides");
        asked.look([measured(2.0)].into_iter());
        assert_eq!(is_open(&asked), [false; 3]);
    }
}

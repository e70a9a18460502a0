//! A scheduling rule for comparison with `runner::schedule`, as a function of virtual time. Each part of it can be left
//! out, to measure its effect.

use std::collections::BTreeSet;
use std::time::Duration;

use analysis::compared_half_width;
use measure::stats::{RoundValue, faster_of_pairs, interval_of};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// A part of the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Each point gets one round, however late.
    FirstRoundAtAnyTime,
    /// Up to 20 s more for points of which too few rounds were quiet.
    Patience,
    /// Additional time, as much as rounds have waited, up to the same limit.
    MoreForWaiting,
    /// Rounds wait for quiet moments: as long as earlier rounds have earned, and 15 % of the budget and the patience in
    /// all.
    Waiting,
    /// Points beyond their planned rounds wait while they took more than twice the median time.
    CheapestFirst,
    /// A pass with trials has three rounds of each sampled point.
    ThreeRoundsAPass,
    /// Passes begin at least 150 ms apart.
    Rest,
    /// A point's rounds are spread over four seconds, in a quick run over one.
    Spread,
    /// A point ends at 80 % of the wanted half-width.
    Margin,
    /// An interval above 40 % of the wanted width must stay narrow with another round.
    Confirmation,
    /// Core-bound points continue until a comparison would find a difference of twice the precision, up to 24 pairs.
    Comparisons,
    /// Fewer sampled rounds suffice if they took two seconds together.
    LongSampling,
    /// Points with contending workers get at most 60 rounds, others 100.
    FewContended,
    /// Up to three times as many disturbed rounds are added, and any number while too few were quiet.
    DisturbedOnTop,
    /// Points not in pairs need as many quiet rounds as planned, not six.
    ManyObservations,
}

/// The settings of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub precision: f64,
    pub waiting_precision: f64,
    pub trial_precision: f64,
    pub tolerance: f64,
    pub budget: Duration,
    pub patience: Duration,
    pub rounds_at_least: usize,
    pub trials: usize,
    pub spread: Duration,
    pub seed: u64,
}

/// The kind of a point's rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// Samples, in pairs of rounds of which the faster counts.
    Pairs,
    /// Samples.
    Single,
    /// Samples of contending workers.
    Contended,
    /// Trials.
    Trials,
}

/// A simulated round.
#[derive(Debug, Clone)]
pub struct Made {
    pub value: RoundValue,
    pub is_quiet: bool,
    pub began: Duration,
    pub took: Duration,
}

struct Point {
    rounds: Rounds,
    made: Vec<Made>,
    took: Duration,
    converged: bool,
    narrow_at: Option<usize>,
    disturbed: usize,
    lacks_quiet: bool,
}

pub enum Step {
    Rounds(Vec<usize>),
    WaitUntil(Duration),
    Done,
}

pub struct Former {
    plan: Plan,
    without: BTreeSet<Part>,
    points: Vec<Point>,
    waited: Duration,
    /// Time that rounds may wait until others have earned more, and in all.
    earned: Duration,
    left: Duration,
    passes: u64,
    pass: Option<(Vec<usize>, Duration)>,
}

const PAIRS: usize = 6;
const REST: Duration = Duration::from_millis(150);

impl Former {
    pub fn new(plan: Plan, points: &[Rounds], without: &[Part]) -> Self {
        let points = points.iter().map(|&rounds| Point {
            rounds,
            made: Vec::new(),
            took: Duration::ZERO,
            converged: false,
            narrow_at: None,
            disturbed: 0,
            lacks_quiet: false,
        });
        let without: BTreeSet<Part> = without.iter().copied().collect();
        let patience =
            if without.contains(&Part::Patience) { Duration::ZERO } else { plan.patience };
        Self {
            left: plan.budget.mul_f64(0.15) + patience,
            points: points.collect(),
            waited: Duration::ZERO,
            earned: Duration::from_secs(1),
            passes: 0,
            pass: None,
            without,
            plan,
        }
    }

    fn has(&self, part: Part) -> bool {
        !self.without.contains(&part)
    }

    /// The next step.
    pub fn next(&mut self, now: Duration) -> Step {
        if let Some((active, began)) = self.pass.take() {
            for which in active.iter().copied() {
                if self.wants_round(which, now) {
                    self.check_convergence(which);
                }
            }
            let lacks = active.iter().any(|&which| !self.has_planned(which));
            if lacks && self.has(Part::Rest) && now < began + REST {
                return Step::WaitUntil(began + REST);
            }
        }
        let active = self.active(now);
        if !active.iter().any(|&which| self.wants_round(which, now)) {
            return Step::Done;
        }
        let rounds = self.pass_over(&active);
        self.pass = Some((active, now));
        self.passes += 1;
        Step::Rounds(rounds)
    }

    pub fn pass_over(&self, active: &[usize]) -> Vec<usize> {
        let is_trial = |which: usize| self.points[which].rounds == Rounds::Trials;
        let several =
            self.has(Part::ThreeRoundsAPass) && active.iter().any(|&which| is_trial(which));
        let times = |which: usize| if several && !is_trial(which) { 3 } else { 1 };
        let mut rounds: Vec<usize> =
            active.iter().flat_map(|&which| vec![which; times(which)]).collect();
        rounds.shuffle(&mut StdRng::seed_from_u64(self.plan.seed.wrapping_add(self.passes)));
        rounds
    }

    /// The time that the next round may wait.
    pub fn may_wait(&self) -> Duration {
        match self.has(Part::Waiting) {
            true => Duration::from_millis(250).min(self.earned).min(self.left),
            false => Duration::ZERO,
        }
    }

    pub fn waited(&mut self, time: Duration) {
        self.waited += time;
        self.earned = self.earned.saturating_sub(time);
        self.left = self.left.saturating_sub(time);
    }

    pub fn made(&mut self, which: usize, made: Made) {
        let point = &mut self.points[which];
        let share = if point.rounds == Rounds::Trials { 0.3 } else { 1.5 };
        self.earned += made.took.mul_f64(share);
        point.took += made.took;
        point.made.push(made);
    }

    pub fn active(&self, _now: Duration) -> Vec<usize> {
        let needing: Vec<usize> = (0..self.points.len())
            .filter(|&which| {
                self.wants_round(which, _now) && self.points[which].made.len() < self.at_most(which)
            })
            .collect();
        if !self.has(Part::CheapestFirst) {
            return needing;
        }
        let planned = needing.iter().filter(|&&which| self.has_planned(which));
        let mut times: Vec<Duration> = planned.map(|&which| self.points[which].took).collect();
        times.sort_unstable();
        let middle = times.get(times.len() / 2).copied().unwrap_or_default();
        let is_due =
            |which: &usize| !self.has_planned(*which) || self.points[*which].took <= middle * 2;
        needing.into_iter().filter(is_due).collect()
    }

    pub fn wants_round(&self, which: usize, now: Duration) -> bool {
        let point = &self.points[which];
        let patience = |part, applies: bool| match self.has(part) && applies {
            true => self.plan.patience,
            false => Duration::ZERO,
        };
        let lacks_quiet = point.lacks_quiet && point.rounds != Rounds::Trials;
        let waited = self.waited.min(patience(Part::MoreForWaiting, true));
        let longer = patience(Part::Patience, lacks_quiet).max(waited);
        let is_first = point.made.is_empty() && self.has(Part::FirstRoundAtAnyTime);
        (now < self.plan.budget + longer || is_first) && !point.converged
    }

    fn enough(&self, point: &Point) -> usize {
        if point.rounds == Rounds::Pairs { PAIRS } else { self.plan.rounds_at_least.min(10) }
    }

    fn has_planned(&self, which: usize) -> bool {
        let point = &self.points[which];
        let (made, in_pairs) = (point.made.len(), point.rounds == Rounds::Pairs);
        if point.rounds == Rounds::Trials {
            return made >= self.plan.trials;
        }
        let least = self.plan.rounds_at_least.max(if in_pairs { 2 * (PAIRS + 1) } else { 0 });
        let observed = if in_pairs { made / 2 } else { made };
        let is_long = point.took >= Duration::from_secs(2) && observed >= self.enough(point);
        made >= least || (is_long && self.has(Part::LongSampling))
    }

    fn at_most(&self, which: usize) -> usize {
        let point = &self.points[which];
        if point.rounds == Rounds::Trials {
            return usize::MAX; // `check_convergence` counts them
        }
        if point.lacks_quiet && self.has(Part::DisturbedOnTop) {
            return usize::MAX;
        }
        let is_few = point.rounds == Rounds::Contended && self.has(Part::FewContended);
        let quiet = if is_few { 60 } else { 100 };
        match self.has(Part::DisturbedOnTop) {
            true => quiet + point.disturbed.min(quiet * 3),
            false => quiet,
        }
    }

    fn check_convergence(&mut self, which: usize) {
        let plan = self.plan;
        let point = &self.points[which];
        let quiet: Vec<RoundValue> =
            point.made.iter().filter(|made| made.is_quiet).map(|made| made.value.clone()).collect();
        if point.rounds == Rounds::Trials {
            let made = point.made.len();
            let is_precise = || interval_of(&quiet, plan.seed).half_width() <= plan.trial_precision;
            self.points[which].converged = made >= plan.trials * 4
                || (made >= plan.trials && quiet.len() >= plan.trials.min(5) && is_precise());
            return;
        }
        let began = |made: Option<&Made>| made.map_or(Duration::ZERO, |made| made.began);
        let spread = began(point.made.last()).saturating_sub(began(point.made.first()));
        if !self.has_planned(which) || (self.has(Part::Spread) && spread < plan.spread) {
            return;
        }
        let disturbed = point.made.len() - quiet.len();
        let in_pairs = point.rounds == Rounds::Pairs;
        let observed = if in_pairs { faster_of_pairs(quiet) } else { quiet };
        let wanted = match in_pairs {
            true => PAIRS,
            false if self.has(Part::ManyObservations) => plan.rounds_at_least,
            false => PAIRS,
        };
        let precision = match point.rounds {
            Rounds::Pairs => plan.precision,
            Rounds::Single => plan.waiting_precision,
            Rounds::Contended | Rounds::Trials => plan.trial_precision,
        };
        let half_width = match observed.len() >= wanted {
            true => interval_of(&observed, plan.seed).half_width(),
            false => f64::INFINITY,
        };
        let margin = if self.has(Part::Margin) { 0.8 } else { 1.0 };
        let is_narrow = half_width <= precision * margin;
        let first = point.narrow_at.unwrap_or(observed.len());
        let is_confirmed = !self.has(Part::Confirmation)
            || observed.len() > first
            || half_width <= precision * 0.4;
        let values: Vec<f64> = observed.iter().map(|round| round.value).collect();
        let is_wide = || compared_half_width(&values).is_some_and(|half| half > precision);
        let goes_on = in_pairs
            && self.has(Part::Comparisons)
            && plan.tolerance <= 1.0
            && observed.len() < 24
            && is_narrow
            && is_confirmed
            && is_wide();
        let lacks_quiet = observed.len() < self.enough(point);
        let point = &mut self.points[which];
        point.disturbed = disturbed;
        point.lacks_quiet = lacks_quiet;
        point.narrow_at = is_narrow.then_some(first);
        point.converged = is_narrow && is_confirmed && !goes_on;
    }
}

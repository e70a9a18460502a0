//! The rule of `runner::schedule`, whole or without one of its parts, as the simulation calls it.

use std::time::Duration;

use measure::stats::RoundValue;
use runner::schedule::{
    Allowed, Cost, Next, PointState, RunTime, State, Waited, Wanted, is_precise, may_wait, schedule,
};

use crate::points::Rounds;

/// The settings of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub precision: f64,
    pub waiting_precision: f64,
    pub trial_precision: f64,
    pub budget: Duration,
    pub rounds_at_least: usize,
    pub trials: usize,
    pub seed: u64,
}

/// A simulated round.
#[derive(Debug, Clone)]
pub struct Made {
    pub value: RoundValue,
    pub is_quiet: bool,
    pub began: Duration,
    pub took: Duration,
}

/// The next step: groups of rounds, and the time before which they must begin.
pub enum Todo {
    Rounds(Vec<Vec<usize>>),
    WaitUntil(Duration),
    Done,
}

/// A part of the rule of `runner::schedule`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Rounds wait for quiet moments.
    Waiting,
    /// Imprecise points get more rounds than planned.
    MoreRounds,
    /// The cheapest quarter of the imprecise points comes first.
    CheapestFirst,
    /// A point ends at 80 % of the wanted half-width.
    Margin,
    /// Planned rounds of a point have a minimum distance in time.
    Apart,
}

/// The rule of `runner::schedule`.
pub struct Rule {
    without: Option<Part>,
    state: State,
    wanted: Vec<Wanted>,
    quiet: Vec<Vec<RoundValue>>,
    /// Points with rounds since their precision was last determined.
    changed: Vec<usize>,
    until: RunTime,
    waited: Waited,
}

impl Rule {
    pub fn new(plan: Plan, points: &[Rounds], without: Option<Part>) -> Self {
        let until = RunTime(plan.budget);
        let allowed = Allowed { counts: until, host_counts: until, planned: until, more: until };
        let state_of = |(group, rounds): (usize, &Rounds)| {
            let (planned, at_most) = match rounds {
                Rounds::Trials => (plan.trials, plan.trials * 4),
                Rounds::Pairs => (plan.rounds_at_least.max(14), 200),
                Rounds::Single | Rounds::Contended => (plan.rounds_at_least, 200),
            };
            let at_most = match without {
                Some(Part::MoreRounds) => planned,
                _ => at_most,
            };
            PointState {
                system: 0,
                group,
                area: 0,
                is_asked: false,
                is_in_summary: false,
                planned,
                planned_per_boot: planned,
                at_most,
                made: 0,
                began: None,
                cost: Cost::default(),
                is_over: false,
                is_precise: false,
                needs_counts: false,
                counts_last: false,
                host_pairs: None,
            }
        };
        let wanted = |rounds: &Rounds| Wanted {
            precision: match rounds {
                Rounds::Pairs => plan.precision,
                Rounds::Single => plan.waiting_precision,
                Rounds::Contended | Rounds::Trials => plan.trial_precision,
            },
            in_pairs: *rounds == Rounds::Pairs,
            trials: (*rounds == Rounds::Trials).then_some(plan.trials),
            is_compared: false,
        };
        // Without the margin, points end at the wanted half-width instead of 80 % of it.
        let margin = if without == Some(Part::Margin) { 1.0 / 0.8 } else { 1.0 };
        let wanted = |rounds: &Rounds| {
            let wanted = wanted(rounds);
            let margin = if wanted.trials.is_some() { 1.0 } else { margin };
            Wanted { precision: wanted.precision * margin, ..wanted }
        };
        Self {
            without,
            state: State {
                seed: plan.seed,
                allowed,
                points: points.iter().enumerate().map(state_of).collect(),
                boots_done: vec![0],
                rounds: 0,
            },
            wanted: points.iter().map(wanted).collect(),
            quiet: vec![Vec::new(); points.len()],
            changed: Vec::new(),
            until,
            waited: Waited::default(),
        }
    }

    pub fn next(&mut self, now: Duration) -> Todo {
        for which in std::mem::take(&mut self.changed) {
            if self.state.points[which].made >= self.state.points[which].planned {
                let quiet = self.quiet[which].clone();
                self.state.points[which].is_precise =
                    is_precise(quiet, self.wanted[which], self.state.seed);
            }
        }
        match schedule(&self.state, RunTime(now)) {
            Next::Rounds { groups, until, .. } => {
                self.until = until;
                Todo::Rounds(groups)
            }
            Next::WaitUntil(moment) => Todo::WaitUntil(moment.0),
            Next::Restart(_) | Next::Done => Todo::Done,
        }
    }

    /// Whether the next group of rounds may begin.
    pub fn may_begin(&self, now: Duration) -> bool {
        RunTime(now) < self.until
    }

    pub fn may_wait(&self, now: Duration) -> Duration {
        match self.without {
            Some(Part::Waiting) => Duration::ZERO,
            _ => may_wait(self.waited, RunTime(now)),
        }
    }

    pub fn waited(&mut self, time: Duration) {
        self.waited.0 += time;
    }

    pub fn made(&mut self, which: usize, made: Made) {
        let point = &mut self.state.points[which];
        point.made += 1;
        if self.without != Some(Part::Apart) {
            point.began = Some(RunTime(made.began));
        }
        if self.without != Some(Part::CheapestFirst) {
            point.cost.0 += made.took;
        }
        self.state.rounds += 1;
        if made.is_quiet {
            self.quiet[which].push(made.value);
        }
        if !self.changed.contains(&which) {
            self.changed.push(which);
        }
    }
}

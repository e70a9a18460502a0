//! The schedule of a run decides what is measured next, as a function of past measurements and the time. It reads no clock,
//! starts nothing, and orders rounds by the run's seed alone. The bench `replay` of the areas drives it with a virtual clock, and
//! shows the effect of each rule.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use analysis::compared_half_width;
use measure::stats::{ROUNDS_FOR_INTERVAL, RoundValue, faster_of_pairs, interval_of};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Minimum time between the beginnings of two planned rounds of a point. The state of a machine rarely changes within a
/// fifth of a second, and rounds in one state agree too closely.
const APART: Duration = Duration::from_millis(200);
/// Maximum wait of a round for a quiet moment: a neighbour on the core mostly pauses within this time.
const WAIT_AT_MOST: Duration = Duration::from_millis(250);
/// Maximum share of a run's time that rounds wait. More waiting would cost more rounds than it makes quiet.
const WAITING_SHARE: f64 = 0.05;
/// Time at the beginning in which points without rounds come before everything else, so that users see figures at once.
const FIRST_LOOK: Duration = Duration::from_secs(2);
/// Minimum number of observations for a valid interval: the median is between the extremes of six with a probability of 97
/// %.
pub(crate) const OBSERVATIONS: usize = 6;
/// Number of quiet trials that are enough if they agree. With fewer, chance agreement would end a point too early (coverage
/// of the interval 92 instead of 93 to 96 % in a simulation).
const QUIET_TRIALS: usize = 5;
/// Share of the wanted half-width at which a point is done: samples are classified again at the end of the run, which can
/// widen an interval that was just narrow enough.
const DONE_BELOW: f64 = 0.8;

/// A moment of a run: the time spent on measuring since its beginning, without pauses before it was resumed and starts of
/// systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct RunTime(pub Duration);

/// The moments until which rounds of each purpose may begin. Counts get additional time for the time that first figures
/// took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowed {
    /// Limit for counts in the operations' own system, before anything is timed.
    pub counts: RunTime,
    /// Limit for counts on the host, before anything is timed.
    pub host_counts: RunTime,
    /// Limit for planned rounds, and for counts that had no time before: later than `more` where a system may be slow.
    pub planned: RunTime,
    /// Limit for rounds beyond the planned ones, of points that are not precise.
    pub more: RunTime,
}

/// The time of a point's rounds, including start and end of their processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost(pub Duration);

/// The time that rounds have waited for quiet moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Waited(pub Duration);

/// The schedule's input: the state of a run, or of several runs on systems in turn.
#[derive(Debug, Clone)]
pub struct State {
    /// Seed of the order of rounds.
    pub seed: u64,
    /// The time limits.
    pub allowed: Allowed,
    /// The points of all systems.
    pub points: Vec<PointState>,
    /// Number of starts of each system so far, minus one; by the number of the system.
    pub boots_done: Vec<usize>,
    /// Number of all rounds made.
    pub rounds: u64,
}

/// The state of a point on one system.
#[derive(Debug, Clone, PartialEq)]
pub struct PointState {
    /// Number of the system.
    pub system: usize,
    /// Number of the group, whose points are measured next to each other because they will be compared.
    pub group: usize,
    /// Number of the area, whose points are measured soon after each other because they may be compared.
    pub area: usize,
    /// Whether the point is part of a question, which decides how many rounds it gets.
    pub is_asked: bool,
    /// Whether a summary shows the point, which then comes before others where time is short.
    pub is_in_summary: bool,
    /// Number of planned rounds.
    pub planned: usize,
    /// Number of planned rounds after one start of the system: all, unless several starts are measured.
    pub planned_per_boot: usize,
    /// Maximum number of rounds.
    pub at_most: usize,
    /// Number of rounds that gave a figure.
    pub made: usize,
    /// Beginning of the latest round.
    pub began: Option<RunTime>,
    /// Time of the rounds.
    pub cost: Cost,
    /// Whether no more rounds can be made: the point is unsupported or has failed.
    pub is_over: bool,
    /// Whether the figure is precise enough; for a point of a question, whether the question is answered.
    pub is_precise: bool,
    /// Whether the operations' own counts are missing.
    pub needs_counts: bool,
    /// Whether the point's counts come after all its other rounds: they are counts of trials, which explain a figure but verify
    /// nothing, and the run is to answer questions.
    pub counts_last: bool,
    /// Number of pairs of rounds that have counted on the host, if another pair is needed.
    pub host_pairs: Option<usize>,
}

/// The purpose of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Samples.
    Times,
    /// Counts of an operation in its own system.
    Counts,
    /// Counts of an operation on the host: a pair of rounds.
    HostCounts,
}

/// Points whose rounds are made one directly after the other, one round each.
pub type Group = Vec<usize>;

/// The next step of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Make the rounds of these groups, in this order, beginning no group after `until`.
    Rounds {
        /// The purpose of the rounds.
        purpose: Purpose,
        /// The groups.
        groups: Vec<Group>,
        /// The last moment at which a group may begin.
        until: RunTime,
    },
    /// Measure nothing before this moment.
    WaitUntil(RunTime),
    /// Start these systems anew.
    Restart(Vec<usize>),
    /// Nothing is left to measure, or no time.
    Done,
}

/// The next step of a run in `state` at `now`.
pub fn schedule(state: &State, now: RunTime) -> Next {
    let rounds = |purpose, groups, until| Next::Rounds { purpose, groups, until };
    let allowed = state.allowed;

    // 1. The first figures come at once, except with several starts of a system: counting may restart it.
    let first_look = RunTime(FIRST_LOOK.min(allowed.counts.0 / 2));
    if now < first_look {
        let without =
            state.grouped(|point| point.made == 0 && point.planned_per_boot == point.planned);
        let is_in_summary = |group: &Group| group.iter().any(|&at| state.points[at].is_in_summary);
        // What the user sees on the first page comes first.
        let (summary, others): (Vec<Group>, Vec<Group>) =
            without.into_iter().partition(is_in_summary);
        let first = if summary.is_empty() { others } else { summary };
        if !first.is_empty() {
            return rounds(Purpose::Times, first, first_look);
        }
    }
    let after_look = |until: RunTime| RunTime((until.0 + first_look.0).min(allowed.planned.0));
    // 2. Counts precede the other rounds, since they verify that the operations took place. Their time is limited, so that
    //    time is left to measure. Those of trials verify nothing, so that answers to questions precede them.
    let counts = state.alone(|point| point.needs_counts && !point.counts_last);
    let until = after_look(allowed.counts);
    if now < until && !counts.is_empty() {
        return rounds(Purpose::Counts, counts, until);
    }
    // 3. Each point is counted on the host in one pair of rounds before any point gets its next pair.
    let host_counts = state.fewest_host_pairs(|point| !point.counts_last);
    let until = after_look(allowed.host_counts);
    if now < until && !host_counts.is_empty() {
        return rounds(Purpose::HostCounts, host_counts, until);
    }

    if now < allowed.planned {
        // 4. All points get their planned rounds, in passes over all points. Where time is short, as many points as possible get
        // the rounds that a figure needs. A point's rounds are spread over time.
        let pass = state.planned_pass(allowed.planned.0 - now.0);
        let (ready, early): (Vec<Group>, Vec<Group>) =
            pass.into_iter().partition(|group| state.ready_at(group) <= now);
        if !ready.is_empty() {
            return rounds(Purpose::Times, ready, allowed.planned);
        }
        if let Some(moment) = early.iter().map(|group| state.ready_at(group)).min() {
            return Next::WaitUntil(moment);
        }
        // 5. With several starts of a system, the next start is due when all points have their part of the rounds.
        let systems = state.systems_to_restart();
        if !systems.is_empty() {
            return Next::Restart(systems);
        }
    }

    // 6. Points of open questions get more rounds; when all questions are answered, imprecise points do. Points on which
    //    least time was spent come first: a trial of a second costs as much as thirty rounds of another point.
    let asked = state.grouped_only(|point| point.is_asked && point.wants_more());
    let more = if asked.is_empty() { state.grouped(PointState::wants_more) } else { asked };
    let more = state.cheapest(more);
    if now < allowed.more && !more.is_empty() {
        return rounds(Purpose::Times, more, allowed.more);
    }

    // 7. Counts that had no time before.
    if now < allowed.planned {
        let counts = state.alone(|point| point.needs_counts);
        let host_counts = state.fewest_host_pairs(|_| true);
        for (purpose, groups) in [(Purpose::Counts, counts), (Purpose::HostCounts, host_counts)] {
            if !groups.is_empty() {
                return rounds(purpose, groups, allowed.planned);
            }
        }
    }
    Next::Done
}

/// The time that the next round may wait for a quiet moment.
pub fn may_wait(waited: Waited, now: RunTime) -> Duration {
    let all = now.0.mul_f64(WAITING_SHARE).saturating_sub(waited.0);
    WAIT_AT_MOST.min(all)
}

/// The precision that a point needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// Half-width of the interval, as a share.
    pub precision: f64,
    /// Whether the faster of each two rounds counts; see [`faster_of_pairs`].
    pub in_pairs: bool,
    /// Number of planned trials, if rounds are trials.
    pub trials: Option<usize>,
    /// Whether the point is compared with others of its group: a difference is less certain than either figure.
    pub is_compared: bool,
}

/// Whether a point with the quiet rounds `quiet` is precise enough.
pub fn is_precise(quiet: Vec<RoundValue>, wanted: Wanted, seed: u64) -> bool {
    let observed = if wanted.in_pairs { faster_of_pairs(quiet) } else { quiet };
    let enough = wanted.trials.map_or(OBSERVATIONS, |planned| planned.min(QUIET_TRIALS));
    if observed.len() < enough {
        return false;
    }
    // Fewer trials, if the user wants no more, have no interval that could be narrow.
    if enough < ROUNDS_FOR_INTERVAL {
        return true;
    }
    if wanted.is_compared {
        let values: Vec<f64> = observed.iter().map(|round| round.value).collect();
        return compared_half_width(&values).is_some_and(|half| half <= wanted.precision / 2.0);
    }
    let margin = if wanted.trials.is_some() { 1.0 } else { DONE_BELOW };
    interval_of(&observed, seed).half_width() <= wanted.precision * margin
}

impl PointState {
    /// Whether rounds are missing of those planned for this number of starts of the system.
    fn lacks_planned(&self, boots: usize) -> bool {
        !self.is_over && self.made < self.planned.min(self.planned_per_boot * boots)
    }

    /// Number of missing rounds of those that a figure needs.
    fn lacks_needed(&self) -> usize {
        self.planned.min(OBSERVATIONS).saturating_sub(self.made)
    }

    /// The mean time of its rounds; of a point without rounds, that which was spent on it.
    fn round_takes(&self) -> Duration {
        self.cost.0 / u32::try_from(self.made.max(1)).unwrap_or(u32::MAX)
    }

    fn wants_more(&self) -> bool {
        !self.is_over && !self.is_precise && self.made < self.at_most
    }
}

impl State {
    /// All groups with a `wanted` point, complete except for points that can have no more rounds.
    fn grouped(&self, wanted: impl Fn(&PointState) -> bool) -> Vec<Group> {
        let mut groups: BTreeMap<usize, (Group, bool)> = BTreeMap::new();
        for (at, point) in self.points.iter().enumerate().filter(|(_, point)| !point.is_over) {
            let (group, is_wanted) = groups.entry(point.group).or_default();
            group.push(at);
            *is_wanted |= wanted(point);
        }
        let groups = groups.into_values().filter(|(_, is_wanted)| *is_wanted);
        self.shuffled(groups.map(|(group, _)| group).collect())
    }

    /// All groups with a `wanted` point, reduced to their wanted points.
    fn grouped_only(&self, wanted: impl Fn(&PointState) -> bool) -> Vec<Group> {
        let mut groups = self.grouped(&wanted);
        groups.iter_mut().for_each(|group| group.retain(|&at| wanted(&self.points[at])));
        groups
    }

    /// A group for each `wanted` point, in the order of the points: counts are not compared with other points'.
    fn alone(&self, wanted: impl Fn(&PointState) -> bool) -> Vec<Group> {
        let points = self.points.iter().enumerate();
        points
            .filter(|(_, point)| !point.is_over && wanted(point))
            .map(|(at, _)| vec![at])
            .collect()
    }

    /// The groups of the points `among` which the fewest pairs were counted on the host, and which need another pair.
    fn fewest_host_pairs(&self, among: impl Fn(&PointState) -> bool) -> Vec<Group> {
        let wanting = self.points.iter().filter(|point| !point.is_over && among(point));
        let fewest = wanting.filter_map(|point| point.host_pairs).min();
        self.alone(|point| point.host_pairs.is_some() && point.host_pairs == fewest && among(point))
    }

    /// The groups that have made the smallest share of their planned rounds, among those that can get the rounds that a
    /// figure needs in the time left. A group with more planned rounds is in more passes.
    fn planned_pass(&self, left: Duration) -> Vec<Group> {
        let boots =
            |point: &PointState| self.boots_done.get(point.system).map_or(1, |done| done + 1);
        let lacks = |point: &PointState| point.lacks_planned(boots(point));
        let passes = self.points.iter().map(|point| point.planned).max().unwrap_or(1);
        let passes_of = |group: &Group| {
            let lacking = group.iter().map(|&at| &self.points[at]).filter(|point| lacks(point));
            lacking.map(|point| point.made * passes / point.planned.max(1)).min()
        };
        let mut groups = self.affordable(self.grouped(lacks), left);
        let fewest = groups.iter().filter_map(passes_of).min();
        groups.retain(|group| passes_of(group) == fewest);
        groups
    }

    /// The groups that can get the rounds that a figure needs in the time `left`: those of the summary first, then those
    /// that need least time. All groups if there is time for all or for none, and while a point has no round: one round shows
    /// what a round takes, and is a figure, if one without an interval.
    fn affordable(&self, mut groups: Vec<Group>, left: Duration) -> Vec<Group> {
        if groups.iter().flatten().any(|&at| self.points[at].made == 0) {
            return groups;
        }
        let need = |group: &Group| {
            let points = || group.iter().map(|&at| &self.points[at]);
            let rounds = points().map(PointState::lacks_needed).max().unwrap_or(0);
            let each: Duration = points().map(|point| point.round_takes()).sum();
            each * u32::try_from(rounds).unwrap_or(u32::MAX)
        };
        let is_last = |group: &Group| !group.iter().any(|&at| self.points[at].is_in_summary);
        // The order among equal needs is fixed, so that a group that was begun is completed.
        let order = |group: &Group| (is_last(group), need(group), self.points[group[0]].group);
        let mut needs: Vec<(bool, Duration, usize)> = groups.iter().map(order).collect();
        needs.retain(|(_, need, _)| !need.is_zero());
        needs.sort_unstable();
        let mut sum = Duration::ZERO;
        let fit = needs.iter().filter(|(_, need, _)| {
            let fits = sum + *need <= left;
            sum += if fits { *need } else { Duration::ZERO };
            fits
        });
        let fit: BTreeSet<usize> = fit.map(|(.., group)| *group).collect();
        // With only a few points, rounds would wait for their minimum distance.
        let fit_apart = APART * OBSERVATIONS as u32 <= left;
        if fit_apart && !fit.is_empty() && fit.len() < needs.len() {
            groups.retain(|group| fit.contains(&self.points[group[0]].group));
        }
        groups
    }

    /// The moment at which the next planned round of each point of a group may begin.
    fn ready_at(&self, group: &Group) -> RunTime {
        let began = group.iter().filter_map(|&at| self.points[at].began).max();
        began.map_or(RunTime::default(), |began| RunTime(began.0 + APART))
    }

    /// The systems with points that lack rounds after a later start.
    fn systems_to_restart(&self) -> Vec<usize> {
        let lacking = |point: &&PointState| point.lacks_planned(usize::MAX / point.planned.max(1));
        let systems: BTreeSet<usize> =
            self.points.iter().filter(lacking).map(|point| point.system).collect();
        systems.into_iter().collect()
    }

    /// The quarter of the groups on which least time was spent.
    fn cheapest(&self, mut groups: Vec<Group>) -> Vec<Group> {
        let cost = |group: &Group| group.iter().map(|&at| self.points[at].cost).max();
        let mut costs: Vec<Option<Cost>> = groups.iter().map(cost).collect();
        costs.sort_unstable();
        let quarter = costs.get(costs.len() / 4).copied().flatten();
        groups.retain(|group| cost(group) <= quarter);
        groups
    }

    fn shuffled(&self, mut groups: Vec<Group>) -> Vec<Group> {
        let mut rng = StdRng::seed_from_u64(self.seed.wrapping_add(self.rounds));
        groups.shuffle(&mut rng);
        groups.iter_mut().for_each(|group| group.shuffle(&mut rng));
        let mut areas: Vec<usize> = self.points.iter().map(|point| point.area).collect();
        areas.sort_unstable();
        areas.dedup();
        areas.shuffle(&mut rng);
        let place = |group: &Group| {
            let area = group.first().map(|&at| self.points[at].area);
            areas.iter().position(|other| Some(*other) == area)
        };
        groups.sort_by_key(place);
        groups
    }
}

#[cfg(test)]
mod tests;

//! The plan of a run: its points, precision and time limits.

mod claims;
mod error;
mod filter;
mod on;
mod options;
mod params;
mod point;
mod points;

use std::collections::BTreeMap;
use std::time::Duration;

use catalog::{Case, Extent, only_by, trials_of};
use measure::user_code::UserLibrary;
use serde::{Deserialize, Serialize};

use crate::schedule::OBSERVATIONS;
use claims::points_of_claims;
pub use error::PlanError;
pub use filter::choose;
pub use on::{MeasuredSystem, On};
use options::extent_of;
pub use options::{Options, Selection};
use params::params_of;
pub use point::Point;
use points::points_of;

/// Wanted half-widths of intervals, as shares: for a sampled core-bound point; for a sampled point that waits for memory,
/// other CPUs, devices or timers; and for trials and contending workers, whose rounds differ by 5 to 15 % from process to
/// process.
const PRECISION: f64 = 0.005;
const WAITING_PRECISION: f64 = 0.03;
const TRIAL_PRECISION: f64 = 0.15;
/// Factor by which the interval of a sampled point may exceed the wanted width in a quick run, whose time is short.
const QUICK_TOLERANCE: f64 = 4.0;
/// Number of rounds planned for a point whose rounds all repeat the operation until it is steady. The first takes 0.2 to 2 s to find
/// out how long that takes, the others mostly a tenth of a second.
pub(crate) const STEADY_ROUNDS: usize = 6;
/// Factor by which a run for claims may exceed the usual time, unless a budget is given: too few rounds decide nothing. A
/// quiet machine does not need the time.
const SLACK_OF_CLAIMS: u64 = 3;

/// A plan, which is stored with its run, so that the run can be resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Points to measure.
    pub points: Vec<Point>,
    /// Half-width of the interval at which a sampled core-bound point is done, as a share.
    pub precision: f64,
    /// Half-width for sampled points that wait for memory, other CPUs, devices or timers, as a share.
    pub waiting_precision: f64,
    /// Half-width for trials and contending workers, which scatter more from process to process, as a share.
    pub trial_precision: f64,
    /// Factor by which the interval of a sampled point may exceed the wanted width before the figure is marked.
    pub tolerance: f64,
    /// The time for the whole run, in ms.
    pub budget_ms: u64,
    /// Whether the user set the budget: then systems in turn may not take longer either.
    pub is_budget_set: bool,
    /// The part of the budget for counts on the host, in ms.
    pub host_counts_ms: u64,
    /// Minimum number of rounds of a point.
    pub rounds_at_least: usize,
    /// Number of observations that a sampled point needs; a pair of rounds, of which the faster counts, is one.
    pub observations: usize,
    /// Number of trials of a point whose rounds are trials.
    pub trials: usize,
    /// Maximum number of trials of a point; four times `trials` if `None`.
    pub trials_at_most: Option<usize>,
    /// The user's own code that points measure, by their labels.
    pub user: BTreeMap<String, UserLibrary>,
    /// Seed of the order of rounds and of the bootstrap.
    pub seed: u64,
    /// The CPUs in use; single measurements are made on the last.
    pub cpus: Vec<usize>,
    /// Whether the system is one of several that are measured in turn.
    pub in_turn: bool,
    /// Extra work on the clock, as a share.
    pub slow_down: f64,
    /// Factor for the length of batches where tasks answer each other.
    pub partner_batches: f64,
    /// Number of starts of the system, if these are the observations.
    pub boots: Option<usize>,
    /// Whether the system is started for each round.
    pub fresh: bool,
    /// Pid of the process that measures the run; the run is not resumed while it exists.
    pub coordinator: u32,
}

/// Plans a run of all points that `options` select, on `cpus`.
pub fn plan(options: &Options, cpus: &[usize], seed: u64) -> Result<Plan, PlanError> {
    if !options.claims.is_empty() {
        let mut plan = plan_of(points_of_claims(options, cpus)?, options, cpus, seed)?;
        if options.budget.is_none() {
            plan.budget_ms *= SLACK_OF_CLAIMS;
        }
        return Ok(plan);
    }
    if !options.selections.is_empty() {
        return plan_of(points_of_selections(options, cpus, seed)?, options, cpus, seed);
    }
    let mut cases = match (options.user.is_empty(), options.filters.is_empty()) {
        (false, true) => Vec::new(),
        _ => unasked(choose(&options.filters)?)?,
    };
    if options.filters.is_empty() {
        cases.retain(|case| !catalog::is_beyond(case, extent_of(options)));
    }
    for name in options.params.keys() {
        if !cases.iter().any(|case| case.params.iter().any(|param| param.name == name)) {
            return Err(PlanError::UnknownParam { name: name.clone(), known: params_of(&cases) });
        }
    }
    let mut points = Vec::new();
    for case in cases {
        points.extend(points_of(case, options, cpus)?);
    }
    points.extend(options.user.iter().map(|(point, _)| point.clone()));
    plan_of(points, options, cpus, seed)
}

/// The points of all selections, without duplicates.
fn points_of_selections(
    options: &Options,
    cpus: &[usize],
    seed: u64,
) -> Result<Vec<Point>, PlanError> {
    let mut points: Vec<Point> = Vec::new();
    for Selection { filters, params } in options.selections.clone() {
        let of_one = Options { filters, params, selections: Vec::new(), ..options.clone() };
        for point in plan(&of_one, cpus, seed)?.points {
            if !points.contains(&point) {
                points.push(point);
            }
        }
    }
    Ok(points)
}

/// Plans a run of these points, on these CPUs.
pub fn plan_of(
    points: Vec<Point>,
    options: &Options,
    cpus: &[usize],
    seed: u64,
) -> Result<Plan, PlanError> {
    let cpus = with_measuring_cpu_last(cpus, options.cpu)?;
    let trials = options.trials.unwrap_or(match extent_of(options) {
        // More points with six trials are worth more than fewer with ten.
        Extent::Quick | Extent::Ordinary => 6,
        Extent::Full => 10,
    });
    let timed: Vec<&Point> = points.iter().filter(|point| !options.on.lacks(&point.case)).collect();
    let (sampling, trying) = (sampling_ms(&timed, options), trials_ms(&timed, trials as u32));
    let budget_ms = options.budget.map_or(sampling + trying, |budget| budget.as_millis() as u64);
    Ok(Plan {
        points,
        precision: options.precision.unwrap_or(PRECISION),
        waiting_precision: options.precision.unwrap_or(WAITING_PRECISION),
        trial_precision: options.precision.unwrap_or(TRIAL_PRECISION),
        tolerance: match options.quick && options.precision.is_none() {
            true => QUICK_TOLERANCE,
            false => 1.0,
        },
        budget_ms,
        is_budget_set: options.budget.is_some(),
        host_counts_ms: 0,
        rounds_at_least: match extent_of(options) {
            Extent::Quick => 6,
            Extent::Ordinary => 12,
            Extent::Full => 16,
        },
        observations: options.observations.unwrap_or(OBSERVATIONS),
        trials,
        trials_at_most: options.trials_at_most,
        user: options.user.iter().map(|(point, code)| (point.label(), code.clone())).collect(),
        seed: options.seed.unwrap_or(seed),
        cpus,
        in_turn: false,
        slow_down: options.slow_down.unwrap_or(0.0),
        partner_batches: options.partner_batches.unwrap_or(1.0),
        boots: options.boots,
        fresh: options.fresh,
        coordinator: std::process::id(),
    })
}

/// Removes cases that another command measures; an error if none is left.
fn unasked(cases: Vec<&'static Case>) -> Result<Vec<&'static Case>, PlanError> {
    let (asked_for, others): (Vec<_>, Vec<_>) =
        cases.into_iter().partition(|case| only_by(case).is_some());
    match (others.is_empty(), asked_for.first()) {
        (true, Some(case)) => Err(PlanError::AskedForOtherwise {
            case: case.label(),
            command: only_by(case).unwrap_or_default(),
        }),
        _ => Ok(others),
    }
}

/// Time for all sampled points, in ms. A round takes about 25 ms, and most points need only the minimum number of rounds.
fn sampling_ms(points: &[&Point], options: &Options) -> u64 {
    match points.iter().filter(|point| trials_of(&point.case, &point.params).is_none()).count()
        as u64
    {
        0 => 0,
        count if options.quick => (count * 160).clamp(5_000, 20_000),
        count if options.full => (count * 1_500).max(12_000),
        count => (count * 500).clamp(12_000, 80_000),
    }
}

/// Time for all trials, in ms. Trials mostly take less than expected, which leaves time to repeat some and to count.
fn trials_ms(points: &[&Point], times: u32) -> u64 {
    /// Time to start a worker, calibrate its work and run the sentinel.
    const AROUND_ONE: Duration = Duration::from_millis(25);
    let of_point = |point: &&Point| {
        let trials = trials_of(&point.case, &point.params)?;
        let sampled = times.min(u32::try_from(trials.at_most).unwrap_or(u32::MAX));
        Some(((trials.takes)(&point.params) + AROUND_ONE) * sampled)
    };
    let all: Duration = points.iter().filter_map(of_point).sum();
    all.as_millis() as u64
}

impl Plan {
    /// Minimum number of sampled rounds. `in_pairs`: the faster of each two rounds counts, so that twice as many are
    /// needed.
    pub(crate) fn sampled_at_least(&self, in_pairs: bool) -> usize {
        // One of the pairs may lack quiet samples.
        let needed = if in_pairs { 2 * (self.observations + 1) } else { self.observations };
        self.rounds_at_least.max(needed)
    }

    /// The number of trials of a point whose rounds are trials.
    pub fn trials_of(&self, point: &Point) -> usize {
        trials_of(&point.case, &point.params)
            .map_or(self.trials, |trials| trials.at_most.min(self.trials))
    }

    /// Maximum number of the point's trials, if some are disturbed or differ too much and there is time: usually four times
    /// as many.
    pub fn trials_at_most(&self, point: &Point) -> usize {
        let wanted = self.trials_of(point);
        self.trials_at_most.map_or(wanted * 4, |most| most.max(wanted))
    }

    /// Plans to measure the system in turn with others. A difference takes more rounds than a figure, so a short run with
    /// core-bound points gets more time, unless the options limit it.
    pub fn measure_in_turn(&mut self, options: &Options) {
        const AT_LEAST_MS: u64 = 20_000;
        /// Sixteen quiet rounds, next to the other system's, are compared by their ratios; some of twenty are not quiet.
        const ROUNDS: usize = 20;
        self.in_turn = true;
        if !options.quick {
            self.rounds_at_least = ROUNDS;
        }
        let has_time_of_its_own = options.budget.is_some() || options.quick;
        if !has_time_of_its_own && self.points.iter().any(Point::is_core_bound) {
            self.budget_ms = self.budget_ms.max(AT_LEAST_MS);
        }
    }

    /// The time for rounds that repeat an operation until it is steady, in ms: the first one of each point in a system other than this
    /// one, and all if the system `has_helpers`, by which an operation may begin otherwise than it goes on. None if the user set the
    /// time.
    pub fn steady_ms(&self, has_helpers: bool) -> u64 {
        const FIRST_MS: u64 = 300;
        const LATER_MS: u64 = 100;
        let later = if has_helpers { STEADY_ROUNDS as u64 - 1 } else { 0 };
        let is_sampled = |point: &&Point| trials_of(&point.case, &point.params).is_none();
        let sampled = self.points.iter().filter(is_sampled).count();
        match self.is_budget_set {
            true => 0,
            false => sampled as u64 * (FIRST_MS + later * LATER_MS),
        }
    }

    /// Allows more time if starting a worker takes longer than usual, in ms: the start is most of a round then.
    pub(crate) fn allow_for_starts(&mut self, worker_start_ms: f64) {
        const USUAL_MS: f64 = 10.0;
        /// The factor is generous for trials, which take longer in such a system too.
        const FACTOR_AT_MOST: f64 = 4.0;
        let rounds = (self.points.len() * (self.rounds_at_least + 2)) as f64;
        let more_ms = rounds * (worker_start_ms - USUAL_MS).max(0.0);
        let more_ms = more_ms.min(self.budget_ms as f64 * (FACTOR_AT_MOST - 1.0)) as u64;
        self.budget_ms += more_ms;
    }

    /// Allows the time for counts on the host, in two pairs of rounds for each point.
    pub(crate) fn allow_for_host_counts(&mut self) {
        /// Time of a round of a few thousand operations, or of none.
        const OF_SAMPLED: Duration = Duration::from_millis(30);
        /// Time to start a worker, calibrate its work, and repeat a short trial. One trial of a pair is twice as long.
        const AROUND_TRIAL: Duration = Duration::from_millis(70);
        let of_point = |point: &Point| match trials_of(&point.case, &point.params) {
            None => Some(OF_SAMPLED * 4),
            Some(trials) if trials.on_host => {
                Some(((trials.takes)(&point.params) * 3 + AROUND_TRIAL * 2) * 2)
            }
            Some(_) => None,
        };
        let all: Duration = self.points.iter().filter_map(of_point).sum();
        self.host_counts_ms = all.as_millis() as u64;
        self.budget_ms += self.host_counts_ms;
    }

    /// The number of rounds of a point, reduced to those that an interval needs if a round takes long on average.
    pub(crate) fn rounds_by_length(&self, rounds: usize, each: Duration) -> usize {
        const LONG: Duration = Duration::from_millis(40);
        const OF_LONG: usize = 8;
        match each > LONG && !self.in_turn && !self.has_boots() {
            true => rounds.min(OF_LONG),
            false => rounds,
        }
    }

    /// Number of rounds planned for a point after each start of the system: all, unless several starts are measured.
    pub(crate) fn rounds_of_a_boot(&self, point: &Point, in_pairs: bool) -> usize {
        let wanted = match (trials_of(&point.case, &point.params), self.boots) {
            (Some(_), _) => self.trials_of(point),
            (None, Some(_)) => self.rounds_at_least,
            (None, None) => self.sampled_at_least(in_pairs),
        };
        wanted.div_ceil(self.boots.unwrap_or(1).max(1))
    }

    /// Maximum rounds of a point: more hardly narrow its interval. Systems in turn get more, since a difference needs more
    /// rounds than a figure.
    pub(crate) fn rounds_at_most(&self, point: &Point) -> usize {
        const SAMPLED: usize = 200;
        const IN_TURN: usize = 800;
        match trials_of(&point.case, &point.params) {
            Some(_) => self.trials_at_most(point),
            None => {
                if self.in_turn {
                    IN_TURN
                } else {
                    SAMPLED
                }
            }
        }
    }

    /// Maximum number of rounds of a point of an open question, which only time is to limit.
    pub(crate) fn rounds_of_question(&self, point: &Point) -> usize {
        const SAMPLED: usize = 800;
        const TRIALS: usize = 60;
        if trials_of(&point.case, &point.params).is_some() { TRIALS } else { SAMPLED }
    }

    /// Whether several starts of the system are measured, which are the observations.
    pub(crate) fn has_boots(&self) -> bool {
        self.boots.is_some()
    }

    /// The user's own code that a point measures.
    pub fn user_code(&self, point: &Point) -> Option<&UserLibrary> {
        self.user.get(&point.label())
    }
}

fn with_measuring_cpu_last(cpus: &[usize], wanted: Option<usize>) -> Result<Vec<usize>, PlanError> {
    let Some(cpu) = wanted else { return Ok(cpus.to_vec()) };
    if !cpus.contains(&cpu) {
        let allowed = cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        return Err(PlanError::NoSuchCpu { cpu, allowed });
    }
    let mut ordered: Vec<usize> = cpus.iter().copied().filter(|&other| other != cpu).collect();
    ordered.push(cpu);
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A plan of the areas of tests.
    fn plan(options: &Options, cpus: &[usize], seed: u64) -> Result<Plan, PlanError> {
        simulated::areas::install();
        super::plan(options, cpus, seed)
    }

    fn options(filter: &str) -> Options {
        Options { filters: vec![filter.into()], ..Options::default() }
    }

    fn with_param(filter: &str, name: &str, values: &[&str]) -> Options {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Options { params: BTreeMap::from([(name.to_owned(), values)]), ..options(filter) }
    }

    #[test]
    fn systems_in_turn_have_enough_rounds_to_compare_neighbouring_ones() {
        let rounds = |quick| {
            let options = Options { quick, ..options("syscall") };
            let mut plan = plan(&options, &[0], 7).unwrap();
            let alone = plan.rounds_at_least;
            plan.measure_in_turn(&options);
            (alone, plan.rounds_at_least)
        };
        assert_eq!((rounds(false), rounds(true)), ((12, 20), (6, 6)));
    }

    #[test]
    fn few_core_bound_points_get_more_time_where_systems_are_compared() {
        let seconds = |filter: &str, quick: bool, budget: Option<u64>| {
            let budget = budget.map(Duration::from_secs);
            let options = Options { quick, budget, ..options(filter) };
            let alone = plan(&options, &[0, 1], 7).unwrap();
            let mut in_turn = alone.clone();
            in_turn.measure_in_turn(&options);
            (alone.budget_ms / 1_000, in_turn.budget_ms / 1_000)
        };
        assert_eq!(seconds("syscall/getppid", false, None), (12, 20));
        assert_eq!(seconds("syscall/getppid", true, None), (5, 5));
        assert_eq!(seconds("syscall/getppid", false, Some(3)), (3, 3));
        assert_eq!(seconds("memory/load", false, None).0, seconds("memory/load", false, None).1);
        let (alone, in_turn) = seconds("lock", false, None);
        assert!(alone > 20 && in_turn == alone, "{alone} {in_turn}");
    }

    #[test]
    fn sampled_points_of_other_systems_get_time_to_become_steady() {
        let plan = plan(&options("syscall"), &[0], 7).unwrap();
        let points = plan.points.len() as u64;
        assert_eq!(plan.steady_ms(false), points * 300);
        assert_eq!(plan.steady_ms(true), points * 800);
        let given = Plan { is_budget_set: true, ..plan.clone() };
        assert_eq!((given.steady_ms(false), given.steady_ms(true)), (0, 0));
        let trials = super::tests::plan(&options("concurrency/jobs"), &[0, 1], 7).unwrap();
        assert_eq!(trials.steady_ms(true), 0, "trials are as long as they are");
    }

    #[test]
    fn parameters_multiply_and_are_made_definite() {
        let plan = plan(&options("lock/sysv-sem"), &[0, 1], 7).unwrap();
        // The points have 1, 2 and 4 threads or processes, without work and with some.
        assert_eq!(plan.points.len(), 3 * 2 * 2);
        assert!(plan.points.iter().any(|point| point.params["workers"] == "4"));
        assert!(plan.points.iter().all(|point| point.params["place"] == "spread"));
    }

    #[test]
    fn locks_are_oversubscribed_on_machines_of_up_to_512_cpus() {
        let options = options("lock/futex");
        for cpus in [2, 64, 96, 512] {
            let plan = plan(&options, &(0..cpus).collect::<Vec<_>>(), 7).unwrap();
            let workers = plan.points.iter().map(|point| point.params["workers"].parse().unwrap());
            assert_eq!(workers.max(), Some(2 * cpus));
        }
    }

    #[test]
    fn one_cpu_is_no_obstacle() {
        let plan = plan(&options("lock/sysv-sem"), &[3], 7).unwrap();
        let without_work = |point: &&Point| point.params["work"] == "none";
        let points = plan.points.iter().filter(without_work).count();
        assert_eq!(points, 4, "twice the CPUs is two, measured once");
        assert!(plan.points.iter().all(|point| point.params["place"] == "same"));
    }

    #[test]
    fn wrong_values_are_refused() {
        let with = |name: &str, value: &str| {
            let options = with_param("lock/sysv-sem", name, &[value]);
            plan(&options, &[0, 1], 7).map(|plan| plan.points.len())
        };
        assert_eq!(with("workers", "7"), Ok(2));
        assert_eq!(with("workers", "1024"), Ok(2));
        for value in ["0", "-1", "1025", "x"] {
            assert!(with("workers", value).is_err(), "{value}");
        }
        assert!(with("as", "x").is_err() && with("colour", "x").is_err());
    }

    #[test]
    fn values_that_mean_the_same_are_one_point() {
        let options = with_param("syscall/poll", "fds", &["1k", "1000", "01000"]);
        let plan = plan(&options, &[0], 7).unwrap();
        let values: Vec<&str> = plan.points.iter().map(|p| p.params["fds"].as_str()).collect();
        assert_eq!(values, ["1000"]);
    }

    #[test]
    fn each_point_of_several_selections_is_planned_once() {
        let selection = |Options { filters, params, .. }: Options| Selection { filters, params };
        let of = |selections| plan(&Options { selections, ..Options::default() }, &[0, 1], 7);
        let plan = of(vec![
            selection(with_param("syscall/poll", "fds", &["1", "64"])),
            selection(with_param("syscall/poll", "fds", &["64", "512"])),
            selection(options("syscall/getppid")),
        ])
        .unwrap();
        let fds = plan.points.iter().map(|point| point.params.get("fds").map(String::as_str));
        assert_eq!(fds.collect::<Vec<_>>(), [Some("1"), Some("64"), Some("512"), None]);
        let error =
            of(vec![selection(with_param("syscall/poll", "colour", &["red"]))]).unwrap_err();
        assert!(error.to_string().contains("colour"), "{error}");
    }

    #[test]
    fn nothing_is_spread_over_one_cpu() {
        let options = with_param("lock/futex", "place", &["spread"]);
        let error = plan(&options, &[0], 7).unwrap_err().to_string();
        assert_eq!(error, "place cannot be \"spread\": this process may use only one CPU");
        assert!(plan(&options, &[0, 1], 7).is_ok());
    }

    #[test]
    fn the_measuring_cpu_is_the_last_one() {
        let options = Options { cpu: Some(0), ..Options::default() };
        assert_eq!(plan(&options, &[0, 1], 7).unwrap().cpus, [1, 0]);
        let options = Options { cpu: Some(9), ..Options::default() };
        assert!(matches!(plan(&options, &[0, 1], 7), Err(PlanError::NoSuchCpu { .. })));
    }

    #[test]
    fn lengths_are_scaled_and_kept_in_one_form() {
        let of = |given: &[&str], full, scale| {
            let mut options = with_param("concurrency/jobs", "base", given);
            options.params.retain(|_, given| !given.is_empty());
            let options = Options { full, scale, ..options };
            plan(&options, &[0, 1], 7).map(|plan| {
                let bases = plan.points.into_iter().map(|point| point.params["base"].clone());
                bases.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
            })
        };
        assert_eq!(of(&["0.002s", "2ms"], false, None).unwrap(), ["2ms"]);
        assert_eq!(of(&["2ms"], false, Some(0.01)).unwrap(), ["20us"]);
        assert_eq!(of(&[], true, None).unwrap(), ["10ms", "2.43s"]);
        assert_eq!(of(&[], true, Some(0.01)).unwrap(), ["100us", "24.3ms"]);
        for (base, scale) in [("10", None), ("0ms", None), ("2h", None), ("1us", Some(0.01))] {
            assert!(of(&[base], false, scale).is_err(), "{base}");
        }
    }

    /// A directory that was named twice, by a symbolic link or with a slash at its end, was measured as two.
    #[test]
    #[cfg(unix)]
    fn a_directory_is_measured_once() {
        use std::collections::BTreeSet;

        let dirs_of = |dirs: &[&str]| -> BTreeSet<String> {
            let plan = plan(&with_param("file/random-read", "dir", dirs), &[0, 1], 7).unwrap();
            plan.points.iter().map(|point| point.params["dir"].clone()).collect()
        };
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let [one, other] = ["one", "other"].map(|name| {
            let dir = home.join(name);
            std::fs::create_dir(&dir).unwrap();
            dir.to_str().unwrap().to_owned()
        });
        let again = [format!("{one}/"), format!("{one}/."), format!("{one}/../one")];
        let [slash, dot, up] = again.each_ref().map(String::as_str);
        assert_eq!(dirs_of(&[&one, slash, dot, up, &other]), BTreeSet::from([one.clone(), other]));
        assert_eq!(dirs_of(&[slash, &one]), BTreeSet::from([one.clone()]));
        let temp = std::env::temp_dir();
        assert_eq!(dirs_of(&["temp", temp.to_str().unwrap()]), BTreeSet::from(["temp".to_owned()]));
        let link = home.join("link");
        std::os::unix::fs::symlink(&one, &link).unwrap();
        let link = link.to_str().unwrap();
        assert_eq!(dirs_of(&[link, &one]), BTreeSet::from([link.to_owned()]));
    }

    #[test]
    fn time_for_counting_on_the_host_is_added_to_the_budget() {
        let allowed = |filter: &str| {
            let planned = plan(&options(filter), &[0, 1], 7).unwrap();
            let mut plan = planned.clone();
            plan.allow_for_host_counts();
            assert_eq!(plan.budget_ms, planned.budget_ms + plan.host_counts_ms);
            (plan.host_counts_ms, plan.points.len() as u64)
        };
        assert_eq!(allowed("syscall/getppid"), (120, 1));
        let (ms, points) = allowed("concurrency/jobs");
        assert!((points * 100..points * 1_000).contains(&ms), "{ms} ms for {points} points");
    }

    #[test]
    fn slow_starts_of_workers_extend_the_time_within_limits() {
        let planned = plan(&options("syscall"), &[0], 7).unwrap();
        let with = |ms| {
            let mut plan = planned.clone();
            plan.allow_for_starts(ms);
            plan.budget_ms
        };
        assert_eq!((with(0.0), with(8.0)), (planned.budget_ms, planned.budget_ms));
        assert_eq!(with(11.0), planned.budget_ms + planned.points.len() as u64 * 14);
        assert_eq!(with(1e9), planned.budget_ms * 4);
    }

    #[test]
    fn a_case_with_a_separate_command_is_not_in_a_default_run() {
        let of = |filter: &str| plan(&options(filter), &[0, 1], 7).map(|plan| plan.points);
        let area = of("concurrency").unwrap();
        assert!(!area.is_empty() && area.iter().all(|point| point.case != "concurrency/answer"));
        let error = of("concurrency/answer").unwrap_err().to_string();
        assert_eq!(error, "concurrency/answer is measured by `oscost concurrency`");
    }
}

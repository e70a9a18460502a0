use proptest::prelude::*;

use super::*;
use crate::run_clock::RunClock;

const MS: Duration = Duration::from_millis(1);

fn until(seconds: u64) -> RunTime {
    RunTime(Duration::from_secs(seconds))
}

/// The state of points on one system, with these numbers of planned rounds and a budget in seconds.
fn state_of(planned: &[usize], seconds: u64) -> State {
    let all = until(seconds);
    State {
        seed: 7,
        allowed: Allowed { counts: all, host_counts: all, planned: all, more: all },
        points: (0..).zip(planned).map(|(group, &planned)| point(0, group, planned)).collect(),
        boots_done: vec![0],
        rounds: 0,
    }
}

fn point(system: usize, group: usize, planned: usize) -> PointState {
    PointState {
        system,
        group,
        area: 0,
        is_asked: false,
        is_in_summary: false,
        planned,
        planned_per_boot: planned,
        at_most: planned * 4,
        made: 0,
        began: None,
        cost: Cost::default(),
        is_over: false,
        is_precise: false,
        needs_counts: false,
        counts_last: false,
        host_pairs: None,
    }
}

/// A simulation of a run with a virtual clock.
struct Simulation {
    state: State,
    clock: RunClock,
    /// The reading of the process's clock.
    elapsed: Duration,
    /// Time that a round of a point takes.
    takes: fn(usize) -> Duration,
    /// Number of rounds after which a point is precise.
    precise_from: fn(usize) -> usize,
    /// All rounds: purpose, point, beginning by the run's time.
    made: Vec<(Purpose, usize, RunTime)>,
    /// Beginning of the latest group.
    latest_group: RunTime,
    restarts: usize,
}

impl Simulation {
    fn of(state: State) -> Self {
        Self {
            state,
            clock: RunClock::starting_at(Duration::ZERO),
            elapsed: Duration::ZERO,
            takes: |_| 20 * MS,
            precise_from: |_| usize::MAX,
            made: Vec::new(),
            latest_group: RunTime::default(),
            restarts: 0,
        }
    }

    fn now(&mut self) -> RunTime {
        self.clock.at(self.elapsed)
    }

    /// Makes one decision, and at most `rounds` rounds that follow from it. Returns false at the end.
    fn step(&mut self, rounds: usize) -> bool {
        let now = self.now();
        match schedule(&self.state, now) {
            Next::Done => return false,
            Next::WaitUntil(moment) => {
                assert!(moment > now, "it would wait for ever");
                self.elapsed += moment.0 - now.0;
                self.clock.has_reached(moment);
            }
            Next::Restart(systems) => {
                systems.iter().for_each(|&system| self.state.boots_done[system] += 1);
                self.restarts += systems.len();
            }
            Next::Rounds { purpose, groups, until } => {
                let mut left = rounds;
                for group in groups {
                    if self.now() >= until || left == 0 {
                        break;
                    }
                    left -= 1;
                    self.latest_group = self.now();
                    group.iter().for_each(|&at| self.round(purpose, at));
                }
            }
        }
        true
    }

    fn round(&mut self, purpose: Purpose, at: usize) {
        let began = self.now();
        self.made.push((purpose, at, began));
        self.elapsed += (self.takes)(at);
        self.state.rounds += 1;
        let point = &mut self.state.points[at];
        point.cost.0 += (self.takes)(at);
        match purpose {
            Purpose::Counts => point.needs_counts = false,
            Purpose::HostCounts => {
                point.host_pairs =
                    point.host_pairs.map(|pairs| pairs + 1).filter(|&pairs| pairs < 2);
            }
            Purpose::Times => {
                point.made += 1;
                point.began = Some(began);
                point.is_precise = point.made >= (self.precise_from)(at);
            }
        }
    }

    /// Runs to the end; returns the number of decisions.
    fn run(&mut self) -> usize {
        (0..1_000_000).take_while(|_| self.step(usize::MAX)).count()
    }

    fn rounds_of(&self, at: usize) -> usize {
        self.state.points[at].made
    }
}

#[test]
fn nothing_begins_beyond_the_time_allowed() {
    for (planned, seconds) in [(vec![16; 300], 3), (vec![6; 20], 1), (vec![16], 1)] {
        let mut run = Simulation::of(state_of(&planned, seconds));
        run.state.points.iter_mut().for_each(|point| point.needs_counts = true);
        run.run();
        let latest = run.made.iter().map(|(_, _, began)| *began).max();
        assert!(latest < Some(until(seconds)), "{latest:?}");
        assert!(run.elapsed <= Duration::from_secs(seconds) + 20 * MS);
    }
}

/// The machines are an idle one, one where a round takes ten times as long, and one where rounds of some points take very
/// long.
#[test]
fn within_every_budget_points_get_the_rounds_that_a_figure_needs() {
    const POINTS: usize = 40;
    let machines: [fn(usize) -> Duration; 3] =
        [|_| 10 * MS, |_| 100 * MS, |at| if at.is_multiple_of(8) { 2_000 * MS } else { 10 * MS }];
    for (machine, takes) in machines.into_iter().enumerate() {
        for budget_ms in [100, 1_000, 10_000, 60_000, 600_000] {
            let budget = RunTime(Duration::from_millis(budget_ms));
            let mut state = state_of(&[6; POINTS], 0);
            state.allowed =
                Allowed { counts: budget, host_counts: budget, planned: budget, more: budget };
            let mut run = Simulation::of(state);
            run.takes = takes;
            run.run();
            let made: Vec<usize> = (0..POINTS).map(|at| run.rounds_of(at)).collect();
            let complete = made.iter().filter(|&&rounds| rounds >= 6).count();
            // The first look may take half of the time, and one round of each point must show its duration.
            let mut needs: Vec<Duration> = (0..POINTS).map(|at| takes(at) * 6).collect();
            needs.sort_unstable();
            let first_rounds: Duration = (0..POINTS).map(takes).sum();
            let mut left = (budget.0 / 2).saturating_sub(first_rounds);
            if budget_ms <= 1_000 {
                left = Duration::ZERO; // rounds of a point must be apart
            }
            let at_least = needs.iter().take_while(|&&need| {
                let fits = need <= left;
                left = left.saturating_sub(need);
                fits
            });
            let at_least = at_least.count();
            assert!(complete >= at_least, "{machine} {budget:?}: {complete} {at_least} {made:?}");
            let longest = (0..POINTS).map(takes).max().unwrap();
            assert!(run.elapsed < budget.0 + longest, "{machine} {budget:?}: {:?}", run.elapsed);
        }
    }
}

/// Beside other work, a round of some points takes a hundred times as long as a round of others.
#[test]
fn where_time_is_short_the_points_that_need_most_of_it_are_left_out() {
    let mut run = Simulation::of(state_of(&[14; 300], 100));
    run.takes = |at| if at.is_multiple_of(20) { 2_000 * MS } else { 45 * MS };
    run.run();
    let complete = (0..300).filter(|&at| run.rounds_of(at) >= 6).count();
    // The other points need 77 of the 100 s, and one round of each of the slow ones 30 s.
    assert!(complete >= 250, "{complete}");
    let begun = (0..300).filter(|&at| (2..6).contains(&run.rounds_of(at))).count();
    assert!(begun <= 10, "{begun}");
    let mut first = Simulation::of(state_of(&[14; 300], 100));
    first.takes = run.takes;
    first.state.points[40].is_in_summary = true;
    first.run();
    assert!(first.rounds_of(40) >= 6 && run.rounds_of(40) < 6);
    // On a slow system each point has a round before one has its second.
    let mut slow = Simulation::of(state_of(&[6; 28], 25));
    slow.takes = |_| 800 * MS;
    slow.run();
    assert!((0..28).all(|at| slow.rounds_of(at) >= 1));
    let mut alone = Simulation::of(state_of(&[14], 5));
    alone.takes = run.takes;
    alone.run();
    assert_eq!(alone.rounds_of(0), 3, "a point is not left out in favour of none");
}

#[test]
fn open_questions_come_before_figures_that_are_not_precise() {
    let mut run = Simulation::of(state_of(&[6; 12], 60));
    for at in [2, 3, 4] {
        let point = &mut run.state.points[at];
        (point.group, point.is_asked, point.at_most) = (2, true, 200);
    }
    // One side needs more rounds than the other two.
    run.precise_from = |at| match at {
        2 | 3 => 40,
        4 => 10,
        _ => usize::MAX,
    };
    run.run();
    assert_eq!([2, 3, 4].map(|at| run.rounds_of(at)), [40, 40, 10]);
    assert_eq!(run.rounds_of(0), 24, "as many as it may have");
    let order: Vec<usize> = run.made.iter().map(|(_, at, _)| *at).collect();
    let last_asked = order.iter().rposition(|at| [2, 3].contains(at)).unwrap();
    let further = |at: usize| order.iter().enumerate().filter(move |(_, of)| **of == at).nth(6);
    assert!(further(0).unwrap().0 > last_asked);
}

/// A pass takes the areas one after the other, in a new order each time.
#[test]
fn points_of_an_area_follow_each_other() {
    let mut state = state_of(&[8; 30], 60);
    for (at, point) in state.points.iter_mut().enumerate() {
        point.area = at % 3;
    }
    let mut orders = BTreeSet::new();
    for rounds in 0..8 {
        state.rounds = rounds;
        let pass = state.grouped(|_| true);
        let mut areas: Vec<usize> = pass.iter().flatten().map(|at| at % 3).collect();
        areas.dedup();
        assert_eq!(areas.len(), 3, "{areas:?}");
        orders.insert(areas);
    }
    assert!(orders.len() > 1, "{orders:?}");
}

#[test]
fn planned_rounds_may_take_longer_than_further_ones() {
    let mut run = Simulation::of(state_of(&[16; 10], 60));
    run.state.allowed.more = until(2);
    run.run();
    assert!((0..10).all(|at| run.rounds_of(at) == 16));
    assert!(run.elapsed > Duration::from_secs(3), "ten rounds take 200 ms, and 16 are planned");
}

#[test]
fn each_point_gets_its_first_rounds_before_any_gets_its_tenth() {
    // Every third point has trials of a second, the others sampled rounds.
    let planned: Vec<usize> = (0..60).map(|at| if at % 3 == 0 { 6 } else { 16 }).collect();
    let mut run = Simulation::of(state_of(&planned, 10_000));
    run.takes = |at| if at % 3 == 0 { Duration::from_secs(1) } else { 20 * MS };
    run.run();
    let mut rounds = vec![0; planned.len()];
    for (_, at, _) in &run.made {
        rounds[*at] += 1;
        let fewest = rounds.iter().min().copied().unwrap();
        let has_tenth = rounds.iter().any(|&made| made >= 10);
        assert!(!has_tenth || fewest >= 3, "{rounds:?}");
        // Two points' shares of their planned rounds differ by at most one round.
        let lead = |at: usize| rounds[at] as f64 / planned[at] as f64;
        let (first, last) = (lead(1), lead(0));
        assert!(first >= 1.0 || (first - last).abs() <= 1.0 / 6.0 + 1.0 / 16.0, "{first} {last}");
    }
}

#[test]
fn planned_rounds_of_a_point_are_apart_in_time() {
    let mut run = Simulation::of(state_of(&[16, 16], 60));
    run.precise_from = |_| 16;
    run.run();
    for at in 0..2 {
        let began = run.made.iter().filter(|made| made.1 == at).map(|made| made.2.0);
        let began: Vec<Duration> = began.collect();
        assert_eq!(began.len(), 16);
        assert!(began.windows(2).all(|two| two[1] - two[0] >= APART), "{began:?}");
    }
}

#[test]
fn points_that_are_precise_or_over_get_no_more_rounds_and_the_cheapest_others_come_first() {
    let mut run = Simulation::of(state_of(&[6; 5], 600));
    run.takes = |at| if at == 4 { Duration::from_secs(2) } else { 20 * MS };
    run.precise_from = |at| [0, 9, usize::MAX, usize::MAX, usize::MAX][at];
    run.state.points[3].is_over = true;
    run.run();
    assert_eq!([0, 1, 2, 3].map(|at| run.rounds_of(at)), [6, 9, 24, 0]);
    let of_last = run.made.iter().skip_while(|made| made.2 < until(20)).map(|made| made.1);
    assert!(of_last.collect::<Vec<_>>().ends_with(&[4, 4, 4]), "the long one comes last");
}

/// With the same rounds made, the remaining rounds may have another order, but must be the same.
#[test]
fn a_run_that_was_killed_and_resumed_ends_as_an_unbroken_one() {
    let planned: Vec<usize> = (0..40).map(|at| if at % 4 == 0 { 6 } else { 16 }).collect();
    let fresh = || {
        let mut run = Simulation::of(state_of(&planned, 10_000));
        run.precise_from = |at| 16 + at % 9;
        run
    };
    let mut unbroken = fresh();
    unbroken.run();
    for killed_after in [1, 17, 200, 431] {
        let mut killed = fresh();
        while killed.made.len() < killed_after && killed.step(7) {}
        // The resumed run has the rounds and times of the store.
        let mut resumed = fresh();
        resumed.state = killed.state.clone();
        resumed.clock = RunClock::starting_at(killed.clock.at(killed.elapsed).0);
        resumed.run();
        for at in 0..planned.len() {
            assert_eq!(resumed.rounds_of(at), unbroken.rounds_of(at), "point {at}");
        }
    }
}

#[test]
fn ten_thousand_points_are_scheduled_soon() {
    let mut run = Simulation::of(state_of(&vec![6; 10_000], 1_000_000));
    run.precise_from = |at| if at < 9_000 { 6 } else { 8 };
    let decisions = run.run();
    assert_eq!(run.made.len(), 9_000 * 6 + 1_000 * 8);
    assert!(decisions < 100, "{decisions} passes");
}

/// The clocks make rounds seem to take no time, go back, or jump.
#[test]
fn clocks_that_stand_still_or_jump_end_no_run_too_late() {
    let mut still = Simulation::of(state_of(&[6; 4], 60));
    still.takes = |_| Duration::ZERO;
    still.run();
    assert!((0..4).all(|at| still.rounds_of(at) == 24));

    let mut back = Simulation::of(state_of(&[6; 4], 60));
    back.elapsed = Duration::from_secs(5);
    back.now();
    back.elapsed = Duration::ZERO;
    back.run();
    assert!((0..4).all(|at| back.rounds_of(at) == 24));

    let mut ahead = Simulation::of(state_of(&[6; 4], 60));
    (0..3).for_each(|_| assert!(ahead.step(usize::MAX)));
    ahead.elapsed += Duration::from_secs(1_000_000);
    assert!(!ahead.step(usize::MAX), "time is up");
}

/// The state of two systems, the second of which lacks a point.
fn in_turn() -> State {
    let mut state = state_of(&[20; 3], 600);
    state.points.extend([point(1, 0, 20), point(1, 2, 20)]);
    state.boots_done = vec![0, 0];
    state
}

#[test]
fn all_rounds_of_a_group_are_next_to_each_other() {
    let mut run = Simulation::of(in_turn());
    // The figure of one side is precise long before the other's.
    run.precise_from = |at| if at == 0 { 20 } else { 30 };
    run.run();
    let group = |made: &(Purpose, usize, RunTime)| run.state.points[made.1].group;
    for together in run.made.chunk_by(|a, b| group(a) == group(b) && a.1 != b.1) {
        let wanted = if group(&together[0]) == 1 { 1 } else { 2 };
        assert_eq!(together.len(), wanted, "{together:?}");
    }
    assert_eq!(run.rounds_of(0), run.rounds_of(3), "pairs have both sides");
    let firsts = run.made.chunk_by(|a, b| group(a) == group(b)).map(|two| two[0].1);
    let of_second = firsts.clone().filter(|&at| at >= 3).count();
    assert!((10..50).contains(&of_second), "the sides are in a random order: {of_second}");
}

#[test]
fn a_side_that_has_failed_does_not_stop_the_other() {
    let mut run = Simulation::of(in_turn());
    run.state.points[3].is_over = true;
    run.precise_from = |_| 20;
    run.run();
    assert_eq!([0, 2, 3, 4].map(|at| run.rounds_of(at)), [20, 20, 0, 20]);
}

#[test]
fn counts_come_before_all_rounds_where_starts_are_observed() {
    let mut state = state_of(&[6; 2], 60);
    for point in &mut state.points {
        (point.needs_counts, point.planned_per_boot) = (true, 3);
    }
    let mut run = Simulation::of(state);
    run.run();
    let purposes: Vec<Purpose> = run.made.iter().take(4).map(|made| made.0).collect();
    assert_eq!(purposes, [Purpose::Counts, Purpose::Counts, Purpose::Times, Purpose::Times]);
    assert_eq!(run.restarts, 1);
}

#[test]
fn counts_that_verify_nothing_come_after_the_answers_to_questions() {
    let purposes = |counts_last| {
        let mut state = state_of(&[6], 60);
        (state.allowed.counts, state.allowed.host_counts) = (RunTime(20 * MS), RunTime(60 * MS));
        let point = &mut state.points[0];
        (point.needs_counts, point.host_pairs) = (true, Some(0));
        point.counts_last = counts_last;
        let mut run = Simulation::of(state);
        run.precise_from = |_| 8;
        run.run();
        let all: Vec<Purpose> = run.made.iter().map(|made| made.0).collect();
        let runs = all.chunk_by(|a, b| a == b).map(|some| (some[0], some.len()));
        runs.collect::<Vec<_>>()
    };
    use Purpose::{Counts, HostCounts, Times};
    assert_eq!(purposes(true), [(Times, 8), (Counts, 1), (HostCounts, 2)]);
    assert_eq!(purposes(false), [(Times, 1), (Counts, 1), (HostCounts, 2), (Times, 7)]);
}

#[test]
fn first_figures_then_counts_come_within_their_time_and_the_rest_of_them_last() {
    let mut state = state_of(&[6; 4], 60);
    state.allowed.counts = RunTime(40 * MS);
    state.allowed.host_counts = RunTime(130 * MS);
    for point in &mut state.points {
        (point.needs_counts, point.host_pairs) = (true, Some(0));
    }
    let mut run = Simulation::of(state);
    run.precise_from = |_| 6;
    run.run();
    let purposes: Vec<Purpose> = run.made.iter().map(|made| made.0).collect();
    let order: Vec<(Purpose, usize)> =
        purposes.chunk_by(|a, b| a == b).map(|some| (some[0], some.len())).collect();
    use Purpose::{Counts, HostCounts, Times};
    let expected = [(Counts, 2), (HostCounts, 5), (Times, 23), (Counts, 2), (HostCounts, 3)];
    // The first figures take half of the time for counts, which get additional time for it.
    assert_eq!(order, [&[(Times, 1)][..], &expected].concat());
    // Each point had its first pair before any had its second.
    let on_host = run.made.iter().filter(|made| made.0 == HostCounts).map(|made| made.1);
    assert_eq!(on_host.collect::<Vec<_>>(), [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn rounds_come_from_as_many_starts_as_planned() {
    let mut state = in_turn();
    for point in &mut state.points {
        (point.planned, point.planned_per_boot, point.at_most) = (6, 2, 6);
    }
    let mut run = Simulation::of(state);
    // A system must start again before its third round.
    while run.step(usize::MAX) {
        for point in &run.state.points {
            assert!(point.made <= 2 * (run.state.boots_done[point.system] + 1));
        }
    }
    assert_eq!((run.restarts, run.state.boots_done.clone()), (4, vec![2, 2]));
    assert!(run.state.points.iter().all(|point| point.made == 6));
}

#[test]
fn rounds_wait_for_a_share_of_the_time_and_never_long() {
    let at = |seconds| RunTime(Duration::from_secs(seconds));
    assert_eq!(may_wait(Waited(Duration::ZERO), at(0)), Duration::ZERO);
    assert_eq!(may_wait(Waited(Duration::ZERO), at(100)), WAIT_AT_MOST);
    let nearly_all = at(100).0.mul_f64(WAITING_SHARE) - MS;
    assert_eq!(may_wait(Waited(nearly_all), at(100)), MS);
    assert_eq!(may_wait(Waited(nearly_all + 5 * MS), at(100)), Duration::ZERO);
}

fn values(of: &[f64]) -> Vec<RoundValue> {
    of.iter().copied().map(RoundValue::exact).collect()
}

#[test]
fn a_point_is_precise_with_enough_quiet_rounds_that_agree() {
    let wanted =
        |precision| Wanted { precision, in_pairs: false, trials: None, is_compared: false };
    let apart = |share: f64, count: usize| -> Vec<f64> {
        (0..count)
            .map(|n| 100.0 * (1.0 + share * ((n * 7 % count) as f64 / count as f64 - 0.5)))
            .collect()
    };
    assert!(!is_precise(values(&[100.0; 5]), wanted(0.03), 7), "too few");
    assert!(is_precise(values(&apart(0.02, 16)), wanted(0.03), 7));
    assert!(!is_precise(values(&apart(0.2, 16)), wanted(0.03), 7));
    // Five quiet trials of six are enough, and two of two planned ones.
    let trials = |planned| Wanted { trials: Some(planned), ..wanted(0.15) };
    assert!(is_precise(values(&apart(0.05, 5)), trials(6), 7));
    assert!(!is_precise(values(&apart(0.05, 4)), trials(6), 7));
    assert!(is_precise(values(&[100.0, 100.1]), trials(2), 7));
    // The faster round of each pair counts.
    let slow_half: Vec<f64> = (0..16).map(|n| if n % 2 == 0 { 100.0 } else { 120.0 }).collect();
    assert!(!is_precise(values(&slow_half), wanted(0.03), 7));
    assert!(is_precise(values(&slow_half), Wanted { in_pairs: true, ..wanted(0.03) }, 7));
    // A difference is less certain than a figure, so it needs more rounds.
    let compared = Wanted { is_compared: true, ..wanted(0.03) };
    let rounds = values(&apart(0.08, 24));
    assert!(is_precise(rounds.clone(), wanted(0.03), 7) && !is_precise(rounds, compared, 7));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A run ends within its time, without more rounds than allowed, whatever fails, ends or becomes precise.
    #[test]
    fn every_run_ends(
        planned in prop::collection::vec(1_usize..20, 1..30),
        groups in prop::collection::vec(0_usize..30, 30),
        over in prop::collection::vec(any::<bool>(), 30),
        seconds in 0_u64..20,
        counted in any::<bool>(),
    ) {
        let mut state = state_of(&planned, seconds);
        for (at, point) in state.points.iter_mut().enumerate() {
            (point.group, point.is_over, point.needs_counts) = (groups[at], over[at], counted);
        }
        let mut run = Simulation::of(state);
        run.precise_from = |at| at * 3;
        run.run();
        prop_assert_eq!(schedule(&run.state, run.clock.at(run.elapsed)), Next::Done);
        let most_in_group = planned.iter().max().unwrap() * 4;
        for point in &run.state.points {
            prop_assert!(point.made <= most_in_group);
            prop_assert!(!point.is_over || point.made == 0);
        }
        // The last group may end late: a group that has begun is completed.
        prop_assert!(run.made.is_empty() || run.latest_group < until(seconds));
    }
}

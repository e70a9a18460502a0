//! Several runs of one build or kernel as one, with visits as the unit.
//!
//! The figure is the mean over visits, each of which is the mean of its runs (geometric where figures are above 0). Its variance has
//! two parts, as that of a single run: what rounds show within runs, divided by the number of runs, and the variance between visits,
//! divided by the number of visits. So any number of runs within ten minutes tell no more of another hour than one.

use std::collections::{BTreeMap, HashMap};

use measure::stats::{LEVEL, t_quantile};
use results::{CaseResult, Document, Estimate, GROUP, Interval, NextRun, Outcome, Source};

use crate::next_run::{ONE_VISIT, between_visits};
use crate::scale::Scale;

/// Runs of the same machine and system as one run, called `name`; that of the newest with the figures of all. Results that the
/// newest run lacks are left out.
///
/// # Panics
/// Without runs.
pub fn merged(runs: &[Document], name: &str) -> Document {
    let mut runs: Vec<&Document> = runs.iter().collect();
    runs.sort_by(|one, other| one.run.started_seconds().total_cmp(&other.run.started_seconds()));
    let newest = runs.last().expect("a run");
    let mut all = Document::clone(newest);
    if runs.len() == 1 {
        return all;
    }
    all.run.id = format!("{name} ({} runs)", runs.len());
    all.run.asked.remove(GROUP);
    let runs: Vec<(f64, Results)> =
        runs.iter().map(|run| (run.run.started_seconds(), Results::of(run))).collect();
    for result in &mut all.results {
        let of_runs: Vec<(f64, &CaseResult)> =
            runs.iter().filter_map(|(began, run)| Some((*began, run.same(result)?))).collect();
        if of_runs.len() > 1
            && let Some(one) = one_of(newest, &of_runs)
        {
            *result = one;
        }
    }
    all
}

/// The results of a run that have intervals, by point, metric and unit.
struct Results<'r>(HashMap<Identity<'r>, &'r CaseResult>);

type Identity<'r> = (&'r str, &'r BTreeMap<String, String>, &'r str, &'r str);

impl<'r> Results<'r> {
    fn of(run: &'r Document) -> Self {
        let has_interval =
            |one: &&CaseResult| one.outcome == Outcome::Measured && one.has_interval();
        let results = run.results.iter().filter(has_interval);
        Self(results.map(|result| (Self::identity(result), result)).collect())
    }

    fn identity(of: &CaseResult) -> Identity<'_> {
        (&of.case, &of.params, &of.metric, &of.unit)
    }

    fn same(&self, of: &CaseResult) -> Option<&'r CaseResult> {
        self.0.get(&Self::identity(of)).copied()
    }
}

/// One result for those of several runs, the oldest first, each with the start of its run.
fn one_of(newest: &Document, of_runs: &[(f64, &CaseResult)]) -> Option<CaseResult> {
    let in_cycles = of_runs.iter().all(|(_, result)| result.cycles.is_some());
    let places = Places::of(of_runs, |result| result.estimate.map(interval_of_estimate))?;
    let (_, last) = of_runs.last()?;
    let mut one = CaseResult::clone(last);
    let rounds: u32 = of_runs.iter().map(|(_, result)| result.rounds).sum();
    let interval = places.interval(rounds);
    let level = LEVEL;
    let Interval { median, low, high } = interval;
    one.estimate = Some(Estimate { median, low, high, level });
    one.cycles = match in_cycles {
        true => Some(Places::of(of_runs, |result| result.cycles)?.interval(rounds)),
        false => None,
    };
    one.rounds = rounds;
    one.round_values = of_runs.iter().flat_map(|(_, result)| moved(result, &places)).collect();
    one.round_starts_ms.clear();
    one.all_round_values.clear();
    one.all_round_starts_ms.clear();
    one.disturbed =
        2 * of_runs.iter().filter(|(_, result)| result.disturbed).count() > of_runs.len();
    let between = between_visits(newest, last, places.scale);
    // The variance that a comparison adds to that of the rounds.
    let of_mean = between.value / places.visits as f64 + places.error.powi(2);
    one.next_run = Some(NextRun {
        low,
        high,
        level,
        deviation: of_mean.sqrt(),
        degrees: between.degrees,
        visits: places.visits as u32,
        boots: last.next_run.map_or(1, |next| next.boots),
        days: last.next_run.map_or(1, |next| next.days),
        source: last.next_run.map_or(Source::AnyProcessor, |next| next.source),
    });
    one.this_machine = None;
    Some(one)
}

fn interval_of_estimate(estimate: Estimate) -> Interval {
    Interval { median: estimate.median, low: estimate.low, high: estimate.high }
}

/// The values of a run's rounds, moved to the figure of all runs, so that they show what differs within runs only.
fn moved(result: &CaseResult, places: &Places) -> Vec<f64> {
    let Some(estimate) = result.estimate else { return Vec::new() };
    let center = places.scale.number(places.mean);
    let value = |round: &f64| match places.scale {
        Scale::Logarithms => round * center / estimate.median,
        Scale::Figures => round + center - estimate.median,
    };
    result.round_values.iter().map(value).collect()
}

/// Figures of several runs on a scale.
struct Places {
    scale: Scale,
    /// Mean over visits.
    mean: f64,
    /// Standard error of the mean by the rounds within runs.
    error: f64,
    visits: usize,
}

impl Places {
    /// `None` if a run has no such figure.
    fn of(
        of_runs: &[(f64, &CaseResult)],
        figure: impl Fn(&CaseResult) -> Option<Interval>,
    ) -> Option<Self> {
        let figures: Vec<Interval> =
            of_runs.iter().map(|(_, result)| figure(result)).collect::<Option<_>>()?;
        let is_positive = figures.iter().all(|figure| figure.low > 0.0);
        let scale = if is_positive { Scale::Logarithms } else { Scale::Figures };
        let mut visits: Vec<(f64, f64, f64)> = Vec::new();
        let mut variance = 0.0;
        for ((began, result), figure) in of_runs.iter().zip(&figures) {
            let place = scale.of(figure.median);
            match visits.last_mut() {
                Some((first, sum, count)) if began - *first < ONE_VISIT => {
                    *sum += place;
                    *count += 1.0;
                }
                _ => visits.push((*began, place, 1.0)),
            }
            let degrees = f64::from(result.rounds.max(2)) - 1.0;
            let half = (scale.of(figure.high) - scale.of(figure.low)) / 2.0;
            variance += (half / t(degrees)).powi(2);
        }
        let means = visits.iter().map(|(_, sum, count)| sum / count);
        let mean = means.sum::<f64>() / visits.len() as f64;
        let error = variance.sqrt() / figures.len() as f64;
        Some(Self { scale, mean, error, visits: visits.len() })
    }

    /// The mean with the interval of so many rounds.
    fn interval(&self, rounds: u32) -> Interval {
        let half = t(f64::from(rounds.max(2)) - 1.0) * self.error;
        let [median, low, high] =
            [self.mean, self.mean - half, self.mean + half].map(|place| self.scale.number(place));
        Interval { median, low, high }
    }
}

fn t(degrees: f64) -> f64 {
    t_quantile(1.0 - (1.0 - LEVEL) / 2.0, degrees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Settings;
    use crate::next_run::tests::machines::{Course, Machine};
    use crate::next_run::tests::slow_down;
    use crate::{Verdict, compare, next_run};

    fn predicted(machine: &mut Machine, count: usize, slower: f64) -> Vec<Document> {
        let mut runs: Vec<Document> = (0..count).map(|_| machine.separate_visit()).collect();
        let results = runs.iter_mut().flat_map(|run| &mut run.results);
        results.for_each(|result| slow_down(result, slower));
        next_run::tests::predicted(&runs)
    }

    fn width(result: &CaseResult) -> f64 {
        result.next_run.expect("predicted").deviation
    }

    /// Nine visits narrow the variance between visits to a ninth, and runs of one visit do not.
    #[test]
    fn visits_narrow_a_figure_and_runs_of_one_visit_hardly_do() {
        let mut machine = Machine::new(Course::States, 3);
        let runs = predicted(&mut machine, 9, 1.0);
        let all = merged(&runs, "kernel=6.12");
        assert_eq!(all.run.id, "kernel=6.12 (9 runs)");
        let mut together = runs.clone();
        for (nth, run) in together.iter_mut().enumerate() {
            run.run.started = format!("2026-11-01T00:00:{nth:02}Z");
        }
        let one_visit = merged(&together, "kernel=6.12");
        let mut wider = 0;
        for ((all, one_visit), single) in
            all.results.iter().zip(&one_visit.results).zip(&runs[8].results)
        {
            assert!(width(all) < 0.6 * width(single), "{} {}", width(all), width(single));
            assert!(width(one_visit) >= width(all));
            wider += usize::from(width(one_visit) > 1.5 * width(all));
            assert_eq!(all.rounds, 9 * single.rounds);
        }
        assert!(wider >= 8, "of {} points, {wider} differ from visit to visit", all.results.len());
    }

    /// Checks that equal machines hardly ever get a verdict, and that merged runs show a difference that single ones cannot.
    #[test]
    fn merged_runs_show_what_single_ones_cannot_and_nothing_that_is_not_there() {
        let settings = Settings::default();
        let is_verdict = |verdict: Verdict| matches!(verdict, Verdict::Slower | Verdict::Faster);
        let (mut wrong, mut found, mut found_by_one) = (0, 0, 0);
        const MACHINES: u64 = 10;
        for seed in 0..MACHINES {
            let mut machine = Machine::new(Course::States, seed);
            let before = predicted(&mut machine, 8, 1.0);
            let same = predicted(&mut machine, 8, 1.0);
            let slower = predicted(&mut machine, 8, 1.12);
            let judged = |base: &Document, new: &Document| {
                compare(base, new, &settings).iter().filter(|row| is_verdict(row.verdict)).count()
            };
            let [before_all, same_all, slower_all] =
                [&before, &same, &slower].map(|runs| merged(runs, "x=y"));
            wrong += usize::from(judged(&before_all, &same_all) > 0);
            found += judged(&before_all, &slower_all);
            found_by_one += judged(&before[7], &slower[7]);
        }
        eprintln!("wrong {wrong} of {MACHINES}; found {found}, by single runs {found_by_one}");
        assert!(wrong <= 1, "{wrong} of {MACHINES} equal machines differ");
        assert!(found > found_by_one, "{found} {found_by_one}");
    }
}

//! The verdict on the columns of a table as a whole, for each area and for each design of an application: the factor by which a
//! column differs from the first, the rank that it certainly has, and whether the order of the designs is the same everywhere.
//!
//! All these statements share one chance of error, separate from that of the single points.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use catalog::{Application, Design, Select, areas};
use measure::{Metric, Params, TIME};
use results::{Direction, Outcome};
use serde::Serialize;

use crate::change::Ratio;
use crate::columns::{ComparedTable, Facts};
use crate::dimension::Selection;
use crate::judge::{Settings, TOO_FEW_ROUNDS, floor};
use crate::mean::{Mean, Sample};
use crate::row_verdicts::RowVerdicts;
use crate::table::{Cell, Found, Table};
use crate::verdict::Verdict;

/// The verdict on the columns of a table.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Overview {
    /// Standings in each area, by its times, or by each metric in areas without times.
    pub areas: Vec<Standing>,
    /// Standings of each application by each of its metrics, over the points of all its designs; only if the columns are runs.
    pub applications: Vec<Standing>,
    /// Standings of each design of an application by each of its metrics; only if the columns are runs.
    pub designs: Vec<Standing>,
    /// How much the designs of an application, and how much the columns, differ.
    pub spreads: Vec<Spread>,
    /// Order of the designs in each column.
    pub orders: Vec<DesignOrder>,
    /// Pairs of designs whose order certainly differs between columns.
    pub reversals: Vec<Reversal>,
}

/// Comparison of the columns in one area or with one design.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Name of the area, with the system if the table has rows of several; or name of the design.
    pub name: String,
    /// Application of the design; `None` for an area.
    pub application: Option<&'static str>,
    /// Metric of the figures.
    pub metric: String,
    /// Comparisons of each column but the first with the first.
    pub columns: Vec<ColumnStanding>,
    /// Best and worst rank that each column may have, 1 being the best; `None` without figures.
    pub ranks: Vec<Option<[usize; 2]>>,
}

/// A column compared with the first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnStanding {
    /// Mean ratio; `None` if there is no point to compare.
    pub mean: Option<Mean>,
    /// Number of points that are left out, such as those limited by the load generator.
    pub left_out: usize,
    /// The most frequent reason why points are left out, or why there are none.
    pub why: Option<String>,
}

/// The designs of an application in the order of a metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DesignOrder {
    /// The application.
    pub application: &'static str,
    /// The metric.
    pub metric: &'static str,
    /// The column.
    pub column: String,
    /// The designs, the best first.
    pub designs: Vec<&'static str>,
    /// For each design but the last, whether it is certainly better than the next one.
    pub certain: Vec<bool>,
}

/// How far the designs of an application and the columns are apart, both as factors of at least 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// The application.
    pub application: &'static str,
    /// The metric.
    pub metric: &'static str,
    /// The worst design's figure divided by that of the best, as the mean over the columns.
    pub of_designs: Ratio,
    /// The worst column's figure divided by that of the best, as the mean over the designs.
    pub of_columns: Ratio,
}

/// A pair of designs of which one is certainly better in one column, and the other in another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reversal {
    /// The application.
    pub application: &'static str,
    /// The metric.
    pub metric: &'static str,
    /// The design that is better in `here`.
    pub better: &'static str,
    /// The design that is better in `there`.
    pub worse: &'static str,
    /// The column where `better` is better.
    pub here: String,
    /// The figure of `worse` divided by that of `better` in `here`.
    pub ratio_here: Ratio,
    /// The column where `worse` is better.
    pub there: String,
    /// The figure of `worse` divided by that of `better` in `there`.
    pub ratio_there: Ratio,
}

/// The verdict on the columns of a table. `at` is the selection with which the table was made, `settings` those by which it was
/// compared.
pub fn overview(compared: &ComparedTable, at: &Selection, settings: &Settings) -> Overview {
    let table = &compared.table;
    let measuring = Measuring { table, facts: Facts::of(table, settings) };
    let areas = measuring.areas();
    let designs = match table.by.is_of_runs() {
        true => measuring.designs(at),
        false => Vec::new(),
    };
    let between: Vec<_> = designs.iter().map(|family| family.between_columns(&measuring)).collect();
    let within: Vec<_> = designs.iter().map(|family| family.between_designs(&measuring)).collect();
    let pooled: Vec<_> = designs.iter().map(|family| family.of_all_designs(&measuring)).collect();
    let all = areas.iter().map(|(_, pairs)| pairs).chain(&pooled);
    let all = all.chain(between.iter().flatten()).chain(within.iter().flatten());
    let questions = all.map(Pairs::questions).sum::<usize>();
    let shared = Settings { chance: settings.chance / questions.max(1) as f64, ..*settings };
    let rows = RowVerdicts::of(compared);
    let mut overview = Overview::default();
    for (name, pairs) in &areas {
        let judged = pairs.judged(&shared).supported_by(&rows);
        overview.areas.push(judged.standing(name.clone(), None));
    }
    let has_any = |standing: &Standing| {
        standing.columns.iter().any(|column| column.mean.is_some() || column.left_out > 0)
    };
    for (((family, between), within), pooled) in
        designs.iter().zip(&between).zip(&within).zip(&pooled)
    {
        let application = family.application.name;
        let of_all = pooled.judged(&shared).supported_by(&rows);
        let of_all = of_all.standing(application.to_owned(), Some(application));
        overview.applications.extend(Some(of_all).filter(has_any));
        let by_design = between.iter().map(|pairs| pairs.judged(&shared).supported_by(&rows));
        let by_design: Vec<Judged> = by_design.collect();
        for (design, judged) in family.application.designs.iter().zip(&by_design) {
            let standing = judged.standing(design.name.to_owned(), Some(application));
            overview.designs.extend(Some(standing).filter(has_any));
        }
        let judged: Vec<Judged> = within.iter().map(|pairs| pairs.judged(&shared)).collect();
        // The mean of the factors between the best and the worst side; all of their intervals hold together.
        let mean_spread = |judged: &[Judged]| {
            Ratio::mean(&judged.iter().filter_map(Judged::spread).collect::<Vec<_>>())
        };
        overview.spreads.extend(mean_spread(&judged).zip(mean_spread(&by_design)).map(
            |(of_designs, of_columns)| Spread {
                application,
                metric: family.metric.name,
                of_designs,
                of_columns,
            },
        ));
        overview.orders.extend(family.orders(&judged, &table.columns));
        overview.reversals.extend(family.reversals(&judged, &table.columns));
    }
    overview
}

/// An area, the run if the columns are within runs, and a metric.
type AreaKey<'a> = (&'a str, Option<usize>, &'a str);

/// Data from which all samples are computed.
struct Measuring<'t, 'a> {
    table: &'t Table<'a>,
    facts: Facts<'a>,
}

impl<'a> Measuring<'_, 'a> {
    fn add(&self, sample: &mut Sample, base: Found<'a>, new: Found<'a>) {
        if !(base.result.has_interval() && new.result.has_interval()) {
            return sample.leave_out(TOO_FEW_ROUNDS.to_owned());
        }
        let Some(change) = self.facts.change(base, new) else { return };
        // All points of a run share the state of the machine, so that a mean over them has the full variance between visits.
        let floor = floor(&change).max(2.0 * change.between);
        sample.add(&change, floor, self.facts.held_back(base, new));
    }

    /// The rows of each area, with each pair of columns compared.
    fn areas(&self) -> Vec<(String, Pairs<'a>)> {
        let columns = self.table.columns.len();
        let mut areas: Vec<(AreaKey, Pairs<'a>)> = Vec::new();
        let name = |column: usize| self.table.columns[column].clone();
        for row in &self.table.rows {
            let key = (row.area(), row.run, row.metric.as_str());
            let at = areas.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                areas.push((key, Pairs::new(columns, &row.metric, row.better)));
                areas.len() - 1
            });
            let pairs = &mut areas[at].1;
            let found = row.cells.iter().map(Cell::measured).collect();
            pairs.take_in(row.point(self.table).to_string(), found);
            for (column, cell) in row.cells.iter().enumerate() {
                pairs.missing.extend(cell.reason().map(|reason| (column, reason)));
            }
        }
        areas.iter_mut().for_each(|(_, pairs)| pairs.compare(self, name));
        areas.retain(|(_, pairs)| !pairs.samples.is_empty() || self.table.by.is_of_runs());
        let has_times: Vec<(&str, Option<usize>)> = areas
            .iter()
            .filter(|((_, _, metric), _)| *metric == TIME.name)
            .map(|((area, run, _), _)| (*area, *run))
            .collect();
        areas.retain(|((area, run, metric), _)| {
            *metric == TIME.name || !has_times.contains(&(*area, *run))
        });
        let name = |area: &str, run: Option<usize>| match run {
            Some(run) if self.table.runs.len() > 1 => {
                format!("{area} ({})", self.table.name_of_run(run).1)
            }
            _ => area.to_owned(),
        };
        areas.into_iter().map(|((area, run, _), pairs)| (name(area, run), pairs)).collect()
    }

    /// The points of the designs of all applications, one family for each metric.
    fn designs(&self, at: &Selection) -> Vec<Family<'a>> {
        let applications = areas().iter().flat_map(|area| area.applications);
        let families = applications.flat_map(|application| {
            application.metrics.iter().map(|metric| self.family(application, metric, at))
        });
        families.filter(|family| family.points.iter().flatten().any(|p| !p.is_empty())).collect()
    }

    fn family(
        &self,
        application: &'static Application,
        metric: &'static Metric,
        at: &Selection,
    ) -> Family<'a> {
        let by = &self.table.by;
        let of_column = |column: &String| {
            let has_value =
                |run: usize| by.value_of_run(&self.table.runs[run]).as_ref() == Some(column);
            let run = (0..self.table.runs.len()).find(|run| has_value(*run));
            let points = |design: &Design| match run {
                Some(run) => self.points(design, metric, run, at),
                None => Points::new(),
            };
            application.designs.iter().map(points).collect()
        };
        Family { application, metric, points: self.table.columns.iter().map(of_column).collect() }
    }

    /// The measured points of a design in a run.
    fn points(&self, design: &Design, metric: &Metric, run: usize, at: &Selection) -> Points<'a> {
        let document = &self.table.runs[run];
        let measured = document.results.iter().filter(|result| {
            result.metric == metric.name
                && result.outcome == Outcome::Measured
                && at.includes(document, result)
        });
        let measured: Vec<_> = measured.collect();
        let selected = |select: &Select| -> Points<'a> {
            let matches = measured.iter().filter(|r| select.matches(&r.case, &r.params));
            let rest = |params: &Params| -> Params {
                let named = |key: &str| select.params.iter().any(|(name, _)| *name == key);
                let rest = params.iter().filter(|(key, _)| !named(key));
                rest.map(|(key, value)| (key.clone(), value.clone())).collect()
            };
            matches.map(|r| (rest(&r.params), Found { run, result: r })).collect()
        };
        let first = design.points.iter().map(selected).find(|found| !found.is_empty());
        first.unwrap_or_default()
    }
}

/// Measured points of a design, by the parameters that the selection does not name, which must be equal in other designs and columns.
type Points<'a> = BTreeMap<Params, Found<'a>>;

/// Designs of an application by one metric.
struct Family<'a> {
    application: &'static Application,
    metric: &'static Metric,
    /// Points by column and design.
    points: Vec<Vec<Points<'a>>>,
}

impl<'a> Family<'a> {
    /// For each design, each pair of columns compared.
    fn between_columns(&self, measuring: &Measuring<'_, 'a>) -> Vec<Pairs<'a>> {
        let designs = 0..self.application.designs.len();
        let of_design = |design: usize| {
            let columns: Vec<&Points> = self.points.iter().map(|column| &column[design]).collect();
            self.pairs(&columns, measuring, |column| measuring.table.columns[column].clone())
        };
        designs.map(of_design).collect()
    }

    /// For each column, each pair of designs compared.
    fn between_designs(&self, measuring: &Measuring<'_, 'a>) -> Vec<Pairs<'a>> {
        let of_column = |column: &Vec<Points<'a>>| {
            let designs: Vec<&Points> = column.iter().collect();
            self.pairs(&designs, measuring, |design| {
                self.application.designs[design].name.to_owned()
            })
        };
        self.points.iter().map(of_column).collect()
    }

    /// The points of all designs, each pair of columns compared.
    fn of_all_designs(&self, measuring: &Measuring<'_, 'a>) -> Pairs<'a> {
        let columns = self.points.len();
        let mut pairs = Pairs::new(columns, self.metric.name, self.metric.better);
        for design in 0..self.application.designs.len() {
            let sides: Vec<&Points> = self.points.iter().map(|column| &column[design]).collect();
            Self::take_in(&mut pairs, &sides);
        }
        pairs.compare(measuring, |column| measuring.table.columns[column].clone());
        pairs
    }

    fn pairs(
        &self,
        sides: &[&Points<'a>],
        measuring: &Measuring<'_, 'a>,
        name: impl Fn(usize) -> String,
    ) -> Pairs<'a> {
        let mut pairs = Pairs::new(sides.len(), self.metric.name, self.metric.better);
        Self::take_in(&mut pairs, sides);
        pairs.compare(measuring, name);
        pairs
    }

    fn take_in(pairs: &mut Pairs<'a>, sides: &[&Points<'a>]) {
        let mut keys: Vec<&Params> = sides.iter().flat_map(|side| side.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let found: Vec<Option<Found>> =
                sides.iter().map(|side| side.get(key).copied()).collect();
            let any = found.iter().flatten().next().map(|found| found.result.label());
            pairs.take_in(any.unwrap_or_default(), found);
        }
    }

    fn orders(&self, judged: &[Judged], columns: &[String]) -> Vec<DesignOrder> {
        let order = |(judged, column): (&Judged, &String)| {
            let sorted = judged.sorted();
            let pairs = sorted.windows(2).map(|pair| judged.is_better(pair[0], pair[1]));
            let certain: Vec<bool> = pairs.collect();
            (sorted.len() > 1 && !judged.is_not_judged()).then(|| DesignOrder {
                application: self.application.name,
                metric: self.metric.name,
                column: column.clone(),
                designs: sorted.iter().map(|at| self.application.designs[*at].name).collect(),
                certain,
            })
        };
        judged.iter().zip(columns).filter_map(order).collect()
    }

    fn reversals(&self, judged: &[Judged], columns: &[String]) -> Vec<Reversal> {
        let mut reversals = Vec::new();
        let designs = self.application.designs;
        let pairs = (0..designs.len()).flat_map(|a| (0..designs.len()).map(move |b| (a, b)));
        for (a, b) in pairs.filter(|(a, b)| a != b) {
            let here = judged.iter().position(|judged| judged.is_better(a, b));
            let there = judged.iter().position(|judged| judged.is_better(b, a));
            let (Some(here), Some(there)) = (here, there) else { continue };
            // Each pair is reported once, from the first column that is certain.
            if here > there {
                continue;
            }
            let ratio = |at: usize| judged[at].mean(a, b).map(|mean| mean.ratio);
            let (Some(ratio_here), Some(ratio_there)) = (ratio(here), ratio(there)) else {
                continue;
            };
            reversals.push(Reversal {
                application: self.application.name,
                metric: self.metric.name,
                better: designs[a].name,
                worse: designs[b].name,
                here: columns[here].clone(),
                ratio_here,
                there: columns[there].clone(),
                ratio_there,
            });
        }
        reversals
    }
}

/// Several sides, each pair of which is compared.
struct Pairs<'a> {
    sides: usize,
    /// Name of each point, with its result on each side.
    points: Vec<(String, Vec<Option<Found<'a>>>)>,
    metric: String,
    better: Direction,
    /// Samples by the numbers of two sides, the lesser first; only pairs with a common point.
    samples: BTreeMap<(usize, usize), Sample>,
    /// Numbers of sides that have no figure at a point, with the reason.
    missing: Vec<(usize, String)>,
}

impl<'a> Pairs<'a> {
    fn new(sides: usize, metric: &str, better: Direction) -> Self {
        Self {
            sides,
            points: Vec::new(),
            metric: metric.to_owned(),
            better,
            samples: BTreeMap::new(),
            missing: Vec::new(),
        }
    }

    /// Adds a point, with its result on each side.
    fn take_in(&mut self, name: String, found: Vec<Option<Found<'a>>>) {
        self.points.push((name, found));
    }

    /// The sides to compare: those with a point. If no point is common to all of them, the sides with the fewest points are left out
    /// until one is.
    fn sides(&self) -> Vec<usize> {
        let count = |side: &usize| self.points.iter().filter(|(_, of)| of[*side].is_some()).count();
        let mut sides: Vec<usize> = (0..self.sides).filter(|side| count(side) > 0).collect();
        sides.sort_by_key(|side| Reverse(count(side)));
        let have = |sides: &[usize], of: &[Option<Found>]| sides.iter().all(|s| of[*s].is_some());
        while sides.len() > 2 && !self.points.iter().any(|(_, of)| have(&sides, of)) {
            sides.pop();
        }
        sides.sort_unstable();
        sides
    }

    /// Compares the sides by the points that all of [`Self::sides`] have, so that all means are over the same points.
    fn compare(&mut self, measuring: &Measuring<'_, 'a>, name_of: impl Fn(usize) -> String) {
        let sides = self.sides();
        let others = |at: usize| sides[at + 1..].iter().map(move |new| (at, *new));
        for (name, found) in &self.points {
            let lacking = sides.iter().find(|side| found[**side].is_none());
            for (at, new) in (0..sides.len()).flat_map(others) {
                let base = sides[at];
                let (Some(of_base), Some(of_new)) = (found[base], found[new]) else { continue };
                let sample = self.samples.entry((base, new)).or_default();
                match lacking {
                    None => measuring.add(sample, of_base, of_new),
                    Some(side) => sample.leave_out(format!("{} lacks {name}", name_of(*side))),
                }
            }
        }
    }

    /// The most frequent reason why a side has no figure.
    fn why_missing(&self, side: usize) -> Option<&str> {
        let of_side = || self.missing.iter().filter(move |(of, _)| *of == side);
        let count = |reason: &str| of_side().filter(|(_, other)| other == reason).count();
        of_side().map(|(_, reason)| reason.as_str()).max_by_key(|reason| count(reason))
    }

    /// Number of means to be judged.
    fn questions(&self) -> usize {
        self.samples.values().filter(|sample| !sample.is_empty()).count()
    }

    /// Means of the pairs, each of which may be wrong with the chance of `settings`.
    fn judged(&self, settings: &Settings) -> Judged<'_> {
        let mean = |sample: &Sample| {
            sample.mean(&self.metric, self.better, settings.chance, settings.margin)
        };
        let means = self.samples.iter().filter_map(|(pair, sample)| Some((*pair, mean(sample)?)));
        Judged { pairs: self, means: means.collect() }
    }
}

/// The means of pairs of sides.
struct Judged<'p> {
    pairs: &'p Pairs<'p>,
    means: BTreeMap<(usize, usize), Mean>,
}

impl Judged<'_> {
    /// The means with those of other columns and the first one demoted to `cannot tell` that no row has the verdict of. A mean over
    /// many rows can be certain where none of them is; next to rows without a verdict it would be taken for an error.
    fn supported_by(mut self, rows: &RowVerdicts) -> Self {
        for ((base, new), mean) in &mut self.means {
            let has_verdict = |found: &[Option<Found>]| {
                let (Some(of_base), Some(of_new)) = (found[*base], found[*new]) else {
                    return false;
                };
                rows.of_pair(of_base, of_new) == Some(mean.verdict)
            };
            let is_supported = || self.pairs.points.iter().any(|(_, found)| has_verdict(found));
            if *base == 0 && mean.verdict.is_difference() && !is_supported() {
                mean.verdict = Verdict::CannotTell;
            }
        }
        self
    }

    /// The figure of `new` divided by that of `base`.
    fn mean(&self, base: usize, new: usize) -> Option<Mean> {
        if base < new {
            return self.means.get(&(base, new)).copied();
        }
        let mean = self.means.get(&(new, base))?;
        let ratio = mean.ratio.inverse();
        let (least, greatest) = (1.0 / mean.greatest, 1.0 / mean.least);
        let verdict = match mean.verdict {
            verdict if verdict.is_difference() => {
                Verdict::of_change(&self.pairs.metric, self.pairs.better, ratio.low > 1.0)
            }
            verdict => verdict,
        };
        Some(Mean { ratio, least, greatest, verdict, ..*mean })
    }

    /// Whether side `a` is certainly better than `b`.
    fn is_better(&self, a: usize, b: usize) -> bool {
        self.mean(a, b).is_some_and(|mean| mean.verdict.is_loss())
    }

    /// The factor between the best and the worst side; `None` for fewer than two sides, and for emulated ones.
    fn spread(&self) -> Option<Ratio> {
        if self.is_not_judged() {
            return None;
        }
        let sorted = self.sorted();
        let [best, .., worst] = sorted[..] else { return None };
        let ratio = self.mean(best, worst)?.ratio;
        Some(if ratio.mid < 1.0 { ratio.inverse() } else { ratio })
    }

    /// Whether the means are of emulated systems or of different machines, so that no side is better.
    fn is_not_judged(&self) -> bool {
        self.means.values().any(|mean| !mean.verdict.is_judged())
    }

    fn has_figures(&self, side: usize) -> bool {
        self.means.keys().any(|(a, b)| [*a, *b].contains(&side))
    }

    /// The sides with figures, the best first: in the order of their means compared with all others.
    fn sorted(&self) -> Vec<usize> {
        let cost = |side: usize| {
            let others = (0..self.pairs.sides).filter(|other| *other != side);
            let logs: Vec<f64> =
                others.filter_map(|other| Some(self.mean(other, side)?.ratio.mid.ln())).collect();
            let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
            if self.pairs.better == Direction::Higher { -mean } else { mean }
        };
        let mut sides: Vec<usize> =
            (0..self.pairs.sides).filter(|side| self.has_figures(*side)).collect();
        sides.sort_by(|a, b| cost(*a).total_cmp(&cost(*b)));
        sides
    }

    fn standing(&self, name: String, application: Option<&'static str>) -> Standing {
        let sides = self.pairs.sides;
        let column = |new: usize| {
            let sample = self.pairs.samples.get(&(0, new));
            let why = sample.and_then(Sample::why_left_out).map(str::to_owned);
            let mean = self.mean(0, new);
            let none = || {
                let missing = self.pairs.why_missing(new).or(self.pairs.why_missing(0));
                let why = missing.unwrap_or("no point has figures in both");
                mean.is_none().then(|| why.to_owned())
            };
            ColumnStanding {
                mean,
                left_out: sample.map_or(0, Sample::left_out),
                why: why.or_else(none),
            }
        };
        let with_figures = (0..sides).filter(|side| self.has_figures(*side)).count();
        let rank = |side: usize| {
            let others = || (0..sides).filter(move |other| *other != side);
            let better = others().filter(|other| self.is_better(*other, side)).count();
            let worse = others().filter(|other| self.is_better(side, *other)).count();
            let is_ranked = self.has_figures(side) && !self.is_not_judged();
            is_ranked.then(|| [1 + better, with_figures - worse])
        };
        Standing {
            name,
            application,
            metric: self.pairs.metric.clone(),
            columns: (1..sides).map(column).collect(),
            ranks: (0..sides).map(rank).collect(),
        }
    }
}

#[cfg(test)]
mod tests;

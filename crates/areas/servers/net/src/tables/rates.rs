//! The rate of each architecture, and its ratio to that of others.

use crate::metrics::{RATE, SERVER_CPU};
use analysis::{Ratio, multiple};
use results::Estimate;

use report::footnotes::Footnotes;
use report::grid::Column;
use report::interval::{Uncertain, interval_columns};
use report::swept::levels::{self, Block, Entry, three_digits};
use report::swept::rates::{LAYOUTS, Layout, rate_columns, scale, scale_words, spaced};
use report::swept::{Point, Sweep, SweptRow};

use crate::common::ANSWER;
use report::page::Page;

/// Mark of a rate that the load generator limited, so that it is a lower bound.
const AT_LEAST: &str = "*";
/// Mark of a multiple of such a rate, which may be higher or lower.
const UNSURE: &str = "?";
/// Mark of a rate with failures.
const GAVE_WAY: &str = "!";

/// Confidence level of the interval of a multiple.
const LEVEL: f64 = 0.95;

/// Seed of the bootstrap; it is constant, so that a document always gives the same tables.
const SEED: u64 = 1;

/// Heading over the columns of levels.
const IN_FLIGHT: &str = "connections in flight";

/// A table of the rates of a sweep, their means and the multiples, with explanations of the marks that occur.
pub(crate) fn table(sweep: &Sweep, notes: &Footnotes, page: &Page) -> String {
    let what = if sweep.case == ANSWER { "connections" } else { "requests" };
    let scale = scale(sweep, &RATE);
    let text = format!("{what} answered per second{}", scale_words(scale));
    let marks = levels::marks(sweep, notes);
    let mark = |point: &Point| mark(point).to_owned();
    let layout = |layout: &Layout| {
        let of_level = |at| rate_columns(sweep, &RATE, (at, scale), mark, *layout, page);
        let of_levels = (0..sweep.levels.len()).map(of_level).collect();
        let mut of_means = mean_columns(sweep, scale, *layout, page);
        of_means.last_mut().into_iter().for_each(|part| part.extend(marks.clone()));
        vec![Block::new(IN_FLIGHT, of_levels), Block::new("", of_means)]
    };
    levels::titled(sweep, &text, LAYOUTS.iter().map(layout).collect(), page) + &legend(sweep, page)
}

/// A table of replies per CPU second of the server, for architectures limited by the generator.
pub(crate) fn by_cpu_second(sweep: &Sweep, page: &Page) -> String {
    let held_back = |arch: &&SweptRow| arch.points.iter().any(Point::is_saturated);
    let archs: Vec<&SweptRow> = sweep.rows.iter().filter(held_back).collect();
    if archs.is_empty() {
        return String::new();
    }
    let scale = scale(sweep, &RATE);
    let of_level = |(at, level): (usize, &u32)| {
        let entries = archs.iter().map(|arch| match per_cpu_second(&arch.points[at]) {
            Some(estimate) => Entry::estimate(&estimate, scale, ""),
            None => Entry::without_figure(&arch.points[at]),
        });
        levels::column(&level.to_string(), entries.collect())
    };
    let columns: Vec<Column> = sweep.levels.iter().enumerate().map(of_level).collect();
    let layout = |close: bool| {
        let parts = columns.iter().map(|column| vec![spaced(column.clone(), close)]).collect();
        vec![Block::new(IN_FLIGHT, parts)]
    };
    let text = format!(
        "answered per CPU second of the server{} (rows with {AT_LEAST})",
        scale_words(scale)
    );
    let names = Column::words("arch", archs.iter().map(|arch| arch.name));
    page.heading(&sweep.title(&text))
        + &levels::laid_out(&names, vec![layout(false), layout(true)], page)
}

/// Replies per second of the server's CPU time.
pub(crate) fn per_cpu_second(point: &Point) -> Option<Estimate> {
    let cpu = point.estimate(&SERVER_CPU).filter(|cpu| cpu.low > 0.0)?;
    Some(Estimate {
        median: 1e9 / cpu.median,
        low: 1e9 / cpu.high,
        high: 1e9 / cpu.low,
        level: cpu.level,
    })
}

/// The mark of a rate; a failure takes precedence over saturation of the generator.
fn mark(point: &Point) -> &'static str {
    match (point.is_saturated(), point.gave_way().is_empty()) {
        (false, true) => "",
        (true, true) => AT_LEAST,
        (false, false) => GAVE_WAY,
        (true, false) => "*!",
    }
}

/// Columns of the mean over the levels, and of its ratios to the means of the architectures to compare with.
fn mean_columns(sweep: &Sweep, scale: f64, layout: Layout, page: &Page) -> Vec<Vec<Column>> {
    let mean = |arch: &SweptRow| {
        let measured: Vec<&Point> =
            arch.points.iter().filter(|point| point.estimate(&RATE).is_some()).collect();
        let rates: Vec<Estimate> =
            measured.iter().filter_map(|point| point.estimate(&RATE)).collect();
        let mean = mean(&rates)?;
        let saturated = measured.iter().any(|point| point.is_saturated());
        Some(Entry::estimate(&mean, scale, if saturated { AT_LEAST } else { "" }))
    };
    let entries = sweep.rows.iter().map(|arch| mean(arch).unwrap_or_else(absent)).collect();
    let mut parts = vec![vec![spaced(levels::column("mean", entries), layout.close)]];
    for base in bases(sweep) {
        let ratios: Vec<Option<Multiple>> =
            sweep.rows.iter().map(|arch| Multiple::of(arch, base)).collect();
        let entry = |ratio: &Option<Multiple>| ratio.as_ref().map_or_else(absent, Multiple::entry);
        let column =
            levels::column(&format!("x {}", base.name), ratios.iter().map(entry).collect());
        let mut part = vec![spaced(column, layout.close)];
        if layout.multiples_intervals {
            let estimate = |multiple: &Option<Multiple>| {
                let Ratio { mid, low, high } = multiple.as_ref()?.ratio;
                Some(Estimate { median: mid, low, high, level: LEVEL })
            };
            let uncertain = |ratio| {
                let is_shown = |e: &Estimate| e.has_interval() && e.low < e.high;
                let estimate = estimate(ratio).filter(is_shown)?;
                Some(Uncertain { estimate, this_run: None, rounds: 0 })
            };
            part.extend(interval_columns(ratios.iter().map(uncertain), page));
        }
        parts.push(part);
    }
    parts
}

fn absent() -> Entry {
    Entry::number("-".to_owned(), "")
}

/// The architectures with which others are compared.
fn bases<'a, 'r>(sweep: &'a Sweep<'r>) -> Vec<&'a SweptRow<'r>> {
    if sweep.rows.len() < 2 {
        return Vec::new();
    }
    ["threads", "fork"].iter().filter_map(|name| sweep.row(name)).collect()
}

/// Mean of figures with equal uncertainty; its interval is as wide as theirs on average.
fn mean(all: &[Estimate]) -> Option<Estimate> {
    let of = |end: fn(&Estimate) -> f64| all.iter().map(end).sum::<f64>() / all.len() as f64;
    let level = all.first()?.level;
    Some(Estimate { median: of(|e| e.median), low: of(|e| e.low), high: of(|e| e.high), level })
}

/// The ratio of the rates of two architectures over the levels at which both were measured.
struct Multiple {
    ratio: Ratio,
    mark: &'static str,
}

impl Multiple {
    fn of(arch: &SweptRow, base: &SweptRow) -> Option<Multiple> {
        if arch.name == base.name {
            return Some(Multiple { ratio: Ratio { mid: 1.0, low: 1.0, high: 1.0 }, mark: "" });
        }
        let both: Vec<(&Point, &Point)> = arch
            .points
            .iter()
            .zip(&base.points)
            .filter(|(a, b)| a.round_values(&RATE).is_some() && b.round_values(&RATE).is_some())
            .collect();
        let a: Vec<&[f64]> = both.iter().filter_map(|(a, _)| a.round_values(&RATE)).collect();
        let b: Vec<&[f64]> = both.iter().filter_map(|(_, b)| b.round_values(&RATE)).collect();
        let ratio = multiple(&a, &b, SEED)?;
        let mark = match (
            both.iter().any(|(a, _)| a.is_saturated()),
            both.iter().any(|(_, b)| b.is_saturated()),
        ) {
            (_, true) => UNSURE,
            (true, false) => AT_LEAST,
            (false, false) => "",
        };
        Some(Multiple { ratio, mark })
    }

    fn entry(&self) -> Entry {
        let Ratio { mid, low, high } = self.ratio;
        let number = if low == high && mid == 1.0 {
            "1".to_owned()
        } else {
            three_digits(mid, (high - mid).max(mid - low))
        };
        Entry::number(number, self.mark)
    }
}

/// Explanations of the marks that occur, and of the last columns.
fn legend(sweep: &Sweep, page: &Page) -> String {
    let points = || sweep.rows.iter().flat_map(|arch| &arch.points);
    let multiples: Vec<Multiple> = bases(sweep)
        .into_iter()
        .flat_map(|base| sweep.rows.iter().filter_map(move |arch| Multiple::of(arch, base)))
        .collect();
    let mut lines = Vec::new();
    if points().any(Point::is_saturated) {
        lines.push(
            "*: at least this much: the load generator was the bottleneck, not the server"
                .to_owned(),
        );
    }
    if multiples.iter().any(|multiple| multiple.mark == UNSURE) {
        lines.push("?: a multiple of such a lower bound, so that it may be less".to_owned());
    }
    if points().any(|point| point.estimate(&RATE).is_some() && !point.gave_way().is_empty()) {
        lines.push("!: with failures: see failures under load".to_owned());
    }
    let over = match bases(sweep).iter().map(|base| base.name).collect::<Vec<_>>().join(", ") {
        names if names.is_empty() => "mean: over the levels measured".to_owned(),
        names => {
            format!("mean: over the levels measured; x {names}: over the levels both have")
        }
    };
    lines.push(over);
    lines.iter().map(|line| page.faint(line)).collect()
}

#[cfg(test)]
mod tests {
    use measure::Doubt;
    use results::{CaseResult, Direction};

    use super::*;
    use report::swept::sweeps;

    /// Rates by architecture and level; at the levels in `held_back` the generator limited the rate.
    fn run(rates: &[(&str, u32, f64)], held_back: &[(&str, u32)]) -> Vec<CaseResult> {
        let result = |(arch, level, rate): &(&str, u32, f64)| {
            let level_text = level.to_string();
            let params =
                [("arch", *arch), ("connections", &level_text), ("network", "n"), ("place", "p")];
            let params = params.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
            let (low, high) = (rate * 0.98, rate * 1.02);
            let doubt = held_back.contains(&(*arch, *level)).then_some(Doubt::ClientSaturated);
            CaseResult {
                estimate: Some(Estimate { median: *rate, low, high, level: 0.95 }),
                round_values: vec![*rate; 6],
                doubts: doubt.into_iter().collect(),
                ..CaseResult::blank(ANSWER, params, "rate", "replies/s", Direction::Higher)
            }
        };
        rates.iter().map(result).collect()
    }

    const RATES: [(&str, u32, f64); 5] = [
        ("fork", 1, 6e3),
        ("fork", 10, 8e3),
        ("fork", 100, 1e3),
        ("epoll", 1, 20e3),
        ("epoll", 10, 50e3),
    ];

    /// Ratio of the rates of `epoll` and `fork`, with its mark.
    fn epoll_by_fork(held_back: &[(&str, u32)]) -> (f64, &'static str) {
        let run = run(&RATES, held_back);
        let results: Vec<&CaseResult> = run.iter().collect();
        let sweep = sweeps(&results, crate::tables::AXES).remove(0);
        let [epoll, fork] = ["epoll", "fork"].map(|name| sweep.row(name).unwrap());
        let multiple = Multiple::of(epoll, fork).unwrap();
        (multiple.ratio.mid, multiple.mark)
    }

    #[test]
    fn a_multiple_is_of_the_levels_both_have() {
        assert_eq!(epoll_by_fork(&[]), (5.0, ""));
        assert_eq!(epoll_by_fork(&[("epoll", 10)]), (5.0, AT_LEAST));
        assert_eq!(epoll_by_fork(&[("epoll", 10), ("fork", 1)]), (5.0, UNSURE));
        assert_eq!(epoll_by_fork(&[("fork", 100)]), (5.0, ""));
    }

    #[test]
    fn a_mean_is_over_the_levels_measured() {
        let of =
            |median: f64| Estimate { median, low: median - 1.0, high: median + 3.0, level: 0.95 };
        let mean = mean(&[of(10.0), of(20.0)]).unwrap();
        assert_eq!([mean.median, mean.low, mean.high], [15.0, 14.0, 18.0]);
        assert!(super::mean(&[]).is_none());
    }
}

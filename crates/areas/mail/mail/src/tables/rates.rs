//! The rate of each sender architecture, its ratio to that of a process per connection, and its bottleneck.

use crate::metrics::{OPEN, RATE, SENDER_BUSY, SINK_BUSY};
use analysis::{Ratio, ratio};
use measure::Metric;

use report::footnotes::Footnotes;
use report::grid::Column;
use report::page::Page;
use report::swept::levels::{self, Block, Entry, three_digits};
use report::swept::rates::{LAYOUTS, Layout, rate_columns, scale, scale_words};
use report::swept::{Point, Sweep, SweptRow};

/// Share of its CPU from which a process is saturated, as in the case.
const BUSY: f64 = 0.9;
/// Share of the permitted connections below which their limit counts as not reached.
const ALL: f64 = 0.98;

/// Name of the architecture with which the others are compared.
const BASE: &str = "processes";

/// Seed of the bootstrap; it is constant, so that a document always gives the same tables.
const SEED: u64 = 1;

/// The bottleneck of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The CPU of the sender.
    Sender,
    /// The CPU of the sink.
    Sink,
    /// Waiting for replies: more connections would increase the rate.
    RoundTrips,
    /// The allowed number of connections was never reached.
    Connections,
    /// Unknown, since other programs disturbed the machine.
    Unknown,
}

impl Limit {
    /// Bottlenecks with a mark, each with its explanation, which begins with the mark.
    const MARKED: [(Limit, &str); 4] = [
        (Limit::Sink, "*: at least this much: the sink was the bottleneck, not the sender"),
        (
            Limit::RoundTrips,
            "~: neither CPU was busy, all connections waited for replies: more would increase the rate",
        ),
        (
            Limit::Connections,
            "<: neither CPU was busy, and the allowed number of connections was never reached",
        ),
        (Limit::Unknown, "?: the machine was disturbed: the bottleneck is unknown"),
    ];

    /// The bottleneck at a point; `None` if it was not measured.
    pub(crate) fn of(point: &Point, connections: u32) -> Option<Limit> {
        let of = |metric: &Metric| point.estimate(metric).map(|estimate| estimate.median);
        let (sender, open) = (of(&SENDER_BUSY)?, of(&OPEN)?);
        Some(match () {
            () if sender >= BUSY => Limit::Sender,
            () if point.is_saturated() || of(&SINK_BUSY)? >= BUSY => Limit::Sink,
            () if point.result(&SENDER_BUSY)?.disturbed => Limit::Unknown,
            () if open < f64::from(connections) * ALL => Limit::Connections,
            () => Limit::RoundTrips,
        })
    }

    fn mark(self) -> &'static str {
        Limit::MARKED.iter().find(|(limit, _)| *limit == self).map_or("", |(_, text)| &text[..1])
    }
}

/// A table of the rates of a sweep and the multiples, with explanations of the marks.
pub(crate) fn table(sweep: &Sweep, notes: &Footnotes, page: &Page) -> String {
    let scale = scale(sweep, &RATE);
    let text = format!("recipients accepted per second{}", scale_words(scale));
    let marks = levels::marks(sweep, notes);
    let layout = |layout: &Layout| {
        let of_level = |at: usize| level_columns(sweep, at, scale, *layout, page);
        let mut parts: Vec<Vec<Column>> = (0..sweep.levels.len()).map(of_level).collect();
        parts.last_mut().into_iter().for_each(|part| part.extend(marks.clone()));
        vec![Block::new("maximum number of connections", parts)]
    };
    levels::titled(sweep, &text, LAYOUTS.iter().map(layout).collect(), page) + &legend(sweep, page)
}

/// Columns of the rates at a level, and of the multiples.
fn level_columns(sweep: &Sweep, at: usize, scale: f64, layout: Layout, page: &Page) -> Vec<Column> {
    let mark = |point: &Point| mark(point, sweep.levels[at]);
    let mut columns = rate_columns(sweep, &RATE, (at, scale), mark, layout, page);
    if let Some(base) = base(sweep) {
        let entry = |arch: &SweptRow| times(arch, base, at).unwrap_or_default();
        let multiples = levels::column("x", sweep.rows.iter().map(entry).collect());
        columns.extend(multiples.close().unless_blank());
    }
    columns
}

/// The mark of a rate.
fn mark(point: &Point, connections: u32) -> String {
    let limit = Limit::of(point, connections).map_or("", Limit::mark);
    let gave_way = if point.gave_way().is_empty() { "" } else { "!" };
    format!("{limit}{gave_way}")
}

fn base<'a, 'r>(sweep: &'a Sweep<'r>) -> Option<&'a SweptRow<'r>> {
    sweep.row(BASE).filter(|_| sweep.rows.len() > 1)
}

/// The rate as a multiple of that of `base` at a level.
fn times(arch: &SweptRow, base: &SweptRow, at: usize) -> Option<Entry> {
    let (a, b) = (arch.points[at].measured(&RATE)?, base.points[at].measured(&RATE)?);
    if arch.name == base.name {
        return Some(Entry::number("1".to_owned(), ""));
    }
    let Ratio { mid, low, high } = ratio(a, b, SEED)?;
    Some(Entry::number(three_digits(mid, (high - mid).max(mid - low)), ""))
}

/// Explanations of the marks that occur, and of the multiples.
fn legend(sweep: &Sweep, page: &Page) -> String {
    let points = || {
        let of = |arch: &'_ SweptRow<'_>| -> Vec<Option<Limit>> {
            let levels = arch.points.iter().zip(&sweep.levels);
            levels.map(|(point, level)| Limit::of(point, *level)).collect()
        };
        sweep.rows.iter().flat_map(of).flatten()
    };
    let mut lines = Vec::new();
    if points().any(|limit| limit == Limit::Sender) {
        lines.push("without a mark: the sender's CPU was the bottleneck");
    }
    let occurs = |limit: Limit| points().any(|other| other == limit);
    lines.extend(Limit::MARKED.iter().filter(|(limit, _)| occurs(*limit)).map(|(_, text)| *text));
    let all = || sweep.rows.iter().flat_map(|arch| &arch.points);
    if all().any(|point| point.estimate(&RATE).is_some() && !point.gave_way().is_empty()) {
        lines.push("!: with failures: see failures under load");
    }
    if base(sweep).is_some() {
        lines.push("x: relative to a process per connection");
    }
    lines.iter().map(|line| page.faint(line)).collect()
}

#[cfg(test)]
mod tests {
    use results::{CaseResult, Direction};

    use super::*;

    fn point(shares: [f64; 2], open: f64) -> Vec<CaseResult> {
        let metrics = [("sender-busy", shares[0]), ("sink-busy", shares[1]), ("open", open)];
        let result = |(metric, value): (&str, f64)| {
            let point = ("mail/send", [("arch", "loop"), ("connections", "100")]);
            simulated::figure_of(point, (metric, "x", Direction::Neither), vec![value])
        };
        metrics.map(result).to_vec()
    }

    #[test]
    fn the_bottleneck_follows_from_cpu_use() {
        for (shares, open, limit) in [
            ([0.97, 0.4], 100.0, Limit::Sender),
            ([0.95, 0.95], 100.0, Limit::Sender),
            ([0.6, 0.96], 100.0, Limit::Sink),
            ([0.3, 0.2], 100.0, Limit::RoundTrips),
            ([0.3, 0.2], 60.0, Limit::Connections),
        ] {
            let results = point(shares, open);
            let results: Vec<&CaseResult> = results.iter().collect();
            let sweep = Sweep::of("mail/send", crate::tables::AXES, Vec::new(), &results);
            assert_eq!(Limit::of(&sweep.rows[0].points[0], 100), Some(limit), "{shares:?} {open}");
        }
    }
}

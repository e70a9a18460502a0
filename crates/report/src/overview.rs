//! The verdict on systems, or on the columns of another table, as a whole: sentences, a table of areas, and a table for each
//! application with the order of its designs.

use analysis::{
    ColumnStanding, DesignOrder, Dimension, Mean, Overview, Ratio, Reversal, Standing, Verdict,
};
use results::Document;

use crate::compare_table::{ratio_cell, verdict_cell};
use crate::first_seen::grouped;
use crate::grid::{self, Cell, Column};
use crate::page::{Ink, Page};
use crate::quantity::{FEW_PERCENT, factor};
use crate::rows::COST;
use crate::text;

/// Maximum number of areas that a sentence names with their ratios; further ones are counted.
const AREAS_AT_MOST: usize = 12;

/// Minimum width of areas or designs, and of the names of columns, in a table.
const LEAST_NAMES: usize = 12;

/// Width of the gap between two columns of words.
const GAP: usize = 2;

/// Maximum number of undecided columns that a sentence names; further ones are counted.
const UNDECIDED_AT_MOST: usize = 4;

/// Maximum number of columns that a sentence names in the order of the table; more are sorted by their ratio.
const DECIDED_IN_ORDER: usize = 4;

/// Maximum number of columns with a sentence each.
const SENTENCES_AT_MOST: usize = 8;

/// The names of columns for sentences: systems with the place of their helpers, such as `gvisor (helpers free)`.
pub(crate) fn with_placements(
    columns: &[String],
    runs: &[Document],
    by: &Dimension,
) -> Vec<String> {
    let named = |column: &String| {
        let is_of = |run: &&Document| by.value_of_run(run).as_ref() == Some(column);
        let placement = runs.iter().find(is_of).and_then(|run| run.placement());
        match placement.filter(|_| *by == Dimension::System) {
            Some(placement) => format!("{column} ({placement})"),
            None => column.clone(),
        }
    };
    columns.iter().map(named).collect()
}

/// Sentences that say in which areas each column is better and worse, one for each column.
pub(crate) fn sentences(overview: &Overview, columns: &[String]) -> Vec<(String, String)> {
    let Some((base, others)) = columns.split_first() else { return Vec::new() };
    if let ([area], true) = (&overview.areas[..], others.len() > 1) {
        return vec![(area.name.clone(), sentence_of_area(area, base, others))];
    }
    let of_column = |(at, name): (usize, &String)| {
        let of_column: Vec<(&Standing, &ColumnStanding)> =
            overview.areas.iter().map(|area| (area, &area.columns[at])).collect();
        (text::clean(name), sentence(&of_column, base))
    };
    others.iter().enumerate().take(SENTENCES_AT_MOST).map(of_column).collect()
}

/// All columns compared with `base` in the only area: `against fork, epoll is 7.8 times faster (5.7 to 10), ...`.
fn sentence_of_area(area: &Standing, base: &str, others: &[String]) -> String {
    let mut decided: Vec<(f64, String)> = Vec::new();
    let (mut undecided, mut without) = (Vec::new(), Vec::new());
    for (name, column) in others.iter().zip(&area.columns) {
        let name = text::clean(name);
        match column.mean {
            Some(mean) if mean.verdict.is_difference() => {
                let ratio = mean.ratio;
                let factor_of = if ratio.mid < 1.0 { ratio.inverse() } else { ratio };
                let words =
                    format!("{name} is {} {}", factor(factor_of, false), mean.verdict.word());
                decided.push((ratio.mid, words));
            }
            Some(mean) if mean.verdict == Verdict::Same => {
                decided.push((mean.ratio.mid, format!("{name} is the same")));
            }
            Some(_) => undecided.push(name),
            None => without.push((column.why.clone().unwrap_or_default(), name)),
        }
    }
    if others.len() > DECIDED_IN_ORDER {
        decided.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    }
    let mut against: Vec<String> = decided.into_iter().map(|(_, words)| words).collect();
    if !undecided.is_empty() {
        against.push(format!("cannot tell for {}", text::listed(undecided, UNDECIDED_AT_MOST)));
    }
    for (why, names) in grouped(without) {
        let why = if why.is_empty() { "no point in common".to_owned() } else { why };
        against.push(format!("no mean for {} ({why})", text::listed(names, UNDECIDED_AT_MOST)));
    }
    let names = std::iter::once(base).chain(others.iter().map(String::as_str));
    // A column without a mean may be better than all others.
    let all_have_ranks = area.ranks.iter().all(Option::is_some);
    let best =
        names.filter(|_| all_have_ranks).zip(&area.ranks).find(|(_, rank)| **rank == Some([1, 1]));
    let best =
        best.map_or_else(String::new, |(name, _)| format!("; the best is {}", text::clean(name)));
    format!("against {base}, {}{best}", against.join(", "))
}

pub(crate) fn sentence(areas: &[(&Standing, &ColumnStanding)], base: &str) -> String {
    let with = |verdict: &dyn Fn(Verdict) -> bool| -> Vec<(&Standing, Mean)> {
        let judged = areas.iter().filter_map(|(area, column)| Some((*area, column.mean?)));
        judged.filter(|(_, mean)| verdict(mean.verdict)).collect()
    };
    let distance = |mean: &Mean| mean.ratio.mid.ln().abs();
    let mut losses = with(&|verdict| verdict.is_loss());
    let mut gains = with(&|verdict| verdict.is_difference() && !verdict.is_loss());
    for side in [&mut losses, &mut gains] {
        side.sort_by(|(_, a), (_, b)| distance(b).total_cmp(&distance(a)));
    }
    let same = with(&|verdict| verdict == Verdict::Same);
    let unknown = with(&|verdict| verdict == Verdict::CannotTell);
    let words = |side: &[(&Standing, Mean)]| {
        let all_times = side.iter().all(|(area, _)| area.metric == COST);
        if all_times { ("slower", "faster") } else { ("worse", "better") }
    };
    let mut parts = Vec::new();
    if !losses.is_empty() {
        parts.push(format!("{} than {base} in {}", words(&losses).0, listed(&losses, true)));
    }
    if !gains.is_empty() {
        parts.push(format!("{} than {base} in {}", words(&gains).1, listed(&gains, true)));
    }
    if !same.is_empty() {
        let is_mean = same.iter().any(|(_, mean)| mean.points > 1);
        let on_average = if is_mean { "on average " } else { "" };
        parts.push(format!("{on_average}the same as {base} in {}", listed(&same, false)));
    }
    if !unknown.is_empty() {
        let names = unknown.iter().map(|(area, _)| named(area)).collect();
        parts.push(format!("cannot tell for {}", text::listed(names, AREAS_AT_MOST)));
    }
    let apart = with(&|verdict| !verdict.is_judged());
    if let [(_, first), ..] = &apart[..] {
        let word = first.verdict.word();
        let ratio =
            |(area, mean): &(&Standing, Mean)| format!("{} x{:.2}", named(area), mean.ratio.mid);
        let ratios = text::listed(apart.iter().map(ratio).collect(), AREAS_AT_MOST);
        parts.push(format!("{word}, not judged against {base}: {ratios}"));
    }
    if !parts.is_empty() {
        return parts.join("; ");
    }
    let why = areas.iter().find_map(|(_, column)| column.why.clone());
    why.map_or_else(
        || format!("no point in common with {base}"),
        |why| format!("no verdict: {why}"),
    )
}

/// Areas with their ratios, such as `clock (31 times), syscall (12 times) and lock (3.1 %)`.
fn listed(areas: &[(&Standing, Mean)], with_ratios: bool) -> String {
    let name = |(area, mean): &(&Standing, Mean)| {
        let name = named(area);
        let agree = match mean.agree < mean.points {
            true => format!(", {} of {} points", mean.agree, mean.points),
            false => String::new(),
        };
        match with_ratios {
            true => format!("{name} ({}{agree})", times(mean.ratio.mid)),
            false if mean.points == 1 => name,
            false => format!("{name} ({} points)", mean.points),
        }
    };
    text::listed(areas.iter().map(name).collect(), AREAS_AT_MOST)
}

/// Name of an area in a sentence, with its metric unless that is the time.
fn named(area: &Standing) -> String {
    match area.metric == COST {
        true => area.name.clone(),
        false => format!("{} {}", area.name, area.metric),
    }
}

/// Factor between two figures, at least 1: `2.3 times`, or `3.1 %` for small differences.
fn times(ratio: f64) -> String {
    match ratio.max(1.0 / ratio) {
        factor if factor < FEW_PERCENT => format!("{:.1} %", (factor - 1.0) * 100.0),
        factor if factor < 9.95 => format!("{factor:.1} times"),
        factor => format!("{factor:.0} times"),
    }
}

/// Standings by application and metric, each with its title.
pub(crate) fn by_application(designs: &[Standing]) -> Vec<(String, Vec<&Standing>)> {
    grouped(designs.iter().map(|standing| {
        (title(standing.application.unwrap_or_default(), &standing.metric), standing)
    }))
}

fn title(application: &str, metric: &str) -> String {
    if metric == COST { application.to_owned() } else { format!("{application}: {metric}") }
}

fn title_of_order(order: &DesignOrder) -> String {
    title(order.application, order.metric)
}

/// A line for each standing with the columns side by side if that fits the page; otherwise a line for each column of each
/// standing. Those that cannot be compared are named in one line.
pub(crate) fn standings(
    title: &str,
    standings: &[&Standing],
    columns: &[String],
    by: &str,
    page: &Page,
) -> String {
    let is_compared = |standing: &&&Standing| {
        standing.columns.iter().any(|column| column.mean.is_some() || column.left_out > 0)
    };
    let (compared, apart): (Vec<&Standing>, Vec<&Standing>) =
        standings.iter().partition(is_compared);
    let names: Vec<String> = apart.iter().map(|standing| name_of(standing)).collect();
    let apart = match names.is_empty() {
        true => String::new(),
        false => page.hanging("", &format!("no pair of figures in: {}", names.join(", "))),
    };
    compared_standings(title, &compared, columns, by, page) + &page.paint_lines(Ink::Faint, &apart)
}

/// The lines of standings of which a column could be compared.
fn compared_standings(
    title: &str,
    standings: &[&Standing],
    columns: &[String],
    by: &str,
    page: &Page,
) -> String {
    if standings.is_empty() {
        return String::new();
    }
    let others = &columns[1..];
    let names = || Column::names(title, standings.iter().map(|standing| name_of(standing)));
    let all: Vec<Option<&ColumnStanding>> =
        standings.iter().flat_map(|standing| standing.columns.iter().map(Some)).collect();
    let of_column = |at: usize| -> Vec<Option<&ColumnStanding>> {
        standings.iter().map(|standing| standing.columns.get(at)).collect()
    };
    if let [_] = others {
        let columns = verdict_columns("ratio", &all).into_iter().chain(points_columns(&all));
        let side = std::iter::once(names()).chain(columns).collect();
        return grid::table(side, page) + &left_out_text(&all, page);
    }
    let notes = left_out_text(&all, page);
    for with_points in [true, false] {
        let mut side_by_side = vec![names()];
        for (at, name) in others.iter().enumerate() {
            side_by_side.extend(verdict_columns(&text::clean(name), &of_column(at)));
            if with_points {
                side_by_side.extend(points_columns(&of_column(at)));
            }
        }
        if grid::total_width(&side_by_side) <= page.table_width() {
            return grid::table(side_by_side, page) + &notes;
        }
    }
    let has_mean = |(_, _, column): &(usize, usize, &ColumnStanding)| column.mean.is_some();
    let lines = standings.iter().enumerate().flat_map(|(at, standing)| {
        standing.columns.iter().enumerate().map(move |(other, column)| (at, other, column))
    });
    let (lines, without): (Vec<_>, Vec<_>) = lines.partition(has_mean);
    if lines.is_empty() {
        return without_mean(&without, standings, others, page) + &notes;
    }
    let all: Vec<Option<&ColumnStanding>> =
        lines.iter().map(|(_, _, column)| Some(*column)).collect();
    let is_first = |line: usize| line == 0 || lines[line - 1].0 != lines[line].0;
    let of_line = |line: usize| match is_first(line) {
        true => name_of(standings[lines[line].0]),
        false => String::new(),
    };
    let mut below = vec![Column::names(title, (0..lines.len()).map(of_line))];
    let values = lines.iter().map(|(_, other, _)| others[*other].as_str());
    below.push(Column::words(by, values).wrapping());
    below.extend(verdict_columns("ratio", &all));
    let ranks = lines.iter().map(|(at, other, _)| standings[*at].ranks.get(other + 1));
    let ranks = ranks.map(|rank| rank_words(rank.copied().flatten(), "-"));
    let ranks = Column::words(&format!("rank\nof {}", columns.len()), ranks);
    let others_width = grid::total_width(&below[2..]) + ranks.width();
    let fits = others_width + LEAST_NAMES + GAP + LEAST_NAMES <= page.table_width();
    below.extend(ranks.unless_blank().filter(|_| fits));
    if grid::total_width(&below) + grid::total_width(&points_columns(&all)) <= page.table_width() {
        below.extend(points_columns(&all));
    }
    grid::table(below, page) + &without_mean(&without, standings, others, page) + &notes
}

/// The columns that could not be compared, in a line for each standing.
fn without_mean(
    lines: &[(usize, usize, &ColumnStanding)],
    standings: &[&Standing],
    others: &[String],
    page: &Page,
) -> String {
    let of_standings = grouped(lines.iter().map(|(at, other, _)| (*at, others[*other].clone())));
    let of_standing = |(at, names): (usize, Vec<String>)| {
        let line = format!("{}: no mean for {}", name_of(standings[at]), names.join(", "));
        page.hanging("  ", &line)
    };
    page.paint_lines(Ink::Faint, &of_standings.into_iter().map(of_standing).collect::<String>())
}

/// Name of an area or a design, with its metric unless that is the time.
pub(crate) fn name_of(standing: &Standing) -> String {
    match standing.metric == COST || standing.application.is_some() {
        true => standing.name.clone(),
        false => format!("{}: {}", standing.name, standing.metric),
    }
}

/// Rank in words: `2`, or `1-2` if it is not certain, with `to` between both.
pub(crate) fn rank_words(rank: Option<[usize; 2]>, to: &str) -> String {
    match rank {
        Some([best, worst]) if best == worst => best.to_string(),
        Some([best, worst]) => format!("{best}{to}{worst}"),
        None => String::new(),
    }
}

/// Number of points: `12`, or `12 of 14` if some are left out; and the number on the same side as the mean, unless all are.
pub(crate) fn points_words(column: &ColumnStanding) -> String {
    let points = column.mean.map_or(0, |mean| mean.points);
    let of_all = match column.left_out {
        0 => points.to_string(),
        left_out => format!("{points} of {}", points + left_out),
    };
    let differs = |mean: &Mean| mean.verdict.is_difference() && mean.agree < mean.points;
    match column.mean.filter(differs) {
        Some(mean) => format!("{of_all}, {} agree", mean.agree),
        None => of_all,
    }
}

/// Reasons why points are left out: the most frequent ones of the cells.
pub(crate) fn left_out_text(cells: &[Option<&ColumnStanding>], page: &Page) -> String {
    /// Maximum number of reasons.
    const MOST_REASONS: usize = 2;
    let left_out = cells.iter().flatten().filter(|column| column.left_out > 0);
    let mut reasons =
        grouped(left_out.filter_map(|column| Some((column.why.as_deref()?, column.left_out))));
    reasons.sort_by_key(|(_, points)| std::cmp::Reverse(points.iter().sum::<usize>()));
    let named: Vec<&str> = reasons.iter().take(MOST_REASONS).map(|(why, _)| *why).collect();
    if named.is_empty() {
        return String::new();
    }
    let line = format!("points left out: {}", named.join("; "));
    page.paint_lines(Ink::Faint, &page.hanging("  ", &line))
}

fn verdict_columns(heading: &str, cells: &[Option<&ColumnStanding>]) -> [Column; 2] {
    let mean = |cell: &Option<&ColumnStanding>| cell.and_then(|column| column.mean);
    let ratio = |cell| mean(cell).map_or_else(Cell::unknown, |mean| ratio_cell(mean.ratio));
    let verdict = |cell: &Option<&ColumnStanding>| match (mean(cell), cell) {
        (Some(mean), _) => verdict_cell(mean.verdict),
        (None, Some(column)) if column.left_out > 0 => Cell::inked("left out", Ink::Doubt),
        (None, Some(_)) => verdict_cell(Verdict::NotComparable),
        _ => Cell::default(),
    };
    [
        Column::figures(heading, cells.iter().map(ratio)),
        Column::words("", cells.iter().map(verdict)).close(),
    ]
}

/// Columns with the number of points, with those left out, and the ratios of single points.
fn points_columns(cells: &[Option<&ColumnStanding>]) -> [Column; 2] {
    let range = |cell: &Option<&ColumnStanding>| {
        let mean = cell.and_then(|column| column.mean).filter(|mean| mean.points > 1);
        let shown = |ratio: f64| match ratio {
            ratio if ratio >= 100.0 => format!("x{ratio:.0}"),
            ratio if ratio >= 10.0 => format!("x{ratio:.1}"),
            ratio => format!("x{ratio:.2}"),
        };
        let range = |mean: Mean| format!("{} to {}", shown(mean.least), shown(mean.greatest));
        mean.map(range)
    };
    [
        Column::words("points", cells.iter().map(|cell| cell.map(points_words))),
        Column::words("range", cells.iter().map(range)),
    ]
}

/// The order of the designs of the application and metric with this title in each column; one line if it is the same in all of
/// them.
pub(crate) fn orders(overview: &Overview, title: &str, columns: &[String]) -> Vec<String> {
    let orders = overview.orders.iter().filter(|order| title_of_order(order) == title);
    let orders: Vec<&DesignOrder> = orders.collect();
    let in_words = |order: &DesignOrder| {
        let between = order.certain.iter().map(|certain| if *certain { ", then " } else { " or " });
        let before = std::iter::once("").chain(between);
        before
            .zip(&order.designs)
            .map(|(before, design)| format!("{before}{design}"))
            .collect::<String>()
    };
    let Some(first) = orders.first() else { return Vec::new() };
    let is_same = |order: &&DesignOrder| in_words(order) == in_words(first);
    match orders.len() > 1 && orders.iter().all(is_same) {
        true => {
            let names: Vec<&str> = orders.iter().map(|order| order.column.as_str()).collect();
            vec![format!("best first on {}: {}", names.join(", "), in_words(first))]
        }
        false => {
            // Columns keep their order, whatever their names are.
            let of = |column: &String| orders.iter().find(|order| order.column == *column);
            let line = |order: &&DesignOrder| {
                format!("best first on {}: {}", order.column, in_words(order))
            };
            columns.iter().filter_map(of).map(line).collect()
        }
    }
}

/// Sentences on whether the order of designs differs between the columns, and a line for each pair of designs.
pub(crate) fn reversals(overview: &Overview, columns: &[String]) -> Vec<String> {
    let has_orders = |column: &String| overview.orders.iter().any(|order| order.column == *column);
    if columns.iter().filter(|column| has_orders(column)).count() < 2 {
        return Vec::new();
    }
    if overview.reversals.is_empty() {
        let line = "No two designs of an application have one order on one system and for certain the opposite on another.";
        return vec![line.to_owned()];
    }
    let mut lines = vec!["The order of designs differs for certain:".to_owned()];
    lines.extend(overview.reversals.iter().map(reversal));
    lines
}

fn reversal(found: &Reversal) -> String {
    let title = title(found.application, found.metric);
    let shown = |Ratio { mid, low, high }: Ratio| {
        let [low, high] = if mid < 1.0 { [1.0 / high, 1.0 / low] } else { [low, high] };
        format!("{} ({low:.2} to {high:.2})", times(mid))
    };
    let Reversal { better, worse, here, there, .. } = found;
    let (by_here, by_there) = (shown(found.ratio_here), shown(found.ratio_there));
    format!(
        "{title}: on {here}, {better} is better than {worse}, by {by_here}; on {there}, {worse} is better than {better}, by {by_there}"
    )
}

/// Explanation of the ratios.
pub(crate) fn legend(columns: &[String]) -> String {
    let base = columns.first().map_or("", String::as_str);
    format!(
        "ratio: geometric mean over the points of the figure divided by that of {base}; its interval covers the error that they \
         share, of separate runs also the spread between them; all of these hold together at 95 %"
    )
}

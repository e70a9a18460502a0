//! The page with which a comparison of systems begins: sentences on designs and systems, and one matrix of designs by systems.

use analysis::answer::{Answer, answers};
use analysis::{
    ColumnStanding, Dimension, Overview, Question, Ratio, Settings, Spread, Standing, Verdict,
    compare_columns, overview, tabulate,
};
use catalog::{Area, areas};
use results::{Document, Estimate, Outcome};

use crate::answers::about;
use crate::grid::{self, Cell, Column};
use crate::overview::{
    by_application, left_out_text, legend, orders, reversals, sentence, standings,
};
use crate::page::{Ink, Page};
use crate::quantity::{Figure, factor, figure, measured_half_width};
use crate::rows::COST;
use crate::summary::cost_rows;
use crate::text;

/// Marks the design that is certainly the fastest on a system.
const BEST_DESIGN: &str = "*";
/// Marks the system that is certainly the fastest with a design.
const BEST_SYSTEM: &str = "+";

/// A row of the matrix: the heading of an application, or a design or area with a cell for each column.
struct Row {
    name: String,
    cells: Vec<Cell>,
}

/// The verdict on several runs, one on each system, with which the page of a run on several systems begins. An empty text for
/// fewer than two systems, or if they have no common point.
pub fn systems_summary(runs: &[Document], page: &Page) -> String {
    let question = Question::default();
    let Ok(table) = tabulate(runs, &Dimension::System, &question) else { return String::new() };
    let settings = Settings::default();
    let compared = compare_columns(table, &settings);
    let overview = overview(&compared, &question.at, &settings);
    let table = &compared.table;
    let named = crate::overview::with_placements(&table.columns, runs, &table.by);
    let text = matrix(&runs[0], &overview, &table.columns, &named, page);
    if text.is_empty() {
        overview_text(runs, &overview, &table.columns, &table.by, page)
    } else {
        text
    }
}

/// The overview of the columns named `columns`, the base first, which are values of `by` in these runs.
pub fn overview_text(
    runs: &[Document],
    overview: &Overview,
    columns: &[String],
    by: &Dimension,
    page: &Page,
) -> String {
    let named = crate::overview::with_placements(columns, runs, by);
    let is_base = |run: &&Document| by.value_of_run(run).as_ref() == columns.first();
    let matrix = match runs.iter().find(is_base) {
        Some(base) => matrix(base, overview, columns, &named, page),
        None => String::new(),
    };
    let areas: Vec<&Standing> = overview.areas.iter().collect();
    let line = |(name, sentence): &(String, String)| page.hanging(&format!("{name}: "), sentence);
    let sentences: String = crate::overview::sentences(overview, &named).iter().map(line).collect();
    let answers = match (runs, by.is_of_runs()) {
        ([only], false) => about(only, &by.to_string(), columns),
        _ => Vec::new(),
    };
    let answers: String = answers.iter().map(|answer| page.hanging("- ", answer)).collect();
    let sentences = page.paint_lines(Ink::Heading, &(answers + &sentences));
    let by = by.to_string();
    // The matrix has sentences of its own.
    let first = if matrix.is_empty() { sentences } else { matrix };
    let mut parts = vec![first, standings("area", &areas, columns, &by, page)];
    for (title, standings_of) in by_application(&overview.designs) {
        let mut part = standings(&format!("{title}, by design"), &standings_of, columns, &by, page);
        let orders = orders(overview, &title, columns);
        let indented = |line: &String| page.hanging("  ", line);
        part.extend(orders.iter().map(indented));
        parts.push(part);
    }
    let reversals = reversals(overview, columns);
    let indent = |(at, line): (usize, &String)| page.hanging(if at == 0 { "" } else { "- " }, line);
    parts.push(reversals.iter().enumerate().map(indent).collect());
    if !overview.areas.is_empty() || !overview.designs.is_empty() {
        parts.push(page.prose(Ink::Faint, &legend(columns)));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// The matrix of the columns named `columns`, the base first, whose run is `base`; empty if there is nothing to compare. Sentences
/// call the columns by the names `named`.
fn matrix(
    base: &Document,
    overview: &Overview,
    columns: &[String],
    named: &[String],
    page: &Page,
) -> String {
    let answers = answers(&base.results, areas());
    let mut rows = Vec::new();
    for (title, standings) in by_application(&overview.designs) {
        rows.push(Row { name: title, cells: Vec::new() });
        for standing in standings {
            let cost = cost_of(&answers, standing);
            rows.push(row(format!("  {}", standing.name), cost, standing, overview, columns));
        }
    }
    let primitives: Vec<&Standing> = primitives(overview);
    if !primitives.is_empty() {
        rows.push(Row { name: "primitives".to_owned(), cells: Vec::new() });
    }
    for standing in &primitives {
        let cost = cost_of_area(base, &standing.name);
        rows.push(row(format!("  {}", standing.name), cost, standing, overview, columns));
    }
    if rows.is_empty() {
        return String::new();
    }
    let names = Column::words("", rows.iter().map(|row| row.name.clone()));
    let cell = |row: &Row, at: usize| row.cells.get(at).cloned().unwrap_or_default();
    let of_column = |(at, name): (usize, &String)| {
        Column::figures(&text::clean(name), rows.iter().map(|row| cell(row, at)))
    };
    let systems: Vec<Column> = columns.iter().enumerate().map(of_column).collect();
    let tables = side_by_side(&names, systems, page);
    let mut text: String = sentences(overview, named)
        .iter()
        .map(|line| page.hanging("- ", &page.signs(line)))
        .collect();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&tables);
    let standings = overview.designs.iter().chain(primitives);
    let cells: Vec<Option<&ColumnStanding>> =
        standings.flat_map(|standing| standing.columns.iter().map(Some)).collect();
    text.push_str(&left_out_text(&cells, page));
    text.push_str(&page.prose(Ink::Faint, &page.signs(&matrix_legend(overview, columns, &tables))));
    text
}

/// One table, or several below each other, each with the base, where the page is too narrow for all systems.
fn side_by_side(names: &Column, mut systems: Vec<Column>, page: &Page) -> String {
    let base = systems.remove(0);
    let first = [names.clone(), base];
    let mut tables = Vec::new();
    let mut columns = first.to_vec();
    for system in systems {
        let mut more = columns.clone();
        more.push(system.clone());
        if grid::total_width(&more) > page.table_width() && columns.len() > first.len() {
            tables.push(grid::table(std::mem::replace(&mut columns, first.to_vec()), page));
        }
        columns.push(system);
    }
    tables.push(grid::table(columns, page));
    tables.join("\n")
}

/// Sentences on whether designs or systems matter more, on each system, and on the design that is the fastest everywhere.
fn sentences(overview: &Overview, columns: &[String]) -> Vec<String> {
    let mut sentences: Vec<String> = matters(overview).into_iter().collect();
    let standings: Vec<&Standing> = overview
        .applications
        .iter()
        .filter(|standing| standing.metric == COST)
        .chain(primitives(overview))
        .collect();
    if let Some((base, others)) = columns.split_first() {
        for (at, name) in others.iter().enumerate() {
            let of_column: Vec<_> =
                standings.iter().map(|standing| (*standing, &standing.columns[at])).collect();
            let says = sentence(&of_column, base);
            sentences.push(format!("{}: {says}.", text::clean(name)));
        }
    }
    sentences.extend(fastest_everywhere(overview, columns));
    sentences
}

/// The factor by which designs differ, divided by that by which systems do: above 1, the design matters more.
fn designs_to_systems(spread: &Spread) -> Ratio {
    spread.of_designs.over(spread.of_columns)
}

/// Ratio of the ends of an interval from which a sentence leaves it out.
const WIDEST: f64 = 1e3;

/// Whether the design of an application matters more than the system, by the factors between the best and the worst.
fn matters(overview: &Overview) -> Option<String> {
    let spreads: Vec<&Spread> = overview.spreads.iter().filter(|s| s.metric == COST).collect();
    let of = |is: &dyn Fn(&Spread) -> bool| -> Vec<String> {
        let chosen = spreads.iter().filter(|spread| is(spread));
        let words = |s: &&Spread| {
            // The lower end of a wide interval may be below 1, by which nothing differs.
            let differ = |ratio: Ratio| match ratio.low < 1.0 {
                true => "by an unknown factor".to_owned(),
                false => factor(ratio, false),
            };
            let [designs, systems] = [s.of_designs, s.of_columns].map(differ);
            let Ratio { mid, low, high } = designs_to_systems(s);
            let half = (high - low) / 2.0;
            let ratio = match high > WIDEST * low {
                true => String::new(),
                false => {
                    let shown = |value| figure(value, half, "").number;
                    format!("; ratio {}, {} to {}", shown(mid), shown(low), shown(high))
                }
            };
            format!("{} (designs differ {designs}, systems {systems}{ratio})", s.application)
        };
        chosen.map(words).collect()
    };
    let design = of(&|spread| designs_to_systems(spread).low > 1.0);
    let system = of(&|spread| designs_to_systems(spread).high < 1.0);
    let neither = of(&|spread| {
        let ratio = designs_to_systems(spread);
        ratio.low <= 1.0 && ratio.high >= 1.0
    });
    let mut parts = Vec::new();
    if !design.is_empty() {
        parts.push(format!(
            "the design matters more than the system for {}",
            text::listed(design, usize::MAX)
        ));
    }
    if !system.is_empty() {
        parts.push(format!(
            "the system matters more than the design for {}",
            text::listed(system, usize::MAX)
        ));
    }
    if !neither.is_empty() {
        parts.push(format!(
            "it cannot be told whether the design or the system matters more for {}",
            text::listed(neither, usize::MAX)
        ));
    }
    (!parts.is_empty()).then(|| format!("{}.", text::capital(&parts.join("; "))))
}

/// The designs that are certainly the fastest in all columns.
fn fastest_everywhere(overview: &Overview, columns: &[String]) -> Option<String> {
    let best = |application: &str| -> Option<&'static str> {
        let is_of = |order: &&analysis::DesignOrder| {
            order.application == application && order.metric == COST
        };
        let orders: Vec<_> = overview.orders.iter().filter(is_of).collect();
        let first = *orders.first()?.designs.first()?;
        let is_first =
            |order: &&analysis::DesignOrder| order.designs[0] == first && order.certain[0];
        (orders.len() == columns.len() && orders.iter().all(is_first)).then_some(first)
    };
    let of_time = overview.designs.iter().filter(|standing| standing.metric == COST);
    let names = applications(&of_time.collect::<Vec<_>>());
    let words = |name: &&str| best(name).map(|design| format!("{design} ({name})"));
    let best: Vec<String> = names.iter().filter_map(words).collect();
    (!best.is_empty())
        .then(|| format!("Fastest on each of them: {}.", text::listed(best, usize::MAX)))
}

/// A design or an area: its cost in the first column, and its ratio in the others.
fn row(
    name: String,
    cost: Option<(f64, f64, String)>,
    standing: &Standing,
    overview: &Overview,
    columns: &[String],
) -> Row {
    let marks = |column: usize| {
        let is_best_design = overview.orders.iter().any(|order| {
            Some(order.application) == standing.application
                && order.metric == standing.metric
                && order.column == columns[column]
                && order.designs[0] == standing.name
                && order.certain[0]
        });
        let is_best_system = standing.ranks[column] == Some([1, 1]);
        [(is_best_design, BEST_DESIGN), (is_best_system, BEST_SYSTEM)]
            .map(|(is, mark)| if is { mark } else { "" })
            .concat()
    };
    let base = match cost {
        Some((value, half, unit)) => {
            let mut cost = figure(value, half, &unit);
            cost.unit = format!("{} {}", cost.unit, marks(0));
            Cell::figure(cost)
        }
        None => Cell::text(format!("x1 {}", marks(0))),
    };
    let of_column = |(at, column): (usize, &ColumnStanding)| match column.mean {
        None => Cell::unknown(),
        Some(mean) => {
            let about = if mean.verdict.is_decided() { "" } else { "~" };
            let ratio = figure(mean.ratio.mid, (mean.ratio.high - mean.ratio.low) / 2.0, "x");
            let number = format!("{about}x{}", ratio.number);
            let ink = match mean.verdict {
                Verdict::CannotTell => Ink::Doubt,
                // What is not judged has no better side, and so no colour.
                word if !word.is_judged() => Ink::Plain,
                verdict if verdict.is_loss() => Ink::Bad,
                verdict if verdict.is_difference() => Ink::Good,
                _ => Ink::Plain,
            };
            Cell::figure(Figure { number, unit: marks(at + 1) }).in_ink(ink)
        }
    };
    let others = standing.columns.iter().enumerate().map(of_column);
    Row { name, cells: std::iter::once(base).chain(others).collect() }
}

/// Names of the applications, in the order of their standings.
fn applications(standings: &[&Standing]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for name in standings.iter().filter_map(|standing| standing.application) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The areas compared by time that have no application in the comparison.
fn primitives(overview: &Overview) -> Vec<&Standing> {
    let has_application = |area: &Area| {
        area.applications.iter().any(|application| {
            overview.applications.iter().any(|s| s.application == Some(application.name))
        })
    };
    let is_primitive = |standing: &&Standing| {
        let area = catalog::area(&standing.name);
        standing.metric == COST
            && area.is_some_and(|area| !has_application(area))
            && standing.columns.iter().any(|column| column.mean.is_some())
    };
    overview.areas.iter().filter(is_primitive).collect()
}

/// The cost of a design in the first situation that has it: the figure, the half-width of its interval, and the unit.
fn cost_of(answers: &[Answer], standing: &Standing) -> Option<(f64, f64, String)> {
    let is_of = |answer: &&Answer| {
        Some(answer.application) == standing.application && answer.metric == standing.metric
    };
    answers.iter().filter(is_of).find_map(|answer| {
        let found = answer.designs.iter().find(|found| found.name == standing.name)?;
        Some((found.figure.median, half_width(&found.figure), answer.unit.clone()))
    })
}

/// The first cost of an area that the summary of a run shows.
fn cost_of_area(base: &Document, area: &str) -> Option<(f64, f64, String)> {
    let rows = cost_rows(&base.results, &[catalog::area(area)?]);
    let (_, result) = rows.into_iter().find(|(_, r)| r.outcome == Outcome::Measured)?;
    let estimate = result.estimate?;
    Some((estimate.median, half_width(&estimate), result.unit.clone()))
}

fn half_width(estimate: &Estimate) -> f64 {
    match estimate.has_interval() {
        true => measured_half_width(estimate.median, estimate.low, estimate.high),
        // Two digits are shown of a figure without an interval.
        false => estimate.median / 10.0,
    }
}

fn matrix_legend(overview: &Overview, columns: &[String], tables: &str) -> String {
    let base = columns.first().map_or("", String::as_str);
    let means = overview.designs.iter().chain(&overview.areas).flat_map(|s| &s.columns);
    let mut words = means.filter_map(|column| column.mean).map(|mean| mean.verdict);
    let open = match words.find(|word| !word.is_judged()) {
        Some(word) => format!("cannot tell, or {}", word.word()),
        None => "cannot tell".to_owned(),
    };
    let mut legend = format!(
        "{base}: the cost of one, such as a connection, a job or a lock; other columns: the mean ratio to {base} over all points of \
         the row (~: {open})."
    );
    for (mark, says) in [
        (BEST_DESIGN, "certainly the fastest design on this system"),
        (BEST_SYSTEM, "certainly the fastest system with this design"),
    ] {
        if tables.contains(mark) {
            legend.push_str(&format!(" {mark}: {says}."));
        }
    }
    legend + " All of these hold together at 95 %."
}

//! Output of `oscost noise`.

use analysis::{Coverage, Detectable, Scores};
use results::NextRun;

use crate::grid::{self, Cell, Column};
use crate::page::{Ink, Page};
use crate::quantity::{cycles_figure, figure};

/// A table of the smallest differences that `compare` finds, a row for each cause, and the runs from which they are `known`.
pub fn detectable_text(found: &[Detectable], known: &NextRun, page: &Page) -> String {
    let before = "By how much a figure of one run differs from that of another, and the smallest difference that `oscost compare` \
                  finds in two such runs, all figures together (medians of the figures):";
    let parts = [
        page.prose(Ink::Plain, before),
        detectable_table(found, page),
        page.prose(Ink::Faint, &known_from(found, known)),
    ];
    parts.join("\n")
}

/// Runs that the table is computed from, and advice that narrows it.
fn known_from(found: &[Detectable], known: &NextRun) -> String {
    let is_one = found.iter().any(|row| row.visits == 1);
    let one = "Runs count as one visit where each found the machine in much the same state as the one before, so that they tell \
               little of another hour: runs at other times narrow this.";
    let from = format!("From {}.", visits_in_words(known));
    if is_one { format!("{from} {one}") } else { from }
}

/// Visits in words, such as `14 visits on 9 days, in 3 boots`.
pub(crate) fn visits_in_words(known: &NextRun) -> String {
    let visits =
        if known.visits == 1 { "one visit".to_owned() } else { format!("{} visits", known.visits) };
    let days = if known.days == 1 { "one day".to_owned() } else { format!("{} days", known.days) };
    let boots = match known.boots {
        1 => "one boot: no other was measured".to_owned(),
        boots => format!("{boots} boots"),
    };
    format!("{visits} on {days}, in {boots}")
}

fn detectable_table(found: &[Detectable], page: &Page) -> String {
    let share = |of: fn(&Detectable) -> f64| {
        found.iter().map(move |row| Cell::figure(figure(of(row), of(row) * 0.1, "share")))
    };
    let cycles = found.iter().map(|row| {
        row.cycles
            .map(|cycles| Cell::figure(cycles_figure(cycles, cycles * 0.1)))
            .unwrap_or_default()
    });
    let columns = vec![
        Column::words("what", found.iter().map(|row| row.cause.clone())),
        Column::figures("figures", found.iter().map(|row| Cell::text(row.figures.to_string()))),
        Column::figures("visits", found.iter().map(|row| Cell::text(row.visits.to_string()))),
        Column::figures("one run\n(s. d.)", share(|row| row.deviation)),
        Column::figures("detected", share(|row| row.difference)),
        Column::figures("of nine\nin ten", share(|row| row.difference_of_most)),
        Column::figures("cycles", cycles),
    ];
    let columns = columns.into_iter().filter(|column| !column.is_blank()).collect();
    grid::table(columns, page)
}

/// A table of how often figures lay within the interval that the previous run predicted, a row for each cause and one for all.
pub fn scores_text(scores: &Scores, page: &Page) -> String {
    let before = "How often the figures of a run lay where the run before had said, with 95 %. The interval of that share is from \
                  the differences between runs.";
    [page.prose(Ink::Plain, before), scores_table(scores, page)].join("\n")
}

fn scores_table(scores: &Scores, page: &Page) -> String {
    let by_cause = scores.by_cause.iter().map(|(cause, inside)| (cause.to_string(), *inside));
    let rows: Vec<(String, Coverage)> = by_cause.chain([("all".to_owned(), scores.all)]).collect();
    let number = |of: fn(&Coverage) -> usize| {
        rows.iter().map(move |(_, inside)| Cell::text(of(inside).to_string()))
    };
    let inside = rows.iter().map(|(_, inside)| {
        let error = inside.error.map_or(String::new(), |error| format!(" ±{:.1}", error * 100.0));
        Cell::text(page.signs(&format!("{:.1}{error} %", inside.inside * 100.0)))
    });
    let columns = vec![
        Column::words("what", rows.iter().map(|(what, _)| what.clone())),
        Column::figures("figures", number(|inside| inside.figures)),
        Column::figures("runs", number(|inside| inside.runs)),
        Column::figures("inside", inside),
    ];
    grid::table(columns, page)
}

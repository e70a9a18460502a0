//! Failures under load, by level and cause.

use crate::first_seen::grouped;
use crate::footnotes::Reason;
use crate::page::Page;
use crate::swept::{Sweep, SweptRow};

/// One line per row with failures; a single line if there are none.
pub fn lines(sweep: &Sweep, page: &Page) -> String {
    let (Some(fewest), Some(most)) = (sweep.levels.first(), sweep.levels.last()) else {
        return String::new();
    };
    let falls: Vec<(&str, String)> =
        sweep.rows.iter().filter_map(|row| Some((row.name, shown(row, sweep)?))).collect();
    if falls.is_empty() {
        let columns = sweep.axes.columns;
        let within = match fewest == most {
            true => format!("with {most} {columns}"),
            false => format!("within {fewest} to {most} {columns}"),
        };
        return page.heading(&sweep.title(&format!("no failures under load {within}")));
    }
    let widest = falls.iter().map(|(row, _)| row.len()).max().unwrap_or(0);
    let line = |(row, shown): &(&str, String)| page.hanging(&format!("{row:<widest$}  "), shown);
    let lines: String = falls.iter().map(line).collect();
    page.heading(&sweep.title("failures under load")) + &lines
}

/// Levels of each failure of a row, such as `from 2500 on: connections were refused`.
fn shown(row: &SweptRow, sweep: &Sweep) -> Option<String> {
    let points = row.points.iter().enumerate();
    let causes = grouped(
        points.flat_map(|(at, point)| point.gave_way().into_iter().map(move |cause| (cause, at))),
    );
    let cell_of = |(cause, places): &(Reason, Vec<usize>)| {
        let measured = row.points.iter().enumerate().filter(|(_, point)| !point.is_empty());
        let beyond: Vec<usize> = measured.map(|(at, _)| at).filter(|at| *at >= places[0]).collect();
        let level = |at: &usize| sweep.levels[*at].to_string();
        match *places == beyond && places.len() > 1 {
            true => format!("from {} on: {cause}", level(&places[0])),
            false => {
                let at: Vec<String> = places.iter().map(level).collect();
                format!("at {}: {cause}", at.join(", "))
            }
        }
    };
    (!causes.is_empty()).then(|| causes.iter().map(cell_of).collect::<Vec<_>>().join("; "))
}

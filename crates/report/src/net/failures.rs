//! Failures under load, by number of connections and cause.

use crate::footnotes::Reason;
use crate::net::sweep::{Arch, Sweep};
use crate::net::wording::heading;
use crate::page::Page;
use crate::text;

/// A line per architecture with failures; one line if there are none.
pub(crate) fn lines(sweep: &Sweep, page: &Page) -> String {
    let (Some(fewest), Some(most)) = (sweep.levels.first(), sweep.levels.last()) else {
        return String::new();
    };
    let falls: Vec<(&str, String)> =
        sweep.archs.iter().filter_map(|arch| Some((arch.name, shown(arch, sweep)?))).collect();
    if falls.is_empty() {
        let within = match fewest == most {
            true => format!("with {most} connections"),
            false => format!("within {fewest} to {most} connections"),
        };
        return heading(&sweep.title(&format!("no failures under load {within}")), page);
    }
    let widest = falls.iter().map(|(arch, _)| arch.len()).max().unwrap_or(0);
    let line = |(arch, shown): &(&str, String)| {
        text::hanging(&format!("{arch:<widest$}  "), shown, page.prose_width())
    };
    let lines: String = falls.iter().map(line).collect();
    heading(&sweep.title("failures under load"), page) + &lines
}

/// The levels of each failure, such as `from 2500 on: connections were refused`.
fn shown(arch: &Arch, sweep: &Sweep) -> Option<String> {
    let mut causes: Vec<(Reason, Vec<usize>)> = Vec::new();
    for (at, point) in arch.points.iter().enumerate() {
        for cause in point.gave_way() {
            match causes.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, places)) => places.push(at),
                None => causes.push((cause, vec![at])),
            }
        }
    }
    let cell_of = |(cause, places): &(Reason, Vec<usize>)| {
        let measured = arch.points.iter().enumerate().filter(|(_, point)| !point.is_empty());
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

//! The table of the cost that each layer adds to a primitive.

use analysis::{Added, Ladder, Step, Verdict};

use crate::compare_table::ink;
use crate::grid::{self, Cell, Column};
use crate::labels::Label;
use crate::page::{Ink, Page};
use crate::quantity::{Figure, figure, format_per_op_briefly};

/// Minimum width of the names of operations.
const LEAST_NAMES: usize = 18;

/// Minimum width of the names of layers, with the gap before them.
const LEAST_LAYER: usize = 14;

/// Explanations of the columns.
const ADDS: &str = "adds: the difference to the line before";
const NOTHING: &str = "; nothing: it is the same within the margin";
const TOGETHER: &str = "; intervals hold together at 95 %";

/// The explanations that these ladders need.
pub(crate) fn legend(ladders: &[Ladder]) -> String {
    let mut adds = ladders.iter().flat_map(|ladder| &ladder.steps).filter_map(|step| step.adds);
    let is_judged = adds.all(|added| added.verdict.is_judged());
    let nothing = if is_judged { NOTHING } else { "" };
    format!("{ADDS}{nothing}{TOGETHER}")
}

/// Explanation of the column of host calls.
pub(crate) const HOST_CALLS: &str = "; host calls: system calls on the host per operation";

/// A table with a line for each layer of each ladder: its cost, and what it adds to the layer before.
pub fn ladder_table(ladders: &[Ladder], page: &Page) -> String {
    if ladders.is_empty() {
        return page.hanging("", "no ladder: no point has a time on two systems");
    }
    let steps: Vec<_> = ladders.iter().flat_map(|ladder| &ladder.steps).collect();
    let below: Vec<usize> = ladders.iter().map(|ladder| ladder.steps.len() - 1).collect();
    let difference = |added| {
        let Figure { number, unit } = signed(added);
        Cell::figure(Figure { number, unit: page.signs(&unit) })
    };
    let verdict = |added: Added| Cell::inked(verdict_word(added.verdict), ink(added.verdict));
    let layers = |in_words: bool| {
        let name = |step: &&Step| if in_words { layer_name(step) } else { step.column.clone() };
        let column = Column::words("layer", steps.iter().map(name));
        // The names wrap only if they have no second part: `(container` and `)` on two lines would be hard to read.
        if in_words { column } else { column.wrapping() }
    };
    let mut columns = vec![
        Column::names("what each layer adds", ladders.iter().map(operation)).spread(&below),
        layers(true),
        Column::figures("time", steps.iter().map(|step| Cell::figure(time(step)))),
        Column::figures("adds", steps.iter().map(|step| step.adds.map(difference))),
        Column::words("", steps.iter().map(|step| step.adds.map(verdict))),
    ];
    let number = |calls: f64| Cell::number(format_per_op_briefly(calls));
    let calls = Column::figures("host calls", steps.iter().map(|step| step.host_calls.map(number)));
    let least = LEAST_NAMES + LEAST_LAYER + calls.width();
    let has_calls =
        !calls.is_blank() && grid::total_width(&columns[2..]) + least <= page.table_width();
    if has_calls {
        columns.push(calls);
    }
    // On a narrow page the names of layers wrap, without their kinds: the names of the operations need the room.
    if grid::total_width(&columns[1..]) + LEAST_NAMES > page.table_width() {
        columns[1] = layers(false);
    }
    let figures = grid::total_width(&columns[2..]);
    if figures + LEAST_NAMES + LEAST_LAYER.min(columns[1].width()) > page.table_width() {
        columns.remove(2);
    }
    let legend = format!("{}{}", legend(ladders), if has_calls { HOST_CALLS } else { "" });
    grid::table(columns, page) + &page.prose(Ink::Faint, &legend)
}

/// Cost of the operation in a layer.
pub(crate) fn time(step: &Step) -> Figure {
    figure(step.ns, step.ns.abs() * 0.005, "ns/op")
}

/// Name of the column with the kind of layer, such as `gvisor (sandbox)`; the kind is left out if it is the name.
pub(crate) fn layer_name(Step { column, layer, .. }: &Step) -> String {
    match layer.word() {
        word if word == column => column.clone(),
        word => format!("{column} ({word})"),
    }
}

/// A difference and the longer half of its interval, such as `+1.658` and `±0.012 us`.
pub(crate) fn signed(Added { ns, low, high, .. }: Added) -> Figure {
    let half = (high - ns).max(ns - low);
    // Both have the digits that the larger one needs: `-0.4` and `±2.1 us`.
    let Figure { number, unit } = figure(ns.abs().max(half), half * 0.4, "ns/op");
    let scale = match unit.as_str() {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => 1.0,
    };
    let places = number.split_once('.').map_or(0, |(_, places)| places.len());
    let number = format!("{:+.places$}", ns / scale);
    // A difference that rounds to zero has no sign.
    let number = match number.contains(|digit: char| ('1'..='9').contains(&digit)) {
        true => number,
        false => number[1..].to_owned(),
    };
    Figure { number, unit: format!("±{:.places$} {unit}", half / scale) }
}

/// Effect of a layer on the time of an operation, in a word.
pub(crate) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "nothing",
        verdict => verdict.word(),
    }
}

/// Name of the operation of a ladder.
pub(crate) fn operation(ladder: &Ladder) -> String {
    Label::of(&ladder.point).with_area()
}

#[cfg(test)]
mod tests {
    use analysis::Verdict;

    use super::*;

    #[test]
    fn a_difference_has_the_digits_of_its_interval() {
        let shown = |ns: f64, half: f64| {
            let added = Added { ns, low: ns - half, high: ns + half, verdict: Verdict::Same };
            signed(added).to_string()
        };
        assert_eq!(shown(-400.0, 2_060.0), "-0.4 ±2.1 us");
        assert_eq!(shown(-0.000_21, 0.024), "0.000 ±0.024 ns");
        assert_eq!(shown(1_658.0, 12.0), "+1.658 ±0.012 us");
    }
}
